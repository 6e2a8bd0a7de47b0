//! The functions of a posterior and of a pass: `vi_subtract`, `vi_factors`, `vi_newton`, `vi_predict`, `vi_predict_group`, `vi_components`, `vi_effects`, `vi_robust`, `vi_coefficients`, `vi_evidence`, `vi_sample`, `vi_describe`.

mod functions;
mod passes;
mod pooled;
mod predict;

pub(crate) use functions::{Coefficients, Describe, Evidence, Sample, Subtract};
pub(crate) use passes::{Factors, Newton};
pub(crate) use pooled::{Components, Effects, Robust};
pub(crate) use predict::Predict;

use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;

use datafusion_common::arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray};
use datafusion_common::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use vi_sums::{Posterior, Predictor, SumsError};

use crate::caught::caught;
use crate::error::told;

/// A function of the arguments of each row.
pub(crate) trait Function: Debug + Clone + PartialEq + Eq + Hash + Send + Sync + 'static {
    const NAME: &'static str;

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>>;

    /// Refuses columns by name.
    fn check(_fields: &[FieldRef]) -> Result<()> {
        Ok(())
    }

    fn returns() -> DataType;

    /// The answers to `rows` rows of arguments.
    fn invoke(arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef>;
}

/// A [`Function`] as the engine knows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Scalar<F> {
    signature: Signature,
    function: PhantomData<F>,
}

impl<F: Function> Scalar<F> {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable), function: PhantomData }
    }
}

impl<F: Function> ScalarUDFImpl for Scalar<F> {
    fn name(&self) -> &str {
        F::NAME
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(crate::aggregate::call(F::NAME, false, args))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, found: &[DataType]) -> Result<Vec<DataType>> {
        caught(F::NAME, || F::coerce(found))
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(F::returns())
    }

    /// Here the engine tells the names of columns.
    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        F::check(args.arg_fields)?;
        Ok(Arc::new(Field::new(F::NAME, F::returns(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let arrays: Vec<ArrayRef> = args.args.iter().map(|argument| argument.to_array(rows)).collect::<Result<_>>()?;
        let answers = caught(F::NAME, || F::invoke(&arrays, rows))?;
        if constant {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&answers, 0)?));
        }
        Ok(ColumnarValue::Array(answers))
    }
}

/// The bytes of a constant.
pub(crate) fn bytes(value: &ScalarValue) -> Option<&[u8]> {
    match value {
        ScalarValue::Binary(bytes)
        | ScalarValue::LargeBinary(bytes)
        | ScalarValue::BinaryView(bytes)
        | ScalarValue::FixedSizeBinary(_, bytes) => bytes.as_deref(),
        _ => None,
    }
}

/// Records row by row; rows that have the same record as the one before share what was made of it.
pub(crate) struct Records<'a, T> {
    function: &'static str,
    array: &'a BinaryViewArray,
    last: Option<(&'a [u8], T)>,
}

impl<'a, T> Records<'a, T> {
    pub(crate) fn new(function: &'static str, array: &'a ArrayRef) -> Self {
        Self { function, array: array.as_binary_view(), last: None }
    }

    /// What `make` makes of the posterior of row `t`; `None` for a null.
    pub(crate) fn get(&mut self, t: usize, make: impl FnOnce(&Posterior) -> Result<T>) -> Result<Option<&T>> {
        let function = self.function;
        self.made(t, |bytes| make(&Posterior::decode(bytes).map_err(told(function))?))
    }

    /// What `read` makes of the bytes of row `t`; `None` for a null.
    pub(crate) fn read(&mut self, t: usize, read: impl FnOnce(&[u8]) -> Result<T, SumsError>) -> Result<Option<&T>> {
        let function = self.function;
        self.made(t, |bytes| read(bytes).map_err(told(function)))
    }

    fn made(&mut self, t: usize, make: impl FnOnce(&[u8]) -> Result<T>) -> Result<Option<&T>> {
        if self.array.is_null(t) {
            return Ok(None);
        }
        let bytes = self.array.value(t);
        if self.last.as_ref().is_none_or(|(last, _)| *last != bytes) {
            self.last = Some((bytes, make(bytes)?));
        }
        Ok(self.last.as_ref().map(|(_, made)| made))
    }
}

/// A posterior made ready to answer.
pub(crate) fn ready(function: &'static str) -> impl Fn(&Posterior) -> Result<Predictor> {
    move |posterior| Predictor::new(posterior).map_err(told(function))
}
