//! Treatments: files of `config/treatments/`.

use std::path::PathBuf;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// A way to bring requests to model servers, as data.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Treatment {
    /// The file's name without its ending.
    #[serde(skip_deserializing)]
    pub name: String,
    /// The file, relative to the workspace.
    #[serde(skip)]
    pub path: PathBuf,
    /// Name for people.
    pub display_name: String,
    /// One sentence.
    pub summary: String,
    /// The request's way, as components from client to model server.
    pub request_path: Vec<String>,
    /// The proxy's implementation: `agentgateway`, `envoy`, `istio`, `gke`; `none` without one.
    pub implementation: String,
    /// Where the proxy sits.
    pub mode: Mode,
    /// Providers that can run it.
    pub providers: Vec<String>,
    /// How the `local` provider runs it; `None` when it cannot.
    pub local: Option<LocalTreatment>,
    /// Scenario overlay for clusters, a file of `config/scenarios/treatment/`; `None` when no cluster can run it.
    pub scenario: Option<String>,
    /// How its address is found in a cluster.
    pub endpoint: Option<Endpoint>,
    /// Images expected in a cluster by component; templates over the settings.
    #[serde(default)]
    pub images: IndexMap<String, String>,
}

/// Where the proxy sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// No proxy: a plain Service.
    None,
    /// Beside the endpoint picker, without the Gateway API.
    Standalone,
    /// A Gateway with HTTPRoute and InferencePool.
    Gateway,
}

impl Mode {
    /// The word used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Standalone => "standalone",
            Self::Gateway => "gateway",
        }
    }
}

/// How the `local` provider runs a treatment.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LocalTreatment {
    /// Kind of router.
    pub router: LocalRouter,
    /// Milliseconds added to every request; 0 for none.
    #[serde(default)]
    pub delay_ms: f64,
}

/// Kinds of local routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LocalRouter {
    /// Nothing: clients talk to the first server.
    Direct,
    /// An endpoint chosen at random per connection, as a Kubernetes Service does.
    Service,
    /// The proxy alone, in front of the first server, without a picker.
    Proxy,
    /// Proxy and picker together.
    Sidecar,
    /// The proxy as its own hop, the picker over the network path.
    Gateway,
}

/// How a treatment's address is found in its namespace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", tag = "by", deny_unknown_fields)]
pub enum Endpoint {
    /// The one Service whose name ends so.
    ServiceSuffix {
        /// For instance `-direct`.
        suffix: String,
    },
    /// The one Service whose label names the namespace's one Gateway.
    GatewayLabel {
        /// For instance `gateway.networking.k8s.io/gateway-name`.
        label: String,
    },
    /// The address in the status of the namespace's one Gateway.
    GatewayAddress,
}
