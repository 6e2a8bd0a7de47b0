//! At which prior scales the members stand, and the share of each in the answers.

use vi_core::Error;

use super::family::Family;
use super::narrow::Around;
use super::{Engine, Member};
use crate::marginal::log_sum_exp;
use crate::online::apart::Apart;
use crate::online::belief::{AnyBelief, BeliefKind};
use crate::online::design::Design;
use crate::online::rescale::{ScaledWeights, Slope, Spectrum, rescaled};
use crate::online::scale::{ScalePrior, Scales, nodes};
use crate::online::{Memory, OnlineSettings, PriorScale};

/// Rows for each weight that must have come before members move: with fewer, a decomposition at each doubling of the rows would
/// cost more than the rows.
const ROWS_PER_WEIGHT: u64 = 4;

/// The share of the answers below which one of many members is given up.
const DROPPED: f64 = 1e-4;

/// Rows for each weight between two moves, as long as these are a quarter of all rows or more, and no more than all. One member that is
/// enough moves at each doubling of the rows, unless the rows to come may prefer a block much wider.
const ROWS_BETWEEN: u64 = 32;

/// Members nearer than this in `log s` have nearly the same sites.
const NEAR: f64 = 0.7;

/// Members this far apart in `log s` may stand on two hills of the evidence: a cubic between them can miss one.
const APART: f64 = 1.5;

/// From the narrowest scale that was fitted to the next, in `log s`, where the evidence still rises.
const STEP: f64 = 1.0;

/// The curvature of the log evidence as a share of that with sites held, at least.
const WEAKER: f64 = 0.2;

/// A scale within this distance of a fitted one, in `log s`, is taken from that one.
pub(in crate::online) const CLOSE: f64 = 0.15;

/// The share of the answers below which a scale is not fitted.
const NEGLIGIBLE: f64 = 0.02;

/// The corrections below which one member answers for all nodes: of a mean in deviations, of a variance as a share of it.
const CORRECTED: f64 = 0.02;

/// The prior scales of classes that have a belief each. They stay, since moving the beliefs of all classes costs more than the rows
/// do; the evidence soon leaves one or two.
const LADDER: [f64; 7] = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4];

/// Whether a model's prior scales may move as rows come, which takes a covariance whose prior can be changed.
pub(in crate::online) fn moves(settings: &OnlineSettings) -> bool {
    settings.prior_scale == PriorScale::Learned && matches!(settings.belief, BeliefKind::Full | BeliefKind::SquareRoot)
}

/// Whether the scales go on moving, instead of only until one is chosen for all memories.
pub(super) fn stays_placed(settings: &OnlineSettings) -> bool {
    moves(settings) && settings.memory != Memory::Learned
}

/// Whether one member may stand for the nodes of the prior scale. Classes keep the nodes: a row of theirs sees several predictors, whose
/// covariance would need products for each. What forgets keeps them too: its evidence is that of its predictions, which are averages over
/// the scale, and between two placings rows weigh the nodes anew.
pub(super) fn takes_one<F: Family>(settings: &OnlineSettings, family: &F) -> bool {
    moves(settings) && settings.memory == Memory::Everything && family.has_one_predictor()
}

/// Leaves out the members below and above all that have a share in the answers.
pub(super) fn thinned<S>(members: &mut Vec<Member<S>>) {
    let shares = shares(members);
    let likely = |share: &f64| *share > DROPPED;
    if let Some((first, last)) = shares.iter().position(likely).zip(shares.iter().rposition(likely)) {
        members.truncate(last + 1);
        members.drain(..first);
    }
}

impl<S> Member<S> {
    /// Log of the member's share of the answers, up to a constant common to all members.
    pub(in crate::online) fn log_weight(&self) -> f64 {
        self.log_mass + self.evidence
    }
}

/// Makes the members' weights sum to 1 and returns the log of what they summed to, in nats; `None` if that is not finite.
pub(super) fn normalise<S>(members: &mut [Member<S>]) -> Option<f64> {
    let total = log_sum_exp(members.iter().map(Member::log_weight));
    if !total.is_finite() {
        return None;
    }
    for member in members {
        member.log_mass -= total;
    }
    Some(total)
}

