use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vi_core::Error;
use vi_linalg::faer::mat;

use super::*;

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn uniform(rows: usize, columns: usize, rng: &mut ChaCha8Rng) -> Mat<f64> {
    Mat::from_fn(rows, columns, |_, _| rng.random_range(-2.0..2.0))
}

/// Every basis with parameters for three inputs, with shared and with unequal length scales.
fn bases() -> Vec<Composed> {
    let rng = &mut rng(3);
    let centres = uniform(4, 3, rng);
    let mut bases: Vec<Composed> = Vec::new();
    for scales in [LengthScale::Shared(1.7), LengthScale::PerInput(vec![1.41, 0.694, 0.842])] {
        let scales = || scales.clone();
        bases.push(Radial::new(centres.as_ref(), scales()).unwrap().into());
        bases.push(Sigmoidal::new(centres.as_ref(), scales()).unwrap().into());
        for kernel in Kernel::ALL {
            bases.push(RandomFourier::new(kernel, 3, 5, scales(), rng).unwrap().into());
        }
        bases.push(RandomFourier::orthogonal(Kernel::Matern52, 3, 5, scales(), rng).unwrap().into());
        bases.push(FastFood::new(Kernel::Rbf, 3, 7, scales(), rng).unwrap().into());
        bases.push(FastFoodMixture::new(&[1.1, -0.3, -0.7], scales(), 7, rng).unwrap().into());
    }
    // All of it on chosen columns, out of order, beside parts without parameters.
    let parts: Vec<Part> = bases.iter().map(|basis| basis.parts()[0].clone().on_columns(&[4, 0, 2]).unwrap()).collect();
    let all = Composed::new(parts).unwrap() + Linear::with_intercept(5).unwrap() + Bias::new(2.0).unwrap();
    bases.push(Polynomial::with_intercept(5, 2).unwrap() + all);
    bases
}

#[test]
fn parameter_gradients_agree_with_finite_differences() {
    for basis in bases() {
        let x = uniform(6, basis.inputs().unwrap(), &mut rng(11));
        let theta = basis.start();
        let gradients = basis.parameter_gradients(&theta, x.as_ref()).unwrap();
        assert_eq!(gradients.len(), theta.len());
        for (p, gradient) in gradients.iter().enumerate() {
            let at = |step: f64| {
                let mut moved = theta.clone();
                moved[p] += step;
                basis.features(&moved, x.as_ref(), Par::Seq).unwrap()
            };
            // The error of fourth order differences is h⁴f⁗/30 + ε/h: 1e-11 at this h, f⁗ growing with the frequencies.
            let h = 1e-3 * theta[p].abs() / (1.0 + frequency(&basis));
            let difference = (at(-2.0 * h) - at(2.0 * h) + 8.0 * (at(h) - at(-h))) * (1.0 / (12.0 * h));
            let error = (gradient - &difference).norm_max();
            let scale = gradient.norm_max();
            assert!(scale > 1e-3, "parameter {p} of {basis:?} does nothing");
            assert!(error <= 1e-6 * scale, "parameter {p}: {error:e} of {scale:e} in {basis:?}");
        }
    }
}

/// The largest frequency among the features.
fn frequency(basis: &Composed) -> f64 {
    let of = |part: &Part| match part.basis() {
        AnyBasis::RandomFourier(basis) => basis.frequencies().norm_max(),
        AnyBasis::FastFood(basis) => basis.draws().frequencies(3).norm_max(),
        AnyBasis::FastFoodMixture(basis) => 1.1 + basis.draws().frequencies(3).norm_max(),
        _ => 0.0,
    };
    basis.parts().iter().map(of).fold(0.0, f64::max)
}

