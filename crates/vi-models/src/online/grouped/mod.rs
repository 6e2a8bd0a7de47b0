//! Models with effects that differ from group to group (random effects, mixed models), learned in one pass at a cost that does not depend
//! on the number of groups.
//!
//! ```text
//! t = offset + intercept + xᵀw + zᵀu_g,   u_g ~ N(0, Σ),   z: 1 and some of the inputs
//! ```
//!
//! `Σ`, with a variance for each effect and their correlations, is learned from all groups and averaged over. A group with few rows is pulled
//! towards the others as far as they are alike; a new group is predicted with the whole spread between groups.

mod answers;
mod batch;
mod columns;
mod engine;
mod glm;
mod linear;
mod of_kind;
mod peak;
mod place;
mod pooled;
mod prior;
mod sample;
mod settings;
mod stored;
mod sweeps;
#[cfg(test)]
mod tests;

pub use answers::{Component, GroupEffects};
pub use glm::GroupedGlm;
pub use linear::GroupedLinear;
pub use of_kind::OnlineGrouped;
pub use pooled::GroupSums;
pub use settings::{Components, Effects, GroupedSettings};

/// Implements what all grouped models have.
macro_rules! grouped_model {
    ($model:ident $(<$generic:ident: $bound:path>)?, $family:ty) => {
        impl $(<$generic: $bound>)? $model $(<$generic>)? {
            /// Learns one row of the group with this key. Cost `O(p² + pq + q³)` for `p` common weights and
            /// `q` effects, and now and then a search for the components of variance over all groups.
            ///
            /// # Errors
            /// `Dimension`, `NonFinite`, `Entry` (a position) for the row; `Label`, `Setting` for the observation; `Overflow`. The model is
            /// then as it was, to the bit, but for the count of refused calls.
            pub fn update<'a>(
                &mut self,
                row: impl Into<Row<'a>>,
                group: u64,
                label: impl Into<Observation>,
            ) -> Result<(), ModelError> {
                self.engine.update(row.into(), group, label.into())
            }

            /// Learns many rows, as if one by one in their order: row `t` is of the group `groups[t]`. A linear model adds rows of weight 1 to its
            /// sums and solves once before each search, which gives what `update` gives up to rounding, at `O(p² + pq + q²)` a row and
            /// `O(m(q³ + p²q))` for `m` groups, and the same bits for any number of threads.
            ///
            /// # Errors
            /// `Empty` for no labels, `Dimension` for another number of groups; those of [`update`](Self::update), naming the row. The model is then
            /// as it was, to the bit, but for the count of refused calls.
            ///
            /// ```
            /// use vi_linalg::faer::Par;
            /// use vi_models::online::GroupedLinear;
            /// let mut model = GroupedLinear::new(1)?;
            /// model.update_batch(&[0.0, 1.0, 2.0, 0.5], &[7, 7, 8, 8], &[1.0, 2.1, 2.9, 1.4], Par::Seq)?;
            /// assert_eq!((model.observations(), model.groups()), (4, [7, 8].as_slice()));
            /// # Ok::<(), vi_models::ModelError>(())
            /// ```
            pub fn update_batch<'a, O: Copy + Into<Observation>>(
                &mut self,
                rows: impl Into<Rows<'a>>,
                groups: &[u64],
                labels: &[O],
                par: Par,
            ) -> Result<(), ModelError> {
                self.engine.update_batch(rows.into(), groups, labels, par)
            }

            /// The log probability of all labels, in nats, the components averaged over (in
            /// [`Components::Averaged`](super::Components)): compare models by it.
            #[must_use]
            pub fn evidence(&self) -> f64 {
                self.engine.evidence
            }

            /// The number of rows learned.
            #[must_use]
            pub fn observations(&self) -> u64 {
                self.engine.observations
            }

            /// The keys of the groups, in the order of their first rows.
            #[must_use]
            pub fn groups(&self) -> &[u64] {
                self.engine.belief.keys()
            }

            /// The settings.
            #[must_use]
            pub fn settings(&self) -> &GroupedSettings {
                &self.engine.settings
            }

            /// How many calls were refused, since the model was made or read.
            #[must_use]
            pub fn refused(&self) -> u64 {
                self.engine.refused
            }

            /// How often a search for the components failed, or a sweep left a row as it was, since the model was made or read.
            #[must_use]
            pub fn fallbacks(&self) -> u64 {
                self.engine.fallbacks
            }

            /// The posterior of the common weights in the units of the inputs, the intercept first.
            ///
            /// # Errors
            /// `Overflow`.
            pub fn coefficients(&self) -> Result<Vec<Coefficient>, ModelError> {
                self.engine.coefficients()
            }

            /// The effects of a group; those of a new group for an unknown one. Cost `O(q³ + p²q)`.
            ///
            /// # Errors
            /// `NotPositiveDefinite` if rounding has destroyed the belief.
            pub fn effects(&self, group: u64) -> Result<GroupEffects, ModelError> {
                self.engine.effects(group)
            }

            /// The posterior of the linear predictor at `row` in a group, in the label's units; `None` is a new group.
            ///
            /// # Errors
            /// `Dimension`, `NonFinite`, `Entry` (a position); `Setting` for the offset; `Overflow`.
            pub fn predictor<'a>(
                &self,
                row: impl Into<Row<'a>>,
                group: impl Into<Option<u64>>,
                offset: f64,
            ) -> Result<Marginal, ModelError> {
                self.engine.predictor(row.into(), group.into(), offset)
            }

            /// The posterior of `Σ c_j·w_j`, a combination of the common weights in the units of the inputs, with the contribution `zᵀu` of the
            /// effects of a group at a row if these are given; in the label's units.
            ///
            /// # Errors
            /// `Dimension`, `NonFinite`, `Entry` (a position); `Overflow`.
            pub fn contribution(&self, c: Row<'_>, of: Option<(Row<'_>, u64)>) -> Result<Marginal, ModelError> {
                self.engine.contribution(c, of)
            }

            /// The posterior means of the common weights.
            #[must_use]
            pub fn weights(&self) -> Draw {
                self.engine.weights()
            }

            pub(in crate::online) fn inputs(&self) -> usize {
                self.engine.columns.design.inputs
            }

            pub(in crate::online) fn input_scales(&self) -> Option<&[f64]> {
                self.engine.columns.design.input_scales()
            }

            pub(in crate::online) fn common_scale(&self) -> f64 {
                self.engine.priors.scale
            }

            pub(in crate::online) fn health(&self) -> Health {
                self.engine.belief.common().health()
            }

            pub(in crate::online) fn constant_columns(&self) -> &[usize] {
                &self.engine.columns.design.constant
            }

            pub(in crate::online) fn is_warming_up(&self) -> bool {
                !self.engine.fixed
            }
        }

        impl $(<$generic: $bound>)? Serialize for $model $(<$generic>)? {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.engine.to_wire().map_err(serde::ser::Error::custom)?.serialize(serializer)
            }
        }

        impl<'de, $($generic: $bound)?> Deserialize<'de> for $model $(<$generic>)? {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let wire = EngineWire::<$family>::deserialize(deserializer)?;
                let engine = Engine::from_wire(wire, Self::priors).map_err(serde::de::Error::custom)?;
                Ok(Self { engine })
            }
        }
    };
}

use grouped_model;
