//! A Gaussian kept as a square root of its precision.

use vi_linalg::faer::dyn_stack::{MemBuffer, MemStack};
use vi_linalg::faer::{Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::{axpy, dot, mirror_lower, product};
use vi_linalg::{Cholesky, cholesky};

use super::dense_step::Coefficients;
use super::{Belief, DenseGaussian, DenseStep, Projection, check_moved, check_symmetric, factor, is_diagonal};
use crate::NaturalParameters;
use crate::check;
use crate::{Error, Row, Site};

/// The largest entry of a row of the root, for which squares and their sums stay finite.
const LARGEST: f64 = 1e150;

/// The belief `θ ~ N(μ, P)` kept as `μ` and the square root of its precision, `P⁻¹ = LLᵀ`.
///
/// `L = Rᵀ` is lower triangular with a positive diagonal (`R` is the upper root of `P⁻¹ = RᵀR`; stored this way, what an update
/// changes lies in contiguous columns). Its strict upper triangle means nothing and is never read.
///
/// A positive curvature adds a column, `LLᵀ ← LLᵀ + h·xxᵀ`, by rotations that never make a diagonal entry smaller, so the
/// belief is positive definite by construction, however flat the prior and however collinear the rows. Entries of `L` are
/// of the size of inverse standard deviations: rounding acts on `√κ` where the dense form's acts on `κ`. One step costs
/// `5d²` flops in three passes over `d²/2` numbers.
///
/// ```
/// use vi_core::{filter, Belief, Explicit, GaussianLikelihood, SquareRootGaussian};
/// let mut belief = SquareRootGaussian::isotropic(&[0.0, 0.0], 1e6)?;
/// let kalman = Explicit(GaussianLikelihood::new(1.0)?);
/// let mut scratch = filter::Scratch::default();
/// for (x, y) in [([1.0, 1.0], 3.0), ([1.0, -1.0], 1.0)] {
///     filter::step(&mut belief, &kalman, &x, y, &mut scratch)?;
/// }
/// assert!((belief.mean()[0] - 2.0).abs() < 1e-9 && (belief.covariance()[(0, 0)] - 0.5).abs() < 1e-9);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SquareRootGaussian {
    mean: Vec<f64>,
    /// Lower triangle only.
    root: Mat<f64>,
}

impl SquareRootGaussian {
    /// The belief `N(mean, covariance)`, `covariance` being `d × d`.
    ///
    /// With `P = UUᵀ`, `U` upper triangular, `L = U⁻ᵀ`: the precision itself is never formed. Cost `2d³/3`.
    ///
    /// # Errors
    /// [`Error::Empty`] for `d = 0`, [`Error::Dimension`], [`Error::NonFinite`], [`Error::NotSymmetric`],
    /// [`Error::NotPositiveDefinite`] (the pivot counts from the last row).
    pub fn new(mean: &[f64], covariance: MatRef<'_, f64>) -> Result<Self, Error> {
        check_parts(mean, "covariance", covariance)?;
        Ok(Self { mean: mean.to_vec(), root: inverse_root(covariance)? })
    }

