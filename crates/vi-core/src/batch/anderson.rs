//! Anderson acceleration of a fixed-point map: the step that would send the residual to 0 if the map were linear, from the last
//! few residuals.

use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef};

/// How many residuals are remembered.
const DEPTH: usize = 8;
/// Relative ridge on the least-squares problem: residuals of a near-converged run are almost parallel.
const RIDGE: f64 = 1e-12;

/// The memory of accelerated steps `z ← z + f − Σγ_j(Δz_j + Δf_j)`, `γ = argmin ‖w − Σγ_jΔw_j‖`, with `f = G(z) − z` and `w`
/// the residual in the metric in which it should be small. All vectors are columns of any fixed length.
#[derive(Debug, Default)]
pub(super) struct Anderson {
    last: Option<Triple>,
    differences: Vec<Triple>,
}

#[derive(Debug, Clone)]
struct Triple {
    point: Vec<f64>,
    residual: Vec<f64>,
    whitened: Vec<f64>,
}

impl Anderson {
    /// Forgets everything, so that the next step is a plain one.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The accelerated point from `point`, where the map's residual is `residual`, `whitened` in the metric. Returns `None` while
    /// nothing is remembered, or when the least-squares problem is singular to rounding.
    pub(super) fn propose(&mut self, point: &[f64], residual: &[f64], whitened: &[f64]) -> Option<Vec<f64>> {
        let here = Triple { point: point.to_vec(), residual: residual.to_vec(), whitened: whitened.to_vec() };
        if let Some(last) = self.last.replace(here) {
            if self.differences.len() == DEPTH {
                self.differences.remove(0);
            }
            self.differences.push(Triple {
                point: minus(point, &last.point),
                residual: minus(residual, &last.residual),
                whitened: minus(whitened, &last.whitened),
            });
        }
        let gamma = self.weights(whitened)?;
        let mut next: Vec<f64> = point.iter().zip(residual).map(|(z, f)| z + f).collect();
        for (g, difference) in gamma.iter().zip(&self.differences) {
            for (n, (dz, df)) in next.iter_mut().zip(difference.point.iter().zip(&difference.residual)) {
                *n -= g * (dz + df);
            }
        }
        Some(next)
    }

    /// `γ` by the normal equations of at most [`DEPTH`] unknowns, scaled to a unit diagonal.
    fn weights(&self, whitened: &[f64]) -> Option<Vec<f64>> {
        let m = self.differences.len();
        if m == 0 {
            return None;
        }
        let w = |j: usize| self.differences[j].whitened.as_slice();
        let scale: Vec<f64> = (0..m).map(|j| dot(w(j), w(j)).sqrt()).collect();
        if scale.contains(&0.0) {
            return None;
        }
        let gram =
            Mat::from_fn(m, m, |i, j| dot(w(i), w(j)) / (scale[i] * scale[j]) + if i == j { RIDGE } else { 0.0 });
        let mut right: Vec<f64> = (0..m).map(|j| dot(w(j), whitened) / scale[j]).collect();
        Cholesky::new(gram.as_ref()).ok()?.solve_vec_in_place(&mut right).ok()?;
        Some(right.iter().zip(&scale).map(|(r, s)| r / s).collect())
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    vi_linalg::kernels::dot(a, b)
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// The lower triangle of a `d × d` matrix and a vector, as one column.
pub(super) fn pack(matrix: MatRef<'_, f64>, vector: &[f64]) -> Vec<f64> {
    let d = vector.len();
    let mut out = Vec::with_capacity(d * (d + 3) / 2);
    out.extend_from_slice(vector);
    for j in 0..d {
        out.extend((j..d).map(|i| matrix[(i, j)]));
    }
    out
}

/// The inverse of [`pack`].
pub(super) fn unpack(d: usize, packed: &[f64]) -> (Mat<f64>, Vec<f64>) {
    let (vector, triangle) = packed.split_at(d);
    let mut matrix = Mat::zeros(d, d);
    let mut entries = triangle.iter();
    for j in 0..d {
        for (i, &entry) in (j..d).zip(entries.by_ref()) {
            matrix[(i, j)] = entry;
        }
    }
    (matrix, vector.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_undone() {
        let matrix = Mat::from_fn(4, 4, |i, j| if i >= j { 1.0 + 10.0 * i as f64 + j as f64 } else { 0.0 });
        let vector = vec![0.5, -1.0, 2.0, 7.0];
        assert_eq!(unpack(4, &pack(matrix.as_ref(), &vector)), (matrix, vector));
    }

    #[test]
    fn a_linear_map_is_solved_in_as_many_steps_as_it_has_dimensions() {
        // z ← Az + b with eigenvalues that plain iteration would need hundreds of steps for.
        let a = [0.99, -0.95, 0.5];
        let b = [1.0, 2.0, -3.0];
        let mut z = vec![0.0; 3];
        let mut accelerated = Anderson::default();
        for _ in 0..5 {
            let f: Vec<f64> = (0..3).map(|i| a[i] * z[i] + b[i] - z[i]).collect();
            z = accelerated.propose(&z, &f, &f).unwrap_or_else(|| z.iter().zip(&f).map(|(z, f)| z + f).collect());
        }
        for i in 0..3 {
            let fixed = b[i] / (1.0 - a[i]);
            assert!((z[i] - fixed).abs() < 1e-6 * fixed.abs(), "{i}: {} against {fixed}", z[i]);
        }
    }
}
