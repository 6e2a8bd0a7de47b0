//! Universal boosting variational inference (Campbell and Li 2019): the Hellinger distance as objective.
//!
//! Not the density but its square root is a sum: `ḡ = Σ_k λ_k·√N_k` with `λ ≥ 0` and `‖ḡ‖ = 1`, and `q = ḡ² = Σ_kl
//! λ_kλ_l·Z_kl·N_kl`, a mixture of the products' Gaussians. In `L²` the next component maximises the cosine with the remainder of
//! `√f`, so components do not degenerate and no regulariser is needed, whatever the tails; then all `λ` are found by a quadratic
//! program.
//!
//! | symbol | name in code | source |
//! |---|---|---|
//! | `√f` | target, by `½·log f` | eq 2 |
//! | `g_k = √N_k`, `λ_k` | components, `lambda` | eq 4 |
//! | `Z_kl = ⟨g_k, g_l⟩` | `overlap` | eq 5 |
//! | `d_k = ⟨√f, g_k⟩` | `inner` | eq 9 |

mod objective;
mod overlap;
mod root;
mod seen;
mod settings;

use std::ops::ControlFlow;

use rand::{Rng, RngExt};
use vi_core::{Estimate, Stop};
use vi_linalg::faer::Mat;

use self::objective::{Residual, ResidualAtRest, log_affinity, remainder};
use self::overlap::{Overlap, product};
use self::root::Root;
use self::seen::{fresh, seen};
pub use self::settings::HellingerSettings;
use crate::BoostError;
use crate::block;
use crate::boost::cloud::Cloud;
use crate::boost::pool::{Pool, choose, missing};
use crate::boost::propose::{COARSE, Proposals, shapes};
use crate::boost::{Info, check_enough};
use crate::component::Component;
use crate::mixture::GaussianMixture;
use crate::optimise::Search;
use crate::seeds::Seeds;
use crate::simplex::{self, Sum};
use crate::target::{LogDensity, Probe};

/// A run that grows a square root towards that of a target.
///
/// ```
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
/// use vi_boost::{Component, hellinger::{Hellinger, HellingerSettings}, target::Cauchy};
/// let target = Cauchy::new(0.0, 1.0)?;
/// let start = Component::isotropic(&[0.0], 10.0)?;
/// let settings = HellingerSettings { components: 3, points: 512, ..HellingerSettings::default() };
/// let mut run = Hellinger::new(&target, &start, &settings, &mut ChaCha8Rng::seed_from_u64(1))?;
/// run.run(|_, _| std::ops::ControlFlow::Continue(()))?;
/// // Rényi's divergence of order ½, −2·log∫√(qp), from the objective and log Z.
/// let left = run.last().map_or(f64::NAN, |info| info.objective.value) + target.log_normaliser();
/// assert!(left < 0.02, "{left}");
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
pub struct Hellinger<'a, T: ?Sized> {
    probe: Probe<'a, T>,
    settings: HellingerSettings,
    seeds: Seeds,
    start: Pool,
    root: Root,
    /// The points of each component.
    clouds: Vec<Cloud>,
    /// `log Z_kl`, lower triangle.
    overlaps: Vec<Vec<f64>>,
    /// `½log` of the target's mass, roughly: the unit of the inner products with `√f`.
    shift: f64,
    /// `c = ⟨√f, ḡ⟩/e^shift` and its standard error.
    affinity: (f64, f64),
    q: Option<GaussianMixture>,
    iteration: usize,
    idle: usize,
    last: Option<Info>,
}

/// New starts come from the start distribution and from one that is this many times as wide as `q`.
const DISPERSION: f64 = 1.7;

/// The multiples of an inverse Hessian that are tried.
const SCALES: [f64; 4] = [0.5, 1.0, 2.0, 4.0];

/// A search ends when a step gains less than this.
const TOLERANCE: f64 = 1e-8;

/// The least effective sample size of a useful mixture.
const LEAST_EFFECTIVE: f64 = 10.0;

/// The most of Rényi's divergence that a useful mixture may leave, in nats: beyond, the overlap `(∫√(qp))²` with the target is
/// below 0.37.
const MOST_LEFT: f64 = 1.0;

/// Components of a smaller share of the norm than this are dropped.
const LEAST_LAMBDA: f64 = 1e-4;

