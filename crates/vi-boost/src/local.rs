//! Peaks of the residual `log(f/q)`: the local search of Algorithm 2, kept within a ball.

use vi_linalg::Cholesky;
use vi_linalg::eigen::eigenvalues;
use vi_linalg::faer::{Mat, MatRef, Par};

use crate::block::Block;
use crate::component::{Component, Scale};
use crate::mixture::{GaussianMixture, Scratch};
use crate::optimise::{Search, minimise};
use crate::target::{LogDensity, Probe};

/// A peak and the curvature there.
#[derive(Debug, Clone)]
pub(crate) struct Peak {
    /// Where the peak is.
    pub(crate) at: Vec<f64>,
    /// `∇²log(q/f)` at the peak.
    pub(crate) hessian: Mat<f64>,
    /// Whether the search ended well inside its ball, at a point that is no worse than its neighbours.
    pub(crate) inside: bool,
}

/// A smooth map of `ℝᵈ` onto the ellipsoid of `radius` standard deviations of a Gaussian about a centre: a search in `u` cannot
/// leave it, however steeply the function falls outside.
pub(crate) struct Ball<'a> {
    centre: &'a [f64],
    factor: Mat<f64>,
    radius: f64,
}

impl<'a> Ball<'a> {
    pub(crate) fn new(centre: &'a [f64], shape: &Component, radius: f64) -> Self {
        Self { centre, factor: factor(shape), radius }
    }

    /// `θ(u) = c + L·ρu/√(ρ²+‖u‖²)`.
    fn point(&self, u: &[f64]) -> Vec<f64> {
        let d = u.len();
        let shrink = self.radius / (self.radius * self.radius + u.iter().map(|u| u * u).sum::<f64>()).sqrt();
        (0..d).map(|i| self.centre[i] + (0..=i).map(|j| self.factor[(i, j)] * u[j]).sum::<f64>() * shrink).collect()
    }

    /// The derivative by `u` from that by `θ`.
    fn pull(&self, u: &[f64], by_theta: &[f64], out: &mut [f64]) {
        let d = u.len();
        let square = self.radius * self.radius + u.iter().map(|u| u * u).sum::<f64>();
        let shrink = self.radius / square.sqrt();
        let by_v: Vec<f64> = (0..d).map(|j| (j..d).map(|i| self.factor[(i, j)] * by_theta[i]).sum()).collect();
        let along: f64 = u.iter().zip(&by_v).map(|(u, v)| u * v).sum();
        for ((out, v), u) in out.iter_mut().zip(&by_v).zip(u) {
            *out = shrink * (v - along * u / square);
        }
    }

    /// `‖v‖/ρ` of the image of `u`, below 1.
    fn share(&self, u: &[f64]) -> f64 {
        let square: f64 = u.iter().map(|u| u * u).sum();
        (square / (self.radius * self.radius + square)).sqrt()
    }
}

/// A lower factor of the component's covariance.
fn factor(component: &Component) -> Mat<f64> {
    match &component.scale {
        Scale::Full(full) => full.factor().to_owned(),
        _ => Cholesky::new(component.covariance().as_ref())
            .map_or_else(|_| Mat::identity(component.dim(), component.dim()), Cholesky::into_factor),
    }
}

/// A peak closer to the ball's edge than this share of the radius does not count.
const EDGE: f64 = 0.95;

/// A local maximum of `log f − log q` (of `log f` without a `q`) from the ball's centre; `None` if the residual is not finite there.
pub(crate) fn peak<T: LogDensity + ?Sized>(
    probe: &Probe<'_, T>,
    q: Option<&GaussianMixture>,
    ball: &Ball<'_>,
    search: Search,
) -> Option<Peak> {
    let d = ball.centre.len();
    let (mut scratch, mut by_f, mut by_q) = (Scratch::default(), Block::default(), Block::zeros(1, d));
    let mut by_theta = vec![0.0; d];
    let found = minimise(&vec![0.0; d], search, |u, gradient| {
        let theta = ball.point(u);
        let x = Block::point(&theta);
        let mut value = [0.0];
        probe.values_and_gradients(&x, &mut value, &mut by_f);
        by_q.fill(0.0);
        let mut log_q = 0.0;
        if let Some(q) = q {
            q.evaluate(&x, &mut scratch, true);
            q.add_gradient(&scratch, 1.0, &mut by_q);
            log_q = scratch.total[0];
        }
        for (j, by_theta) in by_theta.iter_mut().enumerate() {
            *by_theta = by_q.col(j)[0] - by_f.col(j)[0];
        }
        ball.pull(u, &by_theta, gradient);
        log_q - value[0]
    })?;
    let at = ball.point(&found.x);
    let hessian = residual_hessian(probe, q, &at);
    Some(Peak { inside: ball.share(&found.x) < EDGE, at, hessian })
}

/// `∇²log(q/f)`; `−∇²log f` without a `q`.
pub(crate) fn residual_hessian<T: LogDensity + ?Sized>(
    probe: &Probe<'_, T>,
    q: Option<&GaussianMixture>,
    at: &[f64],
) -> Mat<f64> {
    let of_f = probe.hessian(at);
    let of_q = q.and_then(|q| q.hessian(at).ok());
    Mat::from_fn(at.len(), at.len(), |i, j| of_q.as_ref().map_or(0.0, |q| q[(i, j)]) - of_f[(i, j)])
}

/// The smallest eigenvalue of a symmetric matrix in units of `scale`, that is, of `S·H·S` with `S` diagonal; NaN where `H` is
/// not finite.
pub(crate) fn least_eigenvalue(hessian: MatRef<'_, f64>, scale: &[f64]) -> f64 {
    let scaled = Mat::from_fn(hessian.nrows(), hessian.ncols(), |i, j| scale[i] * hessian[(i, j)] * scale[j]);
    if scaled.as_ref().norm_max().is_finite() {
        eigenvalues(scaled.as_ref(), Par::Seq).ok().and_then(|values| values.first().copied()).unwrap_or(f64::NAN)
    } else {
        f64::NAN
    }
}

/// `H⁻¹`, if `H` is positive definite and the inverse finite.
pub(crate) fn inverse(hessian: MatRef<'_, f64>) -> Option<Mat<f64>> {
    let inverse = Cholesky::new(hessian).ok()?.inverse();
    inverse.as_ref().norm_max().is_finite().then_some(inverse)
}
