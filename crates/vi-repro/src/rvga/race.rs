//! Beyond the paper: how far from the optimum each method ends, and how long it takes.

use std::time::Instant;

use vi_core::batch::{self, BatchSettings};
use vi_core::block::{self, BlockScratch, BlockSettings};
use vi_core::{
    BernoulliLogit, DenseGaussian, Exact, GlmPosterior, Implicit, Linearised, Mixture8, ProbitApproximation,
    QuadraticBound, SiteRule, filter,
};
use vi_data::Dataset;
use vi_linalg::faer::Par;
use vi_models::laplace::{self, LaplaceSettings};

use super::mean_field::mean_field;
use super::refined::{LOGIT, RESOLUTION, SWEEPS, falls, first_pass, mixture_posterior, refine_by};
use super::replicate::Setting;
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::Method::{self, BatchVga, Ekf, Laplace, MeanField, Qkf, Refinement, RvgaImplicit};
use crate::plot::palette::{BLACK, Dash, GREY, Marker, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Shown, Table, join, number};

const BASE: Setting = Setting { n: 500, d: 100, s: 2.0, c: 0.0, sigma0: 1.0, mu0_norm: 0.0 };
/// Where the batch optimum is looked at on its way, in passes over the data.
const LOOKS: [usize; 20] = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 28, 32, 40, 64, 96];
/// Rounds of timing, in a full and in a quick run.
const ROUNDS: (usize, usize) = (15, 5);
/// What the batch optimiser is called, by its start.
const COLD: &str = "batch VGA from the prior";
const WARM: &str = "batch VGA from the first pass";

/// One run: what it was, how long it took, where it ended.
struct Finish {
    method: Method,
    how: &'static str,
    passes: usize,
    seconds: f64,
    gap: f64,
}

/// All runs in one setting.
struct Race {
    name: String,
    finishes: Vec<Finish>,
}

/// A run that can be made again.
type Run<'a> = Box<dyn FnMut() -> Result<DenseGaussian, ReproError> + 'a>;

/// What the runs of one setting share.
struct Track<'a> {
    prior: &'a DenseGaussian,
    data: &'a Dataset,
    posterior: GlmPosterior<'a, BernoulliLogit<Mixture8>>,
    least: f64,
    runs: Vec<(Finish, Run<'a>)>,
}

impl<'a> Track<'a> {
    /// Makes the run once, enters where it ends and returns how far that is from the optimum.
    fn enter(
        &mut self,
        method: Method,
        how: &'static str,
        passes: usize,
        mut run: impl FnMut() -> Result<DenseGaussian, ReproError> + 'a,
    ) -> Result<f64, ReproError> {
        let kl = self.posterior.kl(&run()?, Par::Seq).context("KL")?;
        let gap = kl - self.least;
        self.runs.push((Finish { method, how, passes, seconds: f64::INFINITY, gap }, Box::new(run)));
        Ok(gap)
    }

    /// One pass of a filter, observation by observation and in blocks.
    fn enter_filter<R: SiteRule>(&mut self, method: Method, rule: &'a R) -> Result<(), ReproError> {
        let (prior, data) = (self.prior, self.data);
        self.enter(method, "sequential", 1, move || {
            let mut belief = prior.clone();
            filter::run(&mut belief, rule, data.x(), data.y(), |_, _, _| {}).context(method.label())?;
            Ok(belief)
        })?;
        self.enter(method, "blocked", 1, move || {
            let mut belief = prior.clone();
            let mut scratch = BlockScratch::new(&belief, BlockSettings::for_dim(data.d()));
            block::run(&mut belief, rule, data.x(), data.y(), &mut scratch, Par::Seq, |_, _, _| {})
                .context(method.label())?;
            Ok(belief)
        })?;
        Ok(())
    }

    /// The batch optimiser stopped after ever more passes, until it has arrived.
    fn enter_optimum(&mut self, how: &'static str, warm: bool) -> Result<(), ReproError> {
        let (prior, data) = (self.prior, self.data);
        for passes in LOOKS {
            let settings = BatchSettings { tolerance: 1e-9, max_passes: passes };
            let gap = self.enter(BatchVga, how, passes, move || {
                let start = if warm { first_pass(prior, data)?.belief } else { prior.clone() };
                batch::optimum(prior, &start, data.x(), data.y(), &LOGIT, &settings, Par::Seq)
                    .map(|(belief, _)| belief)
                    .context("optimum")
            })?;
            if gap <= RESOLUTION {
                break;
            }
        }
        Ok(())
    }

    /// Times every run in turn, `rounds` times over, and keeps the least time of each: what else the machine does then falls on
    /// all of them alike.
    fn time(mut self, rounds: usize) -> Result<Vec<Finish>, ReproError> {
        for _ in 0..rounds {
            for (finish, run) in &mut self.runs {
                let begun = Instant::now();
                run()?;
                finish.seconds = finish.seconds.min(begun.elapsed().as_secs_f64());
            }
        }
        Ok(self.runs.into_iter().map(|(finish, _)| finish).collect())
    }
}

