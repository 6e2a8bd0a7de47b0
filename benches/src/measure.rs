//! Repetitions and medians, ours against a baseline in turns.
//!
//! A machine's speed drifts, so what is compared is run alternately and the ratio is the median of the ratios of
//! neighbours; the median also drops the repetitions that something else disturbed.

use std::time::Instant;

/// Median, smallest and largest of some numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The median; of an even count, the mean of the middle two.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The spread of `values`; NaN throughout if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Self { median: f64::NAN, min: f64::NAN, max: f64::NAN };
        };
        let middle = sorted.len() / 2;
        let median =
            if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) };
        Self { median, min, max }
    }

    /// The same in another unit: every number times `factor > 0`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { median: self.median * factor, min: self.min * factor, max: self.max * factor }
    }
}

/// The mean and its standard error, 0 for that of a single number; NaN of none.
#[must_use]
pub fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0) / n).sqrt())
}

/// Ours and a baseline, run alternately.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Seconds of ours.
    pub ours: Spread,
    /// Seconds of the baseline.
    pub baseline: Spread,
    /// The baseline's time over ours, pair by pair.
    pub ratio: Spread,
}

/// The seconds that `work` takes.
pub fn seconds<T>(work: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    let result = work();
    let elapsed = start.elapsed().as_secs_f64();
    std::hint::black_box(result);
    elapsed
}

/// The seconds that `work` takes, and what it returns.
///
/// # Errors
/// The error of `work`.
pub fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(f64, T), E> {
    let start = Instant::now();
    let result = work();
    let elapsed = start.elapsed().as_secs_f64();
    std::hint::black_box(result).map(|value| (elapsed, value))
}

/// The spread of `repetitions` (at least 1) runs of `run`, which returns its seconds per unit of work, after
/// one that is not counted.
///
/// # Errors
/// The first error of `run`.
pub fn measure<E>(repetitions: usize, mut run: impl FnMut() -> Result<f64, E>) -> Result<Spread, E> {
    run()?;
    let samples = (0..repetitions.max(1)).map(|_| run()).collect::<Result<Vec<_>, E>>()?;
    Ok(Spread::of(&samples))
}

/// Like [`measure`], for `ours` and `baseline` in turns, each first in every other pair.
///
/// # Errors
/// The first error of either.
pub fn compare<E>(
    repetitions: usize,
    mut ours: impl FnMut() -> Result<f64, E>,
    mut baseline: impl FnMut() -> Result<f64, E>,
) -> Result<Comparison, E> {
    ours()?;
    baseline()?;
    let (mut our_samples, mut baseline_samples, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..repetitions.max(1) {
        let (our, other);
        if pair % 2 == 0 {
            our = ours()?;
            other = baseline()?;
        } else {
            other = baseline()?;
            our = ours()?;
        }
        our_samples.push(our);
        baseline_samples.push(other);
        ratios.push(other / our);
    }
    Ok(Comparison {
        ours: Spread::of(&our_samples),
        baseline: Spread::of(&baseline_samples),
        ratio: Spread::of(&ratios),
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn median_of_odd_even_and_no_counts() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(Spread::of(&[7.0]), Spread { median: 7.0, min: 7.0, max: 7.0 });
        assert!(Spread::of(&[]).median.is_nan());
        assert_eq!(Spread::of(&[1.0, 2.0]).scaled(1e3), Spread { median: 1500.0, min: 1000.0, max: 2000.0 });
    }

    #[test]
    fn the_first_run_is_not_counted() {
        let mut runs = 0.0;
        let spread = measure(3, || {
            runs += 1.0;
            Ok::<_, Infallible>(runs)
        });
        assert_eq!(spread, Ok(Spread { median: 3.0, min: 2.0, max: 4.0 }));
    }

    #[test]
    fn the_ratio_is_taken_pair_by_pair_and_in_turns() {
        // A machine that gets slower: the medians' ratio would hide that each pair says 2.
        let order = RefCell::new(String::new());
        let run = |name: char, cost: f64| {
            order.borrow_mut().push(name);
            let pair = order.borrow().len().div_ceil(2);
            Ok::<_, Infallible>(cost * [1.0, 2.0, 4.0, 8.0][pair - 1])
        };
        let compared = compare(3, || run('o', 1.0), || run('b', 2.0)).unwrap();
        assert_eq!(*order.borrow(), "obobboob");
        assert_eq!(compared.ratio, Spread { median: 2.0, min: 2.0, max: 2.0 });
        assert_eq!(compared.ours, Spread { median: 4.0, min: 2.0, max: 8.0 });
        assert_eq!(compared.baseline.median, 8.0);
    }

    #[test]
    fn an_error_ends_the_measurement() {
        assert_eq!(measure(3, || Err("no")), Err("no"));
        assert_eq!(compare(3, || Ok(1.0), || Err("no")), Err("no"));
    }
}
