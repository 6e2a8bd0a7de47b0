//! §5.2: linear regression in a million dimensions (Table 2).

use vi_core::{GaussianLikelihood, Kalman, LowRankGaussian, LowRankSettings, MeanMoves};
use vi_linalg::faer::MatRef;

use super::inputs::generator;
use super::memory::Watch;
use super::scale::Look::{self, Blocks, One, Paper, Printed};
use super::scale::{MEGA, Measured, NUMBER, par, rows, seconds, slope, table};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Quantity, Shown, join, number};

const RANKS: [usize; 4] = [1, 2, 10, 100];
/// Seconds and megabytes in the paper's Table 2, for each rank.
const PAPERS: [(f64, f64); 4] = [(0.06, 24.0), (0.2, 32.0), (0.7, 96.0), (6.0, 816.0)];
/// Inner loops of the paper's recursion.
const INNER_LOOPS: usize = 3;
const FORMS: [Look; 3] = [Printed, One, Blocks];
/// What the tiles of a pass take, whatever the dimension.
const SCRATCH: f64 = 4e6;
/// Dimensions over which growth is shown, as far as the run goes, and the rank there.
const DIMENSIONS: [usize; 6] = [3_160, 10_000, 31_600, 100_000, 316_000, 1_000_000];
const RANK_OF_GROWTH: usize = 10;

/// Linear regression with rank `p` in the given forms.
fn regression(ctx: &Context, d: usize, p: usize, forms: &[Look]) -> Result<Vec<Measured>, ReproError> {
    let rng = &mut generator(ctx.seed, p);
    let rule: Kalman = vi_core::Explicit(GaussianLikelihood::new(1.0).context("linear regression")?);
    let kept = NUMBER * (d * p + 2 * d) as f64;
    let mut out = Vec::new();
    for &look in forms {
        let printed = look == Printed;
        let settings = match look {
            Printed => LowRankSettings::recursive(p, INNER_LOOPS, MeanMoves::AfterProjection),
            One => LowRankSettings::one_loop(p),
            _ => LowRankSettings::blocked(p),
        };
        let settings = settings.context("linear regression")?;
        let block = settings.block();
        let rounds = match look {
            _ if d * p <= 1_000_000 => 6,
            look if p >= 100 && look != One => 1,
            _ => 3,
        };
        let (x, y) = (rows(block, d, rng), rows(1, block, rng));
        let x = MatRef::from_row_major_slice(&x, block, d);
        let (zero, ones) = (vec![0.0; d], vec![1.0; d]);
        let watch = Watch::start();
        let start = if printed {
            LowRankGaussian::with_small_factor(&zero, &ones, 1e-3, settings, rng)
        } else {
            LowRankGaussian::new(&zero, &ones, settings)
        };
        let mut belief = start.context("linear regression")?;
        Watch::forget_peak();
        let seconds = seconds(rounds, block, look, |_| belief.step_block(&rule, x, &y, par()).map(|_| ()))?;
        out.push(Measured { look, d, p, seconds, kept, peak: watch.peak() });
        ctx.step(&format!("{}, d = {d}, p = {p}", look.label()));
    }
    Ok(out)
}

/// All that was measured.
struct Runs {
    d: usize,
    ranks: Vec<Measured>,
    growth: Vec<Measured>,
}

impl Runs {
    fn new(ctx: &Context) -> Result<Self, ReproError> {
        let d = ctx.pick(1_000_000, 31_600);
        let dims = || DIMENSIONS.into_iter().filter(|n| *n <= d);
        ctx.steps(FORMS.len() * (RANKS.len() + 1) + 2 * dims().count());
        // Memory that the matrix library takes once and keeps.
        regression(ctx, 20_000, 100, &FORMS)?;
        let (mut ranks, mut growth) = (Vec::new(), Vec::new());
        for p in RANKS {
            ranks.extend(regression(ctx, d, p, &FORMS)?);
        }
        for n in dims() {
            growth.extend(regression(ctx, n, RANK_OF_GROWTH, &[One, Blocks])?);
        }
        Ok(Self { d, ranks, growth })
    }

    /// The paper's numbers are those of a million dimensions.
    fn scale(&self) -> f64 {
        self.d as f64 / 1e6
    }

    fn of(&self, look: Look, p: usize, value: impl Fn(&Measured) -> f64) -> f64 {
        self.ranks.iter().find(|m| m.look == look && m.p == p).map_or(f64::NAN, value)
    }

    fn seconds(&self, look: Look, p: usize) -> f64 {
        self.of(look, p, |m| m.seconds)
    }

    fn over_ranks(&self, look: Look, value: impl Fn(&Measured) -> f64 + Copy) -> [f64; 4] {
        RANKS.map(|p| self.of(look, p, value))
    }

    /// `(d, seconds)`.
    fn over_dimensions(&self, look: Look) -> (Vec<f64>, Vec<f64>) {
        self.growth.iter().filter(|m| m.look == look).map(|m| (m.d as f64, m.seconds)).unzip()
    }

    fn slopes(&self) -> Vec<(Look, f64)> {
        let slope_of = |look| {
            let (d, t) = self.over_dimensions(look);
            (look, slope(&d, &t))
        };
        [One, Blocks].map(slope_of).to_vec()
    }

