//! The maps from free coordinates to constrained ones, each with its log Jacobian and its pull-back.
//!
//! In every map `u` is free and `x` constrained. A pull-back turns `g = ∂L/∂x` into `∂(L + log|∂x/∂u|)/∂u`.

use crate::BoostError;

/// The constraint on the numbers of one block of parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// No constraint.
    Real,
    /// `x > lower`: `x = lower + e^u`.
    Above { lower: f64 },
    /// `lower < x < upper`: `x = lower + (upper−lower)·s(u)`, `s` the logistic function.
    Between { lower: f64, upper: f64 },
    /// `x₁ < x₂ < …`: `x_k = x_{k−1} + e^{u_k}`.
    Ordered,
    /// `x_k > 0`, `Σx_k = 1`: by breaking a stick.
    Simplex,
    /// The lower Cholesky factor of a correlation matrix, by rows, its diagonal included.
    CorrelationFactor,
}

impl Kind {
    /// The number of free numbers for `size` constrained ones (for a factor, of rows).
    pub(super) fn free(self, size: usize) -> usize {
        match self {
            Self::Simplex => size.saturating_sub(1),
            Self::CorrelationFactor => size * size.saturating_sub(1) / 2,
            _ => size,
        }
    }

    pub(super) fn constrained(self, size: usize) -> usize {
        if self == Self::CorrelationFactor { size * (size + 1) / 2 } else { size }
    }

    /// Writes `x(u)` into `x`; returns `log|∂x/∂u|`.
    pub(super) fn constrain(self, u: &[f64], x: &mut [f64]) -> f64 {
        match self {
            Self::Real => {
                x.copy_from_slice(u);
                0.0
            }
            Self::Above { lower } => {
                for (x, u) in x.iter_mut().zip(u) {
                    *x = lower + u.exp();
                }
                u.iter().sum()
            }
            Self::Between { lower, upper } => {
                let width = upper - lower;
                let mut log_jacobian = 0.0;
                for (x, u) in x.iter_mut().zip(u) {
                    // From the nearer end, so that values close to it keep their digits.
                    let tail = width * (-log_one_plus_exp(u.abs())).exp();
                    *x = if *u < 0.0 { lower + tail } else { upper - tail };
                    log_jacobian += width.ln() - log_one_plus_exp(*u) - log_one_plus_exp(-u);
                }
                log_jacobian
            }
            Self::Ordered => {
                let mut last = None;
                for (x, u) in x.iter_mut().zip(u) {
                    *x = last.map_or(*u, |last| last + u.exp());
                    last = Some(*x);
                }
                u.iter().skip(1).sum()
            }
            Self::Simplex => simplex(u, x),
            Self::CorrelationFactor => correlation(u, x),
        }
    }

    /// Writes `Jᵀg + ∇log|J|` into `out`, with `x = x(u)`.
    pub(super) fn pull(self, u: &[f64], x: &[f64], g: &[f64], out: &mut [f64]) {
        match self {
            Self::Real => out.copy_from_slice(g),
            Self::Above { .. } => {
                for ((out, g), u) in out.iter_mut().zip(g).zip(u) {
                    *out = g * u.exp() + 1.0;
                }
            }
            Self::Between { lower, upper } => {
                for ((out, g), u) in out.iter_mut().zip(g).zip(u) {
                    let slope = (upper - lower) * (-log_one_plus_exp(*u) - log_one_plus_exp(-u)).exp();
                    *out = g * slope - (0.5 * u).tanh();
                }
            }
            Self::Ordered => {
                let mut sum = 0.0;
                for i in (0..u.len()).rev() {
                    sum += g[i];
                    out[i] = if i == 0 { sum } else { sum * u[i].exp() + 1.0 };
                }
            }
            Self::Simplex => pull_simplex(u, x, g, out),
            Self::CorrelationFactor => pull_correlation(u, x, g, out),
        }
    }

    /// Writes `u(x)` into `u`.
    pub(super) fn unconstrain(self, name: &'static str, x: &[f64], u: &mut [f64]) -> Result<(), BoostError> {
        let entry = |index: usize, value: f64, requirement| {
            Err(vi_core::Error::Entry { argument: name, index, value, requirement }.into())
        };
        match self {
            Self::Real => u.copy_from_slice(x),
            Self::Above { lower } => {
                for (i, (x, u)) in x.iter().zip(u).enumerate() {
                    if *x <= lower {
                        return entry(i, *x, "above its lower bound");
                    }
                    *u = (x - lower).ln();
                }
            }
            Self::Between { lower, upper } => {
                for (i, (x, u)) in x.iter().zip(u).enumerate() {
                    if *x <= lower || *x >= upper {
                        return entry(i, *x, "inside its interval");
                    }
                    *u = ((x - lower) / (upper - x)).ln();
                }
            }
            Self::Ordered => {
                for i in 0..x.len() {
                    if i > 0 && x[i] <= x[i - 1] {
                        return entry(i, x[i], "above the entry before it");
                    }
                    u[i] = if i == 0 { x[0] } else { (x[i] - x[i - 1]).ln() };
                }
            }
            Self::Simplex => {
                if let Some(i) = x.iter().position(|x| *x <= 0.0) {
                    return entry(i, x[i], "positive");
                }
                let sum: f64 = x.iter().sum();
                if (sum - 1.0).abs() > SUM_TOLERANCE {
                    return Err(crate::error::setting("sum of a simplex", sum, "1"));
                }
                // The rest of the stick, summed from its far end without cancellation.
                let mut left = x.last().copied().unwrap_or(1.0);
                for i in (0..u.len()).rev() {
                    u[i] = (x[i] / left).ln() + ((u.len() - i) as f64).ln();
                    left += x[i];
                }
            }
            Self::CorrelationFactor => {
                let (mut at, mut to, mut row) = (0, 0, 0);
                while at < x.len() {
                    let entries = &x[at..=at + row];
                    let length = entries.iter().map(|x| x * x).sum::<f64>();
                    if (length - 1.0).abs() > SUM_TOLERANCE {
                        return entry(at, entries[0], "in a row of length 1");
                    }
                    if entries[row] <= 0.0 {
                        return entry(at + row, entries[row], "positive on the diagonal");
                    }
                    let mut left = entries[row] * entries[row];
                    for j in (0..row).rev() {
                        // z/√(1−z²) = x_j/√(rest after it).
                        u[to + j] = (entries[j] / left.sqrt()).asinh();
                        left += entries[j] * entries[j];
                    }
                    (at, to, row) = (at + row + 1, to + row, row + 1);
                }
            }
        }
        Ok(())
    }
}

