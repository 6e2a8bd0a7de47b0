//! The stored forms of the models for plain slices: sealed, and checked when read.

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use vi_core::checkpoint::Seal;

use super::scaling::Scaling;
use super::{FitInfo, VbLinear, VbLinearSettings, VbLogit, VbLogitSettings};
use crate::vb::{LinearFit, LogitFit};
use crate::{ModelError, check};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredLinear {
    seal: Seal,
    settings: VbLinearSettings,
    rows: usize,
    scaling: Scaling,
    target: Scaling,
    fit: LinearFit,
    info: FitInfo,
}

impl TryFrom<StoredLinear> for VbLinear {
    type Error = ModelError;

    fn try_from(mut stored: StoredLinear) -> Result<Self, ModelError> {
        std::mem::take(&mut stored.seal).check(&stored)?;
        let StoredLinear { settings, rows, scaling, target, fit, info, .. } = stored;
        let columns = fit.weights().dim();
        scaling.check(columns)?;
        target.check(1)?;
        check::positive("rows", rows as f64)?;
        check::length("shrinkage", if settings.ard { columns } else { 1 }, fit.shrinkage().len())?;
        Ok(Self { settings, rows, scaling, target, fit, info })
    }
}

impl Serialize for VbLinear {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { settings, rows, scaling, target, fit, info } = self.clone();
        let mut stored = StoredLinear { seal: Seal::default(), settings, rows, scaling, target, fit, info };
        stored.seal = Seal::of(&stored).map_err(S::Error::custom)?;
        stored.serialize(serializer)
    }
}

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
