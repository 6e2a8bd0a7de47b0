//! Sentences held against numbers.

use serde::{Deserialize, Serialize};

use super::Said;
use super::verdict::Verdict;

/// Whose sentence it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A paper's.
    Claim,
    /// What this library promises of itself; one that does not hold fails the run.
    Promise,
    /// What else the numbers say of the methods, promised by nobody.
    Finding,
}

/// What a failure of a claim is put down to, as far as it has been traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The sentence or the equation behind it is wrong; a correction says what is right.
    Paper,
    /// The paper does not say with what setting it was found.
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

/// One sentence, the numbers it was held against, and what they say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Whose it is.
    pub kind: Kind,
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

impl Check {
    pub(super) fn new(kind: Kind, claim: String, verdict: Verdict, numbers: String) -> Self {
        Self { kind, claim, place: String::new(), numbers, verdict, cause: None }
    }

    /// The sentence with its next `{}` filled.
    #[must_use]
    pub fn filled(mut self, value: &dyn Said) -> Self {
        self.claim = self.claim.replacen("{}", &value.said(), 1);
        self
    }

    /// The same sentence of one case among several.
    #[must_use]
    pub fn of(mut self, case: &str) -> Self {
        self.claim = format!("{case}: {}", self.claim);
        self
    }
}

impl Verdict {
    /// The verdict on a sentence that is true of `hits` cases.
    pub(super) fn of_count(hits: usize, total: usize) -> Self {
        let share = if total == 0 { 0.0 } else { hits as f64 / total as f64 };
        if share >= MOST {
            Self::Holds
        } else if 1.0 - share >= MOST {
            Self::DoesNotHold
        } else {
            Self::Partly
        }
    }
}

/// `16 of 20 data sets (0.58 to 0.92)`: a count with the 95 % interval of its share.
pub(super) fn share_text(hits: usize, total: usize, over: &str) -> String {
    if total == 0 {
        return format!("{hits} of {total} {over}");
    }
    // Wilson's interval.
    let (n, p, z) = (total as f64, hits as f64 / total as f64, 1.96_f64);
    let centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt() / (1.0 + z * z / n);
    format!("{hits} of {total} {over} ({:.2} to {:.2})", (centre - half).max(0.0), (centre + half).min(1.0))
}