#[test]
fn contraction_is_the_sum_over_the_gradients() {
    // 40 rows: more than a tile of FastFood and a rest.
    for basis in bases() {
        let rng = &mut rng(5);
        let x = uniform(40, basis.inputs().unwrap(), rng);
        let theta = basis.start();
        let features = basis.features(&theta, x.as_ref(), Par::Seq).unwrap();
        let weights = uniform(40, basis.width(), rng);
        let mut out = vec![f64::NAN; theta.len()];
        basis.contract(&theta, x.as_ref(), features.as_ref(), weights.as_ref(), &mut out, Par::Seq);
        for (gradient, found) in basis.parameter_gradients(&theta, x.as_ref()).unwrap().iter().zip(out) {
            let terms = (0..40).flat_map(|n| (0..basis.width()).map(move |j| (n, j)));
            let (sum, absolute) = terms.fold((0.0, 0.0), |(sum, absolute), at| {
                let term: f64 = weights[at] * gradient[at];
                (sum + term, absolute + term.abs())
            });
            // Two sums of 40·D terms in different orders.
            let tolerance = 40.0 * basis.width() as f64 * f64::EPSILON * absolute;
            assert!((found - sum).abs() <= tolerance, "{found} is not {sum} in {basis:?}");
        }
    }
}

/// `φ(x)ᵀφ(x′)` of all pairs of rows.
fn gram(basis: &impl Basis, x: &Mat<f64>) -> Mat<f64> {
    let features = basis.features(&basis.start(), x.as_ref(), Par::Seq).unwrap();
    &features * features.transpose()
}

fn exact(kernel: Kernel, x: &Mat<f64>, scales: &[f64]) -> Mat<f64> {
    let row = |i: usize| x.row(i).iter().copied().collect::<Vec<_>>();
    Mat::from_fn(x.nrows(), x.nrows(), |i, j| kernel.value(&row(i), &row(j), scales).unwrap())
}

#[test]
fn features_approach_their_kernels_at_the_rate_of_draws() {
    let scales = [1.3, 0.8, 2.0];
    let start = || LengthScale::PerInput(scales.to_vec());
    let rng = &mut rng(17);
    let x = uniform(7, 3, rng);
    for pairs in [100, 20_000] {
        // Each pair gives a number between −1 and 1, and 21 pairs of rows are looked at.
        let tolerance = 5.0 / (pairs as f64).sqrt();
        for kernel in Kernel::ALL {
            let exact = exact(kernel, &x, &scales);
            let error = |basis: Composed| (gram(&basis, &x) - &exact).norm_max();
            let independent = RandomFourier::new(kernel, 3, pairs, start(), rng).unwrap();
            assert!(error(independent.into()) < tolerance, "{kernel:?}");
            if kernel != Kernel::LaplaceProduct {
                let orthogonal = RandomFourier::orthogonal(kernel, 3, pairs, start(), rng).unwrap();
                assert!(error(orthogonal.into()) < tolerance, "orthogonal {kernel:?}");
                let fast = FastFood::new(kernel, 3, pairs, start(), rng).unwrap();
                assert!(error(fast.into()) < tolerance, "FastFood {kernel:?}");
            }
        }
        let means = [0.7, -1.0, 0.2];
        let mixture = FastFoodMixture::new(&means, start(), pairs, rng).unwrap();
        let shifted = Mat::from_fn(7, 7, |i, j| {
            let a: f64 = (0..3).map(|k| means[k] * (x[(i, k)] - x[(j, k)])).sum();
            a.cos() * exact(Kernel::Rbf, &x, &scales)[(i, j)]
        });
        assert!((gram(&mixture, &x) - shifted).norm_max() < tolerance);
    }
}

