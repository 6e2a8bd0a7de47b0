//! Log-likelihoods of rows as functions of the weights, one row at a time.

use std::fmt::Debug;

use vi_core::Likelihood;

/// The log-likelihoods `log p(y_i | η)` of rows `i` that see the weights through a few linear predictors `η`.
pub(in crate::online) trait RowDensities: Debug + Send + Sync {
    /// The number of linear predictors.
    fn predictors(&self) -> usize;

    /// `log p(y_i | η)` in nats, and `∂/∂η` into `out`.
    fn evaluate(&self, i: usize, predictors: &[f64], out: &mut [f64]) -> f64;
}

/// Rows with one linear predictor.
#[derive(Debug)]
pub(in crate::online) struct OnePredictor<L> {
    pub(in crate::online) y: Vec<f64>,
    pub(in crate::online) likelihoods: Vec<L>,
}

impl<L: Likelihood + Debug + Send + Sync> RowDensities for OnePredictor<L> {
    fn predictors(&self) -> usize {
        1
    }

    fn evaluate(&self, i: usize, predictors: &[f64], out: &mut [f64]) -> f64 {
        let (likelihood, y, t) = (&self.likelihoods[i], self.y[i], predictors[0]);
        out[0] = likelihood.slope(y, t);
        likelihood.log_density(y, t)
    }
}

/// Rows whose label is a class, `p(y=c) = softmax(0, η)_c`.
#[derive(Debug)]
pub(in crate::online) struct OneClass {
    pub(in crate::online) classes: usize,
    /// The class and the weight of each row.
    pub(in crate::online) rows: Vec<(usize, f64)>,
}

impl RowDensities for OneClass {
    fn predictors(&self) -> usize {
        self.classes - 1
    }

    fn evaluate(&self, i: usize, predictors: &[f64], out: &mut [f64]) -> f64 {
        let (class, weight) = self.rows[i];
        let largest = predictors.iter().copied().fold(0.0, f64::max);
        let total = (-largest).exp() + predictors.iter().map(|eta| (eta - largest).exp()).sum::<f64>();
        for (c, (out, eta)) in out.iter_mut().zip(predictors).enumerate() {
            let own = f64::from(u8::from(c + 1 == class));
            *out = weight * (own - (eta - largest).exp() / total);
        }
        let own = if class == 0 { 0.0 } else { predictors[class - 1] };
        weight * (own - largest - total.ln())
    }
}
