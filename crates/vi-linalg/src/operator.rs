//! Symmetric matrices given by their products with vectors.

use faer::{Mat, MatMut, MatRef, Par};

use crate::kernels::{dot, symmetric_mul_mat};

/// A symmetric matrix S (d × d) that need not be formed.
///
/// The methods assert that shapes agree; NaN and infinities propagate.
///
/// ```
/// use vi_linalg::faer::{Mat, Par, mat};
/// use vi_linalg::{DenseSymmetric, SymmetricOperator};
/// let a = mat![[2.0, f64::NAN], [1.0, 3.0]];
/// let s = DenseSymmetric::new(a.as_ref());
/// assert_eq!(s.quadratic_form(&[1.0, 10.0], Par::Seq), 322.0);
/// assert_eq!(s.trace(Par::Seq), 5.0);
/// ```
pub trait SymmetricOperator {
    /// Dimension d.
    fn dim(&self) -> usize;

    /// out ← S X, both d × k. What `out` held before is not read.
    fn apply(&self, out: MatMut<'_, f64>, x: MatRef<'_, f64>, par: Par);

    /// out ← diag S, a slice of length d.
    fn diagonal(&self, out: &mut [f64], par: Par);

    /// xᵀS x for a vector of length d.
    fn quadratic_form(&self, x: &[f64], par: Par) -> f64 {
        let d = self.dim();
        let mut product = vec![0.0; d];
        let out = MatMut::from_column_major_slice_mut(&mut product, d, 1);
        self.apply(out, MatRef::from_column_major_slice(x, d, 1), par);
        dot(x, &product)
    }

    /// The trace tr S.
    fn trace(&self, par: Par) -> f64 {
        let mut diagonal = vec![0.0; self.dim()];
        self.diagonal(&mut diagonal, par);
        diagonal.iter().sum()
    }
}

/// A dense symmetric matrix (d × d, lower triangle) as an operator.
#[derive(Clone, Copy, Debug)]
pub struct DenseSymmetric<'a> {
    lower: MatRef<'a, f64>,
}

impl<'a> DenseSymmetric<'a> {
    /// The operator of the lower triangle of `lower`, which must be square.
    #[must_use]
    pub fn new(lower: MatRef<'a, f64>) -> Self {
        crate::kernels::assert_square(lower.nrows(), lower.ncols());
        Self { lower }
    }
}

impl SymmetricOperator for DenseSymmetric<'_> {
    fn dim(&self) -> usize {
        self.lower.nrows()
    }

    fn apply(&self, out: MatMut<'_, f64>, x: MatRef<'_, f64>, par: Par) {
        symmetric_mul_mat(out, self.lower, x, par);
    }

    fn diagonal(&self, out: &mut [f64], _par: Par) {
        assert_eq!(out.len(), self.dim(), "length of out");
        for (i, value) in out.iter_mut().enumerate() {
            *value = self.lower[(i, i)];
        }
    }
}

/// The largest difference between an operator and the dense matrix it should be, over the largest entry of that matrix.
///
/// It compares every entry of S (by applying it to the identity, whole and column by column), S times a vector without symmetry,
/// the diagonal, the trace and quadratic forms. NaN if either is NaN. Cost d applications; for tests.
///
/// ```
/// use vi_linalg::faer::{Mat, Par, mat};
/// use vi_linalg::{DenseSymmetric, operator};
/// let a = mat![[2.0, 1.0], [1.0, 3.0]];
/// assert_eq!(operator::discrepancy(&DenseSymmetric::new(a.as_ref()), a.as_ref(), Par::Seq), 0.0);
/// ```
#[must_use]
pub fn discrepancy(operator: &(impl SymmetricOperator + ?Sized), dense: MatRef<'_, f64>, par: Par) -> f64 {
    let d = dense.nrows();
    assert_eq!(operator.dim(), d, "dimension of the operator");
    let scale = dense.norm_max().max(f64::MIN_POSITIVE);
    let mut worst = Worst(0.0);

    let identity = Mat::<f64>::identity(d, d);
    let mut whole = Mat::from_fn(d, d, |_, _| f64::NAN);
    operator.apply(whole.as_mut(), identity.as_ref(), par);
    let mut diagonal = vec![f64::NAN; d];
    operator.diagonal(&mut diagonal, par);
    let mut column = Mat::from_fn(d, 1, |_, _| f64::NAN);
    for j in 0..d {
        operator.apply(column.as_mut(), identity.as_ref().subcols(j, 1), par);
        for i in 0..d {
            worst.see(whole[(i, j)] - dense[(i, j)], scale);
            worst.see(column[(i, 0)] - dense[(i, j)], scale);
        }
        worst.see(diagonal[j] - dense[(j, j)], scale);
    }
    worst.see(operator.trace(par) - diagonal.iter().sum::<f64>(), d as f64 * scale);

    // Entries of size one without a pattern.
    let x: Vec<f64> = (0..d).map(|i| (1.0 + 0.7 * i as f64).sin()).collect();
    let view = MatRef::from_column_major_slice(&x, d, 1);
    operator.apply(column.as_mut(), view, par);
    let expected = dense * view;
    for i in 0..d {
        worst.see(column[(i, 0)] - expected[(i, 0)], d as f64 * scale);
    }
    let form: f64 = (0..d).map(|i| x[i] * expected[(i, 0)]).sum();
    worst.see(operator.quadratic_form(&x, par) - form, (d * d) as f64 * scale);
    worst.0
}

struct Worst(f64);

impl Worst {
    fn see(&mut self, difference: f64, scale: f64) {
        let size = difference.abs() / scale;
        if size.is_nan() || size > self.0 {
            self.0 = size;
        }
    }
}
