//! Update rules: how a gradient changes the parameters.

use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};

use crate::{RevrandError, check, lanes};

/// An update rule with its settings. Every operation is on each parameter by itself, and `g` is the gradient of what is
/// minimised.
///
/// ```text
/// plain       x ← x − η·g
/// momentum    δ ← ρδ − η·g;              x ← x + δ
/// AdaGrad     s ← s + g²;                x ← x − η·g/(ε + √s)
/// AdaDelta    s ← ρs + (1−ρ)g²;          δ = −g·√(r+ε)/√(s+ε);  r ← ρr + (1−ρ)δ²;  x ← x + δ
/// Adam        m ← β₁m + (1−β₁)g;         v ← β₂v + (1−β₂)g²;
///             x ← x − η·(m/(1−β₁ᵗ))/(√(v/(1−β₂ᵗ)) + ε)
/// ```
///
/// Duchi, Hazan and Singer 2011; Zeiler 2012; Kingma and Ba 2015.
///
/// The published library's settings, quoted at each rule, are for an objective of the size of one batch. [`Glm`](crate::Glm) uses
/// the objective of all `N` rows, whose gradient is `N/M` times that: rules whose step is proportional to the gradient need a
/// rate that much smaller, and AdaGrad and AdaDelta keep its size in their state. What works there (hundreds of rows, batches of
/// 10) is Adam with `η` from 0.003 to 0.01, AdaGrad with `η = 0.1`, AdaDelta with `ρ = 0.9`, `ε = 1e-4`, momentum with `η =
/// 1e-4`, plain with `η = 2e-4`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Rule")]
pub struct Updater(Rule);

/// The rules and their settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Rule {
    Plain { rate: f64 },
    Momentum { rate: f64, decay: f64 },
    AdaGrad { rate: f64, epsilon: f64 },
    AdaDelta { decay: f64, epsilon: f64 },
    Adam { rate: f64, decay_mean: f64, decay_square: f64, epsilon: f64 },
}

impl Updater {
    /// Plain stochastic gradients; the published library uses `η = 0.1`.
    ///
    /// # Errors
    /// `Setting` unless `rate` is positive and finite.
    pub fn plain(rate: f64) -> Result<Self, RevrandError> {
        Self::checked(Rule::Plain { rate })
    }

    /// Momentum; the published library uses `η = 0.01`, `ρ = 0.5`.
    ///
    /// # Errors
    /// `Setting` unless `rate` is positive and finite and `0 ≤ decay < 1`.
    pub fn momentum(rate: f64, decay: f64) -> Result<Self, RevrandError> {
        Self::checked(Rule::Momentum { rate, decay })
    }

    /// AdaGrad; the published library uses `η = 1`, `ε = 1e-6`.
    ///
    /// # Errors
    /// `Setting` unless both are positive and finite.
    pub fn ada_grad(rate: f64, epsilon: f64) -> Result<Self, RevrandError> {
        Self::checked(Rule::AdaGrad { rate, epsilon })
    }

    /// AdaDelta; the published library uses `ρ = 0.1`, `ε = 1e-5`.
    ///
    /// # Errors
    /// `Setting` unless `epsilon` is positive and finite and `0 ≤ decay < 1`.
    pub fn ada_delta(decay: f64, epsilon: f64) -> Result<Self, RevrandError> {
        Self::checked(Rule::AdaDelta { decay, epsilon })
    }

    /// Adam with `β₁ = 0.9`, `β₂ = 0.99`, `ε = 1e-8`; the published library uses `η = 0.01`.
    ///
    /// # Errors
    /// `Setting` unless `rate` is positive and finite.
    pub fn adam(rate: f64) -> Result<Self, RevrandError> {
        Self::adam_with(rate, 0.9, 0.99, 1e-8)
    }

    /// Adam with settings `η`, `β₁`, `β₂`, `ε`.
    ///
    /// # Errors
    /// `Setting` unless `rate` and `epsilon` are positive and finite and both decays in `[0, 1)`.
    pub fn adam_with(rate: f64, decay_mean: f64, decay_square: f64, epsilon: f64) -> Result<Self, RevrandError> {
        Self::checked(Rule::Adam { rate, decay_mean, decay_square, epsilon })
    }

    /// Whether both are the same rule, with any settings.
    pub(super) fn is_same_rule(&self, other: &Self) -> bool {
        std::mem::discriminant(&self.0) == std::mem::discriminant(&other.0)
    }

    fn checked(rule: Rule) -> Result<Self, RevrandError> {
        let positive = |name, value: f64| {
            let good = value > 0.0 && value.is_finite();
            if good { Ok(()) } else { Err(setting(name, value, "positive and finite")) }
        };
        let decay = |name, value| {
            if (0.0..1.0).contains(&value) { Ok(()) } else { Err(setting(name, value, "from 0 to 1, 1 excluded")) }
        };
        match rule {
            Rule::Plain { rate } => positive("rate", rate)?,
            Rule::Momentum { rate, decay: rho } => {
                positive("rate", rate)?;
                decay("decay", rho)?;
            }
            Rule::AdaGrad { rate, epsilon } => {
                positive("rate", rate)?;
                positive("epsilon", epsilon)?;
            }
            Rule::AdaDelta { decay: rho, epsilon } => {
                decay("decay", rho)?;
                positive("epsilon", epsilon)?;
            }
            Rule::Adam { rate, decay_mean, decay_square, epsilon } => {
                positive("rate", rate)?;
                decay("decay_mean", decay_mean)?;
                decay("decay_square", decay_square)?;
                positive("epsilon", epsilon)?;
            }
        }
        Ok(Self(rule))
    }
}

