//! How far a merge of diagonal posteriors would end up from one pass over all rows.

use crate::Error;
use crate::belief::DiagonalGaussian;

/// The belief of a shard, and how many rows it learned from.
///
/// A belief that was merged before counts as several runs, each from the prior over its share of the rows.
#[derive(Debug)]
pub struct Part<'a, B> {
    /// The posterior of the shard.
    pub belief: &'a B,
    /// The number of rows that it learned from.
    pub rows: f64,
    /// The number of runs from the prior over these rows, 1 for a shard that was not merged.
    pub runs: f64,
}

/// How much more of the prior a merge keeps than one pass over all rows would.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pull {
    /// How far weights lag behind, in posterior standard deviations: the root of the mean square over the weights.
    pub deviations: f64,
    /// How far weights lag behind, as a share of their way from the prior's mean.
    pub share: f64,
}

impl Pull {
    /// Whether weights lag by more than a standard deviation, and by more than a twentieth of their way.
    #[must_use]
    pub fn is_too_far(self) -> bool {
        self.deviations > 1.0 && self.share > 0.05
    }

    /// The pull of a belief whose covariance is in units of `variance`, such as that of the noise.
    #[must_use]
    pub fn in_units_of(self, variance: f64) -> Self {
        Self { deviations: self.deviations / variance.sqrt(), ..self }
    }

    /// Returns an error if the pull [is too far](Self::is_too_far).
    ///
    /// # Errors
    /// [`Error::ThinShards`].
    pub fn check(self) -> Result<(), Error> {
        let Self { deviations, share } = self;
        if self.is_too_far() { Err(Error::ThinShards { deviations, share }) } else { Ok(()) }
    }
}

