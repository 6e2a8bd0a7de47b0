//! A Gaussian with a dense covariance.

use vi_linalg::faer::{Mat, MatRef};
use vi_linalg::kernels::{axpy, dot, mirror_lower, symmetric_mul_vec, symmetric_rank_one, symmetric_scaled_rank_one};
use vi_linalg::{Cholesky, LinalgError};

use super::dense_step::Coefficients;
use super::{Belief, DenseStep, Projection, check_moved};
use crate::check;
use crate::{Error, Row, Site};

/// Roundings of `P`'s entries that the variance along a row must exceed after its update; below 4 steps were seen to leave an
/// indefinite matrix.
const ROUNDINGS: f64 = 16.0;

/// The belief `θ ~ N(μ, P)` with a dense covariance `P ∈ ℝᵈˣᵈ`.
///
/// `P` is stored in the **lower triangle** of a column-major matrix; the strict upper triangle is never read,
/// and [`covariance`](Self::covariance) mirrors it for output. An update costs `2d²` flops for `Px` and
/// `d²` for the rank-one change, each one pass over `d²/2` numbers.
///
/// A covariance form loses digits where a vague prior meets many collinear rows: an update smaller than the rounding of `P` is
/// lost, and the variance along the row sticks near `√(ε·Σxᵢ²Pᵢᵢ/h)`. With `h = 1` and rows of order one that is 1e-5 for
/// entries of `P` near `10⁶` and 1e-2 near `10¹²`, while the covariance still looks positive definite. For priors that flat
/// take the [square-root belief](crate::SquareRootGaussian), whose rounding acts on the square roots instead.
///
/// ```
/// use vi_core::{Belief, DenseGaussian};
/// let prior = DenseGaussian::isotropic(&[0.0, 1.0], 2.0)?;
/// let seen = prior.predict(&[3.0, 1.0])?;
/// assert_eq!((seen.mean, seen.variance), (1.0, 40.0));
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DenseGaussian {
    mean: Vec<f64>,
    /// Lower triangle only.
    covariance: Mat<f64>,
}

impl DenseGaussian {
    /// The belief `N(mean, covariance)`; the lower triangle of `covariance` (`d × d`) is copied.
    ///
    /// Cost `d³/3` for the check.
    ///
    /// # Errors
    /// [`Error::Empty`] for `d = 0`, [`Error::Dimension`], [`Error::NonFinite`], [`Error::NotSymmetric`]
    /// (beyond `8·d·ε` of the largest entry), [`Error::NotPositiveDefinite`].
    pub fn new(mean: &[f64], covariance: MatRef<'_, f64>) -> Result<Self, Error> {
        let d = mean.len();
        if d == 0 {
            return Err(Error::Empty { argument: "mean" });
        }
        check::finite("mean", mean)?;
        check::length("covariance rows", d, covariance.nrows())?;
        check::length("covariance columns", d, covariance.ncols())?;
        check_symmetric("covariance", covariance)?;
        let mut lower = Mat::zeros(d, d);
        for j in 0..d {
            for i in j..d {
                lower[(i, j)] = covariance[(i, j)];
            }
        }
        let belief = Self { mean: mean.to_vec(), covariance: lower };
        belief.cholesky()?;
        Ok(belief)
    }

    /// The belief `N(mean, σ₀²·I)`; `sigma0` is a standard deviation, in units of `θ`.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::NonFinite`], or [`Error::Setting`] unless `σ₀ > 0` and `σ₀²` is finite and positive.
    pub fn isotropic(mean: &[f64], sigma0: f64) -> Result<Self, Error> {
        if mean.is_empty() {
            return Err(Error::Empty { argument: "mean" });
        }
        check::finite("mean", mean)?;
        check::positive("sigma0", sigma0)?;
        check::positive("sigma0²", sigma0 * sigma0)?;
        let covariance = Mat::from_fn(mean.len(), mean.len(), |i, j| if i == j { sigma0 * sigma0 } else { 0.0 });
        Ok(Self { mean: mean.to_vec(), covariance })
    }

    /// A belief from parts already known to be right: `lower` holds a positive definite lower triangle.
    pub(crate) fn from_parts(mean: Vec<f64>, lower: Mat<f64>) -> Self {
        Self { mean, covariance: lower }
    }

    /// The covariance `P`, full and symmetric (a copy).
    #[must_use]
    pub fn covariance(&self) -> Mat<f64> {
        let mut full = self.covariance.clone();
        mirror_lower(full.as_mut());
        full
    }

    /// The covariance's storage: its lower triangle is `P`, its strict upper triangle means nothing.
    #[must_use]
    pub fn covariance_lower(&self) -> MatRef<'_, f64> {
        self.covariance.as_ref()
    }

    /// The Cholesky factorisation of `P`. Cost `d³/3`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] when rounding has destroyed `P`.
    pub fn cholesky(&self) -> Result<Cholesky, Error> {
        factor("covariance", self.covariance.as_ref())
    }

    pub(crate) fn parts_mut(&mut self) -> (&mut Vec<f64>, &mut Mat<f64>) {
        (&mut self.mean, &mut self.covariance)
    }
}

