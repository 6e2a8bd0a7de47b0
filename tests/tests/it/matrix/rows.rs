//! Rows and labels.

mod sums;

use std::fmt::Debug;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_core::batch::{self, BatchSettings};
use vi_core::block::{self, BlockBelief, BlockScratch, BlockSettings};
use vi_core::factor::{OnlineEm, OnlineSettings as EmSettings, RecursiveEm, RecursiveSettings, start_isotropic};
use vi_core::nonlinear::{self, Categorical, LinearMap, NonlinearModel, NonlinearSettings};
use vi_core::refine::{self, RefineSettings};
use vi_core::{
    BernoulliLogit, Checkpoint, DenseGaussian, DiagonalGaussian, GaussianBelief, GaussianLikelihood, GlmPosterior,
    Implicit, LowRankGaussian, LowRankSettings, Mixture8, Row, SquareRootGaussian, Upkeep, filter, papers::kalman,
};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_models::laplace::{self, LaplaceSettings};
use vi_models::linear;
use vi_models::online::family::Logit;
use vi_models::online::{Model, Observation, OnlineGlm, OnlineLogistic, OnlineSettings, Rows};
use vi_models::softmax::{Softmax, SoftmaxRows, SoftmaxScratch};
use vi_models::vb::{VbLinear, VbLinearSettings, VbLogit, VbLogitSettings};
use vi_revrand::basis::{Basis, Linear};
use vi_revrand::likelihood::{Bernoulli, Poisson, Rate};
use vi_revrand::slm::{Hyperparameters, Slm};
use vi_revrand::{Glm, GlmSettings};
use vi_tests::hostile::MODELS;
use vi_tests::hostile::models::predicted;

use super::{Table, called};

const HEAD: [&str; 7] =
    ["NaN in a row", "∞ in a row", "NaN label", "label outside", "columns", "labels ≠ rows", "no rows"];

/// Rows of numbers one after another, and their labels.
struct Input {
    x: Vec<f64>,
    d: usize,
    y: Vec<f64>,
}

impl Input {
    /// Three rows of two numbers with labels that every family has.
    fn good() -> Self {
        Self { x: vec![1.0, 0.5, -0.3, 1.2, 0.7, -1.1], d: 2, y: vec![1.0, 0.0, 1.0] }
    }

    /// The kind `HEAD[kind]` of bad input, in row 1 where it is of a row; `outside` is a label that the family has not.
    fn bad(kind: usize, outside: f64) -> Self {
        let mut input = Self::good();
        match kind {
            0 => input.x[2] = f64::NAN,
            1 => input.x[3] = f64::NEG_INFINITY,
            2 => input.y[1] = f64::NAN,
            3 => input.y[1] = outside,
            4 => (input.d, input.x) = (3, vec![0.5; 9]),
            5 => input.y.push(1.0),
            _ => (input.x, input.y) = (Vec::new(), Vec::new()),
        }
        input
    }

    fn x(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.x, self.x.len() / self.d, self.d)
    }

    fn columns(&self) -> Vec<Vec<f64>> {
        (0..self.d).map(|j| self.x.iter().skip(j).step_by(self.d).copied().collect()).collect()
    }

    fn row(&self) -> &[f64] {
        &self.x[self.d..2 * self.d]
    }

    fn label(&self) -> f64 {
        self.y[1]
    }
}

/// Which kinds an entry has.
#[derive(Clone, Copy)]
enum Takes {
    /// Many rows with labels.
    Rows,
    /// Many rows with labels, any finite number.
    RowsOfNumbers,
    /// The same, and none at all is nothing to learn.
    BatchOfNumbers,
    /// The same with labels of a family.
    Batch,
    /// One row with a label.
    Row,
    /// One row with any finite number.
    RowOfNumber,
    /// Many rows without labels.
    Inputs,
    /// The same, and none at all have no answers.
    Candidates,
    /// One row without a label.
    OneInput,
}

impl Takes {
    fn kinds(self) -> &'static [usize] {
        match self {
            Self::Rows => &[0, 1, 2, 3, 4, 5, 6],
            Self::RowsOfNumbers => &[0, 1, 2, 4, 5, 6],
            Self::Batch => &[0, 1, 2, 3, 4, 5],
            Self::BatchOfNumbers => &[0, 1, 2, 4, 5],
            Self::Row => &[0, 1, 2, 3, 4],
            Self::RowOfNumber => &[0, 1, 2, 4],
            Self::Inputs => &[0, 1, 4, 6],
            Self::Candidates | Self::OneInput => &[0, 1, 4],
        }
    }
}

