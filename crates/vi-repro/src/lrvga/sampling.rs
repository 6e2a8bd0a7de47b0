//! §4.2.2: draws from N(μ, (Ψ + WWᵀ)⁻¹) by an ensemble (Table 3).

use std::time::Instant;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_core::expectation::LogisticExpectation;
use vi_core::special::sigmoid;
use vi_core::{Exact, ProbitApproximation};
use vi_linalg::LowRank;
use vi_linalg::faer::{Mat, Par};
use vi_linalg::kernels::dot;
use vi_linalg::low_rank::CholeskySampler;

use super::inputs::generator;
use super::memory::Watch;
use super::scale::{MEGA, slope};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::looks::looks;
use crate::plot::palette::{BLACK, Dash, Marker, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{self, Check, Outcome, Shown, Table, join, number};

/// Draws that an expectation is taken with, as in the paper.
const DRAWS: usize = 10;
/// Rank of the precision, as in the paper.
const RANK: usize = 10;
/// `xᵀμ`: the paper's baseline of 0.7738 is `s` of it.
const PROJECTED_MEAN: f64 = 1.23;
/// `xᵀPx` as in the paper's table, and of order one.
const PROJECTED_VARIANCES: [f64; 2] = [2e-7, 1.0];
/// Standard errors that a mean of estimates may be off.
const STANDARD_ERRORS: f64 = 4.0;

looks! {
    enum Sampler {
        Cholesky: "cholesky", "Cholesky sampling", VERMILLION Dashed Triangle;
        Ensemble: "ensemble", "ensemble sampling", BLUE Solid Disc;
    }
}

impl Sampler {
    /// `n` draws from `N(0, (Ψ + WWᵀ)⁻¹)`, with the factorisation they need.
    fn draw(self, s: &LowRank, n: usize, rng: &mut ChaCha8Rng) -> Result<Mat<f64>, ReproError> {
        Ok(match self {
            Self::Cholesky => CholeskySampler::new(s, Par::Seq).context(self.label())?.draw_inverse(n, rng, Par::Seq),
            Self::Ensemble => s.factor(Par::Seq).context(self.label())?.draw_inverse(n, rng, Par::Seq),
        })
    }
}

/// A precision with ψ between 500 and 1500 and standard normal `W`: in 10⁴ dimensions the trace of its inverse is near the
/// paper's.
fn precision(d: usize, rng: &mut ChaCha8Rng) -> Result<LowRank, ReproError> {
    let w = Mat::from_fn(d, RANK, |_, _| rng.sample::<f64, _>(StandardNormal));
    let psi: Vec<f64> = (0..d).map(|_| rng.random_range(500.0..1500.0)).collect();
    LowRank::new(w.as_ref(), &psi).context("the precision")
}

/// A quantity: its exact value, and estimates of it by each sampler with [`DRAWS`] draws.
struct Quantity {
    name: String,
    slug: String,
    exact: f64,
    /// By the paper's probit formula, where it has one.
    baseline: f64,
    estimates: [Vec<f64>; 2],
}

impl Quantity {
    fn of(&self, sampler: Sampler) -> &[f64] {
        &self.estimates[usize::from(sampler == Sampler::Ensemble)]
    }

    /// Mean of the estimates and their standard deviation.
    fn moments(&self, sampler: Sampler) -> (f64, f64) {
        let values = self.of(sampler);
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (mean, (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0)).sqrt())
    }

    /// How many standard errors the mean of the estimates is off.
    fn deviation(&self, sampler: Sampler) -> f64 {
        let (mean, spread) = self.moments(sampler);
        (mean - self.exact).abs() / (spread / (self.of(sampler).len() as f64).sqrt())
    }

    fn panel(&self) -> Panel {
        let names = Sampler::ALL.iter().map(|s| s.slug().to_owned()).collect();
        let mut panel = Panel::new(self.name.clone(), Axis::linear("estimate − exact"), Axis::categories("", names));
        panel = panel.vertical(0.0, Style::solid(BLACK).dash(Dash::Long).marker(Marker::None), "exact");
        for (i, sampler) in Sampler::ALL.into_iter().enumerate() {
            let values: Vec<f64> = self.of(sampler).iter().map(|v| v - self.exact).collect();
            // Estimates side by side, so that they do not hide each other.
            let y: Vec<f64> =
                (0..values.len()).map(|k| i as f64 + 0.5 * (k as f64 / values.len() as f64 - 0.5)).collect();
            let (mean, spread) = self.moments(sampler);
            let mean = mean - self.exact;
            let error = spread / (values.len() as f64).sqrt();
            let thick = sampler.style().width(3.0).dash(Dash::Solid).marker(Marker::None);
            panel = panel.points(&values, &y, sampler.style(), 3.0, &format!("{}, {DRAWS} draws", sampler.label()));
            panel = panel.spread_sideways(&[i as f64 - 0.36], &[mean - 2.0 * error], &[mean + 2.0 * error], thick, "");
        }
        panel
    }
}

