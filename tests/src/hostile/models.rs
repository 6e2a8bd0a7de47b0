//! Front-door models of every kind, and the numbers that they answer.

use std::sync::LazyLock;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_models::online::{Cuts, Kind, Model, Observation, Prediction, Row};
use vi_models::{Interval, ModelError, Transform};

/// Every kind of model, with a name.
pub static MODELS: LazyLock<[(&str, Kind); 15]> = LazyLock::new(|| {
    let cuts = Cuts::new(&[0.7, 2.0], 1.5).unwrap_or_else(|_| unreachable!("sound cuts"));
    [
        ("two", Kind::Two),
        ("number", Kind::Number { transform: Transform::Identity, noise: (1.0, 1.0) }),
        ("probit", Kind::Probit),
        ("trials", Kind::Trials),
        ("count", Kind::Count),
        ("spread", Kind::Spread { size: 2.0 }),
        ("classes-joint", Kind::Classes { classes: 3, joint: Some(true) }),
        ("learned-spread", Kind::LearnedSpread),
        ("classes-apart", Kind::Classes { classes: 3, joint: Some(false) }),
        ("robust", Kind::Robust { transform: Transform::Identity, unit: (0.0, 1.0) }),
        ("varying", Kind::Varying { transform: Transform::Identity, unit: (0.0, 1.0) }),
        ("zero-inflated", Kind::ZeroInflated),
        ("ordered", Kind::Ordered { classes: 3 }),
        ("survival", Kind::Survival { cuts }),
        ("fraction", Kind::Varying { transform: Transform::Logit, unit: (0.0, 1.0) }),
    ]
});

/// Numbers of a model with their names.
pub type Numbers = Vec<(&'static str, f64)>;

/// A label of the model's kind near `value`.
#[must_use]
pub fn label(model: &Model, value: f64) -> f64 {
    match model {
        Model::Number(_) | Model::Robust(_) | Model::Varying(_) => model.kind().transform().inverse(value),
        Model::Survival(_) => value.abs() + 0.1,
        Model::Count(_) | Model::Spread(_) | Model::LearnedSpread(_) | Model::ZeroInflated(_) => value.abs().round(),
        Model::Classes(_) | Model::Ordered(_) => value.abs().round().min(2.0),
        _ => f64::from(u8::from(value > 0.0)),
    }
}

/// The numbers of the prediction at a row.
///
/// # Errors
/// Those of the model.
pub fn predicted(model: &Model, row: Row<'_>, at: Observation) -> Result<Numbers, ModelError> {
    let seen = model.predict(row, at)?;
    let mut numbers = Numbers::new();
    if let Some(mean) = seen.mean() {
        numbers.push(("mean", mean));
        numbers.extend(seen.below(mean)?.map(|(_, up_to)| ("cdf of the mean", up_to)));
    }
    if let Some(Interval { lower, upper }) = seen.interval(0.9)? {
        numbers.extend([("lower", lower), ("upper", upper)]);
    }
    // A Student distribution of at most two degrees of freedom, 2a, has no finite variance; `a` is an average, which rounds.
    let heavy = matches!(model, Model::Robust(_) | Model::Varying(_));
    if !matches!(model, Model::Number(own) if own.noise().0 <= 1.0 + 1e-9) && !heavy {
        numbers.extend(seen.standard_deviation().map(|deviation| ("sd", deviation)));
    }
    match &seen {
        Prediction::Two(seen) => numbers.extend([("quantile", seen.quantile(0.3)?), ("plug-in", seen.plug_in)]),
        Prediction::Classes(seen) => {
            numbers.extend(seen.probabilities.iter().map(|&p| ("probability", p)));
            numbers.push(("sum of probabilities", seen.probabilities.iter().sum()));
        }
        _ => {}
    }
    Ok(numbers)
}

/// The numbers of the model's own state.
#[must_use]
pub fn own(model: &Model) -> Numbers {
    let info = model.info();
    let mut numbers = vec![("evidence", model.evidence()), ("prior scale", info.prior_scale)];
    numbers.extend(info.prior_scales.iter().map(|&(_, share)| ("share of a scale", share)));
    for draw in model.weights() {
        numbers.push(("intercept", draw.intercept));
        numbers.extend(draw.weights.iter().map(|&weight| ("weight", weight)));
    }
    if let Model::LearnedSpread(model) = model {
        let size = model.log_size();
        numbers.extend([("log size", size.mean()), ("sd of the log size", size.standard_deviation())]);
    }
    if let Model::ZeroInflated(model) = model {
        let (size, share) = (model.log_size(), model.logit_share());
        numbers.extend([("log size", size.mean()), ("sd of the log size", size.standard_deviation())]);
        numbers.extend([("logit share", share.mean()), ("sd of the logit share", share.standard_deviation())]);
    }
    numbers
}

/// A draw of the weights.
///
/// # Errors
/// Those of the model.
pub fn drawn(model: &Model, seed: u64) -> Result<Numbers, ModelError> {
    let mut numbers = Numbers::new();
    for draw in model.sample(&mut ChaCha8Rng::seed_from_u64(seed))? {
        numbers.push(("drawn intercept", draw.intercept));
        numbers.extend(draw.weights.iter().map(|&weight| ("drawn weight", weight)));
    }
    Ok(numbers)
}
