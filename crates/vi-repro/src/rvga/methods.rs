//! The filters the paper compares, run over a data set, and how far each is from the posterior.

use vi_core::{
    BernoulliLogit, DenseGaussian, Error, Explicit, Implicit, Linearised, ProbitApproximation, QuadraticBound,
    SiteRule, filter,
};
use vi_data::Dataset;

use crate::error::{Doing as _, ReproError};
use crate::logistic::{Posterior, breakdown};
use crate::plot::palette::Method;

/// The online filters, in the paper's order.
pub(super) const FILTERS: [Method; 4] = [Method::RvgaImplicit, Method::RvgaExplicit, Method::Ekf, Method::Qkf];
/// The filters and the batch Laplace approximation.
pub(super) const COMPARED: [Method; 5] =
    [Method::RvgaImplicit, Method::RvgaExplicit, Method::Ekf, Method::Qkf, Method::Laplace];

/// Runs `method` over `data` from `prior`; the observer sees every new belief.
///
/// A filter that breaks down numerically is a result: it is returned as text, not as an error.
pub(super) fn follow(
    method: Method,
    prior: &DenseGaussian,
    data: &Dataset,
    observe: &mut dyn FnMut(usize, &DenseGaussian, &filter::StepInfo),
) -> Result<Option<String>, ReproError> {
    let logit = BernoulliLogit(ProbitApproximation);
    let outcome = match method {
        Method::RvgaImplicit => pass(&Implicit(logit), prior, data, observe),
        Method::RvgaExplicit => pass(&Explicit(logit), prior, data, observe),
        Method::Ekf => pass(&Linearised::extended_kalman(logit), prior, data, observe),
        Method::Qkf => pass(&QuadraticBound::Once, prior, data, observe),
        other => {
            return Err(ReproError::Computation {
                what: other.label().to_owned(),
                message: "is not a filter".to_owned(),
            });
        }
    };
    outcome.map_or_else(|e| breakdown(method.label(), e).map(Some), |()| Ok(None))
}

fn pass<R: SiteRule>(
    rule: &R,
    prior: &DenseGaussian,
    data: &Dataset,
    observe: &mut dyn FnMut(usize, &DenseGaussian, &filter::StepInfo),
) -> Result<(), Error> {
    filter::run(&mut prior.clone(), rule, data.x(), data.y(), observe)
}

/// The beliefs of one filter after the given numbers of observations; 0 is the prior.
pub(super) struct Path {
    pub(super) method: Method,
    /// `(t, belief)`, in order; shorter than asked for if the filter broke down.
    pub(super) beliefs: Vec<(usize, DenseGaussian)>,
    /// Why the filter stopped early.
    pub(super) broke: Option<String>,
}

impl Path {
    pub(super) fn new(
        method: Method,
        prior: &DenseGaussian,
        data: &Dataset,
        times: &[usize],
    ) -> Result<Self, ReproError> {
        let mut beliefs = Vec::new();
        if times.first() == Some(&0) {
            beliefs.push((0, prior.clone()));
        }
        let broke = follow(method, prior, data, &mut |t, belief, _| {
            if times.binary_search(&(t + 1)).is_ok() {
                beliefs.push((t + 1, belief.clone()));
            }
        })?;
        Ok(Self { method, beliefs, broke })
    }

    /// The last belief.
    pub(super) fn last(&self) -> Result<&DenseGaussian, ReproError> {
        self.beliefs.last().map(|(_, b)| b).ok_or_else(|| ReproError::Computation {
            what: self.method.label().to_owned(),
            message: "left no belief".to_owned(),
        })
    }

    /// `(t, KL)` of every belief kept, with `Z = 1` (93).
    pub(super) fn kl(&self, posterior: &Posterior<'_>) -> Result<(Vec<f64>, Vec<f64>), ReproError> {
        let mut out = (Vec::new(), Vec::new());
        for (t, belief) in &self.beliefs {
            out.0.push(*t as f64);
            out.1.push(posterior.kl(belief)?);
        }
        Ok(out)
    }
}

/// A prior `N(μ₀, σ₀²·I)` with μ₀ of the given norm along (1, …, 1).
pub(super) fn prior(d: usize, mu0_norm: f64, sigma0: f64) -> Result<DenseGaussian, ReproError> {
    let mean = vec![mu0_norm / (d as f64).sqrt(); d];
    DenseGaussian::isotropic(&mean, sigma0).context("prior")
}

/// About `n` counts from 0 to `last`, denser at the start.
pub(super) fn times(last: usize, n: usize) -> Vec<usize> {
    let mut out = vec![0];
    for i in 1..=n {
        let share = i as f64 / n as f64;
        // Half of the way evenly spaced, half bunched towards the start.
        let t = last as f64 * (0.5 * share + 0.5 * share * share);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and last")]
        out.push(t.round() as usize);
    }
    out.push(last);
    out.dedup();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_begin_at_the_prior_and_end_at_the_last() {
        let t = times(100, 20);
        assert_eq!((t[0], t[t.len() - 1]), (0, 100));
        assert!(t.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(times(3, 50), [0, 1, 2, 3]);
    }
}
