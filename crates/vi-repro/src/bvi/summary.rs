//! A table of divergences: every target, every method, with errors.

use vi_boost::LogDensity;

use super::look::{
    FULL_RANK, FULL_RANK_LABEL, GREEDY, GREEDY_LABEL, MEAN_FIELD, MEAN_FIELD_LABEL, PRINTED, PRINTED_LABEL, REFITTED,
    REFITTED_LABEL,
};
use super::toys::{self, Toy};
use super::words;
use super::{fig1, fig2};
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Shown, Table, median, number};

/// The error of a divergence by quadrature.
const QUADRATURE: f64 = 1e-4;

fn of_toy<T: LogDensity>(
    ctx: &Context,
    (target, title): (&'static str, &str),
    toy: &Toy<T>,
    table: &mut Table,
) -> Result<(), ReproError> {
    let study = fig1::Study::shared(ctx, title, toy)?;
    let finals = study.finals();
    let middle = median(&finals);
    let scatter = finals.iter().fold(0.0_f64, |a, b| a.max((b - middle).abs()));
    for (method, kl, error) in [
        (MEAN_FIELD_LABEL, study.mean_field_kl, QUADRATURE),
        (PRINTED_LABEL, middle, scatter),
        (GREEDY_LABEL, study.greedy.last(), QUADRATURE),
        (REFITTED_LABEL, study.refitted.last(), QUADRATURE),
    ] {
        table.row(&[&target, &method], [kl, error])?;
    }
    Ok(())
}

/// Targets in the order of the table.
const TARGETS: [&str; 4] = ["Cauchy", "four modes", "five modes", "Nodal"];

/// The table.
pub(super) fn table(ctx: &Context) -> Result<Outcome, ReproError> {
    let mut table = Table::new("", &["target", "method", "kl", "error"]);
    of_toy(ctx, (TARGETS[0], fig1::TAILS), &toys::cauchy().context("the target")?, &mut table)?;
    of_toy(ctx, (TARGETS[1], fig1::FOUR), &toys::mixture4().context("the target")?, &mut table)?;
    of_toy(ctx, (TARGETS[2], fig1::FIVE), &toys::mixture5().context("the target")?, &mut table)?;
    for answer in &fig2::Study::shared(ctx)?.answers {
        table.row(&[&TARGETS[3], &answer.label], [answer.kl.value, answer.kl.standard_error])?;
    }
    let of = |target: &str, method: &str, what: &str| table.of(&[("target", &target), ("method", &method)]).first(what);
    let methods = [
        (MEAN_FIELD_LABEL, MEAN_FIELD),
        (FULL_RANK_LABEL, FULL_RANK),
        (PRINTED_LABEL, PRINTED),
        (GREEDY_LABEL, GREEDY),
        (REFITTED_LABEL, REFITTED),
    ];
    let rows = TARGETS.map(|target| {
        let cells = methods.iter().map(|(method, _)| match of(target, method, "kl") {
            kl if kl.is_nan() => "–".to_owned(),
            kl => format!("{} ± {}", number(kl.max(0.0)), number(of(target, method, "error"))),
        });
        std::iter::once(target.to_owned()).chain(cells).collect()
    });
    let closer =
        |a: &str, share: f64, b: &str| TARGETS.iter().filter(|t| of(t, a, "kl") < share * of(t, b, "kl")).count();
    let (better, ours) = (closer(PRINTED_LABEL, 1.0, MEAN_FIELD_LABEL), closer(REFITTED_LABEL, 0.1, PRINTED_LABEL));
    let mut panel = Panel::new(
        "KL(q‖p) with its error",
        Axis::log("nats").floor(1e-6),
        Axis::categories("", TARGETS.iter().rev().map(|t| (*t).to_owned()).collect()),
    );
    for (method, style) in methods {
        let column = |what| TARGETS.iter().rev().map(|t| of(t, method, what)).collect::<Vec<f64>>();
        let (x, error) = (column("kl"), column("error"));
        let y: Vec<f64> = (0..TARGETS.len()).map(|i| i as f64).collect();
        let (low, high): (Vec<f64>, Vec<f64>) = x.iter().zip(&error).map(|(x, e)| (x - e, x + e)).unzip();
        panel = panel.spread_sideways(&y, &low, &high, style.width(1.6), "").points(&x, &y, style, 5.5, method);
    }
    let count = TARGETS.len();
    Ok(Outcome {
        checks: vec![
            words().counted("everywhere", (better, count), &[]),
            words().counted("components-refitted-together-ten", (ours, count), &[]),
        ],
        shown: Shown::new(std::iter::once("target").chain(methods.map(|(method, _)| method)), rows),
        tables: vec![table],
        figure: Figure::new("Divergences").row(320.0, vec![panel]),
        ..words().outcome(ctx, &[&better, &count, &ours])
    })
}