/// The share of each member in the answers; the sum is 1.
pub(super) fn shares<S>(members: &[Member<S>]) -> Vec<f64> {
    let most = members.iter().map(Member::log_weight).fold(f64::NEG_INFINITY, f64::max);
    if members.len() == 1 || !most.is_finite() {
        return vec![1.0 / members.len() as f64; members.len()];
    }
    let weights: Vec<f64> = members.iter().map(|member| (member.log_weight() - most).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// The prior scales before any row, each with its share.
pub(super) fn first_scales<F: Family>(settings: &OnlineSettings, family: &F) -> Result<Vec<(f64, f64)>, Error> {
    let equal = |scales: &[f64]| scales.iter().map(|&scale| (scale, 1.0 / scales.len() as f64)).collect();
    Ok(match &settings.prior_scale {
        PriorScale::Given(scale) => vec![(*scale, 1.0)],
        PriorScale::Among(scales) => equal(scales),
        PriorScale::Learned if moves(settings) && !family.is_joint() => {
            let prior = family.scale_prior();
            let densities = LADDER.map(|scale| (scale, prior.log_density(scale.ln()).exp()));
            let total: f64 = densities.iter().map(|(_, density)| density).sum();
            densities.map(|(scale, density)| (scale, density / total)).into()
        }
        PriorScale::Learned if moves(settings) => nodes(&family.scale_prior(), &|_| 0.0)?.nodes,
        // Without a covariance whose prior could be changed the scales are fixed, one prior spread apart.
        PriorScale::Learned => {
            let ScalePrior { centre, spread, .. } = family.scale_prior();
            equal(&[-1.0, 0.0, 1.0].map(|z: f64| centre * (z * spread).exp()))
        }
    })
}

/// The members before any row.
pub(super) fn bank<F: Family>(
    settings: &OnlineSettings,
    family: &F,
    columns: usize,
) -> Result<Vec<Member<F::State>>, Error> {
    let member = |(prior_scale, weight): (f64, f64)| {
        let belief = family.prior(settings, prior_scale, columns)?;
        let (state, lambda) = (family.initial(), settings.memory.lambda());
        let around = Around::default();
        Ok(Member { prior_scale, around, lambda, belief, state, evidence: 0.0, log_mass: weight.ln() })
    };
    first_scales(settings, family)?.into_iter().map(member).collect()
}

/// The log evidence as a function of the prior scale, over the scale's whole range.
///
/// A member that changes its prior and keeps its sites knows the whole curve. The sites of a linear model are the same under every
/// prior: between two members their curves are mixed in proportion of `log s`. The sites of other models change with the prior:
/// between two members that stand near each other a cubic goes through both values and slopes, and next to the first and last a
/// parabola goes on. Between members far apart both are guesses: the higher one tells where to fit, the lower one where to move. At wider scales
/// the curve of the member below with its sites fixed counts too: it is too low far away, so that a second hill of the evidence is seen
/// wherever it is. At narrower scales such a curve would be too high, since a site says little about weights far below those that it was
/// taken at; the parabola there has its curvature, which ends the rise too early rather than too late, so that the scale comes down in steps.
struct Curve<'a, F: Family> {
    family: &'a F,
    members: &'a [Member<F::State>],
    weights: ScaledWeights,
    /// The curves with fixed sites, of the members above which no other stands near; of all where sites are the same under every
    /// prior.
    fixed: Vec<Option<Spectrum>>,
    /// Value and slope at each member; empty for models whose sites are the same under every prior.
    points: Vec<Point>,
    /// Whether members are fitted where the curve is high, so that it may be too high where it is not known.
    is_verified: bool,
}

/// The curves with fixed sites that are known of members of one design, of which no two stand at one scale.
pub(super) type Spectra = Vec<(f64, Spectrum)>;

/// Value and slope of the log evidence at `u = log s`, and the curvature there with the sites held fixed.
#[derive(Debug, Clone, Copy)]
struct Point {
    u: f64,
    value: f64,
    slope: f64,
    bend: f64,
}

impl<'a, F: Family> Curve<'a, F> {
    /// The curve of `members`, by rising scale; what is computed of them is added to `known`. Returns `None` if a belief keeps no covariance.
    fn new(
        family: &'a F,
        members: &'a [Member<F::State>],
        weights: ScaledWeights,
        known: &mut Spectra,
    ) -> Result<Option<Self>, Error> {
        let exact = family.rescales_exactly();
        let mut fixed = Vec::with_capacity(members.len());
        for (k, member) in members.iter().enumerate() {
            let next = members.get(k + 1).map(|next| distance(next.prior_scale, member.prior_scale));
            let asked = exact || next.is_none_or(|next| next >= APART);
            if !asked {
                fixed.push(None);
                continue;
            }
            let scale = member.prior_scale;
            if !known.iter().any(|(at, _)| *at == scale) {
                let Some(spectrum) = Spectrum::of(&member.belief, weights, scale)? else { return Ok(None) };
                known.push((scale, spectrum));
            }
            fixed.extend(known.iter().find(|(at, _)| *at == scale).map(|(_, spectrum)| Some(spectrum.clone())));
        }
        let mut points = Vec::new();
        for member in if exact { &[] } else { members } {
            let slope = Slope::of(&member.belief, weights, member.prior_scale)?;
            let Some(Slope { first: slope, second }) = slope else { return Ok(None) };
            points.push(Point { u: member.prior_scale.ln(), value: member.evidence, slope, bend: second.min(0.0) });
        }
        Ok(Some(Self { family, members, weights, fixed, points, is_verified: false }))
    }

    fn at(&self, scale: f64) -> f64 {
        let u = scale.ln();
        let above = self.members.partition_point(|member| member.prior_scale < scale);
        let gap = (above > 0 && above < self.points.len()).then(|| [self.points[above - 1], self.points[above]]);
        let cubic = gap.map_or(f64::INFINITY, |[low, high]| between(low, high, u));
        if gap.is_some_and(|[low, high]| high.u - low.u < APART) {
            return cubic;
        }
        if self.points.is_empty() {
            let last = self.members.len() - 1;
            let by = |k: usize| self.fixed_at(k, scale).unwrap_or(f64::NAN);
            if above == 0 || above > last {
                return by(above.min(last));
            }
            let [low, high] = [above - 1, above].map(|k| self.members[k].prior_scale.ln());
            let part = (u - low) / (high - low);
            return (1.0 - part) * by(above - 1) + part * by(above);
        }
        let narrower = self.points.get(above).map_or(f64::NEG_INFINITY, |end| beyond(*end, None, u));
        let Some(below) = above.checked_sub(1) else { return narrower };
        let (end, fixed) = (self.points[below], self.fixed_at(below, scale).unwrap_or(f64::NEG_INFINITY));
        if gap.is_some() && self.is_verified {
            return fixed.max(cubic);
        }
        let before = below.checked_sub(1).map(|before| &self.points[before]);
        let wider = if u - end.u < APART { fixed.max(beyond(end, before, u)) } else { fixed };
        wider.max(narrower).min(cubic)
    }

    /// The curve of member `k` with its sites fixed, where it was asked for.
    fn fixed_at(&self, k: usize, scale: f64) -> Option<f64> {
        let (change, member) = (self.fixed[k].as_ref()?.change(scale), &self.members[k]);
        Some(member.evidence + self.family.rescale(&member.state, change.log_det, change.quadratic).0)
    }

    /// [`member_at`] a scale.
    fn member(&self, scale: f64) -> Result<Member<F::State>, Error> {
        member_at(self.family, self.members, self.weights, scale)
    }

    /// Members at scales with these shares.
    fn placed(&self, nodes: Vec<(f64, f64)>) -> Result<Vec<Member<F::State>>, Error> {
        let member = |(scale, share): (f64, f64)| {
            let evidence = self.at(scale);
            Ok(Member { evidence, log_mass: share.ln() - evidence, ..self.member(scale)? })
        };
        nodes.into_iter().map(member).collect()
    }

    /// One member for the nodes of the scale's posterior, where on the rows that were learned its plain answers are those of the nodes
    /// but for corrections that derivatives can be trusted with.
    fn one(&self, nodes: &[(f64, f64)]) -> Result<Option<Member<F::State>>, Error> {
        let mean: f64 = nodes.iter().map(|(scale, share)| share * scale.ln()).sum();
        let scale = mean.exp();
        let known = self.members.iter().zip(&self.fixed).filter_map(|(member, fixed)| Some((member, fixed.as_ref()?)));
        let from = |member: &Member<_>| distance(member.prior_scale, scale);
        let Some((member, spectrum)) = known.min_by(|(a, _), (b, _)| from(a).total_cmp(&from(b))) else {
            return Ok(None);
        };
        let corrections = spectrum.corrections(nodes, scale, self.family.noise_variance(&member.state));
        if !corrections.iter().all(|correction| *correction < CORRECTED) {
            return Ok(None);
        }
        let member = self.member(scale)?;
        let nodes = nodes.iter().map(|(scale, share)| (scale.ln() - mean, *share)).collect();
        let around = Around { nodes, scaled: self.weights.scaled };
        Ok(Some(Member { around, log_mass: -member.evidence, ..member }))
    }
}

/// The member that would stand at `scale`, from the nearest of `members` by a change of prior.
fn member_at<F: Family>(
    family: &F,
    members: &[Member<F::State>],
    weights: ScaledWeights,
    scale: f64,
) -> Result<Member<F::State>, Error> {
    let near = &members[nearest(members, scale)];
    let (belief, change) = rescaled(&near.belief, weights, near.prior_scale, scale)?.ok_or_else(no_covariance)?;
    let (gained, state) = family.rescale(&near.state, change.log_det, change.quadratic);
    let (evidence, log_mass) = (near.evidence + gained, near.log_mass);
    let around = Around::default();
    Ok(Member { prior_scale: scale, around, lambda: near.lambda, belief, state, evidence, log_mass })
}

fn nearest<S>(members: &[Member<S>], scale: f64) -> usize {
    let from = |k: &usize| distance(members[*k].prior_scale, scale);
    (0..members.len()).min_by(|a, b| from(a).total_cmp(&from(b))).unwrap_or(0)
}

/// How far two scales are apart, in `log s`.
fn distance(a: f64, b: f64) -> f64 {
    (a / b).ln().abs()
}

/// The cubic through both values and slopes. Where values and both slopes rise (or fall), the cubic is kept monotone by limiting
/// the slopes to three times the mean slope (Fritsch and Carlson 1980).
fn between(low: Point, high: Point, u: f64) -> f64 {
    let width = high.u - low.u;
    let mean = (high.value - low.value) / width;
    let tame = |slope: f64| if slope * mean > 0.0 && slope.abs() > 3.0 * mean.abs() { 3.0 * mean } else { slope };
    let (from, to) =
        if low.slope * high.slope > 0.0 { (tame(low.slope), tame(high.slope)) } else { (low.slope, high.slope) };
    let t = (u - low.u) / width;
    let rest = 1.0 - t;
    low.value * (1.0 + 2.0 * t) * rest * rest
        + high.value * t * t * (3.0 - 2.0 * t)
        + width * t * rest * (from * rest - to * t)
}

/// The parabola beyond the last point, whose slope goes on changing as it does between the last two.
fn beyond(end: Point, before: Option<&Point>, u: f64) -> f64 {
    let secant = before.map(|before| (end.slope - before.slope) / (end.u - before.u));
    let bend = secant.filter(|bend| *bend < 0.0).map_or(end.bend, |bend| bend.max(end.bend));
    let step = u - end.u;
    end.value + step * (end.slope + 0.5 * bend * step)
}

/// Members at new scales, and the log evidence with the scale averaged over, in nats.
type Placed<S> = (Vec<Member<S>>, f64);

/// Members at the nodes of the scale's posterior, each from the nearest of `members` by a change of prior, and the log evidence
/// with the scale averaged over. Returns `None` if beliefs keep no covariance. Cost: some `2d³` flops for each new member, and `9d³` for each of
/// `members` where the whole curve is known, unless `known` has it.
pub(super) fn placed<F: Family>(
    family: &F,
    members: &[Member<F::State>],
    design: &Design,
    known: &mut Spectra,
) -> Result<Option<Placed<F::State>>, Error> {
    placed_or_one(family, members, design, false, known)
}

/// [`placed`], or the one member that is enough, if asked for.
fn placed_or_one<F: Family>(
    family: &F,
    members: &[Member<F::State>],
    design: &Design,
    one: bool,
    known: &mut Spectra,
) -> Result<Option<Placed<F::State>>, Error> {
    let weights = family.scaled_weights(design.columns(), design.inputs);
    let Some(curve) = Curve::new(family, members, weights, known)? else { return Ok(None) };
    let Scales { nodes, log_evidence } = nodes(&family.scale_prior(), &|scale| curve.at(scale))?;
    if one && let Some(member) = curve.one(&nodes)? {
        return Ok(Some((vec![member], log_evidence)));
    }
    Ok(Some((curve.placed(nodes)?, log_evidence)))
}

/// Adds members where the posterior of the scale is, each made by `fit` from one that was moved there, until every scale with a share of
/// the answers has one `close` to it, and later near it. `fit` returns `None` for a scale to be left out. What is computed of the members is
/// added to `known`.
pub(super) fn fitted_where_likely<F: Family, E>(
    family: &F,
    design: &Design,
    mut members: Vec<Member<F::State>>,
    close: f64,
    known: &mut Spectra,
    mut fit: impl FnMut(&Member<F::State>) -> Result<Option<Member<F::State>>, E>,
) -> Result<Vec<Member<F::State>>, E> {
    let weights = family.scaled_weights(design.columns(), design.inputs);
    while let Some(narrower) = narrower(family, design, &members, close)
        && let Some(fitted) = fit(&narrower)?
    {
        members.insert(0, fitted);
    }
    // Between members that are fitted the curve is known well; later rounds look where there is none near.
    for within in [close, NEAR, NEAR, NEAR, NEAR, NEAR] {
        let Ok(Some(curve)) = Curve::new(family, &members, weights, known) else { break };
        let curve = Curve { is_verified: true, ..curve };
        let Ok(found) = nodes(&family.scale_prior(), &|scale| curve.at(scale)) else { break };
        let ends = [0, members.len() - 1].map(|k| members[k].prior_scale);
        let mut more = Vec::new();
        for (scale, share) in found.nodes {
            // Beyond those that are fitted the curve is a guess.
            let outside = scale < ends[0] || scale > ends[1];
            let within = if outside { close } else { within };
            let near = |fitted: &Member<_>| distance(fitted.prior_scale, scale) < within;
            if share > NEGLIGIBLE && !members.iter().chain(&more).any(near) {
                // A fit needs no move: it begins from the nearest member where its sites do not allow the new prior.
                let unmoved = || Member { prior_scale: scale, ..members[nearest(&members, scale)].clone() };
                let member = curve.member(scale).unwrap_or_else(|_| unmoved());
                more.extend(fit(&member)?);
            }
        }
        if more.is_empty() {
            break;
        }
        members.extend(more);
        members.sort_by(|a, b| a.prior_scale.total_cmp(&b.prior_scale));
    }
    Ok(members)
}

/// A member at the next narrower scale, where the evidence may rise by more than a fitted scale tells: where its slope is down, and with a
/// fraction of its curvature, which is that of sites held and too large, the top would not be `close`.
fn narrower<F: Family>(
    family: &F,
    design: &Design,
    members: &[Member<F::State>],
    close: f64,
) -> Option<Member<F::State>> {
    let (prior, weights) = (family.scale_prior(), family.scaled_weights(design.columns(), design.inputs));
    let from = members.first().filter(|from| from.prior_scale > prior.lowest)?;
    let Slope { first, second } = Slope::of(&from.belief, weights, from.prior_scale).ok()??;
    let [slope, bend] = prior.slope_and_bend(from.prior_scale.ln());
    if first + slope >= WEAKER * close * (second.min(0.0) + bend) {
        return None;
    }
    moved(family, members, design, &[from.prior_scale * (-STEP).exp()]).ok()?.pop()
}

/// A member at the centre of the scale's prior, if all members are much narrower: the evidence may have another hill there, since at weights near 0
/// rows with heavy tails look like outliers.
pub(super) fn wide<F: Family>(family: &F, members: &[Member<F::State>]) -> Option<Member<F::State>> {
    let ScalePrior { centre, .. } = family.scale_prior();
    let widest = members.last().filter(|widest| (centre / widest.prior_scale).ln() > APART)?;
    Some(Member { prior_scale: centre, ..widest.clone() })
}

/// Whether the prior scale of the fitted `member` has a higher posterior density than those of all `others`.
pub(super) fn is_likelier<F: Family>(family: &F, member: &Member<F::State>, others: &[Member<F::State>]) -> bool {
    let prior = family.scale_prior();
    let log = |member: &Member<_>| member.evidence + prior.log_density(member.prior_scale.ln());
    others.iter().all(|other| log(member) > log(other))
}

/// By how many nats, at most, a change of prior with the sites held misses the evidence of the next of `fitted`, between those nearest to
/// the first and the last of `placed` that count; `None` for beliefs that keep no covariance. Cost: some `2d³` flops for each.
pub(super) fn missed_by_moves<F: Family>(
    family: &F,
    design: &Design,
    fitted: &[Member<F::State>],
    placed: &[Member<F::State>],
) -> Result<Option<f64>, Error> {
    if family.rescales_exactly() {
        return Ok(Some(0.0));
    }
    let weights = family.scaled_weights(design.columns(), design.inputs);
    let likely = |member: &&Member<_>| member.log_weight() > NEGLIGIBLE.ln();
    let (first, last) = (placed.iter().find(likely), placed.iter().rfind(likely));
    let Some((first, last)) = first.zip(last) else { return Ok(Some(0.0)) };
    let mut missed = 0.0_f64;
    for pair in fitted[nearest(fitted, first.prior_scale)..=nearest(fitted, last.prior_scale)].windows(2) {
        for (from, to) in [(&pair[0], &pair[1]), (&pair[1], &pair[0])] {
            let Some((_, change)) = rescaled(&from.belief, weights, from.prior_scale, to.prior_scale)? else {
                return Ok(None);
            };
            let gained = family.rescale(&from.state, change.log_det, change.quadratic).0;
            missed = missed.max((from.evidence + gained - to.evidence).abs());
        }
    }
    Ok(Some(missed))
}

/// Members at these scales, each from the nearest of `members` by a change of prior.
///
/// # Errors
/// [`Error::Setting`] for beliefs that keep no covariance.
pub(super) fn moved<F: Family>(
    family: &F,
    members: &[Member<F::State>],
    design: &Design,
    scales: &[f64],
) -> Result<Vec<Member<F::State>>, Error> {
    let weights = family.scaled_weights(design.columns(), design.inputs);
    scales.iter().map(|&scale| member_at(family, members, weights, scale)).collect()
}

pub(super) fn no_covariance() -> Error {
    Error::Setting {
        name: "prior scale",
        value: f64::NAN,
        requirement: "the same in every part, where no covariance is kept",
    }
}

impl<F: Family> Engine<F> {
    /// Whether the members move to where the scale's posterior is.
    pub(in crate::online) fn moves(&self) -> bool {
        moves(&self.settings) && self.family.is_joint()
    }

    /// Moves the members to where the scale's posterior is now, or to one of them where that is enough, if it is time. If the posterior cannot be decomposed the members stay,
    /// still valid where they are, and the failure is counted.
    pub(super) fn place(&mut self) {
        if self.observations < self.next_place || !stays_placed(&self.settings) || !self.fixed {
            return;
        }
        let n = self.observations;
        self.place_blocks();
        if !self.family.is_joint() {
            thinned(&mut self.members);
            self.next_place = n.saturating_mul(2).max(1);
            return;
        }
        let one = takes_one(&self.settings, &self.family);
        match placed_or_one(&self.family, &self.members, &self.design, one, &mut Spectra::new()) {
            // What forgets has no evidence but that of its predictions.
            Ok(Some((members, evidence))) => {
                let forgets = self.settings.memory != Memory::Everything;
                (self.base, self.members) = (if forgets { self.evidence() } else { evidence }, members);
            }
            _ => self.fallbacks.places += 1,
        }
        // Where the evidence has two hills, the rows to come soon choose between them.
        let [low, high] = [0, self.members.len() - 1].map(|k| self.members[k].prior_scale);
        let hills = distance(low, high) > APART || matches!(self.wider_block(&self.design, &self.members), Ok(Some(_)));
        let weights = self.family.weights(self.design.columns()).unwrap_or(usize::MAX) as u64;
        let wait = if hills { 0 } else { ROWS_BETWEEN };
        let least = if self.members.len() == 1 && !hills { n } else { n / 4 };
        self.next_place = n.saturating_add(weights.saturating_mul(wait).clamp(least, n).max(1));
    }

    /// The number of rows at which the members move next: late enough that the move costs no more than the rows.
    pub(super) fn first_place(design: &Design, observations: u64) -> u64 {
        observations.saturating_mul(2).max(ROWS_PER_WEIGHT * design.columns() as u64).max(2)
    }

    /// The share of each member in the answers; the sum is 1.
    pub(in crate::online) fn weights(&self) -> Vec<f64> {
        shares(&self.members)
    }
}

/// A belief with full covariances as `kind` keeps it.
pub(in crate::online) fn kept_as(kind: BeliefKind, belief: AnyBelief) -> Result<AnyBelief, Error> {
    Ok(match (kind, belief) {
        (BeliefKind::SquareRoot, AnyBelief::Full(belief)) => {
            AnyBelief::SquareRoot(vi_core::SquareRootGaussian::from_dense(&belief)?)
        }
        (kind, AnyBelief::Apart(belief)) => {
            let parts = belief.parts.into_iter().map(|part| kept_as(kind, part));
            AnyBelief::Apart(Box::new(Apart::of(parts.collect::<Result<_, _>>()?)))
        }
        (_, belief) => belief,
    })
}

#[cfg(test)]
mod tests {
    use super::{Point, between, beyond};

    fn point(u: f64, [value, slope, bend]: [f64; 3]) -> Point {
        Point { u, value, slope, bend }
    }

    #[test]
    fn a_cubic_goes_through_values_and_slopes_and_keeps_rising() {
        let of = |u: f64| [u.powi(3) - 2.0 * u, 3.0 * u * u - 2.0, 6.0 * u];
        let (low, high) = (point(-1.5, of(-1.5)), point(2.0, of(2.0)));
        // A cubic with a hill between is itself: some roundings of 4.
        let tolerance = 32.0 * f64::EPSILON;
        let hill = (point(-1.5, of(-1.5)), point(0.5, of(0.5)));
        for u in [-1.5, -0.8, 0.0, 0.5] {
            assert!((between(hill.0, hill.1, u) - of(u)[0]).abs() < tolerance, "{u}");
        }
        assert!((between(low, high, 2.0) - 4.0).abs() < tolerance);
        // Rising at both ends, and steeper there than a rise of 1 over 1 can keep up.
        let (low, high) = (point(0.0, [0.0, 20.0, 0.0]), point(1.0, [1.0, 9.0, 0.0]));
        let values: Vec<f64> = (0..=100).map(|i| between(low, high, f64::from(i) / 100.0)).collect();
        assert!(values.is_sorted() && values[0] == 0.0 && (values[100] - 1.0).abs() < tolerance);
    }

    #[test]
    fn a_parabola_goes_on_as_it_was() {
        let of = |u: f64| [1.0 + u - 3.0 * u * u, 1.0 - 6.0 * u, -9.0];
        let (before, end) = (point(0.2, of(0.2)), point(1.0, of(1.0)));
        assert!((beyond(end, Some(&before), 2.0) - of(2.0)[0]).abs() < 64.0 * f64::EPSILON);
        assert!((beyond(before, Some(&end), -1.0) - of(-1.0)[0]).abs() < 64.0 * f64::EPSILON);
        // Alone, and beside one whose slope would have it rise for ever: by its own bend.
        assert_eq!(beyond(end, None, 2.0), end.value + end.slope - 4.5);
        assert_eq!(beyond(end, Some(&point(0.0, [0.0, -20.0, 0.0])), 2.0), end.value + end.slope - 4.5);
    }
}
