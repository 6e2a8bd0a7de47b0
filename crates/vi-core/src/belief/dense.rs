//! A Gaussian with a dense covariance.

use std::borrow::Cow;

use vi_linalg::faer::{Mat, MatRef};
use vi_linalg::kernels::{axpy, dot, mirror_lower, symmetric_mul_vec, symmetric_rank_one, symmetric_scaled_rank_one};
use vi_linalg::{Cholesky, LinalgError};

use super::dense_step::Coefficients;
use super::dense_step::Outcome;
use super::digits::{Digits, Strain, least_share};
use super::waiting::Waiting;
use super::{Belief, DenseStep, Projection, check_moved};
use crate::check;
use crate::{Error, Row, Site};

/// By how many roundings of `P`'s entries the variance along a row must exceed 0 after its update; with fewer than 4, updates
/// were seen to leave an indefinite matrix.
const ROUNDINGS: f64 = 16.0;

/// The share of its variance that each coordinate must have given all others for the belief to fade: digits that fading loses
/// below it cannot be restored by any row.
const ROOM_TO_FADE: f64 = 1e-12;

/// The belief `θ ~ N(μ, P)` with a dense covariance `P ∈ ℝᵈˣᵈ`.
///
/// `P` is stored in the **lower triangle** of a column-major matrix; the strict upper triangle is never read,
/// and [`covariance`](Self::covariance) mirrors it for output. An update costs `2d²` flops for `Px` and
/// `d²` for the rank-one change, each one pass over `d²/2` numbers. From 48 dimensions on, changes wait and are written some
/// `d/8` at a time, by one product of matrices; every answer counts what waits.
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
    /// Lower triangle only, without what waits.
    covariance: Mat<f64>,
    waiting: Waiting,
    /// How often the covariance was written.
    written: u64,
    digits: Digits,
}

