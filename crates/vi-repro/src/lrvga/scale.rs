//! §5.1 and §5.2 in a million dimensions: time and memory (Tables 1 and 2).

use std::time::Instant;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use vi_core::factor::{
    self, DiagonalSettings, OnlineEm, OnlineSettings, RecursiveEm, RecursiveSettings, UpdateSettings, Weights,
};
use vi_core::{Error, GaussianLikelihood, Kalman, LowRankGaussian, LowRankSettings, MeanMoves};
use vi_linalg::faer::{MatRef, Par};

use super::computation;
use super::inputs::generator;
use super::memory::{Watch, available};
use crate::error::ReproError;
use crate::item::Context;
use crate::plot::palette::{BLACK, BLUE, Dash, GREEN, Marker, ORANGE, PURPLE, Style, VERMILLION};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Shown, Table, cell, number};

/// Bytes of a number.
const NUMBER: f64 = 8.0;
const GIGA: f64 = 1e9;
const MEGA: f64 = 1e6;

/// A method at work: what one observation took.
struct Measured {
    name: &'static str,
    slug: &'static str,
    style: Style,
    p: usize,
    /// Seconds for one observation.
    seconds: f64,
    /// Bytes kept from one observation to the next.
    kept: f64,
    /// Bytes on the heap at the peak, the rows that were passed in not counted.
    peak: f64,
}

/// All threads of the machine.
fn par() -> Par {
    Par::rayon(0)
}

/// `n` rows of `d` numbers of mean square `1/d`, row-major.
fn rows(n: usize, d: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let width = (12.0 / d as f64).sqrt();
    (0..n * d).map(|_| width * (rng.random::<f64>() - 0.5)).collect()
}

/// Whether the machine has room for `bytes`, as far as it tells.
fn room_for(bytes: f64) -> bool {
    available().is_none_or(|free| bytes < 0.8 * free)
}

/// Time for one observation: the least of `rounds` runs of `work`, each of `n` observations, after one that is not counted if
/// there are several.
fn seconds(
    rounds: usize,
    n: usize,
    what: &str,
    mut work: impl FnMut(usize) -> Result<(), Error>,
) -> Result<f64, ReproError> {
    let mut least = f64::INFINITY;
    for round in 0..rounds {
        let begun = Instant::now();
        work(round).map_err(|e| computation(what, &e))?;
        if round > 0 || rounds == 1 {
            least = least.min(begun.elapsed().as_secs_f64());
        }
    }
    Ok(least / n as f64)
}

fn skipped(name: &str, bytes: f64) -> String {
    format!("{name} was left out: it needs {} GB, more than this machine has free.", number(bytes / GIGA))
}

const ONLINE: (&str, &str, Style) = ("online EM", "online_em", Style::solid(VERMILLION).marker(Marker::Triangle));
const PRINTED: (&str, &str, Style) =
    ("recursive EM as printed", "recursive_em_printed", Style::solid(GREEN).dash(Dash::Dashed).marker(Marker::Square));
const ONE: (&str, &str, Style) =
    ("ours: one inner loop in place", "one_loop", Style::solid(PURPLE).marker(Marker::Plus));
const THREE: (&str, &str, Style) =
    ("ours: three inner loops", "three_loops", Style::solid(BLUE).dash(Dash::DashDot).marker(Marker::Disc));
const BLOCKS: (&str, &str, Style) = ("ours: blocks", "blocked", Style::solid(ORANGE).marker(Marker::Diamond));
const PAPER: Style = Style::solid(BLACK).dash(Dash::Dotted).marker(Marker::Cross);

