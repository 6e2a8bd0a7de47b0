//! The posterior of the hyper-parameters alone: the inner evidence as a target on free coordinates.

use std::cell::{Cell, RefCell};

use vi_core::GaussianExpectation as _;

use super::data::Data;
use super::inner::{Joint, Prior, Solved, likelihoods, solve};
use super::{Inner, Latent, LatentSettings, Observed};
use crate::{BoostError, LogDensity};

/// The work of a nested fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Work {
    /// Hyper-parameters at which the latent values were integrated.
    pub evaluations: u64,
    /// Sweeps over all rows in all of these, each with a factor of an `N × N` matrix.
    pub sweeps: u64,
    /// Further factors for gradients, with the sites held fixed: two for each coordinate.
    pub differences: u64,
    /// Integrations that ended by the limit of sweeps.
    pub unconverged: u64,
    /// Points at which the model failed, and which counted as of density zero.
    pub refused: u64,
}

/// `log p(ψ(u)) + log|∂ψ/∂u| + log p(y|ψ(u))`.
pub(super) struct Marginal<'a, M> {
    pub(super) model: &'a M,
    pub(super) data: &'a Data,
    settings: &'a LatentSettings,
    work: Cell<Work>,
    refusal: RefCell<Option<BoostError>>,
}

/// The step of the differences, on free coordinates, whose scale is of order one.
const STEP: f64 = 1e-5;

impl<'a, M: Latent> Marginal<'a, M> {
    pub(super) fn new(model: &'a M, data: &'a Data, settings: &'a LatentSettings) -> Self {
        Self { model, data, settings, work: Cell::default(), refusal: RefCell::default() }
    }

    pub(super) fn work(&self) -> Work {
        self.work.get()
    }

    /// The first failure of the model.
    pub(super) fn refusal(&self) -> Option<BoostError> {
        self.refusal.borrow().clone()
    }

    fn count(&self, add: impl FnOnce(&mut Work)) {
        let mut work = self.work.get();
        add(&mut work);
        self.work.set(work);
    }

    /// The hyper-parameters at `u` with `log p(ψ) + log|∂ψ/∂u|`; `None` where that is zero.
    fn hyper(&self, u: &[f64]) -> Result<Option<(Vec<f64>, f64)>, BoostError> {
        let parameters = self.model.parameters();
        let mut hyper = vec![0.0; parameters.dim()];
        let log_jacobian = parameters.constrain(u, &mut hyper)?;
        if hyper.iter().any(|x| !x.is_finite()) || log_jacobian == f64::NEG_INFINITY {
            return Ok(None);
        }
        let log_prior = self.model.log_prior(&hyper);
        if log_prior.is_nan() || log_prior == f64::INFINITY {
            return Err(BoostError::TargetValue { value: log_prior, point: hyper });
        }
        Ok((log_prior > f64::NEG_INFINITY).then_some((hyper, log_prior + log_jacobian)))
    }

    /// The latent values at `u`, and the log-density there; `None` where it is zero.
    fn solve(&self, u: &[f64]) -> Result<Option<(Solved, Vec<f64>, f64)>, BoostError> {
        let Some((hyper, log_prior)) = self.hyper(u)? else { return Ok(None) };
        let solved = solve(self.model, self.data, &hyper, self.settings).map_err(|source| at(&hyper, source))?;
        self.count(|work| {
            work.evaluations += 1;
            work.sweeps += solved.sweeps;
            work.unconverged += u64::from(!solved.converged);
        });
        let value = log_prior + solved.log_evidence;
        Ok(Some((solved, hyper, value)))
    }

