//! Percentiles by numpy's linear rule.

/// The `p` quantile (0 to 1) of `values` by numpy's linear rule (Hyndman and Fan's type 7). Sorts `values`. `None` when
/// there are none, when one is not a number, or when `p` is outside 0 to 1.
pub fn percentile(values: &mut [f64], p: f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    percentile_of_sorted(values, p)
}

/// As [`percentile`], for values that are in ascending order already.
pub fn percentile_of_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    // `total_cmp` puts NaNs at the ends, so looking at both ends finds any.
    if !(0.0..=1.0).contains(&p) || sorted[0].is_nan() || sorted[last].is_nan() {
        return None;
    }
    let position = p * last as f64;
    let below = position.floor() as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    let fraction = position - position.floor();
    let difference = high - low;
    // numpy interpolates from the nearer end, which keeps the result exact at both and monotonic between.
    Some(if fraction >= 0.5 { high - difference * (1.0 - fraction) } else { low + difference * fraction })
}

/// The median, without changing the order of `values`.
pub fn median(values: &[f64]) -> Option<f64> {
    percentile(&mut values.to_vec(), 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.percentile([0.3, 1.7, 2.2, 9.1, 4.4], [0, 10, 25, 50, 90, 99, 100])`.
    #[test]
    fn percentiles_are_numpy_s() {
        let mut values = [0.3, 1.7, 2.2, 9.1, 4.4];
        let expected = [
            (0.0, 0.3),
            (0.1, 0.86),
            (0.25, 1.7),
            (0.5, 2.2),
            (0.9, 7.220000000000001),
            (0.99, 8.911999999999999),
            (1.0, 9.1),
        ];
        for (p, value) in expected {
            let found = percentile(&mut values, p).unwrap();
            assert!((found - value).abs() < 1e-14, "{p}: {found} {value}");
        }
    }

    #[test]
    fn one_value_is_every_percentile() {
        assert_eq!(percentile(&mut [4.0], 0.99), Some(4.0));
    }

    #[test]
    fn nothing_has_no_percentile() {
        assert_eq!(percentile(&mut [], 0.5), None);
        assert_eq!(percentile(&mut [1.0, f64::NAN], 0.5), None);
        assert_eq!(percentile(&mut [1.0, -f64::NAN], 0.5), None);
        assert_eq!(percentile(&mut [1.0], 1.5), None);
    }
}
