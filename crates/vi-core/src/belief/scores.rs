//! Joint distribution of several scores `xᵀθ`, for choosing among candidates.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_linalg::cholesky::{self, semidefinite_in_place};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::{product, symmetric_mul_mat};

use super::shared::Shared;
use super::{Belief, DenseGaussian, DiagonalGaussian, SquareRootGaussian};
use crate::{Error, Row};

/// The joint distribution `Xθ ~ N(Xμ, XPXᵀ)` of the scores of `k` rows under one Gaussian belief.
///
/// Rows that share inputs have correlated scores, and so do their draws: a draw of all scores has the distribution of drawing `θ`
/// once and scoring every row with it, without the `d` numbers of a `θ`.
///
/// ```
/// use rand::SeedableRng;
/// use vi_core::{DiagonalGaussian, GaussianBelief, Row};
/// let belief = DiagonalGaussian::isotropic(&[1.0; 1000], 2.0)?;
/// let (both, one) = (Row::from((&[3, 998], &[1.0, -2.0])), Row::from((&[3], &[1.0])));
/// let scores = belief.scores(&[both, one, one])?;
/// assert_eq!(scores.means(), [-1.0, 1.0, 1.0]);
/// assert_eq!((scores.covariance(0, 0), scores.covariance(0, 1), scores.covariance(2, 1)), (20.0, 4.0, 4.0));
/// let drawn = scores.draw(&mut rand_chacha::ChaCha8Rng::seed_from_u64(1));
/// assert_eq!(drawn[1], drawn[2]);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    means: Vec<f64>,
    /// Lower triangle.
    covariance: Mat<f64>,
}

impl Scores {
    /// From means and the lower triangle of their covariance.
    ///
    /// # Errors
    /// [`Error::Overflow`]; [`Error::NegativeVariance`] for one below what rounding of `scale_j` explains.
    pub(crate) fn new(means: Vec<f64>, mut covariance: Mat<f64>, scale: impl Fn(usize) -> f64) -> Result<Self, Error> {
        for (j, mean) in means.iter().enumerate() {
            let seen = super::Projection::new(*mean, covariance[(j, j)], scale(j))?;
            covariance[(j, j)] = seen.variance;
        }
        Ok(Self { means, covariance })
    }

    /// The means `Xμ`, length `k`.
    #[must_use]
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// The covariance `x_iᵀPx_j` of two scores.
    ///
    /// # Panics
    /// If an index is not below `k`, as slices do.
    #[must_use]
    #[track_caller]
    pub fn covariance(&self, i: usize, j: usize) -> f64 {
        self.covariance[(i.max(j), i.min(j))]
    }

    /// One joint draw of the `k` scores. Cost `k³/3` flops.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        self.spread(1.0, rng)
    }

    /// One joint draw with its deviation from the means multiplied by `spread`.
    pub fn spread<R: Rng + ?Sized>(&self, spread: f64, rng: &mut R) -> Vec<f64> {
        self.clone().factor().spread(spread, rng)
    }

    /// The distribution with the root of its covariance, for many draws. Cost `k³/3` flops.
    #[must_use]
    pub fn factor(self) -> FactoredScores {
        let Self { means, covariance: mut root } = self;
        let k = means.len();
        // What is left of a variance after k differences is rounding; a row that depends on earlier rows has no variance given
        // them.
        let rounding: Vec<f64> = (0..k).map(|j| 8.0 * k as f64 * f64::EPSILON * root[(j, j)]).collect();
        let _rounded = semidefinite_in_place(root.as_mut(), |j| rounding[j]);
        FactoredScores { means, root }
    }
}

/// [`Scores`] with the lower triangular root of their covariance, `XPXᵀ = LLᵀ`: each draw costs `k²` flops.
///
/// ```
/// use rand::SeedableRng;
/// use vi_core::{DiagonalGaussian, GaussianBelief, Row};
/// let belief = DiagonalGaussian::isotropic(&[1.0, 2.0], 2.0)?;
/// let scores = belief.scores(&[Row::Dense(&[1.0, 0.0]), Row::Dense(&[1.0, 1.0])])?;
/// let seed = || rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// assert_eq!(scores.clone().factor().spread(0.5, &mut seed()), scores.spread(0.5, &mut seed()));
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FactoredScores {
    means: Vec<f64>,
    /// Lower triangle.
    root: Mat<f64>,
}

