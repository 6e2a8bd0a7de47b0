//! Classification: a polynomial with few coefficients, and three coefficients recovered.

use rand::RngExt;
use vi_core::special::sigmoid;
use vi_core::{Belief, Exact};
use vi_linalg::faer::{Mat, Par};
use vi_models::Interval;
use vi_models::predict::{self, Predictive};
use vi_models::vb::{self, LogitBound, LogitFit, LogitPrior, VbSettings};

use super::data::{Sample, discriminant, generator, normal, powers, predictors, wrong, wrong_by};
use super::errors::Errors;
use super::style::Way;
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{BLACK, Dash, GREY, Marker, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Quantity, Shown, Table, median, number, quartiles, short};

const LEVEL: f64 = 0.9;

fn fit(ard: bool, bound: LogitBound, sample: &Sample, settings: VbSettings) -> Result<LogitFit, ReproError> {
    let fit = if ard { vb::logit_ard } else { vb::logit };
    fit(sample.x.as_ref(), &sample.y, LogitPrior::default(), bound, &settings, Par::Seq).context("fit")
}

/// Points, and the fits of [`WAYS`] after the discriminant.
struct Study {
    points: Vec<f64>,
    sample: Sample,
    discriminant: Vec<f64>,
    fits: [LogitFit; 3],
    authors: [LogitFit; 2],
}

const WAYS: [Way; 4] = [Way::Discriminant, Way::Vb, Way::Ard, Way::Softplus];
const D: usize = 14;
const N: usize = 100;

impl Study {
    fn new(seed: u64, k: usize) -> Result<Self, ReproError> {
        let mut rng = generator(seed, k);
        let mut points = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.random::<f64>()).collect() };
        let (points, test) = (points(N), points(1000));
        let w: Vec<f64> = (0..D).map(|j| if j < 3 { 4.0 * normal(&mut rng) } else { 0.0 }).collect();
        let sample = Sample::classes(&mut rng, powers(&points, D), powers(&test, D), w);
        let (quadratic, converged) = (LogitBound::JaakkolaJordan, VbSettings::default());
        let fits = [
            fit(false, quadratic, &sample, converged)?,
            fit(true, quadratic, &sample, converged)?,
            fit(false, LogitBound::Softplus, &sample, converged)?,
        ];
        let authors = [
            fit(false, quadratic, &sample, VbSettings::authors())?,
            fit(true, quadratic, &sample, VbSettings::authors())?,
        ];
        let discriminant = discriminant(sample.x.as_ref(), &sample.y)?;
        Ok(Self { points, sample, discriminant, fits, authors })
    }

    fn probabilities(&self, way: usize, x: &Mat<f64>) -> Result<Vec<f64>, ReproError> {
        let Some(fit) = way.checked_sub(1).and_then(|i| self.fits.get(i)) else {
            return Ok(predictors(x.as_ref(), &self.discriminant).iter().map(|t| sigmoid(*t)).collect());
        };
        let predicted = fit.predict(x.as_ref()).context("prediction")?;
        Ok(predicted.iter().map(|p| p.probability).collect())
    }

    /// Training and test error of each of [`WAYS`].
    fn errors(&self) -> Result<[[f64; 2]; 4], ReproError> {
        let mut errors = [[0.0; 2]; 4];
        for (way, slot) in errors.iter_mut().enumerate() {
            let train = wrong(&self.probabilities(way, &self.sample.x)?, &self.sample.y)?;
            *slot = [train, wrong(&self.probabilities(way, &self.sample.test_x)?, &self.sample.test_y)?];
        }
        Ok(errors)
    }

    fn curve_panel(&self, way: usize) -> Result<Panel, ReproError> {
        let grid: Vec<f64> = (0..=100).map(|i| f64::from(i) / 100.0).collect();
        let rows = powers(&grid, D);
        let fit = &self.fits[way - 1];
        let predicted = fit.predict(rows.as_ref()).context("prediction")?;
        let ends = predicted.iter().map(|p| p.interval(LEVEL)).collect::<Result<Vec<_>, _>>().context("prediction")?;
        let (low, high): (Vec<f64>, Vec<f64>) = ends.iter().map(|e| (e.lower, e.upper)).unzip();
        let bounds = fit.bound_probabilities(rows.as_ref()).context("prediction")?;
        let truth: Vec<f64> = predictors(rows.as_ref(), &self.sample.w).iter().map(|t| sigmoid(*t)).collect();
        let style = WAYS[way].style();
        let dots = Style::solid(GREY).marker(Marker::Disc).alpha(0.4);
        let means: Vec<f64> = predicted.iter().map(|p| p.probability).collect();
        Ok(Panel::new(WAYS[way].label(), Axis::linear("x"), Axis::linear("probability of class 1").range(-0.05, 1.05))
            .band(&grid, &low, &high, style.colour, 0.25, "90 % interval of the probability")
            .points(&self.points, &self.sample.y, dots, 2.5, "data")
            .line_marked(&grid, &truth, Way::Truth.style(), 0, Way::Truth.label())
            .line_marked(&grid, &bounds, super::style::SECOND.dash(Dash::Dashed), 0, "the bound (65)")
            .line_marked(&grid, &means, style, 0, WAYS[way].label()))
    }
}

