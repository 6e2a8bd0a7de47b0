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

/// How learning went.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SlmInfo {
    /// Why the best search ended.
    pub stop: Stop,
    /// Its steps.
    pub iterations: usize,
    /// Evaluations of the log marginal likelihood and its gradient, over all starts.
    pub evaluations: usize,
    /// The largest derivative at its end, on the scale that is searched (logarithms of what is positive).
    pub gradient: f64,
    /// The log marginal likelihood at the end of the search from each start; `None` where it could not be computed at
    /// the start.
    pub ends: Vec<Option<f64>>,
}

/// A model with learned hyper-parameters, and how learning went.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SlmFit<B> {
    /// The model.
    pub model: Slm<B>,
    /// How learning went.
    pub info: SlmInfo,
}

/// Everything that is learned, and the way from the line `ℝ` and back.
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

    /// The chain rule.
    fn gradient(&self, free: &[f64], gradient: &Hyperparameters) -> Vec<f64> {
        let slopes = self.bounds().zip(free).map(|(bound, &free)| bound.slope(free));
        let parts = gradient.prior_variances.iter().chain(&gradient.theta);
        std::iter::once(&gradient.noise_variance).chain(parts).zip(slopes).map(|(g, slope)| g * slope).collect()
    }
}

/// Learns noise variance, prior variances and kernel parameters by maximising the log marginal likelihood (13) with
/// L-BFGS, and returns the posterior at the maximum. `rng` moves the starts after the first.
///
/// All variances of the start are first multiplied by the common factor that maximises the likelihood, `yᵀK⁻¹y/n`
/// (unless a bound forbids), so the start need not know the labels' scale. Labels that the features fit without error have
/// no maximum, as the likelihood grows when the noise shrinks; bound the noise there.
///
/// Kernel parameters change the features through their formulae only: frequencies and centres stay as drawn.
/// Cost of each evaluation as [`evidence`](super::evidence()), a few tens of them for each start.
///
/// # Errors
/// Those of [`SlmSettings::check`]; those of [`evidence`](super::evidence()) for the data and at the first start; `Entry` for labels so small that their squares
/// underflow. A step to
/// where the likelihood is beyond floats is no error, it is made shorter; not converging is no error:
/// [`SlmInfo::stop`] says so.
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
        // Why the first start failed is what there is to say.
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
