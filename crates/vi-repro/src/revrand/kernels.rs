//! §1.4: how fast random features approach their kernels.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vi_linalg::faer::{Mat, Par};
use vi_revrand::basis::{Basis, Composed, FastFood, LengthScale, RandomFourier};
use vi_revrand::{Kernel, RevrandError};

use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::looks::looks;
use crate::plot::palette::{Dash, GREY, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Shown, Table, number};

/// Inputs of the features: a power of two, so that FastFood has as many pairs as the others.
const INPUTS: usize = 8;
/// Points between which the kernel is looked at.
const POINTS: usize = 30;

looks! {
    /// How frequencies are drawn.
    enum Draws {
        Independent: "independent", "independent", BLUE Solid Disc;
        Orthogonal: "orthogonal", "orthogonal", ORANGE Dashed Square;
        FastFood: "fastfood", "FastFood", GREEN DashDot Triangle;
    }
}

impl Draws {
    /// Only isotropic kernels have orthogonal features.
    fn exists(self, kernel: Kernel) -> bool {
        self == Self::Independent || kernel != Kernel::LaplaceProduct
    }

    fn basis(self, kernel: Kernel, pairs: usize, rng: &mut ChaCha8Rng) -> Result<Composed, RevrandError> {
        let scale = LengthScale::Shared(1.0);
        Ok(match self {
            Self::Independent => RandomFourier::new(kernel, INPUTS, pairs, scale, rng)?.into(),
            Self::Orthogonal => RandomFourier::orthogonal(kernel, INPUTS, pairs, scale, rng)?.into(),
            Self::FastFood => FastFood::new(kernel, INPUTS, pairs, scale, rng)?.into(),
        })
    }
}

/// Root mean square error over pairs of points and over draws, for each number of pairs of features.
struct Curve {
    kernel: Kernel,
    draws: Draws,
    errors: Vec<f64>,
    /// The mean error with its sign, over draws and points, at the smallest number; and its standard error.
    bias: (f64, f64),
}

impl Curve {
    fn new(
        kernel: Kernel,
        draws: Draws,
        x: &Mat<f64>,
        pairs: &[usize],
        repeats: usize,
        rng: &mut ChaCha8Rng,
    ) -> Result<Self, RevrandError> {
        let row = |i: usize| x.row(i).iter().copied().collect::<Vec<f64>>();
        let mut exact = Mat::<f64>::zeros(POINTS, POINTS);
        for i in 0..POINTS {
            for j in 0..i {
                exact[(i, j)] = kernel.value(&row(i), &row(j), &[1.0])?;
            }
        }
        let count = (POINTS * (POINTS - 1) / 2) as f64;
        let (mut errors, mut bias) = (Vec::new(), (f64::NAN, f64::NAN));
        for (k, &pairs) in pairs.iter().enumerate() {
            let mut squared = 0.0;
            let mut means = Vec::new();
            for _ in 0..repeats {
                let basis = draws.basis(kernel, pairs, rng)?;
                let phi = basis.features(&basis.start(), x.as_ref(), Par::Seq)?;
                let gram = &phi * phi.transpose();
                let mut mean = 0.0;
                for i in 0..POINTS {
                    for j in 0..i {
                        let error: f64 = gram[(i, j)] - exact[(i, j)];
                        squared += error * error;
                        mean += error / count;
                    }
                }
                means.push(mean);
            }
            errors.push((squared / (count * repeats as f64)).sqrt());
            if k == 0 {
                bias = mean_and_error(&means);
            }
        }
        Ok(Self { kernel, draws, errors, bias })
    }

    /// The exponent of a power law through the errors, and its standard error from what is left.
    fn exponent(&self, pairs: &[usize]) -> (f64, f64) {
        let (x, y): (Vec<f64>, Vec<f64>) =
            pairs.iter().zip(&self.errors).map(|(m, e)| ((*m as f64).ln(), e.ln())).unzip();
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let (mx, my) = (mean(&x), mean(&y));
        let covariance: f64 = x.iter().zip(&y).map(|(x, y)| (x - mx) * (y - my)).sum();
        let spread = x.iter().map(|x| (x - mx) * (x - mx)).sum::<f64>();
        let slope = covariance / spread;
        let left: f64 = x.iter().zip(&y).map(|(x, y)| (y - my - slope * (x - mx)).powi(2)).sum();
        (slope, (left / (x.len() as f64 - 2.0) / spread).sqrt())
    }

    fn name(&self) -> String {
        format!("{} {}", self.kernel.name(), self.draws.label())
    }
}

/// The mean of numbers and its standard error.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

fn title(kernel: Kernel) -> &'static str {
    match kernel {
        Kernel::Rbf => "RBF",
        Kernel::Laplace => "Laplace, exp(−r)",
        Kernel::Cauchy => "Cauchy",
        Kernel::Matern32 => "Matérn 3/2",
        Kernel::Matern52 => "Matérn 5/2",
        _ => "Laplace product, exp(−‖·‖₁)",
    }
}

