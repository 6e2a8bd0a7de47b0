//! Changing the prior scale of a belief after rows have been learned.
//!
//! A belief `N(μ, Λ⁻¹)` whose prior was `N(0, s²D⁻¹)` becomes that of the prior `N(0, s′²D⁻¹)` by `Λ′ = Λ + δD`, `Λ′μ′ = Λμ`,
//! `δ = s′⁻² − s⁻²`: exact for a linear model, and for the others with the sites as they are. With the eigenvalues `γ` of `Λ` in
//! units of `D` and `z` the mean in its eigenvectors, the log evidence changes by
//!
//! ```text
//! Σ_j [−log(s′/s) + ½·log(γ_j/(γ_j+δ))] − ½·Σ_j z_j²·γ_jδ/(γ_j+δ).
//! ```
//!
//! Columns whose prior stays (the intercept) are first integrated out: `γ` are the eigenvalues of the marginal of the others. The sums
//! are also `½·log(|Λ|/|Λ′|)` and `δ·μ′ᵀDμ`, and their derivatives at `s′ = s` are traces, so that eigenvalues are needed only for the
//! whole curve.

use vi_core::{Belief, DenseGaussian, Error, SquareRootGaussian};
use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, Par};

use super::apart::Apart;
use super::belief::AnyBelief;

/// Ratios of precisions that have one logarithm together: each is within 10³⁰ of 1, since scales are within 10¹¹ of each other.
const FACTORS: usize = 8;

/// Which weights have the learned prior scale, and the shape `D` of their prior precision `D/s²`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScaledWeights {
    /// The number of predictors, each with its columns.
    pub(super) predictors: usize,
    /// The number of columns of a predictor, the intercept included.
    pub(super) columns: usize,
    /// How many columns of a predictor, the first ones, have the scale.
    pub(super) scaled: usize,
    /// `κ` in `D = (I − κ·11ᵀ) ⊗ I` over predictors and columns.
    pub(super) coupling: f64,
}

impl ScaledWeights {
    /// The positions of the scaled weights among all.
    pub(super) fn positions(self) -> impl Iterator<Item = usize> + Clone {
        (0..self.predictors).flat_map(move |block| (0..self.scaled).map(move |j| block * self.columns + j))
    }

    /// The entries of `D` that are not always 0, each with the positions of its two weights among all.
    fn shape(self) -> impl Iterator<Item = ([usize; 2], f64)> {
        (0..self.predictors).flat_map(move |a| (0..self.predictors).map(move |b| (a, b))).flat_map(move |(a, b)| {
            (0..self.scaled).map(move |j| {
                ([a * self.columns + j, b * self.columns + j], f64::from(u8::from(a == b)) - self.coupling)
            })
        })
    }

    /// `c` with `(I − c·11ᵀ)² = I − κ·11ᵀ`.
    fn root(self) -> f64 {
        let m = self.predictors as f64;
        (1.0 - (1.0 - self.coupling * m).sqrt()) / m
    }

    /// `D^½v`, `v` over the scaled weights.
    fn whiten(self, v: &mut [f64]) {
        if self.coupling == 0.0 {
            return;
        }
        let root = self.root();
        for j in 0..self.scaled {
            let sum: f64 = (0..self.predictors).map(|block| v[block * self.scaled + j]).sum();
            (0..self.predictors).for_each(|block| v[block * self.scaled + j] -= root * sum);
        }
    }
}

/// Mean and covariance of `D^½w`, `w` being the weights that have the learned scale.
pub(super) struct Whitened {
    pub(super) mean: Vec<f64>,
    pub(super) covariance: Mat<f64>,
}

/// The eigenvectors of a covariance, the variances along them, and the mean in them.
pub(super) struct Directions {
    pub(super) vectors: Mat<f64>,
    pub(super) variances: Vec<f64>,
    pub(super) along: Vec<f64>,
}

impl Whitened {
    /// The moments of each part of a belief; `None` for a belief that keeps no full covariance.
    pub(super) fn parts(belief: &AnyBelief, weights: ScaledWeights) -> Result<Option<Vec<Self>>, Error> {
        match belief {
            AnyBelief::Apart(belief) => {
                let one = ScaledWeights { predictors: 1, ..weights };
                belief.parts.iter().map(|part| Self::of(part, one)).collect()
            }
            whole => Ok(Self::of(whole, weights)?.map(|whole| vec![whole])),
        }
    }

