//! The target.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use vi_models::Transform;
use vi_models::online::{Observation, Trial};

use crate::TermsError;
use crate::table::options::Family;
use crate::table::ranges::{self, Ranges};
use crate::table::schema::{MANY, Point, distinct, distinct_words, is_missing, nearly_all};
use crate::table::source::{Columns, Record, Source};
use crate::table::times::Event;

/// The column to predict, and what its values are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The name of the column.
    pub column: String,
    /// The type of its values.
    pub kind: TargetKind,
    /// The mark before the fraction of its numbers.
    #[serde(default, skip_serializing_if = "Point::is_dot")]
    pub(crate) point: Point,
    /// How its numbers say that of some only a range is known.
    #[serde(default, skip_serializing_if = "Ranges::is_none")]
    pub(crate) ranges: Ranges,
}

/// The type of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum TargetKind {
    /// Numbers.
    Number,
    /// Counts.
    Count,
    /// Two or more; of two the second is the one whose probability is told.
    Classes(Vec<String>),
    /// Three or more that have an order, the lowest first.
    Ordered(Vec<String>),
    /// Times of an event, some of them censored.
    Survival(Event),
}

impl TargetKind {
    /// The names of the classes; none of numbers.
    #[must_use]
    pub fn classes(&self) -> Option<&[String]> {
        match self {
            Self::Classes(classes) | Self::Ordered(classes) => Some(classes),
            Self::Number | Self::Count | Self::Survival(_) => None,
        }
    }

    /// The number of linear predictors.
    pub(crate) fn predictors(&self) -> usize {
        match self {
            Self::Classes(classes) => classes.len().saturating_sub(1).max(1),
            Self::Ordered(_) | Self::Number | Self::Count | Self::Survival(_) => 1,
        }
    }
}

/// What a text of a target of classes should have been.
pub(crate) const SHOWN_CLASS: &str = "a class that the first rows have shown";

/// What is said of a number with a mark where all others have none.
pub(crate) const RANGES: &str = "; models of `--family robust` take such ranges";

/// What a text of a target of counts should have been.
pub(crate) const COUNT: &str = "a count";

/// Values of a target that are kept to tell what it is.
const MOST_VALUES: usize = 10_000;

/// Values of the column that tell what the whole file holds: each number, and each text that returns (another may be a mistake), up to
/// twice.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn values_of<S: Source>(source: &mut S, column: &str) -> Result<Vec<String>, S::Error> {
    let place = source.columns().position(column).map_err(|error| source.refused(error))?;
    let (mut counts, mut record) = (HashMap::<String, usize>::new(), Record::default());
    while source.next(&mut record)? {
        let text = record.field(place);
        let room = counts.len() < MOST_VALUES;
        match counts.get_mut(text) {
            Some(count) => *count += 1,
            None if room => _ = counts.insert(text.to_owned(), 1),
            None => {}
        }
    }
    let told = counts.into_iter().filter(|(text, count)| {
        *count > 1 || [Point::Dot, Point::Comma].iter().any(|point| point.numeral(text).is_some())
    });
    Ok(told.flat_map(|(text, count)| std::iter::repeat_n(text, count.min(2))).collect())
}

/// Classes beyond which a target of words is taken for a mistake.
const MOST_CLASSES: usize = 200;

/// Rows beside which a word that comes once is no class of its own.
const FEWEST_BESIDE_A_SLIP: usize = 20;

/// Numbers beyond which those that are classes in order are taken for a mistake.
const MOST_ORDERED: usize = 20;

impl Target {
    /// A column of this name whose values are of this type, its numbers as programs write them.
    #[must_use]
    pub fn new(column: &str, kind: TargetKind) -> Self {
        Self { column: column.to_owned(), kind, point: Point::Dot, ranges: Ranges::None }
    }

    /// The target, inferred from values of it, those of the first records.
    ///
    /// # Errors
    /// A column without values, of one class, or not of the family that was asked for.
    pub(crate) fn infer(column: &str, fields: &[&str], family: Family, classes: &[String]) -> Result<Self, TermsError> {
        if classes.is_empty()
            && let Some(own) = Self::of_marks(column, fields, family)?
        {
            return Ok(own);
        }
        let own = Self::of_values(column, fields, family, classes)?;
        Ok(Self { ranges: Ranges::whenever(family), ..own })
    }

