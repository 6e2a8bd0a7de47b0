//! The posterior of the prior scale, and the few scales that stand for it.
//!
//! The weights have the prior `N(0, s²D)`. Given the log evidence `E(s)` of the data and a prior on `u = log s`, every answer of the
//! model is an average over `p(u | data) ∝ p(u)·exp E(eᵘ)`. Answers are smooth in `u`, so the three-node Gauss rule of that density
//! (Golub and Welsch 1969), which integrates polynomials of degree five in `u` exactly, replaces the average by three models.

use vi_core::Error;
use vi_core::special::{HALF_LN_2PI, normal_cdf};
use vi_linalg::faer::{Mat, Par};

/// The number of nodes of the Gauss rule, and so of models that run side by side.
const NODES: usize = 3;

/// The number of scales at which the density is evaluated, first over its whole range, then where it is not negligible.
const COARSE: usize = 81;
const FINE: usize = 161;

/// How far below its maximum the log density is negligible, in nats.
const NEGLIGIBLE: f64 = 20.0;

/// The prior of the prior scale, `log s ~ N(log centre, spread²)` between two scales.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalePrior {
    pub(super) centre: f64,
    pub(super) spread: f64,
    pub(super) lowest: f64,
    pub(super) highest: f64,
}

impl ScalePrior {
    /// For weights of standardised columns on a logit, log or probit scale: most of the prior's mass is on scales within [0.05, 10].
    pub(super) const PREDICTOR: Self = Self { centre: 0.7, spread: 1.5, lowest: 0.01, highest: 50.0 };

    /// For weights in units of the noise.
    pub(super) const NOISE: Self = Self { centre: 2.0, spread: 2.0, lowest: 0.01, highest: 1e5 };

    pub(super) fn log_density(&self, u: f64) -> f64 {
        let z = self.standardised(u);
        -0.5 * z * z - self.spread.ln() - HALF_LN_2PI
    }

    /// The first two derivatives of the log density.
    pub(super) fn slope_and_bend(&self, u: f64) -> [f64; 2] {
        [-self.standardised(u) / self.spread, -(self.spread * self.spread).recip()]
    }

    fn standardised(&self, u: f64) -> f64 {
        (u - self.centre.ln()) / self.spread
    }

    /// The Gaussian's mass between the two scales.
    pub(super) fn mass(&self) -> f64 {
        let [low, high] = [self.lowest, self.highest].map(|s| normal_cdf(self.standardised(s.ln())));
        high - low
    }
}

/// The scales that represent `p(s | data)`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scales {
    /// `(s, weight)`, by rising `s`, the weights summing to 1.
    pub(super) nodes: Vec<(f64, f64)>,
    /// `log ∫ p(u)·exp E(eᵘ) du`, the log evidence with the scale averaged over, in nats.
    pub(super) log_evidence: f64,
}

/// The Gauss rule of `p(u)·exp E(eᵘ)`, where `log_evidence` is `E` as a function of `s`.
///
/// # Errors
/// `NonFinite` where `E` is NaN.
pub(super) fn nodes(prior: &ScalePrior, log_evidence: &dyn Fn(f64) -> f64) -> Result<Scales, Error> {
    let joint = |u: f64| prior.log_density(u) + log_evidence(u.exp());
    let (mut low, mut high) = (prior.lowest.ln(), prior.highest.ln());
    let coarse = Table::new(low, high, COARSE, &joint)?;
    let likely = |log: &f64| *log > coarse.highest - NEGLIGIBLE;
    if let (Some(first), Some(last)) = (coarse.log.iter().position(likely), coarse.log.iter().rposition(likely)) {
        low = coarse.at(first.saturating_sub(1));
        high = coarse.at((last + 1).min(COARSE - 1));
    }
    let table = Table::new(low, high, FINE, &joint)?;
    let mass: Vec<f64> = table.log.iter().map(|log| (log - table.highest).exp()).collect();
    // Trapezoids: the ends count half.
    let total: f64 = mass.iter().sum::<f64>() - 0.5 * (mass[0] + mass[FINE - 1]);
    let nodes = gauss(&(0..FINE).map(|i| table.at(i)).collect::<Vec<_>>(), &mass)?;
    Ok(Scales {
        // A node without weight has no finite logarithm and no share in the answers.
        nodes: nodes.into_iter().filter(|(_, weight)| *weight > 0.0).map(|(u, weight)| (u.exp(), weight)).collect(),
        log_evidence: table.highest + (total * table.step / prior.mass()).ln(),
    })
}

/// A function tabulated on an even grid.
struct Table {
    low: f64,
    step: f64,
    log: Vec<f64>,
    highest: f64,
}

