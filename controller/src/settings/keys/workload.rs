//! What load is sent.

use super::{Key, Section};
use crate::settings::shape::Shape::{Choice, Number, Path, Positive, Ratio, Stages, Text, Whole};

pub(super) const SECTION: Section = Section {
    title: "Workload",
    about: "The load: a template of `config/workloads/` and the values it is rendered with. Profiles fill these in.",
    places: super::EVERYWHERE,
    keys: &[
        Key::new("workload.template", Text, "BENCHMARK_WORKLOAD", "Template of the harness's configuration in `config/workloads/`.")
            .default("shared-prefix"),
        Key::new(
            "workload.file",
            Path,
            "BENCHMARK_WORKLOAD_FILE_PATH",
            "A ready-made workload file for the harness, used as it is instead of a template.",
        ),
        Key::new(
            "workload.variant",
            Choice(&["upstream", "deterministic"]),
            "BENCHMARK_WORKLOAD_VARIANT",
            "`upstream`: Poisson arrivals; `deterministic`: constant ones. Gives `workload.load` and `workload.request_timeout` their defaults.",
        )
        .default("upstream"),
        Key::new("workload.load", Choice(&["poisson", "constant"]), "BENCHMARK_WORKLOAD_LOAD", "Arrival process; follows from the variant when absent."),
        Key::new("workload.stages", Stages, "BENCHMARK_WORKLOAD_STAGES", "The ladder: requested rate in requests per second and seconds of each stage."),
        Key::new("workload.interval", Number, "BENCHMARK_WORKLOAD_INTERVAL", "Pause between stages in seconds.").default("1"),
        Key::new(
            "workload.rate_scale",
            Ratio,
            "BENCHMARK_WORKLOAD_RATE_SCALE",
            "Exact factor on every rate; on clusters replicas/8 when absent, since the ladders are written for eight replicas.",
        ),
        Key::new(
            "workload.request_timeout",
            Positive,
            "BENCHMARK_REQUEST_TIMEOUT",
            "Seconds after which the harness gives a request up; 300 for the upstream variant, 120 for the deterministic one.",
        ),
        Key::new("workload.data.groups", Whole(1), "BENCHMARK_WORKLOAD_GROUPS", "Groups of prompts that share a prefix."),
        Key::new("workload.data.prompts_per_group", Whole(1), "BENCHMARK_WORKLOAD_PROMPTS_PER_GROUP", "Prompts in each group."),
        Key::new("workload.data.prefix_tokens", Whole(1), "BENCHMARK_WORKLOAD_PREFIX_TOKENS", "Tokens of the shared prefix."),
        Key::new("workload.data.question_tokens", Whole(1), "BENCHMARK_WORKLOAD_QUESTION_TOKENS", "Tokens of the part that differs."),
        Key::new("workload.data.prompts", Whole(1), "BENCHMARK_WORKLOAD_PROMPTS", "Prompts generated for random data."),
        Key::new("workload.data.input_tokens", Whole(1), "BENCHMARK_WORKLOAD_INPUT_TOKENS", "Mean tokens of a random prompt."),
        Key::new("workload.data.input_tokens_min", Whole(1), "BENCHMARK_WORKLOAD_INPUT_TOKENS_MIN", "Fewest tokens of a random prompt; the mean when absent."),
        Key::new("workload.data.input_tokens_max", Whole(1), "BENCHMARK_WORKLOAD_INPUT_TOKENS_MAX", "Most tokens of a random prompt; the mean when absent."),
        Key::new("workload.data.output_tokens", Whole(1), "BENCHMARK_WORKLOAD_OUTPUT_TOKENS", "Tokens asked for in a response (their mean for random data)."),
        Key::new("workload.data.output_tokens_min", Whole(1), "BENCHMARK_WORKLOAD_OUTPUT_TOKENS_MIN", "Fewest tokens asked for; the mean when absent."),
        Key::new("workload.data.output_tokens_max", Whole(1), "BENCHMARK_WORKLOAD_OUTPUT_TOKENS_MAX", "Most tokens asked for; the mean when absent."),
        Key::new("workload.data.seed", Whole(0), "BENCHMARK_WORKLOAD_SEED", "Seed of prompts. Arrivals are unseeded in the harness whatever is set.")
            .default("42"),
    ],
};
