//! §3: real data, cross-validated beside linear regression and the exact process.

use std::fs::File;
use std::path::Path;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use vi_data::{CsvSettings, Dataset, read_csv};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_revrand::basis::{Composed, Linear, RandomFourier};
use vi_revrand::glm::{Expectation, Glm, GlmSettings, Rows};
use vi_revrand::likelihood::Gaussian;
use vi_revrand::sgd::{Descent, DescentSettings, Updater, minimise};
use vi_revrand::slm::{self, Hyperparameters, SlmSettings};
use vi_revrand::{Kernel, basis};

use super::gp::{Gp, evidence};
use super::scores::{Predicted, Scores, median, quantile};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{BLACK, BLUE, GREY, Marker, SKY, Style, VERMILLION};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Shown, Table, number};

/// Folds of the cross-validation, repeated with other shuffles.
const FOLDS: usize = 5;
/// Pairs of random features.
const PAIRS: usize = 100;

/// What is compared, in the order of the results.
const MODELS: [&str; 5] = [
    "linear regression",
    "linear model on features",
    "GLM on features",
    "exact process, the features’ values",
    "exact process, its own values",
];
/// Places among them.
const LINEAR: usize = 0;
const FEATURES: usize = 1;
const GLM: usize = 2;
const SAME: usize = 3;
const OWN: usize = 4;
/// Steps of the search for the process' own values, on logarithmic scales from the features', and the step of its differences.
const STEPS: usize = 80;
const DIFFERENCE: f64 = 1e-5;
/// Steps of the GLM at each of two rates.
const GLM_STEPS: usize = 15_000;

/// One fold: standardised by the training rows.
struct Fold {
    x: Mat<f64>,
    y: Vec<f64>,
    test_x: Mat<f64>,
    test_y: Vec<f64>,
}

impl Fold {
    fn new(data: &Dataset, order: &[usize], fold: usize) -> Self {
        let (first, last) = (fold * order.len() / FOLDS, (fold + 1) * order.len() / FOLDS);
        let test = &order[first..last];
        let training = [&order[..first], &order[last..]].concat();
        let column = |k: usize| training.iter().map(|&i| data.row(i)[k]).collect::<Vec<f64>>();
        let scales: Vec<(f64, f64)> = (0..data.d()).map(|k| moments(&column(k))).collect();
        let (mean, deviation) = moments(&training.iter().map(|&i| data.y()[i]).collect::<Vec<_>>());
        let rows = |rows: &[usize]| {
            Mat::from_fn(rows.len(), data.d(), |i, k| (data.row(rows[i])[k] - scales[k].0) / scales[k].1)
        };
        let labels = |rows: &[usize]| rows.iter().map(|&i| (data.y()[i] - mean) / deviation).collect();
        Self { x: rows(&training), y: labels(&training), test_x: rows(test), test_y: labels(test) }
    }

    fn learn(&self, basis: impl Into<Composed>, rng: &mut ChaCha8Rng) -> Result<slm::Slm, ReproError> {
        let settings = SlmSettings { starts: 2, spread: 0.5, ..SlmSettings::default() };
        let fit = slm::learn(basis.into(), self.x.as_ref(), &self.y, &settings, rng, Par::Seq)
            .context("standard linear model")?;
        Ok(fit.model)
    }

    fn scores(&self, rng: &mut ChaCha8Rng) -> Result<[Scores; 5], ReproError> {
        let d = self.x.ncols();
        let line = Linear::new(d).context("basis")?;
        let linear = self.learn(line, rng)?;
        let scales = basis::LengthScale::Shared((d as f64).sqrt());
        let features = line + RandomFourier::new(Kernel::Rbf, d, PAIRS, scales, rng).context("basis")?;
        let model = self.learn(features.clone(), rng)?;
        let of = |model: &slm::Slm| -> Result<Predicted, ReproError> {
            let predictions = model.predict(self.test_x.as_ref(), Par::Seq);
            Ok(predictions.context("prediction")?.into_iter().collect())
        };
        let same = Process::new(model.hyperparameters())?;
        let own = same.learned(&self.x, &self.y)?;
        let score = |predicted: Predicted| predicted.scores(&self.test_y, &self.y);
        Ok([
            score(of(&linear)?)?,
            score(of(&model)?)?,
            score(self.glm(features, rng)?)?,
            score(same.predict(&self.x, &self.y, self.test_x.as_ref())?)?,
            score(own.predict(&self.x, &self.y, self.test_x.as_ref())?)?,
        ])
    }

