//! Learning the hyper-parameters.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::{Error, Stop};
use vi_linalg::faer::{MatRef, Par};

use super::evidence::evidence_of_checked;
use super::search::{Found, maximise};
use super::{Hyperparameters, Slm, SlmSettings, check_data};
use crate::basis::{Bound, Parameter};
use crate::{Basis, RevrandError};

/// A report of learning the hyper-parameters.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SlmInfo {
    /// Why the search with the best result ended.
    pub stop: Stop,
    /// The number of steps of that search.
    pub iterations: usize,
    /// The number of evaluations of the log marginal likelihood and its gradient, over all starts.
    pub evaluations: usize,
    /// The largest derivative at the result, on the scale that is searched (logarithms of what is positive).
    pub gradient: f64,
    /// The log marginal likelihood at the end of the search from each start; `None` if it could not be computed at the start.
    pub ends: Vec<Option<f64>>,
}

/// A model with learned hyper-parameters, and a report.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SlmFit<B> {
    /// The model.
    pub model: Slm<B>,
    /// The report of learning.
    pub info: SlmInfo,
}

/// All hyper-parameters that are learned, and their conversion to unconstrained numbers and back.
struct Unknowns {
    parameters: Vec<Parameter>,
    parts: usize,
}

impl Unknowns {
    fn new(basis: &impl Basis, noise: Parameter) -> Self {
        let parts = basis.regularisers();
        let count = parts.len();
        let variances = parts.into_iter().map(|part| part.variance);
        let parameters = std::iter::once(noise).chain(variances).chain(basis.parameters()).collect();
        Self { parameters, parts: count }
    }

    fn bounds(&self) -> impl Iterator<Item = Bound> {
        self.parameters.iter().map(|parameter| parameter.bound)
    }

    fn start(&self) -> Vec<f64> {
        self.parameters.iter().map(|parameter| parameter.bound.freed(parameter.start)).collect()
    }

    /// The start with noise and prior variances multiplied by `factor`, if all of them stay between their bounds.
    fn scaled(&self, free: Vec<f64>, factor: f64) -> Vec<f64> {
        let mut scaled = free.clone();
        for (u, bound) in scaled.iter_mut().zip(self.bounds()).take(1 + self.parts) {
            let value = factor * bound.bounded(*u);
            if !bound.contains(value) {
                return free;
            }
            *u = bound.freed(value);
        }
        scaled
    }

    fn hyperparameters(&self, free: &[f64]) -> Hyperparameters {
        let mut values = self.bounds().zip(free).map(|(bound, &free)| bound.bounded(free));
        Hyperparameters {
            noise_variance: values.next().unwrap_or(f64::NAN),
            prior_variances: values.by_ref().take(self.parts).collect(),
            theta: values.collect(),
        }
    }

    /// The gradient in the unconstrained numbers, by the chain rule.
    fn gradient(&self, free: &[f64], gradient: &Hyperparameters) -> Vec<f64> {
        let slopes = self.bounds().zip(free).map(|(bound, &free)| bound.slope(free));
        let parts = gradient.prior_variances.iter().chain(&gradient.theta);
        std::iter::once(&gradient.noise_variance).chain(parts).zip(slopes).map(|(g, slope)| g * slope).collect()
    }
}

/// Learns noise variance, prior variances and kernel parameters by maximising the log marginal likelihood (13) with L-BFGS, and
/// returns the posterior at the maximum. `rng` draws the starts after the first.
///
/// All initial variances are first multiplied by the common factor that maximises the likelihood, `yᵀK⁻¹y/n` (unless a bound
/// forbids), so the start need not fit the labels' scale. If the features fit the labels without error, there is no maximum,
/// since the likelihood grows as the noise shrinks; bound the noise then.
///
/// Kernel parameters change the features only through their formulae: frequencies and centres stay as drawn. Each evaluation
/// costs as much as [`evidence`](super::evidence()), with a few tens of them for each start.
///
/// # Errors
/// Those of [`SlmSettings::check`]; those of [`evidence`](super::evidence()) for the data and at the first start; `Entry` for
/// labels so small that their squares underflow. A step to where the likelihood is not finite is not an error but is shortened,
/// and not converging is not an error: [`SlmInfo::stop`] reports it.
pub fn learn<B: Basis>(
    basis: B,
    x: MatRef<'_, f64>,
    y: &[f64],
    settings: &SlmSettings,
    rng: &mut impl Rng,
    par: Par,
) -> Result<SlmFit<B>, RevrandError> {
    settings.check()?;
    check_data(&basis, x, y)?;
    check_size(y)?;
    let unknowns = Unknowns::new(&basis, settings.noise()?);
    let at = |free: &[f64]| evidence_of_checked(&basis, &unknowns.hyperparameters(free), x, y, par);
    let objective = |free: &[f64]| {
        let evidence = at(free).ok()?;
        Some((evidence.value, unknowns.gradient(free, &evidence.gradient)))
    };

    let start = unknowns.start();
    let factor = at(&start)?.scale;
    let origin = unknowns.scaled(start, factor);
    let (mut ends, mut evaluations, mut best) = (Vec::new(), 0, None::<Found>);
    for start in 0..settings.starts {
        let mut free = origin.clone();
        if start > 0 {
            for u in &mut free {
                *u += settings.spread * normal(rng);
            }
        }
        let found = maximise(&free, &objective, settings.tolerance, settings.max_iterations);
        ends.push(found.as_ref().map(|found| found.value));
        evaluations += found.as_ref().map_or(1, |found| found.evaluations);
        if let Some(found) = found
            && best.as_ref().is_none_or(|best| found.value > best.value)
        {
            best = Some(found);
        }
    }
    let Some(best) = best else {
        // The error of the first start is returned.
        at(&origin)?;
        return Err(Error::Overflow { quantity: "the gradient at the start", value: f64::INFINITY }.into());
    };
    let hyper = unknowns.hyperparameters(&best.point);
    let Found { stop, iterations, gradient, .. } = best;
    let info = SlmInfo { stop, iterations, evaluations, gradient, ends };
    Ok(SlmFit { model: Slm::new(basis, hyper, x, y, par)?, info })
}

/// Checks that the squares of the labels keep their digits, unless all are 0.
fn check_size(y: &[f64]) -> Result<(), RevrandError> {
    let largest = y.iter().enumerate().max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
    match largest {
        Some((index, &value)) if value != 0.0 && value * value < f64::MIN_POSITIVE / f64::EPSILON => {
            let requirement = "at least 1e-146 in size, for one of them: squares of less lose their digits";
            Err(Error::Entry { argument: "y", index, value, requirement }.into())
        }
        _ => Ok(()),
    }
}

fn normal(rng: &mut impl Rng) -> f64 {
    StandardNormal.sample(rng)
}
