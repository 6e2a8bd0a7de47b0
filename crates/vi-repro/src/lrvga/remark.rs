//! Remark 1: what a low latent dimension does to the uncertainty, and what process noise does about it.

use vi_core::{
    AdaptiveFading, Belief, DenseGaussian, Explicit, GaussianBelief, GaussianLikelihood, Kalman, LowRankGaussian,
    LowRankSettings, MeanMoves, filter,
};
use vi_data::synthetic::{LinearData, LinearSettings, Normalisation};
use vi_linalg::faer::Par;
use vi_linalg::kernels::dot;
use vi_models::predict;

use super::inputs::generator;
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::looks::looks;
use crate::plot::palette::{BLACK, Dash, GREY, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Shown, Table, join, number};

const D: usize = 50;
const N: usize = 300;
const RANKS: [usize; 4] = [1, 2, 10, 50];
const INNER_LOOPS: usize = 3;
const EPSILON: f64 = 1e-8;
const LEVEL: f64 = 0.9;
/// Observations over which the prediction error is averaged, and the largest η.
const MEMORY: f64 = 50.0;
const LARGEST: f64 = 0.01;

looks! {
    /// How the rows are taken in.
    enum Way {
        Printed: "as printed", "as printed", ORANGE Dashed Square;
        Noise: "with process noise", "with process noise", BLUE Solid Disc;
        Blocks: "blocks", "blocks", PURPLE Solid Diamond;
    }
}

impl Way {
    fn belief(
        self,
        rank: usize,
        rule: Kalman,
        data: &LinearData,
        rng: &mut rand_chacha::ChaCha8Rng,
    ) -> Result<DenseGaussian, ReproError> {
        let (mean, ones) = ([0.0; D], [1.0; D]);
        let settings = match self {
            Self::Blocks => LowRankSettings::blocked(rank),
            _ => LowRankSettings::recursive(rank, INNER_LOOPS, MeanMoves::AfterProjection),
        };
        let settings = settings.context("a pass")?;
        let mut belief = match self {
            Self::Blocks => LowRankGaussian::new(&mean, &ones, settings),
            _ => LowRankGaussian::with_small_factor(&mean, &ones, EPSILON, settings, rng),
        }
        .context("a pass")?;
        let mut fading = AdaptiveFading::new(MEMORY, LARGEST).context("a pass")?;
        for (x, y) in data.data.observations() {
            if self == Self::Noise {
                fading.apply(&mut belief).context("a pass")?;
            }
            fading.observe(&belief.step(&rule, x, y, Par::Seq).context("a pass")?);
        }
        belief.to_dense().context("a pass")
    }
}

/// How a belief stands to the weights that the data were made from.
#[derive(Clone, Copy)]
struct Score {
    /// `(θ−μ)ᵀP⁻¹(θ−μ)/d`: 1 on average where the belief is consistent.
    squared: f64,
    /// Share of weights inside their intervals.
    covered: f64,
}

impl Score {
    fn of(belief: &DenseGaussian, theta: &[f64]) -> Result<Self, ReproError> {
        let shift: Vec<f64> = theta.iter().zip(belief.mean()).map(|(t, m)| t - m).collect();
        let mut solved = shift.clone();
        let cholesky = belief.cholesky().context("covariance")?;
        cholesky.solve_vec_in_place(&mut solved).context("covariance")?;
        let intervals = predict::weights(belief, LEVEL).context("intervals")?;
        let inside = intervals.iter().zip(theta).filter(|(i, t)| i.contains(**t)).count();
        Ok(Self { squared: dot(&shift, &solved) / D as f64, covered: inside as f64 / D as f64 })
    }
}

/// Enters the scores of data set `k`: of the exact filter, and of each way for each rank.
fn run(ctx: &Context, k: usize, table: &mut Table) -> Result<(), ReproError> {
    let rng = &mut generator(ctx.seed, k);
    let settings =
        LinearSettings { n: N, d: D, c: 1.0, normalisation: Normalisation::AsRun, noise_sd: 1.0, theta_sd: 1.0 };
    let drawn = settings.draw(rng).context("data")?;
    let rule: Kalman = Explicit(GaussianLikelihood::new(1.0).context("likelihood")?);
    let mut exact = DenseGaussian::isotropic(&[0.0; D], 1.0).context("prior")?;
    filter::run(&mut exact, &rule, drawn.data.x(), drawn.data.y(), |_, _, _| {}).context("Kalman filter")?;
    for way in Way::ALL {
        for rank in RANKS {
            let score = Score::of(&way.belief(rank, rule, &drawn, rng)?, &drawn.theta)?;
            table.row(&[&k, &way.slug(), &rank], [score.squared, score.covered])?;
        }
    }
    let score = Score::of(&exact, &drawn.theta)?;
    table.row(&[&k, &EXACT, &D], [score.squared, score.covered])
}

