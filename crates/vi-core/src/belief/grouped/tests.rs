//! The arrow against the dense belief of all its weights, and its evidence against differences.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vi_linalg::faer::{Mat, Par, mat};

use super::*;
use crate::{BernoulliLogit, DenseStep, GaussianLikelihood, Mixture8, MomentMatching, Row, SiteRule, rule::Explicit};

const P: usize = 3;
const Q: usize = 2;
const M: u64 = 5;

fn root() -> Mat<f64> {
    mat![[0.8, 0.0], [-0.3, 0.5]]
}

/// Rows with their labels `0` and `1`.
fn rows(n: usize, seed: u64) -> Vec<([f64; P], [f64; Q], u64, f64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n)
        .map(|_| {
            let (a, b) = (rng.random::<f64>() - 0.5, rng.random::<f64>() - 0.5);
            ([1.0, a, b], [1.0, a], 1_000_003 * rng.random_range(0..M), f64::from(u8::from(rng.random::<bool>())))
        })
        .collect()
}

fn learn(belief: &mut Grouped, rule: &impl SiteRule, rows: &[([f64; P], [f64; Q], u64, f64)]) {
    let mut step = GroupedStep::default();
    for (x, z, group, y) in rows {
        let row = GroupedRow { x, z, group: *group };
        let seen = belief.project(row, &mut step).unwrap();
        belief.absorb(row, rule.site(seen.mean, seen.variance, *y).unwrap(), &mut step).unwrap();
    }
}

fn grouped() -> Grouped {
    Grouped::new(&[4.0, 1.0, 2.0], root().as_ref()).unwrap()
}

/// The dense belief before any row, the groups standing in the order of `keys`.
fn dense(keys: &[u64]) -> DenseGaussian {
    let d = P + Q * keys.len();
    let (root, variances) = (root(), [4.0, 1.0, 2.0]);
    let own = &root * root.transpose();
    let covariance = Mat::from_fn(d, d, |i, j| match (i < P, j < P) {
        (true, true) if i == j => variances[i],
        (false, false) if (i - P) / Q == (j - P) / Q => own[((i - P) % Q, (j - P) % Q)],
        _ => 0.0,
    });
    DenseGaussian::new(&vec![0.0; d], covariance.as_ref()).unwrap()
}

fn wide(keys: &[u64], (x, z, group, _): &([f64; P], [f64; Q], u64, f64)) -> Vec<f64> {
    let mut wide = vec![0.0; P + Q * keys.len()];
    wide[..P].copy_from_slice(x);
    let at = P + Q * keys.iter().position(|key| key == group).unwrap();
    wide[at..at + Q].copy_from_slice(z);
    wide
}

fn is_near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs())), "{a} {b}");
}

fn equals_dense(rule: &impl SiteRule) {
    let rows = rows(80, 1);
    let mut belief = grouped();
    learn(&mut belief, rule, &rows);
    let keys = belief.keys().to_vec();
    let (mut twin, mut step) = (dense(&keys), DenseStep::default());
    for row in &rows {
        let wide = wide(&keys, row);
        let seen = twin.project(Row::Dense(&wide), 1.0, &mut step).unwrap();
        twin.absorb(Row::Dense(&wide), rule.site(seen.mean, seen.variance, row.3).unwrap(), &mut step).unwrap();
    }
    // Eighty updates, each of which rounds a few times; the rule passes their errors on.
    let tolerance = 1e-12;
    let same = belief.to_dense().unwrap();
    let (ours, theirs) = (same.covariance(), twin.covariance());
    for i in 0..twin.dim() {
        is_near(same.mean()[i], twin.mean()[i], tolerance);
        (0..twin.dim()).for_each(|j| is_near(ours[(i, j)], theirs[(i, j)], tolerance));
    }
    is_near(belief.log_det().unwrap(), twin.cholesky().unwrap().log_det(), tolerance);
    let mut step = GroupedStep::default();
    for row in &rows {
        let seen = belief.project(GroupedRow { x: &row.0, z: &row.1, group: row.2 }, &mut step).unwrap();
        let other = twin.predict(&wide(&keys, row)).unwrap();
        is_near(seen.mean, other.mean, tolerance);
        is_near(seen.variance, other.variance, tolerance);
    }
    // What the rows left in the sums gives the same belief again.
    let mut again = belief.clone();
    again.rebuild(&[4.0, 1.0, 2.0], root().as_ref(), Par::Seq).unwrap();
    (0..P).for_each(|i| is_near(again.common().mean()[i], belief.common().mean()[i], tolerance));
    let (mean, covariance) = again.effects(keys[1]).unwrap();
    (0..Q).for_each(|i| is_near(mean[i], twin.mean()[P + Q + i], tolerance));
    is_near(covariance[(1, 0)], theirs[(P + Q + 1, P + Q)], tolerance);
}

