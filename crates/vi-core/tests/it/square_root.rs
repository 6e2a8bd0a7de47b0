//! The square-root belief is the dense one in another form, and stays positive definite where that one cannot.

use rand::RngExt;
use rand_distr::StandardNormal;
use vi_core::block::{self, BlockBelief, BlockRecursion, BlockScratch, BlockSettings};
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, DenseStep, Error, Explicit, GaussianBelief, GaussianLikelihood, Implicit,
    Mixture8, Site, Sites, SquareRootGaussian, filter,
};
use vi_linalg::faer::{Mat, MatRef, Par, mat};

use crate::block::{blocked, rules};
use crate::common::{Made, condition, difference, labels, prior, rng, rows, view};

fn kalman(noise: f64) -> Explicit<GaussianLikelihood> {
    Explicit(GaussianLikelihood::new(noise).unwrap())
}

/// The mean's bits and those of the root's lower triangle.
fn bits(belief: &SquareRootGaussian) -> Vec<u64> {
    let (d, root) = (belief.dim(), belief.root());
    let entries = (0..d).flat_map(|j| (j..d).map(move |i| (i, j))).map(|at| root[at].to_bits());
    belief.mean().iter().map(|m| m.to_bits()).chain(entries).collect()
}

#[test]
fn one_dimension_by_hand() {
    let mut belief = SquareRootGaussian::new(&[1.0], mat![[4.0]].as_ref()).unwrap();
    assert_eq!(belief.root()[(0, 0)], 0.5);
    // ν = 3²·4 = 36, h = 1/9: P⁻¹ = ¼ + 1, e = ((6 − 3)/9)/(1 + 4), μ = 1 + e·12.
    let info = filter::step(&mut belief, &kalman(9.0), &[3.0], 6.0, &mut filter::Scratch::default()).unwrap();
    assert_eq!((info.projection.mean, info.projection.variance), (3.0, 36.0));
    assert!((belief.mean()[0] - 1.8).abs() <= 4.0 * f64::EPSILON);
    assert!((belief.covariance()[(0, 0)] - 0.8).abs() <= 4.0 * f64::EPSILON);
    assert!((belief.log_det().unwrap() - 0.8_f64.ln()).abs() <= 4.0 * f64::EPSILON);
}

