//! "What the gateway itself costs", as Markdown.

use std::fmt::Write;

use super::build::{Cost, Measure, Overhead, StageCost, TreatmentCost};
use crate::render::chart::Chart;
use crate::render::text::{ABSENT, fixed, markdown as escaped, number};

/// The page; `charts` are in the files `<id>.svg` beside it.
pub fn markdown(overhead: &Overhead, charts: &[Chart]) -> String {
    let mut page = String::new();
    // Writing into a String cannot fail.
    write_page(&mut page, overhead, charts).unwrap_or_default();
    page
}

fn write_page(page: &mut String, overhead: &Overhead, charts: &[Chart]) -> std::fmt::Result {
    let Overhead { campaign_id, client, rounds, baseline, .. } = overhead;
    writeln!(page, "# What the gateway itself costs\n")?;
    if overhead.simulated {
        writeln!(
            page,
            "> **Simulated.** The model server behind these numbers answers at constant times: it has no GPU noise in"
        )?;
        writeln!(
            page,
            "> which tenths of a millisecond would be lost. Proxies, picker, connections and client are what they are named.\n"
        )?;
    }
    let name = escaped(baseline);
    writeln!(
        page,
        "Campaign {campaign_id}: {rounds} interleaved rounds, differences against `{name}` within each round."
    )?;
    writeln!(
        page,
        "All latencies here were measured by {client}, from the time at which a request was meant to be sent."
    )?;
    if let Some(pinning) = &overhead.pinning {
        writeln!(page, "CPU: {}.", escaped(pinning))?;
    }
    if *rounds < 2 {
        writeln!(page, "\nOne round has no confidence interval: use `--repetitions 5` or more.")?;
    }
    for chart in charts {
        writeln!(page, "\n![{}]({}.svg)", escaped(&chart.title), chart.id)?;
    }
    for treatment in overhead.treatments.iter().skip(1) {
        added(page, treatment)?;
    }
    absolute(page, overhead)?;
    resources(page, overhead)?;
    limits(page, overhead)?;
    qualification(page, overhead)
}

/// A table of what one treatment adds.
fn added(page: &mut String, treatment: &TreatmentCost) -> std::fmt::Result {
    let proxy = treatment.proxy.as_deref().map(|proxy| format!(" ({})", escaped(proxy))).unwrap_or_default();
    writeln!(page, "\n## Added by {}{proxy}\n", escaped(&treatment.display_name))?;
    writeln!(
        page,
        "Milliseconds above the baseline, with 95% confidence intervals over rounds. Rates marked * were not reached:"
    )?;
    writeln!(page, "there a queue is measured, not the proxy.\n")?;
    writeln!(
        page,
        "| requests/s | TTFT p50 | TTFT p90 | TTFT p99 | TTFT p99.9 | request p50 | request p90 | request p99 | request p99.9 | a chunk |"
    )?;
    writeln!(page, "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")?;
    for stage in &treatment.stages {
        write!(page, "| {}{} |", number(stage.offered_rate), mark(stage))?;
        for cost in &stage.costs {
            write!(page, " {} |", difference(cost))?;
        }
        writeln!(page)?;
    }
    Ok(())
}

fn mark(stage: &StageCost) -> &'static str {
    if stage.target_met > 0 { "" } else { "\\*" }
}

fn difference(cost: &Cost) -> String {
    let Some(added) = cost.added else { return ABSENT.to_owned() };
    let interval = added.interval_ms.map(|(low, high)| format!(" [{}, {}]", fixed(low, 3), fixed(high, 3)));
    format!("{}{}", fixed(added.mean_ms, 3), interval.unwrap_or_default())
}

