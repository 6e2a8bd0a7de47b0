//! The softmax of logits that are independent of each other, with sites and probabilities at a cost linear in the number of
//! classes.
//!
//! Each of the `C` classes has weights of its own, and a row sees `C` independent logits `t_c ~ N(a_c, ν_c)`. The log-likelihood of
//! class `y` is `log s(u)` with `u = t_y − L`, `L = log Σ_{k≠y} e^(t_k)`, and `L` is taken as Gaussian. Its moments come from a chain over
//! the other classes: with `v = t_k − L`,
//!
//! ```text
//! log(e^L + e^(t_k)) = L + softplus(v):   mean A + E softplus(v),   variance (1−b)²V + b²ν_k + ½(ν_k+V)²f²,   b = E s(v), f = E s′(v),
//! ```
//!
//! the first two terms of the variance's series in Hermite polynomials; [`Mixture8`] has the expectations. By Stein's lemma
//! `β_k = ∂E L/∂a_k` is `b_k·Π_{l>k}(1−b_l)`, and `η_k = ∂²E L/∂a_k²` follows from the same chain. So the evidence of the row is `Z = E s(u)`, `u ~
//! N(a_y − A, ν_y + V)`, of which the tilted density of a logistic regression tells slope `g` and bend `κ = −∂² log Z`, and
//!
//! ```text
//! mean:  a_y + ν_y·g,  a_k − ν_k·β_k·g        precision:  1/ν_y + κ/(1 − κν_y),   1/ν_k + κβ_k²/(1 − κβ_k²ν_k) + g·η_k.
//! ```
//!
//! This is a step of nested expectation propagation (Riihimäki, Jylänki and Vehtari 2013) with the couplings of a row integrated out. It has no
//! point set and needs no start: however wide the prior, `Z` of all classes sums to 1 within some per cent.

use vi_core::expectation::{LogisticExpectation, LogisticMoments};
use vi_core::{BernoulliLogit, Error, GaussianExpectation, Implicit, Mixture8, Projection, Site, SiteRule, Weighted};

use crate::check;

/// The probability below which it is found by its logarithm.
const FEW_DIGITS: f64 = 1e-3;

/// The iterations for the sum `Q` of what rows tell of all classes.
const COUPLINGS: usize = 12;

/// A logit, or the logarithm of a sum of some: mean and variance.
type Seen = Projection;

/// `log(e^s + e^t)` and the moments of `s(t − s)`.
fn joined(s: Seen, t: Seen) -> (Seen, LogisticMoments) {
    let spread = s.variance + t.variance;
    let moments = Mixture8.moments(t.mean - s.mean, spread);
    let (b, bend) = (moments.sigmoid, spread * moments.first);
    let variance = (1.0 - b).powi(2) * s.variance + b * b * t.variance + 0.5 * bend * bend;
    (Seen { mean: s.mean + moments.softplus, variance }, moments)
}

/// The positions of `seen` by rising mean.
fn rising(seen: &[Seen]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..seen.len()).collect();
    order.sort_by(|&a, &b| seen[a].mean.total_cmp(&seen[b].mean));
    order
}

/// The chain over the classes other than that of the row.
#[derive(Debug, Default)]
struct Link {
    class: usize,
    /// `b`, then `β`.
    share: f64,
    /// `f`, then `η`.
    bend: f64,
}

/// `L` of all classes but `class`, and of each of these `β` and `η`.
fn others(seen: &[Seen], class: usize) -> (Option<Seen>, Vec<Link>) {
    let mut total: Option<Seen> = None;
    let mut links: Vec<Link> = Vec::with_capacity(seen.len());
    for k in rising(seen).into_iter().filter(|&k| k != class) {
        let (share, bend);
        (total, share, bend) = match total {
            None => (Some(seen[k]), 1.0, 0.0),
            Some(before) => {
                let (after, moments) = joined(before, seen[k]);
                (Some(after), moments.sigmoid, moments.first)
            }
        };
        links.push(Link { class: k, share, bend });
    }
    // From the last: the share of those before, and what later bends add to the square of a share.
    let (mut rest, mut later) = (1.0, 0.0);
    for link in links.iter_mut().rev() {
        let (b, f) = (link.share, link.bend);
        *link = Link { class: link.class, share: b * rest, bend: f * rest + b * b * later };
        later = f * rest + (1.0 - b).powi(2) * later;
        rest *= 1.0 - b;
    }
    (total, links)
}

