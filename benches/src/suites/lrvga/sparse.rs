//! Sparse rows: 40 and 100 entries in 10⁵ to 4·10⁶ dimensions, every coordinate of which has been met before.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::filter::{self, Scratch};
use vi_core::{BernoulliLogit, Implicit, LowRankGaussian, LowRankSettings, Mixture8, Upkeep};

use super::Effort;
use crate::BenchError;
use crate::measure::{Spread, seconds};
use crate::record::{Record, Report, Unit};

/// A dimension, a rank, entries of a row, and how blocks treat the rows that they do not touch.
#[derive(Debug, Clone, Copy)]
struct Case {
    d: usize,
    p: usize,
    entries: usize,
    upkeep: Upkeep,
}

/// Entries of the rows that meet every coordinate before anything is measured.
const WIDE: usize = 1500;

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let lazy = |d, p, entries| Case { d, p, entries, upkeep: Upkeep::Chosen };
    let million = 1_000_000;
    let mut cases = vec![lazy(million, 10, 100), lazy(million, 10, 40), lazy(million, 32, 100)];
    if effort != Effort::Quick {
        cases.extend([lazy(million, 32, 40), lazy(million, 100, 100)]);
        cases.extend([100_000, 400_000, 4_000_000].map(|d| lazy(d, 10, 40)));
    }
    let mut by_dim: Vec<(f64, f64)> = Vec::new();
    for case in cases {
        let size = format!("d{}_p{}_nnz{}", power(case.d), case.p, case.entries);
        eprintln!("lrvga/sparse/{size}");
        let (waiting, projecting) = measure(case, effort.choose(120, 10))?;
        if case.p == 10 && case.entries == 40 {
            by_dim.push(((case.d as f64).ln(), projecting.min.ln()));
        }
        report.push(Record::alone(format!("lrvga/sparse/{size}"), waiting, Unit::Seconds).note("until the projection"));
        let record = Record::alone(format!("lrvga/sparse_projected/{size}"), projecting, Unit::Seconds);
        report.push(record.note("with its share of the projection"));
    }
    let full = Case { upkeep: Upkeep::Full, ..lazy(million, 10, 100) };
    let (_, all) = measure(full, effort.choose(3, 1))?;
    let record = Record::alone("lrvga/sparse_projected/d1e6_p10_nnz100_full", all, Unit::Seconds);
    report.push(record.note("where every block rewrites all of W"));
    if by_dim.len() > 2 {
        let slope = slope(&by_dim);
        let record = Record::alone("lrvga/sparse_growth/p10_nnz40", Spread::of(&[slope]), Unit::Exponent);
        report.push(
            record.note("exponent of d in the time of a row, by least squares on the logarithms of the least times"),
        );
    }
    Ok(())
}

fn power(d: usize) -> String {
    let exponent = d.ilog10();
    format!("{}e{exponent}", d / 10_usize.pow(exponent))
}

/// Of a line through points `(x, y)`.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
    let (xy, xx) = points.iter().fold((0.0, 0.0), |(xy, xx), p| (xy + (p.0 - x) * (p.1 - y), xx + (p.0 - x).powi(2)));
    xy / xx
}

/// Entries anywhere, one in each of as many stretches of coordinates.
fn row(d: usize, entries: usize, rng: &mut ChaCha8Rng) -> (Vec<usize>, Vec<f64>) {
    let stride = d / entries;
    let positions = (0..entries).map(|k| k * stride + rng.random_range(0..stride)).collect();
    (
        positions,
        (0..entries)
            .map(|_| {
                0.3 * {
                    let z: f64 = StandardNormal.sample(rng);
                    z
                }
            })
            .collect(),
    )
}

/// Seconds per row until the projection, and with it, by whole blocks.
fn measure(case: Case, blocks: usize) -> Result<(Spread, Spread), BenchError> {
    let Case { d, p, entries, upkeep } = case;
    let rng = &mut ChaCha8Rng::seed_from_u64(0);
    let settings = LowRankSettings::blocked(p)?;
    let block = settings.block();
    let mut belief = LowRankGaussian::isotropic(&vec![0.0; d], 1.0, settings.with_upkeep(upkeep)?)?;
    let rule = Implicit(BernoulliLogit(Mixture8));
    let mut scratch = Scratch::default();
    if upkeep != Upkeep::Full {
        // In blocks of rows so wide each coordinate is met once or more; the belief stays in the lazy form.
        let wide = WIDE.min(d / (3 * block));
        for t in 0..(d / wide).div_ceil(block) * block {
            let (positions, values) = row(d, wide, rng);
            filter::step(&mut belief, &rule, (&positions, &values), (t % 2) as f64, &mut scratch)?;
        }
    }
    let (mut waiting, mut projecting) = (Vec::new(), Vec::new());
    // The first block is not counted.
    for repetition in 0..=blocks {
        let rows: Vec<_> = (0..block).map(|_| row(d, entries, rng)).collect();
        let mut observe = |rows: &[(Vec<usize>, Vec<f64>)]| -> Result<(), BenchError> {
            for (t, (positions, values)) in rows.iter().enumerate() {
                filter::step(&mut belief, &rule, (positions, values), (t % 2) as f64, &mut scratch)?;
            }
            Ok(())
        };
        let (first, last) = rows.split_at(block - 1);
        let mut done = Ok(());
        let before = seconds(|| done = observe(first));
        done?;
        let mut done = Ok(());
        let projection = seconds(|| done = observe(last));
        done?;
        if repetition > 0 {
            waiting.push(before / (block - 1) as f64);
            projecting.push((before + projection) / block as f64);
        }
    }
    Ok((Spread::of(&waiting), Spread::of(&projecting)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_measured() {
        for upkeep in [Upkeep::Chosen, Upkeep::Full] {
            let (waiting, projecting) = measure(Case { d: 20_000, p: 2, entries: 10, upkeep }, 2).unwrap();
            assert!(waiting.median > 0.0 && projecting.median > 0.0);
        }
        assert_eq!((power(1_000_000), power(400_000)), ("1e6".to_owned(), "4e5".to_owned()));
        assert!((slope(&[(0.0, 1.0), (1.0, 1.5), (2.0, 2.0)]) - 0.5).abs() < 1e-15);
    }
}
