//! Dense beliefs: sequential, blocked and square-root filters, as a share of what `3d²` flops take at faer's square matrix-multiply rate.

use vi_core::block::{self, BlockBelief, BlockScratch, BlockSettings};
use vi_core::{BernoulliLogit, DenseGaussian, Implicit, ProbitApproximation, SquareRootGaussian};
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, Par};

use super::rvga::per_observation;
use super::{Effort, Suite};
use crate::BenchError;
use crate::measure::{compare, seconds, timed};
use crate::record::{Record, Report, Target, Unit};
use crate::stream::{SIGMA0, Stream};

pub(super) const SUITE: Suite = Suite {
    name: "dense",
    about: "blocked and square-root filters at d = 100 to 3000: share of faer's matrix-multiply rate",
    run,
};

/// The rule of every run: the papers' implicit step, whose scalar part is small beside the belief's.
const RULE: Implicit<BernoulliLogit<ProbitApproximation>> = Implicit(BernoulliLogit(ProbitApproximation));

/// `(d, n of blocked passes, n of sequential passes)`.
const SIZES: [(usize, usize, usize); 4] = [(100, 8000, 1000), (300, 4000, 300), (1000, 2000, 40), (3000, 800, 10)];

const GEMM: &str = "faer matmul, 3d² flops";

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    for (d, n_blocked, n_sequential) in SIZES {
        let repetitions = effort.choose(9, 2);
        let prior = DenseGaussian::isotropic(&vec![0.0; d], SIGMA0)?;
        let root = SquareRootGaussian::isotropic(&vec![0.0; d], SIGMA0)?;
        let long = Stream::new(d, n_blocked);
        let short = Stream::new(d, n_sequential);
        let mut gemm = Gemm::new(d);
        let mut form = |name: &str, time: &dyn Fn() -> Result<f64, BenchError>| -> Result<Record, BenchError> {
            let name = format!("dense/implicit_at_gemm/{name}/d{d}");
            eprintln!("{name}");
            Ok(Record::compared(name, compare(repetitions, time, || Ok(gemm.seconds()))?, GEMM))
        };
        let sequential = form("sequential", &|| per_observation(&prior, &RULE, &short, short.labels()))?;
        let blocks = form("blocked", &|| blocked(&prior, &long))?;
        let roots = form("square_root", &|| blocked(&root, &long))?;
        for (name, record) in [("sequential", &sequential), ("blocked", &blocks), ("square_root", &roots)] {
            let share = Record::number(
                format!("dense/gemm_fraction/{name}/d{d}"),
                record.ratio.unwrap_or(f64::NAN),
                Unit::Fraction,
            );
            report.push(match (name, d) {
                ("blocked", 1000) => share.target(Target::AtLeast(0.6)),
                ("blocked", 3000) => share.target(Target::AtLeast(0.7)),
                _ => share,
            });
        }
        for record in [sequential, blocks, roots] {
            report.push(record);
        }
    }
    Ok(report)
}

/// Seconds per observation of one blocked pass over the stream from `prior`, with blocks chosen from `d`; scratch is made before
/// the clock starts, the pass's own copy of the belief is counted.
fn blocked<B: BlockBelief + Clone>(prior: &B, stream: &Stream) -> Result<f64, BenchError> {
    let mut belief = prior.clone();
    let mut scratch = BlockScratch::new(&belief, BlockSettings::for_dim(stream.dim()));
    let (elapsed, _) = timed(|| {
        block::run(&mut belief, &RULE, stream.inputs(), stream.labels(), &mut scratch, Par::Seq, |_, _, _| {})
    })?;
    std::hint::black_box(belief.mean());
    Ok(elapsed / stream.len() as f64)
}

/// A square product of dimension `d` by faer, on one thread.
struct Gemm {
    a: Mat<f64>,
    out: Mat<f64>,
}

impl Gemm {
    fn new(d: usize) -> Self {
        Self { a: Mat::from_fn(d, d, |i, j| ((i * 7 + j * 13) % 17) as f64 - 8.0), out: Mat::zeros(d, d) }
    }

    /// Seconds that `3d²` flops take at the rate of this product, `2d³` flops; small products are repeated.
    fn seconds(&mut self) -> f64 {
        let d = self.a.nrows();
        let times = (300 / d).pow(3).max(1);
        let elapsed = seconds(|| {
            for _ in 0..times {
                matmul(self.out.as_mut(), Accum::Replace, self.a.as_ref(), self.a.as_ref(), 1.0, Par::Seq);
            }
        });
        elapsed / times as f64 * 3.0 / (2.0 * d as f64)
    }
}
