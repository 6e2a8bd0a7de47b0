//! Checkpoint, forgetting and merging of the square-root and diagonal beliefs, against the dense one.

use vi_core::{
    Belief, Checkpoint, DenseGaussian, DiagonalGaussian, Error, Explicit, Forget, Forgetting, GaussianBelief,
    GaussianLikelihood, Mergeable, ShardPosterior, SiteRule, SquareRootGaussian, filter, merge,
};

use crate::common::{IMPLICIT, condition, difference, labels, prior, rng, rows, view};

fn run<B: Belief + Clone, R: SiteRule>(start: &B, rule: &R, inputs: &[f64], y: &[f64]) -> B {
    let mut belief = start.clone();
    filter::run(&mut belief, rule, view(inputs, start.dim()), y, |_, _, _| {}).unwrap();
    belief
}

fn reread<B: Checkpoint>(belief: &B) -> B {
    let mut bytes = Vec::new();
    belief.write_to(&mut bytes).unwrap();
    for cut in 0..bytes.len() {
        assert!(B::read_from(&mut &bytes[..cut]).is_err(), "cut at {cut}");
    }
    B::read_from(&mut bytes.as_slice()).unwrap()
}

#[test]
fn reading_and_going_on_gives_the_same_bits() {
    let d = 4;
    let mut rng = rng(91);
    let (inputs, y) = (rows(20, d, &mut rng), labels(20, &mut rng));
    let (early, late) = inputs.split_at(9 * d);

    let root = SquareRootGaussian::from_dense(&prior(d, 1.5, &mut rng)).unwrap();
    let whole = run(&root, &IMPLICIT, &inputs, &y);
    let resumed = run(&reread(&run(&root, &IMPLICIT, early, &y[..9])), &IMPLICIT, late, &y[9..]);
    assert_eq!((whole.mean(), whole.root()), (resumed.mean(), resumed.root()));

    let diagonal = DiagonalGaussian::isotropic(&[0.1, -0.2, 0.3, 0.4], 2.0).unwrap();
    let whole = run(&diagonal, &IMPLICIT, &inputs, &y);
    assert_eq!(whole, run(&reread(&run(&diagonal, &IMPLICIT, early, &y[..9])), &IMPLICIT, late, &y[9..]));

    // A record of one kind is not one of another.
    let mut bytes = Vec::new();
    root.write_to(&mut bytes).unwrap();
    assert!(matches!(DenseGaussian::read_from(&mut bytes.as_slice()), Err(Error::Checkpoint(_))));
}

fn forgotten<B: Forget + Clone>(start: &B, forgetting: &Forgetting<B>) -> B {
    let mut belief = start.clone();
    forgetting.apply(&mut belief).unwrap();
    belief
}

#[test]
fn forgetting_is_that_of_the_dense_belief() {
    let d = 3;
    let mut rng = rng(92);
    let (first, now) = (prior(d, 2.0, &mut rng), prior(d, 0.7, &mut rng));
    let noise = [0.1, 0.0, 0.4];
    let dense = [
        forgotten(&now, &Forgetting::fading(0.8).unwrap()),
        forgotten(&now, &Forgetting::towards(&first, 0.6).unwrap()),
        forgotten(&now, &Forgetting::noise(&noise).unwrap()),
    ];
    let (root_first, root) =
        (SquareRootGaussian::from_dense(&first).unwrap(), SquareRootGaussian::from_dense(&now).unwrap());
    let roots = [
        forgotten(&root, &Forgetting::fading(0.8).unwrap()),
        forgotten(&root, &Forgetting::towards(&root_first, 0.6).unwrap()),
        forgotten(&root, &Forgetting::noise(&noise).unwrap()),
    ];
    // A few conversions between covariance and precision.
    let tolerance = 1e3 * f64::EPSILON * condition(&now) * condition(&first);
    for (root, dense) in roots.iter().zip(&dense) {
        assert!(difference(&root.to_dense().unwrap(), dense) < tolerance);
    }

    let (first, now) = (
        DiagonalGaussian::new(&[0.5, -1.0, 2.0], &[4.0, 1.0, 9.0]).unwrap(),
        DiagonalGaussian::new(&[1.0, 0.3, -0.2], &[0.5, 0.1, 2.0]).unwrap(),
    );
    let (dense_first, dense_now) = (first.to_dense().unwrap(), now.to_dense().unwrap());
    let pairs = [
        (forgotten(&now, &Forgetting::fading(0.8).unwrap()), forgotten(&dense_now, &Forgetting::fading(0.8).unwrap())),
        (
            forgotten(&now, &Forgetting::towards(&first, 0.6).unwrap()),
            forgotten(&dense_now, &Forgetting::towards(&dense_first, 0.6).unwrap()),
        ),
        (
            forgotten(&now, &Forgetting::noise(&noise).unwrap()),
            forgotten(&dense_now, &Forgetting::noise(&noise).unwrap()),
        ),
    ];
    for (diagonal, dense) in &pairs {
        assert!(difference(&diagonal.to_dense().unwrap(), dense) < 100.0 * f64::EPSILON);
    }
}

fn merged<B: Mergeable + Forget>(start: &B, rule: &impl SiteRule, inputs: &[f64], y: &[f64], shards: usize) -> B {
    let size = y.len().div_ceil(shards);
    let parts: Vec<ShardPosterior<B>> = inputs
        .chunks(size * start.dim())
        .zip(y.chunks(size))
        .map(|(x, y)| ShardPosterior::new(run(start, rule, x, y), start, "kalman", &Forgetting::none()).unwrap())
        .collect();
    merge::merge(start, &parts).unwrap().belief().clone()
}

#[test]
fn shards_of_a_linear_model_merge_to_the_single_run() {
    let (d, n) = (4, 30);
    let mut rng = rng(93);
    let start = prior(d, 1.2, &mut rng);
    let (inputs, y) = (rows(n, d, &mut rng), rows(n, 1, &mut rng));
    let kalman = Explicit(GaussianLikelihood::new(0.5).unwrap());
    let root = SquareRootGaussian::from_dense(&start).unwrap();
    let single = run(&root, &kalman, &inputs, &y).to_dense().unwrap();
    let tolerance = 10.0 * n as f64 * f64::EPSILON * condition(&start) * condition(&single);
    for shards in [1, 2, 7] {
        assert!(difference(&merged(&root, &kalman, &inputs, &y, shards).to_dense().unwrap(), &single) < tolerance);
    }
    // Rows of one nonzero keep a diagonal posterior diagonal, so its merge is exact too.
    let diagonal = DiagonalGaussian::new(&[0.3, -0.1, 0.0, 1.0], &[1.0, 2.0, 0.5, 4.0]).unwrap();
    let sparse: Vec<f64> = (0..n * d).map(|k| if k % d == (k / d) % d { 1.0 + k as f64 * 0.01 } else { 0.0 }).collect();
    let single = run(&diagonal, &kalman, &sparse, &y).to_dense().unwrap();
    for shards in [1, 2, 7] {
        let error = difference(&merged(&diagonal, &kalman, &sparse, &y, shards).to_dense().unwrap(), &single);
        assert!(error < 100.0 * n as f64 * f64::EPSILON, "{error:e}");
    }
}
