//! Regression on a polynomial of degree 13 of which three coefficients are not 0.

use rand::RngExt;
use vi_linalg::faer::Par;
use vi_models::metrics::coverage;
use vi_models::vb::{self, LinearFit, LinearPrior, VbSettings};

use super::data::{Sample, generator, least_squares, mean_squared_error, normal, powers, predictors};
use super::errors::Errors;
use super::style::{SECOND, Way};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{Dash, GREY, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Table, quartiles};

const N: usize = 50;
const D: usize = 14;
const LEVEL: f64 = 0.9;
const WAYS: [Way; 3] = [Way::Ml, Way::Vb, Way::Ard];

/// One data set and the fits to it.
struct Study {
    points: Vec<f64>,
    sample: Sample,
    ml: Vec<f64>,
    /// With one shrinkage, and with one for each weight.
    fits: [LinearFit; 2],
    /// By the authors' rule.
    authors: [LinearFit; 2],
}

impl Study {
    fn new(seed: u64, k: usize) -> Result<Self, ReproError> {
        let mut rng = generator(seed, k);
        let points: Vec<f64> = (0..N).map(|_| rng.random::<f64>()).collect();
        let test: Vec<f64> = (0..N).map(|_| rng.random::<f64>()).collect();
        let w = (0..D).map(|j| if j < 3 { normal(&mut rng) } else { 0.0 }).collect();
        let sample = Sample::numbers(&mut rng, powers(&points, D), powers(&test, D), w);
        let fit = |ard: bool, settings: VbSettings| {
            let fit = if ard { vb::linear_ard } else { vb::linear };
            fit(sample.x.as_ref(), &sample.y, LinearPrior::default(), &settings, Par::Seq).context("fit")
        };
        let converged = VbSettings::default();
        let fits = [fit(false, converged)?, fit(true, converged)?];
        let authors = [fit(false, VbSettings::authors())?, fit(true, VbSettings::authors())?];
        Ok(Self { ml: least_squares(sample.x.as_ref(), &sample.y)?, points, fits, authors, sample })
    }

    fn weights(&self, way: Way) -> &[f64] {
        match way {
            Way::Vb => self.fits[0].weights().mean(),
            Way::Ard => self.fits[1].weights().mean(),
            Way::Ml => &self.ml,
            _ => &self.sample.w,
        }
    }

    fn errors(&self, way: Way) -> Result<[f64; 2], ReproError> {
        let w = self.weights(way);
        let train = mean_squared_error(self.sample.x.as_ref(), &self.sample.y, w)?;
        // The published test errors are against the curve itself, without noise.
        let curve = predictors(self.sample.test_x.as_ref(), &self.sample.w);
        Ok([train, mean_squared_error(self.sample.test_x.as_ref(), &curve, w)?])
    }

    /// The share of test answers inside their predictive intervals.
    fn coverage(&self, fit: &LinearFit) -> Result<f64, ReproError> {
        let predicted = fit.predict(self.sample.test_x.as_ref()).context("intervals")?;
        let intervals =
            predicted.iter().map(|p| p.interval(LEVEL)).collect::<Result<Vec<_>, _>>().context("intervals")?;
        coverage(&intervals, &self.sample.test_y).context("intervals")
    }

    /// The curve and its interval on a grid, next to the truth.
    fn curve_panel(&self, way: Way, fit: &LinearFit) -> Result<Panel, ReproError> {
        let grid: Vec<f64> = (0..=100).map(|i| f64::from(i) / 100.0).collect();
        let rows = powers(&grid, D);
        let predicted = fit.predict(rows.as_ref()).context("prediction")?;
        let band = |noisy: bool| -> Result<(Vec<f64>, Vec<f64>), ReproError> {
            let one = |p: &vb::StudentPrediction| if noisy { p.interval(LEVEL) } else { p.mean_interval(LEVEL) };
            let ends = predicted.iter().map(one).collect::<Result<Vec<_>, _>>().context("prediction")?;
            Ok(ends.iter().map(|e| (e.lower, e.upper)).unzip())
        };
        let (wide, narrow) = (band(true)?, band(false)?);
        let means: Vec<f64> = predicted.iter().map(|p| p.mean).collect();
        let truth = predictors(rows.as_ref(), &self.sample.w);
        let colour = way.style().colour;
        let dots = Style::solid(GREY).marker(crate::plot::palette::Marker::Disc).alpha(0.7);
        let reach = self.sample.y.iter().fold(0.0, |reach: f64, y| reach.max(y.abs())) + 0.5;
        Ok(Panel::new(way.label(), Axis::linear("x"), Axis::linear("y").range(-reach, reach))
            .band(&grid, &wide.0, &wide.1, colour, 0.12, "90 % interval of y")
            .band(&grid, &narrow.0, &narrow.1, colour, 0.3, "90 % interval of the curve")
            .points(&self.points, &self.sample.y, dots, 2.5, "data")
            .line_marked(&grid, &truth, Way::Truth.style(), 0, Way::Truth.label())
            .line_marked(&grid, &predictors(rows.as_ref(), &self.ml), Way::Ml.style(), 0, Way::Ml.label())
            .line_marked(&grid, &means, way.style(), 0, way.label()))
    }

