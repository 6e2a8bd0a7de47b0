//! Figure 1: toys.

use vi_boost::{Family, GaussianMixture, LogDensity, Refit};

use std::sync::Arc;

use super::grid::Nodes;
use super::look::{
    GREEDY, GREEDY_LABEL, MEAN_FIELD, MEAN_FIELD_LABEL, PRINTED_BY_STEP, PRINTED_BY_STEP_LABELS, REFITTED,
    REFITTED_LABEL, START, START_LABEL, TRUTH, TRUTH_LABEL,
};
use super::runs::{STEPS, Trace, ours, printed, single};
use super::toys::{self, Toy};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::Style;
use crate::plot::{Axis, Figure, Grid, Panel, linspace};
use crate::report::{Outcome, Shown, Table, median, number};

/// Titles of the figures, by which their studies are shared.
pub(super) const TAILS: &str = "Fig 1 (a): a heavy-tailed density";
pub(super) const FOUR: &str = "Fig 1 (b): four modes";
pub(super) const FIVE: &str = "Fig 1 (c): five modes in the plane";

/// "Run BVI for 50 iterations."
const ITERATIONS: usize = 50;

/// Greedy components of ours.
const GREEDY_COMPONENTS: usize = 12;

/// Runs of the printed algorithm with one initial step, from several seeds.
struct Printed {
    b: f64,
    style: Style,
    label: &'static str,
    runs: Vec<Trace>,
}

impl Printed {
    /// The first run, the one that is drawn.
    fn shown(&self) -> &Trace {
        &self.runs[0]
    }

    fn finals(&self) -> Vec<f64> {
        self.runs.iter().map(Trace::last).collect()
    }
}

/// Everything that is drawn of one toy.
pub(super) struct Study {
    start: GaussianMixture,
    mean_field: GaussianMixture,
    pub(super) mean_field_kl: f64,
    /// The printed algorithm with each initial step.
    printed: Vec<Printed>,
    pub(super) greedy: Trace,
    pub(super) refitted: Trace,
}

impl Study {
    /// The study of a toy, made once for all items.
    pub(super) fn shared<T: LogDensity>(ctx: &Context, name: &str, toy: &Toy<T>) -> Result<Arc<Self>, ReproError> {
        ctx.once(&format!("bvi {name}"), || Self::new(ctx, toy))
    }

    fn new<T: LogDensity>(ctx: &Context, toy: &Toy<T>) -> Result<Self, ReproError> {
        let seeds = ctx.pick(5, 2);
        ctx.steps(STEPS.len() * seeds + 3);
        let nodes = Nodes::new(&toy.target, toy.log_normaliser, toy.range);
        let kl = |q: &GaussianMixture| nodes.kl(q).context("a divergence");
        // With a small step the modes come in late; on a line all iterations cost little.
        let iterations = if toy.target.dim() == 1 { ITERATIONS } else { ctx.pick(ITERATIONS, 20) };
        let mut by_step = Vec::new();
        for ((b, style), label) in STEPS.into_iter().zip(PRINTED_BY_STEP).zip(PRINTED_BY_STEP_LABELS) {
            let mut runs = Vec::new();
            for k in 0..seeds {
                runs.push(printed(&toy.target, &toy.start, b, iterations, ctx.seed + k as u64, kl)?);
                ctx.step(label);
            }
            by_step.push(Printed { b, style, label, runs });
        }
        let greedy = ours(&toy.target, &toy.start, ctx.pick(GREEDY_COMPONENTS, 6), Refit::Never, ctx.seed, kl)?;
        ctx.step("ours, greedy");
        let refitted = ours(&toy.target, &toy.start, toy.refitted, Refit::Each, ctx.seed, kl)?;
        ctx.step("ours, refitted");
        let mean_field = single(&toy.target, &toy.start, Family::Diagonal, ctx.seed)?;
        ctx.step("mean field");
        Ok(Self {
            start: GaussianMixture::single(toy.start.clone()),
            mean_field_kl: kl(&mean_field)?,
            mean_field,
            printed: by_step,
            greedy,
            refitted,
        })
    }

    /// The printed algorithm with the initial step that ends nearer to the target: the paper states none, so it is judged
    /// by its better one.
    fn better(&self) -> &Printed {
        let nearer = |a: &Printed, b: &Printed| median(&b.finals()) < median(&a.finals());
        self.printed.iter().fold(&self.printed[0], |best, other| if nearer(best, other) { other } else { best })
    }

    /// The divergences in which the runs of [`better`](Self::better) ended.
    pub(super) fn finals(&self) -> Vec<f64> {
        self.better().finals()
    }

