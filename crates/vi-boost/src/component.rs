//! One Gaussian of a mixture: full, diagonal, or diagonal plus low rank.

mod diagonal;
mod full;
mod low_rank;
mod raw;

pub(crate) use diagonal::Diagonal;
pub(crate) use full::Full;
pub(crate) use low_rank::LowRank;
pub(crate) use raw::{Raw, parameters};

pub(crate) use vi_core::special::HALF_LN_2PI;
use vi_core::{Belief, DenseGaussian, check};
use vi_linalg::faer::{Mat, MatRef};

use crate::BoostError;
use crate::block::Block;

/// How a component's covariance is kept, and what a search may change of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// Any covariance, `d(d+1)/2` numbers.
    #[default]
    Full,
    /// Independent coordinates, `d` numbers.
    Diagonal,
    /// `diag(σ²) + VVᵀ` with `V` of `d × rank`, `d(1 + rank)` numbers.
    LowRank {
        /// Columns of `V`, at least 1.
        rank: usize,
    },
}

impl Family {
    /// The number of standard normal variates for one draw in `d` dimensions.
    pub(crate) fn latent_dim(self, d: usize) -> usize {
        match self {
            Self::Full | Self::Diagonal => d,
            Self::LowRank { rank } => d.saturating_add(rank),
        }
    }

    /// Checks that a rank is at least 1.
    pub(crate) fn check(self) -> Result<(), BoostError> {
        match self {
            Self::Full | Self::Diagonal => Ok(()),
            Self::LowRank { rank } => Ok(check::count("rank", rank)?),
        }
    }
}

/// The operations on each form of covariance, for points by columns. `Σ` is the covariance, `μ` the mean.
pub(crate) trait Spread {
    /// The number of standard normal variates for one draw.
    fn latent_dim(&self) -> usize;

    /// `log |Σ|`.
    fn log_det(&self) -> f64;

    /// `Σ`, full.
    fn covariance(&self) -> Mat<f64>;

    /// `Σ⁻¹`, full.
    fn precision(&self) -> Mat<f64>;

    /// `x ← μ + A·z` for each row of `z`, with `AAᵀ = Σ`.
    fn map(&self, mean: &[f64], z: &Block, x: &mut Block);

    /// `log ← −½(θ−μ)ᵀΣ⁻¹(θ−μ)` for each row `θ` of `x`; if `solve`, also `s ← Σ⁻¹(θ−μ)` (otherwise `s` is scratch).
    fn evaluate(&self, mean: &[f64], x: &Block, log: &mut [f64], s: &mut Block, solve: bool);

    /// Adds to `out` the derivative of `Σ_i g_iᵀθ_i` by the spread's numbers, where `θ_i = μ + A·z_i`.
    fn pull_sample(&self, z: &Block, g: &Block, out: &mut Mat<f64>);

    /// Adds to `out` the derivative of `Σ_i ρ_i·log N(θ_i)` by the spread's numbers, where `s_i = Σ⁻¹(θ_i−μ)`.
    fn pull_density(&self, s: &Block, rho: &[f64], out: &mut Mat<f64>);

    /// A derivative of zeros.
    fn zero_gradient(&self) -> Mat<f64>;
}

#[derive(Debug, Clone)]
pub(crate) enum Scale {
    Full(Full),
    Diagonal(Diagonal),
    LowRank(LowRank),
}

/// A Gaussian `N(μ, Σ)` in `d` dimensions.
///
/// | kind | covariance | memory | log-density of a point |
/// |---|---|---|---|
/// | [`full`](Self::full) | `Σ = LLᵀ` | `d²` | `d²` flops |
/// | [`diagonal`](Self::diagonal) | `Σ = diag(σ²)` | `d` | `3d` |
/// | [`low_rank`](Self::low_rank) | `Σ = diag(σ²) + VVᵀ`, `V` of `d × r` | `dr` | `2dr` |
///
/// ```
/// use vi_boost::{Component, GaussianMixture};
/// use vi_linalg::faer::mat;
/// let component = Component::low_rank(&[0.0, 1.0], &[1.0, 1.0], mat![[2.0], [0.0]].as_ref())?;
/// assert_eq!(component.covariance(), mat![[5.0, 0.0], [0.0, 1.0]]);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Component {
    pub(crate) mean: Vec<f64>,
    pub(crate) scale: Scale,
}

impl Component {
    /// The Gaussian `N(mean, covariance)` as a full component; only the lower triangle of `covariance` (`d × d`) is read. Cost
    /// `d³/3`.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Empty`, `NonFinite`, `Dimension`, or `Linalg` (not positive definite).
    pub fn full(mean: &[f64], covariance: MatRef<'_, f64>) -> Result<Self, BoostError> {
        check_mean(mean)?;
        Ok(Self { mean: mean.to_vec(), scale: Scale::Full(Full::new(mean.len(), covariance)?) })
    }

    /// The Gaussian `N(mean, diag(variances))` as a diagonal component.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Empty`, `NonFinite`, `Dimension`, or `Entry` (not positive).
    pub fn diagonal(mean: &[f64], variances: &[f64]) -> Result<Self, BoostError> {
        check_mean(mean)?;
        Ok(Self { mean: mean.to_vec(), scale: Scale::Diagonal(Diagonal::new(mean.len(), variances)?) })
    }

    /// The Gaussian `N(mean, diag(variances) + VVᵀ)` as a low-rank component, with the factor `V` of `d × r`, `r` from 1 to `d`
    /// or 4096. Cost `dr²`.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Empty`, `NonFinite`, `Dimension`, `Entry` (a variance is not positive), `Setting` (the rank), or
    /// `Linalg`.
    pub fn low_rank(mean: &[f64], variances: &[f64], factor: MatRef<'_, f64>) -> Result<Self, BoostError> {
        check_mean(mean)?;
        Ok(Self { mean: mean.to_vec(), scale: Scale::LowRank(LowRank::new(mean.len(), variances, factor)?) })
    }