    fn of(belief: &AnyBelief, weights: ScaledWeights) -> Result<Option<Self>, Error> {
        let Some(dense) = belief.full()? else { return Ok(None) };
        let positions: Vec<usize> = weights.positions().collect();
        let lower = dense.covariance_lower();
        let d = positions.len();
        let mut covariance = Mat::from_fn(d, d, |i, j| {
            let (i, j) = (positions[i], positions[j]);
            lower[(i.max(j), i.min(j))]
        });
        let mut mean: Vec<f64> = positions.iter().map(|&j| dense.mean()[j]).collect();
        weights.whiten(&mut mean);
        let mut column = vec![0.0; d];
        for _ in 0..if weights.coupling == 0.0 { 0 } else { 2 } {
            // The matrix is symmetric: whiten the columns, transpose, and whiten again.
            for j in 0..d {
                (0..d).for_each(|i| column[i] = covariance[(i, j)]);
                weights.whiten(&mut column);
                (0..d).for_each(|i| covariance[(i, j)] = column[i]);
            }
            covariance = covariance.transpose().to_owned();
        }
        Ok(Some(Self { mean, covariance }))
    }

    /// The weights at these positions, the others integrated out.
    pub(super) fn marginal(&self, positions: &[usize]) -> Self {
        let d = positions.len();
        Self {
            mean: positions.iter().map(|&j| self.mean[j]).collect(),
            covariance: Mat::from_fn(d, d, |i, j| self.covariance[(positions[i], positions[j])]),
        }
    }

    /// # Errors
    /// `NonFinite` for a variance that is not positive, and those of the eigenvalue iteration.
    pub(super) fn directions(&self) -> Result<Directions, Error> {
        let (variances, vectors) = vi_linalg::eigen::eigen(self.covariance.as_ref(), Par::Seq).map_err(Error::from)?;
        if let Some(index) = variances.iter().position(|variance| variance.is_nan() || *variance <= 0.0) {
            return Err(Error::NonFinite { argument: "variances of the weights", index, value: variances[index] });
        }
        let along = |j: usize| self.mean.iter().zip(vectors.col(j).iter()).map(|(mean, vector)| mean * vector).sum();
        Ok(Directions { along: (0..self.mean.len()).map(along).collect(), variances, vectors })
    }
}

/// The first two derivatives of the log evidence by `log s` at a belief's own scale, with the sites held fixed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slope {
    pub(super) first: f64,
    pub(super) second: f64,
}

impl Slope {
    /// The derivatives for a model with unit noise: with `C`, `m` the covariance and mean of the whitened weights,
    /// `E′ = (tr C + mᵀm)/s² − d`, `E″ = (2‖C‖² + 4mᵀCm)/s⁴ − 2(tr C + mᵀm)/s²`. Cost `3d²` flops; `None` for a belief that keeps
    /// no full covariance.
    ///
    /// # Errors
    /// Those of [`GaussianBelief::to_dense`](vi_core::GaussianBelief::to_dense).
    pub(super) fn of(belief: &AnyBelief, weights: ScaledWeights, scale: f64) -> Result<Option<Self>, Error> {
        let Some(parts) = Whitened::parts(belief, weights)? else { return Ok(None) };
        let least = (scale * scale).recip();
        let mut slope = Self::default();
        for Whitened { mean, covariance } in &parts {
            let (mut size, mut squares, mut along) = (0.0, 0.0, 0.0);
            for (j, &of_column) in mean.iter().enumerate() {
                size += covariance[(j, j)] + of_column * of_column;
                let column = covariance.col(j);
                squares += column.squared_norm_l2();
                along += of_column * column.iter().zip(mean).map(|(entry, mean)| entry * mean).sum::<f64>();
            }
            slope.first += size * least - mean.len() as f64;
            slope.second += (2.0 * squares + 4.0 * along) * least * least - 2.0 * size * least;
        }
        Ok(Some(slope))
    }
}

