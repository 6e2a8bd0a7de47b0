//! The lazy form of the low-rank belief against the full one: the same posterior at a cost that does not know `d`.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "indices drawn below a length")]

use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::{Belief, BernoulliLogit, Implicit, LowRankGaussian, LowRankSettings, Mixture8, Upkeep};
use vi_linalg::faer::Par;

use crate::common::{SparseTable, rng};

pub(crate) const LOGIT: Implicit<BernoulliLogit> = Implicit(BernoulliLogit(Mixture8));

/// Sparse rows with labels.
#[derive(Default)]
pub(crate) struct Stream {
    pub(crate) rows: Vec<(Vec<usize>, Vec<f64>)>,
    pub(crate) labels: Vec<f64>,
}

impl Stream {
    fn push(&mut self, mut entries: Vec<(usize, f64)>, label: f64) {
        entries.sort_by_key(|entry| entry.0);
        entries.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0.0 };
            same
        });
        self.rows.push(entries.into_iter().unzip());
        self.labels.push(label);
    }

    pub(crate) fn table(&self) -> SparseTable {
        SparseTable::new(self.rows.iter().map(|(positions, values)| (positions.as_slice(), values.as_slice())))
    }

    /// Log loss one step ahead, summed, over rows `range`.
    pub(crate) fn learn(&self, belief: &mut LowRankGaussian, range: std::ops::Range<usize>) -> f64 {
        let mut loss = 0.0;
        for t in range {
            let (positions, values) = &self.rows[t];
            let seen = belief.step(&LOGIT, (positions, values), self.labels[t], Par::Seq).unwrap().projection;
            let scaled = seen.mean / (1.0 + std::f64::consts::PI * seen.variance / 8.0).sqrt();
            loss += (1.0 + (if self.labels[t] > 0.5 { -scaled } else { scaled }).exp()).ln();
        }
        loss
    }
}

/// Some common coordinates and some rare ones; a few factors move groups of them together.
pub(crate) fn small(n: usize, d: usize, rng: &mut ChaCha8Rng) -> Stream {
    let theta: Vec<f64> = (0..d).map(|_| StandardNormal.sample(rng)).collect();
    let mut stream = Stream::default();
    for _ in 0..n {
        let group = rng.random_range(0..5_usize);
        let factor: f64 = StandardNormal.sample(rng);
        let entries: Vec<(usize, f64)> = (0..7)
            .map(|k| {
                let i =
                    if k < 5 { (group * d / 5 + rng.random_range(0..d / 5)) % d } else { rng.random_range(0..d / 8) };
                let own: f64 = StandardNormal.sample(rng);
                (i, 0.8 * factor * (1.0 + (i % 3) as f64) / 2.0 + 0.4 * own)
            })
            .collect();
        let score: f64 = entries.iter().map(|(i, x)| theta[*i] * x).sum();
        stream.push(entries, f64::from(rng.random::<f64>() < 1.0 / (1.0 + (-score).exp())));
    }
    stream
}

/// Hashed fields of clicks: Zipf's law in each, a latent segment that moves half of them together.
fn clicks(n: usize, d: usize, rng: &mut ChaCha8Rng) -> Stream {
    const FIELDS: usize = 35;
    let sizes: Vec<usize> =
        (0..FIELDS).map(|f| (8.0 * (37_500_f64).powf(f as f64 / (FIELDS - 1) as f64)) as usize).collect();
    let mut theta: Vec<f64> = (0..d)
        .map(|_| {
            let z: f64 = StandardNormal.sample(rng);
            z * if rng.random::<f64>() < 0.3 { 1.0 } else { 0.1 }
        })
        .collect();
    theta[0] = -2.0;
    let value = 3.0 / ((FIELDS + 1) as f64).sqrt();
    let mut stream = Stream::default();
    for _ in 0..n {
        let segment = rng.random_range(0..30_usize);
        let mut entries = vec![(0, value)];
        for (f, &size) in sizes.iter().enumerate() {
            let mut word = zipf(size, rng);
            if f % 2 == 1 && rng.random::<f64>() < 0.6 {
                word = (word + segment * (1 + f)) % size;
            }
            let hash = (word as u64)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .wrapping_add((f as u64) << 40)
                .wrapping_mul(0xbf58_476d_1ce4_e5b9);
            entries.push((1 + (hash >> 20) as usize % (d - 1), value));
        }
        let score: f64 = entries.iter().map(|(i, x)| theta[*i] * x).sum();
        stream.push(entries, f64::from(rng.random::<f64>() < 1.0 / (1.0 + (-score).exp())));
    }
    stream
}