/// The trace of the covariance, and the expectation of the logistic function along two inputs.
fn quantities(ctx: &Context, d: usize, repeats: usize) -> Result<Vec<Quantity>, ReproError> {
    let rng = &mut generator(ctx.seed, 0);
    let s = precision(d, rng)?;
    let factored = s.factor(Par::Seq).context("Woodbury")?;
    let direction: Vec<f64> = (0..d).map(|_| rng.sample(StandardNormal)).collect();
    let along = factored.quadratic_form_inverse(&direction, Par::Seq).context("Woodbury")?;
    let mut out = vec![Quantity {
        name: "tr (Ψ + WWᵀ)⁻¹".into(),
        slug: "trace".into(),
        exact: factored.trace_of_inverse(Par::Seq).context("Woodbury")?,
        baseline: f64::NAN,
        estimates: [Vec::new(), Vec::new()],
    }];
    for nu in PROJECTED_VARIANCES {
        out.push(Quantity {
            name: format!("E s(xᵀθ), xᵀPx = {}", number(nu)),
            slug: format!("sigmoid_nu_{nu:e}"),
            exact: Exact.sigmoid(PROJECTED_MEAN, nu).0,
            baseline: ProbitApproximation.sigmoid(PROJECTED_MEAN, nu).0,
            estimates: [Vec::new(), Vec::new()],
        });
    }
    for (i, sampler) in Sampler::ALL.into_iter().enumerate() {
        let draws = sampler.draw(&s, repeats * DRAWS, rng)?;
        for first in (0..draws.ncols()).step_by(DRAWS) {
            let (mut trace, mut means) = (0.0, [0.0; 2]);
            for k in first..first + DRAWS {
                let theta: Vec<f64> = draws.col(k).iter().copied().collect();
                trace += dot(&theta, &theta) / DRAWS as f64;
                let projected = dot(&direction, &theta);
                for (mean, nu) in means.iter_mut().zip(PROJECTED_VARIANCES) {
                    *mean += sigmoid(PROJECTED_MEAN + projected * (nu / along).sqrt()) / DRAWS as f64;
                }
            }
            out[0].estimates[i].push(trace);
            for (quantity, mean) in out[1..].iter_mut().zip(means) {
                quantity.estimates[i].push(mean);
            }
        }
        ctx.step(sampler.label());
    }
    Ok(out)
}

/// Seconds and bytes for [`DRAWS`] draws, by dimension.
struct Cost {
    sampler: Sampler,
    d: Vec<f64>,
    seconds: Vec<f64>,
    bytes: Vec<f64>,
}

fn costs(ctx: &Context, largest: usize) -> Result<Vec<Cost>, ReproError> {
    let dims: Vec<usize> = [300, 1000, 3000, 10_000].into_iter().filter(|d| *d <= largest).collect();
    let mut out = Vec::new();
    for sampler in Sampler::ALL {
        let mut cost = Cost { sampler, d: Vec::new(), seconds: Vec::new(), bytes: Vec::new() };
        for &d in &dims {
            let rng = &mut generator(ctx.seed, d);
            let s = precision(d, rng)?;
            let rounds = if sampler == Sampler::Cholesky && d > 3000 { 1 } else { 5 };
            let watch = Watch::start();
            let mut least = f64::INFINITY;
            for _ in 0..rounds {
                let begun = Instant::now();
                sampler.draw(&s, DRAWS, rng)?;
                least = least.min(begun.elapsed().as_secs_f64());
            }
            cost.d.push(d as f64);
            cost.seconds.push(least);
            cost.bytes.push(watch.peak());
            ctx.step(&format!("{}, d = {d}", sampler.label()));
        }
        out.push(cost);
    }
    Ok(out)
}

fn cost_panels(costs: &[Cost]) -> Vec<Panel> {
    let heading = format!("time of factorisation and {DRAWS} draws");
    let mut time = Panel::new(heading, Axis::log("d"), Axis::log("seconds"));
    let mut memory = Panel::new("memory for them", Axis::log("d"), Axis::log("MB"));
    for cost in costs {
        let label = format!("{}, {DRAWS} draws", cost.sampler.label());
        let megabytes: Vec<f64> = cost.bytes.iter().map(|b| b / MEGA).collect();
        time = time.line_marked(&cost.d, &cost.seconds, cost.sampler.style(), 1, &label);
        memory = memory.line_marked(&cost.d, &megabytes, cost.sampler.style(), 1, &label);
    }
    vec![time, memory]
}

