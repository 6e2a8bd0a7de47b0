//! The functions of a posterior.

mod newton;
mod pooled;

pub(crate) use newton::{Factors, Newton};
pub(crate) use pooled::{Components, Effects, EffectsOf, Robust, predict_group};

use std::marker::PhantomData;

use quack_rs::scalar::ScalarFunctionSetBuilder;
use vi_core::check;
use vi_sums::{Coefficient, Posterior, Predicted, Predictor, SumsError, Weight};

use crate::Fault;
use crate::ffi::{Description, Features, Given, Input, Kind, Scalar, Texts, for_columns};

/// The mass of an interval where nothing else is said.
const LEVEL: f64 = 0.9;

/// Records row by row; rows that have the same record as the one before share what was made of it.
struct Records<'a, T> {
    bytes: Texts<'a>,
    last: Option<(&'a [u8], T)>,
}

impl<'a, T> Records<'a, T> {
    fn new(bytes: Texts<'a>) -> Self {
        Self { bytes, last: None }
    }

    /// What `make` makes of the posterior of a row; `None` for a null.
    fn get(&mut self, row: usize, make: impl FnOnce(Posterior) -> Result<T, SumsError>) -> Result<Option<&T>, Fault> {
        self.read(row, |bytes| make(Posterior::decode(bytes)?))
    }

    /// What `read` makes of the bytes of a row; `None` for a null.
    fn read(&mut self, row: usize, read: impl FnOnce(&[u8]) -> Result<T, SumsError>) -> Result<Option<&T>, Fault> {
        let Some(bytes) = self.bytes.get(row) else { return Ok(None) };
        // A constant is the same bytes in every row, which need not be compared.
        if self.last.as_ref().is_none_or(|(last, _)| !std::ptr::eq(*last, bytes) && *last != bytes) {
            self.last = Some((bytes, read(bytes)?));
        }
        Ok(self.last.as_ref().map(|(_, made)| made))
    }
}

fn ready(posterior: &Posterior) -> Result<Predictor, SumsError> {
    Predictor::new(posterior)
}

/// `vi_predict(posterior, x…)` or, where `SAID`, `vi_predict('level=0.9', posterior, x…)`, with features given as `X`.
pub(crate) struct Predict<X, const SAID: bool>(PhantomData<X>);

impl<X: Given + 'static, const SAID: bool> Scalar for Predict<X, SAID> {
    const NAME: &'static str = "vi_predict";
    type Answer = Predicted;

    fn takes() -> Vec<Kind> {
        SAID.then_some(Kind::Text).into_iter().chain([Kind::Bytes]).chain(X::kinds()).collect()
    }

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Predicted>, Fault>, Fault> {
        let head = usize::from(SAID);
        let (mut level, mut predict) = (levels::<SAID>(input)?, predictions::<X>(input, head, head + 1)?);
        Ok(move |row| {
            let Some(level) = level(row)? else { return Ok(None) };
            predict(row, &|predictor, x| predictor.predict(x, level))
        })
    }
}

/// All forms for lists and columns.
pub(crate) fn predict(set: ScalarFunctionSetBuilder) -> ScalarFunctionSetBuilder {
    for_columns!(set, X => Predict<X, false>, Predict<X, true>)
}

/// The level of the interval of a row: what its first argument says where `SAID`, `None` for null there.
fn levels<'a, const SAID: bool>(
    input: &Input<'a>,
) -> Result<impl FnMut(usize) -> Result<Option<f64>, Fault> + use<'a, SAID>, Fault> {
    let mut said = if SAID { Some(said_level(input)?) } else { None };
    Ok(move |row| said.as_mut().map_or(Ok(Some(LEVEL)), |said| said(row)))
}

/// The level that the first argument of a row says; `None` for null.
fn said_level<'a>(input: &Input<'a>) -> Result<impl FnMut(usize) -> Result<Option<f64>, Fault> + use<'a>, Fault> {
    let texts = input.texts(0)?;
    let mut said: Option<(&[u8], f64)> = None;
    Ok(move |row| {
        let Some(text) = texts.get(row) else { return Ok(None) };
        Ok(Some(match said {
            Some((last, level)) if last == text => level,
            _ => said.insert((text, level(std::str::from_utf8(text).map_err(|_| Fault::Text)?)?)).1,
        }))
    })
}

/// A prediction at features.
type At<'a> = &'a dyn Fn(&Predictor, &[f64]) -> Result<Predicted, SumsError>;

/// The predictions by the posterior in one argument at the features from another on; none where a feature is null or not finite.
fn predictions<'a, X: Given>(
    input: &Input<'a>,
    posterior: usize,
    features: usize,
) -> Result<impl FnMut(usize, At<'_>) -> Result<Option<Predicted>, Fault> + use<'a, X>, Fault> {
    let (mut records, x) = (Records::new(input.bytes(posterior)?), X::read(input, features)?);
    Ok(move |row, predict: At<'_>| {
        let (Some(predictor), Some(x)) = (records.get(row, |posterior| ready(&posterior))?, x.row(row)) else {
            return Ok(None);
        };
        if x.len() == predictor.inputs() && check::finite("x", x).is_err() {
            return Ok(None);
        }
        Ok(Some(predict(predictor, x)?))
    })
}

