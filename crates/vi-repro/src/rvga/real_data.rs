//! The paper's filters on two real data sets, taken as streams.

use std::sync::Arc;

use vi_core::special::softplus;
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Exact, Explicit, Implicit, Learner, Linearised, ProbitApproximation,
    Projection, QuadraticBound, SiteRule,
};
use vi_data::Dataset;
use vi_models::metrics::{Binning, CalibrationBin, accuracy, brier_score, expected_calibration_error};
use vi_models::prequential::{self, Evaluation};
use vi_models::{ModelError, predict};

use super::claims;
use super::methods::{FILTERS, prior};
use super::refined::{self, COMPARED_AND_BEST, Refined};
use super::replicate::Finals;
use super::shared::computation;
use crate::error::ReproError;
use crate::item::Context;
use crate::logistic::{Posterior, laplace};
use crate::plot::palette::Method::{self, BatchVga, Ekf, Laplace, Qkf, Refinement, RvgaImplicit};
use crate::plot::palette::{Dash, GREY, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Claim, Outcome, Shown, Table, cell, median, number};
use crate::streams::{self, LEVEL, Real};

/// Standard deviation of the prior of every weight.
const SIGMA0: f64 = 10.0;
/// What is counted over.
const ORDERS: &str = "orders of the data";

/// One pass of one filter over one order of the data.
struct Pass {
    record: Evaluation<Projection>,
    probabilities: Vec<f64>,
    belief: DenseGaussian,
    /// `KL − log Z` of the final belief to the posterior of all data.
    kl: f64,
}

impl Pass {
    fn new(method: Method, prior: &DenseGaussian, data: &Dataset) -> Result<Self, ReproError> {
        fn go<R: SiteRule>(
            rule: R,
            prior: &DenseGaussian,
            data: &Dataset,
        ) -> Result<(Evaluation<Projection>, DenseGaussian), ModelError> {
            let mut learner = Learner::new(prior.clone(), rule, BernoulliLogit(Exact));
            Ok((prequential::run(&mut learner, data.x(), data.y())?, learner.belief))
        }
        let logit = BernoulliLogit(ProbitApproximation);
        let (record, belief) = match method {
            Method::RvgaExplicit => go(Explicit(logit), prior, data),
            Method::Ekf => go(Linearised::extended_kalman(logit), prior, data),
            Method::Qkf => go(QuadraticBound::Once, prior, data),
            _ => go(Implicit(logit), prior, data),
        }
        .map_err(|e| computation(method.label(), &e))?;
        let kl = Posterior::new(prior, data)?.kl(&belief)?;
        Ok(Self { probabilities: record.probabilities(&Exact), record, belief, kl })
    }

    fn mean_loss(&self) -> f64 {
        -self.record.log_evidence() / self.record.log_losses.len() as f64
    }

    /// What predicting by `s(a)` instead of the average would have lost.
    fn plug_in_loss(&self, data: &Dataset) -> f64 {
        let loss = |(p, y): (&vi_core::Projection, &f64)| softplus(if *y > 0.5 { -p.mean } else { p.mean });
        self.record.predictions.iter().zip(data.y()).map(loss).sum::<f64>() / data.n() as f64
    }
}

/// All filters over several orders of one data set; the first order is that of the file.
struct Study {
    orders: Arc<Vec<Dataset>>,
    /// `passes[m][k]`: filter `m` of [`FILTERS`], order `k`.
    passes: Vec<Vec<Pass>>,
    laplace: DenseGaussian,
    laplace_kl: f64,
    /// Refined belief and optimum, for the file's order.
    refined: Refined,
    /// Divergences for each order.
    finals: Vec<Finals>,
}

impl Study {
    fn new(ctx: &Context, data: Real) -> Result<Self, ReproError> {
        let count = ctx.pick(40, 6);
        ctx.steps(count);
        let orders = data.orders(ctx, count)?;
        let prior = prior(orders[0].d(), 0.0, SIGMA0)?;
        let mut passes: Vec<Vec<Pass>> = FILTERS.iter().map(|_| Vec::new()).collect();
        for data in orders.iter() {
            for (list, method) in passes.iter_mut().zip(FILTERS) {
                list.push(Pass::new(method, &prior, data)?);
            }
            ctx.step("orders of the data");
        }
        let laplace = laplace(&prior, &orders[0])?;
        let laplace_kl = Posterior::new(&prior, &orders[0])?.kl(&laplace)?;
        let refined = Refined::new(&prior, &orders[0])?;
        let mut finals = Vec::new();
        for (k, data) in orders.iter().enumerate() {
            let Refined { optimum, belief, gaps, remark } = Refined::new(&prior, data)?;
            let posterior = Posterior::new(&prior, data)?;
            let ours = [posterior.kl(&belief)?, posterior.kl(&optimum)?];
            let kl = [passes[0][k].kl, passes[1][k].kl, passes[2][k].kl, passes[3][k].kl, laplace_kl, ours[0], ours[1]];
            finals.push(Finals { kl, gaps, remark, log_z: None });
        }
        Ok(Self { orders, passes, laplace, laplace_kl, refined, finals })
    }

