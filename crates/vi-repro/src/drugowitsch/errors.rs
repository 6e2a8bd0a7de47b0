//! Training and test errors of several fits over many data sets.

use super::style::Way;
use super::words;
use crate::panels::dots_upright;
use crate::plot::{Axis, Panel};
use crate::report::{Check, Quantity, Shown, Table, number};

/// The names of the columns of training and of test errors.
pub(super) type Columns = [&'static str; 2];

/// The errors of each data set's fits: a row for each of `ways`.
pub(super) struct Errors<'a> {
    pub(super) table: &'a Table,
    pub(super) ways: &'a [Way],
    pub(super) columns: Columns,
}

impl Errors<'_> {
    fn column(&self, way: Way, test: bool) -> Vec<f64> {
        self.table.of(&[("fit", &way.slug())]).values(self.columns[usize::from(test)])
    }

    pub(super) fn median(&self, way: Way, test: bool) -> f64 {
        self.table.of(&[("fit", &way.slug())]).median(self.columns[usize::from(test)])
    }

    fn counted(&self, name: &str, one: Way, other: Way, test: bool, holds: fn(&f64, &f64) -> bool) -> Check {
        let (a, b) = (self.column(one, test), self.column(other, test));
        let hits = a.iter().zip(&b).filter(|(a, b)| holds(a, b)).count();
        words().counted(name, (hits, a.len()), &[&self.median(one, test), &self.median(other, test)])
    }

    /// Counted over data sets: fit `one` has a smaller test error than `other`.
    pub(super) fn smaller(&self, name: &str, one: Way, other: Way) -> Check {
        self.counted(name, one, other, true, |a, b| a < b)
    }

    /// Counted over data sets: fit `one` has a larger training error than `other`.
    pub(super) fn larger_in_training(&self, name: &str, one: Way, other: Way) -> Check {
        self.counted(name, one, other, false, |a, b| a > b)
    }

    /// The same as [`smaller`](Self::smaller), data sets with equal errors left out; `middle` is what is said of each fit's errors.
    pub(super) fn smaller_without_ties(
        &self,
        name: &str,
        one: Way,
        other: Way,
        middle: fn(&Self, Way) -> f64,
    ) -> Check {
        let (a, b) = (self.column(one, true), self.column(other, true));
        let decided = a.iter().zip(&b).filter(|(a, b)| a != b).count();
        let hits = a.iter().zip(&b).filter(|(a, b)| a < b).count();
        words().counted(name, (hits, decided), &[&middle(self, one), &middle(self, other), &(a.len() - decided)])
    }

    /// Medians, training and test.
    pub(super) fn shown(&self, what: &str) -> Shown {
        let row =
            |way: &Way| vec![way.label().to_owned(), number(self.median(*way, false)), number(self.median(*way, true))];
        Shown::new([what, "training", "test"], self.ways.iter().map(row))
    }

    /// The published errors, training and test, beside ours. `stops` pairs a fit with the one stopped as the authors stop.
    pub(super) fn quantities(
        &self,
        what: [&str; 2],
        published: &[(Way, [&str; 2])],
        stops: &[(Way, Way)],
    ) -> Vec<Quantity> {
        let mut out = Vec::new();
        for (way, printed) in published {
            let early = stops.iter().find(|(late, _)| late == way).map(|(_, early)| *early);
            for (test, (name, printed)) in [false, true].into_iter().zip(what.iter().zip(printed)) {
                let ours = number(self.median(*way, test));
                let quantity = Quantity::new(format!("{name}, {}", way.label())).authors(*printed);
                out.push(match early {
                    Some(early) => quantity.printed(number(self.median(early, test))).works(ours),
                    None if stops.is_empty() => quantity.works(ours),
                    None => quantity.printed(ours),
                });
            }
        }
        out
    }

    /// The test errors, one dot for each data set.
    pub(super) fn panel(&self, title: &str, axis: &str, column: &str, (alpha, size): (f64, f64)) -> Panel {
        let strip = |way: &Way| {
            let values = self.table.of(&[("fit", &way.slug())]).values(column);
            (way.label().to_owned(), way.style().colour, values)
        };
        dots_upright(title, Axis::linear(axis), &self.ways.iter().map(strip).collect::<Vec<_>>(), (0.4, alpha, size))
    }
}
