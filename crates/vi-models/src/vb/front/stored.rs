//! The stored forms of the front door's models, checked when read.

use serde::Deserialize;

use super::scaling::Scaling;
use super::{FitInfo, VbLinear, VbLinearSettings, VbLogit, VbLogitSettings, VbSparse, VbSparseSettings};
use crate::vb::{LinearFit, LogitFit, SparseFit};
use crate::{ModelError, check};

#[derive(Deserialize)]
pub(super) struct StoredLinear {
    settings: VbLinearSettings,
    rows: usize,
    scaling: Scaling,
    target: Scaling,
    fit: LinearFit,
    info: FitInfo,
}

impl TryFrom<StoredLinear> for VbLinear {
    type Error = ModelError;

    fn try_from(stored: StoredLinear) -> Result<Self, ModelError> {
        let StoredLinear { settings, rows, scaling, target, fit, info } = stored;
        let columns = fit.weights().dim();
        scaling.check(columns)?;
        target.check(1)?;
        check::positive("rows", rows as f64)?;
        check::length("shrinkage", if settings.ard { columns } else { 1 }, fit.shrinkage().len())?;
        Ok(Self { settings, rows, scaling, target, fit, info })
    }
}

#[derive(Deserialize)]
pub(super) struct StoredSparse {
    settings: VbSparseSettings,
    rows: usize,
    scaling: Scaling,
    target: Scaling,
    fit: SparseFit,
    info: FitInfo,
}

impl TryFrom<StoredSparse> for VbSparse {
    type Error = ModelError;

    fn try_from(stored: StoredSparse) -> Result<Self, ModelError> {
        let StoredSparse { settings, rows, scaling, target, fit, info } = stored;
        scaling.check(fit.weights().dim())?;
        target.check(1)?;
        check::positive("rows", rows as f64)?;
        Ok(Self { settings, rows, scaling, target, fit, info })
    }
}

#[derive(Deserialize)]
pub(super) struct StoredLogit {
    settings: VbLogitSettings,
    scaling: Scaling,
    fit: LogitFit,
    info: FitInfo,
}

impl TryFrom<StoredLogit> for VbLogit {
    type Error = ModelError;

    fn try_from(stored: StoredLogit) -> Result<Self, ModelError> {
        let StoredLogit { settings, scaling, fit, info } = stored;
        let columns = scaling.scales.len();
        scaling.check(columns)?;
        check::length("weights", columns + usize::from(settings.intercept), fit.weights().dim())?;
        if fit.grouping() != settings.grouping() || fit.local_bound() != settings.bound {
            return Err(ModelError::Unlike { shard: 0, what: "fit and its settings" });
        }
        Ok(Self { settings, scaling, fit, info })
    }
}
