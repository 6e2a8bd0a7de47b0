//! The softmax of Gaussian logits: probabilities, curvature, expected log-likelihood.

use pulp::Arch;
use vi_core::Error;
use vi_core::special::log_sum_exp;
use vi_linalg::faer::{Mat, MatRef};

use super::at_nodes::{AddNodes, SumLogs};
use super::conditional::{averages, log_probability};
use super::nodes::{LANES, Nodes};

/// The `m = C−1` logits of a row, `η ~ N(a, LLᵀ)`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Logits {
    pub(super) mean: Vec<f64>,
    /// `L`, lower triangular.
    pub(super) root: Mat<f64>,
}

impl Logits {
    /// The logits from the covariance `N` (lower triangle); a variance that rounded to as little as `−rounding` becomes 0.
    ///
    /// # Errors
    /// [`Error::Overflow`] for numbers that are not finite, [`Error::NegativeVariance`].
    pub(super) fn new(mean: Vec<f64>, covariance: MatRef<'_, f64>, rounding: f64) -> Result<Self, Error> {
        if let Some(&value) = mean.iter().find(|value| !value.is_finite()) {
            return Err(Error::Overflow { quantity: "xᵀμ", value });
        }
        Ok(Self { root: semidefinite_root(covariance, rounding)?, mean })
    }

    pub(super) fn dim(&self) -> usize {
        self.mean.len()
    }

    /// `N_ii`.
    pub(super) fn variance(&self, i: usize) -> f64 {
        (0..=i).map(|j| self.root[(i, j)] * self.root[(i, j)]).sum()
    }

    /// Whether expectations are taken in closed form over one logit given the other.
    pub(super) fn are_few(&self) -> bool {
        self.dim() < CONDITIONAL
    }

    /// The largest variance of a logit or of a difference of two.
    fn widest(&self) -> f64 {
        let row = |i: usize, j: usize| if j <= i { self.root[(i, j)] } else { 0.0 };
        let difference = |i: usize, k: usize| -> f64 { (0..=i).map(|j| (row(i, j) - row(k, j)).powi(2)).sum() };
        let pairs = (0..self.dim()).flat_map(|i| (0..i).map(move |k| difference(i, k)));
        (0..self.dim()).map(|i| self.variance(i)).chain(pairs).fold(0.0, f64::max)
    }

    /// The rows of `L` up to the diagonal.
    fn packed_root(&self) -> Vec<f64> {
        (0..self.dim()).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|at| self.root[at]).collect()
    }

    /// `N = LLᵀ`.
    pub(super) fn covariance(&self) -> Mat<f64> {
        &self.root * self.root.transpose()
    }
}

/// `L` of `N = LLᵀ` for a positive semidefinite `N`; a pivot within rounding of 0 is set to 0 with its column.
fn semidefinite_root(covariance: MatRef<'_, f64>, rounding: f64) -> Result<Mat<f64>, Error> {
    let m = covariance.nrows();
    let mut root = Mat::<f64>::zeros(m, m);
    for j in 0..m {
        let taken: f64 = (0..j).map(|k| root[(j, k)] * root[(j, k)]).sum();
        let (variance, allowed) =
            (covariance[(j, j)], rounding + 8.0 * m as f64 * f64::EPSILON * covariance[(j, j)].abs());
        if !variance.is_finite() {
            return Err(Error::Overflow { quantity: "xᵀPx", value: variance });
        }
        let pivot = variance - taken;
        if pivot < -allowed {
            return Err(Error::NegativeVariance { value: pivot });
        }
        if pivot <= allowed {
            continue;
        }
        root[(j, j)] = pivot.sqrt();
        for i in j + 1..m {
            let dot: f64 = (0..j).map(|k| root[(i, k)] * root[(j, k)]).sum();
            root[(i, j)] = (covariance[(i, j)] - dot) / root[(j, j)];
        }
    }
    Ok(root)
}

/// Counts of the `C` classes at one row, times its weight: they make its log-likelihood `Σ y_c·log π_c + constant`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Counts {
    pub(super) of: Vec<f64>,
    pub(super) total: f64,
    /// The log of the multinomial coefficient, times the weight.
    pub(super) constant: f64,
}

