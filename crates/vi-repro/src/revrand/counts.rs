//! §1.3 and §3: counts with a rate that is a smooth function, by a Poisson GLM.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vi_linalg::faer::{Mat, Par};
use vi_revrand::Kernel;
use vi_revrand::basis::{LengthScale, RandomFourier};
use vi_revrand::glm::{Glm, GlmSettings, Rows};
use vi_revrand::likelihood::{GlmLikelihood, Poisson, Rate};

use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{BLACK, BLUE, Dash, GREY, Marker, PALE, SKY, Style};
use crate::plot::{Axis, Figure, Panel, linspace};
use crate::report::{Outcome, Shown, Table, number};

const TRAINING: usize = 150;
const TEST: usize = 1000;
const REACH: f64 = 6.0;
const PAIRS: usize = 20;
const LEVEL: f64 = 0.9;
const RATES: [(Rate, &str); 2] = [(Rate::Exponential, "exponential"), (Rate::Softplus, "softplus")];

/// The logarithm of the true rate: between 0.4 and 25 counts.
fn log_rate(x: f64) -> f64 {
    1.2 + 1.3 * (1.1 * x).sin() + 0.25 * x
}

struct Data {
    x: Mat<f64>,
    y: Vec<f64>,
    test_x: Mat<f64>,
    test_y: Vec<f64>,
}

impl Data {
    fn new(rng: &mut ChaCha8Rng) -> Result<Self, ReproError> {
        let mut column = |n: usize| Mat::from_fn(n, 1, |_, _| REACH * (2.0 * rng.random::<f64>() - 1.0));
        let (x, test_x) = (column(TRAINING), column(TEST));
        let mut counts = |x: &Mat<f64>| {
            let truth = Poisson(Rate::Exponential);
            let draws = (0..x.nrows()).map(|i| truth.draw(1.0, log_rate(x[(i, 0)]), rng));
            draws.collect::<Result<Vec<f64>, _>>().context("counts")
        };
        let (y, test_y) = (counts(&x)?, counts(&test_x)?);
        Ok(Self { x, y, test_x, test_y })
    }

    /// Mean log probability of the test counts under the truth, and under one rate for all.
    fn ends(&self) -> (f64, f64) {
        let truth = Poisson(Rate::Exponential);
        let mean = self.y.iter().sum::<f64>() / self.y.len() as f64;
        let average = |of: &dyn Fn(usize) -> f64| {
            (0..TEST).map(|i| truth.log_density(self.test_y[i], 1.0, of(i))).sum::<f64>() / TEST as f64
        };
        (average(&|i| log_rate(self.test_x[(i, 0)])), average(&|_| mean.ln()))
    }
}

