//! Sparse rows in many dimensions: what a row costs by `d`, and where a low rank pays over a diagonal.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "indices drawn below a length")]

use std::time::Instant;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::filter::{self, Scratch};
use vi_core::{Belief, BernoulliLogit, DiagonalGaussian, Implicit, LowRankGaussian, LowRankSettings, Mixture8, Upkeep};

use crate::error::ReproError;
use crate::item::Context;
use crate::plot::palette::{BLUE, GREY, Marker, ORANGE, Style, VERMILLION};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Shown, Table, cell, number};
use crate::streams::generator;

const RULE: Implicit<BernoulliLogit> = Implicit(BernoulliLogit(Mixture8));
const RANK: usize = 10;
/// Entries of a row whose time is measured, and of one of the stream.
const ENTRIES: usize = 40;
/// Intervals hold nine in ten.
const LEVEL: f64 = 0.9;
const NORMAL: f64 = 1.644_853_626_951_472_2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Full,
    Lazy,
    Diagonal,
}

impl Kept {
    const ALL: [Self; 3] = [Self::Full, Self::Lazy, Self::Diagonal];

    fn label(self) -> &'static str {
        match self {
            Self::Full => "low rank, all rows of W",
            Self::Lazy => "low rank, the rows touched",
            Self::Diagonal => "diagonal",
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Full => Style::solid(ORANGE).marker(Marker::Square),
            Self::Lazy => Style::solid(BLUE).marker(Marker::Disc),
            Self::Diagonal => Style::solid(VERMILLION).marker(Marker::Triangle),
        }
    }

    /// Calls `use_it` with a belief of this kind.
    fn with<T>(self, d: usize, use_it: impl Use<T>) -> Result<T, ReproError> {
        let fail = |e| ReproError::computation(self.label(), &e);
        let mean = vec![0.0; d];
        if self == Self::Diagonal {
            return use_it.run(DiagonalGaussian::isotropic(&mean, 1.0).map_err(fail)?).map_err(fail);
        }
        let upkeep = if self == Self::Full { Upkeep::Full } else { Upkeep::Chosen };
        let settings = LowRankSettings::blocked(RANK).and_then(|settings| settings.with_upkeep(upkeep));
        let belief = settings.and_then(|settings| LowRankGaussian::isotropic(&mean, 1.0, settings)).map_err(fail)?;
        use_it.run(belief).map_err(fail)
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
            times.push(vec![d.to_string(), kept.label().to_owned(), cell(least)])?;
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
            quality.push(vec![cell(shared), kept.label().to_owned(), cell(*loss), cell(*coverage)])?;
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
        summary: format!(
            "At d = {} a row of {ENTRIES} entries takes {} µs where all rows of W are rewritten, {} µs where those it touches are; a low rank gains {} nats over a diagonal where features go together, {} where not.",
            dims[last],
            number(1e6 * seconds[0][last]),
            number(1e6 * seconds[1][last]),
            number(gained),
            number(apart[2].0 - apart[1].0),
        ),
        caption: format!(
            "Left: the least time of a row, by blocks, rank {RANK}, one thread. Right: how many true scores of the last quarter's rows 90 % intervals hold, each before the row is learned; 6000 weights, twenty entries a row, whose features share 0.9 of their values' standard deviation in their group, or nothing."
        ),
        quote: String::new(),
        notes: vec!["Times are those of this machine, with whatever else ran on it.".to_owned()],
        claims: vec![],
        promises: vec![Check::fact(
            "Rewriting only what rows touch changes the log loss by less than 0.001 nats a row".to_owned(),
            near < 1e-3,
            format!("{} nats", number(near)),
        )],
        findings: vec![
            Check::fact(
                "A low rank has the lower log loss where features go together".to_owned(),
                gained > 0.0,
                format!("by {} nats a row", number(gained)),
            ),
            Check::fact(
                "The time of a row does not follow d where only what rows touch is rewritten".to_owned(),
                seconds[1][last] < 3.0 * seconds[1][0],
                format!(
                    "{} times as long at {} as at {}",
                    number(seconds[1][last] / seconds[1][0]),
                    dims[last],
                    dims[0]
                ),
            ),
        ],
        quantities: vec![],
        shown: Shown { head: std::iter::once("").chain(Kept::ALL.map(Kept::label)).map(String::from).collect(), rows },
        tables: vec![times, quality],
        figure: Figure::new("Sparse rows in many dimensions").row(360.0, vec![by_dim, coverage]),
    })
}