impl<'a, T: LogDensity + ?Sized> Hellinger<'a, T> {
    /// A run from the over-dispersed distribution `start`, as for [`Boost::new`](crate::Boost::new).
    ///
    /// # Errors
    /// As [`Boost::new`](crate::Boost::new).
    pub fn new<R: Rng + ?Sized>(
        target: &'a T,
        start: &Component,
        settings: &HellingerSettings,
        rng: &mut R,
    ) -> Result<Self, BoostError> {
        settings.check()?;
        let probe = Probe::about(target, start)?;
        check_enough("points", settings.points, start.dim())?;
        let mut seeds = Seeds::new(rng.random());
        let start = Pool::of_start(&probe, start, seeds.next())?;
        Ok(Self {
            shift: 0.5 * start.log_mass(),
            probe,
            settings: *settings,
            seeds,
            start,
            root: Root::default(),
            clouds: Vec::new(),
            overlaps: Vec::new(),
            affinity: (0.0, 0.0),
            q: None,
            iteration: 0,
            idle: 0,
            last: None,
        })
    }

    /// The mixture `q = ḡ²`, of up to `K(K+1)/2` components; `None` before the first step.
    #[must_use]
    pub fn mixture(&self) -> Option<&GaussianMixture> {
        self.q.as_ref()
    }

    /// The report of the last step. Its objective is `−2·log⟨√f, ḡ⟩`, which exceeds `−log Z` by Rényi's divergence of order ½;
    /// its evidence and effective sample size are those of `f/m` on the points of `m = Σ_k λ_k²·N_k/Σ_k λ_k²`; after
    /// [`run`](Self::run) all three are from fresh draws of `q`. There is no gap.
    #[must_use]
    pub fn last(&self) -> Option<&Info> {
        self.last.as_ref()
    }

    /// Adds one component and re-optimises all `λ`. After an error the mixture is unchanged.
    ///
    /// # Errors
    /// [`BoostError::NoCandidate`] when no first component has a finite affinity with the target, [`BoostError::Improper`] when
    /// one diverges; [`BoostError::Core`].
    pub fn step(&mut self) -> Result<Info, BoostError> {
        let mut info = Info::new(self.iteration + 1);
        let before = self.affinity.0;
        let (seed, coarse_seed, u) = (self.seeds.next(), self.seeds.next(), self.seeds.uniform());
        let d = self.probe.dim();
        let mut proposals = Proposals::default();
        let log_evidence = 2.0 * (before.ln() + self.shift);
        let wide = match &self.q {
            None => None,
            Some(q) => Some(Pool::of_widened(&self.probe, q, DISPERSION, self.seeds.next())?),
        };
        let pools: Vec<&Pool> = std::iter::once(&self.start).chain(&wide).collect();
        let places = choose(&missing(&pools, self.q.as_ref(), log_evidence), self.settings.starts, u);
        let ball = &pools[pools.len() - 1].source;
        let shapes = shapes(&self.probe, self.q.as_ref(), ball, &places, &mut proposals);
        let coarse = block::quasi(COARSE.max(4 * d.div_ceil(2) * 2), d, coarse_seed)?;
        let scaled = shapes.iter().flat_map(|shape| {
            SCALES.iter().filter_map(|scale| Some((shape.scaled(*scale, crate::Family::Full)?, shape.least_eigenvalue)))
        });
        let candidates: Vec<(Component, f64)> = scaled.collect();
        let mut points = Cloud::resting(coarse.clone());
        if self.root.components.is_empty() {
            // The start's points may show almost nothing of a narrow target; the candidates know its size.
            let mut largest = f64::NEG_INFINITY;
            for (component, _) in &candidates {
                points.move_to(&self.probe, component);
                largest = largest.max(log_affinity(component, &points));
            }
            if largest.is_finite() {
                self.shift = largest;
            }
        }
        let residual = self.residual(&coarse);
        let mut best: Vec<(Component, f64, f64)> = Vec::new();
        for (component, least_eigenvalue) in candidates {
            info.tries += 1;
            points.move_to(&self.probe, &component);
            let value = residual.value(&component, &points);
            if value.is_finite() {
                best.push((component, value, least_eigenvalue));
            } else {
                info.rejected += 1;
            }
        }
        info.fallbacks = proposals.fallbacks;
        best.sort_by(|a, b| a.1.total_cmp(&b.1));
        best.dedup_by(|a, b| a.0.mean() == b.0.mean());
        let mut chosen: Option<(Component, f64, f64)> = None;
        for (component, _, least_eigenvalue) in best.into_iter().take(FINALISTS) {
            let Some((component, value)) = self.improved(component, seed, info.iteration == 1)? else {
                info.rejected += 1;
                continue;
            };
            if chosen.as_ref().is_none_or(|(_, least, _)| value < *least) {
                chosen = Some((component, value, least_eigenvalue));
            }
        }
        match chosen {
            Some((component, _, least_eigenvalue)) => {
                info.least_eigenvalue = least_eigenvalue;
                self.add(component, &mut info)?;
            }
            None if self.root.components.is_empty() => return Err(BoostError::NoCandidate { tries: info.tries }),
            None => {}
        }
        if self.root.components.is_empty() {
            return Err(BoostError::NoCandidate { tries: info.tries });
        }
        self.iteration += 1;
        let (after, error) = self.affinity;
        // −2·log of each: the decrease of Rényi's divergence.
        info.improvement = if before > 0.0 { 2.0 * (after / before).ln() } else { f64::NAN };
        info.objective = Estimate { value: -2.0 * (after.ln() + self.shift), standard_error: 2.0 * error / after };
        self.idle = if info.improvement <= self.settings.improvement { self.idle + 1 } else { 0 };
        let seen = seen(&self.root, &self.clouds);
        info.log_evidence = seen.log_evidence;
        info.effective_sample_size = seen.effective_share * seen.points as f64;
        info.components = self.root.components.len();
        info.evaluations = self.probe.evaluations();
        self.last = Some(info);
        Ok(info)
    }

