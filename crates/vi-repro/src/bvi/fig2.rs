//! Figure 2: logistic regression on the Nodal data.

use std::sync::Arc;

use vi_boost::target::GlmTarget;
use vi_boost::{Component, Family, GaussianMixture, Refit, divergence};
use vi_core::{BernoulliLogit, DenseGaussian, Estimate, GlmPosterior, Mixture8};
use vi_linalg::faer::{Mat, MatRef, Par};

use super::look::{
    FULL_RANK, FULL_RANK_LABEL, GREEDY, GREEDY_LABEL, MEAN_FIELD, MEAN_FIELD_LABEL, PRINTED, PRINTED_LABEL, REFITTED,
    REFITTED_LABEL,
};
use super::runs::{STEPS, ours, printed, single};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{Dash, GREY, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Quantity, Shown, Table, number};

const TRUTH: &str = include_str!("../../data/bvi-nodal.csv");

/// Coefficients of the data, the intercept included.
const D: usize = 6;

/// The stored long-run truth.
struct Truth {
    log_evidence: f64,
    /// Its standard error.
    error: f64,
    mean: Vec<f64>,
    covariance: Mat<f64>,
}

impl Truth {
    fn read() -> Result<Self, ReproError> {
        let mut truth =
            Self { log_evidence: f64::NAN, error: f64::NAN, mean: vec![f64::NAN; D], covariance: Mat::zeros(D, D) };
        let mut rows = csv::Reader::from_reader(TRUTH.as_bytes());
        for row in rows.deserialize() {
            let (quantity, i, j, value, error): (String, usize, usize, f64, f64) = row.context("stored truth")?;
            if i >= D || j >= D {
                return Err("an index beyond the dimension").context("stored truth");
            }
            match quantity.as_str() {
                "log_evidence" => (truth.log_evidence, truth.error) = (value, error),
                "mean" => truth.mean[i] = value,
                _ => {
                    truth.covariance[(i, j)] = value;
                    truth.covariance[(j, i)] = value;
                }
            }
        }
        Ok(truth)
    }

    fn sd(&self, j: usize) -> f64 {
        self.covariance[(j, j)].sqrt()
    }
}

/// A method's answer and how far it is from the truth.
pub(super) struct Answer {
    pub(super) label: &'static str,
    slug: &'static str,
    style: Style,
    q: GaussianMixture,
    covariance: Mat<f64>,
    pub(super) kl: Estimate,
    /// Largest error of a mean, in posterior standard deviations.
    mean_error: f64,
    /// Largest relative error of a standard deviation.
    sd_error: f64,
    /// Largest error of a covariance between two coefficients, as a correlation.
    covariance_error: f64,
}

/// Components of ours without a refit, and with.
const GREEDY_COMPONENTS: usize = 16;
const REFITTED_COMPONENTS: usize = 3;

/// Iterations of the printed algorithm.
const ITERATIONS: usize = 30;

/// Every method on the data.
pub(super) struct Study {
    truth: Truth,
    pub(super) answers: Vec<Answer>,
}

impl Study {
    /// The study, made once for all items.
    pub(super) fn shared(ctx: &Context) -> Result<Arc<Self>, ReproError> {
        ctx.once("bvi Nodal", || Self::new(ctx))
    }

