//! A model in one line of text, as a query writes it: `logistic scale=1 intercept=5`.

use vi_core::Error;

use crate::{Family, GlmPrior, LinearPrior, SumsError};

/// The description of a linear model in a query: words `scale=`, `intercept=`, `shape=`, `rate=` of the prior, and `strict`.
///
/// ```
/// use vi_sums::LinearSpec;
/// let spec = LinearSpec::parse("scale=10 intercept=0 strict")?;
/// assert_eq!((spec.prior.scale, spec.prior.intercept, spec.strict), (10.0, 0.0, true));
/// assert_eq!(LinearSpec::parse("")?, LinearSpec::default());
/// # Ok::<(), vi_sums::SumsError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinearSpec {
    /// The prior of the model.
    pub prior: LinearPrior,
    /// Whether a number that is not finite is an error; otherwise its row is left out and counted.
    pub strict: bool,
}

impl LinearSpec {
    /// Reads a description, a line of words.
    ///
    /// # Errors
    /// [`SumsError::Word`]; [`Error::Setting`] for an invalid prior.
    pub fn parse(text: &str) -> Result<Self, SumsError> {
        let mut spec = Self::default();
        for word in text.split_whitespace() {
            let LinearPrior { scale, intercept, shape, rate } = &mut spec.prior;
            match assignment(word)? {
                ("strict", None) => spec.strict = true,
                ("scale", Some(value)) => *scale = value,
                ("intercept", Some(value)) => *intercept = value,
                ("shape", Some(value)) => *shape = value,
                ("rate", Some(value)) => *rate = value,
                _ => return Err(unknown(word, "scale=, intercept=, shape= or rate= with a number, or strict")),
            }
        }
        spec.prior.check()?;
        Ok(spec)
    }
}

/// The description of a generalised linear model in a query: the family (`logistic`, `probit`, `poisson`, or `negative_binomial`
/// with `size=`), words `scale=` and `intercept=` of the prior, and `strict`.
///
/// ```
/// use vi_sums::{Family, GlmSpec};
/// let spec = GlmSpec::parse("poisson scale=1")?;
/// assert_eq!((spec.family, spec.prior.scale, spec.strict), (Family::Poisson, 1.0, false));
/// assert!(GlmSpec::parse("negative_binomial").is_err());
/// # Ok::<(), vi_sums::SumsError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GlmSpec {
    /// The family of the labels.
    pub family: Family,
    /// The prior of the model.
    pub prior: GlmPrior,
    /// Whether a number that is not finite is an error; otherwise its row is left out and counted.
    pub strict: bool,
}

impl GlmSpec {
    /// Reads a description, a line of words with the family first.
    ///
    /// # Errors
    /// [`SumsError::Word`]; [`Error::Setting`] for an invalid prior or size.
    pub fn parse(text: &str) -> Result<Self, SumsError> {
        const FAMILIES: &str = "logistic, probit, poisson or negative_binomial stands first";
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let (mut prior, mut strict, mut size) = (GlmPrior::default(), false, None);
        for word in words {
            match assignment(word)? {
                ("strict", None) => strict = true,
                ("scale", Some(value)) => prior.scale = value,
                ("intercept", Some(value)) => prior.intercept = value,
                ("size", Some(value)) if name == "negative_binomial" => size = Some(value),
                _ => {
                    return Err(unknown(
                        word,
                        "scale=, intercept= with a number, or strict; size= of a negative binomial",
                    ));
                }
            }
        }
        let family = match (name, size) {
            ("logistic", _) => Family::Logistic,
            ("probit", _) => Family::Probit,
            ("poisson", _) => Family::Poisson,
            ("negative_binomial", Some(size)) => Family::negative_binomial(size)?,
            ("negative_binomial", None) => return Err(unknown(name, "it needs size= and a number")),
            _ => return Err(unknown(name, FAMILIES)),
        };
        prior.check()?;
        Ok(Self { family, prior, strict })
    }
}

/// Splits a word of the form `name` or `name=number`.
fn assignment(word: &str) -> Result<(&str, Option<f64>), SumsError> {
    let Some((name, value)) = word.split_once('=') else { return Ok((word, None)) };
    let value: f64 = value.parse().map_err(|_| unknown(word, "a number stands after ="))?;
    if !value.is_finite() {
        return Err(Error::NonFinite { argument: "setting", index: 0, value }.into());
    }
    Ok((name, Some(value)))
}

fn unknown(word: &str, expected: &'static str) -> SumsError {
    SumsError::Word { word: word.to_owned(), expected }
}