#[derive(Default)]
struct Entries(Vec<(String, Vec<Option<String>>)>);

impl Entries {
    /// Calls with each kind of bad input and a fresh copy of `state`, which `shown` tells to the bit.
    fn ask<S: Clone, T, E: Debug>(
        &mut self,
        name: &str,
        takes: Takes,
        (state, outside): (&S, f64),
        shown: impl Fn(&S) -> Vec<u8>,
        call: impl Fn(&mut S, &Input) -> Result<T, E>,
    ) {
        let before = shown(state);
        let good = call(&mut state.clone(), &Input::good());
        assert!(good.is_ok(), "{name}: {:?}", good.err());
        let mut cells = vec![None; HEAD.len()];
        for &kind in takes.kinds() {
            let mut changed = state.clone();
            let answer = call(&mut changed, &Input::bad(kind, outside));
            assert!(shown(&changed) == before, "{name}, {}: changed", HEAD[kind]);
            match answer {
                Ok(_) => panic!("{name}, {}: taken", HEAD[kind]),
                Err(error) => cells[kind] = Some(called(&error)),
            }
        }
        self.0.push((name.to_owned(), cells));
    }
}

fn bytes<C: Checkpoint>(state: &C) -> Vec<u8> {
    let mut bytes = Vec::new();
    state.write_to(&mut bytes).unwrap();
    bytes
}

fn nothing<S>(_: &S) -> Vec<u8> {
    Vec::new()
}

const LOGIT: Implicit<BernoulliLogit> = Implicit(BernoulliLogit(Mixture8));

fn filters<B: GaussianBelief + Checkpoint + Clone>(entries: &mut Entries, name: &str, prior: &B) {
    let mut seen = prior.clone();
    filter::step(&mut seen, &LOGIT, &[1.0, 2.0], 1.0, &mut filter::Scratch::default()).unwrap();
    entries.ask(&format!("filter::step, {name}"), Takes::Row, (&seen, 2.0), bytes, |belief, input| {
        filter::step(belief, &LOGIT, input.row(), input.label(), &mut filter::Scratch::default())
    });
    scores(entries, name, &seen);
    entries.ask(&format!("filter::run, {name}"), Takes::Rows, (&seen, 2.0), bytes, |belief, input| {
        filter::run(belief, &LOGIT, input.x(), &input.y, |_, _, _| {})
    });
}

fn scores<B: GaussianBelief + Checkpoint + Clone>(entries: &mut Entries, name: &str, belief: &B) {
    entries.ask(&format!("GaussianBelief::scores, {name}"), Takes::OneInput, (belief, 2.0), bytes, |belief, input| {
        belief.scores(&[Row::from(&[0.5, 0.5]), Row::from(input.row())]).map(drop)
    });
}

fn blocks<B: BlockBelief + Checkpoint + Clone>(entries: &mut Entries, name: &str, prior: &B) {
    entries.ask(&format!("block::run, {name}"), Takes::Rows, (prior, 2.0), bytes, |belief, input| {
        let mut scratch = BlockScratch::new(belief, BlockSettings::new(2).unwrap());
        block::run(belief, &LOGIT, input.x(), &input.y, &mut scratch, Par::Seq, |_, _, _| {})
    });
}