    fn of(&self, m: Method) -> &[Pass] {
        FILTERS.iter().position(|f| *f == m).map_or(&[], |i| &self.passes[i])
    }

    /// Mean over the orders of the running log loss.
    fn curve(&self, m: Method) -> Vec<f64> {
        let runs: Vec<Vec<f64>> = self.of(m).iter().map(|p| p.record.running_log_loss()).collect();
        (0..self.orders[0].n()).map(|t| runs.iter().map(|r| r[t]).sum::<f64>() / runs.len() as f64).collect()
    }

    /// Reliability of the predictions of all orders together, with intervals for one pass's worth of them.
    fn reliability(&self, m: Method) -> Result<Vec<CalibrationBin>, ReproError> {
        let p: Vec<f64> = self.of(m).iter().flat_map(|p| p.probabilities.iter().copied()).collect();
        let y: Vec<f64> = self.orders.iter().flat_map(|d| d.y().iter().copied()).collect();
        streams::reliability(&p, &y, self.orders.len())
    }

    /// How often `a`'s value is below `b`'s, over the orders, with the medians.
    fn versus(&self, a: Method, b: Method, value: impl Fn(&Pass) -> f64) -> ((usize, usize), String) {
        let pairs = self.of(a).iter().zip(self.of(b));
        let hits = pairs.filter(|(p, q)| value(p) < value(q)).count();
        let middle = |m: Method| number(median(&self.of(m).iter().map(&value).collect::<Vec<_>>()));
        let numbers = format!("medians {} for {}, {} for {}", middle(a), a.label(), middle(b), b.label());
        ((hits, self.orders.len()), numbers)
    }

    fn loss_panel(&self) -> Panel {
        let n = self.orders[0].n();
        let t: Vec<f64> = (1..=n).map(|t| t as f64).collect();
        let mut panel = Panel::new(
            "Log loss, one step ahead, mean so far",
            Axis::log("observations").range(1.0, n as f64),
            Axis::log("nats per observation"),
        );
        for m in FILTERS {
            panel = panel.line_marked(&t, &self.curve(m), m.style(), 0, m.label());
        }
        panel.horizontal(f64::ln(2.0), Style::solid(GREY).dash(Dash::Dotted), "a fair coin (log 2)")
    }

    fn kl_panel(&self) -> Panel {
        let names = COMPARED_AND_BEST.iter().rev().map(|m| refined::label(*m)).collect();
        let mut panel =
            Panel::new("Final KL − log Z, one dot for each order", Axis::log("nats"), Axis::categories("", names));
        for (i, m) in COMPARED_AND_BEST.iter().rev().enumerate() {
            let kl: Vec<f64> = match m {
                Laplace | BatchVga => vec![self.finals[0].of(*m)],
                m => self.finals.iter().map(|f| f.of(*m)).collect(),
            };
            let y: Vec<f64> = (0..kl.len()).map(|k| i as f64 + 0.4 * ((k as f64 * 0.618_034).fract() - 0.5)).collect();
            let dot = Style::solid(m.style().colour).marker(crate::plot::palette::Marker::Disc).alpha(0.6);
            panel = panel.points(&kl, &y, dot, 3.2, "");
        }
        panel
    }

    fn reliability_panel(&self, m: Method) -> Result<Panel, ReproError> {
        let title = format!("Reliability: {}", m.label());
        Ok(streams::reliability_panel(&title, &self.reliability(m)?, m.style(), m.label()))
    }

    /// Weights with intervals after the file's order, one row for each weight.
    fn forest_panel(&self) -> Result<Panel, ReproError> {
        let names: Vec<String> = self.orders[0].columns().iter().rev().cloned().collect();
        let d = names.len();
        let mut panel = Panel::new(
            "Posterior of the weights, 95 % intervals, data in the order of the file",
            Axis::linear("weight"),
            Axis::categories("", names),
        )
        .vertical(0.0, Style::solid(GREY).dash(Dash::Dotted).width(1.2), "");
        let shown = [RvgaImplicit, Ekf, Qkf, Laplace, BatchVga];
        for (i, m) in shown.into_iter().enumerate() {
            let belief = self.final_belief(m);
            let intervals = predict::weights(belief, LEVEL).map_err(|e| computation("weights", &e))?;
            let offset = 0.16 * (2.0 - i as f64);
            let y: Vec<f64> = (0..d).map(|j| (d - 1 - j) as f64 + offset).collect();
            let (lo, hi): (Vec<f64>, Vec<f64>) = intervals.iter().map(|v| (v.lower, v.upper)).unzip();
            let centre = belief.mean();
            let marker = match m {
                Laplace => crate::plot::palette::Marker::Cross,
                BatchVga => crate::plot::palette::Marker::Plus,
                m => m.style().marker,
            };
            panel = panel.spread_sideways(&y, &lo, &hi, Style::solid(m.style().colour).width(1.8), "").points(
                centre,
                &y,
                m.style().marker(marker),
                4.0,
                m.label(),
            );
        }
        Ok(panel)
    }

