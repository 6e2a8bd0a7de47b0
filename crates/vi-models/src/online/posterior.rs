//! The posterior of a front-door model as a density, for methods that need not assume a Gaussian.

mod prior;
mod rows;

use std::sync::Arc;

use vi_core::{Belief, DenseGaussian, Error, LogDensity, by_slabs};
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};

use self::prior::Prior;
pub(super) use self::rows::{OneClass, OnePredictor, RowDensities};
use super::Draw;
use super::design::Design;
use super::engine::{Engine, Family};
use crate::{ModelError, check};

/// The true posterior of the weights of a model that keeps its rows, as a log-density with its gradient.
///
/// ```text
/// f(θ) = Π_i p(y_i | θ)^(w_i) · ∫ p(s)·N(θ | 0, s²D) ds
/// ```
///
/// `θ` are weights of standardised columns, the intercept last, one class after the other for a softmax model: numbers of order
/// one, which [`in_units`](Self::in_units) converts to the caller's units. The prior scale `s` is given, or averaged over as in
/// the model. A mixture of Gaussians that another method found for `f` answers through the model's `mixture`. Cost of `m` points
/// and `n` rows of `p` columns: `4nmp` flops and `nm` derivatives.
///
/// ```
/// use vi_core::LogDensity;
/// use vi_models::online::{OnlineLogistic, OnlineSettings};
/// let settings = OnlineSettings { keep_rows: true, ..OnlineSettings::default() };
/// let mut model = OnlineLogistic::with_settings(1, settings)?;
/// for (x, y) in [(0.2, 0.0), (1.3, 1.0), (0.4, 0.0), (1.1, 1.0)] {
///     model.update(&[x], y)?;
/// }
/// let posterior = model.posterior()?;
/// assert_eq!((posterior.dim(), posterior.names()), (2, vec!["x0".to_owned(), "intercept".to_owned()]));
/// assert!(posterior.log_density(&[2.0, 0.0]) > posterior.log_density(&[-2.0, 0.0]));
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Posterior {
    /// The rows in the model's columns, `n × p`.
    x: Mat<f64>,
    rows: Arc<dyn RowDensities>,
    prior: Prior,
    design: Design,
    /// The part of the intercept that is no weight.
    level: f64,
    /// The names of the inputs.
    names: Vec<String>,
    observations: u64,
}

/// How many linear predictors are held at once: 256 KiB.
const SLAB: usize = 1 << 15;

impl Posterior {
    /// The posterior of the rows that `engine` keeps.
    ///
    /// # Errors
    /// [`ModelError::NotKept`].
    pub(super) fn of<F: Family>(engine: &Engine<F>) -> Result<Self, ModelError> {
        engine.check_kept()?;
        let (x, observed) = engine.design_matrix()?;
        let rows = engine.family.row_densities(&engine.best().state, &observed)?;
        let level = engine.family.level(&engine.best().state).mean;
        let (design, observations) = (engine.design.clone(), engine.observations);
        let names = (0..design.inputs).map(|j| engine.name(j)).collect();
        Ok(Self { x, rows, prior: Prior::of(engine)?, design, level, names, observations })
    }

