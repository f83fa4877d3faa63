//! What the router chose, and how prompt groups lie on servers: it explains the spread between runs.
//!
//! A picker chooses for each request, a plain Service for each connection.

use serde_yaml::{Mapping, Value};

use super::metrics::values;

/// Counters of the router's page, as its servers' labels name them, and what the manifest calls them.
const COUNTERS: [(&str, &str); 3] = [
    ("testbed_router_picks_total", "picks"),
    ("testbed_router_matched_picks_total", "picks_with_known_prefix"),
    ("testbed_router_prefixes", "prompt_groups"),
];

/// One mapping for each server that the page names, in their order; a counter that the page does not have is left out.
pub(super) fn per_server(page: &str) -> Vec<Value> {
    let values = values(page);
    let counter = |name: &str, server: usize| values.get(&format!("{name}{{server=\"{server}\"}}")).copied();
    let mut servers = Vec::new();
    for server in 1.. {
        let counted: Mapping = COUNTERS
            .iter()
            // Counters are whole numbers; a page writes them as floats.
            .filter_map(|(name, key)| Some(((*key).into(), (counter(name, server)? as u64).into())))
            .collect();
        if counted.is_empty() {
            break;
        }
        servers.push(Value::Mapping(counted));
    }
    servers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_is_told_with_the_counters_that_the_page_has() {
        let page = "# TYPE testbed_router_picks_total counter\n\
                    testbed_router_picks_total{server=\"1\"} 135\n\
                    testbed_router_picks_total{server=\"2\"} 192\n\
                    testbed_router_prefixes{server=\"2\"} 7\n";
        let text = serde_yaml::to_string(&per_server(page)).unwrap();
        assert_eq!(text, "- picks: 135\n- picks: 192\n  prompt_groups: 7\n");
        assert!(per_server("testbed_router_failed_total 0\n").is_empty());
    }
}
