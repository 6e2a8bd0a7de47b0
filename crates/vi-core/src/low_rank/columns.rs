//! The columns `X` that a block adds to `W`, from rows in any form.

use vi_linalg::faer::{Mat, MatMut, MatRef};

use crate::rows::SparseRows;

/// Compressed sparse rows to which rows are added.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SparseBuffer {
    /// Where each row begins in the two lists, and at last their length.
    starts: Vec<usize>,
    positions: Vec<usize>,
    values: Vec<f64>,
}

impl SparseBuffer {
    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub(crate) fn push(&mut self, (positions, values): (&[usize], &[f64])) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.positions.extend_from_slice(positions);
        self.values.extend_from_slice(values);
        self.starts.push(self.positions.len());
    }

    pub(crate) fn clear(&mut self) {
        self.starts.clear();
        self.positions.clear();
        self.values.clear();
    }

    pub(crate) fn rows(&self) -> SparseRows<'_> {
        SparseRows { starts: &self.starts, positions: &self.positions, values: &self.values }
    }
}

/// The rows of a block, `k` of them, as the columns of `X` (`d × k`).
#[derive(Debug, Clone, Copy)]
pub(crate) enum Columns<'a> {
    /// `k × d`.
    Dense(MatRef<'a, f64>),
    Sparse(SparseRows<'a>),
    /// Dense rows, and more of them.
    DenseAnd(MatRef<'a, f64>, MatRef<'a, f64>),
    SparseAnd(SparseRows<'a>, (&'a [usize], &'a [f64])),
}

impl<'a> Columns<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Dense(x) => x.nrows(),
            Self::Sparse(rows) => rows.len(),
            Self::DenseAnd(x, more) => x.nrows() + more.nrows(),
            Self::SparseAnd(rows, _) => rows.len() + 1,
        }
    }

    /// The number of entries for each coordinate, for rows of length `d`, which decides a tile's height.
    pub(crate) fn width(&self, d: usize) -> usize {
        let entries = match self {
            Self::Dense(_) | Self::DenseAnd(..) => return self.len(),
            Self::Sparse(rows) => rows.entries(),
            Self::SparseAnd(rows, (_, values)) => rows.entries() + values.len(),
        };
        entries.div_ceil(d.max(1))
    }

    /// The memory that [`tile`](Self::tile) and [`part`](Self::part) need.
    pub(crate) fn tile_memory(&self, height: usize) -> TileMemory<'a> {
        let (pieces, dense) = match self {
            Self::Dense(_) => (0, Mat::zeros(0, 0)),
            Self::DenseAnd(..) => (0, Mat::zeros(height, self.len())),
            _ => (self.len(), Mat::zeros(0, 0)),
        };
        TileMemory { dense, pieces: Vec::with_capacity(pieces) }
    }

    /// Coordinates `first..first + height` of the rows, as they lie.
    pub(crate) fn part<'t>(&self, first: usize, height: usize, memory: &'t mut TileMemory<'a>) -> Part<'t>
    where
        'a: 't,
    {
        memory.pieces.clear();
        match *self {
            Self::Dense(x) => return Part::Dense(x.subcols(first, height)),
            Self::DenseAnd(x, more) => {
                let tile = memory.dense.as_mut().subrows_mut(0, height);
                let rows = x.row_iter().chain(more.row_iter());
                for (row, mut to) in rows.zip(tile.col_iter_mut()) {
                    to.copy_from(row.subcols(first, height).transpose());
                }
                return Part::Dense(memory.dense.as_ref().subrows(0, height).transpose());
            }
            Self::Sparse(rows) => {
                memory.pieces.extend((0..rows.len()).filter_map(|j| Piece::cut(j, rows.pieces(j), first, height)));
            }
            Self::SparseAnd(rows, last) => {
                let all = (0..rows.len()).map(|j| rows.pieces(j)).chain([last]).enumerate();
                memory.pieces.extend(all.filter_map(|(j, row)| Piece::cut(j, row, first, height)));
            }
        }
        Part::Sparse { first, pieces: &memory.pieces }
    }

    /// Coordinates `first..first + height` of the rows with their zeros written out (`k × height`).
    pub(crate) fn tile<'t>(&self, first: usize, height: usize, memory: &'t mut TileMemory<'a>) -> MatRef<'t, f64>
    where
        'a: 't,
    {
        if let Self::Dense(x) = *self {
            return x.subcols(first, height);
        }
        let mut tile = Mat::zeros(height, self.len());
        match self.part(first, height, memory) {
            Part::Dense(part) => tile.copy_from(part.transpose()),
            Part::Sparse { pieces, .. } => {
                for piece in pieces {
                    for (i, value) in piece.entries(first) {
                        tile[(i, piece.row)] = value;
                    }
                }
            }
        }
        memory.dense = tile;
        memory.dense.as_ref().transpose()
    }
}

