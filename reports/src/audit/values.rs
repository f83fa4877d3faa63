//! Many values in bounded memory: exact while they are few, log-spaced buckets with a stated relative error after.

use crate::model::{Distribution, INTERVALS, Sample, curve_shares, short};
use crate::statistics::{QuantileInterval, RankIntervals, percentile_of_sorted};

/// Bits of the mantissa that tell the buckets of a fresh sketch apart: 512 buckets from one power of two to the next.
const MANTISSA_BITS: u32 = 9;
/// Values below this are counted as zero: a nanosecond, the clock's own step.
const SMALLEST: f64 = 1e-9;

/// The values of one metric in one stage.
#[derive(Clone, Debug, Default)]
pub struct Values {
    store: Store,
    count: u64,
    /// The first value, from which deviations are taken so that squares keep their digits.
    origin: f64,
    /// Sum of the deviations.
    sum: f64,
    /// Sum of their squares.
    squares: f64,
    min: f64,
    max: f64,
}

#[derive(Clone, Debug)]
enum Store {
    Exact(Vec<f64>),
    Sketch(Sketch),
}

/// Counts in buckets of equal relative width within each power of two, as in HdrHistogram: a value's bucket is its sign,
/// exponent and leading mantissa bits.
#[derive(Clone, Debug)]
struct Sketch {
    mantissa_bits: u32,
    /// Bucket of `counts[0]`.
    first: u64,
    counts: Vec<u64>,
    /// Values too small, or negative, for a bucket.
    zeros: u64,
}

impl Default for Store {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

impl Values {
    /// Adds one finite value.
    pub fn push(&mut self, value: f64) {
        if self.count == 0 {
            (self.origin, self.min, self.max) = (value, value, value);
        }
        self.count += 1;
        let deviation = value - self.origin;
        self.sum += deviation;
        self.squares += deviation * deviation;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        match &mut self.store {
            Store::Exact(values) => values.push(value),
            Store::Sketch(sketch) => sketch.add(value),
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match &self.store {
            Store::Exact(values) => values.len() * size_of::<f64>(),
            Store::Sketch(sketch) => sketch.counts.len() * size_of::<u64>(),
        }
    }

    /// Whether every value is still held.
    pub fn is_exact(&self) -> bool {
        matches!(self.store, Store::Exact(_))
    }

    /// Largest relative error of a percentile; 0 while exact.
    pub fn error(&self) -> f64 {
        match &self.store {
            Store::Exact(_) => 0.0,
            Store::Sketch(sketch) => sketch.error(),
        }
    }

    /// Gives up exactness, or precision where that is gone already, to hold less.
    pub fn shrink(&mut self) {
        match &mut self.store {
            Store::Exact(values) => {
                let mut sketch = Sketch::new();
                values.iter().for_each(|value| sketch.add(*value));
                self.store = Store::Sketch(sketch);
            }
            Store::Sketch(sketch) => sketch.coarsen(),
        }
    }

    /// Adds all values of `other`; the cost is that of the smaller one.
    pub fn merge(&mut self, mut other: Self) {
        if self.count == 0 || other.bytes() > self.bytes() {
            std::mem::swap(self, &mut other);
        }
        if other.count == 0 {
            return;
        }
        let theirs = other.count as f64;
        let off = other.origin - self.origin;
        self.squares += other.squares + 2.0 * off * other.sum + off * off * theirs;
        self.sum += other.sum + off * theirs;
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        match other.store {
            Store::Exact(more) => match &mut self.store {
                Store::Exact(values) => values.extend(more),
                Store::Sketch(sketch) => more.iter().for_each(|value| sketch.add(*value)),
            },
            Store::Sketch(more) => {
                if self.is_exact() {
                    self.shrink();
                }
                if let Store::Sketch(sketch) = &mut self.store {
                    sketch.merge(more);
                }
            }
        }
    }

    /// The distribution of the values and of `zeros` more zeros; `None` when there is neither.
    ///
    /// The standard deviation is the sample's (n - 1), as Benchmark Report documents have it.
    pub fn distribution(&mut self, zeros: u64) -> Option<Distribution> {
        let total = self.count + zeros;
        if total == 0 {
            return None;
        }
        let all = total as f64;
        // A zero deviates by minus the origin.
        let sum = self.sum - self.origin * zeros as f64;
        let squares = self.squares + self.origin * self.origin * zeros as f64 - sum * sum / all;
        let mean = self.origin + sum / all;
        let (min, max) = if zeros > 0 { (self.min.min(0.0), self.max.max(0.0)) } else { (self.min, self.max) };
        if let Store::Exact(values) = &mut self.store {
            values.extend(std::iter::repeat_n(0.0, zeros as usize));
            values.sort_unstable_by(f64::total_cmp);
        }
        let at = |p: f64| match &self.store {
            Store::Exact(values) => percentile_of_sorted(values, p),
            Store::Sketch(sketch) => Some(Self::estimate(sketch, p, total, zeros).clamp(min, max)),
        };
        let distribution = Distribution {
            mean: Some(mean),
            stddev: (total > 1).then(|| (squares.max(0.0) / (total - 1) as f64).sqrt()),
            min: Some(min),
            p0p1: at(0.001),
            p1: at(0.01),
            p5: at(0.05),
            p10: at(0.1),
            p25: at(0.25),
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p99p9: at(0.999),
            max: Some(max),
        };
        if let Store::Exact(values) = &mut self.store {
            values.drain(..zeros as usize);
        }
        Some(distribution)
    }

    /// Intervals of the percentiles, and the curve where it is asked for; `None` without any value.
    pub fn sample(&mut self, ranks: &mut RankIntervals, curve: bool) -> Option<Sample> {
        if self.count == 0 {
            return None;
        }
        if let Store::Exact(values) = &mut self.store {
            values.sort_unstable_by(f64::total_cmp);
        }
        let ranked = |rank: u64| match &self.store {
            Store::Exact(values) => values[rank as usize - 1],
            Store::Sketch(sketch) => sketch.ranked(rank - 1).clamp(self.min, self.max),
        };
        let at = |p: f64| match &self.store {
            Store::Exact(values) => percentile_of_sorted(values, p),
            Store::Sketch(sketch) => Some(Self::estimate(sketch, p, self.count, 0).clamp(self.min, self.max)),
        };
        let mut sample = Sample { count: self.count, error: self.error(), ..Sample::default() };
        for statistic in INTERVALS {
            let ranks = statistic.share().and_then(|share| ranks.of(self.count, share));
            let interval = ranks.map(|found| QuantileInterval {
                low: ranked(found.low),
                high: ranked(found.high),
                coverage: short(found.coverage),
            });
            sample.intervals.extend(interval.map(|interval| (statistic, interval)));
        }
        if curve {
            sample.curve = curve_shares().filter_map(at).map(short).collect();
        }
        Some(sample)
    }

    /// A quantile of the sketched values and of `zeros` zeros, between the two values whose ranks surround it.
    fn estimate(sketch: &Sketch, p: f64, total: u64, zeros: u64) -> f64 {
        let position = p * (total - 1) as f64;
        let ranked = |rank: f64| (rank as u64).checked_sub(zeros).map_or(0.0, |rank| sketch.ranked(rank));
        let (low, high) = (ranked(position.floor()), ranked(position.ceil()));
        low + (high - low) * position.fract()
    }
}

impl Sketch {
    fn new() -> Self {
        Self { mantissa_bits: MANTISSA_BITS, first: 0, counts: Vec::new(), zeros: 0 }
    }

