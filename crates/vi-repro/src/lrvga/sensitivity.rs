//! §5.2 and §5.3: sensitivity to the latent dimension, linear (Figure 2) and logistic (Figure 3).

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_core::low_rank::{SweepSettings, sweep};
use vi_core::{
    BernoulliLogit, DenseGaussian, Explicit, GaussianBelief, GaussianExpectation, GaussianLikelihood, GlmPosterior,
    Implicit, LowRankGaussian, LowRankSettings, MeanMoves, Mixture8, SiteRule, batch, divergence, filter,
};
use vi_data::Dataset;
use vi_data::synthetic::{LinearSettings, Normalisation, TwoClassesSettings};
use vi_linalg::faer::{Mat, Par};
use vi_models::laplace::{self, LaplaceSettings};

use super::inputs::generator;
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{BLUE, Dash, ORANGE, PURPLE, Style, VERMILLION};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Quantity, Said, Shown, Table, number};

/// Latent dimensions, pale to full in pictures.
const RANKS: [usize; 4] = [1, 2, 10, 50];
/// Dimension of the weights.
const D: usize = 50;
/// Share of the prior precision that the recursion starts its factor with (Appendix D).
const EPSILON: f64 = 1e-8;
/// Separation and scale of the standard normal W₀ of the authors' logistic script.
pub(super) const AUTHORS_S: f64 = 0.457_305_051_927_326_34;
const AUTHORS_W0: f64 = 1e-3;

/// What is compared: KL over the rows of one data set, for one rank.
struct Curves {
    rank: usize,
    printed: Vec<f64>,
    blocked: Vec<f64>,
    /// After sweeps from the blocked pass.
    swept: f64,
}

/// Everything of one data set.
struct Run {
    times: Vec<f64>,
    curves: Vec<Curves>,
    /// Lines of other methods: name, style, value.
    others: Vec<(&'static str, Style, f64)>,
}

/// What a figure is made of.
struct Problem<'a, L> {
    data: &'a Dataset,
    sigma0: f64,
    inner_loops: usize,
    start: Start,
    likelihood: L,
}

/// Where the recursion as printed starts.
#[derive(Clone, Copy)]
enum Start {
    /// As the paper says.
    AppendixD,
    /// As the authors' logistic script has it: the prior’s precision and a small random factor beside it; the mean moves before
    /// each projection.
    Authors,
}

impl<L: GaussianExpectation> Problem<'_, L> {
    /// Runs the recursion as printed and the blocked form for every rank; `kl` judges a dense belief.
    fn curves<R: SiteRule>(
        &self,
        rule: &R,
        rng: &mut ChaCha8Rng,
        kl: impl Fn(&DenseGaussian) -> Result<f64, ReproError>,
    ) -> Result<(Vec<f64>, Vec<Curves>), ReproError> {
        let (x, y) = (self.data.x(), self.data.y());
        let marks: Vec<usize> = (0..y.len()).filter(|t| (t + 1) % (y.len() / 30).max(1) == 0).collect();
        let (mean, variances) = (vec![0.0; D], vec![self.sigma0 * self.sigma0; D]);
        let judged = |belief: &LowRankGaussian| kl(&belief.to_dense().context("dense form")?);
        let mut all = Vec::new();
        for rank in RANKS {
            let moves = match self.start {
                Start::AppendixD => MeanMoves::AfterProjection,
                Start::Authors => MeanMoves::BeforeProjection,
            };
            let settings = LowRankSettings::recursive(rank, self.inner_loops, moves).context("settings")?;
            let start = match self.start {
                Start::AppendixD => LowRankGaussian::with_small_factor(&mean, &variances, EPSILON, settings, rng),
                Start::Authors => {
                    let w = Mat::from_fn(D, rank, |_, _| AUTHORS_W0 * rng.sample::<f64, _>(StandardNormal));
                    let psi: Vec<f64> = variances.iter().map(|v| v.recip()).collect();
                    LowRankGaussian::from_precision(&mean, w.as_ref(), &psi, settings)
                }
            }
            .context("start of the recursion")?;
            let settings = LowRankSettings::blocked(rank).context("settings")?;
            let prior = LowRankGaussian::new(&mean, &variances, settings).context("prior")?;
            let mut paths = Vec::new();
            let mut blocked = prior.clone();
            for belief in [&mut start.clone(), &mut blocked] {
                let mut path = Vec::new();
                for t in 0..y.len() {
                    let row: Vec<f64> = x.row(t).iter().copied().collect();
                    belief.step(rule, &row, y[t], Par::Seq).context("a step")?;
                    if marks.contains(&t) {
                        path.push(judged(belief)?);
                    }
                }
                paths.push(path);
            }
            let settings = SweepSettings::default();
            sweep(&prior, &mut blocked, x, y, &self.likelihood, &settings, Par::Seq).context("sweeps")?;
            let swept = judged(&blocked)?;
            let blocked = paths.pop().unwrap_or_default();
            let printed = paths.pop().unwrap_or_default();
            all.push(Curves { rank, printed, blocked, swept });
        }
        Ok((marks.iter().map(|t| (t + 1) as f64).collect(), all))
    }
}

