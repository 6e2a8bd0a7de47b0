//! The aggregates over rows: `vi_linear`, `vi_glm`, `vi_pass`.

mod groups;
mod model;
mod names;
mod single;

pub(crate) use model::{Glm, Linear, Model, Pass};
pub(crate) use names::call;

use std::marker::PhantomData;
use std::sync::Arc;

use datafusion_common::arrow::array::RecordBatch;
use datafusion_common::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::expr::{AggregateFunction, AggregateFunctionParams, WindowFunctionParams};
use datafusion_expr::function::{AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs};
use datafusion_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion_expr::{Accumulator, AggregateUDFImpl, ColumnarValue, Expr, GroupsAccumulator, Signature, Volatility};

use crate::caught::{Caught, caught};
use crate::columns::Columns;
use crate::fold::Fold;
use crate::{SqlError, types};
use groups::Groups;
use single::Single;

/// An aggregate over rows `(y, x…)`, some with a constant argument before them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Rowwise<M> {
    signature: Signature,
    model: PhantomData<M>,
}

impl<M: Model> Rowwise<M> {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable), model: PhantomData }
    }

    /// The constant argument and the fields of features, as the engine has planned them.
    fn begin(args: &AccumulatorArgs<'_>) -> Result<Begun<M>> {
        if args.is_distinct {
            return Err(distinct(M::NAME));
        }
        let types: Vec<DataType> = args.expr_fields.iter().map(|field| field.data_type().clone()).collect();
        let head = M::head(&types);
        let constant = if head == 1 {
            let none = RecordBatch::new_empty(Arc::new(args.schema.clone()));
            match args.exprs[0].evaluate(&none)? {
                ColumnarValue::Scalar(value) => Some(value),
                ColumnarValue::Array(_) => return Err(not_constant(M::NAME)),
            }
        } else {
            None
        };
        Ok(Begun {
            shared: M::shared(constant.as_ref())?,
            inputs: types::inputs(types.get(head + 1..).unwrap_or_default()),
            head,
        })
    }

    /// The accumulator that starts from this, behind what names columns and takes panics.
    fn guarded<A>(args: &AccumulatorArgs<'_>, new: impl FnOnce(Begun<M>) -> A) -> Result<Caught<A>> {
        caught(M::NAME, || {
            let begun = Self::begin(args)?;
            let columns = Columns::of(args.expr_fields.get(begun.head..).unwrap_or_default());
            Ok(Caught::new(M::NAME, columns, new(begun)))
        })
    }
}

/// What all accumulators of one call start from.
pub(crate) struct Begun<M: Model> {
    pub(crate) shared: <M::Fold as Fold>::Shared,
    pub(crate) inputs: Option<usize>,
    pub(crate) head: usize,
}

fn distinct(function: &'static str) -> datafusion_common::DataFusionError {
    SqlError::Refused { function, what: "takes every row: DISTINCT would make it a model of other data" }.into()
}

pub(crate) fn not_constant(function: &'static str) -> datafusion_common::DataFusionError {
    SqlError::Argument {
        function,
        argument: "the first argument".to_owned(),
        found: "a value of each row".to_owned(),
        expected: "a constant",
    }
    .into()
}

impl<M: Model> AggregateUDFImpl for Rowwise<M> {
    fn name(&self) -> &str {
        M::NAME
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        Ok(names::aggregate(M::NAME, params))
    }

    fn display_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        Ok(names::aggregate(M::NAME, params))
    }

    fn human_display(&self, params: &AggregateFunctionParams) -> Result<String> {
        Ok(names::aggregate(M::NAME, params))
    }

    fn window_function_schema_name(&self, params: &WindowFunctionParams) -> Result<String> {
        Ok(names::window(M::NAME, params))
    }

    fn window_function_display_name(&self, params: &WindowFunctionParams) -> Result<String> {
        Ok(names::window(M::NAME, params))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, found: &[DataType]) -> Result<Vec<DataType>> {
        caught(M::NAME, || {
            let head = M::head(found);
            let mut out = found.iter().take(head).map(M::coerce_head).collect::<Result<Vec<_>>>()?;
            out.extend(types::rows(M::NAME, found.get(head..).unwrap_or_default())?);
            if let Some(inputs) = types::inputs(&out[head + 1..]) {
                crate::slot::check_size(inputs, M::Fold::size(inputs))?;
            }
            Ok(out)
        })
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::BinaryView)
    }

    /// Here the engine tells the names of columns.
    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        let types: Vec<DataType> = fields.iter().map(|field| field.data_type().clone()).collect();
        types::check_rows(M::NAME, fields.get(M::head(&types)..).unwrap_or_default())?;
        Ok(Arc::new(Field::new(M::NAME, DataType::BinaryView, true)))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if args.is_distinct {
            return Err(distinct(M::NAME));
        }
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "sums"), types::floats(), true))])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Self::guarded(&args, Single::<M>::new)?))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Self::guarded(&args, Groups::<M>::new)?))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    /// Does not simplify; only validates constants at planning time.
    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        Some(Box::new(|function: AggregateFunction, _| {
            if function.params.distinct {
                return Err(distinct(M::NAME));
            }
            if let Some(Expr::Literal(value, _)) = function.params.args.first() {
                // A number is a label.
                if M::head(&[value.data_type()]) == 1 {
                    let shared = M::shared(Some(value))?;
                    M::check_columns(&shared, &function.params.args[1..])?;
                }
            }
            Ok(Expr::AggregateFunction(function))
        }))
    }

    fn default_value(&self, _type: &DataType) -> Result<ScalarValue> {
        Ok(ScalarValue::BinaryView(None))
    }
}