impl Belief for DenseGaussian {
    type Step = DenseStep;

    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Cost `2d²` flops.
    fn project(&self, x: Row<'_>, fade: f64, step: &mut DenseStep) -> Result<Projection, Error> {
        let (row, gain) = step.begin(x, self.dim(), fade);
        symmetric_mul_vec(gain, self.covariance.as_ref(), row);
        let (mean, variance) = (dot(row, &self.mean), dot(row, gain));
        step.seen(x, mean, variance)
    }

    /// Refuses, at a cost of `7d` flops, an update after which a variance would not be positive or a number not finite, and one
    /// that leaves less variance along `x` than the entries of `P` round to.
    fn prepare(&self, x: Row<'_>, site: Site, step: &mut DenseStep) -> Result<(), Error> {
        site.check(step.projection.variance)?;
        step.site = site;
        let Coefficients { shift, loss } = step.coefficients();
        check_resolution(
            &self.covariance,
            x,
            step.projection.variance * step.fade,
            1.0 + site.curvature * step.projection.variance,
        )?;
        check_variances(self.covariance.as_ref(), |i| loss * step.gain[i] * step.gain[i])?;
        if step.fade < 1.0 {
            for i in 0..self.dim() {
                let left = (self.covariance[(i, i)] - loss * step.gain[i] * step.gain[i]) / step.fade;
                check::result("variance after the update", left)?;
            }
        }
        check_moved(&self.mean, shift, &step.gain)
    }

    /// One pass over the triangle. Cost `d²` flops.
    fn commit(&mut self, x: Row<'_>, step: &mut DenseStep) {
        let fade = step.fade;
        let (_, gain, Coefficients { shift, loss }) = step.parts(x);
        axpy(&mut self.mean, shift, gain);
        if fade < 1.0 {
            symmetric_scaled_rank_one(self.covariance.as_mut(), 1.0 / fade, -loss, gain);
        } else {
            symmetric_rank_one(self.covariance.as_mut(), -loss, gain);
        }
    }
}

/// Checks that what a site leaves of `ν = xᵀPx`, `ν/factor`, is more than the rounding of `P`'s entries does to it: each is known to
/// `ε√(PᵢᵢPⱼⱼ)`, which along `x` comes to about `ε·Σxᵢ²Pᵢᵢ`.
///
/// # Errors
/// [`Error::Unresolved`].
fn check_resolution(covariance: &Mat<f64>, x: Row<'_>, variance: f64, factor: f64) -> Result<(), Error> {
    // A site this weak leaves what is there.
    if factor <= 2.0 {
        return Ok(());
    }
    let mut entries = 0.0;
    x.for_each(|i, x| entries += x * x * covariance[(i, i)]);
    if variance / factor > ROUNDINGS * f64::EPSILON * entries { Ok(()) } else { Err(Error::Unresolved { factor }) }
}

/// Checks that every `P_ii − loss(i)` is positive and finite, and with it every entry of the matrix.
///
/// # Errors
/// [`Error::NotPositiveDefinite`], [`Error::Overflow`].
pub(super) fn check_variances(covariance: MatRef<'_, f64>, loss: impl Fn(usize) -> f64) -> Result<(), Error> {
    for pivot in 0..covariance.nrows() {
        let left = covariance[(pivot, pivot)] - loss(pivot);
        if left <= 0.0 {
            return Err(Error::NotPositiveDefinite { argument: "covariance after the update", pivot });
        }
        check::result("variance after the update", left)?;
    }
    Ok(())
}

/// Factors the lower triangle of `matrix`, naming it in the error.
///
/// # Errors
/// [`Error::NotPositiveDefinite`] or what the factorisation reports.
pub(crate) fn factor(argument: &'static str, matrix: MatRef<'_, f64>) -> Result<Cholesky, Error> {
    Cholesky::new(matrix).map_err(|error| match error {
        LinalgError::NotPositiveDefinite { pivot } => Error::NotPositiveDefinite { argument, pivot },
        other => Error::Linalg(other),
    })
}

/// Checks that a square matrix is finite and symmetric to rounding.
///
/// # Errors
/// [`Error::NonFinite`], [`Error::NotSymmetric`].
pub(crate) fn check_symmetric(argument: &'static str, matrix: MatRef<'_, f64>) -> Result<(), Error> {
    let d = matrix.nrows();
    let mut largest = 0.0_f64;
    for j in 0..d {
        for i in 0..d {
            let value = matrix[(i, j)];
            if !value.is_finite() {
                return Err(Error::NonFinite { argument, index: j * d + i, value });
            }
            largest = largest.max(value.abs());
        }
    }
    let tolerance = 8.0 * d as f64 * f64::EPSILON * largest;
    for column in 0..d {
        for row in column + 1..d {
            let difference = (matrix[(row, column)] - matrix[(column, row)]).abs();
            if difference > tolerance {
                return Err(Error::NotSymmetric { argument, row, column, difference });
            }
        }
    }
    Ok(())
}