/// How far from 1 a sum may be: what is lost by writing numbers with ten digits.
const SUM_TOLERANCE: f64 = 1e-8;

/// `log(1 + e^t)`.
fn log_one_plus_exp(t: f64) -> f64 {
    t.max(0.0) + (-t.abs()).exp().ln_1p()
}

/// The share `z_k = s(u_k − log(K−k))` of the rest of the stick, as `log z` and `log(1−z)`; at `u = 0` all pieces are equal.
fn share(u: &[f64], k: usize) -> (f64, f64) {
    let v = u[k] - ((u.len() - k) as f64).ln();
    (-log_one_plus_exp(-v), -log_one_plus_exp(v))
}

/// `x_k = r_k·z_k`, `r_{k+1} = r_k(1−z_k)`, `log|J| = Σ log z_k + log(1−z_k) + log r_k`.
fn simplex(u: &[f64], x: &mut [f64]) -> f64 {
    let (mut log_left, mut log_jacobian) = (0.0_f64, 0.0);
    for k in 0..u.len() {
        let (log_z, log_rest) = share(u, k);
        log_jacobian += log_z + log_rest + log_left;
        x[k] = (log_left + log_z).exp();
        log_left += log_rest;
    }
    if let Some(last) = x.last_mut() {
        *last = log_left.exp();
    }
    log_jacobian
}

/// Goes backwards, with the derivative by `r_k` times `r_k` in `left`.
fn pull_simplex(u: &[f64], x: &[f64], g: &[f64], out: &mut [f64]) {
    let last = u.len();
    let mut left = g[last] * x[last];
    for k in (0..last).rev() {
        let (log_z, log_rest) = share(u, k);
        let (z, rest) = (log_z.exp(), log_rest.exp());
        out[k] = g[k] * x[k] * rest - left * z + rest - z;
        left += g[k] * x[k] + 1.0;
    }
}

/// `L_ij = z_j·√w_j`, `w_{j+1} = w_j(1−z_j²)`, `L_ii = √w_i`, `z = tanh u` (Lewandowski, Kurowicka and Joe 2009, as Stan has it);
/// `log|J| = Σ ½log w_j + log(1−z_j²)` for the entries below the diagonal.
fn correlation(u: &[f64], x: &mut [f64]) -> f64 {
    let (mut at, mut from, mut row, mut log_jacobian) = (0, 0, 0, 0.0);
    while at < x.len() {
        let mut log_left = 0.0_f64;
        for j in 0..row {
            let log_rest = log_sech_square(u[from + j]);
            log_jacobian += 0.5 * log_left + log_rest;
            x[at + j] = u[from + j].tanh() * (0.5 * log_left).exp();
            log_left += log_rest;
        }
        x[at + row] = (0.5 * log_left).exp();
        (at, from, row) = (at + row + 1, from + row, row + 1);
    }
    log_jacobian
}

/// Goes backwards, with the derivative by `w_j` times `w_j` in `left`.
fn pull_correlation(u: &[f64], x: &[f64], g: &[f64], out: &mut [f64]) {
    let (mut at, mut from, mut row) = (0, 0, 0);
    while at < x.len() {
        let mut left = 0.5 * g[at + row] * x[at + row];
        // √w_j, from the row's end.
        let mut log_left: f64 = (0..row).map(|j| log_sech_square(u[from + j])).sum();
        for j in (0..row).rev() {
            let log_rest = log_sech_square(u[from + j]);
            log_left -= log_rest;
            let z = u[from + j].tanh();
            out[from + j] = g[at + j] * (0.5 * log_left + log_rest).exp() - 2.0 * z * (left + 1.0);
            left += 0.5 * (g[at + j] * x[at + j] + 1.0);
        }
        (at, from, row) = (at + row + 1, from + row, row + 1);
    }
}

/// `log(1 − tanh²u)`.
fn log_sech_square(u: f64) -> f64 {
    2.0 * (std::f64::consts::LN_2 - u.abs() - (-2.0 * u.abs()).exp().ln_1p())
}