/// The mean of many small draws is the kernel to within its standard error, with either sign: four pairs at a time, so that what
/// depends on the block, an orthogonal one or FastFood's, cannot hide in the limit.
#[test]
fn small_draws_are_unbiased() {
    let scales = [1.3, 0.8, 2.0];
    let start = || LengthScale::PerInput(scales.to_vec());
    let rng = &mut rng(23);
    let x = uniform(4, 3, rng);
    let draws = 3000;
    let mut check = |name: &str, exact: &Mat<f64>, draw: &mut dyn FnMut(&mut ChaCha8Rng) -> Composed| {
        let (mut sums, mut squares) = (Mat::<f64>::zeros(4, 4), Mat::<f64>::zeros(4, 4));
        for _ in 0..draws {
            let error = gram(&draw(rng), &x) - exact;
            squares += Mat::from_fn(4, 4, |i, j| error[(i, j)] * error[(i, j)]);
            sums += error;
        }
        for (i, j) in (0..4).flat_map(|i| (0..i).map(move |j| (i, j))) {
            let n = f64::from(draws);
            let (mean, square) = (sums[(i, j)] / n, squares[(i, j)] / n);
            // Some hundred comparisons: 5 standard errors are one in ten thousand.
            assert!(mean.abs() < 5.0 * ((square - mean * mean) / n).sqrt(), "{name} ({i}, {j}): {mean}");
        }
    };
    for kernel in Kernel::ALL {
        let target = exact(kernel, &x, &scales);
        check(&format!("{kernel:?}"), &target, &mut |rng| {
            RandomFourier::new(kernel, 3, 4, start(), rng).unwrap().into()
        });
        if kernel != Kernel::LaplaceProduct {
            let name = |kind: &str| format!("{kind} {kernel:?}");
            check(&name("orthogonal"), &target, &mut |rng| {
                RandomFourier::orthogonal(kernel, 3, 4, start(), rng).unwrap().into()
            });
            check(&name("FastFood"), &target, &mut |rng| FastFood::new(kernel, 3, 4, start(), rng).unwrap().into());
        }
    }
    let means = [0.7, -1.0, 0.2];
    let shifted = Mat::from_fn(4, 4, |i, j| {
        let a: f64 = (0..3).map(|k| means[k] * (x[(i, k)] - x[(j, k)])).sum();
        a.cos() * exact(Kernel::Rbf, &x, &scales)[(i, j)]
    });
    check("mixture", &shifted, &mut |rng| FastFoodMixture::new(&means, start(), 4, rng).unwrap().into());
}

#[test]
fn laplace_is_the_kernel_of_the_euclidean_distance() {
    let (x, y) = ([0.3, -1.0], [1.3, 1.0]);
    let close = |found: f64, wanted: f64| (found - wanted).abs() < 4.0 * f64::EPSILON;
    assert!(close(Kernel::Laplace.value(&x, &y, &[2.0]).unwrap(), (-5.0_f64.sqrt() / 2.0).exp()));
    assert!(close(Kernel::LaplaceProduct.value(&x, &y, &[2.0]).unwrap(), (-1.5_f64).exp()));
}

#[test]
fn orthogonal_directions_are_orthogonal_and_help() {
    let rng = &mut rng(23);
    let d = 5;
    let basis = RandomFourier::orthogonal(Kernel::Rbf, d, 7, LengthScale::Shared(1.0), rng).unwrap();
    let gram_of_directions = basis.frequencies().transpose() * basis.frequencies();
    for i in 0..7 {
        for j in 0..i {
            let cosine = gram_of_directions[(i, j)] / (gram_of_directions[(i, i)] * gram_of_directions[(j, j)]).sqrt();
            assert_eq!(cosine.abs() < 1e-14, i / d == j / d, "columns {i} and {j}: {cosine}");
        }
    }
    // Mean squared error over draws of one block: what orthogonality is for.
    let x = uniform(6, d, rng) * 0.3;
    let exact = exact(Kernel::Rbf, &x, &[1.0]);
    let mut squared = [0.0; 2];
    for _ in 0..200 {
        let start = LengthScale::Shared(1.0);
        let error = |basis: &RandomFourier| (gram(basis, &x) - &exact).squared_norm_l2();
        squared[0] += error(&RandomFourier::new(Kernel::Rbf, d, d, start.clone(), rng).unwrap());
        squared[1] += error(&RandomFourier::orthogonal(Kernel::Rbf, d, d, start, rng).unwrap());
    }
    assert!(squared[1] < 0.6 * squared[0], "{squared:?}");
}