fn core(entries: &mut Entries) {
    let prior = DenseGaussian::isotropic(&[0.1, -0.2], 2.0).unwrap();
    let root = SquareRootGaussian::from_dense(&prior).unwrap();
    let diagonal = DiagonalGaussian::isotropic(&[0.1, -0.2], 2.0).unwrap();
    filters(entries, "dense", &prior);
    filters(entries, "square root", &root);
    filters(entries, "diagonal", &diagonal);
    blocks(entries, "dense", &prior);
    blocks(entries, "square root", &root);
    let low = LowRankGaussian::isotropic(&[0.1, -0.2], 2.0, LowRankSettings::blocked(1).unwrap()).unwrap();
    entries.ask("LowRankGaussian::step", Takes::Row, (&low, 2.0), bytes, |belief, input| {
        belief.step(&LOGIT, input.row(), input.label(), Par::Seq)
    });
    entries.ask("LowRankGaussian::run", Takes::Rows, (&low, 2.0), bytes, |belief, input| {
        belief.run(&LOGIT, input.x(), &input.y, Par::Seq, |_, _, _| {})
    });
    entries.ask("LowRankGaussian::predict", Takes::OneInput, (&low, 2.0), bytes, |belief, input| {
        belief.predict(input.row(), Par::Seq)
    });
    scores(entries, "low rank", &low);
    let wide = LowRankSettings::blocked(1).and_then(|form| form.with_upkeep(Upkeep::Lazy { sweep: 1 })).unwrap();
    let mut lazy = LowRankGaussian::isotropic(&vec![0.0; 6000], 2.0, wide).unwrap();
    lazy.step(&LOGIT, (&[1, 5000], &[1.0, -0.5]), 1.0, Par::Seq).unwrap();
    assert!(lazy.is_lazy());
    // Two places, of which the second is far away; what is too short or too long is a place beyond the last.
    let sparse = |input: &Input| ([3, 5000 * (input.d - 1)], [input.row()[0], input.row()[input.d - 1]]);
    entries.ask("LowRankGaussian::step, lazy", Takes::Row, (&lazy, 2.0), bytes, |belief, input| {
        let (positions, values) = sparse(input);
        belief.step(&LOGIT, (&positions, &values), input.label(), Par::Seq)
    });
    entries.ask("GaussianBelief::scores, lazy", Takes::OneInput, (&lazy, 2.0), bytes, |belief, input| {
        let (positions, values) = sparse(input);
        belief.scores(&[Row::from((&positions, &values))]).map(drop)
    });
    entries.ask("kalman::step", Takes::RowOfNumber, (&prior, 0.0), bytes, |belief, input| {
        let (h, r) = (MatRef::from_row_major_slice(input.row(), 1, input.d), Mat::<f64>::identity(1, 1));
        kalman::step(belief, h, &[input.label()], r.as_ref(), Par::Seq)
    });
    let logit = BernoulliLogit(Mixture8);
    entries.ask("refine::first_pass", Takes::Rows, (&prior, 2.0), bytes, |prior, input| {
        refine::first_pass(prior, &LOGIT, input.x(), &input.y, Par::Seq)
    });
    let good = Input::good();
    let found = refine::first_pass(&prior, &LOGIT, good.x(), &good.y, Par::Seq).unwrap();
    entries.ask(
        "refine::refine",
        Takes::Rows,
        (&found, 2.0),
        |found| bytes(&found.belief),
        |found, input| refine::refine(&prior, found, input.x(), &input.y, &logit, &RefineSettings::default(), Par::Seq),
    );
    entries.ask(
        "refine::leave_one_out",
        Takes::Rows,
        (&found, 2.0),
        |found| bytes(&found.belief),
        |found, input| refine::leave_one_out(found, input.x(), &input.y, &logit),
    );
    entries.ask("batch::optimum", Takes::Rows, (&prior, 2.0), bytes, |prior, input| {
        batch::optimum(prior, prior, input.x(), &input.y, &logit, &BatchSettings::default(), Par::Seq)
    });
    entries.ask("GlmPosterior::new", Takes::Rows, (&prior, 2.0), bytes, |prior, input| {
        GlmPosterior::new(prior, input.x(), &input.y, logit).map(drop)
    });
    let start = start_isotropic(2, 1, 1.0, 0.1, &mut ChaCha8Rng::seed_from_u64(3)).unwrap();
    let recursive = RecursiveEm::new(start.clone(), &RecursiveSettings::default()).unwrap();
    entries.ask("RecursiveEm::step", Takes::OneInput, (&recursive, 0.0), bytes, |em, input| {
        em.step(input.row(), Par::Seq)
    });
    entries.ask("RecursiveEm::run", Takes::Inputs, (&recursive, 0.0), bytes, |em, input| em.run(input.x(), Par::Seq));
    let online = OnlineEm::new(start, &EmSettings::default()).unwrap();
    entries.ask("OnlineEm::step", Takes::OneInput, (&online, 0.0), bytes, |em, input| em.step(input.row(), Par::Seq));
    entries.ask("OnlineEm::run", Takes::Inputs, (&online, 0.0), bytes, |em, input| em.run(input.x(), Par::Seq));
    let model = NonlinearModel::new(LinearMap::new(2, 1).unwrap(), Categorical::new(2).unwrap()).unwrap();
    entries.ask("nonlinear::step", Takes::Row, (&low, 2.0), bytes, |belief, input| {
        let (rng, settings) = (&mut ChaCha8Rng::seed_from_u64(1), &NonlinearSettings::new(2));
        nonlinear::step(belief, &model, input.row(), &[input.label()], settings, rng, Par::Seq)
    });
}

