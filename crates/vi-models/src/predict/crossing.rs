//! Distribution functions of counts: a count is at most `y` if the predictor lies below a variable of known density.
//!
//! | family | `P(Y ≤ y \| t) = P(X > t)` | `X` |
//! |---|---|---|
//! | Poisson | `P(G > E·eᵗ)` | `log G − log E`, `G ~ Gamma(y+1)` |
//! | binomial | `P(B > s(t))` | `logit B`, `B ~ Beta(y+1, n−y)` |
//! | negative binomial | `P(B > s(t + log E/r))` | `logit B − log E/r`, `B ~ Beta(y+1, r)` |
//!
//! So `P(Y ≤ y) = P(T < X) = E Φ((X−a)/σ)` for `T ~ N(a, σ²)`, an average over a log-concave density or, if `σ` is small, over a
//! few `t`. The cost does not grow with the count, with a small size or with many trials.

use vi_core::special::{
    exp_beyond_tangent, normal_cdf, normal_density, sigmoid, softplus, softplus_beyond_tangent, sums_of_exp_and_cdf,
};
use vi_core::{Error, quadrature};

use crate::likelihood::saddle::{binomial_slope, ln_binomial, ln_poisson, poisson_slope};

/// The largest number of terms for which `P(X > t)` is their sum.
const MOST_TERMS: f64 = 64.0;
/// The logarithm below which the first term of a sum has lost digits.
const LEAST_LOG: f64 = -700.0;
/// The number of points taken together.
const BLOCK: usize = 16;
const MOST_BLOCKS: usize = 32;
/// Where the density ends, as a logarithm relative to its mode.
const END: f64 = -36.0;
/// A sum in equal steps is accepted if the density sums to 1 this closely, and if every second point gives the same answer to the
/// square root of 1e-11: halving the step squares the error.
const MASS: f64 = 1e-11;
const NEAR: f64 = 3e-6;
/// The limit of the difference between the two sums beside a long tail, as a share of the root of the mass above, and the least mass that counts there.
const NEAR_EDGE: f64 = 1e-7;
const LEAST_ABOVE: f64 = 1e-12;
/// The steps, in widths of `X` and `σ` together: wide where `X` is near a Gaussian, narrow beside an edge of a skewed density.
const STEPS: [f64; 5] = [0.5, 0.25, 0.125, 0.0625, 0.03125];
/// The number of standard deviations `σ` beyond which `Φ` is 1 to rounding.
const BEYOND: f64 = 8.3;
/// The number of terms, and the value of `σ`, up to which equal steps over `t` are quicker than over `X`, whose density is
/// skewed.
const FEW_TERMS: f64 = 4.0;
const WIDE: f64 = 2.0;
/// The value of `σ`, in widths of `X`, up to which eight values of `t` are enough: the rule's error falls as its sixteenth power.
const NARROW: f64 = 0.25;
/// The most stretches of a tail, each half as long again as the one before.
const MOST_STRETCHES: usize = 200;

/// The rule of eight points for a Gaussian mean: points in standard deviations, each with its mirror image, and weights.
const HERMITE: [(f64, f64); 4] = [
    (0.539_079_811_351_375_1, 0.373_012_257_679_077_35),
    (1.636_519_042_435_108, 0.117_239_907_661_759_08),
    (2.802_485_861_287_542, 0.009_635_220_120_788_268),
    (4.144_547_186_125_894, 0.000_112_614_538_375_367_76),
];

/// Positive half of the 16-point Gauss-Legendre rule: nodes and weights.
const LEGENDRE: [(f64, f64); 8] = [
    (0.095_012_509_837_637_44, 0.189_450_610_455_068_5),
    (0.281_603_550_779_258_9, 0.182_603_415_044_923_58),
    (0.458_016_777_657_227_37, 0.169_156_519_395_002_54),
    (0.617_876_244_402_643_8, 0.149_595_988_816_576_74),
    (0.755_404_408_355_003, 0.124_628_971_255_533_88),
    (0.865_631_202_387_831_8, 0.095_158_511_682_492_85),
    (0.944_575_023_073_232_6, 0.062_253_523_938_647_89),
    (0.989_400_934_991_649_9, 0.027_152_459_411_754_096),
];

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// `log G`, `G ~ Gamma(α)`: log-density `αu − e^u + c`.
    Gamma,
    /// `logit B`, `B ~ Beta(α, β)`: log-density `α·log s(u) + β·log s(−u) + c`.
    Beta(f64),
}

/// The variable `X = U − shift`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossing {
    kind: Kind,
    /// `α = y + 1`.
    alpha: f64,
    shift: f64,
}