/// The sites of all classes for a row of class `class` and weight `weight`, and the log normaliser of the tilted density, `log E
/// s(u)ʷ` as the chain has it, in nats. Cost `C` expectations.
///
/// # Errors
/// [`Error::Overflow`] if a logit is not finite; those of a site.
pub(crate) fn sites(seen: &[Projection], class: usize, weight: f64, out: &mut Vec<Site>) -> Result<f64, Error> {
    let (Some(rest), links) = others(seen, class) else { return Err(Error::Empty { argument: "classes" }) };
    let own = seen[class];
    let mean = check::result("log odds of the class", own.mean - rest.mean)?;
    let variance = check::result("variance of the log odds of the class", own.variance + rest.variance)?;
    out.clear();
    out.resize(seen.len(), Site::default());
    if weight == 0.0 {
        return Ok(0.0);
    }
    let logit = BernoulliLogit(Mixture8);
    let (score, site) = match logit.tilted(1.0, mean, variance) {
        Ok(tilted) if weight == 1.0 => (tilted.log_normaliser, tilted.site(variance)),
        _ => (
            weight * logit.log_predictive(1.0, mean, variance),
            Implicit(Weighted::new(logit, weight)?).site(mean, variance, 1.0)?,
        ),
    };
    let (gain, bend) = (site.gain(variance), site.shrinkage(variance));
    let of = |gain: f64, bend: f64, more: f64, variance: f64| {
        let curvature = bend / (1.0 - bend * variance) + more;
        Site { slope: gain * (1.0 + curvature * variance), curvature }
    };
    out[class] = of(gain, bend, 0.0, own.variance);
    for Link { class: k, share, bend: more } in links {
        out[k] = of(-gain * share, bend * share * share, gain * more, seen[k].variance);
    }
    Ok(score)
}

/// Mean and variance of the log odds of each class against all others: by the chains over the classes of smaller and of larger
/// means. Cost `3C` expectations.
fn log_odds(seen: &[Projection]) -> Result<Vec<Seen>, Error> {
    let order = rising(seen);
    let join = |total: Option<Seen>, next: Option<Seen>| match (total, next) {
        (Some(total), Some(next)) => Some(joined(total, next).0),
        (total, next) => total.or(next),
    };
    let mut below = Vec::with_capacity(seen.len());
    let mut total = None;
    for &k in &order {
        below.push(total);
        total = join(total, Some(seen[k]));
    }
    let mut odds = seen.to_vec();
    let mut above = None;
    for (&k, below) in order.iter().zip(below).rev() {
        let Some(rest) = join(below, above) else { return Err(Error::Empty { argument: "classes" }) };
        odds[k].mean = check::result("log odds of a class", seen[k].mean - rest.mean)?;
        odds[k].variance = check::result("variance of the log odds of a class", seen[k].variance + rest.variance)?;
        above = join(above, Some(seen[k]));
    }
    Ok(odds)
}

/// `E π` and `Var π`; each logit had the variance `prior` before any row. Cost `8C` expectations.
///
/// # Errors
/// [`Error::Overflow`] if a logit is not finite.
pub(crate) fn moments(seen: &[Projection], prior: f64) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let of = |seen: &[Seen]| -> Result<(Vec<f64>, Vec<f64>), Error> {
        let found: Vec<(f64, f64)> = log_odds(seen)?.into_iter().map(probability).collect::<Result<_, _>>()?;
        let sum: f64 = found.iter().map(|(p, _)| p).sum();
        Ok(found.into_iter().map(|(p, variance)| (p / sum, variance / (sum * sum))).unzip())
    };
    Ok((of(&coupled(seen, prior))?.0, of(seen)?.1))
}