#[test]
fn fast_food_is_the_product_that_its_docs_say() {
    let d = 3;
    let draws = FastFoodDraws::new(Kernel::Rbf, d, 8, &mut rng(2)).unwrap();
    let wire = serde_json::to_value(&draws).unwrap();
    let list = |key: &str| -> Vec<f64> { wire[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect() };
    let (b, g, pi, s) = (list("signs"), list("normals"), list("permutation"), list("lengths"));
    let v = draws.frequencies(d);
    for block in 0..2 {
        for i in 0..d {
            let at = |c: usize| block * 4 + c;
            let mut y = vec![0.0; 4];
            y[i] = b[at(i)];
            walsh_hadamard(&mut y).unwrap();
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "stored places are small counts"
            )]
            let mut z: Vec<f64> = (0..4).map(|c| g[at(c)] * y[pi[at(c)] as usize] / 4.0).collect();
            walsh_hadamard(&mut z).unwrap();
            for c in 0..4 {
                let wanted = 2.0 * s[at(c)] * z[c] / 4.0;
                assert!((v[(i, at(c))] - wanted).abs() <= 16.0 * f64::EPSILON * wanted.abs().max(1.0));
            }
        }
    }
}

#[test]
fn rows_do_not_depend_on_their_neighbours() {
    for basis in bases() {
        let x = uniform(37, basis.inputs().unwrap(), &mut rng(29));
        let all = basis.features(&basis.start(), x.as_ref(), Par::Seq).unwrap();
        for row in [0, 15, 16, 36] {
            let one = basis.features(&basis.start(), x.as_ref().subrows(row, 1), Par::Seq).unwrap();
            // The angle's product may be summed in another order: frequencies up to 1e3 times inputs up to 2.
            let tolerance = 8.0 * f64::EPSILON * (1.0 + 8.0 * frequency(&basis));
            assert!((one - all.as_ref().subrows(row, 1)).norm_max() <= tolerance, "row {row} of {basis:?}");
        }
    }
}