    /// Half the width of the relatively widest bucket, which begins at a power of two.
    fn error(&self) -> f64 {
        1.0 / (2.0 * f64::from(1 << self.mantissa_bits) + 1.0)
    }

    fn shift(&self) -> u32 {
        f64::MANTISSA_DIGITS - 1 - self.mantissa_bits
    }

    fn add(&mut self, value: f64) {
        if value < SMALLEST {
            self.zeros += 1;
        } else {
            self.add_to(value.to_bits() >> self.shift(), 1);
        }
    }

    fn add_to(&mut self, bucket: u64, count: u64) {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let missing = (self.first - bucket) as usize;
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = bucket;
        }
        let place = (bucket - self.first) as usize;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += count;
    }

    fn filled(&self) -> impl Iterator<Item = (u64, u64)> {
        (self.first..).zip(self.counts.iter().copied()).filter(|(_, count)| *count > 0)
    }

    /// Joins neighbouring buckets, which doubles the error and halves the size; the widest buckets are powers of two.
    fn coarsen(&mut self) {
        let Some(mantissa_bits) = self.mantissa_bits.checked_sub(1) else { return };
        let mut coarse = Self { mantissa_bits, first: 0, counts: Vec::new(), zeros: self.zeros };
        self.filled().for_each(|(bucket, count)| coarse.add_to(bucket >> 1, count));
        *self = coarse;
    }

    fn merge(&mut self, mut other: Self) {
        while self.mantissa_bits > other.mantissa_bits {
            self.coarsen();
        }
        while other.mantissa_bits > self.mantissa_bits {
            other.coarsen();
        }
        self.zeros += other.zeros;
        other.filled().for_each(|(bucket, count)| self.add_to(bucket, count));
    }

    fn ranked(&self, rank: u64) -> f64 {
        let Some(mut rank) = rank.checked_sub(self.zeros) else { return 0.0 };
        for (bucket, count) in self.filled() {
            if rank < count {
                let low = f64::from_bits(bucket << self.shift());
                let high = f64::from_bits((bucket + 1) << self.shift());
                // The point whose relative distance to both ends is the same.
                return 2.0 * low * high / (low + high);
            }
            rank -= count;
        }
        f64::MAX
    }
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
