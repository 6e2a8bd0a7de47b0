//! Nothing reads faer's process-wide number of threads: threads come as arguments.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use vi_core::factor::{self, DiagonalSettings, EmSettings, OnlineEm, OnlineSettings, RecursiveEm, RecursiveSettings};
use vi_core::nonlinear::{self, Categorical, LinearMap, NonlinearModel, NonlinearSettings};
use vi_core::papers::likelihood_step;
use vi_core::{Forgetting, LowRankGaussian, LowRankSettings, SquareRootGaussian};
use vi_linalg::faer::{Mat, Par, disable_global_parallelism};
use vi_linalg::{Cholesky, DenseSymmetric, LowRank, low_rank};

#[test]
fn what_takes_threads_as_an_argument_asks_nobody_else() {
    disable_global_parallelism();
    let (d, p) = (5, 2);
    let x = Mat::from_fn(9, d, |t, i| ((1 + 3 * t + 5 * i) as f64).sin());
    let s = Mat::from_fn(d, d, |i, j| 0.3_f64.powf(i.abs_diff(j) as f64));
    let start = LowRank::new(x.as_ref().transpose().subcols(0, p), &[1.0; 5]).unwrap();

    let dense = DenseSymmetric::new(s.as_ref());
    let mut c = start.clone();
    factor::run(&dense, &mut c, &EmSettings::default(), Par::Seq).unwrap();
    likelihood_step(&dense, &mut c, &DiagonalSettings::default(), Par::Seq).unwrap();
    RecursiveEm::new(start.clone(), &RecursiveSettings::default()).unwrap().run(x.as_ref(), Par::Seq).unwrap();
    OnlineEm::new(start.clone(), &OnlineSettings::default()).unwrap().run(x.as_ref(), Par::Seq).unwrap();
    let root = Cholesky::new(s.as_ref()).unwrap();
    let factored = start.factor(Par::Seq).unwrap();
    let dense = low_rank::DenseRoot::Precision(&root);
    low_rank::kl_of_precisions_to_dense(&[0.0; 5], &factored, &[1.0; 5], dense, Par::Seq).unwrap();

    let mut belief = SquareRootGaussian::isotropic(&[0.0; 5], 1.0).unwrap();
    Forgetting::towards(&belief.clone(), 0.9).unwrap().apply(&mut belief).unwrap();

    // As many draws as make a triangular factor of X.
    let model = NonlinearModel::new(LinearMap::new(2, 2).unwrap(), Categorical::new(3).unwrap()).unwrap();
    let form = LowRankSettings::blocked(p).unwrap();
    let mut belief = LowRankGaussian::isotropic(&vec![0.0; model.dim()], 1.0, form).unwrap();
    let mut rng = <rand_chacha::ChaCha8Rng as rand::SeedableRng>::seed_from_u64(1);
    let draws = &NonlinearSettings::new(8);
    nonlinear::step(&mut belief, &model, &[1.0, 0.5], &[1.0], draws, &mut rng, Par::Seq).unwrap();
}
