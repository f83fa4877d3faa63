use super::*;

fn values(of: impl IntoIterator<Item = f64>) -> Values {
    let mut values = Values::default();
    of.into_iter().for_each(|value| values.push(value));
    values
}

/// A fixed, skewed sequence like latencies: 20,000 values over three decades.
fn skewed() -> Vec<f64> {
    (0..20_000_u64).map(|index| 0.01 * 1.0005_f64.powi((index * 7919 % 14_000) as i32)).collect()
}

#[test]
fn percentiles_follow_numpys_linear_rule() {
    let distribution = values([4.0, 1.0, 3.0, 2.0]).distribution(0).unwrap();
    assert_eq!(distribution.p50, Some(2.5));
    assert_eq!(distribution.p90, Some(3.7));
    assert_eq!(distribution.mean, Some(2.5));
    assert_eq!(distribution.min.zip(distribution.max), Some((1.0, 4.0)));
    let deviation = distribution.stddev.unwrap();
    assert!((deviation - 1.290_994_448_735_805_6).abs() < 1e-15, "{deviation}");
}

#[test]
fn one_value_has_no_deviation_and_nothing_has_no_distribution() {
    let distribution = values([0.5]).distribution(0).unwrap();
    assert_eq!((distribution.p0p1, distribution.p99p9, distribution.stddev), (Some(0.5), Some(0.5), None));
    assert_eq!(Values::default().distribution(0), None);
}

#[test]
fn added_zeros_count_like_values() {
    let apart = values([1.0, 2.0, 3.0]).distribution(2).unwrap();
    let together = values([0.0, 1.0, 0.0, 2.0, 3.0]).distribution(0).unwrap();
    assert_eq!(
        (apart.min, apart.p25, apart.p50, apart.p99, apart.max),
        (together.min, together.p25, together.p50, together.p99, together.max)
    );
    assert!((apart.mean.unwrap() - together.mean.unwrap()).abs() < 1e-15);
    assert!((apart.stddev.unwrap() - together.stddev.unwrap()).abs() < 1e-15);
}

#[test]
fn a_sketch_stays_within_the_error_that_it_states() {
    let mut exact = values(skewed());
    let truth = exact.distribution(0).unwrap();
    let mut sketch = exact.clone();
    for _ in 0..4 {
        sketch.shrink();
        let error = sketch.error();
        assert!(sketch.bytes() < exact.bytes());
        let estimate = sketch.distribution(0).unwrap();
        for (estimate, truth) in estimate.percentiles().iter().zip(truth.percentiles()) {
            let (estimate, truth) = (estimate.value.unwrap(), truth.value.unwrap());
            assert!((estimate / truth - 1.0).abs() <= error + 1e-12, "{estimate} {truth} at {error}");
        }
        assert_eq!((estimate.mean, estimate.min, estimate.max), (truth.mean, truth.min, truth.max));
    }
}

#[test]
fn merging_gives_what_one_store_would_have_given_in_whatever_form_the_parts_are() {
    let all = skewed();
    let truth = values(all.clone()).distribution(0).unwrap();
    for shrinks in [(0, 0), (1, 0), (0, 1), (1, 3), (2, 1)] {
        let (mut left, mut right) = (values(all[..5_000].to_vec()), values(all[5_000..].to_vec()));
        (0..shrinks.0).for_each(|_| left.shrink());
        (0..shrinks.1).for_each(|_| right.shrink());
        left.merge(right);
        let error = left.error();
        let merged = left.distribution(0).unwrap();
        assert_eq!(left.count, 20_000);
        assert!((merged.mean.unwrap() / truth.mean.unwrap() - 1.0).abs() < 1e-12);
        assert!((merged.stddev.unwrap() / truth.stddev.unwrap() - 1.0).abs() < 1e-9);
        for (merged, truth) in merged.percentiles().iter().zip(truth.percentiles()) {
            assert!((merged.value.unwrap() / truth.value.unwrap() - 1.0).abs() <= error + 1e-12);
        }
    }
}
