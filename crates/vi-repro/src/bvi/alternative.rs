//! Appendix A: the weight by Algorithm 3, for the divergence in the other direction.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_boost::printed::{Printed, PrintedSettings, WeightRule};
use vi_boost::{GaussianMixture, LogDensity};

use super::grid::Nodes;
use super::look::{PRINTED, PRINTED_LABEL};
use super::runs::{EPSILON, SAMPLES, STEPS};
use super::toys::{self, Toy};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{Dash, Marker, SKY, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Shown, Table, median, number};

const ITERATIONS: usize = 30;
const RULES: [(WeightRule, &str); 2] =
    [(WeightRule::Exclusive, PRINTED_LABEL), (WeightRule::Inclusive, "as printed, α by Algorithm 3")];

fn style(rule: WeightRule) -> Style {
    match rule {
        WeightRule::Exclusive => PRINTED,
        WeightRule::Inclusive => Style::solid(SKY).dash(Dash::Dashed).marker(Marker::Triangle),
    }
}

/// One run: both divergences against the number of components proposed.
struct Run {
    rule: WeightRule,
    /// `KL(p‖q_t)`.
    inclusive: Vec<f64>,
    /// `KL(q_t‖p)`.
    exclusive: Vec<f64>,
}

/// All runs on one target.
struct Study {
    name: &'static str,
    runs: Vec<Run>,
}

impl Study {
    fn new<T: LogDensity>(ctx: &Context, name: &'static str, toy: &Toy<T>) -> Result<Self, ReproError> {
        let nodes = Nodes::new(&toy.target, toy.log_normaliser, toy.range);
        let mut runs = Vec::new();
        for (rule, label) in RULES {
            for k in 0..ctx.pick(5_u64, 2) {
                // The step that serves Algorithm 1 better on these targets.
                let settings = PrintedSettings {
                    samples: SAMPLES,
                    step: STEPS[1],
                    tolerance: EPSILON,
                    weight: rule,
                    ..PrintedSettings::default()
                };
                let mut printed =
                    Printed::new(&toy.target, toy.start.clone(), &settings).context("the printed algorithm")?;
                let mut rng = ChaCha8Rng::seed_from_u64(ctx.seed + k);
                let mut run = Run { rule, inclusive: Vec::new(), exclusive: Vec::new() };
                for t in 0..ITERATIONS {
                    if t > 0 {
                        printed.step(&mut rng).context("the printed algorithm")?;
                    }
                    let q: &GaussianMixture = printed.mixture();
                    run.inclusive.push(nodes.reverse_kl(q).context("the printed algorithm")?);
                    run.exclusive.push(nodes.kl(q).context("the printed algorithm")?);
                }
                runs.push(run);
                ctx.step(label);
            }
        }
        Ok(Self { name, runs })
    }

    fn of(&self, rule: WeightRule) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |r| r.rule == rule)
    }

    fn panel(&self, title: &str, of: fn(&Run) -> &[f64]) -> Panel {
        let t: Vec<f64> = (1..=ITERATIONS).map(|t| t as f64).collect();
        let axis = Axis::log("nats").floor(1e-4);
        let mut panel = Panel::new(format!("{}: {title}", self.name), Axis::linear("components proposed"), axis);
        for (rule, label) in RULES {
            for (k, run) in self.of(rule).enumerate() {
                let thin = style(rule).width(if k == 0 { 2.0 } else { 0.9 }).alpha(if k == 0 { 1.0 } else { 0.5 });
                panel = panel.line_marked(&t, of(run), thin, 0, if k == 0 { label } else { "" });
            }
        }
        panel
    }
}

fn last(values: &[f64]) -> f64 {
    values.last().copied().unwrap_or(f64::NAN)
}

/// Algorithm 3 beside Algorithm 1.
pub(super) fn algorithm3(ctx: &Context) -> Result<Outcome, ReproError> {
    ctx.steps(3 * 2 * ctx.pick(5, 2));
    let studies = [
        Study::new(ctx, "Cauchy", &toys::cauchy().context("the target")?)?,
        Study::new(ctx, "four modes", &toys::mixture4().context("the target")?)?,
        Study::new(ctx, "five modes", &toys::mixture5().context("the target")?)?,
    ];
    let middle = |s: &Study, rule, of: fn(&Run) -> &[f64]| median(&s.of(rule).map(|r| last(of(r))).collect::<Vec<_>>());
    let each = |of: &dyn Fn(&Study) -> String| {
        studies.iter().map(|s| format!("{}: {}", s.name, of(s))).collect::<Vec<_>>().join("; ")
    };
    let inclusive: fn(&Run) -> &[f64] = |r| &r.inclusive;
    let exclusive: fn(&Run) -> &[f64] = |r| &r.exclusive;
    let all: Vec<&Run> = studies.iter().flat_map(|s| s.of(WeightRule::Inclusive)).collect();
    let falls = all.iter().filter(|r| last(&r.inclusive) < r.inclusive[0]).count();
    let better = studies.iter().flat_map(|s| s.of(WeightRule::Inclusive).zip(s.of(WeightRule::Exclusive)));
    let better = better.filter(|(a, b)| last(&a.inclusive) < last(&b.inclusive)).count();
    let mut table = Table::new("", &["target", "rule", "run", "t", "kl_p_q", "kl_q_p"]);
    for s in &studies {
        for (rule, label) in RULES {
            for (k, run) in s.of(rule).enumerate() {
                for t in 0..ITERATIONS {
                    table.push(&[&s.name, &label, &k, &(t + 1), &run.inclusive[t], &run.exclusive[t]])?;
                }
            }
        }
    }
    let two = |s: &Study, of: fn(&Run) -> &[f64]| {
        format!(
            "{} by Algorithm 3, {} by Algorithm 1",
            number(middle(s, WeightRule::Inclusive, of)),
            number(middle(s, WeightRule::Exclusive, of))
        )
    };
    Ok(Outcome {
        checks: vec![
            words().counted("alternative", (falls, all.len()), &[&each(&|s| two(s, inclusive))]),
            words().counted("alternative-better", (better, all.len()), &[]),
        ],
        shown: Shown::new(
            ["target", "KL(p‖q), Algorithm 3", "Algorithm 1", "KL(q‖p), Algorithm 3", "Algorithm 1"],
            studies.iter().map(|s| {
                let numbers = [inclusive, exclusive].into_iter().flat_map(|of| {
                    [WeightRule::Inclusive, WeightRule::Exclusive].map(|rule| number(middle(s, rule, of)))
                });
                std::iter::once(s.name.to_owned()).chain(numbers).collect()
            }),
        ),
        tables: vec![table],
        figure: Figure::new("The weight for the divergence in the other direction")
            .row(300.0, studies.iter().map(|s| s.panel("KL(p‖q)", inclusive)).collect())
            .row(300.0, studies.iter().map(|s| s.panel("KL(q‖p)", exclusive)).collect()),
        ..words().outcome(ctx, &[&ITERATIONS, &each(&|s| two(s, inclusive)), &SAMPLES, &STEPS[1], &EPSILON])
    })
}
