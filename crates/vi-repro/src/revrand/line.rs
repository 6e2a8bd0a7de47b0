//! §1.2 and §3: Bayesian linear regression on random features as a Gaussian process.

use vi_linalg::faer::{Mat, Par};
use vi_revrand::Slm;
use vi_revrand::basis::RandomFourier;

use super::demo::{Draw, LENGTH, NOISE, REACH, STARTS, TEST, TRAINING};
use super::scores::{Predicted, Scores, median, quantile};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{BLACK, BLUE, Dash, GREY, Marker, PALE, Style};
use crate::plot::{Axis, Figure, Panel, linspace};
use crate::report::{Outcome, Quantity, Shown, Table, number};

/// Pairs of features: half the demonstration's, the demonstration's, and more.
const PAIRS: [usize; 5] = [5, 10, 20, 40, 80];
/// The demonstration's.
const DEMO: usize = 20;

/// Scores of one draw: the exact process', and the model's with each number of pairs.
struct Run {
    exact: Scores,
    models: Vec<Scores>,
    /// Learned length scale and noise deviation with the demonstration's number of pairs.
    learned: (f64, f64),
}

impl Run {
    fn new(seed: u64, k: usize) -> Result<Self, ReproError> {
        let draw = Draw::new(seed, k)?;
        let exact = draw.exact(draw.test_x.as_ref())?.scores(&draw.test_y, &draw.y)?;
        let (mut models, mut learned) = (Vec::new(), (f64::NAN, f64::NAN));
        for pairs in PAIRS {
            let model = draw.slm(pairs, seed, k)?;
            models.push(predict(&model, &draw.test_x)?.scores(&draw.test_y, &draw.y)?);
            if pairs == DEMO {
                let hyper = model.hyperparameters();
                learned = (hyper.theta.first().copied().unwrap_or(f64::NAN), hyper.noise_variance.sqrt());
            }
        }
        Ok(Self { exact, models, learned })
    }
}

fn predict(model: &Slm<RandomFourier>, x: &Mat<f64>) -> Result<Predicted, ReproError> {
    let predictions = model.predict(x.as_ref(), Par::Seq).context("prediction")?;
    Ok(predictions.into_iter().collect())
}

/// SMSE over the exact process', and MSLL above it, over all draws for one number of pairs.
fn against(runs: &[Run], index: usize) -> (Vec<f64>, Vec<f64>) {
    runs.iter().map(|r| (r.models[index].smse / r.exact.smse, r.models[index].msll - r.exact.msll)).unzip()
}

/// The regression demonstration: one draw to look at, and scores over many.
pub(super) fn line(ctx: &Context) -> Result<Outcome, ReproError> {
    let count = ctx.pick(60, 20);
    ctx.steps(count);
    let mut runs = Vec::new();
    for k in 0..count {
        runs.push(Run::new(ctx.seed, k)?);
        ctx.step("draws of the process");
    }
    let demo = PAIRS.iter().position(|pairs| *pairs == DEMO).unwrap_or(0);
    let (ratios, excess) = against(&runs, demo);
    let (ratio, above) = (median(&ratios), median(&excess));
    let within = |values: &[f64], v: f64| (quantile(values, 0.025)..=quantile(values, 0.975)).contains(&v);
    let middle = |values: &[f64]| format!("{} to {}", number(quantile(values, 0.025)), number(quantile(values, 0.975)));
    let of = |f: &dyn Fn(&Run) -> f64| median(&runs.iter().map(f).collect::<Vec<_>>());
    Ok(Outcome {
        checks: vec![
            words().fact("printed-smse", within(&ratios, 1.19), &[&ratio, &middle(&ratios)]),
            words().fact("printed-msll", within(&excess, 0.095), &[&above, &middle(&excess)]),
            words().below("20-pairs-linear-model", ratio, 1.2),
            words().below("msll-most-0-12", above, 0.12),
            words().below("more-features-left-price", median(&against(&runs, PAIRS.len() - 1).0), 1.05),
        ],
        quantities: vec![
            Quantity::new("SMSE, exact process").authors("0.01186").works(number(of(&|r| r.exact.smse))),
            Quantity::new("SMSE, linear model").authors("0.01412").works(number(of(&|r| r.models[demo].smse))),
            Quantity::new("MSLL, exact process").authors("−2.206").works(number(of(&|r| r.exact.msll))),
            Quantity::new("MSLL, linear model").authors("−2.111").works(number(of(&|r| r.models[demo].msll))),
        ],
        shown: shown(&runs),
        tables: vec![table(&runs)?],
        figure: figure(ctx, &runs)?,
        ..words().outcome(
            ctx,
            &[
                &DEMO,
                &ratio,
                &above,
                &count,
                &TRAINING,
                &LENGTH,
                &NOISE,
                &DEMO,
                &TEST,
                &count,
                &REACH,
                &REACH,
                &STARTS,
                &DEMO,
                &of(&|r| r.learned.0),
                &of(&|r| r.learned.1),
            ],
        )
    })
}

