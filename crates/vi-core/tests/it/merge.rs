//! Merging shards: exact for linear models, and refused where it would be wrong.

use vi_core::NaturalParameters;
use vi_core::{
    Belief, Checkpoint, CheckpointError, DenseGaussian, Error, Explicit, Fingerprint, Forgetting, GaussianLikelihood,
    ShardPosterior, filter, merge,
};

use crate::bad_input::bits;
use crate::common::{condition, difference, prior, rng, rows, view};

const SETTINGS: &str = "Kalman, noise variance 0.7";

fn posterior(prior: &DenseGaussian, x: &[f64], y: &[f64]) -> DenseGaussian {
    let mut belief = prior.clone();
    let rule = Explicit(GaussianLikelihood::new(0.7).unwrap());
    filter::run(&mut belief, &rule, view(x, prior.dim()), y, |_, _, _| {}).unwrap();
    belief
}

fn shard(prior: &DenseGaussian, x: &[f64], y: &[f64]) -> ShardPosterior<DenseGaussian> {
    ShardPosterior::new(posterior(prior, x, y), prior, SETTINGS, &Forgetting::none()).unwrap()
}

#[test]
fn shards_of_a_linear_model_merge_to_the_single_run() {
    let mut rng = rng(80);
    let (n, d) = (70, 4);
    let start = prior(d, 2.0, &mut rng);
    let (x, y) = (rows(n, d, &mut rng), rows(n, 1, &mut rng));
    let whole = posterior(&start, &x, &y);
    // n updates on either side, and an inversion for each shard.
    let tolerance = 10.0 * n as f64 * f64::EPSILON * condition(&whole).max(condition(&start));
    for count in [1, 2, 7] {
        // Shards of unequal length: 70 rows in 7 shards of 1, 4, 7, … 19.
        let cuts: Vec<usize> = match count {
            7 => (0..=7_usize).map(|k| (3 * k * k - k) / 2).collect(),
            2 => vec![0, 11, n],
            _ => vec![0, n],
        };
        assert_eq!(cuts[count], n);
        let shards: Vec<_> = cuts.windows(2).map(|c| shard(&start, &x[c[0] * d..c[1] * d], &y[c[0]..c[1]])).collect();
        assert_eq!(shards.len(), count);
        let merged = merge::merge(&start, &shards).unwrap();
        let error = difference(merged.belief(), &whole);
        assert!(error < tolerance, "{count}: {error:e} {tolerance:e}");
        if count == 1 {
            assert_eq!(bits(merged.belief()), bits(&whole));
        }

        // By levels: the last of the shards joins what the others made.
        if let Some((last, others)) = shards.split_last().filter(|(_, others)| !others.is_empty()) {
            let level = merge::merge(&start, others).unwrap();
            let top = merge::merge(&start, &[level, last.clone()]).unwrap().into_belief();
            assert!(difference(&top, &whole) < tolerance);
        }
    }
}

fn refused(prior: &DenseGaussian, shards: &[ShardPosterior<DenseGaussian>]) -> (usize, Error) {
    match merge::merge(prior, shards).unwrap_err() {
        Error::Shard { shard, source } => (shard, *source),
        other => panic!("{other:?}"),
    }
}