    /// The GLM with one component, everything learned.
    fn glm(&self, features: Composed, rng: &mut ChaCha8Rng) -> Result<Predicted, ReproError> {
        let settings =
            GlmSettings { expectation: Expectation::SecondOrder, steps: GLM_STEPS, ..GlmSettings::default() };
        let mut model = Glm::new(features, Gaussian::new(0.5).context("generalised linear model")?, settings, rng)
            .context("generalised linear model")?;
        model.fit(Rows::new(self.x.as_ref(), &self.y), rng).context("generalised linear model")?;
        let finer = GlmSettings {
            updater: Updater::adam(0.001).context("generalised linear model")?,
            ..model.settings().clone()
        };
        let mut model = model.with_settings(finer).context("generalised linear model")?;
        model.fit(Rows::new(self.x.as_ref(), &self.y), rng).context("generalised linear model")?;
        let predictions = model.predict(self.test_x.as_ref(), None, Par::Seq).context("generalised linear model")?;
        let means = predictions.means(Par::Seq).context("generalised linear model")?;
        Ok(Predicted { means, variances: predictions.variances(Par::Seq).context("generalised linear model")? })
    }
}

/// The process that the features approximate: a line, a smooth function, noise.
#[derive(Clone, Copy)]
struct Process {
    /// Prior variances of the line and of the smooth function.
    slope: f64,
    smooth: f64,
    scale: f64,
    noise: f64,
}

impl Process {
    /// With the features' values.
    fn new(hyper: &Hyperparameters) -> Result<Self, ReproError> {
        match (&hyper.prior_variances[..], &hyper.theta[..]) {
            (&[slope, smooth], &[scale]) => Ok(Self { slope, smooth, scale, noise: hyper.noise_variance }),
            _ => Err(ReproError::Computation {
                what: "exact process".into(),
                message: "two parts and one length scale are expected".into(),
            }),
        }
    }

    fn kernel(self) -> impl Fn(&[f64], &[f64]) -> f64 {
        move |a, b| {
            let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            let squared: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
            self.slope * product + self.smooth * (-0.5 * squared / (self.scale * self.scale)).exp()
        }
    }

    /// From the logarithms of its four values, in this order.
    fn at(logs: &[f64]) -> Self {
        let value = |i: usize| logs.get(i).copied().unwrap_or(f64::NAN).exp();
        Self { slope: value(0), smooth: value(1), scale: value(2), noise: value(3) }
    }

    /// With the values that maximise its own evidence, from these: Adam on differences.
    fn learned(self, x: &Mat<f64>, y: &[f64]) -> Result<Self, ReproError> {
        let minus = |logs: &[f64]| {
            let process = Self::at(logs);
            evidence(x.as_ref(), y, process.kernel(), process.noise).map_or(f64::INFINITY, |value| -value)
        };
        let mut logs = [self.slope, self.smooth, self.scale, self.noise].map(f64::ln);
        let settings = DescentSettings {
            updater: Updater::adam(0.05).context("search for the process")?,
            ..DescentSettings::default()
        };
        let mut descent = Descent::new(settings, logs.len()).context("search for the process")?;
        let (mut best, mut at) = (f64::INFINITY, logs);
        let search = minimise(&mut descent, &mut logs, STEPS, |logs, gradient| {
            let value = minus(logs);
            for (i, g) in gradient.iter_mut().enumerate() {
                let mut moved = logs.to_vec();
                moved[i] += DIFFERENCE;
                *g = (minus(&moved) - value) / DIFFERENCE;
            }
            if value < best {
                best = value;
                at.copy_from_slice(logs);
            }
            Ok(value)
        });
        search.context("search for the process")?;
        Ok(Self::at(&at))
    }

    fn predict(self, x: &Mat<f64>, y: &[f64], at: MatRef<'_, f64>) -> Result<Predicted, ReproError> {
        Gp::new(x.as_ref(), y, self.kernel(), self.noise)?.predict(at)
    }
}

fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt())
}

/// The data set that `cargo xtask data diabetes` leaves.
fn read() -> Result<Dataset, ReproError> {
    let path = Path::new("target").join("data").join("diabetes.csv");
    let file = File::open(&path).map_err(|_| ReproError::NoData { name: "diabetes", path: path.clone() })?;
    read_csv(file, &CsvSettings::default()).context(path.display().to_string())
}