/// The way that keeps everything.
const EXACT: &str = "exact";

/// Remark 1.
pub(super) fn remark1(ctx: &Context) -> Result<Outcome, ReproError> {
    let count = ctx.pick(20, 4);
    ctx.steps(count);
    let mut table = Table::new("", &["data_set", "way", "p", "scaled_squared_error", "covered"]);
    ctx.each(0..count, "data sets", |k| run(ctx, k, &mut table))?;
    let of = |way: &str, p: usize| table.of(&[("way", &way), ("p", &p)]);
    let squared = |way: Way, p: usize| of(way.slug(), p).median("scaled_squared_error");
    let covered = |way: Way, p: usize| of(way.slug(), p).mean("covered");
    let (exact_squared, exact_covered) = (of(EXACT, D).median("scaled_squared_error"), of(EXACT, D).mean("covered"));
    // How far a squared error is from what the belief expects, pairs of data sets and the lowest ranks.
    let off = |way: Way| {
        let values = [1, 2].map(|p| of(way.slug(), p).values("scaled_squared_error"));
        values.concat().into_iter().map(|v| v.max(f64::MIN_POSITIVE).ln().abs()).collect::<Vec<f64>>()
    };
    let nearer = |way: Way| {
        let (own, printed) = (off(way), off(Way::Printed));
        (own.iter().zip(&printed).filter(|(own, printed)| own < printed).count(), own.len())
    };
    let each = |way: Way| join(RANKS, ", ", |p| format!("{} (p = {p})", number(squared(way, p))));
    let ranks = RANKS.map(|p| p as f64);
    let panel = |title: &str, axis: Axis, goal: f64, exact: f64, of: &dyn Fn(Way, usize) -> f64| {
        let panel = Panel::new(title, Axis::log("p"), axis)
            .horizontal(goal, Style::solid(GREY).dash(Dash::Dotted), "consistent")
            .horizontal(exact, Style::solid(BLACK).dash(Dash::Long).width(1.4), "full covariance");
        Way::ALL.into_iter().fold(panel, |panel, way| {
            panel.line_marked(&ranks, &RANKS.map(|p| of(way, p)), way.style(), 1, way.label())
        })
    };
    let rows = Way::ALL.into_iter().flat_map(|way| RANKS.map(|p| (way, p)));
    let lowest = Way::ALL.map(|way| covered(way, 1));
    let error = (LEVEL * (1.0 - LEVEL) / (D * count) as f64).sqrt();
    let share = Axis::linear("share").range(0.0, 1.0);
    Ok(Outcome {
        checks: vec![
            words().fact("poor", lowest[0] < 0.85, &[&lowest[0], &exact_covered]),
            words().counted("recovers", nearer(Way::Noise), &[&each(Way::Printed), &each(Way::Noise)]),
            words().fact(
                "full-covariance-intervals-hold",
                (exact_covered - LEVEL).abs() < 3.0 * error,
                &[&exact_covered],
            ),
            words().counted("blocks-squared-error-nearer", nearer(Way::Blocks), &[&each(Way::Blocks)]),
        ],
        shown: Shown::new(
            ["", "scaled squared error, median", "covered by 90 %, mean"],
            rows.map(|(way, p)| {
                vec![format!("{}, p = {p}", way.label()), number(squared(way, p)), number(covered(way, p))]
            })
            .chain([vec!["full covariance".to_owned(), number(exact_squared), number(exact_covered)]]),
        ),
        figure: Figure::new("What a low latent dimension does to the uncertainty").row(
            340.0,
            vec![
                panel("Squared error over what the belief expects", Axis::log("ratio"), 1.0, exact_squared, &squared),
                panel("Weights inside their intervals", share, LEVEL, exact_covered, &covered),
            ],
        ),
        tables: vec![table],
        ..words().outcome(
            ctx,
            &[
                &lowest[0],
                &lowest[1],
                &lowest[2],
                &exact_covered,
                &D,
                &N,
                &count,
                &MEMORY.to_string(),
                &LARGEST.to_string(),
            ],
        )
    })
}
