//! The stored forms of the models for plain slices: sealed, and checked when read.

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use vi_core::Error;
use vi_core::checkpoint::Seal;

use super::scaling::Scaling;
use super::{FitInfo, VbLinear, VbLinearSettings, VbLogit, VbLogitSettings, VbSparse, VbSparseSettings};
use crate::vb::{LinearFit, LogitFit, SparseFit};
use crate::{ModelError, check};

/// The stored form of a linear model: what all of them keep, with settings `S` and a fit `F` of their own.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredNumber<S, F> {
    seal: Seal,
    settings: S,
    rows: usize,
    scaling: Scaling,
    target: Scaling,
    fit: F,
    info: FitInfo,
}

impl<S: Serialize, F: Serialize> StoredNumber<S, F> {
    fn sealed(mut self) -> Result<Self, Error> {
        self.seal = Seal::of(&self)?;
        Ok(self)
    }

    /// The stored model without its seal, after a check of the seal and of all but the fit, which has `columns` weights.
    fn opened(mut self, columns: usize) -> Result<Self, ModelError> {
        std::mem::take(&mut self.seal).check(&self)?;
        self.scaling.check(columns)?;
        self.target.check(1)?;
        check::positive("rows", self.rows as f64)?;
        Ok(self)
    }
}

impl TryFrom<StoredNumber<VbLinearSettings, LinearFit>> for VbLinear {
    type Error = ModelError;

    fn try_from(stored: StoredNumber<VbLinearSettings, LinearFit>) -> Result<Self, ModelError> {
        let columns = stored.fit.weights().dim();
        let StoredNumber { settings, rows, scaling, target, fit, info, .. } = stored.opened(columns)?;
        check::length("shrinkage", if settings.ard { columns } else { 1 }, fit.shrinkage().len())?;
        Ok(Self { settings, rows, scaling, target, fit, info })
    }
}

impl TryFrom<StoredNumber<VbSparseSettings, SparseFit>> for VbSparse {
    type Error = ModelError;

    fn try_from(stored: StoredNumber<VbSparseSettings, SparseFit>) -> Result<Self, ModelError> {
        let columns = stored.fit.weights().dim();
        let StoredNumber { settings, rows, scaling, target, fit, info, .. } = stored.opened(columns)?;
        Ok(Self { settings, rows, scaling, target, fit, info })
    }
}

/// Implements storing for a linear model.
macro_rules! stores_number {
    ($model:ident) => {
        impl Serialize for $model {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Self { settings, rows, scaling, target, fit, info } = self.clone();
                let stored = StoredNumber { seal: Seal::default(), settings, rows, scaling, target, fit, info };
                stored.sealed().map_err(S::Error::custom)?.serialize(serializer)
            }
        }
    };
}

stores_number!(VbLinear);
stores_number!(VbSparse);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredLogit {
    seal: Seal,
    settings: VbLogitSettings,
    scaling: Scaling,
    fit: LogitFit,
    info: FitInfo,
}

impl TryFrom<StoredLogit> for VbLogit {
    type Error = ModelError;

    fn try_from(mut stored: StoredLogit) -> Result<Self, ModelError> {
        std::mem::take(&mut stored.seal).check(&stored)?;
        let StoredLogit { settings, scaling, fit, info, .. } = stored;
        let columns = scaling.scales.len();
        scaling.check(columns)?;
        check::length("weights", columns + usize::from(settings.intercept), fit.weights().dim())?;
        if fit.grouping() != settings.grouping() || fit.local_bound() != settings.bound {
            return Err(ModelError::Document { what: "fit and its settings" });
        }
        Ok(Self { settings, scaling, fit, info })
    }
}

impl Serialize for VbLogit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut stored = StoredLogit {
            seal: Seal::default(),
            settings: self.settings,
            scaling: self.scaling.clone(),
            fit: self.fit.clone(),
            info: self.info.clone(),
        };
        stored.seal = Seal::of(&stored).map_err(S::Error::custom)?;
        stored.serialize(serializer)
    }
}
