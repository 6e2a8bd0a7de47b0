//! Scores of models on many draws of the demonstration's process, beside the exact process'.

use vi_linalg::faer::Mat;

use super::demo::{Draw, REACH};
use super::scores::{Predicted, quantile};
use super::words;
use crate::error::ReproError;
use crate::item::Context;
use crate::plot::palette::{BLACK, BLUE, Dash, GREY, Marker, PALE, Style};
use crate::plot::{Axis, Panel, linspace};
use crate::report::{Check, Shown, Table, median, number};

/// What a model says of the test points of a draw.
pub(super) type Answers = Vec<(String, Predicted)>;

pub(super) struct Trials {
    /// A row for each draw and model; the column of models is called `models`.
    pub(super) table: Table,
    models: &'static str,
    /// Learned length scale and noise deviation of one of the models, draw by draw.
    learned: Vec<(f64, f64)>,
}

impl Trials {
    /// `answers` is called for each of `count` draws: every model's predictions, and what one of them learned.
    pub(super) fn new(
        ctx: &Context,
        count: usize,
        models: &'static str,
        answers: impl Fn(&Draw, usize) -> Result<(Answers, (f64, f64)), ReproError>,
    ) -> Result<Self, ReproError> {
        ctx.steps(count);
        let mut table = Table::new("", &["draw", models, "smse", "msll", "exact_smse", "exact_msll"]);
        let learned = ctx.each(0..count, "draws of the process", |k| {
            let draw = Draw::new(ctx.seed, k)?;
            let exact = draw.exact(draw.test_x.as_ref())?.scores(&draw.test_y, &draw.y)?;
            let (answers, learned) = answers(&draw, k)?;
            for (model, predicted) in answers {
                let scores = predicted.scores(&draw.test_y, &draw.y)?;
                table.row(&[&k, &model], [scores.smse, scores.msll, exact.smse, exact.msll])?;
            }
            Ok(learned)
        })?;
        Ok(Self { table, models, learned })
    }

    /// SMSE over the exact process', and MSLL above it, over all draws.
    pub(super) fn against(&self, model: &str) -> [Vec<f64>; 2] {
        let view = self.table.of(&[(self.models, &model)]);
        let pairs = |a, b| view.values(a).into_iter().zip(view.values(b));
        [
            pairs("smse", "exact_smse").map(|(a, b)| a / b).collect(),
            pairs("msll", "exact_msll").map(|(a, b)| a - b).collect(),
        ]
    }

    pub(super) fn median(&self, model: &str, score: &str) -> f64 {
        self.table.of(&[(self.models, &model)]).median(score)
    }

    /// Medians of length scale and noise deviation.
    pub(super) fn learned(&self) -> [f64; 2] {
        [self.learned.iter().map(|l| l.0).collect::<Vec<_>>(), self.learned.iter().map(|l| l.1).collect()]
            .map(|values| median(&values))
    }

    /// Whether the printed number is one that such a draw gives: in the middle 95 % of ours.
    pub(super) fn printed(name: &str, values: &[f64], printed: f64) -> Check {
        let (low, high) = (quantile(values, 0.025), quantile(values, 0.975));
        let middle = format!("{} to {}", number(low), number(high));
        words().fact(name, (low..=high).contains(&printed), &[&median(values), &middle])
    }

    /// Medians of each model's scores; `models` are their names in the table and on the page.
    pub(super) fn shown(&self, models: &[(String, String)]) -> Shown {
        let head = ["model", "SMSE", "MSLL", "SMSE over exact", "MSLL above exact"];
        let first = &models[0].0;
        let exact = ["exact_smse", "exact_msll"].map(|score| number(self.median(first, score)));
        let exact = std::iter::once("exact process".to_owned()).chain(exact).chain(["1", "0"].map(String::from));
        let row = |(model, label): &(String, String)| {
            let [ratios, excess] = self.against(model);
            let numbers = [self.median(model, "smse"), self.median(model, "msll"), median(&ratios), median(&excess)];
            std::iter::once(label.clone()).chain(numbers.map(number)).collect()
        };
        Shown::new(head, std::iter::once(exact.collect()).chain(models.iter().map(row)))
    }

    /// The draw on which `model` does as well as on half of them.
    pub(super) fn typical(&self, model: &str) -> usize {
        let [ratios, _] = self.against(model);
        let middle = quantile(&ratios, 0.5);
        ratios.iter().position(|ratio| *ratio == middle).unwrap_or(0)
    }
}

/// A draw with its training points, the exact process and a model, each with two deviations.
pub(super) fn fit_panel(
    title: String,
    draw: &Draw,
    names: [&str; 2],
    predict: impl FnOnce(&Mat<f64>) -> Result<Predicted, ReproError>,
) -> Result<Panel, ReproError> {
    let t = linspace(-1.15 * REACH, 1.15 * REACH, 401);
    let points = Mat::from_fn(t.len(), 1, |i, _| t[i]);
    let (exact, model) = (draw.exact(points.as_ref())?, predict(&points)?);
    let training: Vec<f64> = draw.x.col(0).iter().copied().collect();
    let dashed = Style::solid(BLUE).dash(Dash::Dashed).width(1.4);
    Ok(Panel::new(title, Axis::linear("x"), Axis::linear("y"))
        .band(&t, &exact.edge(-2.0), &exact.edge(2.0), PALE, 0.8, "exact process ± 2 deviations")
        .points(&training, &draw.y, Style::solid(GREY).marker(Marker::Disc).alpha(0.6), 2.2, "training points")
        .line_marked(&t, &exact.means, Style::solid(BLACK), 0, "exact process")
        .line_marked(&t, &model.means, Style::solid(BLUE), 0, names[0])
        .line_marked(&t, &model.edge(-2.0), dashed, 0, names[1])
        .line_marked(&t, &model.edge(2.0), dashed, 0, ""))
}

/// Adds the bound asked for and the quartiles over draws at each place; returns the medians, to be drawn.
pub(super) fn spread(panel: Panel, at: &[f64], values: &[Vec<f64>], (bound, asked): (f64, &str)) -> (Panel, Vec<f64>) {
    let share = |share: f64| values.iter().map(|v| quantile(v, share)).collect::<Vec<f64>>();
    let panel = panel.horizontal(bound, Style::solid(GREY).dash(Dash::Dotted), asked).spread(
        at,
        &share(0.25),
        &share(0.75),
        Style::solid(BLUE).width(1.6),
        "quartiles over draws",
    );
    (panel, values.iter().map(|v| median(v)).collect())
}