    fn new(ctx: &Context) -> Result<Self, ReproError> {
        ctx.steps(5);
        let truth = Truth::read()?;
        let data = vi_data::nodal().context("nodal data")?;
        let prior = DenseGaussian::isotropic(&[0.0; D], 1.0).context("the posterior")?;
        let x = MatRef::from_row_major_slice(data.rows_row_major(), data.n(), data.d());
        let target = GlmTarget::new(&prior, x, data.y(), BernoulliLogit(Mixture8)).context("the posterior")?;
        let posterior = GlmPosterior::new(&prior, x, data.y(), BernoulliLogit(Mixture8)).context("the posterior")?;
        // "We initialize with a Gaussian with very large (co)variance."
        let start = Component::isotropic(&[0.0; D], 10.0_f64.sqrt()).context("the start")?;
        let nothing = |_: &GaussianMixture| Ok(f64::NAN);
        let mut found: Vec<(&'static str, &'static str, Style, GaussianMixture)> = Vec::new();
        let q = printed(&target, &start, STEPS[0], ctx.pick(ITERATIONS, 10), ctx.seed, nothing)?.q;
        found.push((PRINTED_LABEL, "printed", PRINTED, q));
        ctx.step(PRINTED_LABEL);
        found.push((MEAN_FIELD_LABEL, "mean_field", MEAN_FIELD, single(&target, &start, Family::Diagonal, ctx.seed)?));
        ctx.step(MEAN_FIELD_LABEL);
        found.push((FULL_RANK_LABEL, "full_rank", FULL_RANK, single(&target, &start, Family::Full, ctx.seed)?));
        ctx.step(FULL_RANK_LABEL);
        let q = ours(&target, &start, ctx.pick(GREEDY_COMPONENTS, 6), Refit::Never, ctx.seed, nothing)?.q;
        found.push((GREEDY_LABEL, "greedy", GREEDY, q));
        ctx.step(GREEDY_LABEL);
        let q = ours(&target, &start, REFITTED_COMPONENTS, Refit::Each, ctx.seed, nothing)?.q;
        found.push((REFITTED_LABEL, "refitted", REFITTED, q));
        ctx.step(REFITTED_LABEL);
        let mut answers = Vec::new();
        for (label, slug, style, q) in found {
            let mean = q.mean();
            let covariance = q.covariance().context("a covariance")?;
            // One Gaussian's divergence is a sum of one-dimensional integrals; a mixture's is sampled.
            let kl = if q.weights().iter().filter(|w| **w > 1e-12).count() == 1 {
                let gaussian = DenseGaussian::new(&mean, covariance.as_ref()).context("the posterior")?;
                let value = posterior.kl(&gaussian, Par::Seq).context("the posterior")? + truth.log_evidence;
                Estimate { value, standard_error: truth.error }
            } else {
                divergence::known_evidence(&q, &target, truth.log_evidence, 8192, 8, ctx.seed)
                    .context("a divergence")?
            };
            let worst = |error: &dyn Fn(usize) -> f64| (0..D).map(error).fold(0.0, f64::max);
            let pair = |i: usize, j: usize| {
                (covariance[(i, j)] - truth.covariance[(i, j)]).abs() / (truth.sd(i) * truth.sd(j))
            };
            answers.push(Answer {
                label,
                slug,
                style,
                kl,
                mean_error: worst(&|j| (mean[j] - truth.mean[j]).abs() / truth.sd(j)),
                sd_error: worst(&|j| (covariance[(j, j)].sqrt() / truth.sd(j) - 1.0).abs()),
                covariance_error: worst(&|i| (0..i).map(|j| pair(i, j)).fold(0.0, f64::max)),
                q,
                covariance,
            });
        }
        Ok(Self { truth, answers })
    }

    fn of(&self, slug: &str) -> &Answer {
        self.answers.iter().find(|answer| answer.slug == slug).unwrap_or(&self.answers[0])
    }

    /// Estimates against the truth, with the line on which both are equal.
    fn panel(&self, title: &str, pick: impl Fn(&[f64], &Mat<f64>) -> Vec<f64>) -> Panel {
        let truth = pick(&self.truth.mean, &self.truth.covariance);
        let (low, high) = truth.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
        let (low, high) = (low - 0.15 * (high - low), high + 0.15 * (high - low));
        let mut panel = Panel::new(title, Axis::linear("truth").range(low, high), Axis::linear("estimate"))
            .line_marked(&[low, high], &[low, high], Style::solid(GREY).dash(Dash::Dotted), 0, "estimate = truth");
        for answer in &self.answers {
            let values = pick(&answer.q.mean(), &answer.covariance);
            panel = panel.points(&truth, &values, answer.style, 4.5, answer.label);
        }
        panel
    }

