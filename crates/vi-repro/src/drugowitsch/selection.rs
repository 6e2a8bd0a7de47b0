//! Choosing the degree of a polynomial by ℒ.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use vi_core::special::sigmoid;
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_models::predict::Predictive;
use vi_models::vb::{self, LinearFit, LinearPrior, LogitBound, LogitFit, LogitPrior, Selection, VbSettings};
use vi_models::{Interval, ModelError};

use super::data::{
    discriminant, generator, least_squares, mean_squared_error, normal, powers, predictors, wrong, wrong_by,
};
use super::style::{SECOND, Way};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{GREY, Marker, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Quantity, Shown, Table, median, number};

/// Designs compared: 1 to this many coefficients.
const LARGEST: usize = 10;
/// The true number.
const TRUE: usize = 3;
const TEST: usize = 300;

/// One data set, ℒ of every design, and the test errors of the best and of the baseline.
struct Study {
    points: Vec<f64>,
    y: Vec<f64>,
    w: Vec<f64>,
    converged: Selection,
    authors: Selection,
    /// Test error of each design by VB, and by the baseline.
    errors: Vec<(f64, f64)>,
    /// The curve of the selected design on a grid, its interval, and maximum likelihood's with all coefficients.
    curve: Curve,
}

struct Curve {
    grid: Vec<f64>,
    mean: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    truth: Vec<f64>,
}

fn designs(points: &[f64]) -> Vec<Mat<f64>> {
    (1..=LARGEST).map(|d| powers(points, d)).collect()
}

fn grid() -> Vec<f64> {
    (0..=120).map(|i| -5.0 + f64::from(i) / 12.0).collect()
}

/// A fit of a design.
trait Fitted {
    /// ℒ.
    fn bound(&self) -> f64;

    /// The error on further rows.
    fn error(&self, x: &Mat<f64>, y: &[f64]) -> Result<f64, ReproError>;

    /// Means and 90 % intervals.
    fn curve(&self, x: &Mat<f64>) -> Result<Vec<(f64, Interval)>, ModelError>;
}

impl Fitted for LinearFit {
    fn bound(&self) -> f64 {
        self.bound()
    }

    fn error(&self, x: &Mat<f64>, y: &[f64]) -> Result<f64, ReproError> {
        mean_squared_error(x.as_ref(), y, self.weights().mean())
    }

    fn curve(&self, x: &Mat<f64>) -> Result<Vec<(f64, Interval)>, ModelError> {
        self.predict(x.as_ref())?.iter().map(|p| Ok((p.mean, p.interval(0.9)?))).collect()
    }
}

impl Fitted for LogitFit {
    fn bound(&self) -> f64 {
        self.bound()
    }

    fn error(&self, x: &Mat<f64>, y: &[f64]) -> Result<f64, ReproError> {
        let predicted = self.predict(x.as_ref()).context("selection")?;
        wrong(&predicted.iter().map(|p| p.probability).collect::<Vec<_>>(), y)
    }

    fn curve(&self, x: &Mat<f64>) -> Result<Vec<(f64, Interval)>, ModelError> {
        self.predict(x.as_ref())?.iter().map(|p| Ok((p.probability, p.interval(0.9)?))).collect()
    }
}