    /// The gradient of expectation propagation's log-density: at the fixed point only what depends on `u` with sites and cavities held
    /// counts (RW §5.5.2), by central differences.
    fn explicit_gradient(&self, u: &[f64], solved: &Solved, out: &mut [f64]) -> Result<(), BoostError> {
        let mut at_u = u.to_vec();
        for j in 0..u.len() {
            let mut side = |step: f64| {
                at_u[j] = u[j] + step;
                let found = self.hyper(&at_u)?;
                at_u[j] = u[j];
                let Some((hyper, log_prior)) = found else { return Ok(None) };
                let parts = || {
                    let prior = Prior::at(self.model, self.data, &hyper)?;
                    let joint = Joint::of(&prior, &solved.sites, self.data)?;
                    Ok((log_prior + joint.log_integral, likelihoods(self.model, self.data, &hyper)?))
                };
                parts().map(Some).map_err(|source| at(&hyper, source))
            };
            self.count(|work| work.differences += 2);
            let (Some((up, above)), Some((down, below))) = (side(STEP)?, side(-STEP)?) else {
                out[j] = f64::NAN;
                continue;
            };
            let mut change = up - down;
            for (i, cavity) in solved.cavities.iter().enumerate() {
                if let Some((mean, variance)) = *cavity
                    && above[i] != below[i]
                {
                    let normaliser = |of: &M::Likelihood| {
                        Ok::<_, BoostError>(of.tilted(self.data.labels[i], mean, variance)?.log_normaliser)
                    };
                    change += normaliser(&above[i])? - normaliser(&below[i])?;
                }
            }
            out[j] = change / (2.0 * STEP);
        }
        Ok(())
    }

    /// The result, or nothing where the model fails: the density counts as zero there, and the first failure is kept.
    fn unless_refused<T>(&self, found: Result<Option<T>, BoostError>) -> Option<T> {
        found.unwrap_or_else(|error| {
            self.count(|work| work.refused += 1);
            self.refusal.borrow_mut().get_or_insert(error);
            None
        })
    }

    /// The latent values at `u` and the log-density there; `None` where that is zero or the model fails.
    pub(super) fn tried(&self, u: &[f64]) -> Option<(Solved, Vec<f64>, f64)> {
        self.unless_refused(self.solve(u))
    }
}

fn at(hyper: &[f64], source: BoostError) -> BoostError {
    BoostError::Hyper { hyper: hyper.to_vec(), source: Box::new(source) }
}

impl<M: Latent> LogDensity for Marginal<'_, M> {
    fn dim(&self) -> usize {
        self.model.parameters().free_dim()
    }

    fn log_density(&self, u: &[f64]) -> f64 {
        self.tried(u).map_or(f64::NEG_INFINITY, |(_, _, value)| value)
    }

    fn value_and_gradient(&self, u: &[f64], out: &mut [f64]) -> Option<f64> {
        if self.settings.inner == Inner::Laplace {
            return None;
        }
        let found = self.solve(u).and_then(|found| {
            let Some((solved, _, value)) = found else { return Ok(None) };
            self.explicit_gradient(u, &solved, out)?;
            Ok(Some(value))
        });
        Some(self.unless_refused(found).unwrap_or(f64::NEG_INFINITY))
    }
}

/// `log p(ψ) + log|∂ψ/∂u| + log p(y|ψ)` at free coordinates `u`, in nats, with its gradient by `u` under expectation propagation.
///
/// Cost a few sweeps, each `O(N³)` and as many quadratures as there are rows, and for the gradient two factors of `N × N` matrices for
/// each coordinate. [`fit_latent`](super::fit_latent) needs no call of this.
///
/// # Errors
/// [`BoostError::Core`] with those of the arguments; [`BoostError::Hyper`] where the model fails.
pub fn log_marginal<M: Latent>(
    model: &M,
    observed: &Observed<'_>,
    settings: &LatentSettings,
    u: &[f64],
) -> Result<(f64, Option<Vec<f64>>), BoostError> {
    settings.check()?;
    let data = Data::of(observed, model.dim())?;
    let marginal = Marginal::new(model, &data, settings);
    let Some((solved, _, value)) = marginal.solve(u)? else { return Ok((f64::NEG_INFINITY, None)) };
    if settings.inner == Inner::Laplace {
        return Ok((value, None));
    }
    let mut gradient = vec![0.0; u.len()];
    marginal.explicit_gradient(u, &solved, &mut gradient)?;
    Ok((value, Some(gradient)))
}
