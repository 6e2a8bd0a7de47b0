//! The nested fit: a mixture of the hyper-parameters, its nodes, and what they say of the latent values.

use rand::seq::SliceRandom as _;
use rand::{Rng, RngExt};
use vi_core::{Likelihood as _, check};
use vi_linalg::faer::Mat;

use super::cloud::Cloud;
use super::data::Data;
use super::inner::{Solved, likelihoods};
use super::marginal::Marginal;
use super::{Latent, LatentSettings, Observed, Outer, Work};
use crate::component::Component;
use crate::mixture::GaussianMixture;
use crate::modes::{APART, distance, distinct, laplace};
use crate::seeds::Seeds;
use crate::target::{Faults, Probe};
use crate::{BoostError, LogDensity as _, Verdict, points};

/// One point of the hyper-parameters with the Gaussian of the latent values there.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Node {
    /// The hyper-parameters, on their own scale.
    pub hyper: Vec<f64>,
    /// The posterior weight; those of all nodes sum to 1.
    pub weight: f64,
    /// `log p(y|ψ)` in nats.
    pub log_evidence: f64,
    /// The means of the latent values.
    pub mean: Vec<f64>,
    /// Their variances.
    pub variances: Vec<f64>,
}

/// The reliability of a nested fit.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LatentDiagnosis {
    /// The divergence `KL(p‖q)`, in nats, of the posterior from the nodes' Gaussians of the latent values: from draws of them, weighted by
    /// `p(y|f)` over the sites. It bounds the error of every mean, by Talagrand's inequality, as `q` is Gaussian.
    pub inner: f64,
    /// The effective number of nodes, `1/Σw²`.
    pub effective: f64,
    /// `k̂` of the nodes' weights ([`vi_core::psis`]).
    pub k_hat: f64,
    /// The share of nodes at which the model failed, and which were left out.
    pub refused: f64,
    /// By `inner + ½/effective`, half a squared standard error of means over the nodes, within the limits of [`Verdict`]: at most fair
    /// where `k̂` is above 0.7 (and the weights differ) or a hundredth of the nodes was refused, near where starts led to different modes of some mass.
    pub verdict: Verdict,
}

/// The posterior of hyper-parameters and latent values.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LatentFit {
    /// The mixture, on free coordinates of the hyper-parameters, from which the last nodes come.
    pub mixture: GaussianMixture,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Joint draws, one a row: the hyper-parameters on their own scale, then the latent values.
    pub draws: Mat<f64>,
    /// Their names: those of the hyper-parameters, then `f[1]`, `f[2]`, ….
    pub names: Vec<String>,
    /// The log evidence of the model in nats, if the prior density is normalised.
    pub log_evidence: f64,
    /// The diagnosis.
    pub diagnosis: LatentDiagnosis,
    /// The work.
    pub work: Work,
    /// The first failure of the model at some hyper-parameters; [`Work::refused`] counts them.
    pub refusal: Option<BoostError>,
}

impl LatentFit {
    /// The posterior of latent value `j`: a mixture of one Gaussian from each node.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Index`.
    pub fn latent(&self, j: usize) -> Result<GaussianMixture, BoostError> {
        let len = self.nodes.first().map_or(0, |node| node.mean.len());
        if j >= len {
            return Err(vi_core::Error::Index { argument: "latent values", index: j, len }.into());
        }
        let kept: Vec<&Node> = self.nodes.iter().filter(|node| node.weight > 0.0).collect();
        let parts: Result<Vec<_>, _> =
            kept.iter().map(|node| Component::diagonal(&[node.mean[j]], &[node.variances[j]])).collect();
        GaussianMixture::new(parts?, &kept.iter().map(|node| node.weight).collect::<Vec<_>>())
    }
}

/// Draws of the latent values at a node, before its weight is known.
pub(super) struct Drawn {
    /// `N × k`.
    values: Mat<f64>,
    /// `log p(y|f) − log of the sites`, with their scales, of each.
    ratios: Vec<f64>,
}

/// The shares of the nodes in rounds between which the mixture adapts to them.
const ROUNDS: [f64; 3] = [1.0 / 6.0, 1.0 / 6.0, 2.0 / 3.0];
/// The nats by which a mode may have less mass than the best to have nodes, and to count as a second one: a hundredth.
const NEGLIGIBLE: f64 = 12.0;
const LESSER: f64 = 4.6;
/// Draws at a node for the divergence.
const PROBES: usize = 4;
/// The largest share of nodes at which the model fails, and the largest `k̂` where fewer than a share of the nodes count, for a good fit.
const REFUSED: f64 = 0.01;
const HEAVY: f64 = 0.7;
const EQUAL: f64 = 0.9;

