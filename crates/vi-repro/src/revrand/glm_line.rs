//! §1.3 and §3: the GLM with Gaussian noise as a Gaussian process, beside the linear model on the same features.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_linalg::faer::{Mat, Par};
use vi_revrand::Kernel;
use vi_revrand::basis::{LengthScale, RandomFourier};
use vi_revrand::glm::{Expectation, Glm, GlmSettings, Rows};
use vi_revrand::likelihood::{Gaussian, GlmLikelihood};
use vi_revrand::sgd::Updater;

use super::demo::{Draw, LENGTH, NOISE, REACH, TEST, TRAINING};
use super::scores::{Predicted, Scores, median, quantile};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{BLACK, BLUE, Dash, GREY, Marker, PALE, Style};
use crate::plot::{Axis, Figure, Panel, linspace};
use crate::report::{Outcome, Quantity, Shown, Table, number};

/// Pairs of features of the demonstration, and numbers of components.
const PAIRS: usize = 20;
const COMPONENTS: [usize; 2] = [1, 3];
/// Steps and rate of the training.
const STEPS: usize = 20_000;
const RATE: f64 = 0.003;
/// Where the length scale starts: about half of the process’. From features that are too smooth the diagonal posterior explains the
/// signal as noise first and is slow to come back; from rougher ones it does not.
const START: f64 = 0.5;

/// The GLM with `pairs` pairs of random features, everything learned.
fn train(draw: &Draw, components: usize, seed: u64, k: usize) -> Result<Glm<RandomFourier, Gaussian>, ReproError> {
    // Other streams than the data's.
    let rng = &mut ChaCha8Rng::seed_from_u64(seed ^ 0x61_6d);
    rng.set_stream(k as u64);
    let basis = RandomFourier::new(Kernel::Rbf, 1, PAIRS, LengthScale::Shared(START), rng)
        .context("generalised linear model")?;
    let settings = GlmSettings {
        components,
        // Exact for Gaussian noise.
        expectation: Expectation::SecondOrder,
        steps: STEPS,
        updater: Updater::adam(RATE).context("generalised linear model")?,
        ..GlmSettings::default()
    };
    let mut model = Glm::new(basis, Gaussian::new(0.1).context("generalised linear model")?, settings, rng)
        .context("generalised linear model")?;
    model.fit(Rows::new(draw.x.as_ref(), &draw.y), rng).context("generalised linear model")?;
    Ok(model)
}

pub(super) fn predict<L: GlmLikelihood>(model: &Glm<RandomFourier, L>, x: &Mat<f64>) -> Result<Predicted, ReproError> {
    let predictions = model.predict(x.as_ref(), None, Par::Seq).context("prediction")?;
    let means = predictions.means(Par::Seq).context("prediction")?;
    Ok(Predicted { means, variances: predictions.variances(Par::Seq).context("prediction")? })
}

/// Scores of one draw.
struct Run {
    exact: Scores,
    linear: Scores,
    models: Vec<Scores>,
    /// Learned length scale and noise deviation, one component.
    learned: (f64, f64),
}

impl Run {
    fn new(seed: u64, k: usize) -> Result<Self, ReproError> {
        let draw = Draw::new(seed, k)?;
        let scores = |predicted: Predicted| predicted.scores(&draw.test_y, &draw.y);
        let linear = draw.slm(PAIRS, seed, k)?.predict(draw.test_x.as_ref(), Par::Seq);
        let linear = linear.context("prediction")?.into_iter().collect();
        let mut run = Self {
            exact: scores(draw.exact(draw.test_x.as_ref())?)?,
            linear: scores(linear)?,
            models: Vec::new(),
            learned: (f64::NAN, f64::NAN),
        };
        for components in COMPONENTS {
            let model = train(&draw, components, seed, k)?;
            run.models.push(scores(predict(&model, &draw.test_x)?)?);
            if components == 1 {
                run.learned = (model.basis_parameters()[0], model.likelihood().noise_variance().sqrt());
            }
        }
        Ok(run)
    }

    fn against(&self, scores: Scores) -> (f64, f64) {
        (scores.smse / self.exact.smse, scores.msll - self.exact.msll)
    }
}

