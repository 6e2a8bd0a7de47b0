//! The state of a row of a softmax regression between being prepared and being learned.

use vi_core::{Belief, DenseGaussian, Error, Row, VectorStep};
use vi_linalg::faer::Par;

use super::Softmax;
use super::logits::{Counts, Logits};
use super::site::LogitSite;
use super::step::{SoftmaxScratch, logits};

/// Memory for a row, and the step prepared in it.
#[derive(Debug, Default)]
pub(crate) struct PreparedSoftmax {
    scratch: Option<SoftmaxScratch>,
    step: Option<VectorStep>,
}

impl Softmax {
    /// The log predictive density of a class at `x`, in nats; class and weight have been checked.
    ///
    /// # Errors
    /// As [`step`](Softmax::step).
    pub(crate) fn score(
        &self,
        belief: &DenseGaussian,
        x: Row<'_>,
        observed: (f64, f64),
        memory: &mut PreparedSoftmax,
    ) -> Result<f64, Error> {
        Ok(self.answered(belief, x, observed, memory.scratch_of(self, belief))?.0)
    }

    /// The same, and prepares the step along `x`.
    ///
    /// # Errors
    /// As [`step`](Softmax::step).
    pub(crate) fn prepare(
        &self,
        belief: &DenseGaussian,
        x: Row<'_>,
        observed: (f64, f64),
        memory: &mut PreparedSoftmax,
    ) -> Result<f64, Error> {
        let scratch = memory.scratch_of(self, belief);
        let (score, logits, site) = self.answered(belief, x, observed, scratch)?;
        let absorbed = site.absorb(&logits)?;
        let (gains, site) = scratch.site(&absorbed);
        memory.step = Some(belief.prepare_vector(gains, site, Par::Seq)?);
        Ok(score)
    }

    /// The log predictive density, the logits and their site.
    fn answered(
        &self,
        belief: &DenseGaussian,
        x: Row<'_>,
        (label, weight): (f64, f64),
        scratch: &mut SoftmaxScratch,
    ) -> Result<(f64, Logits, LogitSite), Error> {
        scratch.row.fill(0.0);
        x.for_each(|j, value| scratch.row[j] = value);
        let counts = Counts::of_class(self.classes, label, weight);
        let logits = logits(belief, scratch, |_| 0.0)?;
        let (score, site) = self.answer(&logits, &counts)?;
        Ok((score, logits, site))
    }
}

impl PreparedSoftmax {
    /// Memory for a row of this many classes and weights.
    fn scratch_of(&mut self, model: &Softmax, belief: &DenseGaussian) -> &mut SoftmaxScratch {
        let d = belief.dim() / (model.classes - 1);
        let kept = self.scratch.take().filter(|scratch| scratch.row.len() == d);
        self.scratch.insert(kept.unwrap_or_else(|| SoftmaxScratch::new(model, d)))
    }

    /// Writes the step that was prepared last.
    pub(crate) fn commit(&mut self, belief: &mut DenseGaussian) {
        if let (Some(scratch), Some(step)) = (&self.scratch, self.step.take()) {
            belief.commit_vector(scratch.gains.as_ref(), step, Par::Seq);
        }
    }
}
