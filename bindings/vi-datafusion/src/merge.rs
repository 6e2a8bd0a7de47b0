//! `vi_merge(posterior)`: posteriors of parts, added.

use std::sync::Arc;

use datafusion_common::arrow::array::{ArrayRef, AsArray};
use datafusion_common::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion_expr::function::{AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs};
use datafusion_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};
use vi_sums::Posterior;

use crate::caught::Caught;
use crate::columns::Columns;
use crate::error::told;
use crate::slot::check_size;
use crate::{SqlError, types};

const NAME: &str = "vi_merge";

/// The aggregate; a null is no posterior, and no posterior at all gives null.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Merge {
    signature: Signature,
}

impl Merge {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

fn distinct() -> datafusion_common::DataFusionError {
    SqlError::Refused { function: NAME, what: "adds every posterior: with DISTINCT two months alike would be one" }
        .into()
}

impl AggregateUDFImpl for Merge {
    fn name(&self) -> &str {
        NAME
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        Ok(crate::aggregate::call(NAME, params.distinct, &params.args))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, found: &[DataType]) -> Result<Vec<DataType>> {
        match found {
            [posterior] => Ok(vec![types::record(NAME, "the argument", posterior)?]),
            _ => Err(SqlError::Refused { function: NAME, what: "takes one posterior" }.into()),
        }
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::BinaryView)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "posterior"), DataType::BinaryView, true))])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return Err(distinct());
        }
        Ok(Box::new(Caught::new(NAME, Columns::default(), Sum::default())))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        Some(Box::new(|function: AggregateFunction, _| {
            if function.params.distinct {
                return Err(distinct());
            }
            Ok(datafusion_expr::Expr::AggregateFunction(function))
        }))
    }
}

/// The sum of the posteriors so far.
#[derive(Debug, Default)]
struct Sum {
    sum: Option<Posterior>,
    bytes: usize,
}

impl Accumulator for Sum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let records = values[0].as_binary_view();
        for bytes in records.iter().flatten() {
            let more = Posterior::decode(bytes).map_err(told(NAME))?;
            check_size(more.inputs(), bytes.len())?;
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
