//! Columns that name groups: texts of many levels, and whole numbers whose values tell more by which they are than by where they lie.

use std::collections::{BTreeMap, HashSet};

use vi_models::ModelError;
use vi_models::online::{OnlineLinear, OnlineSettings, Start};

use super::infer::{Told, kind_of};
use super::{Column, Kind, Schema, numeral};
use crate::formula::Function;
use crate::table::source::{Columns, NOWHERE, Record};
use crate::table::target::{Target, TargetKind};

/// Inputs up to which further levels get one: what a row may cost.
const MOST_INPUTS: usize = 250;
/// Rows from which on a further level gets an input.
const ROWS: usize = 2;
/// Values from which on a curve does not take all of them.
const VALUES: usize = 12;
/// Rows for each value of a number that names groups, on average.
const ROWS_OF_NUMBER: f64 = 2.5;
/// Standard errors by which neighbouring values differ more than by chance, and the least ratio of the two.
const ERRORS: f64 = 4.0;
const RATIO: f64 = 1.5;

impl Schema {
    /// Gives levels that come at least twice an input of their own beyond `levels`, the limit so far, and columns of whole numbers that
    /// name groups, but for those at the places `alone`, an input for each of their values beside the number.
    pub(crate) fn group(
        &mut self,
        target: &Target,
        (levels, alone): (usize, &HashSet<usize>),
        records: &[Record],
        columns: &Columns,
    ) {
        let fields = |place: usize| records.iter().map(|record| record.field(place)).collect::<Vec<&str>>();
        let places = columns.positions(self.columns.iter().map(|column| &column.name));
        let mut room = (MOST_INPUTS / target.kind.predictors().isqrt()).saturating_sub(self.width());
        for (column, place) in self.columns.iter_mut().zip(&places) {
            let rare = matches!(&column.kind, Kind::Levels { rare, .. } if *rare > 0);
            let Some(texts) = place.filter(|_| rare).map(fields) else { continue };
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for text in &texts {
                *counts.entry(text).or_default() += 1;
            }
            let most = counts.values().filter(|count| **count >= ROWS).count().min(levels + room);
            if let (true, Ok(kind)) = (most > levels, kind_of(&column.name, &texts, Some(Told::Text), most)) {
                room -= most - levels;
                column.kind = kind;
            }
        }
        // Learning reports the error of what cannot be read or learned here.
        if matches!(target.kind, TargetKind::Survival(_)) {
            return;
        }
        let label = columns.position(&target.column);
        let (Ok(labels), Ok(rows)) = (label.map(fields), self.rows_of(records, columns)) else { return };
        let mut labels = Labels::new(target, &labels, &rows);
        let whole = |(column, place): (&Column, &Option<usize>)| {
            let place = place.filter(|place| !alone.contains(place))?;
            let is_number = matches!(column.kind, Kind::Number { .. }) && column.function.is_none();
            let texts = is_number.then(|| fields(place)).filter(|texts| labels.by_value(texts).is_some())?;
            Some((column.name.clone(), texts))
        };
        let whole: Vec<_> = self.columns.iter().zip(&places).filter_map(whole).collect();
        if whole.is_empty() || labels.less_lines(&rows).is_err() {
            return;
        }
        for (name, texts) in whole {
            let Some(values) = labels.names_groups(&texts).filter(|values| values + 1 < room) else { continue };
            if let Ok(kind) = kind_of(&name, &texts, Some(Told::Text), values) {
                room -= kind.width() + 1;
                self.columns.push(Column { name, function: Some(Function::Text), kind });
            }
        }
    }
}

/// The labels of the first rows as vectors, `None` where one is missing or its row cannot be read: numbers by their rank between 0 and 1, so that outliers tell no more than
/// others, and so classes in order; other classes by their indicators, the first left out.
struct Labels {
    each: Vec<Option<Vec<f64>>>,
    width: usize,
}

impl Labels {
    fn new(target: &Target, texts: &[&str], rows: &[Option<Vec<f64>>]) -> Self {
        let readable = |(y, row): (Option<Vec<f64>>, &Option<Vec<f64>>)| y.filter(|_| row.is_some());
        let label = |text: &&str| target.read(text, NOWHERE).ok().flatten().map(|own| own.label());
        let read: Vec<Option<f64>> = texts.iter().map(label).collect();
        if let TargetKind::Classes(classes) = &target.kind {
            let indicators = |y: f64| (1..classes.len()).map(|class| f64::from(y == class as f64)).collect();
            let each = read.into_iter().map(|y| y.map(indicators)).zip(rows).map(readable).collect();
            return Self { each, width: classes.len().saturating_sub(1) };
        }
        let mut sorted: Vec<f64> = read.iter().flatten().copied().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let rank = |y: f64| {
            let (below, not_above) =
                (sorted.partition_point(|other| *other < y), sorted.partition_point(|other| *other <= y));
            vec![0.5 * (below + not_above) as f64 / sorted.len() as f64]
        };
        Self { each: read.into_iter().map(|y| y.map(rank)).zip(rows).map(readable).collect(), width: 1 }
    }

