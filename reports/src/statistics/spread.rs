//! The same number over several repetitions.

use serde::Serialize;

use super::median;

/// A number over repetitions: its median and how far the repetitions lie apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Median over repetitions.
    pub median: f64,
    /// Smallest repetition.
    pub min: f64,
    /// Largest repetition.
    pub max: f64,
    /// Each repetition's value, ascending, so that the order of repetitions cannot matter.
    pub values: Vec<f64>,
}

impl Spread {
    /// The spread of the values that exist; `None` when none does.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        Some(Self { median: median(&values)?, min: *values.first()?, max: *values.last()?, values })
    }

    /// How many repetitions.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Half the range over the median: how far repetitions scatter, relative. `None` for one repetition or a median of 0.
    pub fn relative(&self) -> Option<f64> {
        (self.count() > 1 && self.median != 0.0).then(|| (self.max - self.min) / 2.0 / self.median.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_repetitions_does_not_matter() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Spread::of([1.0, 2.0, 3.0]));
        assert_eq!(Spread::of([3.0, 1.0, 2.0]).unwrap().median, 2.0);
    }

    #[test]
    fn no_repetition_has_no_spread() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([5.0]).unwrap().relative(), None);
    }
}
