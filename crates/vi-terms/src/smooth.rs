//! Natural cubic regression splines in coordinates in which the roughness `∫f″²` is a multiple of the identity (Wood 2017, *Generalized
//! Additive Models*, §5.3.1; Demmler and Reinsch 1975).
//!
//! ```text
//! knots        κ₁ < … < κ_K at quantiles of the different values, h_k = κ_{k+1} − κ_k
//! spline       γ_k = f(κ_k), δ_k = f″(κ_k), δ₁ = δ_K = 0:   Dγ = Bδ₂..K−1,   ∫f″² = δᵀBδ
//!              B tridiagonal: (h_k + h_{k+1})/3 and h_{k+1}/6;   D: second differences of γ
//! coordinates  B = LLᵀ, δ = L⁻ᵀe_j: ∫f_i″f_j″ = 1 where i = j, else 0
//! values       γ by two sums over Bδ, less the line that fits best over the first rows
//! order        FᵀF/n = V diag(g) Vᵀ over the first rows: columns FV do not correlate, the smoothest first
//! size         columns FV/√Σg: their variances sum to 1, and ∫f″² = (1/Σg)·I
//! ```
//!
//! A prior N(0, s²I) of the weights is then the roughness penalty of mgcv's `s(x, bs = "cr")`, and `s` the standard deviation of the
//! curve beside its line, averaged over the first rows. Beyond the outer knots the curve is a line.

use serde::{Deserialize, Serialize};
use vi_core::check;
use vi_linalg::cholesky::{Cholesky, solve_upper_in_place};
use vi_linalg::eigen::eigen;
use vi_linalg::faer::{Mat, Par};

use crate::TermsError;

/// A spline basis of one variable: [`width`](Self::width) curves, each beside constant and line.
///
/// ```
/// use vi_terms::Smooth;
/// let x: Vec<f64> = (0..40).map(f64::from).collect();
/// let smooth = Smooth::new(&x, 5)?;
/// assert_eq!((smooth.width(), smooth.knots().len()), (5, 7));
/// let mut curves = Vec::new();
/// smooth.write(12.5, &mut curves);
/// assert_eq!(curves.len(), 5);
/// # Ok::<(), vi_terms::TermsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SmoothWire")]
pub struct Smooth {
    knots: Vec<f64>,
    /// `γ`, knot by knot (`K × m`).
    values: Vec<f64>,
    /// `δ`, knot by knot (`K × m`).
    curvatures: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SmoothWire {
    knots: Vec<f64>,
    values: Vec<f64>,
    curvatures: Vec<f64>,
}

impl TryFrom<SmoothWire> for Smooth {
    type Error = TermsError;

    fn try_from(wire: SmoothWire) -> Result<Self, TermsError> {
        let SmoothWire { knots, values, curvatures } = wire;
        let increasing = knots.windows(2).all(|pair| pair[0] < pair[1]);
        let finite = [&knots, &values, &curvatures].iter().all(|all| all.iter().all(|x| x.is_finite()));
        let whole = knots.len() > 2
            && !values.is_empty()
            && values.len().is_multiple_of(knots.len())
            && values.len() == curvatures.len();
        if increasing && finite && whole {
            Ok(Self { knots, values, curvatures })
        } else {
            Err(TermsError::Stored { what: "a spline's knots and values" })
        }
    }
}

impl Smooth {
    /// At most `weights` curves by the values `x` of the first rows, on two knots more, at quantiles of the different values; on as many
    /// knots as there are different values where these are fewer.
    ///
    /// Cost `O(n·K² + K³)`.
    ///
    /// # Errors
    /// `NonFinite`, `Setting` (no weight); [`TermsError::Few`] for fewer than three different values.
    pub fn new(x: &[f64], weights: usize) -> Result<Self, TermsError> {
        check::finite("x", x)?;
        if weights == 0 {
            let requirement = "at least 1";
            return Err(vi_core::Error::Setting { name: "weights of a smooth", value: 0.0, requirement }.into());
        }
        let distinct = distinct(x);
        if distinct.len() < 3 {
            return Err(TermsError::Few { found: distinct.len(), needed: 3 });
        }
        let knots = quantiles(&distinct, distinct.len().min(weights.saturating_add(2)));
        let (gamma, delta) = curves(&knots)?;
        let mut smooth = Self { values: by_knot(&gamma), curvatures: by_knot(&delta), knots };
        smooth.take_the_line_out(x);
        smooth.turn(x)?;
        Ok(smooth)
    }

    /// How many curves there are.
    #[must_use]
    pub fn width(&self) -> usize {
        self.values.len() / self.knots.len()
    }

    /// The knots, in increasing order.
    #[must_use]
    pub fn knots(&self) -> &[f64] {
        &self.knots
    }

    /// Appends the value of every curve at `x`.
    pub fn write(&self, x: f64, out: &mut Vec<f64>) {
        let (m, last) = (self.width(), self.knots.len() - 1);
        let k = self.knots.partition_point(|knot| *knot <= x).clamp(1, last) - 1;
        let h = self.knots[k + 1] - self.knots[k];
        let (left, right) = (self.knots[k + 1] - x, x - self.knots[k]);
        // Between knots a cubic, beyond them the line that it ends with.
        let (c, d) = if left > h {
            (0.0, right * h / -6.0)
        } else if right > h {
            (left * h / -6.0, 0.0)
        } else {
            ((left * left / h - h) * left / 6.0, (right * right / h - h) * right / 6.0)
        };
        let (gamma, delta) = (&self.values[k * m..(k + 2) * m], &self.curvatures[k * m..(k + 2) * m]);
        for j in 0..m {
            let line = (left * gamma[j] + right * gamma[m + j]) / h;
            out.push(line + c * delta[j] + d * delta[m + j]);
        }
    }