impl DenseGaussian {
    /// The belief `N(mean, covariance)`; the lower triangle of `covariance` (`d × d`) is copied.
    ///
    /// Cost `4d³/3` for the check and the numbers that later checks use.
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
        let mut belief = Self::from_parts(mean.to_vec(), lower);
        belief.digits = Digits::of_factor(&belief.cholesky()?);
        Ok(belief)
    }

    /// The belief `N(mean, Λ⁻¹)`, `factor` being the Cholesky factor of the precision `Λ` (`d × d`).
    ///
    /// Cost `2d³/3`: nothing is factored again.
    ///
    /// # Errors
    /// [`Error::Empty`] for `d = 0`, [`Error::Dimension`], [`Error::NonFinite`] for the mean, [`Error::Overflow`] for a variance that
    /// floats do not hold.
    ///
    /// ```
    /// use vi_core::{Belief, DenseGaussian};
    /// use vi_linalg::{Cholesky, faer::mat};
    /// let precision = Cholesky::new(mat![[4.0, 0.0], [0.0, 0.25]].as_ref())?;
    /// let belief = DenseGaussian::from_precision_factor(&[1.0, 2.0], &precision)?;
    /// assert_eq!(belief.predict(&[2.0, 1.0])?.variance, 5.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_precision_factor(mean: &[f64], factor: &Cholesky) -> Result<Self, Error> {
        check::not_empty("mean", mean.len())?;
        check::finite("mean", mean)?;
        check::length("factor of the precision", mean.len(), factor.dim())?;
        let (root, covariance) = (factor.factor(), factor.inverse());
        check::results("variance", (0..mean.len()).map(|i| covariance[(i, i)]))?;
        let mut precisions = vec![0.0; mean.len()];
        for j in 0..mean.len() {
            (j..mean.len()).for_each(|i| precisions[i] += root[(i, j)] * root[(i, j)]);
        }
        let digits = Digits::of_inverse(precisions, |i| covariance[(i, i)]);
        Ok(Self { digits, ..Self::from_parts(mean.to_vec(), covariance) })
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
        let digits = Digits::of_isotropic(mean.len(), (sigma0 * sigma0).recip());
        Ok(Self { digits, ..Self::from_parts(mean.to_vec(), covariance) })
    }

    /// A belief from valid parts: `lower` holds a positive definite lower triangle. Its first step factors the covariance.
    pub(crate) fn from_parts(mean: Vec<f64>, lower: Mat<f64>) -> Self {
        Self { mean, covariance: lower, waiting: Waiting::default(), written: 0, digits: Digits::default() }
    }

    /// The covariance `P`, full and symmetric (a copy).
    #[must_use]
    pub fn covariance(&self) -> Mat<f64> {
        let mut full = self.covariance_lower().into_owned();
        mirror_lower(full.as_mut());
        full
    }

    /// A matrix whose lower triangle is that of `P`, while its strict upper triangle has no meaning: the storage, or where changes
    /// wait to be written a copy with them, at a cost of up to `d³/8` flops.
    #[must_use]
    pub fn covariance_lower(&self) -> Cow<'_, Mat<f64>> {
        if self.waiting.len() == 0 {
            return Cow::Borrowed(&self.covariance);
        }
        let mut written = self.covariance.clone();
        self.waiting.clone().write(&mut written);
        Cow::Owned(written)
    }

    /// The variance of coordinate `i`.
    pub(crate) fn variance(&self, i: usize) -> f64 {
        self.waiting.variance(i).unwrap_or_else(|| self.covariance[(i, i)])
    }

    /// Writes all changes that wait.
    fn settle(&mut self) {
        self.waiting.write(&mut self.covariance);
        self.written += 1;
    }

    /// The covariance without what waits, and what waits.
    pub(crate) fn stored(&self) -> (MatRef<'_, f64>, impl Iterator<Item = f64> + '_) {
        (self.covariance.as_ref(), self.waiting.stored())
    }

    /// The belief whose parts [`stored`](Self::stored) gave; `None` for changes that cannot wait.
    pub(crate) fn from_stored(mean: Vec<f64>, lower: Mat<f64>, waiting: &[f64]) -> Option<Self> {
        let waiting = Waiting::of_stored(mean.len(), waiting)?;
        Some(Self { waiting, ..Self::from_parts(mean, lower) })
    }

    /// The Cholesky factorisation of `P`. Cost `d³/3`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] if rounding has destroyed `P`.
    pub fn cholesky(&self) -> Result<Cholesky, Error> {
        factor("covariance", Mat::as_ref(&self.covariance_lower()))
    }

    /// The mean and the storage, for changes; the next step then factors the covariance.
    pub(crate) fn parts_mut(&mut self) -> (&mut Vec<f64>, &mut Mat<f64>) {
        self.settle();
        self.digits = Digits::default();
        (&mut self.mean, &mut self.covariance)
    }

    /// The mean and the storage, of which only the meaningless upper triangle may be changed.
    pub(super) fn storage_mut(&mut self) -> (&[f64], &mut Mat<f64>) {
        self.settle();
        (&self.mean, &mut self.covariance)
    }

    pub(crate) fn digits(&self) -> &Digits {
        &self.digits
    }

    /// Records the digits of a covariance that has just been changed.
    pub(crate) fn set_digits(&mut self, digits: Digits) {
        self.digits = digits;
    }

    /// The digits of the covariance that `write` makes of a copy, found by factoring it. Cost `4d³/3` and a copy.
    ///
    /// # Errors
    /// [`Error::Unresolved`] if that covariance has no Cholesky factor, or a coordinate's variance given the others is less than
    /// the share `room` of its variance.
    pub(super) fn look(&self, factor: f64, room: f64, write: impl FnOnce(&mut Self)) -> Result<Digits, Error> {
        let mut next = self.clone();
        write(&mut next);
        match next.cholesky() {
            Ok(root) if room == 0.0 || least_share(|i| next.variance(i), &root) >= room => Ok(Digits::of_factor(&root)),
            _ => Err(Error::Unresolved { factor }),
        }
    }

    /// Writes `μ ← μ + shift·Px`, `P ← (P − loss·(Px)(Px)ᵀ)/λ`; the latter may wait.
    fn write(&mut self, fade: f64, gain: &mut [f64], Coefficients { shift, loss }: Coefficients) {
        axpy(&mut self.mean, shift, gain);
        if Waiting::most(gain.len()) > 1 {
            let covariance = &self.covariance;
            if self.waiting.push(gain, loss, fade, |i| covariance[(i, i)]) {
                self.settle();
            }
        } else if fade < 1.0 {
            symmetric_scaled_rank_one(self.covariance.as_mut(), 1.0 / fade, -loss, gain);
        } else {
            symmetric_rank_one(self.covariance.as_mut(), -loss, gain);
        }
    }
}

