//! What was planned: how many requests each stage was to send, and which count of tokens latencies are divided by.

use serde_yaml::Value;

use super::tally::Tokens;
use crate::native::Config;

/// What inference-perf's own `config.yaml` says about a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Requests of each stage; empty where the configuration does not fix them (a sweep, a trace).
    pub counts: Vec<u64>,
    /// Which output tokens divide latencies.
    pub tokens: Tokens,
}

impl Plan {
    /// The plan of a run's configuration.
    pub fn of(config: &Config) -> Self {
        let config = &config.0;
        let load = &config["load"];
        let fixed = load["sweep"].is_null() && load["type"].as_str() != Some("trace_replay");
        let stages = load["stages"].as_sequence().filter(|_| fixed);
        let counts: Option<Vec<u64>> = stages.and_then(|stages| stages.iter().map(requests).collect());
        let server = config["report"]["request_lifecycle"]["use_server_output_tokens"].as_bool() == Some(true);
        Self { counts: counts.unwrap_or_default(), tokens: if server { Tokens::Server } else { Tokens::Client } }
    }
}

/// Requests of a stage: given for concurrent load, otherwise rate times duration cut to a whole number, as the load
/// generator does it.
fn requests(stage: &Value) -> Option<u64> {
    if let Some(requests) = stage["num_requests"].as_u64() {
        return Some(requests);
    }
    let count = stage["rate"].as_f64()? * stage["duration"].as_f64()?;
    (count.is_finite() && count >= 1.0).then_some(count as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Plan {
        Plan::of(&Config(serde_yaml::from_str(text).unwrap()))
    }

    #[test]
    fn a_rate_and_a_duration_make_a_count_and_concurrent_stages_name_theirs() {
        let rates =
            plan("load: {type: constant, sweep: null, stages: [{rate: 2.5, duration: 3}, {rate: 10, duration: 2}]}");
        assert_eq!(rates.counts, [7, 20]);
        let concurrent =
            plan("load: {type: concurrent, stages: [{num_requests: 30, rate: null, concurrency_level: 4}]}");
        assert_eq!(concurrent.counts, [30]);
    }

    #[test]
    fn a_sweep_or_a_trace_plans_no_counts() {
        let stages = "stages: [{rate: 2, duration: 3}]";
        assert_eq!(plan(&format!("load: {{type: constant, sweep: {{num_stages: 5}}, {stages}}}")).counts, [0_u64; 0]);
        assert_eq!(plan(&format!("load: {{type: trace_replay, {stages}}}")).counts, [0_u64; 0]);
        assert_eq!(plan("load: {stages: [{rate: .inf, duration: 3}]}").counts, [0_u64; 0]);
        assert_eq!(plan("- not a mapping").counts, [0_u64; 0]);
    }

    #[test]
    fn the_harness_says_whose_tokens_it_divides_by() {
        assert_eq!(plan("load: {}").tokens, Tokens::Client);
        let server = plan("report: {request_lifecycle: {use_server_output_tokens: true}}");
        assert_eq!(server.tokens, Tokens::Server);
    }
}