    /// Components proposed by the printed algorithm.
    fn iterations(&self) -> usize {
        self.better().shown().t.len()
    }

    fn alpha_panel(&self) -> Panel {
        let last = self.iterations() as f64;
        let mut panel =
            Panel::new("Weight α_t of the new component", Axis::linear("t").range(1.0, last), Axis::linear("α_t"));
        for (trace, style, label) in self.curves() {
            panel = panel.line(&trace.t[1..], &trace.alpha[1..], style, label);
        }
        panel
    }

    fn kl_panel(&self) -> Panel {
        let last = self.iterations() as f64;
        let mut panel = Panel::new("KL(q_t‖p)", Axis::linear("t").range(1.0, last), Axis::log("nats"));
        for (trace, style, label) in self.curves() {
            panel = panel.line(&trace.t, &trace.kl, style, label);
        }
        for printed in &self.printed {
            for run in &printed.runs[1..] {
                panel = panel.line_marked(&run.t, &run.kl, printed.style.alpha(0.35).width(1.0), 0, "");
            }
        }
        panel.horizontal(self.mean_field_kl, MEAN_FIELD, MEAN_FIELD_LABEL)
    }

    fn curves(&self) -> Vec<(&Trace, Style, &'static str)> {
        let printed = self.printed.iter().map(|printed| (printed.shown(), printed.style, printed.label));
        let ours = [(&self.greedy, GREEDY, GREEDY_LABEL), (&self.refitted, REFITTED, REFITTED_LABEL)];
        printed.chain(ours).collect()
    }

    fn traces(&self) -> Result<Table, ReproError> {
        let mut table = Table::new("", &["method", "run", "t", "alpha", "kl"]);
        let mut all = Vec::new();
        for printed in &self.printed {
            let name = format!("printed_b{}", printed.b);
            all.extend(printed.runs.iter().enumerate().map(|(k, run)| (name.clone(), k, run)));
        }
        all.extend([("greedy".to_owned(), 0, &self.greedy), ("refitted".to_owned(), 0, &self.refitted)]);
        for (name, k, run) in all {
            for ((t, alpha), kl) in run.t.iter().zip(&run.alpha).zip(&run.kl) {
                table.push(&[&name, &k, t, alpha, kl])?;
            }
        }
        Ok(table)
    }

    fn shown_table(&self) -> Shown {
        let row = |name: &str, count: usize, kl: String| vec![name.to_owned(), count.to_string(), kl];
        let weights = |q: &GaussianMixture| q.weights().iter().filter(|w| **w > 1e-12).count();
        let mut rows = vec![row(MEAN_FIELD_LABEL, 1, number(self.mean_field_kl))];
        for printed in &self.printed {
            let finals = printed.finals();
            let (low, high) =
                finals.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), kl| (low.min(*kl), high.max(*kl)));
            let kl = format!("{} ({} to {} over runs)", number(median(&finals)), number(low), number(high));
            rows.push(row(printed.label, weights(&printed.shown().q), kl));
        }
        rows.push(row(GREEDY_LABEL, self.greedy.q.len(), number(self.greedy.last())));
        rows.push(row(REFITTED_LABEL, self.refitted.q.len(), number(self.refitted.last())));
        Shown::new(["method", "components", "KL(q‖p), nats"], rows)
    }

    fn outcome(
        &self,
        ctx: &Context,
        claim: &str,
        bound: f64,
        figure: Figure,
        densities: Option<Table>,
    ) -> Result<Outcome, ReproError> {
        let (finals, b, steps, mean_field) = (self.finals(), self.better().b, self.iterations(), self.mean_field_kl);
        let (printed, refitted, components) = (median(&finals), self.refitted.last(), self.refitted.q.len());
        let better = finals.iter().filter(|kl| **kl < mean_field).count();
        let words = words();
        Ok(Outcome {
            checks: vec![
                words.counted(claim, (better, finals.len()), &[&b.to_string(), &steps, &printed, &mean_field]),
                words.below("refitted-together-come-to-bound", refitted, bound).filled(&components),
                words.below("without-refit-too-ours", self.greedy.last(), printed),
            ],
            shown: self.shown_table(),
            tables: std::iter::once(self.traces()?).chain(densities).collect(),
            figure,
            ..words.outcome(ctx, &[&printed, &steps, &b.to_string(), &mean_field, &refitted, &components])
        })
    }
}