/// A polynomial of degree 13 with three coefficients, 100 classes.
pub(super) fn example(ctx: &Context) -> Result<Outcome, ReproError> {
    let count = ctx.pick(60, 12);
    ctx.steps(count);
    let studies = ctx.each(0..count, "data sets", |k| Study::new(ctx.seed, k))?;
    let mut table = Table::new("", &["data_set", "fit", "train_error", "test_error", "bound"]);
    for (k, study) in studies.iter().enumerate() {
        for (way, [train, test]) in study.errors()?.into_iter().enumerate() {
            let bound = way.checked_sub(1).map_or(f64::NAN, |i| study.fits[i].bound());
            table.row(&[&k, &WAYS[way].slug()], [train, test, bound])?;
        }
    }
    let errors = Errors { table: &table, ways: &WAYS, columns: ["train_error", "test_error"] };
    let fewer_wrong =
        |name, way| errors.smaller_without_ties(name, way, Way::Discriminant, |errors, way| errors.median(way, true));
    let price: Vec<f64> = studies.iter().map(|s| s.fits[2].bound() - s.fits[0].bound()).collect();
    let early: Vec<f64> = studies.iter().map(|s| s.fits[1].bound() - s.authors[1].bound()).collect();
    let mut sums = Vec::new();
    for study in &studies {
        let seen = study.fits[0].weights().project(study.sample.test_x.as_ref()).context("rows")?;
        for seen in seen {
            let mirrored = vi_core::Projection { mean: -seen.mean, ..seen };
            sums.push(
                vb::bound_probability(seen).context("bound")? + vb::bound_probability(mirrored).context("bound")?,
            );
        }
    }
    let largest = sums.iter().copied().fold(0.0, f64::max);
    let [discriminant, vb, ard, softplus] = WAYS.map(|way| errors.median(way, true));
    Ok(Outcome {
        checks: vec![
            fewer_wrong("fewer-wrong", Way::Vb),
            fewer_wrong("fewer-wrong-ard", Way::Ard),
            words().fact(
                "softplus-bound-larger-every",
                price.iter().all(|nats| *nats > 0.0),
                &[&quartiles(&price)[0], &quartiles(&price)[2]],
            ),
            words().fact("predictive-bound-65-two", largest <= 1.0 + 1e-12, &[&largest, &quartiles(&sums)[1]]),
            words().fact(
                "authors-rule-never-stops",
                early.iter().all(|nats| *nats > -1e-6),
                &[&early.iter().copied().fold(0.0, f64::max)],
            ),
        ],
        quantities: errors.quantities(
            ["share wrong in training", "share wrong in test"],
            &[(Way::Discriminant, ["0.24", "0.30"]), (Way::Vb, ["0.24", "0.28"]), (Way::Ard, ["0.24", "0.24"])],
            &[],
        ),
        shown: errors.shown("share of wrong classes, median"),
        figure: Figure::new("Classes from a polynomial of degree 13 with three coefficients")
            .row(330.0, vec![studies[0].curve_panel(1)?, studies[0].curve_panel(2)?, studies[0].curve_panel(3)?]),
        tables: vec![table],
        ..words().outcome(ctx, &[&count, &discriminant, &vb, &ard, &softplus, &median(&price), &N, &(D - 1)])
    })
}

