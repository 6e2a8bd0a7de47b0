//! Components of variance, effects, predictions and cluster-robust errors of pooled groups.

use vi_sums::{GroupEffect, Pool, PoolFit, Posterior, Predicted, RobustSpec, SumsError, VarianceComponent, Weight};

use super::{LEVEL, Records, predictions, said_level};
use crate::Fault;
use crate::ffi::{Input, Kind, Scalar};
use crate::fold::Said;
use crate::pool::{key, keys};

fn fit(posterior: &Posterior) -> Result<PoolFit, SumsError> {
    posterior.pool().and_then(Pool::fit)
}

/// `vi_components(pool)`: standard deviations over the groups, correlations and, last, the standard deviation of the noise.
pub(crate) struct Components;

impl Scalar for Components {
    const NAME: &'static str = "vi_components";
    const TAKES: &'static [Kind] = &[Kind::Bytes];
    type Answer = Vec<VarianceComponent>;

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Self::Answer>, Fault>, Fault> {
        let mut records = Records::new(input.bytes(0)?);
        Ok(move |row| Ok(records.get(row, |posterior| fit(&posterior)?.components(LEVEL))?.cloned()))
    }
}

/// `vi_effects(pool)`: the effects of all groups.
pub(crate) struct Effects;

impl Scalar for Effects {
    const NAME: &'static str = "vi_effects";
    const TAKES: &'static [Kind] = &[Kind::Bytes];
    type Answer = Vec<GroupEffect>;

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Self::Answer>, Fault>, Fault> {
        let mut records = Records::new(input.bytes(0)?);
        Ok(move |row| Ok(records.get(row, |posterior| fit(&posterior)?.all_effects(LEVEL))?.cloned()))
    }
}

/// `vi_effects(pool, key)`: those of one group; a null is a new one.
pub(crate) struct EffectsOf<const TEXT: bool>;

impl<const TEXT: bool> Scalar for EffectsOf<TEXT> {
    const NAME: &'static str = "vi_effects";
    const TAKES: &'static [Kind] = &[Kind::Bytes, key(TEXT)];
    type Answer = Vec<GroupEffect>;

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Self::Answer>, Fault>, Fault> {
        let (mut records, keys) = (Records::new(input.bytes(0)?), keys::<TEXT>(input, 1)?);
        Ok(move |row| {
            let Some(fit) = records.get(row, |posterior| fit(&posterior))? else { return Ok(None) };
            Ok(Some(fit.effects(keys(row)?.as_ref(), LEVEL)?))
        })
    }
}

/// `vi_predict_group(pool, key, x)`.
pub(crate) struct PredictGroup<const TEXT: bool>;

impl<const TEXT: bool> Scalar for PredictGroup<TEXT> {
    const NAME: &'static str = "vi_predict_group";
    const TAKES: &'static [Kind] = &[Kind::Bytes, key(TEXT), Kind::Floats];
    type Answer = Predicted;

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Predicted>, Fault>, Fault> {
        let (mut predict, keys) = (predictions(input, 0, 2)?, keys::<TEXT>(input, 1)?);
        Ok(move |row| {
            let key = keys(row)?;
            predict(row, &|predictor, x| predictor.predict_in(x, key.as_ref(), LEVEL))
        })
    }
}

/// `vi_predict_group('level=0.9', pool, key, x)`.
pub(crate) struct PredictGroupAt<const TEXT: bool>;

impl<const TEXT: bool> Scalar for PredictGroupAt<TEXT> {
    const NAME: &'static str = "vi_predict_group";
    const TAKES: &'static [Kind] = &[Kind::Text, Kind::Bytes, key(TEXT), Kind::Floats];
    type Answer = Predicted;

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Predicted>, Fault>, Fault> {
        let (mut level, mut predict, keys) = (said_level(input)?, predictions(input, 1, 3)?, keys::<TEXT>(input, 2)?);
        Ok(move |row| {
            let Some(level) = level(row)? else { return Ok(None) };
            let key = keys(row)?;
            predict(row, &|predictor, x| predictor.predict_in(x, key.as_ref(), level))
        })
    }
}

/// `vi_robust(pool)` or, where `SAID`, `vi_robust('CR0', pool)`: the weights of least squares with cluster-robust errors, the intercept first.
pub(crate) struct Robust<const SAID: bool>;

impl<const SAID: bool> Scalar for Robust<SAID> {
    const NAME: &'static str = "vi_robust";
    const TAKES: &'static [Kind] = if SAID { &[Kind::Text, Kind::Bytes] } else { &[Kind::Bytes] };
    type Answer = Vec<Weight>;

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Vec<Weight>>, Fault>, Fault> {
        let mut said = if SAID { Some(Said::new(input.texts(0)?, RobustSpec::parse)) } else { None };
        let mut records = Records::new(input.bytes(usize::from(SAID))?);
        Ok(move |row| {
            let spec = said.as_mut().map_or_else(|| Ok(RobustSpec::default()), |said| said.get(row))?;
            let Some(posterior) = records.get(row, Ok)? else { return Ok(None) };
            Ok(Some(posterior.pool()?.robust(spec)?))
        })
    }
}
