//! Sentences held against numbers.

use serde::{Deserialize, Serialize};

use super::number;
use super::verdict::Verdict;

/// A sentence of a paper that numbers can confirm or contradict.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// The sentence.
    pub says: &'static str,
    /// Where in the paper it stands.
    pub place: &'static str,
    /// Why it fails where it does.
    pub otherwise: Otherwise,
}

/// What a failure of a claim is put down to, as far as it has been traced.
#[derive(Clone, Copy, Debug)]
pub enum Otherwise {
    /// The sentence or the equation behind it is wrong; the correction says what is right.
    Paper(&'static Correction),
    /// The paper does not say with what setting it was found; this is missing.
    Setting(&'static str),
    /// This implementation falls short, in this.
    Ours(&'static str),
    /// Nobody has looked into it.
    Untraced,
}

/// What a paper prints, and what is right.
#[derive(Clone, Copy, Debug)]
pub struct Correction {
    /// Name of the anchor on the page.
    pub id: &'static str,
    /// What is printed, and where.
    pub printed: &'static str,
    /// What is right.
    pub right: &'static str,
}

/// What a failure is put down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The paper is wrong.
    Paper,
    /// A setting is unknown.
    Setting,
    /// This implementation falls short.
    Ours,
    /// Not traced.
    Untraced,
}

/// Why a claim does not hold as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// What it is put down to.
    pub fault: Fault,
    /// In a sentence.
    pub why: String,
    /// Anchor of the correction, where there is one.
    pub correction: Option<String>,
}

impl Otherwise {
    fn cause(self) -> Cause {
        match self {
            Self::Paper(c) => Cause { fault: Fault::Paper, why: c.right.to_owned(), correction: Some(c.id.to_owned()) },
            Self::Setting(why) => Cause { fault: Fault::Setting, why: why.to_owned(), correction: None },
            Self::Ours(why) => Cause { fault: Fault::Ours, why: why.to_owned(), correction: None },
            Self::Untraced => {
                Cause { fault: Fault::Untraced, why: "Not yet traced to a cause.".to_owned(), correction: None }
            }
        }
    }
}

/// One sentence, the numbers it was held against, and what they say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The sentence.
    pub claim: String,
    /// Where in the paper it stands; empty for what this library says of itself.
    pub place: String,
    /// The numbers, in a sentence.
    pub numbers: String,
    /// What the numbers say.
    pub verdict: Verdict,
    /// Why a claim of a paper does not hold, or holds only in part.
    pub cause: Option<Cause>,
}

/// Share of data sets from which a claim about "generally" or "most of the time" holds.
pub const MOST: f64 = 0.8;

impl Claim {
    /// A claim that is either true or not.
    pub fn fact(&self, holds: bool, numbers: impl Into<String>) -> Check {
        self.judged(Check::fact(self.says, holds, numbers))
    }

    /// A claim that `value` is below `bound`; false when either is NaN.
    #[must_use]
    pub fn below(&self, what: &str, value: f64, bound: f64) -> Check {
        self.judged(Check::below(self.says, what, value, bound))
    }

    /// A claim counted over data sets: it holds from a share of [`MOST`], and does not at or below `1 − MOST`.
    pub fn counted(&self, count: (usize, usize), numbers: impl Into<String>) -> Check {
        self.counted_over(count, numbers, "data sets")
    }

    /// The same counted over something else, named in the plural.
    pub fn counted_over(&self, count: (usize, usize), numbers: impl Into<String>, over: &str) -> Check {
        self.judged(Check::counted_over(self.says, count, numbers, over))
    }

    /// The verdict and the numbers of `check` for this claim.
    #[must_use]
    pub fn judged(&self, check: Check) -> Check {
        let cause = (check.verdict != Verdict::Holds).then(|| self.otherwise.cause());
        Check { claim: self.says.to_owned(), place: self.place.to_owned(), cause, ..check }
    }
}

impl Check {
    /// A sentence that is either true or not.
    pub fn fact(claim: impl Into<String>, holds: bool, numbers: impl Into<String>) -> Self {
        let verdict = if holds { Verdict::Holds } else { Verdict::DoesNotHold };
        Self { claim: claim.into(), place: String::new(), numbers: numbers.into(), verdict, cause: None }
    }

    /// A sentence that `value` is below `bound`; false when either is NaN.
    pub fn below(claim: impl Into<String>, what: &str, value: f64, bound: f64) -> Self {
        let numbers = format!("{what}: {}, bound {}", number(value), number(bound));
        Self::fact(claim, value < bound, numbers)
    }

    /// A sentence counted over data sets, as [`Claim::counted`].
    pub fn counted(claim: impl Into<String>, count: (usize, usize), numbers: impl Into<String>) -> Self {
        Self::counted_over(claim, count, numbers, "data sets")
    }

    /// The same counted over something else, named in the plural. The numbers end with the count and the share's 95 %
    /// interval (Wilson).
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
        let numbers = format!("{numbers}{gap}true on {}", share_text(hits, total, over));
        Self { claim: claim.into(), place: String::new(), numbers, verdict, cause: None }
    }

    /// The same sentence of one case among several.
    #[must_use]
    pub fn of(mut self, case: &str) -> Self {
        self.claim = format!("{case}: {}", self.claim);
        self
    }
}

/// `16 of 20 data sets (0.58 to 0.92)`: a count with the 95 % interval of its share.
fn share_text(hits: usize, total: usize, over: &str) -> String {
    if total == 0 {
        return format!("{hits} of {total} {over}");
    }
    // Wilson's interval.
    let (n, p, z) = (total as f64, hits as f64 / total as f64, 1.96_f64);
    let centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt() / (1.0 + z * z / n);
    format!("{hits} of {total} {over} ({:.2} to {:.2})", (centre - half).max(0.0), (centre + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORRECTION: Correction = Correction { id: "there", printed: "no", right: "Yes." };
    const CLAIM: Claim = Claim { says: "It is.", place: "§1", otherwise: Otherwise::Paper(&CORRECTION) };

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
    fn a_count_comes_with_its_interval() {
        // Wilson's interval of 16 in 20.
        assert_eq!(Check::counted("c", (16, 20), "").numbers, "true on 16 of 20 data sets (0.58 to 0.92)");
        assert_eq!(Check::counted("c", (3, 3), "n").numbers, "n; true on 3 of 3 data sets (0.44 to 1.00)");
    }

    #[test]
    fn a_claim_that_fails_says_why_and_one_that_holds_does_not() {
        assert_eq!(CLAIM.fact(true, "").cause, None);
        let cause = CLAIM.fact(false, "").cause.unwrap();
        assert_eq!(
            (cause.fault, cause.why.as_str(), cause.correction.as_deref()),
            (Fault::Paper, "Yes.", Some("there"))
        );
        assert_eq!(CLAIM.counted((10, 20), "").cause.unwrap().fault, Fault::Paper);
        assert_eq!(CLAIM.fact(false, "").place, "§1");
    }

    #[test]
    fn nan_is_below_nothing() {
        assert_eq!(Check::below("c", "v", f64::NAN, 1.0).verdict, Verdict::DoesNotHold);
    }
}