#[test]
fn dense_and_square_root_sequential_and_blocked_agree_for_every_rule() {
    let n = 50;
    for d in [1, 3, 17, 40] {
        let mut rng = rng(140 + d as u64);
        let dense = prior(d, 1.5, &mut rng);
        let root = SquareRootGaussian::from_dense(&dense).unwrap();
        let (inputs, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
        let x = view(&inputs, d);
        for (name, rule) in rules() {
            let mut sequential_dense = dense.clone();
            filter::run(&mut sequential_dense, &rule.as_ref(), x, &y, |_, _, _| {}).unwrap();
            let mut sequential = root.clone();
            filter::run(&mut sequential, &rule.as_ref(), x, &y, |_, _, _| {}).unwrap();
            // Each of n steps rounds the projected variance; κ of the prior and the posterior's contraction.
            let tolerance = 8.0 * n as f64 * f64::EPSILON * condition(&dense) * condition(&sequential_dense);
            let error = difference(&sequential.to_dense().unwrap(), &sequential_dense);
            assert!(error <= tolerance, "{name}, d = {d}: {error:e} > {tolerance:e}");
            for b in [1, 2, 7, 16, 50, 64] {
                let belief = blocked(&root, rule.as_ref(), x, &y, b);
                let error = difference(&belief.to_dense().unwrap(), &sequential_dense);
                assert!(error <= tolerance, "{name}, d = {d}, b = {b}: {error:e} > {tolerance:e}");
            }
        }
    }
}

#[test]
fn conversions_go_round() {
    for d in [1, 2, 17, 60] {
        let mut rng = rng(160 + d as u64);
        let dense = prior(d, 2.0, &mut rng);
        let cholesky = dense.cholesky().unwrap();
        let precision = cholesky.inverse();
        // Three triangular factors, each with backward error d ε, and κ once for each inversion.
        let tolerance = 16.0 * d as f64 * f64::EPSILON * condition(&dense);
        let covariance = dense.covariance();
        for root in [
            SquareRootGaussian::from_dense(&dense).unwrap(),
            SquareRootGaussian::new(dense.mean(), covariance.as_ref()).unwrap(),
            SquareRootGaussian::from_precision(dense.mean(), precision.as_ref()).unwrap(),
        ] {
            assert!(difference(&root.to_dense().unwrap(), &dense) <= tolerance, "d = {d}");
            assert!((root.log_det().unwrap() - cholesky.log_det()).abs() <= d as f64 * tolerance, "d = {d}");
            assert!((0..d).all(|j| root.root()[(j, j)] > 0.0));
            let again = SquareRootGaussian::from_dense(&root.to_dense().unwrap()).unwrap();
            assert!(difference(&again.to_dense().unwrap(), &dense) <= 2.0 * tolerance, "d = {d}");
            let full = root.covariance();
            assert_eq!(full, full.transpose());
        }
        let (a, b) = (SquareRootGaussian::isotropic(dense.mean(), 0.7), DenseGaussian::isotropic(dense.mean(), 0.7));
        assert!(difference(&a.unwrap().to_dense().unwrap(), &b.unwrap()) <= 4.0 * f64::EPSILON);
    }
}

#[test]
fn draws_have_the_beliefs_moments() {
    let (d, n) = (3, 20_000);
    let mut rng = rng(170);
    let belief = SquareRootGaussian::from_dense(&prior(d, 1.5, &mut rng)).unwrap();
    let covariance = belief.covariance();
    let mut theta = vec![0.0; d];
    let (mut first, mut second) = (vec![0.0; d], Mat::<f64>::zeros(d, d));
    for _ in 0..n {
        belief.draw(&mut theta, &mut rng).unwrap();
        for i in 0..d {
            first[i] += (theta[i] - belief.mean()[i]) / f64::from(n);
            for j in 0..d {
                second[(i, j)] += (theta[i] - belief.mean()[i]) * (theta[j] - belief.mean()[j]) / f64::from(n);
            }
        }
    }
    for i in 0..d {
        // 6σ/√N for the mean; a product of two normals has variance PᵢᵢPⱼⱼ + Pᵢⱼ².
        assert!(first[i].abs() <= 6.0 * (covariance[(i, i)] / f64::from(n)).sqrt());
        for j in 0..d {
            let variance = covariance[(i, i)] * covariance[(j, j)] + covariance[(i, j)].powi(2);
            assert!((second[(i, j)] - covariance[(i, j)]).abs() <= 6.0 * (variance / f64::from(n)).sqrt());
        }
    }
    assert!(matches!(belief.draw(&mut [0.0; 2], &mut rng), Err(Error::Dimension { argument: "theta", .. })));
}

/// Sites with curvatures of both signs.
const MIXED: Made = Made(|a, nu, y| {
    let curvature = if y > 0.5 { 0.7 } else { -0.4 / (1.0 + nu) };
    Ok(Site { slope: y - 0.3 * a.tanh(), curvature })
});

#[test]
fn negative_curvatures_agree_with_the_dense_belief() {
    let n = 40;
    for d in [1, 3, 17] {
        let mut rng = rng(180 + d as u64);
        let dense = prior(d, 1.0, &mut rng);
        let root = SquareRootGaussian::from_dense(&dense).unwrap();
        let (inputs, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
        let x = view(&inputs, d);
        let mut infos = Vec::new();
        let mut reference = dense.clone();
        filter::run(&mut reference, &MIXED, x, &y, |_, _, info| infos.push(*info)).unwrap();
        let mut sequential = root.clone();
        filter::run(&mut sequential, &MIXED, x, &y, |_, _, _| {}).unwrap();
        // A downdate by 1 + hν ≥ 0.6 loses at most 1/0.6 of its digits beside the n steps' rounding.
        let tolerance = 16.0 * n as f64 * f64::EPSILON * condition(&dense) * condition(&reference);
        let error = difference(&sequential.to_dense().unwrap(), &reference);
        assert!(error <= tolerance, "d = {d}: {error:e} > {tolerance:e}");
        for b in [1, 3, 16, 40] {
            let error = difference(&blocked(&root, &MIXED, x, &y, b).to_dense().unwrap(), &reference);
            assert!(error <= tolerance, "d = {d}, b = {b}: {error:e} > {tolerance:e}");
        }
        // The same sites at once.
        let slopes = infos.iter().map(|info| info.site.natural_slope(info.projection.mean)).collect();
        let sites = Sites::new(slopes, infos.iter().map(|info| info.site.curvature).collect()).unwrap();
        let built = SquareRootGaussian::from_sites(&root, x, &sites, Par::Seq).unwrap();
        let error = difference(&built.to_dense().unwrap(), &reference);
        assert!(error <= tolerance, "d = {d}, from sites: {error:e} > {tolerance:e}");
    }
}

#[test]
fn sites_in_many_blocks_are_those_of_the_filter() {
    let (n, d) = (300, 12);
    let mut rng = rng(190);
    let root = SquareRootGaussian::from_dense(&prior(d, 3.0, &mut rng)).unwrap();
    let (inputs, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let x = view(&inputs, d);
    let (mut filtered, mut sites) = (root.clone(), Sites::default());
    let rule = Implicit(BernoulliLogit(Mixture8));
    filter::run(&mut filtered, &rule, x, &y, |_, _, info| sites.push(info)).unwrap();
    let built = SquareRootGaussian::from_sites(&root, x, &sites, Par::Seq).unwrap();
    let filtered = filtered.to_dense().unwrap();
    let tolerance = 8.0 * n as f64 * f64::EPSILON * condition(&filtered) * condition(&root.to_dense().unwrap());
    assert!(difference(&built.to_dense().unwrap(), &filtered) <= tolerance);
}

#[test]
fn flat_priors_cost_the_root_of_the_condition_number() {
    let (d, n) = (20, 200);
    let v: Vec<f64> = (0..d).map(|i| 1.0 + 0.1 * (i % 7) as f64).collect();
    let square: f64 = v.iter().map(|v| v * v).sum();
    let mut rng = rng(200);
    let y: Vec<f64> = (0..n).map(|_| 2.0 + rng.sample::<f64, _>(StandardNormal)).collect();
    let inputs: Vec<f64> = (0..n).flat_map(|_| v.iter().copied()).collect();
    let x = view(&inputs, d);
    for sigma0 in [1e3_f64, 1e6] {
        let start = SquareRootGaussian::isotropic(&vec![0.0; d], sigma0).unwrap();
        let mut sequential = start.clone();
        filter::run(&mut sequential, &kalman(1.0), x, &y, |_, _, _| {}).unwrap();
        // One effective parameter t = vᵀθ, prior N(0, σ₀²‖v‖²), seen n times with unit noise.
        let variance = 1.0 / (n as f64 + 1.0 / (sigma0 * sigma0 * square));
        let mean = variance * y.iter().sum::<f64>();
        let root_condition = sigma0 * (n as f64 * square).sqrt();
        for (form, belief) in [("sequential", sequential), ("blocked", blocked(&start, &kalman(1.0), x, &y, 32))] {
            let seen = belief.predict(&v).unwrap();
            // Backward error (n + d)ε on L, and a solve with it.
            let tolerance = 8.0 * (n + d) as f64 * f64::EPSILON * root_condition;
            assert!((seen.variance / variance - 1.0).abs() <= tolerance, "{form}, σ₀ = {sigma0:e}");
            // In standard deviations. Each step's gain is known to √κ, and the steps' sizes sum to one prior deviation.
            let error = (seen.mean - mean).abs() / variance.sqrt();
            assert!(error <= tolerance * (mean / variance.sqrt()), "{form}, σ₀ = {sigma0:e}: {error:e}");
            // Directions across v know nothing new.
            let mut across = vec![0.0; d];
            (across[0], across[1]) = (v[1], -v[0]);
            let expected = sigma0 * sigma0 * (v[0] * v[0] + v[1] * v[1]);
            let error = (belief.predict(&across).unwrap().variance / expected - 1.0).abs();
            assert!(error <= tolerance, "{form}, σ₀ = {sigma0:e}: {error:e}");
            assert!(belief.to_dense().unwrap().mean().iter().all(|m| m.is_finite()));
        }
    }
}

/// `n` steps on rows that lie within 1e-6 of one line, from `σ₀ = 10³` in 50 dimensions.
fn collinear(n: usize) {
    let d = 50;
    let mut rng = rng(210);
    let v: Vec<f64> = (0..d).map(|i| 1.0 + (i as f64).sin()).collect();
    let (mut dense, mut reported) = (DenseGaussian::isotropic(&vec![0.0; d], 1e3).unwrap(), None);
    let mut root = SquareRootGaussian::isotropic(&vec![0.0; d], 1e3).unwrap();
    // By columns, as slices: a million rows take their time.
    let mut precision: Vec<f64> = (0..d * d).map(|at| if at % (d + 1) == 0 { 1e-6 } else { 0.0 }).collect();
    let (rule, mut scratch, mut other) = (kalman(1.0), filter::Scratch::default(), filter::Scratch::default());
    for t in 0..n {
        let scale: f64 = 1.0 + rng.random::<f64>();
        let mut x: Vec<f64> = v.iter().map(|v| scale * v).collect();
        x[t % d] += 1e-6;
        let y = scale + rng.sample::<f64, _>(StandardNormal);
        filter::step(&mut root, &rule, &x, y, &mut scratch).unwrap();
        if reported.is_none() {
            reported = filter::step(&mut dense, &rule, &x, y, &mut other).err();
        }
        for (column, x_j) in precision.chunks_exact_mut(d).zip(&x) {
            column.iter_mut().zip(&x).for_each(|(entry, x_i)| *entry += x_i * x_j);
        }
    }
    // The root is that of the precision, row by row: n rotations, each a few ε of a row's length.
    let l = root.root();
    for j in 0..d {
        assert!(l[(j, j)] > 0.0 && root.mean()[j].is_finite());
        for i in j..d {
            let product: f64 = (0..=j).map(|k| l[(i, k)] * l[(j, k)]).sum();
            let tolerance = 4.0 * n as f64 * f64::EPSILON * (precision[i * d + i] * precision[j * d + j]).sqrt();
            let error = (product - precision[j * d + i]).abs();
            assert!(error <= tolerance, "({i}, {j}): {error:e} > {tolerance:e}");
        }
    }
    // The dense belief says that it is broken, or it is not: along any row its variance is then positive.
    match (reported, dense.cholesky()) {
        (Some(error), _) => assert!(matches!(error, Error::NegativeVariance { .. }), "{error:?}"),
        (None, Err(error)) => assert!(matches!(error, Error::NotPositiveDefinite { .. }), "{error:?}"),
        (None, Ok(_)) => {
            for _ in 0..100 {
                let x: Vec<f64> = (0..d).map(|_| rng.sample(StandardNormal)).collect();
                assert!(dense.predict(&x).unwrap().variance > 0.0);
            }
        }
    }
}

#[test]
fn ten_thousand_collinear_rows() {
    collinear(10_000);
}

#[test]
fn a_million_collinear_rows() {
    if crate::slow() {
        collinear(1_000_000);
    }
}

/// Runs `action` on a fresh belief, expects an error of the shape `expected`, and the belief's bits unchanged.
fn refused(action: impl FnOnce(&mut SquareRootGaussian) -> Result<(), Error>, expected: impl FnOnce(&Error) -> bool) {
    let mut belief = SquareRootGaussian::from_dense(&prior(3, 1.0, &mut rng(220))).unwrap();
    let before = bits(&belief);
    let error = action(&mut belief).expect_err("bad input was accepted");
    assert!(expected(&error), "{error:?}");
    assert_eq!(bits(&belief), before);
}

#[test]
fn bad_rows_and_sites_leave_the_bits() {
    let step = |b: &mut SquareRootGaussian, x: &[f64], y: f64| {
        filter::step(b, &Implicit(BernoulliLogit(Mixture8)), x, y, &mut filter::Scratch::default()).map(drop)
    };
    refused(|b| step(b, &[1.0], 1.0), |e| matches!(e, Error::Dimension { argument: "x", .. }));
    refused(|b| step(b, &[1.0, f64::NAN, 0.0], 1.0), |e| matches!(e, Error::NonFinite { index: 1, .. }));
    refused(|b| step(b, &[1.0, 1.0, 0.0], 0.5), |e| matches!(e, Error::Label { .. }));
    refused(|b| step(b, &[1e200, 0.0, 0.0], 1.0), |e| matches!(e, Error::Overflow { .. }));
    let absorb = |b: &mut SquareRootGaussian, x: &[f64], curvature: f64| {
        let mut step = DenseStep::default();
        b.project(x.into(), 1.0, &mut step)?;
        b.absorb(x.into(), Site { slope: 0.1, curvature }, &mut step)
    };
    let improper = |e: &Error| matches!(e, Error::ImproperSite { .. });
    refused(|b| absorb(b, &[1.0, 2.0, 0.5], -1e9), improper);
    refused(|b| absorb(b, &[1.0, 2.0, 0.5], f64::NAN), improper);
    refused(|b| absorb(b, &[1e100, 2.0, 0.5], 1e107), improper);
    let x = mat![[1.0, 0.2, 0.3], [0.1, -1.0, 0.4], [0.5, 0.5, 2.0]];
    let sites = |curvatures: [f64; 3]| Sites::new(vec![0.0; 3], curvatures.to_vec()).unwrap();
    let build = |curvatures| {
        move |b: &mut SquareRootGaussian| {
            let x = mat![[1.0, 0.2, 0.3], [0.1, -1.0, 0.4], [0.5, 0.5, 2.0]];
            SquareRootGaussian::from_sites(b, x.as_ref(), &curvatures, Par::Seq).map(drop)
        }
    };
    refused(build(sites([1.0, -50.0, 1.0])), |e| matches!(e, Error::NotPositiveDefinite { argument: "precision", .. }));
    refused(build(sites([1.0, 1.0, f64::MAX])), |e| matches!(e, Error::Row { row: 2, .. }));
    refused(
        |b| SquareRootGaussian::from_sites(b, x.as_ref().subrows(0, 2), &sites([0.0; 3]), Par::Seq).map(drop),
        |e| matches!(e, Error::Dimension { argument: "sites", expected: 2, found: 3 }),
    );
}

#[test]
fn a_block_that_cannot_be_absorbed_leaves_the_bits() {
    let x = view(&[1.0, 0.2, 0.3, 0.1, -1.0, 0.4], 3);
    let seen_narrowly = |curvatures: [f64; 2]| {
        let mut narrow = SquareRootGaussian::isotropic(&[0.0; 3], 1e-3).unwrap();
        let (mut recursion, mut panels) = (BlockRecursion::new(2), narrow.panels(2));
        narrow.project_block(x, &mut recursion, &mut panels, Par::Seq);
        recursion.resolve(|t, _| Ok(Site { slope: 0.1, curvature: curvatures[t] })).unwrap();
        recursion
    };
    let absorb = |b: &mut SquareRootGaussian, recursion: &BlockRecursion| {
        let mut panels = b.panels(2);
        b.absorb_block(x, recursion, &mut panels, Par::Seq)
    };
    // Proper sites for a narrow belief: the first is absorbed, the second leaves no Gaussian of this wide one.
    refused(
        |b| absorb(b, &seen_narrowly([2.0, -1e3])),
        |e| matches!(e, Error::NotPositiveDefinite { argument: "precision", .. }),
    );
    refused(
        |b| absorb(b, &seen_narrowly([2.0, f64::MAX])),
        |e| matches!(e, Error::Row { row: 1, source } if matches!(**source, Error::ImproperSite { .. })),
    );
}

#[test]
fn a_bad_row_anywhere_in_a_block_is_named() {
    let inputs = rows(12, 3, &mut rng(230));
    let y: Vec<f64> = (0..12).map(|t| f64::from(t % 2)).collect();
    let run = |b: &mut SquareRootGaussian, inputs: &[f64], y: &[f64]| {
        let mut scratch = BlockScratch::new(b, BlockSettings::new(5).unwrap());
        block::run(b, &Implicit(BernoulliLogit(Mixture8)), view(inputs, 3), y, &mut scratch, Par::Seq, |_, _, _| {})
            .map(drop)
    };
    for bad in [0, 4, 5, 11] {
        let mut inputs_bad = inputs.clone();
        inputs_bad[3 * bad + 2] = f64::INFINITY;
        refused(|b| run(b, &inputs_bad, &y), |e| matches!(e, Error::Row { row, .. } if *row == bad));
        let mut y_bad = y.clone();
        y_bad[bad] = 3.0;
        refused(|b| run(b, &inputs, &y_bad), |e| matches!(e, Error::Row { row, .. } if *row == bad));
        // A row that only its projection gives away, after earlier blocks have been absorbed.
        let mut inputs_huge = inputs.clone();
        inputs_huge[3 * bad] = 1e200;
        refused(
            |b| run(b, &inputs_huge, &y),
            |e| matches!(e, Error::Row { row, source } if *row == bad && matches!(**source, Error::Overflow { .. })),
        );
    }
}

#[test]
fn impossible_beliefs_are_refused() {
    let new = |mean: &[f64], p: MatRef<'_, f64>| SquareRootGaussian::new(mean, p).unwrap_err();
    let good = mat![[2.0, 0.5], [0.5, 1.0]];
    let indefinite = mat![[1.0, 2.0], [2.0, 1.0]];
    assert!(matches!(new(&[], Mat::zeros(0, 0).as_ref()), Error::Empty { argument: "mean" }));
    assert!(matches!(new(&[0.0, f64::NAN], good.as_ref()), Error::NonFinite { argument: "mean", index: 1, .. }));
    assert!(matches!(new(&[0.0], good.as_ref()), Error::Dimension { argument: "covariance", .. }));
    assert!(matches!(
        new(&[0.0; 2], indefinite.as_ref()),
        Error::NotPositiveDefinite { argument: "covariance", pivot: 1 }
    ));
    assert!(matches!(
        SquareRootGaussian::from_precision(&[0.0; 2], indefinite.as_ref()),
        Err(Error::NotPositiveDefinite { argument: "precision", pivot: 1 })
    ));
    assert!(matches!(new(&[0.0; 2], mat![[2.0, 0.4], [0.5, 1.0]].as_ref()), Error::NotSymmetric { .. }));
    for sigma0 in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-200, 1e200] {
        assert!(matches!(SquareRootGaussian::isotropic(&[0.0], sigma0), Err(Error::Setting { .. })), "{sigma0}");
    }
    assert!(matches!(SquareRootGaussian::isotropic(&[], 1.0), Err(Error::Empty { .. })));
    let mut belief = SquareRootGaussian::isotropic(&[0.0], 1.0).unwrap();
    let mut step = DenseStep::default();
    assert_eq!(belief.project((&[0.0]).into(), 1.0, &mut step).unwrap().variance, 0.0);
    belief.absorb((&[0.0]).into(), Site { slope: 1.0, curvature: 1.0 }, &mut step).unwrap();
    assert_eq!((belief.mean()[0], belief.root()[(0, 0)]), (0.0, 1.0));
}
