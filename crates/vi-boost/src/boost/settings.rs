//! What the default algorithm may spend and when it stops.

use vi_core::check;

use crate::BoostError;
use crate::component::Family;
use crate::error::{check_positive_entries, setting};
use crate::points::MOST_POINTS;

/// When all components are optimised together on the true objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Refit {
    /// Never: each component stays as it was found; only weights are re-optimised.
    Never,
    /// After every component.
    Each,
    /// Once, when no more components are added: six components then do what sixteen do without.
    #[default]
    Last,
}

/// Settings of [`Boost`](crate::Boost), each checked when it is given.
///
/// ```
/// use vi_boost::{BoostSettings, Refit};
/// let settings = BoostSettings::default().components(4)?.points(512)?.refit(Refit::Each);
/// assert!(BoostSettings::default().points(3).is_err());
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BoostSettings {
    pub(crate) components: usize,
    /// `None`: as many as the dimension asks for.
    points: Option<usize>,
    pub(crate) most_points: Option<usize>,
    pub(crate) starts: usize,
    pub(crate) scales: Vec<f64>,
    pub(crate) finalists: usize,
    pub(crate) family: Family,
    pub(crate) refit: Refit,
    pub(crate) search: usize,
    pub(crate) refit_search: usize,
    pub(crate) polish: usize,
    pub(crate) dispersion: f64,
    pub(crate) prune: f64,
    pub(crate) improvement: f64,
    pub(crate) patience: usize,
    pub(crate) gap: Option<f64>,
}

impl Default for BoostSettings {
    /// At most 6 full components, 1024 points each or as many as the dimension asks for, 4 starts, covariances ½, 1, 2 and 4 times the inverse Hessian, 2 finalists; one
    /// refit at the end; 60 evaluations for each search and 200 for a refit; starts from 1.7 times the width of `q` beside the
    /// start distribution; components below a weight of 1e-6 are dropped; stops after 3 steps that gain no more than
    /// 0.001 nats each.
    fn default() -> Self {
        Self {
            components: 6,
            points: None,
            most_points: None,
            starts: 4,
            scales: vec![0.5, 1.0, 2.0, 4.0],
            finalists: 2,
            family: Family::Full,
            refit: Refit::Last,
            search: 60,
            refit_search: 200,
            polish: 0,
            dispersion: 1.7,
            prune: 1e-6,
            improvement: 1e-3,
            patience: 3,
            gap: None,
        }
    }
}

impl BoostSettings {
    /// Points of each component at first, in `d` dimensions: at least eight for each of the numbers of a full one.
    pub(crate) fn points_in(&self, d: usize) -> usize {
        self.points.unwrap_or_else(|| (EACH_NUMBER * d * (d + 3) / 2).next_power_of_two().clamp(LEAST, MOST_POINTS))
    }

    /// Twice as many components, and twice as many points for each.
    pub(crate) fn doubled(&self, d: usize) -> Result<Self, BoostError> {
        let points = (2 * self.points_in(d)).min(MOST_POINTS);
        self.clone().components(2 * self.components)?.points(points)?.most_points(points)
    }

    /// Points of each component at most, in `d` dimensions.
    pub(crate) fn points_up_to(&self, d: usize) -> usize {
        let own = self.points_in(d);
        let most = match (self.most_points, self.points) {
            (Some(most), _) => most,
            (None, Some(points)) => points,
            (None, None) => DOUBLINGS * own,
        };
        most.clamp(own, MOST_POINTS)
    }

    /// Checks that there are enough points for components of `latent` dimensions.
    pub(crate) fn check_enough(&self, d: usize, latent: usize) -> Result<(), BoostError> {
        check_enough("points", self.points_in(d), latent)?;
        if self.polish == 0 { Ok(()) } else { check_enough("polish", self.polish, latent) }
    }

    /// Components at most.
    ///
    /// # Errors
    /// `Setting` unless at least 1.
    pub fn components(mut self, count: usize) -> Result<Self, BoostError> {
        check::count("components", count)?;
        self.components = count;
        Ok(self)
    }

    /// Quasi-random points for each component, from beginning to end unless [`most_points`](Self::most_points) says more; the error of the
    /// optimum falls nearly as their square. Without this, a power of two, at least 1024 and 8 for each of the `d(d+3)/2` numbers of a full component, doubled
    /// when a run stalls, twice at most. At least 4 for each dimension (and
    /// each column of a low rank), which [`Boost::new`](crate::Boost::new) checks; a full component has `d(d+3)/2` numbers of its own, and where
    /// the target is far from Gaussian a search on fewer than some tens of points for each may find what is good for its points alone: the
    /// improvement then stays far below the [`gap`](crate::Info::gap).
    ///
    /// # Errors
    /// `Setting` unless even, at least 16 and at most [`MOST_POINTS`].
    pub fn points(mut self, count: usize) -> Result<Self, BoostError> {
        self.points = Some(checked_points("points", count)?);
        Ok(self)
    }

    /// Points for each component up to which they are doubled when steps gain too little though more than 0.02 nats are left, before the run stops, and
    /// after the last refit while its own points promise more than fresh ones show.
    ///
    /// # Errors
    /// As [`points`](Self::points).
    pub fn most_points(mut self, count: usize) -> Result<Self, BoostError> {
        self.most_points = Some(checked_points("most_points", count)?);
        Ok(self)
    }

