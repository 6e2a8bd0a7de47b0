//! The log marginal likelihood (13) and its gradient.

use vi_core::Error;
use vi_core::special::LN_2PI;
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatRef, Par};
use vi_linalg::kernels::{dot, symmetric_rank_r};
use vi_linalg::{Cholesky, cholesky};

use super::{Hyperparameters, check_data};
use crate::basis::check_features;
use crate::{Basis, RevrandError};

/// The rounding error of the log marginal likelihood, in nats, at which it is refused.
const LOST: f64 = 0.1;

/// The log marginal likelihood and its derivatives in the hyper-parameters.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Evidence {
    /// The log marginal likelihood `log p(y | σ², λ, θ)`, in nats.
    pub value: f64,
    /// The derivatives of the value in `σ²`, `λ` and `θ`.
    pub gradient: Hyperparameters,
    /// `yᵀK⁻¹y/n`: the common factor of all variances that maximises the value.
    pub(super) scale: f64,
}

/// The log marginal likelihood of `basis` at `hyper`, with its gradient.
///
/// ```text
/// log p(y) = log N(y | 0, K),   K = σ²I + ΦΛΦᵀ                                                        (13)
///          = −½[n·log 2πσ² + log det B + ‖r‖²/σ² + ‖z‖²],   z = Λ^{-½}m,   r = y − Φm
/// ```
///
/// It uses Woodbury's identity with the factor of `B = I + ΨᵀΨ/σ²` (`D × D`), or that of `I + ΨΨᵀ/σ²` (`n × n`) if there are
/// fewer rows than features. Cost `3·nD·min(n, D)` flops and the features.
///
/// # Errors
/// `Empty`, `Dimension`, `NonFinite` or `Row` with it (data), `Entry` and [`RevrandError::OutOfBounds`] (hyper-parameters),
/// [`RevrandError::Feature`], [`RevrandError::Precision`] (a noise variance so small compared with the prior that no digit of the
/// value is left), `Overflow` or `Linalg` (numbers that are not finite).
///
/// ```
/// use vi_linalg::faer::{Par, mat};
/// use vi_revrand::basis::Bias;
/// use vi_revrand::slm::{Hyperparameters, evidence};
/// // y = w + noise: K = [[3, 1], [1, 3]].
/// let basis = Bias::new(1.0)?;
/// let hyper = Hyperparameters { noise_variance: 2.0, prior_variances: vec![1.0], theta: vec![] };
/// let found = evidence(&basis, &hyper, mat![[0.0], [0.0]].as_ref(), &[1.0, -1.0], Par::Seq)?;
/// let exact = -(std::f64::consts::TAU.ln() + 0.5 * 8.0_f64.ln() + 0.5);
/// assert!((found.value - exact).abs() < 1e-14);
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
pub fn evidence(
    basis: &(impl Basis + ?Sized),
    hyper: &Hyperparameters,
    x: MatRef<'_, f64>,
    y: &[f64],
    par: Par,
) -> Result<Evidence, RevrandError> {
    check_data(basis, x, y)?;
    evidence_of_checked(basis, hyper, x, y, par)
}

/// [`evidence`] of checked data.
pub(super) fn evidence_of_checked(
    basis: &(impl Basis + ?Sized),
    hyper: &Hyperparameters,
    x: MatRef<'_, f64>,
    y: &[f64],
    par: Par,
) -> Result<Evidence, RevrandError> {
    let roots = hyper.checked_roots(basis)?;
    let mut features = Mat::zeros(x.nrows(), basis.width());
    basis.fill(&hyper.theta, x, features.as_mut(), par);
    check_features(features.as_ref())?;
    let solved = Solved::new(scaled(&features, &roots), y, hyper.noise_variance, par)?;
    let gradient = solved.gradient(basis, hyper, x, &features, &roots, par);
    let evidence = Evidence { value: solved.value, gradient, scale: solved.quadratic / y.len() as f64 };
    let numbers = std::iter::once(&evidence.value)
        .chain(std::iter::once(&evidence.gradient.noise_variance))
        .chain(&evidence.gradient.prior_variances)
        .chain(&evidence.gradient.theta);
    match numbers.into_iter().find(|number| !number.is_finite()) {
        None => Ok(evidence),
        Some(&value) => Err(Error::Overflow { quantity: "the marginal likelihood or its gradient", value }.into()),
    }
}

/// `Ψ = ΦΛ^½`.
pub(super) fn scaled(features: &Mat<f64>, roots: &[f64]) -> Mat<f64> {
    let mut psi = features.clone();
    for (j, root) in roots.iter().enumerate() {
        for phi in psi.col_as_slice_mut(j) {
            *phi *= root;
        }
    }
    psi
}

/// The factor of `I + β·UᵀU`. Its eigenvalues are at least 1 and rounding changes them by `ε` times the largest: if the noise is
/// very small compared with the prior, the determinant has no digits left.
pub(super) fn factor(u: MatRef<'_, f64>, beta: f64, par: Par) -> Result<Cholesky, RevrandError> {
    let mut b = Mat::identity(u.ncols(), u.ncols());
    symmetric_rank_r(b.as_mut(), beta, u.transpose(), u.transpose(), par);
    let trace: f64 = (0..b.nrows()).map(|j| b[(j, j)]).sum();
    if trace.is_finite() && f64::EPSILON * trace > LOST {
        return Err(RevrandError::Precision { ratio: trace });
    }
    Ok(Cholesky::new(b.as_ref())?)
}