/// `P(k) ∝ (k + 1)^−1.15` below `size`, by the inverse of the continuous law.
fn zipf(size: usize, rng: &mut impl Rng) -> usize {
    let u: f64 = rng.random();
    let last = (size as f64).powf(-0.15);
    ((1.0 - u * (1.0 - last)).powf(-1.0 / 0.15) as usize).clamp(1, size) - 1
}

/// Pools of features with their own strong factors, one after another; old pools come back at the end.
fn pools(n: usize, d: usize, rng: &mut ChaCha8Rng) -> Stream {
    const RANK: usize = 8;
    let theta: Vec<f64> = (0..d)
        .map(|_| {
            let z: f64 = StandardNormal.sample(rng);
            0.5 * z
        })
        .collect();
    let loadings: Vec<[f64; RANK]> = (0..d).map(|_| std::array::from_fn(|_| StandardNormal.sample(rng))).collect();
    let mut stream = Stream::default();
    for t in 0..n {
        let (pool, size) = (6 * t / n % 4, d / 6);
        let z: [f64; RANK] = std::array::from_fn(|_| StandardNormal.sample(rng));
        let entries: Vec<(usize, f64)> = (0..40)
            .map(|_| {
                let at = (size as f64).powf(rng.random::<f64>()) as usize - 1;
                let i = pool * size + at % size;
                let own: f64 = StandardNormal.sample(rng);
                let common: f64 = loadings[i].iter().zip(&z).map(|(l, z)| l * z).sum();
                (i, (common + 0.3 * own) / (RANK as f64).sqrt())
            })
            .collect();
        let score: f64 = entries.iter().map(|(i, x)| theta[*i] * x).sum();
        stream.push(entries, f64::from(rng.random::<f64>() < 1.0 / (1.0 + (-score).exp())));
    }
    stream
}

pub(crate) fn blocked(p: usize, block: usize, loops: usize, upkeep: Upkeep) -> LowRankSettings {
    let settings = LowRankSettings::blocked(p).unwrap().with_block(block).unwrap();
    settings.with_inner_loops(loops).unwrap().with_upkeep(upkeep).unwrap()
}

/// Root mean square of the difference of log variances, and of means in the first's standard deviations.
pub(crate) fn apart(a: &LowRankGaussian, b: &LowRankGaussian) -> (f64, f64) {
    let (va, vb) = (a.variances(Par::Seq).unwrap(), b.variances(Par::Seq).unwrap());
    let d = va.len() as f64;
    let variances: f64 = va.iter().zip(&vb).map(|(a, b)| (a / b).ln().powi(2)).sum();
    let means: f64 = a.mean().iter().zip(b.mean()).zip(&va).map(|((a, b), v)| (a - b).powi(2) / v).sum();
    ((variances / d).sqrt(), (means / d).sqrt())
}

/// A sweep over all rows that were ever touched leaves nothing untouched: the full form to rounding, with EM steps and without.
#[test]
fn a_sweep_over_all_rows_is_the_full_form() {
    let d = 200;
    let stream = small(400, d, &mut rng(1));
    for (p, loops) in [(3, 0), (3, 1), (4, 2), (0, 1), (9, 1)] {
        let mut full = LowRankGaussian::isotropic(&vec![0.1; d], 0.8, blocked(p, 16, loops, Upkeep::Full)).unwrap();
        let mut lazy =
            LowRankGaussian::isotropic(&vec![0.1; d], 0.8, blocked(p, 16, loops, Upkeep::Lazy { sweep: d })).unwrap();
        let losses = (stream.learn(&mut full, 0..390), stream.learn(&mut lazy, 0..390));
        assert!(lazy.is_lazy() && !full.is_lazy());
        assert!((losses.0 - losses.1).abs() < 1e-9, "p = {p}, {loops} loops: {losses:?}");
        let (variances, means) = apart(&full, &lazy);
        // Thousands of roundings, some through eigenvectors that are a hundredth apart.
        assert!(variances < 1e-9 && means < 1e-9, "p = {p}, {loops} loops: {variances:e} {means:e}");
        assert_eq!(full.counts().projections, lazy.counts().projections);
        assert!(lazy.owed() < 1e-9, "{}", lazy.owed());
    }
}

