//! The aggregates over records: `vi_merge`, `vi_pool`.

mod merge;
mod pool;

pub(crate) use merge::Merge;
pub(crate) use pool::Pooling;

use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion_expr::function::{AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs};
use datafusion_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion_expr::{Accumulator, AggregateUDFImpl, Expr, Signature, Volatility};

use crate::SqlError;
use crate::caught::{Caught, caught};
use crate::columns::Columns;

/// An aggregate over records, whose state is one record.
pub(crate) trait Adding: Debug + Clone + PartialEq + Eq + Hash + Send + Sync + 'static {
    const NAME: &'static str;

    /// Why equal records are not one.
    const DISTINCT: &'static str;

    type Sum: Accumulator + 'static;

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>>;

    /// Checks constants while the query is planned.
    fn check(_arguments: &[Expr]) -> Result<()> {
        Ok(())
    }

    fn begin(args: &AccumulatorArgs<'_>) -> Result<Self::Sum>;
}

/// An [`Adding`] as the engine knows it; no record at all gives null.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Added<A> {
    signature: Signature,
    adding: PhantomData<A>,
}

impl<A: Adding> Added<A> {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable), adding: PhantomData }
    }
}

fn distinct<A: Adding>() -> datafusion_common::DataFusionError {
    SqlError::Refused { function: A::NAME, what: A::DISTINCT }.into()
}

impl<A: Adding> AggregateUDFImpl for Added<A> {
    fn name(&self) -> &str {
        A::NAME
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        Ok(crate::aggregate::call(A::NAME, params.distinct, &params.args))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, found: &[DataType]) -> Result<Vec<DataType>> {
        A::coerce(found)
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::BinaryView)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "posterior"), DataType::BinaryView, true))])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return Err(distinct::<A>());
        }
        let sum = caught(A::NAME, || A::begin(&args))?;
        Ok(Box::new(Caught::new(A::NAME, Columns::default(), sum)))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    /// Does not simplify; only validates constants at planning time.
    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        Some(Box::new(|function: AggregateFunction, _| {
            if function.params.distinct {
                return Err(distinct::<A>());
            }
            A::check(&function.params.args)?;
            Ok(Expr::AggregateFunction(function))
        }))
    }
}