/// SMSE over the exact process', and MSLL above it, over all draws.
fn against(runs: &[Run], of: impl Fn(&Run) -> Scores) -> (Vec<f64>, Vec<f64>) {
    runs.iter().map(|run| run.against(of(run))).unzip()
}

/// The GLM on the regression demonstration.
pub(super) fn glm_line(ctx: &Context) -> Result<Outcome, ReproError> {
    let count = ctx.pick(40, 20);
    ctx.steps(count);
    let mut runs = Vec::new();
    for k in 0..count {
        runs.push(Run::new(ctx.seed, k)?);
        ctx.step("draws of the process");
    }
    let (ratios, excess) = against(&runs, |run| run.models[0]);
    let (ratio, above) = (median(&ratios), median(&excess));
    let of = |f: &dyn Fn(&Run) -> f64| median(&runs.iter().map(f).collect::<Vec<_>>());
    let within = |values: &[f64], v: f64| (quantile(values, 0.025)..=quantile(values, 0.975)).contains(&v);
    let middle = |values: &[f64]| format!("{} to {}", number(quantile(values, 0.025)), number(quantile(values, 0.975)));
    Ok(Outcome {
        checks: vec![
            words().fact("glm-smse", within(&ratios, 1.41), &[&ratio, &middle(&ratios)]),
            words().fact("glm-msll", within(&excess, 0.24), &[&above, &middle(&excess)]),
            words().below("20-pairs-glm-smse", ratio, 1.45),
            words().below("msll-most-0-26", above, 0.26),
        ],
        quantities: vec![
            Quantity::new("SMSE, exact process").authors("0.01186").works(number(of(&|r| r.exact.smse))),
            Quantity::new("SMSE, GLM").authors("0.01677").works(number(of(&|r| r.models[0].smse))),
            Quantity::new("MSLL, exact process").authors("−2.206").works(number(of(&|r| r.exact.msll))),
            Quantity::new("MSLL, GLM").authors("−1.966").works(number(of(&|r| r.models[0].msll))),
        ],
        shown: shown(&runs),
        tables: vec![table(&runs)?],
        figure: figure(ctx, &runs)?,
        ..words().outcome(
            ctx,
            &[
                &PAIRS,
                &ratio,
                &above,
                &count,
                &TRAINING,
                &LENGTH,
                &NOISE,
                &PAIRS,
                &TEST,
                &count,
                &STEPS,
                &RATE,
                &START,
                &of(&|run| run.learned.0),
                &of(&|run| run.learned.1),
            ],
        )
    })
}

/// A model's name, and its scores in a run.
type Model = (String, Box<dyn Fn(&Run) -> Scores>);

fn models() -> Vec<Model> {
    let mut all: Vec<Model> = vec![("linear model".into(), Box::new(|run| run.linear))];
    for (i, components) in COMPONENTS.iter().enumerate() {
        all.push((format!("GLM, K = {components}"), Box::new(move |run| run.models[i])));
    }
    all
}

fn shown(runs: &[Run]) -> Shown {
    let medians = |name: String, of: &dyn Fn(&Run) -> Scores| {
        let (ratios, excess) = against(runs, of);
        let smse: Vec<f64> = runs.iter().map(|run| of(run).smse).collect();
        let msll: Vec<f64> = runs.iter().map(|run| of(run).msll).collect();
        let numbers = [median(&smse), median(&msll), median(&ratios), median(&excess)];
        std::iter::once(name).chain(numbers.map(number)).collect()
    };
    let exact = medians("exact process".into(), &|run| run.exact);
    let rest = models().into_iter().map(|(name, of)| medians(name, &of));
    Shown::new(["model", "SMSE", "MSLL", "SMSE over exact", "MSLL above exact"], std::iter::once(exact).chain(rest))
}

fn table(runs: &[Run]) -> Result<Table, ReproError> {
    let mut table = Table::new("", &["draw", "model", "smse", "msll", "exact_smse", "exact_msll"]);
    for (k, run) in runs.iter().enumerate() {
        for (name, of) in models() {
            let scores = of(run);
            let numbers = [scores.smse, scores.msll, run.exact.smse, run.exact.msll];
            table.row(&[&k, &name], numbers)?;
        }
    }
    Ok(table)
}