    /// The belief `N(mean, precision⁻¹)`, `precision` being `d × d`. Cost `d³/3`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_precision(mean: &[f64], precision: MatRef<'_, f64>) -> Result<Self, Error> {
        check_parts(mean, "precision", precision)?;
        Ok(Self { mean: mean.to_vec(), root: factor("precision", precision)?.into_factor() })
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
        let d = mean.len();
        Ok(Self { mean: mean.to_vec(), root: Mat::from_fn(d, d, |i, j| if i == j { 1.0 / sigma0 } else { 0.0 }) })
    }

    /// A belief from its parts: `root` is finite and has the mean's dimension.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] for a diagonal entry that is not positive.
    pub(crate) fn from_root(mean: Vec<f64>, root: Mat<f64>) -> Result<Self, Error> {
        match (0..mean.len()).find(|&i| root[(i, i)] <= 0.0) {
            None => Ok(Self { mean, root }),
            Some(pivot) => Err(Error::NotPositiveDefinite { argument: "root", pivot }),
        }
    }

    /// The natural parameters `Λμ`, `−½Λ`, `Λ = LLᵀ`. Cost `d³/3`.
    pub(crate) fn natural(&self) -> NaturalParameters {
        let d = self.mean.len();
        let factor = &self.root;
        let lower = Mat::from_fn(d, d, |i, j| if i >= j { factor[(i, j)] } else { 0.0 });
        let precision = product(lower.as_ref(), lower.transpose(), Par::Seq);
        let first = (0..d).map(|i| (0..d).map(|j| precision[(i, j)] * self.mean[j]).sum()).collect();
        NaturalParameters { first, second: Mat::from_fn(d, d, |i, j| -0.5 * precision[(i, j)]) }
    }

    /// The belief with these natural parameters. Cost `d³/3`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`], [`Error::NonFinite`].
    pub(crate) fn from_natural(natural: &NaturalParameters) -> Result<Self, Error> {
        let d = natural.first.len();
        let precision = Mat::from_fn(d, d, |i, j| -2.0 * natural.second[(i, j)]);
        let cholesky = factor("precision", precision.as_ref())?;
        let mut mean = natural.first.clone();
        cholesky.solve_vec_in_place(&mut mean)?;
        check::finite("mean", &mean)?;
        Ok(Self { mean, root: cholesky.into_factor() })
    }

    /// The square-root form of a dense belief. Cost `2d³/3`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] if rounding has destroyed the dense covariance.
    pub fn from_dense(belief: &DenseGaussian) -> Result<Self, Error> {
        // The lower triangle that the dense belief keeps is the upper triangle of its transpose.
        let root = inverse_root(Mat::as_ref(&belief.covariance_lower()).transpose())?;
        Ok(Self { mean: belief.mean().to_vec(), root })
    }

    /// The covariance `P = L⁻ᵀL⁻¹`, full and symmetric, for output. Cost `2d³/3`.
    #[must_use]
    pub fn covariance(&self) -> Mat<f64> {
        let mut full = self.covariance_lower();
        mirror_lower(full.as_mut());
        full
    }

    pub(super) fn covariance_lower(&self) -> Mat<f64> {
        let d = self.mean.len();
        let mut lower = Mat::zeros(d, d);
        let mut memory = MemBuffer::new(cholesky::inverse_scratch(d, Par::Seq));
        cholesky::inverse(lower.as_mut(), self.root.as_ref(), Par::Seq, MemStack::new(&mut memory));
        lower
    }

    /// The root `L` of the precision, `P⁻¹ = LLᵀ`: the lower triangle of its storage.
    #[must_use]
    pub fn root(&self) -> MatRef<'_, f64> {
        self.root.as_ref()
    }

    /// `x ← L⁻ᵀx`.
    pub(super) fn solve_upper(&self, x: &mut [f64]) {
        solve_upper(self.root.as_ref(), x);
    }

    pub(crate) fn parts_mut(&mut self) -> (&mut Vec<f64>, &mut Mat<f64>) {
        (&mut self.mean, &mut self.root)
    }
}

impl Belief for SquareRootGaussian {
    type Step = DenseStep;

    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// `z = L⁻¹x`, `ν = zᵀz`, which cannot be negative, `Px = L⁻ᵀz`. Cost `2d²` flops.
    fn project(&self, x: Row<'_>, fade: f64, step: &mut DenseStep) -> Result<Projection, Error> {
        let (row, gain) = step.begin(x, self.dim(), fade);
        gain.copy_from_slice(row);
        solve_lower(self.root.as_ref(), gain);
        let variance = dot(gain, gain);
        solve_upper(self.root.as_ref(), gain);
        let mean = dot(row, &self.mean);
        step.seen(x, mean, variance)
    }

    fn prepare(&self, x: Row<'_>, site: Site, step: &mut DenseStep) -> Result<(), Error> {
        site.check(step.projection.variance)?;
        let mut largest = 0.0;
        x.for_each(|_, x| largest = f64::max(largest, x.abs()));
        root_scale(site, step.projection, largest)?;
        if step.fade < 1.0 {
            check_fade(self.root.as_ref(), step.fade)?;
        }
        step.site = site;
        check_moved(&self.mean, step.coefficients().shift, &step.gain)
    }

    /// `L ← √λ·L`, `μ ← μ + e·Px`, then `LLᵀ ← LLᵀ + h·xxᵀ`. Cost `3d²` flops, `4d²` for `h < 0`.
    fn commit(&mut self, x: Row<'_>, step: &mut DenseStep) {
        let (fade, curvature) = (step.fade, step.site.curvature);
        let remainder = 1.0 + curvature * step.projection.variance;
        let (row, gain, Coefficients { shift, .. }) = step.parts(x);
        axpy(&mut self.mean, shift, gain);
        if fade < 1.0 {
            fade_root(self.root.as_mut(), fade);
        }
        let scale = curvature.abs().sqrt();
        for (to, x) in gain.iter_mut().zip(row) {
            *to = scale * x;
        }
        if curvature >= 0.0 {
            let updated = cholesky::rank_one_update_in_place(self.root.as_mut(), gain);
            debug_assert!(updated.is_ok(), "the scaled row has been checked: {updated:?}");
        } else {
            // After the downdate 1 + hν remains, which the site's check found positive.
            solve_lower(self.root.as_ref(), gain);
            cholesky::downdate_whitened_in_place(self.root.as_mut(), gain, remainder);
        }
    }
}