#[test]
fn composition_keeps_order_columns_and_variances() {
    let x = mat![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let left = Bias::new(7.0).unwrap() + Linear::new(2).unwrap().on_columns(&[2, 0]).unwrap();
    let right = Polynomial::new(1, 2).unwrap().on_columns(&[1]).unwrap().with_variance(0.5).unwrap();
    let basis = left.clone() + right;
    assert_eq!(basis.inputs(), None);
    let features = basis.features(&[], x.as_ref(), Par::Seq).unwrap();
    assert_eq!(features, mat![[7.0, 3.0, 1.0, 2.0, 4.0], [7.0, 6.0, 4.0, 5.0, 25.0]]);
    let ranges: Vec<_> = basis.regularisers().into_iter().map(|part| part.features).collect();
    assert_eq!(ranges, [0..1, 1..3, 3..5]);
    assert_eq!(prior_variances(&basis, &[1.0, 2.0, 3.0]).unwrap(), [1.0, 2.0, 2.0, 3.0, 3.0]);
    let nested = Bias::new(7.0).unwrap() + (left.clone() + left);
    assert_eq!(nested.parts().len(), 5);
}

#[test]
fn stored_bases_come_back_to_the_bit() {
    for basis in bases() {
        let text = serde_json::to_string(&basis).unwrap();
        assert_eq!(serde_json::from_str::<Composed>(&text).unwrap(), basis);
    }
    let basis = Linear::new(2).unwrap().on_columns(&[1, 0]).unwrap();
    let bound = Bound::positive_between(0.1, 10.0).unwrap();
    let basis = Composed::from(basis.with_variance(0.7).unwrap().with_variance_bound(bound).unwrap());
    let text = serde_json::to_string(&basis).unwrap();
    assert_eq!(serde_json::from_str::<Composed>(&text).unwrap(), basis);
    // Everything that a constructor refuses, a reader refuses.
    for (from, to) in [("0.7", "-0.7"), ("[1,0]", "[1]"), ("[1,0]", "[]"), ("\"lower\":0.1", "\"lower\":11.0")] {
        assert!(text.contains(from));
        assert!(serde_json::from_str::<Composed>(&text.replace(from, to)).is_err(), "{from} to {to}");
    }
}

#[test]
fn bad_constructions_are_named() {
    let rng = &mut rng(1);
    let core = |error: Error| RevrandError::Core(error);
    let shared = || LengthScale::Shared(1.0);
    assert_eq!(Linear::new(0).unwrap_err(), core(Error::Empty { argument: "inputs" }));
    assert_eq!(Polynomial::new(2, 0).unwrap_err(), core(Error::Empty { argument: "degree" }));
    assert!(Polynomial::new(usize::MAX, 2).is_err());
    assert!(Bias::new(f64::NAN).is_err());
    let error = RandomFourier::new(Kernel::Rbf, 2, 0, shared(), rng).unwrap_err();
    assert_eq!(error, core(Error::Empty { argument: "pairs" }));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = RandomFourier::new(Kernel::Rbf, 2, 3, LengthScale::PerInput(vec![1.0, bad]), rng).unwrap_err();
        assert!(matches!(error, RevrandError::Core(Error::Entry { argument: "length scales", index: 1, .. })));
        assert!(FastFood::new(Kernel::Rbf, 2, 3, LengthScale::Shared(bad), rng).is_err());
        assert!(Linear::new(1).unwrap().with_variance(bad).is_err());
    }
    let error = RandomFourier::new(Kernel::Rbf, 2, 3, LengthScale::PerInput(vec![1.0; 3]), rng).unwrap_err();
    assert_eq!(error, core(Error::Dimension { argument: "length scales", expected: 2, found: 3 }));
    assert!(matches!(
        RandomFourier::orthogonal(Kernel::LaplaceProduct, 2, 3, shared(), rng),
        Err(RevrandError::Kernel { features: "orthogonal", .. })
    ));
    assert!(FastFood::new(Kernel::LaplaceProduct, 2, 3, shared(), rng).is_err());
    assert!(matches!(
        RandomFourier::from_frequencies(Kernel::Rbf, mat![[1.0], [f64::INFINITY]], shared()),
        Err(RevrandError::Core(Error::Row { row: 1, .. }))
    ));
    assert!(Radial::new(Mat::zeros(0, 2).as_ref(), shared()).is_err());
    assert!(Sigmoidal::new(Mat::zeros(2, 0).as_ref(), shared()).is_err());
    assert!(FastFoodMixture::new(&[0.0, f64::NAN], shared(), 4, rng).is_err());
    assert!(FastFoodMixture::new(&[], shared(), 4, rng).is_err());
    assert!(Composed::new(Vec::new()).is_err());
    assert!(Linear::new(2).unwrap().on_columns(&[0]).is_err());
    assert!(Bias::new(1.0).unwrap().on_columns(&[]).is_err());
    let draws = |size, signs: &[f64], permutation: &[usize]| {
        let n = signs.len();
        FastFoodDraws::from_parts(size, signs.to_vec(), vec![1.0; n], permutation.to_vec(), vec![1.0; n])
    };
    assert!(draws(2, &[1.0, -1.0], &[1, 0]).is_ok());
    assert!(draws(3, &[1.0; 3], &[0, 1, 2]).is_err());
    assert!(draws(2, &[1.0, 0.5], &[0, 1]).is_err());
    assert!(draws(2, &[1.0, 1.0], &[1, 1]).is_err());
    assert!(draws(2, &[1.0, 1.0], &[0, 2]).is_err());
    assert!(draws(2, &[1.0; 3], &[0, 1, 0]).is_err());
    assert!(draws(2, &[], &[]).is_err());
    let two = draws(2, &[1.0, -1.0], &[1, 0]).unwrap();
    assert!(FastFood::from_draws(Kernel::Rbf, two, 3, shared()).is_err());
    let bound = Bound::positive_between(2.0, 3.0).unwrap();
    let waves = RandomFourier::new(Kernel::Rbf, 2, 3, shared(), rng).unwrap();
    assert!(matches!(waves.clone().with_length_scale_bound(bound), Err(RevrandError::OutOfBounds { .. })));
    assert!(matches!(waves.with_length_scale_bound(Bound::FREE), Err(RevrandError::Bounds { .. })));
}

