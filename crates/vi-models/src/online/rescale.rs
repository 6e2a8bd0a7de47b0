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
//! Columns whose prior stays (the intercept) are first integrated out: `γ` are the eigenvalues of the marginal of the others.

use vi_core::{Belief, DenseGaussian, Error, SquareRootGaussian};
use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef, Par};

use super::apart::Apart;
use super::belief::AnyBelief;

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

    /// The entry of `D` for two weights, by their positions among the scaled ones.
    fn shape(self, i: usize, j: usize) -> f64 {
        if i % self.scaled != j % self.scaled {
            return 0.0;
        }
        f64::from(i == j) - self.coupling
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
#[derive(Debug, Clone, Copy, PartialEq)]
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
        if let AnyBelief::Apart(belief) = belief {
            let one = ScaledWeights { predictors: 1, ..weights };
            let mut all = Self { scale, precisions: Vec::new(), squares: Vec::new() };
            for part in &belief.parts {
                let Some(own) = Self::of(part, one, scale)? else { return Ok(None) };
                all.precisions.extend(own.precisions);
                all.squares.extend(own.squares);
            }
            return Ok(Some(all));
        }
        let Some(dense) = belief.full()? else { return Ok(None) };
        let positions: Vec<usize> = weights.positions().collect();
        let covariance = dense.covariance();
        let d = positions.len();
        let mut scaled = Mat::from_fn(d, d, |i, j| covariance[(positions[i], positions[j])]);
        let mut mean: Vec<f64> = positions.iter().map(|&j| dense.mean()[j]).collect();
        weights.whiten(&mut mean);
        let mut column = vec![0.0; d];
        for _ in 0..if weights.coupling == 0.0 { 0 } else { 2 } {
            // The matrix is symmetric: whiten the columns, transpose, and whiten again.
            for j in 0..d {
                (0..d).for_each(|i| column[i] = scaled[(i, j)]);
                weights.whiten(&mut column);
                (0..d).for_each(|i| scaled[(i, j)] = column[i]);
            }
            scaled = scaled.transpose().to_owned();
        }
        let (variances, vectors) = vi_linalg::eigen::eigen(scaled.as_ref(), Par::Seq).map_err(Error::from)?;
        if let Some(index) = variances.iter().position(|variance| variance.is_nan() || *variance <= 0.0) {
            return Err(Error::NonFinite { argument: "variances of the weights", index, value: variances[index] });
        }
        let squares = (0..d)
            .map(|j| mean.iter().zip(vectors.col(j).iter()).map(|(mean, vector)| mean * vector).sum::<f64>().powi(2))
            .collect();
        let precisions = variances.iter().map(|variance| variance.recip()).collect();
        Ok(Some(Self { scale, precisions, squares }))
    }

    pub(super) fn change(&self, to: f64) -> ScaleChange {
        let least = (to * to).recip();
        let delta = least - (self.scale * self.scale).recip();
        let mut change = ScaleChange { log_det: 0.0, quadratic: 0.0 };
        for (gamma, square) in self.precisions.iter().zip(&self.squares) {
            // A precision is never below the new prior's, except by rounding.
            let next = (gamma + delta).max(least);
            change.log_det += 0.5 * (gamma / next).ln() - (to / self.scale).ln();
            change.quadratic += square * gamma * (delta / next);
        }
        change
    }
}

/// The belief as it would be with the prior scale `to` instead of `from`. Cost about `3d³` flops; `None` for a belief that keeps
/// no full covariance.
///
/// # Errors
/// `NotPositiveDefinite`.
pub(super) fn rescaled(
    belief: &AnyBelief,
    weights: ScaledWeights,
    from: f64,
    to: f64,
) -> Result<Option<AnyBelief>, Error> {
    if let AnyBelief::Apart(belief) = belief {
        let one = ScaledWeights { predictors: 1, ..weights };
        let parts: Option<Vec<AnyBelief>> =
            belief.parts.iter().map(|part| rescaled(part, one, from, to)).collect::<Result<_, _>>()?;
        return Ok(parts.map(|parts| AnyBelief::Apart(Box::new(Apart::of(parts)))));
    }
    let Some(dense) = belief.full()? else { return Ok(None) };
    let delta = (to * to).recip() - (from * from).recip();
    let mut precision = dense.cholesky()?.inverse();
    let mut natural = dense.mean().to_vec();
    dense.cholesky()?.solve_vec_in_place(&mut natural)?;
    let positions: Vec<usize> = weights.positions().collect();
    for (a, &i) in positions.iter().enumerate() {
        for (b, &j) in positions.iter().enumerate() {
            precision[(i, j)] += delta * weights.shape(a, b);
        }
    }
    let mean = solved(precision.as_ref(), natural)?;
    Ok(Some(match belief {
        AnyBelief::SquareRoot(_) => {
            AnyBelief::SquareRoot(SquareRootGaussian::from_precision(&mean.0, precision.as_ref())?)
        }
        _ => AnyBelief::Full(DenseGaussian::new(&mean.0, mean.1.inverse().as_ref())?),
    }))
}

fn solved(precision: MatRef<'_, f64>, mut natural: Vec<f64>) -> Result<(Vec<f64>, Cholesky), Error> {
    let factor = Cholesky::new(precision)?;
    factor.solve_vec_in_place(&mut natural)?;
    Ok((natural, factor))
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
        let positions: Vec<usize> = weights.positions().collect();
        let mut precision = Mat::from_fn(d, d, |i, j| if i == j { 0.04 } else { 0.0 });
        for (a, &i) in positions.iter().enumerate() {
            for (b, &j) in positions.iter().enumerate() {
                precision[(i, j)] = weights.shape(a, b) / (s * s);
            }
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
                let AnyBelief::Full(changed) = rescaled(&belief, weights, from, to).unwrap().unwrap() else {
                    panic!("another kind")
                };
                for (a, b) in changed.mean().iter().zip(expected.mean()) {
                    assert!((a - b).abs() < tolerance, "{a} {b}");
                }
                let difference = &changed.covariance() - &expected.covariance();
                assert!(difference.norm_max() < tolerance * 25.0);
            }
        }
    }
}