    /// Takes steps until there are as many as components are asked for, including those before this call ([`Stop::Iterations`]),
    /// several steps gain too little ([`Stop::Improvement`]), or `on_step` returns `Break` ([`Stop::Cancelled`]).
    ///
    /// # Errors
    /// As [`step`](Self::step); [`BoostError::Unreliable`] if at the end the importance weights `f/q` have an effective sample
    /// size below 10, among as many fresh draws of `q` as a component has points, or if more than one nat is left: the mixture,
    /// which stays, is then no approximation of the target.
    pub fn run(
        &mut self,
        mut on_step: impl FnMut(&Info, &GaussianMixture) -> ControlFlow<()>,
    ) -> Result<Stop, BoostError> {
        let stop = loop {
            if self.iteration >= self.settings.components {
                break Stop::Iterations;
            }
            let info = self.step()?;
            if let Some(q) = &self.q
                && on_step(&info, q).is_break()
            {
                return Ok(Stop::Cancelled);
            }
            if self.idle >= self.settings.patience {
                break Stop::Improvement;
            }
        };
        self.assess()?;
        match self.last {
            Some(info) if info.effective_sample_size < LEAST_EFFECTIVE || info.kl() > MOST_LEFT => {
                let (effective_sample_size, left) = (info.effective_sample_size, info.kl());
                Err(BoostError::Unreliable { effective_sample_size, left })
            }
            _ => Ok(stop),
        }
    }

    /// Replaces objective, evidence and effective sample size of [`last`](Self::last) by estimates from fresh draws of `q`.
    fn assess(&mut self) -> Result<(), BoostError> {
        let (Some(q), Some(info)) = (&self.q, &mut self.last) else { return Ok(()) };
        let found = fresh(q, &self.probe, self.settings.points, &mut self.seeds.generator())?;
        info.effective_sample_size = found.effective_share * found.points as f64;
        if info.effective_sample_size > 0.0 {
            (info.objective, info.log_evidence) = (found.objective, found.log_evidence);
        }
        info.evaluations = self.probe.evaluations();
        Ok(())
    }

    /// The component near a candidate that has most of the remainder of `√f`, with its objective on fresh points.
    fn improved(
        &self,
        mut component: Component,
        seed: u64,
        first: bool,
    ) -> Result<Option<(Component, f64)>, BoostError> {
        let search = Search { evaluations: self.settings.evaluations, tolerance: TOLERANCE };
        let mut seeds = Seeds::new(seed);
        if first {
            let z = block::quasi(self.settings.points, component.latent_dim(), seeds.next())?;
            let Some((best, _)) = self.residual(&z).minimise(&component, search) else { return Ok(None) };
            component = best;
        } else {
            for _ in 0..ROUNDS {
                let own = Cloud::new(&self.probe, &component, self.settings.points, seeds.next())?;
                let clouds: Vec<&Cloud> = self.clouds.iter().chain([&own]).collect();
                let at_rest = ResidualAtRest::new(&self.root, &clouds, &component, self.shift, self.affinity.0);
                let Some((best, _)) = at_rest.minimise(&self.root, &component, search) else { break };
                component = best;
            }
        }
        let fresh = Cloud::new(&self.probe, &component, self.settings.points, seeds.next())?;
        let value = self.residual(&[]).value(&component, &fresh);
        Ok(value.is_finite().then_some((component, value)))
    }

    fn residual<'b>(&'b self, z: &'b [block::Block]) -> Residual<'b, T> {
        Residual { probe: &self.probe, z, shift: self.shift, root: &self.root, affinity: self.affinity.0 }
    }

