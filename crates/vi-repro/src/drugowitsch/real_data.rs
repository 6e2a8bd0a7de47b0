//! Each model on two real data sets: prediction before learning, and calibration.

use vi_core::expectation::LogisticExpectation as _;
use vi_core::{BernoulliLogit, DenseGaussian, Exact, GaussianExpectation as _, Implicit, Mixture8, Projection, batch};
use vi_data::Dataset;
use vi_linalg::faer::{MatRef, Par};
use vi_models::laplace::{self, LaplaceSettings};
use vi_models::likelihood::BernoulliProbit;
use vi_models::vb::{self, LogitBound, LogitFit, LogitPrior, VbSettings};
use vi_models::{ModelError, predict};

use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::looks::looks;
use crate::panels::dots;
use crate::plot::{Axis, Figure};
use crate::report::{Check, Outcome, Shown, Table, median, number};
use crate::streams::{Pass, Real, Run, Study};

/// Standard deviation of the prior of every weight, for models that do not learn it.
const SIGMA0: f64 = 10.0;

looks! {
    /// A model, in the order of tables and legends.
    enum Model {
        RvgaLogit: "rvga_logit", "R-VGA logistic, one pass", BLUE Solid None;
        RvgaProbit: "rvga_probit", "R-VGA probit, one pass", SKY Long None;
        Laplace: "laplace", "Laplace", GREY Dashed None;
        Optimum: "batch_vga", "variational Gaussian", GREEN DashDot None;
        Quadratic: "vb_quadratic", "VB, quadratic bound", ORANGE Dashed None;
        Softplus: "vb_softplus", "VB, softplus bound", PURPLE Solid None;
        Ard: "vb_ard", "VB, relevance determination", VERMILLION Long None;
    }
}

use Model::{Ard, Laplace, Optimum, Quadratic, RvgaLogit, RvgaProbit, Softplus};

fn run(model: Model, data: &Dataset) -> Result<Run, ReproError> {
    let probabilities = match model {
        RvgaLogit | RvgaProbit => streamed(model, data),
        _ => refitted(model, data),
    }
    .context(model.label())?;
    let losses = vi_models::metrics::log_losses(&probabilities, data.y()).context("loss")?;
    Ok(Run { probabilities, losses })
}

fn prior(d: usize) -> Result<DenseGaussian, ModelError> {
    Ok(DenseGaussian::isotropic(&vec![0.0; d], SIGMA0)?)
}

fn streamed(model: Model, data: &Dataset) -> Result<Vec<f64>, ModelError> {
    let prior = prior(data.d())?;
    let (one, of_one): (_, fn(&Projection) -> f64) = if model == RvgaLogit {
        (Pass::new(&Implicit(BernoulliLogit(Mixture8)), &BernoulliLogit(Exact), &prior, data)?, |seen| {
            Exact.sigmoid(seen.mean, seen.variance).0.clamp(0.0, 1.0)
        })
    } else {
        (Pass::new(&Implicit(BernoulliProbit), &BernoulliProbit, &prior, data)?, |seen| {
            BernoulliProbit.log_predictive(1.0, seen.mean, seen.variance).exp()
        })
    };
    Ok(one.seen.iter().map(of_one).collect())
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

/// Does `one` lose less than `other`, counted over the orders?
fn versus(study: &Study<Model>, name: &str, one: Model, other: Model) -> Check {
    let (a, b) = (study.losses(one), study.losses(other));
    let hits = a.iter().zip(&b).filter(|(a, b)| a < b).count();
    words().counted(name, (hits, a.len()), &[&median(&a), &median(&b)])
}

fn checks(study: &Study<Model>) -> Result<Vec<Check>, ReproError> {
    let (one_pass, optimum) = (study.mean_loss(RvgaLogit), study.mean_loss(Optimum));
    let mut checks = vec![
        versus(study, "one-pass-beats-laplace", RvgaLogit, Laplace),
        versus(study, "learnt-shrinkage-beats-given", Softplus, Optimum),
        versus(study, "softplus-beats-quadratic", Softplus, Quadratic),
        words().fact("one-pass-loses-tenth", (one_pass - optimum) / optimum < 0.1, &[&one_pass, &optimum]),
    ];
    for model in [RvgaLogit, Softplus, Quadratic] {
        checks.push(words().counted("interval-observed-frequency-holds", study.reliable(model)?, &[&model.label()]));
    }
    Ok(checks)
}

fn tables(study: &Study<Model>) -> Result<Vec<Table>, ReproError> {
    let mut scores = Table::new("", &["model", "log_loss", "brier", "accuracy", "calibration_error"]);
    let mut losses = Table::new("orders", &["model", "order", "mean_log_loss"]);
    for model in Model::ALL {
        scores.row(&[&model.label(), &study.mean_loss(model)], study.scores(model)?)?;
        for (k, loss) in study.losses(model).iter().enumerate() {
            losses.push(&[&model.label(), &k, loss])?;
        }
    }
    Ok(vec![scores, study.bins("model", Model::label)?, losses])
}

fn outcome(ctx: &Context, data: Real, title: &str) -> Result<Outcome, ReproError> {
    let orders = data.orders(ctx, ctx.pick(12, 3))?;
    let study = Study::new(ctx, orders, &Model::ALL, run)?;
    let (n, d, count) = (study.orders[0].n(), study.orders[0].d(), study.orders.len());
    let mut rows = Vec::new();
    for model in Model::ALL {
        let scale = if matches!(model, Quadratic | Softplus | Ard) { "learnt" } else { "10" };
        let scores = std::iter::once(study.mean_loss(model)).chain(study.scores(model)?).map(number);
        rows.push([model.label(), scale].map(String::from).into_iter().chain(scores).collect());
    }
    let losses = Model::ALL.map(|m| (m.label().to_owned(), m.style().colour, study.losses(m)));
    Ok(Outcome {
        checks: checks(&study)?,
        shown: Shown::new(
            ["before learning", "prior scale", "log loss", "Brier score", "accuracy", "calibration error"],
            rows,
        ),
        tables: tables(&study)?,
        figure: Figure::new(title)
            .row(
                330.0,
                vec![
                    study.loss_panel("Log loss before learning, mean so far"),
                    dots("Mean log loss, one dot for each order", Axis::linear("nats"), &losses, (0.4, 0.6, 3.4)),
                ],
            )
            .row(320.0, study.reliability_row([RvgaLogit, Laplace, Quadratic], "")?)
            .row(320.0, study.reliability_row([RvgaProbit, Softplus, Ard], "")?),
        ..words().outcome(ctx, &[&count, &study.ranking(), &data.about(), &count, &n, &d, &SIGMA0.to_string()])
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
