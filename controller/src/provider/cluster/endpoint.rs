//! Where requests are sent: the address inside the cluster, by the rule of the treatment.

use serde_json::Value;

use super::cell::Up;
use crate::cluster::{Error, object};
use crate::failure::{Failure, Result};
use crate::settings::{Endpoint, EndpointPath};

/// The endpoint's URL; `None` when the external one was asked for, which llm-d-benchmark finds by itself.
///
/// # Errors
/// When the rule does not find exactly one address.
pub(super) fn resolve(up: &Up<'_>) -> Result<Option<String>> {
    if up.resolved.settings.cluster.endpoint_path == EndpointPath::External {
        return Ok(None);
    }
    let Some(rule) = &up.treatment.endpoint else { return Ok(None) };
    let namespace = format!("--namespace={}", up.namespace);
    let list = |kind: &str| -> Result<Vec<Value>, Error> { up.kubectl.list_if_known(kind, &[&namespace]) };
    let gateways = match rule {
        Endpoint::ServiceSuffix { .. } => Vec::new(),
        _ => list("gateways.gateway.networking.k8s.io")?,
    };
    let found = match rule {
        Endpoint::GatewayAddress => only("Gateway", &gateways, |_| true).and_then(address),
        Endpoint::ServiceSuffix { suffix } => {
            let services = list("services")?;
            only(&format!("Service ending in {suffix}"), &services, |service| object::name(service).ends_with(suffix))
                .and_then(cluster_ip)
        }
        Endpoint::GatewayLabel { label } => {
            let services = list("services")?;
            only("Gateway", &gateways, |_| true).and_then(|gateway| {
                let name = object::name(gateway);
                only(&format!("Service with {label}={name}"), &services, |it| object::label(it, label) == Some(name))
                    .and_then(cluster_ip)
            })
        }
    };
    found.map(Some).map_err(|what| {
        Failure::measurement(format!("the endpoint of {} cannot be told: {what}", up.treatment.name))
            .hint(format!("the rule is `endpoint` in {}", up.treatment.path.display()))
    })
}

/// The only object that `wanted` accepts.
fn only<'o>(what: &str, objects: &'o [Value], wanted: impl Fn(&Value) -> bool) -> Result<&'o Value, String> {
    let found: Vec<&Value> = objects.iter().filter(|object| wanted(object)).collect();
    match found[..] {
        [one] => Ok(one),
        [] => {
            let names = object::names(objects);
            let there = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
            Err(format!("there is no {what}, only {there}"))
        }
        _ => {
            let names: Vec<&str> = found.iter().map(|object| object::name(object)).collect();
            Err(format!("there are {} of {what}: {}", found.len(), names.join(", ")))
        }
    }
}

/// A Service's ClusterIP and its port named `http`, or 80.
fn cluster_ip(service: &Value) -> Result<String, String> {
    let name = object::name(service);
    let ip = object::text(service, "/spec/clusterIP");
    if ip.is_empty() || ip == "None" {
        return Err(format!("Service {name} has no ClusterIP"));
    }
    let ports = object::items(service, "/spec/ports");
    let port = ports
        .iter()
        .find(|port| object::text(port, "/name") == "http")
        .or_else(|| ports.iter().find(|port| port["port"].as_u64() == Some(80)))
        .or(if let [one] = ports { Some(one) } else { None })
        .and_then(|port| port["port"].as_u64())
        .ok_or_else(|| format!("Service {name} has neither a port named http nor port 80"))?;
    Ok(url(ip, port))
}

/// A Gateway's address and its first HTTP listener's port.
fn address(gateway: &Value) -> Result<String, String> {
    let name = object::name(gateway);
    let host = object::items(gateway, "/status/addresses").first().map(|it| object::text(it, "/value"));
    let host = host.filter(|host| !host.is_empty()).ok_or_else(|| format!("Gateway {name} has no address yet"))?;
    let listeners = object::items(gateway, "/spec/listeners");
    let http = listeners.iter().find(|listener| object::text(listener, "/protocol") == "HTTP");
    let port = http
        .and_then(|listener| listener["port"].as_u64())
        .ok_or_else(|| format!("Gateway {name} has no HTTP listener"))?;
    Ok(url(host, port))
}

fn url(host: &str, port: u64) -> String {
    // An IPv6 address needs brackets beside a port.
    if host.contains(':') { format!("http://[{host}]:{port}") } else { format!("http://{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(name: &str, ip: &str, ports: Value) -> Value {
        json!({"metadata": {"name": name}, "spec": {"clusterIP": ip, "ports": ports}})
    }

    #[test]
    fn a_service_is_reached_by_its_address_in_the_cluster_and_its_port_for_http() {
        let http = json!([{"name": "grpc", "port": 9002}, {"name": "http", "port": 8000}]);
        assert_eq!(cluster_ip(&service("a", "10.0.0.1", http)).unwrap(), "http://10.0.0.1:8000");
        let eighty = json!([{"name": "other", "port": 9002}, {"port": 80}]);
        assert_eq!(cluster_ip(&service("a", "fd00::1", eighty)).unwrap(), "http://[fd00::1]:80");
        let neither = json!([{"name": "x", "port": 1}, {"name": "y", "port": 2}]);
        assert!(cluster_ip(&service("a", "10.0.0.1", neither)).unwrap_err().contains("neither"));
        assert!(cluster_ip(&service("a", "None", json!([]))).unwrap_err().contains("no ClusterIP"));
    }

    #[test]
    fn an_address_that_is_not_the_only_one_is_no_answer() {
        let services = [service("a-direct", "10.0.0.1", json!([])), service("b-direct", "10.0.0.2", json!([]))];
        let direct = |service: &Value| object::name(service).ends_with("-direct");
        assert_eq!(only("Service", &services, direct).unwrap_err(), "there are 2 of Service: a-direct, b-direct");
        assert_eq!(only("Gateway", &[], |_| true).unwrap_err(), "there is no Gateway, only nothing");
        assert_eq!(only("Service", &services, |_| false).unwrap_err(), "there is no Service, only a-direct, b-direct");
    }

    #[test]
    fn a_managed_gateway_is_reached_by_its_address() {
        let mut gateway = json!({"metadata": {"name": "g"}, "spec": {"listeners": [{"protocol": "HTTP", "port": 80}]}});
        assert!(address(&gateway).unwrap_err().contains("no address yet"));
        gateway["status"] = json!({"addresses": [{"value": "10.1.2.3"}]});
        assert_eq!(address(&gateway).unwrap(), "http://10.1.2.3:80");
    }
}
