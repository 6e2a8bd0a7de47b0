//! How far `C = Ψ + WWᵀ` is from the matrix that it approximates.

use vi_linalg::faer::Par;
use vi_linalg::low_rank::{DenseRoot, kl_of_precisions_to_dense};
use vi_linalg::{Cholesky, LowRank, SymmetricOperator};

use super::em::Expected;
use crate::Error;
use crate::check;

/// The loss `½[tr(C⁻¹S) + log det C − d]` of the approximation, in nats: the divergence of [`kl`] without the constant `−½ log
/// det S`.
///
/// EM lowers this (11), (13), and it needs no factor of `S`: one application to `W` and two passes over `W`.
///
/// # Errors
/// [`Error::Dimension`], [`Error::Linalg`], [`Error::Overflow`].
///
/// ```
/// use vi_core::factor;
/// use vi_linalg::faer::{Par, mat};
/// use vi_linalg::{DenseSymmetric, LowRank};
/// // At S itself, ½ log det S is left.
/// let s = mat![[2.0, 0.0], [2.0, 5.0]];
/// let c = LowRank::new(mat![[1.0], [2.0]].as_ref(), &[1.0, 1.0])?;
/// let loss = factor::loss(&DenseSymmetric::new(s.as_ref()), &c, Par::Seq)?;
/// assert!((loss - 0.5 * f64::ln(6.0)).abs() < 1e-14);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn loss<S: SymmetricOperator + ?Sized>(s: &S, c: &LowRank, par: Par) -> Result<f64, Error> {
    Ok(Expected::of(s, c, par)?.loss)
}

/// `KL(N(0, S) ‖ N(0, Ψ+WWᵀ)) = ½[tr(C⁻¹S) + log det C − log det S − d]` in nats, from the Cholesky factor of `S` (10)-(11).
/// Cost `O(d²p)` flops and `d²` memory.
///
/// # Errors
/// [`Error::Linalg`], [`Error::Overflow`].
///
/// ```
/// use vi_core::factor;
/// use vi_linalg::faer::{Par, mat};
/// use vi_linalg::{Cholesky, LowRank};
/// let c = LowRank::new(mat![[1.0], [2.0]].as_ref(), &[1.0, 1.0])?;
/// let s = Cholesky::new(mat![[2.0, 0.0], [2.0, 5.0]].as_ref())?;
/// assert!(factor::kl(&s, &c, Par::Seq)?.abs() < 1e-15);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn kl(s: &Cholesky, c: &LowRank, par: Par) -> Result<f64, Error> {
    let zero = vec![0.0; c.dim()];
    // With equal means, KL(N(0, S) ‖ N(0, C)) = KL(N(0, C⁻¹) ‖ N(0, S⁻¹)) (9)-(10).
    let value = kl_of_precisions_to_dense(&zero, &c.factor(par)?, &zero, DenseRoot::Precision(s), par)?;
    check::result("KL(S‖C)", value)
}
