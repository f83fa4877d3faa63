//! Per-request records as additions to stages: confidence intervals, curves, counts within limits.

use std::path::Path;

use super::split::{self, Splitter};
use super::tally::Tally;
use super::{input, plan, read_records};
use crate::model::{Sampled, Slo, Stage};
use crate::native;
use crate::statistics::RankIntervals;

/// What a repetition's records say about each of its stages, in the stages' order. `None` when it has no records.
///
/// Memory stays bounded as in an audit.
///
/// # Errors
/// When the records cannot be read, or are not those of the stages.
pub fn samples(dir: &Path, stages: &[Stage], slo: Option<&Slo>) -> Result<Option<Vec<Sampled>>, String> {
    let Some(path) = input::find(dir) else { return Ok(None) };
    let named = |error: String| format!("{}: {error}", path.display());
    let config = native::Config::read(dir).map_err(|error| error.to_string())?;
    let tokens = config.as_ref().map(plan::Plan::of).unwrap_or_default().tokens;
    if stages.len() > split::STAGES {
        return Err(named(format!("more than {} stages are not told apart", split::STAGES)));
    }
    let counts: Vec<u64> = stages.iter().map(|stage| stage.requests.total).collect();
    let plan = split::Plan { source: "stage documents", counts: counts.clone() };
    let mut reader = input::open(&path).map_err(|error| error.to_string())?;
    let mut splitter = Splitter::new(vec![plan], tokens).limited(slo);
    read_records(&mut reader, |record| splitter.push(record)).map_err(|error| format!("{} {error}", path.display()))?;
    let found = splitter.finish().map_err(|idle| named(format!("only {idle} idle moments divide its records")))?;
    if found.how.counts != counts {
        let found = found.how.counts.iter().sum::<u64>();
        return Err(named(format!(
            "{found} records do not divide into the stages' {} requests",
            counts.iter().sum::<u64>()
        )));
    }
    let top = stages.iter().filter(|stage| !stage.warm_up).filter_map(|stage| Some(stage.level()?.value()));
    let top = top.fold(f64::NEG_INFINITY, f64::max);
    let mut ranks = RankIntervals::default();
    let sampled = found.stages.into_iter().zip(stages).map(|(mut tally, stage): (Tally, _)| {
        let drawn = !stage.warm_up && stage.level().is_some_and(|level| level.value() >= top);
        tally.sampled(&mut ranks, drawn)
    });
    Ok(Some(sampled.collect()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::campaign::{Campaign, from_native};
    use crate::model::{Quantity, Statistic};

    /// Evidence of real runs of inference-perf 0.7.0.
    fn evidence(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/audit/testdata").join(name)
    }

    fn campaign(dir: PathBuf) -> Campaign {
        from_native(&[("service".into(), dir)]).unwrap()
    }

    fn stages(name: &str) -> Vec<Stage> {
        campaign(evidence(name)).treatments.remove(0).repetitions.remove(0).stages
    }

    #[test]
    fn intervals_and_curves_agree_with_the_stored_percentiles() {
        let stages = stages("streamed");
        let sampled = samples(&evidence("streamed"), &stages, None).unwrap().unwrap();
        let mut intervals = 0;
        for (stage, sampled) in stages.iter().zip(&sampled) {
            for (quantity, sample) in &sampled.quantities {
                let stored = quantity.of(stage).unwrap();
                for (statistic, interval) in &sample.intervals {
                    let value = statistic.of(&stored).unwrap();
                    assert!(interval.low <= value && value <= interval.high, "{quantity} {statistic:?}");
                    assert!(interval.coverage >= 0.99);
                    intervals += 1;
                }
                assert_eq!(sampled.within, None);
            }
        }
        assert!(intervals > 0);
        let (top, last) = (stages.last().unwrap(), sampled.last().unwrap());
        let curve = &last.quantities[&Quantity::Ttft].curve;
        let median = Statistic::P50.of(&top.latency.ttft.unwrap()).unwrap();
        assert!((curve[51] - median).abs() <= 1e-5 * median, "{} {median}", curve[51]);
        assert!(sampled[0].quantities[&Quantity::Ttft].curve.is_empty(), "only the highest level is drawn");
    }

    #[test]
    fn failed_requests_meet_no_limit_and_limits_are_counted_request_by_request() {
        let stages = stages("failing");
        let count = |slo: &str| {
            let slo = slo.parse().unwrap();
            let sampled = samples(&evidence("failing"), &stages, Some(&slo)).unwrap().unwrap();
            sampled.into_iter().map(|sampled| sampled.within.unwrap()).collect::<Vec<_>>()
        };
        let successes: Vec<_> = stages.iter().map(|stage| stage.requests.successes()).collect();
        let all = count("ttft_p90=1000s,itl_p50=1000s");
        assert!(successes.iter().zip(&stages).any(|(successes, stage)| *successes < Some(stage.requests.total)));
        assert_eq!(all.iter().map(|within| within.all).collect::<Vec<_>>(), successes);
        let none = count("ttft_p90=1ms");
        assert!(none.iter().all(|within| within.all == Some(0)), "{none:?}");
        // As many requests as lie at or below the stored median, which is half of the successful ones.
        let median = stages[2].latency.request.unwrap().p50.unwrap();
        let half = count(&format!("request_latency_p50={median}s"))[2].all.unwrap();
        assert_eq!(half, successes[2].unwrap().div_ceil(2));
    }

    #[test]
    fn a_stage_in_which_every_request_failed_has_no_values() {
        let stages = stages("all-failed");
        let slo = "ttft_p90=1s".parse().unwrap();
        let sampled = samples(&evidence("all-failed"), &stages, Some(&slo)).unwrap().unwrap();
        let failed = stages.iter().position(Stage::all_failed).unwrap();
        assert!(sampled[failed].quantities.is_empty());
        assert_eq!(sampled[failed].within.as_ref().unwrap().all, Some(0));
    }

    #[test]
    fn records_that_are_missing_are_none_and_unusable_ones_a_warning_with_their_name() {
        let folder = tempfile::tempdir().unwrap();
        for entry in fs_err::read_dir(evidence("streamed")).unwrap() {
            let path = entry.unwrap().path();
            fs_err::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
        let records = folder.path().join(format!("{}.gz", native::PER_REQUEST_FILE));
        let whole = fs_err::read(&records).unwrap();
        let warned = |bytes: &[u8]| {
            fs_err::write(&records, bytes).unwrap();
            let mut campaign = campaign(folder.path().into());
            campaign.add_records(None);
            let sampled = campaign.treatments[0].repetitions[0].stages.iter().any(|stage| stage.sampled.is_some());
            (campaign.warnings.join("\n"), sampled)
        };
        assert_eq!(warned(&whole), (String::new(), true));
        for (bytes, why) in [(&whole[..whole.len() / 2], native::PER_REQUEST_FILE), (&[][..], "is empty")] {
            let (warning, sampled) = warned(bytes);
            assert!(warning.starts_with("records not used: ") && warning.contains(why), "{warning}");
            assert!(!sampled);
        }
        fs_err::remove_file(&records).unwrap();
        assert_eq!(samples(folder.path(), &stages("streamed"), None), Ok(None));
        let fewer = &stages("streamed")[..1];
        assert!(samples(&evidence("streamed"), fewer, None).unwrap_err().contains("records do not divide"));
    }
}
