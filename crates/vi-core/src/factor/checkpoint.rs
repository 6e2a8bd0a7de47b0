//! Factor analyses of streams as bytes.

use serde::{Deserialize, Serialize};
use vi_linalg::LowRank;
use vi_linalg::faer::Mat;

use super::online::{Averaging, OnlineEm, OnlineSettings};
use super::recursive::{RecursiveEm, RecursiveSettings};
use super::settings::{Diagonal, DiagonalSettings, UpdateSettings};
use super::weights::Weights;
use crate::Error;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::error::{check_finite, check_len};

/// The stored form of a [`RecursiveEm`]: settings, `ψ`, `W` row by row, and what was counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecursiveWire {
    factor: FactorWire,
    weights: WeightsWire,
    inner_loops: u64,
    diagonal: DiagonalWire,
    seen: u64,
    floored: u64,
}

/// The stored form of an [`OnlineEm`]: settings, the iterate, the average, the statistics, and what was counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OnlineWire {
    iterate: FactorWire,
    average: Option<FactorWire>,
    s1: Vec<f64>,
    s2: Vec<f64>,
    s3: Vec<f64>,
    exponent: f64,
    averaging: AveragingWire,
    diagonal: DiagonalWire,
    seen: u64,
    floored: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct FactorWire {
    rank: u64,
    psi: Vec<f64>,
    w: Vec<f64>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct DiagonalWire {
    isotropic: bool,
    floor: Option<f64>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum WeightsWire {
    Mean,
    MeanAsPrinted,
    Sum,
    Fading { memory: f64 },
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum AveragingWire {
    Off,
    After { from: u64 },
    AsPrinted { after: u64 },
}

impl Checkpoint for RecursiveEm {
    const KIND: &'static str = "vi-core/recursive-em";

    type Wire = RecursiveWire;

    fn to_wire(&self) -> Result<RecursiveWire, Error> {
        let RecursiveSettings { weights, update } = self.settings;
        Ok(RecursiveWire {
            factor: FactorWire::of(&self.factor),
            weights: match weights {
                Weights::Mean => WeightsWire::Mean,
                Weights::MeanAsPrinted => WeightsWire::MeanAsPrinted,
                Weights::Sum => WeightsWire::Sum,
                Weights::Fading { memory } => WeightsWire::Fading { memory },
            },
            inner_loops: update.inner_loops as u64,
            diagonal: DiagonalWire::of(update.diagonal),
            seen: self.seen as u64,
            floored: self.floored as u64,
        })
    }

    fn from_wire(wire: RecursiveWire) -> Result<Self, Error> {
        let read = || {
            let weights = match wire.weights {
                WeightsWire::Mean => Weights::Mean,
                WeightsWire::MeanAsPrinted => Weights::MeanAsPrinted,
                WeightsWire::Sum => Weights::Sum,
                WeightsWire::Fading { memory } => Weights::Fading { memory },
            };
            let update = UpdateSettings::new(count(wire.inner_loops), wire.diagonal.settings()?)?;
            let settings = RecursiveSettings::new(weights, update)?;
            let mut state = Self::new(wire.factor.factor()?, settings);
            (state.seen, state.floored) = (counted("seen", wire.seen)?, counted("floored", wire.floored)?);
            Ok(state)
        };
        read().map_err(CheckpointError::contents)
    }
}

impl Checkpoint for OnlineEm {
    const KIND: &'static str = "vi-core/online-em";

    type Wire = OnlineWire;

    fn to_wire(&self) -> Result<OnlineWire, Error> {
        Ok(OnlineWire {
            iterate: FactorWire::of(&self.iterate),
            average: self.average.as_ref().map(FactorWire::of),
            s1: self.s1.clone(),
            s2: self.s2.clone(),
            s3: self.s3.col_iter().flat_map(|column| column.iter().copied().collect::<Vec<_>>()).collect(),
            exponent: self.settings.exponent,
            averaging: match self.settings.averaging {
                Averaging::Off => AveragingWire::Off,
                Averaging::After { from } => AveragingWire::After { from: from as u64 },
                Averaging::AsPrinted { after } => AveragingWire::AsPrinted { after: after as u64 },
            },
            diagonal: DiagonalWire::of(self.settings.diagonal),
            seen: self.seen as u64,
            floored: self.floored as u64,
        })
    }

    fn from_wire(wire: OnlineWire) -> Result<Self, Error> {
        read_online(wire).map_err(CheckpointError::contents)
    }
}

fn read_online(wire: OnlineWire) -> Result<OnlineEm, Error> {
    let averaging = match wire.averaging {
        AveragingWire::Off => Averaging::Off,
        AveragingWire::After { from } => Averaging::After { from: count(from) },
        AveragingWire::AsPrinted { after } => Averaging::AsPrinted { after: count(after) },
    };
    let settings = OnlineSettings::new(wire.exponent, averaging, wire.diagonal.settings()?)?;
    let iterate = wire.iterate.factor()?;
    let average = wire.average.map(FactorWire::factor).transpose()?;
    let (d, p) = (iterate.dim(), iterate.rank());
    if let Some(average) = &average {
        check_len("rows of the average", d, average.dim())?;
        check_len("columns of the average", p, average.rank())?;
    }
    for (argument, expected, values) in
        [("S₁", d, &wire.s1), ("S₂", d.saturating_mul(p), &wire.s2), ("S₃", p.saturating_mul(p), &wire.s3)]
    {
        check_len(argument, expected, values.len())?;
        check_finite(argument, values)?;
    }
    let s3 = Mat::from_fn(p, p, |i, j| wire.s3[j * p + i]);
    let (seen, floored) = (counted("seen", wire.seen)?, counted("floored", wire.floored)?);
    Ok(OnlineEm { iterate, average, s1: wire.s1, s2: wire.s2, s3, settings, seen, floored })
}

impl FactorWire {
    fn of(factor: &LowRank) -> Self {
        Self { rank: factor.rank() as u64, psi: factor.psi().to_vec(), w: factor.w_row_major().to_vec() }
    }

    fn factor(self) -> Result<LowRank, Error> {
        Ok(LowRank::from_row_major(self.w, count(self.rank), self.psi)?)
    }
}

impl DiagonalWire {
    fn of(settings: DiagonalSettings) -> Self {
        Self { isotropic: settings.form() == Diagonal::Isotropic, floor: settings.floor() }
    }

    fn settings(self) -> Result<DiagonalSettings, Error> {
        let settings = DiagonalSettings::new(if self.isotropic { Diagonal::Isotropic } else { Diagonal::Free });
        self.floor.map_or(Ok(settings), |floor| settings.with_floor(floor))
    }
}

/// What a stream can have counted: such that it can go on counting.
fn counted(name: &'static str, value: u64) -> Result<usize, Error> {
    if value < 1 << 53 {
        Ok(count(value))
    } else {
        Err(Error::Setting { name, value: value as f64, requirement: "below 2⁵³" })
    }
}

fn count(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
