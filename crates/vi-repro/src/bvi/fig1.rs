//! Figure 1: toys.

use vi_boost::{Family, GaussianMixture, LogDensity, Refit};

use super::computation;
use super::grid::Nodes;
use super::look::{
    GREEDY, GREEDY_LABEL, MEAN_FIELD, MEAN_FIELD_LABEL, PRINTED, PRINTED_LABEL, REFITTED, REFITTED_LABEL, START,
    START_LABEL, TRUTH, TRUTH_LABEL,
};
use super::runs::{Trace, median, ours, printed, single};
use super::toys::{self, Toy};
use crate::error::ReproError;
use crate::item::Context;
use crate::plot::palette::Style;
use crate::plot::{Axis, Figure, Grid, Panel, linspace};
use crate::report::{Check, Outcome, Shown, Table, cell, number};

/// "Run BVI for 50 iterations."
const ITERATIONS: usize = 50;

/// Greedy components of ours.
const GREEDY_COMPONENTS: usize = 12;

/// Everything that is drawn of one toy.
pub(super) struct Study {
    start: GaussianMixture,
    mean_field: GaussianMixture,
    pub(super) mean_field_kl: f64,
    /// Runs of the printed algorithm from several seeds.
    printed: Vec<Trace>,
    pub(super) greedy: Trace,
    pub(super) refitted: Trace,
}

impl Study {
    pub(super) fn new<T: LogDensity>(ctx: &Context, toy: &Toy<T>) -> Result<Self, ReproError> {
        let seeds = ctx.pick(5, 2);
        ctx.steps(seeds + 3);
        let nodes = Nodes::new(&toy.target, toy.log_normaliser, toy.range);
        let kl = |q: &GaussianMixture| nodes.kl(q).map_err(|e| computation("a divergence", &e));
        let iterations = ctx.pick(ITERATIONS, 20);
        let mut runs = Vec::new();
        for k in 0..seeds {
            runs.push(printed(&toy.target, &toy.start, iterations, ctx.seed + k as u64, kl)?);
            ctx.step("the printed algorithm");
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
            printed: runs,
            greedy,
            refitted,
        })
    }

    /// The first run of the printed algorithm, the one that is drawn.
    fn shown(&self) -> &Trace {
        &self.printed[0]
    }

    pub(super) fn finals(&self) -> Vec<f64> {
        self.printed.iter().map(Trace::last).collect()
    }

    fn alpha_panel(&self) -> Panel {
        let last = self.shown().t.len() as f64;
        let mut panel =
            Panel::new("Weight α_t of the new component", Axis::linear("t").range(1.0, last), Axis::linear("α_t"));
        for (trace, style, label) in self.curves() {
            panel = panel.line(&trace.t[1..], &trace.alpha[1..], style, label);
        }
        panel
    }

    fn kl_panel(&self) -> Panel {
        let last = self.shown().t.len() as f64;
        let mut panel = Panel::new("KL(q_t‖p)", Axis::linear("t").range(1.0, last), Axis::log("nats"));
        for (trace, style, label) in self.curves() {
            panel = panel.line(&trace.t, &trace.kl, style, label);
        }
        for run in &self.printed[1..] {
            panel = panel.line_marked(&run.t, &run.kl, PRINTED.alpha(0.35).width(1.0), 0, "");
        }
        panel.horizontal(self.mean_field_kl, MEAN_FIELD, MEAN_FIELD_LABEL)
    }

    fn curves(&self) -> [(&Trace, Style, &'static str); 3] {
        [
            (self.shown(), PRINTED, PRINTED_LABEL),
            (&self.greedy, GREEDY, GREEDY_LABEL),
            (&self.refitted, REFITTED, REFITTED_LABEL),
        ]
    }

    fn traces(&self) -> Result<Table, ReproError> {
        let mut table = Table::new("", &["method", "run", "t", "alpha", "kl"]);
        let all = self.printed.iter().enumerate().map(|(k, run)| ("printed", k, run));
        for (name, k, run) in all.chain([("greedy", 0, &self.greedy), ("refitted", 0, &self.refitted)]) {
            for ((t, alpha), kl) in run.t.iter().zip(&run.alpha).zip(&run.kl) {
                table.push(vec![name.to_owned(), k.to_string(), cell(*t), cell(*alpha), cell(*kl)])?;
            }
        }
        Ok(table)
    }

    fn shown_table(&self) -> Shown {
        let finals = self.finals();
        let (low, high) =
            (finals.iter().fold(f64::INFINITY, |a, b| a.min(*b)), finals.iter().fold(0.0_f64, |a, b| a.max(*b)));
        let row = |name: &str, count: usize, kl: String| vec![name.to_owned(), count.to_string(), kl];
        let weights = |q: &GaussianMixture| q.weights().iter().filter(|w| **w > 1e-12).count();
        Shown {
            head: ["method", "components", "KL(q‖p), nats"].map(str::to_owned).to_vec(),
            rows: vec![
                row(MEAN_FIELD_LABEL, 1, number(self.mean_field_kl)),
                row(
                    PRINTED_LABEL,
                    weights(&self.shown().q),
                    format!("{} ({} to {} over runs)", number(median(&finals)), number(low), number(high)),
                ),
                row(GREEDY_LABEL, self.greedy.q.len(), number(self.greedy.last())),
                row(REFITTED_LABEL, self.refitted.q.len(), number(self.refitted.last())),
            ],
        }
    }

    fn outcome(
        self,
        figure: Figure,
        densities: Option<Table>,
        words: Words,
        bound: f64,
    ) -> Result<Outcome, ReproError> {
        let finals = self.finals();
        let better = finals.iter().filter(|kl| **kl < self.mean_field_kl).count();
        let checks = vec![Check::counted_over(
            words.claim,
            (better, finals.len()),
            format!(
                "KL after {} iterations {} (median), mean field {}",
                self.shown().t.len(),
                number(median(&finals)),
                number(self.mean_field_kl)
            ),
            "runs",
        )];
        let beyond = vec![
            Check::below(
                format!("{} components refitted together come to the bound asked for", self.refitted.q.len()),
                "KL",
                self.refitted.last(),
                bound,
            ),
            Check::below(
                "Without a refit, too, ours is closer than the printed algorithm",
                "KL",
                self.greedy.last(),
                median(&finals),
            ),
        ];
        let mut tables = vec![self.traces()?];
        tables.extend(densities);
        Ok(Outcome {
            summary: format!(
                "Printed {} after {} iterations, mean field {}, ours {} with {} components.",
                number(median(&finals)),
                self.shown().t.len(),
                number(self.mean_field_kl),
                number(self.refitted.last()),
                self.refitted.q.len()
            ),
            caption: words.caption.to_owned(),
            claim: words.paper.to_owned(),
            notes: vec![
                "Divergences are by quadrature. The printed algorithm has n = 1000, b = 1 and draws of q_t for its starts; α is \
                 kept in [0, 1] and a start that ends at an indefinite Hessian is drawn again. Thin lines are its other runs."
                    .to_owned(),
                words.note.to_owned(),
            ],
            checks,
            beyond,
            shown: self.shown_table(),
            tables,
            figure,
        })
    }
}

