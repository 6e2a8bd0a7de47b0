//! Vector observations `y = Hθ + N(0, R)` on a dense belief (R-VGA §4.1, Theorem 2).

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, ColRef, Mat, MatRef, Par};
use vi_linalg::kernels::{symmetric_mul_mat, symmetric_rank_r};

use crate::Error;
use crate::belief::{Belief, DenseGaussian, check_symmetric, factor};
use crate::check;
use crate::special::HALF_LN_2PI;

/// The predictive density of a vector observation, as its update found it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct VectorInfo {
    /// The log of the one-step-ahead predictive density, `log N(y | Hμ, R + HPHᵀ)`, in nats.
    pub log_predictive: f64,
}

/// The Kalman filter's step of a static state: one vector observation.
///
/// ```text
/// K = PHᵀ(R + HPHᵀ)⁻¹          (41)
/// μ ← μ + K(y − Hμ)            (40)
/// P ← (I − KH)P                (42)
/// ```
///
/// `h` is `m × d`, `y` has length `m`, `r` is `m × m`, positive definite. `S = R + HPHᵀ = LLᵀ` is factored once and
/// `P` loses `VᵀV`, `V = L⁻¹HP`. Cost `2md² + md² + m²d`.
///
/// # Errors
/// [`Error::Empty`] for `m = 0`, [`Error::Dimension`], [`Error::NonFinite`], [`Error::NotSymmetric`] and
/// [`Error::NotPositiveDefinite`] for `r` or `S`, [`Error::Overflow`]; the belief is then as it was.
///
/// ```
/// use vi_core::{papers::kalman, Belief, DenseGaussian};
/// use vi_linalg::faer::{mat, Par};
/// let mut belief = DenseGaussian::isotropic(&[0.0, 0.0], 1.0)?;
/// let (h, r) = (mat![[1.0, 0.0], [1.0, 1.0]], mat![[0.5, 0.1], [0.1, 0.5]]);
/// kalman::step(&mut belief, h.as_ref(), &[1.0, 2.0], r.as_ref(), Par::Seq)?;
/// assert!(belief.mean()[0] > 0.5);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn step(
    belief: &mut DenseGaussian,
    h: MatRef<'_, f64>,
    y: &[f64],
    r: MatRef<'_, f64>,
    par: Par,
) -> Result<VectorInfo, Error> {
    check::length("columns of h", belief.dim(), h.ncols())?;
    check::length("rows of h", y.len(), h.nrows())?;
    check::finite("y", y)?;
    let mean = MatRef::from_column_major_slice(belief.mean(), belief.dim(), 1);
    let mut residual = Mat::from_fn(y.len(), 1, |i, _| y[i]);
    matmul(residual.as_mut(), Accum::Add, h, mean, -1.0, par);
    innovate(belief, h, residual.as_ref(), r, par)
}

/// The update of `belief` by a residual `y − ŷ` (`m × 1`) with observation matrix `h` and covariance `r`: what the
/// linear and the extended Kalman filters share.
pub(crate) fn innovate(
    belief: &mut DenseGaussian,
    h: MatRef<'_, f64>,
    residual: MatRef<'_, f64>,
    r: MatRef<'_, f64>,
    par: Par,
) -> Result<VectorInfo, Error> {
    let (m, d) = (h.nrows(), h.ncols());
    if m == 0 {
        return Err(Error::Empty { argument: "y" });
    }
    check::length("rows of r", m, r.nrows())?;
    check::length("columns of r", m, r.ncols())?;
    check_symmetric("r", r)?;
    factor("r", r)?;
    for j in 0..d {
        for i in 0..m {
            if !h[(i, j)].is_finite() {
                return Err(Error::NonFinite { argument: "h", index: j * m + i, value: h[(i, j)] });
            }
        }
    }

    // S = R + HPHᵀ = LLᵀ
    let mut pht = Mat::<f64>::zeros(d, m);
    symmetric_mul_mat(pht.as_mut(), Mat::as_ref(&belief.covariance_lower()), h.transpose(), par);
    let mut s = r.to_owned();
    matmul(s.as_mut(), Accum::Add, h, pht.as_ref(), 1.0, par);
    let l = factor("R + HPHᵀ", s.as_ref())?;

    // P ← P − PHᵀS⁻¹HP, with V = L⁻¹HP; μ ← μ + Vᵀ·L⁻¹(y − ŷ)
    let v = l.whiten(pht.transpose())?;
    let whitened = l.whiten(residual)?;
    let mut shift = Mat::<f64>::zeros(d, 1);
    matmul(shift.as_mut(), Accum::Replace, v.transpose(), whitened.as_ref(), 1.0, par);
    let distance = whitened.squared_norm_l2();
    let log_predictive = check::result("log N(y | Hμ, S)", -0.5 * (distance + l.log_det()) - m as f64 * HALF_LN_2PI)?;
    let (mean, covariance) = belief.parts_mut();
    let shift = shift.col(0);
    mean.iter()
        .zip(shift.iter())
        .try_for_each(|(mean, shift)| check::result("μ + K(y − Hμ)", mean + shift).map(drop))?;
    v.col_iter().flat_map(ColRef::iter).try_for_each(|value| check::result("L⁻¹HP", *value).map(drop))?;
    for (mean, shift) in mean.iter_mut().zip(shift.iter()) {
        *mean += shift;
    }
    symmetric_rank_r(covariance.as_mut(), -1.0, v.transpose(), v.transpose(), par);
    Ok(VectorInfo { log_predictive })
}
