//! The tilted density of a row's logits, `π_y(η)·N(η|a, N)/Z`, of two or three classes.
//!
//! With `ℓ(a) = log Z = log E π_y`, the tilted mean is `a + N∇ℓ` and the tilted covariance `N + N∇²ℓN`. Given the difference `v` of the two
//! other classes' logits, `Z` is an average of the logistic function of a Gaussian ([`conditional`](super::conditional)), and so are its
//! derivatives by the means of `v` and of `u = η_y − η_j`:
//!
//! ```text
//! Z = Σ w·E s(A)        ∂_u Z = Σ w·E s′(A)         ∂_v Z = −Σ w·s(v)·E s′(A)
//! ∂_uu Z = Σ w·E s″(A)  ∂_uv Z = −Σ w·s(v)·E s″(A)  ∂_vv Z = Σ w·[s(v)²·E s″(A) − s′(v)·E s′(A)]
//! ```

use pulp::{Arch, Simd, WithSimd};
use vi_core::expectation::Mixture8Lanes;
use vi_core::special::sigmoid;
use vi_core::{BernoulliLogit, Error, GaussianExpectation, Mixture8};
use vi_linalg::faer::Mat;

use super::conditional::{Sides, towards};
use super::line::Line;
use super::logits::{Logits, Pairs};
use super::nodes::LANES;
use super::site::LogitSite;

/// The value of `E π_y` from which on the mixture's sums are accurate enough: their errors, 3e-8 for the curvature, are then
/// small beside it.
const LEAST: f64 = 0.01;

/// A symmetric matrix of one or two logits; for one logit the rest is 0.
type Two = [[f64; 2]; 2];

/// `log Z` in nats, and the site that gives the logits the mean and covariance of the tilted density.
///
/// # Errors
/// [`Error::ImproperSite`] if such a site is not finite; those of the quadrature of a small probability.
pub(super) fn tilted(logits: &Logits, class: usize) -> Result<(f64, LogitSite), Error> {
    if logits.dim() == 1 {
        let (label, nu) = (if class == 1 { 1.0 } else { 0.0 }, logits.variance(0));
        let found = BernoulliLogit(Mixture8).tilted(label, logits.mean[0], nu)?;
        let slope = found.slope + found.curvature * (logits.mean[0] + nu * found.slope);
        return Ok((
            found.log_normaliser,
            LogitSite { slope: vec![slope], pairs: Pairs::of_two(found.curvature, None) },
        ));
    }
    let line = Line::beside(logits, class);
    let sums = Arch::new().dispatch(Sums(&line));
    let (log_scale, sums) = if sums[0] < LEAST { where_small(logits, class, line)? } else { (0.0, sums) };
    let [z, by_u, by_v, uu, uv, vv] = sums;
    let [u, v] = [by_u / z, by_v / z];
    // Slope and −∇²ℓ by the means of (v, u), then by those of the logits.
    let (slope, bend) = ([v, u], [[v * v - vv / z, u * v - uv / z], [u * v - uv / z, u * u - uu / z]]);
    let rows: Two = match class {
        2 => [[1.0, 0.0], [0.0, 1.0]],
        1 => [[0.0, 1.0], [1.0, 0.0]],
        _ => [[-1.0, 1.0], [-1.0, 0.0]],
    };
    let slope = times(transposed(rows), slope);
    let bend = product(transposed(rows), product(bend, rows));
    // K = (I + ∇²ℓ·N)⁻¹(−∇²ℓ), r = ∇ℓ + K(a + N∇ℓ).
    let covariance = two(logits);
    let (inverse, determinant) = inverse(less_than_one(product(bend, covariance)));
    let k = product(inverse, bend);
    let k12 = 0.5 * (k[0][1] + k[1][0]);
    let step = times(covariance, slope);
    let pull = times([[k[0][0], k12], [k12, k[1][1]]], [logits.mean[0] + step[0], logits.mean[1] + step[1]]);
    let site = LogitSite {
        slope: vec![slope[0] + pull[0], slope[1] + pull[1]],
        pairs: Pairs::of_two(k[0][0], Some((k12, k[1][1]))),
    };
    let log_normaliser = log_scale + z.ln();
    let numbers = [log_normaliser, site.slope[0], site.slope[1], k[0][0], k12, k[1][1]];
    if determinant > 0.0 && numbers.iter().all(|number| number.is_finite()) {
        Ok((log_normaliser, site))
    } else {
        Err(site.improper(logits))
    }
}

/// One or two logits without `site`, `N_c = N(I − KN)⁻¹`, `a_c = a − N_c(r − Ka)`, and `|I − KN|`. Returns `None` if the result
/// is not a Gaussian.
pub(super) fn without(site: &LogitSite, logits: &Logits) -> Option<(Logits, f64)> {
    let m = logits.dim();
    let (k, n) = (site.pairs.two(), two(logits));
    let (inverse, determinant) = inverse(less_than_one(product(k, n)));
    let cavity = product(n, inverse);
    if !(determinant > 0.0 && cavity[0][0] >= 0.0 && cavity[1][1] >= 0.0) {
        return None;
    }
    let padded = |numbers: &[f64]| [numbers[0], numbers.get(1).copied().unwrap_or(0.0)];
    let (mean, r) = (padded(&logits.mean), padded(&site.slope));
    let known = times(k, mean);
    let pull = times(cavity, [r[0] - known[0], r[1] - known[1]]);
    let mean = (0..m).map(|i| mean[i] - pull[i]).collect();
    let covariance = Mat::from_fn(m, m, |i, j| 0.5 * (cavity[i][j] + cavity[j][i]));
    Some((Logits::new(mean, covariance.as_ref(), 0.0).ok()?, determinant))
}

