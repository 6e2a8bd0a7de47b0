//! Appendix 9.4: what the beliefs predict for unseen inputs (Figure 11).

use vi_core::special::sigmoid;
use vi_core::{DenseGaussian, ProbitApproximation};
use vi_data::Dataset;
use vi_linalg::faer::MatRef;
use vi_models::predict::{self, LogisticPrediction};

use super::methods::{FILTERS, Path};
use super::refined::{self, COMPARED_AND_BEST, Refined};
use super::replicate::{Finals, Setting};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::logistic::{Planar, Posterior, laplace, moments};
use crate::plot::palette::Method::{
    self, BatchVga, Laplace, Qkf, Refinement, RvgaExplicit, RvgaImplicit, TruePosterior,
};
use crate::plot::palette::{BLACK, CLASS_0, CLASS_1, Style};
use crate::plot::{Axis, Figure, Grid, Panel, Ramp, linspace};
use crate::report::{Check, Outcome, Shown, Table, number, short};

const SETTING: Setting = Setting { n: 300, d: 2, s: 5.0, c: 2.0, sigma0: 10.0, mu0_norm: 0.0 };
const LEVELS: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];

/// Unseen inputs on a square grid round the data, row by row.
struct Unseen {
    xs: Vec<f64>,
    ys: Vec<f64>,
    rows: Vec<f64>,
}

impl Unseen {
    fn new(data: &Dataset, n: usize) -> Self {
        let reach = 1.15 * data.rows_row_major().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let (xs, ys) = (linspace(-reach, reach, n), linspace(-reach, reach, n));
        let rows = ys.iter().flat_map(|y| xs.iter().flat_map(move |x| [*x, *y])).collect();
        Self { xs, ys, rows }
    }

    fn predict(&self, belief: &DenseGaussian) -> Result<Vec<LogisticPrediction>, ReproError> {
        let x = MatRef::from_row_major_slice(&self.rows, self.rows.len() / 2, 2);
        predict::logistic(belief, x, &ProbitApproximation).context("prediction")
    }

    /// `E s(xᵀθ)` under the true posterior, from its grid.
    fn truth(&self, planar: &Planar) -> Vec<f64> {
        let at = |x: &[f64]| planar.cloud.iter().map(|(t, w)| w * sigmoid(x[0] * t[0] + x[1] * t[1])).sum::<f64>();
        self.rows.chunks_exact(2).map(at).collect()
    }
}

/// Mean distance of probabilities from one half.
fn confidence(p: &[f64]) -> f64 {
    p.iter().map(|p| (p - 0.5).abs()).sum::<f64>() / p.len() as f64
}

/// The probabilities of every method on one data set, and whether (122) holds at each input.
struct Predicted {
    p: Vec<Vec<f64>>,
    less_confident: bool,
}

impl Predicted {
    fn new(data: &Dataset, prior: &DenseGaussian, unseen: &Unseen) -> Result<Self, ReproError> {
        let mut beliefs = Vec::new();
        for m in FILTERS {
            beliefs.push(Path::new(m, prior, data, &[data.n()])?.last()?.clone());
        }
        beliefs.push(laplace(prior, data)?);
        let refined = Refined::new(prior, data)?;
        beliefs.extend([refined.belief, refined.optimum]);
        let mut less_confident = true;
        let mut p = Vec::new();
        for belief in &beliefs {
            let predicted = unseen.predict(belief)?;
            // (122) is strict; probabilities that round to 0 or 1 can only tie.
            less_confident &= predicted.iter().all(|q| (q.probability - 0.5).abs() <= (q.plug_in - 0.5).abs());
            p.push(predicted.iter().map(|q| q.probability).collect());
        }
        Ok(Self { p, less_confident })
    }

    fn confidence(&self, m: Method) -> f64 {
        COMPARED_AND_BEST.iter().position(|c| *c == m).map_or(f64::NAN, |i| confidence(&self.p[i]))
    }
}

/// Whether the optimum's probabilities are the nearest to the true posterior's, given each method's mean distance.
fn optimum_predicts_best(distance: &dyn Fn(Method) -> f64) -> Check {
    let online = FILTERS.map(distance).into_iter().fold(f64::INFINITY, f64::min);
    words().fact(
        "optimum-predicts-closer-true",
        distance(BatchVga) < online.min(distance(Laplace)),
        &[&distance(BatchVga), &online, &distance(Laplace)],
    )
}

