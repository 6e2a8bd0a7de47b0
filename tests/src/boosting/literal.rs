//! The printed algorithm's runs: what they came to, and whether ours came to the same.

use std::ops::ControlFlow;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_boost::papers::{Printed, PrintedSettings};
use vi_boost::{Component, GaussianMixture, LogDensity};

use crate::CaseError;

/// `ε` of Algorithm 1, which neither the paper nor the files state: with it the first weights are the stored ones (0.515 with
/// `b = 1`, 0.178 with `b = 0.1` on the Cauchy density).
const EPSILON: f64 = 2e-4;

/// Settings in a name such as `algorithm2_literal_n1000_b0.1`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Literal {
    /// Monte-Carlo samples `n`.
    pub samples: usize,
    /// Initial step `b`.
    pub step: f64,
}

impl Literal {
    /// The settings in `name`; `None` if it is not the printed algorithm's.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if !name.contains("literal") {
            return None;
        }
        let mut found = Self { samples: 2000, step: 1.0 };
        for part in name.split('_') {
            if let Some(samples) = part.strip_prefix('n').and_then(|rest| rest.parse().ok()) {
                found.samples = samples;
            } else if let Some(step) = part.strip_prefix('b').and_then(|rest| rest.parse().ok()) {
                found.step = step;
            }
        }
        Some(found)
    }

    /// The divergences of one run at each of `iterations` (ascending, 1 for the start), by `kl`.
    ///
    /// # Errors
    /// [`CaseError::Boost`], and what `kl` returns.
    pub fn run<T: LogDensity>(
        self,
        target: &T,
        start: &Component,
        iterations: &[usize],
        seed: u64,
        mut kl: impl FnMut(&GaussianMixture) -> Result<f64, CaseError>,
    ) -> Result<Vec<f64>, CaseError> {
        let settings = PrintedSettings {
            samples: self.samples,
            step: self.step,
            tolerance: EPSILON,
            ..PrintedSettings::default()
        };
        let mut run = Printed::new(target, start.clone(), &settings)?;
        let mut found = Vec::new();
        let mut failed = None;
        let mut note = |iteration: usize, q: &GaussianMixture| {
            if iterations.contains(&iteration) {
                match kl(q) {
                    Ok(kl) => found.push(kl),
                    Err(error) => failed = Some(error),
                }
            }
        };
        note(1, run.mixture());
        let last = iterations.iter().max().copied().unwrap_or(1);
        run.run(last.saturating_sub(1), &mut ChaCha8Rng::seed_from_u64(seed), |info, q| {
            note(info.iteration, q);
            ControlFlow::Continue(())
        })?;
        failed.map_or(Ok(found), Err)
    }
}

/// How far apart two ranges are, relative to the size of the first; 0 where they overlap.
#[must_use]
pub fn overlap_gap(stored: (f64, f64), found: &[f64]) -> f64 {
    let low = found.iter().fold(f64::INFINITY, |a, b| a.min(*b));
    let high = found.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let gap = (low - stored.1).max(stored.0 - high).max(0.0);
    if low.is_finite() && high.is_finite() { gap / stored.0.abs().max(stored.1.abs()) } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_settings() {
        let named = Literal::named("algorithm2_literal_n10000_b0.1").unwrap();
        assert_eq!((named.samples, named.step), (10_000, 0.1));
        let named = Literal::named("literal_start_N(0,I)_b1").unwrap();
        assert_eq!((named.samples, named.step), (2000, 1.0));
        assert_eq!(Literal::named("exact_alpha_3starts_4scales"), None);
    }

    #[test]
    fn ranges_that_touch_have_no_gap() {
        assert_eq!(overlap_gap((1.0, 2.0), &[1.5, 3.0]), 0.0);
        assert_eq!(overlap_gap((1.0, 2.0), &[3.0, 4.0]), 0.5);
        assert_eq!(overlap_gap((1.0, 2.0), &[0.5]), 0.25);
        assert!(overlap_gap((1.0, 2.0), &[f64::NAN]).is_nan());
    }
}
