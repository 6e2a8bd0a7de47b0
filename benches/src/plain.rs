//! The textbook belief: what one writes first, the baseline of the dense filters.

use vi_core::{Belief, Error, Projection, Row, Site};
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};

/// The name under which [`PlainGaussian`] stands in reports.
pub const PLAIN: &str = "plain faer";

/// `θ ~ N(μ, P)` with `P` (`d × d`) full: `Px` is faer's matrix-vector product, and `P ← P − c·(Px)(Px)ᵀ` its
/// product of a column with a row, on the whole square, on one thread.
///
/// The same rules drive it as the library's own belief, so a comparison is one of the linear algebra alone.
#[derive(Debug, Clone)]
pub struct PlainGaussian {
    mean: Vec<f64>,
    covariance: Mat<f64>,
}

impl PlainGaussian {
    /// The belief `N(0, σ₀²·I)` in dimension `d`.
    #[must_use]
    pub fn isotropic(d: usize, sigma0: f64) -> Self {
        let covariance = Mat::from_fn(d, d, |i, j| if i == j { sigma0 * sigma0 } else { 0.0 });
        Self { mean: vec![0.0; d], covariance }
    }

    /// The covariance `P`.
    #[must_use]
    pub fn covariance(&self) -> MatRef<'_, f64> {
        self.covariance.as_ref()
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Memory of a step.
#[derive(Debug, Default)]
pub struct PlainStep {
    gain: Vec<f64>,
    projection: Projection,
    site: Site,
}

impl Belief for PlainGaussian {
    type Step = PlainStep;

    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// It does not forget.
    fn project(&self, x: Row<'_>, _fade: f64, step: &mut PlainStep) -> Result<Projection, Error> {
        let (d, mut memory) = (self.mean.len(), Vec::new());
        let x = x.written_out(d, &mut memory);
        step.gain.resize(d, 0.0);
        let column = MatRef::from_column_major_slice(x, d, 1);
        let product = MatMut::from_column_major_slice_mut(&mut step.gain, d, 1);
        matmul(product, Accum::Replace, self.covariance.as_ref(), column, 1.0, Par::Seq);
        step.projection = Projection { mean: dot(x, &self.mean), variance: dot(x, &step.gain) };
        Ok(step.projection)
    }

    fn prepare(&self, _x: Row<'_>, site: Site, step: &mut PlainStep) -> Result<(), Error> {
        step.site = site;
        Ok(())
    }

    fn commit(&mut self, _x: Row<'_>, step: &mut PlainStep) {
        let PlainStep { gain, projection, site } = step;
        let e = site.gain(projection.variance);
        for (mean, gain) in self.mean.iter_mut().zip(gain.iter()) {
            *mean += e * gain;
        }
        let column = MatRef::from_column_major_slice(gain, gain.len(), 1);
        let c = site.shrinkage(projection.variance);
        matmul(self.covariance.as_mut(), Accum::Add, column, column.transpose(), -c, Par::Seq);
    }
}

#[cfg(test)]
mod tests {
    use vi_core::{BernoulliLogit, DenseGaussian, Implicit, ProbitApproximation, filter};

    use super::*;
    use crate::stream::Stream;

    #[test]
    fn it_computes_what_the_library_computes() {
        let (d, n) = (13, 40);
        let stream = Stream::new(d, n);
        let rule = Implicit(BernoulliLogit(ProbitApproximation));
        let mut plain = PlainGaussian::isotropic(d, 2.0);
        let mut dense = DenseGaussian::isotropic(&vec![0.0; d], 2.0).unwrap();
        filter::run(&mut plain, &rule, stream.inputs(), stream.labels(), |_, _, _| {}).unwrap();
        filter::run(&mut dense, &rule, stream.inputs(), stream.labels(), |_, _, _| {}).unwrap();
        // n updates of entries of size σ₀² = 4, each with sums of d terms.
        let tolerance = (n * d) as f64 * f64::EPSILON * 4.0;
        assert!(plain.mean().iter().any(|mean| mean.abs() > 0.1));
        for j in 0..d {
            assert!((plain.mean()[j] - dense.mean()[j]).abs() < tolerance);
            for i in 0..d {
                assert!((plain.covariance()[(i, j)] - dense.covariance()[(i, j)]).abs() < tolerance);
            }
        }
    }
}
