//! A fold that begins with its first row, and its state as it travels between partitions.

use datafusion_common::Result;
use vi_sums::Posterior;

use crate::error::told;
use crate::fold::Fold;
use crate::rows::Rows;
use crate::types::{LARGEST, LARGEST_POOL};
use crate::{SqlError, fold};

/// Version of the state; a state is it, the number of inputs (0 while unknown), the flat form of the fold (skipped rows while unknown).
const VERSION: f64 = 2.0;
/// What stands before the flat form.
const HEAD: usize = 2;

/// A fold, or the number of incomplete rows that came before the first complete one.
#[derive(Debug)]
pub(crate) enum Slot<F> {
    Waiting(u64),
    Begun(F),
}

impl<F> Default for Slot<F> {
    fn default() -> Self {
        Self::Waiting(0)
    }
}

impl<F: Fold> Slot<F> {
    /// The fold, begun with `inputs` inputs where it has not.
    fn begun(&mut self, function: &'static str, shared: &F::Shared, inputs: usize) -> Result<&mut F> {
        if let Self::Waiting(skipped) = *self {
            let mut fold = F::new(shared, inputs).map_err(told(function))?;
            fold.skip(skipped);
            *self = Self::Begun(fold);
        }
        match self {
            Self::Begun(fold) => Ok(fold),
            Self::Waiting(_) => datafusion_common::internal_err!("a fold that has begun is waiting"),
        }
    }

    /// Whether rows have come.
    pub(crate) fn is_begun(&self) -> bool {
        matches!(self, Self::Begun(_))
    }

    pub(crate) fn skip(&mut self, rows: u64) {
        match self {
            Self::Waiting(skipped) => *skipped += rows,
            Self::Begun(fold) => fold.skip(rows),
        }
    }

    pub(crate) fn unskip(&mut self, function: &'static str) -> Result<()> {
        match self {
            Self::Waiting(skipped) => *skipped = skipped.saturating_sub(1),
            Self::Begun(fold) => fold.unskip().map_err(told(function))?,
        }
        Ok(())
    }

    pub(crate) fn add_row(&mut self, function: &'static str, shared: &F::Shared, x: &[f64], y: f64) -> Result<()> {
        self.begun(function, shared, x.len())?.add_row(shared, x, y).map_err(told(function))
    }

    pub(crate) fn add_columns(
        &mut self,
        function: &'static str,
        shared: &F::Shared,
        x: &[&[f64]],
        y: &[f64],
    ) -> Result<()> {
        self.begun(function, shared, x.len())?.add_columns(shared, x, y).map_err(told(function))
    }

    pub(crate) fn add(&mut self, function: &'static str, shared: &F::Shared, rows: &Rows<'_>) -> Result<()> {
        if !rows.y.is_empty() {
            self.add_columns(function, shared, &rows.columns(), &rows.y)?;
        }
        self.skip(rows.skipped.len() as u64);
        Ok(())
    }

    pub(crate) fn retract(&mut self, function: &'static str, rows: &Rows<'_>) -> Result<()> {
        let mut row = Vec::new();
        for (t, y) in rows.y.iter().enumerate() {
            rows.write(t, &mut row);
            if let Self::Begun(fold) = self {
                fold.retract_row(&row, *y).map_err(told(function))?;
            }
        }
        rows.skipped.iter().try_for_each(|_| self.unskip(function))
    }

    /// Appends the state.
    pub(crate) fn write(&self, function: &'static str, shared: &F::Shared, out: &mut Vec<f64>) -> Result<()> {
        out.push(VERSION);
        match self {
            Self::Waiting(skipped) => out.extend([0.0, *skipped as f64]),
            Self::Begun(fold) => {
                out.push(fold.inputs() as f64);
                check_size(fold.inputs(), F::size(fold.inputs()))?;
                fold.write_state(shared, out).map_err(told(function))?;
            }
        }
        Ok(())
    }

    /// Adds a state.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a saturating cast; the fold checks the number"
    )]
    pub(crate) fn merge(&mut self, function: &'static str, shared: &F::Shared, state: &[f64]) -> Result<()> {
        let [version, inputs, flat @ ..] = state else {
            return Err(SqlError::State { function, found: f64::NAN, supported: VERSION }.into());
        };
        if *version != VERSION {
            return Err(SqlError::State { function, found: *version, supported: VERSION }.into());
        }
        if *inputs == 0.0 {
            self.skip(flat.first().map_or(0, |skipped| *skipped as u64));
            return Ok(());
        }
        let inputs = *inputs as usize;
        let fold = self.begun(function, shared, inputs)?;
        if fold.inputs() != inputs {
            return Err(SqlError::Length { function, expected: fold.inputs(), found: inputs }.into());
        }
        fold.merge_state(shared, flat).map_err(told(function))
    }

    /// The record; none where neither rows nor `inputs` tell its dimension.
    pub(crate) fn finish(
        &self,
        function: &'static str,
        shared: &F::Shared,
        inputs: Option<usize>,
    ) -> Result<Option<Vec<u8>>> {
        let of = |fold: &F| {
            check_size(fold.inputs(), F::size(fold.inputs()))?;
            fold.finish(shared).map(Some).map_err(told(function))
        };
        match (self, inputs) {
            (Self::Begun(fold), _) => of(fold),
            (Self::Waiting(_), None) => Ok(None),
            (Self::Waiting(skipped), Some(inputs)) => {
                let mut prior = F::new(shared, inputs).map_err(told(function))?;
                prior.skip(*skipped);
                of(&prior)
            }
        }
    }
}

/// Refuses what no query carries.
pub(crate) fn check_size(inputs: usize, bytes: usize) -> Result<()> {
    if bytes > LARGEST {
        return Err(SqlError::TooLarge { inputs, bytes, limit: LARGEST }.into());
    }
    Ok(())
}

/// As [`check_size`] for the sums of many groups.
pub(crate) fn check_pool(inputs: usize, bytes: usize) -> Result<()> {
    if bytes > LARGEST_POOL {
        return Err(SqlError::TooLarge { inputs, bytes, limit: LARGEST_POOL }.into());
    }
    Ok(())
}

/// [`check_size`] or [`check_pool`], as the posterior asks for.
pub(crate) fn check_record(posterior: &Posterior, bytes: usize) -> Result<()> {
    match posterior {
        Posterior::Pool(_) => check_pool(posterior.inputs(), bytes),
        _ => check_size(posterior.inputs(), bytes),
    }
}

/// Numbers in the state of a fold that has begun.
pub(crate) fn state_len<F: fold::Fold>(inputs: usize) -> usize {
    HEAD + F::size(inputs) / size_of::<f64>()
}
