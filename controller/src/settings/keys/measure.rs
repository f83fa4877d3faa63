//! The harness, what makes a measurement valid, and the reports.

use super::{Key, Section};
use crate::settings::shape::Shape::{Boolean, Choice, Number, Path, Positive, Secret, Whole, Words};

pub(super) const HARNESS: Section = Section {
    title: "Harness",
    about: "inference-perf and the Python that runs it.",
    places: super::EVERYWHERE,
    keys: &[
        Key::new(
            "harness.name",
            Choice(&["inference-perf", "open-loop"]),
            "BENCHMARK_HARNESS",
            "The program that sends load and measures: inference-perf, or the testbed's open-loop client, which resolves microseconds (local only).",
        )
        .default("inference-perf"),
        Key::new(
            "harness.python",
            Path,
            "BENCHMARK_PYTHON",
            "Python interpreter (>= 3.12) for the private environment; searched when absent.",
        ),
        Key::new(
            "harness.workers",
            Whole(1),
            "BENCHMARK_HARNESS_WORKERS",
            "Worker processes of the harness; 2 for the local provider when absent.",
        ),
        Key::new(
            "harness.worker_max_concurrency",
            Whole(1),
            "BENCHMARK_HARNESS_MAX_CONCURRENCY",
            "Requests in flight for each worker. Too low a value shows as schedule delay while TTFT looks healthy.",
        )
        .default("1000"),
        Key::new(
            "harness.no_progress_timeout",
            Positive,
            "BENCHMARK_NO_PROGRESS_TIMEOUT",
            "Seconds without any progress after which a run is ended.",
        )
        .default("120"),
        Key::new(
            "secrets.hf_token",
            Secret,
            "HF_TOKEN",
            "Hugging Face token for gated models; never printed, stored or passed as an argument.",
        ),
    ],
};

pub(super) const LIMITS: Section = Section {
    title: "Limits",
    about: "What makes a measurement invalid, and the service level that goodput is counted against.",
    places: super::EVERYWHERE,
    keys: &[
        Key::new(
            "limits.failure_rate",
            Number,
            "BENCHMARK_LIMIT_FAILURE_RATE",
            "Share of failed requests above which a treatment is invalid.",
        )
        .default("0"),
        Key::new(
            "limits.schedule_delay",
            Positive,
            "BENCHMARK_LIMIT_SCHEDULE_DELAY",
            "Median seconds between planned and real sending of a stage above which the client was the bottleneck.",
        )
        .default("1"),
        Key::new(
            "limits.ttft",
            Positive,
            "BENCHMARK_SLO_TTFT",
            "Service level: seconds to the first token; none when absent.",
        ),
        Key::new(
            "limits.tpot",
            Positive,
            "BENCHMARK_SLO_TPOT",
            "Service level: seconds per output token after the first; none when absent.",
        ),
    ],
};

pub(super) const REPORT: Section = Section {
    title: "Reports and evidence",
    about: "What is kept beside the harness's own files and how it is presented.",
    places: super::EVERYWHERE,
    keys: &[
        Key::new(
            "report.campaign_dir",
            Path,
            "BENCHMARK_CAMPAIGN_DIR",
            "Campaign folder to report on; the one just measured when absent.",
        ),
        Key::new(
            "report.comparisons",
            Words,
            "BENCHMARK_COMPARISONS",
            "Pairs `baseline:candidate`; each treatment against the first one when absent.",
        ),
        Key::new(
            "report.formats",
            Words,
            "BENCHMARK_REPORT_FORMATS",
            "Documents to write: markdown, html, csv, json, svg, png.",
        )
        .default("markdown,html,csv,json,svg"),
        Key::new(
            "metrics.runtime",
            Boolean,
            "BENCHMARK_RUNTIME_METRICS",
            "Sample the servers' and routers' own metrics during the run.",
        )
        .default("true"),
        Key::new("metrics.interval", Positive, "BENCHMARK_METRICS_INTERVAL", "Seconds between samples.").default("5"),
        Key::new(
            "metrics.gke_monitoring",
            Choice(&["auto", "required", "off"]),
            "BENCHMARK_GKE_MONITORING",
            "Managed Prometheus resources on GKE: when available, required, or never.",
        )
        .default("auto"),
        Key::new(
            "metrics.fast_collect",
            Boolean,
            "BENCHMARK_FAST_COLLECT",
            "Copy results as one archive instead of file by file.",
        )
        .default("true"),
    ],
};
