//! The paper's filters on two real data sets, taken as streams.

use std::sync::Arc;

use vi_core::expectation::LogisticExpectation as _;
use vi_core::special::softplus;
use vi_core::{
    Belief as _, BernoulliLogit, DenseGaussian, Exact, Explicit, Implicit, Linearised, ProbitApproximation, Projection,
    QuadraticBound,
};
use vi_data::Dataset;
use vi_models::predict;

use super::methods::{FILTERS, prior};
use super::refined::{self, COMPARED_AND_BEST, Refined};
use super::replicate::Finals;
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::logistic::{Posterior, laplace};
use crate::panels::dots;
use crate::plot::palette::Method::{self, BatchVga, Ekf, Laplace, Qkf, Refinement, RvgaImplicit};
use crate::plot::palette::{Dash, GREY, Marker, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Shown, Table, median, number};
use crate::streams::{LEVEL, Pass, Real, Run, Study};

/// Standard deviation of the prior of every weight.
const SIGMA0: f64 = 10.0;
/// A filter's final belief on one order, beside what it predicted.
struct End {
    /// What predicting by `s(a)` instead of the average would have lost, mean over the rows.
    plug_in: f64,
    belief: DenseGaussian,
    /// `KL − log Z` to the posterior of all data.
    kl: f64,
}

/// One pass of one filter over one order of the data.
fn pass(method: Method, prior: &DenseGaussian, data: &Dataset) -> Result<(Run, End), ReproError> {
    let (logit, exact) = (BernoulliLogit(ProbitApproximation), BernoulliLogit(Exact));
    let Pass { seen, losses, belief } = match method {
        Method::RvgaExplicit => Pass::new(&Explicit(logit), &exact, prior, data),
        Method::Ekf => Pass::new(&Linearised::extended_kalman(logit), &exact, prior, data),
        Method::Qkf => Pass::new(&QuadraticBound::Once, &exact, prior, data),
        _ => Pass::new(&Implicit(logit), &exact, prior, data),
    }
    .context(method.label())?;
    let plug_in = |(p, y): (&Projection, &f64)| softplus(if *y > 0.5 { -p.mean } else { p.mean });
    let plug_in = seen.iter().zip(data.y()).map(plug_in).sum::<f64>() / data.n() as f64;
    let probabilities = seen.iter().map(|p| Exact.sigmoid(p.mean, p.variance).0.clamp(0.0, 1.0)).collect();
    let kl = Posterior::new(prior, data)?.kl(&belief)?;
    Ok((Run { probabilities, losses }, End { plug_in, belief, kl }))
}

/// All filters over several orders of one data set; the first order is that of the file.
struct Filters {
    streams: Study<Method>,
    /// `ends[m][k]`: filter `m` of [`FILTERS`], order `k`.
    ends: Vec<Vec<End>>,
    laplace: DenseGaussian,
    laplace_kl: f64,
    /// Refined belief and optimum, for the file's order.
    refined: Refined,
    /// Divergences for each order.
    finals: Vec<Finals>,
}

impl Filters {
    fn new(ctx: &Context, data: Real) -> Result<Self, ReproError> {
        let orders = data.orders(ctx, ctx.pick(40, 6))?;
        let prior = prior(orders[0].d(), 0.0, SIGMA0)?;
        let mut ends: Vec<Vec<End>> = FILTERS.iter().map(|_| Vec::new()).collect();
        let streams = Study::new(ctx, Arc::clone(&orders), &FILTERS, |method, data| {
            let (run, end) = pass(method, &prior, data)?;
            ends[FILTERS.iter().position(|m| *m == method).context("filters")?].push(end);
            Ok(run)
        })?;
        let laplace = laplace(&prior, &orders[0])?;
        let laplace_kl = Posterior::new(&prior, &orders[0])?.kl(&laplace)?;
        let refined = Refined::new(&prior, &orders[0])?;
        let mut finals = Vec::new();
        for (k, data) in orders.iter().enumerate() {
            let Refined { optimum, belief, gaps, remark } = Refined::new(&prior, data)?;
            let posterior = Posterior::new(&prior, data)?;
            let ours = [posterior.kl(&belief)?, posterior.kl(&optimum)?];
            let kl = [ends[0][k].kl, ends[1][k].kl, ends[2][k].kl, ends[3][k].kl, laplace_kl, ours[0], ours[1]];
            finals.push(Finals { kl, gaps, remark, log_z: None });
        }
        Ok(Self { streams, ends, laplace, laplace_kl, refined, finals })
    }

    fn of(&self, m: Method) -> &[End] {
        FILTERS.iter().position(|f| *f == m).map_or(&[], |i| &self.ends[i])
    }

    fn column(&self, m: Method, of: impl Fn(&End) -> f64) -> Vec<f64> {
        self.of(m).iter().map(of).collect()
    }

    /// How often R-VGA implicit has less than another filter, over the orders, with the medians.
    fn versus(&self, name: &str, other: Method, values: impl Fn(Method) -> Vec<f64>) -> Check {
        let (a, b) = (values(RvgaImplicit), values(other));
        let hits = a.iter().zip(&b).filter(|(a, b)| a < b).count();
        let labels = [RvgaImplicit.label(), other.label()];
        let numbers =
            format!("medians {} for {}, {} for {}", number(median(&a)), labels[0], number(median(&b)), labels[1]);
        words().counted(name, (hits, a.len()), &[&numbers])
    }