/// Fits a latent Gaussian model: the hyper-parameters by weighted nodes, the latent values by a Gaussian at each.
///
/// | step | what | |
/// |---|---|---|
/// | 1 | modes of `p(ψ|y)` on free coordinates from a few starts, Laplace's Gaussian at each, once more twice as wide | [`Outer::Nodes`] |
/// | 2 | a sixth of the nodes from these, weighted; a step of EM; a sixth from that, and again for the rest | |
/// | or | the mixture of [`fit`](crate::fit()), then all nodes from it | [`Outer::Fit`] |
/// | 3 | nodes weighted by `f/q̄`, `q̄` all that they came from; draws of the latent values at each, as many as its weight requires | |
///
/// The same seed gives the same bits. It costs some 40 integrations with gradients for each mode and one for each node; an integration
/// costs a few sweeps (one if all likelihoods are Gaussian), each two factors of an `N × N` matrix and a quadrature for each row.
///
/// # Errors
/// Those of [`LatentSettings::check`] and of the rows: `Dimension`, `Empty`, `NonFinite`, `Row`; [`BoostError::Hyper`] if the model
/// fails at every start, of which it names the first, with [`Error::Row`](vi_core::Error::Row) for a label that the likelihood refuses;
/// [`BoostError::NoStart`] if the density is zero there; those of [`fit`](crate::fit()).
///
/// There is an example on the [page of the module](crate::latent).
pub fn fit_latent<M: Latent, R: Rng + ?Sized>(
    model: &M,
    observed: &Observed<'_>,
    settings: &LatentSettings,
    rng: &mut R,
) -> Result<LatentFit, BoostError> {
    settings.check()?;
    let data = Data::of(observed, model.dim())?;
    check::not_empty("parameters", model.parameters().free_dim())?;
    check::room("draws", &[settings.draws, model.parameters().dim() + data.dim])?;
    check::room("nodes", &[settings.nodes, settings.draws.div_ceil(settings.nodes) + PROBES, 2, data.dim])?;
    let marginal = Marginal::new(model, &data, settings);
    let mut seeds = Seeds::new(rng.random());
    let (mut q, rounds, alone): (_, &[f64], _) = match &settings.outer {
        Outer::Nodes { starts } => {
            let (q, alone) = modes(&marginal, *starts, &mut seeds)?;
            (q, &ROUNDS, alone)
        }
        Outer::Fit(outer) => {
            let found = crate::fit(&marginal, outer, &mut seeds.generator());
            let found = found.map_err(|error| marginal.refusal().unwrap_or(error))?;
            (found.mixture, &[1.0], found.diagnosis.verdict != Verdict::Near)
        }
    };
    // After the rounds few nodes are more than twice as heavy as the mean; these give some draws of the latent values again.
    let each = (2 * settings.draws).div_ceil(settings.nodes).next_multiple_of(2).clamp(PROBES, points::MOST_POINTS);
    let mut cloud = Cloud::new();
    let (mut log_evidence, mut k_hat) = (f64::NAN, f64::NAN);
    for (round, share) in rounds.iter().enumerate() {
        if round > 0 {
            q = cloud.adapted(&q)?;
        }
        cloud.extend(&marginal, &q, (share * settings.nodes as f64, each), &mut seeds)?;
        if cloud.nodes.is_empty() {
            let nowhere = BoostError::NoStart { points: settings.nodes, zero: settings.nodes, nan: 0, infinite: 0 };
            return Err(marginal.refusal().unwrap_or(nowhere));
        }
        (log_evidence, k_hat) = cloud.weigh()?;
    }
    let (inner, effective) = (divergence(&cloud.nodes, &cloud.drawn), cloud.effective());
    let verdict = match Verdict::of(inner + 0.5 / effective) {
        Verdict::Good if cloud.refused() > REFUSED => Verdict::Fair,
        // Of weights that are all but equal the tail says nothing.
        Verdict::Good if k_hat > HEAVY && effective < EQUAL * cloud.nodes.len() as f64 => Verdict::Fair,
        Verdict::Good if !alone => Verdict::Near,
        verdict => verdict,
    };
    let draws = resampled(&cloud, settings.draws, &mut seeds);
    let names = model.parameters().names().into_iter().chain((1..=data.dim).map(|j| format!("f[{j}]"))).collect();
    let diagnosis = LatentDiagnosis { inner, effective, k_hat, refused: cloud.refused(), verdict };
    let (work, refusal) = (marginal.work(), marginal.refusal());
    Ok(LatentFit { mixture: q, nodes: cloud.nodes, draws, names, log_evidence, diagnosis, work, refusal })
}

