//! A model in one line of text, as a query writes it: `logistic scale=1 intercept=5`.

use std::fmt;

use vi_core::Error;
use vi_models::online::{Components, Effects, GroupedSettings, Standardise};

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

/// The description of how groups are pooled in a query: `effects=` what differs from group to group, `intercept` and numbers (from 1) or names of inputs
/// with commas between (the intercept, where nothing is said); `independent` for effects without correlations; `optimum` for the components of largest evidence (REML) in place of an average over
/// them; `scale=` the prior scale of the common weights, in units of the noise; `intercept=0` for none in common; `plain` for inputs and labels that are not
/// standardised (by all rows); `names=` of the inputs, in their order.
///
/// ```
/// use vi_sums::PoolSpec;
/// let spec = PoolSpec::parse("effects=intercept,days names=age,days optimum")?;
/// assert_eq!((spec.effects.slopes.as_slice(), spec.to_string().as_str()), ([1].as_slice(), "effects=intercept,days optimum names=age,days"));
/// assert_eq!(PoolSpec::parse("")?, PoolSpec::default());
/// # Ok::<(), vi_sums::SumsError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PoolSpec {
    /// What differs from group to group.
    pub effects: Effects,
    /// What is done about not knowing the components of variance.
    pub components: Components,
    /// Whether there is a common intercept.
    pub intercept: bool,
    /// The prior scale of the common weights; `None` is nearly flat.
    pub scale: Option<f64>,
    /// Whether inputs and labels are taken as they are; otherwise all rows standardise them.
    pub plain: bool,
    /// The names of the inputs: none (`x1`, `x2`…), or one for each.
    pub names: Vec<String>,
}

impl Default for PoolSpec {
    fn default() -> Self {
        let (effects, components) = (Effects::default(), Components::default());
        Self { effects, components, intercept: true, scale: None, plain: false, names: Vec::new() }
    }
}

impl PoolSpec {
    /// Reads a description, a line of words.
    ///
    /// # Errors
    /// [`SumsError::Word`]; [`Error::Setting`] for an invalid scale.
    pub fn parse(text: &str) -> Result<Self, SumsError> {
        const WORDS: &str = "effects=, names=, independent, optimum, scale= with a number, intercept=0 or plain";
        const EFFECTS: &str = "intercept, and numbers from 1 or names of inputs, with commas between";
        let (mut spec, mut effects) = (Self::default(), None);
        for word in text.split_whitespace() {
            match word.split_once('=') {
                Some(("effects", list)) => effects = Some(list),
                Some(("names", list)) => spec.names = list.split(',').map(str::to_owned).collect(),
                _ => match assignment(word)? {
                    ("independent", None) => spec.effects.correlated = false,
                    ("optimum", None) => spec.components = Components::Optimum,
                    ("scale", Some(value)) => spec.scale = Some(value),
                    ("intercept", Some(0.0)) => spec.intercept = false,
                    ("plain", None) => spec.plain = true,
                    _ => return Err(unknown(word, WORDS)),
                },
            }
        }
        if let Some(list) = effects {
            spec.effects.intercept = false;
            for word in list.split(',') {
                let named = spec.names.iter().position(|name| name == word);
                let place = || named.or_else(|| word.parse::<usize>().ok().and_then(|number| number.checked_sub(1)));
                match word {
                    "intercept" => spec.effects.intercept = true,
                    _ => spec.effects.slopes.push(place().ok_or_else(|| unknown(word, EFFECTS))?),
                }
            }
        }
        spec.check()?;
        Ok(spec)
    }

    /// Checks what does not depend on the number of inputs; every function that takes a description calls this.
    ///
    /// # Errors
    /// [`Error::Setting`] for an invalid scale; [`SumsError::Word`] for a name that a line of words could not hold.
    pub fn check(&self) -> Result<(), SumsError> {
        if let Some(scale) = self.scale {
            vi_core::check::positive("scale", scale)?;
        }
        let is_word = |name: &String| {
            !name.is_empty() && name != "intercept" && !name.contains(|c: char| c == ',' || c.is_whitespace())
        };
        match self.names.iter().find(|name| !is_word(name)) {
            None => Ok(()),
            Some(name) => Err(unknown(name, "a name without spaces and commas, other than intercept")),
        }
    }

    /// The settings of the model of `inputs` inputs.
    ///
    /// # Errors
    /// `Dimension` for another number of names.
    pub(crate) fn settings(&self, inputs: usize) -> Result<GroupedSettings, SumsError> {
        let names =
            if self.names.is_empty() { (1..=inputs).map(|j| format!("x{j}")).collect() } else { self.names.clone() };
        vi_core::check::length("names", inputs, names.len())?;
        Ok(GroupedSettings {
            effects: self.effects.clone(),
            components: self.components,
            intercept: self.intercept,
            prior_scale: self.scale,
            standardise: if self.plain { Standardise::Never } else { Standardise::Chosen },
            keep_rows: false,
            names,
        })
    }
}

impl fmt::Display for PoolSpec {
    /// The line of words that [`parse`](Self::parse) reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = self.effects.intercept.then(|| "intercept".to_owned());
        let slope = |&j: &usize| self.names.get(j).cloned().unwrap_or_else(|| (j + 1).to_string());
        let slopes = self.effects.slopes.iter().map(slope);
        let mut words = vec![format!("effects={}", level.into_iter().chain(slopes).collect::<Vec<_>>().join(","))];
        words.extend((!self.effects.correlated).then(|| "independent".to_owned()));
        words.extend((self.components == Components::Optimum).then(|| "optimum".to_owned()));
        words.extend(self.scale.map(|scale| format!("scale={scale}")));
        words.extend((!self.intercept).then(|| "intercept=0".to_owned()));
        words.extend(self.plain.then(|| "plain".to_owned()));
        words.extend((!self.names.is_empty()).then(|| format!("names={}", self.names.join(","))));
        f.write_str(&words.join(" "))
    }
}

/// Splits a word of the form `name` or `name=number`.
pub(crate) fn assignment(word: &str) -> Result<(&str, Option<f64>), SumsError> {
    let Some((name, value)) = word.split_once('=') else { return Ok((word, None)) };
    let value: f64 = value.parse().map_err(|_| unknown(word, "a number stands after ="))?;
    if !value.is_finite() {
        return Err(Error::NonFinite { argument: "setting", index: 0, value }.into());
    }
    Ok((name, Some(value)))
}

pub(crate) fn unknown(word: &str, expected: &'static str) -> SumsError {
    SumsError::Word { word: word.to_owned(), expected }
}