impl Run {
    fn last(&self, rank: usize, of: impl Fn(&Curves) -> f64) -> f64 {
        self.curves.iter().find(|c| c.rank == rank).map_or(f64::NAN, of)
    }

    fn other(&self, name: &str) -> f64 {
        self.others.iter().find(|(n, ..)| *n == name).map_or(f64::NAN, |(.., value)| *value)
    }
}

fn end(path: &[f64]) -> f64 {
    path.last().copied().unwrap_or(f64::NAN)
}

/// The final divergence of the recursion as printed with rank `p`.
fn printed(run: &Run, p: usize) -> f64 {
    run.last(p, |c| end(&c.printed))
}

/// That of the blocks.
fn blocked(run: &Run, p: usize) -> f64 {
    run.last(p, |c| end(&c.blocked))
}

/// That after sweeps.
fn swept(run: &Run, p: usize) -> f64 {
    run.last(p, |c| c.swept)
}

fn linear_run(ctx: &Context, k: usize) -> Result<Run, ReproError> {
    let mut rng = generator(ctx.seed, k);
    let settings =
        LinearSettings { n: 300, d: D, c: 1.0, normalisation: Normalisation::AsRun, noise_sd: 1.0, theta_sd: 1.0 };
    let drawn = settings.draw(&mut rng).context("data")?;
    let likelihood = GaussianLikelihood::new(1.0).context("likelihood")?;
    let mut exact = DenseGaussian::isotropic(&[0.0; D], 1.0).context("prior")?;
    filter::run(&mut exact, &Explicit(likelihood), drawn.data.x(), drawn.data.y(), |_, _, _| {})
        .context("Kalman filter")?;
    let problem = Problem { data: &drawn.data, sigma0: 1.0, inner_loops: 3, start: Start::AppendixD, likelihood };
    let (times, curves) = problem.curves(&Explicit(likelihood), &mut rng, |belief| {
        divergence::gaussian_kl(belief, &exact).context("divergence")
    })?;
    Ok(Run { times, curves, others: Vec::new() })
}

fn logistic_run(ctx: &Context, k: usize) -> Result<Run, ReproError> {
    let mut rng = generator(ctx.seed, k);
    let settings = TwoClassesSettings { n: 300, d: D, s: AUTHORS_S, c: 1.0, normalisation: Normalisation::AsRun };
    let drawn = settings.draw(&mut rng).context("data")?;
    let (x, y) = (drawn.data.x(), drawn.data.y());
    let logit = BernoulliLogit(Mixture8);
    let prior = DenseGaussian::isotropic(&[0.0; D], 4.0).context("prior")?;
    let (best, _) = batch::optimum(&prior, &prior, x, y, &logit, &batch::BatchSettings::default(), Par::Seq)
        .context("batch optimum")?;
    let posterior = GlmPosterior::new(&prior, x, y, logit).context("posterior")?;
    let absolute = |belief: &DenseGaussian| posterior.kl(belief, Par::Seq).context("divergence");
    let least = absolute(&best)?;
    let kl = |belief: &DenseGaussian| Ok(absolute(belief)? - least);
    let mut dense = prior.clone();
    filter::run(&mut dense, &Implicit(logit), x, y, |_, _, _| {}).context("R-VGA")?;
    let mode = laplace::fit(&prior, x, y, &logit, &LaplaceSettings::default()).context("Laplace")?;
    let others = vec![
        ("R-VGA, full covariance", Style::solid(BLUE).width(1.4), kl(&dense)?),
        ("Laplace", Style::solid(VERMILLION).width(1.4).dash(Dash::Long), kl(&mode.belief)?),
    ];
    let problem = Problem { data: &drawn.data, sigma0: 4.0, inner_loops: 1, start: Start::Authors, likelihood: logit };
    let (times, curves) = problem.curves(&Implicit(logit), &mut rng, kl)?;
    Ok(Run { times, curves, others })
}