fn setting(name: &'static str, value: f64, requirement: &'static str) -> RevrandError {
    vi_core::Error::Setting { name, value, requirement }.into()
}

impl Default for Updater {
    /// The default is Adam with `η = 0.01`.
    fn default() -> Self {
        Self(Rule::Adam { rate: 0.01, decay_mean: 0.9, decay_square: 0.99, epsilon: 1e-8 })
    }
}

impl TryFrom<Rule> for Updater {
    type Error = RevrandError;

    fn try_from(rule: Rule) -> Result<Self, RevrandError> {
        Self::checked(rule)
    }
}

/// The state of an update rule: what it keeps of earlier steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct UpdaterState {
    /// The number of steps taken.
    steps: u64,
    /// `δ` of momentum, `s` of AdaGrad and AdaDelta, `m` of Adam.
    first: Vec<f64>,
    /// `r` of AdaDelta, `v` of Adam.
    second: Vec<f64>,
}

/// The stored form.
#[derive(Debug, Clone, Deserialize)]
struct Stored {
    steps: u64,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl TryFrom<Stored> for UpdaterState {
    type Error = RevrandError;

    fn try_from(Stored { steps, first, second }: Stored) -> Result<Self, RevrandError> {
        check::length("second", first.len(), second.len())?;
        check::finite("first", &first)?;
        check::finite("second", &second)?;
        Ok(Self { steps, first, second })
    }
}

impl UpdaterState {
    /// The state before the first step, for `parameters` parameters.
    #[must_use]
    pub fn new(parameters: usize) -> Self {
        Self { steps: 0, first: vec![0.0; parameters], second: vec![0.0; parameters] }
    }

    /// The number of steps taken.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// The number of parameters.
    pub(super) fn parameters(&self) -> usize {
        self.first.len()
    }

    /// Whether all its numbers are finite. A gradient can be finite and its square not, which would make every later step 0.
    pub(super) fn is_finite(&self) -> bool {
        lanes::all_finite(&self.first) && lanes::all_finite(&self.second)
    }

    /// Copies `other`, of the same length, without allocating.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.steps = other.steps;
        self.first.copy_from_slice(&other.first);
        self.second.copy_from_slice(&other.second);
    }

    /// Takes one step of `updater` on `x`; lengths must agree. Cost `O(n)`, with a copy of the state.
    #[track_caller]
    pub fn step(&mut self, updater: &Updater, x: &mut [f64], gradient: &[f64]) {
        let before = self.clone();
        self.advance(&before, updater, x, gradient);
    }

    /// Becomes the state after one step of `updater` on `x` from the state `before`.
    #[track_caller]
    pub(super) fn advance(&mut self, before: &Self, updater: &Updater, x: &mut [f64], gradient: &[f64]) {
        let n = self.first.len();
        assert!(
            before.first.len() == n && x.len() == n && gradient.len() == n,
            "{} parameters, {} gradients, state of {n}",
            x.len(),
            gradient.len()
        );
        self.steps = before.steps + 1;
        let (from, to) = ([&before.first[..], &before.second], [&mut self.first[..], &mut self.second]);
        Arch::new().dispatch(Step { rule: updater.0, steps: self.steps as f64, x, gradient, from, to });
    }
}

/// One step, with the processor's vector instructions.
struct Step<'a> {
    rule: Rule,
    /// The number of steps taken, including this one.
    steps: f64,
    x: &'a mut [f64],
    gradient: &'a [f64],
    /// `first` and `second` before the step, and after it.
    from: [&'a [f64]; 2],
    to: [&'a mut [f64]; 2],
}

impl WithSimd for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { rule, steps, x, gradient, from, to } = self;
        let n = x.len();
        let [old_first, old_second] = from.map(|state| &state[..n]);
        let [first, second] = to.map(|state| &mut state[..n]);
        let g = &gradient[..n];
        match rule {
            Rule::Plain { rate } => {
                first.copy_from_slice(old_first);
                second.copy_from_slice(old_second);
                for i in 0..n {
                    x[i] -= rate * g[i];
                }
            }
            Rule::Momentum { rate, decay } => {
                second.copy_from_slice(old_second);
                for i in 0..n {
                    first[i] = decay * old_first[i] - rate * g[i];
                    x[i] += first[i];
                }
            }
            Rule::AdaGrad { rate, epsilon } => {
                second.copy_from_slice(old_second);
                for i in 0..n {
                    first[i] = old_first[i] + g[i] * g[i];
                    x[i] -= rate * g[i] / (epsilon + first[i].sqrt());
                }
            }
            Rule::AdaDelta { decay, epsilon } => {
                for i in 0..n {
                    first[i] = decay * old_first[i] + (1.0 - decay) * g[i] * g[i];
                    let delta = -g[i] * ((old_second[i] + epsilon) / (first[i] + epsilon)).sqrt();
                    second[i] = decay * old_second[i] + (1.0 - decay) * delta * delta;
                    x[i] += delta;
                }
            }
            Rule::Adam { rate, decay_mean, decay_square, epsilon } => {
                let unbiased_mean = rate / (1.0 - decay_mean.powf(steps));
                let unbiased_square = 1.0 / (1.0 - decay_square.powf(steps));
                for i in 0..n {
                    first[i] = decay_mean.mul_add(old_first[i], (1.0 - decay_mean) * g[i]);
                    second[i] = decay_square.mul_add(old_second[i], (1.0 - decay_square) * g[i] * g[i]);
                    x[i] -= unbiased_mean * first[i] / ((unbiased_square * second[i]).sqrt() + epsilon);
                }
            }
        }
    }
}
