//! Newton's step from the statistics of a pass, for a search that handles only records and numbers.

use vi_core::Error;
use vi_core::batch::{InformationGaussian, Reached};

use super::{At, GlmPosterior, PassSums};
use crate::SumsError;

/// The result of a Newton step from the statistics of a pass: the new posterior, and the bound at the old place.
///
/// ```
/// use vi_sums::{At, Family, GlmPrior, PassSums, Posterior};
/// let (x, y) = ([0.2, -1.3, 2.1, -0.4], [1.0, 0.0, 1.0, 0.0]);
/// let prior = GlmPrior::default();
/// let mut at = At::belief(Family::Logistic, prior, &prior.belief(1)?)?;
/// let mut sizes = Vec::new();
/// for _ in 0..50 {
///     let mut sums = PassSums::new(&at);
///     sums.update_columns(&at, &[&x], &y)?;
///     let told = sums.newton(&at, 1.0)?.expect("small numbers");
///     at = At::decode(&Posterior::from(told.posterior).encode()?)?;
///     sizes.push(told.size);
/// }
/// assert!(sizes[0] > 0.1 && sizes[49] < 1e-9);
/// # Ok::<(), vi_sums::SumsError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Newton {
    /// The posterior after the share of the step that was asked for.
    pub posterior: GlmPosterior,
    /// The bound on the log evidence at the place of the pass (the Gaussian at which its statistics were taken), in nats.
    pub bound: f64,
    /// The length of the full step: of the mean in standard deviations, or of the precision in units of itself, whichever is larger.
    pub size: f64,
}

impl PassSums {
    /// Takes the share `0 < ρ ≤ 1` of Newton's step from the place of these statistics: mixes its natural parameters with those
    /// of the [factors](Self::factors).
    ///
    /// If the bound is lower than before, the previous step was too long; `None`, for statistics that are not finite, means the
    /// same. The search then takes half of that step from the previous place; it ends when `size` is small enough. Cost some
    /// `3d³`.
    ///
    /// # Errors
    /// [`Error::Setting`] for another share, [`Error::Dimension`], [`SumsError::OtherPlace`], [`Error::NotPositiveDefinite`].
    pub fn newton(&self, at: &At, share: f64) -> Result<Option<Newton>, SumsError> {
        if !(share > 0.0 && share <= 1.0) {
            let requirement = "above 0 and at most 1";
            return Err(Error::Setting { name: "share", value: share, requirement }.into());
        }
        let statistics = self.statistics(at)?;
        if self.flat().iter().any(|sum| !sum.is_finite()) {
            return Ok(None);
        }
        let start = InformationGaussian::of(&at.prior.belief(at.inputs())?)?;
        let Reached { bound, step: size, .. } = match Reached::at(&start, &at.q, &statistics) {
            Err(Error::Overflow { .. }) => return Ok(None),
            reached => reached?,
        };
        let mut posterior = self.factors(at)?;
        if share < 1.0 {
            posterior = posterior.mixed(share, &GlmPosterior::of_place(at, bound, self)?)?;
        }
        Ok(Some(Newton { posterior, bound, size }))
    }
}

impl GlmPosterior {
    /// The place of a pass as a posterior of its rows, whose evidence is the bound there.
    fn of_place(at: &At, bound: f64, sums: &PassSums) -> Result<Self, SumsError> {
        Self::of_belief(at.family, at.prior, &at.q.to_belief(), bound, (sums.rows(), sums.skipped()))
    }

    /// A mixture of `ρ` of these sums and `1 − ρ` of the others, which are of the same rows.
    fn mixed(&self, share: f64, other: &Self) -> Result<Self, SumsError> {
        let mix = |(own, other): (&f64, &f64)| share * own + (1.0 - share) * other;
        let mut flat: Vec<f64> = self.flat().iter().zip(other.flat()).map(mix).collect();
        flat[..3].copy_from_slice(&self.flat()[..3]);
        Self::from_flat(self.family(), *self.prior(), self.inputs(), &flat)
    }
}
