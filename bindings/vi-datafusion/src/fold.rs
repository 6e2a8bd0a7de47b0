//! What the engine's accumulators ask of a fold, and the three folds there are.

use std::fmt::Debug;
use std::sync::Arc;

use vi_core::{Error, check};
use vi_sums::{
    At, GlmPosterior, GlmSpec, LinearPosterior, LinearSpec, LinearSums, OnePass, PassSums, Posterior, SumsError,
};

/// A fold over rows whose state is a run of floats.
pub(crate) trait Fold: Debug + Send + Sync + Sized + 'static {
    /// What all folds of one call of a function share: its constant arguments.
    type Shared: Debug + Clone + Send + Sync + 'static;

    /// Whether rows can be taken off again.
    const RETRACTS: bool = false;

    /// Whether a number that is not finite is an error.
    fn strict(shared: &Self::Shared) -> bool;

    /// No rows of `inputs` inputs.
    fn new(shared: &Self::Shared, inputs: usize) -> Result<Self, SumsError>;

    fn inputs(&self) -> usize;

    fn add_row(&mut self, shared: &Self::Shared, x: &[f64], y: f64) -> Result<(), SumsError>;

    fn add_columns(&mut self, shared: &Self::Shared, x: &[&[f64]], y: &[f64]) -> Result<(), SumsError>;

    /// Counts rows that were left out.
    fn skip(&mut self, rows: u64);

    fn retract_row(&mut self, _x: &[f64], _y: f64) -> Result<(), SumsError> {
        Err(Error::Unsupported { operation: "taking off a row", belief: "one-pass" }.into())
    }

    fn unskip(&mut self) -> Result<(), SumsError> {
        Err(Error::Unsupported { operation: "taking off a row", belief: "one-pass" }.into())
    }

    /// Appends the flat form.
    fn write_state(&self, shared: &Self::Shared, out: &mut Vec<f64>) -> Result<(), SumsError>;

    /// Adds a flat form.
    fn merge_state(&mut self, shared: &Self::Shared, flat: &[f64]) -> Result<(), SumsError>;

    /// The record that the query gets.
    fn finish(&self, shared: &Self::Shared) -> Result<Vec<u8>, SumsError>;

    /// Bytes in memory, about.
    fn size(inputs: usize) -> usize;
}

impl Fold for LinearSums {
    type Shared = LinearSpec;

    const RETRACTS: bool = true;

    fn strict(shared: &LinearSpec) -> bool {
        shared.strict
    }

    fn new(_shared: &LinearSpec, inputs: usize) -> Result<Self, SumsError> {
        LinearSums::new(inputs)
    }

    fn inputs(&self) -> usize {
        self.inputs()
    }

    fn add_row(&mut self, _shared: &LinearSpec, x: &[f64], y: f64) -> Result<(), SumsError> {
        self.update(x, y)
    }

    fn add_columns(&mut self, _shared: &LinearSpec, x: &[&[f64]], y: &[f64]) -> Result<(), SumsError> {
        self.update_columns(x, y)
    }

    fn skip(&mut self, rows: u64) {
        LinearSums::skip(self, rows);
    }

    fn retract_row(&mut self, x: &[f64], y: f64) -> Result<(), SumsError> {
        self.retract(x, y)
    }

    fn unskip(&mut self) -> Result<(), SumsError> {
        LinearSums::unskip(self)
    }

    fn write_state(&self, _shared: &LinearSpec, out: &mut Vec<f64>) -> Result<(), SumsError> {
        out.extend_from_slice(self.flat());
        Ok(())
    }

    fn merge_state(&mut self, _shared: &LinearSpec, flat: &[f64]) -> Result<(), SumsError> {
        self.merge_flat(flat)
    }

    fn finish(&self, shared: &LinearSpec) -> Result<Vec<u8>, SumsError> {
        Posterior::from(LinearPosterior::of(shared.prior, self.clone())?).encode()
    }

    fn size(inputs: usize) -> usize {
        size_of::<f64>() * LinearSums::flat_len(inputs) + size_of::<Self>()
    }
}

/// One pass, and what other passes have added.
#[derive(Debug)]
pub(crate) struct GlmFold {
    pass: OnePass,
    merged: Option<GlmPosterior>,
}

