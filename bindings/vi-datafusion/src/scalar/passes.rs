//! Functions of a pass: what it says of its place, and where it leads.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewBuilder, Float64Array, Float64Builder, StructArray,
};
use datafusion_common::arrow::datatypes::{DataType, Field, Fields, Float64Type};
use vi_sums::{At, PassSums, Posterior};

use super::{Function, Records};
use crate::error::told;
use crate::{SqlError, types};

/// `vi_factors(at, pass)`: what stands for the rows of a pass, as a posterior of these rows alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Factors;

impl Function for Factors {
    const NAME: &'static str = "vi_factors";

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>> {
        match found {
            [at, pass] => types::two_records(Self::NAME, at, pass),
            _ => Err(SqlError::Refused { function: Self::NAME, what: "takes the place of a pass and the pass" }.into()),
        }
    }

    fn returns() -> DataType {
        DataType::BinaryView
    }

    fn invoke(arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let mut places = Records::new(Self::NAME, &arguments[0]);
        let mut passes = Records::new(Self::NAME, &arguments[1]);
        let mut out = BinaryViewBuilder::with_capacity(rows);
        for t in 0..rows {
            match (places.read(t, At::decode)?, passes.read(t, PassSums::decode)?) {
                (Some(at), Some(pass)) => {
                    let factors = pass.factors(at).and_then(|factors| Posterior::from(factors).encode());
                    out.append_value(factors.map_err(told(Self::NAME))?);
                }
                _ => out.append_null(),
            }
        }
        Ok(Arc::new(out.finish()))
    }
}

/// `vi_newton(at, pass[, share])`: the step, the bound at the place, the length of the full step.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Newton;

fn step() -> Fields {
    let number = |name| Field::new(name, DataType::Float64, true);
    [Field::new("posterior", DataType::BinaryView, true), number("bound"), number("size")].into_iter().collect()
}

impl Function for Newton {
    const NAME: &'static str = "vi_newton";

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>> {
        match found {
            [at, pass] => types::two_records(Self::NAME, at, pass),
            [at, pass, share] => {
                let mut out = types::two_records(Self::NAME, at, pass)?;
                out.push(types::one_number(Self::NAME, "the share", share)?);
                Ok(out)
            }
            _ => {
                let what = "takes the place of a pass, the pass, and the share of the step where it is not all of it";
                Err(SqlError::Refused { function: Self::NAME, what }.into())
            }
        }
    }

    fn returns() -> DataType {
        DataType::Struct(step())
    }

    fn invoke(arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let mut places = Records::new(Self::NAME, &arguments[0]);
        let mut passes = Records::new(Self::NAME, &arguments[1]);
        let shares: Option<&Float64Array> = arguments.get(2).map(AsArray::as_primitive::<Float64Type>);
        let mut posteriors = BinaryViewBuilder::with_capacity(rows);
        let (mut bounds, mut sizes) = (Float64Builder::with_capacity(rows), Float64Builder::with_capacity(rows));
        for t in 0..rows {
            let share = shares.map_or(Some(1.0), |shares| shares.is_valid(t).then(|| shares.value(t)));
            let found = match (places.read(t, At::decode)?, passes.read(t, PassSums::decode)?, share) {
                (Some(at), Some(pass), Some(share)) => pass.newton(at, share).map_err(told(Self::NAME))?,
                _ => None,
            };
            bounds.append_option(found.as_ref().map(|found| found.bound));
            sizes.append_option(found.as_ref().map(|found| found.size));
            let posterior = found.map(|found| Posterior::from(found.posterior).encode()).transpose();
            posteriors.append_option(posterior.map_err(told(Self::NAME))?);
        }
        let posteriors = posteriors.finish();
        let valid = posteriors.nulls().cloned();
        let columns: Vec<ArrayRef> = vec![Arc::new(posteriors), Arc::new(bounds.finish()), Arc::new(sizes.finish())];
        Ok(Arc::new(StructArray::try_new(step(), columns, valid)?))
    }
}