fn models(entries: &mut Entries) {
    let prior = DenseGaussian::isotropic(&[0.1, -0.2], 2.0).unwrap();
    let logit = BernoulliLogit(Mixture8);
    entries.ask("laplace::fit", Takes::Rows, (&prior, 2.0), bytes, |prior, input| {
        laplace::fit(prior, input.x(), &input.y, &logit, &LaplaceSettings::default())
    });
    entries.ask("linear::fit", Takes::RowsOfNumbers, (&prior, 0.0), bytes, |prior, input| {
        linear::fit(prior, input.x(), &input.y, GaussianLikelihood::new(0.5).unwrap())
    });
    let (softmax, wide) = (Softmax::new(3).unwrap(), DenseGaussian::isotropic(&[0.0; 4], 1.0).unwrap());
    entries.ask("Softmax::step", Takes::Row, (&wide, 3.0), bytes, |belief, input| {
        softmax.step(belief, input.row(), input.label(), &mut SoftmaxScratch::new(&softmax, 2), Par::Seq)
    });
    entries.ask("Softmax::run", Takes::Rows, (&wide, 3.0), bytes, |belief, input| {
        softmax.run(belief, SoftmaxRows::new(input.x(), &input.y), Par::Seq, |_, _, _| {})
    });
    entries.ask("Softmax::first_pass", Takes::Rows, (&wide, 3.0), bytes, |prior, input| {
        softmax.first_pass(prior, SoftmaxRows::new(input.x(), &input.y), Par::Seq)
    });
    entries.ask("VbLinear::fit", Takes::RowsOfNumbers, (&(), 0.0), nothing, |(), input| {
        VbLinear::fit(&input.x, 2, &input.y, &VbLinearSettings::default()).map(drop)
    });
    entries.ask("VbLogit::fit", Takes::Rows, (&(), 2.0), nothing, |(), input| {
        VbLogit::fit(&input.x, 2, &input.y, &VbLogitSettings::default()).map(drop)
    });
}

