//! Settings of the default algorithm: its budget and its stopping rules.

use vi_core::check;

use crate::BoostError;
use crate::component::Family;
use crate::error::setting;
use crate::points::MOST_POINTS;

/// When all components are optimised together on the true objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Refit {
    /// Components are never optimised together: each stays as it was found; only weights are re-optimised.
    Never,
    /// Components are optimised together each time one has been added.
    Each,
    /// Components are optimised together once, when no more are added: six of them then do what sixteen do without.
    #[default]
    Last,
}

/// The settings of [`Boost`](crate::Boost): its budget and its stopping rules.
///
/// ```
/// use vi_boost::{BoostSettings, Refit};
/// let settings = BoostSettings { components: 4, points: Some(512), refit: Refit::Each, ..BoostSettings::default() };
/// assert!(settings.check().is_ok());
/// assert!(BoostSettings { points: Some(3), ..settings }.check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BoostSettings {
    /// The largest number of components.
    pub components: usize,
    /// The number of quasi-random points for each component, throughout the run unless `most_points` is larger; the error of the
    /// optimum falls nearly as its square. `None` is a power of two, at least 1024 and 8 for each of the `d(d+3)/2` numbers of a
    /// full component, doubled when a run stalls, twice at most. At least 4 for each dimension (and each column of a low rank),
    /// which [`Boost::new`](crate::Boost::new) checks. If the target is far from Gaussian, a search on fewer than some tens of
    /// points for each number of a full component may overfit its points: the improvement then stays far below the
    /// [`gap`](crate::Info::gap).
    pub points: Option<usize>,
    /// The number up to which the points for each component are doubled, in two cases: before the run stops, if steps gain too
    /// little although more than 0.02 nats are left; and after the last refit, while the objective on its own points is better
    /// than on fresh ones.
    pub most_points: Option<usize>,
    /// The number of places at which a new component is sought, in each step.
    pub starts: usize,
    /// The kind of components.
    pub family: Family,
    /// Whether and when all components are optimised together.
    pub refit: Refit,
    /// The number of evaluations of the objective, with its gradient, that the search for one component may take.
    pub evaluations: usize,
    /// The number of evaluations that a refit may take.
    pub refit_evaluations: usize,
    /// The number of points for each component in a last refit, starting from the refit on fewer; 0 for no last refit. At least 4
    /// for each dimension, as for `points`.
    pub polish: usize,
    /// Components of smaller weight than this are dropped.
    pub prune: f64,
    /// A step that lowers the divergence by no more than this, in nats, is counted by `patience`; with 0, only a step that does
    /// not lower it.
    pub improvement: f64,
    /// The run stops after so many steps in a row that are below `improvement`.
    pub patience: usize,
    /// The run stops when the duality gap `E_q ℓ − min_h E_h ℓ`, `ℓ = log(q/f)`, over the candidates of a step is at most so many
    /// nats: by convexity no mixture of them with `q` is better by more. The gap is estimated on a few hundred points and is
    /// noisy: a small number may be met by chance, and late. With `None` the run never stops for this reason.
    pub gap: Option<f64>,
}

impl Default for BoostSettings {
    /// The default is at most 6 full components with 1024 points each (or as many as the dimension requires) and 4 starts; one refit at
    /// the end; 60 evaluations for each search and 200 for a refit. Components below a weight of 1e-6 are dropped; the run stops after
    /// 3 steps that gain no more than 0.001 nats each.
    fn default() -> Self {
        Self {
            components: 6,
            points: None,
            most_points: None,
            starts: 4,
            family: Family::Full,
            refit: Refit::Last,
            evaluations: 60,
            refit_evaluations: 200,
            polish: 0,
            prune: 1e-6,
            improvement: 1e-3,
            patience: 3,
            gap: None,
        }
    }
}

impl BoostSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Setting` unless components are from 1 to 1000, starts and evaluations from 1 to 10⁶, steps of patience at least 1, numbers of points
    /// even, at least 16 and at most [`MOST_POINTS`], a rank at least 1, `prune` in `[0, 1)`, `improvement` and `gap` not negative.
    pub fn check(&self) -> Result<(), BoostError> {
        check_components(self.components)?;
        self.points.map_or(Ok(()), |points| check_points("points", points))?;
        self.most_points.map_or(Ok(()), |points| check_points("most_points", points))?;
        check::limit("starts", self.starts)?;
        self.family.check()?;
        check::limit("evaluations", self.evaluations)?;
        check::limit("refit_evaluations", self.refit_evaluations)?;
        if self.polish > 0 {
            check_points("polish", self.polish)?;
        }
        if !(0.0..1.0).contains(&self.prune) {
            return Err(setting("prune", self.prune, "at least 0 and below 1"));
        }
        check::not_negative("improvement", self.improvement)?;
        check::count("patience", self.patience)?;
        Ok(self.gap.map_or(Ok(()), |gap| check::not_negative("gap", gap))?)
    }

    /// The initial number of points of each component in `d` dimensions: at least eight for each of the numbers of a full one.
    pub(crate) fn points_in(&self, d: usize) -> usize {
        self.points.unwrap_or_else(|| (EACH_NUMBER * d * (d + 3) / 2).next_power_of_two().clamp(LEAST, MOST_POINTS))
    }

    /// These settings with twice as many components, and twice as many points for each.
    pub(crate) fn doubled(&self, d: usize) -> Self {
        let points = Some((2 * self.points_in(d)).min(MOST_POINTS));
        Self { components: (2 * self.components).min(MOST_COMPONENTS), points, most_points: points, ..self.clone() }
    }

    /// The largest number of points of each component, in `d` dimensions.
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
}

/// The least number of points if the settings name none, and the number for each parameter of a full component.
const LEAST: usize = 1024;
const EACH_NUMBER: usize = 8;

/// By how much a stalled run may multiply its points if the settings name no number.
const DOUBLINGS: usize = 4;

/// The least number of points of a component for each of its dimensions: with fewer, they cannot have the second moments of a
/// Gaussian, and a search on them overfits.
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

/// The most components: each step costs as much as all components so far.
pub(crate) const MOST_COMPONENTS: usize = 1000;

/// Checks the largest number of components.
///
/// # Errors
/// `Setting`.
pub(crate) fn check_components(count: usize) -> Result<(), BoostError> {
    check::count("components", count)?;
    if count <= MOST_COMPONENTS { Ok(()) } else { Err(setting("components", count as f64, "at most 1000")) }
}

/// Checks a number of quasi-random points.
///
/// # Errors
/// `Setting`.
pub(crate) fn check_points(name: &'static str, count: usize) -> Result<(), BoostError> {
    if count >= 16 && count.is_multiple_of(2) && count <= MOST_POINTS {
        Ok(())
    } else {
        Err(setting(name, count as f64, "even, at least 16 and at most 131072"))
    }
}
