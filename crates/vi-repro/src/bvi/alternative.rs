//! Appendix A: the weight by Algorithm 3, for the divergence in the other direction.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_boost::papers::{Printed, PrintedSettings, WeightRule};
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
use crate::report::{Outcome, Shown, Table, join, number};

const ITERATIONS: usize = 30;
const RULES: [(WeightRule, &str); 2] =
    [(WeightRule::Exclusive, PRINTED_LABEL), (WeightRule::Inclusive, "as printed, α by Algorithm 3")];

fn style(rule: WeightRule) -> Style {
    match rule {
        WeightRule::Exclusive => PRINTED,
        WeightRule::Inclusive => Style::solid(SKY).dash(Dash::Dashed).marker(Marker::Triangle),
    }
}

const TARGETS: [&str; 3] = ["Cauchy", "four modes", "five modes"];
/// The divergences' columns, and what they are called.
const INCLUSIVE: (&str, &str) = ("kl_p_q", "KL(p‖q)");
const EXCLUSIVE: (&str, &str) = ("kl_q_p", "KL(q‖p)");

/// Enters the runs of both rules on one target: the divergences against the number of components proposed.
fn enter<T: LogDensity>(ctx: &Context, name: &str, toy: &Toy<T>, table: &mut Table) -> Result<(), ReproError> {
    let nodes = Nodes::new(&toy.target, toy.log_normaliser, toy.range);
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
            for t in 1..=ITERATIONS {
                if t > 1 {
                    printed.step(&mut rng).context("the printed algorithm")?;
                }
                let q: &GaussianMixture = printed.mixture();
                let both = [nodes.reverse_kl(q), nodes.kl(q)].map(|kl| kl.context("the printed algorithm"));
                let [inclusive, exclusive] = both;
                table.row(&[&name, &label, &k, &t], [inclusive?, exclusive?])?;
            }
            ctx.step(label);
        }
    }
    Ok(())
}

fn panel(table: &Table, target: &str, (column, title): (&str, &str)) -> Panel {
    let t: Vec<f64> = (1..=ITERATIONS).map(|t| t as f64).collect();
    let axis = Axis::log("nats").floor(1e-4);
    let mut panel = Panel::new(format!("{target}: {title}"), Axis::linear("components proposed"), axis);
    for (rule, label) in RULES {
        let all = table.of(&[("target", &target), ("rule", &label)]).values(column);
        for (k, values) in all.chunks(ITERATIONS).enumerate() {
            let thin = style(rule).width(if k == 0 { 2.0 } else { 0.9 }).alpha(if k == 0 { 1.0 } else { 0.5 });
            panel = panel.line_marked(&t, values, thin, 0, if k == 0 { label } else { "" });
        }
    }
    panel
}

/// Algorithm 3 beside Algorithm 1.
pub(super) fn algorithm3(ctx: &Context) -> Result<Outcome, ReproError> {
    ctx.steps(3 * 2 * ctx.pick(5, 2));
    let mut table = Table::new("", &["target", "rule", "run", "t", INCLUSIVE.0, EXCLUSIVE.0]);
    enter(ctx, TARGETS[0], &toys::cauchy().context("the target")?, &mut table)?;
    enter(ctx, TARGETS[1], &toys::mixture4().context("the target")?, &mut table)?;
    enter(ctx, TARGETS[2], &toys::mixture5().context("the target")?, &mut table)?;
    let [(_, first), (_, third)] = RULES;
    let at = |rule: &str, t: usize| table.of(&[("rule", &rule), ("t", &t)]).values(INCLUSIVE.0);
    let less = |a: Vec<f64>, b: Vec<f64>| (a.iter().zip(&b).filter(|(a, b)| a < b).count(), a.len());
    let middle = |target: &str, rule: &str, column: &str| {
        table.of(&[("target", &target), ("rule", &rule), ("t", &ITERATIONS)]).median(column)
    };
    let each = join(TARGETS, "; ", |target| {
        let [own, other] = [third, first].map(|rule| number(middle(target, rule, INCLUSIVE.0)));
        format!("{target}: {own} by Algorithm 3, {other} by Algorithm 1")
    });
    let rows = TARGETS.map(|target| {
        let two = |column| [third, first].map(|rule| number(middle(target, rule, column)));
        std::iter::once(target.to_owned()).chain(two(INCLUSIVE.0)).chain(two(EXCLUSIVE.0)).collect()
    });
    let row = |divergence| TARGETS.map(|target| panel(&table, target, divergence)).to_vec();
    Ok(Outcome {
        checks: vec![
            words().counted("alternative", less(at(third, ITERATIONS), at(third, 1)), &[&each]),
            words().counted("alternative-better", less(at(third, ITERATIONS), at(first, ITERATIONS)), &[]),
        ],
        shown: Shown::new(
            ["target", "KL(p‖q), Algorithm 3", "Algorithm 1", "KL(q‖p), Algorithm 3", "Algorithm 1"],
            rows,
        ),
        figure: Figure::new("The weight for the divergence in the other direction")
            .row(300.0, row(INCLUSIVE))
            .row(300.0, row(EXCLUSIVE)),
        tables: vec![table],
        ..words().outcome(ctx, &[&ITERATIONS, &each, &SAMPLES, &STEPS[1].to_string(), &EPSILON.to_string()])
    })
}