#[test]
fn shards_that_do_not_belong_together_are_refused() {
    let mut rng = rng(81);
    let start = prior(2, 2.0, &mut rng);
    let (x, y) = (rows(6, 2, &mut rng), rows(6, 1, &mut rng));
    let good = shard(&start, &x, &y);
    assert!(matches!(merge::merge::<DenseGaussian>(&start, &[]), Err(Error::Empty { argument: "shards" })));

    let wide = prior(3, 2.0, &mut rng);
    let wide = shard(&wide, &x, &y[..4]);
    let (at, error) = refused(&start, &[good.clone(), wide]);
    assert!(at == 1 && matches!(error, Error::Dimension { expected: 2, found: 3, .. }));

    // Another prior by one unit in the last place of one number.
    let mut mean = start.mean().to_vec();
    mean[1] = mean[1].next_up();
    let near = DenseGaussian::new(&mean, start.covariance().as_ref()).unwrap();
    let (at, error) = refused(&start, &[good.clone(), good.clone(), shard(&near, &x, &y)]);
    let (expected, found) = (Fingerprint::of(&start).unwrap(), Fingerprint::of(&near).unwrap());
    assert_eq!((at, error), (2, Error::OtherPrior { expected, found }));
    assert!(matches!(refused(&near, std::slice::from_ref(&good)), (0, Error::OtherPrior { .. })));

    let belief = posterior(&start, &x, &y);
    let other = ShardPosterior::new(belief.clone(), &start, "noise variance 0.8", &Forgetting::none()).unwrap();
    assert!(matches!(refused(&start, &[good.clone(), other]), (1, Error::OtherSettings { .. })));

    let faded = ShardPosterior::new(belief.clone(), &start, SETTINGS, &Forgetting::fading(0.9).unwrap()).unwrap();
    assert_eq!(refused(&start, &[faded, good.clone()]), (0, Error::Forgetful));
    let whole = ShardPosterior::new(belief.clone(), &start, SETTINGS, &Forgetting::fading(1.0).unwrap()).unwrap();
    assert!(merge::merge(&start, &[whole, good]).is_ok());

    let wide = prior(3, 2.0, &mut rng);
    let unfit = ShardPosterior::new(belief, &wide, SETTINGS, &Forgetting::none()).unwrap_err();
    assert!(matches!(unfit, Error::Dimension { argument: "belief", expected: 3, found: 2 }));
}

#[test]
fn a_merge_that_leaves_no_gaussian_is_an_error() {
    let start = prior(3, 1.0, &mut rng(82));
    // Each shard holds 0.4 of the prior's precision, as negative curvatures can leave it: together 1 − 2·0.6 < 0.
    let mut natural = NaturalParameters::of(&start).unwrap();
    natural.second *= vi_linalg::faer::Scale(0.4);
    let weak = natural.to_belief().unwrap();
    let shard = ShardPosterior::new(weak, &start, SETTINGS, &Forgetting::none()).unwrap();
    let error = merge::merge(&start, &[shard.clone(), shard.clone()]).unwrap_err();
    assert!(matches!(error, Error::NotPositiveDefinite { pivot: 0, .. }), "{error:?}");
    assert!(merge::merge(&start, &[shard]).is_ok());
}

#[test]
fn shards_travel_as_bytes() {
    let mut rng = rng(83);
    let start = prior(2, 2.0, &mut rng);
    let (x, y) = (rows(6, 2, &mut rng), rows(6, 1, &mut rng));
    let send = |shard: &ShardPosterior<DenseGaussian>| {
        let mut bytes = Vec::new();
        shard.write_to(&mut bytes).unwrap();
        bytes
    };
    let shards = [shard(&start, &x[..4], &y[..2]), shard(&start, &x[4..], &y[2..])];
    let received: Vec<_> = shards.iter().map(|s| ShardPosterior::read_from(&mut send(s).as_slice()).unwrap()).collect();
    let (here, there) = (merge::merge(&start, &shards).unwrap(), merge::merge(&start, &received).unwrap());
    assert_eq!(bits(here.belief()), bits(there.belief()));

    let belief = posterior(&start, &x, &y);
    let faded = ShardPosterior::new(belief, &start, SETTINGS, &Forgetting::fading(0.9).unwrap()).unwrap();
    let faded = ShardPosterior::read_from(&mut send(&faded).as_slice()).unwrap();
    assert_eq!(refused(&start, &[faded]), (0, Error::Forgetful));

    let error = DenseGaussian::read_from(&mut send(&shards[0]).as_slice()).unwrap_err();
    assert!(matches!(error, Error::Checkpoint(CheckpointError::Kind { found, .. }) if found == "vi-core/dense-shard"));
}