impl Crossing {
    /// `log G − shift`, `G ~ Gamma(alpha)`, `alpha ≥ 1` whole.
    pub(super) fn gamma(alpha: f64, shift: f64) -> Self {
        Self { kind: Kind::Gamma, alpha, shift }
    }

    /// `logit B − shift`, `B ~ Beta(alpha, beta)`, `alpha ≥ 1` whole.
    pub(super) fn beta(alpha: f64, beta: f64, shift: f64) -> Self {
        Self { kind: Kind::Beta(beta), alpha, shift }
    }

    fn mode(&self) -> f64 {
        match self.kind {
            Kind::Gamma => self.alpha.ln() - self.shift,
            Kind::Beta(beta) => (self.alpha / beta).ln() - self.shift,
        }
    }

    /// The standard deviation of the Gaussian that has the same curvature at the mode.
    fn width(&self) -> f64 {
        match self.kind {
            Kind::Gamma => self.alpha.recip().sqrt(),
            Kind::Beta(beta) => (self.alpha.recip() + beta.recip()).sqrt(),
        }
    }

    fn log_density(&self, t: f64) -> f64 {
        let Self { alpha, shift, .. } = *self;
        match self.kind {
            Kind::Gamma => ln_poisson(alpha, shift, t) + alpha.ln(),
            Kind::Beta(beta) => ln_binomial(alpha, beta, shift, t) + alpha.ln() - (alpha / beta).ln_1p(),
        }
    }

    fn slope(&self, t: f64) -> f64 {
        match self.kind {
            Kind::Gamma => poisson_slope(self.alpha, self.shift, t),
            Kind::Beta(beta) => binomial_slope(self.alpha, beta, self.shift, t),
        }
    }

    /// The deviation of the log-density from its tangent at `t`, as a function of the step.
    fn beyond(&self, t: f64) -> impl Fn(f64) -> f64 {
        let Self { kind, alpha, shift } = *self;
        let u = shift + t;
        let (p, q) = (sigmoid(u), sigmoid(-u));
        let rate = u.exp();
        move |step| match kind {
            Kind::Gamma => -rate * exp_beyond_tangent(step)[0],
            Kind::Beta(beta) => -(alpha + beta) * softplus_beyond_tangent(p, q, step)[0],
        }
    }

    /// `P(X > t)`, to about 1e-12.
    pub(super) fn above(&self, t: f64) -> f64 {
        if let Some(sum) = self.sum_of_terms(t) {
            return sum;
        }
        // Beyond this the density falls smoothly: for a heavy right tail, β < 1, its left edge and not its mode.
        let pivot = match self.kind {
            Kind::Beta(beta) if beta < 1.0 => self.alpha.ln() - self.shift,
            _ => self.mode(),
        };
        if t >= pivot { self.tail(t, 1.0) } else { 1.0 - self.tail(t, -1.0) }.clamp(0.0, 1.0)
    }

    /// `P(X > t)` as the sum of the probabilities of the counts up to `y`, all of them positive; `None` if there are many or the
    /// first is too small.
    fn sum_of_terms(&self, t: f64) -> Option<f64> {
        if self.alpha > MOST_TERMS {
            return None;
        }
        let u = self.shift + t;
        let (log_first, ratio, first_size) = match self.kind {
            Kind::Gamma => (-u.exp(), u.exp(), None),
            Kind::Beta(beta) => (-beta * softplus(u), sigmoid(u), Some(beta)),
        };
        if log_first < LEAST_LOG {
            return None;
        }
        let mut term = log_first.exp();
        let (mut sum, mut j) = (term, 1.0);
        while j < self.alpha {
            term *= ratio * first_size.map_or(1.0, |beta| beta + j - 1.0) / j;
            sum += term;
            j += 1.0;
        }
        Some(sum.min(1.0))
    }

    /// The mass on one side of `t`, where the density falls away from `t`.
    fn tail(&self, t: f64, sign: f64) -> f64 {
        let (top, slope, beyond) = (self.log_density(t), sign * self.slope(t), self.beyond(t));
        if top == f64::NEG_INFINITY || top.is_nan() {
            return 0.0;
        }
        let exponent = |distance: f64| beyond(sign * distance) + slope * distance;
        let mut length = 2.0 * self.scale().min(slope.abs().recip());
        let (mut near, mut sum) = (0.0, 0.0);
        for _ in 0..MOST_STRETCHES {
            let (half, centre) = (0.5 * length, near + 0.5 * length);
            for (node, weight) in LEGENDRE {
                let pair = exponent(centre - half * node).exp() + exponent(centre + half * node).exp();
                sum += half * weight * pair;
            }
            near += length;
            if exponent(near) <= END {
                break;
            }
            length *= 1.5;
        }
        top.exp() * sum
    }

    /// The length over which the density may change: its width, or that of the bend of the logistic function.
    fn scale(&self) -> f64 {
        self.width().min(1.0)
    }