/// Progression of diabetes in 442 patients: cross-validated scores.
pub(super) fn diabetes(ctx: &Context) -> Result<Outcome, ReproError> {
    let data = read()?;
    let repeats = ctx.pick(8, 2);
    ctx.steps(repeats * FOLDS);
    let rng = &mut ChaCha8Rng::seed_from_u64(ctx.seed);
    let mut folds = Vec::new();
    for _ in 0..repeats {
        let mut order: Vec<usize> = (0..data.n()).collect();
        order.shuffle(rng);
        for fold in 0..FOLDS {
            folds.push(Fold::new(&data, &order, fold).scores(rng)?);
            ctx.step("folds");
        }
    }
    let column = |model: usize, of: fn(&Scores) -> f64| folds.iter().map(|f| of(&f[model])).collect::<Vec<f64>>();
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let smse = |model: usize| mean(column(model, |s| s.smse));
    let msll = |model: usize| mean(column(model, |s| s.msll));
    Ok(Outcome {
        checks: vec![
            words().fact(
                "next-to-nothing",
                smse(FEATURES) <= 1.02 * smse(SAME).min(smse(OWN)),
                &[&smse(FEATURES), &smse(SAME), &smse(OWN)],
            ),
            words().fact(
                "next-to-nothing-msll",
                msll(FEATURES) <= msll(SAME).min(msll(OWN)) + 0.03,
                &[&msll(FEATURES), &msll(SAME), &msll(OWN)],
            ),
            words().fact(
                "this-truth-nearly-line",
                smse(FEATURES) <= 1.01 * smse(LINEAR) && msll(FEATURES) <= msll(LINEAR) + 0.01,
                &[&smse(FEATURES), &smse(LINEAR), &msll(FEATURES), &msll(LINEAR)],
            ),
        ],
        shown: Shown::new(
            ["model", "SMSE", "deviation over folds", "MSLL", "deviation over folds"],
            MODELS.iter().enumerate().map(|(m, name)| {
                let (a, b) = (moments(&column(m, |s| s.smse)), moments(&column(m, |s| s.msll)));
                vec![(*name).to_owned(), number(a.0), number(a.1), number(b.0), number(b.1)]
            }),
        ),
        tables: vec![table(&folds)?],
        figure: Figure::new("Progression of diabetes, cross-validated").row(
            360.0,
            vec![
                panel("Standardised squared error", "SMSE", &folds, |s| s.smse),
                panel("Standardised log loss", "MSLL, nats", &folds, |s| s.msll),
            ],
        ),
        ..words().outcome(
            ctx,
            &[
                &smse(LINEAR),
                &smse(FEATURES),
                &smse(GLM),
                &smse(OWN),
                &msll(LINEAR),
                &msll(FEATURES),
                &msll(GLM),
                &msll(OWN),
                &folds.len(),
                &FOLDS,
                &repeats,
                &data.n(),
                &PAIRS,
                &GLM_STEPS,
                &STEPS,
            ],
        )
    })
}

fn table(folds: &[[Scores; 5]]) -> Result<Table, ReproError> {
    let mut table = Table::new("", &["fold", "model", "smse", "msll"]);
    for (k, fold) in folds.iter().enumerate() {
        for (name, scores) in MODELS.iter().zip(fold) {
            table.push(&[&k, name, &scores.smse, &scores.msll])?;
        }
    }
    Ok(table)
}

fn panel(title: &str, axis: &str, folds: &[[Scores; 5]], of: fn(&Scores) -> f64) -> Panel {
    let names = MODELS.iter().rev().map(|name| (*name).to_owned()).collect();
    let mut panel = Panel::new(title, Axis::linear(axis), Axis::categories("", names));
    for (m, colour) in [VERMILLION, BLUE, SKY, GREY, BLACK].into_iter().enumerate() {
        let values: Vec<f64> = folds.iter().map(|f| of(&f[m])).collect();
        let at = (MODELS.len() - 1 - m) as f64;
        let y: Vec<f64> = (0..values.len()).map(|k| at + 0.3 * ((k as f64 * 0.618_034).fract() - 0.5)).collect();
        let ends = ([quantile(&values, 0.25)], [quantile(&values, 0.75)]);
        panel = panel
            .points(&values, &y, Style::solid(colour).marker(Marker::Disc).alpha(0.6), 3.0, "")
            .spread_sideways(&[at - 0.28], &ends.0, &ends.1, Style::solid(BLACK).width(1.6), "quartiles")
            .points(&[median(&values)], &[at - 0.28], Style::solid(BLACK).marker(Marker::Diamond), 4.0, "median");
    }
    panel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_climbs_to_a_flat_place_of_its_evidence() {
        let x = Mat::from_fn(40, 2, |i, j| ((3 * i + 7 * j * i) as f64 * 0.37).sin() * 1.5);
        let y: Vec<f64> =
            (0..40).map(|i| (1.4 * x[(i, 0)]).sin() + 0.5 * x[(i, 1)] + 0.2 * (i as f64 * 2.1).cos()).collect();
        let start = Process { slope: 1.0, smooth: 1.0, scale: 1.0, noise: 0.1 };
        let own = start.learned(&x, &y).unwrap();
        let at = |p: Process| evidence(x.as_ref(), &y, p.kernel(), p.noise).unwrap();
        assert!(at(own) > at(start) + 0.1, "{} {}", at(own), at(start));
        // Another search from there gains next to nothing.
        assert!(at(own.learned(&x, &y).unwrap()) < at(own) + 0.1);
    }
}
