//! §1.1 and §1.3: how the objective rises, by update rule and by how its expectation is taken; what its entropy term hides.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_revrand::Kernel;
use vi_revrand::basis::{LengthScale, RandomFourier};
use vi_revrand::glm::{Elbo, Expectation, Glm, GlmSettings, Kept, Rows};
use vi_revrand::likelihood::Bernoulli;
use vi_revrand::sgd::Updater;

use super::classes::Data;
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{BLACK, BLUE, BROWN, Dash, GREEN, SKY, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Shown, Table, number, short};

const PAIRS: usize = 30;
const BATCH: usize = 10;
/// Steps of which one point of a trace is the mean.
const WINDOW: usize = 100;
/// Draws for the bound without bias, from each component.
const DRAWS: usize = 400;
/// Runs of a panel in turn: shades and dashes of one method's variants.
const STYLES: [Style; 5] = [
    Style::solid(BLUE),
    Style::solid(SKY).dash(Dash::Dashed),
    Style::solid(GREEN).dash(Dash::DashDot),
    Style::solid(BROWN).dash(Dash::Dotted),
    Style::solid(BLACK).dash(Dash::Long).width(1.4),
];

/// One training run.
struct Trained {
    name: String,
    trace: Vec<f64>,
    elbo: Elbo,
}

fn train(
    name: &str,
    data: &Data,
    (components, expectation, updater): (usize, Expectation, Updater),
    (steps, seed): (usize, u64),
) -> Result<Trained, ReproError> {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let scales = LengthScale::PerInput(vec![1.0; 2]);
    let basis = RandomFourier::new(Kernel::Rbf, 2, PAIRS, scales, rng).context("training")?;
    let settings = GlmSettings { components, expectation, batch: BATCH, steps, updater, ..GlmSettings::default() };
    let mut model = Glm::new(basis, Bernoulli, settings, rng).context("training")?;
    let rows = Rows::new(data.x.as_ref(), &data.y);
    let run = model.fit(rows, rng).context("training")?;
    let elbo = model.elbo(rows, DRAWS, rng).context("training")?;
    let trace = run.trace.chunks_exact(WINDOW).map(|window| window.iter().sum::<f64>() / WINDOW as f64).collect();
    Ok(Trained { name: name.to_owned(), trace, elbo })
}