/// A toy on a line: densities above, weights and divergences below.
fn line<T: LogDensity>(
    ctx: &Context,
    toy: &Toy<T>,
    title: &str,
    claim: &str,
    bound: f64,
) -> Result<Outcome, ReproError> {
    let study = Study::shared(ctx, title, toy)?;
    let x = linspace(toy.window.0, toy.window.1, 301);
    let of = |q: &GaussianMixture| -> Result<Vec<f64>, ReproError> {
        x.iter().map(|x| Ok(q.log_density(&[*x]).context("a density")?.exp())).collect()
    };
    let truth: Vec<f64> = x.iter().map(|x| (toy.target.log_density(&[*x]) - toy.log_normaliser).exp()).collect();
    let columns = [
        ("truth", truth, TRUTH, TRUTH_LABEL),
        ("start", of(&study.start)?, START, START_LABEL),
        ("mean_field", of(&study.mean_field)?, MEAN_FIELD, MEAN_FIELD_LABEL),
        ("refitted", of(&study.refitted.q)?, REFITTED, REFITTED_LABEL),
        ("printed_b1", of(&study.printed[0].shown().q)?, study.printed[0].style, study.printed[0].label),
        ("printed_b0.1", of(&study.printed[1].shown().q)?, study.printed[1].style, study.printed[1].label),
    ];
    let mut plain = Panel::new("Densities", Axis::linear("θ"), Axis::linear("density"));
    let mut tails = Panel::new("The same, tails", Axis::linear("θ"), Axis::log("density").floor(1e-5));
    let mut table = vec![("theta", x.as_slice())];
    for (name, values, style, label) in &columns {
        plain = plain.line_marked(&x, values, *style, 0, label);
        tails = tails.line_marked(&x, values, *style, 0, label);
        table.push((name, values));
    }
    let densities = Table::from_columns("densities", &table)?;
    let figure =
        Figure::new(title).row(380.0, vec![plain, tails]).row(330.0, vec![study.alpha_panel(), study.kl_panel()]);
    study.outcome(ctx, claim, bound, figure, Some(densities))
}

/// Figure 1 (a).
pub(super) fn cauchy(ctx: &Context) -> Result<Outcome, ReproError> {
    line(ctx, &toys::cauchy().context("the target")?, TAILS, "heavy-tails", 0.002)
}

/// Figure 1 (b).
pub(super) fn mixture4(ctx: &Context) -> Result<Outcome, ReproError> {
    line(ctx, &toys::mixture4().context("the target")?, FOUR, "multimodality", 1e-4)
}

/// Values of a density at which contours are drawn, relative to its largest.
const LEVELS: [f64; 5] = [0.8, 0.5, 0.25, 0.1, 0.02];

/// Figure 1 (c).
pub(super) fn mixture5(ctx: &Context) -> Result<Outcome, ReproError> {
    let toy = toys::mixture5().context("the target")?;
    let study = Study::shared(ctx, FIVE, &toy)?;
    let axis = linspace(toy.window.0, toy.window.1, ctx.pick(161, 81));
    let outlined = |panel: Panel, q: &GaussianMixture, style: Style, label: &str| -> Result<Panel, ReproError> {
        let mut values = Vec::with_capacity(axis.len() * axis.len());
        for y in &axis {
            for x in &axis {
                values.push(q.log_density(&[*x, *y]).context("a density")?.exp());
            }
        }
        let largest = values.iter().fold(0.0_f64, |a, b| a.max(*b));
        let levels = LEVELS.map(|level| level * largest);
        let grid = Grid::new(axis.clone(), axis.clone(), values)?;
        Ok(panel.contours(&grid, &levels, style, label))
    };
    let range = |name| Axis::linear(name).range(toy.window.0, toy.window.1);
    let plane = |title: &str| Panel::new(title, range("θ₁"), range("θ₂")).equal_scales();
    let contours =
        |title: &str, q: &GaussianMixture, style: Style, label: &str| outlined(plane(title), q, style, label);
    let truth = outlined(plane("Truth and start"), &study.start, START, START_LABEL)?;
    let as_printed = |k: usize| {
        let printed = &study.printed[k];
        contours(printed.label, &printed.shown().q, printed.style, printed.label)
    };
    let figure = Figure::new(FIVE)
        .row(360.0, vec![outlined(truth, &toy.target, TRUTH, TRUTH_LABEL)?, as_printed(0)?, as_printed(1)?])
        .row(
            360.0,
            vec![
                contours("Ours, refitted", &study.refitted.q, REFITTED, REFITTED_LABEL)?,
                contours("Mean field", &study.mean_field, MEAN_FIELD, MEAN_FIELD_LABEL)?,
            ],
        )
        .row(330.0, vec![study.alpha_panel(), study.kl_panel()]);
    study.outcome(ctx, "multivariate", 1e-4, figure, None)
}
