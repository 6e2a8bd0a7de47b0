//! The first rows: they set the scales of the columns, and are fitted together before the stream goes row by row.
//!
//! One pass from a wide prior is far off at first and never recovers all of it. So the first rows are kept, and the posterior is
//! the Gaussian of all of them together, by expectation propagation where a family has it, computed anew whenever their number
//! has grown by a quarter; from there one pass loses next to nothing (valid intervals from such a start: arXiv 2604.27442).

use vi_core::{Error, GaussianBelief};
use vi_linalg::faer::Mat;

use super::drift::{Drift, spread};
use super::family::Family;
use super::learn::{age, learn};
use super::narrow::Around;
use super::place::{
    CLOSE, Spectra, bank, first_scales, fitted_where_likely, is_likelier, kept_as, missed_by_moves, moved, normalise,
    placed, stays_placed, thinned, wide,
};
use super::scalar::is_score;
use super::{Engine, Kept, Member};
use crate::ModelError;
use crate::online::belief::{AnyBelief, BeliefKind};
use crate::online::design::{Design, RowSpace};
use crate::online::{Memory, Observation, OnlineSettings, PriorScale, Row, Start};

/// The least and the largest number of rows for each weight that are fitted together.
const ROWS_PER_WEIGHT: [usize; 2] = [2, 20];

/// The largest product of the rows that are fitted together and the squared number of weights, above the least number of rows.
const WORK: usize = 4_000_000;

/// The same, of the squared number of columns times the classes, for classes that have a belief each.
const WORK_APART: usize = 250_000_000;

/// The least number of rows that are fitted together in most families.
pub(super) const FEWEST: usize = 50;

/// The most rows for each weight, and the most products of rows and weights, that are kept where the prior scale matters.
const MOST_ROWS_PER_WEIGHT: usize = 200;
const MOST_NUMBERS: usize = 350_000;

/// The start goes on while a change of the prior scale would miss the evidence at another likely scale by more than this, in nats.
const CARRIED: f64 = 0.5;

/// The inverse of the share of ranges above which the start goes on.
const RANGES: usize = 20;

/// The least number of rows that tell which prior scales can be given up.
const FEWEST_TO_THIN: usize = 200;

/// The least number of rows by which the relative scales of blocks move, and how often they move in one fit: in large moves, and in small ones.
const FEWEST_TO_MOVE: usize = 20;
const MOST_ROUNDS: usize = 4;
const MOST_ROUNDS_NEAR: usize = 8;

/// The number of weights above which a fit costs more than it gains: its passes take `n·d² + d³`.
const WIDEST: usize = 512;

/// The number of weights above which fits are few, and classes have a belief each: fits wait for the scales of the columns, and
/// then for four times as many rows.
pub(in crate::online) const WIDE: usize = 128;

/// The rows for each weight up to which one pass from the prior leaves intervals too narrow: with 300 weights, 90 % intervals hold 71 % at two rows a weight and 86 % at ten.
const FEW_FOR_ONE_PASS: u64 = 20;

/// By how much the prior of models with several memories is wider than the one that their first rows suggest.
const WIDER: f64 = 4.0;

/// Scales that differ by less than this factor have nearly the same sites: one is fitted, and the others follow by a change of
/// its prior.
pub(super) const ALIKE: f64 = 1.4;

/// Checks that a fit has left a Gaussian: rows of negative curvature and large weight can lose it to rounding.
///
/// # Errors
/// `NotPositiveDefinite`.
fn is_gaussian<S>(member: &Member<S>) -> Result<(), Error> {
    match &member.belief {
        AnyBelief::Full(belief) => belief.cholesky().map(drop),
        _ => Ok(()),
    }
}