    fn weights_panel(&self) -> Result<Panel, ReproError> {
        let names = (0..D)
            .map(|j| if j == 0 { "1".to_owned() } else { format!("x{}", crate::plot::superscript(&j.to_string())) });
        let mut panel = Panel::new(
            "Coefficients, 90 % intervals",
            Axis::categories("", names.collect()),
            Axis::linear("coefficient").range(-4.5, 4.5),
        )
        .horizontal(0.0, Style::solid(GREY).dash(Dash::Dotted).width(1.2), "");
        let at = |offset: f64| -> Vec<f64> { (0..D).map(|j| j as f64 + offset).collect() };
        for (way, fit, offset) in [(Way::Vb, &self.fits[0], -0.15), (Way::Ard, &self.fits[1], 0.15)] {
            let intervals = fit.weight_intervals(LEVEL).context("weights")?;
            let (low, high): (Vec<f64>, Vec<f64>) = intervals.iter().map(|i| (i.lower, i.upper)).unzip();
            panel = panel.spread(&at(offset), &low, &high, way.style().width(1.6), "").points(
                &at(offset),
                fit.weights().mean(),
                way.style(),
                3.4,
                way.label(),
            );
        }
        let truth = Style::solid(crate::plot::palette::BLACK).marker(crate::plot::palette::Marker::Plus);
        Ok(panel.points(&at(0.0), &self.sample.w, truth, 4.5, "true coefficient"))
    }

    fn bound_panel(&self) -> Panel {
        let mut panel = Panel::new("ℒ short of its end", Axis::log("iteration"), Axis::log("nats"));
        for (way, fit, authors) in
            [(Way::Vb, &self.fits[0], &self.authors[0]), (Way::Ard, &self.fits[1], &self.authors[1])]
        {
            for (bounds, style, label) in [
                (&fit.info().bounds, way.style(), way.label()),
                (&authors.info().bounds, SECOND.dash(way.style().dash), "the same by the authors’ rule"),
            ] {
                let gaps: Vec<f64> = bounds.iter().map(|bound| fit.bound() - bound).collect();
                let kept = gaps.iter().take_while(|gap| **gap > 1e-9).count();
                let steps: Vec<f64> = (1..=kept).map(|t| t as f64).collect();
                if kept > 0 {
                    panel = panel.line_marked(&steps, &gaps[..kept], style, 0, label);
                }
            }
        }
        panel
    }
}

/// Many data sets; the first is drawn.
pub(super) fn example(ctx: &Context) -> Result<Outcome, ReproError> {
    let count = ctx.pick(100, 20);
    ctx.steps(count);
    let studies = ctx.each(0..count, "data sets", |k| Study::new(ctx.seed, k))?;
    let mut table = Table::new("", &["data_set", "fit", "train_mse", "test_mse"]);
    for (k, study) in studies.iter().enumerate() {
        for way in WAYS {
            table.row(&[&k, &way.slug()], study.errors(way)?)?;
        }
    }
    let errors = Errors { table: &table, ways: &WAYS, columns: ["train_mse", "test_mse"] };
    let coverages = studies.iter().map(|s| s.coverage(&s.fits[0])).collect::<Result<Vec<_>, _>>()?;
    let mean = coverages.iter().sum::<f64>() / count as f64;
    let nats = |i: usize| -> Vec<f64> { studies.iter().map(|s| s.fits[i].bound() - s.authors[i].bound()).collect() };
    let falls = studies.iter().flat_map(|s| &s.fits).filter(|fit| falls(fit)).count();
    let first = &studies[0];
    let [ml, vb, ard] = WAYS.map(|way| errors.median(way, true));
    Ok(Outcome {
        checks: vec![
            errors.larger_in_training("train-vb", Way::Vb, Way::Ml),
            errors.larger_in_training("train-ard", Way::Ard, Way::Ml),
            errors.smaller("test-vb", Way::Vb, Way::Ml),
            errors.smaller("test-ard", Way::Ard, Way::Ml),
            words().fact("90-predictive-intervals-hold", (mean - LEVEL).abs() < 0.03, &[&mean]),
            words().fact("never-falls", falls == 0, &[&falls, &(2 * count)]),
            words().fact(
                "iterating-convergence-parameters-never",
                nats(0).iter().chain(&nats(1)).all(|gain| *gain > -1e-9),
                &[&quartiles(&nats(0))[2], &nats(1).iter().copied().fold(0.0, f64::max)],
            ),
        ],
        quantities: errors.quantities(
            ["training error", "test error"],
            &[(Way::Ml, ["0.631", "0.399"]), (Way::Vb, ["0.836", "0.088"]), (Way::Ard, ["0.849", "0.138"])],
            &[],
        ),
        shown: errors.shown("mean squared error, median"),
        figure: Figure::new("A polynomial of degree 13 with three coefficients")
            .row(340.0, vec![first.curve_panel(Way::Vb, &first.fits[0])?, first.curve_panel(Way::Ard, &first.fits[1])?])
            .row(320.0, vec![first.weights_panel()?, first.bound_panel()]),
        tables: vec![table],
        ..words().outcome(ctx, &[&count, &ml, &vb, &ard, &N, &(D - 1)])
    })
}

fn falls(fit: &LinearFit) -> bool {
    let info = fit.info();
    info.bounds.windows(2).any(|pair| pair[1] < pair[0] - info.rounding)
}
