//! The options of a fit, and how a table was read.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use vi_models::Transform;
use vi_models::online::BeliefKind;

use crate::table::target::TargetKind;
use crate::{Shape, TermsError};

/// The word for a memory that forgets nothing.
pub const NOTHING: &str = "nothing";

/// The options of a fit, with the names and the defaults of `rvi fit`.
///
/// ```
/// use vi_terms::Shape;
/// use vi_terms::table::{Family, Options};
///
/// let options = Options { target: Some("price".to_owned()), shape: Some(Shape::Smooth), ..Options::default() };
/// assert_eq!((options.family, options.sniff), (Family::Auto, 2000));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "switches, each by itself")]
pub struct Options {
    /// The column to predict; none where the formula or the format names it.
    pub target: Option<String>,
    /// The type of the target.
    pub family: Family,
    /// Target and inputs as a formula.
    pub formula: Option<String>,
    /// Nonlinear features: `rff:300` or `poly:2`.
    pub features: Option<String>,
    /// The shape of the relation; none where it depends on the table.
    pub shape: Option<Shape>,
    /// Columns to leave out.
    pub ignore: Vec<String>,
    /// Columns of numbers to treat as text.
    pub text: Vec<String>,
    /// Columns to keep as numbers although every row has its own.
    pub number: Vec<String>,
    /// All classes of the target; none for those of the first rows.
    pub classes: Vec<String>,
    /// The limit on the levels of a text column, at least 2.
    pub levels: u16,
    /// The number of inputs of a sparse file.
    pub inputs: Option<u32>,
    /// The number of rows that decide the kinds of the columns, at least 2.
    pub sniff: u32,
    /// Forgetting: [`NOTHING`], `learned`, or a factor between 0 and 1.
    pub forget: String,
    /// The form of the posterior; none where it depends on the number of inputs.
    pub belief: Option<BeliefKind>,
    /// Prior standard deviations of the coefficients; none to learn it.
    pub prior: Vec<f64>,
    /// Whether each input has a prior scale of its own, by relevance determination.
    pub ard: bool,
    /// Whether the scales of the inputs are fixed after the first rows.
    pub mergeable: bool,
    /// Whether the inputs keep their units.
    pub unscaled: bool,
    /// Whether the model keeps no sample of the rows.
    pub no_sample: bool,
    /// The number of threads on which families are tried; no bit of a model depends on it.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            target: None,
            family: Family::Auto,
            formula: None,
            features: None,
            shape: None,
            ignore: Vec::new(),
            text: Vec::new(),
            number: Vec::new(),
            classes: Vec::new(),
            levels: 100,
            inputs: None,
            sniff: 2000,
            forget: NOTHING.to_owned(),
            belief: None,
            prior: Vec::new(),
            ard: false,
            mergeable: false,
            unscaled: false,
            no_sample: false,
            threads: 1,
        }
    }
}

impl Options {
    /// Checks what depends on no table.
    ///
    /// # Errors
    /// [`TermsError::Option`].
    pub(crate) fn check(&self) -> Result<(), TermsError> {
        let wrong = |option, value: &dyn std::fmt::Display, what: &str| {
            Err(TermsError::Option { option, value: value.to_string(), what: what.to_owned() })
        };
        if self.levels < 2 {
            return wrong("levels", &self.levels, "must be at least 2");
        }
        if self.sniff < 2 {
            return wrong("sniff", &self.sniff, "must be at least 2");
        }
        match self.prior.iter().find(|scale| !(**scale > 1e-100 && **scale < 1e100)) {
            Some(scale) => wrong("prior", scale, "must be a positive number"),
            None => Ok(()),
        }
    }

    /// Whether a model of this target can keep the effects of a group by themselves.
    pub(crate) fn takes_groups(&self, target: &TargetKind) -> bool {
        let of_family = match self.family {
            Family::Auto => [TargetKind::Number, TargetKind::Count].contains(target),
            Family::Number | Family::Gaussian | Family::LogNormal | Family::LogitNormal => {
                *target == TargetKind::Number
            }
            Family::Count | Family::Poisson => *target == TargetKind::Count,
            _ => false,
        };
        let of_two = matches!(target, TargetKind::Classes(classes) if classes.len() == 2);
        let plain = self.forget == NOTHING && self.prior.is_empty() && self.belief.is_none() && self.features.is_none();
        (of_family || of_two) && plain && !(self.mergeable || self.ard || self.unscaled)
    }

    /// The shape beside what a formula says; none where it depends on the table. Whoever says how weights are scaled, kept or forgotten means
    /// the inputs as they are.
    pub(crate) fn shape(&self) -> Option<Shape> {
        let told = self.formula.is_some()
            || self.features.is_some()
            || self.ard
            || self.unscaled
            || !self.prior.is_empty()
            || self.belief.is_some()
            || self.forget != NOTHING;
        self.shape.or(told.then_some(Shape::Line))
    }
}

