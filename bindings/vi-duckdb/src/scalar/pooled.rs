//! Components of variance, effects, predictions and cluster-robust errors of pooled groups.

use std::marker::PhantomData;

use quack_rs::scalar::ScalarFunctionSetBuilder;
use vi_sums::{
    Coefficient, GroupEffect, Pool, PoolFit, Posterior, Predicted, RobustSpec, SumsError, VarianceComponent,
};

use super::{LEVEL, Records, levels, named, predictions};
use crate::Fault;
use crate::ffi::{Given, Input, Kind, Scalar, for_columns};
use crate::fold::Said;
use crate::pool::{key, keys};

fn fit(posterior: &Posterior) -> Result<PoolFit, SumsError> {
    posterior.pool().and_then(Pool::fit)
}

/// `vi_components(pool)`: standard deviations over the groups, correlations and, last, the standard deviation of the noise.
pub(crate) struct Components;

impl Scalar for Components {
    const NAME: &'static str = "vi_components";
    type Answer = Vec<VarianceComponent>;

    fn takes() -> Vec<Kind> {
        vec![Kind::Bytes]
    }

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Self::Answer>, Fault>, Fault> {
        let mut records = Records::new(input.bytes(0)?);
        Ok(move |row| Ok(records.get(row, |posterior| fit(&posterior)?.components(LEVEL))?.cloned()))
    }
}

/// `vi_effects(pool)`: the effects of all groups.
pub(crate) struct Effects;

impl Scalar for Effects {
    const NAME: &'static str = "vi_effects";
    type Answer = Vec<GroupEffect>;

    fn takes() -> Vec<Kind> {
        vec![Kind::Bytes]
    }

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Self::Answer>, Fault>, Fault> {
        let mut records = Records::new(input.bytes(0)?);
        Ok(move |row| Ok(records.get(row, |posterior| fit(&posterior)?.all_effects(LEVEL))?.cloned()))
    }
}

/// `vi_effects(pool, key)`: those of one group; a null is a new one.
pub(crate) struct EffectsOf<const TEXT: bool>;

impl<const TEXT: bool> Scalar for EffectsOf<TEXT> {
    const NAME: &'static str = "vi_effects";
    type Answer = Vec<GroupEffect>;

    fn takes() -> Vec<Kind> {
        vec![Kind::Bytes, key(TEXT)]
    }

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Self::Answer>, Fault>, Fault> {
        let (mut records, keys) = (Records::new(input.bytes(0)?), keys::<TEXT>(input, 1)?);
        Ok(move |row| {
            let Some(fit) = records.get(row, |posterior| fit(&posterior))? else { return Ok(None) };
            Ok(Some(fit.effects(keys(row)?.as_ref(), LEVEL)?))
        })
    }
}

/// `vi_predict_group(pool, key, x…)` or, where `SAID`, `vi_predict_group('level=0.9', pool, key, x…)`, with features given as `X`.
pub(crate) struct PredictGroup<X, const TEXT: bool, const SAID: bool>(PhantomData<X>);

impl<X: Given + 'static, const TEXT: bool, const SAID: bool> Scalar for PredictGroup<X, TEXT, SAID> {
    const NAME: &'static str = "vi_predict_group";
    type Answer = Predicted;

    fn takes() -> Vec<Kind> {
        SAID.then_some(Kind::Text).into_iter().chain([Kind::Bytes, key(TEXT)]).chain(X::kinds()).collect()
    }

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Predicted>, Fault>, Fault> {
        let head = usize::from(SAID);
        let (mut level, mut predict) = (levels::<SAID>(input)?, predictions::<X>(input, head, head + 2)?);
        let keys = keys::<TEXT>(input, head + 1)?;
        Ok(move |row| {
            let Some(level) = level(row)? else { return Ok(None) };
            let key = keys(row)?;
            predict(row, &|predictor, x| predictor.predict_in(x, key.as_ref(), level))
        })
    }
}

/// All forms for lists and columns.
pub(crate) fn predict_group(set: ScalarFunctionSetBuilder) -> ScalarFunctionSetBuilder {
    for_columns!(
        set,
        X => PredictGroup<X, false, false>, PredictGroup<X, false, true>, PredictGroup<X, true, false>, PredictGroup<X, true, true>
    )
}

/// `vi_robust(pool)`: the weights of least squares with cluster-robust errors, the intercept first; `'CR0'` stands before the pool where `SAID`,
/// `'a, b'` behind it where `NAMED`.
pub(crate) struct Robust<const SAID: bool, const NAMED: bool>;

impl<const SAID: bool, const NAMED: bool> Scalar for Robust<SAID, NAMED> {
    const NAME: &'static str = "vi_robust";
    type Answer = Vec<Coefficient>;

    fn takes() -> Vec<Kind> {
        SAID.then_some(Kind::Text).into_iter().chain([Kind::Bytes]).chain(NAMED.then_some(Kind::Text)).collect()
    }

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Self::Answer>, Fault>, Fault> {
        let head = usize::from(SAID);
        let mut said = if SAID { Some(Said::new(input.texts(0)?, RobustSpec::parse)) } else { None };
        let mut records = Records::new(input.bytes(head)?);
        let names = if NAMED { Some(input.texts(head + 1)?) } else { None };
        Ok(move |row| {
            let spec = said.as_mut().map_or_else(|| Ok(RobustSpec::default()), |said| said.get(row))?;
            let Some(posterior) = records.get(row, Ok)? else { return Ok(None) };
            named(&posterior.pool()?.robust(spec)?, posterior.inputs(), names.as_ref(), row)
        })
    }
}
