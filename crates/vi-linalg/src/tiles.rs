//! Passes over the rows of long matrices, tile by tile, by any number of threads and with the same bits for all.
//!
//! A pass cuts the rows into tiles of a fixed height and visits each tile once, so that what a tile holds is read from
//! memory once and stays in the cache while it is worked on. Sums over rows go through an accumulator: one for each run of
//! eight consecutive tiles, merged pairwise along a tree whose shape follows from the number of rows alone.
//! Threads take branches of that tree; which thread takes which changes nothing.
//!
//! A pass runs over anything that can be cut between rows, [`Rows`]: slices, matrix views, and tuples of them, for reading or
//! writing. A matrix kept row-major is the view [`faer::MatRef::from_row_major_slice`] of its slice.
//!
//! ```
//! use vi_linalg::faer::{MatMut, MatRef, Par};
//! use vi_linalg::tiles::Tiling;
//!
//! // One pass that scales the rows of W (d × p) by s and sums the squares of the result.
//! let (d, p) = (10_000, 3);
//! let (mut w, s) = (vec![1.0; d * p], vec![2.0; d]);
//! let rows = (MatMut::from_row_major_slice_mut(&mut w, d, p), s.as_slice());
//! let sum = Tiling::for_width(p).fold(
//!     rows,
//!     Par::Seq,
//!     || (),
//!     || 0.0,
//!     |sum, (), _first, (mut w, s)| {
//!         for i in 0..s.len() {
//!             for j in 0..w.ncols() {
//!                 w[(i, j)] *= s[i];
//!                 *sum += w[(i, j)] * w[(i, j)];
//!             }
//!         }
//!     },
//!     |left, right| *left += right,
//! );
//! assert_eq!(sum, (4 * d * p) as f64);
//! assert_eq!(w[7], 2.0);
//! ```

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use faer::{MatMut, MatRef, Par};

/// The number of consecutive tiles that share an accumulator.
const TILES_PER_LEAF: usize = 8;

/// The number of floats in a tile: 512 KiB, which a second-level cache holds.
const TILE_NUMBERS: usize = 1 << 16;

/// Data that can be split between two rows.
pub trait Rows: Send + Sized {
    /// The number of rows.
    ///
    /// The parts of a tuple must have the same number; otherwise it panics.
    fn rows(&self) -> usize;

    /// The first `row` rows and the rest.
    fn split(self, row: usize) -> (Self, Self);
}

impl Rows for Range<usize> {
    fn rows(&self) -> usize {
        self.len()
    }

    fn split(self, row: usize) -> (Self, Self) {
        let middle = self.start + row;
        (self.start..middle, middle..self.end)
    }
}

impl<T: Sync> Rows for &[T] {
    fn rows(&self) -> usize {
        self.len()
    }

    fn split(self, row: usize) -> (Self, Self) {
        self.split_at(row)
    }
}

impl<T: Send> Rows for &mut [T] {
    fn rows(&self) -> usize {
        self.len()
    }

    fn split(self, row: usize) -> (Self, Self) {
        self.split_at_mut(row)
    }
}

impl Rows for MatRef<'_, f64> {
    fn rows(&self) -> usize {
        self.nrows()
    }

    fn split(self, row: usize) -> (Self, Self) {
        self.split_at_row(row)
    }
}

impl Rows for MatMut<'_, f64> {
    fn rows(&self) -> usize {
        self.nrows()
    }

    fn split(self, row: usize) -> (Self, Self) {
        self.split_at_row_mut(row)
    }
}

macro_rules! tuple_of_rows {
    ($first:ident $(, $rest:ident)*) => {
        #[allow(non_snake_case, reason = "the type parameters name the parts")]
        impl<$first: Rows $(, $rest: Rows)*> Rows for ($first, $($rest,)*) {
            fn rows(&self) -> usize {
                let ($first, $($rest,)*) = self;
                let rows = $first.rows();
                $(assert!($rest.rows() == rows, "parts of {rows} and {} rows in one pass", $rest.rows());)*
                rows
            }

            fn split(self, row: usize) -> (Self, Self) {
                let ($first, $($rest,)*) = self;
                let $first = $first.split(row);
                $(let $rest = $rest.split(row);)*
                (($first.0, $($rest.0,)*), ($first.1, $($rest.1,)*))
            }
        }
    };
}

