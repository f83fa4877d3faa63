//! The configuration files of real proxies.
//!
//! Both are the contract of the cluster treatments on one machine: every request is asked about at the endpoint picker,
//! which answers with one address. Standalone takes that address as it is; a Gateway only knows the endpoints of its
//! InferencePool and refuses others.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::settings::Mode;

/// The name of the service that the picker chooses from.
const SERVICE: &str = "model";

/// The service's port: a name rather than an address, since the picker gives the address.
const SERVICE_PORT: u16 = 8000;

/// Seconds after which a request whose picker or server is silent is given up; without it, it would hang.
const REQUEST_SECONDS: u32 = 600;

/// Ports of one proxy on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ports {
    /// Where clients send requests.
    pub(super) listen: u16,
    /// Administration.
    pub(super) admin: u16,
    /// Metrics.
    pub(super) metrics: u16,
    /// Readiness.
    pub(super) ready: u16,
}

/// How requests get to servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// All to the first server, without asking anybody: the plain proxy.
    Direct(SocketAddr),
    /// Where the picker at this address says.
    Picker {
        /// `ip:port` of the picker.
        picker: SocketAddr,
        /// The servers that it chooses from.
        servers: Vec<SocketAddr>,
        /// Where the proxy sits.
        mode: Mode,
    },
}

/// agentgateway's file.
pub(super) fn agentgateway(ports: Ports, way: &Way) -> Value {
    let local = |port: u16| format!("127.0.0.1:{port}");
    let config = json!({
        "adminAddr": local(ports.admin), "statsAddr": local(ports.metrics), "readinessAddr": local(ports.ready),
    });
    let timeout = json!({"requestTimeout": format!("{REQUEST_SECONDS}s")});
    let (picker, servers, mode) = match way {
        Way::Direct(server) => {
            let route = json!({
                "name": "all", "policies": {"timeout": timeout}, "backends": [{"host": server.to_string()}],
            });
            let listener = json!({"name": "default", "protocol": "HTTP", "routes": [route]});
            return json!({"config": config, "binds": [{"port": ports.listen, "listeners": [listener]}]});
        }
        Way::Picker { picker, servers, mode } => (picker, servers, mode),
    };
    let name = format!("default/{SERVICE}");
    let destination = if *mode == Mode::Gateway { "validated" } else { "passthrough" };
    let route = json!({
        "name": "inference",
        "matches": [{"path": {"pathPrefix": "/"}}],
        "policies": {"timeout": timeout},
        "backends": [{
            "service": {"name": name, "port": SERVICE_PORT},
            "policies": {"inferenceRouting": {
                "endpointPicker": {"host": picker.to_string()}, "destinationMode": destination,
            }},
        }],
    });
    let port = SERVICE_PORT.to_string();
    let service = json!({
        "name": SERVICE, "namespace": "default", "hostname": SERVICE, "vips": [], "ports": {port.as_str(): SERVICE_PORT},
    });
    let listener = json!({"name": "default", "protocol": "HTTP", "routes": [route]});
    let mut file = json!({
        "config": config,
        "services": [service],
        "binds": [{"port": ports.listen, "listeners": [listener]}],
    });
    if *mode == Mode::Gateway {
        let workload = |(number, server): (usize, &SocketAddr)| {
            json!({
                "name": format!("server-{}", number + 1), "namespace": "default", "uid": format!("server-{}", number + 1),
                "workloadIps": [server.ip()], "services": {name.as_str(): {port.as_str(): server.port()}},
            })
        };
        file["workloads"] = servers.iter().enumerate().map(workload).collect();
    }
    file
}