    fn panels(&self) -> Vec<Panel> {
        let ranks = RANKS.map(|p| p as f64);
        let mut times =
            Panel::new(format!("time, d = {}", self.d), Axis::log("p"), Axis::log("seconds for one observation"));
        let mut memory = Panel::new(format!("peak memory, d = {}", self.d), Axis::log("p"), Axis::log("MB"));
        let mut growth = Panel::new(
            format!("growth, p = {RANK_OF_GROWTH}"),
            Axis::log("d"),
            Axis::log("seconds for one observation"),
        );
        let paper = format!("{} (memory kept)", Paper.label());
        times = times.line_marked(&ranks, &PAPERS.map(|(t, _)| t * self.scale()), Paper.style(), 1, &paper);
        memory = memory.line_marked(&ranks, &PAPERS.map(|(_, mb)| mb * self.scale()), Paper.style(), 1, &paper);
        for look in FORMS {
            times = times.line_marked(&ranks, &self.over_ranks(look, |m| m.seconds), look.style(), 1, look.label());
            memory =
                memory.line_marked(&ranks, &self.over_ranks(look, |m| m.peak / MEGA), look.style(), 1, look.label());
        }
        for look in [One, Blocks] {
            let (d, t) = self.over_dimensions(look);
            growth = growth.line_marked(&d, &t, look.style(), 1, look.label());
        }
        vec![times, memory, growth]
    }

    fn claims(&self) -> Vec<Check> {
        let (one, hundred) = (self.seconds(Printed, 1), self.seconds(Printed, 100));
        let peak = |p| self.of(Printed, p, |m| m.peak / MEGA);
        vec![
            words().fact(
                "low-rank-cheap",
                one < 0.1 * hundred && peak(1) < 0.1 * peak(100),
                &[&one, &hundred, &peak(1), &peak(100)],
            ),
            words().fact("million", peak(100) < 16e3, &[&peak(100), &self.d]),
        ]
    }

    fn quantities(&self) -> Vec<Quantity> {
        let text = |look: Look, p| {
            format!("{} s, {} MB kept", number(self.seconds(look, p)), number(self.of(look, p, |m| m.kept / MEGA)))
        };
        let row = |(p, (t, mb)): (usize, (f64, f64))| {
            Quantity::new(format!("p = {p}, one observation"))
                .paper(format!("{t} s, {mb} MB"))
                .printed(text(Printed, p))
                .works(format!("{}; blocks {} s", text(One, p), number(self.seconds(Blocks, p))))
        };
        RANKS.into_iter().zip(PAPERS).map(row).collect()
    }

    fn beyond(&self) -> Vec<Check> {
        let ratio = |look: Look, p| self.seconds(Printed, p) / self.seconds(look, p);
        let faster = |name: &str, look: Look| {
            let each = join(RANKS, ", ", |p| format!("{} (p = {p})", number(ratio(look, p))));
            words().fact(name, RANKS.iter().all(|p| ratio(look, *p) > 1.0), &[&each])
        };
        let ours = self.ranks.iter().filter(|m| m.look != Printed);
        let largest = ours.map(|m| (m.peak - SCRATCH) / m.kept).fold(0.0, f64::max);
        let slopes = self.slopes();
        let each = join(&slopes, ", ", |(look, s)| format!("{} {}", look.label(), number(*s)));
        vec![
            faster("one-loop-is-faster", One),
            faster("blocks-are-faster", Blocks),
            words().below("one-loop-blocks-need", largest, 1.6),
            words().fact("time-grows-dimension-faster", slopes.iter().all(|(_, s)| *s <= 1.25), &[&each]),
        ]
    }

    fn shown(&self) -> Shown {
        let d = format!("d = {}", self.d);
        let heads =
            ["as printed, s", "peak MB", "one loop, s", "peak MB", "blocks, s", "peak MB", "MB kept", "in the paper"];
        let row = |(p, (t, mb)): (usize, (f64, f64))| {
            let cells = FORMS.iter().flat_map(|look| [self.seconds(*look, p), self.of(*look, p, |m| m.peak / MEGA)]);
            let cells = cells.chain([self.of(One, p, |m| m.kept / MEGA)]).map(number);
            std::iter::once(format!("p = {p}")).chain(cells).chain([format!("{t} s, {mb} MB")]).collect()
        };
        Shown::new(std::iter::once(d).chain(heads.map(String::from)), RANKS.into_iter().zip(PAPERS).rev().map(row))
    }
}

/// Table 2: linear regression, `d` a million and four ranks.
pub(super) fn table2(ctx: &Context) -> Result<Outcome, ReproError> {
    let runs = Runs::new(ctx)?;
    Ok(Outcome {
        checks: [runs.claims(), runs.beyond()].concat(),
        quantities: runs.quantities(),
        shown: runs.shown(),
        tables: vec![table(runs.ranks.iter().chain(&runs.growth))?],
        figure: Figure::new("Linear regression, one observation at a time").row(380.0, runs.panels()),
        ..words().outcome(ctx, &[&runs.seconds(Printed, 100), &runs.seconds(One, 100), &runs.seconds(Blocks, 100)])
    })
}
