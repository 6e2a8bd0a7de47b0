//! Groups whose rows are elsewhere, pooled: the sums of each, and from them a linear mixed model.
//!
//! The posterior of a mixed model needs of a group no more than the sums of [`LinearSums`]. They are kept under the group's key, so that parts
//! of groups add, groups go, and components of variance, effects and cluster-robust errors come from one record.

mod fit;
mod robust;

pub use fit::{GroupEffect, PoolFit, VarianceComponent};
pub use robust::RobustSpec;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use vi_core::Error;

use crate::posterior::check_like;
use crate::{LinearSums, PoolSpec, Posterior, SumsError};

/// The key of a group, a whole number or a text; keys are compared as they are, so that no two fall together.
///
/// ```
/// use vi_sums::GroupKey;
/// assert_eq!((GroupKey::from(7).to_string(), GroupKey::from("north").to_string()), ("7".into(), "north".into()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum GroupKey {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
}

impl From<i64> for GroupKey {
    fn from(key: i64) -> Self {
        Self::Number(key)
    }
}

impl From<&str> for GroupKey {
    fn from(key: &str) -> Self {
        Self::Text(key.to_owned())
    }
}

impl fmt::Display for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(key) => write!(f, "{key}"),
            Self::Text(key) => f.write_str(key),
        }
    }
}

/// The sums of many groups in the order of their keys, and how they are to be pooled. A group takes `(d + 2)(d + 3)/2 + 2` numbers.
///
/// ```
/// use vi_sums::{GroupKey, LinearSums, Pool, PoolSpec};
/// let mut pool = Pool::new(PoolSpec::default())?;
/// for (clinic, level) in [("east", 1.0), ("north", 2.5), ("west", 1.6)] {
///     let mut sums = LinearSums::new(1)?;
///     for day in 0..10 {
///         let x = f64::from(day);
///         sums.update(&[x], level + 0.5 * x + 0.2 * f64::from(day * 7 % 5))?;
///     }
///     pool.add(GroupKey::from(clinic), &sums)?;
/// }
/// let fit = pool.find()?;
/// assert!(fit.components(0.9)?[0].name == "sd(intercept)");
/// let (known, new) = (fit.predict(&[4.0], Some(&"north".into()), 0.9)?, fit.predict(&[4.0], None, 0.9)?);
/// assert!(known.mean > new.mean && known.variance < new.variance);
/// assert_eq!((pool.groups(), pool.rows()), (3, 30));
/// # Ok::<(), vi_sums::SumsError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    spec: PoolSpec,
    groups: BTreeMap<GroupKey, LinearSums>,
    /// The coordinates of the components where they were last found.
    near: Vec<f64>,
}

/// A pool as it is stored.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PoolWire {
    spec: String,
    inputs: u64,
    keys: Vec<GroupKey>,
    sums: Vec<f64>,
    near: Vec<f64>,
}

impl Pool {
    /// A pool without groups.
    ///
    /// # Errors
    /// Those of [`PoolSpec::check`].
    pub fn new(spec: PoolSpec) -> Result<Self, SumsError> {
        spec.check()?;
        Ok(Self { spec, groups: BTreeMap::new(), near: Vec::new() })
    }

    /// How the groups are pooled.
    #[must_use]
    pub fn spec(&self) -> &PoolSpec {
        &self.spec
    }