    /// Takes away the predictions of a line in all inputs of the `rows`.
    ///
    /// # Errors
    /// Rows that a linear model cannot learn.
    fn less_lines(&mut self, rows: &[Option<Vec<f64>>]) -> Result<(), ModelError> {
        let settings = || OnlineSettings { start: Start::OnePass, ..OnlineLinear::default_settings() };
        let (shape, rate) = OnlineLinear::DEFAULT_NOISE;
        let inputs = rows.iter().flatten().next().map_or(0, Vec::len);
        let new = |_| OnlineLinear::with_settings(inputs, settings(), shape, rate);
        let mut lines = (0..self.width).map(new).collect::<Result<Vec<_>, _>>()?;
        for (row, label) in rows.iter().zip(&self.each) {
            let (Some(row), Some(label)) = (row, label) else { continue };
            for (line, y) in lines.iter_mut().zip(label) {
                line.update(row, *y)?;
            }
        }
        for (row, label) in rows.iter().zip(&mut self.each) {
            let (Some(row), Some(label)) = (row, label) else { continue };
            for (line, y) in lines.iter().zip(label) {
                *y -= line.predict(row)?.mean();
            }
        }
        Ok(())
    }

    /// The rows with labels of each value of a column of whole numbers, if it has values and rows enough.
    fn by_value(&self, texts: &[&str]) -> Option<Vec<Vec<&[f64]>>> {
        let mut of_value: BTreeMap<i64, Vec<&[f64]>> = BTreeMap::new();
        let mut rows = 0.0;
        for (text, y) in texts.iter().zip(&self.each) {
            let (Some(value), Some(y)) = (numeral(text.trim()), y) else { continue };
            if value.fract() != 0.0 || value.abs() > 1e15 {
                return None;
            }
            #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 15 digits")]
            of_value.entry(value as i64).or_default().push(y);
            rows += 1.0;
        }
        let enough = of_value.len() >= VALUES && rows >= ROWS_OF_NUMBER * of_value.len() as f64;
        enough.then(|| of_value.into_values().collect())
    }

    /// How many values a column of whole numbers has that names groups: where the mean labels of neighbouring values differ by more than the labels
    /// of one value would have it,
    ///
    /// ```text
    /// Σ |ȳ_{g+1} − ȳ_g|² > (1 + 4·√(3/(G−1)))·Σ s²·(1/n_g + 1/n_{g+1})
    /// ```
    ///
    /// with the variance `s²` within the `G` values (von Neumann 1941). Means on a curve differ little from value to value.
    fn names_groups(&self, texts: &[&str]) -> Option<usize> {
        let groups = self.by_value(texts)?;
        let (mut means, mut squares, mut rows) = (Vec::with_capacity(groups.len()), 0.0, 0.0);
        for labels in &groups {
            let (mut count, mut mean) = (0.0, vec![0.0; self.width]);
            for label in labels {
                count += 1.0;
                for (mean, y) in mean.iter_mut().zip(*label) {
                    let away = y - *mean;
                    *mean += away / count;
                    squares += away * (y - *mean);
                }
            }
            rows += count;
            means.push((count, mean));
        }
        let values = groups.len() as f64;
        let variance = squares / (rows - values);
        let (mut found, mut by_chance) = (0.0, 0.0);
        for pair in means.windows(2) {
            found += pair[0].1.iter().zip(&pair[1].1).map(|(a, b)| (b - a).powi(2)).sum::<f64>();
            by_chance += variance * (pair[0].0.recip() + pair[1].0.recip());
        }
        let least = (1.0 + ERRORS * (3.0 / (values - 1.0)).sqrt()).max(RATIO);
        (found > least * by_chance).then_some(groups.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Family;

    /// The values found to name groups in 400 rows of 40 values each ten times, by labels of a value and a row.
    fn found(label: impl Fn(usize, usize) -> f64) -> Option<usize> {
        let rows: Vec<(String, String)> =
            (0..400).map(|k| ((k % 40).to_string(), label(k % 40, k).to_string())).collect();
        let texts: Vec<&str> = rows.iter().map(|(_, y)| y.as_str()).collect();
        let target = Target::infer("y", &texts, Family::Auto, &[]).unwrap();
        let values: Vec<&str> = rows.iter().map(|(x, _)| x.as_str()).collect();
        Labels::new(&target, &texts, &vec![Some(Vec::new()); texts.len()]).names_groups(&values)
    }

    fn hash(k: usize) -> f64 {
        let s = (12.9898 * (k + 1) as f64).sin() * 43758.5453;
        s - s.floor()
    }

    #[test]
    fn whole_numbers_name_groups_where_neighbours_differ() {
        assert_eq!(found(|g, k| hash(g) + hash(1000 + k)), Some(40));
        assert_eq!(found(|g, k| f64::from(hash(g) > hash(1000 + k))), Some(40));
        // Numbers of which the label is a curve, or nothing.
        assert_eq!(found(|g, k| (g as f64 / 12.0).sin() + hash(1000 + k)), None);
        assert_eq!(found(|_, k| hash(1000 + k)), None);
        assert_eq!(found(|_, k| f64::from(hash(1000 + k) > 0.6)), None);
        // The same within a value and different between them.
        assert_eq!(found(|g, _| hash(g)), Some(40));
    }
}
