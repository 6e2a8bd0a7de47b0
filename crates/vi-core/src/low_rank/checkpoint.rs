//! A low-rank belief stored as bytes, buffered rows included.

use serde::{Deserialize, Serialize};
use vi_linalg::LowRank;
use vi_linalg::faer::Mat;
use vi_linalg::low_rank::Capacitance;

use super::LowRankGaussian;
use super::belief::ProjectionCounts;
use super::columns::SparseBuffer;
use super::lazy::Lazy;
use super::lazy_wire::LazyWire;
use super::range::{self, Bounds};
use super::settings::{LowRankSettings, MeanMoves, Scheme, Upkeep};
use super::space::{Space, SpaceRow};
use super::storage::{Core, Full, Storage};
use super::waiting::{Waiting, WaitingRows};
use crate::check;
use crate::checkpoint::{Checkpoint, CheckpointError, counted};
use crate::{Belief, Error, Row};

/// The stored form of a [`LowRankGaussian`]: settings, `μ₀`, `ψ`, `W` row by row, `WᵀΨ⁻¹W`, and the buffered rows with their
/// sites and products.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LowRankWire {
    scheme: SchemeWire,
    rank: u64,
    mean: Vec<f64>,
    psi: Vec<f64>,
    w: Vec<f64>,
    gram: Vec<f64>,
    projections: u64,
    lifted: u64,
    begun: f64,
    scale: f64,
    space: Vec<SpaceRow>,
    rows: RowsWire,
}

/// The way of projection. Later variants stand last, so that records of an earlier release keep their numbers.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum SchemeWire {
    /// The blocked form with the default upkeep, kept in full.
    Blocked {
        block: u64,
        inner_loops: u64,
    },
    OneLoop,
    Recursive {
        inner_loops: u64,
        after: bool,
    },
    /// The blocked form with another upkeep, or kept lazily: `mean`, `psi` and `w` are then as blocks have written them.
    Kept {
        block: u64,
        inner_loops: u64,
        upkeep: UpkeepWire,
        /// A bound that records of an earlier version may hold; it is not kept.
        most_owed: Option<f64>,
        lazy: Option<LazyWire>,
    },
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum UpkeepWire {
    Chosen,
    Full,
    Lazy { sweep: u64 },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum RowsWire {
    Dense(Vec<f64>),
    /// Positions and values of each row.
    Sparse(Vec<(Vec<u64>, Vec<f64>)>),
}

impl Checkpoint for LowRankGaussian {
    const KIND: &'static str = "vi-core/low-rank";

    type Wire = LowRankWire;

    fn to_wire(&self) -> Result<LowRankWire, Error> {
        let p = self.rank();
        let (core, (w, psi, mean)) = (self.core(), self.written());
        check::finite("mean", &mean).and_then(|()| check::finite("psi", &psi)).map_err(CheckpointError::contents)?;
        for (j, row) in core.waiting.space.rows.iter().enumerate() {
            check_row(row, j, p).map_err(|error| CheckpointError::contents(error.at_row(j)))?;
        }
        Ok(LowRankWire {
            scheme: self.scheme_wire(),
            rank: p as u64,
            mean,
            psi,
            w,
            gram: (0..p).flat_map(|j| (j..p).map(move |i| core.gram[(i, j)])).collect(),
            projections: core.counts.projections,
            lifted: core.counts.lifted,
            begun: core.begun,
            scale: core.scale,
            space: core.waiting.space.rows.clone(),
            rows: match &core.waiting.rows {
                WaitingRows::Dense(values) => RowsWire::Dense(values.clone()),
                WaitingRows::Sparse(rows) if rows.len() == 0 => RowsWire::Dense(Vec::new()),
                WaitingRows::Sparse(rows) => RowsWire::Sparse(
                    (0..rows.len())
                        .map(|j| {
                            let (indices, values) = rows.rows().pieces(j);
                            (indices.iter().map(|&i| i as u64).collect(), values.to_vec())
                        })
                        .collect(),
                ),
            },
        })
    }

    fn from_wire(wire: LowRankWire) -> Result<Self, Error> {
        read(wire).map_err(CheckpointError::contents)
    }
}

impl LowRankGaussian {
    fn scheme_wire(&self) -> SchemeWire {
        let settings = self.core().settings;
        match settings.scheme {
            Scheme::Blocked { block, inner_loops } => {
                let (block, inner_loops) = (block as u64, inner_loops as u64);
                let lazy = match &self.storage {
                    Storage::Full(_) => None,
                    Storage::Lazy(lazy) => Some(LazyWire::of(&lazy.records, lazy.core.bounds)),
                };
                let upkeep = match settings.upkeep() {
                    Upkeep::Chosen if lazy.is_none() => return SchemeWire::Blocked { block, inner_loops },
                    Upkeep::Chosen => UpkeepWire::Chosen,
                    Upkeep::Full => UpkeepWire::Full,
                    Upkeep::Lazy { sweep } => UpkeepWire::Lazy { sweep: sweep as u64 },
                };
                SchemeWire::Kept { block, inner_loops, upkeep, most_owed: None, lazy }
            }
            Scheme::OneLoop => SchemeWire::OneLoop,
            Scheme::Recursive { inner_loops, mean } => {
                SchemeWire::Recursive { inner_loops: inner_loops as u64, after: mean == MeanMoves::AfterProjection }
            }
        }
    }

    /// `W` row after row, `ψ` and `μ₀`, as blocks have written them.
    fn written(&self) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        match &self.storage {
            Storage::Full(Full { precision, mean, .. }) => {
                (precision.w_row_major().to_vec(), precision.psi().to_vec(), mean.clone())
            }
            Storage::Lazy(lazy) => lazy.records.written(),
        }
    }
}