/// What is said of a toy.
#[derive(Clone, Copy)]
struct Words {
    claim: &'static str,
    paper: &'static str,
    caption: &'static str,
    note: &'static str,
}

/// A toy on a line: densities above, weights and divergences below.
fn line<T: LogDensity>(
    ctx: &Context,
    toy: &Toy<T>,
    title: &str,
    words: Words,
    bound: f64,
) -> Result<Outcome, ReproError> {
    let study = Study::new(ctx, toy)?;
    let x = linspace(toy.window.0, toy.window.1, 601);
    let of = |q: &GaussianMixture| -> Result<Vec<f64>, ReproError> {
        x.iter().map(|x| Ok(q.log_density(&[*x]).map_err(|e| computation("a density", &e))?.exp())).collect()
    };
    let truth: Vec<f64> = x.iter().map(|x| (toy.target.log_density(&[*x]) - toy.log_normaliser).exp()).collect();
    let columns = [
        ("truth", truth, TRUTH, TRUTH_LABEL),
        ("start", of(&study.start)?, START, START_LABEL),
        ("mean_field", of(&study.mean_field)?, MEAN_FIELD, MEAN_FIELD_LABEL),
        ("printed", of(&study.shown().q)?, PRINTED, PRINTED_LABEL),
        ("refitted", of(&study.refitted.q)?, REFITTED, REFITTED_LABEL),
    ];
    let mut plain = Panel::new("Densities", Axis::linear("θ"), Axis::linear("density"));
    let mut tails = Panel::new("The same, tails", Axis::linear("θ"), Axis::log("density").range(1e-5, 1.0));
    let mut table = vec![("theta", x.as_slice())];
    for (name, values, style, label) in &columns {
        plain = plain.line_marked(&x, values, *style, 0, label);
        tails = tails.line_marked(&x, values, *style, 0, label);
        table.push((name, values));
    }
    let densities = Table::from_columns("densities", &table)?;
    let figure =
        Figure::new(title).row(380.0, vec![plain, tails]).row(330.0, vec![study.alpha_panel(), study.kl_panel()]);
    study.outcome(figure, Some(densities), words, bound)
}