impl Counts {
    /// The class of a row that has one class and weight 1; otherwise `None`.
    pub(super) fn class(&self) -> Option<usize> {
        if self.total == 1.0 { self.of.iter().position(|&count| count == 1.0) } else { None }
    }

    /// `Σ y_c·logs_c` over the classes that were seen.
    fn weighted(&self, logs: &[f64]) -> f64 {
        self.of.iter().zip(logs).map(|(y, log)| if *y == 0.0 { 0.0 } else { y * log }).sum()
    }
}

/// Curvatures between classes, `w_ij` for `i < j`: the matrix `K` has `−w_ij` off its diagonal and `Σ_j w_ij` on it, the sum over
/// all classes including the reference. So it is positive semidefinite for any weights that are not negative.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pairs {
    classes: usize,
    weights: Vec<f64>,
}

impl Pairs {
    pub(super) fn constant(classes: usize, weight: f64) -> Self {
        Self { classes, weights: vec![weight; classes * (classes - 1) / 2] }
    }

    /// The curvatures that belong to the `K` of one logit, or of two with `K_12` and `K_22`; a weight may then be negative.
    pub(super) fn of_two(first: f64, second: Option<(f64, f64)>) -> Self {
        match second {
            None => Self { classes: 2, weights: vec![first] },
            Some((both, second)) => Self { classes: 3, weights: vec![first + both, second + both, -both] },
        }
    }

    /// `K` of one or two logits; for one logit the rest is 0.
    pub(super) fn two(&self) -> [[f64; 2]; 2] {
        match *self.weights {
            [first, second, both] => [[first + both, -both], [-both, second + both]],
            _ => [[self.weights[0], 0.0], [0.0, 0.0]],
        }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        let (low, high) = if i < j { (i, j) } else { (j, i) };
        self.weights[high * (high - 1) / 2 + low]
    }

    /// `Σ_{j≠i} w_ij`.
    pub(super) fn degree(&self, i: usize) -> f64 {
        (0..self.classes).filter(|&j| j != i).map(|j| self.at(i, j)).sum()
    }

    /// `(1−ρ)·self + ρ·other`.
    pub(super) fn mixed(&self, other: &Self, rho: f64) -> Self {
        let weights = self.weights.iter().zip(&other.weights).map(|(a, b)| (1.0 - rho) * a + rho * b).collect();
        Self { classes: self.classes, weights }
    }

    pub(super) fn scale(mut self, factor: f64) -> Self {
        self.weights.iter_mut().for_each(|weight| *weight *= factor);
        self
    }

    /// `K`, `m × m`, over the classes but the reference, full.
    pub(super) fn matrix(&self) -> Mat<f64> {
        Mat::from_fn(self.classes - 1, self.classes - 1, |i, j| {
            if i == j { self.degree(i + 1) } else { -self.at(i + 1, j + 1) }
        })
    }

    /// `C` of `K = CCᵀ`, lower triangular, by eliminating class after class: every number is a sum of positive ones, so each
    /// entry of `C` is accurate to rounding however small. A class whose remaining weight is 0 has a column of zeros.
    pub(super) fn factor(&self) -> Mat<f64> {
        let m = self.classes - 1;
        let mut left = self.clone();
        let mut factor = Mat::<f64>::zeros(m, m);
        for k in 1..self.classes {
            // Towards the classes not yet eliminated, and the reference.
            let others = || (k + 1..self.classes).chain([0]);
            let pivot: f64 = others().map(|j| left.at(k, j)).sum();
            if pivot <= 0.0 {
                continue;
            }
            let root = pivot.sqrt();
            factor[(k - 1, k - 1)] = root;
            for j in k + 1..self.classes {
                factor[(j - 1, k - 1)] = -left.at(k, j) / root;
            }
            for i in others() {
                for j in others().filter(|&j| j < i) {
                    left.weights[i * (i - 1) / 2 + j] += left.at(k, i) * left.at(k, j) / pivot;
                }
            }
        }
        factor
    }
}

/// Expectations over a row's logits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Moments {
    /// `E π`, length `C`, the reference first.
    pub(super) probabilities: Vec<f64>,
    /// `E π_iπ_j`.
    pub(super) pairs: Pairs,
}