tuple_of_rows!(A);
tuple_of_rows!(A, B);
tuple_of_rows!(A, B, C);
tuple_of_rows!(A, B, C, D);
tuple_of_rows!(A, B, C, D, E);
tuple_of_rows!(A, B, C, D, E, F);

/// How rows are cut into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    height: usize,
}

impl Tiling {
    /// Tiles for rows of `width` numbers: as many rows as 512 KiB hold, a multiple of 64 between 256 and 4096.
    ///
    /// ```
    /// use vi_linalg::tiles::Tiling;
    /// assert_eq!(Tiling::for_width(100).height(), 640);
    /// ```
    #[must_use]
    pub fn for_width(width: usize) -> Self {
        let height = TILE_NUMBERS / width.max(1);
        Self { height: (height - height % 64).clamp(256, 4096) }
    }

    /// Tiles of `height` rows, at least one.
    #[must_use]
    pub fn of_height(height: usize) -> Self {
        Self { height: height.max(1) }
    }

    /// The number of rows of a tile; the last tile of a pass may have fewer.
    #[must_use]
    pub fn height(self) -> usize {
        self.height
    }

    /// One pass over `rows`: `visit(accumulator, scratch, first row, tile)` for each tile, in order within a leaf, and
    /// `merge(left, right)` of the accumulators of neighbouring branches.
    ///
    /// `start` makes an empty accumulator for each leaf of eight tiles; `scratch` makes memory for each thread,
    /// whose content carries no meaning. As many accumulators live at once as threads times the depth of the tree, `log₂` of the
    /// number of leaves. [`Par::rayon(n)`](Par) cuts the work into about `4n` tasks for the current pool. The result depends only
    /// on the number of rows, the tile's height and the three functions.
    pub fn fold<R: Rows, S: Send, A: Send>(
        self,
        rows: R,
        par: Par,
        scratch: impl Fn() -> S + Sync,
        start: impl Fn() -> A + Sync,
        visit: impl Fn(&mut A, &mut S, usize, R) + Sync,
        merge: impl Fn(&mut A, A) + Sync,
    ) -> A {
        self.pass(self.height * TILES_PER_LEAF, scratch, start, visit, merge).branch(0, rows, tasks(par))
    }

    fn pass<S, Scratch, Start, Visit, Merge>(
        self,
        leaf: usize,
        scratch: Scratch,
        start: Start,
        visit: Visit,
        merge: Merge,
    ) -> Pass<S, Scratch, Start, Visit, Merge> {
        Pass { height: self.height, leaf, free: Mutex::new(Vec::new()), scratch, start, visit, merge }
    }

    /// One pass over `rows` without a sum: `visit(scratch, first row, tile)` for each tile. The work of threads may be divided
    /// between any two tiles.
    pub fn for_each<R: Rows, S: Send>(
        self,
        rows: R,
        par: Par,
        scratch: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, usize, R) + Sync,
    ) {
        let visit = |(): &mut (), scratch: &mut S, first: usize, tile: R| visit(scratch, first, tile);
        self.pass(self.height, scratch, || (), visit, |(): &mut (), ()| ()).branch(0, rows, tasks(par));
    }
}

/// How many parts a pass is cut into for the threads of `par`.
fn tasks(par: Par) -> usize {
    match par.degree() {
        0 | 1 => 1,
        threads => 4 * threads,
    }
}

struct Pass<S, Scratch, Start, Visit, Merge> {
    height: usize,
    /// The number of rows below which threads do not divide further.
    leaf: usize,
    /// Scratch that no thread is using.
    free: Mutex<Vec<S>>,
    scratch: Scratch,
    start: Start,
    visit: Visit,
    merge: Merge,
}

impl<S, Scratch, Start, Visit, Merge> Pass<S, Scratch, Start, Visit, Merge> {
    fn branch<R: Rows, A: Send>(&self, first: usize, rows: R, tasks: usize) -> A
    where
        S: Send,
        Scratch: Fn() -> S + Sync,
        Start: Fn() -> A + Sync,
        Visit: Fn(&mut A, &mut S, usize, R) + Sync,
        Merge: Fn(&mut A, A) + Sync,
    {
        let leaves = rows.rows().div_ceil(self.leaf);
        if leaves <= 1 {
            return self.leaf(first, rows);
        }
        let middle = leaves / 2 * self.leaf;
        let (left, right) = rows.split(middle);
        let (mut left, right) = join(
            tasks,
            || self.branch(first, left, tasks / 2),
            || self.branch(first + middle, right, tasks - tasks / 2),
        );
        (self.merge)(&mut left, right);
        left
    }

