//! The errors of the crate, each with the values that prove it.

use vi_linalg::LinalgError;

/// An error of `vi-models`. Every public function checks its input first, and has changed nothing when it returns an error.
///
/// ```
/// use vi_models::{ModelError, metrics};
/// let error = metrics::brier_score(&[0.2, 1.5], &[0.0, 1.0]).unwrap_err();
/// assert_eq!(error, ModelError::Probability { index: 1, value: 1.5 });
/// assert_eq!(error.to_string(), "probabilities[1] = 1.5 is not in [0, 1]");
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// An error of `vi-core`: of an argument, a setting, a label or a factorisation.
    #[error(transparent)]
    Core(#[from] vi_core::Error),
    /// A probability is outside `[0, 1]`, or NaN.
    #[error("probabilities[{index}] = {value} is not in [0, 1]")]
    Probability {
        /// Position of the entry.
        index: usize,
        /// The entry.
        value: f64,
    },
    /// The probabilities of the classes of a row do not sum to 1.
    #[error("the probabilities of row {row} sum to {sum}")]
    ProbabilitySum {
        /// Index of the row.
        row: usize,
        /// The sum of the probabilities.
        sum: f64,
    },
    /// The logarithm of a probability is above 0, or NaN.
    #[error("log_probabilities[{index}] = {value} is not the logarithm of a probability")]
    LogProbability {
        /// Position of the entry.
        index: usize,
        /// The entry.
        value: f64,
    },
    /// A binary label is neither 0 nor 1.
    #[error("labels[{index}] = {value} is neither 0 nor 1")]
    BinaryLabel {
        /// Position of the entry.
        index: usize,
        /// The entry.
        value: f64,
    },
    /// The model does not keep what refinement and diagnosis need: all rows and a full covariance.
    #[error("the settings keep no rows, or not a full covariance, or let the model forget")]
    NotKept,
    /// The belief would take more than 64 GiB for each prior scale.
    #[error(
        "a {belief:?} belief over {inputs} inputs takes more than 64 GiB: BeliefKind::Diagonal or LowRank takes memory in proportion of the inputs"
    )]
    TooLarge {
        /// The number of inputs asked for.
        inputs: usize,
        /// The belief asked for.
        belief: crate::online::BeliefKind,
    },
    /// Two inputs have the same name.
    #[error("names[{index}] = {name:?} is the name of an earlier input")]
    Name {
        /// Position of the second input with the name.
        index: usize,
        /// The name.
        name: String,
    },
    /// The entry of a row for a named input is invalid.
    #[error("{source} (input {name:?})")]
    Input {
        /// The input's name.
        name: String,
        /// What is wrong with the entry.
        source: vi_core::Error,
    },
    /// The requested combination of settings is not implemented.
    #[error("there is no {what}")]
    Unsupported {
        /// What was requested.
        what: &'static str,
    },
    /// The parts of a stored model do not fit together.
    #[error("the stored model contradicts itself in its {what}")]
    Document {
        /// Which parts.
        what: &'static str,
    },
    /// Too few labels were predicted before they were learned for intervals to be certified by.
    #[error(
        "certified intervals need the record of {needed} labels, each predicted before it was learned; this model's has {rows}"
    )]
    Uncertified {
        /// The labels of the record.
        rows: u64,
        /// The labels that are needed.
        needed: u64,
    },
    /// A model given for a merge differs from the others.
    #[error("model {shard} cannot be taken: it differs in {what}")]
    Unlike {
        /// Its position among the models given.
        shard: usize,
        /// What differs.
        what: &'static str,
    },
    /// The posterior for which a mixture was found is not the model's.
    #[error("the posterior is of another model, or of other rows than the model has learned")]
    OtherPosterior,
    /// A label is none of the classes.
    #[error("labels[{index}] = {value} is none of the classes 0 to {}", classes - 1)]
    ClassLabel {
        /// Position of the entry.
        index: usize,
        /// The entry.
        value: f64,
        /// The number of classes.
        classes: usize,
    },
    /// Numbers that must differ are all equal.
    #[error("all {argument} are {value}: there is nothing to compare with")]
    Constant {
        /// Name of the argument.
        argument: &'static str,
        /// The value of all of them.
        value: f64,
    },
    /// The score compares two classes, and the labels show only one.
    #[error("all labels are {label}: both classes are needed")]
    OneClass {
        /// The only label that occurs.
        label: f64,
    },
}

impl ModelError {
    /// This error as that of observation `row`, if it is one of `vi-core`'s.
    pub(crate) fn at_row(self, row: usize) -> Self {
        match self {
            Self::Core(error) => Self::Core(error.at_row(row)),
            other => other,
        }
    }
}

impl From<LinalgError> for ModelError {
    fn from(error: LinalgError) -> Self {
        Self::Core(vi_core::Error::Linalg(error))
    }
}
