//! The rows through which a field is seen.

use vi_core::{Rows, check};
use vi_linalg::faer::MatRef;

use crate::BoostError;

/// Labels and how the predictor of each comes from the latent values: `η_i = o_i + a_iᵀf`.
///
/// ```
/// use vi_boost::latent::Observed;
/// use vi_core::Rows;
/// // Two labels of the first value, one of the sum of both.
/// let rows = Rows::Sparse { starts: &[0, 1, 2, 4], positions: &[0, 0, 0, 1], values: &[1.0; 4] };
/// let observed = Observed::of(&[1.0, 0.0, 2.0]).design(rows);
/// # let _ = observed;
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    labels: &'a [f64],
    design: Option<Rows<'a>>,
    offsets: Option<&'a [f64]>,
}

impl<'a> Observed<'a> {
    /// One label (of `n`) for each latent value: `η = f`.
    #[must_use]
    pub fn of(labels: &'a [f64]) -> Self {
        Self { labels, design: None, offsets: None }
    }

    /// The rows `a_i`: `n` of as many entries as there are latent values, dense or sparse; `n` need not be the number of values.
    #[must_use]
    pub fn design(self, rows: impl Into<Rows<'a>>) -> Self {
        Self { design: Some(rows.into()), ..self }
    }

    /// Known parts of the predictors, `o_i`, one a label; 0 without them.
    #[must_use]
    pub fn offsets(self, offsets: &'a [f64]) -> Self {
        Self { offsets: Some(offsets), ..self }
    }
}

/// Checked rows, with the entries that are not zero.
pub(super) struct Data {
    pub(super) dim: usize,
    pub(super) labels: Vec<f64>,
    pub(super) offsets: Vec<f64>,
    starts: Vec<usize>,
    entries: Vec<(usize, f64)>,
}

impl Data {
    pub(super) fn of(observed: &Observed<'_>, dim: usize) -> Result<Self, BoostError> {
        let n = observed.labels.len();
        check::values("labels", observed.labels)?;
        let offsets = observed.offsets.map_or_else(|| vec![0.0; n], <[f64]>::to_vec);
        check::length("offsets", n, offsets.len())?;
        check::finite("offsets", &offsets)?;
        let (mut starts, mut entries) = (vec![0], Vec::new());
        if let Some(rows) = observed.design {
            for row in rows.split(n, dim, &mut Vec::new())? {
                row.for_each(|j, a| {
                    if a != 0.0 {
                        entries.push((j, a));
                    }
                });
                starts.push(entries.len());
            }
        } else {
            check::length("labels", dim, n)?;
            entries = (0..n).map(|i| (i, 1.0)).collect();
            starts = (0..=n).collect();
        }
        Ok(Self { dim, labels: observed.labels.to_vec(), offsets, starts, entries })
    }

    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    fn row(&self, i: usize) -> &[(usize, f64)] {
        &self.entries[self.starts[i]..self.starts[i + 1]]
    }

    pub(super) fn each(&self, i: usize, mut visit: impl FnMut(usize, f64)) {
        self.row(i).iter().for_each(|&(j, a)| visit(j, a));
    }

    /// `a_iᵀv`.
    pub(super) fn along(&self, i: usize, v: impl Fn(usize) -> f64) -> f64 {
        self.row(i).iter().map(|&(j, a)| a * v(j)).sum()
    }

    /// `a_iᵀPa_i`.
    pub(super) fn quadratic(&self, i: usize, p: MatRef<'_, f64>) -> f64 {
        self.row(i).iter().map(|&(j, a)| a * self.along(i, |k| p[(j, k)])).sum()
    }
}
