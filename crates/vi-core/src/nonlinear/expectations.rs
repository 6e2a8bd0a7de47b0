//! Slope and curvature of an observation, averaged over draws.

use rand::Rng;
use vi_linalg::cholesky::semidefinite_in_place;
use vi_linalg::faer::dyn_stack::{MemBuffer, MemStack};
use vi_linalg::faer::linalg::qr::no_pivoting::factor as qr;
use vi_linalg::faer::{Mat, MatRef, Par, Spec};

use super::{NaturalMap, NonlinearModel, OutputFamily, Sampling};
use crate::belief::Belief;
use crate::check;
use crate::{Error, LowRankGaussian};

/// Slope and curvature of an observation under a belief `q`, by draws.
pub(super) struct Expectations {
    /// `X` with `XXᵀ ≈ E_q[(∂h/∂θ)·Cov(y|θ)·(∂h/∂θ)ᵀ]`, `d × Km`; if it has more columns than rows, its triangular factor (`d ×
    /// d`).
    pub(super) x: Mat<f64>,
    /// `E_q[∇log p(y|θ)] = E_q[(∂h/∂θ)(T(y) − E[T|θ])]`, length `d`.
    pub(super) slope: Vec<f64>,
}

impl Expectations {
    /// Equations (44)-(46) at the draws `theta` (`d × K`). Cost `K` products of the derivative with `m + 1` columns.
    ///
    /// # Errors
    /// [`Error::NonFinite`], [`Error::NotPositiveDefinite`] for what the model returns.
    pub(super) fn new<H: NaturalMap, F: OutputFamily>(
        model: &NonlinearModel<H, F>,
        theta: MatRef<'_, f64>,
        x: &[f64],
        y: &[f64],
        par: Par,
    ) -> Result<Self, Error> {
        let (d, draws, m) = (theta.nrows(), theta.ncols(), model.map().outputs());
        let mut sum = Self { x: Mat::zeros(d, draws * m), slope: vec![0.0; d] };
        let (mut eta, mut score) = (vec![0.0; m], vec![0.0; m]);
        let mut covariance = Mat::zeros(m, m);
        let mut v = Mat::zeros(m, m + 1);
        let mut c = Mat::<f64>::zeros(d, m + 1);
        let mut point = vec![0.0; d];
        for i in 0..draws {
            for (point, value) in point.iter_mut().zip(theta.col(i).iter()) {
                *point = *value;
            }
            model.map().evaluate(&point, x, &mut eta);
            check::finite("h(θ, x)", &eta)?;
            model.family().score(y, &eta, &mut score);
            model.family().covariance(&eta, covariance.as_mut());
            root(&mut covariance)?;
            for k in 0..m {
                for j in 0..=k {
                    v[(k, j)] = covariance[(k, j)] / (draws as f64).sqrt();
                }
                v[(k, m)] = score[k] / draws as f64;
            }
            model.map().pull_back(&point, x, v.as_ref(), c.as_mut());
            sum.x.as_mut().subcols_mut(i * m, m).copy_from(c.as_ref().subcols(0, m));
            for (slope, c) in sum.slope.iter_mut().zip(c.col(m).iter()) {
                *slope += c;
            }
        }
        check::finite("E[∇log p]", &sum.slope)?;
        vi_linalg::check::finite_matrix("X", sum.x.as_ref())?;
        if draws * m > d {
            sum.x = triangular(sum.x.transpose().to_owned(), par);
        }
        Ok(sum)
    }
}

/// Overwrites the lower triangle of `C = Cov(y|θ)` (`m × m`), which may be singular, by `R` with `RRᵀ = C`, to `8mε` of the largest variance.
/// Cost `m³/3`.
///
/// # Errors
/// [`Error::NonFinite`], or [`Error::NotPositiveDefinite`] for a pivot below that.
pub(super) fn root(c: &mut Mat<f64>) -> Result<(), Error> {
    let (argument, m) = ("Cov(y|θ)", c.nrows());
    for j in 0..m {
        for i in j..m {
            if !c[(i, j)].is_finite() {
                return Err(Error::NonFinite { argument, index: j * m + i, value: c[(i, j)] });
            }
        }
    }
    let largest = (0..m).map(|j| c[(j, j)]).fold(0.0, f64::max);
    let rounding = 8.0 * m as f64 * f64::EPSILON * largest;
    let below = semidefinite_in_place(c.as_mut(), |_| rounding);
    below.map_or(Ok(()), |(pivot, _)| Err(Error::NotPositiveDefinite { argument, pivot }))
}

/// `Rᵀ` (`d × d`, lower triangular) of `A = QR`, for `A` of more than `d` rows: `AᵀA = RᵀR`.
fn triangular(mut a: Mat<f64>, par: Par) -> Mat<f64> {
    let (n, d) = a.shape();
    let block = qr::recommended_block_size::<f64>(n, d);
    let mut reflectors = Mat::zeros(block, d);
    let scratch = qr::qr_in_place_scratch::<f64>(n, d, block, par, Spec::default());
    let mut memory = MemBuffer::new(scratch);
    qr::qr_in_place(a.as_mut(), reflectors.as_mut(), par, MemStack::new(&mut memory), Spec::default());
    Mat::from_fn(d, d, |i, j| if i >= j { a[(j, i)] } else { 0.0 })
}

/// `K` new draws from the belief, the columns of the result (`d × K`).
///
/// # Errors
/// Those of [`LowRankGaussian::draws`].
pub(super) fn draw<R: Rng + ?Sized>(
    belief: &LowRankGaussian,
    draws: usize,
    sampling: Sampling,
    rng: &mut R,
    par: Par,
) -> Result<Mat<f64>, Error> {
    match sampling {
        Sampling::Independent => belief.draws(draws, rng, par),
        Sampling::Antithetic => {
            let half = belief.draws(draws / 2, rng, par)?;
            let mean = belief.mean();
            Ok(Mat::from_fn(half.nrows(), draws, |i, k| {
                let value = half[(i, k / 2)];
                if k % 2 == 0 { value } else { 2.0 * mean[i] - value }
            }))
        }
    }
}