/// Memory for the coordinates of a tile.
#[derive(Debug)]
pub(crate) struct TileMemory<'a> {
    dense: Mat<f64>,
    pieces: Vec<Piece<'a>>,
}

/// The entries of one sparse row that a tile holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'a> {
    row: usize,
    indices: &'a [usize],
    values: &'a [f64],
}

impl<'a> Piece<'a> {
    /// The piece of row `row` in the coordinates `first..first + height`; `None` if it has no entry there.
    fn cut(row: usize, (indices, values): (&'a [usize], &'a [f64]), first: usize, height: usize) -> Option<Self> {
        let from = indices.partition_point(|&i| i < first);
        let to = from + indices[from..].partition_point(|&i| i < first + height);
        (from < to).then(|| Self { row, indices: &indices[from..to], values: &values[from..to] })
    }

    /// Positions within the tile, and values.
    fn entries(&self, first: usize) -> impl Iterator<Item = (usize, f64)> {
        self.indices.iter().map(move |i| i - first).zip(self.values.iter().copied())
    }
}

/// The coordinates of a tile, for all rows (`k × r`).
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part<'a> {
    Dense(MatRef<'a, f64>),
    Sparse { first: usize, pieces: &'a [Piece<'a>] },
}

impl<'a> From<MatRef<'a, f64>> for Part<'a> {
    fn from(x: MatRef<'a, f64>) -> Self {
        Self::Dense(x)
    }
}

impl Part<'_> {
    /// No row at all.
    pub(crate) const NONE: Self = Self::Sparse { first: 0, pieces: &[] };
}

/// `out ← out + Xc` for `c` of `k × m`; `out` is `r × m`, column after column.
pub(crate) fn add_pieces(out: &mut [f64], r: usize, first: usize, pieces: &[Piece<'_>], c: MatRef<'_, f64>) {
    for piece in pieces {
        for (out, &c) in out.chunks_exact_mut(r).zip(c.row(piece.row).iter()) {
            piece.entries(first).for_each(|(i, value)| out[i] += c * value);
        }
    }
}

/// `sum ← sum + Xᵀy` for `y` of `r × m`, column after column.
pub(crate) fn add_pieces_transposed(sum: MatMut<'_, f64>, r: usize, first: usize, pieces: &[Piece<'_>], y: &[f64]) {
    let mut sum = sum;
    for piece in pieces {
        for (sum, y) in sum.as_mut().row_mut(piece.row).iter_mut().zip(y.chunks_exact(r)) {
            *sum += piece.entries(first).map(|(i, value)| value * y[i]).sum::<f64>();
        }
    }
}

/// `out_i ← out_i + Σ_j weights_j·x_ji²`.
pub(crate) fn add_squared_pieces(out: &mut [f64], first: usize, pieces: &[Piece<'_>], weights: &[f64]) {
    for piece in pieces {
        piece.entries(first).for_each(|(i, value)| out[i] += weights[piece.row] * (value * value));
    }
}