fn absolute(page: &mut String, overhead: &Overhead) -> std::fmt::Result {
    writeln!(page, "\n## Latencies and rates\n\nMedians over rounds; times in milliseconds.\n")?;
    writeln!(
        page,
        "| treatment | offered | sent | answered | target met | TTFT p50 | TTFT p99 | request p50 | request p99 | sent late by | failed | not sent |"
    )?;
    writeln!(page, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")?;
    for treatment in &overhead.treatments {
        for stage in &treatment.stages {
            let value = |measure: Measure, statistic: &str| {
                let cost = stage.costs.iter().find(|cost| cost.measure == measure && cost.statistic == statistic);
                milliseconds(cost.and_then(|cost| cost.value_ms))
            };
            writeln!(
                page,
                "| {} | {} | {} | {} | {} of {} | {} | {} | {} | {} | {} | {} | {} |",
                escaped(&treatment.display_name),
                number(stage.offered_rate),
                optional(stage.achieved_rate),
                optional(stage.completed_rate),
                stage.target_met,
                overhead.rounds,
                value(Measure::Ttft, "p50"),
                value(Measure::Ttft, "p99"),
                value(Measure::Request, "p50"),
                value(Measure::Request, "p99"),
                milliseconds(stage.lateness_ms),
                stage.failed,
                stage.unsent,
            )?;
        }
    }
    Ok(())
}

fn resources(page: &mut String, overhead: &Overhead) -> std::fmt::Result {
    writeln!(
        page,
        "\n## CPU and memory\n\nFor 1,000 answered requests, from the kernel's accounting of each process.\n"
    )?;
    writeln!(page, "| treatment | requests/s | component | CPU seconds | resident MiB |\n|---|--:|---|--:|--:|")?;
    for treatment in &overhead.treatments {
        for stage in &treatment.stages {
            for component in &stage.components {
                writeln!(
                    page,
                    "| {} | {} | {} | {} | {} |",
                    escaped(&treatment.display_name),
                    number(stage.offered_rate),
                    escaped(&component.name),
                    component.cpu_seconds_per_1000.map_or_else(|| ABSENT.to_owned(), |seconds| fixed(seconds, 3)),
                    component.resident_mib.map_or_else(|| ABSENT.to_owned(), |mib| fixed(mib, 1)),
                )?;
            }
        }
    }
    Ok(())
}

fn limits(page: &mut String, overhead: &Overhead) -> std::fmt::Result {
    writeln!(page, "\n## Throughput\n")?;
    writeln!(page, "| treatment | highest rate reached in every round | most answers a second |\n|---|--:|--:|")?;
    for treatment in &overhead.treatments {
        let above = if treatment.limit.found { "" } else { " (the ladder's top: the limit lies above)" };
        let highest = treatment.limit.highest_met.map_or_else(|| ABSENT.to_owned(), |rate| number(rate) + above);
        let (name, most) = (escaped(&treatment.display_name), optional(treatment.limit.most_completed));
        writeln!(page, "| {name} | {highest} | {most} |")?;
    }
    writeln!(
        page,
        "\nClient, proxy and servers share this machine: the limit is the machine's with that treatment, not the proxy's alone."
    )
}

fn qualification(page: &mut String, overhead: &Overhead) -> std::fmt::Result {
    writeln!(page, "\n## What was proven before the load\n")?;
    writeln!(
        page,
        "| treatment | JSON with usage | stream ends with its end event | first to last chunk (ms) | upstream 429 passed on |\n|---|---|---|--:|---|"
    )?;
    let yes = |proven: bool| if proven { "yes" } else { "no" };
    for treatment in &overhead.treatments {
        let proven = &treatment.qualification;
        let refused = proven.upstream_429.map_or("n/a", yes);
        let spread = fixed(proven.stream_spread_ms, 2);
        let name = escaped(&treatment.display_name);
        let (json, ends) = (yes(proven.json_with_usage), yes(proven.stream_ends));
        writeln!(page, "| {name} | {json} | {ends} | {spread} | {refused} |")?;
    }
    Ok(())
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), number)
}

fn milliseconds(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| fixed(value, 3))
}
