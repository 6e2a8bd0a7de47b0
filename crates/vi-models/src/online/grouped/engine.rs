//! The machine of grouped models: one belief over common weights and effects, nodes of the components of variance, first rows.
//!
//! A row is seen by the belief at the peak of the posterior of the components and, while that posterior is wide, at nodes about it; the
//! site is that at the peak. As rows come, the peak and the nodes are found anew from the sums. First rows are kept until the
//! design is fixed and, where the likelihood is not Gaussian, their sites are made anew by sweeps of expectation propagation each
//! time. After them such a model finds the components from a sample of whole groups: see `sample`.

use serde::{Deserialize, Serialize};
use vi_core::{Arrow, Error, Grouped, GroupedRow, GroupedStep, Projection, Row, Site};
use vi_linalg::faer::{Mat, Par};

use super::columns::{Columns, Space};
use super::place::{FEW, NARROW};
use super::prior::{ComponentPrior, Coordinates};
use super::sample::Sample;
use super::settings::{Components, GroupedSettings};
use crate::marginal::log_sum_exp;
use crate::online::Observation;
use crate::online::design::Design;
use crate::online::engine::{Pass, ScalarFamily, site_of};
use crate::online::row::check_row;
use crate::{ModelError, check};

/// By how much the first rows grow between two searches for the components.
const GROWTH: f64 = 1.4;

/// The same for the rows after them: of models whose components are found from a sample, and of more than [`FEW`] groups.
const SLOW_GROWTH: f64 = 2.0;
const SLOWEST_GROWTH: f64 = 4.0;

/// The most numbers that the first rows of a model that is not exact may take, and the most of these rows.
const FIRST: usize = 100_000;
const MOST_FIRST: usize = 5000;

/// How many times as many rows the sample has: of groups of ten rows enough for components so certain that the peak answers alone, which
/// makes a row several times cheaper.
const SAMPLE: usize = 6;

/// The posterior at one value of the components.
#[derive(Debug, Clone)]
pub(super) struct Node<S> {
    pub(super) phi: Vec<f64>,
    pub(super) arrow: Arrow,
    pub(super) state: S,
    /// The log of its share in the answers, up to a constant.
    pub(super) log_weight: f64,
}

/// A row that is kept, with what its site says: curvature `h` and natural slope `r`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) row: Vec<f64>,
    pub(super) group: u64,
    pub(super) observed: Observation,
    pub(super) site: (f64, f64),
}

/// What a family's prior says about components, common weights and labels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Priors {
    pub(super) components: ComponentPrior,
    pub(super) scale: f64,
    pub(super) intercept: f64,
}

#[derive(Debug, Clone)]
pub(super) struct Engine<F: ScalarFamily> {
    pub(super) settings: GroupedSettings,
    pub(super) family: F,
    pub(super) priors: Priors,
    pub(super) columns: Columns,
    /// Whether the first rows are complete.
    pub(super) fixed: bool,
    pub(super) belief: Grouped,
    pub(super) state: F::State,
    pub(super) phi: Vec<f64>,
    /// The log of the share of the peak.
    pub(super) log_weight: f64,
    pub(super) nodes: Vec<Node<F::State>>,
    /// Minus the second derivatives of the log posterior of the components at the peak, when it was last found.
    pub(super) curvature: Mat<f64>,
    pub(super) rows: Vec<Kept>,
    /// After the first rows of a model that is not exact.
    pub(super) sample: Sample,
    pub(super) observations: u64,
    /// The number of rows at which the components are searched for next.
    pub(super) next: u64,
    pub(super) evidence: f64,
    /// The number of refused calls since the model was made or read.
    pub(super) refused: u64,
    /// Searches for the components that failed and rows that a sweep left as they were, since the model was made or read.
    pub(super) fallbacks: u64,
    /// The threads of the call that is running.
    pub(super) par: Par,
    pub(super) work: Work<F::State>,
}

#[derive(Debug, Clone)]
pub(super) struct Work<S> {
    pub(super) space: Space,
    /// Sweeps over the kept rows, in this run of the program.
    pub(super) sweeps: usize,
    /// The derivative of the mean of the common columns by each component, with sites that follow it, from the last sweeps.
    pub(super) moves: Vec<Vec<f64>>,
    step: GroupedStep,
    steps: Vec<GroupedStep>,
    states: Vec<S>,
    scores: Vec<f64>,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        Self {
            space: Space::default(),
            sweeps: 0,
            moves: Vec::new(),
            step: GroupedStep::default(),
            steps: Vec::new(),
            states: Vec::new(),
            scores: Vec::new(),
        }
    }
}