    /// The curves at all of `x`, row by row.
    fn at_all(&self, x: &[f64]) -> Vec<f64> {
        let mut all = Vec::with_capacity(x.len() * self.width());
        for &x in x {
            self.write(x, &mut all);
        }
        all
    }

    /// Subtracts from every curve the line that fits it best at `x`.
    fn take_the_line_out(&mut self, x: &[f64]) {
        let (n, m) = (x.len() as f64, self.width());
        let centre = x.iter().map(|x| x / n).sum::<f64>();
        let square: f64 = x.iter().map(|x| (x - centre).powi(2)).sum();
        let all = self.at_all(x);
        for j in 0..m {
            let column = || all.iter().skip(j).step_by(m);
            let mean = column().sum::<f64>() / n;
            let slope = column().zip(x).map(|(f, x)| f * (x - centre)).sum::<f64>() / square;
            for (k, knot) in self.knots.iter().enumerate() {
                self.values[k * m + j] -= mean + slope * (knot - centre);
            }
        }
    }

    /// Turns the curves into those that do not correlate at `x`, the one of most variance first, of variance 1 in sum.
    fn turn(&mut self, x: &[f64]) -> Result<(), TermsError> {
        let (n, m) = (x.len() as f64, self.width());
        let all = self.at_all(x);
        let mut gram = Mat::<f64>::zeros(m, m);
        for row in all.chunks_exact(m) {
            for j in 0..m {
                for i in j..m {
                    gram[(i, j)] += row[i] * row[j] / n;
                }
            }
        }
        let (variances, vectors) = eigen(gram.as_ref(), Par::Seq)?;
        let size = variances.iter().map(|g| g.max(0.0)).sum::<f64>().sqrt();
        if !(size > 0.0 && size.is_finite()) {
            return Err(TermsError::Few { found: 0, needed: 3 });
        }
        for knots in [&mut self.values, &mut self.curvatures] {
            for row in knots.chunks_exact_mut(m) {
                let turned: Vec<f64> =
                    (0..m).rev().map(|j| (0..m).map(|i| row[i] * vectors[(i, j)]).sum::<f64>() / size).collect();
                row.copy_from_slice(&turned);
            }
        }
        Ok(())
    }
}

/// The different values in increasing order; of values so near to one another that no knot fits between them, the first.
pub(crate) fn distinct(x: &[f64]) -> Vec<f64> {
    let mut sorted = x.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let range = sorted.last().zip(sorted.first()).map_or(0.0, |(last, first)| last - first);
    let mut distinct: Vec<f64> = Vec::new();
    for x in sorted {
        if distinct.last().is_none_or(|last| x - last > 1e-9 * range) {
            distinct.push(x);
        }
    }
    distinct
}

/// Quantiles at `count` equally spaced shares of sorted values, the ends among them, between two values by a line.
fn quantiles(sorted: &[f64], count: usize) -> Vec<f64> {
    let last = sorted.len() - 1;
    let quantile = |k: usize| {
        let (whole, rest) = (k * last / (count - 1), k * last % (count - 1));
        let share = rest as f64 / (count - 1) as f64;
        sorted[whole] + share * (sorted[last.min(whole + 1)] - sorted[whole])
    };
    (0..count).map(quantile).collect()
}

/// `γ` and `δ` (`K × (K − 2)`) of splines with `∫f_i″f_j″ = [i = j]` that are 0 at the first two knots.
fn curves(knots: &[f64]) -> Result<(Mat<f64>, Mat<f64>), TermsError> {
    let inner = knots.len() - 2;
    let h: Vec<f64> = knots.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mass = Mat::from_fn(inner, inner, |i, j| match i.abs_diff(j) {
        0 => (h[i] + h[i + 1]) / 3.0,
        1 => h[i.max(j)] / 6.0,
        _ => 0.0,
    });
    let mut inverse_root = Mat::<f64>::identity(inner, inner);
    solve_upper_in_place(Cholesky::new(mass.as_ref())?.factor(), inverse_root.as_mut(), Par::Seq);
    let mut delta = Mat::<f64>::zeros(inner + 2, inner);
    let mut gamma = Mat::<f64>::zeros(inner + 2, inner);
    for j in 0..inner {
        for i in 0..inner {
            delta[(i + 1, j)] = inverse_root[(i, j)];
        }
        let mut slope = 0.0;
        for i in 0..inner {
            slope +=
                (h[i] * delta[(i, j)] + 2.0 * (h[i] + h[i + 1]) * delta[(i + 1, j)] + h[i + 1] * delta[(i + 2, j)])
                    / 6.0;
            gamma[(i + 2, j)] = gamma[(i + 1, j)] + h[i + 1] * slope;
        }
    }
    Ok((gamma, delta))
}

fn by_knot(a: &Mat<f64>) -> Vec<f64> {
    (0..a.nrows()).flat_map(|k| (0..a.ncols()).map(move |j| a[(k, j)])).collect()
}

#[cfg(test)]
mod tests;
