//! What was measured: the components between the client and the accelerator.

use serde::{Deserialize, Serialize};

/// The components of a deployment, as its Benchmark Report documents list them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// In the document's order.
    pub components: Vec<Component>,
}

/// One component: an inference engine, a router, a proxy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// Its unique name in the stack.
    pub label: String,
    /// `inference_engine` or `generic`.
    pub kind: String,
    /// The program: `vllm`, `agentgateway`, `testbed`.
    pub tool: String,
    /// The program's version or image.
    pub tool_version: String,
    /// Hash of the component's configuration.
    pub cfg_id: Option<String>,
    /// `replica`, `prefill` or `decode`; engines only.
    pub role: Option<String>,
    /// How many of them; engines only.
    pub replicas: Option<u64>,
    /// The served model; engines only.
    pub model: Option<String>,
    /// The hardware under it; engines only.
    pub accelerator: Option<Accelerator>,
}

/// The hardware that an engine uses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Accelerator {
    /// Hardware model name.
    pub model: String,
    /// Accelerators used in all.
    pub count: Option<u64>,
    /// How the model is split over them.
    pub parallelism: Parallelism,
}

/// How a model is split over accelerators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parallelism {
    /// Tensor parallelism.
    pub tp: Option<u64>,
    /// Data parallelism.
    pub dp: Option<u64>,
    /// Local data parallelism.
    pub dp_local: Option<u64>,
    /// Workers.
    pub workers: Option<u64>,
    /// Expert parallelism.
    pub ep: Option<u64>,
    /// Pipeline parallelism.
    pub pp: Option<u64>,
}

impl Stack {
    /// The name that the testbed's components carry as their `tool`.
    pub const SIMULATED_TOOL: &str = "testbed";

    /// The names that real proxies carry as their `tool` where the servers behind them are simulated.
    pub const PROXIES: [&str; 2] = ["agentgateway", "envoy"];

    /// The names of simulated components: our own, and llm-d's simulator of model servers.
    pub const SIMULATED_TOOLS: [&str; 2] = [Self::SIMULATED_TOOL, "llm-d-inference-sim"];

    /// Whether any component is simulated; documents must then say so in their first lines.
    pub fn is_simulated(&self) -> bool {
        self.simulator().is_some()
    }

    /// What simulates, where something is simulated: one of [`Self::SIMULATED_TOOLS`].
    pub fn simulator(&self) -> Option<&'static str> {
        let tools = self.components.iter().map(|component| component.tool.as_str());
        tools.filter_map(|tool| Self::SIMULATED_TOOLS.into_iter().find(|simulated| *simulated == tool)).next()
    }

    /// The inference engines, whose description must match for two treatments to be comparable.
    pub fn engines(&self) -> impl Iterator<Item = &Component> {
        self.components.iter().filter(|component| component.kind == "inference_engine")
    }
}
