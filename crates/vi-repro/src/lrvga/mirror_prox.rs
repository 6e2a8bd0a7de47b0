//! Appendix G: schemes of one step on a posterior in two dimensions (Figure 5).

use vi_core::batch::{self, BatchSettings};
use vi_core::refine::{self, RefineSettings};
use vi_core::{BernoulliLogit, DenseGaussian, Explicit, GaussianLikelihood, Implicit, Mixture8, divergence, filter};
use vi_data::Dataset;
use vi_data::synthetic::{Normalisation, TwoClassesSettings};
use vi_linalg::faer::Par;

use super::inputs::generator;
use super::scheme::Scheme;
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::logistic::{Planar, Posterior, Window, add_ellipse, include, laplace, moments, remark};
use crate::panels::scatter;
use crate::plot::palette::{BLACK, Marker, Method, Style, WHITE};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Said, Shown, Table, join, median, number, quartiles};

const SETTINGS: TwoClassesSettings =
    TwoClassesSettings { n: 10, d: 2, s: 2.0, c: 2.0, normalisation: Normalisation::AsRun };
const SIGMA0: f64 = 10.0;
const LOGIT: BernoulliLogit<Mixture8> = BernoulliLogit(Mixture8);
/// Sweeps after the first pass.
const SWEEPS: usize = 3;
/// Gap to the optimum, in nats, that the sweeps are held against.
const TARGET: f64 = 0.01;
/// How many times wider than the posterior's own the window may become to show a scheme.
const WIDEST: f64 = 3.0;

/// A Gaussian beside the truth: a scheme's, or one of the batch methods'.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    Scheme(Scheme),
    Batch(Method),
}

const COMPARED: [Of; 9] = [
    Of::Scheme(Scheme::NaturalGradient),
    Of::Scheme(Scheme::Explicit),
    Of::Scheme(Scheme::Implicit),
    Of::Scheme(Scheme::Printed),
    Of::Scheme(Scheme::SkipCovariance),
    Of::Scheme(Scheme::Corrected),
    Of::Batch(Method::Laplace),
    Of::Batch(Method::Refinement),
    Of::Batch(Method::BatchVga),
];

impl Of {
    fn label(self) -> String {
        match self {
            Self::Scheme(s) => s.label().to_owned(),
            Self::Batch(Method::Refinement) => format!("after {SWEEPS} sweeps"),
            Self::Batch(m) => m.label().to_owned(),
        }
    }

    fn slug(self) -> &'static str {
        match self {
            Self::Scheme(s) => s.slug(),
            Self::Batch(m) => m.slug(),
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Scheme(s) => s.style(),
            Self::Batch(m) => m.style(),
        }
    }
}

/// One data set: every Gaussian, and its normalised KL to the posterior.
struct Run {
    data: Dataset,
    truth: Planar,
    /// In the order of [`COMPARED`]; `None` where a filter broke down.
    beliefs: Vec<Option<DenseGaussian>>,
    kl: Vec<f64>,
    remarks: Vec<String>,
    /// KL to the Kalman filter's belief when the same labels are numbers with unit noise: printed, skip-covariance, corrected.
    linear: [f64; 3],
}

fn prior() -> Result<DenseGaussian, ReproError> {
    DenseGaussian::isotropic(&[0.0; 2], SIGMA0).context("prior")
}

impl Run {
    fn new(seed: u64, k: usize, points: usize) -> Result<Self, ReproError> {
        let data = SETTINGS.draw(&mut generator(seed, k)).context("data")?.data;
        let prior = prior()?;
        let posterior = Posterior::new(&prior, &data)?;
        let mode = laplace(&prior, &data)?;
        let (mean, cov) = moments(&mode);
        let truth = Planar::new(&posterior, mean, cov, points)?;
        let (mut beliefs, mut remarks) = (Vec::new(), Vec::new());
        for scheme in Scheme::ALL {
            let belief = scheme.pass(LOGIT, &prior, &data)?;
            beliefs.push(belief.map_err(|text| remarks.push(format!("Data set {k}: {text}."))).ok());
        }
        let (swept, best) = refined(&prior, &data)?;
        beliefs.extend([mode, swept, best].map(Some));
        let kl = beliefs.iter().map(|belief| match belief {
            Some(belief) => Ok(posterior.kl(belief)? + truth.log_z),
            None => Ok(f64::INFINITY),
        });
        let kl = kl.collect::<Result<_, ReproError>>()?;
        let linear = linear(&prior, &data)?;
        Ok(Self { data, truth, beliefs, kl, remarks, linear })
    }