impl Belief for DenseGaussian {
    type Step = DenseStep;

    /// From 48 dimensions on: one pass over the covariance for four rows, `2d²` flops for each.
    fn look_ahead(&self, rows: &[Row<'_>], step: &mut DenseStep) {
        let most = Waiting::most(self.dim()) - self.waiting.len();
        step.ahead.fill(rows, self.covariance.as_ref(), self.written, most);
    }

    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Cost `2d²` flops.
    fn project(&self, x: Row<'_>, fade: f64, step: &mut DenseStep) -> Result<Projection, Error> {
        let ready = step.ahead.take(self.written, &mut step.gain);
        let (row, gain) = step.begin(x, self.dim(), fade);
        if !ready {
            symmetric_mul_vec(gain, self.covariance.as_ref(), row);
        }
        self.waiting.take_from(gain, row);
        let (mean, variance) = (dot(row, &self.mean), dot(row, gain));
        step.seen(x, mean, variance)
    }

    /// Refuses, at a cost of `15d` flops, an update after which a variance would not be positive or a number not finite, one that
    /// leaves less variance along `x` than the rounding of `P`'s entries, and one that leaves `P` without a Cholesky factor. If
    /// the bound on all roundings since the last factorisation does not settle that, the covariance is factored, at `4d³/3`; this
    /// is rare unless few digits are left.
    fn prepare(&self, x: Row<'_>, site: Site, step: &mut DenseStep) -> Result<(), Error> {
        let variance = step.projection.variance;
        site.check(variance)?;
        step.site = site;
        let (fade, factor) = (step.fade, 1.0 + site.curvature * variance);
        self.check_resolution(x, variance * fade, factor)?;
        let (row, gain, coefficients) = step.parts(x);
        let (h, loss) = (site.curvature, coefficients.loss);
        let (condition, entries) = self.strain_sums(fade, |i| loss * gain[i] * gain[i], |i| h * row[i] * row[i])?;
        // `Px` is off by ε√(Pᵢᵢ·Σxⱼ²Pⱼⱼ), and counts twice.
        let of_gain = 2.0 * (h.abs() * variance * entries).sqrt() / factor;
        // Products with a covariance to which changes wait round as its entries do, which are up to four times as large.
        let entries_round = if Waiting::most(self.dim()) > 1 { 4.0 } else { 1.0 };
        let roundings = entries_round * (3.0 + of_gain);
        let strain = Strain { condition, roundings, growth: factor.recip().max(1.0) };
        check_moved(&self.mean, coefficients.shift, gain)?;
        let room = if fade < 1.0 { ROOM_TO_FADE } else { 0.0 };
        step.outcome = match self.digits.after(strain, room) {
            Some(error) => Outcome::Followed(error),
            None => Outcome::Looked(self.look(factor, room, |next| next.write(fade, gain, coefficients))?),
        };
        Ok(())
    }

    /// One pass over the triangle. Cost `d²` flops.
    fn commit(&mut self, x: Row<'_>, step: &mut DenseStep) {
        let (fade, curvature) = (step.fade, step.site.curvature);
        let outcome = std::mem::take(&mut step.outcome);
        let (row, gain, coefficients) = step.parts(x);
        self.write(fade, gain, coefficients);
        match outcome {
            Outcome::Followed(error) => self.digits.follow(fade, error, |i| curvature * row[i] * row[i]),
            Outcome::Looked(digits) => self.digits = digits,
        }
    }
}

impl DenseGaussian {
    /// `(Σ (Pᵢᵢ + |lostᵢ|)·Λᵢᵢ, Σ |addedᵢ|·Pᵢᵢ)` of a change that takes `lost` from the diagonal of `P`, divides it by `λ` and
    /// adds `added` to that of `λΛ`, with `P` before and `Λ` after the change. Also checks that each variance stays positive and
    /// finite.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`], [`Error::Overflow`].
    pub(super) fn strain_sums(
        &self,
        fade: f64,
        lost: impl Fn(usize) -> f64,
        added: impl Fn(usize) -> f64,
    ) -> Result<(f64, f64), Error> {
        let (mut condition, mut entries) = (0.0, 0.0);
        for i in 0..self.dim() {
            let (variance, lost, added) = (self.variance(i), lost(i), added(i));
            check_variance(i, variance - lost, fade)?;
            condition += (variance + lost.abs()) * (fade * self.digits.precision(i) + added);
            entries += added.abs() * variance;
        }
        Ok((condition / fade, entries / fade))
    }

