//! The iteration under the bound of the softplus's expectation, which has no local parameters.

use libm::lgamma;
use vi_core::Error;
use vi_core::special::{mills_ratio, normal_cdf, normal_density};

use super::super::ascent::{Cycle, Start, Step};
use super::super::ridge::Ridge;
use super::{End, Model};
use crate::ModelError;

/// `η ≥ E log(1+e^t)` under `t ~ N(a, ν)` and its first two derivatives by `a`; the second is twice that by `ν`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SoftplusMoments {
    pub(super) value: f64,
    pub(super) slope: f64,
    pub(super) curvature: f64,
}

/// `c_k` of `p(z) = Σ c_k·zᵏ ≥ log(1+z)` on `[0, 1]`, above by at most 2.0e-10: Chebyshev's series of degree 12, whose coefficients
/// `−2(−ρ)^(−k)/k`, `ρ = 3+√8`, decay geometrically; a multiple of `z¹¹ − z¹⁰` that makes `p′(1) = ½`, so that `p(e^(−|t|))` has the kink of
/// `log(1+e^(−|t|))` and not another; and what lifts the sum above the logarithm.
const POLYNOMIAL: [f64; 13] = [
    1.9908367071553774e-10,
    0.9999999928805646,
    -0.4999995865875845,
    0.333323828099382,
    -0.2498852609750434,
    0.19916368812419116,
    -0.16267138289771466,
    0.1296616964533097,
    -0.09367893135047414,
    0.05583831424589716,
    -0.024600046513766554,
    0.0069046193340081006,
    -0.0009097502880757122,
];

impl SoftplusMoments {
    /// `log(1+e^t) = max(t, 0) + log(1+e^(−|t|))`, of which the second is `p(e^(−|t|))`:
    ///
    /// ```text
    /// η   = aΦ(a/τ) + τφ(a/τ) + Σ c_k·(T_k + T̄_k)         T_k = E[e^(kt); t<0],  T̄_k = E[e^(−kt); t>0],  τ² = ν
    /// η′  = Φ(a/τ) + Σ k·c_k·(T_k − T̄_k)
    /// η″  = Σ k²·c_k·(T_k + T̄_k),                        since 2Σ k·c_k = 1
    /// ```
    pub(super) fn at(a: f64, nu: f64) -> Self {
        let tau = nu.sqrt();
        let ratio = a / tau;
        if nu == 0.0 || !ratio.is_finite() {
            return Self::of_a_point(a);
        }
        let density = normal_density(ratio);
        let mut sums = [POLYNOMIAL[0], 0.0, 0.0];
        for (k, c) in POLYNOMIAL.iter().enumerate().skip(1) {
            let k = k as f64;
            let below = half_expectation(k, a, tau, ratio, density);
            let above = half_expectation(k, -a, tau, -ratio, density);
            sums[0] += c * (below + above);
            sums[1] += k * c * (below - above);
            sums[2] += k * k * c * (below + above);
        }
        let probability = normal_cdf(ratio);
        Self { value: a * probability + tau * density + sums[0], slope: probability + sums[1], curvature: sums[2] }
    }

    fn of_a_point(a: f64) -> Self {
        let z = (-a.abs()).exp();
        let (mut value, mut slope, mut curvature) = (POLYNOMIAL[0], 0.0, 0.0);
        let mut power = 1.0;
        for (k, c) in POLYNOMIAL.iter().enumerate().skip(1) {
            power *= z;
            let k = k as f64;
            value += c * power;
            slope += k * c * power;
            curvature += k * k * c * power;
        }
        if a > 0.0 {
            Self { value: a + value, slope: 1.0 - slope, curvature }
        } else {
            Self { value, slope, curvature }
        }
    }
}

/// `E[e^(kt); t<0] = e^(ka+k²τ²/2)·Φ(−a/τ−kτ)` from `φ(a/τ)`, without its overflow.
fn half_expectation(k: f64, a: f64, tau: f64, ratio: f64, density: f64) -> f64 {
    let u = ratio + k * tau;
    if u >= 0.0 { density * mills_ratio(u) } else { (k * (a + 0.5 * k * tau * tau)).exp() - density * mills_ratio(-u) }
}

/// The least curvature of a site: far below the rounding of any shrinkage, and above 0 so that one can divide by its root.
const LEAST_CURVATURE: f64 = 1e-200;

/// `θ = (ln of each group's precision in V⁻¹, ln h of each row, r of each row)`: `V⁻¹ = A + XᵀHX`, `V⁻¹w = Xᵀr`.
///
/// `q(α)` is always optimal for `q(w)`, so ℒ is a function of `q(w)` alone, and an iteration is a natural-gradient step on it;
/// one that overshoots is shortened towards its start.
pub(super) struct Softplus<'a> {
    model: &'a Model<'a>,
    ridge: Ridge<'a>,
    h: Vec<f64>,
    r: Vec<f64>,
    a: Vec<f64>,
    nu: Vec<f64>,
}