    fn of(&self, what: Of) -> f64 {
        COMPARED.iter().position(|c| *c == what).map_or(f64::NAN, |i| self.kl[i])
    }

    fn scheme(&self, scheme: Scheme) -> f64 {
        self.of(Of::Scheme(scheme))
    }

    fn gap(&self, what: Of) -> f64 {
        self.of(what) - self.of(Of::Batch(Method::BatchVga))
    }

    /// Holds every Gaussian that is not too far away.
    fn window(&self) -> Result<Window, ReproError> {
        let own = self.truth.region;
        let mut view = own;
        for belief in self.beliefs.iter().flatten() {
            let mut wider = view;
            include(&mut wider, belief)?;
            if wider.iter().zip(&own).all(|(new, own)| new.1 - new.0 <= WIDEST * (own.1 - own.0)) {
                view = wider;
            }
        }
        Ok(view.map(|(lo, hi)| (lo - 0.06 * (hi - lo), hi + 0.06 * (hi - lo))))
    }

    fn panel(&self, title: &str, drawn: &[Of], points: usize) -> Result<Panel, ReproError> {
        let view = self.window()?;
        let prior = prior()?;
        let contours = Planar::window(&Posterior::new(&prior, &self.data)?, view, points)?;
        let truth = Method::TruePosterior;
        let [x, y] = view;
        let mut panel = Panel::new(title, Axis::linear("θ₁").range(x.0, x.1), Axis::linear("θ₂").range(y.0, y.1))
            .contours(&contours, &self.truth.levels, truth.style().width(1.4), truth.label())
            .points(&[self.truth.mean[0]], &[self.truth.mean[1]], truth.style().marker(Marker::Plus), 5.0, "");
        for (what, belief) in COMPARED.iter().zip(&self.beliefs) {
            let Some(belief) = belief.as_ref().filter(|_| drawn.contains(what)) else { continue };
            let (mean, cov) = moments(belief);
            let width = if *what == Of::Batch(Method::Refinement) { 4.0 } else { 2.0 };
            panel = add_ellipse(panel, mean, cov, what.style().width(width), &what.label())?;
            panel = remark(panel, view, &what.label(), mean);
        }
        Ok(panel)
    }
}

/// The belief after [`SWEEPS`] sweeps, and the batch optimum.
fn refined(prior: &DenseGaussian, data: &Dataset) -> Result<(DenseGaussian, DenseGaussian), ReproError> {
    let (x, y) = (data.x(), data.y());
    let mut swept = refine::first_pass(prior, &Implicit(LOGIT), x, y, Par::Seq).context("refinement")?;
    let settings = RefineSettings { tolerance: f64::MIN_POSITIVE, max_sweeps: SWEEPS, ..RefineSettings::default() };
    refine::refine(prior, &mut swept, x, y, &LOGIT, &settings, Par::Seq).context("refinement")?;
    let settings = BatchSettings { tolerance: 1e-10, max_passes: 300 };
    let (best, _) = batch::optimum(prior, &swept.belief, x, y, &LOGIT, &settings, Par::Seq).context("refinement")?;
    Ok((swept.belief, best))
}

fn linear(prior: &DenseGaussian, data: &Dataset) -> Result<[f64; 3], ReproError> {
    let noise = GaussianLikelihood::new(1.0).context("linear model")?;
    let mut exact = prior.clone();
    filter::run(&mut exact, &Explicit(noise), data.x(), data.y(), |_, _, _| {}).context("linear model")?;
    let mut out = [f64::INFINITY; 3];
    for (kl, scheme) in out.iter_mut().zip([Scheme::Printed, Scheme::SkipCovariance, Scheme::Corrected]) {
        if let Ok(belief) = scheme.pass(noise, prior, data)? {
            *kl = divergence::gaussian_kl(&belief, &exact).context("linear model")?;
        }
    }
    Ok(out)
}

