//! §3: two classes that no line separates, by a Bernoulli GLM, beside logistic regression.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vi_core::special::{log_sigmoid, sigmoid};
use vi_linalg::faer::{Mat, Par};
use vi_models::metrics::{accuracy, log_loss_from_log};
use vi_revrand::Kernel;
use vi_revrand::basis::{Basis, LengthScale, Linear, RandomFourier};
use vi_revrand::glm::{Glm, GlmSettings, Rows};
use vi_revrand::likelihood::Bernoulli;

use super::scores::median;
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{BLUE, CLASS_0, CLASS_1, Dash, GREY, Style};
use crate::plot::{Axis, Figure, Grid, Panel, Ramp, linspace};
use crate::report::{Outcome, Shown, Table, number};

const TRAINING: usize = 400;
const TEST: usize = 2000;
const REACH: f64 = 3.0;
const PAIRS: usize = 50;
const MODELS: [&str; 3] = ["truth", "GLM on random features", "logistic regression"];

/// The true predictor: a ring and a wave.
fn predictor(x: f64, y: f64) -> f64 {
    4.0 * (1.6 - x.hypot(y)) + 3.0 * (1.5 * x).sin()
}

/// Points and labels.
pub(super) struct Data {
    pub(super) x: Mat<f64>,
    pub(super) y: Vec<f64>,
    test_x: Mat<f64>,
    test_y: Vec<f64>,
}

impl Data {
    pub(super) fn new(rng: &mut ChaCha8Rng) -> Self {
        let mut inputs = |n: usize| Mat::from_fn(n, 2, |_, _| REACH * (2.0 * rng.random::<f64>() - 1.0));
        let (x, test_x) = (inputs(TRAINING), inputs(TEST));
        let mut labels = |x: &Mat<f64>| {
            let p = |i| sigmoid(predictor(x[(i, 0)], x[(i, 1)]));
            (0..x.nrows()).map(|i| f64::from(u8::from(rng.random::<f64>() < p(i)))).collect()
        };
        let (y, test_y) = (labels(&x), labels(&test_x));
        Self { x, y, test_x, test_y }
    }

    fn train<B: Basis>(&self, basis: B, rng: &mut ChaCha8Rng) -> Result<Glm<B, Bernoulli>, ReproError> {
        let mut model = Glm::new(basis, Bernoulli, GlmSettings::default(), rng).context("classifier")?;
        model.fit(Rows::new(self.x.as_ref(), &self.y), rng).context("classifier")?;
        Ok(model)
    }

    fn waves(&self, rng: &mut ChaCha8Rng) -> Result<Glm<RandomFourier, Bernoulli>, ReproError> {
        let basis = RandomFourier::new(Kernel::Rbf, 2, PAIRS, LengthScale::PerInput(vec![1.0; 2]), rng);
        self.train(basis.context("basis")?, rng)
    }

    /// Log loss and error rate of the truth, of the GLM, and of the same on the inputs themselves.
    fn scores(&self, rng: &mut ChaCha8Rng) -> Result<[(f64, f64); 3], ReproError> {
        let line = Linear::with_intercept(2).context("basis")?;
        let truth: Vec<f64> = (0..TEST).map(|i| predictor(self.test_x[(i, 0)], self.test_x[(i, 1)])).collect();
        let logs: Vec<f64> = truth.iter().zip(&self.test_y).map(|(f, y)| log_sigmoid((2.0 * y - 1.0) * f)).collect();
        let probabilities: Vec<f64> = truth.into_iter().map(sigmoid).collect();
        Ok([
            self.score(&logs, &probabilities)?,
            self.score_of(&self.waves(rng)?)?,
            self.score_of(&self.train(line, rng)?)?,
        ])
    }

    fn score_of<B: Basis>(&self, model: &Glm<B, Bernoulli>) -> Result<(f64, f64), ReproError> {
        let predicted = model.predict(self.test_x.as_ref(), None, Par::Seq).context("prediction")?;
        let logs = predicted.log_densities(&self.test_y, Par::Seq).context("prediction")?;
        self.score(&logs, &predicted.means(Par::Seq).context("prediction")?)
    }

