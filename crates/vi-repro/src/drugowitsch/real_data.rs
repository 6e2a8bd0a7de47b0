//! Each model on two real data sets: prediction before learning, and calibration.

use std::sync::Arc;

use vi_core::{
    BernoulliLogit, DenseGaussian, Exact, GaussianExpectation, Implicit, Learner, Mixture8, Projection, batch,
};
use vi_data::Dataset;
use vi_linalg::faer::{MatRef, Par};
use vi_models::laplace::{self, LaplaceSettings};
use vi_models::likelihood::BernoulliProbit;
use vi_models::metrics::{Binning, CalibrationBin, accuracy, brier_score, expected_calibration_error};
use vi_models::vb::{self, LogitBound, LogitFit, LogitPrior, VbSettings};
use vi_models::{ModelError, predict, prequential};

use super::style::computation;
use crate::error::ReproError;
use crate::item::Context;
use crate::plot::palette::{BLUE, Colour, Dash, GREEN, GREY, ORANGE, PURPLE, SKY, Style, VERMILLION};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Shown, Table, cell, number, quartiles};
use crate::streams::{self, Real};

/// Standard deviation of the prior of every weight, for models that do not learn it.
const SIGMA0: f64 = 10.0;

/// A model, in the order of tables and legends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Model {
    RvgaLogit,
    RvgaProbit,
    Laplace,
    Optimum,
    Quadratic,
    Softplus,
    Ard,
}

use Model::{Ard, Laplace, Optimum, Quadratic, RvgaLogit, RvgaProbit, Softplus};

const MODELS: [Model; 7] = [RvgaLogit, RvgaProbit, Laplace, Optimum, Quadratic, Softplus, Ard];

impl Model {
    fn label(self) -> &'static str {
        match self {
            RvgaLogit => "R-VGA logistic, one pass",
            RvgaProbit => "R-VGA probit, one pass",
            Laplace => "Laplace",
            Optimum => "variational Gaussian",
            Quadratic => "VB, quadratic bound",
            Softplus => "VB, softplus bound",
            Ard => "VB, relevance determination",
        }
    }

    fn style(self) -> Style {
        let (colour, dash): (Colour, Dash) = match self {
            RvgaLogit => (BLUE, Dash::Solid),
            RvgaProbit => (SKY, Dash::Long),
            Laplace => (GREY, Dash::Dashed),
            Optimum => (GREEN, Dash::DashDot),
            Quadratic => (ORANGE, Dash::Dashed),
            Softplus => (PURPLE, Dash::Solid),
            Ard => (VERMILLION, Dash::Long),
        };
        Style::solid(colour).dash(dash)
    }

    /// Whether it has no prior scale to be given.
    fn learns_scale(self) -> bool {
        matches!(self, Quadratic | Softplus | Ard)
    }
}

/// The probabilities that a model gave each label before it saw it.
struct Run {
    probabilities: Vec<f64>,
    losses: Vec<f64>,
}

impl Run {
    fn new(model: Model, data: &Dataset) -> Result<Self, ReproError> {
        let probabilities = match model {
            RvgaLogit | RvgaProbit => streamed(model, data),
            _ => refitted(model, data),
        }
        .map_err(|e| computation(model.label(), &e))?;
        let losses = vi_models::metrics::log_losses(&probabilities, data.y()).map_err(|e| computation("loss", &e))?;
        Ok(Self { probabilities, losses })
    }

    fn mean_loss(&self) -> f64 {
        self.losses.iter().sum::<f64>() / self.losses.len() as f64
    }
}

fn prior(d: usize) -> Result<DenseGaussian, ModelError> {
    Ok(DenseGaussian::isotropic(&vec![0.0; d], SIGMA0)?)
}