/// The KL of every Gaussian on every data set.
fn strip(runs: &[Run]) -> Panel {
    let names = COMPARED.iter().rev().map(|what| what.label()).collect();
    let title = format!("KL to the posterior, {} data sets", runs.len());
    let mut panel = Panel::new(title, Axis::log("KL (nats)"), Axis::categories("", names));
    for (i, what) in COMPARED.iter().rev().enumerate() {
        let values: Vec<f64> = runs.iter().map(|r| r.of(*what)).collect();
        let y: Vec<f64> = (0..values.len()).map(|k| i as f64 + 0.44 * scatter(k)).collect();
        let style = Style::solid(what.style().colour).marker(Marker::Disc);
        let cross = Style::solid(if style.colour == BLACK { WHITE } else { BLACK }).marker(Marker::Cross);
        let middle = median(&values);
        panel = panel
            .points(&values[1..], &y[1..], style.alpha(0.45), 2.4, "")
            .points(&values[..1], &[i as f64], cross, 5.0, "")
            .line_marked(&[middle, middle], &[i as f64 - 0.38, i as f64 + 0.38], style.width(3.0), 0, "");
    }
    panel
}

fn median_of(runs: &[Run], scheme: Scheme) -> f64 {
    median(&runs.iter().map(|r| r.scheme(scheme)).collect::<Vec<_>>())
}

fn closer(runs: &[Run], name: &str, labels: &[&dyn Said], a: Scheme, b: Scheme) -> Check {
    let hits = runs.iter().filter(|r| r.scheme(a) < r.scheme(b)).count();
    let medians: [&dyn Said; 2] = [&median_of(runs, a), &median_of(runs, b)];
    words().counted(name, (hits, runs.len()), &[labels, &medians].concat())
}

fn checks(runs: &[Run]) -> Vec<Check> {
    let mut checks = vec![
        closer(runs, "over-natural", &[], Scheme::Printed, Scheme::NaturalGradient),
        closer(runs, "over-explicit", &[], Scheme::Printed, Scheme::Explicit),
        closer(runs, "over-implicit", &[], Scheme::Printed, Scheme::Implicit),
        closer(runs, "skip-over-explicit", &[], Scheme::SkipCovariance, Scheme::Explicit),
    ];
    for other in [Scheme::Printed, Scheme::SkipCovariance, Scheme::Explicit] {
        let labels: [&dyn Said; 2] = [&Scheme::Corrected.label(), &other.label()];
        checks.push(closer(runs, "ends-closer-posterior", &labels, Scheme::Corrected, other));
    }
    let implicit = |r: &Run| Scheme::ALL.iter().all(|s| r.scheme(Scheme::Implicit) <= r.scheme(*s));
    checks.push(words().counted(
        "implicit-step-all-others",
        (runs.iter().filter(|r| implicit(r)).count(), runs.len()),
        &[],
    ));
    let worst = |i: usize| runs.iter().map(|r| r.linear[i]).fold(0.0, f64::max);
    let least = |i: usize| runs.iter().map(|r| r.linear[i]).fold(f64::INFINITY, f64::min);
    checks.push(words().fact(
        "linear-model-corrected-scheme",
        worst(2) < 1e-9 && least(0) > 1e-9 && least(1) > 1e-9,
        &[&worst(2), &least(0), &least(1)],
    ));
    let sweeps = Of::Batch(Method::Refinement);
    let gaps: Vec<f64> = runs.iter().map(|r| r.gap(sweeps)).collect();
    checks.push(words().counted(
        "sweeps-end-within-nats",
        (gaps.iter().filter(|g| **g < TARGET).count(), gaps.len()),
        &[&SWEEPS, &TARGET.to_string(), &median(&gaps), &gaps.iter().copied().fold(0.0, f64::max)],
    ));
    checks
}

