//! Targets that are numbers of which some are only known to lie in a range.

use serde::{Deserialize, Serialize};
use vi_models::online::Observation;

use crate::TermsError;
use crate::table::options::Family;
use crate::table::schema::{Point, distinct, is_missing};
use crate::table::source::{NOWHERE, Record};
use crate::table::target::{Target, TargetKind};

/// The notation of a column of numbers for values that are only known to lie in a range.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Ranges {
    /// None: all numbers are known.
    #[default]
    None,
    /// By marks: `<0.5`, `≤ 0.5`, `>10`.
    Marks,
    /// By the upper end in the column of this name, which is missing where there is none, as the lower end may be.
    UpTo(String),
}

impl Ranges {
    /// Those of a family whose models take marks whenever they come.
    pub(crate) fn whenever(family: Family) -> Self {
        if takes_ranges(family) && !is_chosen(family) { Self::Marks } else { Self::None }
    }

    /// Whether all numbers are known.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// The range that a number with a mark stands for; the number itself without one.
pub(crate) fn marked(text: &str, point: Point) -> Option<Observation> {
    let number = |text: &str| point.numeral(text.trim()).filter(|x| x.is_finite());
    let after = |marks: [&str; 3]| marks.into_iter().find_map(|mark| text.trim().strip_prefix(mark)).and_then(number);
    if let Some(limit) = after(["<=", "<", "≤"]) {
        return Some(Observation::between(f64::NEG_INFINITY, limit));
    }
    after([">=", ">", "≥"])
        .map(|limit| Observation::between(limit, f64::INFINITY))
        .or_else(|| number(text).map(Observation::new))
}

/// The fewest different numbers without a mark beside which texts with one are no names, as `<18` and `>65` are.
const FEWEST: usize = 3;

/// Whether texts are numbers, of which some have marks and at least `fewest` have none.
fn are_marked(found: &[String], point: Point, fewest: usize) -> bool {
    let read: Vec<Observation> = found.iter().map_while(|text| marked(text, point)).collect();
    let ranges = read.iter().filter(|own| own.is_range()).count();
    read.len() == found.len() && ranges > 0 && read.len() - ranges >= fewest
}

/// Whether the rows choose the family of numbers.
pub(crate) fn is_chosen(family: Family) -> bool {
    matches!(family, Family::Auto | Family::Number)
}

/// Whether models of a family take ranges.
pub(crate) fn takes_ranges(family: Family) -> bool {
    is_chosen(family) || matches!(family, Family::Robust | Family::LogRobust | Family::LogitRobust)
}

/// Whether a range has no end with the transform of a family.
fn lacks_transform(own: &Observation, family: Family) -> bool {
    let supports = |end: f64| end.is_finite() && family.transform().supports(end);
    !supports(own.ends().0) && !supports(own.ends().1)
}

impl Target {
    /// Whether two targets have the same values: those of a column without marks do not depend on whether the family takes marks.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let unmarked = |own: &Self| match own.ranges {
            Ranges::Marks => Self { ranges: Ranges::None, ..own.clone() },
            _ => own.clone(),
        };
        unmarked(self) == unmarked(other)
    }

    /// The target of a column with these texts, if they are numbers of which some have marks, and the family takes them.
    ///
    /// # Errors
    /// A number without the transform of the family.
    pub(crate) fn of_marks(column: &str, fields: &[&str], family: Family) -> Result<Option<Self>, TermsError> {
        fn plain<'a>(text: &&'a str) -> &'a str {
            text.trim_start_matches(['<', '>', '=', '≤', '≥', ' '])
        }
        if !takes_ranges(family) || fields.iter().all(|text| plain(text).len() == text.len()) {
            return Ok(None);
        }
        let (found, texts) = (distinct(fields), fields.iter().map(plain));
        let point = Point::of(texts.filter(|text| !is_missing(text)));
        let fewest = if is_chosen(family) { FEWEST } else { 0 };
        if !are_marked(&found, point, fewest) {
            return Ok(None);
        }
        let lacks = |text: &&String| marked(text, point).is_some_and(|own| lacks_transform(&own, family));
        match found.iter().find(lacks) {
            Some(text) => {
                let what = format!("`{text}` has no logarithm or log odds; `--family robust` takes any number");
                Err(TermsError::Target { column: column.to_owned(), what })
            }
            None => Ok(Some(Self { point, ranges: Ranges::Marks, ..Self::new(column, TargetKind::Number) })),
        }
    }

    /// The target `between(lower, upper)`, two columns with their places, by the first records.
    ///
    /// # Errors
    /// A family that takes no ranges; columns without a finite end in these records.
    pub(crate) fn of_ranges(
        (lower, at): (&str, usize),
        (upper, upper_at): (&str, usize),
        records: &[Record],
        family: Family,
    ) -> Result<Self, TermsError> {
        if !takes_ranges(family) {
            let what = "takes no ranges of numbers; `robust`, `log-robust` and `logit-robust` do".to_owned();
            return Err(TermsError::Option { option: "family", value: family.name().to_owned(), what });
        }
        let texts = || records.iter().flat_map(|record| [record.field(at), record.field(upper_at)]);
        let target = Self {
            point: Point::of(texts().filter(|text| !is_missing(text))),
            ranges: Ranges::UpTo(upper.to_owned()),
            ..Self::new(lower, TargetKind::Number)
        };
        let read = |record: &Record| target.between(record.field(at), record.field(upper_at), NOWHERE);
        let known: Vec<Observation> = records.iter().filter_map(|record| read(record).ok().flatten()).collect();
        let fail = |what: &str| Err(TermsError::Target { column: lower.to_owned(), what: what.to_owned() });
        if known.is_empty() {
            return fail("no number as a lower or upper end in the first rows, so there is nothing to learn");
        }
        if known.iter().any(|own| lacks_transform(own, family)) {
            return fail("some ranges have no positive end, so that they have no logarithm, or none between 0 and 1");
        }
        Ok(target)
    }

    /// The range of two fields; none where both are missing.
    ///
    /// # Errors
    /// A field that is no number, or a lower end above the upper one.
    pub(crate) fn between(&self, lower: &str, upper: &str, row: u64) -> Result<Option<Observation>, TermsError> {
        let wrong = |text: &str, expected| TermsError::Field {
            row,
            column: self.column.clone(),
            text: text.to_owned(),
            expected,
            hint: "",
        };
        let end = |text: &str, missing: f64| {
            if is_missing(text) {
                return Ok(missing);
            }
            let number = self.point.numeral(text).filter(|x| !x.is_nan());
            number.ok_or_else(|| wrong(text, "a number, the end of a range"))
        };
        let (low, high) = (end(lower, f64::NEG_INFINITY)?, end(upper, f64::INFINITY)?);
        if low.is_infinite() && high.is_infinite() && low < high {
            return Ok(None);
        }
        let is_range = low <= high && (low.is_finite() || high.is_finite());
        if is_range {
            Ok(Some(Observation::between(low, high)))
        } else {
            Err(wrong(lower, "the lower end of a range of numbers"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_as_people_write_them() {
        let below = |limit| Some(Observation::between(f64::NEG_INFINITY, limit));
        let above = |limit| Some(Observation::between(limit, f64::INFINITY));
        for (text, range) in [
            ("<0.5", below(0.5)),
            (" < 0.5", below(0.5)),
            ("<=0.5", below(0.5)),
            ("≤ .5", below(0.5)),
            (">10", above(10.0)),
            (">= 1e3", above(1000.0)),
            ("≥-2", above(-2.0)),
            ("3", Some(Observation::new(3.0))),
            ("<", None),
            ("<x", None),
            ("5-10", None),
            ("<inf", None),
        ] {
            assert_eq!(marked(text, Point::Dot), range, "{text}");
        }
        assert_eq!(marked("<0,5", Point::Comma), below(0.5));
        let are = |texts: &[&str], fewest: usize| {
            are_marked(&texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>(), Point::Dot, fewest)
        };
        assert!(are(&["<0.5", "1", "2.5", "3"], FEWEST) && are(&["<1", "<2", ">9", ">8", "1", "2", "3"], FEWEST));
        assert!(!are(&["<18", ">65", "30"], FEWEST) && are(&["<18", ">65"], 0) && !are(&["1", "2", "3"], 0));
        assert!(!are(&["<1", "2", "3", "x", "4"], 0) && !are(&["<18", "18-65", ">65", "1", "2", "3"], 0));
    }

    #[test]
    fn two_columns_are_the_ends_of_a_range() {
        let records: Vec<Record> =
            [["1", "2"], ["", "0.5"], ["3", "NA"], ["2", "2"], ["", ""]].map(|row| row.into_iter().collect()).into();
        let target = Target::of_ranges(("a", 0), ("b", 1), &records, Family::Auto).unwrap();
        let read = |a: &str, b: &str| target.between(a, b, 4).map_err(|error| error.to_string());
        assert_eq!(read("1", "2"), Ok(Some(Observation::between(1.0, 2.0))));
        assert_eq!(read("2", "2"), Ok(Some(Observation::new(2.0))));
        assert_eq!(read("", "0.5"), Ok(Some(Observation::between(f64::NEG_INFINITY, 0.5))));
        assert_eq!(read("3", "inf"), Ok(Some(Observation::between(3.0, f64::INFINITY))));
        assert_eq!((read("", ""), read("-inf", "inf")), (Ok(None), Ok(None)));
        assert!(read("3", "2").unwrap_err().contains("row 4, column `a`: `3` is not the lower end of a range"));
        assert!(read("x", "2").unwrap_err().contains("`x` is not a number"));
        assert!(read("inf", "inf").is_err());
        let refused = |records: &[Record], family| {
            Target::of_ranges(("a", 0), ("b", 1), records, family).unwrap_err().to_string()
        };
        assert!(refused(&records, Family::Gaussian).contains("takes no ranges"));
        assert!(refused(&records[4..], Family::Auto).contains("nothing to learn"));
        let negative = [["-2", "-1"]].map(|row| row.into_iter().collect::<Record>());
        assert!(refused(&negative, Family::LogRobust).contains("no positive end"));
    }
}
