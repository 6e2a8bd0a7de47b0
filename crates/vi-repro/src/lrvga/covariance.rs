//! §5.1: approximation of a covariance (Figure 1).

use vi_linalg::faer::Mat;

use super::factorisers::{Path, Problem, Way};
use super::inputs::{breast_cancer, factor_model, generator, madelon};
use super::words;
use crate::error::ReproError;
use crate::item::Context;
use crate::plot::palette::Dash;
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Shown, Table, join, median, number};

/// Passes after which the paper calls batch EM converged.
const PAPERS_PASSES: usize = 5;

/// One panel: paths on the data set drawn, final losses on all.
struct Case {
    name: &'static str,
    synthetic: bool,
    n: usize,
    p: usize,
    inner_loops: usize,
    /// The loss that recursive, online and batch EM start with.
    start: f64,
    paths: Vec<(Way, Path)>,
    finals: Vec<Finals>,
}

/// Losses on one data set.
struct Finals {
    /// In the order of [`Way::ALL`]; batch EM's after [`PAPERS_PASSES`].
    losses: [f64; 5],
    /// What batch EM comes to.
    limit: f64,
}

impl Finals {
    fn of(&self, way: Way) -> f64 {
        let i = Way::ALL.iter().position(|w| *w == way);
        i.map_or(f64::NAN, |i| self.losses[i])
    }
}

/// What a panel is made from.
struct Setting {
    name: &'static str,
    synthetic: bool,
    p: usize,
    inner_loops: usize,
    data_sets: usize,
    /// Data set `k` for a seed.
    rows: fn(u64, usize) -> Result<Mat<f64>, ReproError>,
}

const SETTINGS: [Setting; 4] = [
    Setting {
        name: "d = 100",
        synthetic: true,
        p: 10,
        inner_loops: 3,
        data_sets: 10,
        rows: |seed, k| Ok(factor_model(1000, 100, 10, &mut generator(seed, k))),
    },
    Setting {
        name: "d = 1000",
        synthetic: true,
        p: 10,
        inner_loops: 1,
        data_sets: 3,
        rows: |seed, k| Ok(factor_model(2000, 1000, 10, &mut generator(seed, k))),
    },
    Setting {
        name: "Madelon-like",
        synthetic: false,
        p: 5,
        inner_loops: 3,
        data_sets: 5,
        rows: |seed, k| Ok(madelon(2000, 500, &mut generator(seed, k))),
    },
    Setting {
        name: "breast cancer",
        synthetic: false,
        p: 3,
        inner_loops: 3,
        data_sets: 10,
        rows: |seed, k| breast_cancer(k, &mut generator(seed, k)),
    },
];

impl Case {
    fn new(ctx: &Context, setting: &Setting) -> Result<Self, ReproError> {
        let data_sets = ctx.pick(setting.data_sets, setting.data_sets.min(2));
        let (mut paths, mut finals, mut n, mut start_loss) = (Vec::new(), Vec::new(), 0, f64::NAN);
        for k in 0..data_sets {
            let x = (setting.rows)(ctx.seed, k)?;
            n = x.nrows();
            let start = &mut generator(ctx.seed + 1, k);
            let problem = Problem::new(x, setting.p, setting.inner_loops, start)?;
            let mut losses = [f64::NAN; 5];
            for (loss, way) in losses.iter_mut().zip(Way::ALL) {
                let path = problem.path(way, if k == 0 { ctx.pick(36, 20) } else { 1 })?;
                let last = if way == Way::Batch { path.get(PAPERS_PASSES - 1) } else { path.last() };
                *loss = last.map_or(f64::NAN, |(_, loss)| *loss);
                if k == 0 {
                    paths.push((way, path));
                    start_loss = problem.first()?;
                }
            }
            finals.push(Finals { losses, limit: problem.limit()? });
            ctx.step(setting.name);
        }
        let Setting { name, synthetic, p, inner_loops, .. } = *setting;
        Ok(Self { name, synthetic, n, p, inner_loops, start: start_loss, paths, finals })
    }

    fn title(&self) -> String {
        let loops =
            if self.inner_loops == 1 { "1 inner loop".to_owned() } else { format!("{} inner loops", self.inner_loops) };
        format!("{}, p = {}, N = {}, {loops}", self.name, self.p, self.n)
    }

    fn panel(&self) -> Panel {
        // The first observations of the printed weights and of online EM are off by powers of ten.
        let range = (0.7 * self.finals[0].limit, 20.0 * self.start);
        let kl = Axis::log("KL (nats)").range(range.0, range.1);
        let mut panel = Panel::new(self.title(), Axis::log("observations processed"), kl);
        panel = panel.horizontal(self.finals[0].limit, Way::limit_style().width(1.4), "batch EM, converged");
        panel = panel.vertical(self.n as f64, Way::limit_style().width(0.8).dash(Dash::Dotted), "");
        for (way, path) in &self.paths {
            let (t, loss): (Vec<f64>, Vec<f64>) = path.iter().copied().unzip();
            panel = panel.line(&t, &loss, way.style(), way.label());
        }
        panel
    }

