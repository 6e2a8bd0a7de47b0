//! Kinds of columns, and what their fields become.

use serde::{Deserialize, Serialize};
use vi_data::fnv;

use super::date::{self, Moment, Order};
use super::infer::is_missing;
use super::numeral::Point;
use crate::formula::Function;

/// The type of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum Kind {
    /// Numbers. One that is missing, or is one of the words `gaps`, is taken at the mean, and says so where some were missing from the start.
    Number {
        mean: f64,
        tells_missing: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gaps: Vec<String>,
        #[serde(default, skip_serializing_if = "Point::is_dot")]
        point: Point,
    },
    /// Texts: an input for each level but the most common, which the others are relative to, and one that `rare` levels of the first rows and those that
    /// come later share. The levels are sorted.
    Levels {
        base: String,
        levels: Vec<String>,
        #[serde(default)]
        rare: usize,
    },
    /// Texts of many levels, which share so many inputs: of models that an earlier version has made.
    Hashed { buckets: usize },
    /// All inputs of a sparse file, those from `inputs` on left out, or `named` and hashed into as many.
    Entries { inputs: usize, named: bool },
    /// Dates: days, weekday (relative to Monday) and month (relative to January); with a time of day its place on the clock.
    Date {
        first: i64,
        mean: f64,
        clock: bool,
        #[serde(default)]
        order: Order,
    },
    /// Times of day without a date: the hour and its place on the clock.
    Clock { mean: f64 },
}

/// Offsets of the parts of a date among its inputs.
const WEEKDAY: usize = 1;
const MONTH: usize = WEEKDAY + date::WEEKDAYS.len() - 1;
const CLOCK: usize = MONTH + date::MONTHS.len() - 1;

/// The part of a field that its inputs do not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Untold {
    #[default]
    Nothing,
    /// That its number was missing, and taken at the mean.
    Imputed,
    /// Which text it was: one that no first row had.
    New,
}

/// The expected form of a field, and a hint.
pub(crate) type Wrong = (&'static str, &'static str);

impl Kind {
    /// How many inputs it becomes.
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::Number { tells_missing, .. } => 1 + usize::from(*tells_missing),
            Self::Levels { levels, .. } => levels.len() + 1,
            Self::Hashed { buckets } => *buckets,
            Self::Entries { inputs, .. } => *inputs,
            Self::Date { clock, .. } => CLOCK + 2 * usize::from(*clock),
            Self::Clock { .. } => 3,
        }
    }

    /// Whether its numbers can be worked with.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::Number { mean, .. } | Self::Date { mean, .. } | Self::Clock { mean } => mean.is_finite(),
            Self::Levels { levels, .. } => levels.is_sorted(),
            Self::Hashed { buckets } => *buckets > 0,
            Self::Entries { inputs, .. } => *inputs > 0,
        }
    }

    /// The names of its inputs for a column `name`.
    pub(crate) fn names(&self, name: &str) -> Vec<String> {
        match self {
            Self::Number { tells_missing: false, .. } => vec![name.to_owned()],
            Self::Number { .. } => vec![name.to_owned(), format!("{name} is missing")],
            Self::Levels { levels, .. } => {
                let level = |level: &String| match level.as_str() {
                    "" => format!("{name} is missing"),
                    level => format!("{name}={level}"),
                };
                levels.iter().map(level).chain([format!("{name}=(other)")]).collect()
            }
            Self::Entries { inputs, named } => {
                let mark = if *named { "#" } else { "" };
                (0..*inputs).map(|index| format!("{mark}{index}")).collect()
            }
            Self::Hashed { buckets } => (0..*buckets).map(|bucket| format!("{name}#{bucket}")).collect(),
            Self::Date { clock, .. } => {
                let parts = date::WEEKDAYS[1..].iter().chain(&date::MONTHS[1..]).map(|part| format!("{name}: {part}"));
                let clock = ON_THE_CLOCK.into_iter().take(2 * usize::from(*clock));
                [format!("{name}: days")]
                    .into_iter()
                    .chain(parts)
                    .chain(clock.map(|part| format!("{name}: {part}")))
                    .collect()
            }
            Self::Clock { .. } => ["hour"].iter().chain(&ON_THE_CLOCK).map(|part| format!("{name}: {part}")).collect(),
        }
    }

    /// Its inputs that are not 0, of a number the `function`, by position; what they do not tell.
    ///
    /// # Errors
    /// The expected form of the field.
    pub(crate) fn write(
        &self,
        text: &str,
        function: Option<Function>,
        push: &mut impl FnMut(usize, f64),
    ) -> Result<Untold, Wrong> {
        let missing = is_missing(text);
        match self {
            Self::Number { mean, tells_missing, gaps, point } => {
                let missing = missing || gaps.iter().any(|gap| gap == text);
                let value = if missing { *mean } else { applied(function, number(text, *point)?)? };
                push(0, value);
                if missing && *tells_missing {
                    push(1, 1.0);
                }
                return Ok(if missing { Untold::Imputed } else { Untold::Nothing });
            }
            Self::Levels { base, levels, rare } => {
                let level = if missing { "" } else { text };
                if level == base {
                    return Ok(Untold::Nothing);
                }
                let place = levels.binary_search_by(|known| known.as_str().cmp(level));
                push(place.unwrap_or(levels.len()), 1.0);
                if place.is_err() && *rare == 0 {
                    return Ok(Untold::New);
                }
            }
            Self::Hashed { buckets } => push(bucket(text, *buckets), 1.0),
            Self::Entries { .. } => {}
            Self::Date { mean, .. } | Self::Clock { mean } if missing => {
                push(0, *mean);
                return Ok(Untold::Imputed);
            }
            Self::Clock { .. } => {
                let hour = date::hour_of(text).ok_or(("a time of day (23:59, 23:59:59 or 11:59 PM)", ""))?;
                push(0, hour);
                push_clock(hour, 1, push);
            }
            Self::Date { first, clock, order, .. } => {
                let hint = "; a larger `--sniff` takes it into account";
                let found = Moment::parse(text, *order).ok_or((order.expected(), hint))?;
                push(0, found.days_since(*first));
                for (part, before) in [(found.weekday, WEEKDAY), (found.month, MONTH)] {
                    if let Some(part) = part.checked_sub(1) {
                        push(before + part, 1.0);
                    }
                }
                if *clock {
                    push_clock(found.hour, CLOCK, push);
                }
            }
        }
        Ok(Untold::Nothing)
    }
}

