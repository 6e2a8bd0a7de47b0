//! A million dimensions: how time and memory are measured (Tables 1 and 2).

use std::time::Instant;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use vi_core::Error;
use vi_linalg::faer::Par;

use super::memory::available;
use crate::error::{Doing as _, ReproError};
use crate::looks::looks;
use crate::report::{Table, number};

/// Bytes of a number.
pub(super) const NUMBER: f64 = 8.0;
pub(super) const GIGA: f64 = 1e9;
pub(super) const MEGA: f64 = 1e6;

looks! {
    /// How a method is called and drawn; the last is what the paper reports.
    pub(super) enum Look {
        Online: "online_em", "online EM", GREEN Solid Triangle;
        Printed: "as_printed", "as printed", ORANGE Dashed Square;
        One: "one_loop", "ours: one inner loop in place", BLUE Solid Plus;
        Three: "three_loops", "ours: three inner loops", SKY DashDot Disc;
        Blocks: "blocked", "ours: blocks", PURPLE Solid Diamond;
        Paper: "paper", "the paper’s laptop", BLACK Dotted Cross;
    }
}

/// A method at work: what one observation took.
pub(super) struct Measured {
    pub(super) look: Look,
    pub(super) d: usize,
    pub(super) p: usize,
    /// Seconds for one observation.
    pub(super) seconds: f64,
    /// Bytes kept from one observation to the next.
    pub(super) kept: f64,
    /// Bytes on the heap at the peak, the rows that were passed in not counted.
    pub(super) peak: f64,
}

/// All threads of the machine.
pub(super) fn par() -> Par {
    Par::rayon(0)
}

/// `n` rows of `d` numbers of mean square `1/d`, row-major.
pub(super) fn rows(n: usize, d: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let width = (12.0 / d as f64).sqrt();
    (0..n * d).map(|_| width * (rng.random::<f64>() - 0.5)).collect()
}

/// Whether the machine has room for `bytes`, as far as it tells; if not, says so of `look`.
pub(super) fn room_for(look: Look, bytes: f64, notes: &mut Vec<String>) -> bool {
    let room = available().is_none_or(|free| bytes < 0.8 * free);
    if !room {
        let needed = number(bytes / GIGA);
        notes.push(format!("“{}” was left out: it needs {needed} GB, more than this machine has free.", look.label()));
    }
    room
}

/// Time for one observation: the least of `rounds` runs of `work`, each of `n` observations, after one that is not counted if
/// there are several.
pub(super) fn seconds(
    rounds: usize,
    n: usize,
    look: Look,
    mut work: impl FnMut(usize) -> Result<(), Error>,
) -> Result<f64, ReproError> {
    let mut least = f64::INFINITY;
    for round in 0..rounds {
        let begun = Instant::now();
        work(round).context(look.label())?;
        if round > 0 || rounds == 1 {
            least = least.min(begun.elapsed().as_secs_f64());
        }
    }
    Ok(least / n as f64)
}

/// The numbers of all methods.
pub(super) fn table<'a>(measured: impl IntoIterator<Item = &'a Measured>) -> Result<Table, ReproError> {
    let mut table = Table::new("", &["method", "d", "p", "seconds_per_observation", "bytes_kept", "bytes_peak"]);
    for m in measured {
        table.row(&[&m.look.slug(), &m.d, &m.p], [m.seconds, m.kept, m.peak])?;
    }
    Ok(table)
}

/// Least-squares slope of `log y` over `log x`.
pub(super) fn slope(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len() as f64;
    let (lx, ly): (Vec<f64>, Vec<f64>) = (x.iter().map(|v| v.ln()).collect(), y.iter().map(|v| v.ln()).collect());
    let (mx, my) = (lx.iter().sum::<f64>() / n, ly.iter().sum::<f64>() / n);
    let cross: f64 = lx.iter().zip(&ly).map(|(a, b)| (a - mx) * (b - my)).sum();
    cross / lx.iter().map(|a| (a - mx) * (a - mx)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_power_is_its_exponent() {
        let x = [1.0, 2.0, 5.0, 9.0];
        let y = x.map(|v: f64| 3.0 * v.powf(1.5));
        assert!((slope(&x, &y) - 1.5).abs() < 1e-12);
    }
}
