//! The weights `α_t`, `β_t` of the recursion.

use serde::{Deserialize, Serialize};

use crate::Error;

/// How the current matrix and new outer products are weighted: `S_t = α_t·S_{t−1} + β_t·x_t x_tᵀ`, `t = 1, 2, …` (28).
///
/// With several columns at once, `XXᵀ` replaces `x_tx_tᵀ`. The means count columns, so that a block weighs as much as its columns
/// one by one: `α = (t+1)/(t+1+K)`, `β = 1/(t+1+K)` for [`Mean`](Self::Mean) and `K` columns after `t`. [`Fading`](Self::Fading)
/// counts the block as one observation.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Weights {
    /// `α_t = t/(t+1)`, `β_t = 1/(t+1)`: the mean of the outer products and of `S₀`, which counts as one of them.
    #[default]
    Mean,
    /// `α_t = (t−1)/t`, `β_t = 1/t`, as printed under (101): the mean of the outer products alone.
    ///
    /// As `α₁ = 0`, the first step forgets `S₀` and leaves every column of `W` a multiple of `x₁`; the recursion cannot
    /// raise that rank again, so further directions grow out of rounding. Kept to reproduce the paper.
    MeanAsPrinted,
    /// `α_t = β_t = 1`, for a precision that accumulates information (26).
    Sum,
    /// `α_t = λ`, `β_t = 1 − λ`: an exponentially fading mean.
    Fading {
        /// `λ`, above 0 and below 1.
        memory: f64,
    },
}

impl Weights {
    /// The weights `(α, β)` of `columns` new columns at once after `seen`: one column after `t − 1` gives `(α_t, β_t)`.
    ///
    /// There is at least one column: [`MeanAsPrinted`](Self::MeanAsPrinted) has no weights for no columns after none.
    pub(super) fn at(self, seen: usize, columns: usize) -> (f64, f64) {
        let (seen, columns) = (seen as f64, columns as f64);
        match self {
            Self::Mean => ((seen + 1.0) / (seen + 1.0 + columns), (seen + 1.0 + columns).recip()),
            Self::MeanAsPrinted => (seen / (seen + columns), (seen + columns).recip()),
            Self::Sum => (1.0, 1.0),
            Self::Fading { memory } => (memory, 1.0 - memory),
        }
    }

    /// # Errors
    /// [`Error::Setting`] for a memory outside of (0, 1).
    pub(super) fn check(self) -> Result<(), Error> {
        match self {
            Self::Fading { memory } if !(memory > 0.0 && memory < 1.0) => {
                Err(Error::Setting { name: "memory", value: memory, requirement: "above 0 and below 1" })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Weights;

    #[test]
    fn means_count_columns() {
        assert_eq!(Weights::Mean.at(0, 1), (0.5, 0.5));
        assert_eq!(Weights::Mean.at(1, 2), (0.5, 0.25));
        assert_eq!(Weights::MeanAsPrinted.at(0, 1), (0.0, 1.0));
        assert_eq!(Weights::MeanAsPrinted.at(2, 2), (0.5, 0.25));
        assert_eq!(Weights::Sum.at(7, 2), (1.0, 1.0));
        assert_eq!(Weights::Fading { memory: 0.75 }.at(7, 2), (0.75, 0.25));
    }
}