/// Factorisation of a covariance, one observation at a time.
fn covariance_methods(ctx: &Context, d: usize, p: usize, notes: &mut Vec<String>) -> Result<Vec<Measured>, ReproError> {
    let rng = &mut generator(ctx.seed, 0);
    let fail = |e| computation("start", &e);
    let start = |rng: &mut ChaCha8Rng| factor::start_isotropic(d, p, (d as f64).sqrt(), 1e-3, rng);
    let (dp, d1) = (NUMBER * (d * p) as f64, NUMBER * d as f64);
    let rounds = 2;
    let x = rows(rounds, d, rng);
    let row = |round: usize| &x[round * d..(round + 1) * d];
    let mut out = Vec::new();
    let mut add = |(name, slug, style): (&'static str, &'static str, Style), seconds, kept, peak| {
        out.push(Measured { name, slug, style, p, seconds, kept, peak });
    };

    if room_for(4.5 * dp) {
        let watch = Watch::start();
        let mut em = OnlineEm::new(start(rng).map_err(fail)?, OnlineSettings::default());
        watch.forget_peak();
        let time = seconds(rounds, 1, ONLINE.0, |round| em.observe(row(round), par()))?;
        add(ONLINE, time, 2.0 * (dp + d1), watch.peak());
    } else {
        notes.push(skipped(ONLINE.0, 4.5 * dp));
    }
    ctx.step("online EM");

    if room_for(3.0 * dp) {
        let settings = LowRankSettings::recursive(p, 1, MeanMoves::AfterProjection).map_err(fail)?;
        let (zero, variances) = (vec![0.0; d], vec![d as f64; d]);
        let watch = Watch::start();
        let mut belief = LowRankGaussian::with_small_factor(&zero, &variances, 1e-3, settings, rng).map_err(fail)?;
        watch.forget_peak();
        let time = seconds(rounds, 1, PRINTED.0, |round| {
            belief.add_information(MatRef::from_row_major_slice(row(round), 1, d), par())
        })?;
        add(PRINTED, time, dp + d1, watch.peak());
    } else {
        notes.push(skipped(PRINTED.0, 3.0 * dp));
    }
    ctx.step("as printed");

    for (look, inner_loops) in [(ONE, 1), (THREE, 3)] {
        let watch = Watch::start();
        let steps = UpdateSettings::new(inner_loops, DiagonalSettings::free()).map_err(fail)?;
        let settings = RecursiveSettings::new(Weights::Mean, steps).map_err(fail)?;
        let mut em = RecursiveEm::new(start(rng).map_err(fail)?, settings);
        watch.forget_peak();
        let time = seconds(rounds, 1, look.0, |round| em.observe(row(round), par()))?;
        add(look, time, dp + d1, watch.peak());
        ctx.step(look.0);
    }

    let settings = LowRankSettings::blocked(p).map_err(fail)?;
    let block = settings.block();
    let waiting = NUMBER * (block * d) as f64;
    if room_for(2.0 * dp + 2.0 * waiting) {
        let x = rows(block, d, rng);
        let x = MatRef::from_row_major_slice(&x, block, d);
        let watch = Watch::start();
        let mut belief = LowRankGaussian::isotropic(&vec![0.0; d], (d as f64).sqrt(), settings).map_err(fail)?;
        watch.forget_peak();
        let time = seconds(ctx.pick(1, 2), block, BLOCKS.0, |_| belief.add_information(x, par()))?;
        add(BLOCKS, time, dp + 2.0 * d1, watch.peak());
    } else {
        notes.push(skipped(BLOCKS.0, 2.0 * dp + 2.0 * waiting));
    }
    ctx.step(BLOCKS.0);
    Ok(out)
}

