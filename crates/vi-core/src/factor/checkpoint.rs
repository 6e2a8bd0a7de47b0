//! Factor analyses of streams, stored as bytes.

use serde::{Deserialize, Serialize};
use vi_linalg::LowRank;
use vi_linalg::faer::Mat;

use super::online::{OnlineEm, OnlineSettings};
use super::recursive::{RecursiveEm, RecursiveSettings};
use super::update::check_rank;
use crate::checkpoint::{Checkpoint, CheckpointError, counted};
use crate::{Error, check};

/// The stored form of a [`RecursiveEm`]: `ψ`, `W` row by row, settings, and what was counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecursiveWire {
    factor: FactorWire,
    settings: RecursiveSettings,
    seen: u64,
    floored: u64,
}

/// The stored form of an [`OnlineEm`]: the iterate, the average, the statistics, settings, and what was counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OnlineWire {
    iterate: FactorWire,
    average: Option<FactorWire>,
    s1: Vec<f64>,
    s2: Vec<f64>,
    s3: Vec<f64>,
    settings: OnlineSettings,
    seen: u64,
    floored: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct FactorWire {
    rank: usize,
    psi: Vec<f64>,
    w: Vec<f64>,
}

impl Checkpoint for RecursiveEm {
    const KIND: &'static str = "vi-core/recursive-em";

    type Wire = RecursiveWire;

    fn to_wire(&self) -> Result<RecursiveWire, Error> {
        check_rank(&self.factor)?;
        let (settings, seen, floored) = (self.settings, self.seen as u64, self.floored as u64);
        Ok(RecursiveWire { factor: FactorWire::of(&self.factor), settings, seen, floored })
    }

    fn from_wire(wire: RecursiveWire) -> Result<Self, Error> {
        let read = || {
            let mut state = Self::new(wire.factor.factor()?, &wire.settings)?;
            (state.seen, state.floored) = (count("seen", wire.seen)?, count("floored", wire.floored)?);
            Ok(state)
        };
        read().map_err(CheckpointError::contents)
    }
}

impl Checkpoint for OnlineEm {
    const KIND: &'static str = "vi-core/online-em";

    type Wire = OnlineWire;

    fn to_wire(&self) -> Result<OnlineWire, Error> {
        check_rank(&self.iterate)?;
        Ok(OnlineWire {
            iterate: FactorWire::of(&self.iterate),
            average: self.average.as_ref().map(FactorWire::of),
            s1: self.s1.clone(),
            s2: self.s2.clone(),
            s3: self.s3.col_iter().flat_map(|column| column.iter().copied().collect::<Vec<_>>()).collect(),
            settings: self.settings,
            seen: self.seen as u64,
            floored: self.floored as u64,
        })
    }

    fn from_wire(wire: OnlineWire) -> Result<Self, Error> {
        read_online(wire).map_err(CheckpointError::contents)
    }
}

fn read_online(wire: OnlineWire) -> Result<OnlineEm, Error> {
    wire.settings.check()?;
    let iterate = wire.iterate.factor()?;
    let average = wire.average.map(FactorWire::factor).transpose()?;
    let (d, p) = (iterate.dim(), iterate.rank());
    if let Some(average) = &average {
        check::length("rows of the average", d, average.dim())?;
        check::length("columns of the average", p, average.rank())?;
    }
    for (argument, expected, values) in
        [("S₁", d, &wire.s1), ("S₂", d.saturating_mul(p), &wire.s2), ("S₃", p.saturating_mul(p), &wire.s3)]
    {
        check::length(argument, expected, values.len())?;
        check::finite(argument, values)?;
    }
    let s3 = Mat::from_fn(p, p, |i, j| wire.s3[j * p + i]);
    let (seen, floored) = (count("seen", wire.seen)?, count("floored", wire.floored)?);
    Ok(OnlineEm { iterate, average, s1: wire.s1, s2: wire.s2, s3, settings: wire.settings, seen, floored })
}

impl FactorWire {
    fn of(factor: &LowRank) -> Self {
        Self { rank: factor.rank(), psi: factor.psi().to_vec(), w: factor.w_row_major().to_vec() }
    }

    fn factor(self) -> Result<LowRank, Error> {
        let factor = LowRank::from_row_major(self.w, self.rank, self.psi)?;
        check_rank(&factor).map(|()| factor)
    }
}

fn count(name: &'static str, value: u64) -> Result<usize, Error> {
    Ok(usize::try_from(counted(name, value)?).unwrap_or(usize::MAX))
}
