//! A stored form of every kind, with something learned in it.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_boost::{Component, GaussianMixture};
use vi_core::factor::{
    Averaging, DiagonalSettings, OnlineEm, OnlineSettings as EmSettings, RecursiveEm, RecursiveSettings,
    UpdateSettings, Weights, start_isotropic,
};
use vi_core::{
    AdaptiveFading, BernoulliLogit, Checkpoint, DenseGaussian, DiagonalGaussian, Error, Forgetting, Implicit,
    LowRankGaussian, LowRankSettings, Mixture8, ShardPosterior, Sites, SquareRootGaussian, filter,
};
use vi_linalg::faer::{Mat, Par};
use vi_models::online::{BeliefKind, Model, Observation, OnlineSettings, PriorScale, Row, Standardise, Start};
use vi_models::vb::{VbLinear, VbLinearSettings, VbLogit, VbLogitSettings};
use vi_revrand::basis::{Kernel, LengthScale, Linear, RandomFourier};
use vi_revrand::glm::{Glm, GlmSettings, Rows};
use vi_revrand::likelihood::{Bernoulli, Poisson, Rate};
use vi_revrand::slm::{Hyperparameters, Slm};
use vi_sums::{At, Family, GlmPrior, LinearPosterior, LinearPrior, OnePass, PassSums, Posterior};

use super::{AnyFit, MODELS, models};

/// What any of the crates may say.
pub type Failure = Box<dyn std::error::Error>;

const LOGIT: Implicit<BernoulliLogit> = Implicit(BernoulliLogit(Mixture8));

/// A record of each of [`KINDS`](super::KINDS), with its place among them.
///
/// # Errors
/// None that can be: every state is one that its own type made.
pub fn records() -> Result<Vec<(usize, Vec<u8>)>, Failure> {
    let d = 3;
    let dense = DenseGaussian::isotropic(&[0.1, -0.2, 0.3], 2.0)?;
    let diagonal = DiagonalGaussian::isotropic(&[0.1, -0.2, 0.3], 2.0)?;
    let low = LowRankGaussian::isotropic(&[0.1, -0.2, 0.3], 2.0, LowRankSettings::blocked(1)?.with_block(4)?)?;
    let (mut learned, mut root, mut parts, mut factors) =
        (dense.clone(), SquareRootGaussian::from_dense(&dense)?, diagonal.clone(), low.clone());
    let mut fading = AdaptiveFading::new(20.0, 1.0)?;
    let start = start_isotropic(d, 1, 1.0, 0.1, &mut ChaCha8Rng::seed_from_u64(3))?;
    let floor = DiagonalSettings { floor: Some(1e-3), ..DiagonalSettings::default() };
    let recursion =
        RecursiveSettings { weights: Weights::Mean, update: UpdateSettings { inner_loops: 1, diagonal: floor } };
    let mut recursive = RecursiveEm::new(start.clone(), &recursion)?;
    let mut online = OnlineEm::new(start, &EmSettings { exponent: 0.7, averaging: Averaging::Off, diagonal: floor })?;
    let start_root = root.clone();
    let mut scratch = filter::Scratch::default();
    for t in 0..7 {
        let x = [1.0, f64::from(t).sin(), f64::from(t % 3)];
        let y = f64::from(t % 2);
        let step = filter::step(&mut learned, &LOGIT, &x, y, &mut scratch)?;
        fading.observe(&step);
        filter::step(&mut root, &LOGIT, &x, y, &mut filter::Scratch::default())?;
        filter::step(&mut parts, &LOGIT, &x, y, &mut filter::Scratch::default())?;
        factors.step(&LOGIT, &x, y, Par::Seq)?;
        recursive.step(&x, Par::Seq)?;
        online.step(&x, Par::Seq)?;
    }
    let sites = Sites::new(vec![0.5, -1.0, 0.25], vec![0.1, 0.2, 0.0])?;
    let wide = Mat::from_fn(2, 2, |i, j| if i == j { 2.0 } else { 0.5 });
    let mixture = GaussianMixture::new(
        vec![Component::full(&[0.0, 1.0], wide.as_ref())?, Component::diagonal(&[1.0, 0.0], &[0.5, 0.25])?],
        &[0.25, 0.75],
    )?;
    let [linear, glm, pass, at] = sums()?;
    Ok(vec![
        (0, bytes(&learned)?),
        (1, bytes(&root)?),
        (2, bytes(&parts)?),
        (3, bytes(&factors)?),
        (4, bytes(&sites)?),
        (5, bytes(&fading)?),
        (6, bytes(&recursive)?),
        (7, bytes(&online)?),
        (8, bytes(&ShardPosterior::new(learned, &dense, "example", &Forgetting::none())?)?),
        (9, bytes(&ShardPosterior::new(parts, &diagonal, "example", &Forgetting::none())?)?),
        (10, bytes(&ShardPosterior::new(factors, &low, "example", &Forgetting::none())?)?),
        (11, bytes(&mixture)?),
        (12, bytes(&ShardPosterior::new(root, &start_root, "example", &Forgetting::none())?)?),
        (13, linear),
        (14, pass),
        (15, at),
        (16, glm),
    ])
}

