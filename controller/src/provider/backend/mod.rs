//! OpenAI-compatible servers that the user started: found, asked for their model, reset, and never stopped.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use serde_json::Value;

use super::http;
use crate::failure::{Failure, Result};

/// How long a server may take to answer a small question.
const ANSWER: Duration = Duration::from_secs(10);

/// Ways to empty a prefix cache: vLLM's and the testbed's, SGLang's.
const RESETS: [&str; 2] = ["/reset_prefix_cache", "/flush_cache"];

/// A server that runs already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Backend {
    /// As given.
    pub(super) url: String,
    /// Where it is: a proxy's endpoint picker answers with addresses, never with names.
    pub(super) address: SocketAddr,
}

/// What a server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// The models that it serves.
    pub(super) models: Vec<String>,
    /// Who made it, where `/v1/models` says: `vllm`, `sglang`, `llamacpp`.
    pub(super) engine: Option<String>,
    /// Its version, where `/version` says.
    pub(super) version: Option<String>,
}

impl Backend {
    /// The servers at these addresses.
    ///
    /// # Errors
    /// A usage failure for anything but `http://host:port`.
    pub(super) fn all(urls: &[String]) -> Result<Vec<Self>> {
        let mut backends: Vec<Self> = Vec::new();
        for url in urls {
            let backend = Self::at(url)?;
            if let Some(other) = backends.iter().find(|other| other.address == backend.address) {
                return Err(Failure::usage(format!("{url} and {} are the same server", other.url))
                    .hint("name each server once"));
            }
            backends.push(backend);
        }
        Ok(backends)
    }

    fn at(url: &str) -> Result<Self> {
        let refused = |why: &str| {
            Failure::usage(format!("{url} cannot be a backend: {why}"))
                .hint("give the server's address without a path: --backend http://127.0.0.1:8000")
        };
        let rest = url.strip_prefix("http://").ok_or_else(|| refused("it does not begin with http://"))?;
        let (place, path) = rest.split_once('/').unwrap_or((rest, ""));
        if !matches!(path.trim_end_matches('/'), "" | "v1") {
            return Err(refused("requests go to /v1 below it, whatever its path"));
        }
        let place = if place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok_and(|port| port > 0)) {
            place.to_owned()
        } else if place.contains(':') && !place.ends_with(']') {
            return Err(refused("its port is not one from 1 to 65535"));
        } else {
            format!("{place}:80")
        };
        let mut addresses = place.to_socket_addrs().map_err(|error| refused(&error.to_string()))?;
        // Servers that listen on one family only are mostly on IPv4.
        let found: Vec<SocketAddr> = addresses.by_ref().collect();
        let address = found.iter().find(|address| address.is_ipv4()).or(found.first());
        let address = *address.ok_or_else(|| refused("its name stands for no address"))?;
        Ok(Self { url: url.trim_end_matches('/').trim_end_matches("/v1").to_owned(), address })
    }

    /// The address as a URL, with a path.
    pub(super) fn at_address(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Asks for its models, its maker and its version.
    ///
    /// # Errors
    /// A usage failure when it does not answer as an OpenAI-compatible server does.
    pub(super) fn ask(&self) -> Result<Told> {
        let refused = |error: String| {
            Failure::usage(format!("the backend {} does not list its models: {error}", self.url))
                .hint("start the server first; it must answer GET /v1/models")
        };
        let page = http::get(&self.at_address("/v1/models"), ANSWER).and_then(http::Answer::success);
        let page: Value = serde_json::from_str(&page.map_err(|error| refused(error.to_string()))?)
            .map_err(|error| refused(error.to_string()))?;
        let listed = page["data"].as_array().into_iter().flatten();
        let models: Vec<String> = listed.clone().filter_map(|model| Some(model["id"].as_str()?.to_owned())).collect();
        if models.is_empty() {
            return Err(refused("the list is empty".into()));
        }
        let engine = listed.filter_map(|model| model["owned_by"].as_str()).next().map(str::to_owned);
        let version = http::get(&self.at_address("/version"), ANSWER).and_then(http::Answer::success).ok();
        let version = version.and_then(|page| serde_json::from_str::<Value>(&page).ok());
        let version = version.and_then(|page| Some(page["version"].as_str()?.to_owned()));
        Ok(Told { models, engine, version })
    }

    /// Empties its prefix cache; false when it offers no way to.
    pub(super) fn reset(&self) -> bool {
        RESETS.iter().any(|path| http::post(&self.at_address(path), "", ANSWER).and_then(http::Answer::success).is_ok())
    }

    /// Whether it has a metrics page.
    pub(super) fn has_metrics(&self) -> bool {
        http::get(&self.at_address("/metrics"), ANSWER).and_then(http::Answer::success).is_ok()
    }
}

