//! Verdicts, and how many of each there are.

use serde::{Deserialize, Serialize};

/// What the numbers say about a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The numbers agree with it.
    Holds,
    /// They agree with it in part: on some data sets, and neither on most nor on few.
    Partly,
    /// They contradict it.
    DoesNotHold,
}

impl Verdict {
    /// The words shown to people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Partly => "partly",
            Self::DoesNotHold => "does not hold",
        }
    }
}

/// How many sentences hold, hold partly and do not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Verdicts [`Verdict::Holds`].
    pub holds: usize,
    /// Verdicts [`Verdict::Partly`].
    pub partly: usize,
    /// Verdicts [`Verdict::DoesNotHold`].
    pub fails: usize,
}

impl Tally {
    /// Counts verdicts.
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        let mut tally = Self::default();
        for verdict in verdicts {
            match verdict {
                Verdict::Holds => tally.holds += 1,
                Verdict::Partly => tally.partly += 1,
                Verdict::DoesNotHold => tally.fails += 1,
            }
        }
        tally
    }

    /// All together.
    #[must_use]
    pub const fn total(self) -> usize {
        self.holds + self.partly + self.fails
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_counted() {
        let tally = Tally::of([Verdict::Holds, Verdict::DoesNotHold, Verdict::Holds, Verdict::Partly]);
        assert_eq!(tally, Tally { holds: 2, partly: 1, fails: 1 });
        assert_eq!((tally.total(), Tally::of([]).total()), (4, 0));
    }
}