/// The records of `vi-sums`: a linear posterior, one of counts, a pass over a row, and its place.
fn sums() -> Result<[Vec<u8>; 4], Failure> {
    let mut linear = LinearPosterior::new(2, LinearPrior::default())?;
    let mut counts = OnePass::new(Family::negative_binomial(2.5)?, GlmPrior::default(), 2)?;
    for t in 0..7 {
        let (x, y) = ([f64::from(t).sin(), f64::from(t % 3)], f64::from(t % 4));
        linear.sums_mut().update(&x, y)?;
        counts.update(&x, y)?;
    }
    linear.sums_mut().skip(1);
    let at = At::belief(Family::Poisson, GlmPrior { scale: 1.0, intercept: 0.0 }, counts.belief())?;
    let mut pass = PassSums::new(&at);
    pass.update_rows(&at, &[0.5, -1.0, 0.25], &[2.0])?;
    Ok([
        Posterior::from(linear).encode()?,
        Posterior::from(counts.posterior()?).encode()?,
        pass.encode()?,
        at.record().to_vec(),
    ])
}

fn bytes<C: Checkpoint>(state: &C) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    state.write_to(&mut bytes)?;
    Ok(bytes)
}

/// A fit of every kind of [`AnyFit`], with a name.
///
/// # Errors
/// None that can be.
pub fn fits() -> Result<Vec<(&'static str, AnyFit)>, Failure> {
    let x: Vec<f64> = (0..24).map(|i| f64::from(i * 37 % 24) / 8.0 - 1.5).collect();
    let rows = Mat::from_fn(12, 2, |i, j| x[2 * i + j]);
    let numbers: Vec<f64> = x.chunks(2).map(|x| x[0] - 0.5 * x[1] + 0.1 * (3.0 * x[0]).sin()).collect();
    let classes: Vec<f64> = numbers.iter().map(|y| f64::from(u8::from(*y > 0.2))).collect();
    let hyper = Hyperparameters { noise_variance: 0.1, prior_variances: vec![2.0, 1.0], theta: vec![0.7] };
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let waves = RandomFourier::new(Kernel::Rbf, 2, 2, LengthScale::Shared(0.7), rng)?;
    let sum = Linear::with_intercept(2)? + waves;
    let settings = GlmSettings { components: 2, steps: 20, ..GlmSettings::default() };
    let mut counts = Glm::new(Linear::with_intercept(2)?, Poisson(Rate::Exponential), settings.clone(), rng)?;
    let mut labels = Glm::new(Linear::with_intercept(2)?, Bernoulli, settings, rng)?;
    counts.fit(Rows::new(rows.as_ref(), &classes), rng)?;
    labels.fit(Rows::new(rows.as_ref(), &classes), rng)?;
    Ok(vec![
        ("vb-linear", AnyFit::VbLinear(VbLinear::fit(&x, 2, &numbers, &VbLinearSettings::default())?)),
        ("vb-logit", AnyFit::VbLogit(VbLogit::fit(&x, 2, &classes, &VbLogitSettings::default())?)),
        ("slm", AnyFit::Slm(Box::new(Slm::new(sum, hyper, rows.as_ref(), &numbers, Par::Seq)?))),
        ("glm-counts", AnyFit::GlmCounts(Box::new(counts))),
        ("glm-classes", AnyFit::GlmClasses(Box::new(labels))),
    ])
}

/// A model of every kind and belief that go together, with a name, after `rows` rows.
///
/// # Errors
/// None that can be.
pub fn models(rows: u32) -> Result<Vec<(String, Model)>, Failure> {
    let beliefs = [BeliefKind::Full, BeliefKind::SquareRoot, BeliefKind::LowRank { rank: 1 }, BeliefKind::Diagonal];
    let mut models = Vec::new();
    for (kind, of) in *MODELS {
        for (name, belief) in ["full", "square-root", "low-rank", "diagonal"].into_iter().zip(beliefs) {
            let settings = OnlineSettings {
                belief,
                prior_scale: PriorScale::Among(vec![0.3, 3.0]),
                start: Start::OnePass,
                standardise: Standardise::FirstRows { rows: 4, centre: true },
                ..OnlineSettings::default()
            };
            let Ok(mut model) = Model::new(of, 2, settings) else { continue };
            for t in 0..rows {
                learn_row(&mut model, t)?;
            }
            models.push((format!("{kind}-{name}"), model));
        }
    }
    Ok(models)
}

/// Teaches row `t` of a fixed stream.
///
/// # Errors
/// None that can be.
pub fn learn_row(model: &mut Model, t: u32) -> Result<(), vi_models::ModelError> {
    let x = [f64::from(t).sin(), f64::from(t % 5) - 2.0];
    let label = models::label(model, x[0] + 0.5 * x[1] + 0.4 * f64::from(t % 7) - 1.0);
    model.update(Row::from(&x), Observation::new(label))
}
