//! The rows of a linear model, reduced to the fewest that hold all that a fit needs.

use vi_core::Error;
use vi_linalg::eigen::eigen;
use vi_linalg::faer::diag::Diag;
use vi_linalg::faer::dyn_stack::{MemBuffer, MemStack};
use vi_linalg::faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};
use vi_linalg::faer::linalg::svd::{self, ComputeSvdVectors};
use vi_linalg::faer::{Mat, MatRef, Par, Spec};
use vi_linalg::kernels::add_lower_product;

use super::super::no_spectrum;
use crate::ModelError;
use crate::whitened::product;

/// The number of rows copied at once.
const CHUNK: usize = 64;

/// At most `d` rows with `‖y − Xw‖² = ‖y_kept − X_kept·w‖² + rest` for every `w`.
///
/// With more rows than columns `[X y] = QR` takes them to the triangle `[R z; 0 ρ]`: nothing is squared, so residuals keep
/// the digits they have in the rows, and an iteration sees `d` rows instead of `n`.
pub(in crate::vb) struct Rows<'a> {
    triangle: Option<Mat<f64>>,
    all: MatRef<'a, f64>,
    pub(in crate::vb) y: Vec<f64>,
    pub(in crate::vb) rest: f64,
}

impl<'a> Rows<'a> {
    /// Cost `2n(d+1)²` flops for `n > d`.
    pub(in crate::vb) fn new(x: MatRef<'a, f64>, y: &[f64], par: Par) -> Self {
        let (n, d) = x.shape();
        if n <= d {
            return Self { triangle: None, all: x, y: y.to_vec(), rest: 0.0 };
        }
        let mut both = Mat::zeros(n, d + 1);
        // A few rows at a time, so that their cache lines stay until all their columns have been read.
        for first in (0..n).step_by(CHUNK) {
            let count = CHUNK.min(n - first);
            both.as_mut().submatrix_mut(first, 0, count, d).copy_from(x.subrows(first, count));
        }
        for (both, y) in both.col_mut(d).iter_mut().zip(y) {
            *both = *y;
        }
        let block = recommended_block_size::<f64>(n, d + 1);
        let mut coefficients = Mat::zeros(block, d + 1);
        let mut memory = MemBuffer::new(qr_in_place_scratch::<f64>(n, d + 1, block, par, Spec::default()));
        qr_in_place(both.as_mut(), coefficients.as_mut(), par, MemStack::new(&mut memory), Spec::default());
        let triangle = Mat::from_fn(d, d, |i, j| if i <= j { both[(i, j)] } else { 0.0 });
        let kept = (0..d).map(|i| both[(i, d)]).collect();
        let rest = both[(d, d)] * both[(d, d)];
        Self { triangle: Some(triangle), all: x, y: kept, rest }
    }

    pub(in crate::vb) fn x(&self) -> MatRef<'_, f64> {
        self.triangle.as_ref().map_or(self.all, Mat::as_ref)
    }

    /// Whether all rows were kept, because there are no more of them than columns.
    pub(super) fn few(&self) -> bool {
        self.triangle.is_none()
    }

    /// `XXᵀ` (lower triangle), if all rows were kept. Cost `n²d` flops.
    pub(super) fn gram(&self, par: Par) -> Option<Mat<f64>> {
        self.few().then(|| {
            let (x, m) = (self.x(), self.x().nrows());
            let mut gram = Mat::zeros(m, m);
            add_lower_product(gram.as_mut(), x, x.transpose(), par);
            gram
        })
    }

    /// The spectrum from [`gram`](Self::gram). Cost of an eigendecomposition of `n × n`, or a singular value decomposition of `d
    /// × d`.
    pub(super) fn spectrum(&self, gram: Option<&Mat<f64>>, par: Par) -> Result<Spectrum, ModelError> {
        let (x, m) = (self.x(), self.x().nrows());
        let (values, left) = if let Some(gram) = gram {
            eigen(gram.as_ref(), par).map_err(no_spectrum)?
        } else {
            let (mut left, mut values) = (Mat::zeros(m, m), Diag::zeros(m));
            let (none, thin) = (ComputeSvdVectors::No, ComputeSvdVectors::Thin);
            let mut memory = MemBuffer::new(svd::svd_scratch::<f64>(m, m, thin, none, par, Spec::default()));
            let (stack, vectors) = (MemStack::new(&mut memory), Some(left.as_mut()));
            svd::svd(x, values.as_mut(), vectors, None, par, stack, Spec::default())
                .map_err(|_| Error::Overflow { quantity: "the spectrum of X", value: f64::NAN })?;
            ((0..m).map(|k| values[k]).collect(), left)
        };
        // XXᵀ has no negative eigenvalue: a result below 0 is 0 to rounding.
        let square = |value: f64| if self.few() { value.max(0.0) } else { value * value };
        Ok(Spectrum {
            values: values.into_iter().map(square).collect(),
            along: product(left.transpose(), &self.y),
            null: x.ncols() - m,
            rest: self.rest,
        })
    }
}

/// A ridge regression with a shared precision in the basis of its singular vectors: `X = U·diag(√s)·Qᵀ`, `u = Uᵀy`.
pub(super) struct Spectrum {
    /// `s`.
    values: Vec<f64>,
    /// `u`.
    along: Vec<f64>,
    /// The number of directions of `w` that no row sees.
    null: usize,
    rest: f64,
}

/// The sums of the ridge solution at `α` that an iteration needs.
pub(super) struct RidgeSums {
    /// `‖y − Xw‖²`.
    pub(super) squared_error: f64,
    /// `‖w‖²`.
    pub(super) squared_norm: f64,
    /// `tr V`.
    pub(super) trace: f64,
    /// `Σ xᵀVx = tr(XVXᵀ)`.
    pub(super) fitted_trace: f64,
    /// `ln|V|`.
    pub(super) log_det: f64,
}

impl Spectrum {
    /// The sums at `alpha`. Each has terms of one sign, so that no digits are lost, whatever the condition. Cost `min(n, d)`
    /// logarithms.
    pub(super) fn at(&self, alpha: f64) -> RidgeSums {
        let null = self.null as f64;
        let mut sums = RidgeSums {
            squared_error: self.rest,
            squared_norm: 0.0,
            trace: null / alpha,
            fitted_trace: 0.0,
            log_det: -null * alpha.ln(),
        };
        for (s, u) in self.values.iter().zip(&self.along) {
            let variance = 1.0 / (s + alpha);
            let shrunk = u * variance;
            sums.squared_error += (alpha * shrunk) * (alpha * shrunk);
            sums.squared_norm += s * shrunk * shrunk;
            sums.trace += variance;
            sums.fitted_trace += s * variance;
            sums.log_det += variance.ln();
        }
        sums
    }
}