fn claims(quantities: &[Quantity], bytes: &[f64], d: f64) -> Vec<Check> {
    let each = |value: &dyn Fn(&Quantity) -> String| join(quantities, "; ", value);
    // The difference of the two means in its standard error.
    let apart = |q: &Quantity| {
        let ((a, s), (b, t)) = (q.moments(Sampler::Ensemble), q.moments(Sampler::Cholesky));
        let n = q.of(Sampler::Ensemble).len() as f64;
        (a - b).abs() / ((s * s + t * t) / n).sqrt()
    };
    vec![
        words().fact(
            "closed-forms",
            quantities.iter().all(|q| q.deviation(Sampler::Ensemble) < STANDARD_ERRORS),
            &[&each(&|q| {
                let (mean, spread) = q.moments(Sampler::Ensemble);
                let (mean, exact, spread) = (number(mean), number(q.exact), number(spread));
                format!("{}: {mean} for {exact}, one estimate is off by {spread}", q.name)
            })],
        ),
        words().fact(
            "like-cholesky",
            quantities.iter().all(|q| apart(q) < STANDARD_ERRORS),
            &[&each(&|q| format!("{}: {} standard errors apart", q.name, number(apart(q))))],
        ),
        words().fact(
            "not-limited",
            bytes[0] > 8.0 * d * d && bytes[1] < 8.0 * d * d,
            &[&(bytes[0] / MEGA), &(bytes[1] / MEGA)],
        ),
    ]
}

/// The paper's table: exact, by Cholesky, by the ensemble.
const PAPERS: [[&str; 3]; 2] = [["9.24", "9.66", "9.53"], ["0.773801", "0.773857", "0.773855"]];

fn published(quantities: &[Quantity]) -> Vec<report::Quantity> {
    let mut out = Vec::new();
    for (q, paper) in quantities.iter().zip(PAPERS) {
        let ours = [q.exact, q.of(Sampler::Cholesky)[0], q.of(Sampler::Ensemble)[0]];
        for ((how, paper), ours) in ["exact", "Cholesky, ten draws", "ensemble, ten draws"].iter().zip(paper).zip(ours)
        {
            out.push(report::Quantity::new(format!("{}, {how}", q.name)).paper(paper).works(number(ours)));
        }
    }
    out
}

/// Table 3: an expectation and a trace with ten draws, by two samplers.
pub(super) fn table3(ctx: &Context) -> Result<Outcome, ReproError> {
    let (d, repeats) = (ctx.pick(10_000, 1000), ctx.pick(40, 40));
    ctx.steps(2 + ctx.pick(8, 4));
    let quantities = quantities(ctx, d, repeats)?;
    let costs = costs(ctx, d)?;
    let mut table = Table::new("", &["quantity", "sampler", "repeat", "estimate", "exact"]);
    for q in &quantities {
        for sampler in Sampler::ALL {
            for (k, value) in q.of(sampler).iter().enumerate() {
                table.push(&[&q.slug, &sampler.slug(), &k, value, &q.exact])?;
            }
        }
    }
    let mut further = Table::new("cost", &["sampler", "d", "seconds", "bytes_peak"]);
    for cost in &costs {
        for i in 0..cost.d.len() {
            let numbers = [cost.d[i], cost.seconds[i], cost.bytes[i]];
            further.row(&[&cost.sampler.slug()], numbers)?;
        }
    }
    let row = |name: &str, value: &dyn Fn(&Quantity) -> String| {
        std::iter::once(name.to_owned()).chain(quantities.iter().map(value)).collect::<Vec<_>>()
    };
    let first = |sampler: Sampler| {
        move |q: &Quantity| format!("{} ({})", number(q.of(sampler)[0]), number(q.moments(sampler).1))
    };
    let growth: Vec<(Sampler, f64)> = costs.iter().map(|c| (c.sampler, slope(&c.d, &c.seconds))).collect();
    let last = |f: &dyn Fn(&Cost) -> f64| costs.iter().map(f).collect::<Vec<f64>>();
    let (seconds, bytes) = (last(&|c| c.seconds[c.d.len() - 1]), last(&|c| c.bytes[c.d.len() - 1]));
    Ok(Outcome {
        checks: [
            claims(&quantities, &bytes, d as f64),
            vec![words().fact(
                "ensemble-takes-less-time",
                seconds[1] < seconds[0] && bytes[1] < bytes[0] && growth[1].1 < 1.25,
                &[&seconds[1], &seconds[0], &(bytes[1] / MEGA), &(bytes[0] / MEGA), &growth[1].1, &growth[0].1],
            )],
        ]
        .concat(),
        quantities: published(&quantities),
        shown: Shown::new(
            std::iter::once(format!("d = {d}, p = {RANK}")).chain(quantities.iter().map(|q| q.name.clone())),
            vec![
                row("exact", &|q| number(q.exact)),
                row("probit formula", &|q| if q.baseline.is_nan() { String::new() } else { number(q.baseline) }),
                row(Sampler::Cholesky.label(), &first(Sampler::Cholesky)),
                row(Sampler::Ensemble.label(), &first(Sampler::Ensemble)),
            ],
        ),
        tables: vec![table, further],
        figure: Figure::new("Draws from a precision of low rank plus diagonal")
            .row(260.0, quantities.iter().map(Quantity::panel).collect())
            .row(320.0, cost_panels(&costs)),
        ..words().outcome(
            ctx,
            &[
                &d,
                &quantities[0].moments(Sampler::Ensemble).1,
                &quantities[0].exact,
                &quantities[0].moments(Sampler::Cholesky).1,
                &seconds[1],
                &seconds[0],
                &repeats,
                &PROJECTED_MEAN.to_string(),
            ],
        )
    })
}
