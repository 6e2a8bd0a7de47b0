//! Settings of a grouped model.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use vi_core::Error;

use crate::online::Standardise;
use crate::online::settings::check_scale;
use crate::{ModelError, check};

/// Which weights differ from group to group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effects {
    /// Whether each group has its own intercept.
    pub intercept: bool,
    /// The inputs whose weights each group has for itself, each at most once.
    pub slopes: Vec<usize>,
    /// Whether the effects of a group are correlated, with correlations to be learned. Correlated effects do not depend on the origins
    /// of the inputs; uncorrelated ones do.
    pub correlated: bool,
}

impl Default for Effects {
    /// An intercept for each group.
    fn default() -> Self {
        Self { intercept: true, slopes: Vec::new(), correlated: true }
    }
}

impl Effects {
    /// The number `q` of effects of a group.
    #[must_use]
    pub fn count(&self) -> usize {
        usize::from(self.intercept) + self.slopes.len()
    }
}

/// What is done about not knowing the components of variance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Components {
    /// Answers are averaged over their posterior, at the nodes of a cubature rule while that posterior is wide.
    #[default]
    Averaged,
    /// The values at which their evidence without a prior is largest; for linear models those of restricted maximum likelihood (REML), as
    /// in lme4. A component may be estimated as 0.
    Optimum,
}

/// Settings of [`GroupedLinear`](super::GroupedLinear) and [`GroupedGlm`](super::GroupedGlm). The default has an intercept for each group, a common
/// intercept, and standardises inputs by the first rows.
///
/// ```
/// use vi_models::online::{Effects, GroupedSettings};
/// // An intercept and the slope of the first input for each group: `(x | g)`.
/// let settings = GroupedSettings {
///     effects: Effects { slopes: vec![0], ..Effects::default() },
///     ..GroupedSettings::default()
/// };
/// assert_eq!(settings.effects.count(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupedSettings {
    /// Which weights differ from group to group.
    pub effects: Effects,
    /// What is done about not knowing the components of variance.
    pub components: Components,
    /// Whether the model adds a constant column to the common weights.
    pub intercept: bool,
    /// Prior standard deviation of the common weights of standardised inputs; for a linear model in units of the noise. `None` is
    /// nearly flat for linear models, 1000, and 5 for the others.
    pub prior_scale: Option<f64>,
    /// How inputs are brought to a common scale.
    pub standardise: Standardise,
    /// Whether all rows are kept, so that the model can be refined.
    pub keep_rows: bool,
    /// The names of the inputs: empty, or one name for each, all different.
    pub names: Vec<String>,
}

impl Default for GroupedSettings {
    fn default() -> Self {
        Self {
            effects: Effects::default(),
            components: Components::default(),
            intercept: true,
            prior_scale: None,
            standardise: Standardise::default(),
            keep_rows: false,
            names: Vec::new(),
        }
    }
}

impl GroupedSettings {
    /// Checks the settings for `inputs` inputs.
    ///
    /// # Errors
    /// `Empty`, `Setting`, `Index`, `Entry`, `Dimension`; [`ModelError::Name`].
    pub(super) fn check(&self, inputs: usize) -> Result<(), ModelError> {
        check::count("effects of a group", self.effects.count())?;
        if inputs == 0 && !self.intercept {
            return Err(Error::Empty { argument: "inputs" }.into());
        }
        let mut seen = HashSet::new();
        for (index, &input) in self.effects.slopes.iter().enumerate() {
            if input >= inputs {
                return Err(Error::Index { argument: "inputs", index: input, len: inputs }.into());
            }
            if !seen.insert(input) {
                let (argument, value) = ("slopes", input as f64);
                return Err(Error::Entry { argument, index, value, requirement: "an input given once" }.into());
            }
        }
        if let Some(scale) = self.prior_scale {
            check_scale("prior scale", scale)?;
        }
        self.standardise.check(inputs)?;
        if self.names.is_empty() {
            return Ok(());
        }
        check::length("names", inputs, self.names.len())?;
        let mut seen = HashSet::new();
        match self.names.iter().position(|name| !seen.insert(name)) {
            None => Ok(()),
            Some(index) => Err(ModelError::Name { index, name: self.names[index].clone() }),
        }
    }

    /// The name of input `j`.
    pub(super) fn name(&self, j: usize) -> String {
        self.names.get(j).cloned().unwrap_or_else(|| format!("x{j}"))
    }
}