    /// The names of the columns of [`in_units`](Self::in_units): each input's (`x0`, `x1` and so on where it has none) and
    /// `intercept`; for a softmax model these for each class after the first.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let of = |class: usize| {
            let prefix = if self.rows.predictors() == 1 { String::new() } else { format!("class {} ", class + 1) };
            let names = self.names.iter().map(String::as_str).chain(["intercept"]);
            names.map(move |name| format!("{prefix}{name}"))
        };
        (0..self.rows.predictors()).flat_map(of).collect()
    }

    /// Converts draws of `θ` (`n × p`) to the caller's units: columns in the order of [`names`](Self::names), the intercept being
    /// the predictor at all inputs 0.
    ///
    /// # Errors
    /// `Dimension`.
    pub fn in_units(&self, draws: MatRef<'_, f64>) -> Result<Mat<f64>, ModelError> {
        check::length("columns of the draws", self.dim(), draws.ncols())?;
        let (p, inputs) = (self.design.columns(), self.design.inputs);
        let mut out = Mat::zeros(draws.nrows(), self.rows.predictors() * (inputs + 1));
        let mut columns = vec![0.0; p];
        for i in 0..draws.nrows() {
            for class in 0..self.rows.predictors() {
                for (j, value) in columns.iter_mut().enumerate() {
                    *value = draws[(i, class * p + j)];
                }
                let Draw { intercept, weights, .. } = Draw::new(&self.design, &columns).raised(self.level);
                for (j, value) in weights.into_iter().chain([intercept]).enumerate() {
                    out[(i, class * (inputs + 1) + j)] = value;
                }
            }
        }
        Ok(out)
    }

    /// Values at a slab of points, and gradients if asked for.
    fn slab(&self, points: MatRef<'_, f64>, values: &mut [f64], gradients: Option<MatMut<'_, f64>>) {
        let (m, n, p, k) = (points.nrows(), self.x.nrows(), self.x.ncols(), self.rows.predictors());
        // The predictor of class c at point i and row t is in column c·n + t.
        let mut eta = Mat::<f64>::zeros(m, k * n);
        for c in 0..k {
            let own = eta.as_mut().subcols_mut(c * n, n);
            matmul(own, Accum::Replace, points.subcols(c * p, p), self.x.transpose(), 1.0, Par::Seq);
        }
        let (mut by_fixed, mut by_scaled) = (Mat::<f64>::zeros(m, k * p), Mat::<f64>::zeros(m, k * p));
        matmul(by_fixed.as_mut(), Accum::Replace, points, self.prior.fixed.as_ref(), 1.0, Par::Seq);
        matmul(by_scaled.as_mut(), Accum::Replace, points, self.prior.scaled.as_ref(), 1.0, Par::Seq);
        let (mut seen, mut slope) = (vec![0.0; k], vec![0.0; k]);
        let mut precisions = vec![0.0; m];
        for (i, value) in values.iter_mut().enumerate() {
            let form = |by: &Mat<f64>| (0..k * p).map(|j| by[(i, j)] * points[(i, j)]).sum::<f64>();
            (*value, precisions[i]) = self.prior.at(form(&by_fixed), form(&by_scaled));
            for t in 0..n {
                seen.iter_mut().enumerate().for_each(|(c, seen)| *seen = eta[(i, c * n + t)]);
                *value += self.rows.evaluate(t, &seen, &mut slope);
                slope.iter().enumerate().for_each(|(c, slope)| eta[(i, c * n + t)] = *slope);
            }
        }
        let Some(mut gradients) = gradients else { return };
        for c in 0..k {
            let own = gradients.as_mut().subcols_mut(c * p, p);
            matmul(own, Accum::Replace, eta.as_ref().subcols(c * n, n), self.x.as_ref(), 1.0, Par::Seq);
        }
        for j in 0..k * p {
            for (i, precision) in precisions.iter().enumerate() {
                gradients[(i, j)] -= by_fixed[(i, j)] + precision * by_scaled[(i, j)];
            }
        }
    }

    /// Whether the posterior is that of the rows of an engine, in the same columns.
    fn is_of<F: Family>(&self, engine: &Engine<F>) -> bool {
        self.observations == engine.observations && self.design == engine.design && self.x.nrows() == engine.rows.len()
    }

    /// Checks that `parts` are a mixture over the weights of an engine whose posterior this is.
    ///
    /// # Errors
    /// [`ModelError::OtherPosterior`]; `Empty`, `Dimension`, `Entry` (a weight), `Setting` (their sum).
    pub(super) fn check_mixture<F: Family>(
        &self,
        engine: &Engine<F>,
        parts: &[(f64, DenseGaussian)],
    ) -> Result<(), ModelError> {
        if !self.is_of(engine) {
            return Err(ModelError::OtherPosterior);
        }
        if parts.is_empty() {
            return Err(Error::Empty { argument: "parts" }.into());
        }
        for (index, (weight, part)) in parts.iter().enumerate() {
            check::length("part of the mixture", self.dim(), part.dim())?;
            if !(*weight > 0.0 && weight.is_finite()) {
                let requirement = "positive and finite";
                return Err(
                    Error::Entry { argument: "weights of the parts", index, value: *weight, requirement }.into()
                );
            }
        }
        let value: f64 = parts.iter().map(|(weight, _)| weight).sum();
        if (value - 1.0).abs() > SUM_TOLERANCE {
            return Err(Error::Setting { name: "sum of the weights", value, requirement: "1" }.into());
        }
        Ok(())
    }
}

/// How far from 1 the weights may sum: what is lost by writing them with ten digits.
const SUM_TOLERANCE: f64 = 1e-8;

impl LogDensity for Posterior {
    fn dim(&self) -> usize {
        self.rows.predictors() * self.design.columns()
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        let mut value = [f64::NAN];
        self.log_densities(MatRef::from_row_major_slice(theta, 1, theta.len()), &mut value);
        value[0]
    }

    fn value_and_gradient(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        let (mut value, d) = ([f64::NAN], theta.len());
        let gradient = MatMut::from_row_major_slice_mut(out, 1, d);
        self.slab(MatRef::from_row_major_slice(theta, 1, d), &mut value, Some(gradient));
        Some(value[0])
    }

    fn gradient(&self, theta: &[f64], out: &mut [f64]) -> bool {
        self.value_and_gradient(theta, out).is_some()
    }

    fn log_densities(&self, points: MatRef<'_, f64>, values: &mut [f64]) {
        by_slabs((points, self.slab_len()), values, None, |points, values, gradients| {
            self.slab(points, values, gradients);
        });
    }

    fn log_densities_and_gradients(
        &self,
        points: MatRef<'_, f64>,
        values: &mut [f64],
        gradients: MatMut<'_, f64>,
    ) -> bool {
        by_slabs((points, self.slab_len()), values, Some(gradients), |points, values, gradients| {
            self.slab(points, values, gradients);
        });
        true
    }
}

impl Posterior {
    /// The number of points that share a slab.
    fn slab_len(&self) -> usize {
        (SLAB / (self.rows.predictors() * self.x.nrows()).max(1)).clamp(8, 1024)
    }
}
