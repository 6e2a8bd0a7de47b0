//! The lower triangle of a symmetric matrix, row by row in one slice: entry `(i, j)`, `j ≤ i`, at `i(i+1)/2 + j`.

use vi_core::check;
use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef};

use crate::SumsError;

/// The rounding that sums of many rows have accumulated, relative to their size: a smaller difference counts as 0.
const ROUNDING: f64 = 1e-10;

/// The number of entries in the triangle of a `k × k` matrix.
pub(crate) const fn len(k: usize) -> usize {
    k * (k + 1) / 2
}

/// Row `i` of the triangle: entries `(i, 0)` to `(i, i)`.
pub(crate) fn row(packed: &[f64], i: usize) -> &[f64] {
    &packed[len(i)..len(i + 1)]
}

/// Entry `(i, i)`.
pub(crate) fn diagonal(packed: &[f64], i: usize) -> f64 {
    packed[len(i) + i]
}

/// `S ← S + c·vvᵀ`.
#[inline]
pub(crate) fn add_outer(packed: &mut [f64], c: f64, v: &[f64]) {
    let mut rest = packed;
    for i in 0..v.len() {
        let (row, below) = rest.split_at_mut(i + 1);
        let scaled = c * v[i];
        for (entry, value) in row.iter_mut().zip(v) {
            *entry += scaled * value;
        }
        rest = below;
    }
}

/// The leading `k × k` block as a matrix of which only the lower triangle is valid.
pub(crate) fn matrix(packed: &[f64], k: usize) -> Mat<f64> {
    Mat::from_fn(k, k, |i, j| if j <= i { packed[len(i) + j] } else { 0.0 })
}

/// The lower triangle of a matrix.
pub(crate) fn pack(lower: MatRef<'_, f64>) -> Vec<f64> {
    (0..lower.nrows()).flat_map(|i| (0..=i).map(move |j| lower[(i, j)])).collect()
}

/// `S·v`.
pub(crate) fn multiply(packed: &[f64], v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; v.len()];
    for i in 0..v.len() {
        let row = row(packed, i);
        for j in 0..i {
            out[i] += row[j] * v[j];
            out[j] += row[j] * v[i];
        }
        out[i] += row[i] * v[i];
    }
    out
}

/// Checks that `difference = whole − part` could be a sum of `h·xxᵀ` with `h ≥ 0`: positive semidefinite, up to the rounding of
/// `whole`. Coordinates whose own entry is within that rounding are set to 0.
///
/// # Errors
/// [`SumsError::NotContained`].
pub(crate) fn settle(difference: &mut [f64], whole: &[f64], k: usize) -> Result<(), SumsError> {
    let not = |what| Err(SumsError::NotContained { what });
    check::finite("difference", difference)?;
    let mut left = Vec::with_capacity(k);
    for i in 0..k {
        let (own, scale) = (diagonal(difference, i), ROUNDING * diagonal(whole, i));
        if own < -scale {
            return not("a column would vary less than not at all");
        }
        if own > scale {
            left.push(i);
            continue;
        }
        for j in 0..k {
            difference[if j <= i { len(i) + j } else { len(j) + i }] = 0.0;
        }
    }
    if left.is_empty() {
        return Ok(());
    }
    let entry = |a: usize, b: usize| {
        let (i, j) = (left[a].max(left[b]), left[a].min(left[b]));
        let scale = (diagonal(whole, i) * diagonal(whole, j)).sqrt();
        difference[len(i) + j] / scale + if i == j { ROUNDING } else { 0.0 }
    };
    let scaled = Mat::from_fn(left.len(), left.len(), |a, b| if b <= a { entry(a, b) } else { 0.0 });
    if Cholesky::new(scaled.as_ref()).is_err() {
        return not("a combination of columns would vary less than not at all");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_is_its_matrix() {
        let mut packed = vec![0.0; len(3)];
        add_outer(&mut packed, 2.0, &[1.0, -1.0, 3.0]);
        assert_eq!(packed, [2.0, -2.0, 2.0, 6.0, -6.0, 18.0]);
        assert_eq!(multiply(&packed, &[1.0, 2.0, 0.5]), [1.0, -1.0, 3.0]);
        assert_eq!(pack(matrix(&packed, 3).as_ref()), packed);
        assert_eq!((row(&packed, 1), diagonal(&packed, 2)), (&[-2.0, 2.0][..], 18.0));
    }

    #[test]
    fn what_cannot_be_a_sum_of_squares_is_refused() {
        let whole = [4.0, 0.0, 4.0];
        let mut negative = [-1.0, 0.0, 1.0];
        assert!(settle(&mut negative, &whole, 2).is_err());
        // Positive diagonal, one negative eigenvalue.
        let mut indefinite = [1.0, 1.5, 1.0];
        assert!(settle(&mut indefinite, &whole, 2).is_err());
        let mut rounding = [-1e-12, 1e-13, 1.0];
        settle(&mut rounding, &whole, 2).unwrap();
        assert_eq!(rounding, [0.0, 0.0, 1.0]);
    }
}