/// Ways of the second item.
const RECOVERING: [Way; 3] = [Way::Vb, Way::Incremental, Way::Softplus];

/// Three weights, 100 rows: estimates with intervals over many data sets.
#[allow(clippy::too_many_lines, reason = "numbers, then the words that tell them")]
pub(super) fn coefficients(ctx: &Context) -> Result<Outcome, ReproError> {
    let count = ctx.pick(400, 80);
    ctx.steps(count);
    let mut table = Table::new("", &["data_set", "fit", "weight", "true", "mean", "lower", "upper"]);
    let (mut hits, mut total) = ([0usize; 3], 0usize);
    let mut squares = [0.0; 3];
    let mut drawn: Vec<(f64, [(f64, Interval); 3])> = Vec::new();
    let mut errors = Table::new("errors", &["data_set", "fit", "train_error", "test_error"]);
    for k in 0..count {
        let mut rng = generator(ctx.seed, k);
        let mut rows = |n: usize| Mat::from_fn(n, 3, |_, j| if j == 0 { 1.0 } else { 2.0 * normal(&mut rng) });
        let (x, test_x) = (rows(100), rows(1000));
        let w = (0..3).map(|_| normal(&mut rng)).collect();
        let sample = Sample::classes(&mut rng, x, test_x, w);
        let quadratic = fit(false, LogitBound::JaakkolaJordan, &sample, VbSettings::default())?;
        let softplus = fit(false, LogitBound::Softplus, &sample, VbSettings::default())?;
        let incremental = vb::logit_incremental(sample.x.as_ref(), &sample.y, &VbSettings::default()).context("fit")?;
        let beliefs = [
            quadratic.weights().belief().context("fit")?,
            incremental.belief().clone(),
            softplus.weights().belief().context("fit")?,
        ];
        let mut row = Vec::new();
        for (i, belief) in beliefs.iter().enumerate() {
            let intervals = predict::weights(belief, LEVEL).context("fit")?;
            for (j, interval) in intervals.iter().enumerate() {
                hits[i] += usize::from(interval.contains(sample.w[j]));
                squares[i] += (belief.mean()[j] - sample.w[j]).powi(2);
                let numbers = [sample.w[j], belief.mean()[j], interval.lower, interval.upper].map(short);
                table.row(&[&k, &RECOVERING[i].slug(), &j], numbers)?;
            }
            row.push(intervals);
            let error = |x: &Mat<f64>, y: &[f64]| {
                let predicted = predict::logistic(belief, x.as_ref(), &Exact).context("fit")?;
                wrong(&predicted.iter().map(|p| p.probability).collect::<Vec<_>>(), y)
            };
            let both = [error(&sample.x, &sample.y)?, error(&sample.test_x, &sample.test_y)?];
            errors.row(&[&k, &RECOVERING[i].slug()], both)?;
        }
        let baseline = discriminant(sample.x.as_ref(), &sample.y)?;
        let error = |x: &Mat<f64>, y: &[f64]| wrong_by(x.as_ref(), y, &baseline);
        let both = [error(&sample.x, &sample.y)?, error(&sample.test_x, &sample.test_y)?];
        errors.row(&[&k, &Way::Discriminant.slug()], both)?;
        if k < 12 {
            for j in 0..3 {
                let one = |i: usize| (beliefs[i].mean()[j], row[i][j]);
                drawn.push((sample.w[j], [one(0), one(1), one(2)]));
            }
        }
        total += 3;
        ctx.step("data sets");
    }
    let share = |i: usize| hits[i] as f64 / total as f64;
    let error = 3.0 * (LEVEL * (1.0 - LEVEL) / count as f64).sqrt();
    drawn.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut panels = Vec::new();
    for (i, way) in RECOVERING.iter().enumerate() {
        let at: Vec<f64> = (0..drawn.len()).map(|k| k as f64).collect();
        let truth: Vec<f64> = drawn.iter().map(|(w, _)| *w).collect();
        let means: Vec<f64> = drawn.iter().map(|(_, ways)| ways[i].0).collect();
        let (low, high): (Vec<f64>, Vec<f64>) =
            drawn.iter().map(|(_, ways)| (ways[i].1.lower, ways[i].1.upper)).unzip();
        let cross = Style::solid(BLACK).marker(Marker::Plus);
        panels.push(
            Panel::new(
                format!("{}, {:.0} % inside", way.label(), 100.0 * share(i)),
                Axis::linear("weights of twelve data sets, sorted"),
                Axis::linear("weight").range(-5.0, 5.0),
            )
            .spread(&at, &low, &high, way.style().width(1.6), "")
            .points(&at, &means, way.style(), 3.0, way.label())
            .points(&at, &truth, cross, 4.0, "true weight"),
        );
    }
    let mean = |way: Way, column: &str| errors.of(&[("fit", &way.slug())]).mean(column);
    let rows = RECOVERING.iter().enumerate().map(|(i, way)| {
        vec![
            way.label().to_owned(),
            number(share(i)),
            number((squares[i] / total as f64).sqrt()),
            number(mean(*way, "train_error")),
            number(mean(*way, "test_error")),
        ]
    });
    let all = Errors { table: &errors, ways: &RECOVERING, columns: ["train_error", "test_error"] };
    let less = |name, one, other| {
        all.smaller_without_ties(name, one, other, |all, way| all.table.of(&[("fit", &way.slug())]).mean("test_error"))
    };
    let test = |way| number(mean(way, "test_error"));
    let ml = vec![
        "linear discriminant".to_owned(),
        String::new(),
        String::new(),
        number(mean(Way::Discriminant, "train_error")),
        number(mean(Way::Discriminant, "test_error")),
    ];
    Ok(Outcome {
        checks: vec![
            less("coeff-wrong", Way::Vb, Way::Discriminant),
            less("coeff-rows", Way::Vb, Way::Incremental),
            words().fact("intervals-under-quadratic-bound", share(0) < LEVEL - error, &[&share(0), &error]),
            words().fact("under-softplus-bound-they", (share(2) - LEVEL).abs() < 0.03 + error, &[&share(2)]),
        ],
        quantities: vec![
            Quantity::new("share wrong in test, VB").authors("0.181").printed(test(Way::Vb)).works(test(Way::Softplus)),
            Quantity::new("share wrong in test, VB, one row at a time")
                .authors("0.195")
                .printed(test(Way::Incremental)),
            Quantity::new("share wrong in test, linear discriminant").authors("0.182").works(test(Way::Discriminant)),
        ],
        shown: Shown::new(
            ["", "coverage of 90 %", "error of the weights", "wrong, training", "wrong, test"],
            rows.chain(std::iter::once(ml)),
        ),
        tables: vec![table],
        figure: Figure::new("Three weights recovered from 100 classes").row(340.0, panels),
        ..words().outcome(
            ctx,
            &[
                &format!("{:.1}", 100.0 * share(0)),
                &format!("{:.1}", 100.0 * share(1)),
                &format!("{:.1}", 100.0 * share(2)),
                &count,
            ],
        )
    })
}
