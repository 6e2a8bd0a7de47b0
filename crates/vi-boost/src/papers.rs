//! What stands here for the paper alone, its algorithms as printed: Algorithm 2 with the weight by Algorithm 1 or Algorithm 3, and
//! the greedy step (2).
//!
//! They get stuck ([the default](crate::boost) says why and does not); they are here for comparison. Three things are added
//! without which they do not run at all: `α` is kept in `[0, 1]`, a start whose search diverges or ends at an indefinite Hessian
//! is drawn again, and a component whose weight was clipped to 0 stays in `log q` with a weight of 1e-300.

mod newton;

pub use newton::{NewtonInfo, Samples, stochastic_newton, weighted_newton};

use std::ops::ControlFlow;

use rand::Rng;
use vi_core::check;
use vi_linalg::faer::Mat;

use crate::BoostError;
use crate::block::{self, Block};
use crate::boost::Info;
use crate::boost::cloud::{Summary, summary};
use crate::component::Component;
use crate::error::{check_positive_entries, setting};
use crate::local::{inverse, least_eigenvalue};
use crate::mixture::{GaussianMixture, Scratch};
use crate::objective::{Greedy, Reference};
use crate::optimise::{Search, minimise};
use crate::target::{LogDensity, Probe, difference, fault};

/// How the weight `α_t` is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WeightRule {
    /// Algorithm 1: stochastic Newton on `KL(q‖p)`.
    #[default]
    Exclusive,
    /// Algorithm 3: stochastic Newton on `KL(p‖q)`, with importance weights.
    Inclusive,
}

/// How the component `h_t` is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ComponentRule {
    /// Algorithm 2: a local minimum of `log(q/f)`, `Σ = H⁻¹/2`.
    #[default]
    Laplacian,
    /// The greedy step (2): from there, `D((1−α)q + αh_φ)` over `φ` and `α` together.
    Greedy,
}

/// The settings that the printed algorithms leave open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrintedSettings {
    /// The number `n` of Monte-Carlo samples.
    pub samples: usize,
    /// The initial step `b` of Algorithms 1 and 3.
    pub step: f64,
    /// The tolerance `ε` of Algorithms 1 and 3.
    pub tolerance: f64,
    /// How the weight is found.
    pub weight: WeightRule,
    /// How the component is found.
    pub component: ComponentRule,
}

impl Default for PrintedSettings {
    /// The default is `n = 1000`, `b = 1`, `ε = 1e-3`, Algorithms 1 and 2.
    fn default() -> Self {
        let (weight, component) = (WeightRule::Exclusive, ComponentRule::Laplacian);
        Self { samples: 1000, step: 1.0, tolerance: 1e-3, weight, component }
    }
}

impl PrintedSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Setting` for fewer than 2 samples, `Entry` unless `step` and `tolerance` are positive;
    /// [`BoostError::Conflict`] for the greedy step with the inclusive rule, as it finds its weight itself.
    pub fn check(&self) -> Result<(), BoostError> {
        if self.samples < 2 {
            return Err(setting("samples", self.samples as f64, "at least 2"));
        }
        check_positive_entries("step", &[self.step])?;
        check_positive_entries("tolerance", &[self.tolerance])?;
        if (self.component, self.weight) == (ComponentRule::Greedy, WeightRule::Inclusive) {
            return Err(BoostError::Conflict { setting: "WeightRule::Inclusive", with: "ComponentRule::Greedy" });
        }
        Ok(())
    }
}

/// A run of a printed algorithm.
///
/// ```
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
/// use vi_boost::{Component, papers::{Printed, PrintedSettings}, target::Cauchy};
/// let target = Cauchy::new(0.0, 2.0)?;
/// let start = Component::isotropic(&[0.0], 10.0)?;
/// let mut run = Printed::new(&target, start, &PrintedSettings::default())?;
/// let mut rng = ChaCha8Rng::seed_from_u64(1);
/// let info = run.step(&mut rng)?;
/// assert!(info.alpha > 0.3 && info.alpha < 0.7);
/// assert_eq!(run.mixture().len(), 2);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
pub struct Printed<'a, T: ?Sized> {
    target: &'a T,
    probe: Probe<'a, T>,
    settings: PrintedSettings,
    q: GaussianMixture,
    iteration: usize,
}

/// The weight that replaces 0 in `log q`.
const FLOOR: f64 = 1e-300;

/// The number of starts drawn before an iteration adds nothing.
const STARTS: usize = 20;

/// The number of the start's standard deviations beyond which a search counts as diverged.
const DIVERGED: f64 = 1e4;

/// "With an optimization routine": L-BFGS.
const ROUTINE: Search = Search { evaluations: 200, tolerance: 1e-12 };

impl<'a, T: LogDensity + ?Sized> Printed<'a, T> {
    /// A run that starts from `q_1`.
    ///
    /// # Errors
    /// Those of [`PrintedSettings::check`]; [`BoostError::Core`] with `Dimension`, or `Setting` for more samples than memory holds.
    pub fn new(target: &'a T, start: Component, settings: &PrintedSettings) -> Result<Self, BoostError> {
        settings.check()?;
        check::room("samples", &[settings.samples, start.dim()])?;
        let probe = Probe::about(target, &start)?;
        Ok(Self { target, probe, settings: *settings, q: GaussianMixture::single(start), iteration: 1 })
    }