impl<'a> Softplus<'a> {
    pub(super) fn new(model: &'a Model<'a>, ridge: Ridge<'a>) -> Self {
        let n = model.y.len();
        Self { model, ridge, h: vec![0.0; n], r: vec![0.0; n], a: vec![0.0; n], nu: vec![0.0; n] }
    }

    /// The start: the sites of `w = 0` without variance.
    pub(super) fn start(&self) -> Start {
        let mut theta = vec![self.model.prior.mean().ln(); self.model.shapes.len()];
        theta.extend(self.model.y.iter().map(|_| 0.25_f64.ln()));
        theta.extend(self.model.y.iter().map(|y| y - 0.5));
        Start { theta, pseudo_bound: None }
    }

    /// Computes `q(w)` from `θ`; returns the bound of `E log p(Y|w)` and `Σ w² + V_jj` of each group.
    fn solve(&mut self, theta: &[f64]) -> Result<(Vec<SoftplusMoments>, f64, Vec<f64>), ModelError> {
        let (log_alpha, sites) = theta.split_at(self.model.shapes.len());
        let (log_h, r) = sites.split_at(self.model.y.len());
        let alpha: Vec<f64> = log_alpha.iter().map(|log| log.exp()).collect();
        for (h, log_h) in self.h.iter_mut().zip(log_h) {
            *h = log_h.exp().max(LEAST_CURVATURE);
        }
        self.r.copy_from_slice(r);
        let grouping = self.model.grouping;
        self.ridge.solve_weighted(grouping.shrinkage(&alpha, self.model.d), &self.h, &self.r)?;
        self.ridge.project(&mut self.a, &mut self.nu);
        let seen = self.a.iter().zip(&self.nu);
        let expected: Vec<SoftplusMoments> = seen.map(|(a, nu)| SoftplusMoments::at(*a, *nu)).collect();
        let rows = self.model.y.iter().zip(&self.a).zip(&expected);
        let likelihood = rows.map(|((y, a), expected)| y * a - expected.value).sum();
        let moments = grouping.second_moments(&mut self.ridge, alpha.len(), &alpha, &self.h, &self.nu);
        Ok((expected, likelihood, moments))
    }

    pub(super) fn end(mut self, theta: &[f64]) -> Result<End<'a>, ModelError> {
        let (_, likelihood, moments) = self.solve(theta)?;
        Ok(End {
            shrinkage: self.model.of_moments(&moments),
            xi: Vec::new(),
            likelihood,
            moments,
            r: self.r,
            ridge: self.ridge,
        })
    }
}

impl Cycle for Softplus<'_> {
    type State = ();

    const OVERSHOOTS: bool = true;

    fn cycle(&mut self, theta: &[f64]) -> Result<Step<()>, ModelError> {
        let (expected, likelihood, moments) = self.solve(theta)?;
        let shrinkage = self.model.of_moments(&moments); // (53), (75)
        let (mut bound, mut size) = (0.0, 0.0);
        let mut add = |term: f64| {
            bound += term;
            size += term.abs();
        };
        add(likelihood);
        add(0.5 * self.ridge.log_det());
        add(0.5 * self.model.d as f64);
        for alpha in &shrinkage {
            add(lgamma(alpha.shape));
            add(-alpha.shape * alpha.rate.ln());
        }
        if !bound.is_finite() {
            return Err(Error::Overflow { quantity: "the bound", value: bound }.into());
        }
        let mut next: Vec<f64> = shrinkage.iter().map(|alpha| alpha.mean().ln()).collect();
        next.extend(expected.iter().map(|expected| expected.curvature.max(LEAST_CURVATURE).ln()));
        let rows = self.model.y.iter().zip(&self.a).zip(&expected);
        next.extend(rows.map(|((y, a), expected)| y - expected.slope + expected.curvature * a));
        Ok(Step { bound, size, next, state: () })
    }

    /// Moves along the line of natural parameters: of the precisions, not of their logarithms.
    fn part_way(&self, from: &[f64], to: &[f64], rho: f64) -> Vec<f64> {
        let logarithms = from.len() - self.model.y.len();
        let mix = |(i, (from, to)): (usize, (&f64, &f64))| {
            if i < logarithms {
                ((1.0 - rho) * from.exp() + rho * to.exp()).ln()
            } else {
                (1.0 - rho) * from + rho * to
            }
        };
        from.iter().zip(to).enumerate().map(mix).collect()
    }
}
