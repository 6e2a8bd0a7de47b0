//! The input covariance of R-VGA eq (91): eigenvalues 1/k^c in random directions.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
};
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};
use faer::{Conj, Mat, Par, Spec};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::positive;
use crate::DataError;

/// How the eigenvalues λ_k = 1/k^c of eq (91) are normalised.
///
/// The paper and the program behind its figures differ; the two agree for c = 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Normalisation {
    /// λ/‖λ‖₂², as in the program behind the figures. The trace is Σλ/Σλ²: 1 for c = 0, below 1.53 for c = 2, but growing as log
    /// d for c = 1.
    #[default]
    AsRun,
    /// λ/Σλ, so that the trace is 1, as the paper prints (§6): inputs divided by ‖std(x)‖, with the true standard deviations in
    /// place of the sample's.
    AsPrinted,
}

impl Normalisation {
    fn eigenvalues(self, d: usize, c: f64) -> Vec<f64> {
        let raw: Vec<f64> = (1..=d).map(|k| (k as f64).powf(-c)).collect();
        let divisor: f64 = match self {
            Self::AsRun => raw.iter().map(|value| value * value).sum(),
            Self::AsPrinted => raw.iter().sum(),
        };
        raw.iter().map(|value| value / divisor).collect()
    }
}

/// The covariance C = Mᵀ·diag(λ)·M with λ_k ∝ 1/k^c, k = 1…d, and M a random orthogonal matrix (R-VGA eq 91).
///
/// M is uniform over the orthogonal group. For c = 0, C is isotropic for any M, so none is drawn and nothing of size d² is
/// stored.
///
/// ```
/// use rand::SeedableRng;
/// use vi_data::synthetic::{InputCovariance, Normalisation};
///
/// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// let covariance = InputCovariance::new(2, 1.0, Normalisation::AsRun, &mut rng)?;
/// // λ = (1, 1/2) divided by 1 + 1/4.
/// assert_eq!(covariance.eigenvalues(), [0.8, 0.4]);
/// # Ok::<(), vi_data::DataError>(())
/// ```
#[derive(Debug, Clone)]
pub struct InputCovariance {
    eigenvalues: Vec<f64>,
    /// Mᵀ: column k is the direction of eigenvalue k.
    directions: Option<Mat<f64>>,
}

impl InputCovariance {
    /// Draws the directions for dimension `d` and exponent `c` (0: isotropic; larger: worse
    /// conditioned, condition number d^c). Cost O(d³), O(d) for c = 0.
    ///
    /// # Errors
    /// [`DataError::Setting`] for d = 0, or for a `c` that is not finite or that takes d^|c| out
    /// of the range of a double.
    pub fn new<R: Rng + ?Sized>(
        d: usize,
        c: f64,
        normalisation: Normalisation,
        rng: &mut R,
    ) -> Result<Self, DataError> {
        positive("d", d)?;
        let eigenvalues = normalisation.eigenvalues(d, c);
        if !c.is_finite() || eigenvalues.iter().any(|value| !value.is_normal()) {
            return Err(DataError::Setting {
                setting: "c",
                value: c.to_string(),
                requirement: "finite, with d^|c| in the range of a double",
            });
        }
        let directions = (c != 0.0).then(|| random_orthogonal(d, rng));
        Ok(Self { eigenvalues, directions })
    }

    /// Dimension d.
    #[must_use]
    pub fn d(&self) -> usize {
        self.eigenvalues.len()
    }

    /// The eigenvalues after normalisation, in the order k = 1…d.
    #[must_use]
    pub fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    /// C itself, d × d, both triangles. Cost O(d³), O(d²) for c = 0.
    #[must_use]
    pub fn dense(&self) -> Mat<f64> {
        let d = self.d();
        match &self.directions {
            None => Mat::from_fn(d, d, |i, j| if i == j { self.eigenvalues[i] } else { 0.0 }),
            Some(q) => Mat::from_fn(d, d, |i, j| (0..d).map(|k| q[(i, k)] * self.eigenvalues[k] * q[(j, k)]).sum()),
        }
    }