    /// The mixture `q_t`, with every component that was proposed, including those of weight 1e-300.
    #[must_use]
    pub fn mixture(&self) -> &GaussianMixture {
        &self.q
    }

    /// Makes one iteration. After an error `q_t` is unchanged. Objective, evidence and effective sample size are those of
    /// Algorithm 1's draws; Algorithm 3 has only the effective sample size, the greedy step none of them.
    ///
    /// # Errors
    /// [`BoostError::TargetValue`] if the target is NaN or +∞ at a draw, [`BoostError::Unsupported`] if it is zero at one
    /// (Algorithm 1 is then not defined).
    pub fn step<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<Info, BoostError> {
        let mut info = Info::new(self.iteration + 1);
        let mut q = self.q.clone();
        if let Some(h) = self.laplacian(&mut info, rng)? {
            let (h, alpha) = match self.settings.component {
                ComponentRule::Laplacian => {
                    let alpha = self.weight(&h, &mut info, rng)?;
                    (h, alpha)
                }
                ComponentRule::Greedy => self.greedy(h, rng)?,
            };
            info.alpha = alpha;
            q = floored(&q.with(h, alpha));
        } else {
            info.alpha = 0.0;
        }
        self.q = q;
        self.iteration += 1;
        info.components = self.q.weights().iter().filter(|w| **w > FLOOR * 2.0).count();
        info.evaluations = self.probe.evaluations();
        Ok(info)
    }