/// Figure 1 (a).
pub(super) fn cauchy(ctx: &Context) -> Result<Outcome, ReproError> {
    let toy = toys::cauchy().map_err(|e| computation("the target", &e))?;
    let words = Words {
        claim: "BVI captures heavy tails: it is closer than mean field",
        paper: "Figure 1 highlights the ability of BVI to capture (a) heavy tails: a Cauchy density 1/(1+(θ/2)²).",
        caption: "Truth, start, mean field, the printed algorithm after its last iteration and ours; α_t and KL_t below.",
        note: "Each wide component reaches a part of the tail; what is left is the tail beyond the widest.",
    };
    line(ctx, &toy, "Fig 1 (a): a heavy-tailed density", words, 0.002)
}

/// Figure 1 (b).
pub(super) fn mixture4(ctx: &Context) -> Result<Outcome, ReproError> {
    let toy = toys::mixture4().map_err(|e| computation("the target", &e))?;
    let words = Words {
        claim: "BVI captures multimodality: it is closer than mean field",
        paper: "Figure 1 highlights the ability of BVI to capture (b) multimodality: a mixture of four univariate Gaussians \
                with different locations and scales.",
        caption: "Truth, start, mean field, the printed algorithm after its last iteration and ours; α_t and KL_t below.",
        note: "The parameters are ours, the paper states none. From a start this broad the printed line search gives the first \
               component all the weight; every later start is drawn from that one mode. The paper's picture shows all four modes, \
               so its code must have differed from its print.",
    };
    line(ctx, &toy, "Fig 1 (b): four modes", words, 1e-4)
}

/// Values of a density at which contours are drawn, relative to its largest.
const LEVELS: [f64; 5] = [0.8, 0.5, 0.25, 0.1, 0.02];

/// Figure 1 (c).
pub(super) fn mixture5(ctx: &Context) -> Result<Outcome, ReproError> {
    let toy = toys::mixture5().map_err(|e| computation("the target", &e))?;
    let study = Study::new(ctx, &toy)?;
    let axis = linspace(toy.window.0, toy.window.1, ctx.pick(161, 81));
    let contours = |title: &str, q: &GaussianMixture, style: Style, label: &str| -> Result<Panel, ReproError> {
        let mut values = Vec::with_capacity(axis.len() * axis.len());
        for y in &axis {
            for x in &axis {
                values.push(q.log_density(&[*x, *y]).map_err(|e| computation("a density", &e))?.exp());
            }
        }
        let largest = values.iter().fold(0.0_f64, |a, b| a.max(*b));
        let levels = LEVELS.map(|level| level * largest);
        let grid = Grid::new(axis.clone(), axis.clone(), values)?;
        let range = |name| Axis::linear(name).range(toy.window.0, toy.window.1);
        Ok(Panel::new(title, range("θ₁"), range("θ₂")).equal_scales().contours(&grid, &levels, style, label))
    };
    let figure = Figure::new("Fig 1 (c): five modes in the plane")
        .row(
            360.0,
            vec![
                contours("Truth", &toy.target, TRUTH, TRUTH_LABEL)?,
                contours("BVI as printed", &study.shown().q, PRINTED, PRINTED_LABEL)?,
                contours("Ours, refitted", &study.refitted.q, REFITTED, REFITTED_LABEL)?,
            ],
        )
        .row(
            330.0,
            vec![
                contours("Mean field", &study.mean_field, MEAN_FIELD, MEAN_FIELD_LABEL)?,
                study.alpha_panel(),
                study.kl_panel(),
            ],
        );
    let words = Words {
        claim: "BVI captures multivariate distributions: it is closer than mean field",
        paper: "Figure 1 highlights the ability of BVI to capture (c) multivariate distributions: a mixture of five bivariate \
                Gaussians with random means and covariances.",
        caption: "Contours at 0.8, 0.5, 0.25, 0.1 and 0.02 of each density's largest value; α_t and KL_t.",
        note: "The parameters are ours, the paper states none.",
    };
    study.outcome(figure, None, words, 1e-4)
}