impl Race {
    fn new(ctx: &Context, name: String, setting: Setting) -> Result<Self, ReproError> {
        let (prior, data) = (setting.prior()?, setting.data(ctx.seed, 0)?);
        let tight = BatchSettings { tolerance: 1e-11, max_passes: 500 };
        let start = first_pass(&prior, &data)?.belief;
        let (best, _) =
            batch::optimum(&prior, &start, data.x(), data.y(), &LOGIT, &tight, Par::Seq).context("optimum")?;
        let posterior = mixture_posterior(&prior, &data)?;
        let least = posterior.kl(&best, Par::Seq).context("KL")?;
        let (paper, ours) = (BernoulliLogit(ProbitApproximation), Implicit(LOGIT));
        let (implicit, linearised) = (Implicit(paper), Linearised::extended_kalman(paper));
        let refine = |sweeps: usize| -> Result<DenseGaussian, ReproError> {
            let mut refinement = first_pass(&prior, &data)?;
            refine_by(&prior, &mut refinement, &data, sweeps)?;
            Ok(refinement.belief)
        };
        let mut track = Track { prior: &prior, data: &data, posterior, least, runs: Vec::new() };
        track.enter_filter(RvgaImplicit, &implicit)?;
        track.enter_filter(Ekf, &linearised)?;
        track.enter_filter(Qkf, &QuadraticBound::Once)?;
        track.enter_filter(Refinement, &ours)?;
        for sweeps in 1..=SWEEPS {
            track.enter(Refinement, "blocked", sweeps + 1, move || refine(sweeps))?;
        }
        track.enter(Laplace, "batch", 0, || {
            laplace::fit(&prior, data.x(), data.y(), &BernoulliLogit(Exact), &LaplaceSettings::default())
                .map(|fit| fit.belief)
                .context("Laplace")
        })?;
        track.enter(MeanField, "batch", 0, || mean_field(&prior, &data))?;
        track.enter_optimum("from the prior", false)?;
        track.enter_optimum("from the first pass", true)?;
        ctx.step(&name);
        let finishes = track.time(ctx.pick(ROUNDS.0, ROUNDS.1))?;
        ctx.step(&name);
        Ok(Self { name, finishes })
    }

    fn of<'a>(&'a self, method: Method, how: &'a str) -> impl Iterator<Item = &'a Finish> {
        self.finishes.iter().filter(move |f| f.method == method && f.how == how)
    }

    /// Gaps of the blocked passes 1, 2, …
    fn gaps(&self) -> Vec<f64> {
        self.of(Refinement, "blocked").map(|f| f.gap).collect()
    }

    fn after(&self, passes: usize) -> Option<&Finish> {
        self.of(Refinement, "blocked").find(|f| f.passes == passes)
    }

    /// Time in which the batch optimiser first comes as close as `gap`.
    fn optimiser(&self, how: &str, gap: f64) -> f64 {
        let close = self.of(BatchVga, how).filter(|f| f.gap <= gap.max(RESOLUTION));
        close.map(|f| f.seconds).fold(f64::INFINITY, f64::min)
    }

    /// The least gap of methods that are neither sweeps nor optimum.
    fn others(&self) -> f64 {
        let others = self.finishes.iter().filter(|f| f.method != Refinement && f.method != BatchVga);
        others.map(|f| f.gap).fold(f64::INFINITY, f64::min)
    }

    fn panel(&self) -> Panel {
        let floor = |g: f64| g.max(RESOLUTION);
        let curve = |all: &mut dyn Iterator<Item = &Finish>| -> (Vec<f64>, Vec<f64>) {
            all.map(|f| (1e3 * f.seconds, floor(f.gap))).unzip()
        };
        let mut panel =
            Panel::new(self.name.clone(), Axis::log("wall time (ms)"), Axis::log("KL above the optimum (nats)"));
        let warm = Style::solid(GREY).dash(Dash::Dotted).marker(Marker::Disc);
        let cold = BatchVga.style().marker(Marker::Disc);
        for (how, style, label) in [("from the prior", cold, COLD), ("from the first pass", warm, WARM)] {
            let (t, gap) = curve(&mut self.of(BatchVga, how));
            panel = panel.line_marked(&t, &gap, style.width(1.6), 1, label);
        }
        for m in [RvgaImplicit, Ekf, Qkf] {
            let (t, gap) = curve(&mut self.finishes.iter().filter(|f| f.method == m));
            panel = panel.line_marked(&t, &gap, m.style(), 1, m.label());
        }
        for m in [Laplace, MeanField] {
            let (t, gap) = curve(&mut self.of(m, "batch"));
            let marker = if m == Laplace { Marker::Cross } else { m.style().marker };
            panel = panel.points(&t, &gap, m.style().marker(marker), 6.0, m.label());
        }
        let (t, gap) = curve(&mut self.of(Refinement, "sequential").chain(self.after(1)));
        panel = panel.line_marked(&t, &gap, Refinement.style().width(1.2), 1, "");
        let (t, gap) = curve(&mut self.of(Refinement, "blocked"));
        panel = panel.line_marked(&t, &gap, Refinement.style().width(2.6), 1, Refinement.label());
        for (i, (t, gap)) in t.iter().zip(&gap).enumerate() {
            panel = panel.text(1.05 * t, 1.9 * gap, (i + 1).to_string(), BLACK);
        }
        panel
    }
}