fn streamed(model: Model, data: &Dataset) -> Result<Vec<f64>, ModelError> {
    let prior = prior(data.d())?;
    if model == RvgaLogit {
        let mut learner = Learner::new(prior, Implicit(BernoulliLogit(Mixture8)), BernoulliLogit(Exact));
        let record = prequential::run(&mut learner, data.x(), data.y())?;
        return Ok(record.probabilities(&Exact));
    }
    let mut learner = Learner::new(prior, Implicit(BernoulliProbit), BernoulliProbit);
    let record = prequential::run(&mut learner, data.x(), data.y())?;
    let of_one = |seen: &Projection| BernoulliProbit.log_predictive(1.0, seen.mean, seen.variance).exp();
    Ok(record.predictions.iter().map(of_one).collect())
}

/// A batch model, refitted whenever the rows have grown by a sixth.
fn refitted(model: Model, data: &Dataset) -> Result<Vec<f64>, ModelError> {
    let n = data.n();
    let mut probabilities = vec![0.5; 1.min(n)];
    while probabilities.len() < n {
        let seen = probabilities.len();
        let next = (seen + seen.div_ceil(6)).min(n);
        let (x, y) = (data.x().subrows(0, seen), &data.y()[..seen]);
        let rows = data.x().subrows(seen, next - seen);
        let predicted = match model {
            Laplace | Optimum => predict::logistic(&fixed_scale(model, x, y)?, rows, &Exact)?,
            _ => learnt_scale(model, x, y)?.predict_by(rows, &Exact)?,
        };
        probabilities.extend(predicted.iter().map(|p| p.probability));
    }
    Ok(probabilities)
}

fn fixed_scale(model: Model, x: MatRef<'_, f64>, y: &[f64]) -> Result<DenseGaussian, ModelError> {
    let prior = prior(x.ncols())?;
    let likelihood = BernoulliLogit(Mixture8);
    let mode = laplace::fit(&prior, x, y, &likelihood, &LaplaceSettings::default())?.belief;
    if model == Laplace {
        return Ok(mode);
    }
    let settings = batch::BatchSettings::default();
    Ok(batch::optimum(&prior, &mode, x, y, &likelihood, &settings, Par::Seq)?.0)
}

fn learnt_scale(model: Model, x: MatRef<'_, f64>, y: &[f64]) -> Result<LogitFit, ModelError> {
    let bound = if model == Quadratic { LogitBound::JaakkolaJordan } else { LogitBound::Softplus };
    let fit = if model == Ard { vb::logit_ard } else { vb::logit };
    fit(x, y, LogitPrior::default(), bound, &VbSettings { tolerance: Some(1e-6), max_iterations: 500 }, Par::Seq)
}

/// All models over several orders of one data set; the first order is that of the file.
struct Study {
    orders: Arc<Vec<Dataset>>,
    /// `runs[m][k]`.
    runs: Vec<Vec<Run>>,
}

impl Study {
    fn new(ctx: &Context, data: Real) -> Result<Self, ReproError> {
        let count = ctx.pick(12, 3);
        ctx.steps(count);
        let orders = data.orders(ctx, count)?;
        let mut runs: Vec<Vec<Run>> = MODELS.iter().map(|_| Vec::new()).collect();
        for data in orders.iter() {
            for (list, model) in runs.iter_mut().zip(MODELS) {
                list.push(Run::new(model, data)?);
            }
            ctx.step("orders of the data");
        }
        Ok(Self { orders, runs })
    }

    fn of(&self, model: Model) -> &[Run] {
        MODELS.iter().position(|m| *m == model).map_or(&[], |i| &self.runs[i])
    }

    fn losses(&self, model: Model) -> Vec<f64> {
        self.of(model).iter().map(Run::mean_loss).collect()
    }

    fn mean_loss(&self, model: Model) -> f64 {
        self.losses(model).iter().sum::<f64>() / self.orders.len() as f64
    }

    /// Every prediction of every order, and its label.
    fn pooled(&self, model: Model) -> (Vec<f64>, Vec<f64>) {
        let p = self.of(model).iter().flat_map(|run| run.probabilities.iter().copied()).collect();
        (p, self.orders.iter().flat_map(|data| data.y().iter().copied()).collect())
    }