/// Fig 11: iso-probabilities of the outputs.
pub(super) fn fig11(ctx: &Context) -> Result<Outcome, ReproError> {
    let sets = ctx.pick(20, 6);
    ctx.steps(sets);
    let prior = SETTING.prior()?;
    let data = SETTING.data(ctx.seed, 0)?;
    let unseen = Unseen::new(&data, ctx.pick(81, 61));
    let posterior = Posterior::new(&prior, &data)?;
    let (mean, cov) = moments(&laplace(&prior, &data)?);
    let truth = unseen.truth(&Planar::new(&posterior, mean, cov, 160)?);

    let mut all = Vec::new();
    let mut finals = Vec::new();
    for k in 0..sets {
        let further = SETTING.data(ctx.seed, k)?;
        all.push(Predicted::new(&further, &prior, &Unseen::new(&further, unseen.xs.len()))?);
        finals.push(Finals::new(&prior, &further)?);
        ctx.step("predictions");
    }
    let drawn = &all[0];
    let class = |y: f64, i: usize| -> Vec<f64> { data.observations().filter(|o| o.1 == y).map(|o| o.0[i]).collect() };
    let panel = |m: Method, p: &[f64]| -> Result<Panel, ReproError> {
        let grid = Grid::new(unseen.xs.clone(), unseen.ys.clone(), p.to_vec())?;
        Ok(Panel::new(refined::label(m), Axis::linear("x₁"), Axis::linear("x₂"))
            .heat(&grid, Ramp::PROBABILITY, (0.0, 1.0), true)
            .contours(&grid, &LEVELS, Style::solid(BLACK).width(1.5), "P(y = 1) = 0.1, 0.3, 0.5, 0.7, 0.9")
            .points(&class(0.0, 0), &class(0.0, 1), CLASS_0, 3.0, "class 0")
            .points(&class(1.0, 0), &class(1.0, 1), CLASS_1, 3.0, "class 1"))
    };
    let of = |m: Method| COMPARED_AND_BEST.iter().position(|c| *c == m).map_or(&truth, |i| &drawn.p[i]);
    let row = |methods: [Method; 4]| methods.into_iter().map(|m| panel(m, of(m))).collect::<Result<Vec<_>, _>>();
    let figure = Figure::new("Predictive probability of class 1: σ₀ = 10, μ₀ = 0, N = 300, s = 5")
        .row(270.0, row([RvgaImplicit, Method::Ekf, Laplace, Refinement])?)
        .row(270.0, row([RvgaExplicit, Qkf, TruePosterior, BatchVga])?);

    let slugs = COMPARED_AND_BEST.iter().map(|m| m.slug());
    let columns: Vec<&str> = ["x1", "x2"].into_iter().chain(slugs).chain([TruePosterior.slug()]).collect();
    let mut table = Table::new("", &columns);
    for (i, x) in unseen.rows.chunks_exact(2).enumerate() {
        let p = drawn.p.iter().map(|p| p[i]).chain([truth[i]]);
        table.row(&[], x.iter().copied().chain(p).map(short))?;
    }
    let distance = |m: Method| of(m).iter().zip(&truth).map(|(a, b)| (a - b).abs()).sum::<f64>() / truth.len() as f64;
    let mut beyond = refined::checks(&[("", &finals)], "data sets", false);
    beyond.push(optimum_predicts_best(&distance));
    let own = |m: Method| confidence(of(m));
    let modest = all.iter().all(|p| p.less_confident);
    beyond.push(words().fact("averaged-prediction-nowhere-more", modest, &[]));
    let between = |f: &dyn Fn(&Predicted) -> bool| (all.iter().filter(|p| f(p)).count(), all.len());
    let c = |m: Method| number(drawn.confidence(m));
    let rvga = |p: &Predicted| p.confidence(RvgaImplicit);
    Ok(Outcome {
        checks: [
            vec![
                words().fact(
                    "laplace-cautious",
                    own(Laplace) < confidence(&truth) && own(Qkf) > confidence(&truth),
                    &[&c(Laplace), &c(Qkf), &confidence(&truth)],
                ),
                words().counted(
                    "between",
                    between(&|p| p.confidence(Laplace) < rvga(p) && rvga(p) < p.confidence(Qkf)),
                    &[&c(Laplace), &c(RvgaImplicit), &c(Qkf)],
                ),
            ],
            beyond,
        ]
        .concat(),
        shown: Shown::new(
            ["method", "confidence", "mean distance from the true posterior’s probability", "largest"],
            COMPARED_AND_BEST.iter().zip(&drawn.p).map(|(m, p)| {
                let gap = p.iter().zip(&truth).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                vec![refined::label(*m), c(*m), number(distance(*m)), number(gap)]
            }),
        ),
        tables: vec![table, refined::gap_table(&[("", &finals)])?],
        figure,
        ..words().outcome(ctx, &[&c(Laplace), &c(RvgaImplicit), &c(Qkf), &confidence(&truth)])
    })
}
