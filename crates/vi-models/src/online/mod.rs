//! The front door: models for streams, in plain slices.
//!
//! A model is made with a number of inputs, learns row by row or in batches, and can predict at any time. It sees each row
//! once. Nothing needs to be tuned: by default it adds an intercept, takes the scale of each input from the first rows, fits those
//! rows together before it goes row by row, and averages over the prior scale of the weights.
//!
//! | to | use |
//! |---|---|
//! | predict a probability | [`OnlineLogistic`] |
//! | predict a number, the noise unknown | [`OnlineLinear`] |
//! | predict a number with heavy tails, or among labels far out | [`OnlineRobust`] |
//! | predict a number whose spread follows the inputs | [`OnlineVarying`] |
//! | predict a positive number that is skewed, or a fraction | [`OnlineLinear::of_transform`], [`OnlineRobust::of_transform`] |
//! | predict a count, or successes among trials | [`OnlineGlm`] with a [`family`] |
//! | predict a count that varies more than a Poisson's, by an unknown amount | [`OnlineGlm`] with [`family::LearnedSpread`] |
//! | predict a count of which many are 0 whatever the inputs | [`OnlineGlm`] with [`family::InflatedCounts`] |
//! | predict one of several classes | [`OnlineSoftmax`] |
//! | predict one of several classes that have an order, as ratings | [`OnlineOrdered`] |
//! | predict the time of an event, which for some rows had not come when they were last seen | [`OnlineSurvival`] |
//! | learn with effects that differ from group to group (random effects) | [`GroupedLinear`], [`GroupedGlm`] |
//! | predict one of many classes, or use another belief than a full covariance | [`OnlineSoftmax::by_class`] |
//! | hold a model whose kind is known only at run time | [`Model`], made of a [`Kind`] |
//! | let the first rows say which kind | [`Trial`] |
//! | choose what is kept of the covariance | [`BeliefKind`] |
//! | find out whether one pass was enough, and go further | `keep_rows` in [`OnlineSettings`], then `diagnose`, `refine` |
//! | refine with rows that are kept elsewhere, as in a file | `refine_over` |
//! | read the posterior of the weights, by name | `coefficients()`; `names` in [`OnlineSettings`] |
//! | handle a posterior that no Gaussian fits | `posterior()`, a [`LogDensity`](vi_core::LogDensity) for `vi-boost`; `mixture` answers from what it found |
//! | read the posterior of one weight, or of the predictor at a row | `weight(j)`, `intercept()`, `predict(row)?.predictor`: a [`Marginal`](crate::Marginal) |
//! | compare weights | `combination(c)`, `covariance(j, k)` |
//! | predict many rows | `predict_batch` |
//! | follow relations that drift at an unknown rate | [`Memory::Learned`]; see [`Memory`] for the others |
//! | give intervals that hold as often as they say, whatever the data do | [`Certificate`] |
//! | know whether the world has changed, and when | [`Certificate::change`] |
//! | know whether its own intervals hold, and of outliers | [`Certificate::calibration`], [`Certificate::outliers`] |
//! | store a model, send it, go on learning | `serde`; a model read again goes on with the same bits |
//!
//! For the same bits the format must give each float back exactly: with `serde_json` turn on its feature `float_roundtrip`,
//! otherwise the numbers of a model that was read may differ in the last digit.
//!
//! # How far to trust the intervals
//!
//! Share (%) of 90 % intervals that held the truth, with the defaults: weights / linear predictors at new rows. Inputs are
//! Gaussian, weights from `N(0, s²)`, with either `log s` drawn uniformly between `log 0.05` and `log 5` (for counts up to the
//! scale at which the predictor has standard deviation 2), or `s = 2.5`. 160 data sets of three or ten inputs, 53 of thirty, a
//! quarter of these for 2000 rows, for probit and for softmax; standard errors 1 to 3 points, up to 9 for probit with 2000 rows.
//!
//! | inputs, rows | 3, 20 | 3, 100 | 10, 100 | 10, 500 | 30, 100 | 30, 500 | 30, 2000 |
//! |---|--:|--:|--:|--:|--:|--:|--:|
//! | linear, drawn | 89/88 | 90/89 | 88/88 | 91/91 | 89/92 | 89/90 | 92/90 |
//! | linear, 2.5 | 88/88 | 89/89 | 90/89 | 90/89 | 89/89 | 90/91 | 90/92 |
//! | logit, drawn | 90/89 | 89/90 | 89/90 | 91/90 | 92/93 | 89/88 | 89/91 |
//! | logit, 2.5 | 91/90 | 88/87 | 85/87 | 90/91 | 96/97 | 91/92 | 86/87 |
//! | probit, drawn | 96/94 | 88/90 | 91/90 | 87/90 | 94/94 | 93/92 | 81/83 |
//! | probit, 2.5 | 96/93 | 84/89 | 91/89 | 85/85 | 98/98 | 80/80 | 90/91 |
//! | Poisson, drawn | 91/91 | 90/90 | 90/90 | 90/90 | 90/92 | 90/90 | 89/88 |
//! | binomial, drawn | 91/90 | 89/89 | 88/89 | 91/90 | 91/92 | 90/91 | 88/91 |
//! | softmax of 3, drawn | 94/90 | 89/87 | 90/89 | 90/89 | 94/95 | 91/92 | |
//! | softmax of 3, 2.5 | 89/86 | 81/83 | 86/84 | 84/85 | 98/98 | 80/82 | |
//!
//! Where weights are nearly 0 (`s = 0.1`, 20 rows) their intervals hold the truth more often than stated. `cargo xtask
//! bench calibration` measures every model at 20 to 2000 rows and 3 to 100 inputs, at 50, 90 and 95 %. Diagonal and low-rank
//! beliefs, and a model that forgets, have less accurate intervals: see [`predict`](crate::predict).
//!
//! ```
//! use rand::SeedableRng;
//! use vi_models::online::{OnlineLogistic, OnlineSettings, Standardise};
//!
//! // Two advertisements with one feature each; the one whose drawn weights promise more is shown (Thompson sampling).
//! let settings = OnlineSettings { standardise: Standardise::Never, ..OnlineSettings::default() };
//! let mut arms = [OnlineLogistic::with_settings(1, settings.clone())?, OnlineLogistic::with_settings(1, settings)?];
//! let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
//! for t in 0..50 {
//!     let x = [f64::from(t % 5) / 5.0];
//!     let promise = [arms[0].sample(&mut rng)?.score(&x)?, arms[1].sample(&mut rng)?.score(&x)?];
//!     let shown = usize::from(promise[1] > promise[0]);
//!     let clicked = if shown == 1 { 1.0 } else { 0.0 };
//!     arms[shown].update(&x, clicked)?;
//! }
//! assert!(arms[1].predict(&[0.5])?.probability > 0.8);
//! # Ok::<(), vi_models::ModelError>(())
//! ```

