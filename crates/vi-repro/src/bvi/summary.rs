//! A table of divergences: every target, every method, with errors.

use vi_boost::LogDensity;

use super::look::{
    FULL_RANK, FULL_RANK_LABEL, GREEDY, GREEDY_LABEL, MEAN_FIELD, MEAN_FIELD_LABEL, PRINTED, PRINTED_LABEL, REFITTED,
    REFITTED_LABEL,
};
use super::toys::{self, Toy};
use super::{claims, computation, fig1, fig2};
use crate::error::ReproError;
use crate::item::Context;
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Shown, Table, cell, median, number};

/// One number of the table: a divergence with its error, which is the scatter over runs or the standard error.
struct Entry {
    target: &'static str,
    method: &'static str,
    kl: f64,
    error: f64,
}

/// The error of a divergence by quadrature.
const QUADRATURE: f64 = 1e-4;

fn of_toy<T: LogDensity>(
    ctx: &Context,
    (target, title): (&'static str, &str),
    toy: &Toy<T>,
    entries: &mut Vec<Entry>,
) -> Result<(), ReproError> {
    let study = fig1::Study::shared(ctx, title, toy)?;
    let finals = study.finals();
    let middle = median(&finals);
    let scatter = finals.iter().fold(0.0_f64, |a, b| a.max((b - middle).abs()));
    entries.extend([
        Entry { target, method: MEAN_FIELD_LABEL, kl: study.mean_field_kl, error: QUADRATURE },
        Entry { target, method: PRINTED_LABEL, kl: middle, error: scatter },
        Entry { target, method: GREEDY_LABEL, kl: study.greedy.last(), error: QUADRATURE },
        Entry { target, method: REFITTED_LABEL, kl: study.refitted.last(), error: QUADRATURE },
    ]);
    Ok(())
}

/// Targets in the order of the table.
const TARGETS: [&str; 4] = ["Cauchy", "four modes", "five modes", "Nodal"];

/// The table.
pub(super) fn table(ctx: &Context) -> Result<Outcome, ReproError> {
    let fail = |e| computation("the target", &e);
    let mut entries = Vec::new();
    of_toy(ctx, (TARGETS[0], fig1::TAILS), &toys::cauchy().map_err(fail)?, &mut entries)?;
    of_toy(ctx, (TARGETS[1], fig1::FOUR), &toys::mixture4().map_err(fail)?, &mut entries)?;
    of_toy(ctx, (TARGETS[2], fig1::FIVE), &toys::mixture5().map_err(fail)?, &mut entries)?;
    for answer in &fig2::Study::shared(ctx)?.answers {
        let (kl, error) = (answer.kl.value, answer.kl.standard_error);
        entries.push(Entry { target: TARGETS[3], method: answer.label, kl, error });
    }
    let find = |target: &str, method: &str| {
        entries.iter().find(|e| e.target == target && e.method == method).map_or(f64::NAN, |e| e.kl)
    };
    let mut csv = Table::new("", &["target", "method", "kl", "error"]);
    for e in &entries {
        csv.push(vec![e.target.to_owned(), e.method.to_owned(), cell(e.kl), cell(e.error)])?;
    }
    let methods = [MEAN_FIELD_LABEL, FULL_RANK_LABEL, PRINTED_LABEL, GREEDY_LABEL, REFITTED_LABEL];
    let rows = TARGETS.iter().map(|target| {
        let cells = methods.iter().map(|method| {
            let entry = entries.iter().find(|e| e.target == *target && e.method == *method);
            entry.map_or("–".to_owned(), |e| format!("{} ± {}", number(e.kl.max(0.0)), number(e.error)))
        });
        std::iter::once((*target).to_owned()).chain(cells).collect()
    });
    let shown =
        Shown { head: std::iter::once("target").chain(methods).map(str::to_owned).collect(), rows: rows.collect() };
    let better = TARGETS.iter().filter(|t| find(t, PRINTED_LABEL) < find(t, MEAN_FIELD_LABEL)).count();
    let ours = TARGETS.iter().filter(|t| find(t, REFITTED_LABEL) < 0.1 * find(t, PRINTED_LABEL)).count();
    let mut panel = Panel::new(
        "KL(q‖p) with its error",
        Axis::log("nats").floor(1e-6),
        Axis::categories("", TARGETS.iter().rev().map(|t| (*t).to_owned()).collect()),
    );
    for (method, style) in [
        (MEAN_FIELD_LABEL, MEAN_FIELD),
        (FULL_RANK_LABEL, FULL_RANK),
        (PRINTED_LABEL, PRINTED),
        (GREEDY_LABEL, GREEDY),
        (REFITTED_LABEL, REFITTED),
    ] {
        let x: Vec<f64> = TARGETS.iter().rev().map(|t| find(t, method)).collect();
        let y: Vec<f64> = (0..TARGETS.len()).map(|i| i as f64).collect();
        let error = |t: &str| entries.iter().find(|e| e.target == t && e.method == method).map_or(0.0, |e| e.error);
        let (low, high): (Vec<f64>, Vec<f64>) =
            TARGETS.iter().rev().map(|t| (find(t, method) - error(t), find(t, method) + error(t))).unzip();
        panel = panel.spread_sideways(&y, &low, &high, style.width(1.6), "").points(&x, &y, style, 5.5, method);
    }
    Ok(Outcome {
        summary: format!("The printed algorithm is closer than mean field on {better} of {} targets, ours ten times closer still on {ours}.", TARGETS.len()),
        caption: "Divergence of each method from each target, in nats.".to_owned(),
        quote: "BVI is compared with mean-field variational inference on both toy and real-world data.".to_owned(),
        notes: vec![
            "The error of the printed algorithm is its scatter over runs, that of the Nodal column a standard error, elsewhere that of the \
             quadrature. Where mean field stands alone in one dimension it is the best Gaussian. The paper states no initial step b \
             of Algorithm 1: the toys are run with b = 1 and with b = 0.1, and the better of the two stands here; Nodal has b = 1."
                .to_owned(),
        ],
        claims: vec![claims::EVERYWHERE.counted_over(
            (better, TARGETS.len()),
            String::new(),
            "targets",
        )],
        findings: vec![],
        quantities: vec![],
        promises: vec![Check::counted_over(
            "Components refitted together are ten times closer than the printed algorithm",
            (ours, TARGETS.len()),
            String::new(),
            "targets",
        )],
        shown,
        tables: vec![csv],
        figure: Figure::new("Divergences").row(320.0, vec![panel]),
    })
}