/// Half of the rows with each block, the spectral method: nothing that is printed differs.
#[test]
fn a_sweep_over_half_of_the_rows_is_the_full_form_to_four_digits() {
    let d = 400;
    let stream = small(3000, d, &mut rng(2));
    let mut full = LowRankGaussian::isotropic(&vec![0.0; d], 0.8, blocked(4, 16, 0, Upkeep::Full)).unwrap();
    let mut lazy =
        LowRankGaussian::isotropic(&vec![0.0; d], 0.8, blocked(4, 16, 0, Upkeep::Lazy { sweep: d / 2 })).unwrap();
    let losses = (stream.learn(&mut full, 0..3000) / 3000.0, stream.learn(&mut lazy, 0..3000) / 3000.0);
    let (variances, means) = apart(&full, &lazy);
    eprintln!("{losses:?} {variances:e} {means:e} {}", lazy.owed());
    assert!((losses.0 - losses.1).abs() < 5e-5, "{losses:?}");
    assert!(variances < 2e-3 && means < 5e-3, "{variances:e} {means:e}");
}

/// `(rms of log variances, rms of means in deviations, log loss a row of either)`.
fn compared(stream: &Stream, d: usize, sigma: f64, loops: usize, lazy: Upkeep) -> (f64, f64, f64, f64) {
    let n = stream.rows.len();
    let belief = |upkeep| LowRankGaussian::isotropic(&vec![0.0; d], sigma, blocked(10, 64, loops, upkeep)).unwrap();
    let (mut full, mut lazy) = (belief(Upkeep::Full), belief(lazy));
    let losses = [&mut full, &mut lazy].map(|belief| stream.learn(belief, 0..n) / n as f64);
    assert!(lazy.is_lazy() && lazy.owed().is_finite());
    let (variances, means) = apart(&full, &lazy);
    (variances, means, losses[0], losses[1])
}

/// A stream of clicks: variances, means and log loss of the full form, while a block rewrites what it touches and a thousand rows.
#[test]
fn clicks_are_learned_as_by_the_full_form() {
    let (n, d) = if crate::slow() { (25_000, 100_000) } else { (3200, 20_000) };
    let stream = clicks(n, d, &mut rng(3));
    let (variances, means, full, lazy) = compared(&stream, d, 1.0, 0, Upkeep::Chosen);
    eprintln!("clicks: {variances:e} {means:e} {full} {lazy}");
    assert!(variances < 1e-4 && means < 1e-3, "{variances:e} {means:e}");
    assert!((full - lazy).abs() < 1e-4, "{full} {lazy}");
}

/// Pools of features that come, go and come back: the worst case for rows that wait to be touched.
#[test]
fn pools_that_return_are_learned_as_by_the_full_form() {
    let (n, d) = if crate::slow() { (12_000, 60_000) } else { (2400, 12_000) };
    let stream = pools(n, d, &mut rng(4));
    let (variances, means, full, lazy) = compared(&stream, d, 1.0, 0, Upkeep::Chosen);
    eprintln!("pools: {variances:e} {means:e} {full} {lazy}");
    assert!(variances < 1e-3 && means < 1e-2, "{variances:e} {means:e}");
    assert!((full - lazy).abs() < 1e-4, "{full} {lazy}");
}

/// With the EM step of the default, whose other rows follow the map of the block's only nearly.
#[test]
fn em_steps_stay_near_the_full_form() {
    let (n, d) = (3200, 20_000);
    let stream = clicks(n, d, &mut rng(5));
    let (variances, means, full, lazy) = compared(&stream, d, 1.0, 1, Upkeep::Chosen);
    eprintln!("em: {variances:e} {means:e} {full} {lazy}");
    assert!(variances < 1e-3 && means < 1e-2, "{variances:e} {means:e}");
    assert!((full - lazy).abs() < 1e-4, "{full} {lazy}");
}
