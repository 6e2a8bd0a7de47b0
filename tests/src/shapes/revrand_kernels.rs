//! Exact kernel matrices, and the random features that must approach them (revrand §1.4).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_linalg::faer::{Mat, Par};
use vi_revrand::Kernel;
use vi_revrand::basis::{Basis, Composed, FastFood, RandomFourier};

use super::Shape;
use super::revrand_basis::length_scale;
use crate::json::Node;
use crate::report::Report;
use crate::{CaseError, compare, tolerance};

pub(super) const SHAPE: Shape = Shape { about: "kernels that random features approach", recognise, check };

/// Pairs of features; a power of two, so that FastFood has as many.
const PAIRS: usize = 1 << 15;

fn recognise(root: &Node<'_>) -> bool {
    root.find("kernels").is_some_and(|kernels| kernels.find("X").is_some())
}

fn kernel(name: &str) -> Option<Kernel> {
    match name {
        "rbf" => Some(Kernel::Rbf),
        "laplace_as_sampled_product_L1" => Some(Kernel::LaplaceProduct),
        "laplace_as_documented_L2" | "laplace" => Some(Kernel::Laplace),
        "cauchy" => Some(Kernel::Cauchy),
        "matern32" => Some(Kernel::Matern32),
        "matern52" => Some(Kernel::Matern52),
        _ => None,
    }
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let kernels = root.get("kernels")?;
    let x = kernels.get("X")?.matrix()?;
    let scales = kernels.get("lenscale")?;
    let scales = if scales.is_array() { scales.vector()? } else { vec![scales.number()?] };
    for (name, stored) in kernels.members()? {
        if name == "X" || name == "lenscale" {
            continue;
        }
        match kernel(name) {
            Some(kernel) => report.part(name, |report| check_kernel(kernel, &stored, &x, &scales, report)),
            None => report.skip(name, "a kernel that is not known"),
        }
    }
    Ok(())
}

fn check_kernel(
    kernel: Kernel,
    stored: &Node<'_>,
    x: &Mat<f64>,
    scales: &[f64],
    report: &mut Report,
) -> Result<(), CaseError> {
    let (n, d) = x.shape();
    let stored = stored.matrix_of(n, n)?;
    let row = |i: usize| x.row(i).iter().copied().collect::<Vec<f64>>();
    let mut exact = Mat::zeros(n, n);
    for i in 0..n {
        for j in 0..n {
            exact[(i, j)] = kernel.value(&row(i), &row(j), scales)?;
        }
    }
    report.compare("exact", compare::matrices(exact.as_ref(), stored.as_ref()), tolerance::FEATURES);

    let rng = &mut ChaCha8Rng::seed_from_u64(20);
    let start = || length_scale(scales);
    let mut bases: Vec<(&str, Composed)> =
        vec![("independent", RandomFourier::new(kernel, d, PAIRS, start(), rng)?.into())];
    if kernel != Kernel::LaplaceProduct {
        bases.push(("orthogonal", RandomFourier::orthogonal(kernel, d, PAIRS, start(), rng)?.into()));
        bases.push(("fastfood", FastFood::new(kernel, d, PAIRS, start(), rng)?.into()));
    }
    for (name, basis) in bases {
        let features = basis.features(&basis.start(), x.as_ref(), Par::Seq)?;
        let error = (&features * features.transpose() - &stored).norm_max();
        report.compare(name, error, tolerance::kernel_by_draws(basis.width() / 2));
    }
    Ok(())
}
