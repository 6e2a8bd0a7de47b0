//! Weights with the names of their inputs.

use vi_core::check;

use crate::{SumsError, Weight};

/// The posterior of a weight, with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Coefficient {
    /// `intercept`, or the name of the input.
    pub name: String,
    /// Its posterior.
    pub weight: Weight,
}

impl Coefficient {
    /// Gives each weight of a model the name of its input, an intercept before them its own. `names` are those of the `inputs`, separated by commas; `x1`, `x2`,
    /// … by default.
    ///
    /// ```
    /// use vi_sums::{Coefficient, LinearPosterior, LinearPrior, Posterior, Predictor};
    /// let mut fold = LinearPosterior::new(2, LinearPrior::default())?;
    /// fold.sums_mut().update(&[1.0, 2.0], 3.0)?;
    /// let weights = Predictor::new(&Posterior::from(fold))?.weights(0.9)?;
    /// let named = Coefficient::named(weights, 2, Some("dep_delay, distance"))?;
    /// let names: Vec<&str> = named.iter().map(|own| own.name.as_str()).collect();
    /// assert_eq!(names, ["intercept", "dep_delay", "distance"]);
    /// # Ok::<(), vi_sums::SumsError>(())
    /// ```
    ///
    /// # Errors
    /// [`vi_core::Error::Dimension`] unless there is one name for each input.
    pub fn named(weights: Vec<Weight>, inputs: usize, names: Option<&str>) -> Result<Vec<Self>, SumsError> {
        let names: Vec<String> = match names {
            Some(names) => names.split(',').map(|name| name.trim().to_owned()).collect(),
            None => (1..=inputs).map(|j| format!("x{j}")).collect(),
        };
        check::length("names", inputs, names.len())?;
        let intercept = (weights.len() > inputs).then(|| "intercept".to_owned());
        let named = intercept.into_iter().chain(names).zip(weights);
        Ok(named.map(|(name, weight)| Self { name, weight }).collect())
    }
}
