//! Mean field: the best Gaussian of diagonal covariance, for comparison.
//!
//! Over `q = N(m, diag(s²))` the bound `B(q) = Σ_i E_q[log p(y_i|x_iᵀθ)] − KL(q‖p₀)` is concave in `(m, s)`, and Newton's
//! method finds its one maximum. With `a_i = x_iᵀm`, `ν_i = Σ_j x_ij²s_j²`, `w_ij = ∂ν_i/∂s_j = 2x_ij²s_j`, Bonnet's and
//! Price's theorems give every derivative from `E∂, …, E∂⁴` under `N(a_i, ν_i)`:
//!
//! ```text
//! ∂B/∂m = Σ E∂·x − Λ₀(m−μ₀)       ∂B/∂s_j = ½Σ E∂²·w_j − (Λ₀)_jj·s_j + 1/s_j
//! −∂²B/∂m² = Λ₀ − Σ E∂²·xxᵀ       −∂²B/∂s∂m = −½Σ E∂³·wxᵀ
//! −∂²B/∂s² = diag((Λ₀)_jj + 1/s_j² − Σ E∂²·x_j²) − ¼Σ E∂⁴·wwᵀ
//! ```

use vi_core::{Belief, DenseGaussian, GaussianExpectation};
use vi_data::Dataset;
use vi_linalg::Cholesky;
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, Par};
use vi_linalg::kernels::{dot, quadratic_form, symmetric_mul_vec};

use super::refined::LOGIT;
use crate::error::{Doing as _, ReproError};

/// Newton's decrement `√(gᵀN⁻¹g)` that ends the search; half its square is what a step still gains, in nats.
const TOLERANCE: f64 = 1e-8;
const MOST_STEPS: usize = 200;
/// Damping at which the bound no longer tells steps apart.
const LEAST_STEP: f64 = 1e-6;

/// The prior in natural parameters.
struct Prior<'a> {
    mean: &'a [f64],
    precision: Mat<f64>,
    log_det: f64,
}

/// A diagonal Gaussian `(m, s)`, its bound, and what Newton's step asks for.
struct Point {
    /// `m` and `s`, `2d` numbers.
    at: Vec<f64>,
    bound: f64,
    gradient: Vec<f64>,
    /// Minus the second derivative, `2d × 2d`, lower triangle.
    curvature: Mat<f64>,
}

impl Point {
    /// Cost `6nd²` flops and `n` expectations.
    fn new(prior: &Prior<'_>, data: &Dataset, at: Vec<f64>) -> Self {
        let (n, d) = (data.n(), data.d());
        let (mean, s) = at.split_at(d);
        let mut value = 0.0;
        let mut gradient = vec![0.0; 2 * d];
        let mut diagonal: Vec<f64> = (0..d).map(|j| prior.precision[(j, j)] + 1.0 / (s[j] * s[j])).collect();
        let mut w = Mat::zeros(n, d);
        let [mut by_mean, mut by_both, mut by_s] = std::array::from_fn(|_| Mat::<f64>::zeros(n, d));
        for (i, (x, y)) in data.observations().enumerate() {
            let nu: f64 = x.iter().zip(s).map(|(x, s)| (x * s).powi(2)).sum();
            let e = LOGIT.expected(y, dot(x, mean), nu);
            value += e.value;
            for j in 0..d {
                w[(i, j)] = 2.0 * x[j] * x[j] * s[j];
                gradient[j] += e.slope * x[j];
                gradient[d + j] -= 0.5 * e.curvature * w[(i, j)];
                diagonal[j] += e.curvature * x[j] * x[j];
                by_mean[(i, j)] = e.curvature * x[j];
                by_both[(i, j)] = -0.5 * e.third * w[(i, j)];
                by_s[(i, j)] = -0.25 * e.fourth * w[(i, j)];
            }
        }
        let mut curvature = Mat::zeros(2 * d, 2 * d);
        let mut add = |row: usize, column: usize, left: &Mat<f64>, right| {
            let block = curvature.as_mut().submatrix_mut(row, column, d, d);
            matmul(block, Accum::Replace, left.transpose(), right, 1.0, Par::Seq);
        };
        add(0, 0, &by_mean, data.x());
        add(d, 0, &by_both, data.x());
        add(d, d, &by_s, w.as_ref());
        for j in 0..d {
            for i in 0..d {
                curvature[(i, j)] += prior.precision[(i, j)];
            }
            curvature[(d + j, d + j)] += diagonal[j];
        }

        let shift: Vec<f64> = mean.iter().zip(prior.mean).map(|(m, m0)| m - m0).collect();
        let mut pull = vec![0.0; d];
        symmetric_mul_vec(&mut pull, prior.precision.as_ref(), &shift);
        for j in 0..d {
            gradient[j] -= pull[j];
            gradient[d + j] += 1.0 / s[j] - prior.precision[(j, j)] * s[j];
        }
        let trace: f64 = (0..d).map(|j| prior.precision[(j, j)] * s[j] * s[j]).sum();
        let log_det: f64 = s.iter().map(|s| 2.0 * s.ln()).sum();
        let distance = quadratic_form(prior.precision.as_ref(), &shift);
        let kl = 0.5 * (trace + distance - d as f64 - prior.log_det - log_det);
        Self { bound: value - kl, at, gradient, curvature }
    }
}