/// Laplace's Gaussians at the modes found from 0 and from points uniform on `[−2, 2]ᵈ`, each once more twice as wide; and whether one of
/// them has all of the mass but a hundredth.
fn modes<M: Latent>(
    marginal: &Marginal<'_, M>,
    starts: usize,
    seeds: &mut Seeds,
) -> Result<(GaussianMixture, bool), BoostError> {
    let d = marginal.dim();
    let probe = Probe::new(marginal, vec![1.0; d])?;
    let (mut peaks, mut tried) = (Vec::new(), Vec::new());
    for k in 0..starts {
        let from: Vec<f64> = (0..d).map(|_| if k == 0 { 0.0 } else { 4.0 * seeds.uniform() - 2.0 }).collect();
        tried.push(probe.value(&from));
        peaks.extend(laplace(&probe, &from));
    }
    if peaks.is_empty() {
        let Faults { zero, nan, infinite } = Faults::of(&tried);
        let nowhere = BoostError::NoStart { points: starts, zero, nan, infinite };
        return Err(marginal.refusal().unwrap_or(nowhere));
    }
    // By Laplace's evidence of each.
    let mass = |peak: &Component| probe.value(peak.mean()) + 0.5 * peak.log_det();
    let mut peaks: Vec<_> = distinct(peaks).into_iter().map(|peak| (mass(&peak), peak)).collect();
    peaks.sort_by(|a, b| b.0.total_cmp(&a.0));
    let most = peaks[0].0;
    peaks.retain(|(mass, _)| *mass >= most - NEGLIGIBLE);
    let alone = peaks.iter().all(|(mass, peak)| *mass < most - LESSER || distance(peak, &peaks[0].1) < APART);
    let peaks: Vec<Component> = peaks.into_iter().map(|(_, peak)| peak).collect();
    let wide: Result<Vec<_>, _> = peaks.iter().map(|peak| peak.widened(4.0)).collect();
    let components: Vec<_> = peaks.into_iter().chain(wide?).collect();
    let share = vec![1.0 / components.len() as f64; components.len()];
    Ok((GaussianMixture::new(components, &share)?, alone))
}

/// Draws of the latent values, and the ratios of the first of them.
pub(super) fn draw<M: Latent>(
    marginal: &Marginal<'_, M>,
    solved: &Solved,
    hyper: &[f64],
    each: usize,
    seeds: &mut Seeds,
) -> Result<Drawn, BoostError> {
    let data = marginal.data;
    let epsilon = points::mirrored(each, data.dim, seeds.next())?;
    let values = solved.joint.draw(&solved.prior, &solved.mean, epsilon.transpose());
    let likelihoods = likelihoods(marginal.model, data, hyper)?;
    let scale = solved.log_evidence - solved.joint.log_integral;
    let ratio = |k: usize| {
        let row = |(i, likelihood): (usize, &M::Likelihood)| {
            let at = data.offsets[i] + data.along(i, |j| values[(j, k)]);
            let (r, h) = solved.sites.pairs[i];
            likelihood.log_density(data.labels[i], at) - (r - 0.5 * h * at) * at
        };
        likelihoods.iter().enumerate().map(row).sum::<f64>() - scale
    };
    let ratios = (0..PROBES.min(each)).map(ratio).collect();
    Ok(Drawn { values, ratios })
}

/// `E_q[w·log w]`, `w = r/E_q r`, `r` being the exact density of the latent values over their Gaussian.
fn divergence(nodes: &[Node], drawn: &[Drawn]) -> f64 {
    let each = || {
        let shared = nodes.iter().zip(drawn).map(|(node, drawn)| (node.weight / drawn.ratios.len() as f64, drawn));
        shared.flat_map(|(share, drawn)| drawn.ratios.iter().map(move |log| (share, *log)))
    };
    let largest = each().fold(f64::NEG_INFINITY, |most, (_, log)| most.max(log));
    let mean: f64 = each().map(|(share, log)| share * (log - largest).exp()).sum();
    let relative = |log: f64| log - largest - mean.ln();
    each().filter(|(_, log)| *log > f64::NEG_INFINITY).map(|(c, log)| c * relative(log).exp() * relative(log)).sum()
}

/// Joint draws in random order: each node as often as its weight requires, give or take one.
fn resampled(cloud: &Cloud, count: usize, seeds: &mut Seeds) -> Mat<f64> {
    let (mut chosen, mut sum, offset) = (Vec::with_capacity(count), 0.0, seeds.uniform());
    for (at, node) in cloud.nodes.iter().enumerate() {
        // The last takes what rounding of the sum has left.
        sum = if at + 1 == cloud.nodes.len() { f64::INFINITY } else { sum + node.weight * count as f64 };
        let mut k = 0;
        while chosen.len() < count && (chosen.len() as f64 + offset) < sum {
            chosen.push((at, k % cloud.drawn[at].values.ncols()));
            k += 1;
        }
    }
    chosen.shuffle(&mut seeds.generator());
    let (p, n) = cloud.nodes.first().map_or((0, 0), |node| (node.hyper.len(), node.mean.len()));
    Mat::from_fn(count, p + n, |i, j| {
        let (at, k) = chosen[i];
        if j < p { cloud.nodes[at].hyper[j] } else { cloud.drawn[at].values[(j - p, k)] }
    })
}
