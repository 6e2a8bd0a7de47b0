//! Small generic fixtures: no identity, no zeros, no equal scales.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_core::{Belief, BernoulliLogit, Checkpoint, DenseGaussian, Error, Implicit, Mixture8, Rows, Site, SiteRule};
use vi_linalg::faer::{Mat, MatRef};

pub(crate) const LOGIT: BernoulliLogit<Mixture8> = BernoulliLogit(Mixture8);

/// The rule of R-VGA for classes.
pub(crate) const IMPLICIT: Implicit<BernoulliLogit> = Implicit(LOGIT);

/// A rule whose site is a function of `a`, `ν` and `y`, for any label.
#[derive(Clone, Copy)]
pub(crate) struct Made<F = fn(f64, f64, f64) -> Result<Site, Error>>(pub(crate) F);

impl<F: Fn(f64, f64, f64) -> Result<Site, Error>> SiteRule for Made<F> {
    fn check_label(&self, _label: f64) -> Result<(), Error> {
        Ok(())
    }
    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        (self.0)(a, nu, y)
    }
}

/// The curvature is the label's.
pub(crate) const CURVED: Made = Made(|a, _, y| Ok(Site { slope: 0.7 - 0.2 * a, curvature: y }));

/// A rule whose site leaves no Gaussian at one row of a pass, as a numerical breakdown in the middle of a run would.
pub(crate) fn fails_at(row: usize) -> impl SiteRule {
    let turn = std::cell::Cell::new(0);
    Made(move |_, _, _| {
        let curvature = if turn.replace(turn.get() + 1) == row { -1e9 } else { 0.2 };
        Ok(Site { slope: 0.1, curvature })
    })
}

/// The record of a state.
pub(crate) fn bytes<C: Checkpoint>(state: &C) -> Vec<u8> {
    let mut bytes = Vec::new();
    state.write_to(&mut bytes).unwrap();
    bytes
}

/// A prior, rows and classes.
pub(crate) fn problem(n: usize, d: usize, sigma: f64, seed: u64) -> (DenseGaussian, Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let start = prior(d, sigma, &mut rng);
    let inputs = rows(n, d, &mut rng);
    let y = labels(n, &mut rng);
    (start, inputs, y)
}

pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A correlated prior in `d` dimensions with standard deviations near `sigma`.
pub(crate) fn prior(d: usize, sigma: f64, rng: &mut ChaCha8Rng) -> DenseGaussian {
    let a = Mat::from_fn(d, d, |_, _| rng.sample::<f64, _>(StandardNormal));
    let gram = &a * a.transpose();
    let covariance =
        Mat::from_fn(d, d, |i, j| sigma * sigma * (0.3 * gram[(i, j)] / d as f64 + f64::from(u8::from(i == j))));
    let mean: Vec<f64> = (0..d).map(|i| 0.3 * (i as f64 + 1.0) * if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    DenseGaussian::new(&mean, covariance.as_ref()).unwrap()
}

/// `n` rows of inputs with `d` columns, row-major.
pub(crate) fn rows(n: usize, d: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    (0..n * d).map(|_| rng.sample::<f64, _>(StandardNormal)).collect()
}

pub(crate) fn labels(n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    (0..n).map(|_| f64::from(u8::from(rng.random_bool(0.5)))).collect()
}

pub(crate) fn view(rows: &[f64], d: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(rows, rows.len() / d, d)
}

/// Largest difference of the means in standard deviations of `b`, and of the covariances relative to `b`'s scale.
pub(crate) fn difference(a: &DenseGaussian, b: &DenseGaussian) -> f64 {
    let (pa, pb) = (a.covariance(), b.covariance());
    let mut worst = 0.0_f64;
    for i in 0..a.dim() {
        worst = worst.max((a.mean()[i] - b.mean()[i]).abs() / pb[(i, i)].sqrt());
        for j in 0..a.dim() {
            worst = worst.max((pa[(i, j)] - pb[(i, j)]).abs() / (pb[(i, i)] * pb[(j, j)]).sqrt());
        }
    }
    worst
}

/// Condition number of a belief's covariance, from its eigenvalues.
pub(crate) fn condition(belief: &DenseGaussian) -> f64 {
    let values = belief.covariance().self_adjoint_eigenvalues(vi_linalg::faer::Side::Lower).unwrap();
    values[values.len() - 1] / values[0]
}

/// Compressed sparse rows from the entries of each.
#[derive(Debug, Default, Clone)]
pub(crate) struct SparseTable {
    starts: Vec<usize>,
    positions: Vec<usize>,
    values: Vec<f64>,
}

impl SparseTable {
    pub(crate) fn new<'a>(entries: impl IntoIterator<Item = (&'a [usize], &'a [f64])>) -> Self {
        let mut table = Self { starts: vec![0], ..Self::default() };
        for (positions, values) in entries {
            table.positions.extend_from_slice(positions);
            table.values.extend_from_slice(values);
            table.starts.push(table.positions.len());
        }
        table
    }

    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows::Sparse { starts: &self.starts, positions: &self.positions, values: &self.values }
    }
}