    fn of_values(column: &str, fields: &[&str], family: Family, classes: &[String]) -> Result<Self, TermsError> {
        let fail = |what: String| TermsError::Target { column: column.to_owned(), what };
        let point = Point::of(fields.iter().copied().filter(|text| !is_missing(text)));
        let numeral = |text: &str| point.numeral(text);
        let found = match distinct(fields) {
            _ if !classes.is_empty() => classes.to_vec(),
            found if found.iter().all(|text| numeral(text).is_some()) && !found.is_empty() => found,
            found if matches!(family, Family::Auto | Family::Classes) && found.len() < MOST_CLASSES => {
                distinct_words(fields)
            }
            found => found,
        };
        if found.is_empty() {
            return Err(fail("no value in the first rows, so there is nothing to learn".to_owned()));
        }
        let numbers: Vec<f64> = found.iter().filter_map(|text| numeral(text).filter(|x| x.is_finite())).collect();
        // A slip among many numbers, or a word that comes once among numbers that return, is an error of its row, not of the column.
        let returns = |text: &String| fields.iter().filter(|field| *field == text).nth(1).is_some();
        let is_slip = numbers.len() > MANY && nearly_all(numbers.len(), found.len())
            || numbers.len() > 2
                && numbers.len() + 1 == found.len()
                && fields.len() >= FEWEST_BESIDE_A_SLIP
                && found.iter().any(|text| numeral(text).is_none() && !returns(text));
        let are_numbers = numbers.len() == found.len()
            || !matches!(family, Family::Classes | Family::Ordered) && classes.is_empty() && is_slip;
        let numbers = Some(numbers).filter(|_| are_numbers);
        let two = |low: f64| numbers.as_ref().is_some_and(|numbers| numbers.iter().all(|x| *x == low || *x == 1.0));
        let zero_one = two(0.0) || two(-1.0);
        // Two values that return are classes, whichever they are.
        let binary = zero_one || found.len() == 2 && found.iter().all(returns);
        let family = match family {
            Family::Auto if !classes.is_empty() || numbers.is_none() || binary => Family::Classes,
            Family::Auto => Family::Number,
            given => given,
        };
        let kind = match (family, numbers) {
            (Family::Ordered, None) if classes.is_empty() => {
                let word = found.iter().find(|text| numeral(text).is_none()).unwrap_or(&found[0]);
                let what = format!(
                    "`{word}` is not a number, and texts have no order: `--classes low,mid,high` names all classes, the lowest first"
                );
                return Err(fail(what));
            }
            (Family::Classes | Family::Ordered, numbers) => {
                let mut found = found;
                if let (true, Some(numbers)) = (classes.is_empty(), numbers) {
                    let mut pairs: Vec<(f64, String)> = numbers.into_iter().zip(found).collect();
                    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
                    let same = pairs.windows(2).find(|pair| pair[0].0 == pair[1].0);
                    if let (Family::Ordered, Some([one, other])) = (family, same) {
                        return Err(fail(format!("`{}` and `{}` are one number: write it in one way", one.1, other.1)));
                    }
                    found = pairs.into_iter().map(|(_, text)| text).collect();
                    if family == Family::Ordered && found.len() > MOST_ORDERED {
                        let what = "values, more than 20 classes in order: for a number use `--family number`, for more classes name them by `--classes`";
                        return Err(fail(format!("{} {what}", found.len())));
                    }
                }
                if let [class] = found.as_slice() {
                    return Err(TermsError::OneClass { column: column.to_owned(), class: class.clone() });
                }
                if found.len() > MOST_CLASSES {
                    let what = marked(&found).unwrap_or_else(|| "for a number use `--family number`".to_owned());
                    return Err(fail(format!("{} classes; {what}", found.len())));
                }
                // Two classes are one step, whatever their order.
                if family == Family::Ordered && found.len() > 2 {
                    TargetKind::Ordered(found)
                } else {
                    TargetKind::Classes(found)
                }
            }
            (Family::Count | Family::Poisson | Family::NegativeBinomial | Family::ZeroInflated, Some(numbers))
                if numbers.iter().all(|x| *x >= 0.0 && x.fract() == 0.0) =>
            {
                TargetKind::Count
            }
            (Family::Count | Family::Poisson | Family::NegativeBinomial | Family::ZeroInflated, _) => {
                return Err(fail("some values are not counts (0, 1, 2, …)".to_owned()));
            }
            (_, Some(numbers)) => {
                if let Some(other) = numbers.iter().find(|x| !family.transform().supports(**x)) {
                    return Err(fail(match family.transform() {
                        Transform::Logit => {
                            format!(
                                "{other} is not between 0 and 1, so that it has no log odds; `--family number` takes any number"
                            )
                        }
                        _ => "some values are not positive, so that they have no logarithm".to_owned(),
                    }));
                }
                TargetKind::Number
            }
            (_, None) => {
                let is_finite = |text: &String| numeral(text).is_some_and(f64::is_finite);
                let word = found.iter().find(|text| !is_finite(text)).unwrap_or(&found[0]);
                let what = marked(&found).unwrap_or_else(|| "for classes use `--family classes`".to_owned());
                return Err(fail(format!("`{word}` is not a number; {what}")));
            }
        };
        Ok(Self { point, ..Self::new(column, kind) })
    }

