//! The pooled posterior: common weights, components of variance, effects, predictions.

use vi_core::{Error, check};
use vi_linalg::faer::Par;
use vi_models::online::{Component, GroupSums, GroupedLinear, GroupedSettings};
use vi_models::{Interval, Marginal};

use super::{GroupKey, Pool};
use crate::{Predicted, SumsError, Weight};

/// A standard deviation over the groups, a correlation of two effects, or the standard deviation of the noise.
#[derive(Debug, Clone, PartialEq)]
pub struct VarianceComponent {
    /// `sd(intercept)`, `sd(x2)`, `cor(intercept, x2)` or, last, `sd(noise)`.
    pub name: String,
    /// Where its posterior is highest, of the noise where that of the others is; in units of the label and the inputs.
    pub value: f64,
    /// The lower end of its central interval.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// One effect of one group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupEffect {
    /// The group; `None` for a new one.
    pub group: Option<GroupKey>,
    /// `intercept`, or the input whose slope it is.
    pub effect: String,
    /// Its posterior.
    pub weight: Weight,
}

/// A pool made ready for answers: the [`GroupedLinear`] of its sums.
#[derive(Debug, Clone)]
pub struct PoolFit {
    model: GroupedLinear,
    /// The key of group `g` of the model at place `g`, in order.
    keys: Vec<GroupKey>,
}

fn weight(belief: &Marginal, level: f64) -> Result<Weight, SumsError> {
    let Interval { lower, upper } = belief.interval(level)?;
    Ok(Weight { mean: belief.mean(), deviation: belief.standard_deviation(), lower, upper })
}

impl Pool {
    /// Pools the groups: the model that would have learned their rows, by [`GroupedLinear::of_sums`].
    ///
    /// # Errors
    /// `Empty` without groups; those of [`GroupedLinear::of_sums`], with [`SumsError::Group`] where they are about one.
    pub fn fit(&self) -> Result<PoolFit, SumsError> {
        let inputs = self.inputs();
        check::not_empty("groups", inputs)?;
        let keys: Vec<GroupKey> = self.groups.keys().cloned().collect();
        let groups: Vec<GroupSums<'_>> = (0_u64..)
            .zip(self.groups.values())
            .map(|(group, sums)| GroupSums { group, rows: sums.rows(), mean: sums.mean(), scatter: sums.scatter() })
            .collect();
        let settings = self.spec.settings(inputs)?;
        let model = GroupedLinear::of_sums(inputs, settings, &groups, &self.near, Par::Seq);
        let model = model.map_err(|error| match error {
            vi_models::ModelError::Core(Error::Row { row, source }) => SumsError::Core(*source).of_group(&keys[row]),
            other => other.into(),
        })?;
        Ok(PoolFit { model, keys })
    }
}

impl PoolFit {
    /// The model, in which a group's key is its place in the order of all keys of the pool.
    #[must_use]
    pub fn model(&self) -> &GroupedLinear {
        &self.model
    }

    /// The place of a group in the model; of a new one a place that no group has.
    fn place(&self, group: Option<&GroupKey>) -> u64 {
        let found = group.and_then(|key| self.keys.binary_search(key).ok());
        found.map_or(u64::MAX, |place| place as u64)
    }

    /// The posterior of the common weights, the intercept (if there is one) first, with central intervals of `level`.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `0 < level < 1`; [`Error::Overflow`].
    pub fn weights(&self, level: f64) -> Result<Vec<Weight>, SumsError> {
        self.model.coefficients()?.iter().map(|own| weight(&own.belief, level)).collect()
    }

    /// The components of variance, with intervals of probability `level`: Laplace's of the logarithm of a standard deviation and the artanh of a
    /// correlation; that of the noise from its gamma posterior at the peak. Cost that of a few steps of the search.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `0 < level < 1`; those of [`GroupedLinear::components`].
    pub fn components(&self, level: f64) -> Result<Vec<VarianceComponent>, SumsError> {
        let of = |own: &Component| {
            let Interval { lower, upper } = own.interval(level)?;
            Ok(VarianceComponent { name: own.name.clone(), value: own.value, lower, upper })
        };
        let mut found: Vec<_> = self.model.components()?.iter().map(of).collect::<Result<_, SumsError>>()?;
        let noise = self.model.noise()?;
        let Interval { lower, upper } = noise.interval(level)?;
        let value = (noise.rate() / noise.shape()).sqrt();
        found.push(VarianceComponent { name: "sd(noise)".into(), value, lower: lower.sqrt(), upper: upper.sqrt() });
        Ok(found)
    }

    /// The effects of a group with central intervals of `level`; those of a new group where it has no rows here or is not given. Cost `O(q³ + p²q)`.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `0 < level < 1`; those of [`GroupedLinear::effects`].
    pub fn effects(&self, group: Option<&GroupKey>, level: f64) -> Result<Vec<GroupEffect>, SumsError> {
        let found = self.model.effects(self.place(group))?;
        let GroupedSettings { effects, names, .. } = self.model.settings();
        let names =
            effects.intercept.then_some("intercept").into_iter().chain(effects.slopes.iter().map(|&j| &*names[j]));
        let of = |(effect, belief): (&str, &Marginal)| {
            Ok(GroupEffect { group: group.cloned(), effect: effect.to_owned(), weight: weight(belief, level)? })
        };
        names.zip(&found.effects).map(of).collect()
    }

    /// The effects of all groups, in the order of their keys. Cost `O(q³ + p²q)` a group.
    ///
    /// # Errors
    /// As [`effects`](Self::effects).
    pub fn all_effects(&self, level: f64) -> Result<Vec<GroupEffect>, SumsError> {
        let mut all = Vec::with_capacity(self.keys.len() * self.model.settings().effects.count());
        for key in &self.keys {
            all.extend(self.effects(Some(key), level)?);
        }
        Ok(all)
    }

    /// The prediction of the label at `x` (length `d`) in a group, with the central interval of `level`; in a new one where it is not given or not known.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`], [`Error::Setting`] unless `0 < level < 1`; [`Error::Overflow`].
    pub fn predict(&self, x: &[f64], group: Option<&GroupKey>, level: f64) -> Result<Predicted, SumsError> {
        let seen = self.model.predict(x, self.place(group))?.label;
        Ok(Predicted::new(seen.mean(), seen.variance(), seen.interval(level)?))
    }
}
