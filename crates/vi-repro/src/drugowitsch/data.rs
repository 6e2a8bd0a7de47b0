//! The settings of the published example scripts, drawn with our generator; and least squares, to compare with.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use vi_core::special::sigmoid;
use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef};
use vi_models::metrics;
use vi_models::vb::Relevance;

use crate::error::{Doing as _, ReproError};
pub(super) use crate::streams::generator;

/// A standard normal number by Box and Muller.
pub(super) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// `X[i, j] = x_iʲ`.
pub(super) fn powers(points: &[f64], columns: usize) -> Mat<f64> {
    #[expect(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "small powers")]
    Mat::from_fn(points.len(), columns, |i, j| points[i].powi(j as i32))
}

/// Rows, answers and the weights they were made from, for training and for testing.
pub(super) struct Sample {
    pub(super) x: Mat<f64>,
    pub(super) y: Vec<f64>,
    pub(super) test_x: Mat<f64>,
    pub(super) test_y: Vec<f64>,
    pub(super) w: Vec<f64>,
}

impl Sample {
    /// `y = Xw + N(0, 1)` for rows from `row`.
    pub(super) fn numbers(rng: &mut ChaCha8Rng, x: Mat<f64>, test_x: Mat<f64>, w: Vec<f64>) -> Self {
        let mut answer =
            |x: &Mat<f64>| -> Vec<f64> { predictors(x.as_ref(), &w).iter().map(|t| t + normal(rng)).collect() };
        let (y, test_y) = (answer(&x), answer(&test_x));
        Self { x, y, test_x, test_y, w }
    }

    /// Classes with probability `σ(Xw)`.
    pub(super) fn classes(rng: &mut ChaCha8Rng, x: Mat<f64>, test_x: Mat<f64>, w: Vec<f64>) -> Self {
        let mut answer = |x: &Mat<f64>| -> Vec<f64> {
            predictors(x.as_ref(), &w).iter().map(|t| f64::from(rng.random::<f64>() < sigmoid(*t))).collect()
        };
        let (y, test_y) = (answer(&x), answer(&test_x));
        Self { x, y, test_x, test_y, w }
    }

    /// `n` and `test` rows of `d` numbers in `[−½, ½]`, the first `informative` weights normal, the others 0.
    pub(super) fn sparse(
        rng: &mut ChaCha8Rng,
        (n, test, d): (usize, usize, usize),
        informative: usize,
        scale: f64,
        make: fn(&mut ChaCha8Rng, Mat<f64>, Mat<f64>, Vec<f64>) -> Self,
    ) -> Self {
        let x = Mat::from_fn(n, d, |_, _| rng.random::<f64>() - 0.5);
        let test_x = Mat::from_fn(test, d, |_, _| rng.random::<f64>() - 0.5);
        let w = (0..d).map(|j| if j < informative { scale * normal(rng) } else { 0.0 }).collect();
        make(rng, x, test_x, w)
    }
}

/// `Xw`.
pub(super) fn predictors(x: MatRef<'_, f64>, w: &[f64]) -> Vec<f64> {
    (0..x.nrows()).map(|i| x.row(i).iter().zip(w).map(|(x, w)| x * w).sum()).collect()
}

pub(super) fn mean_squared_error(x: MatRef<'_, f64>, y: &[f64], w: &[f64]) -> Result<f64, ReproError> {
    let root = metrics::rmse(&predictors(x, w), y).context("error")?;
    Ok(root * root)
}

/// The share of wrong classes when `p > ½` decides.
pub(super) fn wrong(probabilities: &[f64], y: &[f64]) -> Result<f64, ReproError> {
    Ok(1.0 - metrics::accuracy(probabilities, y).context("accuracy")?)
}

/// Least squares, of least norm where rows are fewer than columns: a ridge of 1e-9 of the rows' size.
pub(super) fn least_squares(x: MatRef<'_, f64>, y: &[f64]) -> Result<Vec<f64>, ReproError> {
    let d = x.ncols();
    let column = Mat::from_fn(y.len(), 1, |i, _| y[i]);
    let mut gram = x.transpose() * x;
    let ridge = 1e-9 * (0..d).map(|j| gram[(j, j)]).sum::<f64>() / d as f64;
    for j in 0..d {
        gram[(j, j)] += ridge;
    }
    let factor = Cholesky::new(gram.as_ref()).context("least squares")?;
    let w = factor.solve((x.transpose() * &column).as_ref()).context("least squares")?;
    Ok((0..d).map(|j| w[(j, 0)]).collect())
}

/// Fisher's linear discriminant for labels 0 and 1: least squares on −1 and 1, whose sign decides.
pub(super) fn discriminant(x: MatRef<'_, f64>, y: &[f64]) -> Result<Vec<f64>, ReproError> {
    least_squares(x, &y.iter().map(|y| 2.0 * y - 1.0).collect::<Vec<_>>())
}

/// The share of wrong classes of a discriminant's weights.
pub(super) fn wrong_by(x: MatRef<'_, f64>, y: &[f64], w: &[f64]) -> Result<f64, ReproError> {
    wrong(&predictors(x, w).iter().map(|t| sigmoid(*t)).collect::<Vec<_>>(), y)
}

/// Which of the columns ranked first are the informative ones, as a share.
pub(super) fn first_informative(ranking: &[Relevance], informative: usize) -> f64 {
    ranking[..informative].iter().filter(|r| r.index < informative).count() as f64 / informative as f64
}