fn panel(title: &str, run: &Run, of: impl Fn(&Curves) -> Vec<f64>, printed: bool, range: (f64, f64)) -> Panel {
    let axis = Axis::log("KL (nats)").range(range.0, range.1).floor(FLOOR);
    let mut panel = Panel::new(title, Axis::linear("observations"), axis);
    let (hue, dash) = if printed { (ORANGE, Dash::Dashed) } else { (PURPLE, Dash::Solid) };
    for (i, curve) in run.curves.iter().enumerate() {
        let style = Style::solid(hue.shade(i, RANKS.len())).dash(dash);
        let way = if printed { "as printed" } else { "blocks" };
        panel = panel.line(&run.times, &of(curve), style, &format!("{way}, p = {}", curve.rank));
        if !printed {
            let sweeps = style.width(1.2).dash(Dash::Dotted);
            panel = panel.horizontal(curve.swept, sweeps, &format!("after sweeps, p = {}", curve.rank));
        }
    }
    for (name, style, value) in &run.others {
        panel = panel.horizontal(*value, *style, name);
    }
    panel
}

/// Both panels on one axis.
fn panels(run: &Run, loops: &str) -> Vec<Panel> {
    let curves = run.curves.iter().flat_map(|c| c.printed.iter().chain(&c.blocked).copied().chain([c.swept]));
    let all = curves.chain(run.others.iter().map(|(.., value)| *value)).map(|v| v.max(FLOOR));
    let (low, high) = all.fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
    let range = (0.8 * low, 1.25 * high);
    vec![
        panel(&format!("As printed, {loops}"), run, |c| c.printed.clone(), true, range),
        panel("By blocks, spectral start", run, |c| c.blocked.clone(), false, range),
    ]
}

/// Divergences below this are drawn there.
const FLOOR: f64 = 1e-3;

fn tables(runs: &[Run]) -> Result<Vec<Table>, ReproError> {
    let mut paths = Table::new("", &["p", "observations", "printed_kl", "blocked_kl"]);
    if let Some(run) = runs.first() {
        for curve in &run.curves {
            for (i, t) in run.times.iter().enumerate() {
                paths.push(&[&curve.rank, t, &curve.printed[i], &curve.blocked[i]])?;
            }
        }
    }
    let mut finals = Table::new("finals", &["data_set", "p", "printed_kl", "blocked_kl", "swept_kl"]);
    for (k, run) in runs.iter().enumerate() {
        for c in &run.curves {
            let numbers = [end(&c.printed), end(&c.blocked), c.swept];
            finals.row(&[&k, &c.rank], numbers)?;
        }
    }
    Ok(vec![paths, finals])
}

fn shown(run: &Run) -> Shown {
    let rows = run.curves.iter().map(|c| {
        let numbers = [end(&c.printed), end(&c.blocked), c.swept].map(number);
        std::iter::once(format!("p = {}", c.rank)).chain(numbers).collect()
    });
    let others =
        run.others.iter().map(|(name, _, value)| vec![(*name).into(), number(*value), String::new(), String::new()]);
    Shown::new(["final KL (nats)", "as printed", "ours, by blocks", "ours, after sweeps"], rows.chain(others))
}

fn counted(runs: &[Run], name: &str, values: &[&dyn Said], holds: impl Fn(&Run) -> bool) -> Check {
    words().counted(name, (runs.iter().filter(|run| holds(run)).count(), runs.len()), values)
}

