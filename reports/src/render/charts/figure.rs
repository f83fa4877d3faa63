//! What each figure of a report shows: one list for static charts, the pages' words and the interactive page.

use crate::model::{Metric, Quantity, Statistic};

/// A figure over the ladder: one metric, and how to speak about it.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// File stem.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// The metric on the vertical axis.
    pub metric: Metric,
    /// The axis' words, without the unit.
    pub axis: &'static str,
    /// The unit that is shown.
    pub unit: &'static str,
    /// Base units to the shown unit.
    pub factor: f64,
    /// How to read it, in one sentence.
    pub reading: &'static str,
    /// What it shows and where the numbers come from.
    pub shows: &'static str,
    /// What must not be read into it.
    pub hides: &'static str,
}

/// Milliseconds for what happens between tokens, seconds for what people wait for.
const MILLISECONDS: f64 = 1000.0;

const TTFT_SHOWS: &str = "Time from sending a request to its first token, measured at the client over the requests that \
     succeeded; queueing is included.";
const TTFT_HIDES: &str = "Requests that failed are not in it, nor is time that a request waited inside the load generator before it was \
     sent.";
const ITL_SHOWS: &str = "Gaps between consecutive tokens, all gaps of all successful requests together.";
const ITL_HIDES: &str = "It says nothing about the wait for the first token: a server that works on few requests at once looks good here while others queue.";
const NTPOT_SHOWS: &str = "A request's whole latency divided by its output tokens, over the requests that succeeded.";
const NTPOT_HIDES: &str =
    "It mixes the wait for the first token with the pace after it; requests with few output tokens weigh most.";

/// The figures, in the order of documents.
pub const FIGURES: [Figure; 7] = [
    Figure {
        id: "throughput",
        title: "Output tokens a second",
        metric: Metric::OutputTokenRate,
        axis: "output token rate",
        unit: "tokens/s",
        factor: 1.0,
        reading: "Higher is better: what the servers deliver in all at each requested rate.",
        shows: "Output tokens of successful requests over the stage's whole time, from the first request's start to the last one's end.",
        hides: "The time includes the drain after the last request was sent, so short stages look slower than long ones. It is not what \
             one user sees.",
    },
    Figure {
        id: "request-rate",
        title: "Completed requests a second",
        metric: Metric::RequestRate,
        axis: "completed requests",
        unit: "requests/s",
        factor: 1.0,
        reading: "Higher is better: the dotted line is where every request ends within the time in which it was sent.",
        shows: "Completed requests over the stage's whole time, drain included, beside the rate that was requested.",
        hides: "It lies below the dotted line even when no request fails, because the drain counts. It is not the send rate.",
    },
    Figure {
        id: "ttft-p50",
        title: "Time to first token, median",
        metric: Metric::Latency(Quantity::Ttft, Statistic::P50),
        axis: "TTFT p50",
        unit: "s",
        factor: 1.0,
        reading: "Lower is better: half of the requests see their first token within this time.",
        shows: TTFT_SHOWS,
        hides: TTFT_HIDES,
    },
    Figure {
        id: "ttft-p90",
        title: "Time to first token, 90th percentile",
        metric: Metric::Latency(Quantity::Ttft, Statistic::P90),
        axis: "TTFT p90",
        unit: "s",
        factor: 1.0,
        reading: "Lower is better: one request in ten waits longer than this for its first token.",
        shows: TTFT_SHOWS,
        hides: TTFT_HIDES,
    },
    Figure {
        id: "itl-p50",
        title: "Inter-token latency, median",
        metric: Metric::Latency(Quantity::Itl, Statistic::P50),
        axis: "ITL p50",
        unit: "ms",
        factor: MILLISECONDS,
        reading: "Lower is better for one reader, but read it beside TTFT and throughput: busier servers have longer gaps.",
        shows: ITL_SHOWS,
        hides: ITL_HIDES,
    },
    Figure {
        id: "ntpot-p50",
        title: "Normalised time per output token, median",
        metric: Metric::Latency(Quantity::Ntpot, Statistic::P50),
        axis: "NTPOT p50",
        unit: "ms/token",
        factor: MILLISECONDS,
        reading: "Lower is better: waiting and generating, spread over the tokens that came.",
        shows: NTPOT_SHOWS,
        hides: NTPOT_HIDES,
    },
    Figure {
        id: "failures",
        title: "Failed requests",
        metric: Metric::FailureRate,
        axis: "failed requests",
        unit: "%",
        factor: 100.0,
        reading: "Lower is better, and zero is the only value at which the other figures describe every request.",
        shows: "Requests that ended in an error, as a share of all requests of the stage.",
        hides: "It does not say why they failed; the table of failures by label does.",
    },
];
