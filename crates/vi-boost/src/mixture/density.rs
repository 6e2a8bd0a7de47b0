//! The density of a mixture, its gradient and Hessian, on many points at once.

use pulp::Simd;
use vi_core::special::lanes;
use vi_linalg::faer::{Mat, MatMut, MatRef};

use super::GaussianMixture;
use crate::BoostError;
use crate::block::{Block, blocks};
use crate::target::LogDensity;
use vi_core::check;

/// The results of an evaluation, for one block of points.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scratch {
    /// `log N_k(θ_i)`, one vector for each component.
    pub(crate) log: Vec<Vec<f64>>,
    /// `Σ_k⁻¹(θ_i − μ_k)`, one block for each component, if asked for.
    pub(crate) solved: Vec<Block>,
    /// `log q(θ_i)`.
    pub(crate) total: Vec<f64>,
}

impl GaussianMixture {
    /// Evaluates every component and the mixture on one block; `solve` keeps what the gradient needs.
    pub(crate) fn evaluate(&self, x: &Block, scratch: &mut Scratch, solve: bool) {
        scratch.log.resize_with(self.len(), Vec::new);
        scratch.solved.resize_with(self.len(), Block::default);
        for (k, component) in self.components.iter().enumerate() {
            scratch.log[k].resize(x.rows(), 0.0);
            component.evaluate(x, &mut scratch.log[k], &mut scratch.solved[k], solve);
        }
        log_sum_exp(&scratch.log, &self.log_weights, x.rows(), &mut scratch.total);
    }

    /// Adds `scale·∇log q(θ_i)` to `out`, from the results of [`evaluate`](Self::evaluate).
    pub(crate) fn add_gradient(&self, scratch: &Scratch, scale: f64, out: &mut Block) {
        let mut r = vec![0.0; scratch.total.len()];
        for (k, log_weight) in self.log_weights.iter().enumerate() {
            responsibilities(&scratch.log[k], *log_weight, &scratch.total, &mut r);
            for j in 0..out.columns() {
                // ∇log N_k = −Σ_k⁻¹(θ−μ_k)
                for ((out, r), s) in out.col_mut(j).iter_mut().zip(&r).zip(scratch.solved[k].col(j)) {
                    *out -= scale * r * s;
                }
            }
        }
    }

    /// The log-density `log q(θ)` of the mixture, in nats. Cost `K·d²` for full components.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Dimension`, `NonFinite`.
    pub fn log_density(&self, theta: &[f64]) -> Result<f64, BoostError> {
        check::length("theta", self.dim(), theta.len())?;
        check::finite("theta", theta)?;
        let mut scratch = Scratch::default();
        self.evaluate(&Block::point(theta), &mut scratch, false);
        Ok(scratch.total[0])
    }

    /// Writes `log q` at each row of `points` (`n × d`) into `values` (`n`). Cost `n·K·d²`.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Dimension`, `Linalg` (a point is not finite).
    ///
    /// ```
    /// use vi_boost::{Component, GaussianMixture};
    /// use vi_linalg::faer::mat;
    /// let q = GaussianMixture::single(Component::diagonal(&[0.0], &[1.0])?);
    /// let mut values = [0.0; 2];
    /// q.log_densities(mat![[0.0], [1.0]].as_ref(), &mut values)?;
    /// assert!((values[0] - values[1] - 0.5).abs() < 1e-15);
    /// # Ok::<(), vi_boost::BoostError>(())
    /// ```
    pub fn log_densities(&self, points: MatRef<'_, f64>, values: &mut [f64]) -> Result<(), BoostError> {
        self.check_points(points, values)?;
        let (mut scratch, mut first) = (Scratch::default(), 0);
        for x in blocks(points) {
            self.evaluate(&x, &mut scratch, false);
            values[first..first + x.rows()].copy_from_slice(&scratch.total);
            first += x.rows();
        }
        Ok(())
    }

    /// Writes `log q` and `∇log q` at each row of `points` (`n × d`) into `values` (`n`) and `gradients` (`n × d`). Cost
    /// `2n·K·d²`.
    ///
    /// # Errors
    /// As [`log_densities`](Self::log_densities).
    pub fn log_densities_and_gradients(
        &self,
        points: MatRef<'_, f64>,
        values: &mut [f64],
        mut gradients: MatMut<'_, f64>,
    ) -> Result<(), BoostError> {
        self.check_points(points, values)?;
        check::length("rows of gradients", points.nrows(), gradients.nrows())?;
        check::length("columns of gradients", self.dim(), gradients.ncols())?;
        let (mut scratch, mut slope, mut first) = (Scratch::default(), Block::default(), 0);
        for x in blocks(points) {
            self.evaluate(&x, &mut scratch, true);
            values[first..first + x.rows()].copy_from_slice(&scratch.total);
            slope.reshape(x.rows(), self.dim());
            slope.fill(0.0);
            self.add_gradient(&scratch, 1.0, &mut slope);
            for j in 0..self.dim() {
                for (i, value) in slope.col(j).iter().enumerate() {
                    gradients[(first + i, j)] = *value;
                }
            }
            first += x.rows();
        }
        Ok(())
    }

