//! The factor of a matrix that may be singular.

use faer::MatMut;

use crate::kernels::{assert_square, axpy};

/// Overwrites the lower triangle of a positive semidefinite A (m × m) by L with LLᵀ = A. A may be singular: a pivot of at most
/// `rounding(j)` counts as 0, and its column too, so that LLᵀ differs from A by as much.
///
/// Returns the place and the value of the first pivot that is below `−rounding(j)` or NaN, if there is one: A was then not
/// positive semidefinite, or not finite. The strict upper triangle is neither read nor written. Cost m³/3 flops; no storage.
///
/// ```
/// use vi_linalg::cholesky::semidefinite_in_place;
/// use vi_linalg::faer::mat;
/// let mut a = mat![[4.0, f64::NAN], [2.0, 1.0]];
/// assert_eq!(semidefinite_in_place(a.as_mut(), |_| 1e-15), None);
/// assert_eq!((a[(0, 0)], a[(1, 0)], a[(1, 1)]), (2.0, 1.0, 0.0));
///
/// let mut a = mat![[1.0, f64::NAN], [2.0, 1.0]];
/// assert_eq!(semidefinite_in_place(a.as_mut(), |_| 1e-15), Some((1, -3.0)));
/// ```
#[must_use = "a matrix that is not positive semidefinite is told by what is returned"]
#[track_caller]
pub fn semidefinite_in_place(lower: MatMut<'_, f64>, rounding: impl Fn(usize) -> f64) -> Option<(usize, f64)> {
    let mut a = lower;
    assert_square(a.nrows(), a.ncols());
    let m = a.nrows();
    let mut below = None;
    for j in 0..m {
        let (pivot, rounding) = (a[(j, j)], rounding(j));
        if pivot.is_nan() || pivot < -rounding {
            below = below.or(Some((j, pivot)));
        }
        if pivot > rounding {
            let root = pivot.sqrt();
            for i in j..m {
                a[(i, j)] /= root;
            }
            let (done, mut rest) = a.as_mut().split_at_col_mut(j + 1);
            for k in j + 1..m {
                let done = done.as_ref();
                let factor = -done[(k, j)];
                let to = rest.as_mut().col_mut(k - j - 1).subrows_mut(k, m - k);
                let from = done.col(j).subrows(k, m - k);
                match (to.try_as_col_major_mut(), from.try_as_col_major()) {
                    (Some(to), Some(from)) => axpy(to.as_slice_mut(), factor, from.as_slice()),
                    _ => {
                        for i in k..m {
                            rest[(i, k - j - 1)] += factor * done[(i, j)];
                        }
                    }
                }
            }
        } else {
            a.as_mut().col_mut(j).subrows_mut(j, m - j).fill(0.0);
        }
    }
    below
}

#[cfg(test)]
mod tests {
    use faer::{Mat, mat};

    use super::*;

    /// Eight roundings for each of the m differences that a pivot is made of.
    fn rounding(c: &Mat<f64>) -> f64 {
        8.0 * c.nrows() as f64 * f64::EPSILON * c.norm_max()
    }

    #[test]
    fn singular_matrices_have_a_root() {
        let b = Mat::from_fn(4, 2, |i, j| ((1 + i) as f64 * (0.7 + j as f64)).sin());
        let singular = &b * b.transpose();
        let repeated = mat![[2.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 3.0]];
        let diagonal = mat![[0.0, 0.0], [0.0, 4.0]];
        for c in [singular, repeated, mat![[0.25]], Mat::zeros(3, 3), diagonal] {
            let m = c.nrows();
            let mut root = Mat::from_fn(m, m, |i, j| if i < j { f64::NAN } else { c[(i, j)] });
            assert_eq!(semidefinite_in_place(root.as_mut(), |_| rounding(&c)), None);
            for j in 0..m {
                for i in 0..j {
                    assert!(root[(i, j)].is_nan(), "({i}, {j}) was written");
                    root[(i, j)] = 0.0;
                }
            }
            let error = (&root * root.transpose() - &c).norm_max();
            // What is taken for 0, and as much for the roundings of the product.
            assert!(error <= 2.0 * rounding(&c), "{error}");
        }
    }

    #[test]
    fn the_first_pivot_below_is_told_and_the_rest_factored() {
        let mut a = mat![[4.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 1.0, 5.0]];
        assert_eq!(semidefinite_in_place(a.as_mut(), |_| 0.0), Some((1, -1.0)));
        assert_eq!((a[(0, 0)], a[(1, 1)], a[(2, 1)], a[(2, 2)]), (2.0, 0.0, 0.0, 2.0));
        let mut nan = mat![[1.0, 0.0], [f64::NAN, 1.0]];
        assert!(matches!(semidefinite_in_place(nan.as_mut(), |_| 0.5), Some((1, pivot)) if pivot.is_nan()));
    }
}