/// A belief in the eigenvectors of its precision relative to the prior's.
#[derive(Debug, Clone)]
pub(super) struct Spectrum {
    scale: f64,
    /// `γ_j`.
    precisions: Vec<f64>,
    /// `z_j²`.
    squares: Vec<f64>,
}

/// What another prior scale changes in the log evidence of a model with unit noise: `log_det − ½·quadratic`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ScaleChange {
    pub(super) log_det: f64,
    pub(super) quadratic: f64,
}

impl Spectrum {
    /// The spectrum of a belief with the prior scale `scale`. Cost about `9d³` flops; `None` for a belief that keeps no full
    /// covariance.
    ///
    /// # Errors
    /// `NotPositiveDefinite`, and those of the eigenvalue iteration.
    pub(super) fn of(belief: &AnyBelief, weights: ScaledWeights, scale: f64) -> Result<Option<Self>, Error> {
        let Some(parts) = Whitened::parts(belief, weights)? else { return Ok(None) };
        let directions = parts.iter().map(Whitened::directions).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(Self::of_directions(&directions, scale)))
    }

    /// The spectrum of independent parts with the prior scale `scale`.
    pub(super) fn of_directions(parts: &[Directions], scale: f64) -> Self {
        let precisions = parts.iter().flat_map(|part| &part.variances).map(|variance| variance.recip()).collect();
        let squares = parts.iter().flat_map(|part| &part.along).map(|along| along * along).collect();
        Self { scale, precisions, squares }
    }

    /// By how much the answers of models at `nodes`, scales with their shares, differ from those of one at the scale `centre`, on the rows
    /// that were learned: the mean in deviations (root mean square), the variance as a share of it. With the variances `1/γ_k` and means
    /// `m_k` along the eigenvectors at each node, `1/γ` and `m` at the centre, `T = Σ S/γ` and the precision `S = γ − s⁻²` that the rows have
    /// told,
    ///
    /// ```text
    /// √(Σ S·(Σ_k w_k m_k − m)²/(σ²T)),   Σ S·(|Σ_k w_k/γ_k − 1/γ| + Var_k(m_k)/σ²)/T
    /// ```
    ///
    /// are sums over the rows, each as it was weighed in the posterior.
    pub(super) fn corrections(&self, nodes: &[(f64, f64)], centre: f64, noise: f64) -> [f64; 2] {
        let least = |scale: f64| (scale * scale).recip();
        let (mut of_mean, mut of_variance, mut told) = (0.0, 0.0, 0.0);
        for (gamma, square) in self.precisions.iter().zip(&self.squares) {
            // A variance, and a mean, at another scale.
            let at = |scale: f64| {
                let variance = (gamma + least(scale) - least(self.scale)).max(least(scale)).recip();
                (variance, square.sqrt() * gamma * variance)
            };
            let own = at(centre);
            let average =
                |of: &dyn Fn((f64, f64)) -> f64| nodes.iter().map(|(scale, share)| share * of(at(*scale))).sum::<f64>();
            let (variance, mean) = (average(&|at| at.0), average(&|at| at.1));
            let between = average(&|at| (at.1 - mean).powi(2)) / noise;
            let of_rows = own.0.recip() - least(centre);
            of_mean += of_rows * (mean - own.1).powi(2) / noise;
            of_variance += of_rows * ((variance - own.0).abs() + between);
            told += of_rows * own.0;
        }
        [(of_mean / told).sqrt(), of_variance / told]
    }

    pub(super) fn change(&self, to: f64) -> ScaleChange {
        let least = (to * to).recip();
        let delta = least - (self.scale * self.scale).recip();
        let stretch = (to / self.scale).ln();
        let mut change = ScaleChange { log_det: -stretch * self.precisions.len() as f64, quadratic: 0.0 };
        for (precisions, squares) in self.precisions.chunks(FACTORS).zip(self.squares.chunks(FACTORS)) {
            let mut ratio = 1.0;
            for (gamma, square) in precisions.iter().zip(squares) {
                // A precision is never below the new prior's, except by rounding.
                let left = gamma / (gamma + delta).max(least);
                ratio *= left;
                change.quadratic += square * delta * left;
            }
            change.log_det += 0.5 * ratio.ln();
        }
        change
    }
}

