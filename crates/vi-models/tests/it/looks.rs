//! An effect that is looked at after every row: false alarms, and the rows that it takes to find it.
//! `VI_SLOW=1 cargo test -p vi-models --test it looks -- --nocapture` prints what the guide says.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Gamma, Poisson, StandardNormal};
use vi_models::linear::Effect;

/// Sums of two groups, of which the second has the treatment.
#[derive(Default, Clone, Copy)]
struct Groups {
    rows: [f64; 2],
    mean: [f64; 2],
    squares: f64,
}

impl Groups {
    fn add(&mut self, group: usize, y: f64) {
        let away = y - self.mean[group];
        self.rows[group] += 1.0;
        self.mean[group] += away / self.rows[group];
        self.squares += away * (y - self.mean[group]);
    }

    fn effect(&self) -> Option<Effect> {
        let [a, b] = self.rows;
        let (estimate, variance) = (self.mean[1] - self.mean[0], a.recip() + b.recip());
        (a > 0.0 && b > 0.0).then(|| Effect::new(estimate, variance, self.squares.max(0.0), a + b - 2.0).unwrap())
    }
}

/// The row at which `E` first reaches 20, if it does within `n`: groups by a coin, noise from 10⁻³ to 10³.
fn first_alarm(seed: u64, n: u32, effect: f64, mixture: f64) -> Option<u32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let sigma = 10.0_f64.powf(rng.random_range(-3.0..3.0));
    let origin = sigma * 10.0 * rng.sample::<f64, _>(StandardNormal);
    let mut groups = Groups::default();
    (1..=n).find(|_| {
        let group = usize::from(rng.random::<bool>());
        groups.add(group, origin + sigma * (effect * group as f64 + rng.sample::<f64, _>(StandardNormal)));
        groups.effect().is_some_and(|effect| effect.log_e_value(0.0, mixture).unwrap() >= 20.0_f64.ln())
    })
}

#[test]
fn looking_after_every_row_raises_few_false_alarms() {
    let (runs, rows) = if crate::slow() { (10_000, 10_000) } else { (400, 1000) };
    for mixture in [0.1, 1.0] {
        let alarms = (0..runs).filter(|seed| first_alarm(*seed, rows, 0.0, mixture).is_some()).count() as f64;
        let (share, error) = (alarms / runs as f64, (0.05 * 0.95 / runs as f64).sqrt());
        println!(
            "{runs} A/A runs of {rows} rows, mixture {mixture}: {:.2} ± {:.2} % false alarms",
            100.0 * share,
            100.0 * error
        );
        // Three standard errors beyond what is promised.
        assert!(share < 0.05 + 3.0 * error, "{share}");
    }
}

/// Labels of 0 and 1 with this share, or counts with this mean and size of a negative binomial.
#[derive(Debug, Clone, Copy)]
enum Labels {
    Share(f64),
    Counts(f64, f64),
}

impl Labels {
    fn draw(self, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Share(share) => f64::from(u8::from(rng.random::<f64>() < share)),
            Self::Counts(mean, size) if size.is_finite() => {
                let mean: f64 = Gamma::new(size, mean / size).unwrap().sample(rng);
                Poisson::new(mean.max(1e-12)).unwrap().sample(rng)
            }
            Self::Counts(mean, _) => Poisson::new(mean).unwrap().sample(rng),
        }
    }
}

/// Without Gaussian noise the promise is one for many rows; it holds from the first.
#[test]
fn shares_and_counts_raise_few_false_alarms_too() {
    let (runs, rows) = if crate::slow() { (2000, 5000) } else { (200, 1000) };
    let plain = f64::INFINITY;
    for labels in [
        Labels::Share(0.5),
        Labels::Share(0.1),
        Labels::Share(0.02),
        Labels::Share(0.005),
        Labels::Counts(1.0, plain),
        Labels::Counts(0.1, plain),
        Labels::Counts(1.0, 0.5),
        Labels::Counts(0.2, 0.1),
    ] {
        let mut shares = Vec::new();
        for mixture in [0.1, 0.3, 1.0] {
            let alarm = |seed: u64| {
                let (mut rng, mut groups) = (ChaCha8Rng::seed_from_u64(seed), Groups::default());
                (0..rows).any(|_| {
                    groups.add(usize::from(rng.random::<bool>()), labels.draw(&mut rng));
                    groups.effect().is_some_and(|own| own.log_e_value(0.0, mixture).unwrap() >= 20.0_f64.ln())
                })
            };
            shares.push((0..runs).filter(|seed| alarm(*seed)).count() as f64 / runs as f64);
        }
        println!("{labels:?}, {runs} A/A runs of {rows} rows, false alarms with sizes .1, .3, 1: {shares:?}");
        // Three standard errors beyond what is promised.
        let most = 0.05 + 3.0 * (0.05 * 0.95 / runs as f64).sqrt();
        assert!(shares.iter().all(|share| *share < most), "{labels:?} {shares:?}");
    }
}

/// How many rows are needed, beside a test whose number of rows is chosen first.
#[test]
fn an_effect_is_found_before_the_fixed_test_of_high_power_ends() {
    let (effect, runs) = (0.2_f64, if crate::slow() { 2000 } else { 100 });
    for (power, quantile, most) in [(0.95, 1.645, 0.8), (0.9, 1.282, 1.0)] {
        // Two groups of n/2 rows: a variance of 4/n.
        let fixed = 4.0 * (1.96_f64 + quantile).powi(2) / (effect * effect);
        let until = |seed: u64| f64::from(first_alarm(90_000 + seed, 20_000, effect, effect).unwrap_or(20_000));
        let mean = (0..runs).map(until).sum::<f64>() / runs as f64;
        println!("power {power}: {mean:.0} rows on average, {fixed:.0} fixed: {:.2}", mean / fixed);
        assert!(mean < most * fixed, "{mean} {fixed}");
    }
}