/// One of the two published examples.
struct Example {
    /// Its data: points and answers, and ℒ of each design by the authors' program.
    csv: &'static str,
    bounds: [f64; LARGEST],
    /// Points of further data sets, an answer about a predictor, and the curve there.
    points: usize,
    answer: fn(f64, &mut ChaCha8Rng) -> f64,
    truth: fn(f64) -> f64,
    fit: fn(MatRef<'_, f64>, &[f64], VbSettings) -> Result<Box<dyn Fitted>, ModelError>,
    baseline: Way,
    /// The baseline's test error: design, answers, rows and answers of the test.
    baseline_error: fn(&Mat<f64>, &[f64], &Mat<f64>, &[f64]) -> Result<f64, ReproError>,
    title: &'static str,
    /// What the answer and the error are called.
    names: [&'static str; 2],
    /// Claims of the published data, of further data, of its predictions.
    claims: [&'static str; 3],
}

impl Example {
    fn study(&self, seed: u64, k: usize) -> Result<Study, ReproError> {
        let mut rng = generator(seed, k);
        let mut points = |n: usize| -> Vec<f64> { (0..n).map(|_| 10.0 * rng.random::<f64>() - 5.0).collect() };
        let (points, test) = (points(self.points), points(TEST));
        let w: Vec<f64> = (0..TRUE).map(|_| normal(&mut rng)).collect();
        let at = |points: &[f64]| predictors(powers(points, TRUE).as_ref(), &w);
        let mut answer =
            |points: &[f64]| -> Vec<f64> { at(points).into_iter().map(|t| (self.answer)(t, &mut rng)).collect() };
        let (y, test_y) = (answer(&points), answer(&test));
        let designs = designs(&points);
        let by = |settings: VbSettings| {
            let fit = |x| Ok((self.fit)(x, &y, settings)?.bound());
            vb::select(designs.iter().map(Mat::as_ref), fit).context("selection")
        };
        let (converged, authors) = (by(VbSettings::default())?, by(VbSettings::authors())?);
        let fit = |x: &Mat<f64>| (self.fit)(x.as_ref(), &y, VbSettings::default()).context("selection");
        let mut errors = Vec::new();
        for x in &designs {
            let rows = powers(&test, x.ncols());
            errors.push((fit(x)?.error(&rows, &test_y)?, (self.baseline_error)(x, &y, &rows, &test_y)?));
        }
        let grid = grid();
        let chosen = &designs[converged.best];
        let predicted = fit(chosen)?.curve(&powers(&grid, chosen.ncols())).context("selection")?;
        let curve = Curve {
            mean: predicted.iter().map(|(mean, _)| *mean).collect(),
            lower: predicted.iter().map(|(_, ends)| ends.lower).collect(),
            upper: predicted.iter().map(|(_, ends)| ends.upper).collect(),
            truth: at(&grid).into_iter().map(self.truth).collect(),
            grid,
        };
        Ok(Study { points, y, w, converged, authors, errors, curve })
    }

    /// ℒ of every design of the published data, by convergence and by the authors' rule.
    fn published(&self) -> Result<[Vec<f64>; 2], ReproError> {
        let mut rows = csv::Reader::from_reader(self.csv.as_bytes());
        let rows = rows.deserialize().collect::<Result<Vec<(f64, f64)>, _>>().context("published data")?;
        let (points, y): (Vec<f64>, Vec<f64>) = rows.into_iter().unzip();
        let by = |settings: VbSettings| {
            let each = designs(&points).into_iter().map(|x| Ok((self.fit)(x.as_ref(), &y, settings)?.bound()));
            each.collect::<Result<Vec<f64>, ModelError>>().context("a published design")
        };
        Ok([by(VbSettings::default())?, by(VbSettings::authors())?])
    }
}

/// A parabola with noise, ten points.
const LINEAR: Example = Example {
    csv: include_str!("../../data/vb-linear-selection.csv"),
    bounds: [
        -29.075922140665,
        -30.706181185294,
        -20.631564610581,
        -22.180024849434,
        -25.674791704165,
        -30.702095363853,
        -33.076399861119,
        -33.713725150617,
        -36.584867259605,
        -39.503331992346,
    ],
    points: 10,
    answer: |t, rng| t + normal(rng),
    truth: |t| t,
    fit: |x, y, settings| Ok(Box::new(vb::linear(x, y, LinearPrior::default(), &settings, Par::Seq)?)),
    baseline: Way::Ml,
    baseline_error: |x, y, rows, test| mean_squared_error(rows.as_ref(), test, &least_squares(x.as_ref(), y)?),
    title: "How many coefficients? Ten points of a parabola",
    names: ["y", "mean squared error"],
    claims: ["picks-published", "picks", "predicts"],
};

/// Classes from a parabola, fifty points.
const LOGIT: Example = Example {
    csv: include_str!("../../data/vb-logit-selection.csv"),
    bounds: [
        -31.569816825891,
        -34.233659949094,
        -14.97811400552,
        -18.870686816581,
        -19.394310531934,
        -22.892470692646,
        -22.073383498388,
        -25.7359290661,
        -30.433148827942,
        -35.420306931008,
    ],
    points: 50,
    answer: |t, rng| f64::from(rng.random::<f64>() < sigmoid(t)),
    truth: sigmoid,
    fit: |x, y, settings| {
        let bound = LogitBound::JaakkolaJordan;
        Ok(Box::new(vb::logit(x, y, LogitPrior::default(), bound, &settings, Par::Seq)?))
    },
    baseline: Way::Discriminant,
    baseline_error: |x, y, rows, test| {
        // Powers of 5 up to the ninth: the discriminant's columns are brought to one scale.
        let scale: Vec<f64> = (0..x.ncols()).map(|j| x.col(j).norm_max()).collect();
        let scaled = |m: &Mat<f64>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)] / scale[j]);
        wrong_by(scaled(rows).as_ref(), test, &discriminant(scaled(x).as_ref(), y)?)
    },
    title: "How many coefficients? Fifty classes from a parabola",
    names: ["probability of class 1", "share of wrong classes"],
    claims: ["logit-picks-published", "logit-picks", "logit-predicts"],
};

