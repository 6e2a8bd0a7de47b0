//! Components with a diagonal covariance and a few further directions.

use vi_linalg::Cholesky;
use vi_linalg::eigen::eigen;
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatRef, Par};

use super::Spread;
use crate::BoostError;
use crate::block::Block;
use crate::error::{check_positive_entries, setting};
use vi_core::check;

/// `Σ = D + VVᵀ` with `D = diag(σ²)`, `V` of `d × r`; `Σ⁻¹ = D⁻¹ − D⁻¹V·C⁻¹·VᵀD⁻¹` with `C = I + VᵀD⁻¹V` (Woodbury).
#[derive(Debug, Clone)]
pub(crate) struct LowRank {
    sd: Vec<f64>,
    v: Mat<f64>,
    /// `D⁻¹V`.
    dv: Mat<f64>,
    /// The factor of `C`.
    capacitance: Cholesky,
}

impl LowRank {
    pub(crate) fn new(d: usize, variances: &[f64], factor: MatRef<'_, f64>) -> Result<Self, BoostError> {
        check::length("variances", d, variances.len())?;
        check_positive_entries("variances", variances)?;
        Self::from_sd(variances.iter().map(|v| v.sqrt()).collect(), factor.to_owned())
    }

    pub(crate) fn from_sd(sd: Vec<f64>, v: Mat<f64>) -> Result<Self, BoostError> {
        check_positive_entries("standard deviations", &sd)?;
        check::length("rows of the factor", sd.len(), v.nrows())?;
        // A marginal of few dimensions keeps all directions.
        if !(1..=vi_linalg::LowRank::largest_rank(sd.len())).contains(&v.ncols()) {
            return Err(setting("rank", v.ncols() as f64, "from 1 to the dimension or 4096"));
        }
        vi_linalg::check::finite_matrix("factor", v.as_ref())?;
        let dv = Mat::from_fn(v.nrows(), v.ncols(), |i, j| v[(i, j)] / (sd[i] * sd[i]));
        let c = v.transpose() * dv.as_ref();
        let c = Mat::from_fn(v.ncols(), v.ncols(), |i, j| c[(i, j)] + if i == j { 1.0 } else { 0.0 });
        Ok(Self { capacitance: Cholesky::new(c.as_ref())?, sd, v, dv })
    }

    pub(crate) fn rank(&self) -> usize {
        self.v.ncols()
    }

    pub(crate) fn sd(&self) -> &[f64] {
        &self.sd
    }

    pub(crate) fn factor(&self) -> MatRef<'_, f64> {
        self.v.as_ref()
    }

    pub(crate) fn capacitance(&self) -> &Cholesky {
        &self.capacitance
    }

    pub(crate) fn scaled(&self, root: f64) -> Result<Self, BoostError> {
        let v = Mat::from_fn(self.v.nrows(), self.v.ncols(), |i, j| root * self.v[(i, j)]);
        Self::from_sd(self.sd.iter().map(|sd| root * sd).collect(), v)
    }

    /// `Σ⁻¹V = D⁻¹V·C⁻¹`.
    fn solved_factor(&self) -> Mat<f64> {
        // C⁻¹VᵀD⁻¹, transposed.
        let mut out = self.dv.transpose().to_owned();
        vi_linalg::cholesky::solve_in_place(self.capacitance.factor(), out.as_mut(), Par::Seq);
        out.transpose().to_owned()
    }
}

impl Spread for LowRank {
    fn latent_dim(&self) -> usize {
        self.sd.len() + self.rank()
    }

    fn log_det(&self) -> f64 {
        self.capacitance.log_det() + 2.0 * self.sd.iter().map(|sd| sd.ln()).sum::<f64>()
    }

    fn covariance(&self) -> Mat<f64> {
        let mut sigma = self.v.as_ref() * self.v.transpose();
        for (i, sd) in self.sd.iter().enumerate() {
            sigma[(i, i)] += sd * sd;
        }
        sigma
    }

    fn precision(&self) -> Mat<f64> {
        let mut precision = self.solved_factor() * self.dv.transpose();
        for j in 0..self.sd.len() {
            for i in 0..self.sd.len() {
                let own = if i == j { 1.0 / (self.sd[i] * self.sd[i]) } else { 0.0 };
                precision[(i, j)] = own - precision[(i, j)];
            }
        }
        precision
    }

    fn map(&self, mean: &[f64], z: &Block, x: &mut Block) {
        let d = self.sd.len();
        let (own, shared) = z.as_ref().split_at_col(d);
        matmul(x.as_mut(), Accum::Replace, shared, self.v.transpose(), 1.0, Par::Seq);
        debug_assert_eq!(own.ncols(), d);
        for (j, (&mean, &sd)) in mean.iter().zip(&self.sd).enumerate() {
            for (x, z) in x.col_mut(j).iter_mut().zip(z.col(j)) {
                *x += mean + sd * z;
            }
        }
    }