/// The logits as they differ from each other.
///
/// Rows tell of differences alone: with `q_c` from a class they add `diag(q) − qqᵀ/Q`, `Q = Σq`, to the precision of the logits, whose inverse
/// gives differences the variances of independent logits with precisions `1/ν₀ + q_c`. Classes that are independent know of it the
/// diagonal `i_c = q_c(1 − q_c/Q)`, which leaves differences too wide, by a factor of up to 2 where two classes compete.
fn coupled(seen: &[Seen], prior: f64) -> Vec<Seen> {
    let told: Vec<f64> = seen.iter().map(|seen| (seen.variance.recip() - prior.recip()).max(0.0)).collect();
    let (sum, most) = (told.iter().sum::<f64>(), told.iter().copied().fold(0.0, f64::max));
    if !(sum.is_finite() && sum > 0.0 && prior > 0.0) {
        return seen.to_vec();
    }
    let of = |told: f64, total: f64| 0.5 * total * (1.0 - (1.0 - 4.0 * told / total).max(0.0).sqrt());
    let mut total = 2.0 * sum.max(2.0 * most);
    for _ in 0..COUPLINGS {
        let found: f64 = told.iter().map(|told| of(*told, total)).sum();
        total = (0.5 * (total + found)).max(4.0 * most);
    }
    let coupled = |(seen, told): (&Seen, &f64)| {
        let variance = (prior.recip() + of(*told, total)).recip();
        Seen { mean: seen.mean, variance: variance.min(seen.variance) }
    };
    seen.iter().zip(&told).map(coupled).collect()
}

/// `log E π_class`, in nats, as [`moments`] has it.
///
/// # Errors
/// [`Error::Overflow`] if a logit is not finite.
pub(crate) fn log_predictive(seen: &[Projection], class: usize) -> Result<f64, Error> {
    let odds = log_odds(seen)?;
    let sum: f64 = odds.iter().map(|odds| Mixture8.sigmoid(odds.mean, odds.variance).0).sum();
    Ok(Mixture8.log_sigmoid_mean(odds[class].mean, odds[class].variance) - sum.ln())
}

