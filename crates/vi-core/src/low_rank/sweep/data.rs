//! Sweeps over prior and data together: sites and bound, and the Newton step for the mean.

use vi_linalg::SymmetricOperator;
use vi_linalg::faer::{MatMut, MatRef, Par};
use vi_linalg::kernels::{axpy, dot};
use vi_linalg::low_rank::{Factored, kl_of_precisions};

use super::rows::SweepRows;
use super::settings::SweepSettings;
use crate::Error;
use crate::likelihood::GaussianExpectation;
use crate::low_rank::storage::Full;

/// Slopes and curvatures of all rows at a belief, and the bound there.
pub(super) struct SweepSites {
    pub(super) slopes: Vec<f64>,
    pub(super) curvatures: Vec<f64>,
    pub(super) bound: f64,
}

/// `S⁻¹b` as far as conjugate gradients came.
pub(super) struct MeanStep {
    pub(super) change: Vec<f64>,
    pub(super) iterations: usize,
    pub(super) solved: bool,
}

pub(super) struct Data<'a> {
    pub(super) prior: &'a Factored<'a>,
    pub(super) prior_mean: &'a [f64],
    pub(super) rows: SweepRows<'a>,
    pub(super) y: &'a [f64],
    pub(super) par: Par,
}

impl Data<'_> {
    /// `(g, h)` of every row at `q`, and the bound.
    ///
    /// # Errors
    /// [`Error::Overflow`], alone or in [`Error::Row`], and as [`SweepRows::project`].
    pub(super) fn sites<L: GaussianExpectation>(&self, q: &Full, likelihood: &L) -> Result<SweepSites, Error> {
        let n = self.y.len();
        let (mut slopes, mut curvatures) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let mut bound = 0.0;
        self.rows.project(q, self.par, |t, seen| {
            let (slope, curvature) = likelihood.expected_slope_curvature(self.y[t], seen.mean, seen.variance);
            let term = likelihood.expected_log_density(self.y[t], seen.mean, seen.variance);
            if !(slope.is_finite() && curvature.is_finite() && term.is_finite()) {
                return Err(Error::Overflow { quantity: "an expectation of the likelihood", value: term });
            }
            bound += term;
            slopes.push(slope);
            curvatures.push(curvature);
            Ok(())
        })?;
        let factored = q.precision.factor_with(q.core.capacitance.clone())?;
        bound -= kl_of_precisions(&q.mean, &factored, self.prior_mean, self.prior, self.par)?;
        if !bound.is_finite() {
            return Err(Error::Overflow { quantity: "the bound", value: bound });
        }
        Ok(SweepSites { slopes, curvatures, bound })
    }

    /// The Newton step `S⁻¹(Λ₀(μ₀ − μ) + Xᵀg)` from `mean`, the precision of `near` being the preconditioner.
    ///
    /// # Errors
    /// [`Error::Linalg`] for results that are not finite.
    pub(super) fn newton(
        &self,
        mean: &[f64],
        sites: &SweepSites,
        near: &Full,
        settings: &SweepSettings,
    ) -> Result<MeanStep, Error> {
        let difference: Vec<f64> = self.prior_mean.iter().zip(mean).map(|(prior, mean)| prior - mean).collect();
        let mut gradient = vec![0.0; mean.len()];
        self.apply_prior(&mut gradient, &difference);
        self.rows.add_combination(&mut gradient, &sites.slopes, self.par);
        self.solve(near, &sites.curvatures, gradient, settings)
    }

    /// `out ← Λ₀v`.
    fn apply_prior(&self, out: &mut [f64], v: &[f64]) {
        let d = v.len();
        let out = MatMut::from_column_major_slice_mut(out, d, 1);
        self.prior.matrix().apply(out, MatRef::from_column_major_slice(v, d, 1), self.par);
    }

    /// `out ← Sv`.
    fn apply(&self, out: &mut [f64], v: &[f64], curvatures: &[f64]) {
        self.apply_prior(out, v);
        let mut along = self.rows.along(v, self.par);
        along.iter_mut().zip(curvatures).for_each(|(along, h)| *along *= h);
        self.rows.add_combination(out, &along, self.par);
    }

    /// `S⁻¹b` by preconditioned conjugate gradients. If they meet a direction of negative curvature the way so far is the step,
    /// or `C⁻¹b` at the very first; both are ascent directions.
    fn solve(&self, near: &Full, curvatures: &[f64], b: Vec<f64>, settings: &SweepSettings) -> Result<MeanStep, Error> {
        let d = b.len();
        let preconditioner = near.precision.factor_with(near.core.capacitance.clone())?;
        let (mut change, mut residual) = (vec![0.0; d], b);
        let (mut z, mut applied) = (vec![0.0; d], vec![0.0; d]);
        preconditioner.solve_vec(&mut z, &residual, self.par)?;
        let mut direction = z.clone();
        let mut size = dot(&residual, &z);
        let goal = settings.mean_tolerance * settings.mean_tolerance * size;
        for iterations in 0..settings.max_mean_iterations {
            if size <= goal {
                return Ok(MeanStep { change, iterations, solved: true });
            }
            self.apply(&mut applied, &direction, curvatures);
            let bend = dot(&direction, &applied);
            if bend <= 0.0 || bend.is_nan() {
                let change = if iterations == 0 { direction } else { change };
                return Ok(MeanStep { change, iterations, solved: false });
            }
            axpy(&mut change, size / bend, &direction);
            axpy(&mut residual, -size / bend, &applied);
            preconditioner.solve_vec(&mut z, &residual, self.par)?;
            let next = dot(&residual, &z);
            direction.iter_mut().zip(&z).for_each(|(direction, z)| *direction = z + next / size * *direction);
            size = next;
        }
        Ok(MeanStep { change, iterations: settings.max_mean_iterations, solved: size <= goal })
    }
}