/// The belief as it would be with the prior scale `to` instead of `from`, and what that changes in the log evidence. Cost about `2d³`
/// flops; `None` for a belief that keeps no full covariance.
///
/// # Errors
/// `NotPositiveDefinite`.
pub(super) fn rescaled(
    belief: &AnyBelief,
    weights: ScaledWeights,
    from: f64,
    to: f64,
) -> Result<Option<(AnyBelief, ScaleChange)>, Error> {
    changed(belief, weights, from, &|_| to, &|_| 1.0)
}

/// The belief as it would be if column `j` had the prior scale `from·factors[j]`, in units of that many, in which the prior scale is `from`
/// again; and what that changes in the log evidence. Cost about `2d³` flops; `None` for a belief that keeps no full covariance.
///
/// # Errors
/// `NotPositiveDefinite`.
pub(super) fn stretched(
    belief: &AnyBelief,
    weights: ScaledWeights,
    from: f64,
    factors: &[f64],
) -> Result<Option<(AnyBelief, ScaleChange)>, Error> {
    changed(belief, weights, from, &|j| from * factors[j], &|j| factors[j])
}

/// The belief with the prior scale `to(j)` for column `j`, whose weight is then counted in units of `unit(j)`.
fn changed(
    belief: &AnyBelief,
    weights: ScaledWeights,
    from: f64,
    to: &dyn Fn(usize) -> f64,
    unit: &dyn Fn(usize) -> f64,
) -> Result<Option<(AnyBelief, ScaleChange)>, Error> {
    if let AnyBelief::Apart(belief) = belief {
        let one = ScaledWeights { predictors: 1, ..weights };
        let (mut parts, mut all) = (Vec::with_capacity(belief.parts.len()), ScaleChange::default());
        for part in &belief.parts {
            let Some((part, change)) = changed(part, one, from, to, unit)? else { return Ok(None) };
            parts.push(part);
            all.log_det += change.log_det;
            all.quadratic += change.quadratic;
        }
        return Ok(Some((AnyBelief::Apart(Box::new(Apart::of(parts))), all)));
    }
    let Some(dense) = belief.full()? else { return Ok(None) };
    let column = |i: usize| i % weights.columns;
    let unit = |i: usize| if column(i) < weights.scaled { unit(column(i)) } else { 1.0 };
    let delta = |i: usize| (to(column(i)) * to(column(i))).recip() - (from * from).recip();
    let before = dense.cholesky()?;
    let mut precision = before.inverse();
    let mut mean = dense.mean().to_vec();
    before.solve_vec_in_place(&mut mean)?;
    for ([i, j], shape) in weights.shape() {
        precision[(i, j)] += delta(i) * shape;
    }
    for j in 0..mean.len() {
        mean[j] *= unit(j);
        (j..mean.len()).for_each(|i| precision[(i, j)] *= unit(i) * unit(j));
    }
    let after = Cholesky::new(precision.as_ref())?;
    after.solve_vec_in_place(&mut mean)?;
    let quadratic =
        weights.shape().map(|([i, j], shape)| unit(i) * mean[i] * (delta(i) * shape) * dense.mean()[j]).sum::<f64>();
    // The log determinants are those of P and of Λ′, in units of the weights as they were.
    let widened = |i: usize| (to(column(i)) / from).ln() - unit(i).ln();
    let widened = weights.positions().map(widened).sum::<f64>();
    let log_det = -0.5 * (before.log_det() + after.log_det()) - widened;
    let belief = match belief {
        AnyBelief::SquareRoot(_) => {
            AnyBelief::SquareRoot(SquareRootGaussian::from_precision(&mean, precision.as_ref())?)
        }
        _ => AnyBelief::Full(DenseGaussian::from_precision_factor(&mean, &after)?),
    };
    Ok(Some((belief, ScaleChange { log_det, quadratic })))
}

#[cfg(test)]
mod tests {
    use vi_core::{Belief, GaussianLikelihood, Implicit, filter};

    use super::*;