/// How many of the first rows are fitted together, if any are.
fn fitted_rows<F: Family>(settings: &OnlineSettings, family: &F, columns: usize) -> Option<usize> {
    let (weights, numbers) = (family.weights(columns)?, family.numbers(BeliefKind::Full, columns)?.max(1));
    let [least, most] = ROWS_PER_WEIGHT.map(|rows| rows * weights);
    let rows = if family.is_joint() { (WORK / numbers).clamp(least, most) } else { (WORK_APART / numbers).min(most) };
    let affords = if family.is_joint() { weights <= WIDEST } else { columns <= WIDEST && rows >= FEWEST };
    let fits = settings.start == Start::Fitted
        && matches!(settings.memory, Memory::Everything | Memory::Learned)
        && affords
        && matches!(settings.belief, BeliefKind::Full | BeliefKind::SquareRoot);
    fits.then_some(rows)
}

/// How many rows are kept at the start.
pub(super) fn start_rows<F: Family>(settings: &OnlineSettings, family: &F, columns: usize) -> usize {
    // All memories share one prior scale, which the first rows choose.
    let chosen = settings.memory == Memory::Learned && !matches!(settings.prior_scale, PriorScale::Given(_));
    let scales = scale_rows(settings).max(if chosen { FEWEST } else { 0 });
    fitted_rows(settings, family, columns).map_or(scales, |rows| scales.max(family.fewest_rows()).max(rows))
}

/// The most rows that are kept at the start: their number doubles as long as the sites depend on the prior scale, which a move of the scale
/// takes as they are.
pub(super) fn most_start_rows<F: Family>(settings: &OnlineSettings, family: &F, columns: usize) -> usize {
    let mut rows = start_rows(settings, family, columns);
    let seeks = stays_placed(settings) && family.is_joint() && !family.rescales_exactly();
    let weights = family.weights(columns).unwrap_or(usize::MAX);
    if seeks && weights <= WIDE && fitted_rows(settings, family, columns).is_some() {
        let most = (MOST_NUMBERS / weights.max(1)).min(MOST_ROWS_PER_WEIGHT * weights);
        while rows <= most / 2 {
            rows *= 2;
        }
    }
    rows
}

/// How many rows the scales of the columns are taken from.
fn scale_rows(settings: &OnlineSettings) -> usize {
    settings.standardise.by_rows().map_or(0, |(rows, _)| rows)
}

/// Whether the fit of so many weights is made anew at the `n`-th of `last` rows: 1 to 8, 10, 12, 15, 18, …, and the last; of many at 1, 2, 4, 8,
/// 16, 50, 200, ….
fn is_due(n: usize, last: usize, weights: usize) -> bool {
    let mut at = 1;
    while at < n {
        at += match (weights > WIDE, at >= FEWEST) {
            (true, true) => 3 * at,
            (true, false) => at,
            _ => (at / 4).max(1),
        };
        // Many weights wait until the scales of the columns are taken.
        at = if weights > WIDE && at > FEWEST / 2 { at.max(FEWEST) } else { at };
    }
    // A fit just before the last would be wasted.
    n == last || (at == n && 5 * n < 4 * last)
}

impl<F: Family> Engine<F> {
    pub(super) fn start_rows(&self) -> usize {
        start_rows(&self.settings, &self.family, self.design.columns())
    }

    /// The number of rows at which the start may end next, while it lasts.
    pub(super) fn next_end(&self) -> usize {
        let mut last = self.start_rows().max(1);
        while last <= self.rows.len() {
            last *= 2;
        }
        last
    }

