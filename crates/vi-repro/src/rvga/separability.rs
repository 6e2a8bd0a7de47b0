//! Appendix 9.6: the influence of the separability (Figures 14 to 16).

use std::sync::Arc;

use super::replicate::{Finals, Setting, count};
use super::two_dim::Run;
use super::words;
use crate::error::ReproError;
use crate::item::Context;
use crate::plot::Figure;
use crate::plot::palette::Method::{Ekf, Laplace, Qkf, RvgaExplicit, RvgaImplicit};
use crate::report::{Check, MOST, Outcome, join};

const FIG14: &str = include_str!("../../data/rvga-fig14.csv");
const FIG15: &str = include_str!("../../data/rvga-fig15.csv");
const FIG16: &str = include_str!("../../data/rvga-fig16.csv");

/// Below this KL in nats an approximation counts as accurate.
const ACCURATE: f64 = 0.5;
const TIMES: [usize; 5] = [5, 10, 20, 50, 100];

/// The separations of the three figures with their stored data.
const SETTINGS: [(u32, f64, &str); 3] = [(14, 2.0, FIG14), (15, 5.0, FIG15), (16, 10.0, FIG16)];

/// The run of one figure, made once for all items.
fn run(ctx: &Context, which: usize) -> Result<Arc<Run>, ReproError> {
    let (figure, s, csv) = SETTINGS[which];
    let setting = Setting { n: 100, d: 2, s, c: 1.0, sigma0: 10.0, mu0_norm: 0.0 };
    ctx.once(&format!("rvga Fig {figure}"), || Run::new(ctx, csv, setting))
}

/// “Consistently good”, over the data sets of all three figures.
fn good(ctx: &Context) -> Result<Check, ReproError> {
    let mut each = Vec::new();
    for (i, (_, s, _)) in SETTINGS.iter().enumerate() {
        let better = |f: &Finals| f.of(RvgaImplicit).min(f.of(RvgaExplicit)) < f.of(Ekf).min(f.of(Qkf));
        each.push((s, count(&run(ctx, i)?.finals, better)));
    }
    let total = each.iter().fold((0, 0), |all, (_, of)| (all.0 + of.0, all.1 + of.1));
    let numbers = join(&each, "; ", |(s, (hits, n))| format!("s = {s}: {hits} of {n}"));
    // Consistent is what holds in each setting, not what holds on the whole.
    let most = each.iter().all(|(_, (hits, n))| *hits as f64 >= MOST * *n as f64);
    Ok(words().fact("good", most, &[&numbers, &total.0, &total.1]))
}

fn figure(ctx: &Context, which: usize) -> Result<Outcome, ReproError> {
    let (run, s) = (run(ctx, which)?, SETTINGS[which].1);
    let evolution = run.paths.iter().map(|p| run.evolution_panel(p, &TIMES)).collect::<Result<Vec<_>, _>>()?;
    let accurate = count(&run.finals, |f| f.of(Laplace) < ACCURATE);
    let mut checks = if which == 0 { vec![good(ctx)?] } else { Vec::new() };
    checks.push(words().counted("laplace-accurate", accurate, &[&run.stored(Laplace)]));
    checks.extend(run.refined_checks(false));
    let picture = Figure::new(format!("s = {s}, c = 1, σ₀ = 10, μ₀ = 0, N = 100"))
        .row(330.0, vec![run.data_panel(), run.kl_panel(false), run.kl_panel(true)])
        .row(310.0, evolution)
        .row(340.0, run.refined_row()?);
    run.outcome(ctx, checks, picture)
}

/// Fig 14: s = 2.
pub(super) fn fig14(ctx: &Context) -> Result<Outcome, ReproError> {
    figure(ctx, 0)
}

/// Fig 15: s = 5.
pub(super) fn fig15(ctx: &Context) -> Result<Outcome, ReproError> {
    figure(ctx, 1)
}

/// Fig 16: s = 10.
pub(super) fn fig16(ctx: &Context) -> Result<Outcome, ReproError> {
    figure(ctx, 2)
}