    fn final_belief(&self, m: Method) -> &DenseGaussian {
        match m {
            Laplace => &self.laplace,
            BatchVga => &self.refined.optimum,
            Refinement => &self.refined.belief,
            m => self.of(m).first().map_or(&self.laplace, |p| &p.belief),
        }
    }

    /// The filters in order of their mean log loss.
    fn summary(&self) -> String {
        let loss = |m: Method| self.of(m).iter().map(Pass::mean_loss).sum::<f64>() / self.orders.len() as f64;
        let mut order = FILTERS;
        order.sort_by(|a, b| loss(*a).total_cmp(&loss(*b)));
        let list: Vec<String> = order.iter().map(|m| format!("{} {}", m.label(), number(loss(*m)))).collect();
        format!("Log loss one step ahead, mean over {} orders: {}.", self.orders.len(), list.join(" < "))
    }

    fn tables(&self) -> Result<Vec<Table>, ReproError> {
        let mut loss = Table::new("", &["t", "rvga_implicit", "rvga_explicit", "ekf", "qkf"]);
        let curves: Vec<Vec<f64>> = FILTERS.iter().map(|m| self.curve(*m)).collect();
        for t in 0..self.orders[0].n() {
            let values = curves.iter().map(|c| cell(c[t]));
            loss.push(std::iter::once((t + 1).to_string()).chain(values).collect())?;
        }
        let mut orders = Table::new("orders", &["order", "method", "mean_log_loss", "mean_plug_in_loss", "kl_z1"]);
        let mut bins = Table::new("reliability", &["method", "predicted", "observed", "lower", "upper", "count"]);
        let mut weights = Table::new("weights", &["method", "column", "mean", "lower", "upper"]);
        for m in FILTERS {
            for (k, (pass, data)) in self.of(m).iter().zip(self.orders.iter()).enumerate() {
                let numbers = [pass.mean_loss(), pass.plug_in_loss(data), pass.kl].map(cell);
                orders.push([vec![k.to_string(), m.slug().to_owned()], numbers.to_vec()].concat())?;
            }
            for b in self.reliability(m)? {
                let numbers =
                    [b.mean_predicted, b.observed_frequency, b.interval.lower, b.interval.upper, b.count as f64];
                bins.push([vec![m.slug().to_owned()], numbers.map(cell).to_vec()].concat())?;
            }
        }
        for m in COMPARED_AND_BEST {
            let belief = self.final_belief(m);
            let intervals = predict::weights(belief, LEVEL).map_err(|e| computation("weights", &e))?;
            for ((name, mean), i) in self.orders[0].columns().iter().zip(belief.mean()).zip(intervals) {
                let numbers = [*mean, i.lower, i.upper].map(cell);
                weights.push([vec![m.slug().to_owned(), name.clone()], numbers.to_vec()].concat())?;
            }
        }
        Ok(vec![loss, orders, bins, weights, refined::gap_table(&[("", &self.finals)])?])
    }

    fn shown(&self) -> Result<Shown, ReproError> {
        let fail = |e| computation("score", &e);
        let mut rows = Vec::new();
        for m in FILTERS {
            let p: Vec<f64> = self.of(m).iter().flat_map(|p| p.probabilities.iter().copied()).collect();
            let y: Vec<f64> = self.orders.iter().flat_map(|d| d.y().iter().copied()).collect();
            let mean = |f: &dyn Fn(&Pass, &Dataset) -> f64| {
                let all = self.of(m).iter().zip(self.orders.iter()).map(|(p, d)| f(p, d));
                all.sum::<f64>() / self.orders.len() as f64
            };
            rows.push(vec![
                m.label().to_owned(),
                number(mean(&|p, _| p.mean_loss())),
                number(mean(&Pass::plug_in_loss)),
                number(accuracy(&p, &y).map_err(fail)?),
                number(brier_score(&p, &y).map_err(fail)?),
                number(expected_calibration_error(&p, &y, Binning::EqualWidth(10)).map_err(fail)?),
            ]);
        }
        let head = [
            "one step ahead, mean over the orders",
            "log loss",
            "log loss of s(a)",
            "accuracy",
            "Brier score",
            "calibration error",
        ];
        Ok(Shown { head: head.map(String::from).to_vec(), rows })
    }