fn shown(runs: &[Run]) -> Shown {
    let row = |name: String, scores: Vec<Scores>, ratios: (String, String)| {
        let smse: Vec<f64> = scores.iter().map(|s| s.smse).collect();
        let msll: Vec<f64> = scores.iter().map(|s| s.msll).collect();
        vec![name, number(median(&smse)), number(median(&msll)), ratios.0, ratios.1]
    };
    let exact = row("exact process".into(), runs.iter().map(|r| r.exact).collect(), ("1".into(), "0".into()));
    let models = PAIRS.iter().enumerate().map(|(i, pairs)| {
        let (ratios, excess) = against(runs, i);
        let medians = (number(median(&ratios)), number(median(&excess)));
        row(format!("{pairs} pairs"), runs.iter().map(|r| r.models[i]).collect(), medians)
    });
    Shown::new(["model", "SMSE", "MSLL", "SMSE over exact", "MSLL above exact"], std::iter::once(exact).chain(models))
}

fn table(runs: &[Run]) -> Result<Table, ReproError> {
    let mut table = Table::new("", &["draw", "pairs", "smse", "msll", "exact_smse", "exact_msll"]);
    for (k, run) in runs.iter().enumerate() {
        for (pairs, scores) in PAIRS.iter().zip(&run.models) {
            let numbers = [scores.smse, scores.msll, run.exact.smse, run.exact.msll];
            table.row(&[&k, &pairs], numbers)?;
        }
    }
    Ok(table)
}

fn figure(ctx: &Context, runs: &[Run]) -> Result<Figure, ReproError> {
    // The draw on which the model does as well as on half of them.
    let demo = PAIRS.iter().position(|pairs| *pairs == DEMO).unwrap_or(0);
    let (ratios, _) = against(runs, demo);
    let middle = quantile(&ratios, 0.5);
    let typical = ratios.iter().position(|ratio| *ratio == middle).unwrap_or(0);
    let draw = Draw::new(ctx.seed, typical)?;
    let t = linspace(-1.15 * REACH, 1.15 * REACH, 401);
    let points = Mat::from_fn(t.len(), 1, |i, _| t[i]);
    let exact = draw.exact(points.as_ref())?;
    let model = predict(&draw.slm(DEMO, ctx.seed, typical)?, &points)?;
    let training: Vec<f64> = draw.x.col(0).iter().copied().collect();
    let dashed = Style::solid(BLUE).dash(Dash::Dashed).width(1.4);
    let fit = Panel::new(format!("A typical draw, {DEMO} pairs of features"), Axis::linear("x"), Axis::linear("y"))
        .band(&t, &exact.edge(-2.0), &exact.edge(2.0), PALE, 0.8, "exact process ± 2 deviations")
        .points(&training, &draw.y, Style::solid(GREY).marker(Marker::Disc).alpha(0.6), 2.2, "training points")
        .line_marked(&t, &exact.means, Style::solid(BLACK), 0, "exact process")
        .line_marked(&t, &model.means, Style::solid(BLUE), 0, "linear model on features")
        .line_marked(&t, &model.edge(-2.0), dashed, 0, "linear model ± 2 deviations")
        .line_marked(&t, &model.edge(2.0), dashed, 0, "");
    let m: Vec<f64> = PAIRS.iter().map(|pairs| *pairs as f64).collect();
    let over: Vec<(Vec<f64>, Vec<f64>)> = (0..PAIRS.len()).map(|i| against(runs, i)).collect();
    let curve = |panel: Panel, values: Vec<&[f64]>, bound: f64| {
        let at = |share: f64| values.iter().map(|v| quantile(v, share)).collect::<Vec<f64>>();
        let middle: Vec<f64> = values.iter().map(|v| median(v)).collect();
        panel
            .horizontal(bound, Style::solid(GREY).dash(Dash::Dotted), "asked for at 20 pairs")
            .spread(&m, &at(0.25), &at(0.75), Style::solid(BLUE).width(1.6), "quartiles over draws")
            .line_marked(&m, &middle, Style::solid(BLUE).marker(Marker::Disc), 1, "linear model on features")
    };
    let smse = Panel::new("SMSE over that of the exact process", Axis::log("pairs of features"), Axis::log("ratio"));
    let msll = Panel::new("MSLL above that of the exact process", Axis::log("pairs of features"), Axis::log("nats"));
    Ok(Figure::new("Bayesian linear regression on random features as a Gaussian process").row(340.0, vec![fit]).row(
        300.0,
        vec![
            curve(smse, over.iter().map(|o| o.0.as_slice()).collect(), 1.2),
            curve(msll, over.iter().map(|o| o.1.as_slice()).collect(), 0.12),
        ],
    ))
}