#[test]
fn a_linear_arrow_is_the_dense_belief() {
    equals_dense(&Explicit(GaussianLikelihood::new(0.5).unwrap()));
}

#[test]
fn a_logistic_arrow_is_the_dense_belief() {
    equals_dense(&MomentMatching(BernoulliLogit(Mixture8)));
}

#[test]
fn a_new_group_is_at_its_prior() {
    let mut belief = grouped();
    learn(&mut belief, &Explicit(GaussianLikelihood::new(0.5).unwrap()), &rows(40, 2));
    let (mean, covariance) = belief.effects(77).unwrap();
    let prior = &root() * root().transpose();
    assert_eq!(mean, [0.0; Q]);
    (0..Q).for_each(|i| (0..Q).for_each(|j| is_near(covariance[(i, j)], prior[(i, j)], 4.0 * f64::EPSILON)));
}

#[test]
fn parts_merge_and_are_subtracted() {
    let rule = Explicit(GaussianLikelihood::new(0.5).unwrap());
    let (first, second) = (rows(50, 3), rows(70, 4));
    let (mut whole, mut a, mut b) = (grouped(), grouped(), grouped());
    learn(&mut whole, &rule, &[first.clone(), second.clone()].concat());
    learn(&mut a, &rule, &first);
    learn(&mut b, &rule, &second);
    let alone = a.clone();
    a.merge(&b).unwrap();
    let key = whole.keys()[2];
    let (merged, together) = (a.effects(key).unwrap(), whole.effects(key).unwrap());
    // Sums in another order.
    is_near(merged.0[1], together.0[1], 1e-12);
    is_near(merged.1[(0, 0)], together.1[(0, 0)], 1e-12);
    a.subtract(&b).unwrap();
    is_near(a.common().mean()[2], alone.common().mean()[2], 1e-12);
    let mut stranger = grouped();
    learn(&mut stranger, &rule, &[([1.0, 0.0, 0.0], [1.0, 0.0], 5, 1.0)]);
    let before = a.common().mean().to_vec();
    assert!(matches!(a.subtract(&stranger), Err(Error::Entry { argument: "groups", .. })));
    assert_eq!(a.common().mean(), before);
    assert!(a.merge(&Grouped::new(&[4.0, 1.0, 3.0], root().as_ref()).unwrap()).is_err());
}

#[test]
fn sites_at_once_are_sites_in_turn() {
    let rows = rows(60, 8);
    let (mut one, mut all) = (grouped(), grouped());
    learn(&mut one, &Explicit(GaussianLikelihood::new(0.5).unwrap()), &rows);
    let sites = |add: &mut dyn FnMut(GroupedRow<'_>, f64, f64) -> Result<(), Error>| {
        rows.iter().try_for_each(|(x, z, group, y)| add(GroupedRow { x, z, group: *group }, 2.0, 2.0 * y))
    };
    all.absorb_all::<Error>(Par::Seq, sites).unwrap();
    (0..P).for_each(|i| is_near(one.common().mean()[i], all.common().mean()[i], 1e-12));
}