    /// The Hessian `∇²log q(θ) = Σ_k r_k(s_ks_kᵀ − Σ_k⁻¹) − ggᵀ`, full, with `s_k = Σ_k⁻¹(θ−μ_k)`, `g = Σ_k r_k·s_k` and the
    /// responsibilities `r_k`. Cost `K·d³`.
    ///
    /// # Errors
    /// As [`log_density`](Self::log_density).
    pub fn hessian(&self, theta: &[f64]) -> Result<Mat<f64>, BoostError> {
        check::length("theta", self.dim(), theta.len())?;
        check::finite("theta", theta)?;
        let d = self.dim();
        let mut scratch = Scratch::default();
        self.evaluate(&Block::point(theta), &mut scratch, true);
        let mut hessian = Mat::zeros(d, d);
        let mut g = vec![0.0; d];
        let mut s = vec![0.0; d];
        for (k, component) in self.components.iter().enumerate() {
            let r = (scratch.log[k][0] + self.log_weights[k] - scratch.total[0]).exp();
            if r == 0.0 {
                continue;
            }
            scratch.solved[k].row(0, &mut s);
            let precision = component.spread().precision();
            for j in 0..d {
                g[j] += r * s[j];
                for i in 0..d {
                    hessian[(i, j)] += r * (s[i] * s[j] - precision[(i, j)]);
                }
            }
        }
        for j in 0..d {
            for i in 0..d {
                hessian[(i, j)] -= g[i] * g[j];
            }
        }
        Ok(hessian)
    }

    fn check_points(&self, points: MatRef<'_, f64>, values: &[f64]) -> Result<(), BoostError> {
        check::length("columns of points", self.dim(), points.ncols())?;
        check::length("values", points.nrows(), values.len())?;
        Ok(vi_linalg::check::finite_matrix("points", points)?)
    }
}

/// `total_i ← log Σ_k exp(log_weights_k + log_k,i)`; −∞ if every term is.
pub(crate) fn log_sum_exp(log: &[Vec<f64>], log_weights: &[f64], n: usize, total: &mut Vec<f64>) {
    let mut largest = vec![f64::NEG_INFINITY; n];
    for (log, weight) in log.iter().zip(log_weights) {
        for (largest, log) in largest.iter_mut().zip(log) {
            *largest = largest.max(log + weight);
        }
    }
    total.clear();
    if let [_] = log {
        total.extend_from_slice(&largest);
        return;
    }
    total.resize(n, 0.0);
    for (log, weight) in log.iter().zip(log_weights) {
        lanes::apply([log, &largest], total, &Share { weight: *weight });
    }
    for (total, largest) in total.iter_mut().zip(&largest) {
        *total = if *largest == f64::NEG_INFINITY { f64::NEG_INFINITY } else { largest + total.ln() };
    }
}

/// `r_i ← w_k·N_k(θ_i)/q(θ_i)`.
pub(crate) fn responsibilities(log: &[f64], log_weight: f64, total: &[f64], r: &mut [f64]) {
    r.fill(0.0);
    lanes::apply([log, total], r, &Share { weight: log_weight });
}

/// `sum + exp(weight + log − whole)`; nothing below e⁻⁷⁰⁸ or where both are −∞.
struct Share {
    weight: f64,
}

impl lanes::EachLane<2> for Share {
    #[inline(always)]
    fn at<S: Simd>(&self, simd: S, [log, whole]: [S::f64s; 2], sum: S::f64s) -> S::f64s {
        let below = simd.sub_f64s(simd.add_f64s(log, simd.splat_f64s(self.weight)), whole);
        let counts = simd.greater_than_f64s(below, simd.splat_f64s(-708.0));
        simd.add_f64s(sum, lanes::select(simd, counts, lanes::exp(simd, below), simd.splat_f64s(0.0)))
    }
}

impl LogDensity for GaussianMixture {
    fn dim(&self) -> usize {
        GaussianMixture::dim(self)
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        GaussianMixture::log_density(self, theta).unwrap_or(f64::NAN)
    }

    fn gradient(&self, theta: &[f64], out: &mut [f64]) -> bool {
        let point = MatRef::from_row_major_slice(theta, 1, theta.len());
        let slope = MatMut::from_row_major_slice_mut(out, 1, theta.len());
        if self.log_densities_and_gradients(point, &mut [0.0], slope).is_err() {
            out.fill(f64::NAN);
        }
        true
    }

    fn hessian(&self, theta: &[f64], mut out: MatMut<'_, f64>) -> bool {
        match GaussianMixture::hessian(self, theta) {
            Ok(hessian) => out.copy_from(hessian),
            Err(_) => out.fill(f64::NAN),
        }
        true
    }

    fn log_densities(&self, points: MatRef<'_, f64>, values: &mut [f64]) {
        if GaussianMixture::log_densities(self, points, values).is_err() {
            values.fill(f64::NAN);
        }
    }

    fn log_densities_and_gradients(
        &self,
        points: MatRef<'_, f64>,
        values: &mut [f64],
        gradients: MatMut<'_, f64>,
    ) -> bool {
        if GaussianMixture::log_densities_and_gradients(self, points, values, gradients).is_err() {
            values.fill(f64::NAN);
        }
        true
    }
}