    fn kl_panel(&self) -> Panel {
        let strips = COMPARED_AND_BEST.map(|m| {
            let orders = if matches!(m, Laplace | BatchVga) { 1 } else { self.finals.len() };
            (refined::label(m), m.style().colour, self.finals[..orders].iter().map(|f| f.of(m)).collect())
        });
        dots("Final KL − log Z, one dot for each order", Axis::log("nats"), &strips, (0.4, 0.6, 3.2))
    }

    /// Weights with intervals after the file's order, one row for each weight.
    fn forest_panel(&self) -> Result<Panel, ReproError> {
        let names: Vec<String> = self.streams.orders[0].columns().iter().rev().cloned().collect();
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
            let intervals = predict::weights(belief, LEVEL).context("weights")?;
            let offset = 0.16 * (2.0 - i as f64);
            let y: Vec<f64> = (0..d).map(|j| (d - 1 - j) as f64 + offset).collect();
            let (lo, hi): (Vec<f64>, Vec<f64>) = intervals.iter().map(|v| (v.lower, v.upper)).unzip();
            let centre = belief.mean();
            let marker = match m {
                Laplace => Marker::Cross,
                BatchVga => Marker::Plus,
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
            m => self.of(m).first().map_or(&self.laplace, |end| &end.belief),
        }
    }

    fn tables(&self) -> Result<Vec<Table>, ReproError> {
        let mut loss = Table::new("", &["t", "rvga_implicit", "rvga_explicit", "ekf", "qkf"]);
        let curves = FILTERS.map(|m| self.streams.curve(m));
        for t in 0..curves[0].len() {
            loss.row(&[&(t + 1)], curves.iter().map(|c| c[t]))?;
        }
        let mut orders = Table::new("orders", &["order", "method", "mean_log_loss", "mean_plug_in_loss", "kl_z1"]);
        for m in FILTERS {
            for (k, (end, mean)) in self.of(m).iter().zip(self.streams.losses(m)).enumerate() {
                orders.push(&[&k, &m.slug(), &mean, &end.plug_in, &end.kl])?;
            }
        }
        let mut weights = Table::new("weights", &["method", "column", "mean", "lower", "upper"]);
        for m in COMPARED_AND_BEST {
            let belief = self.final_belief(m);
            let intervals = predict::weights(belief, LEVEL).context("weights")?;
            for ((name, mean), i) in self.streams.orders[0].columns().iter().zip(belief.mean()).zip(intervals) {
                weights.push(&[&m.slug(), name, mean, &i.lower, &i.upper])?;
            }
        }
        let bins = self.streams.bins("method", Method::slug)?;
        Ok(vec![loss, orders, bins, weights, refined::gap_table(&[("", &self.finals)])?])
    }

    fn shown(&self) -> Result<Shown, ReproError> {
        let mut rows = Vec::new();
        for m in FILTERS {
            let [brier, right, calibration] = self.streams.scores(m)?;
            let plug_in = self.column(m, |end| end.plug_in).iter().sum::<f64>() / self.finals.len() as f64;
            let numbers = [self.streams.mean_loss(m), plug_in, right, brier, calibration].map(number);
            rows.push(std::iter::once(m.label().to_owned()).chain(numbers).collect());
        }
        let head = ["one step ahead, mean over the orders", "log loss", "log loss of s(a)", "accuracy"];
        Ok(Shown::new(head.into_iter().chain(["Brier score", "calibration error"]), rows))
    }

    fn checks(&self) -> Result<Vec<Check>, ReproError> {
        let (kl, loss) = (|m| self.column(m, |end| end.kl), |m| self.streams.losses(m));
        let (count, plug_in) = (self.finals.len(), self.column(RvgaImplicit, |end| end.plug_in));
        let averaged = loss(RvgaImplicit).iter().zip(&plug_in).filter(|(own, plug_in)| own < plug_in).count();
        let beats = kl(RvgaImplicit).iter().filter(|kl| **kl < self.laplace_kl).count();
        Ok(vec![
            self.versus("real-over-ekf", Ekf, kl),
            self.versus("real-over-qkf", Qkf, kl),
            self.versus("predicts-better-than-ekf", Ekf, loss),
            self.versus("predicts-better-than-qkf", Qkf, loss),
            words().counted("r-vga-implicit-ends", (beats, count), &[&self.laplace_kl]),
            words().counted("averaging-over-belief-predicts", (averaged, count), &[]),
            words().counted("r-vga-probabilities-reliable", self.streams.reliable(RvgaImplicit)?, &[]),
        ])
    }
}

fn outcome(ctx: &Context, data: Real, title: &str) -> Result<Outcome, ReproError> {
    let study = Filters::new(ctx, data)?;
    let (n, d, count) = (study.streams.orders[0].n(), study.streams.orders[0].d(), study.finals.len());
    let gaps = refined::gap_panel(&format!("KL above the optimum, {count} orders"), &study.finals);
    let losses = study.streams.loss_panel("Log loss, one step ahead, mean so far");
    let said =
        words().outcome(ctx, &[&count, &study.streams.ranking(), &data.about(), &count, &n, &d, &SIGMA0.to_string()]);
    let remarks = refined::remarks(&[("", &study.finals)], "order");
    Ok(Outcome {
        notes: said.notes.iter().cloned().chain(remarks).collect(),
        checks: [study.checks()?, refined::checks(&[("", &study.finals)], "orders of the data", false)].concat(),
        shown: study.shown()?,
        tables: study.tables()?,
        figure: Figure::new(title)
            .row(320.0, vec![losses, study.kl_panel(), gaps])
            .row(340.0, study.streams.reliability_row([RvgaImplicit, Ekf, Qkf], "Reliability: ")?)
            .row(60.0 + 40.0 * d as f64, vec![study.forest_panel()?]),
        ..said
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