    fn leaf<R: Rows, A>(&self, mut first: usize, rows: R) -> A
    where
        Scratch: Fn() -> S,
        Start: Fn() -> A,
        Visit: Fn(&mut A, &mut S, usize, R),
    {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = free.unwrap_or_else(&self.scratch);
        let mut accumulator = (self.start)();
        let mut rest = rows;
        while rest.rows() > 0 {
            let height = self.height.min(rest.rows());
            let (tile, next) = rest.split(height);
            (self.visit)(&mut accumulator, &mut scratch, first, tile);
            first += height;
            rest = next;
        }
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        accumulator
    }
}

#[cfg(feature = "rayon")]
fn join<A: Send, B: Send>(tasks: usize, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if tasks > 1 { rayon::join(a, b) } else { (a(), b()) }
}

#[cfg(not(feature = "rayon"))]
fn join<A, B>(_tasks: usize, a: impl FnOnce() -> A, b: impl FnOnce() -> B) -> (A, B) {
    (a(), b())
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;

    #[test]
    fn every_row_is_visited_once_and_in_its_place() {
        for d in [0, 1, 7, 8, 9, 63, 64, 65, 1000] {
            let tiling = Tiling::of_height(3);
            let mut seen = vec![usize::MAX; d];
            let visits = tiling.fold(
                (0..d, seen.as_mut_slice()),
                Par::Seq,
                || (),
                Vec::new,
                |visits: &mut Vec<usize>, (), first, (range, seen)| {
                    assert_eq!(first, range.start);
                    assert!(range.len() <= 3);
                    for (k, row) in range.enumerate() {
                        visits.push(row);
                        seen[k] = row;
                    }
                },
                Extend::extend,
            );
            assert_eq!(visits, (0..d).collect::<Vec<_>>());
            assert_eq!(seen, visits);
        }
    }

    #[test]
    fn matrices_of_both_layouts_are_cut_between_rows() {
        let (d, p) = (50, 3);
        let column_major = Mat::from_fn(d, p, |i, j| (i * p + j) as f64);
        let mut row_major = vec![0.0; d * p];
        let rows = (MatMut::from_row_major_slice_mut(&mut row_major, d, p), column_major.as_ref());
        Tiling::of_height(4).for_each(rows, Par::Seq, || (), |(), _, (mut to, from)| to.copy_from(from));
        assert_eq!(row_major, (0..d * p).map(|k| k as f64).collect::<Vec<_>>());
    }

    #[test]
    fn scratch_is_used_again() {
        let made = std::sync::atomic::AtomicUsize::new(0);
        let scratch = || made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Tiling::of_height(1).for_each(0..100, Par::Seq, scratch, |_, _, _| ());
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn a_width_gives_a_height_in_bounds() {
        assert_eq!(Tiling::for_width(0).height(), 4096);
        assert_eq!(Tiling::for_width(64).height(), 1024);
        assert_eq!(Tiling::for_width(1 << 20).height(), 256);
        assert_eq!(Tiling::of_height(0).height(), 1);
    }

    #[test]
    #[should_panic(expected = "parts of 3 and 2 rows in one pass")]
    fn parts_of_other_lengths_are_a_mistake() {
        Tiling::of_height(1).for_each((0..3, 0..2), Par::Seq, || (), |(), _, _| ());
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn threads_change_no_bit() {
        let values: Vec<f64> = (0..5000).map(|k| (f64::from(k) * 0.7).sin()).collect();
        let sum = |par| {
            Tiling::of_height(7).fold(
                values.as_slice(),
                par,
                || (),
                || 0.0,
                |sum, (), _, tile| *sum += tile.iter().sum::<f64>(),
                |left, right| *left += right,
            )
        };
        for threads in [1, 2, 3, 8] {
            assert_eq!(sum(Par::rayon(threads)).to_bits(), sum(Par::Seq).to_bits());
        }
    }
}