    /// Keeps the first of `pairs` that come before the last one by which all rows are learned anew in one pass, since that leaves nothing of
    /// what the members did until then. Returns how many these are; the next row is to be learned anew with them.
    pub(super) fn keep_until_anew(&mut self, pairs: &[(Row<'_>, Observation)]) -> usize {
        let Some((rows, _)) = self.settings.standardise.by_rows().filter(|_| !self.fits()) else { return 0 };
        let (before, last, weights) = (self.rows.len(), self.next_end(), self.weights_to_fit());
        let most = (before + pairs.len()).min(rows).min(self.start_rows());
        let anew = (before + 2..=most).rev().find(|n| is_due(*n, last, weights));
        let kept = anew.map_or(0, |n| n - before - 1);
        for (row, observed) in &pairs[..kept] {
            self.design.meet(*row);
            self.rows.push(Kept { row: (*row).into(), observed: *observed });
            self.observations = self.observations.saturating_add(1);
        }
        kept
    }

    /// Whether the next row is one of the first, and all of them are learned anew with it.
    pub(in crate::online) fn starts_anew_next(&self) -> bool {
        !self.fixed && self.is_due(self.rows.len() + 1, self.next_end())
    }

    /// Whether many rows lie between two fits of the first rows, as they do for many weights.
    pub(in crate::online) fn fits_are_few(&self) -> bool {
        self.weights_to_fit() > WIDE && self.rows.len() > FEWEST
    }

    /// Whether all first rows are learned anew at the `n`-th of `last`.
    fn is_due(&self, n: usize, last: usize) -> bool {
        if n > self.start_rows() { n == last } else { is_due(n, last, self.weights_to_fit()) }
    }

    /// Learns one of the first rows, with all of them `anew` if the members have not learned those before. On an error the model is unchanged.
    pub(super) fn start_with(&mut self, row: Row<'_>, observed: Observation, anew: bool) -> Result<(), Error> {
        let most = most_start_rows(&self.settings, &self.family, self.design.columns());
        let last = self.next_end();
        let before = self.design.meet(row);
        self.rows.push(Kept { row: row.into(), observed });
        let n = self.rows.len();
        let carried = match self.learn_first(row, &observed, (n, last), anew) {
            Ok(carried) => carried,
            Err(error) => {
                self.rows.pop();
                if let Some(before) = before {
                    self.design = before;
                }
                return Err(error);
            }
        };
        self.diagnosis = None;
        self.observations = self.observations.saturating_add(1);
        if n == last && (carried && !self.are_ranges() || n >= most) {
            self.order = self.order_of_rows();
            self.fixed = true;
            self.next_place = Self::first_place(&self.design, self.observations);
            self.start_memories();
            if !self.settings.keep_rows {
                self.rows = Vec::new();
            }
        }
        Ok(())
    }

    /// Whether many of the first rows are ranges, so that more rows are fitted together: a fit takes the dependence of noise and weights into account, which
    /// ranges cause, and one pass does not.
    fn are_ranges(&self) -> bool {
        let ranges = self.rows.iter().filter(|kept| kept.observed.is_range()).count();
        self.family.takes_ranges() && RANGES * ranges > self.rows.len()
    }

    /// Fits the first rows together, if they are still being gathered: those since the last fit were learned one by one. On an error the
    /// model is unchanged.
    pub(in crate::online) fn catch_up(&mut self) -> Result<(), ModelError> {
        self.check_learns()?;
        if self.fixed || self.rows.is_empty() {
            return Ok(());
        }
        self.diagnosis = None;
        let decided = self.decided()?;
        self.refit(decided)?;
        Ok(())
    }

    /// Ends the first rows of a model that averages over memories: one belief becomes one for each memory.
    pub(super) fn start_memories(&mut self) {
        if self.settings.memory != Memory::Learned || !self.fixed {
            return;
        }
        let (base, best) = (self.evidence(), self.best().clone());
        let wide = if self.settings.prior_scale == PriorScale::Learned { self.widened() } else { Ok(None) };
        self.fallbacks.places += u64::from(wide.is_err());
        let wide = wide.ok().flatten();
        (self.base, self.members) = (base, spread(&wide.unwrap_or(best)));
    }

    /// A member with a prior scale several times the average. Forgetting pulls weights back to the prior, for which the scale
    /// that fits unchanging weights is too narrow. It is found by a change of prior where that is possible, otherwise by a pass
    /// over the rows.
    fn widened(&mut self) -> Result<Option<Member<F::State>>, Error> {
        let weighted = self.weights().into_iter().zip(&self.members);
        let told = weighted.map(|(weight, member)| weight * member.prior_scale.ln()).sum::<f64>().exp();
        let scale = (WIDER * told).max(self.family.scale_prior().centre);
        let weights = self.family.weights(self.design.columns()).unwrap_or(usize::MAX);
        if self.moves() && weights <= WIDEST {
            return Ok(moved(&self.family, &self.members, &self.design, &[scale])?.pop());
        }
        let given = OnlineSettings { prior_scale: PriorScale::Given(scale), ..self.settings.clone() };
        let mut members = bank(&given, &self.family, self.design.columns())?;
        for kept in &self.rows {
            learn(
                &mut members,
                &self.family,
                &self.design,
                (kept.row.as_row(), &kept.observed),
                &mut self.work,
                |_, _| (),
            )?;
        }
        Ok(members.pop())
    }

    /// Learns the `n`-th of `last` first rows, which are kept: by itself, or all of them anew where that is due and changes the
    /// result. Returns whether a change of the prior scale would carry the posterior along, which a fit alone can tell.
    fn learn_first(
        &mut self,
        row: Row<'_>,
        observed: &Observation,
        (n, last): (usize, usize),
        anew: bool,
    ) -> Result<bool, Error> {
        if !self.is_due(n, last) {
            // A row that overflows with the column scales so far may not with scales that include it.
            return if self.learn_one(row, observed, n as u64).is_ok() {
                Ok(true)
            } else {
                self.refit(self.decided()?)
            };
        }
        let decided = self.decided()?;
        // Where rows are learned one by one, doing so anew would change nothing.
        let stands = !anew
            && !self.is_fitted(n, self.weights_to_fit())
            && decided.as_ref().is_none_or(|decided| *decided == self.design);
        if stands && self.learn_one(row, observed, n as u64).is_ok() { Ok(true) } else { self.refit(decided) }
    }

    /// The number of weights; of classes with a belief each, and of blocks that a fit moves, more than are fitted often.
    fn weights_to_fit(&self) -> usize {
        let weights = self.family.weights(self.design.columns()).unwrap_or(usize::MAX);
        let often = self.family.rescales_exactly() || self.family.is_joint() && !self.has_moving_blocks();
        if often { weights } else { weights.max(WIDE + 1) }
    }

    /// Whether the first rows are fitted together.
    fn fits(&self) -> bool {
        fitted_rows(&self.settings, &self.family, self.design.columns()).is_some()
    }

    /// Whether intervals are too narrow: one pass from the prior has learned few rows.
    pub(in crate::online) fn is_narrow(&self) -> bool {
        let weights = self.family.weights(self.design.columns()).unwrap_or(usize::MAX) as u64;
        let remembers = self.settings.memory == Memory::Everything && !self.family.rescales_exactly();
        let few = self.observations < weights.saturating_mul(FEW_FOR_ONE_PASS);
        remembers && few && !self.fits() && self.refined < self.observations
    }

    /// Whether the first `n` rows are fitted together, and not learned one by one.
    fn is_fitted(&self, n: usize, weights: usize) -> bool {
        self.fits() && (weights <= WIDE || n >= FEWEST)
    }

    /// The centres and scales of the rows so far, while these decide on them: as long as all rows are fitted anew, so that the result does
    /// not depend on their order, and no longer than the least start lasts.
    fn decided(&self) -> Result<Option<Design>, Error> {
        if self.rows.len() > self.start_rows() {
            return Ok(None);
        }
        match self.settings.standardise.by_rows() {
            Some((rows, centre)) if self.rows.len() <= rows || self.fits() => self.taken(centre).map(Some),
            _ => Ok(None),
        }
    }

    fn learn_one(&mut self, row: Row<'_>, observed: &Observation, n: u64) -> Result<(), Error> {
        learn(&mut self.members, &self.family, &self.design, (row, observed), &mut self.work, |_, _| ())?;
        let Self { members, settings, family, design, base, drift, work, .. } = self;
        age(members, settings, family, design, (base, drift), n, work.anchors());
        Ok(())
    }

    /// Learns all kept rows anew, with the design that they decide on, if they do. Returns whether a change of the prior scale would carry
    /// the posterior along.
    fn refit(&mut self, design: Option<Design>) -> Result<bool, Error> {
        // Later scales are near the earlier ones, and so is the Gaussian.
        let anew = design.is_some() && self.rows.len() <= scale_rows(&self.settings);
        let mut design = design.unwrap_or_else(|| self.design.clone());
        let weights = self.family.weights(design.columns()).unwrap_or(usize::MAX);
        let mut known = Spectra::new();
        let fitted = if self.is_fitted(self.rows.len(), self.weights_to_fit()) {
            let fitted = self.fitted(&mut design, anew, &mut known).and_then(|found| {
                found.iter().flatten().try_for_each(is_gaussian)?;
                Ok(found)
            });
            self.fallbacks.fits += u64::from(fitted.is_err());
            fitted.ok().flatten()
        } else {
            None
        };
        let mut members = if let Some(members) = fitted {
            members
        } else {
            // One pass, where the family has no fit, or none for such rows.
            known.clear();
            self.passed(&design)?
        };
        let placed = if self.moves() && weights <= WIDEST {
            let placed = placed(&self.family, &members, &design, &mut known).and_then(|found| {
                found.iter().flat_map(|(members, _)| members).try_for_each(is_gaussian)?;
                Ok(found)
            });
            self.fallbacks.places += u64::from(placed.is_err());
            placed.ok().flatten()
        } else {
            None
        };
        let mut carried = true;
        if let Some((placed, log_evidence)) = placed {
            if self.rows.len() >= self.start_rows() {
                let missed = missed_by_moves(&self.family, &design, &members, &placed).ok().flatten();
                let is_alone = matches!(self.wider_block(&design, &placed), Ok(None));
                carried = is_alone && missed.is_none_or(|missed| missed < CARRIED);
            }
            (self.members, self.base) = (placed, log_evidence);
        } else {
            let shares = first_scales(&self.settings, &self.family)?;
            if members.len() > shares.len() {
                // What was fitted at earlier scales belongs to a posterior of the scale that could not be computed.
                let before: Vec<f64> = self.members.iter().map(|member| member.prior_scale).collect();
                members.retain(|member| before.contains(&member.prior_scale));
            }
            if self.family.is_joint() {
                members.iter_mut().zip(shares).for_each(|(member, (_, share))| member.log_mass = share.ln());
            } else {
                for member in &mut members {
                    let share = shares.iter().find(|(scale, _)| *scale == member.prior_scale);
                    member.log_mass = share.map_or(0.0, |(_, share)| share.ln());
                }
                if self.rows.len() >= FEWEST_TO_THIN {
                    thinned(&mut members);
                }
            }
            self.base = normalise(&mut members).unwrap_or(f64::NEG_INFINITY);
            self.members = members;
        }
        self.design = design;
        Ok(carried)
    }

    fn taken(&self, centre: bool) -> Result<Design, Error> {
        let Design { inputs, intercept, .. } = self.design;
        let rows = self.rows.iter().map(|kept| kept.row.as_row());
        let mut design = if self.settings.standardise.leaves(inputs, rows.clone()) {
            Design::plain(inputs, intercept)
        } else {
            let weights = self.rows.iter().map(|kept| kept.observed.weight);
            Design::of_rows(inputs, intercept, centre && intercept, rows.zip(weights))?
                .leaving(self.settings.as_they_are)
        };
        if self.family.standardises_labels() {
            design.target = self.family.target_of(self.rows.iter().map(|kept| &kept.observed), intercept)?;
        }
        let mut design = design.without_tiny_columns();
        design.relative.clone_from(&self.design.relative);
        design.cuts = self.design.cuts;
        Ok(design)
    }

    /// The members after one pass from the prior over all kept rows.
    fn passed(&mut self, design: &Design) -> Result<Vec<Member<F::State>>, Error> {
        let mut members = bank(&self.settings, &self.family, design.columns())?;
        let Self { settings, family, rows, work, .. } = self;
        let (mut base, mut drift) = (0.0, Drift::default());
        for (kept, n) in rows.iter().zip(1..) {
            let row = (kept.row.as_row(), &kept.observed);
            learn(&mut members, family, design, row, work, |_, _| ())?;
            age(&mut members, settings, family, design, (&mut base, &mut drift), n, work.anchors());
        }
        self.drift = drift;
        Ok(members)
    }

    /// The members as Gaussians of all kept rows together, with their log evidence, by rising scale. With blocks, one member is fitted and
    /// their relative scales move in `design`, in turn; other members are then added where the posterior of the overall scale is.
    /// Returns `None` if the family has no fit.
    fn fitted(
        &self,
        design: &mut Design,
        anew: bool,
        known: &mut Spectra,
    ) -> Result<Option<Vec<Member<F::State>>>, Error> {
        let (exact, joint) = (self.family.rescales_exactly(), self.family.is_joint());
        let moving = self.has_moving_blocks() && self.rows.len() >= FEWEST_TO_MOVE;
        let one = (moving && joint).then(|| std::slice::from_ref(self.best()));
        let Some(mut members) = self.refitted(one.unwrap_or(&self.members), design, anew)? else { return Ok(None) };
        if moving {
            members = self.settled(design, members)?;
            if let Some(factors) = self.wider_block(design, &members)? {
                let (mut wide, moved) = self.with_factors(design, &members, &factors)?;
                if let Some(moved) = self.refitted(&moved, &wide, false)? {
                    let moved = self.settled(&mut wide, moved)?;
                    if self.log_posterior(&wide, &moved) > self.log_posterior(design, &members) {
                        (*design, members) = (wide, moved);
                    }
                }
            }
        }
        if self.moves() && !exact {
            let rows = self.rows_to_fit(design)?;
            // If a scale cannot be fitted, the answers are left to those that could be.
            let fit = |member: &_| Ok::<_, Error>(self.fit_member(member, design, false, &rows).ok().flatten());
            if self.family.tells_near()
                && let Some(wider) = wide(&self.family, &members)
                && let Some(found) = fit(&wider)?
                && is_likelier(&self.family, &found, &members)
            {
                members.push(found);
            }
            members = fitted_where_likely(&self.family, design, members, CLOSE, known, fit)?;
        }
        Ok(Some(members))
    }

    /// Fitted members after the relative scales of the blocks have moved in `design`, in turn with fits.
    fn settled(&self, design: &mut Design, mut members: Vec<Member<F::State>>) -> Result<Vec<Member<F::State>>, Error> {
        for _ in 0..if self.family.tells_near() { MOST_ROUNDS_NEAR } else { MOST_ROUNDS } {
            let Some(moved) = self.moved_blocks(design, &members)? else { break };
            (*design, members) = moved;
            if !self.family.rescales_exactly()
                && let Some(again) = self.refitted(&members, design, false)?
            {
                members = again;
            }
            if !self.family.is_joint() {
                break;
            }
        }
        Ok(members)
    }

    /// Those of `members` that cannot be told from the others, as Gaussians of all kept rows together.
    fn refitted(
        &self,
        members: &[Member<F::State>],
        design: &Design,
        anew: bool,
    ) -> Result<Option<Vec<Member<F::State>>>, Error> {
        let rows = self.rows_to_fit(design)?;
        let last = members.len() - 1;
        let alike = self.moves() && members[last].prior_scale < ALIKE * ALIKE * members[0].prior_scale;
        let exact = self.family.rescales_exactly();
        let mut fitted = Vec::with_capacity(2 * members.len());
        for (k, member) in members.iter().enumerate() {
            // The places of the other members are interpolated, or known from one.
            let told = alike && if exact { k != last / 2 } else { k != 0 && k != last };
            if told {
                continue;
            }
            let Some(member) = self.fit_member(member, design, anew, &rows)? else { return Ok(None) };
            fitted.push(member);
        }
        Ok(Some(fitted))
    }

    /// A member as the Gaussian of all `rows`, fitted from its present state, or `anew` from its prior.
    pub(super) fn fit_member(
        &self,
        member: &Member<F::State>,
        design: &Design,
        anew: bool,
        rows: &RowsToFit,
    ) -> Result<Option<Member<F::State>>, Error> {
        let settings = OnlineSettings { belief: BeliefKind::Full, ..self.settings.clone() };
        let (x, observed) = (rows.x.as_ref(), &rows.observed);
        let found = match self.family.prior(&settings, member.prior_scale, design.columns())? {
            AnyBelief::Full(prior) => {
                let start = if anew { Some(prior.clone()) } else { member.belief.full()? };
                let Some(start) = start else { return Ok(None) };
                let found = self.family.fit(&prior, &start, x, observed)?;
                found.map(|(belief, state, evidence)| (AnyBelief::Full(belief), state, evidence))
            }
            AnyBelief::Apart(prior) => {
                let found = self.family.fit_parts(&prior, x, observed)?;
                found.map(|(belief, evidence)| (AnyBelief::Apart(Box::new(belief)), member.state.clone(), evidence))
            }
            _ => None,
        };
        let Some((belief, state, evidence)) = found else { return Ok(None) };
        if !is_score(evidence) {
            return Err(Error::NonFinite { argument: "log evidence of the first rows", index: 0, value: evidence });
        }
        // With a flat prior and separable rows, rounding may leave no usable precision.
        belief.log_det()?;
        Ok(Some(Member {
            prior_scale: member.prior_scale,
            around: Around::default(),
            lambda: member.lambda,
            belief: kept_as(self.settings.belief, belief)?,
            state,
            evidence: evidence - rows.log_jacobian,
            log_mass: 0.0,
        }))
    }

    pub(super) fn rows_to_fit(&self, design: &Design) -> Result<RowsToFit, Error> {
        let (x, observed) = columns_of(&self.family, design, &self.rows)?;
        let observed = observed.iter().map(|observed| design.target.apply(observed)).collect::<Result<_, _>>()?;
        let log_jacobian = self.rows.iter().map(|kept| design.target.log_jacobian(&kept.observed)).sum();
        Ok(RowsToFit { x, observed, log_jacobian })
    }
}

/// The kept rows in the model's columns and units.
pub(super) struct RowsToFit {
    pub(super) x: Mat<f64>,
    pub(super) observed: Vec<Observation>,
    pub(super) log_jacobian: f64,
}

/// Rows of the likelihood as the columns of a design (`n × p`), and what was observed at each.
fn columns_of<F: Family>(family: &F, design: &Design, rows: &[Kept]) -> Result<(Mat<f64>, Vec<Observation>), Error> {
    let mut x = Mat::zeros(rows.len(), design.columns());
    let mut space = RowSpace::default();
    for (i, Kept { row, .. }) in rows.iter().enumerate() {
        design.write(row.as_row(), &mut space)?.for_each(|j, value| x[(i, j)] = value);
    }
    let observed: Vec<Observation> = rows.iter().map(|kept| kept.observed).collect();
    Ok(family.unrolled(x.as_ref(), &observed).unwrap_or((x, observed)))
}

#[cfg(test)]
mod tests {
    use super::is_due;

    #[test]
    fn fits_grow_by_a_quarter_and_end_with_the_last_row() {
        let due: Vec<usize> = (1..=50).filter(|&n| is_due(n, 50, 3)).collect();
        assert_eq!(due, [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 50]);
        assert!(is_due(2, 2, 1) && !is_due(9, 50, 3));
        let due: Vec<usize> = (50..=1000).filter(|&n| is_due(n, 1000, 500)).collect();
        assert_eq!(due, [50, 200, 1000]);
        assert_eq!((1..50).filter(|&n| is_due(n, 50, 500)).collect::<Vec<_>>(), [1, 2, 4, 8, 16]);
    }
}