    fn evaluate(&self, mean: &[f64], x: &Block, log: &mut [f64], s: &mut Block, solve: bool) {
        let (d, r, n) = (self.sd.len(), self.rank(), x.rows());
        // s ← θ − μ, and b ← VᵀD⁻¹(θ−μ)
        log.fill(0.0);
        for (j, (&mean, &sd)) in mean.iter().zip(&self.sd).enumerate() {
            let inverse = 1.0 / sd;
            for ((log, s), x) in log.iter_mut().zip(s.col_mut(j)).zip(x.col(j)) {
                *s = x - mean;
                let y = *s * inverse;
                *log -= 0.5 * y * y;
            }
        }
        let mut b = Block::zeros(n, r);
        matmul(b.as_mut(), Accum::Replace, s.as_ref(), self.dv.as_ref(), 1.0, Par::Seq);
        vi_linalg::cholesky::solve_lower_in_place(self.capacitance.factor(), b.as_mut().transpose_mut(), Par::Seq);
        for k in 0..r {
            for (log, b) in log.iter_mut().zip(b.col(k)) {
                *log += 0.5 * b * b;
            }
        }
        if !solve {
            return;
        }
        vi_linalg::cholesky::solve_upper_in_place(self.capacitance.factor(), b.as_mut().transpose_mut(), Par::Seq);
        for j in 0..d {
            let precision = 1.0 / (self.sd[j] * self.sd[j]);
            s.col_mut(j).iter_mut().for_each(|s| *s *= precision);
        }
        matmul(s.as_mut(), Accum::Add, b.as_ref(), self.dv.transpose(), -1.0, Par::Seq);
    }

    fn pull_sample(&self, z: &Block, g: &Block, out: &mut Mat<f64>) {
        let d = self.sd.len();
        for j in 0..d {
            out[(j, 0)] += z.col(j).iter().zip(g.col(j)).map(|(z, g)| z * g).sum::<f64>();
        }
        let shared = z.as_ref().split_at_col(d).1;
        let by_factor = out.as_mut().split_at_col_mut(1).1;
        matmul(by_factor, Accum::Add, g.as_ref().transpose(), shared, 1.0, Par::Seq);
    }

    fn pull_density(&self, s: &Block, rho: &[f64], out: &mut Mat<f64>) {
        // ∂/∂Σ = ½Σ_i ρ_i(s_is_iᵀ − Σ⁻¹); ∂/∂σ_j = 2σ_j(∂/∂Σ)_jj; ∂/∂V = 2(∂/∂Σ)V
        let (d, r) = (self.sd.len(), self.rank());
        let total: f64 = rho.iter().sum();
        let solved = self.solved_factor();
        for (j, sd) in self.sd.iter().enumerate() {
            let squares: f64 = s.col(j).iter().zip(rho).map(|(s, rho)| rho * s * s).sum();
            // (Σ⁻¹)_jj = 1/σ_j² − (D⁻¹V·C⁻¹·VᵀD⁻¹)_jj
            let correction: f64 = (0..r).map(|k| solved[(j, k)] * self.dv[(j, k)]).sum();
            out[(j, 0)] += sd * (squares - total * (1.0 / (sd * sd) - correction));
        }
        let mut t = Block::zeros(s.rows(), r);
        matmul(t.as_mut(), Accum::Replace, s.as_ref(), self.v.as_ref(), 1.0, Par::Seq);
        for k in 0..r {
            t.col_mut(k).iter_mut().zip(rho).for_each(|(t, rho)| *t *= rho);
        }
        let by_factor = out.as_mut().split_at_col_mut(1).1;
        matmul(by_factor, Accum::Add, s.as_ref().transpose(), t.as_ref(), 1.0, Par::Seq);
        for k in 0..r {
            for j in 0..d {
                out[(j, 1 + k)] -= total * solved[(j, k)];
            }
        }
    }

    fn zero_gradient(&self) -> Mat<f64> {
        Mat::zeros(self.sd.len(), 1 + self.rank())
    }
}

/// The least share of a variance that stays on the diagonal when a covariance is split.
const LEAST_OWN_SHARE: f64 = 0.05;

/// `(variances, V)` with `diag(variances) + VVᵀ` near `covariance`: the `rank` largest eigenvectors of the correlation,
/// the variances kept. Cost `d³`.
pub(crate) fn split(covariance: MatRef<'_, f64>, rank: usize) -> Result<(Vec<f64>, Mat<f64>), BoostError> {
    let d = covariance.nrows();
    let sd: Vec<f64> = (0..d).map(|i| covariance[(i, i)].sqrt()).collect();
    check_positive_entries("standard deviations", &sd)?;
    let correlation = Mat::from_fn(d, d, |i, j| covariance[(i.max(j), i.min(j))] / (sd[i] * sd[j]));
    let (values, u) = eigen(correlation.as_ref(), Par::Seq).map_err(|_| vi_core::Error::NonFinite {
        argument: "eigenvalues of a correlation",
        index: 0,
        value: f64::NAN,
    })?;
    // Eigenvalues ascend. A direction's excess over 1 is what the diagonal cannot hold.
    let mut factor = Mat::zeros(d, rank);
    for k in 0..rank.min(d) {
        let column = d - 1 - k;
        let size = (values[column] - 1.0).max(1e-6).sqrt();
        for i in 0..d {
            factor[(i, k)] = size * u[(i, column)];
        }
    }
    let mut variances = vec![0.0; d];
    for i in 0..d {
        let shared: f64 = (0..rank).map(|k| factor[(i, k)] * factor[(i, k)]).sum();
        let own = (1.0 - shared).max(LEAST_OWN_SHARE);
        let fit = ((1.0 - own) / shared.max(f64::MIN_POSITIVE)).sqrt().min(1.0);
        for k in 0..rank {
            factor[(i, k)] *= sd[i] * fit;
        }
        variances[i] = own * sd[i] * sd[i];
    }
    Ok((variances, factor))
}
