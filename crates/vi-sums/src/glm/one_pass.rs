//! One pass over the rows of a generalised linear model, for engines that fold rows.

use vi_core::filter::Scratch;
use vi_core::{Belief, DenseGaussian, check};

use super::{GlmPosterior, GlmPrior};
use crate::{Family, SumsError};

/// One-pass learning (R-VGA) as a fold over rows: each row updates a full Gaussian once, at `O(d²)`.
///
/// The order of rows matters a little, as for any one-pass filter; [`GlmPosterior::merge`] combines several passes.
///
/// ```
/// use vi_sums::{Family, GlmPrior, OnePass};
/// let mut counts = OnePass::new(Family::Poisson, GlmPrior::default(), 1)?;
/// for (x, y) in [(0.0, 1.0), (1.0, 3.0), (2.0, 7.0), (1.5, 5.0)] {
///     counts.update(&[x], y)?;
/// }
/// assert!(counts.posterior()?.belief()?.covariance()[(1, 1)] < 1.0);
/// # Ok::<(), vi_sums::SumsError>(())
/// ```
#[derive(Debug)]
pub struct OnePass {
    family: Family,
    prior: GlmPrior,
    belief: DenseGaussian,
    log_evidence: f64,
    rows: u64,
    skipped: u64,
    scratch: Scratch<DenseGaussian>,
    row: Vec<f64>,
}

impl Clone for OnePass {
    fn clone(&self) -> Self {
        Self { belief: self.belief.clone(), scratch: Scratch::default(), row: self.row.clone(), ..*self }
    }
}

impl OnePass {
    /// A fold that starts from the prior over `inputs` inputs.
    ///
    /// # Errors
    /// Those of [`GlmPrior::belief`].
    pub fn new(family: Family, prior: GlmPrior, inputs: usize) -> Result<Self, SumsError> {
        let belief = prior.belief(inputs)?;
        let mut row = vec![0.0; prior.parameters(inputs)];
        if prior.has_intercept() {
            row[0] = 1.0;
        }
        let scratch = Scratch::default();
        Ok(Self { family, prior, belief, log_evidence: 0.0, rows: 0, skipped: 0, scratch, row })
    }

    /// The number `d` of inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.row.len() - usize::from(self.prior.has_intercept())
    }

    /// Counts rows that are left out: those with a missing value.
    pub fn skip(&mut self, rows: u64) {
        self.skipped += rows;
    }

    /// Learns one row by moment matching. Cost `3d²` flops and the rule.
    ///
    /// # Errors
    /// Those of [`vi_core::filter::step`]; on an error the fold is unchanged.
    pub fn update(&mut self, x: &[f64], y: f64) -> Result<(), SumsError> {
        check::length("x", self.inputs(), x.len())?;
        let first = usize::from(self.prior.has_intercept());
        self.row[first..].copy_from_slice(x);
        self.family.check_label(y)?;
        let seen = self.belief.predict(self.row.as_slice())?;
        let score = check::result("log predictive density", self.family.log_predictive(y, seen.mean, seen.variance))?;
        self.family.step(&mut self.belief, &self.row, y, &mut self.scratch)?;
        self.log_evidence += score;
        self.rows += 1;
        Ok(())
    }

    /// The posterior: the prior and what the rows have added to it. Cost `2d³`.
    ///
    /// # Errors
    /// [`vi_core::Error::NotPositiveDefinite`], [`vi_core::Error::Overflow`].
    pub fn posterior(&self) -> Result<GlmPosterior, SumsError> {
        GlmPosterior::of_belief(self.family, self.prior, &self.belief, self.log_evidence, (self.rows, self.skipped))
    }

    /// The current belief.
    #[must_use]
    pub fn belief(&self) -> &DenseGaussian {
        &self.belief
    }
}
