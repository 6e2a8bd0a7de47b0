//! A square root of a covariance that may be singular.

use vi_linalg::faer::{Mat, MatMut};

use crate::Error;

/// Overwrites the lower triangle of a positive semidefinite `C` (`m × m`) by `R` with `RRᵀ = C`, lower triangular.
///
/// A pivot within `8mε` of the largest variance is taken for 0, its column too: `RRᵀ` is then off by as much.
/// Cost `m³/3`.
///
/// # Errors
/// [`Error::NonFinite`], or [`Error::NotPositiveDefinite`] for a pivot below that.
pub(super) fn semidefinite_root(c: &mut Mat<f64>) -> Result<(), Error> {
    let m = c.nrows();
    for j in 0..m {
        for i in j..m {
            if !c[(i, j)].is_finite() {
                return Err(Error::NonFinite { argument: "Cov(y|θ)", index: j * m + i, value: c[(i, j)] });
            }
        }
    }
    let largest = (0..m).map(|j| c[(j, j)]).fold(0.0, f64::max);
    let rounding = 8.0 * m as f64 * f64::EPSILON * largest;
    for j in 0..m {
        let pivot = c[(j, j)];
        if pivot < -rounding {
            return Err(Error::NotPositiveDefinite { argument: "Cov(y|θ)", pivot: j });
        }
        let scale = if pivot > rounding { pivot.sqrt().recip() } else { 0.0 };
        for i in j..m {
            c[(i, j)] *= scale;
        }
        for k in j + 1..m {
            for i in k..m {
                c[(i, k)] -= c[(i, j)] * c[(k, j)];
            }
        }
    }
    clear_upper(c.as_mut());
    Ok(())
}

fn clear_upper(mut c: MatMut<'_, f64>) {
    for j in 1..c.ncols() {
        c.as_mut().col_mut(j).subrows_mut(0, j).fill(0.0);
    }
}
