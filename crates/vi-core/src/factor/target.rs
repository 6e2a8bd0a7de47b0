//! Further forms of the matrix to be approximated, besides the operators of `vi-linalg`.

use vi_linalg::SymmetricOperator;
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};

use crate::Error;

/// How many rows of data are multiplied at a time.
const ROWS: usize = 256;

/// `S = XᵀX/n` of data `X` (`n × d`, one row per observation), without forming it.
///
/// A product with `k` vectors costs `4ndk` flops and `256k` numbers of memory.
///
/// ```
/// use vi_core::factor::SecondMoments;
/// use vi_linalg::SymmetricOperator;
/// use vi_linalg::faer::{Par, mat};
/// let x = mat![[1.0, 2.0], [3.0, 0.0]];
/// let s = SecondMoments::new(x.as_ref())?;
/// assert_eq!(s.quadratic_form(&[1.0, 1.0], Par::Seq), 9.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct SecondMoments<'a>(MatRef<'a, f64>);

impl<'a> SecondMoments<'a> {
    /// The second moments of the rows of `x` (`n × d`), which are not centred.
    ///
    /// # Errors
    /// [`Error::Empty`] without rows, [`Error::Linalg`] for an entry that is not finite.
    pub fn new(x: MatRef<'a, f64>) -> Result<Self, Error> {
        if x.nrows() == 0 {
            return Err(Error::Empty { argument: "x" });
        }
        vi_linalg::check::finite_matrix("x", x)?;
        Ok(Self(x))
    }
}

impl SymmetricOperator for SecondMoments<'_> {
    fn dim(&self) -> usize {
        self.0.ncols()
    }

    fn apply(&self, out: MatMut<'_, f64>, x: MatRef<'_, f64>, par: Par) {
        let (mut out, n) = (out, self.0.nrows());
        let mut along = Mat::<f64>::zeros(ROWS.min(n), x.ncols());
        out.fill(0.0);
        for first in (0..n).step_by(ROWS) {
            let block = self.0.subrows(first, ROWS.min(n - first));
            let mut along = along.as_mut().subrows_mut(0, block.nrows());
            matmul(along.as_mut(), Accum::Replace, block, x, 1.0 / n as f64, par);
            matmul(out.as_mut(), Accum::Add, block.transpose(), along.as_ref(), 1.0, par);
        }
    }

    fn diagonal(&self, out: &mut [f64], _par: Par) {
        assert_eq!(out.len(), self.dim(), "length of out");
        out.fill(0.0);
        for row in self.0.row_iter() {
            for (sum, value) in out.iter_mut().zip(row.iter()) {
                *sum += value * value;
            }
        }
        let n = self.0.nrows() as f64;
        for sum in out {
            *sum /= n;
        }
    }
}
