//! Regression with many weights: all of them informative, or few.

use vi_linalg::faer::Par;
use vi_models::vb::{self, LinearFit, LinearPrior, VbSettings};

use super::data::{Sample, first_informative, generator, least_squares, mean_squared_error};
use super::errors::Errors;
use super::style::{Way, weights_panel};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Said, Table, join, median};

const WAYS: [Way; 5] = [Way::Ml, Way::VbAuthors, Way::ArdAuthors, Way::Vb, Way::Ard];

/// Sizes of a setting.
struct Setting {
    n: usize,
    test: usize,
    d: usize,
    informative: usize,
    scale: f64,
    /// Iterations of the fit with relevance determination, the costly one.
    iterations: usize,
}

struct Study {
    sample: Sample,
    ml: Vec<f64>,
    vb: LinearFit,
    ard: LinearFit,
    /// Training and test error of [`WAYS`].
    errors: [[f64; 2]; 5],
}

impl Study {
    fn new(setting: &Setting, seed: u64, k: usize) -> Result<Self, ReproError> {
        let mut rng = generator(seed, k);
        let sizes = (setting.n, setting.test, setting.d);
        let sample = Sample::sparse(&mut rng, sizes, setting.informative, setting.scale, Sample::numbers);
        let (x, y) = (sample.x.as_ref(), &sample.y);
        let limited = VbSettings { max_iterations: setting.iterations, ..VbSettings::default() };
        let vb = vb::linear(x, y, LinearPrior::default(), &VbSettings::default(), Par::Seq).context("fit")?;
        let ard = vb::linear_ard(x, y, LinearPrior::default(), &limited, Par::Seq).context("fit")?;
        let authors = VbSettings::authors();
        let early = vb::linear(x, y, LinearPrior::default(), &authors, Par::Seq).context("fit")?;
        let early_ard = vb::linear_ard(x, y, LinearPrior::default(), &authors, Par::Seq).context("fit")?;
        let ml = least_squares(x, y)?;
        let mut errors = [[0.0; 2]; 5];
        let all = [
            ml.as_slice(),
            early.weights().mean(),
            early_ard.weights().mean(),
            vb.weights().mean(),
            ard.weights().mean(),
        ];
        for (slot, w) in errors.iter_mut().zip(all) {
            let test = mean_squared_error(sample.test_x.as_ref(), &sample.test_y, w)?;
            *slot = [mean_squared_error(x, y, w)?, test];
        }
        Ok(Self { sample, ml, vb, ard, errors })
    }

    /// Fitted against true weights.
    fn weights_panel(&self, way: Way) -> Panel {
        let w = match way {
            Way::Ml => &self.ml,
            Way::Vb => self.vb.weights().mean(),
            _ => self.ard.weights().mean(),
        };
        weights_panel(way, &self.sample, w)
    }

    /// How much of each weight the data determine, the informative columns apart.
    fn relevance_panel(&self, informative: usize) -> Panel {
        let relevance = self.ard.relevance();
        let share = |keep: &dyn Fn(usize) -> bool| {
            let mut values: Vec<f64> = relevance.iter().filter(|r| keep(r.index)).map(|r| r.determined).collect();
            values.sort_by(f64::total_cmp);
            let steps: Vec<f64> = (0..values.len()).map(|i| (i + 1) as f64 / values.len() as f64).collect();
            (values, steps)
        };
        let mut panel = Panel::new(
            "Relevance determination: how much of a weight the data determine",
            Axis::linear("γ = 1 − E[α]·V").range(0.0, 1.0),
            Axis::linear("share of columns").range(0.0, 1.0),
        );
        for (keep, style, label) in [
            (&(|j| j < informative) as &dyn Fn(usize) -> bool, Way::Ard.style(), "informative columns"),
            (&(|j| j >= informative), Way::Ml.style(), "other columns"),
        ] {
            let (values, steps) = share(keep);
            if !values.is_empty() {
                panel = panel.line_marked(&values, &steps, style, 0, label);
            }
        }
        panel
    }
}

/// The studies, and their errors.
fn run(ctx: &Context, setting: &Setting, count: usize) -> Result<(Vec<Study>, Table), ReproError> {
    ctx.steps(count);
    let studies = ctx.each(0..count, "data sets", |k| Study::new(setting, ctx.seed, k))?;
    let mut table = Table::new("", &["data_set", "fit", "train_mse", "test_mse"]);
    for (k, study) in studies.iter().enumerate() {
        for (way, errors) in WAYS.iter().zip(study.errors) {
            table.row(&[&k, &way.slug()], errors)?;
        }
    }
    Ok((studies, table))
}

