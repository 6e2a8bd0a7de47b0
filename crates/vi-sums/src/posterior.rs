//! A posterior of any kind, which can be stored as bytes, merged and subtracted.
//!
//! Records have the frame of [`vi_core::checkpoint`]: magic, version, kind, length, payload, CRC-64. All numbers are
//! little-endian; a `list` is its length as `u64` and then its entries. The payloads:
//!
//! | kind | payload |
//! |---|---|
//! | `vi-sums/linear` | prior: scale, intercept's scale, shape, rate (`f64` each); inputs `d` (`u64`); sums: list of `f64`, the [flat form](crate::LinearSums) |
//! | `vi-sums/glm` | family (`u32`: 1 logistic, 2 probit, 3 Poisson, 4 negative binomial) and its parameter (`f64`); prior: scale, intercept's scale (`f64` each); inputs `d` (`u64`); sums: list of `f64`, the [flat form](crate::GlmPosterior) |
//! | `vi-sums/pool` | pooling: text (its length as `u64`, then bytes), as [`PoolSpec`](crate::PoolSpec) reads it; inputs `d` (`u64`, 0 without groups); keys, increasing: list of 0 (`u32`) and a whole number (`i64`), or 1 (`u32`) and a text; sums: list of `f64`, the [flat forms](crate::LinearSums) of the groups end to end; where the components were found: list of `f64`, empty or [coordinates](vi_models::online::GroupedLinear::coordinates) |
//! | `vi-sums/at` | family, prior as above; mean: list of `f64`; precision: list of `f64`, the lower triangle row by row |
//! | `vi-sums/pass-2` | parameters (`u64`); sums: list of `f64`, the [flat form](crate::PassSums) |
//!
//! The fingerprint of a place is the last eight bytes of its record, of either kind. A pass of kind `vi-sums/pass`, which lacks
//! the place, is [refused](SumsError::Earlier).

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use vi_core::checkpoint;

use crate::pool::PoolWire;
use crate::{Family, GlmPosterior, GlmPrior, LinearPosterior, LinearPrior, LinearSums, Pool, SumsError};

/// Where the kind is in a record: after eight bytes of magic and four of version.
const KIND_AT: std::ops::Range<usize> = 12..36;

/// A posterior of any kind: linear, generalised linear, or pooled over groups.
///
/// ```
/// use vi_sums::{LinearPosterior, LinearPrior, Posterior};
/// let mut fold = LinearPosterior::new(1, LinearPrior::default())?;
/// fold.sums_mut().update(&[1.0], 2.0)?;
/// let bytes = Posterior::from(fold).encode()?;
/// assert_eq!(vi_sums::kind(&bytes), Some("vi-sums/linear"));
/// assert_eq!(Posterior::decode(&bytes)?.rows(), 1);
/// # Ok::<(), vi_sums::SumsError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Posterior {
    /// A linear regression with unknown noise.
    Linear(LinearPosterior),
    /// A generalised linear model.
    Glm(GlmPosterior),
    /// Groups that are pooled in a linear mixed model.
    Pool(Pool),
}

#[derive(Debug, Serialize, Deserialize)]
struct LinearWire {
    prior: LinearPrior,
    inputs: u64,
    sums: Vec<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct GlmWire {
    family: (u32, f64),
    prior: GlmPrior,
    inputs: u64,
    sums: Vec<f64>,
}

impl Posterior {
    /// The [`kind`] of the record of a linear posterior.
    pub const LINEAR: &'static str = "vi-sums/linear";
    /// The [`kind`] of the record of a generalised linear model's posterior.
    pub const GLM: &'static str = "vi-sums/glm";
    /// The [`kind`] of the record of pooled groups.
    pub const POOL: &'static str = "vi-sums/pool";

    /// The posterior as one record, whose layout [this page](self) describes.
    ///
    /// # Errors
    /// [`vi_core::Error::Checkpoint`].
    pub fn encode(&self) -> Result<Vec<u8>, SumsError> {
        match self {
            Self::Linear(own) => record(
                Self::LINEAR,
                &LinearWire {
                    prior: *own.prior(),
                    inputs: own.sums().inputs() as u64,
                    sums: own.sums().flat().to_vec(),
                },
            ),
            Self::Glm(own) => record(
                Self::GLM,
                &GlmWire {
                    family: own.family().to_code(),
                    prior: *own.prior(),
                    inputs: own.inputs() as u64,
                    sums: own.flat().to_vec(),
                },
            ),
            Self::Pool(own) => own.encode(),
        }
    }

    /// Reads a posterior from one record; everything in it is checked.
    ///
    /// # Errors
    /// [`SumsError::Kind`], [`vi_core::Error::Checkpoint`]; those of the constructors.
    pub fn decode(bytes: &[u8]) -> Result<Self, SumsError> {
        const EXPECTED: &str = "vi-sums/linear, vi-sums/glm or vi-sums/pool, a posterior";
        let size = |inputs: u64| usize::try_from(inputs).unwrap_or(usize::MAX);
        match kind(bytes) {
            Some(Self::LINEAR) => {
                let LinearWire { prior, inputs, sums } = read(bytes, Self::LINEAR, EXPECTED)?;
                let sums = LinearSums::from_flat(size(inputs), &sums)?;
                Ok(Self::Linear(LinearPosterior::of(prior, sums)?))
            }
            Some(Self::GLM) => {
                let GlmWire { family, prior, inputs, sums } = read(bytes, Self::GLM, EXPECTED)?;
                let family = Family::from_code(family.0, family.1)?;
                Ok(Self::Glm(GlmPosterior::from_flat(family, prior, size(inputs), &sums)?))
            }
            Some(Self::POOL) => Ok(Self::Pool(Pool::from_wire(read::<PoolWire>(bytes, Self::POOL, EXPECTED)?)?)),
            other => Err(SumsError::Kind { expected: EXPECTED, found: other.unwrap_or_default().to_owned() }),
        }
    }

