//! Remark 1: what a low latent dimension does to the uncertainty, and what process noise does about it.

use vi_core::{
    AdaptiveFading, Belief, DenseGaussian, Explicit, GaussianBelief, GaussianLikelihood, Kalman, LowRankGaussian,
    LowRankSettings, MeanMoves, filter,
};
use vi_data::synthetic::{LinearData, LinearSettings, Normalisation};
use vi_linalg::faer::Par;
use vi_linalg::kernels::dot;
use vi_models::predict;

use super::claims;
use super::computation;
use super::inputs::generator;
use crate::error::ReproError;
use crate::item::Context;
use crate::plot::palette::{BLACK, BLUE, Dash, GREY, Marker, ORANGE, PURPLE, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Shown, Table, cell, median, number};

const D: usize = 50;
const N: usize = 300;
const RANKS: [usize; 4] = [1, 2, 10, 50];
const INNER_LOOPS: usize = 3;
const EPSILON: f64 = 1e-8;
const LEVEL: f64 = 0.9;
/// Observations over which the prediction error is averaged, and the largest η.
const MEMORY: f64 = 50.0;
const LARGEST: f64 = 0.01;

/// How the rows are taken in.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Printed,
    Noise,
    Blocks,
}

impl Way {
    const ALL: [Self; 3] = [Self::Printed, Self::Noise, Self::Blocks];

    fn label(self) -> &'static str {
        match self {
            Self::Printed => "as printed",
            Self::Noise => "with process noise",
            Self::Blocks => "blocks",
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Printed => Style::solid(ORANGE).dash(Dash::Dashed).marker(Marker::Square),
            Self::Noise => Style::solid(BLUE).marker(Marker::Disc),
            Self::Blocks => Style::solid(PURPLE).marker(Marker::Diamond),
        }
    }

    fn belief(
        self,
        rank: usize,
        rule: Kalman,
        data: &LinearData,
        rng: &mut rand_chacha::ChaCha8Rng,
    ) -> Result<DenseGaussian, ReproError> {
        let fail = |e| computation("a pass", &e);
        let (mean, ones) = ([0.0; D], [1.0; D]);
        let settings = match self {
            Self::Blocks => LowRankSettings::blocked(rank),
            _ => LowRankSettings::recursive(rank, INNER_LOOPS, MeanMoves::AfterProjection),
        };
        let settings = settings.map_err(fail)?;
        let mut belief = match self {
            Self::Blocks => LowRankGaussian::new(&mean, &ones, settings),
            _ => LowRankGaussian::with_small_factor(&mean, &ones, EPSILON, settings, rng),
        }
        .map_err(fail)?;
        let mut fading = AdaptiveFading::new(MEMORY, LARGEST).map_err(fail)?;
        for (x, y) in data.data.observations() {
            if self == Self::Noise {
                fading.apply(&mut belief).map_err(fail)?;
            }
            fading.observe(&belief.step(&rule, x, y, Par::Seq).map_err(fail)?);
        }
        belief.to_dense().map_err(fail)
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
        let cholesky = belief.cholesky().map_err(|e| computation("covariance", &e))?;
        cholesky.solve_vec_in_place(&mut solved).map_err(|e| computation("covariance", &e))?;
        let intervals = predict::weights(belief, LEVEL).map_err(|e| computation("intervals", &e))?;
        let inside = intervals.iter().zip(theta).filter(|(i, t)| i.contains(**t)).count();
        Ok(Self { squared: dot(&shift, &solved) / D as f64, covered: inside as f64 / D as f64 })
    }
}

/// One data set: the exact filter's score, and each way's for each rank.
struct Run {
    exact: Score,
    /// `scores[way][rank]`.
    scores: Vec<Vec<Score>>,
}

fn run(ctx: &Context, k: usize) -> Result<Run, ReproError> {
    let rng = &mut generator(ctx.seed, k);
    let settings =
        LinearSettings { n: N, d: D, c: 1.0, normalisation: Normalisation::AsRun, noise_sd: 1.0, theta_sd: 1.0 };
    let drawn = settings.draw(rng).map_err(|e| computation("data", &e))?;
    let rule: Kalman = Explicit(GaussianLikelihood::new(1.0).map_err(|e| computation("likelihood", &e))?);
    let mut exact = DenseGaussian::isotropic(&[0.0; D], 1.0).map_err(|e| computation("prior", &e))?;
    filter::run(&mut exact, &rule, drawn.data.x(), drawn.data.y(), |_, _, _| {})
        .map_err(|e| computation("Kalman filter", &e))?;
    let mut scores = Vec::new();
    for way in Way::ALL {
        let of = |rank| Score::of(&way.belief(rank, rule, &drawn, rng)?, &drawn.theta);
        scores.push(RANKS.into_iter().map(of).collect::<Result<Vec<_>, ReproError>>()?);
    }
    Ok(Run { exact: Score::of(&exact, &drawn.theta)?, scores })
}

