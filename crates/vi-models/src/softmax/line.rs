//! Nodes along the difference of two logits, given which a third is averaged over in closed form.
//!
//! Let `v ~ N(μ, σ²)`; a function of `A = a + β(v−μ) − softplus(v) + s·x`, `x` standard normal, and of `s(v)` is summed: see
//! [`conditional`](super::conditional).
//!
//! A trapezoid sum of step `h` is off by `exp(−2πy/h)` times what the integrand grows to at a distance `y` from the real line
//! (Trefethen and Weideman 2014). Here `s(v)` has its poles at `±iπ`; the Gaussian grows as `exp(y²/2σ²)`; and a function of `A` does not grow
//! while `|Im A| ≤ by` stays within `π`, `b = max(|β|, |1−β|)`, and beyond no faster than `exp(b²y²/2s²)`. Steps are the largest that keep all
//! of this below [`ERROR`]: some `13 + 17σ` nodes. Where `σ` is large, nodes even in `t` of `v = c·sinh t` are as dense around `v = 0`,
//! where alone `s(v)` is steep, and their number grows as `log σ`. At `t + iy` the imaginary part of `v` is `c·sin y·cosh t`: the growth where
//! `v` is large is a share of the Gaussian's fall, `(1 + b²σ²/s²)·tan²y`, and that at 0 is kept to `e²` by `c`. Of the three choices of `k`
//! and the two of nodes that with the fewest nodes is taken.

use pulp::Simd;
use vi_core::special::{lanes, softplus};

use super::logits::Logits;
use super::nodes::LANES;

/// The error of the sums over nodes, where probabilities are of order 1: below that of the mixture.
pub(super) const ERROR: f64 = 1e-9;
/// The number of standard deviations beyond which nothing is summed: less than [`ERROR`] of the mass.
pub(super) const REACH: f64 = 6.2;
/// The most nodes, which resolve one logit of standard deviation 110 that determines the other; beyond, the error grows.
pub(super) const MOST: usize = 2048;
/// With fewer nodes than these along a line, uneven nodes are not considered.
const FEW: f64 = 24.0;
/// The shares of the Gaussian's fall that nodes even in `t` leave to growth, for means from far off 0 to near.
const SHARES: [f64; 3] = [0.1, 0.4, 0.9];
/// The value of `½(μ/σ)²` above which nodes even in `t` lose their digits, and are not needed.
const FAR: f64 = 1e4;
/// How near to a pole a contour may come, as a share of the pole's distance from the real line: the integrand there is of order
/// 1.
const CLEAR: f64 = 0.75;
/// The logarithm of the growth over nodes even in `t` at `v = 0`: `e²`.
const AT_ZERO: f64 = 2.0;

/// The distribution of `v` and that of `u` given `v`, with nodes along `v`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// `i, j, k`.
    pub(super) classes: [usize; 3],
    /// `μ`, `σ` of `v`.
    mean: f64,
    deviation: f64,
    /// `a`, `β`, `s²`.
    other: f64,
    slope: f64,
    pub(super) rest: f64,
    spacing: Spacing,
    pub(super) nodes: usize,
    reach: f64,
}

/// In which variable nodes are evenly spaced.
#[derive(Debug, Clone, Copy)]
enum Spacing {
    /// In `v` itself.
    Even,
    /// In `t` of `v = c·sinh t`.
    Sinh { scale: f64 },
}

impl Line {
    /// The pair of classes, of the three, that takes the fewest nodes.
    pub(super) fn fewest_nodes(logits: &Logits) -> Self {
        let [mut best, second, third] = [2, 1, 0].map(|class| Self::beside(logits, class));
        for next in [second, third] {
            if next.nodes < best.nodes {
                best = next;
            }
        }
        best
    }

    /// Nodes along the difference of the two other classes, so that `class` is `k`.
    pub(super) fn beside(logits: &Logits, class: usize) -> Self {
        let (first, second) = (logits.mean[0], logits.mean[1]);
        let (l, below, right) = (logits.root[(0, 0)], logits.root[(1, 0)], logits.root[(1, 1)]);
        // η = (l·x, below·x + right·y) with standard normal x, y: v and u as coefficients of x and y.
        Self::new(match class {
            2 => ([1, 0, 2], first, second, [l, 0.0], [below, right]),
            1 => ([2, 0, 1], second, first, [below, right], [l, 0.0]),
            _ => ([2, 1, 0], second - first, -first, [below - l, right], [-l, 0.0]),
        })
    }

    fn new((classes, mean, other, v, u): ([usize; 3], f64, f64, [f64; 2], [f64; 2])) -> Self {
        let deviation = v[0].hypot(v[1]);
        let (slope, rest) = if deviation == 0.0 {
            (0.0, u[0].hypot(u[1]))
        } else {
            let along = v.map(|v| v / deviation);
            ((along[0] * u[0] + along[1] * u[1]) / deviation, along[0] * u[1] - along[1] * u[0])
        };
        let line = Self {
            classes,
            mean,
            deviation,
            other,
            slope,
            rest: rest * rest,
            spacing: Spacing::Even,
            nodes: LANES,
            reach: REACH,
        };
        line.with_nodes()
    }