/// Mean and variance of `s(u)`, `u ~ N(mean, variance)`.
fn probability(Seen { mean, variance }: Seen) -> Result<(f64, f64), Error> {
    let LogisticMoments { sigmoid, first, .. } = Mixture8.moments(mean, variance);
    if sigmoid > FEW_DIGITS {
        // E s² = E s − E s′.
        return Ok((sigmoid, (sigmoid - first - sigmoid * sigmoid).max(0.0)));
    }
    let tilted = BernoulliLogit(Mixture8).tilted(1.0, mean, variance)?;
    let own = tilted.log_normaliser.exp();
    let again = Mixture8.log_sigmoid_mean(mean + variance * tilted.slope, tilted.variance).exp();
    Ok((own, (own * (again - own)).max(0.0)))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    use super::*;

    fn seen(parts: &[(f64, f64)]) -> Vec<Projection> {
        parts.iter().map(|&(mean, variance)| Projection { mean, variance }).collect()
    }

    /// `log Z`, means and variances of `π_class·N`, and `E π`, by a trapezoid sum over three logits.
    fn dense(parts: &[Projection], class: usize) -> (f64, Vec<f64>, Vec<f64>, Vec<f64>) {
        let (steps, reach) = (120, 8.0);
        let at: Vec<f64> = (0..=steps).map(|i| reach * (2.0 * f64::from(i) / f64::from(steps) - 1.0)).collect();
        let deviations: Vec<f64> = parts.iter().map(|part| part.variance.sqrt()).collect();
        let (mut first, mut second, mut average) = (vec![0.0; 3], vec![0.0; 3], vec![0.0; 3]);
        let (mut z, mut all) = (0.0, 0.0);
        for a in &at {
            for b in &at {
                for c in &at {
                    let mass = (-0.5 * (a * a + b * b + c * c)).exp();
                    let t: Vec<f64> =
                        [a, b, c].iter().zip(parts).zip(&deviations).map(|((z, p), s)| p.mean + s * *z).collect();
                    let total: f64 = t.iter().map(|t| t.exp()).sum();
                    let own = mass * t[class].exp() / total;
                    all += mass;
                    z += own;
                    for k in 0..3 {
                        average[k] += mass * t[k].exp() / total;
                        first[k] += own * t[k];
                        second[k] += own * t[k] * t[k];
                    }
                }
            }
        }
        let means: Vec<f64> = first.iter().map(|sum| sum / z).collect();
        let variances = second.iter().zip(&means).map(|(sum, mean)| sum / z - mean * mean).collect();
        ((z / all).ln(), means, variances, average.iter().map(|sum| sum / all).collect())
    }

    #[test]
    fn sites_leave_the_moments_of_the_tilted_density() {
        // How far off the Gaussian of a log-sum of three is: means in deviations, variances and evidence relative.
        for (parts, within) in [
            (vec![(0.3, 0.05), (-0.5, 0.1), (0.8, 0.02)], 1e-3),
            (vec![(0.3, 0.5), (-1.0, 2.0), (0.8, 0.1)], 0.02),
            (vec![(0.0, 9.0), (1.0, 16.0), (-2.0, 4.0)], 0.2),
            (vec![(0.0, 100.0), (0.0, 100.0), (0.0, 100.0)], 0.2),
        ] {
            let before = seen(&parts);
            let (probabilities, _) = moments(&before, 1e-3).unwrap();
            for class in 0..3 {
                let mut found = Vec::new();
                let score = sites(&before, class, 1.0, &mut found).unwrap();
                let (log, means, variances, average) = dense(&before, class);
                assert!((score - log).abs() < within, "{parts:?} {class}: {score} {log}");
                assert!(
                    (probabilities[class] - average[class]).abs() < within,
                    "{parts:?}: {probabilities:?} {average:?}"
                );
                for (k, site) in found.iter().enumerate() {
                    let Projection { mean, variance } = before[k];
                    let after = (mean + variance * site.gain(variance), variance / (1.0 + site.curvature * variance));
                    assert!(
                        (after.0 - means[k]).abs() < within * variance.sqrt(),
                        "{parts:?} {class} {k}: {after:?} {means:?}"
                    );
                    assert!(
                        (after.1 / variances[k] - 1.0).abs() < 2.0 * within,
                        "{parts:?} {class} {k}: {after:?} {variances:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn certain_logits_have_the_slopes_of_the_softmax() {
        let before = seen(&[(0.3, 0.0), (-1.0, 0.0), (0.8, 0.0)]);
        let mut found = Vec::new();
        let score = sites(&before, 2, 1.0, &mut found).unwrap();
        let (probabilities, variances) = moments(&before, 1.0).unwrap();
        let total = [0.3_f64, -1.0, 0.8].iter().map(|t| t.exp()).sum::<f64>().ln();
        assert!((score - (0.8 - total)).abs() < 1e-7);
        for (c, site) in found.iter().enumerate() {
            let pi = (before[c].mean - total).exp();
            // The mixture's accuracy, and that of its curvature.
            assert!((site.slope - (f64::from(u8::from(c == 2)) - pi)).abs() < 1e-7, "{c}");
            assert!((site.curvature - pi * (1.0 - pi)).abs() < 2e-6, "{c}");
            assert!((probabilities[c] - pi).abs() < 1e-8 && variances[c] < 1e-6, "{c}: {variances:?}");
        }
        sites(&seen(&[(1.0, 3.0), (2.0, 4.0)]), 0, 0.0, &mut found).unwrap();
        assert!(found.iter().all(|site| site.slope == 0.0 && site.curvature == 0.0));
    }

    #[test]
    fn probabilities_of_many_classes_are_those_of_draws() {
        // Logits alike, and of very different means.
        let classes = 40;
        for spread in [0.0, 3.0] {
            let parts: Vec<(f64, f64)> =
                (0..classes).map(|c| (spread * f64::from(c % 7) - spread, 0.5 + f64::from(c % 3))).collect();
            let (probabilities, variances) = moments(&seen(&parts), 0.5).unwrap();
            let rng = &mut ChaCha8Rng::seed_from_u64(4);
            let draws = 20_000;
            let [mut first, mut second, mut fourth] = [(); 3].map(|()| vec![0.0; parts.len()]);
            for _ in 0..draws {
                let t: Vec<f64> =
                    parts.iter().map(|(a, nu)| (a + nu.sqrt() * rng.sample::<f64, _>(StandardNormal)).exp()).collect();
                let total: f64 = t.iter().sum();
                for (c, t) in t.iter().enumerate() {
                    first[c] += t / total / f64::from(draws);
                    second[c] += (t / total).powi(2) / f64::from(draws);
                    fourth[c] += (t / total).powi(4) / f64::from(draws);
                }
            }
            for c in 0..parts.len() {
                let variance = second[c] - first[c] * first[c];
                assert!((probabilities[c] / first[c] - 1.0).abs() < 0.1, "{c}: {} {}", probabilities[c], first[c]);
                // Of a rare class the tail of a log-sum, which is not Gaussian, decides; and few of the draws, which adds their standard errors.
                let error = ((fourth[c] - second[c] * second[c]) / f64::from(draws)).sqrt();
                let tolerance = 0.3 * variance + 4.0 * error;
                assert!((variances[c] - variance).abs() < tolerance, "{c}: {} {variance} {error}", variances[c]);
            }
        }
    }

    #[test]
    fn differences_of_competing_classes_are_as_sure_as_rows_make_them() {
        // Two classes, λ = 1/4: a row between them tells (h, −h; −h, h); each alone knows 1/(λ+h), the difference has 2/(λ+2h).
        let (lambda, h) = (0.25, 3.0);
        let found = coupled(&seen(&[(0.0, 1.0 / (lambda + h)), (1.0, 1.0 / (lambda + h))]), 1.0 / lambda);
        assert!(found.iter().all(|seen| (seen.variance * (lambda + 2.0 * h) - 1.0).abs() < 1e-3), "{found:?}");
        // Ten alike: q(1 − 1/10) = h.
        let found = coupled(&seen(&[(0.0, 1.0 / (lambda + h)); 10]), 1.0 / lambda);
        assert!(found.iter().all(|seen| (seen.variance * (lambda + h / 0.9) - 1.0).abs() < 1e-3), "{found:?}");
        // Of classes that no row told of nothing changes.
        assert_eq!(coupled(&seen(&[(0.0, 4.0), (1.0, 4.0)]), 4.0), seen(&[(0.0, 4.0), (1.0, 4.0)]));
    }

    #[test]
    fn logits_that_leave_the_floats_are_refused() {
        for far in [(1e308, 1e308), (-1e308, 1.7e308), (0.0, 1e308)] {
            let found = sites(&seen(&[far, (0.0, 1.0), (1.0, 1.7e308)]), 1, 3.0, &mut Vec::new());
            assert!(matches!(found, Err(Error::Overflow { .. })), "{far:?}: {found:?}");
        }
    }

    #[test]
    fn far_and_wide_logits_leave_proper_sites() {
        for parts in [
            vec![(0.0, 1e8); 5],
            vec![(1e6, 1.0), (-1e6, 1e4), (0.0, 1e-300)],
            vec![(-700.0, 25.0), (700.0, 25.0)],
            vec![(0.0, 4.0); 100],
        ] {
            let before = seen(&parts);
            for class in 0..2 {
                let mut found = Vec::new();
                sites(&before, class, 1.0, &mut found).unwrap();
                for (site, seen) in found.iter().zip(&before) {
                    assert!(site.curvature >= 0.0 && site.check(seen.variance).is_ok(), "{parts:?}: {site:?}");
                }
                // What all logits share, no row tells of.
                let gains: f64 = found.iter().zip(&before).map(|(site, seen)| site.gain(seen.variance)).sum();
                assert!(gains.abs() < 1e-9, "{parts:?}: {gains}");
            }
        }
    }

    #[test]
    fn two_classes_are_the_logistic() {
        // t₀ − t₁ ~ N(0.8, 2.3), and far down where digits are few.
        for shift in [0.0, -30.0] {
            let (probabilities, variances) = moments(&seen(&[(0.5 + shift, 0.8), (-0.3, 1.5)]), 0.8).unwrap();
            let grid = (-6000..=6000).map(|i| f64::from(i) * 2e-3);
            let (mean, square) = grid.fold((0.0, 0.0), |(mean, square), z: f64| {
                let mass = 2e-3 * vi_core::special::normal_density(z);
                let p = vi_core::special::sigmoid(0.8 + shift + 2.3_f64.sqrt() * z);
                (mean + mass * p, square + mass * p * p)
            });
            assert!((probabilities[0] / mean - 1.0).abs() < 1e-6, "{} {mean}", probabilities[0]);
            assert!(
                (variances[0] / (square - mean * mean) - 1.0).abs() < 1e-5,
                "{} {}",
                variances[0],
                square - mean * mean
            );
            assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        }
    }
}