/// `Av`.
pub(super) fn product(a: MatRef<'_, f64>, v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; a.nrows()];
    let column = vi_linalg::faer::MatMut::from_column_major_slice_mut(&mut out, a.nrows(), 1);
    let v = MatRef::from_column_major_slice(v, a.ncols(), 1);
    matmul(column, Accum::Replace, a, v, 1.0, Par::Seq);
    out
}

/// The linear system behind the evidence, solved.
pub(super) struct Solved {
    psi: Mat<f64>,
    beta: f64,
    /// The factor of `B` (`D × D`), or of `A = I + βΨΨᵀ` (`n × n`) if `n < D`.
    factor: Cholesky,
    /// `z = Λ^{-½}m`.
    pub(super) z: Vec<f64>,
    /// `r = y − Φm`.
    r: Vec<f64>,
    pub(super) value: f64,
    /// `yᵀK⁻¹y`.
    quadratic: f64,
}

impl Solved {
    pub(super) fn new(psi: Mat<f64>, y: &[f64], noise: f64, par: Par) -> Result<Self, RevrandError> {
        let beta = noise.recip();
        let of_rows = psi.nrows() < psi.ncols();
        let factor = if of_rows { factor(psi.transpose(), beta, par)? } else { factor(psi.as_ref(), beta, par)? };
        let (z, r) = if of_rows {
            // K⁻¹y = βA⁻¹y, so r = A⁻¹y and z = βΨᵀr.
            let mut r = y.to_vec();
            factor.solve_vec_in_place(&mut r)?;
            let mut z = product(psi.transpose(), &r);
            for z in &mut z {
                *z *= beta;
            }
            (z, r)
        } else {
            // z = βB⁻¹Ψᵀy.
            let mut z = product(psi.transpose(), y);
            for z in &mut z {
                *z *= beta;
            }
            factor.solve_vec_in_place(&mut z)?;
            let r = product(psi.as_ref(), &z).iter().zip(y).map(|(fitted, y)| y - fitted).collect();
            (z, r)
        };
        let n = y.len() as f64;
        // Woodbury: log det K = n log σ² + log det B, yᵀK⁻¹y = β‖r‖² + ‖z‖².
        let quadratic = beta * dot(&r, &r) + dot(&z, &z);
        let value = -0.5 * (n * (LN_2PI + noise.ln()) + factor.log_det() + quadratic);
        Ok(Self { psi, beta, factor, z, r, value, quadratic })
    }

    /// `H = ΨB⁻¹ = A⁻¹Ψ` (`n × D`).
    fn hat(&self, par: Par) -> Mat<f64> {
        let mut h = self.psi.clone();
        let l = self.factor.factor();
        if l.nrows() == h.ncols() {
            cholesky::solve_in_place(l, h.transpose_mut(), par);
        } else {
            cholesky::solve_in_place(l, h.as_mut(), par);
        }
        h
    }

    /// With `α = K⁻¹y = βr`:
    ///
    /// ```text
    /// ∂/∂σ²  = ½(‖α‖² − tr K⁻¹)                 tr K⁻¹ = β(n − Σs_j),   s_j = 1 − [B⁻¹]_jj = β·ψ_jᵀh_j
    /// ∂/∂λ   = ½ Σ (z_j² − s_j)/λ              over the part's features
    /// ∂/∂Φ   = αmᵀ − K⁻¹ΦΛ = αmᵀ − βHΛ^½
    /// ```
    fn gradient(
        &self,
        basis: &(impl Basis + ?Sized),
        hyper: &Hyperparameters,
        x: MatRef<'_, f64>,
        features: &Mat<f64>,
        roots: &[f64],
        par: Par,
    ) -> Hyperparameters {
        let Self { psi, beta, z, r, .. } = self;
        let mut h = self.hat(par);
        let s: Vec<f64> = (0..z.len()).map(|j| beta * dot(psi.col_as_slice(j), h.col_as_slice(j))).collect();
        let trace = beta * (r.len() as f64 - s.iter().sum::<f64>());
        // Not β²·‖r‖²: if labels are far from 1, β² may overflow where ‖α‖² does not.
        let alpha: Vec<f64> = r.iter().map(|r| beta * r).collect();
        let noise_variance = 0.5 * (dot(&alpha, &alpha) - trace);
        let of_part = |(part, lambda): (crate::basis::Regulariser, &f64)| {
            0.5 * part.features.map(|j| z[j] * z[j] - s[j]).sum::<f64>() / lambda
        };
        let prior_variances = basis.regularisers().into_iter().zip(&hyper.prior_variances).map(of_part).collect();
        let mut theta = vec![0.0; hyper.theta.len()];
        if !theta.is_empty() {
            for (j, root) in roots.iter().enumerate() {
                let m = root * z[j];
                for (g, alpha) in h.col_as_slice_mut(j).iter_mut().zip(&alpha) {
                    *g = alpha * m - beta * root * *g;
                }
            }
            basis.contract(&hyper.theta, x, features.as_ref(), h.as_ref(), &mut theta, par);
        }
        Hyperparameters { noise_variance, prior_variances, theta }
    }
}