/// Checks that the covariance with root `√λ·L` has finite variances.
///
/// # Errors
/// [`Error::NonFinite`].
pub(crate) fn check_fade(root: MatRef<'_, f64>, lambda: f64) -> Result<(), Error> {
    for index in 0..root.nrows() {
        let faded = root[(index, index)] * lambda.sqrt();
        if faded * faded == 0.0 {
            return Err(Error::NonFinite { argument: "variance", index, value: f64::INFINITY });
        }
    }
    Ok(())
}

/// `L ← √λ·L`.
pub(crate) fn fade_root(root: MatMut<'_, f64>, lambda: f64) {
    let (mut root, scale) = (root, lambda.sqrt());
    for j in 0..root.ncols() {
        let below = root.nrows() - j;
        root.as_mut().col_mut(j).subrows_mut(j, below).iter_mut().for_each(|value| *value *= scale);
    }
}

/// The scale `√|h|` of a row with the given largest entry.
///
/// # Errors
/// [`Error::ImproperSite`] when the scaled row would overflow the root.
pub(super) fn root_scale(site: Site, projection: Projection, largest: f64) -> Result<f64, Error> {
    let scale = site.curvature.abs().sqrt();
    if scale * largest <= LARGEST {
        Ok(scale)
    } else {
        let Site { slope, curvature } = site;
        Err(Error::ImproperSite { slope, curvature, variance: projection.variance })
    }
}

/// `z ← L⁻¹z`.
fn solve_lower(root: MatRef<'_, f64>, z: &mut [f64]) {
    let d = z.len();
    cholesky::solve_lower_in_place(root, MatMut::from_column_major_slice_mut(z, d, 1), Par::Seq);
}

/// `z ← L⁻ᵀz`.
pub(super) fn solve_upper(root: MatRef<'_, f64>, z: &mut [f64]) {
    let d = z.len();
    cholesky::solve_upper_in_place(root, MatMut::from_column_major_slice_mut(z, d, 1), Par::Seq);
}

/// `L = U⁻ᵀ` for `P = UUᵀ`, from the upper triangle of `P`: both reversed, `U` is a lower Cholesky factor.
fn inverse_root(upper: MatRef<'_, f64>) -> Result<Mat<f64>, Error> {
    let d = upper.nrows();
    if is_diagonal(upper.transpose()) {
        let root = |i: usize| upper[(i, i)].sqrt().recip();
        return checked_root(Mat::from_fn(d, d, |i, j| if i == j { root(i) } else { 0.0 }));
    }
    let reversed: Cholesky = factor("covariance", upper.reverse_rows_and_cols())?;
    let mut inverse = Mat::<f64>::identity(d, d);
    cholesky::solve_lower_in_place(reversed.factor(), inverse.as_mut(), Par::Seq);
    let root = Mat::from_fn(d, d, |i, j| if i >= j { inverse[(d - 1 - j, d - 1 - i)] } else { 0.0 });
    checked_root(root)
}

/// A root whose diagonal entries are positive and finite.
///
/// # Errors
/// [`Error::NotPositiveDefinite`], the pivot counted from the last row.
fn checked_root(root: Mat<f64>) -> Result<Mat<f64>, Error> {
    match (0..root.nrows()).rev().find(|&j| !(root[(j, j)] > 0.0 && root[(j, j)].is_finite())) {
        None => Ok(root),
        Some(j) => Err(Error::NotPositiveDefinite { argument: "covariance", pivot: root.nrows() - 1 - j }),
    }
}

fn check_parts(mean: &[f64], argument: &'static str, matrix: MatRef<'_, f64>) -> Result<(), Error> {
    if mean.is_empty() {
        return Err(Error::Empty { argument: "mean" });
    }
    check::finite("mean", mean)?;
    check::length(argument, mean.len(), matrix.nrows())?;
    check::length(argument, mean.len(), matrix.ncols())?;
    check_symmetric(argument, matrix)
}