    /// For an integrand that `e^(bv)` moves to one side, by `lean` standard deviations at most.
    pub(super) fn leaning(self, lean: f64) -> Self {
        Self { reach: REACH + lean.min(self.steepest() * self.deviation), ..self }.with_nodes()
    }

    /// `b`, the most that `A` moves with `v`.
    fn steepest(&self) -> f64 {
        self.slope.abs().max((1.0 - self.slope).abs())
    }

    /// Chooses the larger of the steps that keep the error below `ERROR`; any step if `v` is certain.
    fn with_nodes(self) -> Self {
        if self.deviation == 0.0 {
            return self;
        }
        let exponent = -ERROR.ln();
        let tau = std::f64::consts::TAU;
        let (variance, steepest) = (self.deviation * self.deviation, self.steepest());
        // Far off, the poles of s(v) are negligible under the Gaussian.
        let pole = if self.mean.abs() > self.reach * self.deviation { f64::INFINITY } else { 0.5 * CLEAR * tau };
        let step = |growth: f64, strip: f64| {
            let y = strip.min((2.0 * exponent / growth).sqrt());
            tau * y / (exponent + 0.5 * growth * y * y)
        };
        let smoothed = steepest * steepest / self.rest;
        let growth = variance.recip() + smoothed;
        let even = step(variance.recip(), pole.min(0.5 * CLEAR * tau / steepest)).max(step(growth, pole));
        let mut fewest = 2.0 * self.reach * self.deviation / even;
        let mut spacing = Spacing::Even;
        let far = 0.5 * self.mean * self.mean / variance;
        if fewest > FEW && far < FAR {
            let height = (0.5 * CLEAR * tau).min((2.0 * AT_ZERO / growth).sqrt());
            let at_zero = 0.5 * growth * height * height;
            for share in SHARES {
                let y = (share / (1.0 + smoothed * variance)).sqrt().atan();
                let scale = height / y.sin();
                let [low, high] = self.ends(scale);
                let nodes = (high - low) * (exponent + at_zero + far * share / (1.0 - share)) / (tau * y);
                if nodes < fewest {
                    (fewest, spacing) = (nodes, Spacing::Sinh { scale });
                }
            }
        }
        // The comparison is false for NaN, too.
        let nodes = (1..MOST / LANES).find(|blocks| fewest < (blocks * LANES) as f64).map_or(MOST, |b| b * LANES);
        Self { spacing, nodes, ..self }
    }

    /// The first and the last `t`.
    fn ends(&self, scale: f64) -> [f64; 2] {
        [-1.0, 1.0].map(|side| ((self.mean + side * self.reach * self.deviation) / scale).asinh())
    }

    /// A block of nodes and their weights, up to a factor that all nodes share.
    #[inline(always)]
    pub(super) fn block<S: Simd>(&self, simd: S, block: usize) -> ([f64; LANES], [f64; LANES]) {
        let part: [f64; LANES] = std::array::from_fn(|k| (block * LANES + k) as f64 / (self.nodes - 1) as f64);
        let mut weights = [1.0; LANES];
        let (v, z) = match self.spacing {
            Spacing::Even => {
                let z = part.map(|part| self.reach * (2.0 * part - 1.0));
                (z.map(|z| self.mean + self.deviation * z), z)
            }
            Spacing::Sinh { scale } => {
                let [low, high] = self.ends(scale);
                let mut e = part.map(|part| low + (high - low) * part);
                lanes::update(simd, [], &mut e, &lanes::Exp);
                weights = e.map(|e| e + e.recip());
                let v = e.map(|e| 0.5 * scale * (e - e.recip()));
                (v, v.map(|v| (v - self.mean) / self.deviation))
            }
        };
        let mut density = z.map(|z| -0.5 * z * z);
        lanes::update(simd, [], &mut density, &lanes::Exp);
        for k in 0..LANES {
            weights[k] *= density[k];
        }
        (v, weights)
    }

    /// `E A` given each `v`, whose `softplus` is known.
    #[inline(always)]
    pub(super) fn means_at<S: Simd>(&self, simd: S, v: S::f64s, softplus: S::f64s) -> S::f64s {
        let off = simd.sub_f64s(v, simd.splat_f64s(self.mean));
        let u = simd.mul_add_e_f64s(simd.splat_f64s(self.slope), off, simd.splat_f64s(self.other));
        simd.sub_f64s(u, softplus)
    }

    /// The nodes one by one with their weights, those without weight left out.
    pub(super) fn each(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let pairs = (0..self.nodes / LANES).flat_map(|block| {
            let (v, weights) = self.block(pulp::Scalar::new(), block);
            v.into_iter().zip(weights)
        });
        pairs.filter(|(_, weight)| *weight > 0.0)
    }

    /// `E A` given `v`.
    pub(super) fn mean_at(&self, v: f64) -> f64 {
        self.other + self.slope * (v - self.mean) - softplus(v)
    }
}
