//! Components of variance, effects and cluster-robust errors of pooled groups: `vi_components`, `vi_effects`, `vi_robust`.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::arrow::array::{Array, ArrayRef, AsArray, ListBuilder, StructBuilder};
use datafusion_common::arrow::datatypes::{DataType, Fields};
use vi_sums::{PoolFit, Posterior, RobustSpec};

use super::functions::{append, coefficients, fields, list, one_record};
use super::predict::LEVEL;
use super::{Function, Records};
use crate::error::told;
use crate::keys::Keys;
use crate::{SqlError, types};

/// The pool of a posterior, made ready.
fn fit(function: &'static str) -> impl Fn(&Posterior) -> Result<PoolFit> {
    move |posterior| posterior.pool().and_then(vi_sums::Pool::fit).map_err(told(function))
}

/// `vi_components(pool)`: a list of standard deviations over the groups, correlations and, last, the standard deviation of the noise.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Components;

fn component_fields() -> Fields {
    fields(&["name"], &["value", "lower", "upper"])
}

impl Function for Components {
    const NAME: &'static str = "vi_components";

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>> {
        one_record(Self::NAME, found)
    }

    fn returns() -> DataType {
        list(component_fields())
    }

    fn invoke(arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let mut records = Records::new(Self::NAME, &arguments[0]);
        let mut out = ListBuilder::new(StructBuilder::from_fields(component_fields(), rows));
        for t in 0..rows {
            let found =
                records.get(t, |posterior| fit(Self::NAME)(posterior)?.components(LEVEL).map_err(told(Self::NAME)))?;
            for own in found.into_iter().flatten() {
                append(out.values(), &[Some(own.name.clone())], &[own.value, own.lower, own.upper]);
            }
            out.append(found.is_some());
        }
        Ok(Arc::new(out.finish()))
    }
}

/// `vi_effects(pool[, key])`: a list of the effects of all groups, or of one; a null is a new group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Effects;

fn effect_fields() -> Fields {
    fields(&["group", "effect"], &["mean", "deviation", "lower", "upper"])
}

impl Function for Effects {
    const NAME: &'static str = "vi_effects";

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>> {
        match found {
            [pool] => Ok(vec![types::record(Self::NAME, "the pool", pool)?]),
            [pool, key] => Ok(vec![types::record(Self::NAME, "the pool", pool)?, types::key(Self::NAME, key)?]),
            _ => Err(SqlError::Refused { function: Self::NAME, what: "takes a pool, and a key or none" }.into()),
        }
    }

    fn returns() -> DataType {
        list(effect_fields())
    }

    fn invoke(arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let mut records = Records::new(Self::NAME, &arguments[0]);
        let keys = arguments.get(1).map(Keys::of).transpose()?;
        let mut out = ListBuilder::new(StructBuilder::from_fields(effect_fields(), rows));
        for t in 0..rows {
            let fit = records.get(t, fit(Self::NAME))?;
            let found = fit.map(|fit| match &keys {
                Some(keys) => fit.effects(keys.get(t).as_ref(), LEVEL),
                None => fit.all_effects(LEVEL),
            });
            let found = found.transpose().map_err(told(Self::NAME))?;
            for own in found.iter().flatten() {
                let texts = [own.group.as_ref().map(ToString::to_string), Some(own.effect.clone())];
                append(out.values(), &texts, &own.weight.numbers());
            }
            out.append(found.is_some());
        }
        Ok(Arc::new(out.finish()))
    }
}

/// `vi_robust(['CR0',] pool[, 'a, b'])`: a list of the weights of least squares with cluster-robust errors, the intercept first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Robust;

impl Function for Robust {
    const NAME: &'static str = "vi_robust";

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>> {
        let text = |argument, found| types::text(Self::NAME, argument, found);
        let pool = |found| types::record(Self::NAME, "the pool", found);
        match found {
            [settings, own, names] => Ok(vec![text("the settings", settings)?, pool(own)?, text("the names", names)?]),
            // A null is taken for settings, unless a text of names follows.
            [settings, own] if types::is_text(settings) || settings.is_null() && !types::is_text(own) => {
                Ok(vec![text("the settings", settings)?, pool(own)?])
            }
            [own, names] => Ok(vec![pool(own)?, text("the names", names)?]),
            other => one_record(Self::NAME, other),
        }
    }

    fn returns() -> DataType {
        super::Coefficients::returns()
    }

    fn invoke(arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let head = usize::from(types::is_text(arguments[0].data_type()));
        let settings = (head == 1).then(|| arguments[0].as_string::<i32>());
        let mut records = Records::new(Self::NAME, &arguments[head]);
        coefficients(Self::NAME, arguments.get(head + 1), rows, |t| {
            if settings.is_some_and(|settings| settings.is_null(t)) {
                return Ok(None);
            }
            let spec = settings.map_or("", |settings| settings.value(t));
            let spec = RobustSpec::parse(spec).map_err(told(Self::NAME))?;
            let Some(posterior) = records.get(t, |posterior| Ok(posterior.clone()))? else { return Ok(None) };
            let weights = posterior.pool().and_then(|pool| pool.robust(spec)).map_err(told(Self::NAME))?;
            Ok(Some((posterior.inputs(), weights)))
        })
    }
}