    /// The target as a number or its range, a class by its place in the list; none where it is missing.
    ///
    /// # Errors
    /// A text that is none of this target's.
    pub(crate) fn read(&self, text: &str, row: u64) -> Result<Option<Observation>, TermsError> {
        if is_missing(text) && !self.kind.classes().is_some_and(|classes| classes.iter().any(|c| c == text)) {
            return Ok(None);
        }
        let wrong = |expected, hint| TermsError::Field {
            row,
            column: self.column.clone(),
            text: text.to_owned(),
            expected,
            hint,
        };
        match &self.kind {
            TargetKind::Classes(classes) | TargetKind::Ordered(classes) => {
                match classes.iter().position(|class| class == text) {
                    Some(place) => Ok(Some(Observation::new(place as f64))),
                    None => Err(wrong(SHOWN_CLASS, "; a fit with `--classes` names all classes")),
                }
            }
            TargetKind::Number => {
                let value = ranges::marked(text, self.point);
                let hint = if value.is_some() { RANGES } else { "" };
                let taken = value.filter(|own| !own.is_range() || self.ranges == Ranges::Marks);
                taken.map(Some).ok_or_else(|| wrong("a finite number", hint))
            }
            TargetKind::Survival(_) => {
                let value = text.parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0);
                value.map(|time| Some(time.into())).ok_or_else(|| wrong("a positive, finite time", ""))
            }
            TargetKind::Count => {
                let value = self.point.numeral(text).filter(|x| x.is_finite() && *x >= 0.0 && x.fract() == 0.0);
                value.map(|count| Some(count.into())).ok_or_else(|| wrong(COUNT, ""))
            }
        }
    }

    /// Whether numbers [may be counts](Trial::may_be_counts).
    ///
    /// # Errors
    /// A column that is not there.
    pub(crate) fn may_be_counts(&self, records: &[Record], columns: &Columns) -> Result<bool, TermsError> {
        if self.kind != TargetKind::Number {
            return Ok(false);
        }
        let place = columns.position(&self.column)?;
        let labels: Vec<f64> = records.iter().filter_map(|record| self.point.numeral(record.field(place))).collect();
        Ok(Trial::may_be_counts(&labels))
    }

    /// A description for people.
    #[must_use]
    pub fn describe(&self) -> String {
        if let Ranges::UpTo(upper) = &self.ranges {
            return format!("a number between {} and {upper}", self.column);
        }
        match &self.kind {
            TargetKind::Number if self.point == Point::Comma => {
                format!("{}, a number with a decimal comma", self.column)
            }
            TargetKind::Number => format!("{}, a number", self.column),
            TargetKind::Count => format!("{}, a count", self.column),
            TargetKind::Survival(Event { column, came, .. }) => {
                format!("{}, the time of an event where `{column}` is {came}, else censored", self.column)
            }
            TargetKind::Classes(classes) if classes.len() == 2 => {
                format!("{}: the probability of `{}` (else `{}`)", self.column, classes[1], classes[0])
            }
            TargetKind::Classes(classes) => format!("{}, one of {} classes", self.column, classes.len()),
            TargetKind::Ordered(classes) => format!("{}, one of {} classes in order", self.column, classes.len()),
        }
    }
}