    /// The number `d` of inputs; 0 without groups.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.groups.values().next().map_or(0, LinearSums::inputs)
    }

    /// The number of groups.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The number of rows of all groups.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.groups.values().map(LinearSums::rows).sum()
    }

    /// The number of rows that were left out.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.groups.values().map(LinearSums::skipped).sum()
    }

    /// The groups with their sums, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&GroupKey, &LinearSums)> {
        self.groups.iter()
    }

    /// Adds the sums over rows of a group, of which the pool may have others. Cost `d²` and `log m` comparisons for `m` groups.
    ///
    /// # Errors
    /// [`SumsError::Group`] with [`SumsError::Unlike`] for another number of inputs, or with those of [`LinearSums::merge`].
    pub fn add(&mut self, key: GroupKey, sums: &LinearSums) -> Result<(), SumsError> {
        if !self.groups.is_empty() {
            check_like("number of inputs", &self.inputs(), &sums.inputs()).map_err(|error| error.of_group(&key))?;
        }
        if let Some(own) = self.groups.get_mut(&key) {
            return own.merge(sums).map_err(|error| error.of_group(&key));
        }
        self.groups.insert(key, sums.clone());
        Ok(())
    }

    /// Adds what a row of a query tells: a group and the record of a [`LinearPosterior`](crate::LinearPosterior) over rows of it. The prior in the record is not
    /// taken.
    ///
    /// # Errors
    /// `Empty` without a key; [`SumsError::Group`] with `Empty` without a record, with [`SumsError::Kind`] for another one, and as [`add`](Self::add).
    pub fn add_record(&mut self, key: Option<GroupKey>, record: Option<&[u8]>) -> Result<(), SumsError> {
        let key = key.ok_or(Error::Empty { argument: "key of a group" })?;
        let read = || {
            let posterior = Posterior::decode(record.ok_or(Error::Empty { argument: "posterior" })?)?;
            match posterior {
                Posterior::Linear(own) => Ok(own),
                other => Err(SumsError::Kind { expected: Posterior::LINEAR, found: other.name().to_owned() }),
            }
        };
        let own = read().map_err(|error: SumsError| error.of_group(&key))?;
        self.add(key, own.sums())
    }

    /// Adds the groups of another pool; sums of the same group are added.
    ///
    /// # Errors
    /// [`SumsError::Unlike`] for another way of pooling; [`SumsError::Group`] with it for another number of inputs, or with those of [`LinearSums::merge`]. The pool is
    /// then as it was.
    pub fn merge(&mut self, other: &Self) -> Result<(), SumsError> {
        self.check_like(other)?;
        let mut changed = Vec::with_capacity(other.groups.len());
        for (key, sums) in &other.groups {
            let mut own = sums.clone();
            if let Some(standing) = self.groups.get(key) {
                own.clone_from(standing);
                own.merge(sums).map_err(|error| error.of_group(key))?;
            }
            changed.push((key.clone(), own));
        }
        self.groups.extend(changed);
        Ok(())
    }

    fn check_like(&self, other: &Self) -> Result<(), SumsError> {
        check_like("pooling", &self.spec, &other.spec)?;
        let inputs = |(key, _)| {
            check_like("number of inputs", &self.inputs(), &other.inputs()).map_err(|error| error.of_group(key))
        };
        if self.groups.is_empty() { Ok(()) } else { other.groups.first_key_value().map_or(Ok(()), inputs) }
    }

    /// Removes the rows of another pool; a group of which no row is left goes.
    ///
    /// # Errors
    /// [`SumsError::Unlike`] as in [`merge`](Self::merge); [`SumsError::Group`] with [`SumsError::NotContained`] for a group that is not there, or those of
    /// [`LinearSums::subtract`]. The pool is then as it was.
    pub fn subtract(&mut self, other: &Self) -> Result<(), SumsError> {
        self.check_like(other)?;
        let mut changed = Vec::with_capacity(other.groups.len());
        for (key, sums) in &other.groups {
            let taken = match self.groups.get(key) {
                Some(own) => {
                    let mut left = own.clone();
                    left.subtract(sums).map(|()| left)
                }
                None => Err(SumsError::NotContained { what: "there is no such group" }),
            };
            changed.push((key, taken.map_err(|error| error.of_group(key))?));
        }
        for (key, left) in changed {
            if left.rows() == 0 && left.skipped() == 0 {
                self.groups.remove(key);
            } else {
                self.groups.insert(key.clone(), left);
            }
        }
        Ok(())
    }

    /// Pools the groups, and keeps where the components were found, so that what [reads](Posterior::decode) the pool finds them there.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn find(&mut self) -> Result<PoolFit, SumsError> {
        let fit = self.fit()?;
        self.near = fit.model().coordinates().to_vec();
        Ok(fit)
    }

    /// The pool as one record, that of [`Posterior::Pool`].
    ///
    /// # Errors
    /// [`Error::Checkpoint`].
    pub fn encode(&self) -> Result<Vec<u8>, SumsError> {
        let wire = PoolWire {
            spec: self.spec.to_string(),
            inputs: self.inputs() as u64,
            keys: self.groups.keys().cloned().collect(),
            sums: self.groups.values().flat_map(|sums| sums.flat().iter().copied()).collect(),
            near: self.near.clone(),
        };
        crate::posterior::record(Posterior::POOL, &wire)
    }

    pub(crate) fn from_wire(wire: PoolWire) -> Result<Self, SumsError> {
        let PoolWire { spec, inputs, keys, sums, near } = wire;
        let mut pool = Self { near, ..Self::new(PoolSpec::parse(&spec)?)? };
        if keys.is_empty() {
            return Ok(pool);
        }
        let inputs = usize::try_from(inputs).unwrap_or(usize::MAX);
        crate::linear::check_inputs(inputs)?;
        let len = LinearSums::flat_len(inputs);
        vi_core::check::length("sums of the groups", len.saturating_mul(keys.len()), sums.len())?;
        if let Some(index) = (1..keys.len()).find(|&i| keys[i - 1] >= keys[i]) {
            let requirement = "behind the key before it";
            return Err(Error::Entry { argument: "keys", index, value: index as f64, requirement }.into());
        }
        for (key, flat) in keys.into_iter().zip(sums.chunks_exact(len)) {
            let own = LinearSums::from_flat(inputs, flat).map_err(|error| error.of_group(&key))?;
            pool.groups.insert(key, own);
        }
        Ok(pool)
    }
}
