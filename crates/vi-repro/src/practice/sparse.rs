//! Sparse rows in many dimensions: what a row costs by `d`, and where a low rank pays over a diagonal.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "indices drawn below a length")]

use std::time::Instant;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::filter::{self, Scratch};
use vi_core::{Belief, BernoulliLogit, DiagonalGaussian, Implicit, LowRankGaussian, LowRankSettings, Mixture8, Upkeep};

use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::looks::looks;
use crate::plot::palette::{GREY, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Shown, Table};
use crate::streams::generator;

const RULE: Implicit<BernoulliLogit> = Implicit(BernoulliLogit(Mixture8));
const RANK: usize = 10;
/// Entries of a row whose time is measured, and of one of the stream.
const ENTRIES: usize = 40;
/// Intervals hold nine in ten.
const LEVEL: f64 = 0.9;
const NORMAL: f64 = 1.644_853_626_951_472_2;

looks! {
    enum Kept {
        Full: "full", "low rank, all rows of W", ORANGE Solid Square;
        Lazy: "lazy", "low rank, the rows touched", BLUE Solid Disc;
        Diagonal: "diagonal", "diagonal", VERMILLION Solid Triangle;
    }
}

impl Kept {
    /// Calls `use_it` with a belief of this kind.
    fn with<T>(self, d: usize, use_it: impl Use<T>) -> Result<T, ReproError> {
        let mean = vec![0.0; d];
        if self == Self::Diagonal {
            return use_it.run(DiagonalGaussian::isotropic(&mean, 1.0).context(self.label())?).context(self.label());
        }
        let upkeep = if self == Self::Full { Upkeep::Full } else { Upkeep::Chosen };
        let settings = LowRankSettings::blocked(RANK).and_then(|settings| settings.with_upkeep(upkeep));
        let belief =
            settings.and_then(|settings| LowRankGaussian::isotropic(&mean, 1.0, settings)).context(self.label())?;
        use_it.run(belief).context(self.label())
    }
}

/// What is done with a belief, whatever its kind.
trait Use<T> {
    fn run<B: Belief>(self, belief: B) -> Result<T, vi_core::Error>;
}

type SparseRow = (Vec<usize>, Vec<f64>);

/// The least time of a row, by whole blocks.
struct Timed {
    d: usize,
    blocks: usize,
    rng: ChaCha8Rng,
}

impl Use<f64> for Timed {
    fn run<B: Belief>(mut self, mut belief: B) -> Result<f64, vi_core::Error> {
        const BLOCK: usize = 64;
        let (stride, mut scratch, mut least) = (self.d / ENTRIES, Scratch::default(), f64::INFINITY);
        // The first blocks meet W = 0 and memory for the first time.
        for repetition in 0..self.blocks + 2 {
            let rows: Vec<SparseRow> = (0..BLOCK)
                .map(|_| {
                    let positions = (0..ENTRIES).map(|k| k * stride + self.rng.random_range(0..stride)).collect();
                    (positions, (0..ENTRIES).map(|_| self.rng.random::<f64>() - 0.5).collect())
                })
                .collect();
            let begun = Instant::now();
            for (t, (positions, values)) in rows.iter().enumerate() {
                filter::step(&mut belief, &RULE, (positions, values), (t % 2) as f64, &mut scratch)?;
            }
            if repetition > 1 {
                least = least.min(begun.elapsed().as_secs_f64() / BLOCK as f64);
            }
        }
        Ok(least)
    }
}

/// A stream whose features go together in groups, or not, with the truth.
struct Stream {
    theta: Vec<f64>,
    rows: Vec<SparseRow>,
    labels: Vec<f64>,
}

impl Stream {
    /// `shared` is the part of an entry that its group has in common.
    fn new(d: usize, n: usize, shared: f64, rng: &mut ChaCha8Rng) -> Self {
        const GROUPS: usize = 12;
        const WITHIN: usize = 20;
        let theta: Vec<f64> = (0..d)
            .map(|_| {
                let z: f64 = StandardNormal.sample(rng);
                0.5 * z
            })
            .collect();
        let (mut rows, mut labels) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let own = (1.0 - shared * shared).sqrt();
        for _ in 0..n {
            let (group, size) = (rng.random_range(0..GROUPS), d / GROUPS);
            let common: f64 = StandardNormal.sample(rng);
            let mut positions: Vec<usize> = (0..WITHIN)
                .map(|_| group * size + ((size as f64).powf(rng.random::<f64>()) as usize - 1) % size)
                .collect();
            positions.sort_unstable();
            positions.dedup();
            let values: Vec<f64> = positions
                .iter()
                .map(|_| {
                    let z: f64 = StandardNormal.sample(rng);
                    shared * common + own * z
                })
                .collect();
            let score: f64 = positions.iter().zip(&values).map(|(&i, x)| theta[i] * x).sum();
            labels.push(f64::from(u8::from(rng.random::<f64>() < 1.0 / (1.0 + (-score).exp()))));
            rows.push((positions, values));
        }
        Self { theta, rows, labels }
    }
}

/// Log loss one step ahead, and the share of the true scores of the last quarter's rows that intervals before the row held.
struct Scored<'a>(&'a Stream);