/// A hint for texts that would be numbers without marks of money, shares or thousands.
fn marked(found: &[String]) -> Option<String> {
    const MARKS: [char; 7] = ['$', '€', '£', '%', ',', ' ', '\''];
    let plain = |text: &String| text.replace(MARKS, "").parse::<f64>().is_ok();
    let mut marks: Vec<char> = found.iter().flat_map(|text| text.chars()).filter(|c| MARKS.contains(c)).collect();
    marks.sort_unstable();
    marks.dedup();
    (!marks.is_empty() && found.iter().all(plain)).then(|| {
        let marks = marks.iter().map(|mark| format!("`{mark}`")).collect::<Vec<_>>().join(" and ");
        format!("the numbers have {marks} in them: remove these (`1234.5`)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(fields: &[&str], family: Family, classes: &[&str]) -> Result<TargetKind, String> {
        let classes: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
        Target::infer("y", fields, family, &classes).map(|target| target.kind).map_err(|error| error.to_string())
    }

    fn classes(names: &[&str]) -> TargetKind {
        TargetKind::Classes(names.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn values_tell_what_a_target_is() {
        assert_eq!(kind(&["1.5", "2", "NA"], Family::Auto, &[]), Ok(TargetKind::Number));
        assert_eq!(kind(&["1", "0", "0"], Family::Auto, &[]), Ok(classes(&["0", "1"])));
        assert_eq!(kind(&["2", "1", "1", "2", "?"], Family::Auto, &[]), Ok(classes(&["1", "2"])));
        assert_eq!(kind(&["2", "1", "1"], Family::Auto, &[]), Ok(TargetKind::Number));
        let words = ["none", "-", "?", "na", "mild", "", "NA"];
        assert_eq!(kind(&words, Family::Auto, &[]), Ok(classes(&["-", "?", "mild", "na", "none"])));
        assert_eq!(kind(&["1", "-1"], Family::Auto, &[]), Ok(classes(&["-1", "1"])));
        assert_eq!(kind(&["yes", "no"], Family::Auto, &[]), Ok(classes(&["no", "yes"])));
        assert_eq!(kind(&["10", "9", "11"], Family::Classes, &[]), Ok(classes(&["9", "10", "11"])));
        assert_eq!(kind(&["a", "b"], Family::Auto, &["c", "b", "a"]), Ok(classes(&["c", "b", "a"])));
        let ordered = |names: &[&str]| TargetKind::Ordered(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(kind(&["10", "9", "", "11", "9"], Family::Ordered, &[]), Ok(ordered(&["9", "10", "11"])));
        assert_eq!(
            kind(&["low", "high"], Family::Ordered, &["low", "mid", "high"]),
            Ok(ordered(&["low", "mid", "high"]))
        );
        assert_eq!(kind(&["2", "1", "1", "2"], Family::Ordered, &[]), Ok(classes(&["1", "2"])));
        assert!(
            kind(&["low", "2"], Family::Ordered, &[])
                .unwrap_err()
                .contains("`low` is not a number, and texts have no order")
        );
        assert!(kind(&["1", "2", "1.0"], Family::Ordered, &[]).unwrap_err().contains("are one number"));
        let many: Vec<String> = (0..21).map(|k| k.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(kind(&many, Family::Ordered, &[]).unwrap_err().contains("21 values, more than 20"));
        assert!(matches!(kind(&[], Family::Ordered, &many), Ok(TargetKind::Ordered(all)) if all.len() == 21));
        assert_eq!(kind(&["3", "0"], Family::Count, &[]), Ok(TargetKind::Count));
        assert!(kind(&["1.5"], Family::Count, &[]).unwrap_err().contains("counts"));
        assert!(kind(&["late", "4"], Family::Number, &[]).unwrap_err().contains("`late` is not a number"));
        assert!(kind(&["inf", "4"], Family::Number, &[]).unwrap_err().contains("`inf` is not a number"));
        let numbers: Vec<String> = (0..30).map(|k| format!("{k}.5")).collect();
        let slip: Vec<&str> = numbers.iter().map(String::as_str).chain(["hello"]).collect();
        assert_eq!(kind(&slip, Family::Auto, &[]), Ok(TargetKind::Number));
        assert!(matches!(kind(&slip, Family::Classes, &[]), Ok(TargetKind::Classes(all)) if all.len() == 31));
        let few = [["0", "1", "2", "3"]; 6].concat();
        for word in ["oops", "-"] {
            assert_eq!(kind(&[&few[..], &[word]].concat(), Family::Auto, &[]), Ok(TargetKind::Number));
        }
        let twice = [&few[..], &["many", "many"]].concat();
        assert_eq!(kind(&twice, Family::Auto, &[]), Ok(classes(&["0", "1", "2", "3", "many"])));
        assert!(kind(&["late"], Family::Auto, &[]).unwrap_err().contains("`--classes`"));
        assert!(kind(&["", "NA"], Family::Auto, &[]).unwrap_err().contains("no value"));
        assert_eq!(kind(&["$1,200.5", "$3"], Family::Auto, &[]), Ok(TargetKind::Number));
        assert_eq!(kind(&["$1.200,5", "$3"], Family::Auto, &[]), Ok(TargetKind::Number));
        let money = kind(&["$1.200,5", "$3.5"], Family::Number, &[]).unwrap_err();
        assert!(money.contains("numbers have `$` and `,` in them: remove these"), "{money}");
    }
}
