//! Two models of the same rows, compared by what each predicted before it learned.

use serde::Serialize;
use vi_models::linear::Effect;

use crate::TermsError;
use crate::table::certificate::Basis;
use crate::table::document::{Document, Pass};
use crate::table::scores::Scores;
use crate::table::text::rounded;

/// The difference of log scores worth finding, in deviations of that of a row; fixed before the first row.
const SIZE: f64 = 0.05;
/// The level of the intervals.
const LEVEL: f64 = 0.95;
/// First rows that were looked at by default when the form of a model was chosen.
const FIRST: u64 = 2000;
/// Stretches of rows from which on their spread is known well enough.
const FEWEST_BLOCKS: u64 = 20;

/// How much better one model predicted the labels than another, at any look.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Versus {
    /// Rows that count: those after the rows by whose labels family, curves or scales of inputs of either model were chosen, or all where there are no others.
    pub rows: u64,
    /// The log of the ratio of the probabilities that both gave the labels before they learned them, in nats. Its exponential is an e-value against the other model: were
    /// its predictions right, it would ever reach `1/α` with probability `α` at most.
    pub log_e_value: f64,
    /// The grounds of the e-value: exact, or heuristic where such rows count too, or rows were learned again in a random order, with scales of the first pass.
    pub basis: Basis,
    /// The mean difference of the log scores, in nats a row; none without rows that count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// The ends of its interval of 95 % that holds at all looks together (asymptotic); none of few rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

impl Document {
    /// Checks that another model predicts the same target and has learned the same rows.
    ///
    /// # Errors
    /// [`TermsError::Document`] that says what differs.
    pub fn same_rows(&self, other: &Self) -> Result<(), TermsError> {
        let differs = |what: &str| Err(TermsError::Document { what: what.to_owned() });
        let rows = |document: &Self| document.passes.iter().map(|pass: &Pass| pass.fingerprint).collect::<Vec<_>>();
        if !self.target.is_same(&other.target) {
            return differs("another target");
        }
        if rows(self) != rows(other) || self.model.info().observations != other.model.info().observations {
            return differs("it has learned other rows");
        }
        Ok(())
    }

    /// How much better this model predicted its rows than another of the same rows.
    ///
    /// # Errors
    /// As [`same_rows`](Self::same_rows).
    pub fn against(&self, other: &Self) -> Result<Versus, TermsError> {
        self.same_rows(other)?;
        // In one order for both: the random one, if both learned the rows in it.
        let again = self.reordered.is_some() || other.reordered.is_some();
        let both = self.reordered.is_some() && other.reordered.is_some();
        let [own, others] = [self, other].map(|document| if both { document.own_scores() } else { &document.scores });
        let basis = if again { Basis::Heuristic } else { Basis::Exact };
        let foreseen = [self, other].map(|document| document.foreseen.unwrap_or(FIRST));
        let foreseen = foreseen[0].max(foreseen[1]);
        // Of few rows all count, with hindsight.
        let few = foreseen >= own.rows;
        Ok(if few { versus((own, others), 0, Basis::Heuristic) } else { versus((own, others), foreseen, basis) })
    }
}

/// The comparison by the stretches of rows after the first `foreseen`.
fn versus((own, others): (&Scores, &Scores), foreseen: u64, basis: Basis) -> Versus {
    let mut before = 0;
    let mut gains: Vec<(f64, f64)> = Vec::new();
    for ((rows, loss), (_, other)) in own.blocks().zip(others.blocks()) {
        if before >= foreseen {
            gains.push((rows as f64, other - loss));
        }
        before += rows;
    }
    let [rows, sum] = gains.iter().fold([0.0, 0.0], |[rows, sum], (own, gain)| [rows + own, sum + gain]);
    let difference = (rows > 0.0).then(|| sum / rows);
    Versus { rows: rounded(rows), log_e_value: sum, basis, difference, interval: interval(&gains, rows, sum) }
}

/// The interval for the mean gain of a row, whose variance is that of stretches: right where rows depend on each other, too.
fn interval(gains: &[(f64, f64)], rows: f64, sum: f64) -> Option<(f64, f64)> {
    if (gains.len() as u64) < FEWEST_BLOCKS {
        return None;
    }
    let mean = sum / rows;
    let squares: f64 = gains.iter().map(|(rows, gain)| (gain - rows * mean).powi(2) / rows).sum();
    let effect = Effect::new(mean, rows.recip(), squares, gains.len() as f64 - 1.0).ok()?;
    let interval = effect.interval(LEVEL, SIZE).ok()??;
    Some((interval.lower, interval.upper))
}

#[cfg(test)]
mod tests;