    /// Mean over the orders of the running log loss.
    fn curve(&self, model: Model) -> Vec<f64> {
        let n = self.orders[0].n();
        let mut mean = vec![0.0; n];
        for run in self.of(model) {
            let mut sum = 0.0;
            for (t, loss) in run.losses.iter().enumerate() {
                sum += loss;
                mean[t] += sum / (t + 1) as f64 / self.orders.len() as f64;
            }
        }
        mean
    }

    /// Reliability of the predictions of all orders together, with intervals for one order's worth of them.
    fn reliability(&self, model: Model) -> Result<Vec<CalibrationBin>, ReproError> {
        let (p, y) = self.pooled(model);
        streams::reliability(&p, &y, self.orders.len())
    }

    fn loss_panel(&self) -> Panel {
        let n = self.orders[0].n();
        let t: Vec<f64> = (1..=n).map(|t| t as f64).collect();
        let mut panel = Panel::new(
            "Log loss before learning, mean so far",
            Axis::log("observations").range(1.0, n as f64),
            Axis::log("nats per observation"),
        );
        for model in MODELS {
            panel = panel.line_marked(&t, &self.curve(model), model.style(), 0, model.label());
        }
        panel.horizontal(f64::ln(2.0), Style::solid(GREY).dash(Dash::Dotted), "a fair coin (log 2)")
    }

    fn dots_panel(&self) -> Panel {
        let names = MODELS.iter().rev().map(|m| m.label().to_owned()).collect();
        let mut panel =
            Panel::new("Mean log loss, one dot for each order", Axis::linear("nats"), Axis::categories("", names));
        for (i, model) in MODELS.iter().rev().enumerate() {
            let losses = self.losses(*model);
            let y: Vec<f64> =
                (0..losses.len()).map(|k| i as f64 + 0.4 * ((k as f64 * 0.618_034).fract() - 0.5)).collect();
            let dot = Style::solid(model.style().colour).marker(crate::plot::palette::Marker::Disc).alpha(0.6);
            panel = panel.points(&losses, &y, dot, 3.4, "");
        }
        panel
    }

    fn reliability_panel(&self, model: Model) -> Result<Panel, ReproError> {
        Ok(streams::reliability_panel(model.label(), &self.reliability(model)?, model.style(), model.label()))
    }

    fn scores(&self, model: Model) -> Result<[f64; 4], ReproError> {
        let fail = |e| computation("score", &e);
        let (p, y) = self.pooled(model);
        Ok([
            self.mean_loss(model),
            brier_score(&p, &y).map_err(fail)?,
            accuracy(&p, &y).map_err(fail)?,
            expected_calibration_error(&p, &y, Binning::EqualWidth(10)).map_err(fail)?,
        ])
    }

    /// Counted over the orders: does `one` lose less than `other`?
    fn versus(&self, claim: &str, one: Model, other: Model) -> Check {
        let (a, b) = (self.losses(one), self.losses(other));
        let hits = a.iter().zip(&b).filter(|(a, b)| a < b).count();
        let numbers = format!("medians {} and {}", number(quartiles(&a)[1]), number(quartiles(&b)[1]));
        Check::counted_over(claim, (hits, a.len()), numbers, "orders of the data")
    }

    fn tables(&self) -> Result<Vec<Table>, ReproError> {
        let mut scores = Table::new("", &["model", "log_loss", "brier", "accuracy", "calibration_error"]);
        let mut bins = Table::new("reliability", &["model", "predicted", "observed", "lower", "upper", "count"]);
        let mut losses = Table::new("orders", &["model", "order", "mean_log_loss"]);
        for model in MODELS {
            let name = || vec![model.label().to_owned()];
            scores.push([name(), self.scores(model)?.map(cell).to_vec()].concat())?;
            for b in self.reliability(model)? {
                let numbers =
                    [b.mean_predicted, b.observed_frequency, b.interval.lower, b.interval.upper, b.count as f64];
                bins.push([name(), numbers.map(cell).to_vec()].concat())?;
            }
            for (k, loss) in self.losses(model).into_iter().enumerate() {
                losses.push([name(), vec![k.to_string(), cell(loss)]].concat())?;
            }
        }
        Ok(vec![scores, bins, losses])
    }

