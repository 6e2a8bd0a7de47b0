//! A stream of all that makes a filter lose its footing; row `t` is a function of the seed and `t`.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use vi_models::online::Model;

/// Inputs of a row.
pub const INPUTS: usize = 6;

/// One row with what could be observed at it.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamRow {
    /// The inputs: two ordinary ones, a copy of the first to nine digits, one that is quiet, one of scale 1e5, one of outliers.
    pub x: Vec<f64>,
    score: f64,
    noise: f64,
    rare: bool,
}

impl StreamRow {
    /// A label for a model of this kind.
    #[must_use]
    pub fn label(&self, model: &Model) -> f64 {
        match model {
            Model::Number(_) => self.score + self.noise,
            Model::Count(_) | Model::Spread(_) => (self.score + self.noise).clamp(-3.0, 4.0).exp().round(),
            _ => f64::from(u8::from(self.rare)),
        }
    }

    /// Whether a model should take it.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.x.iter().all(|x| x.is_finite())
    }
}

/// The stream of one seed.
#[derive(Debug, Clone)]
pub struct Stream {
    seed: u64,
    last: Option<(u64, StreamRow)>,
}

impl Stream {
    /// From its beginning.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, last: None }
    }

    /// Row `t`. In one stretch of forty out of a thousand, all rows are the first of the stretch.
    pub fn row(&mut self, t: u64) -> StreamRow {
        let at = if t % 1000 < 40 { t - t % 1000 } else { t };
        match &self.last {
            Some((of, row)) if *of == at => row.clone(),
            _ => {
                let row = self.make(at);
                self.last = Some((at, row.clone()));
                row
            }
        }
    }

    fn make(&self, t: u64) -> StreamRow {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ t.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut normal = || {
            // The sum of twelve uniform numbers has variance 1.
            (0..12).map(|_| f64::from(rng.next_u32()) / f64::from(u32::MAX)).sum::<f64>() - 6.0
        };
        let (a, b, noise) = (normal(), normal(), normal());
        let copy = a * (1.0 + 1e-9 * normal());
        let quiet = if t.is_multiple_of(500) { normal() } else { 0.0 };
        let wide = 1e5 * normal();
        let outlier = if t.is_multiple_of(211) { 1e6 * normal() } else { normal() };
        let mut x = vec![a, b, copy, quiet, wide, outlier];
        match t % 997 {
            500 => x[1] = f64::NAN,
            700 => x[0] = f64::INFINITY,
            _ => {}
        }
        let angle = t as f64 / 3000.0;
        let score = if a.is_finite() { angle.cos() * a + angle.sin() * b } else { 0.0 };
        StreamRow { x, score, noise: 0.3 * noise, rare: score + noise > 2.2 }
    }
}