fn checks(races: &[Race]) -> Vec<Check> {
    let each = |text: &dyn Fn(&Race) -> String| join(races, "; ", |r| format!("{}: {}", r.name, text(r)));
    let all = |holds: &dyn Fn(&Race) -> bool| races.iter().all(holds);
    let gap = |r: &Race, passes: usize| r.after(passes).map_or(f64::NAN, |f| f.gap);
    let seconds = |r: &Race, passes: usize| r.after(passes).map_or(f64::NAN, |f| f.seconds);
    let lowest = |r: &Race| r.finishes.iter().map(|f| f.gap).fold(f64::INFINITY, f64::min);
    let sequential =
        |r: &Race| r.of(Refinement, "sequential").next().map_or((f64::NAN, f64::NAN), |f| (f.gap, f.seconds));
    let ms = |s: f64| format!("{} ms", number(1e3 * s));
    let sooner = |how: &str| {
        let hits = races.iter().filter(|r| seconds(r, 4) < r.optimiser(how, gap(r, 4))).count();
        words().counted(
            "four-passes-come-close",
            (hits, races.len()),
            &[
                &how,
                &each(&|r| {
                    let goal = gap(r, 4);
                    format!("{} against {} for {}", ms(seconds(r, 4)), ms(r.optimiser(how, goal)), number(goal))
                }),
            ],
        )
    };
    vec![
        words().fact(
            "each-further-pass-comes",
            all(&|r| falls(&r.gaps())),
            &[&each(&|r| r.gaps().iter().map(|g| number(*g)).collect::<Vec<_>>().join(", "))],
        ),
        words().fact(
            "method-ends-below-optimum",
            all(&|r| lowest(r) >= -RESOLUTION),
            &[&each(&|r| format!("least gap {}", number(lowest(r))))],
        ),
        words().fact(
            "two-passes-end-closer",
            all(&|r| gap(r, 2) < r.others()),
            &[&each(&|r| {
                format!("{} after two passes, {} for the best of them", number(gap(r, 2)), number(r.others()))
            })],
        ),
        words().fact(
            "blocked-pass-ends-where",
            all(&|r| (gap(r, 1) - sequential(r).0).abs() < RESOLUTION && seconds(r, 1) < sequential(r).1),
            &[&each(&|r| format!("{} against {}", ms(seconds(r, 1)), ms(sequential(r).1)))],
        ),
        sooner("from the prior"),
        sooner("from the first pass"),
    ]
}

/// KL gap to the optimum against wall time.
pub(super) fn refinement(ctx: &Context) -> Result<Outcome, ReproError> {
    ctx.steps(4);
    let races = [1.0, 30.0]
        .into_iter()
        .map(|sigma0| Race::new(ctx, format!("σ₀ = {sigma0}"), Setting { sigma0, ..BASE }))
        .collect::<Result<Vec<_>, _>>()?;
    let mut table = Table::new("", &["panel", "method", "how", "passes", "seconds", "kl_above_optimum"]);
    for r in &races {
        for f in &r.finishes {
            table.push(&[&r.name, &f.method.slug(), &f.how, &f.passes, &f.seconds, &f.gap])?;
        }
    }
    let rows = races[0].finishes.iter().filter(|f| f.method != BatchVga).map(|f| {
        let passes = if f.passes > 0 { format!(", {} × the data", f.passes) } else { String::new() };
        let numbers = races.iter().flat_map(|r| {
            let same = |g: &&Finish| g.method == f.method && g.how == f.how && g.passes == f.passes;
            let found = r.finishes.iter().find(same);
            [found.map_or(f64::NAN, |g| 1e3 * g.seconds), found.map_or(f64::NAN, |g| g.gap)].map(number)
        });
        std::iter::once(format!("{}, {}{passes}", f.method.label(), f.how)).chain(numbers).collect()
    });
    let heads = races.iter().flat_map(|r| [format!("ms, {}", r.name), format!("gap, {}", r.name)]);
    let last: Vec<String> = races
        .iter()
        .filter_map(|r| {
            let f = r.after(SWEEPS + 1)?;
            Some(format!("{} nats in {} ms ({})", number(f.gap), number(1e3 * f.seconds), r.name))
        })
        .collect();
    Ok(Outcome {
        checks: checks(&races),
        shown: Shown::new(std::iter::once("method".to_owned()).chain(heads), rows),
        tables: vec![table],
        figure: Figure::new("From one pass to the best Gaussian: d = 100, N = 500")
            .row(460.0, races.iter().map(Race::panel).collect()),
        ..words().outcome(
            ctx,
            &[
                &(SWEEPS + 1),
                &last.join(" and "),
                &BASE.d,
                &BASE.n,
                &BASE.s.to_string(),
                &BASE.c.to_string(),
                &ctx.pick(ROUNDS.0, ROUNDS.1),
            ],
        )
    })
}