    /// `P(T < X)` for `T ~ N(a, ν)`: error below 1e-10.
    ///
    /// # Errors
    /// [`Error::Quadrature`] when that is not reached.
    pub(super) fn above_gaussian(&self, a: f64, nu: f64) -> Result<f64, Error> {
        let sigma = nu.sqrt();
        if sigma == 0.0 {
            return Ok(self.above(a));
        }
        if sigma <= NARROW * self.scale() {
            let pair = |(x, weight): (f64, f64)| weight * (self.above(a - sigma * x) + self.above(a + sigma * x));
            return Ok(HERMITE.into_iter().map(pair).sum::<f64>().min(1.0));
        }
        let few = self.alpha <= FEW_TERMS && sigma <= WIDE;
        let quick = if few { self.over_predictor(a, sigma) } else { self.over_density(a, sigma) };
        quick.map_or_else(|| quadrature::average(|t| self.above(t), a, nu), Ok)
    }

    /// `E P(X > a+σε)` in steps of half a standard deviation. Returns `None` if every second step gives another result.
    fn over_predictor(&self, a: f64, sigma: f64) -> Option<f64> {
        const STEP: f64 = 0.5;
        const POINTS: i32 = 17;
        let (mut even, mut odd) = (0.0, 0.0);
        for k in -POINTS..=POINTS {
            let x = STEP * f64::from(k);
            let term = STEP * normal_density(x) * self.above(a + sigma * x);
            if k % 2 == 0 {
                even += term;
            } else {
                odd += term;
            }
        }
        ((even - odd).abs() <= NEAR).then(|| (even + odd).min(1.0))
    }

    /// `E Φ((X−a)/σ)` in equal steps over `X`: half of what its width and `σ` are together, or smaller ones; where the right tail of `X` is
    /// long, `1 − E Φ((a−X)/σ)` without what lies [`BEYOND`]. Returns `None` if these do not converge.
    fn over_density(&self, a: f64, sigma: f64) -> Option<f64> {
        let (mode, width) = (self.mode(), self.width());
        let (log_top, beyond) = (self.log_density(mode), self.beyond(mode));
        let at_mode = (1.0, normal_cdf((mode - a) / sigma));
        STEPS.into_iter().find_map(|part| {
            let step = part * width * (sigma / width.hypot(sigma));
            let mut has_long_tail = false;
            // The total and the share below, from every second point and from those between.
            let (mut even, mut odd) = (at_mode, (0.0, 0.0));
            for sign in [1.0, -1.0] {
                for block in 0.. {
                    if block == MOST_BLOCKS {
                        return None;
                    }
                    let (mut last, mut last_u) = (0.0, 0.0);
                    for (first, sums) in [(1, &mut odd), (2, &mut even)] {
                        let (mut x, mut u) = ([0.0; BLOCK], [0.0; BLOCK]);
                        for i in 0..BLOCK {
                            let distance = sign * step * (2 * (block * BLOCK + i) + first) as f64;
                            x[i] = beyond(distance).min(0.0);
                            u[i] = (mode - a + distance) / sigma;
                        }
                        let more = sums_of_exp_and_cdf(&x, &u);
                        *sums = (sums.0 + more.0, sums.1 + more.1);
                        (last, last_u) = (x[BLOCK - 1], u[BLOCK - 1]);
                    }
                    has_long_tail |= last > END && last_u >= BEYOND;
                    if last <= END || last_u >= BEYOND {
                        break;
                    }
                }
            }
            let (total, below) = (even.0 + odd.0, even.1 + odd.1);
            let unit = step * log_top.exp();
            if has_long_tail {
                let (above, of_even) = (unit * (total - below), 2.0 * unit * (even.0 - even.1));
                return ((above - of_even).powi(2) <= NEAR_EDGE * NEAR_EDGE * above.max(LEAST_ABOVE))
                    .then(|| (1.0 - above).clamp(0.0, 1.0));
            }
            let mass = unit * total;
            let near = (below / total - even.1 / even.0).abs() <= NEAR;
            (near && (mass - 1.0).abs() <= MASS).then(|| (below / total).min(1.0))
        })
    }
}