/// Remark 1.
#[allow(clippy::too_many_lines, reason = "numbers, then the words that tell them")]
pub(super) fn remark1(ctx: &Context) -> Result<Outcome, ReproError> {
    let count = ctx.pick(20, 4);
    ctx.steps(count);
    let mut runs = Vec::new();
    for k in 0..count {
        runs.push(run(ctx, k)?);
        ctx.step("data sets");
    }
    let middle = |way: usize, rank: usize, of: fn(&Score) -> f64| {
        median(&runs.iter().map(|r| of(&r.scores[way][rank])).collect::<Vec<_>>())
    };
    let mean_covered =
        |way: usize, rank: usize| runs.iter().map(|r| r.scores[way][rank].covered).sum::<f64>() / runs.len() as f64;
    let exact_covered = runs.iter().map(|r| r.exact.covered).sum::<f64>() / runs.len() as f64;
    let exact_squared = median(&runs.iter().map(|r| r.exact.squared).collect::<Vec<_>>());
    let off = |v: f64| v.max(f64::MIN_POSITIVE).ln().abs();
    let nearer = runs.iter().flat_map(|r| [0, 1].map(|rank| (r, rank)));
    let hits = nearer.clone().filter(|(r, rank)| off(r.scores[1][*rank].squared) < off(r.scores[0][*rank].squared));
    let pairs = nearer.clone().count();
    let each = |way: usize, of: fn(&Score) -> f64| {
        RANKS
            .iter()
            .enumerate()
            .map(|(i, p)| format!("{} (p = {p})", number(middle(way, i, of))))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut table = Table::new("", &["data_set", "way", "p", "scaled_squared_error", "covered"]);
    for (k, r) in runs.iter().enumerate() {
        for (way, scores) in Way::ALL.iter().zip(&r.scores) {
            for (p, s) in RANKS.iter().zip(scores) {
                table.push(vec![
                    k.to_string(),
                    way.label().to_owned(),
                    p.to_string(),
                    cell(s.squared),
                    cell(s.covered),
                ])?;
            }
        }
        table.push(vec![
            k.to_string(),
            "exact".to_owned(),
            D.to_string(),
            cell(r.exact.squared),
            cell(r.exact.covered),
        ])?;
    }
    let ranks = RANKS.map(|p| p as f64);
    let panel = |title: &str, axis: Axis, goal: f64, exact: f64, of: &dyn Fn(usize, usize) -> f64| {
        let mut panel = Panel::new(title, Axis::log("p"), axis)
            .horizontal(goal, Style::solid(GREY).dash(Dash::Dotted), "consistent")
            .horizontal(exact, Style::solid(BLACK).dash(Dash::Long).width(1.4), "full covariance");
        for (i, way) in Way::ALL.iter().enumerate() {
            let values: Vec<f64> = (0..RANKS.len()).map(|rank| of(i, rank)).collect();
            panel = panel.line_marked(&ranks, &values, way.style(), 1, way.label());
        }
        panel
    };
    let rows = Way::ALL
        .iter()
        .enumerate()
        .flat_map(|(i, way)| RANKS.iter().enumerate().map(move |(rank, p)| (i, way, rank, p)));
    Ok(Outcome {
        summary: format!(
            "With p = 1 the 90 % intervals hold {} of the weights as printed, {} with process noise, {} by blocks; {} with a full \
             covariance.",
            number(mean_covered(0, 0)),
            number(mean_covered(1, 0)),
            number(mean_covered(2, 0)),
            number(exact_covered)
        ),
        caption: format!(
            "Linear regression, d = {D}, N = {N}, {count} data sets whose weights are drawn from the prior. Left: squared error of the mean \
             in the belief’s own metric over d, 1 where the belief is consistent (median). Right: share of the weights inside their \
             90 % intervals (mean)."
        ),
        quote: "Using a lower value for p may lead to a poor estimation of the uncertainty. A common approach in Kalman filtering is to add \
                a process noise to recover consistency. We can assume Q_t = η_tP_{t−1}, which corresponds to a fading memory filter \
                (Remark 1)."
            .into(),
        notes: vec![format!(
            "Three inner loops from Appendix D’s start, as in Figure 2. η_t follows the mean squared innovation over about {MEMORY} rows and \
             is at most {LARGEST}; the paper leaves the estimator open."
        )],
        claims: vec![
            claims::POOR.judged(Check::fact(
                "",
                mean_covered(0, 0) < 0.85,
                format!("{} as printed, {} with a full covariance", number(mean_covered(0, 0)), number(exact_covered)),
            )),
            claims::RECOVERS.counted_over(
                (hits.count(), pairs),
                format!("medians as printed {}; with process noise {}", each(0, |s| s.squared), each(1, |s| s.squared)),
                "runs (data sets and p = 1, 2)",
            ),
        ],
        promises: vec![Check::fact(
            "With a full covariance the intervals hold what they say, within three standard errors of the data sets",
            (exact_covered - LEVEL).abs() < 3.0 * (LEVEL * (1.0 - LEVEL) / (D * count) as f64).sqrt(),
            format!("{} of the weights", number(exact_covered)),
        )],
        findings: vec![Check::counted_over(
            "By blocks the squared error is nearer to 1 than as printed",
            (
                nearer.filter(|(r, rank)| off(r.scores[2][*rank].squared) < off(r.scores[0][*rank].squared)).count(),
                pairs,
            ),
            format!("medians by blocks {}", each(2, |s| s.squared)),
            "runs (data sets and p = 1, 2)",
        )],
        quantities: vec![],
        shown: Shown {
            head: ["", "scaled squared error, median", "covered by 90 %, mean"].map(String::from).to_vec(),
            rows: rows
                .map(|(i, way, rank, p)| {
                    vec![format!("{}, p = {p}", way.label()), number(middle(i, rank, |s| s.squared)), number(mean_covered(i, rank))]
                })
                .chain([vec!["full covariance".to_owned(), number(exact_squared), number(exact_covered)]])
                .collect(),
        },
        tables: vec![table],
        figure: Figure::new("What a low latent dimension does to the uncertainty").row(
            340.0,
            vec![
                panel("Squared error over what the belief expects", Axis::log("ratio"), 1.0, exact_squared, &|way, rank| {
                    middle(way, rank, |s| s.squared)
                }),
                panel("Weights inside their intervals", Axis::linear("share").range(0.0, 1.0), LEVEL, exact_covered, &mean_covered),
            ],
        ),
    })
}
