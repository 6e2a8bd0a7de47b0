//! One panel of a quadrature, and the halving of panels that are not accurate enough.

use super::MOST_EVALUATIONS;

/// The Gauss-Kronrod pair (7, 15): node, Kronrod's weight, Gauss's weight (0 at Kronrod's own nodes).
const KRONROD: [(f64, f64, f64); 8] = [
    (0.0, 0.20948214108472782, 0.4179591836734694),
    (0.20778495500789848, 0.20443294007529889, 0.0),
    (0.4058451513773972, 0.19035057806478542, 0.3818300505051189),
    (0.5860872354676911, 0.1690047266392679, 0.0),
    (0.7415311855993945, 0.14065325971552592, 0.27970539148927664),
    (0.8648644233597691, 0.10479001032225019, 0.0),
    (0.9491079123427585, 0.06309209262997856, 0.1294849661688697),
    (0.9914553711208126, 0.022935322010529224, 0.0),
];

/// The number of nodes of a panel with its two ends.
const EVALUATIONS: usize = 17;
/// The most panels that are pending: one for each halving.
const MOST_HALVINGS: usize = 64;

/// How many more panels an integral may take; once none is left, refinement stops and the error is reported.
pub(super) struct Budget(usize);

impl Budget {
    /// The budget for [`MOST_EVALUATIONS`] of the integrand.
    pub(super) fn new() -> Self {
        Self(MOST_EVALUATIONS / EVALUATIONS)
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0 == 0
    }
}

/// Integrals of `N` functions over one panel.
pub(super) struct Panel<const N: usize, const M: usize> {
    /// `∫f`.
    pub(super) value: [f64; N],
    /// `∫|f|`.
    pub(super) size: [f64; N],
    /// Estimated error of the first `M` values.
    pub(super) error: [f64; M],
}

/// Kronrod's rule over `[low, high]`, with the error estimate of QUADPACK (Piessens et al. 1983) for the first `M` functions.
pub(super) fn kronrod<const N: usize, const M: usize>(
    low: f64,
    high: f64,
    mut f: impl FnMut(f64) -> [f64; N],
) -> Panel<N, M> {
    let (centre, half) = (0.5 * (low + high), 0.5 * (high - low));
    let mut samples = [([0.0; N], 0.0); 15];
    let mut panel = Panel { value: [0.0; N], size: [0.0; N], error: [0.0; M] };
    let mut gauss = [0.0; N];
    for (k, sample) in samples.iter_mut().enumerate() {
        let (node, weight, gauss_weight) = KRONROD[k.div_ceil(2)];
        let at = f(if k % 2 == 0 { centre - half * node } else { centre + half * node });
        for i in 0..N {
            panel.value[i] += weight * at[i];
            panel.size[i] += weight * at[i].abs();
            gauss[i] += gauss_weight * at[i];
        }
        *sample = (at, weight);
    }
    for i in 0..M {
        let mean = 0.5 * panel.value[i];
        let spread: f64 = samples.iter().map(|(at, weight)| weight * (at[i] - mean).abs()).sum();
        let difference = (panel.value[i] - gauss[i]).abs();
        // Kronrod's error is far below the distance between Kronrod's and Gauss's results: the exponent 3/2 allows for that.
        let ratio = 200.0 * difference / spread;
        let error = if spread > 0.0 { spread * (ratio * ratio.sqrt()).min(1.0) } else { difference };
        panel.error[i] = half * error;
    }
    panel.value = panel.value.map(|value| half * value);
    panel.size = panel.size.map(|size| half * size);
    panel
}

/// What can still be done with a panel that is not accurate enough.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// It can be halved.
    Halve,
    /// It is as narrow as the spacing of floats allows.
    Narrowest,
    /// No more panels may be taken.
    Exhausted,
}

/// Offers `[low, high]` to `settle`, then its halves wherever `settle` returns false, left to right. With [`Room::Narrowest`] or
/// [`Room::Exhausted`] the answer is ignored: `settle` has to take the panel as it is. When the budget is spent, the pending
/// panels remain: at most one for each halving.
pub(super) fn bisect(
    low: f64,
    high: f64,
    narrowest: f64,
    budget: &mut Budget,
    mut settle: impl FnMut(f64, f64, Room) -> bool,
) {
    let mut waiting = [(low, high); MOST_HALVINGS];
    let mut depth = 1;
    while depth > 0 {
        depth -= 1;
        budget.0 = budget.0.saturating_sub(1);
        let (low, high) = waiting[depth];
        let middle = 0.5 * (low + high);
        let room = if budget.is_spent() {
            Room::Exhausted
        } else if high - low <= narrowest || depth + 2 > MOST_HALVINGS {
            Room::Narrowest
        } else {
            Room::Halve
        };
        if !settle(low, high, room) && room == Room::Halve {
            waiting[depth] = (middle, high);
            waiting[depth + 1] = (low, middle);
            depth += 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kronrod_is_exact_for_polynomials_of_degree_22() {
        let panel = kronrod::<3, 3>(-1.0, 3.0, |x: f64| [x.powi(22), x.powi(11), 1.0]);
        let exact = [(3.0_f64.powi(23) + 1.0) / 23.0, (3.0_f64.powi(12) - 1.0) / 12.0, 4.0];
        for (value, exact) in panel.value.into_iter().zip(exact) {
            assert!((value - exact).abs() <= 32.0 * f64::EPSILON * exact); // 15 terms, powers of 22
        }
    }

    #[test]
    fn the_error_estimate_covers_a_kink_and_bisection_removes_it() {
        let kink = |x: f64| [(x - 0.3).abs()];
        let exact = 0.5 * (1.3 * 1.3 + 0.7 * 0.7);
        let once = kronrod::<1, 1>(-1.0, 1.0, kink);
        let off = (once.value[0] - exact).abs();
        assert!(off > 1e-6 && off <= once.error[0]);
        let mut sum = 0.0;
        bisect(-1.0, 1.0, 1e-12, &mut Budget::new(), |low, high, room| {
            let panel = kronrod::<1, 1>(low, high, kink);
            let settled = panel.error[0] <= 1e-15;
            if settled || room != Room::Halve {
                sum += panel.value[0];
            }
            settled
        });
        assert!((sum - exact).abs() < 64.0 * f64::EPSILON);
    }
}