    /// Adds `h`, solves for all `λ`, and drops components whose `λ` is 0. Nothing changes unless all of this succeeds.
    fn add(&mut self, h: Component, info: &mut Info) -> Result<(), BoostError> {
        let seed = self.seeds.next();
        let mut overlaps = self.overlaps.clone();
        let row = self.root.components.iter().map(|component| Ok(Overlap::of(component, &h)?.log_z));
        let mut row: Vec<f64> = row.collect::<Result<_, BoostError>>()?;
        row.push(0.0);
        overlaps.push(row);
        let mut clouds = self.clouds.clone();
        let own = Cloud::new(&self.probe, &h, self.settings.points, seed)?;
        if own.log_f.iter().flatten().any(|f| f.is_nan() || *f == f64::INFINITY) {
            info.rejected += 1;
            return Ok(());
        }
        clouds.push(own);
        let mut components = self.root.components.clone();
        components.push(h);
        let count = components.len();
        let z = Mat::from_fn(count, count, |i, j| if i >= j { overlaps[i][j].exp() } else { 0.0 });

        // d_k = ⟨√f − c·ḡ, g_k⟩ + c·⟨ḡ, g_k⟩: only the part that ḡ does not explain is estimated from points.
        let c = self.affinity.0;
        let rest = components.iter().zip(&clouds);
        let rest: Vec<(f64, f64)> =
            rest.map(|(component, points)| remainder(component, points, &self.root, self.shift, c)).collect();
        let explained = |k: usize| -> f64 {
            self.root.lambda.iter().enumerate().map(|(l, lambda)| lambda * z[(k.max(l), k.min(l))]).sum()
        };
        let d: Vec<f64> = rest.iter().enumerate().map(|(k, rest)| rest.0 + c * explained(k)).collect();

        // The point of the cone nearest to √f, then its direction.
        let mut start = self.root.lambda.clone();
        start.push(0.0);
        let mut lambda = simplex::minimise(z.as_ref(), &d, &start, Sum::Any)?;
        let length = norm(&lambda, &z);
        if !(length > 0.0 && length.is_finite()) {
            info.rejected += 1;
            return Ok(());
        }
        for l in &mut lambda {
            *l /= length;
        }
        info.alpha = lambda[count - 1];
        let keep: Vec<usize> = (0..count).filter(|&k| lambda[k] > LEAST_LAMBDA).collect();
        info.pruned = count - keep.len();
        let q = squared(&components, &lambda, &keep)?;
        q.check_reach(&self.start.source)?;

        let affinity: f64 = lambda.iter().zip(&d).map(|(lambda, d)| lambda * d).sum();
        let variance: f64 = lambda.iter().zip(&rest).map(|(lambda, rest)| (lambda * rest.1).powi(2)).sum();
        self.affinity = (affinity, variance.sqrt());
        self.root.components = keep.iter().map(|&k| components[k].clone()).collect();
        self.root.lambda = keep.iter().map(|&k| lambda[k]).collect();
        self.clouds = keep.iter().map(|&k| clouds[k].clone()).collect();
        self.overlaps = (0..keep.len()).map(|i| (0..=i).map(|j| overlaps[keep[i]][keep[j]]).collect()).collect();
        self.q = Some(q);
        Ok(())
    }
}

/// `‖Σ_k λ_k·g_k‖ = √(λᵀZλ)`, from the lower triangle.
fn norm(lambda: &[f64], z: &Mat<f64>) -> f64 {
    let mut sum = 0.0;
    for i in 0..lambda.len() {
        for j in 0..=i {
            sum += lambda[i] * lambda[j] * z[(i, j)] * if i == j { 1.0 } else { 2.0 };
        }
    }
    sum.sqrt()
}

/// How often the new component's points are moved to its new place.
const ROUNDS: usize = 3;

/// The number of candidates that are optimised.
const FINALISTS: usize = 2;

/// `ḡ² = Σ_kl λ_kλ_l·Z_kl·N_kl`.
fn squared(components: &[Component], lambda: &[f64], keep: &[usize]) -> Result<GaussianMixture, BoostError> {
    let (mut parts, mut weights) = (Vec::new(), Vec::new());
    for (position, &k) in keep.iter().enumerate() {
        for &l in &keep[..=position] {
            let (log_z, both) = product(&components[k], &components[l])?;
            let twice = if k == l { 1.0 } else { 2.0 };
            let weight = twice * lambda[k] * lambda[l] * log_z.exp();
            if weight > 0.0 {
                parts.push(both);
                weights.push(weight);
            }
        }
    }
    let total: f64 = weights.iter().sum();
    for w in &mut weights {
        *w /= total;
    }
    GaussianMixture::new(parts, &weights)
}