fn runs(ctx: &Context, one: fn(&Context, usize) -> Result<Run, ReproError>) -> Result<Vec<Run>, ReproError> {
    let count = ctx.pick(10, 3);
    ctx.steps(count);
    ctx.each(0..count, "data sets", |k| one(ctx, k))
}

/// Fig 2: linear regression.
pub(super) fn fig2(ctx: &Context) -> Result<Outcome, ReproError> {
    let runs = runs(ctx, linear_run)?;
    let first = &runs[0];
    let of = |p: usize| {
        let numbers = [printed(first, p), blocked(first, p), swept(first, p)].map(number);
        format!("p = {p}: {} printed, {} by blocks, {} swept", numbers[0], numbers[1], numbers[2])
    };
    Ok(Outcome {
        checks: vec![
            counted(&runs, "decreases", &[], |r| {
                r.curves.iter().all(|c| end(&c.printed) < c.printed[c.printed.len() / 10])
            }),
            counted(&runs, "faster", &[&of(1), &of(2), &of(10)], |r| {
                printed(r, 1) > printed(r, 2) && printed(r, 2) > printed(r, 10)
            }),
            counted(&runs, "kalman", &[&of(50)], |r| printed(r, 50) < 1e-6),
            counted(&runs, "blocks-below-printed", &[], |r| RANKS.iter().all(|p| blocked(r, *p) < printed(r, *p))),
            counted(&runs, "blocks-are-kalman", &[&of(50)], |r| blocked(r, 50).abs() < 1e-9),
            counted(&runs, "sweeps-lower", &[], |r| [1, 2, 10].iter().all(|p| swept(r, *p) < blocked(r, *p))),
        ],
        shown: shown(first),
        tables: tables(&runs)?,
        figure: Figure::new(format!("Linear regression, d = {D}, σ₀ = 1")).row(380.0, panels(first, "3 inner loops")),
        ..words().outcome(ctx, &[&of(1), &of(10), &D])
    })
}

/// Fig 3: logistic regression.
pub(super) fn fig3(ctx: &Context) -> Result<Outcome, ReproError> {
    let runs = runs(ctx, logistic_run)?;
    let first = &runs[0];
    let (full, laplace) = (|r: &Run| r.other("R-VGA, full covariance"), |r: &Run| r.other("Laplace"));
    let mode = laplace(first);
    let excess = |of: fn(&Run, usize) -> f64, r: &Run| of(r, 10) - full(r);
    let wins = runs.iter().filter(|r| RANKS.iter().any(|p| printed(r, *p) < laplace(r))).count();
    let quantity = |p: usize, authors: &str| {
        Quantity::new(format!("KL above Laplace’s, p = {p} (nats)"))
            .authors(authors)
            .printed(number(printed(first, p) - mode))
            .works(number(swept(first, p) - mode))
    };
    Ok(Outcome {
        checks: vec![
            words().fact("may-beat-laplace", wins > 0, &[&mode, &wins, &runs.len()]),
            counted(&runs, "very-good", &[&printed(first, 1), &mode], |r| printed(r, 1) <= laplace(r)),
            counted(&runs, "excess-at-ten", &[&excess(blocked, first), &excess(printed, first)], |r| {
                excess(blocked, r) <= 0.6 * excess(printed, r)
            }),
            counted(&runs, "sweeps-below-blocks", &[], |r| RANKS.iter().all(|p| swept(r, *p) <= blocked(r, *p) + 1e-9)),
        ],
        quantities: vec![quantity(1, "20.7"), quantity(10, "12.3")],
        shown: shown(first),
        tables: tables(&runs)?,
        figure: Figure::new(format!("Logistic regression, d = {D}, σ₀ = 4")).row(380.0, panels(first, "1 inner loop")),
        ..words().outcome(
            ctx,
            &[
                &printed(first, 10),
                &blocked(first, 10),
                &swept(first, 10),
                &full(first),
                &mode,
                &D,
                &format!("{AUTHORS_S:.4}"),
                &AUTHORS_W0.to_string(),
            ],
        )
    })
}
