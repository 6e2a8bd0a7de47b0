//! The observations that filters are timed on.

use rand::SeedableRng;
use rand::distr::{Distribution, StandardUniform};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_core::special::sigmoid;
use vi_linalg::faer::MatRef;

/// Standard deviation of the prior that every timed filter starts from.
pub const SIGMA0: f64 = 2.0;

/// `n` observations in dimension `d`, distributed as in `python/plain_numpy.py`: `xᵢ ~ N(0, I/d)`, `θ ~ N(0, I)`,
/// `P(y = 1) = s(3xᵀθ)`. Rows are contiguous. The same `d` and `n` give the same numbers.
#[derive(Debug, Clone)]
pub struct Stream {
    d: usize,
    inputs: Vec<f64>,
    labels: Vec<f64>,
    responses: Vec<f64>,
}

impl Stream {
    /// `n` observations of dimension `d`.
    #[must_use]
    pub fn new(d: usize, n: usize) -> Self {
        let rng = &mut ChaCha8Rng::seed_from_u64(0);
        let mut normals = |count: usize, scale: f64| -> Vec<f64> {
            (0..count).map(|_| Distribution::<f64>::sample(&StandardNormal, rng) * scale).collect()
        };
        let theta = normals(d, 1.0);
        let inputs = normals(n * d, 1.0 / (d as f64).sqrt());
        let responses: Vec<f64> =
            inputs.chunks(d).map(|x| 3.0 * x.iter().zip(&theta).map(|(x, t)| x * t).sum::<f64>()).collect();
        let uniform = || Distribution::<f64>::sample(&StandardUniform, rng);
        let uniforms: Vec<f64> = std::iter::repeat_with(uniform).take(n).collect();
        let labels = responses.iter().zip(uniforms).map(|(t, u)| f64::from(u < sigmoid(*t))).collect();
        Self { d, inputs, labels, responses }
    }

    /// Number of observations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Dimension.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.d
    }

    /// The inputs, `n × d`.
    #[must_use]
    pub fn inputs(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.inputs, self.len(), self.d)
    }

    /// The rows one by one.
    pub fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.inputs.chunks(self.d)
    }

    /// Labels 0 and 1, length `n`.
    #[must_use]
    pub fn labels(&self) -> &[f64] {
        &self.labels
    }

    /// Real responses `3xᵀθ`, length `n`, for linear models.
    #[must_use]
    pub fn responses(&self) -> &[f64] {
        &self.responses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_labels_and_repetition() {
        let stream = Stream::new(7, 500);
        assert_eq!((stream.len(), stream.dim(), stream.rows().count()), (500, 7, 500));
        assert_eq!(stream.inputs()[(3, 2)], stream.rows().nth(3).unwrap()[2]);
        assert!(stream.labels().iter().all(|y| *y == 0.0 || *y == 1.0));
        // The labels follow the responses: right far more often than the half of a coin (500 throws, 6σ = 67).
        let agree = stream.labels().iter().zip(stream.responses()).filter(|(y, t)| (**y > 0.5) == (**t > 0.0)).count();
        assert!(agree > 250 + 67, "{agree}");
        assert_eq!(stream.labels(), Stream::new(7, 500).labels());
    }
}