impl<F: ScalarFamily> Engine<F> {
    pub(super) fn new(inputs: usize, family: F, priors: Priors, settings: GroupedSettings) -> Result<Self, ModelError> {
        settings.check(inputs)?;
        family.check()?;
        let design = match &settings.standardise {
            crate::online::Standardise::Fixed { centres, scales } => {
                let (centres, scales) = (centres.clone(), scales.clone());
                Design { centres, scales, ..Design::plain(inputs, settings.intercept) }
            }
            _ => Design::plain(inputs, settings.intercept),
        };
        let design = Design { target: family.label_target(), ..design };
        let columns = Columns { design, effects: settings.effects.clone() };
        let coordinates = Coordinates { q: settings.effects.count(), correlated: settings.effects.correlated };
        let phi = coordinates.start(priors.components);
        let variances = prior_variances(&columns.design, priors);
        let belief = Grouped::new(&variances, coordinates.root(&phi).as_ref())?;
        let state = family.initial();
        let mut engine = Self {
            settings,
            family,
            priors,
            columns,
            fixed: false,
            belief,
            state,
            curvature: Mat::zeros(phi.len(), phi.len()),
            phi,
            log_weight: 0.0,
            nodes: Vec::new(),
            rows: Vec::new(),
            sample: Sample::default(),
            observations: 0,
            next: 1,
            evidence: 0.0,
            refused: 0,
            fallbacks: 0,
            par: Par::Seq,
            work: Work::default(),
        };
        engine.fixed = engine.first_rows() == 0;
        engine.place(1e-6)?;
        Ok(engine)
    }

    pub(super) fn coordinates(&self) -> Coordinates {
        Coordinates { q: self.settings.effects.count(), correlated: self.settings.effects.correlated }
    }

    /// The prior of the components, if there is one.
    pub(super) fn component_prior(&self) -> Option<ComponentPrior> {
        (self.settings.components == Components::Averaged).then_some(self.priors.components)
    }

    pub(super) fn is_exact() -> bool {
        F::PASS == Pass::Exact
    }

    /// How many first rows are kept.
    pub(super) fn first_rows(&self) -> usize {
        let standardising = self.settings.standardise.by_rows().map_or(0, |(rows, _)| rows);
        if Self::is_exact() { standardising } else { standardising.max(self.most_first()) }
    }

    fn most_first(&self) -> usize {
        (FIRST / self.columns.design.columns()).clamp(1, MOST_FIRST)
    }

    fn most_sampled(&self) -> usize {
        SAMPLE * self.most_first()
    }

    /// Whether the components are found from a sample of groups.
    pub(super) fn samples(&self) -> bool {
        self.fixed && !Self::is_exact()
    }

    /// Checks a row and its observation.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry`, naming the input; what is wrong with the observation.
    pub(super) fn check(&self, row: Row<'_>, observed: &Observation) -> Result<(), ModelError> {
        self.check_row(row)?;
        let likelihood = crate::online::engine::row_likelihood(&self.family, &self.family.initial(), observed)?;
        vi_core::Likelihood::check_label(&likelihood, observed.label)?;
        Ok(self.family.label_target().transform.check(observed.label)?)
    }

    pub(super) fn check_row(&self, row: Row<'_>) -> Result<(), ModelError> {
        check_row(row, self.columns.design.inputs).map_err(|error| match error {
            Error::NonFinite { index, .. } if !self.settings.names.is_empty() => {
                ModelError::Input { name: self.settings.name(index), source: error }
            }
            error => error.into(),
        })
    }

    /// Learns one row. On an error the model is unchanged, but for the count of refused calls.
    pub(super) fn update(&mut self, row: Row<'_>, group: u64, observed: Observation) -> Result<(), ModelError> {
        let learned = self.check(row, &observed).and_then(|()| self.learn(row, group, observed));
        if learned.is_err() {
            self.refused = self.refused.saturating_add(1);
        }
        learned
    }

    pub(super) fn learn(&mut self, row: Row<'_>, group: u64, observed: Observation) -> Result<(), ModelError> {
        let standing = if self.fixed { self.columns.design.meet(row) } else { None };
        let scaled = self.columns.design.target.apply(&observed).map_err(ModelError::from);
        let site = scaled.and_then(|scaled| Ok(self.take(row, group, &scaled)?));
        let site = match site {
            Ok(site) => site,
            // While the first rows are still fitted together, a row may lie beyond the scale of those before it.
            Err(_) if !self.fixed => (0.0, 0.0),
            Err(error) => {
                if let Some(standing) = standing {
                    self.columns.design = standing;
                }
                return Err(error);
            }
        };
        let jacobian = self.columns.design.target.log_jacobian(&observed);
        self.evidence -= jacobian;
        self.observations = self.observations.saturating_add(1);
        let (keeps, samples) = (!self.fixed || self.settings.keep_rows, self.samples() && self.sample.takes(group));
        if keeps || samples {
            let mut dense = Vec::new();
            let row = row.written_out(self.columns.design.inputs, &mut dense).to_vec();
            let kept = Kept { row, group, observed, site };
            if samples {
                self.sample.push(kept.clone(), self.most_sampled());
            }
            if keeps {
                self.rows.push(kept);
            }
        }
        if self.observations >= self.next {
            self.grow();
        }
        Ok(())
    }