fn read(mut wire: LowRankWire) -> Result<LowRankGaussian, Error> {
    let settings = settings(&wire.scheme, wire.rank)?;
    let lazy = match &mut wire.scheme {
        SchemeWire::Kept { lazy, .. } => lazy.take(),
        _ => None,
    };
    let (d, p) = (wire.mean.len(), settings.rank());
    if d == 0 {
        return Err(Error::Empty { argument: "mean" });
    }
    check::finite("mean", &wire.mean)?;
    check::positive("smallest psi", wire.begun)?;
    check::positive("scale", wire.scale)?;
    check::length("psi", d, wire.psi.len())?;
    check::length("W", d.saturating_mul(p), wire.w.len())?;
    check::length("Gram matrix", p * (p + 1) / 2, wire.gram.len())?;
    check::finite("Gram matrix", &wire.gram)?;
    let mut gram = Mat::zeros(p, p);
    let mut entries = wire.gram.into_iter();
    for j in 0..p {
        for (i, value) in (j..p).zip(&mut entries) {
            gram[(i, j)] = value;
        }
    }
    let k = wire.space.len();
    let mut rows = WaitingRows::default();
    match wire.rows {
        RowsWire::Dense(values) => {
            check::length("rows that wait", k.saturating_mul(d), values.len())?;
            check::finite("rows that wait", &values)?;
            rows = WaitingRows::Dense(values);
        }
        RowsWire::Sparse(found) => {
            check::length("rows that wait", k, found.len())?;
            let mut sparse = SparseBuffer::default();
            for (indices, values) in &found {
                let indices: Vec<usize> = indices.iter().map(|&i| usize::try_from(i).unwrap_or(usize::MAX)).collect();
                Row::from((&indices, values)).check(d)?;
                sparse.push((&indices, values));
            }
            if k > 0 {
                rows = WaitingRows::Sparse(sparse);
            }
        }
    }
    if k >= settings.block() && k > 0 {
        return Err(Error::Dimension { argument: "rows that wait", expected: settings.block() - 1, found: k });
    }
    for (j, row) in wire.space.iter().enumerate() {
        check_row(row, j, p).map_err(|error| error.at_row(j))?;
    }
    let precision = LowRank::from_row_major(wire.w, p, wire.psi)?;
    let lazy = lazy.map(|lazy| lazy.read(&precision, &wire.mean, &rows, k)).transpose()?;
    let bounds = lazy.as_ref().map_or_else(|| Bounds::of(precision.psi()), |(.., bounds)| *bounds);
    if let Some((records, ..)) = &lazy {
        // The rows as they are now.
        let (w, psi, _) = records.all();
        LowRank::from_row_major(w, p, psi)?;
    }
    let product = |j| match (&rows, &lazy) {
        (WaitingRows::Sparse(rows), Some((_, touched, _))) => {
            let (positions, values) = rows.rows().pieces(j);
            touched.own_product(positions, values)
        }
        (WaitingRows::Dense(values), _) => own_product(values[j * d..][..d].iter().zip(precision.psi())),
        (WaitingRows::Sparse(rows), None) => {
            let (positions, values) = rows.rows().pieces(j);
            own_product(values.iter().zip(positions.iter().map(|&i| &precision.psi()[i])))
        }
    };
    for (j, row) in wire.space.iter().enumerate() {
        check_own(row, product(j), d, bounds).map_err(|error| error.at_row(j))?;
    }
    check_sizes(&wire.space, &gram, d)?;
    let counts = ProjectionCounts {
        projections: counted("projections", wire.projections)?,
        lifted: counted("lifted", wire.lifted)?,
    };
    let core = Core {
        bounds,
        begun: wire.begun,
        scale: wire.scale,
        capacitance: Capacitance::from_gram(gram.clone())?,
        gram,
        waiting: Waiting { space: Space { rows: wire.space }, rows },
        settings,
        counts,
    };
    let belief = LowRankGaussian::of(match lazy {
        Some((records, touched, _)) => Storage::Lazy(Lazy { records, touched, core }),
        None => Storage::Full(Full { mean: wire.mean, precision, core }),
    });
    check::finite("mean with the buffered rows", belief.mean())?;
    Ok(belief)
}

