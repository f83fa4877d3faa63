//! What a campaign consists of, where it runs and where its results go.

use super::{Key, Section};
use crate::settings::provider::Place;
use crate::settings::shape::Shape::{Boolean, Choice, Number, Path, Text, Whole, Words};

pub(super) const SECTION: Section = Section {
    title: "Campaign",
    about: "What is measured, how often, in which order, and where the results go.",
    places: super::EVERYWHERE,
    keys: &[
        Key::new(
            "campaign",
            Text,
            "BENCHMARK_CAMPAIGN_ID",
            "Identifier of the campaign, `[a-z0-9][a-z0-9.-]*`; generated from profile and date when absent.",
        ),
        Key::new("suite", Choice(&["llm-d-benchmark"]), "BENCHMARK_SUITE", "Family of results that the campaign belongs to.")
            .default("llm-d-benchmark"),
        Key::new(
            "provider",
            Text,
            "BENCHMARK_CLUSTER_PROVIDER",
            "Where treatments run: a file of `config/providers/` (`local`, `kind`, `kube`, `gke`).",
        )
        .default("local"),
        Key::new(
            "treatments",
            Words,
            "BENCHMARK_TREATMENT",
            "Treatments to measure, in order: files of `config/treatments/`.",
        )
        .default("service,agentgateway-standalone,agentgateway-gateway"),
        Key::new("repetitions", Whole(1), "BENCHMARK_REPETITIONS", "How often each treatment is measured.").default("1"),
        Key::new(
            "repetition",
            Whole(1),
            "BENCHMARK_REPETITION",
            "Run only this repetition of the campaign, for jobs that split a campaign up; all of them when absent.",
        ),
        Key::new(
            "order",
            Choice(&["fixed", "rotated"]),
            "BENCHMARK_ORDER",
            "Order of treatments: the same in each repetition, or rotated by one each time so that drift hits all alike.",
        )
        .default("fixed"),
        Key::new(
            "scenario",
            Text,
            "BENCHMARK_SCENARIO",
            "`agentgateway-comparison`, or a guide scenario of llm-d-benchmark (`optimized-baseline`, …) as the base.",
        )
        .default("agentgateway-comparison"),
        Key::new(
            "routing.policy",
            Text,
            "BENCHMARK_ROUTING_POLICY",
            "How the endpoint picker chooses: `default` or a file of `config/routing/` (`optimized-baseline`, `cache-only`, `load-only`).",
        )
        .default("default"),
        Key::new(
            "reference",
            Text,
            "BENCHMARK_REFERENCE_PROFILE",
            "Published configuration to reproduce exactly, images included: a file of `config/references/`; none when absent.",
        ),
        Key::new("results_dir", Path, "BENCHMARK_RESULTS_DIR", "Folder that holds campaigns.").default("results"),
        Key::new("resume", Boolean, "BENCHMARK_RESUME", "Continue the campaign at its first unfinished repetition.")
            .default("false"),
    ],
};

pub(super) const TESTBED: Section = Section {
    title: "Testbed",
    about: "The embedded model servers and routers of the `local` provider; what they measure is labelled simulated.",
    places: &[Place::Local],
    keys: &[
        Key::new(
            "testbed.hardware",
            Text,
            "BENCHMARK_TESTBED_HARDWARE",
            "Simulated hardware: a file of `config/hardware/`.",
        )
        .default("laptop-4-fast"),
        Key::new("testbed.servers", Whole(1), "BENCHMARK_TESTBED_SERVERS", "Number of simulated model servers.")
            .default("4"),
        Key::new(
            "testbed.seed",
            Whole(0),
            "BENCHMARK_TESTBED_SEED",
            "Seed of the routers' random choices. Arrivals are the harness's own and are not covered by it.",
        )
        .default("42"),
        Key::new(
            "testbed.delay_ms",
            Number,
            "BENCHMARK_TESTBED_DELAY_MS",
            "Delay in milliseconds added to each request by `canary-delay` instead of the treatment file's own.",
        ),
        Key::new(
            "testbed.first_token_ms",
            Number,
            "BENCHMARK_TESTBED_FIRST_TOKEN_MS",
            "Milliseconds to each first token, of servers that answer at constant times; simulated hardware when absent.",
        ),
        Key::new(
            "testbed.token_ms",
            Number,
            "BENCHMARK_TESTBED_TOKEN_MS",
            "Milliseconds between tokens of servers that answer at constant times.",
        )
        .default("0"),
    ],
};

pub(super) const PROXIES: Section = Section {
    title: "Real proxies and servers on this machine",
    about: "What the `local` provider runs in place of its embedded router and its simulated servers.",
    places: &[Place::Local],
    keys: &[
        Key::new(
            "proxy.router",
            Choice(&["embedded", "real", "auto"]),
            "BENCHMARK_ROUTER",
            "What stands in front of the servers: the embedded router, the real proxy of each treatment, or the real ones if all of them are found.",
        )
        .default("auto"),
        Key::new(
            "proxy.agentgateway",
            Path,
            "BENCHMARK_AGENTGATEWAY",
            "The agentgateway program; searched on PATH when absent.",
        ),
        Key::new("proxy.envoy", Path, "BENCHMARK_ENVOY", "The Envoy program; searched on PATH when absent."),
        Key::new(
            "proxy.picker",
            Path,
            "BENCHMARK_PICKER",
            "The `testbed-picker` program that real proxies ask; built from this workspace when absent.",
        ),
        Key::new(
            "proxy.port",
            Whole(1),
            "BENCHMARK_PROXY_PORT",
            "Port that a real proxy listens on, on all interfaces; a free one when absent.",
        ),
        Key::new(
            "backend.urls",
            Words,
            "BENCHMARK_BACKENDS",
            "OpenAI-compatible servers that run already (`http://host:port`), to measure in front of; the testbed's simulated ones when absent.",
        ),
        Key::new(
            "backend.tokenizer",
            Path,
            "BENCHMARK_TOKENIZER",
            "Folder of the tokenizer of the backends' model, or `words` for one that counts words.",
        ),
    ],
};
