//! Metrics pages: vLLM's names for servers, `testbed_router_*` for the router.

use std::fmt::{Display, Write};

use crate::config::Hardware;

use super::backend::Snapshot;

fn metric(page: &mut String, kind: &str, name: &str, help: &str, labels: &str, value: impl Display) {
    // Writing into a String cannot fail.
    writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{{{labels}}} {value}").unwrap_or_default();
}

/// A model server's page.
pub(super) fn server(model: &str, hardware: &Hardware, snapshot: &Snapshot) -> String {
    let model = model.replace('\\', "\\\\").replace('"', "\\\"");
    let labels = format!("engine=\"0\",model_name=\"{model}\"");
    let mut page = String::with_capacity(8192);
    let mut gauge = |name, help, value: f64| metric(&mut page, "gauge", name, help, &labels, value);
    gauge("vllm:num_requests_running", "Requests in execution.", snapshot.running as f64);
    gauge("vllm:num_requests_waiting", "Requests waiting.", snapshot.waiting as f64);
    gauge("vllm:kv_cache_usage_perc", "Used part of the KV cache, 1 is all.", snapshot.usage);
    let block = hardware.kv_cache.block_tokens;
    let blocks = hardware.kv_cache.capacity_tokens / block;
    let cache = format!("block_size=\"{block}\",num_gpu_blocks=\"{blocks}\",{labels}");
    metric(&mut page, "gauge", "vllm:cache_config_info", "The cache's configuration.", &cache, 1);
    let counters = &snapshot.counters;
    let mut counter = |name, help, value: u64| metric(&mut page, "counter", name, help, &labels, value);
    counter("vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.", counters.prefix_queries);
    counter("vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", counters.prefix_hits);
    counter("vllm:num_preemptions_total", "Preempted requests.", counters.preemptions);
    counter("vllm:prompt_tokens_total", "Prompt tokens.", counters.prompt_tokens);
    counter("vllm:generation_tokens_total", "Generated tokens.", counters.generated_tokens);
    let finished = format!("finished_reason=\"length\",{labels}");
    metric(&mut page, "counter", "vllm:request_success_total", "Finished requests.", &finished, counters.finished);
    metric(&mut page, "counter", "testbed_busy_seconds_total", "Seconds in steps.", &labels, counters.busy_seconds);
    metric(&mut page, "counter", "testbed_steps_total", "Steps.", &labels, counters.steps);
    let histograms = [
        ("vllm:time_to_first_token_seconds", "Arrival to first token.", &snapshot.first_token),
        ("vllm:inter_token_latency_seconds", "Between tokens.", &snapshot.between_tokens),
        ("vllm:e2e_request_latency_seconds", "Arrival to last token.", &snapshot.whole),
        ("testbed_step_lateness_seconds", "How late steps ended by the wall clock.", &snapshot.step_lateness),
    ];
    for (name, help, histogram) in histograms {
        histogram.write(&mut page, name, help, &labels);
    }
    page
}

/// What a router knows of one server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Routed {
    /// Requests (of a picker) or connections (of a service) sent there.
    pub(super) picks: u64,
    /// Of those, requests whose prompt it was believed to hold in part.
    pub(super) matched_picks: u64,
    /// Picker blocks of all prompts sent there.
    pub(super) blocks: u64,
    /// Picker blocks believed to be held already.
    pub(super) matched_blocks: u64,
    /// Distinct beginnings of prompts sent there: groups, where prompts share prefixes.
    pub(super) prefixes: usize,
    /// Tokens in flight.
    pub(super) inflight: u64,
}

/// A router's page, by server.
pub(super) fn router(servers: &[Routed], failed: u64) -> String {
    let mut page = String::with_capacity(4096);
    let mut series = |kind: &str, name: &str, help: &str, value: &dyn Fn(&Routed) -> u64| {
        writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}").unwrap_or_default();
        for (number, routed) in servers.iter().enumerate() {
            writeln!(page, "{name}{{server=\"{}\"}} {}", number + 1, value(routed)).unwrap_or_default();
        }
    };
    series("counter", "testbed_router_picks_total", "Choices of this server.", &|routed| routed.picks);
    series("counter", "testbed_router_matched_picks_total", "Choices with a known prefix.", &|routed| {
        routed.matched_picks
    });
    series("counter", "testbed_router_blocks_total", "Prompt blocks sent.", &|routed| routed.blocks);
    series("counter", "testbed_router_matched_blocks_total", "Prompt blocks believed cached.", &|routed| {
        routed.matched_blocks
    });
    series("gauge", "testbed_router_prefixes", "Distinct prompt prefixes (groups) sent.", &|routed| {
        routed.prefixes as u64
    });
    series("gauge", "testbed_router_inflight_tokens", "Tokens in flight.", &|routed| routed.inflight);
    writeln!(
        page,
        "# HELP testbed_router_failed_total Requests that no server answered.\n\
         # TYPE testbed_router_failed_total counter\ntestbed_router_failed_total {failed}"
    )
    .unwrap_or_default();
    page
}