    /// Above the limit of batch EM, for every data set.
    fn gap_panel(&self) -> Panel {
        let names = ["batch EM, 5 passes", "online EM", "as printed", "ours: recursive", "ours: blocks"];
        let top = names.len() - 1;
        let labels = names.iter().rev().map(|name| (*name).to_owned()).collect();
        let heading = format!("{}: {} data sets", self.name, self.finals.len());
        let mut panel =
            Panel::new(heading, Axis::log("final KL above converged batch EM (nats)"), Axis::categories("", labels));
        for (i, way) in Way::ALL.iter().enumerate() {
            let gaps: Vec<f64> = self.finals.iter().map(|f| (f.of(*way) - f.limit).max(LEAST)).collect();
            let y = vec![(top - i) as f64; gaps.len()];
            let (lo, hi) = gaps.iter().fold((f64::INFINITY, 0.0_f64), |(lo, hi), g| (lo.min(*g), hi.max(*g)));
            panel =
                panel.spread_sideways(&[y[0]], &[lo], &[hi], way.style(), "").points(&gaps, &y, way.style(), 4.0, "");
        }
        panel
    }

    fn count(&self, holds: impl Fn(&Finals) -> bool) -> (usize, usize) {
        (self.finals.iter().filter(|f| holds(f)).count(), self.finals.len())
    }

    fn median(&self, value: impl Fn(&Finals) -> f64) -> f64 {
        median(&self.finals.iter().map(value).collect::<Vec<_>>())
    }
}

/// Gaps below this are drawn as this.
const LEAST: f64 = 1e-4;

/// The sentence, counted over the data sets of `cases`, with the medians of `a` against `b`.
fn pooled(
    name: &str,
    cases: &[&Case],
    a: impl Fn(&Finals) -> f64 + Copy,
    b: impl Fn(&Finals) -> f64 + Copy,
    holds: impl Fn(&Finals) -> bool,
) -> Check {
    let counts: Vec<_> = cases.iter().map(|case| (case.name, case.count(&holds))).collect();
    let each = |c: &&Case| format!("{}: {} against {}", c.name, number(c.median(a)), number(c.median(b)));
    words().pooled(name, &counts, &[&join(cases, "; ", each)])
}

fn checks(cases: &[Case]) -> Vec<Check> {
    let all: Vec<&Case> = cases.iter().collect();
    let real: Vec<&Case> = cases.iter().filter(|c| !c.synthetic).collect();
    let (printed, online) = (|f: &Finals| f.of(Way::AsPrinted), |f: &Finals| f.of(Way::Online));
    let (batch, ours) = (|f: &Finals| f.of(Way::Batch), |f: &Finals| f.of(Way::Recursive));
    let (blocked, limit) = (|f: &Finals| f.of(Way::Blocked), |f: &Finals| f.limit);
    let others = |f: &Finals| f.of(Way::Online).min(f.of(Way::Batch));
    vec![
        pooled("five-steps", &all, batch, limit, |f| batch(f) <= 1.1 * f.limit),
        pooled("over-online", &[&cases[0]], printed, online, |f| printed(f) < online(f)),
        pooled("like-online", &[&cases[1]], printed, online, |f| printed(f) <= 1.25 * online(f)),
        pooled("real-data", &real, printed, others, |f| printed(f) < others(f)),
        pooled("like-batch", &all, printed, batch, |f| printed(f) <= 1.1 * batch(f)),
        pooled("weights-below-printed", &all, ours, printed, |f| ours(f) < printed(f)),
        pooled("blocks-below-recursions", &all, blocked, ours, |f| blocked(f) < ours(f).min(printed(f))),
        pooled("blocks-near-limit", &all, blocked, limit, |f| blocked(f) <= 1.1 * f.limit),
    ]
}

/// Fig 1: two synthetic covariances and two of data.
pub(super) fn fig1(ctx: &Context) -> Result<Outcome, ReproError> {
    ctx.steps(SETTINGS.iter().map(|s| ctx.pick(s.data_sets, s.data_sets.min(2))).sum());
    let cases = SETTINGS.iter().map(|s| Case::new(ctx, s)).collect::<Result<Vec<_>, _>>()?;
    let mut table = Table::new("", &["panel", "observations", "method", "kl"]);
    let mut further = Table::new("data-sets", &["panel", "data_set", "method", "kl"]);
    for case in &cases {
        for (way, path) in &case.paths {
            for (t, loss) in path {
                table.push(&[&case.name, t, &way.slug(), loss])?;
            }
        }
        for (k, f) in case.finals.iter().enumerate() {
            let ways = Way::ALL.iter().map(|way| (way.slug(), f.of(*way)));
            for (slug, loss) in ways.chain([("batch_em_converged", f.limit)]) {
                further.push(&[&case.name, &k, &slug, &loss])?;
            }
        }
    }
    let mut figure = Figure::new("KL from the covariance of the data");
    for pair in cases.chunks(2) {
        figure = figure.row(330.0, pair.iter().map(Case::panel).collect());
        figure = figure.row(190.0, pair.iter().map(Case::gap_panel).collect());
    }
    let rows = cases.iter().map(|case| {
        let both = |value: &dyn Fn(&Finals) -> f64| {
            format!("{} ({})", number(value(&case.finals[0])), number(case.median(value)))
        };
        let ways = Way::ALL.iter().map(|way| both(&|f| f.of(*way)));
        std::iter::once(case.title()).chain(ways).chain([both(&|f| f.limit)]).collect()
    });
    let heads = [
        "KL",
        "batch EM, 5 passes",
        "online EM",
        "as printed",
        "ours: recursive",
        "ours: blocks",
        "batch EM, converged",
    ];
    let share =
        |way: Way| join(&cases, ", ", |c| format!("{} ({})", number(c.median(|f| f.of(way) / f.limit)), c.name));
    Ok(Outcome {
        checks: checks(&cases),
        shown: Shown::new(heads, rows),
        tables: vec![table, further],
        figure,
        ..words().outcome(
            ctx,
            &[&share(Way::AsPrinted), &share(Way::Blocked), &join(&cases, ", ", |c| c.finals.len().to_string())],
        )
    })
}