    /// C⁻¹·v for v of length d. Cost O(d²), O(d) for c = 0.
    ///
    /// # Errors
    /// [`DataError::Length`] if v has another length.
    pub fn solve(&self, v: &[f64]) -> Result<Vec<f64>, DataError> {
        if v.len() != self.d() {
            return Err(DataError::Length { argument: "v", expected: self.d(), found: v.len() });
        }
        let Some(q) = &self.directions else {
            return Ok(v.iter().zip(&self.eigenvalues).map(|(a, b)| a / b).collect());
        };
        let mut out = vec![0.0; v.len()];
        for (direction, &eigenvalue) in q.col_iter().zip(&self.eigenvalues) {
            let along: f64 = direction.iter().zip(v).map(|(q, v)| q * v).sum();
            for (out, q) in out.iter_mut().zip(direction.iter()) {
                *out += q * along / eigenvalue;
            }
        }
        Ok(out)
    }

    /// Adds one draw of N(0, C) to `x`, of length d. Cost O(d²), O(d) for c = 0.
    pub(super) fn add_draw<R: Rng + ?Sized>(&self, x: &mut [f64], rng: &mut R) {
        for (k, &eigenvalue) in self.eigenvalues.iter().enumerate() {
            let z: f64 = StandardNormal.sample(rng);
            let step = eigenvalue.sqrt() * z;
            match &self.directions {
                None => x[k] += step,
                Some(q) => {
                    for (x, q) in x.iter_mut().zip(q.col(k).iter()) {
                        *x += step * q;
                    }
                }
            }
        }
    }
}