    /// Places at which a new component is sought, in each step.
    ///
    /// # Errors
    /// `Setting` unless at least 1.
    pub fn starts(mut self, count: usize) -> Result<Self, BoostError> {
        check::count("starts", count)?;
        self.starts = count;
        Ok(self)
    }

    /// Multiples of the inverse Hessian that are tried as covariances.
    ///
    /// # Errors
    /// `Empty`, `NonFinite`, `Entry` unless positive.
    pub fn scales(mut self, scales: &[f64]) -> Result<Self, BoostError> {
        if scales.is_empty() {
            return Err(vi_core::Error::Empty { argument: "scales" }.into());
        }
        check_positive_entries("scales", scales)?;
        self.scales = scales.to_vec();
        Ok(self)
    }

    /// Candidates that are optimised on the true objective, of all that are tried; 0 leaves the best candidate as it is.
    #[must_use]
    pub fn finalists(mut self, count: usize) -> Self {
        self.finalists = count;
        self
    }

    /// The kind of components.
    ///
    /// # Errors
    /// `Setting` for a rank of 0.
    pub fn family(mut self, family: Family) -> Result<Self, BoostError> {
        if let Family::LowRank { rank } = family {
            check::count("rank", rank)?;
        }
        self.family = family;
        Ok(self)
    }

    /// Whether and when all components are optimised together.
    #[must_use]
    pub fn refit(mut self, refit: Refit) -> Self {
        self.refit = refit;
        self
    }

    /// Evaluations of the objective, with its gradient, that the search for one component and a refit may take.
    ///
    /// # Errors
    /// `Setting` unless both are at least 1.
    pub fn evaluations(mut self, component: usize, refit: usize) -> Result<Self, BoostError> {
        check::count("evaluations of a component", component)?;
        self.search = component;
        check::count("evaluations of a refit", refit)?;
        self.refit_search = refit;
        Ok(self)
    }

    /// A last refit on this many points for each component, from the refit on fewer; 0 for none. At least 4 for each dimension, as for
    /// [`points`](Self::points).
    ///
    /// # Errors
    /// `Setting` unless 0 or as for [`points`](Self::points).
    pub fn polish(mut self, points: usize) -> Result<Self, BoostError> {
        self.polish = if points == 0 { 0 } else { checked_points("polish", points)? };
        Ok(self)
    }

    /// How many times as wide as `q` the distribution is that new starts come from, beside the start distribution.
    ///
    /// # Errors
    /// `NonFinite` or `Entry` unless positive.
    pub fn dispersion(mut self, factor: f64) -> Result<Self, BoostError> {
        check_positive_entries("dispersion", &[factor])?;
        self.dispersion = factor;
        Ok(self)
    }

    /// Components of smaller weight are dropped.
    ///
    /// # Errors
    /// `Setting` unless in `[0, 1)`.
    pub fn prune(mut self, weight: f64) -> Result<Self, BoostError> {
        if !(0.0..1.0).contains(&weight) {
            return Err(setting("prune", weight, "at least 0 and below 1"));
        }
        self.prune = weight;
        Ok(self)
    }

    /// Stops after `patience` steps running that lower the divergence by `nats` or less each; with 0, that lower it not at all.
    ///
    /// # Errors
    /// `Setting` unless `nats ≥ 0` and `patience ≥ 1`.
    pub fn improvement(mut self, nats: f64, patience: usize) -> Result<Self, BoostError> {
        check::not_negative("improvement", nats)?;
        self.improvement = nats;
        check::count("patience", patience)?;
        self.patience = patience;
        Ok(self)
    }

    /// Stops when the duality gap `E_q ℓ − min_h E_h ℓ`, `ℓ = log(q/f)`, over the candidates of a step is at most `nats`: by convexity
    /// no mixture of them with `q` is better by more. The gap is taken on a few hundred points and has their noise: a small `nats` may
    /// be met by chance, and late.
    ///
    /// # Errors
    /// `Setting` unless `nats ≥ 0`.
    pub fn gap(mut self, nats: f64) -> Result<Self, BoostError> {
        check::not_negative("gap", nats)?;
        self.gap = Some(nats);
        Ok(self)
    }
}

/// Points at least where the settings name none, and for each number of a full component.
const LEAST: usize = 1024;
const EACH_NUMBER: usize = 8;

/// How many times as many points a stalled run may take where the settings name no number.
const DOUBLINGS: usize = 4;

/// Points of each component for each of its dimensions: with fewer, they cannot be given the second moments of a Gaussian, and a search on them
/// finds what is good for these points alone.
const POINTS_EACH: usize = 4;

/// Checks that there are enough points for components of `latent` dimensions.
///
/// # Errors
/// `Setting`.
pub(crate) fn check_enough(name: &'static str, points: usize, latent: usize) -> Result<(), BoostError> {
    if points / POINTS_EACH >= latent {
        Ok(())
    } else {
        Err(setting(name, points as f64, "at least 4 for each dimension of a component, its rank included"))
    }
}

pub(crate) fn checked_points(name: &'static str, count: usize) -> Result<usize, BoostError> {
    if count >= 16 && count.is_multiple_of(2) && count <= MOST_POINTS {
        Ok(count)
    } else {
        Err(setting(name, count as f64, "even, at least 16 and at most 131072"))
    }
}
