//! Streams: of the generator, and of real data in several orders with the reliability of predictions made on the way.

use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_core::{DenseGaussian, GaussianExpectation, Projection, SiteRule, filter};
use vi_data::{DataError, Dataset};
use vi_models::Interval;
use vi_models::metrics::{
    Binning, CalibrationBin, accuracy, brier_score, calibration_curve, expected_calibration_error,
};

use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::looks::Looks;
use crate::plot::palette::{Dash, GREY, PALE, Style};
use crate::plot::{Axis, Panel};
use crate::report::{Table, join, number};

/// Level of all intervals.
pub(crate) const LEVEL: f64 = 0.95;

/// The generator of data set `k` of an item: its own stream, so that data sets do not depend on how many are drawn.
pub(crate) fn generator(seed: u64, k: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(k as u64);
    rng
}

/// A real data set: 683 breast tumours with an intercept, or 53 patients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Real {
    Tumours,
    Nodal,
}

impl Real {
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Tumours => {
                "683 breast tumours (Wolberg), nine cytological scores on [−1, 1] and an intercept; 1 is malignant."
            }
            Self::Nodal => {
                "Nodal involvement in 53 patients with prostate cancer (Brown 1980), five indicators and an intercept."
            }
        }
    }

    pub(crate) fn read(self) -> Result<Dataset, ReproError> {
        let read = || -> Result<Dataset, DataError> {
            match self {
                Self::Tumours => vi_data::breast_cancer()?.with_intercept(),
                Self::Nodal => vi_data::nodal(),
            }
        };
        read().context(format!("{self:?} data"))
    }

    /// `count` orders of the rows, the first that of the file; a longer list begins like a shorter one. Made once for all items.
    pub(crate) fn orders(self, ctx: &Context, count: usize) -> Result<Arc<Vec<Dataset>>, ReproError> {
        ctx.once(&format!("{count} orders of {self:?}"), || {
            let mut rng = ChaCha8Rng::seed_from_u64(ctx.seed);
            let mut orders = vec![self.read()?];
            while orders.len() < count {
                orders.push(orders[0].shuffled(&mut rng));
            }
            Ok(orders)
        })
    }
}

/// One pass over a stream: every row is predicted, scored and then learned.
pub(crate) struct Pass {
    /// What was believed of each row's predictor before its label was seen.
    pub(crate) seen: Vec<Projection>,
    pub(crate) losses: Vec<f64>,
    pub(crate) belief: DenseGaussian,
}

impl Pass {
    /// Learns by `rule` and scores by `score`, whatever the rule takes for expectations.
    pub(crate) fn new<R: SiteRule>(
        rule: &R,
        score: &impl GaussianExpectation,
        prior: &DenseGaussian,
        data: &Dataset,
    ) -> Result<Self, vi_core::Error> {
        let (mut belief, mut seen) = (prior.clone(), Vec::with_capacity(data.n()));
        filter::run(&mut belief, rule, data.x(), data.y(), |_, _, info| seen.push(info.projection))?;
        let loss = |(seen, y): (&Projection, &f64)| -score.log_predictive(*y, seen.mean, seen.variance);
        Ok(Self { losses: seen.iter().zip(data.y()).map(loss).collect(), seen, belief })
    }
}

/// The probabilities that a model gave the labels of one order before it saw them, and their log losses.
pub(crate) struct Run {
    pub(crate) probabilities: Vec<f64>,
    pub(crate) losses: Vec<f64>,
}

/// Several models over several orders of one data set; the first order is that of the file.
pub(crate) struct Study<M> {
    pub(crate) orders: Arc<Vec<Dataset>>,
    pub(crate) models: Vec<M>,
    /// `runs[m][k]`.
    runs: Vec<Vec<Run>>,
}

impl<M: Looks> Study<M> {
    /// `run` is called order by order, for each model in turn.
    pub(crate) fn new(
        ctx: &Context,
        orders: Arc<Vec<Dataset>>,
        models: &[M],
        mut run: impl FnMut(M, &Dataset) -> Result<Run, ReproError>,
    ) -> Result<Self, ReproError> {
        ctx.steps(orders.len());
        let mut runs: Vec<Vec<Run>> = models.iter().map(|_| Vec::new()).collect();
        for data in orders.iter() {
            for (list, model) in runs.iter_mut().zip(models) {
                list.push(run(*model, data)?);
            }
            ctx.step("orders of the data");
        }
        Ok(Self { orders, models: models.to_vec(), runs })
    }

    fn of(&self, model: M) -> &[Run] {
        self.models.iter().position(|m| *m == model).map_or(&[], |i| &self.runs[i])
    }

    /// The mean log loss of each order.
    pub(crate) fn losses(&self, model: M) -> Vec<f64> {
        self.of(model).iter().map(|run| run.losses.iter().sum::<f64>() / run.losses.len() as f64).collect()
    }

    pub(crate) fn mean_loss(&self, model: M) -> f64 {
        self.losses(model).iter().sum::<f64>() / self.orders.len() as f64
    }

