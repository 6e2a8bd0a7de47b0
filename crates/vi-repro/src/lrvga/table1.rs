//! §5.1: a covariance in a million dimensions (Table 1).

use rand_chacha::ChaCha8Rng;
use vi_core::factor::{self, OnlineEm, OnlineSettings, RecursiveEm, RecursiveSettings, UpdateSettings, Weights};
use vi_core::{LowRankGaussian, LowRankSettings, MeanMoves};
use vi_linalg::faer::MatRef;

use super::inputs::generator;
use super::memory::Watch;
use super::scale::Look::{self, Blocks, One, Online, Printed, Three};
use super::scale::{GIGA, Measured, NUMBER, par, room_for, rows, seconds, table};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{Dash, Marker};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Quantity, Shown, Table, number};

/// Seconds and gigabytes in the paper's Table 1.
const PAPERS: [(Look, f64, f64); 2] = [(Online, 1.0, 1.6), (Printed, 2.0, 0.8)];

/// Floating-point operations of one observation. Gram matrices are symmetric; a factor `W` in `p` columns is multiplied by `p × p`
/// matrices at `2dp²`. Online EM: the Gram matrix of its E-step and the solve of its M-step. An inner loop of Algorithm 1: two Gram
/// matrices, one product of two factors, two factors multiplied, and ψ; from the stored factor itself, multiplied out by Woodbury's
/// formula, a third of that.
fn operations(look: Look, d: usize, p: usize) -> f64 {
    let (dp, dpp) = ((d * p) as f64, (d * p * p) as f64);
    match look {
        Online => 3.0 * dpp,
        Printed => 9.0 * dpp + 4.0 * dp,
        One => 3.0 * dpp + 4.0 * dp,
        Three => 21.0 * dpp + 12.0 * dp,
        Blocks | Look::Paper => 18.0 * dp,
    }
}

/// Each method on the same rows, one observation at a time.
fn measure(ctx: &Context, d: usize, p: usize, notes: &mut Vec<String>) -> Result<Vec<Measured>, ReproError> {
    let rng = &mut generator(ctx.seed, 0);
    let start = |rng: &mut ChaCha8Rng| factor::start_isotropic(d, p, (d as f64).sqrt(), 1e-3, rng);
    let (dp, d1) = (NUMBER * (d * p) as f64, NUMBER * d as f64);
    let rounds = 2;
    let x = rows(rounds, d, rng);
    let row = |round: usize| &x[round * d..(round + 1) * d];
    let mut out = Vec::new();
    let mut add = |look, seconds, kept, peak| out.push(Measured { look, d, p, seconds, kept, peak });

    if room_for(Online, 6.5 * dp, notes) {
        let watch = Watch::start();
        let mut em = OnlineEm::new(start(rng).context("start")?, &OnlineSettings::default()).context("start")?;
        Watch::forget_peak();
        let time = seconds(rounds, 1, Online, |round| em.step(row(round), par()))?;
        add(Online, time, 2.0 * (dp + d1), watch.peak());
    }
    ctx.step(Online.label());

    if room_for(Printed, 3.0 * dp, notes) {
        let settings = LowRankSettings::recursive(p, 1, MeanMoves::AfterProjection).context("start")?;
        let (zero, variances) = (vec![0.0; d], vec![d as f64; d]);
        let watch = Watch::start();
        let mut belief = LowRankGaussian::with_small_factor(&zero, &variances, 1e-3, settings, rng).context("start")?;
        Watch::forget_peak();
        let time = seconds(rounds, 1, Printed, |round| {
            belief.add_information(MatRef::from_row_major_slice(row(round), 1, d), par())
        })?;
        add(Printed, time, dp + d1, watch.peak());
    }
    ctx.step(Printed.label());

    for (look, inner_loops) in [(One, 1), (Three, 3)] {
        let steps = UpdateSettings { inner_loops, ..UpdateSettings::default() };
        let settings = RecursiveSettings { weights: Weights::Mean, update: steps };
        let watch = Watch::start();
        let mut em = RecursiveEm::new(start(rng).context("start")?, &settings).context("start")?;
        Watch::forget_peak();
        let time = seconds(rounds, 1, look, |round| em.step(row(round), par()))?;
        add(look, time, dp + d1, watch.peak());
        ctx.step(look.label());
    }

    let settings = LowRankSettings::blocked(p).context("start")?;
    let block = settings.block();
    if room_for(Blocks, 2.0 * (dp + NUMBER * (block * d) as f64), notes) {
        let x = rows(block, d, rng);
        let x = MatRef::from_row_major_slice(&x, block, d);
        let zero = vec![0.0; d];
        let watch = Watch::start();
        let mut belief = LowRankGaussian::isotropic(&zero, (d as f64).sqrt(), settings).context("start")?;
        Watch::forget_peak();
        let time = seconds(ctx.pick(1, 2), block, Blocks, |_| belief.add_information(x, par()))?;
        add(Blocks, time, dp + 2.0 * d1, watch.peak());
    }
    ctx.step(Blocks.label());
    Ok(out)
}

