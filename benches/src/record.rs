//! What is reported: records, their targets, and the table.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::BenchError;
use crate::measure::{Comparison, Spread};

/// Unit of a record's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Seconds, per observation where the name does not say otherwise.
    #[serde(rename = "s")]
    Seconds,
    /// Nanoseconds per call.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes of memory.
    #[serde(rename = "B")]
    Bytes,
    /// Standard deviations of a reference.
    #[serde(rename = "sd")]
    Deviations,
    /// Natural units of information.
    #[serde(rename = "nats")]
    Nats,
    /// A share of a rate that the same run measured.
    #[serde(rename = "fraction")]
    Fraction,
}

/// What a record is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// The value is to be below this.
    Below(f64),
    /// The value would best be below this.
    Aim(f64),
    /// The value is to be within `margin` of `value`.
    Near {
        /// What theory says.
        value: f64,
        /// How far off a measurement may be.
        margin: f64,
    },
    /// The value is to be at least this.
    AtLeast(f64),
    /// The ratio to the baseline is to be at least this.
    RatioAtLeast(f64),
}

impl Target {
    /// Whether `record` meets the target; a missing ratio does not.
    #[must_use]
    pub fn met(self, record: &Record) -> bool {
        match self {
            Self::Below(limit) | Self::Aim(limit) => record.value < limit,
            Self::Near { value, margin } => (record.value - value).abs() <= margin,
            Self::AtLeast(least) => record.value >= least,
            Self::RatioAtLeast(least) => record.ratio.is_some_and(|ratio| ratio >= least),
        }
    }

    fn words(self, unit: Unit) -> String {
        match self {
            Self::Below(limit) => format!("< {}", format_value(limit, unit)),
            Self::Aim(limit) => format!("aim < {}", format_value(limit, unit)),
            Self::Near { value, margin } => format!("{value} ± {margin}"),
            Self::AtLeast(least) => format!("≥ {}", format_value(least, unit)),
            Self::RatioAtLeast(least) => format!("≥ {least} ×"),
        }
    }
}

/// One line of a report. The first five fields are what the JSON holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// `suite/what/form/size`.
    pub name: String,
    /// The median, in `unit`.
    pub value: f64,
    /// Unit of `value`.
    pub unit: Unit,
    /// Name of the program compared with.
    pub baseline: Option<String>,
    /// The baseline's time over ours.
    pub ratio: Option<f64>,
    /// Smallest and largest repetition, in `unit`.
    #[serde(skip)]
    pub range: Option<(f64, f64)>,
    /// What the record is held against.
    #[serde(skip)]
    pub targets: Vec<Target>,
    /// Why something is missing.
    #[serde(skip)]
    pub note: Option<String>,
}

impl Record {
    /// A single number.
    #[must_use]
    pub fn number(name: impl Into<String>, value: f64, unit: Unit) -> Self {
        let name = name.into();
        Self { name, value, unit, baseline: None, ratio: None, range: None, targets: Vec::new(), note: None }
    }

    /// A measurement alone; `spread` is in `unit`.
    #[must_use]
    pub fn alone(name: impl Into<String>, spread: Spread, unit: Unit) -> Self {
        Self { range: Some((spread.min, spread.max)), ..Self::number(name, spread.median, unit) }
    }

    /// A measurement in seconds next to a baseline.
    #[must_use]
    pub fn compared(name: impl Into<String>, comparison: Comparison, baseline: &str) -> Self {
        Self {
            baseline: Some(baseline.to_owned()),
            ratio: Some(comparison.ratio.median),
            ..Self::alone(name, comparison.ours, Unit::Seconds)
        }
    }

    /// The record held against a target.
    #[must_use]
    pub fn target(mut self, target: Target) -> Self {
        self.targets.push(target);
        self
    }

    /// The record with a note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// `target: PASS` or `MISS`, for each target.
    fn verdicts(&self) -> String {
        let verdict = |target: &Target| {
            format!("{}: {}", target.words(self.unit), if target.met(self) { "PASS" } else { "MISS" })
        };
        self.targets.iter().map(verdict).collect::<Vec<_>>().join("; ")
    }
}

/// Everything that a suite measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The records, in the order of the table.
    pub records: Vec<Record>,
}

impl Report {
    /// Adds a record.
    pub fn push(&mut self, record: Record) {
        self.records.push(record);
    }

    /// The records as a JSON list of `{name, value, unit, baseline, ratio}`.
    ///
    /// # Errors
    /// [`BenchError::Json`].
    pub fn json(&self) -> Result<String, BenchError> {
        Ok(serde_json::to_string_pretty(&self.records)? + "\n")
    }