fn figure(ctx: &Context, runs: &[Run]) -> Result<Figure, ReproError> {
    // The draw on which the model does as well as on half of them.
    let (ratios, _) = against(runs, |run| run.models[0]);
    let middle = quantile(&ratios, 0.5);
    let typical = ratios.iter().position(|ratio| *ratio == middle).unwrap_or(0);
    let draw = Draw::new(ctx.seed, typical)?;
    let t = linspace(-1.15 * REACH, 1.15 * REACH, 401);
    let points = Mat::from_fn(t.len(), 1, |i, _| t[i]);
    let exact = draw.exact(points.as_ref())?;
    let model = predict(&train(&draw, 1, ctx.seed, typical)?, &points)?;
    let training: Vec<f64> = draw.x.col(0).iter().copied().collect();
    let dashed = Style::solid(BLUE).dash(Dash::Dashed).width(1.4);
    let fit =
        Panel::new(format!("A typical draw, {PAIRS} pairs of features, K = 1"), Axis::linear("x"), Axis::linear("y"))
            .band(&t, &exact.edge(-2.0), &exact.edge(2.0), PALE, 0.8, "exact process ± 2 deviations")
            .points(&training, &draw.y, Style::solid(GREY).marker(Marker::Disc).alpha(0.6), 2.2, "training points")
            .line_marked(&t, &exact.means, Style::solid(BLACK), 0, "exact process")
            .line_marked(&t, &model.means, Style::solid(BLUE), 0, "GLM")
            .line_marked(&t, &model.edge(-2.0), dashed, 0, "GLM ± 2 deviations")
            .line_marked(&t, &model.edge(2.0), dashed, 0, "");
    let names: Vec<String> = models().into_iter().map(|(name, _)| name).collect();
    let place: Vec<f64> = (0..names.len()).map(|i| i as f64).collect();
    let scores: Vec<(Vec<f64>, Vec<f64>)> = models().into_iter().map(|(_, of)| against(runs, of)).collect();
    let spread = |title: &str, unit: &str, values: Vec<&[f64]>, bound: f64| {
        let at = |share: f64| values.iter().map(|v| quantile(v, share)).collect::<Vec<f64>>();
        let middle: Vec<f64> = values.iter().map(|v| median(v)).collect();
        Panel::new(title, Axis::categories("", names.clone()), Axis::linear(unit))
            .horizontal(bound, Style::solid(GREY).dash(Dash::Dotted), "asked for of the GLM")
            .spread(&place, &at(0.25), &at(0.75), Style::solid(BLUE).width(1.6), "quartiles over draws")
            .points(&place, &middle, Style::solid(BLUE).marker(Marker::Disc), 4.0, "median")
    };
    let ratio =
        spread("SMSE over that of the exact process", "ratio", scores.iter().map(|s| s.0.as_slice()).collect(), 1.45);
    let excess =
        spread("MSLL above that of the exact process", "nats", scores.iter().map(|s| s.1.as_slice()).collect(), 0.26);
    Ok(Figure::new("The GLM on random features as a Gaussian process")
        .row(340.0, vec![fit])
        .row(300.0, vec![ratio, excess]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Medians over 20 draws, with twenty pairs of features (40 columns: the published demonstration counts pairs) and one component:
    /// SMSE at most 1.45 times and MSLL at most 0.26 above that of the process which the data were drawn from. One set of draws, and
    /// more among the slow tests.
    #[test]
    fn twenty_pairs_come_close_to_the_exact_process() {
        let slow = std::env::var_os("VI_SLOW").is_some_and(|value| value == "1");
        let sets = if slow { 5 } else { 1 };
        for seed in 1..=sets {
            let (mut ratios, mut excess) = (Vec::new(), Vec::new());
            for k in 0..20 {
                let draw = Draw::new(seed, k).unwrap();
                let exact = draw.exact(draw.test_x.as_ref()).unwrap().scores(&draw.test_y, &draw.y).unwrap();
                let predicted = predict(&train(&draw, 1, seed, k).unwrap(), &draw.test_x).unwrap();
                let scores = predicted.scores(&draw.test_y, &draw.y).unwrap();
                ratios.push(scores.smse / exact.smse);
                excess.push(scores.msll - exact.msll);
            }
            let (ratio, above) = (median(&ratios), median(&excess));
            assert!(ratio <= 1.45, "set {seed}: {ratios:?}");
            assert!(above <= 0.26, "set {seed}: {excess:?}");
        }
    }
}
