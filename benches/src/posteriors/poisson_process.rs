//! Poisson counts along a Gaussian process: `k_i ~ Poisson(e^{f_i})`, `f = L·t`, `t ~ N(0, I)`, `LLᵀ = α²·exp(−(x−x′)²/2ρ²) + 10⁻¹⁰I`,
//! `ρ ~ Gamma(25, 4)`, `α ~ N⁺(0, 2²)`.

use vi_boost::transform::Parameters;
use vi_boost::{BoostError, LogDensity};

use super::Model;

#[derive(Debug, Clone)]
pub(super) struct PoissonProcess {
    counts: Vec<f64>,
    /// `½(x_i − x_j)²`, lower triangle by rows.
    away: Vec<f64>,
}

/// Added to the variances.
const JITTER: f64 = 1e-10;

impl PoissonProcess {
    pub(super) fn new(x: &[f64], counts: Vec<f64>) -> Self {
        let away = (0..x.len()).flat_map(|i| (0..=i).map(move |j| 0.5 * (x[i] - x[j]).powi(2))).collect();
        Self { counts, away }
    }

    /// The lower triangle of the kernel by rows, and its derivatives by `ρ` and `α`.
    fn kernel(&self, rho: f64, alpha: f64) -> [Vec<f64>; 3] {
        let mut k: Vec<f64> = self.away.iter().map(|away| alpha * alpha * (-away / (rho * rho)).exp()).collect();
        let by_rho = k.iter().zip(&self.away).map(|(k, away)| 2.0 * k * away / rho.powi(3)).collect();
        let by_alpha = k.iter().map(|k| 2.0 * k / alpha).collect();
        for i in 0..self.counts.len() {
            k[first(i + 1) - 1] += JITTER;
        }
        [k, by_rho, by_alpha]
    }

    /// `L·t`, where the matrix is positive definite.
    fn path(&self, x: &[f64]) -> Option<Vec<f64>> {
        let [mut l, ..] = self.kernel(x[0], x[1]);
        cholesky(&mut l, self.counts.len())?;
        Some((0..self.counts.len()).map(|i| along(&l, i, &x[2..])).collect())
    }
}

/// `log p(ρ, α, t)`.
fn prior(x: &[f64]) -> f64 {
    24.0 * x[0].ln() - 4.0 * x[0] - x[1] * x[1] / 8.0 - 0.5 * x[2..].iter().map(|t| t * t).sum::<f64>()
}

/// Where row `i` of a lower triangle begins.
fn first(i: usize) -> usize {
    i * (i + 1) / 2
}

fn row(a: &[f64], i: usize) -> &[f64] {
    &a[first(i)..first(i + 1)]
}

/// `Σ_j a_ij·t_j`.
fn along(a: &[f64], i: usize, t: &[f64]) -> f64 {
    row(a, i).iter().zip(t).map(|(a, t)| a * t).sum()
}

/// In place; `None` where the matrix is not positive definite.
fn cholesky(a: &mut [f64], n: usize) -> Option<()> {
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = row(a, i)[..j].iter().zip(row(a, j)).map(|(a, b)| a * b).sum();
            let rest = a[first(i) + j] - dot;
            a[first(i) + j] = if i == j { rest.sqrt() } else { rest / a[first(j + 1) - 1] };
            // The root of a negative number, too, is not a number.
            if i == j && (a[first(i) + i].is_nan() || a[first(i) + i] <= 0.0) {
                return None;
            }
        }
    }
    Some(())
}

/// `∂L` from `L` and `∂A`, in place: the recursion of [`cholesky`], differentiated.
fn cholesky_derivative(l: &[f64], by: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..=i {
            let terms = row(by, i)[..j].iter().zip(row(l, j)).zip(row(l, i).iter().zip(row(by, j)));
            let dot: f64 = terms.map(|((by_i, l_j), (l_i, by_j))| by_i * l_j + l_i * by_j).sum();
            let rest = by[first(i) + j] - dot;
            let diagonal = first(j + 1) - 1;
            by[first(i) + j] =
                if i == j { 0.5 * rest / l[diagonal] } else { (rest - l[first(i) + j] * by[diagonal]) / l[diagonal] };
        }
    }
}

impl LogDensity for PoissonProcess {
    fn dim(&self) -> usize {
        self.counts.len() + 2
    }

    fn log_density(&self, x: &[f64]) -> f64 {
        let Some(f) = self.path(x) else { return f64::NEG_INFINITY };
        prior(x) + f.iter().zip(&self.counts).map(|(f, k)| k * f - f.exp()).sum::<f64>()
    }

    fn value_and_gradient(&self, x: &[f64], out: &mut [f64]) -> Option<f64> {
        let (rho, alpha, t) = (x[0], x[1], &x[2..]);
        let n = self.counts.len();
        let [mut l, mut by_rho, mut by_alpha] = self.kernel(rho, alpha);
        if cholesky(&mut l, n).is_none() {
            out.fill(f64::NAN);
            return Some(f64::NEG_INFINITY);
        }
        cholesky_derivative(&l, &mut by_rho, n);
        cholesky_derivative(&l, &mut by_alpha, n);
        let mut value = prior(x);
        (out[0], out[1]) = (24.0 / rho - 4.0, -alpha / 4.0);
        for (out, t) in out[2..].iter_mut().zip(t) {
            *out = -t;
        }
        for (i, k) in self.counts.iter().enumerate() {
            let f = along(&l, i, t);
            let rate = f.exp();
            value += k * f - rate;
            let slope = k - rate;
            out[0] += slope * along(&by_rho, i, t);
            out[1] += slope * along(&by_alpha, i, t);
            for (out, l) in out[2..].iter_mut().zip(row(&l, i)) {
                *out += slope * l;
            }
        }
        Some(value)
    }
}

impl Model for PoissonProcess {
    fn parameters(&self) -> Result<Parameters, BoostError> {
        Parameters::new().positive("rho", 1)?.positive("alpha", 1)?.real("f_tilde", self.counts.len())
    }

    fn report(&self, x: &[f64]) -> Vec<f64> {
        let f = self.path(x).unwrap_or_else(|| vec![f64::NAN; self.counts.len()]);
        x[..2].iter().copied().chain(f).collect()
    }
}