const ON_THE_CLOCK: [&str; 2] = ["sine of the hour", "cosine of the hour"];

/// The place of an hour on the clock, two inputs from `at` on.
fn push_clock(hour: f64, at: usize, push: &mut impl FnMut(usize, f64)) {
    let angle = hour / 24.0 * std::f64::consts::TAU;
    push(at, angle.sin());
    push(at + 1, angle.cos());
}

/// # Errors
/// A number of which the function is none.
pub(super) fn applied(function: Option<Function>, x: f64) -> Result<f64, Wrong> {
    match function {
        None => Ok(x),
        Some(function) => {
            function.of(x).ok_or(("a number with a finite value of the formula's function", "; `log1p` takes 0"))
        }
    }
}

/// # Errors
/// The error for a text that is not a finite number.
pub(crate) fn number(text: &str, point: Point) -> Result<f64, Wrong> {
    match point.numeral(text) {
        Some(value) if value.is_finite() => Ok(value),
        Some(_) => Err(("a finite number", "")),
        None if point == Point::Comma => Err(("a number with a decimal comma, as those of the first rows", "")),
        None => Err(("a number", "; a fit with `--text` takes the column for text")),
    }
}

/// The bucket of a text, the same everywhere.
fn bucket(text: &str, buckets: usize) -> usize {
    usize::try_from(fnv::extended(fnv::START, text.as_bytes()) % buckets.max(1) as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(kind: &Kind, text: &str) -> Vec<f64> {
        let mut row = vec![0.0; kind.width()];
        kind.write(text, None, &mut |at, value| row[at] = value).unwrap();
        assert_eq!(kind.names("c").len(), kind.width());
        row
    }

    #[test]
    fn numbers_are_themselves_and_missing_ones_the_mean() {
        let kind = Kind::Number { mean: 2.5, tells_missing: true, gaps: vec!["unknown".to_owned()], point: Point::Dot };
        assert_eq!(written(&kind, "-1e3"), [-1000.0, 0.0]);
        assert_eq!(written(&kind, "NA"), [2.5, 1.0]);
        assert_eq!(written(&kind, "unknown"), [2.5, 1.0]);
        assert_eq!(kind.write("inf", None, &mut |_, _| {}).unwrap_err().0, "a finite number");
        assert_eq!(kind.write("x", None, &mut |_, _| {}).unwrap_err().0, "a number");
    }

    #[test]
    fn levels_have_an_input_each_but_the_most_common() {
        let kind = Kind::Levels { base: "b".to_owned(), levels: vec![String::new(), "a".to_owned()], rare: 0 };
        assert_eq!(written(&kind, "b"), [0.0, 0.0, 0.0]);
        assert_eq!(written(&kind, "a"), [0.0, 1.0, 0.0]);
        assert_eq!(written(&kind, "null"), [1.0, 0.0, 0.0]);
        assert_eq!(written(&kind, "z"), [0.0, 0.0, 1.0]);
        let told = |text| kind.write(text, None, &mut |_, _| {});
        assert_eq!([told("a"), told("b"), told("z")], [Ok(Untold::Nothing), Ok(Untold::Nothing), Ok(Untold::New)]);
    }

    #[test]
    fn a_text_has_one_bucket_wherever_it_is_hashed() {
        // FNV-1a of "foobar" is 0x85944171f73967e8.
        assert_eq!(bucket("foobar", 1 << 16), 0x67e8);
        assert_eq!(written(&Kind::Hashed { buckets: 7 }, "N123").iter().sum::<f64>(), 1.0);
    }

    #[test]
    fn dates_become_their_parts() {
        let order = Order::Year;
        let kind = Kind::Date { first: Moment::parse("2024-01-01", order).unwrap().day, mean: 3.0, clock: true, order };
        // A Thursday in February, six in the morning.
        let row = written(&kind, "2024-02-01T06:00:00");
        assert_eq!(row[0], 31.25);
        assert_eq!((row[WEEKDAY + 2], row[MONTH]), (1.0, 1.0));
        assert!((row[18] - 1.0).abs() < 1e-15 && row[19].abs() < 1e-15);
        assert_eq!(row.iter().filter(|x| **x != 0.0).count(), 5);
        assert_eq!(written(&kind, "")[0], 3.0);
        assert!(kind.write("yesterday", None, &mut |_, _| {}).is_err());
        let kind = Kind::Clock { mean: 7.5 };
        let row = written(&kind, "06:00");
        assert!(row[0] == 6.0 && (row[1] - 1.0).abs() < 1e-15 && row[2].abs() < 1e-15, "{row:?}");
        assert_eq!(written(&kind, "NA"), [7.5, 0.0, 0.0]);
    }
}
