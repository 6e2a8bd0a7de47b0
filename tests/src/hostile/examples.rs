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
use vi_models::online::{BeliefKind, Observation, OnlineSettings, PriorScale, Row, Standardise, Start};

use super::AnyModel;

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
    let floor = DiagonalSettings::free().with_floor(1e-3)?;
    let recursion = RecursiveSettings::new(Weights::Mean, UpdateSettings::new(1, floor)?)?;
    let mut recursive = RecursiveEm::new(start.clone(), recursion);
    let mut online = OnlineEm::new(start, EmSettings::new(0.7, Averaging::Off, floor)?);
    let mut scratch = filter::Scratch::default();
    for t in 0..7 {
        let x = [1.0, f64::from(t).sin(), f64::from(t % 3)];
        let y = f64::from(t % 2);
        let step = filter::step(&mut learned, &LOGIT, &x, y, &mut scratch)?;
        fading.observe(&step);
        filter::step(&mut root, &LOGIT, &x, y, &mut filter::Scratch::default())?;
        filter::step(&mut parts, &LOGIT, &x, y, &mut filter::Scratch::default())?;
        factors.step(&LOGIT, &x, y, Par::Seq)?;
        recursive.observe(&x, Par::Seq)?;
        online.observe(&x, Par::Seq)?;
    }
    let sites = Sites::new(vec![0.5, -1.0, 0.25], vec![0.1, 0.2, 0.0])?;
    let wide = Mat::from_fn(2, 2, |i, j| if i == j { 2.0 } else { 0.5 });
    let mixture = GaussianMixture::new(
        vec![Component::full(&[0.0, 1.0], wide.as_ref())?, Component::diagonal(&[1.0, 0.0], &[0.5, 0.25])?],
        &[0.25, 0.75],
    )?;
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
    ])
}

fn bytes<C: Checkpoint>(state: &C) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    state.write_to(&mut bytes)?;
    Ok(bytes)
}

/// A model of every family and kind of belief that go together, with a name, after `rows` rows.
///
/// # Errors
/// None that can be.
pub fn models(rows: u32) -> Result<Vec<(String, AnyModel)>, Failure> {
    let beliefs = [BeliefKind::Full, BeliefKind::SquareRoot, BeliefKind::LowRank { rank: 1 }, BeliefKind::Diagonal];
    let mut models = Vec::new();
    for family in 0..AnyModel::FAMILIES {
        for (name, belief) in ["full", "square-root", "low-rank", "diagonal"].into_iter().zip(beliefs) {
            let settings = OnlineSettings {
                belief,
                prior_scale: PriorScale::Among(vec![0.3, 3.0]),
                start: Start::OnePass,
                standardise: Standardise::FirstRows { rows: 4, centre: true },
                ..OnlineSettings::default()
            };
            let Ok(mut model) = AnyModel::new(family, 2, settings) else { continue };
            for t in 0..rows {
                learn_row(&mut model, t)?;
            }
            models.push((format!("family-{family}-{name}"), model));
        }
    }
    Ok(models)
}

/// Teaches row `t` of a fixed stream.
///
/// # Errors
/// None that can be.
pub fn learn_row(model: &mut AnyModel, t: u32) -> Result<(), vi_models::ModelError> {
    let x = [f64::from(t).sin(), f64::from(t % 5) - 2.0];
    let label = model.label(x[0] + 0.5 * x[1] + 0.4 * f64::from(t % 7) - 1.0);
    model.update(Row::from(&x), Observation::new(label))
}