/// Error of the kernel against the number of features, kernel by kernel.
pub(super) fn kernels(ctx: &Context) -> Result<Outcome, ReproError> {
    let pairs: Vec<usize> = (3..=ctx.pick(12, 9)).map(|power| 1 << power).collect();
    let repeats = ctx.pick(100, 40);
    let rng = &mut ChaCha8Rng::seed_from_u64(ctx.seed);
    // Distances about 1.4 on the scale of the kernel: values of all sizes.
    let x = Mat::from_fn(POINTS, INPUTS, |_, _| rng.random_range(-0.6..0.6));
    let all = Kernel::ALL.into_iter().flat_map(|kernel| Draws::ALL.map(|draws| (kernel, draws)));
    let all: Vec<_> = all.filter(|(kernel, draws)| draws.exists(*kernel)).collect();
    ctx.steps(all.len());
    let mut curves = Vec::new();
    for (kernel, draws) in all {
        let curve = Curve::new(kernel, draws, &x, &pairs, repeats, rng);
        curves.push(curve.context(kernel.name())?);
        ctx.step(kernel.name());
    }
    Ok(Outcome {
        summary: summary(&curves, &pairs),
        checks: [checks(&curves, &pairs), beyond(&curves)].concat(),
        shown: Shown::new(
            ["features", "error at fewest", "error at most", "exponent", "bias at fewest"],
            curves.iter().map(|c| {
                let ends = [c.errors.first(), c.errors.last()].map(|e| number(e.copied().unwrap_or(f64::NAN)));
                let [first, last] = ends;
                let bias = format!("{} ± {}", number(c.bias.0), number(c.bias.1));
                vec![c.name(), first, last, number(c.exponent(&pairs).0), bias]
            }),
        ),
        tables: vec![table(&curves, &pairs)?],
        figure: figure(&curves, &pairs),
        ..words().outcome(ctx, &[&repeats, &POINTS, &INPUTS])
    })
}

fn checks(curves: &[Curve], pairs: &[usize]) -> Vec<Check> {
    let exponents: Vec<(f64, f64)> = curves.iter().map(|c| c.exponent(pairs)).collect();
    let right = exponents.iter().filter(|(e, error)| (e + 0.5).abs() <= 3.0 * error).count();
    let (low, high) =
        exponents.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), (e, _)| (l.min(*e), h.max(*e)));
    let unbiased = |c: &&Curve| c.bias.0.abs() <= 4.0 * c.bias.1;
    vec![
        words().counted("rate", (right, curves.len()), &[&low, &high]),
        words().counted("unbiased", (curves.iter().filter(unbiased).count(), curves.len()), &[]),
    ]
}

/// Orthogonal frequencies against independent ones, kernel by kernel, at the most features.
fn beyond(curves: &[Curve]) -> Vec<Check> {
    let last = |kernel: Kernel, draws: Draws| {
        let curve = curves.iter().find(|c| c.kernel == kernel && c.draws == draws);
        curve.and_then(|c| c.errors.last().copied()).unwrap_or(f64::NAN)
    };
    let isotropic: Vec<Kernel> = Kernel::ALL.into_iter().filter(|kernel| Draws::Orthogonal.exists(*kernel)).collect();
    let ratio = |kernel: &Kernel| last(*kernel, Draws::Orthogonal) / last(*kernel, Draws::Independent);
    let list: Vec<String> = isotropic.iter().map(|k| format!("{} {}", k.name(), number(ratio(k)))).collect();
    vec![words().fact(
        "orthogonal-directions-lower-error",
        isotropic.iter().all(|kernel| ratio(kernel) < 1.0),
        &[&list.join(", ")],
    )]
}

fn summary(curves: &[Curve], pairs: &[usize]) -> String {
    let most = pairs.last().copied().unwrap_or(0);
    let errors: Vec<f64> = curves.iter().filter_map(|c| c.errors.last().copied()).collect();
    let (low, high) = errors.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), e| (l.min(*e), h.max(*e)));
    format!("With {most} pairs of features the error is between {} and {} of k(x, x) = 1.", number(low), number(high))
}

fn table(curves: &[Curve], pairs: &[usize]) -> Result<Table, ReproError> {
    let mut table = Table::new("", &["kernel", "draws", "pairs", "rms_error"]);
    for curve in curves {
        for (m, error) in pairs.iter().zip(&curve.errors) {
            table.push(&[&curve.kernel.name(), &curve.draws.label(), m, error])?;
        }
    }
    Ok(table)
}

fn figure(curves: &[Curve], pairs: &[usize]) -> Figure {
    let m: Vec<f64> = pairs.iter().map(|m| *m as f64).collect();
    let rate: Vec<f64> = m.iter().map(|m| (2.0 * m).sqrt().recip()).collect();
    let panel = |kernel: Kernel| {
        let axes = (Axis::log("pairs of features m"), Axis::log("root mean square error").range(2e-3, 0.5));
        let mut panel = Panel::new(title(kernel), axes.0, axes.1).line_marked(
            &m,
            &rate,
            Style::solid(GREY).dash(Dash::Dotted).width(1.4),
            0,
            "1/√(2m)",
        );
        for curve in curves.iter().filter(|c| c.kernel == kernel) {
            panel = panel.line_marked(&m, &curve.errors, curve.draws.style(), 1, curve.draws.label());
        }
        panel
    };
    let row = |kernels: [Kernel; 3]| kernels.into_iter().map(panel).collect();
    Figure::new(format!("Kernels from random features, {INPUTS} inputs"))
        .row(280.0, row([Kernel::Rbf, Kernel::Matern52, Kernel::Matern32]))
        .row(280.0, row([Kernel::Laplace, Kernel::LaplaceProduct, Kernel::Cauchy]))
}
