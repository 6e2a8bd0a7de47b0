//! The levels of a group whose effects the model keeps by themselves, however many they are.

use std::collections::HashMap;
use std::iter::once;

use serde::{Deserialize, Serialize};
use vi_models::online::Model;
use vi_models::{Marginal, ModelError};

use crate::table::document::Document;
use crate::table::schema::is_missing;
use crate::table::text::whole;

/// Standard deviations by which more rows are of the group of the row before than in a random order.
const IN_RUNS: f64 = 3.5;

/// An effect of a group, whose effects the model keeps by themselves.
#[derive(Debug, Clone)]
pub struct GroupEffect {
    /// The group, as the table names it; empty for rows without a group.
    pub group: String,
    /// Rows of the group.
    pub rows: u64,
    /// The name of the effect: `intercept`, or the column of the slope.
    pub effect: String,
    /// The posterior, in the units of the target or on the scale of the linear predictor, for each unit of the column.
    pub belief: Marginal,
}

impl Document {
    /// The effects of all groups, in the order of their first rows; none for a model that does not keep effects of groups by themselves. Cost
    /// `O(pq² + q³)` a group for `p` common weights and `q` effects.
    ///
    /// # Errors
    /// Of an item: `Overflow`.
    pub fn group_effects(&self) -> impl Iterator<Item = Result<GroupEffect, ModelError>> {
        let model = if let Model::Grouped(model) = &self.model { Some(model) } else { None };
        let all = self
            .groups
            .iter()
            .zip(model)
            .flat_map(|(groups, model)| (0..).zip(&groups.levels).map(move |own| (own, model)));
        all.flat_map(|((key, (group, rows)), model)| {
            let names: Vec<String> = once("intercept".to_owned()).chain(model.slope_names()).collect();
            match model.effects(key) {
                Err(error) => vec![Err(error)],
                Ok(found) => {
                    let of = |(effect, belief)| Ok(GroupEffect { group: group.clone(), rows: *rows, effect, belief });
                    names.into_iter().zip(found.effects).map(of).collect()
                }
            }
        })
    }
}

/// The groups of the rows so far.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub(crate) struct Groups {
    /// The column that names the group of a row.
    pub(crate) column: String,
    /// Each group with its rows, in the order of their first rows: its place is its key in the model.
    levels: Vec<(String, u64)>,
    /// The group of the last row, and how many rows were of the group of the row before.
    last: Option<u64>,
    again: u64,
    #[serde(skip)]
    keys: HashMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    column: String,
    levels: Vec<(String, u64)>,
    last: Option<u64>,
    again: u64,
}

impl From<Stored> for Groups {
    fn from(Stored { column, levels, last, again }: Stored) -> Self {
        let keys = (0..).zip(&levels).map(|(key, (level, _))| (level.clone(), key)).collect();
        Self { column, levels, last, again, keys }
    }
}

/// The name of the group that a field names; rows in which it is missing are a group of their own.
fn name(field: &str) -> &str {
    if is_missing(field) { "" } else { whole(field) }
}

impl Groups {
    pub(crate) fn new(column: String) -> Self {
        Self::from(Stored { column, levels: Vec::new(), last: None, again: 0 })
    }

    /// The key of the group that a field names, for a new one the key that it will have.
    pub(crate) fn key(&self, field: &str) -> u64 {
        self.keys.get(name(field)).copied().unwrap_or(self.levels.len() as u64)
    }

    /// Adds a row that the model has learned.
    pub(crate) fn add(&mut self, field: &str) {
        let key = self.key(field);
        let place = usize::try_from(key).unwrap_or(usize::MAX);
        if let Some((_, rows)) = self.levels.get_mut(place) {
            *rows += 1;
        } else {
            self.levels.push((name(field).to_owned(), 1));
            self.keys.insert(name(field).to_owned(), key);
        }
        self.again += u64::from(self.last.replace(key) == Some(key));
    }

    /// The groups and their rows, in the order of their keys.
    pub(crate) fn levels(&self) -> &[(String, u64)] {
        &self.levels
    }

    /// By how many standard deviations more rows are of the group of the row before than in a random order, where these are many.
    pub(crate) fn in_order(&self) -> Option<f64> {
        let rows: f64 = self.levels.iter().map(|(_, rows)| *rows as f64).sum();
        let expected =
            self.levels.iter().map(|(_, own)| *own as f64 * (*own as f64 - 1.0)).sum::<f64>() / rows.max(1.0);
        let score = (self.again as f64 - expected) / expected.max(1.0).sqrt();
        Some(score).filter(|score| *score > IN_RUNS)
    }

    /// Whether these can be the groups of a model with these keys; a group has none where a second pass refused all its rows.
    pub(crate) fn is_of(&self, keys: &[u64]) -> bool {
        let known = |key: &u64| usize::try_from(*key).is_ok_and(|key| key < self.levels.len());
        self.keys.len() == self.levels.len() && keys.iter().all(known)
    }
}
