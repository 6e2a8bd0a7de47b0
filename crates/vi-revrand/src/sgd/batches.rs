//! The rows of each step.

use rand::{Rng, RngExt};

use crate::{RevrandError, check};

/// Endless batches of the indices `0..rows`, cut from one random permutation after another.
///
/// Each row is seen once before any is seen again. If `batch` does not divide `rows`, a batch may take the end of one permutation
/// and the beginning of the next.
#[derive(Debug, Clone)]
pub(crate) struct Permutations {
    order: Vec<usize>,
    next: usize,
    batch: Vec<usize>,
}

impl Permutations {
    /// Batches of `batch` of `rows` rows.
    ///
    /// # Errors
    /// `Empty` for no rows; `Setting` unless `1 ≤ batch ≤ rows`, and for more rows than memory has indices for.
    pub(crate) fn new(rows: usize, batch: usize) -> Result<Self, RevrandError> {
        check::not_empty("rows", rows)?;
        check::room("rows", &[rows])?;
        if batch == 0 || batch > rows {
            let requirement = "at least 1 and at most the number of rows";
            return Err(vi_core::Error::Setting { name: "batch", value: batch as f64, requirement }.into());
        }
        Ok(Self { order: (0..rows).collect(), next: rows, batch: vec![0; batch] })
    }

    /// The next batch.
    pub(crate) fn next<R: Rng + ?Sized>(&mut self, rng: &mut R) -> &[usize] {
        for place in 0..self.batch.len() {
            if self.next == self.order.len() {
                self.next = 0;
            }
            // Fisher and Yates, one step at a time.
            let chosen = rng.random_range(self.next..self.order.len());
            self.order.swap(self.next, chosen);
            self.batch[place] = self.order[self.next];
            self.next += 1;
        }
        &self.batch
    }
}
