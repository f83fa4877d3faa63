use super::*;

/// Records of one request each: `(start, end)`.
fn push(splitter: &mut Splitter, times: impl IntoIterator<Item = (f64, f64)>) {
    for (start, end) in times {
        splitter.push(&Record { start: Some(start), end: Some(end), ..Record::default() });
    }
}

fn splitter(counts: &[u64]) -> Splitter {
    Splitter::new(vec![Plan { source: "config.yaml", counts: counts.to_vec() }], Tokens::Client)
}

/// A stage of `count` requests, a second apart and half a second long: it is idle between all of them.
fn slow(from: f64, count: u32) -> Vec<(f64, f64)> {
    (0..count).map(|index| (from + f64::from(index), from + f64::from(index) + 0.5)).collect()
}

/// A stage of `count` requests that overlap.
fn busy(from: f64, count: u32) -> Vec<(f64, f64)> {
    (0..count).map(|index| (from + 0.1 * f64::from(index), from + 0.1 * f64::from(index) + 2.0)).collect()
}

#[test]
fn planned_counts_find_the_boundary_among_many_idle_moments() {
    let mut splitter = splitter(&[200, 30, 7]);
    push(&mut splitter, slow(0.0, 200));
    push(&mut splitter, busy(200.2, 30));
    push(&mut splitter, slow(300.0, 7));
    let how = splitter.finish().unwrap().how;
    assert_eq!(how.counts, [200, 30, 7]);
    assert!(how.as_planned);
    assert_eq!(how.longest_idle_inside, 0.5);
    // The gap before the second stage is shorter than those inside the first; its count decides.
    assert!(how.idle_seconds[0] < 0.8, "{:?}", how.idle_seconds);
}

#[test]
fn without_matching_counts_the_longest_idle_times_divide_stages() {
    let mut splitter = splitter(&[9, 30]);
    push(&mut splitter, slow(0.0, 10));
    push(&mut splitter, busy(20.0, 30));
    let how = splitter.finish().unwrap().how;
    assert_eq!(how.counts, [10, 30]);
    assert!(!how.as_planned);
}

#[test]
fn the_first_plan_that_fits_exactly_is_followed() {
    let plans = vec![
        Plan { source: "config.yaml", counts: vec![10, 30] },
        Plan { source: "stage documents", counts: vec![8, 30] },
    ];
    let mut splitter = Splitter::new(plans, Tokens::Client);
    push(&mut splitter, slow(0.0, 8));
    push(&mut splitter, busy(8.1, 30));
    let how = splitter.finish().unwrap().how;
    assert_eq!((how.counts_from, how.as_planned), (Some("stage documents"), true));
    assert_eq!(how.counts, [8, 30]);
}

#[test]
fn a_record_that_arrives_after_the_next_stage_began_still_belongs_to_its_own() {
    let mut splitter = splitter(&[3, 2]);
    push(&mut splitter, [(0.0, 1.0), (0.5, 1.5), (10.0, 11.0), (0.6, 1.6), (10.5, 12.0)]);
    let how = splitter.finish().unwrap().how;
    assert_eq!(how.counts, [3, 2]);
    assert!(how.as_planned);
}

#[test]
fn overlapping_stages_cannot_be_told_apart() {
    let mut splitter = splitter(&[10, 10]);
    push(&mut splitter, busy(0.0, 20));
    assert_eq!(splitter.finish().unwrap_err(), 0);
}

#[test]
fn no_records_are_no_stages() {
    assert_eq!(splitter(&[10, 10]).finish().unwrap_err(), 0);
}

#[test]
fn records_without_usable_clocks_are_left_out_and_counted() {
    let mut splitter = splitter(&[2]);
    push(&mut splitter, [(0.0, 1.0), (5.0, 4.0)]);
    splitter.push(&Record { start: Some(1.0), ..Record::default() });
    push(&mut splitter, [(2.0, 3.0)]);
    let how = splitter.finish().unwrap().how;
    assert_eq!((how.counts, how.unusable_records), (vec![2], 2));
}

#[test]
fn values_beyond_the_budget_become_estimates_and_memory_stays_within_it() {
    let plans = vec![Plan { source: "config.yaml", counts: vec![500, 500] }];
    let mut splitter = Splitter::with_budget(plans, Tokens::Client, 64 << 10);
    let mut record = Record { detailed: true, output_tokens: Some(100.0), ..Record::default() };
    for stage in 0..2 {
        for request in 0..500 {
            let start = 1000.0 * f64::from(stage) + f64::from(request);
            record.start = Some(start);
            record.end = Some(start + 0.9);
            record.token_times = (0..100).map(|token| start + 0.1 + 0.005 * f64::from(token)).collect();
            splitter.push(&record);
            let held: usize = splitter.pieces.iter().map(|piece| piece.tally.bytes()).sum();
            assert!(held <= 64 << 10, "{held} bytes at request {request}");
        }
    }
    let split = splitter.finish().unwrap();
    assert_eq!(split.how.counts, [500, 500]);
    for mut tally in split.stages {
        assert!(tally.error() > 0.0 && tally.error() < 0.01);
        let itl = tally.stage(0, crate::audit::tally::Reading::Native).latency.itl.unwrap();
        assert!((itl.p50.unwrap() / 0.005 - 1.0).abs() < tally.error() + 1e-6);
    }
}