impl Use<(f64, f64)> for Scored<'_> {
    fn run<B: Belief>(self, mut belief: B) -> Result<(f64, f64), vi_core::Error> {
        let Stream { theta, rows, labels } = self.0;
        let (mut scratch, mut loss, mut held) = (Scratch::default(), 0.0, 0);
        let from = 3 * rows.len() / 4;
        for (t, ((positions, values), &label)) in rows.iter().zip(labels).enumerate() {
            let seen = filter::step(&mut belief, &RULE, (positions, values), label, &mut scratch)?.projection;
            let scaled = seen.mean / (1.0 + std::f64::consts::PI * seen.variance / 8.0).sqrt();
            loss += (1.0 + (if label > 0.5 { -scaled } else { scaled }).exp()).ln();
            let truth: f64 = positions.iter().zip(values).map(|(&i, x)| theta[i] * x).sum();
            held += usize::from(t >= from && (truth - seen.mean).abs() <= NORMAL * seen.variance.sqrt());
        }
        Ok((loss / rows.len() as f64, held as f64 / (rows.len() - from) as f64))
    }
}

pub(super) fn run(ctx: &Context) -> Result<Outcome, ReproError> {
    let dims: Vec<usize> = [10_000, 100_000, 1_000_000].into_iter().take(ctx.pick(3, 2)).collect();
    ctx.steps(dims.len() + 2);
    let mut times = Table::new("times", &["d", "kept", "seconds_a_row"]);
    let mut seconds = [const { Vec::new() }; 3];
    for &d in &dims {
        for (kept, seconds) in Kept::ALL.into_iter().zip(&mut seconds) {
            let blocks = if kept == Kept::Full { 2 } else { 8 };
            let least = kept.with(d, Timed { d, blocks, rng: generator(ctx.seed, 1) })?;
            times.push(&[&d, &kept.label(), &least])?;
            seconds.push(least);
        }
        ctx.step("times");
    }
    let mut quality = Table::new("quality", &["shared", "kept", "log_loss", "coverage"]);
    let (mut rows, mut scores) = (Vec::new(), Vec::new());
    for shared in [0.0, 0.9] {
        let stream = Stream::new(6000, ctx.pick(6000, 1500), shared, &mut generator(ctx.seed, 2));
        let found = Kept::ALL.map(|kept| kept.with(6000, Scored(&stream)));
        let found = found.into_iter().collect::<Result<Vec<_>, _>>()?;
        for (kept, (loss, coverage)) in Kept::ALL.into_iter().zip(&found) {
            quality.push(&[&shared, &kept.label(), loss, coverage])?;
        }
        let name = if shared == 0.0 { "features apart" } else { "features in groups" };
        let cells = found.iter().map(|(loss, coverage)| format!("{loss:.4} nats, {:.0} %", 100.0 * coverage));
        rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
        scores.push(found);
        ctx.step(name);
    }
    let micro = |k: usize| seconds[k].iter().map(|s| 1e6 * s).collect::<Vec<f64>>();
    let x: Vec<f64> = dims.iter().map(|&d| d as f64).collect();
    let mut by_dim = Panel::new("Time of a row", Axis::log("d"), Axis::log("microseconds"));
    let mut coverage = Panel::new(
        "Intervals of the true scores",
        Axis::linear("share of 90 % intervals that hold it").range(0.0, 1.0),
        Axis::categories("", vec!["in groups".to_owned(), "apart".to_owned()]),
    )
    .vertical(LEVEL, Style::solid(GREY), "90 %");
    for (k, kept) in Kept::ALL.into_iter().enumerate() {
        by_dim = by_dim.line_marked(&x, &micro(k), kept.style(), 1, kept.label());
        let held: Vec<f64> = scores.iter().map(|found| found[k].1).collect();
        coverage = coverage.points(&held, &[1.0, 0.0], kept.style(), 6.0, kept.label());
    }
    let (apart, groups) = (&scores[0], &scores[1]);
    let near = scores.iter().map(|found| (found[0].0 - found[1].0).abs()).fold(0.0, f64::max);
    let last = dims.len() - 1;
    let gained = groups[2].0 - groups[1].0;
    Ok(Outcome {
        checks: vec![
            words().fact("rewriting-only-rows-touch", near < 1e-3, &[&near]),
            words().fact("low-rank-has-lower", gained > 0.0, &[&gained]),
            words().fact(
                "time-row-follow-d",
                seconds[1][last] < 3.0 * seconds[1][0],
                &[&(seconds[1][last] / seconds[1][0]), &dims[last], &dims[0]],
            ),
        ],
        shown: Shown::new(std::iter::once("").chain(Kept::ALL.map(Kept::label)), rows),
        tables: vec![times, quality],
        figure: Figure::new("Sparse rows in many dimensions").row(360.0, vec![by_dim, coverage]),
        ..words().outcome(
            ctx,
            &[
                &dims[last],
                &ENTRIES,
                &(1e6 * seconds[0][last]),
                &(1e6 * seconds[1][last]),
                &gained,
                &(apart[2].0 - apart[1].0),
                &RANK,
            ],
        )
    })
}
