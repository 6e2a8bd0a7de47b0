//! Verdicts, computed from numbers.

use serde::{Deserialize, Serialize};

use crate::plot::superscript;

/// What the numbers say about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The numbers agree with the claim.
    Holds,
    /// They agree in part: on some data sets, or with some of the claims.
    Partly,
    /// They contradict it.
    DoesNotHold,
}

impl Verdict {
    /// The words shown to people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Holds => "Holds",
            Self::Partly => "Partly",
            Self::DoesNotHold => "Does not hold",
        }
    }

    /// The verdict of several checks together: the common one, or [`Verdict::Partly`] when they differ.
    ///
    /// No checks at all show nothing, so they cannot hold.
    #[must_use]
    pub fn of(checks: &[Check]) -> Self {
        let Some(first) = checks.first() else {
            return Self::DoesNotHold;
        };
        if checks.iter().all(|c| c.verdict == first.verdict) { first.verdict } else { Self::Partly }
    }
}

/// One claim, the numbers it was held against, and what they say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The claim, in a sentence.
    pub claim: String,
    /// The numbers, in a sentence.
    pub numbers: String,
    /// What the numbers say.
    pub verdict: Verdict,
}

/// Share of data sets from which a claim about "generally" or "most of the time" holds.
pub const MOST: f64 = 0.8;

impl Check {
    /// A claim that is either true or not.
    pub fn fact(claim: impl Into<String>, holds: bool, numbers: impl Into<String>) -> Self {
        Self {
            claim: claim.into(),
            numbers: numbers.into(),
            verdict: if holds { Verdict::Holds } else { Verdict::DoesNotHold },
        }
    }

    /// A claim that `value` is below `bound`; false when either is NaN.
    pub fn below(claim: impl Into<String>, what: &str, value: f64, bound: f64) -> Self {
        let numbers = format!("{what}: {}, bound {}", number(value), number(bound));
        Self::fact(claim, value < bound, numbers)
    }

    /// A claim counted over data sets: it holds from a share of [`MOST`], and does not at or below
    /// `1 − MOST`.
    pub fn counted(claim: impl Into<String>, count: (usize, usize), numbers: impl Into<String>) -> Self {
        Self::counted_over(claim, count, numbers, "data sets")
    }

    /// The same counted over something else, named in the plural.
    pub fn counted_over(
        claim: impl Into<String>,
        (hits, total): (usize, usize),
        numbers: impl Into<String>,
        over: &str,
    ) -> Self {
        let share = if total == 0 { 0.0 } else { hits as f64 / total as f64 };
        let verdict = if share >= MOST {
            Verdict::Holds
        } else if 1.0 - share >= MOST {
            Verdict::DoesNotHold
        } else {
            Verdict::Partly
        };
        let numbers: String = numbers.into();
        let gap = if numbers.is_empty() { "" } else { "; " };
        Self { claim: claim.into(), numbers: format!("{numbers}{gap}true on {hits} of {total} {over}"), verdict }
    }
}

/// A number for people: four significant digits, powers of ten where they read better.
#[must_use]
pub fn number(v: f64) -> String {
    if v == 0.0 {
        return "0".to_owned();
    }
    if v.is_nan() {
        return "not a number".to_owned();
    }
    let sign = if v < 0.0 { "−" } else { "" };
    let size = v.abs();
    if size.is_infinite() {
        return format!("{sign}∞");
    }
    if (1e-3..1e5).contains(&size) {
        let decimals = match size {
            s if s >= 1e3 => 0,
            s if s >= 1e2 => 1,
            s if s >= 1e1 => 2,
            s if s >= 1.0 => 3,
            s if s >= 0.1 => 4,
            _ => 5,
        };
        return format!("{sign}{size:.decimals$}");
    }
    let text = format!("{size:.2e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{sign}{mantissa}·10{}", superscript(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_holds_fails_or_is_mixed() {
        let v = |hits| Check::counted("c", (hits, 20), "").verdict;
        assert_eq!(v(20), Verdict::Holds);
        assert_eq!(v(16), Verdict::Holds);
        assert_eq!(v(15), Verdict::Partly);
        assert_eq!(v(5), Verdict::Partly);
        assert_eq!(v(4), Verdict::DoesNotHold);
        assert_eq!(Check::counted("c", (0, 0), "").verdict, Verdict::DoesNotHold);
    }

    #[test]
    fn verdicts_combine() {
        let yes = Check::fact("a", true, "");
        let no = Check::fact("b", false, "");
        assert_eq!(Verdict::of(&[yes.clone(), yes.clone()]), Verdict::Holds);
        assert_eq!(Verdict::of(&[yes.clone(), no.clone()]), Verdict::Partly);
        assert_eq!(Verdict::of(&[no.clone(), no]), Verdict::DoesNotHold);
        assert_eq!(Verdict::of(&[]), Verdict::DoesNotHold);
    }

    #[test]
    fn nan_is_below_nothing() {
        assert_eq!(Check::below("c", "v", f64::NAN, 1.0).verdict, Verdict::DoesNotHold);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(number(0.10643835), "0.1064");
        assert_eq!(number(62_223.485), "62223");
        assert_eq!(number(-31.79), "−31.79");
        assert_eq!(number(1.2e-9), "1.20·10⁻⁹");
        assert_eq!(number(f64::INFINITY), "∞");
    }
}