    /// Checks that what a site leaves of `ν = xᵀPx`, `ν/factor`, exceeds what the rounding of `P`'s entries does to it: each is known
    /// to `ε√(PᵢᵢPⱼⱼ)`, which along `x` comes to about `ε·Σxᵢ²Pᵢᵢ`.
    ///
    /// # Errors
    /// [`Error::Unresolved`].
    fn check_resolution(&self, x: Row<'_>, variance: f64, factor: f64) -> Result<(), Error> {
        // A site this weak leaves the variance nearly unchanged.
        if factor <= 2.0 {
            return Ok(());
        }
        let mut entries = 0.0;
        x.for_each(|i, x| entries += x * x * self.variance(i));
        if variance / factor > ROUNDINGS * f64::EPSILON * entries { Ok(()) } else { Err(Error::Unresolved { factor }) }
    }

    /// The digits after a change that adds `added` to the diagonal of `Λ`: from a bound or, where that does not settle it, by
    /// factoring the covariance.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub(super) fn digits_after(
        &self,
        strain: Strain,
        factor: f64,
        added: &[f64],
        write: impl FnOnce(&mut Self),
    ) -> Result<Digits, Error> {
        let Some(error) = self.digits.after(strain, 0.0) else { return self.look(factor, 0.0, write) };
        let mut digits = self.digits.clone();
        digits.follow(1.0, error, |i| added[i]);
        Ok(digits)
    }
}

/// Checks that the variance `left/fade` is positive and finite; if all of a diagonal are, every entry of the matrix is finite.
///
/// # Errors
/// [`Error::NotPositiveDefinite`], [`Error::Overflow`].
fn check_variance(pivot: usize, left: f64, fade: f64) -> Result<(), Error> {
    if left <= 0.0 {
        return Err(Error::NotPositiveDefinite { argument: "covariance after the update", pivot });
    }
    check::result("variance after the update", left / fade).map(drop)
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

/// Whether nothing but zeros is below the diagonal.
pub(crate) fn is_diagonal(lower: MatRef<'_, f64>) -> bool {
    (0..lower.ncols()).all(|j| match lower.col(j).try_as_col_major() {
        // Counted, which unlike a search is done in vectors.
        Some(column) => column.as_slice()[j + 1..].iter().filter(|entry| **entry != 0.0).count() == 0,
        None => (j + 1..lower.nrows()).all(|i| lower[(i, j)] == 0.0),
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