    /// Learns a row of the caller's units with an observation in the label's scale. Returns what its site says.
    fn take(&mut self, row: Row<'_>, group: u64, observed: &Observation) -> Result<(f64, f64), Error> {
        let Self { family, belief, state, columns, nodes, work, .. } = self;
        let Work { space, step, steps, states, scores, .. } = work;
        columns.write(row, space)?;
        let at = GroupedRow { x: space.x(), z: &space.z, group };
        let seen = belief.project(at, step)?;
        let (site, score) = site_of(family, state, observed, seen)?;
        let mut learned = state.clone();
        let gained = family.learn(&mut learned, observed, seen, site)?;
        belief.prepare(at, site, step)?;
        let natural = site.natural_slope(seen.mean);
        steps.resize_with(nodes.len(), GroupedStep::default);
        states.clear();
        scores.clear();
        scores.push(score + gained);
        for (node, step) in nodes.iter().zip(steps.iter_mut()) {
            let seen = node.arrow.project(belief, at, step)?;
            let (_, score) = site_of(family, &node.state, observed, seen)?;
            let own = Site { slope: natural - site.curvature * seen.mean, ..site };
            let mut learned = node.state.clone();
            let gained = family.learn(&mut learned, observed, seen, own)?;
            node.arrow.prepare(at, own, step)?;
            states.push(learned);
            scores.push(score + gained);
        }
        // Nothing fails from here on.
        belief.commit(at, step);
        *state = learned;
        for ((node, step), learned) in nodes.iter_mut().zip(steps).zip(states.drain(..)) {
            node.arrow.commit(step);
            node.state = learned;
        }
        let scores = std::mem::take(scores);
        self.score(&scores);
        self.work.scores = scores;
        Ok((site.curvature, natural))
    }

    /// Adds to the log shares of the peak and of the nodes what they foretold of the labels, and to the evidence what their mixture did.
    pub(super) fn score(&mut self, scores: &[f64]) {
        let Self { log_weight, nodes, evidence, .. } = self;
        let mixed = |own: f64, nodes: &[Node<F::State>]| {
            if nodes.is_empty() {
                own
            } else {
                log_sum_exp(std::iter::once(own).chain(nodes.iter().map(|node| node.log_weight)))
            }
        };
        let before = mixed(*log_weight, nodes);
        *log_weight += scores[0];
        nodes.iter_mut().zip(&scores[1..]).for_each(|(node, score)| node.log_weight += score);
        let after = mixed(*log_weight, nodes);
        *evidence += after - before;
        *log_weight -= after;
        for node in nodes {
            node.log_weight -= after;
        }
    }

    /// By how much the rows after the first grow between two searches.
    pub(super) fn growth(&self) -> f64 {
        match (Self::is_exact(), self.belief.groups() > FEW) {
            (_, true) => SLOWEST_GROWTH,
            (true, false) => GROWTH,
            (false, false) => SLOW_GROWTH,
        }
    }

    /// Finds the components anew, with all first rows while these are not complete. What fails is counted, and the model stays as it was.
    pub(super) fn grow(&mut self) {
        if self.fixed {
            self.next = grown(self.observations, self.growth());
            let from_sums = Self::is_exact() || self.has_large_groups();
            let placed = if from_sums { self.place(1e-4) } else { self.place_by_sample() };
            if placed.is_err() {
                self.fallbacks = self.fallbacks.saturating_add(1);
            }
            return;
        }
        let before = self.clone();
        if self.begin().is_err() {
            *self = Self { fallbacks: before.fallbacks.saturating_add(1), ..before };
        }
        let first = self.first_rows();
        if self.rows.len() >= first {
            self.fixed = true;
            if self.samples() {
                self.sample = Sample::of(&self.rows, self.most_sampled());
            }
            if !self.settings.keep_rows {
                self.rows = Vec::new();
            }
            self.next = grown(self.observations, GROWTH);
        } else {
            let growth = if self.rows.len() < 100 { 1.25 } else { GROWTH };
            self.next = grown(self.observations, growth).min(first as u64);
        }
    }