/// `rᵀ(a + a_c) − aᵀKa_c`.
pub(super) fn exponent(site: &LogitSite, logits: &Logits, cavity: &Logits) -> f64 {
    let (m, k) = (logits.dim(), site.pairs.two());
    (0..m)
        .map(|i| {
            let curved: f64 = (0..m).map(|j| k[i][j] * cavity.mean[j]).sum();
            site.slope[i] * (logits.mean[i] + cavity.mean[i]) - logits.mean[i] * curved
        })
        .sum()
}

/// The covariance `N`.
fn two(logits: &Logits) -> Two {
    let root = |i, j| if i < logits.dim() { logits.root[(i, j)] } else { 0.0 };
    let (l, below, right) = (root(0, 0), root(1, 0), if logits.dim() == 2 { root(1, 1) } else { 0.0 });
    [[l * l, l * below], [l * below, below * below + right * right]]
}

fn times(a: Two, x: [f64; 2]) -> [f64; 2] {
    a.map(|row| row[0] * x[0] + row[1] * x[1])
}

fn transposed(a: Two) -> Two {
    [[a[0][0], a[1][0]], [a[0][1], a[1][1]]]
}

fn product(a: Two, b: Two) -> Two {
    let columns = transposed(b);
    a.map(|row| columns.map(|column| row[0] * column[0] + row[1] * column[1]))
}

/// `I − A`.
fn less_than_one(a: Two) -> Two {
    [[1.0 - a[0][0], -a[0][1]], [-a[1][0], 1.0 - a[1][1]]]
}

/// `A⁻¹` and `|A|`.
fn inverse(a: Two) -> (Two, f64) {
    let determinant = a[0][0] * a[1][1] - a[0][1] * a[1][0];
    let [p, q] = a;
    let adjoint = [[q[1], -p[1]], [-q[0], p[0]]];
    (adjoint.map(|row| row.map(|entry| entry / determinant)), determinant)
}

/// `Z`, `∂_u`, `∂_v`, `∂_uu`, `∂_uv`, `∂_vv`, and the logarithm of their common factor, from the logarithm at each node.
fn where_small(logits: &Logits, class: usize, line: Line) -> Result<(f64, [f64; 6]), Error> {
    let line = towards(class, logits, line);
    let (mut total, mut parts) = (0.0, Vec::with_capacity(line.nodes));
    for (v, weight) in line.each() {
        total += weight;
        let found = BernoulliLogit(Mixture8).tilted(1.0, line.mean_at(v), line.rest)?;
        let bend = -found.curvature / (1.0 + found.curvature * line.rest); // ℓ″
        parts.push((weight.ln() + found.log_normaliser, v, found.slope, bend + found.slope * found.slope));
    }
    let largest = parts.iter().map(|part| part.0).fold(f64::NEG_INFINITY, f64::max);
    let mut sums = [0.0; 6];
    for (log, v, first, second) in parts {
        let (w, s, other) = ((log - largest).exp(), sigmoid(v), sigmoid(-v));
        let terms = [1.0, first, -s * first, second, -s * second, s * (s * second - other * first)];
        sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += w * term);
    }
    Ok((largest - total.ln(), sums))
}

/// The sums of `where_small`, by [`Mixture8Lanes`] over all nodes.
struct Sums<'a>(&'a Line);

impl WithSimd for Sums<'_> {
    type Output = [f64; 6];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 6] {
        let Self(line) = self;
        let given = Mixture8Lanes::new(line.rest);
        let mut sums = [simd.splat_f64s(0.0); 7];
        for block in 0..line.nodes / LANES {
            let (v, weights) = line.block(simd, block);
            for (v, weight) in S::as_simd_f64s(&v).0.iter().zip(S::as_simd_f64s(&weights).0) {
                let Sides { of_i, of_j, log_j, .. } = Sides::of(simd, *v);
                let seen = given.at(simd, line.means_at(simd, *v, log_j));
                let minus = simd.neg_f64s(of_i);
                let along = simd.sub_f64s(simd.mul_f64s(of_i, seen.second), simd.mul_f64s(of_j, seen.first));
                let terms = [
                    simd.splat_f64s(1.0),
                    seen.sigmoid,
                    seen.first,
                    simd.mul_f64s(minus, seen.first),
                    seen.second,
                    simd.mul_f64s(minus, seen.second),
                    simd.mul_f64s(of_i, along),
                ];
                for (sum, term) in sums.iter_mut().zip(terms) {
                    *sum = simd.mul_add_e_f64s(*weight, term, *sum);
                }
            }
        }
        let [total, sums @ ..] = sums.map(|sum| simd.reduce_sum_f64s(sum));
        sums.map(|sum| sum / total)
    }
}
