//! The low-rank belief against its dense twins.

use rand::RngExt;
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, DiagonalGaussian, Error, Explicit, GaussianLikelihood, Implicit,
    LowRankGaussian, LowRankSettings, MeanMoves, Mixture8, SiteRule, SparseRow, filter,
};
use vi_linalg::faer::{Mat, MatRef, Par};

use crate::common::{difference, labels, rng, rows, view};

fn logit() -> Implicit<BernoulliLogit<Mixture8>> {
    Implicit(BernoulliLogit(Mixture8))
}

/// Means and variances that differ from coordinate to coordinate.
fn prior(d: usize) -> (Vec<f64>, Vec<f64>) {
    ((0..d).map(|i| 0.1 * i as f64 - 0.2).collect(), (0..d).map(|i| 1.0 / (1.0 + 0.3 * i as f64)).collect())
}

fn dense(mean: &[f64], variances: &[f64]) -> DenseGaussian {
    DiagonalGaussian::new(mean, variances).unwrap().to_dense()
}

fn run_all<R: SiteRule>(belief: &mut LowRankGaussian, rule: &R, x: MatRef<'_, f64>, y: &[f64]) {
    belief.run(rule, x, y, Par::Seq, |_, _, _| {}).unwrap();
}

/// While rows wait nothing has been approximated, and with `p ≥ d` the projection loses nothing: the dense filter.
#[test]
fn waiting_rows_and_full_rank_are_the_dense_filter() {
    let (d, n) = (7, 40);
    let mut rng = rng(1);
    let (x, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let (mean, variances) = prior(d);
    let mut exact = dense(&mean, &variances);
    filter::run(&mut exact, &logit(), view(&x, d), &y, |_, _, _| {}).unwrap();
    for (rank, block) in [(0, 64), (3, 64), (7, 5), (9, 1), (7, 64), (20, 40)] {
        for inner_loops in [0, 1, 3] {
            let settings =
                LowRankSettings::blocked(rank).unwrap().with_block(block).unwrap().with_inner_loops(inner_loops);
            let mut belief = LowRankGaussian::new(&mean, &variances, settings).unwrap();
            run_all(&mut belief, &logit(), view(&x, d), &y);
            // A few hundred roundings of numbers whose condition is below 1e3.
            let off = difference(&belief.to_dense(Par::Seq).unwrap(), &exact);
            assert!(off < 1e-11, "p = {rank}, b = {block}, {inner_loops} loops: {off:e}");
        }
    }
}