fn rules() -> Result<[(&'static str, Updater); 5], ReproError> {
    Ok([
        ("Adam, η = 0.01", Updater::adam(0.01).context("update rule")?),
        ("AdaGrad, η = 0.1", Updater::ada_grad(0.1, 1e-6).context("update rule")?),
        ("AdaDelta, ρ = 0.9", Updater::ada_delta(0.9, 1e-4).context("update rule")?),
        ("momentum, η = 0.0001", Updater::momentum(1e-4, 0.5).context("update rule")?),
        ("plain, η = 0.0002", Updater::plain(2e-4).context("update rule")?),
    ])
}

fn expectations() -> [(&'static str, Expectation); 4] {
    [
        ("second order", Expectation::SecondOrder),
        ("quadrature, 16 nodes", Expectation::Quadrature { nodes: 16 }),
        ("predictors, 10 draws", Expectation::Predictors { draws: 10, kept: Kept::Fresh }),
        ("weights, 10 draws", Expectation::Weights { draws: 10, kept: Kept::Fresh }),
    ]
}

/// Traces of the objective.
pub(super) fn traces(ctx: &Context) -> Result<Outcome, ReproError> {
    let steps = ctx.pick(20_000, 5000);
    ctx.steps(11);
    let data = Data::new(&mut ChaCha8Rng::seed_from_u64(ctx.seed));
    let run = |name: &str, what: (usize, Expectation, Updater)| {
        let trained = train(name, &data, what, (steps, ctx.seed));
        ctx.step(name);
        trained
    };
    let exact = Expectation::Quadrature { nodes: 16 };
    let by_rule =
        rules()?.into_iter().map(|(name, rule)| run(name, (1, exact, rule))).collect::<Result<Vec<_>, _>>()?;
    let adam = Updater::default();
    let by_expectation =
        expectations().into_iter().map(|(name, how)| run(name, (1, how, adam))).collect::<Result<Vec<_>, _>>()?;
    let mixtures =
        [2, 5].into_iter().map(|k| run(&format!("K = {k}"), (k, exact, adam))).collect::<Result<Vec<_>, _>>()?;

    let values: Vec<f64> = by_expectation[1..].iter().map(|t| t.elbo.terms.value()).collect();
    let spread =
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max) - values.iter().copied().fold(f64::INFINITY, f64::min);
    let single: Vec<&Trained> = by_rule.iter().chain(&by_expectation).collect();
    let in_errors = |t: &&Trained| {
        let bound = t.elbo.terms.value() + t.elbo.entropy_offset;
        (t.elbo.monte_carlo.value - bound).abs() / t.elbo.monte_carlo.standard_error
    };
    let worst = single.iter().map(in_errors).fold(0.0, f64::max);
    let rose = single.iter().filter(|t| t.trace.last() > t.trace.first()).count();
    let offset = single[0].elbo.entropy_offset;
    Ok(Outcome {
        checks: vec![
            words().counted("factorises", (rose, single.len()), &[]),
            words().below("second-order", values[0] - by_expectation[0].elbo.terms.value(), 0.05 * values[0].abs()),
            words().below("exact-sampled-expectations-lead", spread, 0.03 * values[0].abs()),
            words().below("one-component-objective-plus", worst, 4.5),
        ],
        shown: shown(&by_rule, &by_expectation, &mixtures),
        tables: vec![table(by_rule.iter().chain(&by_expectation).chain(&mixtures))?],
        figure: figure(&by_rule, &by_expectation),
        ..words().outcome(ctx, &[&spread, &offset, &BATCH, &data.y.len(), &WINDOW, &(2 * PAIRS)])
    })
}

fn shown(by_rule: &[Trained], by_expectation: &[Trained], mixtures: &[Trained]) -> Shown {
    let row = |t: &Trained| {
        let estimate = t.elbo.monte_carlo;
        vec![
            t.name.clone(),
            number(t.elbo.terms.value()),
            number(t.elbo.terms.value() + t.elbo.entropy_offset),
            format!("{} ± {}", number(estimate.value), number(estimate.standard_error)),
        ]
    };
    Shown::new(
        ["run", "objective", "and offset", "bound by draws"],
        by_rule.iter().chain(by_expectation).chain(mixtures).map(row),
    )
}

fn table<'a>(all: impl Iterator<Item = &'a Trained>) -> Result<Table, ReproError> {
    let mut table = Table::new("", &["run", "step", "objective"]);
    for trained in all {
        for (i, value) in trained.trace.iter().enumerate() {
            table.push(&[&trained.name, &((i + 1) * WINDOW), &short(*value)])?;
        }
    }
    Ok(table)
}

fn figure(by_rule: &[Trained], by_expectation: &[Trained]) -> Figure {
    // The best objective that any run reached; gaps are drawn below it.
    let all = by_rule.iter().chain(by_expectation).flat_map(|t| t.trace.iter().copied());
    let best = all.fold(f64::NEG_INFINITY, f64::max);
    let panel = |title: &str, all: &[Trained]| {
        let axis = Axis::log("nats below the best of all runs").range(1.0, 1e4);
        let mut panel = Panel::new(title, Axis::log("step"), axis);
        for (trained, style) in all.iter().zip(STYLES) {
            let steps: Vec<f64> = (0..trained.trace.len()).map(|i| ((i + 1) * WINDOW) as f64).collect();
            let gaps: Vec<f64> = trained.trace.iter().map(|v| best - v).collect();
            panel = panel.line_marked(&steps, &gaps, style, 0, &trained.name);
        }
        panel
    };
    Figure::new("Stochastic gradients on a Bernoulli GLM")
        .row(380.0, vec![panel("By update rule", by_rule), panel("By expectation", by_expectation)])
}
