//! Eigenvalues of small symmetric matrices.

use vi_core::Error;
use vi_linalg::faer::diag::Diag;
use vi_linalg::faer::dyn_stack::{MemBuffer, MemStack};
use vi_linalg::faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use vi_linalg::faer::{Mat, MatMut, MatRef, Par, Spec};

/// The eigenvalues of a symmetric matrix (`m × m`) in increasing order and its eigenvectors, one a column.
///
/// # Errors
/// `Overflow` where the iterations do not converge: the matrix has entries that are no numbers.
pub(super) fn eigen(symmetric: MatRef<'_, f64>, par: Par) -> Result<(Vec<f64>, Mat<f64>), Error> {
    let m = symmetric.nrows();
    let mut vectors = Mat::zeros(m, m);
    let values = solve(symmetric, Some(vectors.as_mut()), par)?;
    Ok((values, vectors))
}

/// The eigenvalues alone, in increasing order. Cost some `4m³/3` flops.
///
/// # Errors
/// As [`eigen`].
pub(super) fn eigenvalues(symmetric: MatRef<'_, f64>, par: Par) -> Result<Vec<f64>, Error> {
    solve(symmetric, None, par)
}

fn solve(symmetric: MatRef<'_, f64>, vectors: Option<MatMut<'_, f64>>, par: Par) -> Result<Vec<f64>, Error> {
    let m = symmetric.nrows();
    let compute = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut values = Diag::zeros(m);
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<f64>(m, compute, par, Spec::default()));
    self_adjoint_evd(symmetric, values.as_mut(), vectors, par, MemStack::new(&mut memory), Spec::default())
        .map_err(|_| Error::Overflow { quantity: "the spectrum of X", value: f64::NAN })?;
    Ok((0..m).map(|k| values[k]).collect())
}
