use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::table::{Columns, Input, Options, Rows, fit};

/// Stretches of rows as `Scores` keeps them, of gains that are drawn.
struct Stretches {
    all: Vec<(f64, f64)>,
    size: f64,
}

impl Stretches {
    fn add(&mut self, gain: f64) {
        match self.all.last_mut() {
            Some(last) if last.0 < self.size => *last = (last.0 + 1.0, last.1 + gain),
            _ => self.all.push((1.0, gain)),
        }
        if self.all.len() > 128 {
            self.all =
                self.all.chunks(2).map(|two| two.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))).collect();
            self.size *= 2.0;
        }
    }

    fn interval(&self) -> Option<(f64, f64)> {
        let [rows, sum] = self.all.iter().fold([0.0, 0.0], |[rows, sum], own| [rows + own.0, sum + own.1]);
        interval(&self.all, rows, sum)
    }
}

/// Of runs whose gains have the mean 0 the share in which an interval at some row leaves it out; looks after every row.
fn alarms(runs: u64, rows: u32, mut gain: impl FnMut(u32, &mut ChaCha8Rng) -> f64) -> f64 {
    let mut alarms = 0.0;
    for seed in 0..runs {
        let (mut rng, mut all) = (ChaCha8Rng::seed_from_u64(seed), Stretches { all: Vec::new(), size: 1.0 });
        for t in 0..rows {
            all.add(gain(t, &mut rng));
            // Looks at rows that are far apart see the same interval but for little.
            if t < 300 || t.is_multiple_of(7) {
                let missed = all.interval().is_some_and(|(low, high)| low > 0.0 || high < 0.0);
                if missed {
                    alarms += 1.0;
                    break;
                }
            }
        }
    }
    alarms / runs as f64
}

#[test]
fn intervals_hold_at_all_looks_together() {
    let slow = std::env::var("VI_SLOW").is_ok_and(|own| own == "1");
    let (runs, rows) = if slow { (2000, 5000) } else { (200, 1000) };
    let mut last = 0.0;
    // Skewed gains, gains of heavy tails, and gains that follow those before.
    let exponential = |_: u32, rng: &mut ChaCha8Rng| -rng.random::<f64>().ln() - 1.0;
    let tails = |_: u32, rng: &mut ChaCha8Rng| (rng.random::<f64>() - 0.5) / rng.random::<f64>().powf(0.3);
    let follows = |_: u32, rng: &mut ChaCha8Rng| {
        last = 0.5 * last + rng.random::<f64>() - 0.5;
        last
    };
    let shares = [alarms(runs, rows, exponential), alarms(runs, rows, tails), alarms(runs, rows, follows)];
    println!("{shares:?} of {runs} runs of {rows} rows");
    // 5 % and three standard errors.
    let most = 0.05 + 3.0 * (0.05_f64 * 0.95 / runs as f64).sqrt();
    assert!(shares.iter().all(|share| *share <= most), "{shares:?}");
}

#[test]
fn a_model_with_the_input_that_matters_wins_and_says_by_how_much() {
    let columns = Columns::new(["a", "b", "y"].map(str::to_owned), None);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut draw = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let rows: Vec<[String; 3]> = (0..4000)
        .map(|_| {
            let (a, b) = (draw(), draw());
            [a, b, a + 0.5 * b + draw()].map(|value| value.to_string())
        })
        .collect();
    let model = |formula: &str, family: &str| {
        let family = crate::table::Family::parse(family).unwrap();
        let options = Options { formula: Some(formula.to_owned()), family, ..Options::default() };
        let table = || Ok(Rows::new(&columns, rows.iter().map(|row| row.iter().collect())));
        // As a stream, whose later rows nobody has seen.
        fit(&options, &Input::in_memory("data", false), true, table).unwrap()
    };
    let (both, one) = (model("y ~ a + b", "gaussian"), model("y ~ a", "gaussian"));
    let found = both.against(&one).unwrap();
    // Nothing was chosen by the labels; the expected gain of a row is half the log of the ratio of the variances.
    let expected = 0.5 * 1.25_f64.ln();
    let (low, high) = found.interval.unwrap();
    assert_eq!((found.rows, found.basis), (4000, Basis::Exact));
    assert!(low < expected && expected < high && low > 0.0, "{found:?}");
    assert!((found.log_e_value - 4000.0 * found.difference.unwrap()).abs() < 1e-6, "{found:?}");
    // A robust family takes marks, of which this target has none.
    assert!(both.against(&model("y ~ a", "robust")).unwrap().log_e_value > 100.0);
    let opposite = one.against(&both).unwrap();
    assert!((opposite.log_e_value + found.log_e_value).abs() < 1e-9 * found.log_e_value);
    // The family is chosen by the labels of the first 2000 rows, which are left out but for a part of a stretch.
    let chosen = model("y ~ a", "auto");
    let found = both.against(&chosen).unwrap();
    assert!((1900..=2000).contains(&found.rows), "{found:?}");
    let few = {
        let options = Options { target: Some("y".to_owned()), ..Options::default() };
        let table = || Ok(Rows::new(&columns, rows[..500].iter().map(|row| row.iter().collect())));
        fit(&options, &Input::in_memory("data", false), false, table).unwrap()
    };
    let found = few.against(&few).unwrap();
    assert_eq!((found.rows, found.basis, found.log_e_value), (500, Basis::Heuristic, 0.0));
    assert!(both.against(&few).unwrap_err().to_string().contains("other rows"));
    let other = {
        let options = Options { target: Some("a".to_owned()), ..Options::default() };
        let table = || Ok(Rows::new(&columns, rows.iter().map(|row| row.iter().collect())));
        fit(&options, &Input::in_memory("data", false), false, table).unwrap()
    };
    assert!(both.against(&other).unwrap_err().to_string().contains("another target"));
}
