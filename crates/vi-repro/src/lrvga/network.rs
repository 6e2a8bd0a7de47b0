//! Classifiers that learn row by row and predict between: a network of one hidden layer, and softmax regression beside it.

use rand_chacha::ChaCha8Rng;
use vi_core::nonlinear::{
    self, Categorical, NaturalMap, NonlinearModel, NonlinearSettings, OneHiddenLayer, OutputFamily,
};
use vi_core::{DenseGaussian, LowRankGaussian, LowRankSettings};
use vi_data::Dataset;
use vi_linalg::faer::Par;
use vi_models::softmax::{Softmax, SoftmaxScratch};

use crate::error::{Doing as _, ReproError};

/// Draws that a prediction is the mean over.
const PREDICTION_DRAWS: usize = 50;

/// Probabilities of the classes for some rows, and what is learnt from one.
pub(super) trait Classifier {
    fn predict(&mut self, rows: &[&[f64]]) -> Result<Vec<Vec<f64>>, ReproError>;

    fn learn(&mut self, x: &[f64], label: f64) -> Result<(), ReproError>;
}

/// Shape, prior and steps of a network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) inputs: usize,
    pub(super) units: usize,
    pub(super) classes: usize,
    /// Scale of the prior's deviations, and of the draw that the mean starts from.
    pub(super) scale: f64,
    pub(super) rank: usize,
    pub(super) draws: usize,
}

/// A network of tanh units whose weights have a low-rank belief.
pub(super) struct Network {
    model: NonlinearModel<OneHiddenLayer, Categorical>,
    belief: LowRankGaussian,
    settings: NonlinearSettings,
    rng: ChaCha8Rng,
}

impl Network {
    pub(super) fn new(shape: Shape, mut rng: ChaCha8Rng) -> Result<Self, ReproError> {
        let map = OneHiddenLayer::new(shape.inputs, shape.units, shape.classes - 1).context("network")?;
        let model = NonlinearModel::new(map, Categorical::new(shape.classes).context("network")?).context("network")?;
        let mean = map.random_mean(shape.scale, &mut rng).context("network")?;
        let variances = map.prior_variances(shape.scale).context("network")?;
        let kept = LowRankSettings::blocked(shape.rank).context("network")?;
        let belief = LowRankGaussian::new(&mean, &variances, kept).context("network")?;
        Ok(Self { model, belief, settings: NonlinearSettings::new(shape.draws), rng })
    }

    /// Number of weights.
    pub(super) fn dim(&self) -> usize {
        self.model.dim()
    }
}

impl Classifier for Network {
    fn predict(&mut self, rows: &[&[f64]]) -> Result<Vec<Vec<f64>>, ReproError> {
        let draws = self.belief.draws(PREDICTION_DRAWS, &mut self.rng, Par::Seq).context("prediction")?;
        let (map, family) = (self.model.map(), self.model.family());
        let mut probabilities = vec![vec![0.0; family.classes()]; rows.len()];
        let mut eta = vec![0.0; map.outputs()];
        for theta in draws.col_iter() {
            let theta: Vec<f64> = theta.iter().copied().collect();
            for (x, p) in rows.iter().zip(&mut probabilities) {
                map.evaluate(&theta, x, &mut eta);
                for (class, p) in p.iter_mut().enumerate() {
                    *p += family.log_density(&[class as f64], &eta).exp() / PREDICTION_DRAWS as f64;
                }
            }
        }
        Ok(probabilities)
    }

    fn learn(&mut self, x: &[f64], label: f64) -> Result<(), ReproError> {
        let Self { model, belief, settings, rng } = self;
        nonlinear::step(belief, model, x, &[label], settings, rng, Par::Seq).context("a step")
    }
}

/// Softmax regression with an intercept and a full covariance.
pub(super) struct Linear {
    model: Softmax,
    belief: DenseGaussian,
    scratch: SoftmaxScratch,
}

impl Linear {
    pub(super) fn new(inputs: usize, classes: usize, sigma0: f64) -> Result<Self, ReproError> {
        let model = Softmax::new(classes).context("softmax regression")?;
        let belief = model.prior(inputs + 1, sigma0).context("softmax regression")?;
        let scratch = SoftmaxScratch::new(&model, inputs + 1);
        Ok(Self { model, belief, scratch })
    }
}

fn with_intercept(x: &[f64]) -> Vec<f64> {
    [&[1.0], x].concat()
}

impl Classifier for Linear {
    fn predict(&mut self, rows: &[&[f64]]) -> Result<Vec<Vec<f64>>, ReproError> {
        let one = |x: &&[f64]| self.model.predict(&self.belief, &with_intercept(x)).map(|p| p.probabilities);
        rows.iter().map(one).collect::<Result<_, _>>().context("prediction")
    }

    fn learn(&mut self, x: &[f64], label: f64) -> Result<(), ReproError> {
        let Self { model, belief, scratch } = self;
        model.step(belief, &with_intercept(x), label, scratch, Par::Seq).context("a step")?;
        Ok(())
    }
}

/// How predictions did: share of right ones, and log loss in nats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    pub(super) accuracy: f64,
    pub(super) log_loss: f64,
}

impl Score {
    fn mean(all: &[Self]) -> Self {
        let n = all.len().max(1) as f64;
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / n;
        Self { accuracy: mean(|s| s.accuracy), log_loss: mean(|s| s.log_loss) }
    }

    fn of(probabilities: &[f64], label: f64) -> Self {
        let own = |(class, _): &(usize, &f64)| *class as f64 == label;
        let p = probabilities.iter().enumerate().find(own).map_or(0.0, |(_, p)| *p);
        let right = probabilities.iter().all(|other| *other <= p);
        Self { accuracy: f64::from(u8::from(right)), log_loss: -p.clamp(f64::MIN_POSITIVE, 1.0).ln() }
    }
}

/// Rows `from..to` of a data set.
pub(super) fn rows(data: &Dataset, from: usize, to: usize) -> (Vec<&[f64]>, &[f64]) {
    ((from..to).map(|i| data.row(i)).collect(), &data.y()[from..to])
}

/// The score on rows that are not learnt from.
pub(super) fn held_out(c: &mut impl Classifier, (x, y): &(Vec<&[f64]>, &[f64])) -> Result<Score, ReproError> {
    let scores: Vec<Score> = c.predict(x)?.iter().zip(*y).map(|(p, y)| Score::of(p, *y)).collect();
    Ok(Score::mean(&scores))
}

/// Learns from rows in order; the running means of the scores of predictions made before each was learnt from.
pub(super) fn prequential(c: &mut impl Classifier, (x, y): &(Vec<&[f64]>, &[f64])) -> Result<Vec<Score>, ReproError> {
    let (mut scores, mut running) = (Vec::new(), Vec::new());
    for (x, y) in x.iter().zip(*y) {
        scores.extend(c.predict(&[*x])?.iter().map(|p| Score::of(p, *y)));
        c.learn(x, *y)?;
        running.push(Score::mean(&scores));
    }
    Ok(running)
}

/// Learns from rows in order.
pub(super) fn learn(c: &mut impl Classifier, (x, y): &(Vec<&[f64]>, &[f64])) -> Result<(), ReproError> {
    x.iter().zip(*y).try_for_each(|(x, y)| c.learn(x, *y))
}