#[test]
fn bad_arguments_are_named() {
    let basis = RandomFourier::new(Kernel::Rbf, 2, 3, LengthScale::Shared(1.0), &mut rng(1)).unwrap();
    let ok = mat![[1.0, 2.0]];
    let at = |theta: &[f64], x: &Mat<f64>| basis.features(theta, x.as_ref(), Par::Seq).unwrap_err();
    assert!(matches!(at(&[], &ok), RevrandError::Core(Error::Dimension { argument: "theta", .. })));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(at(&[bad], &ok), RevrandError::OutOfBounds { argument: "theta", index: 0, .. }));
    }
    assert_eq!(at(&[1.0], &Mat::zeros(0, 2)), Error::Empty { argument: "x" }.into());
    assert!(matches!(at(&[1.0], &Mat::zeros(1, 3)), RevrandError::Core(Error::Dimension { .. })));
    let error = at(&[1.0], &mat![[0.0, 0.0], [0.0, f64::NAN]]);
    assert!(matches!(error, RevrandError::Core(Error::Row { row: 1, .. })));
    // Finite input, infinite features.
    assert!(matches!(at(&[1e-300], &mat![[1e300, 0.0]]), RevrandError::Feature { row: 0, .. }));
    let cubes = Polynomial::new(1, 3).unwrap();
    let error = cubes.features(&[], mat![[1e200]].as_ref(), Par::Seq).unwrap_err();
    assert_eq!(error, RevrandError::Feature { row: 0, feature: 1, value: f64::INFINITY });
    let beyond = Bias::new(1.0).unwrap() + Linear::new(1).unwrap().on_columns(&[3]).unwrap();
    let error = beyond.features(&[], ok.as_ref(), Par::Seq).unwrap_err();
    assert_eq!(error, Error::Index { argument: "columns of x", index: 3, len: 2 }.into());
    let unequal = Linear::new(2).unwrap() + Linear::new(3).unwrap();
    assert!(unequal.features(&[], ok.as_ref(), Par::Seq).is_err());
    assert!(prior_variances(&beyond, &[1.0]).is_err());
    assert!(prior_variances(&beyond, &[1.0, 0.0]).is_err());
}

#[test]
fn bounds_map_the_line_onto_themselves() {
    let bounds = [
        Bound::FREE,
        Bound::POSITIVE,
        Bound::between(-1.0, 3.0).unwrap(),
        Bound::between(2.0, f64::INFINITY).unwrap(),
        Bound::between(f64::NEG_INFINITY, -2.0).unwrap(),
        Bound::positive_between(0.0, 5.0).unwrap(),
        Bound::positive_between(0.01, 5.0).unwrap(),
        Bound::positive_between(0.01, f64::INFINITY).unwrap(),
    ];
    for bound in bounds {
        for u in [-3.0, -0.5, 0.0, 0.2, 2.5] {
            let v = bound.bounded(u);
            assert!(bound.contains(v), "{bound:?} at {u}");
            // Log and logit lose what the distance to an end has lost.
            assert!((bound.freed(v) - u).abs() < 1e-12, "{bound:?} at {u}");
            let h = 1e-5;
            let slope = (bound.bounded(u + h) - bound.bounded(u - h)) / (2.0 * h);
            assert!((bound.slope(u) - slope).abs() < 1e-8 * (1.0 + slope.abs()), "{bound:?} at {u}");
        }
        assert_eq!(serde_json::from_str::<Bound>(&serde_json::to_string(&bound).unwrap()).unwrap(), bound);
    }
    for (lower, upper) in [(2.0, 1.0), (1.0, 1.0), (f64::NAN, 1.0), (0.0, f64::NAN)] {
        assert!(matches!(Bound::between(lower, upper), Err(RevrandError::Bounds { .. })));
    }
    assert!(Bound::positive_between(-1.0, 1.0).is_err());
}
