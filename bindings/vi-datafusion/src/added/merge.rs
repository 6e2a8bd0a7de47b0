//! `vi_merge(posterior)`: posteriors of parts, added.

use datafusion_common::arrow::array::{ArrayRef, AsArray};
use datafusion_common::arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::Accumulator;
use datafusion_expr::function::AccumulatorArgs;
use vi_sums::Posterior;

use super::Adding;
use crate::error::told;
use crate::slot::check_record;
use crate::{SqlError, types};

const NAME: &str = "vi_merge";

/// The aggregate; a null is no posterior.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Merge;

impl Adding for Merge {
    const NAME: &'static str = NAME;

    const DISTINCT: &'static str = "adds every posterior: with DISTINCT two months alike would be one";

    type Sum = Sum;

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>> {
        match found {
            [posterior] => Ok(vec![types::record(NAME, "the argument", posterior)?]),
            _ => Err(SqlError::Refused { function: NAME, what: "takes one posterior" }.into()),
        }
    }

    fn begin(_args: &AccumulatorArgs<'_>) -> Result<Sum> {
        Ok(Sum::default())
    }
}

/// The sum of the posteriors so far.
#[derive(Debug, Default)]
pub(crate) struct Sum {
    sum: Option<Posterior>,
    bytes: usize,
}

impl Accumulator for Sum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let records = values[0].as_binary_view();
        for bytes in records.iter().flatten() {
            let more = Posterior::decode(bytes).map_err(told(NAME))?;
            check_record(&more, bytes.len())?;
            match &mut self.sum {
                Some(sum) => sum.merge(&more).map_err(told(NAME))?,
                none => (*none, self.bytes) = (Some(more), bytes.len()),
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let record = self.sum.as_ref().map(Posterior::encode).transpose().map_err(told(NAME))?;
        Ok(ScalarValue::BinaryView(record))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.bytes
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
