//! Seconds per row of a feature map, for each kernel, and where FastFood overtakes a dense product.

use std::cell::RefCell;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_linalg::faer::{Mat, Par};
use vi_revrand::Kernel;
use vi_revrand::basis::{Basis, FastFood, FastFoodMixture, LengthScale, RandomFourier};

use super::Effort;
use crate::BenchError;
use crate::measure::{compare, measure, seconds};
use crate::record::{Record, Report, Target, Unit};
use crate::stream::Stream;

/// Rows of a measurement.
const ROWS: usize = 1024;
/// Inputs and pairs of features at which every kernel is measured.
const SIZE: (usize, usize) = (16, 1024);
/// Inputs over which FastFood is compared.
const INPUTS: [usize; 7] = [4, 16, 64, 128, 256, 512, 1024];

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let repetitions = effort.choose(15, 2);
    let (d, pairs) = SIZE;
    let rows = Stream::new(d, ROWS);
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let scale = || LengthScale::Shared(1.0);
    for kernel in Kernel::ALL {
        let basis = RandomFourier::new(kernel, d, pairs, scale(), rng)?;
        let name = format!("revrand/features/{}/d{d}_m{pairs}", kernel.name().to_lowercase());
        let map = Map::new(basis, &rows);
        let record =
            compare(repetitions, || Ok::<_, BenchError>(map.seconds()), || Ok::<_, BenchError>(map.plain_seconds()))?;
        // The plain form takes cosine and sine one by one from the mathematical library.
        report.push(Record::compared(name, record, "plain").target(Target::RatioAtLeast(2.0)));
    }
    let orthogonal = Map::new(RandomFourier::orthogonal(Kernel::Rbf, d, pairs, scale(), rng)?, &rows);
    let name = format!("revrand/features/orthogonal_rbf/d{d}_m{pairs}");
    report.push(Record::alone(
        name,
        measure(repetitions, || Ok::<_, BenchError>(orthogonal.seconds()))?,
        Unit::Seconds,
    ));
    let mixture = Map::new(FastFoodMixture::new(&vec![0.5; d], scale(), pairs, rng)?, &rows);
    let name = format!("revrand/features/fastfood_mixture/d{d}_m{pairs}");
    report.push(Record::alone(name, measure(repetitions, || Ok::<_, BenchError>(mixture.seconds()))?, Unit::Seconds));
    crossover(effort, report, rng)
}

/// FastFood next to a dense product at growing numbers of inputs, and from which on it is faster.
fn crossover(effort: Effort, report: &mut Report, rng: &mut ChaCha8Rng) -> Result<(), BenchError> {
    let mut faster = Vec::new();
    for d in INPUTS {
        let pairs = SIZE.1;
        let name = format!("revrand/fastfood/rbf/d{d}_m{pairs}");
        eprintln!("{name}");
        let rows = Stream::new(d, ROWS);
        let dense = Map::new(RandomFourier::new(Kernel::Rbf, d, pairs, LengthScale::Shared(1.0), rng)?, &rows);
        let fast = Map::new(FastFood::new(Kernel::Rbf, d, pairs, LengthScale::Shared(1.0), rng)?, &rows);
        let compared = compare(
            effort.choose(15, 2),
            || Ok::<_, BenchError>(fast.seconds()),
            || Ok::<_, BenchError>(dense.seconds()),
        )?;
        faster.push(compared.ratio.median > 1.0);
        let record = Record::compared(name, compared, "dense features");
        // A dense product costs 2·d a feature, FastFood 2·log₂ d.
        report.push(if d >= 512 { record.target(Target::RatioAtLeast(1.0)) } else { record });
    }
    // From the first number of inputs beyond which FastFood always wins.
    let losses = faster.iter().rposition(|faster| !faster).map_or(0, |last| last + 1);
    let words = INPUTS.get(losses).map_or("FastFood is nowhere faster".to_owned(), |d| {
        format!("FastFood is faster from {d} inputs on, of those measured")
    });
    if let Some(record) = report.records.last_mut() {
        record.note = Some(words);
    }
    Ok(())
}

/// A basis and rows to map.
struct Map<'a, B> {
    basis: B,
    theta: Vec<f64>,
    rows: &'a Stream,
    /// Memory that has been written before, so that no page is fetched within a measurement.
    out: RefCell<Mat<f64>>,
}

impl<'a, B: Basis> Map<'a, B> {
    fn new(basis: B, rows: &'a Stream) -> Self {
        let out = RefCell::new(Mat::full(rows.len(), basis.width(), 1.0));
        Self { theta: basis.start(), basis, rows, out }
    }

    /// Seconds per row of the map.
    fn seconds(&self) -> f64 {
        let mut out = self.out.borrow_mut();
        let elapsed = seconds(|| self.basis.fill(&self.theta, self.rows.inputs(), out.as_mut(), Par::Seq));
        std::hint::black_box(&*out);
        elapsed / self.rows.len() as f64
    }
}

impl Map<'_, RandomFourier> {
    /// The same by loops over rows and features.
    fn plain_seconds(&self) -> f64 {
        let (w, x) = (self.basis.frequencies(), self.rows.inputs());
        let mut out = self.out.borrow_mut();
        let scale = (w.ncols() as f64).sqrt().recip();
        let elapsed = seconds(|| {
            for j in 0..w.ncols() {
                for n in 0..x.nrows() {
                    let z: f64 = (0..x.ncols()).map(|i| x[(n, i)] * w[(i, j)] / self.theta[0]).sum();
                    out[(n, j)] = scale * z.cos();
                    out[(n, w.ncols() + j)] = scale * z.sin();
                }
            }
        });
        std::hint::black_box(&*out);
        elapsed / x.nrows() as f64
    }
}