    const ROWS: [([f64; 3], f64); 4] =
        [([1.0, 0.3, 1.0], 0.7), ([-0.4, 2.0, 1.0], -1.0), ([0.1, 0.5, 1.0], 2.0), ([3.0, -1.0, 1.0], 0.1)];

    /// The exact posterior and log evidence of a linear model of two predictors' worth of coupling.
    fn learned(weights: ScaledWeights, s: f64) -> (DenseGaussian, f64) {
        let d = weights.predictors * weights.columns;
        let mut precision = Mat::from_fn(d, d, |i, j| if i == j { 0.04 } else { 0.0 });
        for ([i, j], shape) in weights.shape() {
            precision[(i, j)] = shape / (s * s);
        }
        let covariance = Cholesky::new(precision.as_ref()).unwrap().inverse();
        let mut belief = DenseGaussian::new(&vec![0.0; d], covariance.as_ref()).unwrap();
        let mut scratch = filter::Scratch::default();
        let rule = Implicit(GaussianLikelihood::new(1.0).unwrap());
        let mut evidence = 0.0;
        for (x, y) in ROWS {
            let row: Vec<f64> = x.iter().copied().cycle().take(d).collect();
            let seen = filter::step(&mut belief, &rule, &row, y, &mut scratch).unwrap().projection;
            let variance = 1.0 + seen.variance;
            evidence -= 0.5 * ((y - seen.mean).powi(2) / variance + variance.ln()) + vi_core::special::HALF_LN_2PI;
        }
        (belief, evidence)
    }

    #[test]
    fn slopes_are_those_of_the_curve() {
        let one = ScaledWeights { predictors: 1, columns: 3, scaled: 2, coupling: 0.0 };
        let two = ScaledWeights { predictors: 2, coupling: 1.0 / 3.0, ..one };
        for (weights, s) in [(one, 0.5), (one, 2.0), (two, 0.7)] {
            let belief = AnyBelief::Full(learned(weights, s).0);
            let curve = Spectrum::of(&belief, weights, s).unwrap().unwrap();
            let at = |u: f64| {
                let ScaleChange { log_det, quadratic } = curve.change(s * u.exp());
                log_det - 0.5 * quadratic
            };
            let slope = Slope::of(&belief, weights, s).unwrap().unwrap();
            // Differences over 2h: off by h² of a curve whose third and fourth derivatives are some tens, and by ε/h, ε/h².
            let h = 1e-3;
            assert!((slope.first - (at(h) - at(-h)) / (2.0 * h)).abs() < 1e2 * h * h, "{weights:?}");
            assert!((slope.second - (at(h) + at(-h)) / (h * h)).abs() < 1e2 * h * h, "{weights:?}");
        }
    }

    #[test]
    fn a_linear_model_with_another_scale_is_that_model() {
        let one = ScaledWeights { predictors: 1, columns: 3, scaled: 2, coupling: 0.0 };
        let two = ScaledWeights { predictors: 2, coupling: 1.0 / 3.0, ..one };
        for weights in [one, two] {
            for (from, to) in [(0.5, 2.0), (2.0, 0.3)] {
                let ((belief, before), (expected, after)) = (learned(weights, from), learned(weights, to));
                let belief = AnyBelief::Full(belief);
                let spectrum = Spectrum::of(&belief, weights, from).unwrap().unwrap();
                let ScaleChange { log_det, quadratic } = spectrum.change(to);
                // Rounding of four rows at a condition of some hundreds.
                let tolerance = 1e4 * f64::EPSILON;
                assert!((log_det - 0.5 * quadratic - (after - before)).abs() < tolerance * 10.0, "{weights:?}");
                let (changed, change) = rescaled(&belief, weights, from, to).unwrap().unwrap();
                assert!((change.log_det - log_det).abs() < tolerance * 10.0, "{weights:?}");
                assert!((change.quadratic - quadratic).abs() < tolerance * 10.0, "{weights:?}");
                let AnyBelief::Full(changed) = changed else { panic!("another kind") };
                for (a, b) in changed.mean().iter().zip(expected.mean()) {
                    assert!((a - b).abs() < tolerance, "{a} {b}");
                }
                let difference = &changed.covariance() - &expected.covariance();
                assert!(difference.norm_max() < tolerance * 25.0);
            }
        }
    }
}
