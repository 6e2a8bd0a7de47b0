//! §5.4: expectations by draws inside the recursion, on a model with closed forms to hold them against (Figure 4).

use vi_data::synthetic::{Normalisation, TwoClassesSettings};

use super::inputs::generator;
use super::sampled_run::{D, DRAWS, RANK, Run, Way, run};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{BLACK, Dash, GREY, PURPLE, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{self, Check, Outcome, Shown, Table, join, number};

const SIGMAS: [f64; 3] = [1.0, 2.0, 3.0];
/// Nats that count as converged.
const CLOSE: f64 = 1.0;
/// The least KL that is drawn.
const FLOOR: f64 = 1e-3;
/// Nats that a pass by many draws may be off.
const NEAR: f64 = 0.25;

fn panel(run: &Run, way: Way, range: (f64, f64)) -> Panel {
    let name = match way {
        Way::Paper => "as in the paper",
        Way::Ours => "ours",
    };
    let title = format!("σ₀ = {}, {name}", run.sigma0);
    let mut panel =
        Panel::new(title, Axis::linear("observations"), Axis::log("KL (nats)").range(range.0, range.1).floor(FLOOR));
    for path in &run.paths[usize::from(way == Way::Ours)] {
        let (colour, label) = match path.draws {
            None => (PURPLE, "closed forms, same scheme".to_owned()),
            Some(draws) => {
                let colour = DRAWS.iter().find(|(k, _)| *k == draws).map_or(BLACK, |(_, colour)| *colour);
                (colour, format!("K = {draws}"))
            }
        };
        let width = if path.draws.is_none() { 3.6 } else { 1.8 };
        panel = panel.line(&run.times, &path.values, Style::solid(colour).width(width), &label);
    }
    let thin = Style::solid(BLACK).width(1.4);
    panel = panel.horizontal(run.dense, thin, "one pass, full covariance").horizontal(
        run.laplace,
        thin.dash(Dash::Dashed),
        "Laplace (batch)",
    );
    if way == Way::Ours {
        let dotted = Style::solid(GREY).width(2.0).dash(Dash::Dotted);
        panel = panel.horizontal(run.swept, dotted, "ours, after sweeps");
    }
    panel
}

/// The runs of one prior.
fn at(runs: &[Run], sigma0: f64) -> Vec<&Run> {
    runs.iter().filter(|r| r.sigma0 == sigma0).collect()
}

fn median(runs: &[Run], sigma0: f64, of: impl Fn(&Run) -> f64) -> f64 {
    report::median(&at(runs, sigma0).into_iter().map(of).collect::<Vec<_>>())
}

/// A sentence counted over all data sets at the given priors, with the medians of `a` and of `b` by prior.
fn counted(
    runs: &[Run],
    name: &str,
    sigmas: &[f64],
    (a, b): (&dyn Fn(&Run) -> f64, &dyn Fn(&Run) -> f64),
    holds: impl Fn(&Run) -> bool,
) -> Check {
    let chosen: Vec<&Run> = sigmas.iter().flat_map(|s| at(runs, *s)).collect();
    let medians = |of: &dyn Fn(&Run) -> f64| join(sigmas, ", ", |s| number(median(runs, *s, of)));
    let hits = chosen.iter().filter(|r| holds(r)).count();
    words().counted(name, (hits, chosen.len()), &[&medians(a), &medians(b)])
}

const TEN: Option<usize> = Some(10);
const HUNDRED: Option<usize> = Some(100);

fn checks(runs: &[Run]) -> Vec<Check> {
    fn last(way: Way, draws: Option<usize>) -> impl Fn(&Run) -> f64 {
        move |r| r.last(way, draws)
    }
    let (paper, ours) = (|draws| last(Way::Paper, draws), |draws| last(Way::Ours, draws));
    let laplace = |r: &Run| r.laplace;
    let near_laplace = |r: &Run| r.last(Way::Paper, TEN) - r.laplace < CLOSE;
    let all = |name, a: &dyn Fn(&Run) -> f64, b: &dyn Fn(&Run) -> f64, holds: &dyn Fn(f64, f64) -> bool| {
        counted(runs, name, &SIGMAS, (a, b), |r| holds(a(r), b(r)))
    };
    let below = |a: f64, b: f64| a < b;
    vec![
        counted(runs, "ten-hard", &[3.0], (&paper(TEN), &laplace), near_laplace),
        counted(runs, "ten-easy", &[1.0, 2.0], (&paper(TEN), &laplace), near_laplace),
        all("baseline", &paper(TEN), &paper(None), &|a, b| a - b < CLOSE),
        all("skip", &|r| r.with_extra_update, &paper(None), &|a, b| a > b),
        all("ours-below-ten", &ours(TEN), &paper(TEN), &below),
        all("ours-below-hundred", &ours(HUNDRED), &paper(HUNDRED), &below),
        all("ours-near-closed-forms", &ours(TEN), &ours(None), &|a, b| a - b < CLOSE),
        all("ours-near-every-row", &ours(HUNDRED), &|r| r.every_row, &|a, b| (a - b).abs() < NEAR),
        all("sweeps-below-laplace", &|r| r.swept, &laplace, &below),
    ]
}

fn tables(runs: &[Run]) -> Result<Vec<Table>, ReproError> {
    let name = |draws: Option<usize>| draws.map_or_else(|| "closed".to_owned(), |k| k.to_string());
    let mut paths = Table::new("", &["sigma0", "way", "draws", "observations", "kl_above_best"]);
    for run in SIGMAS.iter().filter_map(|s| at(runs, *s).into_iter().next()) {
        for (way, all) in Way::ALL.iter().zip(&run.paths) {
            for path in all {
                for (t, value) in run.times.iter().zip(&path.values) {
                    paths.push(&[&run.sigma0, &way.slug(), &name(path.draws), t, value])?;
                }
            }
        }
    }
    let mut finals = Table::new("finals", &["data_set", "sigma0", "method", "draws", "kl_above_best"]);
    for sigma0 in SIGMAS {
        for (k, run) in at(runs, sigma0).into_iter().enumerate() {
            let mut push = |method: &str, draws: &str, value: f64| finals.push(&[&k, &sigma0, &method, &draws, &value]);
            for (way, all) in Way::ALL.iter().zip(&run.paths) {
                for path in all {
                    push(way.slug(), &name(path.draws), run.last(*way, path.draws))?;
                }
            }
            push("ours_swept", "10", run.swept)?;
            push("rvga_dense", "", run.dense)?;
            push("laplace", "", run.laplace)?;
            push("ours_every_row", "closed", run.every_row)?;
            push("paper_with_extra_update", "closed", run.with_extra_update)?;
        }
    }
    Ok(vec![paths, finals])
}

fn shown(runs: &[Run], sets: usize) -> Shown {
    let row = |name: String, of: &dyn Fn(&Run) -> f64| {
        std::iter::once(name).chain(SIGMAS.map(|s| number(median(runs, s, of)))).collect::<Vec<_>>()
    };
    let mut rows = Vec::new();
    for (way, name) in Way::ALL.into_iter().zip(["the paper’s", "ours"]) {
        rows.push(row(format!("{name}, closed forms"), &|r| r.last(way, None)));
        for (draws, _) in DRAWS {
            rows.push(row(format!("{name}, K = {draws}"), &|r| r.last(way, Some(draws))));
        }
    }
    rows.push(row("ours, closed forms, a projection at every row".into(), &|r| r.every_row));
    rows.push(row("ours, K = 10, after sweeps".into(), &|r| r.swept));
    rows.push(row("one pass, full covariance".into(), &|r| r.dense));
    rows.push(row("Laplace (batch)".into(), &|r| r.laplace));
    let head = std::iter::once(format!("KL above the best Gaussian (nats), median of {sets}"));
    Shown::new(head.chain(SIGMAS.map(|s| format!("σ₀ = {s}"))), rows)
}

/// Fig 4: logistic regression with expectations by draws.
pub(super) fn fig4(ctx: &Context) -> Result<Outcome, ReproError> {
    let sets = ctx.pick(6, 1);
    ctx.steps(sets * SIGMAS.len());
    let settings = TwoClassesSettings { n: 300, d: D, s: 1.0, c: 1.0, normalisation: Normalisation::AsRun };
    let mut runs = Vec::new();
    for k in 0..sets {
        let rng = &mut generator(ctx.seed, k);
        let data = settings.draw(rng).context("data")?.data;
        for sigma0 in SIGMAS {
            runs.push(run(&data, sigma0, if k == 0 { 30 } else { 1 }, rng)?);
            ctx.step("data set");
        }
    }
    let drawn = &runs[..SIGMAS.len()];
    let values = |r: &Run| -> Vec<f64> {
        let paths = r.paths.iter().flatten().flat_map(|p| p.values.iter().copied());
        paths.chain([r.dense, r.laplace, r.swept]).map(|v| v.max(FLOOR)).collect()
    };
    let all: Vec<f64> = drawn.iter().flat_map(values).filter(|v| v.is_finite()).collect();
    let (low, high) = all.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(*v), h.max(*v)));
    let row = |way| drawn.iter().map(|r| panel(r, way, (0.7 * low, 1.4 * high))).collect();
    let hard = |way, draws| number(median(&runs, 3.0, |r| r.last(way, draws)));
    Ok(Outcome {
        checks: checks(&runs),
        shown: shown(&runs, sets),
        tables: tables(&runs)?,
        figure: Figure::new(format!("Expectations by K draws, logistic regression, d = {D}, p = {RANK}"))
            .row(330.0, row(Way::Paper))
            .row(330.0, row(Way::Ours)),
        ..words().outcome(
            ctx,
            &[
                &hard(Way::Paper, TEN),
                &hard(Way::Paper, None),
                &hard(Way::Ours, TEN),
                &hard(Way::Ours, None),
                &median(&runs, 3.0, |r| r.swept),
                &median(&runs, 3.0, |r| r.laplace),
                &D,
                &RANK,
                &sets,
            ],
        )
    })
}