#[test]
fn the_evidence_is_that_of_the_dense_belief_and_its_slopes_are_differences() {
    let rows = rows(60, 5);
    let mut belief = grouped();
    learn(&mut belief, &Explicit(GaussianLikelihood::new(0.5).unwrap()), &rows);
    let at = |root: &Mat<f64>| belief.solve(&[4.0, 1.0, 2.0], root.as_ref(), Par::Seq).unwrap();
    // log N(y | 0, σ²I + XVXᵀ) + its terms without the prior, from the precision: ½ log|Λ₀|/|Λ| + ½ eᵀΛ⁻¹e.
    let solved = at(&root());
    let (prior, after) = (dense(belief.keys()), belief.to_dense().unwrap());
    let log_det = 0.5 * (after.cholesky().unwrap().log_det() - prior.cholesky().unwrap().log_det());
    is_near(solved.log_det, log_det, 1e-12);
    let quadratic = 0.5 * after.cholesky().unwrap().quadratic_form_inverse(after.mean()).unwrap();
    is_near(solved.quadratic, quadratic, 1e-11);
    let (_, slopes) = belief.solve_with_slopes(&[4.0, 1.0, 2.0], root().as_ref(), Par::Seq).unwrap();
    // A central difference: h² times a third derivative of order 100, and ε/h of sums of order 100.
    let h = 1e-5;
    for (i, j) in [(0, 0), (1, 0), (1, 1)] {
        let [up, down] = [h, -h].map(|h| {
            let mut moved = root();
            moved[(i, j)] += h;
            at(&moved)
        });
        is_near(slopes.log_det[(i, j)], (up.log_det - down.log_det) / (2.0 * h), 1e-8);
        is_near(slopes.quadratic[(i, j)], (up.quadratic - down.quadratic) / (2.0 * h), 1e-8);
    }
    // No effects at all are allowed, and are the model without groups.
    let none = at(&Mat::zeros(Q, Q));
    assert!(none.log_det.is_finite() && none.quadratic < solved.quadratic);
}

#[test]
#[cfg(feature = "rayon")]
fn threads_change_no_bit() {
    let mut belief = grouped();
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    // Several branches of the tree of sums, and a last tile that is not full.
    let many = |add: &mut dyn FnMut(GroupedRow<'_>, f64, f64) -> Result<(), Error>| {
        (0..1700).try_for_each(|group| {
            let a = rng.random::<f64>();
            add(GroupedRow { x: &[1.0, a, a * a], z: &[1.0, a], group }, 1.0, a - 0.5)
        })
    };
    belief.absorb_all::<Error>(Par::Seq, many).unwrap();
    let of = |par| {
        let (solution, slopes) = belief.solve_with_slopes(&[4.0, 1.0, 2.0], root().as_ref(), par).unwrap();
        (solution.log_det, solution.quadratic, solution.mean, slopes.log_det, slopes.quadratic)
    };
    let one = of(Par::Seq);
    for threads in [2, 3] {
        assert_eq!(of(Par::rayon(threads)), one);
    }
}

#[test]
fn what_cannot_be_leaves_the_belief_as_it_was() {
    let mut belief = grouped();
    let (x, z) = ([1.0, 0.0, 0.0], [1.0, 0.0]);
    let row = GroupedRow { x: &x, z: &z, group: 1 };
    let mut step = GroupedStep::default();
    let seen = belief.project(row, &mut step).unwrap();
    let improper = Site { slope: 0.0, curvature: -1.0 / seen.variance };
    assert!(matches!(belief.absorb(row, improper, &mut step), Err(Error::ImproperSite { .. })));
    assert!(belief.groups() == 0 && belief.common().mean() == [0.0; P]);
    for bad in [GroupedRow { x: &x[..2], ..row }, GroupedRow { z: &[f64::NAN, 0.0], ..row }] {
        assert!(belief.project(bad, &mut step).is_err());
    }
    assert!(Grouped::new(&[1.0, 0.0], root().as_ref()).is_err() && Grouped::new(&[], root().as_ref()).is_err());
}

#[test]
fn a_stored_belief_goes_on_with_the_same_bits() {
    use crate::Checkpoint;
    let rule = Explicit(GaussianLikelihood::new(0.5).unwrap());
    let (mut belief, mut bytes) = (grouped(), Vec::new());
    learn(&mut belief, &rule, &rows(30, 6));
    belief.write_to(&mut bytes).unwrap();
    let mut again = Grouped::read_from(&mut bytes.as_slice()).unwrap();
    let more = rows(30, 7);
    learn(&mut belief, &rule, &more);
    learn(&mut again, &rule, &more);
    assert_eq!(belief.common().mean(), again.common().mean());
    assert_eq!(belief.effects(belief.keys()[0]).unwrap().0, again.effects(again.keys()[0]).unwrap().0);
    let mut wire = belief.to_wire().unwrap();
    wire.keys[1] = wire.keys[0];
    assert!(Grouped::from_wire(wire).is_err());
}