    /// Standardises by the first rows, and learns them anew.
    fn begin(&mut self) -> Result<(), ModelError> {
        let design = &self.columns.design;
        if let Some((_, centre)) = self.settings.standardise.by_rows() {
            let rows = self.rows.iter().map(|kept| (Row::Dense(&kept.row), kept.observed.weight));
            let mut design = Design::of_rows(design.inputs, design.intercept, centre, rows)?;
            if F::STANDARDISES_LABELS {
                let observed: Vec<_> = self.rows.iter().map(|kept| &kept.observed).collect();
                design.target = self.family.label_target_of(&observed, centre && design.intercept)?;
            }
            self.columns.design = design.without_tiny_columns();
        }
        let variances = prior_variances(&self.columns.design, self.priors);
        let root = self.coordinates().root(&self.phi);
        self.belief = Grouped::new(&variances, root.as_ref())?;
        self.state = self.family.initial();
        (self.nodes, self.log_weight) = (Vec::new(), 0.0);
        if Self::is_exact() {
            self.replay()?;
            self.place(1e-6)?;
            self.evidence += self.occam();
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        let stood = self.stand(&rows);
        self.rows = rows;
        stood?;
        self.sweeps((4, 8), 2e-2, NARROW).map(drop)
    }

    /// Multiplies in the sites of the kept rows, into a belief at its prior.
    pub(super) fn stand(&mut self, rows: &[Kept]) -> Result<(), ModelError> {
        let Self { columns, belief, par, work: Work { space, .. }, .. } = self;
        belief.absorb_all(*par, |add| {
            rows.iter().try_for_each(|kept| {
                columns.write(Row::Dense(&kept.row), space)?;
                add(GroupedRow { x: space.x(), z: &space.z, group: kept.group }, kept.site.0, kept.site.1)
            })
        })?;
        Ok(())
    }

    /// Learns the kept rows one by one from the prior, at the components as they are; the evidence is then that at these components.
    pub(super) fn replay(&mut self) -> Result<(), ModelError> {
        self.evidence = 0.0;
        let mut rows = std::mem::take(&mut self.rows);
        let mut learned = Ok(());
        for kept in &mut rows {
            let target = self.columns.design.target;
            let taken =
                target.apply(&kept.observed).and_then(|scaled| self.take(Row::Dense(&kept.row), kept.group, &scaled));
            match taken {
                Ok(site) => kept.site = site,
                Err(error) => learned = Err(error.into()),
            }
            self.evidence -= target.log_jacobian(&kept.observed);
        }
        self.rows = rows;
        learned
    }

    /// The shares of the peak and of the nodes, summing to 1.
    pub(super) fn shares(&self) -> Vec<f64> {
        let logs: Vec<f64> =
            std::iter::once(self.log_weight).chain(self.nodes.iter().map(|node| node.log_weight)).collect();
        let total = log_sum_exp(logs.iter().copied());
        logs.iter().map(|log| (log - total).exp()).collect()
    }

    /// What the peak and the nodes see along a row: share, projection with the offset, state. A group that is not given is a new one.
    pub(super) fn parts(
        &self,
        row: Row<'_>,
        group: Option<u64>,
        offset: f64,
    ) -> Result<Vec<(f64, Projection, F::State)>, ModelError> {
        self.check_row(row)?;
        crate::online::engine::check_offset(offset)?;
        let mut space = Space::default();
        self.columns.write(row, &mut space)?;
        let group = group.unwrap_or_else(|| self.stranger());
        let seen = self.seen_along(GroupedRow { x: space.x(), z: &space.z, group })?;
        let mut parts = Vec::with_capacity(seen.len());
        for (share, (seen, state)) in self.shares().into_iter().zip(seen) {
            let mean = check::result("the linear predictor", seen.mean + offset)?;
            parts.push((share, Projection { mean, ..seen }, state));
        }
        Ok(parts)
    }

    /// The projections of a row of columns at the peak and at the nodes, each with its state.
    pub(super) fn seen_along(&self, at: GroupedRow<'_>) -> Result<Vec<(Projection, F::State)>, Error> {
        let mut step = GroupedStep::default();
        let mut seen = vec![(self.belief.project(at, &mut step)?, self.state.clone())];
        for node in &self.nodes {
            seen.push((node.arrow.project(&self.belief, at, &mut step)?, node.state.clone()));
        }
        Ok(seen)
    }

    /// A key that no group has.
    fn stranger(&self) -> u64 {
        let mut key = u64::MAX;
        while self.belief.contains(key) {
            key -= 1;
        }
        key
    }
}

/// The number of rows after which the next search comes.
pub(super) fn grown(observations: u64, growth: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of rows is far below 2⁵³")]
    let next = (observations as f64 * growth).ceil() as u64;
    next.max(observations.saturating_add(1))
}

/// The prior variances of the common columns.
pub(super) fn prior_variances(design: &Design, priors: Priors) -> Vec<f64> {
    let mut variances = vec![priors.scale * priors.scale; design.inputs];
    variances.extend(design.intercept.then_some(priors.intercept * priors.intercept));
    variances
}
