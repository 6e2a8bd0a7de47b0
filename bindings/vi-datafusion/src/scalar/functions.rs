//! Everything but predictions and passes.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder,
    StructBuilder,
};
use datafusion_common::arrow::datatypes::{DataType, Field, Fields, Int64Type};
use vi_sums::{Coefficient, Posterior, Weight};

use super::{Function, Records, ready};
use crate::error::told;
use crate::{SqlError, types};

pub(super) fn one_record(function: &'static str, found: &[DataType]) -> Result<Vec<DataType>> {
    match found {
        [posterior] => Ok(vec![types::record(function, "the argument", posterior)?]),
        _ => Err(SqlError::Refused { function, what: "takes one posterior" }.into()),
    }
}

/// `vi_subtract(posterior, posterior)`: the first without the rows of the second.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Subtract;

impl Function for Subtract {
    const NAME: &'static str = "vi_subtract";

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>> {
        match found {
            [whole, part] => types::two_records(Self::NAME, whole, part),
            _ => Err(SqlError::Refused { function: Self::NAME, what: "takes two posteriors" }.into()),
        }
    }

    fn returns() -> DataType {
        DataType::BinaryView
    }

    fn invoke(arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let mut wholes = Records::new(Self::NAME, &arguments[0]);
        let mut parts = Records::new(Self::NAME, &arguments[1]);
        let mut out = BinaryViewBuilder::with_capacity(rows);
        let copy = |posterior: &Posterior| Ok(posterior.clone());
        for t in 0..rows {
            match (wholes.get(t, copy)?, parts.get(t, copy)?) {
                (Some(whole), Some(part)) => {
                    let mut left = whole.clone();
                    left.subtract(part).map_err(told(Self::NAME))?;
                    out.append_value(left.encode().map_err(told(Self::NAME))?);
                }
                _ => out.append_null(),
            }
        }
        Ok(Arc::new(out.finish()))
    }
}

/// `vi_evidence(posterior)`: `log p(y)` in nats.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Evidence;

impl Function for Evidence {
    const NAME: &'static str = "vi_evidence";

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>> {
        one_record(Self::NAME, found)
    }

    fn returns() -> DataType {
        DataType::Float64
    }

    fn invoke(arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let mut records = Records::new(Self::NAME, &arguments[0]);
        let mut out = Float64Builder::with_capacity(rows);
        for t in 0..rows {
            let evidence = records.get(t, |posterior| posterior.log_evidence().map_err(told(Self::NAME)))?;
            out.append_option(evidence.copied());
        }
        Ok(Arc::new(out.finish()))
    }
}

/// Fields of texts, then of numbers.
pub(super) fn fields(texts: &[&str], numbers: &[&str]) -> Fields {
    let text = texts.iter().map(|name| Field::new(*name, DataType::Utf8, true));
    text.chain(numbers.iter().map(|name| Field::new(*name, DataType::Float64, true))).collect()
}

/// Appends a struct of such fields.
pub(super) fn append(out: &mut StructBuilder, texts: &[Option<String>], numbers: &[f64]) {
    for (i, text) in texts.iter().enumerate() {
        if let Some(field) = out.field_builder::<StringBuilder>(i) {
            field.append_option(text.as_ref());
        }
    }
    for (i, number) in numbers.iter().enumerate() {
        if let Some(field) = out.field_builder::<Float64Builder>(texts.len() + i) {
            field.append_value(*number);
        }
    }
    out.append(true);
}

pub(super) fn list(fields: Fields) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Struct(fields), true)))
}

/// `vi_coefficients(posterior[, 'a, b'])`: a list of weights with the names of their inputs, the intercept first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Coefficients;

fn coefficient_fields() -> Fields {
    fields(&["name"], &["mean", "deviation", "lower", "upper"])
}