/// Envoy's bootstrap file.
pub(super) fn envoy(ports: Ports, way: &Way) -> Value {
    let address = |ip: String, port: u16| json!({"socket_address": {"address": ip, "port_value": port}});
    let local = |port: u16| address("127.0.0.1".into(), port);
    let fixed = |name: &str, target: &SocketAddr| {
        let endpoint = json!({"endpoint": {"address": address(target.ip().to_string(), target.port())}});
        json!({
            "name": name, "type": "STATIC", "connect_timeout": "5s",
            "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
        })
    };
    let router = json!({
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
    });
    let (filters, clusters) = match way {
        Way::Direct(server) => (json!([router]), json!([unlimited(fixed("servers", server))])),
        Way::Picker { picker, .. } => {
            let servers = json!({
                "name": "servers", "type": "ORIGINAL_DST", "connect_timeout": "5s", "lb_policy": "CLUSTER_PROVIDED",
                "original_dst_lb_config": {
                    "use_http_header": true, "http_header_name": "x-gateway-destination-endpoint",
                },
            });
            let mut asked = fixed("picker", picker);
            asked["typed_extension_protocol_options"] = json!({
                "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                    "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                    "explicit_http_config": {"http2_protocol_options": {}},
                },
            });
            (json!([picker_filter(), router]), json!([unlimited(servers), unlimited(asked)]))
        }
    };
    let route = json!({
        "match": {"prefix": "/"}, "route": {"cluster": "servers", "timeout": format!("{REQUEST_SECONDS}s")},
    });
    let manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "benchmark",
        "http_filters": filters,
        "route_config": {"name": "all", "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]},
    });
    let chain =
        json!({"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]});
    json!({
        "admin": {"address": local(ports.admin)},
        "static_resources": {
            "listeners": [{"name": "clients", "address": local(ports.listen), "filter_chains": [chain]}],
            "clusters": clusters,
        },
    })
}

/// Envoy's limits of concurrent requests are far below what a loaded campaign keeps in flight.
fn unlimited(mut cluster: Value) -> Value {
    let most = 1_000_000;
    let limits = json!({
        "max_connections": most, "max_pending_requests": most, "max_requests": most, "max_retries": most,
    });
    cluster["circuit_breakers"] = json!({"thresholds": [limits]});
    cluster
}

fn picker_filter() -> Value {
    json!({
        "name": "envoy.filters.http.ext_proc",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor",
            "grpc_service": {"envoy_grpc": {"cluster_name": "picker"}, "timeout": "10s"},
            "processing_mode": {
                "request_header_mode": "SEND", "response_header_mode": "SEND",
                "request_body_mode": "FULL_DUPLEX_STREAMED", "response_body_mode": "FULL_DUPLEX_STREAMED",
                "request_trailer_mode": "SEND", "response_trailer_mode": "SEND",
            },
            "message_timeout": "30s",
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: Ports = Ports { listen: 3000, admin: 15000, metrics: 15020, ready: 15021 };

    fn picker(mode: Mode) -> Way {
        let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        Way::Picker { picker: address(9002), servers: vec![address(8001), address(8002)], mode }
    }

    #[test]
    fn agentgateway_asks_the_picker_and_takes_its_address_as_it_is_when_it_stands_alone() {
        insta::assert_snapshot!(reports::yaml::to_string(&agentgateway(PORTS, &picker(Mode::Standalone))).unwrap());
    }

    #[test]
    fn agentgateway_as_a_gateway_only_knows_the_pool_s_endpoints() {
        insta::assert_snapshot!(reports::yaml::to_string(&agentgateway(PORTS, &picker(Mode::Gateway))).unwrap());
    }

    #[test]
    fn a_plain_proxy_asks_nobody() {
        let way = Way::Direct(SocketAddr::from(([127, 0, 0, 1], 8001)));
        let text = reports::yaml::to_string(&agentgateway(PORTS, &way)).unwrap();
        assert!(text.contains("127.0.0.1:8001") && !text.contains("inferenceRouting"), "{text}");
        let text = reports::yaml::to_string(&envoy(PORTS, &way)).unwrap();
        assert!(text.contains("8001") && !text.contains("ext_proc"), "{text}");
    }

    #[test]
    fn envoy_asks_the_picker_with_streamed_bodies_and_goes_where_the_header_says() {
        insta::assert_snapshot!(reports::yaml::to_string(&envoy(PORTS, &picker(Mode::Standalone))).unwrap());
    }
}
