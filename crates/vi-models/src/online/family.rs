//! The families of [`OnlineGlm`](super::OnlineGlm).

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::{BernoulliLogit, Error, Mixture8};

use super::engine::{Pass, ScalarFamily, Stateful};
pub use super::inflated::InflatedCounts;
use super::observation::Size;
pub use super::spread::LearnedSpread;
use crate::likelihood::{BernoulliProbit, Binomial, NegativeBinomial, Poisson};
use crate::predict::CountPrediction;

/// A family of labels that [`OnlineGlm`](super::OnlineGlm) can learn.
pub trait GlmFamily: ScalarFamily<Likelihood: CountPrediction> {}

/// Labels 0 and 1, `p(y=1) = s(t)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logit;

/// Labels 0 and 1, `p(y=1) = Φ(t)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probit;

/// Successes among [`trials`](super::Observation::trials), each with probability `s(t)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trials;

/// Counts with mean and variance `m = exposure·eᵗ`; see [`exposure`](super::Observation::exposure).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts;

/// Counts with mean `m = exposure·eᵗ` and variance `m + m²/size`, the size given; [`LearnedSpread`] learns it from the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SpreadCounts {
    /// The size `r > 0`; the larger, the less the counts vary beyond a Poisson's.
    pub size: f64,
}

/// Stores families without settings by their names, so that a document of one is not read as another.
macro_rules! stored_by_name {
    ($($family:ident),*) => {$(
        impl Serialize for $family {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(stringify!($family))
            }
        }

        impl<'de> Deserialize<'de> for $family {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let found = String::deserialize(deserializer)?;
                if found == stringify!($family) {
                    Ok(Self)
                } else {
                    Err(D::Error::custom(format_args!("a model of the family {found}, not {}", stringify!($family))))
                }
            }
        }
    )*};
}

stored_by_name!(Logit, Probit, Trials, Counts, LearnedSpread, InflatedCounts);

macro_rules! stateless {
    ($($family:ident),*) => {$(
        impl Stateful for $family {
            type State = ();

            fn initial(&self) {}
        }
    )*};
}

stateless!(Logit, Probit, Trials, Counts, SpreadCounts);

impl ScalarFamily for Logit {
    type Likelihood = BernoulliLogit<Mixture8>;

    const PASS: Pass = Pass::MomentsOfUnitWeights;

    fn likelihood(&self, (): &(), _size: f64) -> Result<Self::Likelihood, Error> {
        Ok(BernoulliLogit(Mixture8))
    }
}

impl ScalarFamily for Probit {
    type Likelihood = BernoulliProbit;

    fn likelihood(&self, (): &(), _size: f64) -> Result<Self::Likelihood, Error> {
        Ok(BernoulliProbit)
    }
}

impl ScalarFamily for Trials {
    type Likelihood = Binomial<Mixture8>;

    const SIZE: Size = Size::Trials;

    fn likelihood(&self, (): &(), size: f64) -> Result<Self::Likelihood, Error> {
        Binomial::new(size)
    }
}

impl ScalarFamily for Counts {
    type Likelihood = Poisson;

    const SIZE: Size = Size::Exposure;

    fn likelihood(&self, (): &(), size: f64) -> Result<Self::Likelihood, Error> {
        Poisson::new(size)
    }
}

impl ScalarFamily for SpreadCounts {
    type Likelihood = NegativeBinomial<Mixture8>;

    const SIZE: Size = Size::Exposure;

    fn check(&self) -> Result<(), Error> {
        NegativeBinomial::new(self.size).map(drop)
    }

    fn likelihood(&self, (): &(), size: f64) -> Result<Self::Likelihood, Error> {
        NegativeBinomial::new(self.size)?.with_exposure(size)
    }
}

impl GlmFamily for Logit {}
impl GlmFamily for Probit {}
impl GlmFamily for Trials {}
impl GlmFamily for Counts {}
impl GlmFamily for SpreadCounts {}