    fn table(&self) -> Result<Table, ReproError> {
        let mut table = Table::new(
            "",
            &["quantity", "i", "j", "truth", "printed", "mean_field", "full_rank", "greedy", "refitted"],
        );
        let mut push = |quantity: &str, i: usize, j: usize, truth: f64, value: &dyn Fn(&Answer) -> f64| {
            table.row(&[&quantity, &i, &j], std::iter::once(truth).chain(self.answers.iter().map(value)))
        };
        for i in 0..D {
            push("mean", i, 0, self.truth.mean[i], &|answer| answer.q.mean()[i])?;
        }
        for i in 0..D {
            for j in 0..=i {
                push("covariance", i, j, self.truth.covariance[(i, j)], &|answer| answer.covariance[(i, j)])?;
            }
        }
        Ok(table)
    }

    fn shown(&self) -> Shown {
        let head = ["method", "components", "KL(q‖p), nats", "mean, sd off", "sd, off by", "correlation, off by"];
        let rows = self.answers.iter().map(|answer| {
            let heavy = answer.q.weights().iter().filter(|w| **w > 1e-12).count();
            vec![
                answer.label.to_owned(),
                heavy.to_string(),
                format!("{} ± {}", number(answer.kl.value), number(answer.kl.standard_error)),
                number(answer.mean_error),
                number(answer.sd_error),
                number(answer.covariance_error),
            ]
        });
        Shown::new(head, rows)
    }
}

/// Figure 2.
#[allow(clippy::too_many_lines, reason = "numbers, then the words that tell them")]
pub(super) fn nodal(ctx: &Context) -> Result<Outcome, ReproError> {
    let study = Study::shared(ctx)?;
    let (printed, mean_field) = (study.of("printed"), study.of("mean_field"));
    let (greedy, refitted, full_rank) = (study.of("greedy"), study.of("refitted"), study.of("full_rank"));
    let variance = |answer: &Answer, i: usize| answer.covariance[(i, i)];
    let closer = |i: usize| {
        let truth = study.truth.covariance[(i, i)];
        (variance(printed, i) - truth).abs() < (variance(mean_field, i) - truth).abs()
    };
    let pairs: Vec<(usize, usize)> = (0..D).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
    let estimate = &printed.covariance;
    let nearer = pairs.iter().filter(|(i, j)| {
        let truth = study.truth.covariance[(*i, *j)];
        (estimate[(*i, *j)] - truth).abs() < truth.abs()
    });
    let two_errors = |answer: &Answer| answer.kl.value - 2.0 * answer.kl.standard_error;
    let checks = vec![
        words().below("means", printed.mean_error.max(mean_field.mean_error), 0.1),
        words().counted(
            "variances",
            ((0..D).filter(|i| closer(*i)).count(), D),
            &[&printed.sd_error, &mean_field.sd_error],
        ),
        words().counted(
            "covariances",
            (nearer.count(), pairs.len()),
            &[&printed.covariance_error, &mean_field.covariance_error],
        ),
        words().below("three-components-refitted-together", two_errors(refitted), 0.0015),
        words().below("sixteen-greedy-components-leave", two_errors(greedy), 0.0075),
        words().below("closer-best-single-gaussian", refitted.kl.value.max(greedy.kl.value), full_rank.kl.value),
        words().below("refitted-means-within-0", refitted.mean_error, 0.02),
        words().below("refitted-standard-deviations-within", refitted.sd_error, 0.02),
    ];
    Ok(Outcome {
        checks,
        quantities: vec![
            Quantity::new("KL, best Gaussian of diagonal covariance (nats)").works(number(mean_field.kl.value)),
            Quantity::new("KL, best Gaussian").works(number(full_rank.kl.value)),
            Quantity::new("KL, boosting").printed(number(printed.kl.value)).works(format!(
                "{} greedy, {} refitted",
                number(greedy.kl.value),
                number(refitted.kl.value)
            )),
        ],
        shown: study.shown(),
        tables: vec![study.table()?],
        figure: Figure::new("Fig 2: Nodal data, posterior moments").row(
            400.0,
            vec![
                study.panel("Means", |mean, _| mean.to_vec()),
                study.panel("Variances", |_, covariance| (0..D).map(|j| covariance[(j, j)]).collect()),
                study.panel("Covariances", |_, covariance| {
                    (0..D).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| covariance[(i, j)]).collect()
                }),
            ],
        ),
        ..words().outcome(
            ctx,
            &[&printed.kl.value, &mean_field.kl.value, &full_rank.kl.value, &greedy.kl.value, &refitted.kl.value],
        )
    })
}
