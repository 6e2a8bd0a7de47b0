//! What all predictions of one number, count or probability have in common.

use rand::Rng;
use vi_core::Row;
use vi_models::online::{LabelPredicted, NumberPredicted, Observation, ProbabilityPredicted};
use vi_models::predict::CountPrediction;
use vi_models::{Interval, Marginal, ModelError};

use crate::fault::Fault;
use crate::model::{Model, one_or_classes};

/// The prediction at a row by a model of one linear predictor.
pub(crate) trait Predicted {
    /// The expected label.
    fn mean(&self) -> f64;
    /// Of a number or count its standard deviation; of a probability that of what is believed of it.
    fn deviation(&self) -> f64;
    /// Of a number or count; of a probability that of what is believed of it.
    fn interval(&self, level: f64) -> Result<Interval, ModelError>;
    /// Of a label, in nats.
    fn log_density(&self, label: f64) -> Result<f64, ModelError>;
    /// A draw of the label.
    fn draw<R: Rng>(&self, rng: &mut R) -> Result<f64, ModelError>;
}

impl Predicted for NumberPredicted {
    fn mean(&self) -> f64 {
        self.mean()
    }
    fn deviation(&self) -> f64 {
        self.standard_deviation()
    }
    fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        self.interval(level)
    }
    fn log_density(&self, label: f64) -> Result<f64, ModelError> {
        Ok(self.log_density(label))
    }
    fn draw<R: Rng>(&self, rng: &mut R) -> Result<f64, ModelError> {
        self.label.draw(rng)
    }
}

impl Predicted for ProbabilityPredicted {
    fn mean(&self) -> f64 {
        self.probability
    }
    fn deviation(&self) -> f64 {
        self.variance.max(0.0).sqrt()
    }
    fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        self.interval(level)
    }
    fn log_density(&self, label: f64) -> Result<f64, ModelError> {
        self.log_density(label)
    }
    fn draw<R: Rng>(&self, rng: &mut R) -> Result<f64, ModelError> {
        Ok(self.draw_label(rng))
    }
}

impl<L: CountPrediction> Predicted for LabelPredicted<L> {
    fn mean(&self) -> f64 {
        self.mean
    }
    fn deviation(&self) -> f64 {
        self.variance.max(0.0).sqrt()
    }
    fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        self.interval(level)
    }
    fn log_density(&self, label: f64) -> Result<f64, ModelError> {
        self.log_density(label)
    }
    fn draw<R: Rng>(&self, rng: &mut R) -> Result<f64, ModelError> {
        self.draw(rng)
    }
}

/// What is done with the prediction at each row.
pub(crate) trait Visitor {
    fn visit<P: Predicted>(&mut self, row: usize, predicted: &P) -> Result<(), ModelError>;
}

/// Predicts at every row, each with its offset and size, and hands what is found to `visitor`.
///
/// # Errors
/// `TypeError` for a model of several classes; those of the model, told of the row.
pub(crate) fn predict_each(
    model: &Model,
    rows: &[Row<'_>],
    at: &[Observation],
    offsets: Option<&[f64]>,
    visitor: &mut impl Visitor,
) -> Result<(), Fault> {
    let offset = |i: usize| offsets.map_or(0.0, |offsets| offsets[i]);
    for (i, row) in rows.iter().enumerate() {
        let done = match model {
            Model::Number(model) => model.predict_at(*row, offset(i)).and_then(|seen| visitor.visit(i, &seen)),
            Model::Two(model) => model.predict_at(*row, offset(i)).and_then(|seen| visitor.visit(i, &seen)),
            Model::Count(model) => model.predict(*row, at[i]).and_then(|seen| visitor.visit(i, &seen)),
            Model::Probit(model) => model.predict(*row, at[i]).and_then(|seen| visitor.visit(i, &seen)),
            Model::Trials(model) => model.predict(*row, at[i]).and_then(|seen| visitor.visit(i, &seen)),
            Model::Spread(model) => model.predict(*row, at[i]).and_then(|seen| visitor.visit(i, &seen)),
            Model::LearnedSpread(model) => model.predict(*row, at[i]).and_then(|seen| visitor.visit(i, &seen)),
            Model::Classes(_) => return Err(Fault::Type("a model of several classes predicts no number".to_owned())),
        };
        done.map_err(|error| Fault::Value(format!("row {i}: {error}")))?;
    }
    Ok(())
}

/// What is believed of the linear predictor at row `i`.
///
/// # Errors
/// `TypeError` for a model of several classes; those of the model, told of the row.
pub(crate) fn predictor(model: &Model, i: usize, row: Row<'_>, offset: f64) -> Result<Marginal, Fault> {
    one_or_classes!(model, model => {
        model.predictor(row, offset).map_err(|error| Fault::Value(format!("row {i}: {error}")))
    }, _model => Err(Fault::Type("a model of several classes has no one predictor".to_owned())))
}
