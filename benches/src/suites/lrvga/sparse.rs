//! Sparse rows: 100 entries in a million dimensions.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::{Belief, Explicit, GaussianLikelihood, LowRankGaussian, LowRankSettings};
use vi_linalg::faer::Par;

use super::Effort;
use crate::BenchError;
use crate::measure::{Spread, seconds};
use crate::record::{Record, Report, Unit};

const DIM: usize = 1_000_000;
const ENTRIES: usize = 100;

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    for p in [10, 100] {
        let size = format!("d1e6_p{p}_nnz{ENTRIES}");
        eprintln!("lrvga/sparse/{size}");
        let (waiting, projecting) = measure(p, effort.choose(3, 1))?;
        report.push(Record::alone(format!("lrvga/sparse/{size}"), waiting, Unit::Seconds).note("until the projection"));
        let record = Record::alone(format!("lrvga/sparse_projected/{size}"), projecting, Unit::Seconds);
        report.push(record.note("with its share of the projection"));
    }
    Ok(())
}

/// Seconds per row until the projection, and with it, by whole blocks.
fn measure(p: usize, blocks: usize) -> Result<(Spread, Spread), BenchError> {
    let rng = &mut ChaCha8Rng::seed_from_u64(0);
    let settings = LowRankSettings::blocked(p)?;
    let mut belief = LowRankGaussian::isotropic(&vec![0.0; DIM], 1.0, settings)?;
    let rule = Explicit(GaussianLikelihood::new(1.0)?);
    let block = settings.block();
    let stride = DIM / ENTRIES;
    let (mut waiting, mut projecting) = (Vec::new(), Vec::new());
    // The first block is not counted: it meets W = 0.
    for repetition in 0..=blocks {
        let rows: Vec<(Vec<usize>, Vec<f64>)> = (0..block)
            .map(|row| {
                let indices = (0..ENTRIES).map(|k| k * stride + (row * 7919 + k * 104_729) % stride).collect();
                (indices, (0..ENTRIES).map(|_| StandardNormal.sample(rng)).collect())
            })
            .collect();
        let mut done = Ok(());
        let mut observe = |rows: &[(Vec<usize>, Vec<f64>)]| -> Result<(), BenchError> {
            for (indices, values) in rows {
                belief.step(&rule, (indices, values), 1.0, Par::rayon(0))?;
            }
            Ok(())
        };
        let (first, last) = rows.split_at(block - 1);
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
    std::hint::black_box(belief.mean());
    Ok((Spread::of(&waiting), Spread::of(&projecting)))
}
