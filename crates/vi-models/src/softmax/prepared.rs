//! The state of a row of a softmax regression between being prepared and being learned.

use vi_core::{Belief, DenseGaussian, Error, Row, VectorStep};
use vi_linalg::faer::Par;

use super::Softmax;
use super::logits::Counts;
use super::step::{SoftmaxScratch, logits};

/// Memory for a row, and the step prepared in it.
#[derive(Debug, Default)]
pub(crate) struct PreparedSoftmax {
    scratch: Option<SoftmaxScratch>,
    step: Option<VectorStep>,
}

impl Softmax {
    /// Prepares the step along `x` of a class and a weight that have been checked. Returns the log predictive density, in nats.
    ///
    /// # Errors
    /// As [`step`](Softmax::step).
    pub(crate) fn prepare(
        &self,
        belief: &DenseGaussian,
        x: Row<'_>,
        (label, weight): (f64, f64),
        memory: &mut PreparedSoftmax,
    ) -> Result<f64, Error> {
        let d = belief.dim() / (self.classes - 1);
        let scratch = match &mut memory.scratch {
            Some(scratch) if scratch.row.len() == d => scratch,
            stale => stale.insert(SoftmaxScratch::new(self, d)),
        };
        scratch.row.fill(0.0);
        x.for_each(|j, value| scratch.row[j] = value);
        let counts = Counts::of_class(self.classes, label, weight);
        let logits = logits(belief, scratch, |_| 0.0)?;
        let (score, site) = self.answer(&logits, &counts)?;
        let absorbed = site.absorb(&logits)?;
        let (gains, site) = scratch.site(&absorbed);
        memory.step = Some(belief.prepare_vector(gains, site, Par::Seq)?);
        Ok(score)
    }
}

impl PreparedSoftmax {
    /// Writes the step that was prepared last.
    pub(crate) fn commit(&mut self, belief: &mut DenseGaussian) {
        if let (Some(scratch), Some(step)) = (&self.scratch, self.step.take()) {
            belief.commit_vector(scratch.gains.as_ref(), step, Par::Seq);
        }
    }
}