/// Where the largest value is, as a number of coefficients.
fn largest_at(values: &[f64]) -> usize {
    (0..values.len()).max_by(|a, b| values[*a].total_cmp(&values[*b])).map_or(0, |i| i + 1)
}

/// Data sets whose curvature is too slight to be seen are left out of the count: `|w₂|` below this.
const VISIBLE: f64 = 0.5;

#[allow(clippy::too_many_lines, reason = "numbers, then the words that tell them")]
fn outcome(ctx: &Context, example: &Example) -> Result<Outcome, ReproError> {
    let count = ctx.pick(60, 12);
    ctx.steps(count);
    let studies = ctx.each(0..count, "data sets", |k| example.study(ctx.seed, k))?;
    let clear: Vec<&Study> = studies.iter().filter(|s| s.w[2].abs() >= VISIBLE).collect();
    // Drawn is the first clear one.
    let drawn = clear.first().copied().unwrap_or(&studies[0]);
    let is_true = |s: &&Study| s.converged.best + 1 == TRUE;
    let picked = studies.iter().filter(is_true).count();
    let picked_clear = clear.iter().copied().filter(is_true).count();
    let chosen: Vec<f64> = studies.iter().map(|s| s.errors[s.converged.best].0).collect();
    let largest: Vec<f64> = studies.iter().map(|s| s.errors[LARGEST - 1].1).collect();
    let better = chosen.iter().zip(&largest).filter(|(one, other)| one < other).count();
    let decided = chosen.iter().zip(&largest).filter(|(one, other)| one != other).count();
    let [ours, theirs] = example.published()?;
    let [chosen_error, largest_error] = [&chosen, &largest].map(|values| median(values));
    let not_below = studies.iter().all(|s| {
        s.converged.bounds.iter().zip(&s.authors.bounds).all(|(ours, theirs)| ours >= &(theirs - 1e-6 * theirs.abs()))
    });
    let degrees: Vec<f64> = (1..=LARGEST).map(|d| d as f64).collect();
    let mut table = Table::new(
        "",
        &["data_set", "coefficients", "bound", "bound_authors_rule", "vb_test_error", "baseline_test_error"],
    );
    for (k, s) in studies.iter().enumerate() {
        for d in 0..LARGEST {
            let numbers = [s.converged.bounds[d], s.authors.bounds[d], s.errors[d].0, s.errors[d].1];
            table.row(&[&k, &(d + 1)], numbers)?;
        }
    }
    let counts: Vec<f64> = (1..=LARGEST)
        .map(|d| studies.iter().filter(|s| s.converged.best + 1 == d).count() as f64 / studies.len() as f64)
        .collect();
    let edge = |offset: f64| -> Vec<f64> { degrees.iter().map(|d| d + offset).collect() };
    let reach = drawn.y.iter().chain(&drawn.curve.truth).fold(1.0, |reach: f64, y| reach.max(y.abs()));
    let range =
        if drawn.y.iter().all(|y| *y == 0.0 || *y == 1.0) { (-0.08, 1.08) } else { (-1.1 * reach, 1.1 * reach) };
    let dots = Style::solid(GREY).marker(Marker::Disc);
    let data_panel = Panel::new(
        format!("The selected design: {} coefficients", drawn.converged.best + 1),
        Axis::linear("x"),
        Axis::linear(example.names[0]).range(range.0, range.1),
    )
    .band(&drawn.curve.grid, &drawn.curve.lower, &drawn.curve.upper, Way::Vb.style().colour, 0.2, "90 % interval")
    .points(&drawn.points, &drawn.y, dots, 3.0, "data")
    .line_marked(&drawn.curve.grid, &drawn.curve.truth, Way::Truth.style(), 0, Way::Truth.label())
    .line_marked(&drawn.curve.grid, &drawn.curve.mean, Way::Vb.style(), 0, Way::Vb.label());
    let bound_panel = Panel::new(
        "ℒ of each design",
        Axis::linear("coefficients").range(0.5, LARGEST as f64 + 0.5),
        Axis::linear("nats"),
    )
    .line_marked(&degrees, &drawn.converged.bounds, Way::Vb.style(), 1, Way::Vb.label())
    .line_marked(&degrees, &drawn.authors.bounds, SECOND, 0, "by the authors’ stopping rule");
    let (vb, ml): (Vec<f64>, Vec<f64>) = (0..LARGEST)
        .map(|d| {
            let of =
                |pick: fn(&(f64, f64)) -> f64| median(&studies.iter().map(|s| pick(&s.errors[d])).collect::<Vec<_>>());
            (of(|e| e.0), of(|e| e.1))
        })
        .unzip();
    let error_panel = Panel::new(
        "Test error, medians",
        Axis::linear("coefficients").range(0.5, LARGEST as f64 + 0.5),
        Axis::log(example.names[1]),
    )
    .line_marked(&degrees, &ml, example.baseline.style(), 1, example.baseline.label())
    .line_marked(&degrees, &vb, Way::Vb.style(), 1, Way::Vb.label());
    let count_panel = Panel::new(
        format!("Selected by ℒ, {count} data sets"),
        Axis::linear("coefficients").range(0.5, LARGEST as f64 + 0.5),
        Axis::linear("share of data sets").range(0.0, 1.0),
    )
    .bars(&edge(-0.4), &edge(0.4), &counts, Way::Vb.style().colour, 0.6, "")
    .vertical(TRUE as f64, Way::Truth.style(), Way::Truth.label());
    Ok(Outcome {
        checks: vec![
            words().fact(
                example.claims[0],
                largest_at(&ours) == TRUE && largest_at(&theirs) == TRUE,
                &[&largest_at(&ours), &ours[TRUE - 1], &largest_at(&theirs), &theirs[TRUE - 1]],
            ),
            words().counted(example.claims[1], (picked, count), &[]),
            words().counted(example.claims[2], (better, decided), &[&chosen_error, &largest_error, &(count - decided)]),
            words().below(
                "authors-rule-every-design",
                theirs.iter().zip(example.bounds).map(|(a, b)| ((a - b) / b).abs()).fold(0.0, f64::max),
                1e-6,
            ),
            words().fact("design-below-authors-rule", not_below, &[]),
        ],
        quantities: (0..LARGEST)
            .map(|d| {
                Quantity::new(format!("ℒ on the published data, {} coefficients", d + 1))
                    .authors(number(example.bounds[d]))
                    .printed(number(theirs[d]))
                    .works(number(ours[d]))
            })
            .collect(),
        shown: Shown::new(
            ["coefficients", "ℒ (drawn data)", "selected", "VB error", example.baseline.label()],
            (0..LARGEST).map(|d| {
                let numbers = [drawn.converged.bounds[d], counts[d], vb[d], ml[d]].map(number);
                std::iter::once((d + 1).to_string()).chain(numbers).collect()
            }),
        ),
        tables: vec![table],
        figure: Figure::new(example.title)
            .row(320.0, vec![data_panel, bound_panel])
            .row(300.0, vec![error_panel, count_panel]),
        ..words().outcome(
            ctx,
            &[
                &TRUE,
                &picked,
                &count,
                &chosen_error,
                &example.baseline.label(),
                &LARGEST,
                &largest_error,
                &VISIBLE.to_string(),
                &clear.len(),
                &TRUE,
                &picked_clear,
            ],
        )
    })
}

/// A parabola with noise, ten points.
pub(super) fn linear(ctx: &Context) -> Result<Outcome, ReproError> {
    outcome(ctx, &LINEAR)
}

/// Classes from a parabola, fifty points.
pub(super) fn logit(ctx: &Context) -> Result<Outcome, ReproError> {
    outcome(ctx, &LOGIT)
}
