//! What a belief says about all its weights together.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_linalg::cholesky;
use vi_linalg::faer::{Mat, MatRef};
use vi_linalg::kernels::{axpy, dot};

use super::scores::{self, Scores};
use super::{Belief, DenseGaussian, DiagonalGaussian, SquareRootGaussian};
use crate::check;
use crate::{Error, Row};

/// The operations on a Gaussian belief `N(μ, P)` as a whole, the same for every kind: draws, distances, `log det P`, joint
/// scores.
///
/// | kind | a draw | a distance | `log det P` |
/// | :-- | :-- | :-- | :-- |
/// | dense | `d³/3` | `d³/3` | `d³/3` |
/// | square root | `d²` | `d²` | `d` |
/// | low rank, `p` columns and `k` buffered rows | `4d(p + k)` | `2d(p + k)` | `d` and `(p + k)³/3` |
/// | diagonal | `d` | `d` | `d` |
///
/// ```
/// use rand::SeedableRng;
/// use vi_core::{DenseGaussian, DiagonalGaussian, GaussianBelief, SquareRootGaussian};
/// let diagonal = DiagonalGaussian::new(&[1.0, 2.0], &[4.0, 0.25])?;
/// let dense = diagonal.to_dense()?;
/// let root = SquareRootGaussian::from_dense(&dense)?;
/// assert_eq!(diagonal.quadratic_form(&[2.0, 1.0])?, 5.0);
/// assert!((dense.quadratic_form(&[2.0, 1.0])? - 5.0).abs() < 1e-14);
/// assert!(root.log_det()?.abs() < 1e-15);
/// let mut theta = [0.0; 2];
/// dense.draw(&mut theta, &mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
/// assert!((theta[0] - 1.0).abs() < 8.0 && (theta[1] - 2.0).abs() < 2.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub trait GaussianBelief: Belief {
    /// One draw of `θ − μ`, `θ ~ N(μ, P)`, into `deviation` (length `d`).
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::NotPositiveDefinite`] if rounding has destroyed the covariance; [`Error::ImproperSite`]
    /// while a low-rank belief has a row of negative curvature in its buffer.
    fn draw_deviation<R: Rng + ?Sized>(&self, deviation: &mut [f64], rng: &mut R) -> Result<(), Error>;

    /// One draw of `θ ~ N(μ, P)` into `theta` (length `d`).
    ///
    /// # Errors
    /// As [`draw_deviation`](Self::draw_deviation).
    fn draw<R: Rng + ?Sized>(&self, theta: &mut [f64], rng: &mut R) -> Result<(), Error> {
        self.draw_deviation(theta, rng)?;
        axpy(theta, 1.0, self.mean());
        Ok(())
    }

    /// The joint distribution of the scores `xᵀθ` of `k` rows of length `d`, dense or sparse; [`Scores`] draws them together.
    ///
    /// Cost for rows of `m` entries: a dense belief `2d²k` flops, a square root `d²k`, a diagonal `k²m`, one of low rank `2p` for
    /// each entry, `2p²` where it [rewrites only what rows touch](crate::Upkeep), and `k²` and `b²k` for `b` buffered rows.
    ///
    /// # Errors
    /// [`Error::Row`] with what [`Row::check`] says; [`Error::NegativeVariance`], [`Error::Overflow`].
    ///
    /// ```
    /// use vi_core::{Explicit, GaussianBelief, GaussianLikelihood, LowRankGaussian, LowRankSettings, Row};
    /// use vi_linalg::faer::Par;
    /// let mut belief = LowRankGaussian::isotropic(&[0.0; 100_000], 1.0, LowRankSettings::blocked(4)?)?;
    /// // One measurement of θ₁₇ + θ₄₀₀ with noise of variance 1 leaves them correlated.
    /// belief.step(&Explicit(GaussianLikelihood::new(1.0)?), (&[17, 400], &[1.0, 1.0]), 3.0, Par::Seq)?;
    /// let scores = belief.scores(&[(&[17], &[1.0]).into(), (&[400], &[1.0]).into()])?;
    /// assert!((scores.covariance(0, 1) + 1.0 / 3.0).abs() < 1e-15 && (scores.means()[0] - 1.0).abs() < 1e-15);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    fn scores(&self, rows: &[Row<'_>]) -> Result<Scores, Error>;

    /// The squared distance `vᵀΛv` under the precision `Λ = P⁻¹`, for `v` of length `d`.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NotPositiveDefinite`].
    fn quadratic_form(&self, v: &[f64]) -> Result<f64, Error>;

    /// `log det P`, natural logarithm.
    ///
    /// # Errors
    /// As [`draw_deviation`](Self::draw_deviation).
    fn log_det(&self) -> Result<f64, Error>;

    /// The same belief with a dense covariance: `d²` numbers, and `2d³/3` flops unless it is diagonal or dense already.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    fn to_dense(&self) -> Result<DenseGaussian, Error>;
}