/// What one model says.
struct Fit {
    name: &'static str,
    /// Mean log probability of the test counts, share of them in their intervals, mean probability of these.
    score: f64,
    covered: f64,
    nominal: f64,
    means: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Fit {
    fn new(
        data: &Data,
        at: &Mat<f64>,
        (rate, name): (Rate, &'static str),
        rng: &mut ChaCha8Rng,
    ) -> Result<Self, ReproError> {
        let basis =
            RandomFourier::new(Kernel::Rbf, 1, PAIRS, LengthScale::Shared(1.0), rng).context("Poisson model")?;
        let mut model = Glm::new(basis, Poisson(rate), GlmSettings::default(), rng).context("Poisson model")?;
        model.fit(Rows::new(data.x.as_ref(), &data.y), rng).context("Poisson model")?;
        let test = model.predict(data.test_x.as_ref(), None, Par::Seq).context("Poisson model")?;
        let logs = test.log_densities(&data.test_y, Par::Seq).context("Poisson model")?;
        let intervals = test.intervals(LEVEL, Par::Seq).context("Poisson model")?;
        let ends = |of: &dyn Fn(usize) -> f64| (0..TEST).map(of).collect::<Vec<f64>>();
        let above = test.cdfs(&ends(&|i| intervals[i].upper), Par::Seq).context("Poisson model")?;
        let below = test.cdfs(&ends(&|i| intervals[i].lower - 1.0), Par::Seq).context("Poisson model")?;
        let inside = (0..TEST).filter(|&i| intervals[i].contains(data.test_y[i])).count();
        let shown = model.predict(at.as_ref(), None, Par::Seq).context("Poisson model")?;
        let bands = shown.intervals(LEVEL, Par::Seq).context("Poisson model")?;
        Ok(Self {
            name,
            score: logs.iter().sum::<f64>() / TEST as f64,
            covered: inside as f64 / TEST as f64,
            nominal: above.iter().zip(&below).map(|(a, b)| a - b).sum::<f64>() / TEST as f64,
            means: shown.means(Par::Seq).context("Poisson model")?,
            lower: bands.iter().map(|band| band.lower).collect(),
            upper: bands.iter().map(|band| band.upper).collect(),
        })
    }
}

/// Poisson counts, both links.
pub(super) fn counts(ctx: &Context) -> Result<Outcome, ReproError> {
    ctx.steps(RATES.len());
    let rng = &mut ChaCha8Rng::seed_from_u64(ctx.seed);
    let data = Data::new(rng)?;
    let t = linspace(-REACH, REACH, 161);
    let at = Mat::from_fn(t.len(), 1, |i, _| t[i]);
    let mut fits = Vec::new();
    for rate in RATES {
        fits.push(Fit::new(&data, &at, rate, rng)?);
        ctx.step(rate.1);
    }
    let (truth, constant) = data.ends();
    let worst = fits.iter().map(|fit| truth - fit.score).fold(f64::NEG_INFINITY, f64::max);
    let off = fits.iter().map(|fit| (fit.covered - fit.nominal).abs()).fold(0.0, f64::max);
    let margin = 3.0 * (LEVEL * (1.0 - LEVEL) / TEST as f64).sqrt();
    Ok(Outcome {
        checks: vec![words().below("quantiles", off, margin), words().below("held-out-counts-predicted", worst, 0.06)],
        shown: Shown::new(
            ["model", "mean log probability", "covered", "claimed"],
            [("true rate".to_owned(), truth), ("one rate".to_owned(), constant)]
                .map(|(name, score)| vec![name, number(score), String::new(), String::new()])
                .into_iter()
                .chain(fits.iter().map(|fit| {
                    let numbers = [fit.score, fit.covered, fit.nominal].map(number);
                    std::iter::once(format!("GLM, {}", fit.name)).chain(numbers).collect()
                })),
        ),
        tables: vec![table(&t, &fits)?],
        figure: figure(&data, &t, &fits),
        ..words().outcome(
            ctx,
            &[
                &TRAINING,
                &TEST,
                &worst,
                &(truth - constant),
                &LEVEL.to_string(),
                &off,
                &TRAINING,
                &LEVEL.to_string(),
                &PAIRS,
                &LEVEL.to_string(),
                &fits[0].nominal,
                &fits[1].nominal,
            ],
        )
    })
}

fn table(t: &[f64], fits: &[Fit]) -> Result<Table, ReproError> {
    let mut table = Table::new("", &["x", "true_rate", "link", "mean", "lower", "upper"]);
    for fit in fits {
        for (i, &x) in t.iter().enumerate() {
            let numbers = [fit.means[i], fit.lower[i], fit.upper[i]];
            table.row(&[&x, &log_rate(x).exp(), &fit.name], numbers)?;
        }
    }
    Ok(table)
}

fn figure(data: &Data, t: &[f64], fits: &[Fit]) -> Figure {
    let training: Vec<f64> = data.x.col(0).iter().copied().collect();
    let rate: Vec<f64> = t.iter().map(|x| log_rate(*x).exp()).collect();
    let panel = |fit: &Fit| {
        Panel::new(format!("{} rate", fit.name), Axis::linear("x"), Axis::linear("count"))
            .band(t, &fit.lower, &fit.upper, PALE, 0.8, &format!("GLM, {LEVEL} interval"))
            .points(&training, &data.y, Style::solid(GREY).marker(Marker::Disc).alpha(0.5), 2.2, "training counts")
            .line_marked(t, &rate, Style::solid(BLACK).dash(Dash::Dashed), 0, "true rate")
            .line_marked(t, &fit.means, Style::solid(if fit.name == "softplus" { SKY } else { BLUE }), 0, "GLM, mean")
    };
    Figure::new("Poisson counts").row(340.0, fits.iter().map(panel).collect())
}
