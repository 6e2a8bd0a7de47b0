//! Posteriors with reference draws: one call beside other people's methods, by the worst parameter's distance.

use std::time::Instant;

use rand_chacha::ChaCha8Rng;
use vi_benches::posteriors::{Case, Counted, cases, full_rank_advi, multi_path, reported, wasserstein};
use vi_boost::{Component, FitSettings, GaussianMixture, fit};
use vi_linalg::faer::Mat;

use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::looks::looks;
use crate::plot::palette::{GREY, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Shown, Table, number};
use crate::streams::generator;

/// Draws of an approximation that are compared with the reference.
const DRAWS: usize = 10_000;

/// Paths, steps of ten draws for each of five rates, and the standard deviation that both baselines start from.
const PATHS: usize = 20;
const STEPS: usize = 10_000;
const START: f64 = 1.0;

/// The distance that one call stays within.
const PROMISED: f64 = 0.05;

/// Posteriors whose densities are too dear for a page: `cargo xtask bench posteriors` has them.
const DEAR: [&str; 2] = ["gp_pois", "lotka_volterra"];

looks! {
    enum Method {
        OneCall: "one_call", "one call of fit", BLUE Solid Disc;
        Pathfinder: "pathfinder", "multi-path Pathfinder", ORANGE Solid Square;
        Advi: "advi", "full-rank ADVI", VERMILLION Solid Triangle;
    }
}

impl Method {
    /// Draws and evaluations of the density; none where the method found nothing.
    fn draws(self, case: &Case, rng: &mut ChaCha8Rng) -> Result<Option<(Mat<f64>, u64)>, ReproError> {
        let target = Counted::new(&case.target);
        Ok(match self {
            Self::OneCall => {
                let found = fit(&case.target, &FitSettings::default(), rng).context(self.label())?;
                Some((found.mixture.draw(DRAWS, rng), found.evaluations.all().total()))
            }
            Self::Pathfinder => {
                multi_path(&target, START, PATHS, DRAWS, rng).map(|draws| (draws, target.evaluations()))
            }
            Self::Advi => {
                let (mean, l) = full_rank_advi(&target, START, STEPS, rng);
                let one = Component::full(&mean, (&l * l.transpose()).as_ref()).map(GaussianMixture::single);
                one.ok().map(|q| (q.draw(DRAWS, rng), target.evaluations()))
            }
        })
    }
}

/// What a method came to on a posterior.
struct Scored {
    method: Method,
    worst: f64,
    mean: f64,
    seconds: f64,
    evaluations: u64,
}

fn scored(ctx: &Context, case: &Case, method: Method) -> Result<Scored, ReproError> {
    let mut rng = generator(ctx.seed, 0);
    let begun = Instant::now();
    let found = method.draws(case, &mut rng)?;
    let seconds = begun.elapsed().as_secs_f64();
    let nothing = Scored { method, worst: f64::INFINITY, mean: f64::INFINITY, seconds, evaluations: 0 };
    let Some((draws, evaluations)) = found else { return Ok(nothing) };
    let own = reported(&case.target, draws.as_ref()).context("draws")?;
    let distance = wasserstein(case, own.as_ref());
    Ok(Scored { method, worst: distance.worst, mean: distance.mean, seconds, evaluations })
}

/// Six posteriors of posteriordb.
pub(super) fn run(ctx: &Context) -> Result<Outcome, ReproError> {
    let all = cases().context("posteriors")?;
    let quick = ctx.pick(usize::MAX, 2);
    let used: Vec<Case> = all.into_iter().filter(|case| !DEAR.contains(&case.name)).take(quick).collect();
    ctx.steps(used.len());
    let mut table =
        Table::new("", &["posterior", "method", "distance_worst", "distance_mean", "seconds", "evaluations"]);
    let (mut shown, mut results) = (Vec::new(), Vec::new());
    for case in &used {
        let found = Method::ALL.map(|method| scored(ctx, case, method)).into_iter().collect::<Result<Vec<_>, _>>()?;
        for s in &found {
            let numbers = [s.worst, s.mean, s.seconds, s.evaluations as f64];
            table.row(&[&case.name, &s.method.label()], numbers)?;
        }
        let row = found.iter().map(|s| format!("{} ({} s)", number(s.worst), number(s.seconds)));
        shown.push(std::iter::once(case.name.to_owned()).chain(row).collect());
        results.push(found);
        ctx.step(case.name);
    }
    let count = used.len();
    let of = |method: Method| results.iter().flatten().filter(move |s| s.method == method);
    let worst = of(Method::OneCall).map(|s| s.worst).fold(0.0, f64::max);
    let ahead = |other: Method| of(Method::OneCall).zip(of(other)).filter(|(a, b)| a.worst < b.worst).count();
    let names: Vec<String> = used.iter().rev().map(|case| case.name.to_owned()).collect();
    let mut panel = Panel::new(
        "Distance of the worst parameter to reference draws",
        Axis::log("1-Wasserstein distance, in the reference’s standard deviations"),
        Axis::categories("", names),
    )
    .vertical(PROMISED, Style::solid(GREY), "0.05");
    for method in Method::ALL {
        let x: Vec<f64> = of(method).map(|s| s.worst).collect();
        let at: Vec<f64> = (0..count).map(|i| (count - 1 - i) as f64).collect();
        panel = panel.points(&x, &at, method.style(), 6.0, method.label());
    }
    let beside = |method: Method| {
        words().fact("one-call-nearer-reference", ahead(method) == count, &[&method.label(), &ahead(method), &count])
    };
    Ok(Outcome {
        checks: vec![
            words().fact("one-call-fit-within", worst <= PROMISED, &[&PROMISED.to_string(), &worst]),
            beside(Method::Pathfinder),
            beside(Method::Advi),
        ],
        shown: Shown::new(std::iter::once("").chain(Method::ALL.map(Method::label)), shown),
        tables: vec![table],
        figure: Figure::new("Any posterior").row(360.0, vec![panel]),
        ..words().outcome(
            ctx,
            &[&worst, &count, &ahead(Method::Pathfinder), &ahead(Method::Advi), &START.to_string(), &PATHS, &STEPS],
        )
    })
}
