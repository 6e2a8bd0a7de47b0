//! Newton's step from the statistics of a pass, for a search that knows records and numbers alone.

use vi_core::Error;
use vi_core::batch::{InformationGaussian, Reached};

use super::{At, GlmPosterior, PassSums};
use crate::SumsError;

/// What the statistics of a pass say of their place, and where they lead from there.
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
    /// The share of the step that was asked for, taken.
    pub posterior: GlmPosterior,
    /// The bound on the log evidence at the place of the pass, in nats.
    pub bound: f64,
    /// The length of the full step: of the mean in standard deviations, or of the precision in units of itself, whichever is larger.
    pub size: f64,
}

impl PassSums {
    /// The share `0 < ρ ≤ 1` of Newton's step from the place of these statistics: its natural parameters, mixed with those of the [factors](Self::factors).
    ///
    /// A bound that falls says that the step before went too far, and so does `None`: the statistics have left the floats. A search then takes half of that step
    /// from the place before; it ends where `size` is small enough. Cost some `3d³`.
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

    /// `ρ` of these sums and `1 − ρ` of the others, of the same rows.
    fn mixed(&self, share: f64, other: &Self) -> Result<Self, SumsError> {
        let mix = |(own, other): (&f64, &f64)| share * own + (1.0 - share) * other;
        let mut flat: Vec<f64> = self.flat().iter().zip(other.flat()).map(mix).collect();
        flat[..3].copy_from_slice(&self.flat()[..3]);
        Self::from_flat(self.family(), *self.prior(), self.inputs(), &flat)
    }
}