    /// The models in order of their mean log loss.
    pub(crate) fn ranking(&self) -> String {
        let mut order = self.models.clone();
        order.sort_by(|a, b| self.mean_loss(*a).total_cmp(&self.mean_loss(*b)));
        join(order, " < ", |m| format!("{} {}", m.label(), number(self.mean_loss(m))))
    }

    /// Mean over the orders of the running log loss.
    pub(crate) fn curve(&self, model: M) -> Vec<f64> {
        let mut mean = vec![0.0; self.orders[0].n()];
        for run in self.of(model) {
            let mut sum = 0.0;
            for (t, loss) in run.losses.iter().enumerate() {
                sum += loss;
                mean[t] += sum / (t + 1) as f64 / self.orders.len() as f64;
            }
        }
        mean
    }

    /// Every prediction of every order, and its label.
    fn pooled(&self, model: M) -> (Vec<f64>, Vec<f64>) {
        let p = self.of(model).iter().flat_map(|run| run.probabilities.iter().copied()).collect();
        (p, self.orders.iter().flat_map(|data| data.y().iter().copied()).collect())
    }

    /// Brier score, accuracy and calibration error of all predictions together.
    pub(crate) fn scores(&self, model: M) -> Result<[f64; 3], ReproError> {
        let (p, y) = self.pooled(model);
        Ok([
            brier_score(&p, &y).context("score")?,
            accuracy(&p, &y).context("score")?,
            expected_calibration_error(&p, &y, Binning::EqualWidth(10)).context("score")?,
        ])
    }

    /// Reliability of the predictions of all orders together, with intervals for one order's worth of them.
    fn reliability(&self, model: M) -> Result<Vec<CalibrationBin>, ReproError> {
        let (p, y) = self.pooled(model);
        let mut bins = calibration_curve(&p, &y, Binning::EqualWidth(10), LEVEL).context("reliability")?;
        for bin in &mut bins {
            let count = (bin.count as f64 / self.orders.len() as f64).max(1.0).round();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
            let (ones, count) = ((bin.observed_frequency * count).round() as usize, count as usize);
            bin.interval = Interval::wilson(ones, count, LEVEL).context("reliability")?;
        }
        Ok(bins)
    }

    /// Bins whose interval holds the mean prediction, and all.
    pub(crate) fn reliable(&self, model: M) -> Result<(usize, usize), ReproError> {
        let bins = self.reliability(model)?;
        Ok((bins.iter().filter(|b| b.interval.contains(b.mean_predicted)).count(), bins.len()))
    }

    /// The bins of every model, each named by `name`.
    pub(crate) fn bins(&self, column: &str, name: impl Fn(M) -> &'static str) -> Result<Table, ReproError> {
        let mut table = Table::new("reliability", &[column, "predicted", "observed", "lower", "upper", "count"]);
        for model in &self.models {
            for b in self.reliability(*model)? {
                let numbers =
                    [b.mean_predicted, b.observed_frequency, b.interval.lower, b.interval.upper, b.count as f64];
                table.row(&[&name(*model)], numbers)?;
            }
        }
        Ok(table)
    }

    /// The running log loss of every model.
    pub(crate) fn loss_panel(&self, title: &str) -> Panel {
        let n = self.orders[0].n();
        let t: Vec<f64> = (1..=n).map(|t| t as f64).collect();
        let axes = (Axis::log("observations").range(1.0, n as f64), Axis::log("nats per observation"));
        let mut panel = Panel::new(title, axes.0, axes.1);
        for model in &self.models {
            panel = panel.line_marked(&t, &self.curve(*model), model.style(), 0, model.label());
        }
        panel.horizontal(f64::ln(2.0), Style::solid(GREY).dash(Dash::Dotted), "a fair coin (log 2)")
    }

    /// Observed frequency over predicted probability.
    pub(crate) fn reliability_panel(&self, title: &str, model: M) -> Result<Panel, ReproError> {
        let (bins, style) = (self.reliability(model)?, model.style());
        let total: f64 = bins.iter().map(|b| b.count as f64).sum();
        let pick = |f: &dyn Fn(&CalibrationBin) -> f64| bins.iter().map(f).collect::<Vec<f64>>();
        let (x, y) = (pick(&|b| b.mean_predicted), pick(&|b| b.observed_frequency));
        let (low, high) = (pick(&|b| b.interval.lower), pick(&|b| b.interval.upper));
        let share = |name| Axis::linear(name).range(0.0, 1.0);
        Ok(Panel::new(title, share("predicted probability"), share("observed frequency"))
            .bars(
                &pick(&|b| b.range.lower),
                &pick(&|b| b.range.upper),
                &pick(&|b| b.count as f64 / total),
                PALE,
                1.0,
                "share of the predictions",
            )
            .line_marked(&[0.0, 1.0], &[0.0, 1.0], Style::solid(GREY).dash(Dash::Dotted), 0, "perfectly reliable")
            .spread(&x, &low, &high, Style::solid(style.colour).width(1.5), "")
            .line_marked(&x, &y, style, 1, model.label()))
    }

    /// Reliability of several models side by side.
    pub(crate) fn reliability_row(&self, models: [M; 3], title: &str) -> Result<Vec<Panel>, ReproError> {
        models.into_iter().map(|m| self.reliability_panel(&format!("{title}{}", m.label()), m)).collect()
    }
}
