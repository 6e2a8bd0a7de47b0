//! A Gaussian with a diagonal covariance, for dense and sparse rows.

use vi_linalg::faer::Mat;

use super::{Belief, DenseGaussian, Projection};
use crate::divergence::finite;
use crate::error::{check_finite, check_len, check_positive};
use crate::filter::StepInfo;
use crate::{Error, Site, SiteRule, SparseRow};

/// Partial sums of a projection; entry `i` goes to sum `i mod LANES`, so that a sparse row adds the same terms in the
/// same order as the dense one.
const LANES: usize = 8;

/// The belief `θ ~ N(μ, P)` with diagonal `P`, kept as its precisions `1/Pᵢ`: `O(d)` memory and work per observation.
///
/// ```text
/// a = xᵀμ,  ν = Σ xᵢ²Pᵢ;   μᵢ ← μᵢ + e·xᵢPᵢ,   1/Pᵢ ← 1/Pᵢ + h·xᵢ²
/// ```
///
/// The precision of a site's exact update is diagonal plus `h·xxᵀ`; this belief keeps the diagonal of it (the low-rank
/// belief of no factors). Rows of one nonzero lose nothing.
///
/// ```
/// use vi_core::{Belief, BernoulliLogit, DiagonalGaussian, Implicit, Mixture8, SparseRow};
/// let mut belief = DiagonalGaussian::isotropic(&[0.0; 5], 2.0)?;
/// let row = SparseRow::new(5, &[1, 4], &[1.0, -2.0])?;
/// belief.step_sparse(&Implicit(BernoulliLogit(Mixture8)), row, 1.0)?;
/// assert!(belief.mean()[1] > 0.0 && belief.mean()[4] < 0.0 && belief.mean()[0] == 0.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DiagonalGaussian {
    mean: Vec<f64>,
    precisions: Vec<f64>,
}

impl DiagonalGaussian {
    /// The belief `N(mean, diag(variances))`, both of length `d`; variances in squared units of `θ`.
    ///
    /// # Errors
    /// [`Error::Empty`] for `d = 0`, [`Error::Dimension`], [`Error::NonFinite`], [`Error::NotPositiveDefinite`] with the
    /// index of a variance that is not positive or has no finite inverse.
    pub fn new(mean: &[f64], variances: &[f64]) -> Result<Self, Error> {
        if mean.is_empty() {
            return Err(Error::Empty { argument: "mean" });
        }
        check_finite("mean", mean)?;
        check_len("variances", mean.len(), variances.len())?;
        check_finite("variances", variances)?;
        let precisions = variances.iter().map(|variance| 1.0 / variance).collect();
        Self::checked(mean.to_vec(), precisions, "variances")
    }