/// The mean-field optimum, from the prior. Cost `6nd² + 8d³/3` flops a step.
pub(super) fn mean_field(prior: &DenseGaussian, data: &Dataset) -> Result<DenseGaussian, ReproError> {
    let d = data.d();
    let cholesky = prior.cholesky().context("mean field")?;
    let prior = Prior { mean: prior.mean(), precision: cholesky.inverse(), log_det: -cholesky.log_det() };
    let deviations = (0..d).map(|j| 1.0 / prior.precision[(j, j)].sqrt());
    let mut point = Point::new(&prior, data, prior.mean.iter().copied().chain(deviations).collect());
    for _ in 0..MOST_STEPS {
        let mut step = point.gradient.clone();
        Cholesky::new(point.curvature.as_ref()).and_then(|c| c.solve_vec_in_place(&mut step)).context("mean field")?;
        if dot(&step, &point.gradient) < TOLERANCE * TOLERANCE {
            return belief(&point);
        }
        let mut rho = 1.0;
        point = loop {
            let at: Vec<f64> = point.at.iter().zip(&step).map(|(p, s)| p + rho * s).collect();
            if at[d..].iter().all(|s| *s > 0.0) {
                let next = Point::new(&prior, data, at);
                if next.bound >= point.bound - 64.0 * f64::EPSILON * (1.0 + point.bound.abs()) {
                    break next;
                }
            }
            rho *= 0.5;
            if rho < LEAST_STEP {
                return belief(&point);
            }
        };
    }
    Err(ReproError::Computation { what: "mean field".to_owned(), message: "did not converge".to_owned() })
}

fn belief(point: &Point) -> Result<DenseGaussian, ReproError> {
    let (mean, s) = point.at.split_at(point.at.len() / 2);
    let covariance = Mat::from_fn(s.len(), s.len(), |i, j| if i == j { s[i] * s[i] } else { 0.0 });
    DenseGaussian::new(mean, covariance.as_ref()).context("mean field")
}

#[cfg(test)]
mod tests {
    use super::super::methods::prior;
    use super::super::refined::mixture_posterior;
    use super::super::replicate::Setting;
    use super::*;
    use vi_core::batch::{BatchSettings, optimum};

    const SETTING: Setting = Setting { n: 40, d: 3, s: 1.0, c: 1.0, sigma0: 2.0, mu0_norm: 0.5 };

    #[test]
    fn where_the_posterior_factorises_mean_field_is_the_optimum() {
        // Each row has one input other than 0.
        let rows = (0..12).flat_map(|i| (0..3).map(move |j| if i % 3 == j { 0.5 + f64::from(i) } else { 0.0 }));
        let y = (0..12).map(|i| f64::from(u8::from(i % 4 == 1 || i > 8))).collect();
        let data = Dataset::new(rows.collect(), y, None).unwrap();
        let prior = prior(3, 1.0, 1.5).unwrap();
        let found = mean_field(&prior, &data).unwrap();
        let settings = BatchSettings { tolerance: 1e-11, max_passes: 300 };
        let (best, _) = optimum(&prior, &prior, data.x(), data.y(), &LOGIT, &settings, Par::Seq).unwrap();
        let (p, q) = (found.covariance(), best.covariance());
        for j in 0..3 {
            // Both stop within 1e-8 standard deviations.
            assert!((found.mean()[j] - best.mean()[j]).abs() < 1e-8 * q[(j, j)].sqrt());
            assert!((p[(j, j)] / q[(j, j)] - 1.0).abs() < 1e-8);
        }
    }

    #[test]
    fn no_diagonal_neighbour_is_nearer_and_the_full_optimum_is() {
        let (prior, data) = (SETTING.prior().unwrap(), SETTING.data(3, 0).unwrap());
        let posterior = mixture_posterior(&prior, &data).unwrap();
        let kl = |q: &DenseGaussian| posterior.kl(q, Par::Seq).unwrap();
        let found = mean_field(&prior, &data).unwrap();
        let least = kl(&found);
        for j in 0..3 {
            for nudge in [-1e-3, 1e-3] {
                let (mut mean, mut covariance) = (found.mean().to_vec(), found.covariance());
                mean[j] += nudge;
                assert!(kl(&DenseGaussian::new(&mean, covariance.as_ref()).unwrap()) > least);
                covariance[(j, j)] *= 1.0 + nudge;
                assert!(kl(&DenseGaussian::new(found.mean(), covariance.as_ref()).unwrap()) > least);
            }
        }
        let settings = BatchSettings::default();
        let (best, _) = optimum(&prior, &prior, data.x(), data.y(), &LOGIT, &settings, Par::Seq).unwrap();
        assert!(kl(&best) < least);
    }
}
