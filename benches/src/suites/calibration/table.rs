//! One line of numbers for each setting: `calibration.csv`.

use std::fmt::Write as _;

use super::cells::Cell;
use super::{Tally, mean};

/// Kinds of truths of which the intervals are counted.
pub(super) const WHAT: [&str; 3] = ["weights", "predictors", "labels"];

/// A number with its standard error; what was not measured is `None`.
pub(super) type Measured = Option<(f64, f64)>;

/// What was measured of one setting.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) model: String,
    /// Empty for Gaussian inputs in a random order.
    pub(super) world: String,
    pub(super) inputs: usize,
    pub(super) rows: usize,
    pub(super) truth: String,
    pub(super) sets: usize,
    pub(super) failed: usize,
    /// Shares in percent, by kind and level.
    pub(super) held: [[Measured; 3]; 3],
    /// How many of the data sets were held against their exact posterior.
    pub(super) exact_sets: usize,
    /// Its shares of 90 % intervals, in percent: weights and predictors.
    pub(super) exact: [Measured; 2],
    /// Those of the model on the same data sets.
    pub(super) beside: [Measured; 2],
    /// Nats a row.
    pub(super) regret: Measured,
    /// The evidence furthest from the exact one, less it, in nats; the second without data sets whose order the model said.
    pub(super) evidence: Option<f64>,
    pub(super) unsaid: Option<f64>,
    /// The share of data sets of which the model said that they came in an order, in percent.
    pub(super) said: Option<f64>,
}

/// Position of 90 % among the levels.
const NINETY: usize = 1;

/// What a promise may be missed by, in points.
const POINTS: f64 = 3.0;

/// Standard errors within which a number is no finding.
const ERRORS: f64 = 3.0;

impl Row {
    pub(super) fn of(cell: &Cell, tally: &Tally) -> Self {
        let percent = |(mean, error): (f64, f64)| (100.0 * mean, 100.0 * error);
        let shares = [&tally.weights, &tally.predictors, &tally.labels];
        Self {
            model: cell.model.name().replace('_', " "),
            world: cell.world.name().unwrap_or_default(),
            inputs: cell.inputs,
            rows: cell.rows,
            truth: cell.truth.name(),
            sets: tally.replications(),
            failed: tally.failed,
            held: shares.map(|shares| [0, 1, 2].map(|level| shares.at(level).map(percent))),
            exact_sets: tally.regrets.len(),
            exact: [0, 1].map(|k| mean(&tally.exact[k]).map(percent)),
            beside: [0, 1].map(|k| mean(&tally.beside[k]).map(percent)),
            regret: mean(&tally.regrets),
            evidence: tally.furthest(|_| true),
            unsaid: tally.furthest(|said| !said),
            said: tally.said().map(|share| 100.0 * share),
        }
    }

    /// 90 % intervals of one kind.
    pub(super) fn ninety(&self, what: usize) -> Measured {
        self.held[what][NINETY]
    }

    /// The largest number of points by which 90 % intervals of weights or predictors hold less than they promise, beyond three
    /// points and three standard errors; 0 where they hold it.
    pub(super) fn short(&self) -> f64 {
        let short = |(mean, error): (f64, f64)| 90.0 - mean - POINTS.max(ERRORS * error);
        [0, 1].into_iter().filter_map(|what| self.ninety(what)).map(short).fold(0.0, f64::max)
    }