impl Moments {
    /// The moments at the logits. Cost `C²` for each node; for two and three classes some 16 averages of the logistic function.
    pub(super) fn at(nodes: &Nodes, logits: &Logits) -> Self {
        Self::sums(nodes, logits, None).0
    }

    /// The moments, and `E log p(y|η)`, in nats.
    pub(super) fn with_log_density(nodes: &Nodes, logits: &Logits, counts: &Counts) -> (Self, f64) {
        let (moments, log) = Self::sums(nodes, logits, Some(counts));
        (moments, counts.constant + log)
    }

    fn sums(nodes: &Nodes, logits: &Logits, counts: Option<&Counts>) -> (Self, f64) {
        let classes = logits.dim() + 1;
        if !logits.are_few() {
            return Self::at_nodes(nodes, logits, counts);
        }
        let found = averages(logits);
        let pairs = Pairs { classes, weights: found.pairs[..classes * (classes - 1) / 2].to_vec() };
        let log = counts.map_or(0.0, |counts| counts.weighted(&found.logs));
        (Self { probabilities: found.probabilities[..classes].to_vec(), pairs }, log)
    }

    /// Sums over fixed nodes, and `Σ y_c·E log π_c` if there are counts.
    fn at_nodes(nodes: &Nodes, logits: &Logits, counts: Option<&Counts>) -> (Self, f64) {
        let classes = logits.dim() + 1;
        let root = logits.packed_root();
        let mut pi = vec![[0.0; LANES]; classes];
        let mut first = vec![[0.0; LANES]; classes];
        let mut second = vec![[0.0; LANES]; classes * (classes - 1) / 2];
        let (mean, root) = (logits.mean.as_slice(), root.as_slice());
        let (pi, first_sums, second_sums) = (&mut pi, &mut first, &mut second);
        let sums = AddNodes { nodes, mean, root, counts, pi, first: first_sums, second: second_sums };
        let log = Arch::new().dispatch(sums);
        let total = |lanes: &[f64; LANES]| lanes.iter().sum();
        let pairs = Pairs { classes, weights: second.iter().map(total).collect() };
        (Self { probabilities: first.iter().map(total).collect(), pairs }, log)
    }

    /// `y − n·E π` of the classes but the reference, without cancellation where one class is certain.
    pub(super) fn slope(&self, counts: &Counts) -> Vec<f64> {
        let rest = |c: usize| -> f64 {
            (0..self.probabilities.len()).filter(|&j| j != c).map(|j| self.probabilities[j]).sum()
        };
        (1..self.probabilities.len())
            .map(|c| counts.of[c] * rest(c) - (counts.total - counts.of[c]) * self.probabilities[c])
            .collect()
    }

    /// `n·E[diag π − ππᵀ]`.
    pub(super) fn curvature(self, counts: &Counts) -> Pairs {
        self.pairs.scale(counts.total)
    }
}

/// Writes the logits `(0, a + Lz)` into `eta` and returns `log Σ e^η`.
fn log_sum_exp_at(logits: &Logits, z: &[f64], eta: &mut [f64]) -> f64 {
    eta[0] = 0.0;
    let mut largest = 0.0_f64;
    for i in 0..logits.dim() {
        let along: f64 = (0..=i).map(|j| logits.root[(i, j)] * z[j]).sum();
        eta[i + 1] = logits.mean[i] + along;
        largest = largest.max(eta[i + 1]);
    }
    largest + eta.iter().map(|eta| (eta - largest).exp()).sum::<f64>().ln()
}

/// `Σ y_c·log π_c` at one node.
fn log_likelihood_at(logits: &Logits, z: &[f64], counts: &Counts, eta: &mut [f64]) -> f64 {
    let log_sum = log_sum_exp_at(logits, z, eta);
    counts.of.iter().zip(&*eta).map(|(y, eta)| if *y == 0.0 { 0.0 } else { y * (eta - log_sum) }).sum()
}

/// `log p(y|η)`, in nats.
pub(super) fn log_density(eta: Vec<f64>, counts: &Counts) -> f64 {
    let m = eta.len();
    let known = Logits { mean: eta, root: Mat::zeros(m, m) };
    counts.constant + log_likelihood_at(&known, &vec![0.0; m], counts, &mut vec![0.0; m + 1])
}

