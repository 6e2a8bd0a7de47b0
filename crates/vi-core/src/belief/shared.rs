//! Several sparse rows sorted by coordinate, so that a coordinate that they share is read once.

use vi_linalg::faer::{MatMut, MatRef, Par};
use vi_linalg::kernels::add_lower_product;

use crate::Row;

/// Marks an empty slot of the table.
const NONE: usize = usize::MAX;

/// The nonzero columns of `X` (`k × d`), whose rows are given, one column after another.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    rows: usize,
    /// The coordinates, in the order in which they came.
    positions: Vec<usize>,
    /// Where the entries of each coordinate begin.
    starts: Vec<usize>,
    /// The row and the value of each entry.
    entries: Vec<(usize, f64)>,
    /// Coordinates by a hash of their positions; a power of two, at least twice as many as there are.
    table: Vec<usize>,
}

impl Shared {
    /// Collects checked rows.
    pub(crate) fn new(rows: &[Row<'_>]) -> Self {
        let mut shared = Self { rows: rows.len(), ..Self::default() };
        let mut found = Vec::new();
        let mut counts: Vec<usize> = Vec::new();
        for (t, row) in rows.iter().enumerate() {
            row.for_each(|position, value| {
                if value != 0.0 {
                    let local = shared.insert(position);
                    if local == counts.len() {
                        counts.push(0);
                    }
                    counts[local] += 1;
                    found.push((local, (t, value)));
                }
            });
        }
        shared.starts.reserve(counts.len() + 1);
        let mut first = 0;
        for count in &mut counts {
            shared.starts.push(first);
            first += std::mem::replace(count, first);
        }
        shared.starts.push(first);
        shared.entries = vec![(0, 0.0); found.len()];
        for (local, entry) in found {
            let next = &mut counts[local];
            shared.entries[*next] = entry;
            *next += 1;
        }
        shared
    }

    /// The number `k` of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The coordinates with an entry in some row, in the order in which they came.
    pub(crate) fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// The entries at coordinate `local`: row and value, in the order of the rows.
    pub(crate) fn entries(&self, local: usize) -> &[(usize, f64)] {
        &self.entries[self.starts[local]..self.starts[local + 1]]
    }

    /// The number of the coordinate at a position; `None` if no row has an entry there.
    pub(crate) fn local(&self, position: usize) -> Option<usize> {
        if self.table.is_empty() {
            return None;
        }
        Some(self.table[self.place(position)]).filter(|local| *local != NONE)
    }

    /// Adds to the lower triangle of a matrix: `out ← out + X·diag(weights)·Xᵀ`, with a weight for each coordinate. The strict
    /// upper triangle of `out` then has no meaning.
    pub(crate) fn add_gram(&self, weights: &[f64], mut out: MatMut<'_, f64>) {
        // A column in which most rows have an entry is cheaper as part of a dense matrix.
        let (mut dense, mut scaled) = (Vec::new(), Vec::new());
        for (local, weight) in weights.iter().enumerate() {
            let entries = self.entries(local);
            if 2 * entries.len() > self.rows {
                let first = dense.len();
                dense.resize(first + self.rows, 0.0);
                scaled.resize(first + self.rows, 0.0);
                for &(row, value) in entries {
                    (dense[first + row], scaled[first + row]) = (value, value * weight);
                }
                continue;
            }
            for (j, &(column, value)) in entries.iter().enumerate() {
                let scaled = value * weight;
                let mut column = out.as_mut().col_mut(column);
                for &(row, value) in &entries[j..] {
                    column[row] += value * scaled;
                }
            }
        }
        let [dense, scaled] =
            [&dense, &scaled].map(|of| MatRef::from_column_major_slice(of, self.rows, of.len() / self.rows.max(1)));
        add_lower_product(out, dense, scaled.transpose(), Par::Seq);
    }

    fn place(&self, position: usize) -> usize {
        let mask = self.table.len() - 1;
        let mut at = ((position as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.table[at] != NONE && self.positions[self.table[at]] != position {
            at = (at + 1) & mask;
        }
        at
    }

    /// The number of the coordinate at a position, a new one if no row had an entry there.
    fn insert(&mut self, position: usize) -> usize {
        if 2 * (self.positions.len() + 1) > self.table.len() {
            self.table = vec![NONE; (4 * (self.positions.len() + 1)).next_power_of_two().max(256)];
            for local in 0..self.positions.len() {
                let at = self.place(self.positions[local]);
                self.table[at] = local;
            }
        }
        let at = self.place(position);
        if self.table[at] == NONE {
            self.table[at] = self.positions.len();
            self.positions.push(position);
        }
        self.table[at]
    }
}

#[cfg(test)]
mod tests {
    use vi_linalg::faer::Mat;

    use super::*;

    #[test]
    fn columns_are_those_of_the_rows() {
        let rows = [
            Row::from((&[2, 7], &[1.0, 2.0])),
            Row::from((&[0, 2], &[0.0, 3.0])),
            Row::Dense(&[4.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0]),
        ];
        let shared = Shared::new(&rows);
        assert_eq!((shared.rows(), shared.positions()), (3, &[2, 7, 0, 8][..]));
        assert_eq!(shared.entries(0), [(0, 1.0), (1, 3.0), (2, 5.0)]);
        assert_eq!([1, 2, 3].map(|local| shared.entries(local)), [&[(0, 2.0)], &[(2, 4.0)], &[(2, 6.0)]]);
        assert_eq!([7, 8, 1].map(|position| shared.local(position)), [Some(1), Some(3), None]);
        assert_eq!(Shared::new(&[]).local(0), None);
    }

    /// Columns that most rows have and columns that few have, some thousand of them, against `X·diag(w)·Xᵀ` written out.
    #[test]
    fn the_gram_matrix_is_that_of_the_rows_written_out() {
        const D: usize = 3000;
        let k = 7;
        let given: Vec<(Vec<usize>, Vec<f64>)> = (0..k)
            .map(|t| {
                let positions: Vec<usize> = (0..D).filter(|i| i % 10 == 0 || (i * 7 + t) % k == 0).collect();
                let values = positions.iter().map(|i| ((i * 31 + t * 17) % 23) as f64 - 11.0).collect();
                (positions, values)
            })
            .collect();
        let rows: Vec<Row<'_>> = given.iter().map(|(positions, values)| Row::from((positions, values))).collect();
        let shared = Shared::new(&rows);
        let weight = |i: usize| 0.5 + (i % 5) as f64;
        let weights: Vec<f64> = shared.positions().iter().map(|&i| weight(i)).collect();
        let mut gram = Mat::from_fn(k, k, |i, j| if i >= j { 1.0 } else { 0.0 });
        shared.add_gram(&weights, gram.as_mut());
        let mut x = Mat::<f64>::zeros(k, D);
        for (t, row) in rows.iter().enumerate() {
            row.for_each(|i, value| x[(t, i)] = value);
        }
        for i in 0..k {
            for j in 0..=i {
                // Whole numbers and halves below 2⁵²: every sum is exact.
                let sum: f64 = (0..D).map(|c| x[(i, c)] * weight(c) * x[(j, c)]).sum();
                assert_eq!(gram[(i, j)], 1.0 + sum, "{i} {j}");
            }
        }
    }
}