impl Table {
    fn new(low: f64, high: f64, points: usize, of: &dyn Fn(f64) -> f64) -> Result<Self, Error> {
        let step = (high - low) / (points - 1) as f64;
        let log: Vec<f64> = (0..points).map(|i| of(low + step * i as f64)).collect();
        let highest = log.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match log.iter().position(|value| value.is_nan()) {
            None if highest.is_finite() => Ok(Self { low, step, log, highest }),
            index => Err(Error::NonFinite { argument: "log evidence", index: index.unwrap_or(0), value: highest }),
        }
    }

    fn at(&self, i: usize) -> f64 {
        self.low + self.step * i as f64
    }
}

/// Nodes and weights of the Gauss rule of a discrete measure: the eigenvalues of the Jacobi matrix of three Lanczos steps on
/// `diag(points)` from `√mass`, and the squared first entries of its eigenvectors.
fn gauss(points: &[f64], mass: &[f64]) -> Result<Vec<(f64, f64)>, Error> {
    let total: f64 = mass.iter().sum();
    let mean = points.iter().zip(mass).map(|(u, m)| u * m).sum::<f64>() / total;
    // Points are taken relative to the mean, so that the recursion does not lose digits.
    let mut current: Vec<f64> = mass.iter().map(|m| (m / total).sqrt()).collect();
    let mut before = vec![0.0; points.len()];
    let (mut diagonal, mut beside, mut last) = (Vec::new(), Vec::new(), 0.0);
    for _ in 0..NODES {
        let mut next: Vec<f64> =
            (0..points.len()).map(|i| (points[i] - mean) * current[i] - last * before[i]).collect();
        let alpha: f64 = next.iter().zip(&current).map(|(a, b)| a * b).sum();
        next.iter_mut().zip(&current).for_each(|(next, current)| *next -= alpha * current);
        diagonal.push(alpha);
        last = next.iter().map(|value| value * value).sum::<f64>().sqrt();
        // All mass is on as few points as the rule has nodes, or fewer.
        if last <= 1e-12 * (points[points.len() - 1] - points[0]) {
            break;
        }
        beside.push(last);
        for value in &mut next {
            *value /= last;
        }
        before = std::mem::replace(&mut current, next);
    }
    let jacobi = Mat::from_fn(diagonal.len(), diagonal.len(), |i, j| match i.abs_diff(j) {
        0 => diagonal[i],
        1 => beside[i.min(j)],
        _ => 0.0,
    });
    let (values, vectors) = vi_linalg::eigen::eigen(jacobi.as_ref(), Par::Seq).map_err(Error::from)?;
    Ok(values.iter().enumerate().map(|(i, value)| (mean + value, vectors[(0, i)].powi(2))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_evidence_gives_the_rule_of_hermite() {
        let prior = ScalePrior { centre: 2.0, spread: 0.5, lowest: 1e-4, highest: 1e5 };
        let scales = nodes(&prior, &|_| 0.0).unwrap();
        let expected = [(-3.0_f64.sqrt(), 1.0 / 6.0), (0.0, 2.0 / 3.0), (3.0_f64.sqrt(), 1.0 / 6.0)];
        for ((s, weight), (z, of)) in scales.nodes.iter().zip(expected) {
            // The grid's sums are trapezoidal, exact beyond rounding for a Gaussian cut at 20 nats: e⁻²⁰ relative.
            assert!((s.ln() - 2.0_f64.ln() - 0.5 * z).abs() < 1e-6 && (weight - of).abs() < 1e-6, "{s} {weight}");
        }
        assert!(scales.log_evidence.abs() < 1e-7);
    }

    #[test]
    fn sharp_evidence_narrows_the_nodes_about_its_peak() {
        // A Gaussian of width 0.02 at s = 3 times one of width 1.5.
        let scales = nodes(&ScalePrior::PREDICTOR, &|s| -0.5 * ((s.ln() - 3.0_f64.ln()) / 0.02).powi(2)).unwrap();
        assert!((scales.nodes[1].0 / 3.0 - 1.0).abs() < 1e-3);
        assert!((scales.nodes[2].0.ln() - 3.0_f64.ln() - 0.02 * 3.0_f64.sqrt()).abs() < 1e-3);
        assert!(nodes(&ScalePrior::PREDICTOR, &|_| f64::NAN).is_err());
    }

    #[test]
    fn three_nodes_integrate_degree_five() {
        let (points, mass): (Vec<f64>, Vec<f64>) =
            (0..40).map(|i| f64::from(i) / 10.0).map(|u| (u, (-u).exp() * (1.0 + u))).unzip();
        let total: f64 = mass.iter().sum();
        let rule = gauss(&points, &mass).unwrap();
        for power in 0..6 {
            let exact = points.iter().zip(&mass).map(|(u, m)| u.powi(power) * m).sum::<f64>() / total;
            let ruled: f64 = rule.iter().map(|(u, w)| u.powi(power) * w).sum();
            // Some hundred roundings.
            assert!((ruled / exact - 1.0).abs() < 1e4 * f64::EPSILON, "{power}");
        }
    }
}