/// A name, a label that is none of the type, and the label of the type near a number.
type LabelType = (&'static str, Option<f64>, fn(f64) -> f64);

/// Types of [`MODELS`], a label that each has not, and those that stand for 0 and 1.
const TYPES: [LabelType; 15] = [
    ("OnlineLogistic", Some(2.0), |y| y),
    ("OnlineLinear", None, |y| y),
    ("OnlineGlm<Probit>", Some(-1.0), |y| y),
    ("OnlineGlm<Trials>", Some(0.5), |y| y),
    ("OnlineGlm<Counts>", Some(-1.0), |y| y),
    ("OnlineGlm<SpreadCounts>", Some(1.5), |y| y),
    ("OnlineSoftmax::joint", Some(3.0), |y| y),
    ("OnlineGlm<LearnedSpread>", Some(1.5), |y| y),
    ("OnlineSoftmax::by_class", Some(3.0), |y| y),
    ("OnlineRobust", None, |y| y),
    ("OnlineVarying", None, |y| y),
    ("OnlineGlm<InflatedCounts>", Some(1.5), |y| y),
    ("OnlineOrdered", Some(3.0), |y| y),
    ("OnlineSurvival", Some(-3.0), |y| y + 1.0),
    ("OnlineVarying of fractions", Some(4.0), |y| (y + 1.0) / 3.0),
];

fn front_door(entries: &mut Entries) {
    for ((name, outside, taken), (_, kind)) in TYPES.into_iter().zip(*MODELS) {
        let mut model = Model::new(kind, 2, OnlineSettings::default()).unwrap();
        let good = Input::good();
        for (row, &label) in good.x.chunks(2).zip(&good.y) {
            model.update(Row::from(row), Observation::new(taken(label))).unwrap();
        }
        let text = |model: &Model| serde_json::to_vec(model).unwrap();
        let (one, many, outside) = match outside {
            Some(outside) => (Takes::Row, Takes::Rows, outside),
            None => (Takes::RowOfNumber, Takes::RowsOfNumbers, 0.0),
        };
        entries.ask(&format!("{name}::update"), one, (&model, outside), text, |model, input| {
            model.update(Row::from(input.row()), Observation::new(taken(input.label())))
        });
        entries.ask(&format!("{name}::update_batch"), many, (&model, outside), text, |model, input| {
            let observed: Vec<Observation> = input.y.iter().map(|&label| Observation::new(taken(label))).collect();
            model.update_batch(Rows::from(&input.x), &observed)
        });
        entries.ask(&format!("{name}::predict"), Takes::OneInput, (&model, outside), text, |model, input| {
            predicted(model, Row::from(input.row()), Observation::new(1.0))
        });
    }
}

fn candidates(entries: &mut Entries) {
    let mut model = OnlineLogistic::new(2).unwrap();
    let good = Input::good();
    good.x.chunks(2).zip(&good.y).for_each(|(row, &label)| model.update(row, label).unwrap());
    let text = |model: &OnlineLogistic| serde_json::to_vec(model).unwrap();
    entries.ask("OnlineLogistic::sample_scores", Takes::Candidates, (&model, 2.0), text, |model, input| {
        model.sample_scores(&input.x, &mut ChaCha8Rng::seed_from_u64(1))
    });
    let glm = OnlineGlm::new(2, Logit).unwrap();
    let nothing = |_: &OnlineGlm<Logit>| Vec::new();
    entries.ask("OnlineGlm<Logit>::predict", Takes::OneInput, (&glm, 2.0), nothing, |model, input| {
        model.predict(input.row(), Observation::new(1.0)).map(drop)
    });
    entries.ask("OnlineLogistic::predictor", Takes::OneInput, (&model, 2.0), text, |model, input| {
        model.predictor(input.row(), 0.0).map(drop)
    });
}

fn random_features(entries: &mut Entries) {
    let basis = Linear::with_intercept(2).unwrap();
    entries.ask("Basis::features", Takes::Inputs, (&(), 0.0), nothing, |(), input| {
        basis.features(&[], input.x(), Par::Seq).map(drop)
    });
    let hyper = Hyperparameters { noise_variance: 0.1, prior_variances: vec![2.0], theta: vec![] };
    entries.ask("Slm::new", Takes::RowsOfNumbers, (&(), 0.0), nothing, |(), input| {
        Slm::new(basis, hyper.clone(), input.x(), &input.y, Par::Seq).map(drop)
    });
    let good = Input::good();
    let slm = Slm::new(basis, hyper.clone(), good.x(), &good.y, Par::Seq).unwrap();
    entries.ask("Slm::predict", Takes::Inputs, (&(), 0.0), nothing, |(), input| {
        slm.predict(input.x(), Par::Seq).map(drop)
    });
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let settings = GlmSettings { steps: 2, batch: 2, ..GlmSettings::default() };
    let counts = Glm::new(basis, Poisson(Rate::Exponential), settings.clone(), rng).unwrap();
    let text = |model: &Glm<Linear, Poisson>| serde_json::to_vec(model).unwrap();
    entries.ask("Glm::fit, counts", Takes::Rows, (&counts, -1.0), text, |model, input| {
        let rows = vi_revrand::glm::Rows::new(input.x(), &input.y);
        model.fit(rows, &mut ChaCha8Rng::seed_from_u64(2)).map(drop)
    });
    let labels = Glm::new(basis, Bernoulli, settings, rng).unwrap();
    let text = |model: &Glm<Linear, Bernoulli>| serde_json::to_vec(model).unwrap();
    entries.ask("Glm::fit, classes", Takes::Rows, (&labels, 2.0), text, |model, input| {
        let rows = vi_revrand::glm::Rows::new(input.x(), &input.y);
        model.fit(rows, &mut ChaCha8Rng::seed_from_u64(2)).map(drop)
    });
    entries.ask("Glm::predict", Takes::Inputs, (&labels, 2.0), text, |model, input| {
        model.predict(input.x(), None, Par::Seq).map(drop)
    });
}

pub(super) fn table() -> Table {
    let mut entries = Entries::default();
    core(&mut entries);
    models(&mut entries);
    front_door(&mut entries);
    candidates(&mut entries);
    random_features(&mut entries);
    sums::ask(&mut entries);
    let words = "Three rows of two numbers with labels; what is bad is in the second of them.";
    Table { title: "Rows and labels", words, head: &HEAD, lines: entries.0 }
}
