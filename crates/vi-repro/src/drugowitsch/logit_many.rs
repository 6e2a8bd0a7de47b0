//! Classification with sparse weights.

use vi_core::Mixture8;
use vi_linalg::faer::Par;
use vi_models::predict;
use vi_models::vb::{self, LogitBound, LogitFit, LogitPrior, VbSettings};

use super::data::{Sample, first_informative, generator, wrong};
use super::errors::Errors;
use super::style::{Way, weights_panel};
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::{Figure, Panel};
use crate::report::{Outcome, Shown, Table, median, number};

const WAYS: [Way; 3] = [Way::Vb, Way::Ard, Way::Incremental];

struct Study {
    sample: Sample,
    fits: [LogitFit; 2],
    /// Training and test error, and test log loss, of [`WAYS`].
    scores: [[f64; 3]; 3],
}

impl Study {
    fn new(sizes: (usize, usize, usize), informative: usize, seed: u64, k: usize) -> Result<Self, ReproError> {
        let mut rng = generator(seed, k);
        let sample = Sample::sparse(&mut rng, sizes, informative, 2.3, Sample::classes);
        let (x, y, bound) = (sample.x.as_ref(), &sample.y, LogitBound::JaakkolaJordan);
        let settings = VbSettings { tolerance: Some(1e-6), max_iterations: 300 };
        let vb = vb::logit(x, y, LogitPrior::default(), bound, &settings, Par::Seq).context("fit")?;
        let ard = vb::logit_ard(x, y, LogitPrior::default(), bound, &settings, Par::Seq).context("fit")?;
        let incremental = vb::logit_incremental(x, y, &VbSettings::authors()).context("fit")?;
        let probabilities = |way: usize, x| -> Result<Vec<f64>, ReproError> {
            let predicted = match way {
                0 => vb.predict(x),
                1 => ard.predict(x),
                _ => predict::logistic(incremental.belief(), x, &Mixture8),
            };
            Ok(predicted.context("fit")?.iter().map(|p| p.probability).collect())
        };
        let mut scores = [[0.0; 3]; 3];
        for (way, slot) in scores.iter_mut().enumerate() {
            let test = probabilities(way, sample.test_x.as_ref())?;
            let loss = vi_models::metrics::log_loss(&test, &sample.test_y).context("fit")?;
            *slot = [wrong(&probabilities(way, x)?, y)?, wrong(&test, &sample.test_y)?, loss];
        }
        Ok(Self { fits: [vb, ard], scores, sample })
    }

    fn weights_panel(&self, i: usize) -> Panel {
        weights_panel(WAYS[i], &self.sample, self.fits[i].weights().mean())
    }
}

/// 500 weights of which 100 are not 0, 1000 rows.
pub(super) fn sparse(ctx: &Context) -> Result<Outcome, ReproError> {
    let (sizes, informative) = ctx.pick(((1000, 1000, 500), 100), ((300, 300, 100), 20));
    let count = ctx.pick(5, 4);
    ctx.steps(count);
    let studies = ctx.each(0..count, "data sets", |k| Study::new(sizes, informative, ctx.seed, k))?;
    let mut table = Table::new("", &["data_set", "fit", "train_error", "test_error", "test_log_loss"]);
    for (k, study) in studies.iter().enumerate() {
        for (way, scores) in WAYS.iter().zip(study.scores) {
            table.row(&[&k, &way.slug()], scores)?;
        }
    }
    let errors = Errors { table: &table, ways: &WAYS, columns: ["train_error", "test_error"] };
    let panel = |column: &str, title: &str, axis: &str| errors.panel(title, axis, column, (1.0, 3.6));
    let loss = WAYS.map(|way| table.of(&[("fit", &way.slug())]).median("test_log_loss"));
    let less = |a: usize, b: usize| (studies.iter().filter(|s| s.scores[a][2] < s.scores[b][2]).count(), count);
    let ranked: Vec<f64> = studies.iter().map(|s| first_informative(&s.fits[1].relevance(), informative)).collect();
    let (share, chance) = (median(&ranked), informative as f64 / sizes.2 as f64);
    Ok(Outcome {
        checks: vec![
            words().fact("relevant", share > 0.5, &[&share, &informative, &chance]),
            words().counted("relevance-determination-test-log", less(1, 0), &[]),
            words().counted("all-rows-once-beat", less(0, 2), &[]),
        ],
        shown: Shown::new(
            ["median", "wrong, training", "wrong, test", "test log loss"],
            WAYS.iter().zip(loss).map(|(way, loss)| {
                let numbers = [errors.median(*way, false), errors.median(*way, true), loss].map(number);
                std::iter::once(way.label().to_owned()).chain(numbers).collect()
            }),
        ),
        figure: Figure::new("Sparse weights, two classes")
            .row(330.0, vec![studies[0].weights_panel(0), studies[0].weights_panel(1)])
            .row(
                300.0,
                vec![
                    panel("test_error", "Test error", "share of wrong classes"),
                    panel("test_log_loss", "Test log loss", "nats"),
                ],
            ),
        tables: vec![table],
        ..words().outcome(ctx, &[&loss[0], &loss[1], &loss[2], &sizes.2, &informative, &sizes.0])
    })
}