/// A draw from the uniform distribution over the d × d orthogonal matrices: Q of a Gaussian
/// matrix G = QR, with the signs chosen such that R has a positive diagonal. Without that choice
/// the distribution would depend on the convention of the factorisation. Cost O(d³).
fn random_orthogonal<R: Rng + ?Sized>(d: usize, rng: &mut R) -> Mat<f64> {
    // One thread, so that the bits do not depend on how many there are.
    let par = Par::Seq;
    let mut factor: Mat<f64> = Mat::zeros(d, d);
    for j in 0..d {
        for i in 0..d {
            factor[(i, j)] = StandardNormal.sample(rng);
        }
    }
    let block = recommended_block_size::<f64>(d, d);
    let mut coefficients = Mat::zeros(block, d);
    let request = qr_in_place_scratch::<f64>(d, d, block, par, Spec::default())
        .or(apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(d, block, d));
    let mut memory = MemBuffer::new(request);
    let stack = MemStack::new(&mut memory);
    qr_in_place(factor.as_mut(), coefficients.as_mut(), par, stack, Spec::default());
    let mut q = Mat::from_fn(d, d, |i, j| match (i == j, factor[(j, j)] < 0.0) {
        (false, _) => 0.0,
        (true, false) => 1.0,
        (true, true) => -1.0,
    });
    apply_block_householder_sequence_on_the_left_in_place_with_conj(
        factor.as_ref(),
        coefficients.as_ref(),
        Conj::No,
        q.as_mut(),
        par,
        stack,
    );
    q
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn rng(seed: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(seed)
    }

    /// ‖QᵀQ − I‖∞ of a d × d product of Householder reflections: a few d·ε.
    fn orthogonality_tolerance(d: usize) -> f64 {
        10.0 * d as f64 * f64::EPSILON
    }

    #[test]
    fn eigenvalues_as_run_and_as_printed() {
        // λ = (1, 1/4, 1/9): Σλ = 49/36, Σλ² = 1393/1296.
        let tolerance = 4.0 * f64::EPSILON;
        for (normalisation, divisor) in
            [(Normalisation::AsRun, 1393.0 / 1296.0), (Normalisation::AsPrinted, 49.0 / 36.0)]
        {
            let found = normalisation.eigenvalues(3, 2.0);
            for (found, raw) in found.iter().zip([1.0, 0.25, 1.0 / 9.0]) {
                assert!((found - raw / divisor).abs() <= tolerance * raw);
            }
        }
    }

    #[test]
    fn the_random_matrix_is_orthogonal() {
        for d in [1, 2, 3, 10, 60] {
            let q = random_orthogonal(d, &mut rng(d as u64));
            let gram = q.transpose() * &q;
            for i in 0..d {
                for j in 0..d {
                    let wanted = if i == j { 1.0 } else { 0.0 };
                    assert!((gram[(i, j)] - wanted).abs() <= orthogonality_tolerance(d));
                }
            }
        }
    }

    #[test]
    fn the_random_matrix_is_uniform_in_sign_and_in_angle() {
        // Uniform over the orthogonal group of order 2: (q00, q10) = (cos φ, sin φ) with φ uniform,
        // and a determinant of either sign. Means of N draws of variance 1/2, 1/8 (cos², φ uniform)
        // and 1: six standard deviations.
        let draws = 4000;
        let mut generator = rng(5);
        let (mut first, mut square, mut corner, mut determinant) = (0.0, 0.0, 0.0, 0.0);
        for _ in 0..draws {
            let q = random_orthogonal(2, &mut generator);
            first += q[(0, 0)];
            square += q[(0, 0)].powi(2) - 0.5;
            corner += q[(1, 1)];
            determinant += q[(0, 0)] * q[(1, 1)] - q[(0, 1)] * q[(1, 0)];
        }
        let root = f64::from(draws).sqrt();
        assert!((first / root).abs() < 6.0 * 0.5_f64.sqrt());
        assert!((corner / root).abs() < 6.0 * 0.5_f64.sqrt());
        assert!((square / root).abs() < 6.0 * 0.125_f64.sqrt());
        assert!((determinant / root).abs() < 6.0);
    }

    #[test]
    fn the_dense_matrix_has_the_eigenvalues_and_solve_inverts_it() {
        let d = 7;
        for c in [0.0, 1.5] {
            let covariance = InputCovariance::new(d, c, Normalisation::AsRun, &mut rng(3)).unwrap();
            let dense = covariance.dense();
            let found = dense.self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
            let mut wanted = covariance.eigenvalues().to_vec();
            wanted.sort_by(f64::total_cmp);
            for (found, wanted) in found.iter().zip(&wanted) {
                assert!((found - wanted).abs() <= orthogonality_tolerance(d));
            }
            let v: Vec<f64> = (0..d).map(|k| 1.0 - 0.3 * k as f64).collect();
            let solved = covariance.solve(&v).unwrap();
            let condition = (d as f64).powf(c);
            for (i, wanted) in v.iter().enumerate() {
                let back: f64 = (0..d).map(|k| dense[(i, k)] * solved[k]).sum();
                assert!((back - wanted).abs() <= orthogonality_tolerance(d) * condition);
            }
        }
    }

    #[test]
    fn the_draws_have_the_covariance() {
        let (d, draws) = (3, 20_000);
        for c in [0.0, 2.0] {
            let mut generator = rng(8);
            let covariance = InputCovariance::new(d, c, Normalisation::AsPrinted, &mut generator).unwrap();
            let dense = covariance.dense();
            let mut sum = [[0.0; 3]; 3];
            for _ in 0..draws {
                let mut x = [0.0; 3];
                covariance.add_draw(&mut x, &mut generator);
                for i in 0..d {
                    for j in 0..d {
                        sum[i][j] += x[i] * x[j];
                    }
                }
            }
            for i in 0..d {
                for j in 0..d {
                    // Var xᵢxⱼ = CᵢᵢCⱼⱼ + Cᵢⱼ²
                    let variance = dense[(i, i)] * dense[(j, j)] + dense[(i, j)].powi(2);
                    let error = sum[i][j] / f64::from(draws) - dense[(i, j)];
                    assert!(error.abs() <= 6.0 * (variance / f64::from(draws)).sqrt());
                }
            }
        }
    }

    #[test]
    fn bad_settings_are_named() {
        let make = |d, c| InputCovariance::new(d, c, Normalisation::AsRun, &mut rng(0));
        assert!(matches!(make(0, 1.0), Err(DataError::Setting { setting: "d", .. })));
        for c in [f64::NAN, f64::INFINITY, -f64::INFINITY, 1e4, -1e4] {
            assert!(matches!(make(3, c), Err(DataError::Setting { setting: "c", .. })));
        }
        assert!(matches!(
            make(2, 1.0).unwrap().solve(&[1.0]),
            Err(DataError::Length { argument: "v", expected: 2, found: 1 })
        ));
    }
}