#[cfg(test)]
#[expect(clippy::excessive_precision, reason = "the digits of the oracle")]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_incomplete_functions() {
        for (crossing, t, exact) in CASES {
            let found = crossing.above(t);
            // The distance of t from the mode is rounded to 2ε·|t|, where the density is at most 0.4 over the width.
            let rounding = 2.0 * f64::EPSILON * f64::abs(t) * 0.4 / crossing.width();
            assert!((found - exact).abs() <= 1e-12 + rounding, "{crossing:?}, {t}: {found} {exact}");
        }
    }

    #[test]
    fn sums_of_terms_and_stretches_of_the_tail_meet() {
        for (few, more) in
            [(gamma(64.0), gamma(65.0)), (beta(64.0, 3.0), beta(65.0, 3.0)), (beta(64.0, 1e-3), beta(65.0, 1e-3))]
        {
            for z in [-3.0, -0.5, 0.0, 0.4, 2.0] {
                let t = few.mode() + z * few.width();
                let by_stretches = if z > 0.0 { few.tail(t, 1.0) } else { 1.0 - few.tail(t, -1.0) };
                assert!((few.above(t) - by_stretches).abs() < 1e-11, "{few:?} {z}: {by_stretches} {}", few.above(t));
                assert!(more.above(t) >= few.above(t), "{few:?} {z}");
            }
        }
    }

    #[test]
    fn averages_by_every_way_are_one() {
        for crossing in [
            gamma(1.0),
            gamma(6.0),
            gamma(1e4),
            gamma(1e9),
            beta(1.0, 1.0),
            beta(4.0, 9.0),
            beta(3.0, 0.2),
            beta(1e6, 1e7),
            beta(70.0, 0.05),
            beta(1e4, 2e-3),
        ] {
            for ratio in [0.02, 0.19, 0.21, 0.5, 2.0, 30.0] {
                for z in [-2.0, 0.1, 1.0] {
                    let sigma = ratio * crossing.scale();
                    let a = crossing.mode() + z * crossing.width().hypot(sigma);
                    let found = crossing.above_gaussian(a, sigma * sigma).unwrap();
                    let adaptive = quadrature::average(|t| crossing.above(t), a, sigma * sigma).unwrap();
                    assert!((found - adaptive).abs() < 1e-10, "{crossing:?}, {ratio}, {z}: {found} {adaptive}");
                }
            }
        }
    }

    /// A tail of `36/β` is longer than all steps together.
    #[test]
    fn a_long_tail_takes_equal_steps_too() {
        for (crossing, sigma) in [(beta(70.0, 0.05), 3.0), (beta(1e4, 2e-3), 1.5), (beta(500.0, 0.01), 12.0)] {
            for z in [-2.0, 0.0, 2.0] {
                let a = crossing.alpha.ln() + z * sigma;
                let found = crossing.over_density(a, sigma).unwrap();
                let adaptive = quadrature::average(|t| crossing.above(t), a, sigma * sigma).unwrap();
                assert!((found - adaptive).abs() < 1e-10, "{crossing:?}, {sigma}, {z}: {found} {adaptive}");
            }
        }
    }

    const fn gamma(alpha: f64) -> Crossing {
        Crossing { kind: Kind::Gamma, alpha, shift: 0.0 }
    }

    const fn beta(alpha: f64, beta: f64) -> Crossing {
        Crossing { kind: Kind::Beta(beta), alpha, shift: 0.0 }
    }

    const CASES: [(Crossing, f64, f64); 21] = [
        (gamma(1.0), 0.3, 0.25927686599082757),
        (gamma(3.0), 0.8099371540732969, 0.60993516169400433),
        (gamma(40.0), 3.8469933371223552, 0.14027506517493081),
        (gamma(101.0), 4.664872376351759, 0.2955586181001859),
        (gamma(101.0), 4.4161130787992615, 0.9714211395794403),
        (gamma(10001.0), 9.211440316980267, 0.45884276930215593),
        (gamma(1000001.0), 13.814811558313773, 0.7579067405399671),
        (gamma(100000001.0), 18.420680753952364, 0.49998670192779726),
        (gamma(1000000000000.0), 27.631022615928547, 0.066807109680389098),
        (gamma(1000000000000000.0), 34.53877638858613, 0.57925971718354625),
        (beta(1.0, 1.0), 0.4242640687119285, 0.39549684753108645),
        (beta(5.0, 8.0), -0.75504748552052, 0.67000941132758028),
        (beta(30.0, 0.001), 41.9322563042128, 0.96274046753327556),
        (beta(200.0, 0.5), 6.699454660033297, 0.51683683995662765),
        (beta(200.0, 0.001), 11.889844088944908, 0.99399907509924072),
        (beta(65.0, 1e-06), 17.98989782785991, 0.99998675407898912),
        (beta(301.0, 1000000000000.0), -21.906619138645944, 0.37446374880402202),
        (beta(400000000000.0, 600000000000.0), -0.4054667411013263, 0.78814454938834577),
        (beta(5.0, 1000000000000000.0), -32.839895763376596, 0.36255366077389668),
        (beta(300000000000000.0, 700000000000000.0), -0.8472977844799922, 0.13566605794821798),
        (beta(1001.0, 40.0), 3.284372148067532, 0.36464229389802357),
    ];
}