impl FactoredScores {
    /// One joint draw with its deviation from the means multiplied by `spread`: `Xμ + spread·Lz`, `z` standard normal.
    pub fn spread<R: Rng + ?Sized>(&self, spread: f64, rng: &mut R) -> Vec<f64> {
        let k = self.means.len();
        let z: Vec<f64> = (0..k).map(|_| StandardNormal.sample(rng)).collect();
        let mut drawn = self.means.clone();
        for (j, z) in z.iter().enumerate() {
            for (drawn, l) in drawn[j..].iter_mut().zip(self.root.col(j).subrows(j, k - j).iter()) {
                *drawn += spread * z * l;
            }
        }
        drawn
    }
}

/// Checks rows of length `d`.
///
/// # Errors
/// [`Error::Row`] with what [`Row::check`] says.
pub(crate) fn check_rows(d: usize, rows: &[Row<'_>]) -> Result<(), Error> {
    rows.iter().enumerate().try_for_each(|(j, row)| row.check(d).map_err(|error| error.at_row(j)))
}

/// The rows written out with their zeros, as columns (`d × k`).
fn columns(d: usize, rows: &[Row<'_>]) -> Mat<f64> {
    let mut x = Mat::zeros(d, rows.len());
    for (j, row) in rows.iter().enumerate() {
        row.for_each(|i, value| x[(i, j)] = value);
    }
    x
}

/// The means `Xμ`, for rows written out with their zeros.
fn means(mean: &[f64], x: MatRef<'_, f64>) -> Vec<f64> {
    x.col_iter().map(|x| x.iter().zip(mean).map(|(x, mean)| x * mean).sum()).collect()
}

/// The scores under a dense belief. Cost `2d²k` flops.
pub(super) fn dense(belief: &DenseGaussian, rows: &[Row<'_>]) -> Result<Scores, Error> {
    check_rows(belief.dim(), rows)?;
    let x = columns(belief.dim(), rows);
    let mut gains = Mat::zeros(x.nrows(), x.ncols());
    symmetric_mul_mat(gains.as_mut(), Mat::as_ref(&belief.covariance_lower()), x.as_ref(), Par::Seq);
    let terms = |j: usize| x.col(j).iter().zip(gains.col(j).iter()).map(|(x, gain)| (x * gain).abs()).sum::<f64>();
    let rounding = |j| belief.dim() as f64 * f64::EPSILON * terms(j);
    Scores::new(means(belief.mean(), x.as_ref()), product(x.transpose(), gains.as_ref(), Par::Seq), rounding)
}

/// The scores under a square-root belief. Cost `d²k` flops.
pub(super) fn square_root(belief: &SquareRootGaussian, rows: &[Row<'_>]) -> Result<Scores, Error> {
    check_rows(belief.dim(), rows)?;
    let x = columns(belief.dim(), rows);
    let mut whitened = x.clone();
    cholesky::solve_lower_in_place(belief.root(), whitened.as_mut(), Par::Seq);
    let covariance = product(whitened.transpose(), whitened.as_ref(), Par::Seq);
    Scores::new(means(belief.mean(), x.as_ref()), covariance, |_| 0.0)
}

/// The scores under a diagonal belief; each coordinate that rows share is read once.
pub(super) fn diagonal(belief: &DiagonalGaussian, rows: &[Row<'_>]) -> Result<Scores, Error> {
    check_rows(belief.dim(), rows)?;
    let shared = Shared::new(rows);
    let mut means = vec![0.0; rows.len()];
    let mut variances = Vec::with_capacity(shared.positions().len());
    for (local, &i) in shared.positions().iter().enumerate() {
        let (mean, precision) = belief.moments(i);
        shared.entries(local).iter().for_each(|&(t, value)| means[t] += value * mean);
        variances.push(1.0 / precision);
    }
    let mut covariance = Mat::zeros(rows.len(), rows.len());
    shared.add_gram(&variances, covariance.as_mut());
    Scores::new(means, covariance, |_| 0.0)
}