    /// Adds the rows of another posterior under the same prior.
    ///
    /// # Errors
    /// [`SumsError::Unlike`]; those of the kinds.
    pub fn merge(&mut self, other: &Self) -> Result<(), SumsError> {
        match (self, other) {
            (Self::Linear(own), Self::Linear(other)) => own.merge(other),
            (Self::Glm(own), Self::Glm(other)) => own.merge(other),
            (Self::Pool(own), Self::Pool(other)) => own.merge(other),
            (own, other) => check_like("kind", &own.name(), &other.name()),
        }
    }

    /// Removes the rows of another posterior, which must have been added before.
    ///
    /// # Errors
    /// [`SumsError::Unlike`], [`SumsError::NotContained`]; those of the kinds.
    pub fn subtract(&mut self, other: &Self) -> Result<(), SumsError> {
        match (self, other) {
            (Self::Linear(own), Self::Linear(other)) => own.subtract(other),
            (Self::Glm(own), Self::Glm(other)) => own.subtract(other),
            (Self::Pool(own), Self::Pool(other)) => own.subtract(other),
            (own, other) => check_like("kind", &own.name(), &other.name()),
        }
    }

    /// The [`kind`] of its record.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Linear(_) => Self::LINEAR,
            Self::Glm(_) => Self::GLM,
            Self::Pool(_) => Self::POOL,
        }
    }

    /// The pooled groups.
    ///
    /// # Errors
    /// [`SumsError::Kind`] for another posterior.
    pub fn pool(&self) -> Result<&Pool, SumsError> {
        match self {
            Self::Pool(own) => Ok(own),
            other => Err(SumsError::Kind { expected: "vi-sums/pool, pooled groups", found: other.name().to_owned() }),
        }
    }

    /// The number `d` of inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        match self {
            Self::Linear(own) => own.sums().inputs(),
            Self::Glm(own) => own.inputs(),
            Self::Pool(own) => own.inputs(),
        }
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        match self {
            Self::Linear(own) => own.sums().rows(),
            Self::Glm(own) => own.rows(),
            Self::Pool(own) => own.rows(),
        }
    }

    /// The number of rows that were left out.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        match self {
            Self::Linear(own) => own.sums().skipped(),
            Self::Glm(own) => own.skipped(),
            Self::Pool(own) => own.skipped(),
        }
    }

    /// The log evidence `log p(y)` in nats: exact for a linear model, otherwise as of [`GlmPosterior::log_evidence`] and [`GroupedLinear::of_sums`](vi_models::online::GroupedLinear::of_sums). Cost `d³`, or that of [`Pool::fit`].
    ///
    /// # Errors
    /// Those of [`LinearPosterior::fit`], [`GlmPosterior::log_evidence`] and [`Pool::fit`].
    pub fn log_evidence(&self) -> Result<f64, SumsError> {
        match self {
            Self::Linear(own) => Ok(own.fit()?.log_evidence()),
            Self::Glm(own) => own.log_evidence(),
            Self::Pool(own) => Ok(own.fit()?.model().evidence()),
        }
    }
}

impl From<LinearPosterior> for Posterior {
    fn from(own: LinearPosterior) -> Self {
        Self::Linear(own)
    }
}

impl From<Pool> for Posterior {
    fn from(own: Pool) -> Self {
        Self::Pool(own)
    }
}

impl From<GlmPosterior> for Posterior {
    fn from(own: GlmPosterior) -> Self {
        Self::Glm(own)
    }
}

/// The kind of a record, from its frame; `None` if the bytes are too short or the kind is not text.
#[must_use]
pub fn kind(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes.get(KIND_AT)?).ok().map(|kind| kind.trim_end_matches('\0'))
}

/// Encodes `state` as one record.
pub(crate) fn record<T: Serialize>(kind: &str, state: &T) -> Result<Vec<u8>, SumsError> {
    let mut bytes = Vec::new();
    checkpoint::write(&mut bytes, kind, state)?;
    Ok(bytes)
}

/// Decodes the contents of one record, after which nothing may follow.
pub(crate) fn read<T: DeserializeOwned>(
    bytes: &[u8],
    of: &'static str,
    expected: &'static str,
) -> Result<T, SumsError> {
    if kind(bytes) != Some(of) {
        return Err(SumsError::Kind { expected, found: kind(bytes).unwrap_or_default().to_owned() });
    }
    let mut input = bytes;
    let state = checkpoint::read(&mut input, of, bytes.len() as u64)?;
    checkpoint::expect_end(&mut input)?;
    Ok(state)
}

/// Checks that two posteriors agree in `what`.
pub(crate) fn check_like<T: PartialEq + Debug>(what: &'static str, first: &T, second: &T) -> Result<(), SumsError> {
    if first == second {
        return Ok(());
    }
    Err(SumsError::Unlike { what, first: format!("{first:?}"), second: format!("{second:?}") })
}