/// Time against memory.
fn panel(methods: &[Measured], title: String, scale: f64) -> Panel {
    let points = methods.iter().map(|m| (m.seconds, m.kept / GIGA, m.peak / GIGA));
    let points = points.chain(PAPERS.map(|(_, t, gb)| (t * scale, gb * scale, gb * scale)));
    let (mut x, mut y) = ((f64::INFINITY, 0.0_f64), (f64::INFINITY, 0.0_f64));
    for (t, kept, peak) in points {
        x = (x.0.min(t), x.1.max(t));
        y = (y.0.min(kept), y.1.max(peak));
    }
    let mut panel = Panel::new(
        title,
        Axis::log("seconds for one observation").range(0.5 * x.0, 2.0 * x.1),
        Axis::log("memory (GB)").range(0.6 * y.0, 1.6 * y.1),
    );
    for m in methods {
        let (kept, peak) = (m.kept / GIGA, m.peak / GIGA);
        let stem = m.look.style().width(1.6).dash(Dash::Solid);
        panel = panel.line_marked(&[m.seconds; 2], &[kept, peak], stem, 0, "");
        panel = panel.points(&[m.seconds], &[peak], m.look.style(), 7.0, m.look.label());
    }
    for (look, t, gb) in PAPERS {
        let style = look.style().marker(Marker::Cross);
        let label = format!("{} in the paper (kept)", look.label());
        panel = panel.points(&[t * scale], &[gb * scale], style, 6.0, &label);
    }
    panel
}

/// Table 1: online and recursive EM, `d` a million, `p` a hundred.
pub(super) fn table1(ctx: &Context) -> Result<Outcome, ReproError> {
    ctx.steps(10);
    let (d, p) = (ctx.pick(1_000_000, 31_600), 100);
    let mut notes = Vec::new();
    // Memory that the matrix library takes once and keeps.
    measure(ctx, 10_000, p, &mut notes)?;
    let methods = measure(ctx, d, p, &mut notes)?;
    let batch = NUMBER * (d as f64) * (d as f64) / GIGA;
    let of = |look: Look| methods.iter().find(|m| m.look == look);
    let value = |look, f: &dyn Fn(&Measured) -> f64| of(look).map_or(f64::NAN, f);
    let time = |look| value(look, &|m| m.seconds);
    let peak = |look| value(look, &|m| m.peak / GIGA);
    let giga = |look| operations(look, d, p) / GIGA;
    let mut rows =
        vec![vec!["batch EM (estimated)".into(), "—".into(), "—".into(), number(batch), "—".into(), "8000 GB".into()]];
    for m in &methods {
        let paper = PAPERS.iter().find(|(look, _, _)| *look == m.look);
        let paper = paper.map_or(String::new(), |(_, t, gb)| format!("{t} s, {gb} GB"));
        let numbers = [m.seconds, giga(m.look), m.kept / GIGA, m.peak / GIGA].map(number);
        rows.push(std::iter::once(m.look.label().to_owned()).chain(numbers).chain([paper]).collect());
    }
    let mut counted = Table::new("operations", &["method", "d", "p", "operations_per_observation"]);
    for m in &methods {
        counted.row(&[&m.look.slug(), &d, &p], [operations(m.look, d, p)])?;
    }
    let all = |f: &dyn Fn(&Measured) -> bool| methods.iter().all(f);
    let peaks: Vec<String> = methods.iter().map(|m| format!("{} {}", m.look.label(), number(m.peak / GIGA))).collect();
    let mut said = words().outcome(ctx, &[&time(Printed), &time(One), &time(Blocks), &time(Online)]);
    said.notes.splice(0..0, notes);
    Ok(Outcome {
        checks: vec![
            words().fact("laptop", all(&|m| m.peak < 16.0 * GIGA), &[&peaks.join(", "), &batch]),
            words().fact("less-memory", peak(Printed) < peak(Online), &[&peak(Printed), &peak(Online)]),
            words().fact(
                "more-operations",
                giga(Printed) > giga(Online),
                &[&giga(Printed), &giga(Online), &giga(One), &time(Printed), &time(Online)],
            ),
            words().fact(
                "place-recursive-em-takes",
                time(One) < time(Printed) && peak(One) < peak(Printed),
                &[&time(One), &time(Printed), &peak(One), &peak(Printed)],
            ),
            words().fact(
                "blocks-take-less-time",
                all(&|m| m.look == Blocks || time(Blocks) < m.seconds),
                &[&time(Blocks)],
            ),
        ],
        quantities: PAPERS
            .into_iter()
            .map(|(look, seconds, gigabytes)| {
                let (name, ours) = (look.label(), if look == Printed { One } else { Online });
                let text = |look: Look| {
                    format!("{} s, {} GB kept", number(time(look)), number(value(look, &|m| m.kept / GIGA)))
                };
                Quantity::new(format!("{name}, one observation"))
                    .paper(format!("{seconds} s, {gigabytes} GB"))
                    .printed(text(look))
                    .works(if ours == look { String::new() } else { text(ours) })
            })
            .collect(),
        shown: Shown::new(
            ["", "s for one observation", "10⁹ operations", "GB kept", "GB at the peak", "in the paper"],
            rows,
        ),
        tables: vec![table(&methods)?, counted],
        figure: Figure::new("Factorising a covariance, one observation at a time")
            .row(400.0, vec![panel(&methods, format!("d = {d}, p = {p}"), d as f64 / 1e6)]),
        ..said
    })
}
