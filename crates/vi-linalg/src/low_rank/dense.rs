//! The matrix Ψ + WWᵀ formed in full, and draws by its Cholesky factor, for comparison with the low-rank forms.

use faer::{Mat, MatMut, Par};

use super::matrix::LowRank;
use super::sampler::fill_normal;
use crate::cholesky::{mul_lower, solve_upper_in_place};
use crate::kernels::symmetric_rank_r;
use crate::{Cholesky, LinalgError};

impl LowRank {
    /// S in full: its lower triangle (d × d), the strict upper one being zero. Cost d²p flops and d² memory.
    #[must_use]
    pub fn to_dense_lower(&self, par: Par) -> Mat<f64> {
        let mut s = Mat::zeros(self.dim(), self.dim());
        for (i, &psi) in self.psi().iter().enumerate() {
            s[(i, i)] = psi;
        }
        symmetric_rank_r(s.as_mut(), 1.0, self.w(), self.w(), par);
        s
    }
}

/// Draws by the Cholesky factor of S: d² memory and d³/3 flops to build, against O(dp) of the ensemble sampler.
///
/// ```
/// use rand::SeedableRng;
/// use vi_linalg::LowRank;
/// use vi_linalg::faer::{Par, mat};
/// use vi_linalg::low_rank::CholeskySampler;
/// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// let s = LowRank::new(mat![[1.0], [2.0]].as_ref(), &[1.0, 1.0])?;
/// let draws = CholeskySampler::new(&s, Par::Seq)?.draw_inverse(5, &mut rng, Par::Seq);
/// assert_eq!(draws.shape(), (2, 5));
/// # Ok::<(), vi_linalg::LinalgError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CholeskySampler {
    cholesky: Cholesky,
}

impl CholeskySampler {
    /// Forms and factors S = LLᵀ.
    ///
    /// # Errors
    /// [`LinalgError::NonFinite`], [`LinalgError::NotPositiveDefinite`] if entries of S overflow.
    pub fn new(s: &LowRank, par: Par) -> Result<Self, LinalgError> {
        Ok(Self { cholesky: Cholesky::new(s.to_dense_lower(par).as_ref())? })
    }

    /// K draws Lz from N(0, S), the columns of the result (d × K). Cost d²K flops.
    #[must_use]
    pub fn draw<R: rand::Rng + ?Sized>(&self, k: usize, rng: &mut R, par: Par) -> Mat<f64> {
        let z = self.normal(k, rng);
        let mut out = Mat::zeros(z.nrows(), k);
        mul_lower(out.as_mut(), self.cholesky.factor(), z.as_ref(), par);
        out
    }

    /// K draws L⁻ᵀz from N(0, S⁻¹), the columns of the result (d × K). Cost d²K flops.
    #[must_use]
    pub fn draw_inverse<R: rand::Rng + ?Sized>(&self, k: usize, rng: &mut R, par: Par) -> Mat<f64> {
        let mut out = self.normal(k, rng);
        let lower = self.cholesky.factor();
        let view: MatMut<'_, f64> = out.as_mut();
        solve_upper_in_place(lower, view, par);
        out
    }

    fn normal<R: rand::Rng + ?Sized>(&self, k: usize, rng: &mut R) -> Mat<f64> {
        let mut z = Mat::zeros(self.cholesky.dim(), k);
        fill_normal(z.as_mut(), rng);
        z
    }
}