/// What both items are: `published` errors by way, training and test.
fn outcome(
    ctx: &Context,
    (studies, table): (&[Study], Table),
    (title, published): (&str, &[(Way, [&str; 2])]),
    checks: impl FnOnce(&Errors<'_>) -> Vec<Check>,
    further: Option<Panel>,
    values: &[&dyn Said],
) -> Outcome {
    let errors = Errors { table: &table, ways: &WAYS, columns: ["train_mse", "test_mse"] };
    let [ml, early, early_ard, vb, ard] = WAYS.map(|way| errors.median(way, true));
    let dots = errors.panel("Test error, one dot for each data set", "mean squared error", "test_mse", (0.7, 3.4));
    let weights = [Way::Ml, Way::Vb, Way::Ard].into_iter().map(|way| studies[0].weights_panel(way)).collect();
    let height = if further.is_some() { 320.0 } else { 300.0 };
    let own: [&dyn Said; 6] = [&studies.len(), &ml, &vb, &early, &ard, &early_ard];
    let (late_and_early, what) =
        ([(Way::Vb, Way::VbAuthors), (Way::Ard, Way::ArdAuthors)], ["training error", "test error"]);
    Outcome {
        checks: checks(&errors),
        quantities: errors.quantities(what, published, &late_and_early),
        shown: errors.shown("mean squared error, median"),
        figure: Figure::new(title).row(340.0, weights).row(height, std::iter::once(dots).chain(further).collect()),
        tables: vec![table],
        ..words().outcome(ctx, &[&own, values].concat())
    }
}

/// 100 weights, 150 rows.
pub(super) fn high_dimension(ctx: &Context) -> Result<Outcome, ReproError> {
    let setting = Setting { n: 150, test: 200, d: 100, informative: 100, scale: 1.0, iterations: 2000 };
    let (studies, table) = run(ctx, &setting, ctx.pick(40, 8))?;
    let checks = |errors: &Errors<'_>| {
        vec![
            errors.smaller("high-test", Way::VbAuthors, Way::Ml),
            errors.larger_in_training("high-train", Way::VbAuthors, Way::Ml),
            errors.smaller("one-shrinkage-serves-better", Way::Vb, Way::Ard),
        ]
    };
    let published = [(Way::Ml, ["0.310", "2.189"]), (Way::Vb, ["0.395", "1.830"])];
    Ok(outcome(ctx, (&studies, table), ("100 weights, 150 rows", &published), checks, None, &[]))
}

/// 1000 weights of which 100 are not 0, 500 rows.
pub(super) fn sparse(ctx: &Context) -> Result<Outcome, ReproError> {
    let full = Setting { n: 500, test: 200, d: 1000, informative: 100, scale: 1.0, iterations: 250 };
    let quick = Setting { n: 100, test: 100, d: 200, informative: 20, scale: 1.0, iterations: 400 };
    let setting = ctx.pick(full, quick);
    let (studies, table) = run(ctx, &setting, 4)?;
    let informative = setting.informative;
    let ranked: Vec<f64> = studies.iter().map(|s| first_informative(&s.ard.relevance(), informative)).collect();
    let (share, chance) = (median(&ranked), informative as f64 / setting.d as f64);
    let checks = |errors: &Errors<'_>| {
        vec![
            errors.larger_in_training("sparse-train", Way::VbAuthors, Way::Ml),
            errors.smaller("sparse-test", Way::VbAuthors, Way::Ml),
            errors.smaller("sparse-ard", Way::ArdAuthors, Way::VbAuthors),
            errors.smaller("converged-relevance-determination-smaller", Way::Ard, Way::Vb),
            words().fact("columns-ranked-first-mostly", share > 0.5, &[&share, &informative, &chance]),
        ]
    };
    let published = [(Way::Ml, ["0.000", "6.076"]), (Way::Vb, ["0.749", "4.856"]), (Way::Ard, ["0.000", "4.111"])];
    let stops = join(&studies, ", ", |s| format!("{:?}", s.ard.info().stop));
    let relevance = studies[0].relevance_panel(informative);
    Ok(outcome(
        ctx,
        (&studies, table),
        ("Sparse weights, fewer rows than columns", &published),
        checks,
        Some(relevance),
        &[&setting.d, &informative, &setting.scale.to_string(), &setting.n, &setting.iterations, &stops],
    ))
}
