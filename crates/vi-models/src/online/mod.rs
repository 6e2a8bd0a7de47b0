//! The front door: models for streams, in plain slices.
//!
//! A model is made with a number of inputs, learns row by row or in batches, and can predict at any time. It sees each row
//! once. Nothing needs to be tuned: by default it adds an intercept, takes the scale of each input from the first rows, and
//! runs a few prior scales beside each other, answering with the one that has predicted best.
//!
//! | to | use |
//! |---|---|
//! | predict a probability | [`OnlineLogistic`] |
//! | predict a number, the noise unknown | [`OnlineLinear`] |
//! | predict a count, or successes among trials | [`OnlineGlm`] with a [`family`] |
//! | predict one of several classes | [`OnlineSoftmax`] |
//! | choose what is kept of the covariance | [`BeliefKind`] |
//! | know whether one pass was enough, and go further | `keep_rows` in [`OnlineSettings`], then `diagnose`, `refine` |
//! | follow a world that drifts | [`Memory`] |
//! | store a model, send it, go on | `serde`; a model read again goes on with the same bits |
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

mod belief;
mod design;
mod draw;
mod engine;
pub mod family;
mod glm;
mod info;
mod linear;
mod logistic;
mod observation;
mod row;
mod settings;
mod softmax;
mod target;

pub use belief::BeliefKind;
pub use design::Standardise;
pub use draw::Draw;
pub use glm::OnlineGlm;
pub(crate) use info::is_near;
pub use info::{Advice, OnlineInfo};
pub use linear::{NumberPredicted, OnlineLinear};
pub use logistic::OnlineLogistic;
pub use observation::Observation;
pub use row::{Row, Rows};
pub use settings::{Memory, OnlineSettings, PriorScale};
pub use softmax::OnlineSoftmax;
pub use vi_core::refine::{RefineInfo, RefineSettings};