fn tables(runs: &[Run]) -> Result<Vec<Table>, ReproError> {
    let mut all = Table::new("", &["data_set", "method", "kl_normalised"]);
    for (k, run) in runs.iter().enumerate() {
        for what in COMPARED {
            all.push(&[&k, &what.slug(), &run.of(what)])?;
        }
    }
    let mut beliefs = Table::new("beliefs", &["method", "mean1", "mean2", "cov11", "cov12", "cov22"]);
    let mut push = |name: &str, (mean, cov): ([f64; 2], [[f64; 2]; 2])| {
        let numbers = [mean[0], mean[1], cov[0][0], cov[0][1], cov[1][1]];
        beliefs.row(&[&name], numbers)
    };
    push(Method::TruePosterior.slug(), (runs[0].truth.mean, runs[0].truth.cov))?;
    for (what, belief) in COMPARED.iter().zip(&runs[0].beliefs) {
        if let Some(belief) = belief {
            push(what.slug(), moments(belief))?;
        }
    }
    let mut linear = Table::new("linear", &["data_set", "mirror_prox_printed", "skip_covariance", "mirror_prox"]);
    for (k, run) in runs.iter().enumerate() {
        linear.row(&[&k], run.linear)?;
    }
    Ok(vec![all, beliefs, linear])
}

fn shown(runs: &[Run]) -> Shown {
    let rows = COMPARED.iter().map(|what| {
        let [low, middle, high] = quartiles(&runs.iter().map(|r| r.of(*what)).collect::<Vec<_>>());
        let spread = format!("{} to {}", number(low), number(high));
        vec![what.label(), number(runs[0].of(*what)), number(middle), spread]
    });
    let head = ["KL to the posterior (nats)", "data set drawn", "median over data sets", "quartiles"];
    Shown::new(head, rows)
}

fn figure(first: &Run, runs: &[Run], points: usize) -> Result<Figure, ReproError> {
    let panel = |scheme: Scheme| {
        let title = format!("{}: KL {}", scheme.label(), number(first.scheme(scheme)));
        first.panel(&title, &[Of::Scheme(scheme), Of::Batch(Method::Laplace)], points)
    };
    let row = |schemes: &[Scheme]| schemes.iter().map(|s| panel(*s)).collect::<Result<Vec<_>, _>>();
    let batch = [Method::Refinement, Method::BatchVga].map(Of::Batch);
    let best = first.panel("Sweeps and the best Gaussian", &batch, points)?;
    Ok(Figure::new(format!("N = {}, σ₀ = {SIGMA0}, two dimensions", SETTINGS.n))
        .row(320.0, row(&Scheme::ALL[..3])?)
        .row(320.0, row(&Scheme::ALL[3..])?)
        .row(340.0, vec![best, strip(runs)]))
}

/// Fig 5: one pass by each scheme over ten rows, on a dense belief.
pub(super) fn fig5(ctx: &Context) -> Result<Outcome, ReproError> {
    let sets = ctx.pick(200, 30);
    ctx.steps(sets);
    let runs = ctx.each(0..sets, "data set", |k| Run::new(ctx.seed, k, if k == 0 { 400 } else { 120 }))?;
    let first = &runs[0];
    let list = join(Scheme::ALL, ", ", |s| format!("{} {}", s.label(), number(median_of(&runs, s))));
    let said = words().outcome(
        ctx,
        &[
            &sets,
            &list,
            &SETTINGS.n,
            &SIGMA0.to_string(),
            &SETTINGS.s.to_string(),
            &SETTINGS.c.to_string(),
            &first.truth.refinement.abs(),
        ],
    );
    let broke = runs.iter().flat_map(|r| r.remarks.iter().cloned()).take(5);
    Ok(Outcome {
        notes: said.notes.iter().cloned().chain(broke).collect(),
        checks: checks(&runs),
        shown: shown(&runs),
        tables: tables(&runs)?,
        figure: figure(first, &runs, ctx.pick(161, 101))?,
        ..said
    })
}