/// A list of weights for each row, from the number of inputs and the weights of each, with the names that a text gives.
pub(super) fn coefficients(
    function: &'static str,
    names: Option<&ArrayRef>,
    rows: usize,
    mut of: impl FnMut(usize) -> Result<Option<(usize, Vec<Weight>)>>,
) -> Result<ArrayRef> {
    let names = names.map(AsArray::as_string::<i32>);
    let mut out = ListBuilder::new(StructBuilder::from_fields(coefficient_fields(), rows));
    for t in 0..rows {
        let found = if names.is_some_and(|names| names.is_null(t)) { None } else { of(t)? };
        let is_there = found.is_some();
        if let Some((inputs, found)) = found {
            let names = names.map(|names| names.value(t));
            for own in Coefficient::named(found, inputs, names).map_err(told(function))? {
                append(out.values(), &[Some(own.name)], &own.weight.numbers());
            }
        }
        out.append(is_there);
    }
    Ok(Arc::new(out.finish()))
}

impl Function for Coefficients {
    const NAME: &'static str = "vi_coefficients";

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>> {
        match found {
            [posterior, names] => Ok(vec![
                types::record(Self::NAME, "the first argument", posterior)?,
                types::text(Self::NAME, "the names", names)?,
            ]),
            other => one_record(Self::NAME, other),
        }
    }

    fn returns() -> DataType {
        list(coefficient_fields())
    }

    fn invoke(arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let mut records = Records::new(Self::NAME, &arguments[0]);
        coefficients(Self::NAME, arguments.get(1), rows, |t| {
            let found = records.get(t, |posterior| {
                let weights = ready(Self::NAME)(posterior)?.weights(super::predict::LEVEL).map_err(told(Self::NAME))?;
                Ok((posterior.inputs(), weights))
            })?;
            Ok(found.cloned())
        })
    }
}

/// `vi_sample(posterior, seed)`: one draw of the weights, the intercept first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Sample;

impl Function for Sample {
    const NAME: &'static str = "vi_sample";

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>> {
        match found {
            [posterior, seed] if seed.is_integer() || *seed == DataType::Null => {
                Ok(vec![types::record(Self::NAME, "the first argument", posterior)?, DataType::Int64])
            }
            [_, seed] => Err(SqlError::Argument {
                function: Self::NAME,
                argument: "the seed".to_owned(),
                found: seed.to_string(),
                expected: "a whole number",
            }
            .into()),
            _ => Err(SqlError::Refused { function: Self::NAME, what: "takes a posterior and a seed" }.into()),
        }
    }

    fn returns() -> DataType {
        types::floats()
    }

    fn invoke(arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let mut records = Records::new(Self::NAME, &arguments[0]);
        let seeds = arguments[1].as_primitive::<Int64Type>();
        let mut out = ListBuilder::new(Float64Builder::new());
        for t in 0..rows {
            match records.get(t, ready(Self::NAME))? {
                Some(predictor) if seeds.is_valid(t) => {
                    let seed = seeds.value(t).cast_unsigned();
                    out.values().append_slice(&predictor.sample(seed).map_err(told(Self::NAME))?);
                    out.append(true);
                }
                _ => out.append_null(),
            }
        }
        Ok(Arc::new(out.finish()))
    }
}

/// `vi_describe(posterior)`: its kind, inputs, rows and rows that were left out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Describe;

fn description() -> Fields {
    let count = |name| Field::new(name, DataType::Int64, true);
    [Field::new("kind", DataType::Utf8, true), count("inputs"), count("rows"), count("skipped")].into_iter().collect()
}

impl Function for Describe {
    const NAME: &'static str = "vi_describe";

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>> {
        one_record(Self::NAME, found)
    }

    fn returns() -> DataType {
        DataType::Struct(description())
    }

    fn invoke(arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let mut records = Records::new(Self::NAME, &arguments[0]);
        let mut out = StructBuilder::from_fields(description(), rows);
        for t in 0..rows {
            let told = records.get(t, |posterior| {
                let kind = match posterior {
                    Posterior::Linear(_) => "linear",
                    Posterior::Glm(own) => own.family().name(),
                    Posterior::Pool(_) => "pool",
                };
                Ok((kind, [posterior.inputs() as u64, posterior.rows(), posterior.skipped()]))
            })?;
            if let Some(kinds) = out.field_builder::<StringBuilder>(0) {
                kinds.append_option(told.map(|(kind, _)| *kind));
            }
            for i in 0..3 {
                if let Some(counts) = out.field_builder::<Int64Builder>(i + 1) {
                    counts.append_option(told.map(|(_, counts)| counts[i].cast_signed()));
                }
            }
            out.append(told.is_some());
        }
        Ok(Arc::new(out.finish()))
    }
}