/// The shape of this name: `line`, `smooth`, `pairs` or `any`.
///
/// # Errors
/// [`TermsError::Option`] for the name of none.
pub fn parse_shape(name: &str) -> Result<Shape, TermsError> {
    const SHAPES: [(&str, Shape); 4] =
        [("line", Shape::Line), ("smooth", Shape::Smooth), ("pairs", Shape::Pairs), ("any", Shape::Any)];
    let found = SHAPES.into_iter().find(|(own, _)| *own == name);
    found.map(|(_, shape)| shape).ok_or_else(|| none_of("shape", name, &SHAPES.map(|(own, _)| own)))
}

fn none_of(option: &'static str, value: &str, names: &[&str]) -> TermsError {
    TermsError::Option { option, value: value.to_owned(), what: format!("must be one of {}", names.join(", ")) }
}

/// The type of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Classes if the values are words, 0 and 1, -1 and 1, or two repeated values; otherwise a number, of the family that the first rows prefer.
    Auto,
    /// A number; the family that the first rows prefer.
    Number,
    /// A number with Gaussian noise of unknown size.
    Gaussian,
    /// A number with Student-t noise.
    Robust,
    /// A positive number with Gaussian noise in its logarithm.
    LogNormal,
    /// A positive number with Student-t noise in its logarithm.
    LogRobust,
    /// A number with Student-t noise whose spread follows the inputs.
    Varying,
    /// A positive number with such noise in its logarithm.
    LogVarying,
    /// A fraction with Gaussian noise in its log odds.
    LogitNormal,
    /// A fraction with Student-t noise in its log odds.
    LogitRobust,
    /// A fraction with such noise in its log odds as follows the inputs.
    LogitVarying,
    /// Two or more classes.
    Classes,
    /// Classes in an order: of numbers theirs, of texts that in which the classes are named.
    Ordered,
    /// A count; the family that the first rows prefer.
    Count,
    /// A count whose variance is its mean.
    Poisson,
    /// A count that varies more, by an amount that is learned.
    NegativeBinomial,
    /// The same with excess zeros, whose share is learned.
    ZeroInflated,
}

impl Family {
    /// All families.
    pub const ALL: [Self; 17] = [
        Self::Auto,
        Self::Number,
        Self::Gaussian,
        Self::Robust,
        Self::LogNormal,
        Self::LogRobust,
        Self::Varying,
        Self::LogVarying,
        Self::LogitNormal,
        Self::LogitRobust,
        Self::LogitVarying,
        Self::Classes,
        Self::Ordered,
        Self::Count,
        Self::Poisson,
        Self::NegativeBinomial,
        Self::ZeroInflated,
    ];

    /// The name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Number => "number",
            Self::Gaussian => "gaussian",
            Self::Robust => "robust",
            Self::LogNormal => "log-normal",
            Self::LogRobust => "log-robust",
            Self::Varying => "varying",
            Self::LogVarying => "log-varying",
            Self::LogitNormal => "logit-normal",
            Self::LogitRobust => "logit-robust",
            Self::LogitVarying => "logit-varying",
            Self::Classes => "classes",
            Self::Ordered => "ordered",
            Self::Count => "count",
            Self::Poisson => "poisson",
            Self::NegativeBinomial => "negative-binomial",
            Self::ZeroInflated => "zero-inflated",
        }
    }

    /// The transform of a number that the family learns.
    pub(crate) fn transform(self) -> Transform {
        match self {
            Self::LogNormal | Self::LogRobust | Self::LogVarying => Transform::Log,
            Self::LogitNormal | Self::LogitRobust | Self::LogitVarying => Transform::Logit,
            _ => Transform::Identity,
        }
    }

    /// The family of this name.
    ///
    /// # Errors
    /// [`TermsError::Option`] for the name of none.
    pub fn parse(name: &str) -> Result<Self, TermsError> {
        let found = Self::ALL.into_iter().find(|family| family.name() == name);
        found.ok_or_else(|| none_of("family", name, &Self::ALL.map(Self::name)))
    }
}

/// The table of a pass: a file and how it is read, or a name for rows in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The file, or the name of what was no file.
    pub data: PathBuf,
    /// Its format, where the user named it.
    pub format: Option<InputFormat>,
    /// Whether its first line is a row.
    pub no_header: bool,
    /// The separator of its fields, where the user named it.
    pub delimiter: Option<String>,
    /// Whether unreadable rows are skipped.
    pub skip_bad: bool,
}

impl Input {
    /// Rows in memory under a name.
    #[must_use]
    pub fn in_memory(name: &str, skip_bad: bool) -> Self {
        Self { data: name.into(), format: None, no_header: false, delimiter: None, skip_bad }
    }
}

/// The format of a file of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum InputFormat {
    /// Fields separated by commas, semicolons or bars.
    Csv,
    /// Fields separated by tabs.
    Tsv,
    /// A JSON object on each line.
    Jsonl,
    /// `label index:value …` on each line.
    Libsvm,
    /// Vowpal Wabbit's text.
    Vw,
    /// Parquet.
    Parquet,
    /// The first sheet of a spreadsheet of Excel or OpenDocument.
    Sheet,
    /// Arrow IPC.
    Arrow,
}