    fn claims(&self) -> Vec<Check> {
        let against = |claim: &Claim, other: Method| {
            let (count, numbers) = self.versus(RvgaImplicit, other, |p| p.kl);
            claim.counted_over(count, numbers, ORDERS)
        };
        vec![against(&claims::REAL_OVER_EKF, Ekf), against(&claims::REAL_OVER_QKF, Qkf)]
    }

    fn findings(&self) -> Result<Vec<Check>, ReproError> {
        let (good, bins) = streams::reliable(&self.reliability(RvgaImplicit)?);
        let averaged =
            self.of(RvgaImplicit).iter().zip(self.orders.iter()).filter(|(p, d)| p.mean_loss() < p.plug_in_loss(d));
        let beats = self.of(RvgaImplicit).iter().filter(|p| p.kl < self.laplace_kl).count();
        let predicts = |claim: &str, other: Method| {
            let (count, numbers) = self.versus(RvgaImplicit, other, Pass::mean_loss);
            Check::counted_over(claim, count, numbers, ORDERS)
        };
        Ok(vec![
            predicts("R-VGA implicit predicts better than the EKF (log loss one step ahead)", Ekf),
            predicts("R-VGA implicit predicts better than the QKF", Qkf),
            Check::counted_over(
                "R-VGA implicit ends closer to the posterior than batch Laplace",
                (beats, self.orders.len()),
                format!("KL − log Z of Laplace: {}", number(self.laplace_kl)),
                ORDERS,
            ),
            Check::counted_over(
                "Averaging over the belief predicts better than its mean alone",
                (averaged.count(), self.orders.len()),
                "",
                ORDERS,
            ),
            Check::counted_over(
                "R-VGA’s probabilities are reliable: the interval of the observed frequency holds the prediction",
                (good, bins),
                "",
                "bins",
            ),
        ])
    }
}

fn outcome(ctx: &Context, data: Real, title: &str) -> Result<Outcome, ReproError> {
    let (study, about) = (Study::new(ctx, data)?, data.about());
    let (n, d) = (study.orders[0].n(), study.orders[0].d());
    let height = 60.0 + 40.0 * d as f64;
    Ok(Outcome {
        summary: study.summary(),
        caption: format!(
            "{about} Upper row: log loss of the prediction made before each label is seen, averaged over {} orders of the \
             data, the distance of the final beliefs from the posterior and, beyond the paper, that of the refined beliefs from \
             the batch optimum. Middle row: reliability of these predictions; \
             the bars are the shares of the predictions, the intervals those of one pass. Lower row: the weights.",
            study.orders.len()
        ),
        quote: "R-VGA outperforms the extended Kalman filter (EKF) as well as other variants having similar computational cost \
                (abstract). The paper shows no real data; the sentence is held against them."
            .into(),
        notes: [format!(
            "n = {n}, d = {d} with the intercept; prior N(0, {SIGMA0}²·I); the filters learn with the paper’s formulae, \
             all predictions are scored by the exact integral of the logistic function under the belief."
        )]
        .into_iter()
        .chain([refined::NOTE.to_owned()])
        .chain(refined::remarks(&[("", &study.finals)], "order"))
        .collect(),
        claims: study.claims(),
        findings: study.findings()?,
        quantities: vec![],
        promises: refined::checks(&[("", &study.finals)], "orders of the data", false),
        shown: study.shown()?,
        tables: study.tables()?,
        figure: Figure::new(title)
            .row(
                320.0,
                vec![
                    study.loss_panel(),
                    study.kl_panel(),
                    refined::gap_panel(&format!("KL above the optimum, {} orders", study.orders.len()), &study.finals),
                ],
            )
            .row(
                340.0,
                vec![
                    study.reliability_panel(RvgaImplicit)?,
                    study.reliability_panel(Ekf)?,
                    study.reliability_panel(Qkf)?,
                ],
            )
            .row(height, vec![study.forest_panel()?]),
    })
}

/// The Wisconsin breast tumours.
pub(super) fn breast_cancer(ctx: &Context) -> Result<Outcome, ReproError> {
    outcome(ctx, Real::Tumours, "Breast tumours as a stream, σ₀ = 10")
}

/// The nodal involvement data.
pub(super) fn nodal(ctx: &Context) -> Result<Outcome, ReproError> {
    outcome(ctx, Real::Nodal, "Nodal involvement as a stream, σ₀ = 10")
}
