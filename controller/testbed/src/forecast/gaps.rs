//! Times between tokens, counted in bins: a stage has millions of them.

/// Leading bits of a number's mantissa that tell bins apart: a bin is at most 0.1% wide.
const MANTISSA_BITS: u32 = 10;
/// Gaps below a microsecond are counted as one.
const LEAST: f64 = 1e-6;
/// Gaps above about 30 hours are counted as that.
const MOST: f64 = 1e5;

/// Tokens by the time since the token before, in seconds.
#[derive(Clone, Debug)]
pub struct Gaps {
    counts: Vec<u64>,
    total: u64,
    sum: f64,
}

impl Default for Gaps {
    fn default() -> Self {
        Self { counts: vec![0; bin(MOST) + 1], total: 0, sum: 0.0 }
    }
}

impl Gaps {
    /// Counts `count` gaps of `seconds`.
    pub fn add(&mut self, seconds: f64, count: u64) {
        self.counts[bin(seconds)] += count;
        self.total += count;
        self.sum += seconds * count as f64;
    }

    /// Counts the gaps of `steps` steps for `sequences` sequences, the first step `first` seconds long and each `growth`
    /// longer than the one before.
    pub fn add_steps(&mut self, sequences: u32, first: f64, growth: f64, steps: u64) {
        // Steps that differ by less than a bin's width are counted together.
        let parts = ((growth * steps as f64 / first * f64::from(1 << MANTISSA_BITS)) as u64).clamp(1, steps);
        for part in 0..parts {
            let (from, to) = (steps * part / parts, steps * (part + 1) / parts);
            let middle = first + growth * (from + to - 1) as f64 / 2.0;
            self.add(middle, u64::from(sequences) * (to - from));
        }
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Their mean in seconds; `None` without any.
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum / self.total as f64)
    }

    /// The values that these shares of all gaps (ascending, 0 to 1) lie at or below, each within 0.05%; `None` without any.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> Option<[f64; N]> {
        if self.total == 0 {
            return None;
        }
        let mut values = [0.0; N];
        let mut bins = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let (mut at, mut below) = (0, 0);
        for (value, share) in values.iter_mut().zip(shares) {
            let wanted = (share * (self.total - 1) as f64).round() as u64;
            while below <= wanted {
                let Some((bin, count)) = bins.next() else { break };
                (at, below) = (bin, below + count);
            }
            *value = middle(at);
        }
        Some(values)
    }
}

/// A number's exponent and the first bits of its mantissa, read as one whole number, ascend with it.
fn bin(seconds: f64) -> usize {
    let bits = |seconds: f64| seconds.to_bits() >> (f64::MANTISSA_DIGITS - 1 - MANTISSA_BITS);
    (bits(seconds.clamp(LEAST, MOST)) - bits(LEAST)) as usize
}

/// The value in the middle of a bin.
fn middle(bin: usize) -> f64 {
    let shift = f64::MANTISSA_DIGITS - 1 - MANTISSA_BITS;
    let first = (LEAST.to_bits() >> shift) + bin as u64;
    f64::midpoint(f64::from_bits(first << shift), f64::from_bits((first + 1) << shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_half_a_thousandth() {
        let mut gaps = Gaps::default();
        for value in 1..=1000_u32 {
            gaps.add(f64::from(value) / 1e3, 3);
        }
        let [least, middle, most] = gaps.quantiles([0.0, 0.5, 1.0]).unwrap();
        for (seen, exact) in [(least, 0.001), (middle, 0.5005), (most, 1.0)] {
            assert!((seen / exact - 1.0).abs() < 0.0015, "{seen} {exact}");
        }
        assert_eq!(gaps.total(), 3000);
        assert!((gaps.mean().unwrap() - 0.5005).abs() < 1e-9);
    }

    #[test]
    fn steps_that_grow_are_counted_as_if_one_by_one() {
        let (mut together, mut apart) = (Gaps::default(), Gaps::default());
        together.add_steps(7, 0.02, 1e-5, 900);
        for step in 0..900_u32 {
            apart.add(0.02 + 1e-5 * f64::from(step), 7);
        }
        let shares = [0.0, 0.25, 0.5, 0.9, 1.0];
        let pairs = together.quantiles(shares).unwrap().into_iter().zip(apart.quantiles(shares).unwrap());
        assert!(pairs.into_iter().all(|(one, two)| (one / two - 1.0).abs() < 0.002));
        assert!((together.mean().unwrap() / apart.mean().unwrap() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn no_gap_has_no_quantile_and_extremes_have_a_place() {
        assert_eq!(Gaps::default().quantiles([0.5]), None);
        assert_eq!(Gaps::default().mean(), None);
        let mut gaps = Gaps::default();
        gaps.add(0.0, 1);
        gaps.add(1e9, 1);
        assert_eq!(gaps.total(), 2);
    }
}