    fn checks(&self) -> Result<Vec<Check>, ReproError> {
        let mut checks = vec![
            self.versus("One pass of R-VGA predicts better than refitting Laplace’s approximation", RvgaLogit, Laplace),
            self.versus("Learning the shrinkage beats a prior of deviation 10", Softplus, Optimum),
            self.versus("The softplus bound predicts better than the quadratic one", Softplus, Quadratic),
        ];
        let gap = (self.mean_loss(RvgaLogit) - self.mean_loss(Optimum)) / self.mean_loss(Optimum);
        checks.push(Check::fact(
            "One pass loses at most a tenth more than the batch variational Gaussian, refitted",
            gap < 0.1,
            format!("{} and {}", number(self.mean_loss(RvgaLogit)), number(self.mean_loss(Optimum))),
        ));
        for model in [RvgaLogit, Softplus, Quadratic] {
            checks.push(Check::counted_over(
                format!("{}: the interval of the observed frequency holds the prediction", model.label()),
                streams::reliable(&self.reliability(model)?),
                "",
                "bins",
            ));
        }
        Ok(checks)
    }
}

fn outcome(ctx: &Context, data: Real, title: &str) -> Result<Outcome, ReproError> {
    let (study, about) = (Study::new(ctx, data)?, data.about());
    let (n, d) = (study.orders[0].n(), study.orders[0].d());
    let mut order = MODELS;
    order.sort_by(|a, b| study.mean_loss(*a).total_cmp(&study.mean_loss(*b)));
    let list: Vec<String> = order.iter().map(|m| format!("{} {}", m.label(), number(study.mean_loss(*m)))).collect();
    let mut rows = Vec::new();
    for model in MODELS {
        let scale = if model.learns_scale() { "learnt" } else { "10" };
        let scores = study.scores(model)?.map(number);
        rows.push([vec![model.label().to_owned(), scale.to_owned()], scores.to_vec()].concat());
    }
    Ok(Outcome {
        summary: format!("Log loss before learning, mean over {} orders: {}.", study.orders.len(), list.join(" < ")),
        caption: format!(
            "{about} Above: log loss of the predictions made before each label is seen, mean over {} orders, and one dot for each order. Below: \
             reliability of these predictions; bars are their shares, intervals those of one order.",
            study.orders.len()
        ),
        quote: String::new(),
        notes: vec![format!(
            "n = {n}, d = {d} with the intercept. Streams learn every row; batch models are refitted whenever the rows have grown by a sixth. \
             Models that do not learn their shrinkage have the prior N(0, {SIGMA0}²·I). All predictions are the exact integral under the belief."
        )],
        claims: Vec::new(),
        findings: study.checks()?,
        quantities: vec![],
        promises: vec![],
        shown: Shown {
            head: ["before learning", "prior scale", "log loss", "Brier score", "accuracy", "calibration error"]
                .map(String::from)
                .to_vec(),
            rows,
        },
        tables: study.tables()?,
        figure: Figure::new(title)
            .row(330.0, vec![study.loss_panel(), study.dots_panel()])
            .row(
                320.0,
                vec![
                    study.reliability_panel(RvgaLogit)?,
                    study.reliability_panel(Laplace)?,
                    study.reliability_panel(Quadratic)?,
                ],
            )
            .row(
                320.0,
                vec![
                    study.reliability_panel(RvgaProbit)?,
                    study.reliability_panel(Softplus)?,
                    study.reliability_panel(Ard)?,
                ],
            ),
    })
}

/// The Wisconsin breast tumours.
pub(super) fn breast_cancer(ctx: &Context) -> Result<Outcome, ReproError> {
    outcome(ctx, Real::Tumours, "Breast tumours: predictions before learning")
}

/// The nodal involvement data.
pub(super) fn nodal(ctx: &Context) -> Result<Outcome, ReproError> {
    outcome(ctx, Real::Nodal, "Nodal involvement: predictions before learning")
}