    fn score(&self, logs: &[f64], probabilities: &[f64]) -> Result<(f64, f64), ReproError> {
        let loss = log_loss_from_log(logs).context("log loss")?;
        Ok((loss, 1.0 - accuracy(probabilities, &self.test_y).context("error rate")?))
    }
}

/// Two-class classification.
pub(super) fn classes(ctx: &Context) -> Result<Outcome, ReproError> {
    let count = ctx.pick(20, 5);
    ctx.steps(count);
    let rng = &mut ChaCha8Rng::seed_from_u64(ctx.seed);
    let mut runs = Vec::new();
    for _ in 0..count {
        runs.push(Data::new(rng).scores(rng)?);
        ctx.step("data sets");
    }
    let of = |model: usize| {
        let losses: Vec<f64> = runs.iter().map(|run| run[model].0).collect();
        let errors: Vec<f64> = runs.iter().map(|run| run[model].1).collect();
        (median(&losses), median(&errors))
    };
    let [truth, model, line] = [0, 1, 2].map(of);
    let better = runs.iter().filter(|run| run[1].0 < run[2].0 && run[1].1 < run[2].1).count();
    Ok(Outcome {
        checks: vec![
            words().counted("over-logistic", (better, count), &[&model.0, &line.0]),
            words().below("log-loss-near-true", model.0 - truth.0, 0.06),
        ],
        shown: Shown::new(
            ["model", "log loss", "error rate"],
            MODELS
                .iter()
                .zip([truth, model, line])
                .map(|(name, (loss, error))| vec![(*name).to_owned(), number(loss), number(error)]),
        ),
        tables: vec![table(&runs)?],
        figure: figure(ctx)?,
        ..words().outcome(ctx, &[&model.0, &model.1, &line.0, &line.1, &truth.0, &truth.1, &count, &TRAINING, &PAIRS])
    })
}

fn table(runs: &[[(f64, f64); 3]]) -> Result<Table, ReproError> {
    let mut table = Table::new("", &["data_set", "model", "log_loss", "error_rate"]);
    for (i, run) in runs.iter().enumerate() {
        for (name, (loss, error)) in MODELS.iter().zip(run) {
            table.push(&[&i, name, loss, error])?;
        }
    }
    Ok(table)
}

fn figure(ctx: &Context) -> Result<Figure, ReproError> {
    let rng = &mut ChaCha8Rng::seed_from_u64(ctx.seed);
    let data = Data::new(rng);
    let model = data.waves(rng)?;
    let t = linspace(-REACH, REACH, 81);
    let at = Mat::from_fn(t.len() * t.len(), 2, |i, j| if j == 0 { t[i % t.len()] } else { t[i / t.len()] });
    let predicted = model.predict(at.as_ref(), None, Par::Seq).context("prediction")?;
    let grid = Grid::new(t.clone(), t.clone(), predicted.means(Par::Seq).context("prediction")?)?;
    let truth = Grid::of(t.clone(), t, |x, y| sigmoid(predictor(x, y)))?;
    let class = |label: f64| {
        let rows: Vec<usize> = (0..TRAINING).filter(|&i| data.y[i] == label).collect();
        let column = |j: usize| rows.iter().map(|&i| data.x[(i, j)]).collect::<Vec<f64>>();
        (column(0), column(1))
    };
    let (ones, zeros) = (class(1.0), class(0.0));
    let panel =
        Panel::new("Predictive probability of class 1", Axis::linear("first input"), Axis::linear("second input"))
            .equal_scales()
            .heat(&grid, Ramp::PROBABILITY, (0.0, 1.0), true)
            .contours(&grid, &[0.5], Style::solid(BLUE).width(2.2), "GLM at ½")
            .contours(&truth, &[0.5], Style::solid(GREY).dash(Dash::Dashed).width(1.6), "truth at ½")
            .points(&ones.0, &ones.1, CLASS_1, 2.6, "class 1")
            .points(&zeros.0, &zeros.1, CLASS_0, 2.2, "class 0");
    Ok(Figure::new("Two classes").row(520.0, vec![panel]))
}