/// `E log p(y|η)`, in nats.
pub(super) fn expected_log_density(nodes: &Nodes, logits: &Logits, counts: &Counts) -> f64 {
    if logits.are_few() {
        return counts.constant + counts.weighted(&averages(logits).logs);
    }
    let root = logits.packed_root();
    counts.constant + Arch::new().dispatch(SumLogs { nodes, mean: &logits.mean, root: &root, counts })
}

/// The probability below which digits may be lost at nodes where it underflows.
const LEAST_PROBABILITY: f64 = 1e-200;

/// Above this probability the logarithm from the mixture is accurate to 2.1e-6, near 1 to 2.1e-9.
const LEAST_OF_MIXTURE: f64 = 1e-3;
/// The most classes whose expectations are taken in closed form for one logit given the other.
const CONDITIONAL: usize = 3;
/// If the variances of the logits, and that of their difference, are below this, variances of probabilities are taken from the
/// nodes, accurate to `ε`; the closed forms would give them as differences of numbers accurate to 2e-8.
const NARROW: f64 = 1.0;

/// `log E p(y|η)`, in nats: for one class from its probability, if that keeps its digits, otherwise a sum that cannot underflow.
pub(super) fn log_predictive(nodes: &Nodes, logits: &Logits, counts: &Counts, moments: &Moments) -> f64 {
    if let Some(class) = counts.class() {
        let (p, mixed) = (moments.probabilities[class], logits.are_few());
        if p > if mixed { LEAST_OF_MIXTURE } else { LEAST_PROBABILITY } {
            return counts.constant + p.min(1.0).ln();
        } else if mixed {
            return counts.constant + log_probability(logits, class);
        }
    }
    let mut eta = vec![0.0; logits.dim() + 1];
    let logs: Vec<f64> = nodes.iter().map(|(z, w)| w.ln() + log_likelihood_at(logits, z, counts, &mut eta)).collect();
    counts.constant + log_sum_exp(logs.iter().copied())
}

