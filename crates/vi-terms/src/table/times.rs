//! Targets that are times of an event, with a column that says whether it came.

use serde::{Deserialize, Serialize};
use vi_models::online::{Cuts, Observation};

use crate::TermsError;
use crate::table::ranges::Ranges;
use crate::table::schema::is_missing;
use crate::table::source::{Columns, NOWHERE, Record};
use crate::table::target::{Target, TargetKind};

/// The column that says whether the event came at the time of a row, and the cuts of its hazard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The name of the column.
    pub column: String,
    /// What it says where the event came: 1, with 0 where the time is censored (`TRUE` and `FALSE` are 1 and 0), or 2 with 1.
    pub came: u8,
    /// The times at which the hazard may change.
    pub cuts: Cuts,
}

/// The places of a target's columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    label: usize,
    /// Of the column that says more of it.
    beside: Option<usize>,
}

const EVENTS: &str = "0 or 1, FALSE or TRUE, or 1 or 2 (the larger where the event came)";

/// The number that a field of events stands for.
fn number(text: &str) -> Option<u8> {
    match text {
        _ if text.eq_ignore_ascii_case("true") => Some(1),
        _ if text.eq_ignore_ascii_case("false") => Some(0),
        _ => [0, 1, 2].into_iter().find(|number| text.parse() == Ok(f64::from(*number))),
    }
}

impl Event {
    /// Whether the event came; `None` where the field is missing.
    fn read(&self, text: &str, row: u64) -> Result<Option<bool>, TermsError> {
        let known = number(text).filter(|own| [self.came, self.came.saturating_sub(1)].contains(own));
        match known {
            Some(own) => Ok(Some(own == self.came)),
            None if is_missing(text) => Ok(None),
            None => Err(TermsError::Field {
                row,
                column: self.column.clone(),
                text: text.to_owned(),
                expected: if self.came == 2 { "1 or 2, as in the first rows" } else { "0 or 1, FALSE or TRUE" },
                hint: "",
            }),
        }
    }

    /// Whether a model file could hold it.
    pub(crate) fn is_sound(&self) -> bool {
        [1, 2].contains(&self.came)
    }
}

impl Target {
    /// The target `Surv(time, event)`, by the first records: which values of `event` it has, and where the hazard may change.
    ///
    /// # Errors
    /// A column that is not there, without values, or of other values than times and events.
    pub(crate) fn of_times(time: &str, event: &str, records: &[Record], columns: &Columns) -> Result<Self, TermsError> {
        let place = columns.position(event)?;
        let texts = || records.iter().map(|record| record.field(place)).filter(|text| !is_missing(text));
        if let Some(text) = texts().find(|text| number(text).is_none()) {
            let what = format!("`{text}` is not {EVENTS}: write 1 for it if it says that the event came, otherwise 0");
            return Err(TermsError::Target { column: event.to_owned(), what });
        }
        let has = |wanted: u8| texts().any(|text| number(text) == Some(wanted));
        if has(0) && has(2) {
            let what = format!("has values 0 and 2; the values must be {EVENTS}");
            return Err(TermsError::Target { column: event.to_owned(), what });
        }
        let came = if has(2) { 2 } else { 1 };
        let own = |cuts| {
            let event = Event { column: event.to_owned(), came, cuts };
            Self::new(time, TargetKind::Survival(event))
        };
        // The cuts are not needed to read the times.
        let target = own(Cuts::new(&[], 1.0)?);
        let places = target.places(columns)?;
        let labels = records.iter().filter_map(|record| target.label(record, places, NOWHERE).ok().flatten());
        let first: Vec<Observation> = labels.collect();
        if first.is_empty() {
            let what =
                "no time with an event or its absence in the first rows, so there is nothing to learn".to_owned();
            return Err(TermsError::Target { column: time.to_owned(), what });
        }
        Ok(own(Cuts::of(&first)?))
    }

    /// The places of its columns.
    ///
    /// # Errors
    /// A column that is not there.
    pub(crate) fn places(&self, columns: &Columns) -> Result<Places, TermsError> {
        let beside = match (&self.kind, &self.ranges) {
            (TargetKind::Survival(Event { column, .. }), _) | (_, Ranges::UpTo(column)) => {
                Some(columns.position(column)?)
            }
            _ => None,
        };
        Ok(Places { label: columns.position(&self.column)?, beside })
    }

    /// The target of a record: a number, its range, or a time; a class by its place in the list; none where it is missing.
    ///
    /// # Errors
    /// A text that is none of this target's.
    pub(crate) fn label(&self, record: &Record, at: Places, row: u64) -> Result<Option<Observation>, TermsError> {
        let field = record.field(at.label);
        match (&self.kind, at.beside) {
            (TargetKind::Survival(event), Some(place)) => {
                let (time, came) = (self.read(field, row)?, event.read(record.field(place), row)?);
                Ok(time.zip(came).map(|(time, came)| if came { time } else { time.censored() }))
            }
            (_, Some(place)) => self.between(field, record.field(place), row),
            (_, None) => self.read(field, row),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Labels = Vec<Result<Option<Observation>, String>>;

    fn target(rows: &[(&str, &str)]) -> Result<(Target, Labels), String> {
        let columns = Columns::new(["t".to_owned(), "d".to_owned()], None);
        let record = |(time, event): &(&str, &str)| [*time, *event].into_iter().collect::<Record>();
        let records: Vec<Record> = rows.iter().map(record).collect();
        let target = Target::of_times("t", "d", &records, &columns).map_err(|error| error.to_string())?;
        let places = target.places(&columns).unwrap();
        let labels = records.iter().map(|own| target.label(own, places, 7).map_err(|error| error.to_string()));
        let labels = labels.collect();
        Ok((target, labels))
    }

    #[test]
    fn events_are_read_as_they_are_written() {
        let [event, none] = [Observation::new(3.5), Observation::new(4.0).censored()];
        let known = vec![Ok(Some(event)), Ok(Some(none)), Ok(None), Ok(None)];
        for [came, not] in [["1", "0"], ["1.0", "0.0"], ["TRUE", "FALSE"], ["true", "false"], ["2", "1"]] {
            let (target, labels) = target(&[("3.5", came), ("4", not), ("", came), ("4", "NA")]).unwrap();
            assert_eq!(labels, known, "{came}");
            assert_eq!(target.describe().contains("`d` is 2"), came == "2");
        }
        // As in R, ones alone are events.
        assert_eq!(target(&[("3", "1")]).unwrap().1, [Ok(Some(3.0.into()))]);
        let (_, labels) = target(&[("3", "1"), ("0", "1"), ("-2", "0"), ("x", "1"), ("inf", "1")]).unwrap();
        let refused = |text: &str| Err(format!("row 7, column `t`: `{text}` is not a positive, finite time"));
        assert_eq!(labels[1..], [refused("0"), refused("-2"), refused("x"), refused("inf")]);
        assert!(target(&[("3", "dead")]).unwrap_err().contains("column `d`: `dead` is not 0 or 1"));
        assert!(
            target(&[("3", "yes"), ("4", "no")]).unwrap_err().contains("write 1 for it if it says that the event came")
        );
        assert!(target(&[("3", "0"), ("3", "2")]).unwrap_err().contains("has values 0 and 2"));
        assert!(target(&[("", "1")]).unwrap_err().contains("nothing to learn"));
    }
}