    /// Makes `iterations` steps, or fewer if the observer returns `Break`.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn run<R: Rng + ?Sized>(
        &mut self,
        iterations: usize,
        rng: &mut R,
        mut on_step: impl FnMut(&Info, &GaussianMixture) -> ControlFlow<()>,
    ) -> Result<(), BoostError> {
        for _ in 0..iterations {
            let info = self.step(rng)?;
            if on_step(&info, &self.q).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Algorithm 2's `h_t`; `None` after [`STARTS`] failed starts.
    fn laplacian<R: Rng + ?Sized>(&self, info: &mut Info, rng: &mut R) -> Result<Option<Component>, BoostError> {
        let d = self.probe.dim();
        let mut theta = vec![0.0; d];
        for _ in 0..STARTS {
            info.tries += 1;
            // θ₀ ~ q_{t−1}
            let draw = self.q.draw(1, rng);
            for (j, theta) in theta.iter_mut().enumerate() {
                *theta = draw[(0, j)];
            }
            // μ̂_t ← argmin log(q_{t−1}/f) from θ₀
            let Some(mu) = self.descend(&theta) else {
                info.rejected += 1;
                continue;
            };
            // H_t ← Hessian of log(q_{t−1}/f) at μ̂_t, by differences
            let mut of_f = Mat::zeros(d, d);
            difference::numerical_hessian(self.target, &mu, self.probe.scale(), of_f.as_mut());
            let of_q = self.q.hessian(&mu)?;
            let hessian = Mat::from_fn(d, d, |i, j| of_q[(i, j)] - of_f[(i, j)]);
            info.least_eigenvalue = least_eigenvalue(hessian.as_ref(), self.probe.scale());
            // Σ̂_t ← H_t⁻¹/2
            let Some(sigma) = inverse(hessian.as_ref()) else {
                info.fallbacks += 1;
                continue;
            };
            let sigma = Mat::from_fn(d, d, |i, j| 0.5 * sigma[(i, j)]);
            match Component::full(&mu, sigma.as_ref()) {
                Ok(h) => return Ok(Some(h)),
                Err(_) => info.fallbacks += 1,
            }
        }
        Ok(None)
    }

    /// A local minimum of `log(q/f)`; `None` if the search diverges or cannot begin.
    fn descend(&self, start: &[f64]) -> Option<Vec<f64>> {
        // In θ's own units, as an off-the-shelf optimiser works: in units of a broad start, a first step would leap from mode to
        // mode.
        let point = |u: &[f64]| -> Vec<f64> { start.iter().zip(u).map(|(t, u)| t + u).collect() };
        let sds = |u: &[f64]| u.iter().zip(self.probe.scale()).fold(0.0_f64, |most, (u, s)| most.max(u.abs() / s));
        let (mut scratch, mut by_f, mut by_q) = (Scratch::default(), Block::default(), Block::default());
        let found = minimise(&vec![0.0; start.len()], ROUTINE, |u, gradient| {
            if sds(u) > DIVERGED {
                return f64::INFINITY;
            }
            let x = Block::point(&point(u));
            let mut log_f = [0.0];
            self.probe.values_and_gradients(&x, &mut log_f, &mut by_f);
            self.q.evaluate(&x, &mut scratch, true);
            by_q.reshape(1, start.len());
            by_q.fill(0.0);
            self.q.add_gradient(&scratch, 1.0, &mut by_q);
            for (j, gradient) in gradient.iter_mut().enumerate() {
                *gradient = by_q.col(j)[0] - by_f.col(j)[0];
            }
            scratch.total[0] - log_f[0]
        })?;
        (sds(&found.x) <= 0.1 * DIVERGED).then(|| point(&found.x))
    }

    /// `α̂_t` by Algorithm 1 or 3.
    fn weight<R: Rng + ?Sized>(&self, h: &Component, info: &mut Info, rng: &mut R) -> Result<f64, BoostError> {
        let n = self.settings.samples;
        let newton = (self.settings.step, self.settings.tolerance);
        let of_q = self.samples(&self.q.draw_blocks(n, rng), h)?;
        match self.settings.weight {
            WeightRule::Exclusive => {
                let single = GaussianMixture::single(h.clone());
                let of_h = self.samples(&single.draw_blocks(n, rng), h)?;
                for rows in [&of_q, &of_h] {
                    let zero = rows.log_f.iter().filter(|f| **f == f64::NEG_INFINITY).count();
                    if zero > 0 {
                        return Err(BoostError::Unsupported { share: zero as f64 / n as f64 });
                    }
                }
                let (alpha, _) = stochastic_newton(&of_h, &of_q, newton.0, newton.1)?;
                let seen = summarised(&of_q, &of_h, alpha);
                info.objective = seen.objective;
                info.log_evidence = seen.log_evidence;
                info.effective_sample_size = seen.effective_share * seen.points as f64;
                Ok(alpha)
            }
            WeightRule::Inclusive => {
                let (alpha, newton) = weighted_newton(&of_q, newton.0, newton.1)?;
                info.effective_sample_size = newton.effective_sample_size;
                Ok(alpha)
            }
        }
    }

    /// `log q`, `log h`, `log f` at draws.
    fn samples(&self, draws: &[Block], h: &Component) -> Result<Samples, BoostError> {
        let mut samples = Samples::default();
        let (mut scratch, mut log, mut s) = (Scratch::default(), Vec::new(), Block::default());
        for x in draws {
            log.resize(x.rows(), 0.0);
            self.probe.values(x, &mut log);
            if let Some(error) = fault(&log, x) {
                return Err(error);
            }
            samples.log_f.extend_from_slice(&log);
            h.evaluate(x, &mut log, &mut s, false);
            samples.log_h.extend_from_slice(&log);
            self.q.evaluate(x, &mut scratch, false);
            samples.log_q.extend_from_slice(&scratch.total);
        }
        Ok(samples)
    }

    /// Equation (2): `(φ, α)` together, from `h` and `α = ½`, on draws of `q` and moving draws of `h`.
    fn greedy<R: Rng + ?Sized>(&self, h: Component, rng: &mut R) -> Result<(Component, f64), BoostError> {
        let n = self.settings.samples;
        let draws = self.q.draw_blocks(n, rng);
        let mut reference = Reference::default();
        let mut scratch = Scratch::default();
        for x in draws {
            let mut log_f = vec![0.0; x.rows()];
            self.probe.values(&x, &mut log_f);
            if let Some(error) = fault(&log_f, &x) {
                return Err(error);
            }
            let zero = log_f.iter().filter(|f| **f == f64::NEG_INFINITY).count();
            if zero > 0 {
                return Err(BoostError::Unsupported { share: zero as f64 / x.rows() as f64 });
            }
            self.q.evaluate(&x, &mut scratch, false);
            reference.weight.push(vec![1.0 / n as f64; x.rows()]);
            reference.log_q.push(scratch.total.clone());
            reference.log_f.push(log_f);
            reference.x.push(x);
        }
        let z = block::random(n, h.latent_dim(), rng);
        let greedy = Greedy { probe: &self.probe, q: &self.q, reference: &reference, z: &z };
        let search = Search { evaluations: 100, tolerance: self.settings.tolerance * 1e-3 };
        Ok(greedy.minimise(&h, 0.5, search).map_or((h, 0.0), |(component, alpha, _)| (component, alpha)))
    }
}

/// Averages for `q_α = (1−α)q + αh` from the draws of Algorithm 1.
fn summarised(of_q: &Samples, of_h: &Samples, alpha: f64) -> Summary {
    let (mut weights, mut losses) = (Vec::new(), Vec::new());
    for (samples, share) in [(of_q, 1.0 - alpha), (of_h, alpha)] {
        // Draws of a part without weight do not count.
        if share == 0.0 {
            continue;
        }
        let n = samples.log_f.len();
        weights.resize(weights.len() + n, share / n as f64);
        losses.extend((0..n).map(|i| newton::mixed(alpha, samples.log_q[i], samples.log_h[i]).0 - samples.log_f[i]));
    }
    summary(&weights, &losses)
}

/// The mixture with every weight raised to at least [`FLOOR`].
fn floored(q: &GaussianMixture) -> GaussianMixture {
    let weights: Vec<f64> = q.weights().iter().map(|w| w.max(FLOOR)).collect();
    q.reweighted(&weights)
}