/// `(E π, Var π)` of all classes, the reference first.
pub(super) fn probabilities(nodes: &Nodes, logits: &Logits) -> (Vec<f64>, Vec<f64>) {
    let found = Moments::at(nodes, logits);
    let narrow = logits.are_few() && logits.widest() < NARROW;
    let moments = if narrow { &Moments::at_nodes(nodes, logits, None).0 } else { &found };
    let p = &moments.probabilities;
    // Var π = Eπ(1−Eπ) − Eπ(1−π).
    let variances = (0..p.len())
        .map(|c| {
            let rest: f64 = (0..p.len()).filter(|&j| j != c).map(|j| p[j]).sum();
            (p[c] * rest - moments.pairs.degree(c)).max(0.0)
        })
        .collect();
    // Sums over nodes have rounding errors.
    (found.probabilities.into_iter().map(|p| p.min(1.0)).collect(), variances)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Logits {
        Logits {
            mean: vec![0.4, -1.0, 2.0],
            root: vi_linalg::faer::mat![[0.9, 0.0, 0.0], [0.3, 0.5, 0.0], [-0.2, 0.1, 1.4]],
        }
    }

    #[test]
    fn the_factor_is_that_of_the_matrix_and_keeps_small_entries() {
        let nodes = Nodes::new(3, 256).unwrap();
        let pairs = Moments::at(&nodes, &example()).pairs;
        let factor = pairs.factor();
        let (product, matrix) = (&factor * factor.transpose(), pairs.matrix());
        for i in 0..3 {
            for j in 0..3 {
                assert!((product[(i, j)] - matrix[(i, j)]).abs() < 8.0 * f64::EPSILON * matrix[(i, i)]);
            }
        }
        // Class 1 all but certain: curvatures of 1e-30 do not drown.
        let mut sharp = Pairs::constant(4, 1e-30);
        sharp.weights[1] = 0.2;
        let factor = sharp.factor();
        let expected = (3.0 * 1e-30_f64).sqrt();
        assert!(factor[(2, 2)] > 0.5 * expected && factor[(2, 2)] < 2.0 * expected);
        assert_eq!(Pairs::constant(3, 0.0).factor(), Mat::<f64>::zeros(2, 2));
    }

    #[test]
    fn slope_and_curvature_are_derivatives_of_the_expected_log_likelihood() {
        let (nodes, logits) = (Nodes::new(3, 256).unwrap(), example());
        let counts = Counts { of: vec![1.0, 0.0, 2.5, 0.5], total: 4.0, constant: -0.3 };
        let moments = Moments::at(&nodes, &logits);
        let (slope, curvature) = (moments.slope(&counts), moments.clone().curvature(&counts).matrix());
        let step = 1e-5;
        let moved = |c: usize, by: f64| {
            let mut moved = logits.clone();
            moved.mean[c] += by;
            moved
        };
        for c in 0..3 {
            let (up, down) = (moved(c, step), moved(c, -step));
            let rise = expected_log_density(&nodes, &up, &counts) - expected_log_density(&nodes, &down, &counts);
            // Truncation step², rounding ε/step.
            assert!((rise / (2.0 * step) - slope[c]).abs() < 1e-9, "{c}");
            let (up, down) = (Moments::at(&nodes, &up).slope(&counts), Moments::at(&nodes, &down).slope(&counts));
            for j in 0..3 {
                assert!(((down[j] - up[j]) / (2.0 * step) - curvature[(j, c)]).abs() < 1e-9, "{c}, {j}");
            }
        }
        let total: f64 = moments.probabilities.iter().sum();
        assert!((total - 1.0).abs() < 1e-13);
    }

    #[test]
    fn one_logit_is_the_logistic() {
        use vi_core::{BernoulliLogit, Exact, GaussianExpectation};
        let nodes = Nodes::new(1, 64).unwrap();
        let logit = BernoulliLogit(Exact);
        for (a, nu) in [(0.3, 0.5), (-2.0, 4.0), (4.0, 1.0)] {
            let logits = Logits { mean: vec![a], root: Mat::from_fn(1, 1, |_, _| f64::sqrt(nu)) };
            for y in [0.0, 1.0] {
                let counts = Counts { of: vec![1.0 - y, y], total: 1.0, constant: 0.0 };
                let moments = Moments::at(&nodes, &logits);
                let expected = logit.expected(y, a, nu);
                // The mixture: 2.1e-9, 2.1e-8, 8.1e-9, and the first over a probability of 0.01.
                assert!((moments.slope(&counts)[0] - expected.slope).abs() < 1e-7);
                assert!((moments.clone().curvature(&counts).matrix()[(0, 0)] - expected.curvature).abs() < 1e-7);
                assert!((expected_log_density(&nodes, &logits, &counts) - expected.value).abs() < 1e-6);
                let score = log_predictive(&nodes, &logits, &counts, &moments);
                assert!((score - logit.log_predictive(y, a, nu)).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn probabilities_too_small_for_a_float_keep_their_logarithm() {
        let nodes = Nodes::new(2, 64).unwrap();
        let logits = Logits { mean: vec![-2000.0, 3.0], root: Mat::<f64>::identity(2, 2) };
        let counts = Counts { of: vec![0.0, 1.0, 0.0], total: 1.0, constant: 0.0 };
        let score = log_predictive(&nodes, &logits, &counts, &Moments::at(&nodes, &logits));
        assert!(score < -1990.0 && score > -2010.0, "{score}");
        assert_eq!(Moments::at(&nodes, &logits).probabilities[1], 0.0);
        assert!(Moments::at(&nodes, &logits).slope(&counts)[0] > 0.99);
    }

    #[test]
    fn a_singular_covariance_has_a_root_and_an_indefinite_one_has_not() {
        let n = vi_linalg::faer::mat![[1.0, 0.0], [1.0, 1.0 - 1e-17]];
        let logits = Logits::new(vec![0.0, 0.0], n.as_ref(), 0.0).unwrap();
        assert_eq!(logits.root, vi_linalg::faer::mat![[1.0, 0.0], [1.0, 0.0]]);
        let n = vi_linalg::faer::mat![[1.0, 0.0], [1.0, 0.9]];
        assert!(matches!(Logits::new(vec![0.0, 0.0], n.as_ref(), 0.0), Err(Error::NegativeVariance { .. })));
        assert!(matches!(Logits::new(vec![f64::NAN, 0.0], n.as_ref(), 0.0), Err(Error::Overflow { .. })));
    }
}
