//! Regression with many weights: all of them informative, or few.

use vi_linalg::faer::Par;
use vi_models::vb::{self, LinearFit, LinearPrior, VbSettings};

use super::claims;
use super::data::{Sample, generator, least_squares, mean_squared_error};
use super::style::{Way, computation};
use crate::error::ReproError;
use crate::item::Context;
use crate::plot::palette::{Dash, GREY, Marker, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Quantity, Shown, Table, cell, number, quartiles};

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
    errors: [(f64, f64); 5],
}

impl Study {
    fn new(setting: &Setting, seed: u64, k: usize) -> Result<Self, ReproError> {
        let mut rng = generator(seed, k);
        let sizes = (setting.n, setting.test, setting.d);
        let sample = Sample::sparse(&mut rng, sizes, setting.informative, setting.scale, Sample::numbers);
        let (x, y) = (sample.x.as_ref(), &sample.y);
        let fail = |e| computation("fit", &e);
        let limited = VbSettings { max_iterations: setting.iterations, ..VbSettings::default() };
        let vb = vb::linear(x, y, LinearPrior::default(), &VbSettings::default(), Par::Seq).map_err(fail)?;
        let ard = vb::linear_ard(x, y, LinearPrior::default(), &limited, Par::Seq).map_err(fail)?;
        let authors = VbSettings::authors();
        let early = vb::linear(x, y, LinearPrior::default(), &authors, Par::Seq).map_err(fail)?;
        let early_ard = vb::linear_ard(x, y, LinearPrior::default(), &authors, Par::Seq).map_err(fail)?;
        let ml = least_squares(x, y)?;
        let mut errors = [(0.0, 0.0); 5];
        let all = [
            ml.as_slice(),
            early.weights().mean(),
            early_ard.weights().mean(),
            vb.weights().mean(),
            ard.weights().mean(),
        ];
        for (slot, w) in errors.iter_mut().zip(all) {
            let test = mean_squared_error(sample.test_x.as_ref(), &sample.test_y, w)?;
            *slot = (mean_squared_error(x, y, w)?, test);
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
        let reach = self.sample.w.iter().fold(0.5, |reach: f64, w| reach.max(w.abs()));
        let dots = Style::solid(way.style().colour).marker(Marker::Disc).alpha(0.45);
        Panel::new(
            way.label(),
            Axis::linear("true weight").range(-reach, reach),
            Axis::linear("fitted weight").range(-reach, reach),
        )
        .line_marked(&[-reach, reach], &[-reach, reach], Style::solid(GREY).dash(Dash::Dotted), 0, "fitted = true")
        .points(&self.sample.w, w, dots, 2.6, "")
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

fn run(ctx: &Context, setting: &Setting, count: usize) -> Result<Vec<Study>, ReproError> {
    ctx.steps(count);
    let mut studies = Vec::new();
    for k in 0..count {
        studies.push(Study::new(setting, ctx.seed, k)?);
        ctx.step("data sets");
    }
    Ok(studies)
}

fn column(studies: &[Study], way: usize, test: bool) -> Vec<f64> {
    studies.iter().map(|s| if test { s.errors[way].1 } else { s.errors[way].0 }).collect()
}

/// Fit `one` has a smaller test error than fit `other`.
fn smaller(studies: &[Study], one: Way, other: Way) -> Check {
    let (one, other) = (place(one), place(other));
    let hits = studies.iter().filter(|s| s.errors[one].1 < s.errors[other].1).count();
    let median = |way| number(quartiles(&column(studies, way, true))[1]);
    Check::counted("", (hits, studies.len()), format!("medians {} and {}", median(one), median(other)))
}

/// Fit `one` has a larger training error than fit `other`.
fn larger_in_training(studies: &[Study], one: Way, other: Way) -> Check {
    let (one, other) = (place(one), place(other));
    let hits = studies.iter().filter(|s| s.errors[one].0 > s.errors[other].0).count();
    let median = |way| number(quartiles(&column(studies, way, false))[1]);
    Check::counted("", (hits, studies.len()), format!("medians {} and {}", median(one), median(other)))
}

/// Where a way stands among [`WAYS`].
fn place(way: Way) -> usize {
    WAYS.iter().position(|w| *w == way).unwrap_or(0)
}

/// The published errors of the ways, training and test, beside ours.
fn quantities(studies: &[Study], published: &[(Way, &str, &str)]) -> Vec<Quantity> {
    let median = |way, test| number(quartiles(&column(studies, place(way), test))[1]);
    let mut out = Vec::new();
    for (way, train, test) in published {
        // Stopped as the authors stop, where there is such a fit.
        let (early, late) = match way {
            Way::Vb => (Way::VbAuthors, Some(Way::Vb)),
            Way::Ard => (Way::ArdAuthors, Some(Way::Ard)),
            other => (*other, None),
        };
        for (name, published, test) in [("training", train, false), ("test", test, true)] {
            out.push(
                Quantity::new(format!("{name} error, {}", way.label()))
                    .authors(*published)
                    .printed(median(early, test))
                    .works(late.map_or(String::new(), |late| median(late, test))),
            );
        }
    }
    out
}

fn error_panel(studies: &[Study]) -> Panel {
    let names = WAYS.iter().map(|way| way.label().to_owned()).collect();
    let mut panel = Panel::new(
        "Test error, one dot for each data set",
        Axis::categories("", names),
        Axis::linear("mean squared error"),
    );
    for (i, way) in WAYS.iter().enumerate() {
        let values = column(studies, i, true);
        let x: Vec<f64> = (0..values.len()).map(|k| i as f64 + 0.4 * ((k as f64 * 0.618_034).fract() - 0.5)).collect();
        panel = panel.points(&x, &values, Style::solid(way.style().colour).marker(Marker::Disc).alpha(0.7), 3.4, "");
    }
    panel
}

fn table(studies: &[Study]) -> Result<Table, ReproError> {
    let mut table = Table::new("", &["data_set", "fit", "train_mse", "test_mse"]);
    for (k, study) in studies.iter().enumerate() {
        for (way, (train, test)) in WAYS.iter().zip(study.errors) {
            table.push(vec![k.to_string(), way.slug().to_owned(), cell(train), cell(test)])?;
        }
    }
    Ok(table)
}

fn shown(studies: &[Study]) -> Shown {
    let rows = WAYS.iter().enumerate().map(|(i, way)| {
        let median = |test| number(quartiles(&column(studies, i, test))[1]);
        vec![way.label().to_owned(), median(false), median(true)]
    });
    Shown { head: ["mean squared error, median", "training", "test"].map(String::from).to_vec(), rows: rows.collect() }
}

fn summary(studies: &[Study]) -> String {
    let median = |way| number(quartiles(&column(studies, place(way), true))[1]);
    format!(
        "Test error, median over {} data sets: maximum likelihood {}, VB {} ({} by the authors’ rule), with relevance determination {} \
         ({}).",
        studies.len(),
        median(Way::Ml),
        median(Way::Vb),
        median(Way::VbAuthors),
        median(Way::Ard),
        median(Way::ArdAuthors)
    )
}

/// 100 weights, 150 rows.
pub(super) fn high_dimension(ctx: &Context) -> Result<Outcome, ReproError> {
    let setting = Setting { n: 150, test: 200, d: 100, informative: 100, scale: 1.0, iterations: 2000 };
    let studies = run(ctx, &setting, ctx.pick(40, 8))?;
    Ok(Outcome {
        summary: summary(&studies),
        caption: "100 weights from N(0, 1), 150 rows uniform on [−½, ½]¹⁰⁰, noise of variance 1. Above: fitted against true weights of \
                  one data set. Below: test errors of all."
            .into(),
        quote: "On the published example VB’s training error is 0.395 (maximum likelihood 0.310), its test error 1.831 (2.189).".into(),
        notes: vec!["The printed numbers are of one data set; ours are medians.".into()],
        claims: vec![
            claims::HIGH_TEST.judged(smaller(&studies, Way::VbAuthors, Way::Ml)),
            claims::HIGH_TRAIN.judged(larger_in_training(&studies, Way::VbAuthors, Way::Ml)),
        ],
        findings: vec![Check {
            claim: "One shrinkage serves better than one for each weight where all columns matter".into(),
            ..smaller(&studies, Way::Vb, Way::Ard)
        }],
        quantities: quantities(&studies, &[(Way::Ml, "0.310", "2.189"), (Way::Vb, "0.395", "1.830")]),
        promises: vec![],
        shown: shown(&studies),
        tables: vec![table(&studies)?],
        figure: Figure::new("100 weights, 150 rows")
            .row(340.0, [Way::Ml, Way::Vb, Way::Ard].into_iter().map(|way| studies[0].weights_panel(way)).collect())
            .row(300.0, vec![error_panel(&studies)]),
    })
}

/// 1000 weights of which 100 are not 0, 500 rows.
pub(super) fn sparse(ctx: &Context) -> Result<Outcome, ReproError> {
    let full = Setting { n: 500, test: 200, d: 1000, informative: 100, scale: 1.0, iterations: 250 };
    let quick = Setting { n: 100, test: 100, d: 200, informative: 20, scale: 1.0, iterations: 400 };
    let setting = ctx.pick(full, quick);
    let studies = run(ctx, &setting, ctx.pick(4, 4))?;
    let ranked: Vec<f64> = studies
        .iter()
        .map(|s| {
            let first = &s.ard.relevance()[..setting.informative];
            first.iter().filter(|r| r.index < setting.informative).count() as f64 / setting.informative as f64
        })
        .collect();
    let chance = setting.informative as f64 / setting.d as f64;
    let share = quartiles(&ranked)[1];
    Ok(Outcome {
        summary: summary(&studies),
        caption: format!(
            "{} weights, the first {} from N(0, {}) and the others 0; {} rows uniform on [−½, ½]; noise of variance 1. Above: \
             fitted against true weights of one data set. Below: test errors of all, and how much of each weight the data determine.",
            setting.d, setting.informative, setting.scale, setting.n
        ),
        quote: "On the published example (1000 weights, 100 of them informative, 500 rows) the test error falls from 6.076 by \
                maximum likelihood to 4.856 by VB and 4.111 with relevance determination, whose training error is 0."
            .into(),
        notes: vec![format!(
            "Relevance determination with more columns than rows creeps: it is stopped after {} iterations ({}).",
            setting.iterations,
            studies.iter().map(|s| format!("{:?}", s.ard.info().stop)).collect::<Vec<_>>().join(", ")
        )],
        claims: vec![
            claims::SPARSE_TRAIN.judged(larger_in_training(&studies, Way::VbAuthors, Way::Ml)),
            claims::SPARSE_TEST.judged(smaller(&studies, Way::VbAuthors, Way::Ml)),
            claims::SPARSE_ARD.judged(smaller(&studies, Way::ArdAuthors, Way::VbAuthors)),
        ],
        findings: vec![
            Check {
                claim: "Converged, too, relevance determination has the smaller test error".into(),
                ..smaller(&studies, Way::Ard, Way::Vb)
            },
            Check::fact(
                "The columns ranked first are mostly the informative ones",
                share > 0.5,
                format!("{} of the first {}, by chance {}", number(share), setting.informative, number(chance)),
            ),
        ],
        quantities: quantities(
            &studies,
            &[(Way::Ml, "0.000", "6.076"), (Way::Vb, "0.749", "4.856"), (Way::Ard, "0.000", "4.111")],
        ),
        promises: vec![],
        shown: shown(&studies),
        tables: vec![table(&studies)?],
        figure: Figure::new("Sparse weights, fewer rows than columns")
            .row(340.0, [Way::Ml, Way::Vb, Way::Ard].into_iter().map(|way| studies[0].weights_panel(way)).collect())
            .row(320.0, vec![error_panel(&studies), studies[0].relevance_panel(setting.informative)]),
    })
}