    /// The records as a Markdown table, padded so that it reads well unrendered too.
    #[must_use]
    pub fn table(&self) -> String {
        let mut rows = vec![["name", "median", "min to max", "baseline", "ratio", "target"].map(str::to_owned)];
        for record in &self.records {
            let value = |value| format_value(value, record.unit);
            rows.push([
                record.name.clone(),
                value(record.value),
                record.range.map_or(String::new(), |(min, max)| format!("{} to {}", value(min), value(max))),
                record.baseline.clone().unwrap_or_default(),
                record.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}")),
                [record.verdicts(), record.note.clone().unwrap_or_default()].join(" ").trim().to_owned(),
            ]);
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 6] = std::array::from_fn(width);
        let mut table = String::new();
        for (line, row) in rows.iter().enumerate() {
            for (cell, width) in row.iter().zip(widths) {
                let _ = write!(table, "| {cell:width$} ");
            }
            table.push_str("|\n");
            if line == 0 {
                for width in widths {
                    let _ = write!(table, "|{}", "-".repeat(width + 2));
                }
                table.push_str("|\n");
            }
        }
        table
    }

    /// Writes `NAME.json` and `NAME.md` into `folder`.
    ///
    /// # Errors
    /// [`BenchError::Write`], [`BenchError::Json`].
    pub fn write(&self, folder: &Path, name: &str) -> Result<(), BenchError> {
        let cannot = |path: &Path| {
            let path = path.to_path_buf();
            |source| BenchError::Write { path, source }
        };
        fs::create_dir_all(folder).map_err(cannot(folder))?;
        for (ending, text) in [("json", self.json()?), ("md", format!("# {name}\n\n{}", self.table()))] {
            let path = folder.join(format!("{name}.{ending}"));
            fs::write(&path, text).map_err(cannot(&path))?;
        }
        Ok(())
    }
}

/// A value with its unit, seconds in the prefix that suits them.
fn format_value(value: f64, unit: Unit) -> String {
    let seconds = match unit {
        Unit::Seconds => value,
        Unit::Nanoseconds => value * 1e-9,
        Unit::Fraction | Unit::Deviations => return format!("{value:.3}"),
        Unit::Nats => return format!("{value:.4} nats"),
        Unit::Bytes => return format!("{:.0} MiB", value / f64::from(1 << 20)),
    };
    let prefixes = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let (scale, name) = prefixes.into_iter().find(|(scale, _)| seconds >= *scale).unwrap_or((1e-9, "ns"));
    let scaled = seconds / scale;
    // Three digits.
    let decimals = if scaled >= 99.95 { 0 } else { 1 + usize::from(scaled < 9.995) };
    format!("{scaled:.decimals$} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let ours = Spread { median: 2e-4, min: 1e-4, max: 3e-4 };
        let baseline = ours.scaled(3.0);
        let comparison = Comparison { ours, baseline, ratio: Spread { median: 3.0, min: 2.0, max: 4.0 } };
        let mut report = Report::default();
        report.push(Record::compared("s/rule/sequential/d10", comparison, "plain").target(Target::RatioAtLeast(4.0)));
        let root =
            Record::alone("s/root/probit/all", Spread { median: 150.0, min: 140.0, max: 1234.0 }, Unit::Nanoseconds);
        report.push(root.target(Target::Below(300.0)).target(Target::Aim(100.0)));
        report
            .push(Record::number("s/share/d10", 1.98, Unit::Fraction).target(Target::Near { value: 2.0, margin: 0.1 }));
        report
    }

    #[test]
    fn json_is_a_list_of_the_five_fields() {
        let parsed: serde_json::Value = serde_json::from_str(&report().json().unwrap()).unwrap();
        let expected = serde_json::json!([
            {"name": "s/rule/sequential/d10", "value": 2e-4, "unit": "s", "baseline": "plain", "ratio": 3.0},
            {"name": "s/root/probit/all", "value": 150.0, "unit": "ns", "baseline": null, "ratio": null},
            {"name": "s/share/d10", "value": 1.98, "unit": "fraction", "baseline": null, "ratio": null},
        ]);
        assert_eq!(parsed, expected);
    }

    #[test]
    fn targets_are_judged() {
        let records = report().records;
        assert_eq!(records[0].verdicts(), "≥ 4 ×: MISS");
        assert_eq!(records[1].verdicts(), "< 300 ns: PASS; aim < 100 ns: MISS");
        assert_eq!(records[2].verdicts(), "2 ± 0.1: PASS");
        assert!(Target::RatioAtLeast(3.0).met(&records[0]));
        assert!(!Target::RatioAtLeast(0.0).met(&records[1]));
        assert!(!Target::Near { value: 2.0, margin: 0.01 }.met(&records[2]));
    }

    #[test]
    fn a_value_that_is_not_a_number_meets_nothing() {
        let record = Record::number("s/share/d10", f64::NAN, Unit::Fraction);
        assert!(!Target::Near { value: 2.0, margin: 0.1 }.met(&record));
        assert!(!Target::Below(1.0).met(&record));
    }

    #[test]
    fn the_table_has_a_row_for_each_record_and_lines_up() {
        let table = report().table();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 2 + 3);
        assert!(lines.iter().all(|line| line.chars().count() == lines[0].chars().count()));
        assert!(
            lines[2].contains("| 200 µs") && lines[2].contains("| 100 µs to 300 µs ") && lines[2].contains("| 3.00 ")
        );
        assert!(lines[3].contains("| 140 ns to 1.23 µs |"));
    }

    #[test]
    fn values_have_three_digits_and_a_prefix() {
        let words =
            [(2.5, "2.50 s"), (0.0301, "30.1 ms"), (9.999e-6, "10.0 µs"), (4.25e-7, "425 ns"), (3e-11, "0.03 ns")];
        for (value, text) in words {
            assert_eq!(format_value(value, Unit::Seconds), text);
        }
    }

    #[test]
    fn both_files_are_written() {
        let folder = std::env::temp_dir().join(format!("vi-benches-{}", std::process::id()));
        report().write(&folder, "s").unwrap();
        let json = fs::read_to_string(folder.join("s.json")).unwrap();
        let table = fs::read_to_string(folder.join("s.md")).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(json, report().json().unwrap());
        assert_eq!(table, format!("# s\n\n{}", report().table()));
    }
}