    /// The belief `N(mean, diag(1/precisions))`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn from_precisions(mean: Vec<f64>, precisions: Vec<f64>) -> Result<Self, Error> {
        if mean.is_empty() {
            return Err(Error::Empty { argument: "mean" });
        }
        check_finite("mean", &mean)?;
        check_len("precisions", mean.len(), precisions.len())?;
        Self::checked(mean, precisions, "precisions")
    }

    fn checked(mean: Vec<f64>, precisions: Vec<f64>, argument: &'static str) -> Result<Self, Error> {
        match precisions.iter().position(|precision| !(*precision > 0.0 && precision.is_finite())) {
            None => Ok(Self { mean, precisions }),
            Some(pivot) => Err(Error::NotPositiveDefinite { argument, pivot }),
        }
    }

    /// The belief `N(mean, σ₀²·I)`; `sigma0` is a standard deviation, in units of `θ`.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::NonFinite`], or [`Error::Setting`] unless `σ₀ > 0` and `σ₀²` and its inverse are finite.
    pub fn isotropic(mean: &[f64], sigma0: f64) -> Result<Self, Error> {
        check_positive("sigma0", sigma0)?;
        check_positive("sigma0²", sigma0 * sigma0)?;
        check_positive("1/sigma0²", 1.0 / (sigma0 * sigma0))?;
        Self::new(mean, &vec![sigma0 * sigma0; mean.len()])
    }

    /// The precisions `1/Pᵢ`, length `d`.
    #[must_use]
    pub fn precisions(&self) -> &[f64] {
        &self.precisions
    }

    /// The variances `Pᵢ`, length `d` (a new vector).
    #[must_use]
    pub fn variances(&self) -> Vec<f64> {
        self.precisions.iter().map(|precision| 1.0 / precision).collect()
    }

    /// `log det P`, natural logarithm. Cost `d` logarithms.
    #[must_use]
    pub fn log_determinant(&self) -> f64 {
        -self.precisions.iter().map(|precision| precision.ln()).sum::<f64>()
    }

    /// The same belief with a dense covariance: `d²` numbers.
    #[must_use]
    pub fn to_dense(&self) -> DenseGaussian {
        let d = self.mean.len();
        let covariance = Mat::from_fn(d, d, |i, j| if i == j { 1.0 / self.precisions[i] } else { 0.0 });
        DenseGaussian::from_parts(self.mean.clone(), covariance)
    }

    /// One observation with a sparse row: [`filter::step`](crate::filter::step) at a cost of the row's entries, without scratch.
    ///
    /// The posterior and the [`StepInfo`] equal those of the same row written out with zeros, exactly.
    ///
    /// # Errors
    /// [`Error::Dimension`] for a row of another length, [`Error::Label`], [`Error::NegativeVariance`],
    /// [`Error::ImproperSite`], [`Error::NotPositiveDefinite`], [`Error::Overflow`]; the belief is then as it was, to the bit.
    pub fn step_sparse<R: SiteRule>(&mut self, rule: &R, row: SparseRow<'_>, y: f64) -> Result<StepInfo, Error> {
        check_len("row", self.mean.len(), row.dim())?;
        rule.check_label(y)?;
        let (mut means, mut variances) = ([0.0; LANES], [0.0; LANES]);
        for (i, x) in row.entries() {
            means[i % LANES] += x * self.mean[i];
            variances[i % LANES] += x * (x / self.precisions[i]);
        }
        let projection = Projection::new(sum(means), sum(variances), 0.0)?;
        let site = rule.site(projection.mean, projection.variance, y)?;
        site.check(projection.variance)?;
        let gain = site.gain(projection.variance);
        self.check_entries(row.entries().map(|(i, x)| (i, x, gain * (x / self.precisions[i]))), site)?;
        for (i, x) in row.entries() {
            self.mean[i] += gain * (x / self.precisions[i]);
            self.precisions[i] += site.curvature * (x * x);
        }
        Ok(StepInfo { projection, site })
    }

    /// Checks that every new precision is a positive number, which an overflow or rounding at a strongly negative curvature
    /// would end, and every new mean a finite one; an entry is `(i, xᵢ, e·xᵢPᵢ)`.
    fn check_entries(&self, entries: impl Iterator<Item = (usize, f64, f64)>, site: Site) -> Result<(), Error> {
        for (i, x, change) in entries {
            let precision = self.precisions[i] + site.curvature * (x * x);
            if !(precision > 0.0 && precision.is_finite()) {
                return Err(Error::NotPositiveDefinite { argument: "precisions", pivot: i });
            }
            finite("μ + e·Px", self.mean[i] + change)?;
        }
        Ok(())
    }
}

impl Belief for DiagonalGaussian {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Cost `5d` flops.
    fn project(&self, x: &[f64], gain: &mut [f64]) -> Projection {
        let (mut means, mut variances) = ([0.0; LANES], [0.0; LANES]);
        let chunks = x.chunks(LANES).zip(gain.chunks_mut(LANES));
        for ((x, gain), (mean, precisions)) in chunks.zip(self.mean.chunks(LANES).zip(self.precisions.chunks(LANES))) {
            for k in 0..x.len() {
                gain[k] = x[k] / precisions[k];
                means[k] += x[k] * mean[k];
                variances[k] += x[k] * gain[k];
            }
        }
        Projection { mean: sum(means), variance: sum(variances) }
    }

    /// Cost `10d` flops, half of them to check.
    fn absorb(&mut self, x: &[f64], projection: Projection, site: Site, gain: &mut [f64]) -> Result<(), Error> {
        site.check(projection.variance)?;
        let e = site.gain(projection.variance);
        let entries = x.iter().zip(&*gain).enumerate();
        self.check_entries(entries.map(|(i, (&x, gain))| (i, x, e * gain)), site)?;
        for i in 0..x.len() {
            self.mean[i] += e * gain[i];
            self.precisions[i] += site.curvature * (x[i] * x[i]);
        }
        Ok(())
    }
}

fn sum(lanes: [f64; LANES]) -> f64 {
    lanes.iter().sum()
}