/// Table 1: online and recursive EM, `d` a million, `p` a hundred.
pub(super) fn table1(ctx: &Context) -> Result<Outcome, ReproError> {
    ctx.steps(5);
    let (d, p) = (ctx.pick(1_000_000, 100_000), 100);
    let mut notes = Vec::new();
    let methods = covariance_methods(ctx, d, p, &mut notes)?;
    let batch = NUMBER * (d as f64) * (d as f64);
    let mut table = Table::new("", &["method", "d", "p", "seconds_per_observation", "bytes_kept", "bytes_peak"]);
    for m in &methods {
        let numbers = [m.seconds, m.kept, m.peak].map(cell);
        table.push([vec![m.slug.to_owned(), d.to_string(), p.to_string()], numbers.to_vec()].concat())?;
    }
    let of = |look: (&str, &'static str, Style)| methods.iter().find(|m| m.slug == look.1);
    let value = |look, f: &dyn Fn(&Measured) -> f64| of(look).map_or(f64::NAN, f);
    let time = |look| value(look, &|m| m.seconds);
    let mut panel =
        Panel::new(format!("d = {d}, p = {p}"), Axis::log("seconds for one observation"), Axis::log("memory (GB)"));
    for m in &methods {
        let peak = m.peak / GIGA;
        panel = panel.points(&[m.seconds], &[peak], m.style, 7.0, m.name);
        panel = panel.line_marked(&[m.seconds; 2], &[m.kept / GIGA, peak], m.style.width(1.4).dash(Dash::Solid), 0, "");
        panel = panel.text(1.06 * m.seconds, 1.04 * peak, m.name, m.style.colour);
    }
    let scale = d as f64 / 1e6;
    for (t, gb) in [(1.0, 1.6), (2.0, 0.8)] {
        panel = panel.points(&[t * scale], &[gb * scale], PAPER, 6.0, "the paper’s laptop (memory kept)");
    }
    let peaks = |m: &Measured| format!("{} {}", m.name, number(m.peak / GIGA));
    let mut rows =
        vec![vec!["batch EM (estimated)".into(), "—".into(), number(batch / GIGA), "—".into(), "8000 GB".into()]];
    for m in &methods {
        let paper = match m.slug {
            "online_em" => "1 s, 1.6 GB",
            "recursive_em_printed" => "2 s, 0.8 GB",
            _ => "",
        };
        rows.push(vec![m.name.into(), number(m.seconds), number(m.kept / GIGA), number(m.peak / GIGA), paper.into()]);
    }
    notes.push(
        "Kept is what goes from one observation to the next; peak is what was on the heap, the rows passed in not counted. The paper’s memory is what is kept. Times are of all threads of this machine. “As printed” takes Algorithm 1’s \
         inner loop as it stands, in passes over row tiles like the others; ours has Woodbury multiplied out, which \
         gives the same numbers. The blocks’ time is that of a block over its rows."
            .into(),
    );
    Ok(Outcome {
        summary: format!(
            "One observation takes {} s as printed, {} s in place and {} s in blocks; {} s for online EM.",
            number(time(PRINTED)),
            number(time(ONE)),
            number(time(BLOCKS)),
            number(time(ONLINE))
        ),
        caption: "Time of one observation against memory: the mark is the peak, the line goes down to what is kept.".into(),
        claim: "The proposed algorithm may be performed using a regular laptop, contrary to the batch EM. Recursive EM requires more \
                operations by iteration than online EM but consumes less memory than online EM and much less than batch EM."
            .into(),
        notes,
        checks: vec![
            Check::fact(
                "Recursive EM runs on a laptop: its peak is below 16 GB",
                methods.iter().all(|m| m.peak < 16.0 * GIGA),
                format!("peaks in GB: {}; batch EM would keep {} GB", methods.iter().map(peaks).collect::<Vec<_>>().join(", "), number(batch / GIGA)),
            ),
            Check::fact(
                "Recursive EM keeps less memory than online EM",
                value(PRINTED, &|m| m.kept) < value(ONLINE, &|m| m.kept),
                format!("{} against {} GB", number(value(PRINTED, &|m| m.kept) / GIGA), number(value(ONLINE, &|m| m.kept) / GIGA)),
            ),
            Check::fact(
                "Recursive EM as printed takes longer for an observation than online EM",
                time(PRINTED) > time(ONLINE),
                format!("{} against {} s", number(time(PRINTED)), number(time(ONLINE))),
            ),
        ],
        beyond: vec![
            Check::fact(
                "In place, recursive EM takes less time than as printed and less memory at its peak",
                time(ONE) < time(PRINTED) && value(ONE, &|m| m.peak) <= value(PRINTED, &|m| m.peak),
                format!(
                    "{} against {} s, {} against {} GB",
                    number(time(ONE)),
                    number(time(PRINTED)),
                    number(value(ONE, &|m| m.peak) / GIGA),
                    number(value(PRINTED, &|m| m.peak) / GIGA)
                ),
            ),
            Check::fact(
                "Blocks take less time for an observation than any of the others",
                methods.iter().all(|m| m.slug == BLOCKS.1 || time(BLOCKS) < m.seconds),
                format!("{} s", number(time(BLOCKS))),
            ),
        ],
        shown: Shown { head: ["", "s for one observation", "GB kept", "GB at the peak", "in the paper"].map(String::from).to_vec(), rows },
        tables: vec![table],
        figure: Figure::new("A covariance in a million dimensions").row(420.0, vec![panel]),
    })
}

const RECURSION: (&str, &str, Style) = (
    "the recursion as printed, 3 inner loops",
    "recursion",
    Style::solid(GREEN).dash(Dash::Dashed).marker(Marker::Square),
);
const RANKS: [usize; 4] = [1, 2, 10, 100];
/// Seconds and megabytes in the paper's Table 2.
const PAPERS: [(f64, f64); 4] = [(0.06, 24.0), (0.2, 32.0), (0.7, 96.0), (6.0, 816.0)];

/// Linear regression with rank `p` by the three forms.
fn regression(
    ctx: &Context,
    d: usize,
    p: usize,
    forms: &[(&'static str, &'static str, Style)],
) -> Result<Vec<Measured>, ReproError> {
    let fail = |e| computation("linear regression", &e);
    let rng = &mut generator(ctx.seed, p);
    let rule: Kalman = vi_core::Explicit(GaussianLikelihood::new(1.0).map_err(fail)?);
    let kept = NUMBER * (d * p + 2 * d) as f64;
    let mut out = Vec::new();
    for &(name, slug, style) in forms {
        let settings = match slug {
            "recursion" => LowRankSettings::recursive(p, 3, MeanMoves::AfterProjection),
            "one_loop" => LowRankSettings::one_loop(p),
            _ => LowRankSettings::blocked(p),
        };
        let settings = settings.map_err(fail)?;
        let block = settings.block();
        let rounds = match d {
            _ if d <= 100_000 && p < 100 => 6,
            _ if p >= 100 && slug != ONE.1 => 1,
            _ => 3,
        };
        let x = rows(block, d, rng);
        let x = MatRef::from_row_major_slice(&x, block, d);
        let y = rows(1, block, rng);
        let (zero, ones) = (vec![0.0; d], vec![1.0; d]);
        let watch = Watch::start();
        let mut belief = match slug {
            "recursion" => LowRankGaussian::with_small_factor(&zero, &ones, 1e-3, settings, rng),
            _ => LowRankGaussian::new(&zero, &ones, settings),
        }
        .map_err(fail)?;
        watch.forget_peak();
        let time = seconds(rounds, block, name, |_| belief.step_block(&rule, x, &y, par()).map(|_| ()))?;
        out.push(Measured { name, slug, style, p, seconds: time, kept, peak: watch.peak() });
        ctx.step(&format!("{name}, p = {p}"));
    }
    Ok(out)
}

/// Table 2: linear regression, `d` a million and four ranks.
pub(super) fn table2(ctx: &Context) -> Result<Outcome, ReproError> {
    let d = ctx.pick(1_000_000, 100_000);
    let dims: Vec<usize> = [10_000, 31_600, 100_000, 316_000, 1_000_000].into_iter().filter(|n| *n <= d).collect();
    ctx.steps(3 * (RANKS.len() + 1) + 2 * dims.len());
    let forms = [RECURSION, ONE, BLOCKS];
    // Memory that the matrix library takes once and keeps.
    regression(ctx, 40_000, 100, &forms)?;
    let mut measured = Vec::new();
    for p in RANKS {
        measured.extend(regression(ctx, d, p, &forms)?);
    }
    let mut growth = Vec::new();
    for &n in &dims {
        for m in regression(ctx, n, 10, &[ONE, BLOCKS])? {
            growth.push((n, m));
        }
    }
    let mut table = Table::new("", &["method", "d", "p", "seconds_per_observation", "bytes_kept", "bytes_peak"]);
    for (n, m) in measured.iter().map(|m| (d, m)).chain(growth.iter().map(|(n, m)| (*n, m))) {
        let numbers = [m.seconds, m.kept, m.peak].map(cell);
        table.push([vec![m.slug.to_owned(), n.to_string(), m.p.to_string()], numbers.to_vec()].concat())?;
    }

    let ranks = RANKS.map(|p| p as f64);
    let of = |slug: &str, p: usize| measured.iter().find(|m| m.slug == slug && m.p == p);
    let column = |slug: &str, f: &dyn Fn(&Measured) -> f64| RANKS.map(|p| of(slug, p).map_or(f64::NAN, f));
    let scale = d as f64 / 1e6;
    let mut times = Panel::new(format!("d = {d}"), Axis::log("p"), Axis::log("seconds for one observation"));
    let mut memory = Panel::new("peak memory, rows passed in not counted", Axis::log("p"), Axis::log("MB"));
    times = times.line_marked(&ranks, &PAPERS.map(|(t, _)| t * scale), PAPER, 1, "the paper’s laptop");
    memory = memory.line_marked(&ranks, &PAPERS.map(|(_, mb)| mb * scale), PAPER, 1, "the paper’s laptop");
    for (name, slug, style) in forms {
        times = times.line_marked(&ranks, &column(slug, &|m| m.seconds), style, 1, name);
        memory = memory.line_marked(&ranks, &column(slug, &|m| m.peak / MEGA), style, 1, name);
    }
    let mut growing =
        Panel::new("growth with the dimension, p = 10", Axis::log("d"), Axis::log("seconds for one observation"));
    let mut slopes = Vec::new();
    for (name, slug, style) in [ONE, BLOCKS] {
        let (n, t): (Vec<f64>, Vec<f64>) =
            growth.iter().filter(|(_, m)| m.slug == slug).map(|(n, m)| (*n as f64, m.seconds)).unzip();
        slopes.push((name, slope(&n, &t)));
        growing = growing.line_marked(&n, &t, style, 1, name);
    }

    let rows = RANKS.iter().enumerate().rev().map(|(i, p)| {
        let (t, mb) = PAPERS[i];
        let cells = forms.iter().flat_map(|(_, slug, _)| {
            let m = of(slug, *p);
            [m.map_or(f64::NAN, |m| m.seconds), m.map_or(f64::NAN, |m| m.peak / MEGA)].map(number)
        });
        let kept = of("one_loop", *p).map_or(f64::NAN, |m| m.kept / MEGA);
        std::iter::once(format!("p = {p}"))
            .chain(cells)
            .chain([number(kept), format!("{} s, {} MB", number(t), number(mb))])
            .collect()
    });
    let heads = [
        "d = 10⁶",
        "as printed, s",
        "peak MB",
        "one loop, s",
        "peak MB",
        "blocks, s",
        "peak MB",
        "MB kept",
        "in the paper",
    ];
    let heads: Vec<String> = heads.iter().map(|h| h.replace("d = 10⁶", &format!("d = {d}"))).collect();
    let time = |slug: &str, p| of(slug, p).map_or(f64::NAN, |m| m.seconds);
    let worst = measured.iter().filter(|m| m.slug != "recursion").map(|m| m.peak / m.kept).fold(0.0, f64::max);
    let ratio = |slug: &str| {
        let each = RANKS.iter().map(|p| format!("{} (p = {p})", number(time("recursion", *p) / time(slug, *p))));
        each.collect::<Vec<_>>().join(", ")
    };
    let faster = |slug: &str| RANKS.iter().all(|p| time(slug, *p) < time("recursion", *p));
    Ok(Outcome {
        summary: format!(
            "For p = 100 an observation takes {} s as printed, {} s in one loop, {} s in blocks.",
            number(time("recursion", 100)),
            number(time("one_loop", 100)),
            number(time("blocked", 100))
        ),
        caption: "Linear regression: time of one observation and memory at the peak, over the rank p; time over the dimension.".into(),
        claim: "L-RVGA runs in dimension 10⁶ on a laptop: 6, 0.7, 0.2 and 0.06 s for an observation and 816, 96, 32 and 24 MB of memory \
                for p = 100, 10, 2, 1, with three inner loops. When p is low, the cost in memory as well as the time per iteration is \
                drastically reduced. A full Kalman filter would take 8000 GB."
            .into(),
        notes: vec![
            "The paper’s memory is what is kept, 8(dp + 2d) bytes for W, ψ and μ, and its row; ours is the peak while an observation is \
             worked on (W, ψ, μ included, the rows passed in not). The paper’s times are those of its laptop, scaled with d in a quick \
             run; ours are of all threads of this machine. A block’s time is shared by its rows: 64 of them for p up to 32, 2p beyond."
                .into(),
        ],
        checks: vec![
            Check::fact(
                "What is kept is W, ψ and μ: 816, 96, 32 and 24 MB",
                RANKS.iter().zip(PAPERS).all(|(p, (_, mb))| of("recursion", *p).is_some_and(|m| (m.kept / (mb * MEGA * scale) - 1.0).abs() < 1e-9)),
                column("recursion", &|m| m.kept / MEGA).map(number).join(", ") + " MB for p = 1, 2, 10, 100",
            ),
            Check::fact(
                "Low p reduces time and memory drastically: both are less than a tenth for p = 1 of those for p = 100",
                time("recursion", 1) < 0.1 * time("recursion", 100)
                    && of("recursion", 1).map_or(f64::NAN, |m| m.kept) < 0.1 * of("recursion", 100).map_or(f64::NAN, |m| m.kept),
                format!("{} against {} s", number(time("recursion", 1)), number(time("recursion", 100))),
            ),
        ],
        beyond: vec![
            Check::fact("One inner loop without cancellation takes less time than the recursion, for every p", faster("one_loop"), format!("{} times less", ratio("one_loop"))),
            Check::fact("Blocks take less time than the recursion, for every p", faster("blocked"), format!("{} times less", ratio("blocked"))),
            Check::below("One loop and blocks need little memory beyond what they keep", "largest peak over W, ψ and μ", worst, 1.3),
            Check::fact(
                "Time grows with the dimension no faster than linearly: log-log slope at most 1.25",
                slopes.iter().all(|(_, s)| *s <= 1.25),
                slopes.iter().map(|(name, s)| format!("{name} {}", number(*s))).collect::<Vec<_>>().join(", "),
            ),
        ],
        shown: Shown { head: heads, rows: rows.collect() },
        tables: vec![table],
        figure: Figure::new("Linear regression in a million dimensions").row(380.0, vec![times, memory, growing]),
    })
}

/// Least-squares slope of `log y` over `log x`.
fn slope(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len() as f64;
    let (lx, ly): (Vec<f64>, Vec<f64>) = (x.iter().map(|v| v.ln()).collect(), y.iter().map(|v| v.ln()).collect());
    let (mx, my) = (lx.iter().sum::<f64>() / n, ly.iter().sum::<f64>() / n);
    let cross: f64 = lx.iter().zip(&ly).map(|(a, b)| (a - mx) * (b - my)).sum();
    cross / lx.iter().map(|a| (a - mx) * (a - mx)).sum::<f64>()
}