fn settings(scheme: &SchemeWire, rank: u64) -> Result<LowRankSettings, Error> {
    let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let rank = count(rank);
    match *scheme {
        SchemeWire::Kept { block, inner_loops, upkeep, .. } => {
            let upkeep = match upkeep {
                UpkeepWire::Chosen => Upkeep::Chosen,
                UpkeepWire::Full => Upkeep::Full,
                UpkeepWire::Lazy { sweep } => Upkeep::Lazy { sweep: count(sweep) },
            };
            let blocked = LowRankSettings::blocked(rank)?.with_block(count(block))?;
            blocked.with_inner_loops(count(inner_loops))?.with_upkeep(upkeep)
        }
        SchemeWire::Blocked { block, inner_loops } => {
            LowRankSettings::blocked(rank)?.with_block(count(block))?.with_inner_loops(count(inner_loops))
        }
        SchemeWire::OneLoop => LowRankSettings::one_loop(rank),
        SchemeWire::Recursive { inner_loops, after } => {
            let mean = if after { MeanMoves::AfterProjection } else { MeanMoves::BeforeProjection };
            LowRankSettings::recursive(rank, count(inner_loops), mean)
        }
    }
}

fn check_row(row: &SpaceRow, j: usize, p: usize) -> Result<(), Error> {
    check::length("WᵀΨ⁻¹x", p, row.wx.len())?;
    check::length("whitened WᵀΨ⁻¹x", p, row.whitened.len())?;
    check::length("products with earlier rows", j + 1, row.xx.len())?;
    check::length("overlaps with earlier rows", j, row.overlaps.len())?;
    check::finite("site", &[row.slope, row.curvature, row.gain, row.shrinkage])?;
    for values in [&row.wx, &row.whitened, &row.xx, &row.overlaps] {
        check::finite("inner products of a row", values)?;
    }
    Ok(())
}

/// `xᵀΨ⁻¹x` of entries with their `ψ`.
fn own_product<'a>(entries: impl Iterator<Item = (&'a f64, &'a f64)>) -> f64 {
    entries.map(|(x, psi)| x * (x / psi)).sum()
}

/// Checks that a stored row agrees with its stored products, and that its site keeps the precision in range.
fn check_own(row: &SpaceRow, own: f64, d: usize, psi: Bounds) -> Result<(), Error> {
    let stored = row.own();
    // All terms are positive: two orders of summation differ by at most d roundings each.
    let rounding = 4.0 * (d + 8) as f64 * f64::EPSILON * stored.abs() + d as f64 * f64::MIN_POSITIVE;
    if (own - stored).abs() <= rounding {
        range::check_added(row.curvature.abs() * stored, psi)
    } else {
        Err(Error::Setting {
            name: "xᵀΨ⁻¹x of a buffered row",
            value: stored,
            requirement: "the product of the stored row",
        })
    }
}

/// Checks by the Cauchy-Schwarz inequality that the stored products of the rows are possible; a factor of 2 is left for rounding.
fn check_sizes(rows: &[SpaceRow], gram: &Mat<f64>, d: usize) -> Result<(), Error> {
    // Each of the d terms of a square may have underflowed.
    let root = |square: f64| (square + d as f64 * f64::MIN_POSITIVE).sqrt();
    let mut growth = 1.0;
    for (j, row) in rows.iter().enumerate() {
        let length = root(row.own());
        let at_most = |argument, values: &[f64], bound: &dyn Fn(usize) -> f64| match values
            .iter()
            .enumerate()
            .find(|(i, value)| value.abs() > 2.0 * bound(*i))
        {
            None => Ok(()),
            Some((index, &value)) => {
                Err(Error::Entry { argument, index, value, requirement: "at most the product of the two lengths" }
                    .at_row(j))
            }
        };
        at_most("WᵀΨ⁻¹x", &row.wx, &|i| root(gram[(i, i)]) * length)?;
        at_most("whitened WᵀΨ⁻¹x", &row.whitened, &|_| length)?;
        at_most("products with earlier rows", &row.xx, &|i| root(rows[i].own()) * length)?;
        at_most("overlaps with earlier rows", &row.overlaps, &|i| growth * root(rows[i].own()) * length)?;
        // c/h = 1/(1 + hν) with 0 ≤ ν ≤ xᵀΨ⁻¹x times the growth of the covariance; e = g·c/h.
        let stretch = if row.curvature < 0.0 { row.shrinkage / row.curvature } else { 1.0 };
        at_most("shrinkage", &[row.shrinkage], &|_| stretch * row.curvature.abs())?;
        at_most("gain", &[row.gain], &|_| stretch * row.slope.abs())?;
        growth *= stretch;
    }
    Ok(())
}