    /// The Gaussian `N(mean, σ²·I)` as a full component; `sigma` is a standard deviation.
    ///
    /// # Errors
    /// As [`full`](Self::full), and `Entry` unless `σ > 0` and `σ² > 0` is finite.
    pub fn isotropic(mean: &[f64], sigma: f64) -> Result<Self, BoostError> {
        crate::error::check_positive_entries("sigma", &[sigma])?;
        crate::error::check_positive_entries("sigma²", &[sigma * sigma])?;
        let d = mean.len();
        Self::full(mean, Mat::from_fn(d, d, |i, j| if i == j { sigma * sigma } else { 0.0 }).as_ref())
    }

    /// The belief as a full component. Cost `d³/3`.
    ///
    /// # Errors
    /// As [`full`](Self::full).
    pub fn of_belief(belief: &DenseGaussian) -> Result<Self, BoostError> {
        Self::full(belief.mean(), Mat::as_ref(&belief.covariance_lower()))
    }

    /// The component as a belief of `vi-core`. Cost `d³`.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `NotPositiveDefinite` when rounding has destroyed the covariance.
    pub fn to_belief(&self) -> Result<DenseGaussian, BoostError> {
        Ok(DenseGaussian::new(&self.mean, self.covariance().as_ref())?)
    }

    /// Dimension `d`.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    /// The mean `μ`.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The covariance `Σ`, full and symmetric.
    #[must_use]
    pub fn covariance(&self) -> Mat<f64> {
        self.spread().covariance()
    }

    /// The log determinant `log |Σ|` of the covariance.
    #[must_use]
    pub fn log_det(&self) -> f64 {
        self.spread().log_det()
    }

    /// How the covariance is kept.
    #[must_use]
    pub fn family(&self) -> Family {
        match &self.scale {
            Scale::Full(_) => Family::Full,
            Scale::Diagonal(_) => Family::Diagonal,
            Scale::LowRank(low_rank) => Family::LowRank { rank: low_rank.rank() },
        }
    }

    pub(crate) fn spread(&self) -> &dyn Spread {
        match &self.scale {
            Scale::Full(full) => full,
            Scale::Diagonal(diagonal) => diagonal,
            Scale::LowRank(low_rank) => low_rank,
        }
    }

    /// The number of standard normal variates for one draw.
    pub(crate) fn latent_dim(&self) -> usize {
        self.spread().latent_dim()
    }

    /// `x ← μ + A·z`.
    pub(crate) fn map(&self, z: &Block, x: &mut Block) {
        x.reshape(z.rows(), self.dim());
        self.spread().map(&self.mean, z, x);
    }

    /// `log ← log N(θ)`; if `solve`, also `s ← Σ⁻¹(θ−μ)`, minus the gradient of it.
    pub(crate) fn evaluate(&self, x: &Block, log: &mut [f64], s: &mut Block, solve: bool) {
        s.reshape(x.rows(), self.dim());
        self.spread().evaluate(&self.mean, x, log, s, solve);
        let constant = -0.5 * self.log_det() - self.dim() as f64 * HALF_LN_2PI;
        for value in log {
            *value += constant;
        }
    }

    /// The Gaussian in the form of `family`; what that cannot hold is dropped: correlations for a diagonal, all but the `rank`
    /// largest eigenvectors of the correlation for a low rank. Variances stay.
    pub(crate) fn as_family(&self, family: Family) -> Result<Self, BoostError> {
        if self.family() == family {
            return Ok(self.clone());
        }
        let covariance = self.covariance();
        match family {
            Family::Full => Self::full(&self.mean, covariance.as_ref()),
            Family::Diagonal => {
                let variances: Vec<f64> = (0..self.dim()).map(|i| covariance[(i, i)]).collect();
                Self::diagonal(&self.mean, &variances)
            }
            Family::LowRank { rank } => {
                let (variances, factor) = low_rank::split(covariance.as_ref(), rank)?;
                Self::low_rank(&self.mean, &variances, factor.as_ref())
            }
        }
    }

    /// How far the component is from `start`: the largest distance of a mean, in standard deviations of `start`, or the largest
    /// ratio of widths, whichever is larger.
    pub(crate) fn reach(&self, start: &Self) -> f64 {
        let (own, other) = (self.covariance(), start.covariance());
        (0..self.dim()).fold(0.0, |most, j| {
            let sd = other[(j, j)].sqrt();
            let (shift, stretch) = ((self.mean[j] - start.mean[j]).abs() / sd, own[(j, j)].sqrt() / sd);
            // An overflow counts as infinitely far.
            if shift.is_nan() || stretch.is_nan() { f64::INFINITY } else { shift.max(stretch).max(most) }
        })
    }

    /// The Gaussian with the same mean and `factor` times the covariance.
    pub(crate) fn widened(&self, factor: f64) -> Result<Self, BoostError> {
        let root = factor.sqrt();
        let scale = match &self.scale {
            Scale::Full(full) => Scale::Full(full.scaled(root)?),
            Scale::Diagonal(diagonal) => Scale::Diagonal(diagonal.scaled(root)?),
            Scale::LowRank(low_rank) => Scale::LowRank(low_rank.scaled(root)?),
        };
        Ok(Self { mean: self.mean.clone(), scale })
    }
}

fn check_mean(mean: &[f64]) -> Result<(), BoostError> {
    if mean.is_empty() {
        return Err(vi_core::Error::Empty { argument: "mean" }.into());
    }
    Ok(check::finite("mean", mean)?)
}