    /// How far the lower share of weights and predictors is below 90 %, in points and less one standard error.
    pub(super) fn lowest(&self) -> f64 {
        let below = |(mean, error): (f64, f64)| 90.0 - mean - error;
        [0, 1].into_iter().filter_map(|what| self.ninety(what)).map(below).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Whether the setting is nobody's prior, or has more weights than the others.
    pub(super) fn is_beyond(&self) -> bool {
        !self.world.is_empty() || self.inputs > 100
    }

    /// Whether its rows come in an order.
    pub(super) fn is_ordered(&self) -> bool {
        matches!(self.world.as_str(), "sorted" | "blocks")
    }

    /// Whether the setting is the front door's and stands still.
    pub(super) fn is_front_door(&self) -> bool {
        !self.model.starts_with("vb") && self.truth != "drift"
    }

    pub(super) fn name(&self) -> String {
        let world = if self.world.is_empty() { String::new() } else { format!("{}, ", self.world) };
        format!("{}: {world}{} inputs, {} rows, {}", self.model, self.inputs, self.rows, self.truth)
    }

    fn line(&self) -> String {
        let Self { model, world, inputs, rows, truth, sets, failed, exact_sets, .. } = self;
        let mut line = format!("{model},{world},{inputs},{rows},{truth},{sets},{failed}");
        let mut pair = |measured: Measured, digits: usize| {
            let _ = match measured {
                Some((mean, error)) => write!(line, ",{mean:.digits$},{error:.digits$}"),
                None => write!(line, ",,"),
            };
        };
        self.held.into_iter().flatten().for_each(|measured| pair(measured, 1));
        self.exact.into_iter().chain(self.beside).for_each(|measured| pair(measured, 1));
        pair(self.regret, 4);
        let _ = write!(line, ",{exact_sets}");
        for single in [self.evidence, self.unsaid, self.said] {
            let _ = write!(line, ",{}", single.map_or(String::new(), |value| format!("{value:.2}")));
        }
        line
    }
}

/// All rows as CSV, with a line of names.
pub(super) fn csv(rows: &[Row]) -> String {
    let mut text = String::from("model,world,inputs,rows,truth,data_sets,failed");
    for what in WHAT {
        for level in super::LEVELS {
            let level = 100.0 * level;
            let _ = write!(text, ",{what}_{level},{what}_{level}_se");
        }
    }
    text.push_str(",exact_weights_90,exact_weights_90_se,exact_predictors_90,exact_predictors_90_se");
    text.push_str(
        ",beside_weights_90,beside_weights_90_se,beside_predictors_90,beside_predictors_90_se,regret,regret_se",
    );
    text.push_str(",exact_data_sets,evidence_gap,evidence_gap_unsaid,order_said\n");
    for row in rows {
        text.push_str(&row.line());
        text.push('\n');
    }
    text
}

/// What such a text says of a setting; `None` if it says nothing.
pub(super) fn read(cell: &Cell, text: &str) -> Option<Row> {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next()?;
    let mut row = Row::of(cell, &Tally::default());
    let key = [row.model.clone(), row.world.clone(), row.inputs.to_string(), row.rows.to_string(), row.truth.clone()];
    let fields =
        lines.find(|fields| fields.iter().zip(&key).filter(|(field, key)| *field == key).count() == key.len())?;
    let number = |name: &str| -> Option<f64> { fields.get(names.iter().position(|own| *own == name)?)?.parse().ok() };
    let count = |name: &str| fields.get(names.iter().position(|own| *own == name)?)?.parse().ok();
    let pair = |name: &str| number(name).zip(number(&format!("{name}_se")));
    row.held = WHAT.map(|what| super::LEVELS.map(|level| pair(&format!("{what}_{}", 100.0 * level))));
    (row.sets, row.failed) = (count("data_sets")?, count("failed")?);
    row.exact_sets = count("exact_data_sets").unwrap_or(0);
    row.exact = ["exact_weights_90", "exact_predictors_90"].map(pair);
    row.beside = ["beside_weights_90", "beside_predictors_90"].map(pair);
    row.regret = pair("regret");
    (row.evidence, row.unsaid, row.said) =
        (number("evidence_gap"), number("evidence_gap_unsaid"), number("order_said"));
    Some(row)
}

#[cfg(test)]
pub(super) fn plain(model: &str, weights: f64, predictors: f64) -> Row {
    let held = |mean| [None, Some((mean, 0.5)), None];
    Row {
        model: model.to_owned(),
        world: String::new(),
        inputs: 3,
        rows: 100,
        truth: "drawn".to_owned(),
        sets: 40,
        failed: 0,
        held: [held(weights), held(predictors), held(90.0)],
        exact_sets: 0,
        exact: [None; 2],
        beside: [None; 2],
        regret: None,
        evidence: None,
        unsaid: None,
        said: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_field_for_each_name() {
        let row = Row { regret: Some((0.0123, 0.001)), said: Some(50.0), ..plain("logit", 91.0, 80.0) };
        let text = csv(&[row]);
        let fields: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(fields[0].len(), fields[1].len());
        let of = |name: &str| fields[1][fields[0].iter().position(|field| *field == name).unwrap()];
        assert_eq!((of("weights_90"), of("predictors_90_se"), of("regret")), ("91.0", "0.5", "0.0123"));
        assert_eq!((of("weights_50"), of("evidence_gap"), of("order_said")), ("", "", "50.00"));
    }

    #[test]
    fn what_was_written_is_read() {
        let said = Tally { ordered: vec![true, false], failed: 3, ..Tally::default() };
        let cells = super::super::cells::cells(super::super::Effort::Quick);
        let mut rows: Vec<Row> = cells.iter().map(|cell| Row::of(cell, &said)).collect();
        rows[1].held = plain("", 88.5, 87.0).held;
        (rows[1].regret, rows[1].beside[1]) = (Some((0.0123, 0.001)), Some((62.0, 2.5)));
        let text = csv(&rows);
        let read: Vec<Row> = cells.iter().filter_map(|cell| read(cell, &text)).collect();
        assert_eq!(read, rows);
        assert_eq!(super::read(&cells[1], "model\nlogit"), None);
    }

    #[test]
    fn a_promise_is_missed_beyond_three_points_and_three_errors() {
        assert_eq!(plain("logit", 88.0, 87.5).short(), 0.0);
        assert!((plain("logit", 88.0, 80.0).short() - 7.0).abs() < 1e-12);
        assert!(plain("vb logit", 80.0, 80.0).short() > 0.0 && !plain("vb logit", 80.0, 80.0).is_front_door());
    }
}
