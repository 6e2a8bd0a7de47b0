//! Classification with sparse weights.

use vi_core::Mixture8;
use vi_linalg::faer::Par;
use vi_models::predict;
use vi_models::vb::{self, LogitBound, LogitFit, LogitPrior, VbSettings};

use super::claims;
use super::data::{Sample, generator, wrong};
use super::style::{Way, computation};
use crate::error::ReproError;
use crate::item::Context;
use crate::plot::palette::{Dash, GREY, Marker, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Shown, Table, cell, number, quartiles};

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
        let fail = |e| computation("fit", &e);
        let settings = VbSettings { tolerance: Some(1e-6), max_iterations: 300 };
        let vb = vb::logit(x, y, LogitPrior::default(), bound, &settings, Par::Seq).map_err(fail)?;
        let ard = vb::logit_ard(x, y, LogitPrior::default(), bound, &settings, Par::Seq).map_err(fail)?;
        let incremental = vb::logit_incremental(x, y, &VbSettings::authors()).map_err(fail)?;
        let probabilities = |way: usize, x| -> Result<Vec<f64>, ReproError> {
            let predicted = match way {
                0 => vb.predict(x),
                1 => ard.predict(x),
                _ => predict::logistic(incremental.belief(), x, &Mixture8),
            };
            Ok(predicted.map_err(fail)?.iter().map(|p| p.probability).collect())
        };
        let mut scores = [[0.0; 3]; 3];
        for (way, slot) in scores.iter_mut().enumerate() {
            let test = probabilities(way, sample.test_x.as_ref())?;
            let loss = vi_models::metrics::log_loss(&test, &sample.test_y).map_err(fail)?;
            *slot = [wrong(&probabilities(way, x)?, y)?, wrong(&test, &sample.test_y)?, loss];
        }
        Ok(Self { fits: [vb, ard], scores, sample })
    }

    fn weights_panel(&self, i: usize) -> Panel {
        let reach = self.sample.w.iter().fold(0.5, |reach: f64, w| reach.max(w.abs()));
        let dots = Style::solid(WAYS[i].style().colour).marker(Marker::Disc).alpha(0.45);
        Panel::new(
            WAYS[i].label(),
            Axis::linear("true weight").range(-reach, reach),
            Axis::linear("fitted weight").range(-reach, reach),
        )
        .line_marked(&[-reach, reach], &[-reach, reach], Style::solid(GREY).dash(Dash::Dotted), 0, "fitted = true")
        .points(&self.sample.w, self.fits[i].weights().mean(), dots, 2.6, "")
    }
}

/// 500 weights of which 100 are not 0, 1000 rows.
pub(super) fn sparse(ctx: &Context) -> Result<Outcome, ReproError> {
    let (sizes, informative) = ctx.pick(((1000, 1000, 500), 100), ((300, 300, 100), 20));
    let count = ctx.pick(5, 4);
    ctx.steps(count);
    let mut studies = Vec::new();
    for k in 0..count {
        studies.push(Study::new(sizes, informative, ctx.seed, k)?);
        ctx.step("data sets");
    }
    let column = |way: usize, score: usize| -> Vec<f64> { studies.iter().map(|s| s.scores[way][score]).collect() };
    let median = |way: usize, score: usize| quartiles(&column(way, score))[1];
    let mut table = Table::new("", &["data_set", "fit", "train_error", "test_error", "test_log_loss"]);
    for (k, study) in studies.iter().enumerate() {
        for (way, scores) in WAYS.iter().zip(study.scores) {
            table.push([vec![k.to_string(), way.slug().to_owned()], scores.map(cell).to_vec()].concat())?;
        }
    }
    let panel = |score: usize, title: &str, label: &str| {
        let names = WAYS.iter().map(|way| way.label().to_owned()).collect();
        let mut panel = Panel::new(title, Axis::categories("", names), Axis::linear(label));
        for (i, way) in WAYS.iter().enumerate() {
            let x: Vec<f64> = (0..count).map(|k| i as f64 + 0.4 * ((k as f64 * 0.618_034).fract() - 0.5)).collect();
            panel = panel.points(&x, &column(i, score), Style::solid(way.style().colour).marker(Marker::Disc), 3.6, "");
        }
        panel
    };
    let better = studies.iter().filter(|s| s.scores[1][2] < s.scores[0][2]).count();
    let all = studies.iter().filter(|s| s.scores[0][2] < s.scores[2][2]).count();
    let mut ranked = Vec::new();
    for study in &studies {
        let first = &study.fits[1].relevance()[..informative];
        ranked.push(first.iter().filter(|r| r.index < informative).count() as f64 / informative as f64);
    }
    let share = quartiles(&ranked)[1];
    let chance = informative as f64 / sizes.2 as f64;
    Ok(Outcome {
        summary: format!(
            "Test log loss, median: VB {}, with relevance determination {}, one row at a time {}.",
            number(median(0, 2)),
            number(median(1, 2)),
            number(median(2, 2))
        ),
        caption: format!(
            "{} weights, the first {informative} from N(0, 2.3²) and the others 0; {} rows uniform on [−½, ½], classes by σ(xᵀw); Jaakkola \
             and Jordan’s bound. Above: fitted against true weights of one data set. Below: test errors and log losses of all.",
            sizes.2, sizes.0
        ),
        quote: "The note motivates relevance determination by such weights: a high precision tells that an input is irrelevant (§2.4).".into(),
        notes: vec!["At most 300 iterations.".into()],
        claims: vec![
            claims::RELEVANT.fact(
                share > 0.5,
                format!("{} of the first {informative}, by chance {}", number(share), number(chance)),
            ),
        ],
        findings: vec![
            Check::counted("With relevance determination the test log loss is smaller", (better, count), ""),
            Check::counted("All rows at once beat one row at a time", (all, count), "log loss"),
        ],
        quantities: vec![],
        promises: vec![],
        shown: Shown {
            head: ["median", "wrong, training", "wrong, test", "test log loss"].map(String::from).to_vec(),
            rows: WAYS
                .iter()
                .enumerate()
                .map(|(i, way)| {
                    vec![way.label().to_owned(), number(median(i, 0)), number(median(i, 1)), number(median(i, 2))]
                })
                .collect(),
        },
        tables: vec![table],
        figure: Figure::new("Sparse weights, two classes")
            .row(330.0, vec![studies[0].weights_panel(0), studies[0].weights_panel(1)])
            .row(300.0, vec![panel(1, "Test error", "share of wrong classes"), panel(2, "Test log loss", "nats")]),
    })
}