fn level(text: &str) -> Result<f64, Fault> {
    let word = |expected| SumsError::Word { word: text.to_owned(), expected };
    let number = text.trim().strip_prefix("level=").ok_or_else(|| word("level= and a number"))?;
    let level: f64 = number.parse().map_err(|_| word("a number stands after ="))?;
    check::probability("level", level)?;
    Ok(level)
}

/// `vi_coefficients(posterior)`: the weights, the intercept first; or, where `NAMED`, `vi_coefficients(posterior, 'a, b')`.
pub(crate) struct Coefficients<const NAMED: bool>;

impl<const NAMED: bool> Scalar for Coefficients<NAMED> {
    const NAME: &'static str = "vi_coefficients";
    type Answer = Vec<Coefficient>;

    fn takes() -> Vec<Kind> {
        [Kind::Bytes].into_iter().chain(NAMED.then_some(Kind::Text)).collect()
    }

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Self::Answer>, Fault>, Fault> {
        let mut records = Records::new(input.bytes(0)?);
        let names = if NAMED { Some(input.texts(1)?) } else { None };
        Ok(move |row| {
            let make = |posterior: Posterior| Ok((posterior.inputs(), ready(&posterior)?.weights(LEVEL)?));
            records.get(row, make)?.map_or(Ok(None), |(inputs, weights)| named(weights, *inputs, names.as_ref(), row))
        })
    }
}

/// The weights of a row with the names that its text gives; `None` where that is null.
fn named(
    weights: &[Weight],
    inputs: usize,
    names: Option<&Texts<'_>>,
    row: usize,
) -> Result<Option<Vec<Coefficient>>, Fault> {
    let names = match names.map(|names| names.get(row)) {
        None => None,
        Some(None) => return Ok(None),
        Some(Some(text)) => Some(std::str::from_utf8(text).map_err(|_| Fault::Text)?),
    };
    Ok(Some(Coefficient::named(weights.to_vec(), inputs, names)?))
}

/// `vi_subtract(posterior, posterior)`: the first without the rows of the second.
pub(crate) struct Subtract;

impl Scalar for Subtract {
    const NAME: &'static str = "vi_subtract";
    type Answer = Vec<u8>;

    fn takes() -> Vec<Kind> {
        vec![Kind::Bytes, Kind::Bytes]
    }

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Vec<u8>>, Fault>, Fault> {
        let (mut wholes, mut parts) = (Records::new(input.bytes(0)?), Records::new(input.bytes(1)?));
        Ok(move |row| {
            let (Some(whole), Some(part)) = (wholes.get(row, Ok)?, parts.get(row, Ok)?) else { return Ok(None) };
            let mut left = whole.clone();
            left.subtract(part)?;
            Ok(Some(left.encode()?))
        })
    }
}

/// `vi_evidence(posterior)`: `log p(y)` in nats.
pub(crate) struct Evidence;

impl Scalar for Evidence {
    const NAME: &'static str = "vi_evidence";
    type Answer = f64;

    fn takes() -> Vec<Kind> {
        vec![Kind::Bytes]
    }

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<f64>, Fault>, Fault> {
        let mut records = Records::new(input.bytes(0)?);
        Ok(move |row| Ok(records.get(row, |posterior| posterior.log_evidence())?.copied()))
    }
}

/// `vi_sample(posterior, seed)`: one draw of the weights, the intercept first.
pub(crate) struct Sample;

impl Scalar for Sample {
    const NAME: &'static str = "vi_sample";
    type Answer = Vec<f64>;

    fn takes() -> Vec<Kind> {
        vec![Kind::Bytes, Kind::Integer]
    }

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Vec<f64>>, Fault>, Fault> {
        let (mut records, seeds) = (Records::new(input.bytes(0)?), input.integers(1)?);
        Ok(move |row| {
            let (Some(predictor), Some(seed)) = (records.get(row, |posterior| ready(&posterior))?, seeds(row)) else {
                return Ok(None);
            };
            Ok(Some(predictor.sample(seed.cast_unsigned())?))
        })
    }
}

/// `vi_describe(posterior)`: its kind, inputs, rows and rows that were left out.
pub(crate) struct Describe;

impl Scalar for Describe {
    const NAME: &'static str = "vi_describe";
    type Answer = Description;

    fn takes() -> Vec<Kind> {
        vec![Kind::Bytes]
    }

    fn answers(input: &Input<'_>) -> Result<impl FnMut(usize) -> Result<Option<Description>, Fault>, Fault> {
        let mut records = Records::new(input.bytes(0)?);
        Ok(move |row| {
            let posterior = records.get(row, Ok)?;
            Ok(posterior.map(|posterior| Description {
                kind: match posterior {
                    Posterior::Linear(_) => "linear",
                    Posterior::Glm(own) => own.family().name(),
                    Posterior::Pool(_) => "pool",
                },
                counts: [posterior.inputs() as u64, posterior.rows(), posterior.skipped()],
            }))
        })
    }
}