#[macro_use]
mod macros;

mod apart;
mod belief;
mod blocks;
mod certificate;
mod classes;
mod coefficient;
mod design;
mod draw;
mod engine;
pub mod family;
mod glm;
mod grouped;
mod inflated;
mod info;
mod linear;
mod logistic;
mod model;
mod nested;
mod observation;
mod one_gaussian;
mod ordered;
mod pair;
mod points;
mod posterior;
mod predicted;
mod prediction;
mod profile;
mod rescale;
mod robust;
mod row;
mod sandwich;
mod scale;
mod settings;
mod softmax;
mod spread;
mod summed;
mod survival;
mod target;
mod trial;
mod varying;

pub use belief::BeliefKind;
pub use certificate::{Alarm, Calibration, Certificate, Change, Outliers, Share, Towards};
pub use coefficient::Coefficient;
pub use design::Standardise;
pub use draw::Draw;
pub use glm::OnlineGlm;
pub use grouped::{
    Component, Components, Effects, GroupEffects, GroupSums, GroupedGlm, GroupedLinear, GroupedSettings, OnlineGrouped,
};
pub(crate) use info::is_near;
pub use info::{Advice, OnlineInfo, Order};
pub use linear::{NumberPredicted, OnlineLinear};
pub use logistic::OnlineLogistic;
pub use model::{Kind, Model};
pub use observation::Observation;
pub use one_gaussian::OneGaussian;
pub use ordered::OnlineOrdered;
pub use points::Points;
pub use posterior::Posterior;
pub use predicted::{LabelPredicted, ProbabilityPredicted};
pub use prediction::Prediction;
pub use robust::OnlineRobust;
pub use sandwich::Sandwich;
pub use settings::{Memory, OnlineSettings, PriorScale, Start};
pub use softmax::OnlineSoftmax;
pub use survival::{Cuts, OnlineSurvival, SurvivalPredicted};
pub use trial::Trial;
pub use varying::OnlineVarying;
pub use vi_core::refine::{RefineInfo, RefineSettings};
pub use vi_core::{Row, Rows};