/// Checks the length of `theta` and fills it with standard normal numbers.
fn fill_standard<R: Rng + ?Sized>(d: usize, theta: &mut [f64], rng: &mut R) -> Result<(), Error> {
    check::length("theta", d, theta.len())?;
    for z in theta {
        *z = StandardNormal.sample(rng);
    }
    Ok(())
}

impl GaussianBelief for DenseGaussian {
    /// The draw is `Lz`. For many draws factor once, and take [`draw_with`](DenseGaussian::draw_with).
    fn draw_deviation<R: Rng + ?Sized>(&self, deviation: &mut [f64], rng: &mut R) -> Result<(), Error> {
        fill_standard(self.dim(), deviation, rng)?;
        let shift = self.cholesky()?.unwhiten(MatRef::from_column_major_slice(deviation, deviation.len(), 1))?;
        deviation.iter_mut().zip(shift.col(0).iter()).for_each(|(to, shift)| *to = *shift);
        Ok(())
    }

    fn scores(&self, rows: &[Row<'_>]) -> Result<Scores, Error> {
        scores::dense(self, rows)
    }

    fn quadratic_form(&self, v: &[f64]) -> Result<f64, Error> {
        check::length("v", self.dim(), v.len())?;
        Ok(self.cholesky()?.quadratic_form_inverse(v)?)
    }

    fn log_det(&self) -> Result<f64, Error> {
        Ok(self.cholesky()?.log_det())
    }

    fn to_dense(&self) -> Result<DenseGaussian, Error> {
        Ok(self.clone())
    }
}

impl GaussianBelief for SquareRootGaussian {
    /// The draw is `L⁻ᵀz`.
    fn draw_deviation<R: Rng + ?Sized>(&self, deviation: &mut [f64], rng: &mut R) -> Result<(), Error> {
        fill_standard(self.dim(), deviation, rng)?;
        self.solve_upper(deviation);
        Ok(())
    }

    /// `‖Lᵀv‖²`.
    fn scores(&self, rows: &[Row<'_>]) -> Result<Scores, Error> {
        scores::square_root(self, rows)
    }

    fn quadratic_form(&self, v: &[f64]) -> Result<f64, Error> {
        check::length("v", self.dim(), v.len())?;
        let root = self.root();
        let form = |j: usize| (j..v.len()).map(|i| root[(i, j)] * v[i]).sum::<f64>().powi(2);
        Ok((0..v.len()).map(form).sum())
    }

    /// `−2 Σ log L_jj`.
    fn log_det(&self) -> Result<f64, Error> {
        Ok(-cholesky::log_det(self.root()))
    }

    fn to_dense(&self) -> Result<DenseGaussian, Error> {
        Ok(DenseGaussian::from_parts(self.mean().to_vec(), self.covariance_lower()))
    }
}

impl GaussianBelief for DiagonalGaussian {
    fn draw_deviation<R: Rng + ?Sized>(&self, deviation: &mut [f64], rng: &mut R) -> Result<(), Error> {
        fill_standard(self.dim(), deviation, rng)?;
        deviation.iter_mut().zip(self.precisions()).for_each(|(z, precision)| *z /= precision.sqrt());
        Ok(())
    }

    fn scores(&self, rows: &[Row<'_>]) -> Result<Scores, Error> {
        scores::diagonal(self, rows)
    }

    fn quadratic_form(&self, v: &[f64]) -> Result<f64, Error> {
        check::length("v", self.dim(), v.len())?;
        Ok(dot(&self.precisions(), &v.iter().map(|v| v * v).collect::<Vec<_>>()))
    }

    fn log_det(&self) -> Result<f64, Error> {
        Ok(-self.precisions().iter().map(|precision| precision.ln()).sum::<f64>())
    }

    fn to_dense(&self) -> Result<DenseGaussian, Error> {
        let (d, variances) = (self.dim(), self.variances());
        let covariance = Mat::from_fn(d, d, |i, j| if i == j { variances[i] } else { 0.0 });
        Ok(DenseGaussian::from_parts(self.mean().to_vec(), covariance))
    }
}