/// The one model that all servers serve: `wanted`, or else their first.
///
/// # Errors
/// A usage failure when a server does not serve it, or when there are several to choose from.
pub(super) fn model(backends: &[Backend], told: &[Told], wanted: Option<&str>) -> Result<String> {
    let choose = "choose one with --set cluster.model=NAME";
    let wanted = match (wanted, told.first().map(|told| told.models.as_slice())) {
        (Some(wanted), _) => wanted,
        (None, Some([only])) => only,
        (None, models) => {
            let models = models.unwrap_or_default().join(", ");
            return Err(Failure::usage(format!("the backend serves several models: {models}")).hint(choose));
        }
    };
    for (backend, told) in backends.iter().zip(told) {
        if !told.models.iter().any(|model| model == wanted) {
            let serves = told.models.join(", ");
            return Err(Failure::usage(format!("{} serves {serves}, not {wanted}", backend.url)).hint(choose));
        }
    }
    Ok(wanted.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_have_a_name_and_the_api_s_path() {
        let backends = ["http://127.0.0.1:8000", "http://localhost:8001/v1/"].map(str::to_owned);
        let backends = Backend::all(&backends).unwrap();
        assert_eq!(backends[0].address.to_string(), "127.0.0.1:8000");
        assert_eq!((backends[1].url.as_str(), backends[1].address.port()), ("http://localhost:8001", 8001));
        assert!(backends[1].address.ip().is_loopback());
    }

    #[test]
    fn what_cannot_be_a_server_is_refused_with_the_reason() {
        for (url, reason) in [
            ("https://127.0.0.1:8000", "http://"),
            ("http://127.0.0.1:0", "from 1 to 65535"),
            ("http://127.0.0.1:70000", "from 1 to 65535"),
            ("http://127.0.0.1:8000/api", "whatever its path"),
            ("127.0.0.1:8000", "http://"),
        ] {
            let failure = Backend::all(&[url.to_owned()]).unwrap_err();
            assert!(failure.to_string().contains(reason), "{url}: {failure}");
        }
        let twice = ["http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"].map(str::to_owned);
        assert!(Backend::all(&twice).unwrap_err().to_string().contains("the same server"));
    }

    #[test]
    fn all_servers_must_serve_the_model() {
        let backends = Backend::all(&["http://127.0.0.1:1", "http://127.0.0.1:2"].map(str::to_owned)).unwrap();
        let told = |models: &[&str]| Told {
            models: models.iter().map(|&model| model.to_owned()).collect(),
            engine: None,
            version: None,
        };
        assert_eq!(model(&backends, &[told(&["a"]), told(&["b", "a"])], None).unwrap(), "a");
        assert!(model(&backends, &[told(&["a"]), told(&["b"])], None).unwrap_err().to_string().contains("serves b"));
        assert!(
            model(&backends, &[told(&["a", "b"]), told(&["a"])], None).unwrap_err().to_string().contains("several")
        );
        assert_eq!(model(&backends, &[told(&["a", "b"]), told(&["b"])], Some("b")).unwrap(), "b");
    }
}