/// The pull of a merge of diagonal posteriors towards their prior.
///
/// A diagonal belief counts the information that rows give on each weight as if the other weights were known. Rows that add `g_i`
/// each multiply the precision `λ_i` of weight `i` by `1 + u_i` in the end, and the belief claims to have kept `1/(1 + u_i)` of
/// the prior's mean. But row `t` moves the mean by what it says of all weights together, and keeps
///
/// ```text
/// (1 + o_t)/(1 + o_t + s_t),   s_t = g_i/(λ_i + t·g_i),   o_t = Σ_{j≠i} g_j/(λ_j + t·g_j)
/// ```
///
/// of it: exact for one row, an average over their inputs for more. In one pass later rows go on where earlier ones stopped; each
/// shard starts again from the prior, and a merge averages what is left over,
///
/// ```text
/// b_i = Σ_k G_ki·b_ki/Σ_k G_ki,   b_ki = Π_t (1 + o_t)/(1 + o_t + s_t) − 1/(1 + u_ki),   G_k = Λ_k − Λ₀
/// ```
///
/// less what one pass over all rows would leave. Cost `O(Kd)`, for shards of many rows some hundred times that.
///
/// ```
/// use vi_core::merge::{Part, Mergeable, pull};
/// use vi_core::{Belief, DiagonalGaussian, Explicit, GaussianLikelihood, filter};
/// // A hundred shards of one row each; both weights are 1, and always seen together.
/// let prior = DiagonalGaussian::isotropic(&[0.0; 2], 1.0)?;
/// let rule = Explicit(GaussianLikelihood::new(0.01)?);
/// let mut shards = vec![prior.clone(); 100];
/// for (k, shard) in shards.iter_mut().enumerate() {
///     let x = [1.0, f64::from(k as u32 % 2) * 2.0 - 1.0];
///     filter::step(shard, &rule, &x, x[0] + x[1], &mut filter::Scratch::default())?;
/// }
/// let merged = DiagonalGaussian::merge(&prior, &shards.iter().collect::<Vec<_>>())?;
/// assert!((merged.mean()[0] - 0.5).abs() < 0.01);
/// let parts: Vec<_> = shards.iter().map(|belief| Part { belief, rows: 1.0, runs: 1.0 }).collect();
/// assert!(pull(&prior, &merged, &parts).is_too_far());
/// # Ok::<(), vi_core::Error>(())
/// ```
#[must_use]
pub fn pull(prior: &DiagonalGaussian, merged: &DiagonalGaussian, parts: &[Part<'_, DiagonalGaussian>]) -> Pull {
    let d = prior.precisions().len();
    let starts: Vec<(f64, f64)> = (0..d).map(|i| prior.moments(i)).collect();
    let mut left = vec![(0.0, 0.0); d];
    for part in parts {
        let gained = |i: usize| (part.belief.moments(i).1 - starts[i].1).max(0.0);
        for (i, kept) in kept(&starts, part.rows, part.runs, gained).enumerate() {
            let gain = gained(i);
            left[i] = (left[i].0 + gain * kept, left[i].1 + gain);
        }
    }
    let rows: f64 = parts.iter().map(|part| part.rows).sum();
    let once = kept(&starts, rows, 1.0, |i| left[i].1);
    let (mut back, mut way) = (0.0, 0.0);
    for (i, once) in once.enumerate() {
        let (sum, gain) = left[i];
        let (mean, precision) = merged.moments(i);
        let square = precision * (mean - starts[i].0).powi(2);
        if gain > 0.0 && square > 0.0 {
            let share = sum / gain;
            // What came of the way is 1 − share of it.
            let whole = square / (1.0 - share).powi(2);
            way += whole;
            back += whole * (share - once).max(0.0).powi(2);
        }
    }
    if way > 0.0 { Pull { deviations: (back / d as f64).sqrt(), share: (back / way).sqrt() } } else { Pull::default() }
}

/// The number of rows whose factors are taken one by one; of later ones, as many for each doubling represent the others.
const EACH: f64 = 16.0;

/// `b_i` of each weight, for `runs` passes that share `rows` rows and what they `gained`.
fn kept(starts: &[(f64, f64)], rows: f64, runs: f64, gained: impl Fn(usize) -> f64) -> impl Iterator<Item = f64> {
    let n = (rows / runs).max(1.0);
    let gains: Vec<f64> = (0..starts.len()).map(|i| gained(i) / (n * runs)).collect();
    let mut logs = vec![0.0; starts.len()];
    let mut told = vec![0.0; starts.len()];
    let mut t = 0.0;
    while t < n {
        // Rows t to t + span, represented by the one in their middle.
        let span = (t / EACH).floor().max(1.0).min(n - t);
        let at = t + 0.5 * (span - 1.0).max(0.0);
        for ((told, gain), start) in told.iter_mut().zip(&gains).zip(starts) {
            *told = gain / (start.1 + at * gain);
        }
        let total: f64 = told.iter().sum();
        for (log, told) in logs.iter_mut().zip(&told) {
            *log -= span * (told / (1.0 + (total - told).max(0.0))).ln_1p();
        }
        t += span;
    }
    let claimed: Vec<f64> = gains.iter().zip(starts).map(|(gain, start)| (1.0 + n * gain / start.1).recip()).collect();
    logs.into_iter().zip(claimed).map(|(log, claimed)| {
        let share = log.exp() - claimed;
        if share.is_finite() { share.max(0.0) } else { 0.0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Mergeable;
    use crate::{Belief, Explicit, GaussianLikelihood, filter};

    const NOISE: f64 = 0.03;
    const PRIMES: [f64; 7] = [2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0];

    /// `n` rows of the stream from `first` on; every weight is 1.
    fn learned(prior: &DiagonalGaussian, first: usize, n: usize) -> DiagonalGaussian {
        let rule = Explicit(GaussianLikelihood::new(NOISE).unwrap());
        let (mut belief, mut scratch) = (prior.clone(), filter::Scratch::default());
        for t in first..first + n {
            // Equidistributed, without correlations between columns: multiples of the roots of primes modulo 1.
            let x: Vec<f64> = (0..prior.dim())
                .map(|j| ((t as f64 + 1.0) * f64::sqrt(PRIMES[j]) * 7.3).rem_euclid(1.0) * 3.4 - 1.7)
                .collect();
            let y: f64 = x.iter().sum();
            filter::step(&mut belief, &rule, &x, y, &mut scratch).unwrap();
        }
        belief
    }

    fn root_mean_square(belief: &DiagonalGaussian, d: usize) -> (f64, f64) {
        let back: f64 = (0..d).map(|i| (belief.mean()[i] - 1.0).powi(2)).sum();
        let deviations: f64 = (0..d).map(|i| belief.moments(i).1 * (belief.mean()[i] - 1.0).powi(2)).sum();
        ((back / d as f64).sqrt(), (deviations / d as f64).sqrt())
    }

    /// Predicted from the parts alone, and what happened.
    #[test]
    fn the_pull_is_what_a_merge_loses() {
        let d = 7;
        let prior = DiagonalGaussian::isotropic(&vec![0.0; d], 1.0).unwrap();
        for (n, count) in [(1, 300), (3, 100), (30, 10), (300, 10)] {
            let shards: Vec<DiagonalGaussian> = (0..count).map(|k| learned(&prior, k * n, n)).collect();
            let merged = DiagonalGaussian::merge(&prior, &shards.iter().collect::<Vec<_>>()).unwrap();
            let part = |belief| Part { belief, rows: n as f64, runs: 1.0 };
            let told = pull(&prior, &merged, &shards.iter().map(part).collect::<Vec<_>>());
            let (share, deviations) = root_mean_square(&merged, d);
            // The formula is one for rows that are alike; it tells the size.
            assert!((0.5..2.0).contains(&(told.share / share)), "{n}: {told:?} {share}");
            assert!((0.4..2.5).contains(&(told.deviations / deviations)), "{n}: {told:?} {deviations}");
            assert_eq!(told.is_too_far(), n < 300, "{n}: {told:?}");
        }
    }

    /// Adding one small shard after another is the same merge.
    #[test]
    fn runs_that_were_merged_before_still_count() {
        let d = 7;
        let prior = DiagonalGaussian::isotropic(&vec![0.0; d], 1.0).unwrap();
        let shards: Vec<DiagonalGaussian> = (0..101).map(|k| learned(&prior, k * 3, 3)).collect();
        let first = DiagonalGaussian::merge(&prior, &shards[..100].iter().collect::<Vec<_>>()).unwrap();
        let merged = DiagonalGaussian::merge(&prior, &[&first, &shards[100]]).unwrap();
        let last = Part { belief: &shards[100], rows: 3.0, runs: 1.0 };
        let honest = [Part { belief: &first, rows: 300.0, runs: 100.0 }, last];
        assert!(pull(&prior, &merged, &honest).is_too_far());
    }

    #[test]
    fn nothing_is_lost_where_a_diagonal_is_exact() {
        // One weight; and rows that each tell one weight only.
        let one = DiagonalGaussian::isotropic(&[0.0], 1.0).unwrap();
        let shards: Vec<DiagonalGaussian> = (0..50).map(|k| learned(&one, k, 1)).collect();
        let merged = DiagonalGaussian::merge(&one, &shards.iter().collect::<Vec<_>>()).unwrap();
        let parts: Vec<_> = shards.iter().map(|belief| Part { belief, rows: 1.0, runs: 1.0 }).collect();
        assert_eq!(pull(&one, &merged, &parts), Pull::default());

        // And where the noise rules a shard: its rows tell less than the prior does.
        let d = 7;
        let vague = DiagonalGaussian::isotropic(&vec![0.0; d], 1e-3).unwrap();
        let shards: Vec<DiagonalGaussian> = (0..100).map(|k| learned(&vague, k * 3, 3)).collect();
        let merged = DiagonalGaussian::merge(&vague, &shards.iter().collect::<Vec<_>>()).unwrap();
        let parts: Vec<_> = shards.iter().map(|belief| Part { belief, rows: 3.0, runs: 1.0 }).collect();
        let told = pull(&vague, &merged, &parts);
        assert!(told.share < 1e-3 && !told.is_too_far(), "{told:?}");
    }

    /// What an intercept all but free hides from a shard's first row it does not hide from a long pass.
    #[test]
    fn a_constant_column_of_a_wide_prior_does_not_hide_the_pull() {
        let prior = DiagonalGaussian::new(&[0.0; 2], &[1.0, 1e6]).unwrap();
        let rule = Explicit(GaussianLikelihood::new(NOISE).unwrap());
        let mut scratch = filter::Scratch::default();
        let mut whole = prior.clone();
        for n in [3, 10, 30] {
            let shards: Vec<_> = (0..100)
                .map(|k| {
                    let mut shard = prior.clone();
                    for t in n * k..n * (k + 1) {
                        let x = [(f64::from(t) * 2.0_f64.sqrt()).rem_euclid(1.0) * 2.0 - 1.0, 1.0];
                        filter::step(&mut shard, &rule, &x, x[0], &mut scratch).unwrap();
                        filter::step(&mut whole, &rule, &x, x[0], &mut scratch).unwrap();
                    }
                    shard
                })
                .collect();
            let merged = DiagonalGaussian::merge(&prior, &shards.iter().collect::<Vec<_>>()).unwrap();
            let parts: Vec<_> = shards.iter().map(|belief| Part { belief, rows: f64::from(n), runs: 1.0 }).collect();
            let (found, away) = (pull(&prior, &merged, &parts), whole.mean()[0] - merged.mean()[0]);
            assert!(found.is_too_far(), "{n}: {found:?}, {away}");
            assert!((0.4..2.5).contains(&(found.share / away)), "{n}: {found:?}, {away}");
        }
    }
}