impl GlmFold {
    fn posterior(&self) -> Result<GlmPosterior, SumsError> {
        let mut own = self.pass.posterior()?;
        if let Some(merged) = &self.merged {
            own.merge(merged)?;
        }
        Ok(own)
    }
}

impl Fold for GlmFold {
    type Shared = GlmSpec;

    fn strict(shared: &GlmSpec) -> bool {
        shared.strict
    }

    fn new(shared: &GlmSpec, inputs: usize) -> Result<Self, SumsError> {
        Ok(Self { pass: OnePass::new(shared.family, shared.prior, inputs)?, merged: None })
    }

    fn inputs(&self) -> usize {
        self.pass.inputs()
    }

    fn add_row(&mut self, _shared: &GlmSpec, x: &[f64], y: f64) -> Result<(), SumsError> {
        self.pass.update(x, y)
    }

    fn add_columns(&mut self, _shared: &GlmSpec, x: &[&[f64]], y: &[f64]) -> Result<(), SumsError> {
        let mut row = Vec::with_capacity(x.len());
        for (t, y) in y.iter().enumerate() {
            row.clear();
            row.extend(x.iter().map(|column| column[t]));
            self.pass.update(&row, *y)?;
        }
        Ok(())
    }

    fn skip(&mut self, rows: u64) {
        self.pass.skip(rows);
    }

    fn write_state(&self, _shared: &GlmSpec, out: &mut Vec<f64>) -> Result<(), SumsError> {
        out.extend_from_slice(self.posterior()?.flat());
        Ok(())
    }

    fn merge_state(&mut self, shared: &GlmSpec, flat: &[f64]) -> Result<(), SumsError> {
        let more = GlmPosterior::from_flat(shared.family, shared.prior, self.pass.inputs(), flat)?;
        match &mut self.merged {
            Some(merged) => merged.merge(&more)?,
            none => *none = Some(more),
        }
        Ok(())
    }

    fn finish(&self, _shared: &GlmSpec) -> Result<Vec<u8>, SumsError> {
        Posterior::from(self.posterior()?).encode()
    }

    fn size(inputs: usize) -> usize {
        // A covariance and the memory of a step.
        size_of::<f64>() * (inputs + 1) * (inputs + 4) + 2 * size_of::<Self>()
    }
}

/// The statistics of a pass over rows of so many inputs.
#[derive(Debug)]
pub(crate) struct PassFold {
    inputs: usize,
    sums: PassSums,
}

impl Fold for PassFold {
    type Shared = Arc<At>;

    fn strict(_shared: &Arc<At>) -> bool {
        false
    }

    fn new(shared: &Arc<At>, inputs: usize) -> Result<Self, SumsError> {
        check::length("columns of x", shared.inputs(), inputs)?;
        Ok(Self { inputs, sums: PassSums::new(shared) })
    }

    fn inputs(&self) -> usize {
        self.inputs
    }

    fn add_row(&mut self, shared: &Arc<At>, x: &[f64], y: f64) -> Result<(), SumsError> {
        let columns: Vec<&[f64]> = x.iter().map(std::slice::from_ref).collect();
        self.sums.update_columns(shared, &columns, &[y])
    }

    fn add_columns(&mut self, shared: &Arc<At>, x: &[&[f64]], y: &[f64]) -> Result<(), SumsError> {
        self.sums.update_columns(shared, x, y)
    }

    fn skip(&mut self, rows: u64) {
        self.sums.skip(rows);
    }

    fn write_state(&self, _shared: &Arc<At>, out: &mut Vec<f64>) -> Result<(), SumsError> {
        out.extend_from_slice(self.sums.flat());
        Ok(())
    }

    fn merge_state(&mut self, _shared: &Arc<At>, flat: &[f64]) -> Result<(), SumsError> {
        self.sums.merge(&PassSums::from_flat(self.sums.parameters(), flat)?)
    }

    fn finish(&self, _shared: &Arc<At>) -> Result<Vec<u8>, SumsError> {
        self.sums.encode()
    }

    fn size(inputs: usize) -> usize {
        size_of::<f64>() * (inputs + 2) * (inputs + 4) / 2 + size_of::<Self>()
    }
}
