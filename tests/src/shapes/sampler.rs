//! The ensemble sampler with given normal variates, Woodbury's identities, and expectations of the logistic function (L-RVGA
//! Proposition 1, (38)-(40), (50)-(52)).

use vi_core::expectation::{BETA, LogisticExpectation};
use vi_core::{Exact, ProbitApproximation};
use vi_linalg::faer::{Mat, Par};
use vi_linalg::kernels::dot;
use vi_linalg::low_rank::Factored;
use vi_linalg::{LowRank, SymmetricOperator};

use super::Shape;
use crate::json::Node;
use crate::report::Report;
use crate::{CaseError, compare, tolerance};

pub(super) const SHAPE: Shape = Shape { about: "the ensemble sampler and Woodbury's identities", recognise, check };

fn recognise(root: &Node<'_>) -> bool {
    let factor = root.find("W").is_some() && root.find("Psi").is_some();
    let expected = ["expected_samples", "expected_covariance", "precision_logdet", "P_x"];
    root.find("z_standard_normal").is_some() || (factor && root.find_any(&expected).is_some())
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let psi = root.get("Psi")?.vector()?;
    let w = root.get("W")?.matrix()?;
    root.check_len(psi.len(), w.nrows())?;
    let matrix = LowRank::new(w.as_ref(), &psi)?;
    let s = matrix.factor(Par::Seq)?;
    if let Some(stored) = root.find("expected_samples") {
        check_samples(root, &s, &stored, report)?;
    }
    if let Some(stored) = root.find("expected_covariance") {
        check_covariance(&s, &stored, report)?;
    }
    report.number(root, "precision_logdet", s.log_det(), psi.len() as f64, tolerance::WOODBURY)?;
    if let Some(x) = root.find("x") {
        check_projection(root, &s, &x.vector_of(psi.len())?, report)?;
    }
    check_expectations(root, report)
}

/// Row by row `μ + x₊`, from the stored `z` and `ε`.
fn check_samples(root: &Node<'_>, s: &Factored<'_>, stored: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let (d, p) = (s.matrix().dim(), s.matrix().rank());
    let mean = match root.find("mu") {
        Some(mean) => mean.vector_of(d)?,
        None => vec![0.0; d],
    };
    let z = root.get("z_standard_normal")?.matrix()?;
    let epsilon = root.get("eps_standard_normal")?.matrix_of(z.nrows(), p)?;
    let draws = s.ensemble_transform(z.transpose(), epsilon.transpose(), Par::Seq)?;
    let stored = stored.matrix_of(z.nrows(), d)?;
    let errors = (0..z.nrows()).map(|k| {
        let found: Vec<f64> = (0..d).map(|i| mean[i] + draws[(i, k)]).collect();
        let expected: Vec<f64> = stored.row(k).iter().copied().collect();
        (format!("sample {k}"), compare::vectors(&found, &expected, 0.0))
    });
    report.compare_worst("expected_samples", errors, tolerance::WOODBURY);
    Ok(())
}

/// `(Ψ + WWᵀ)⁻¹` by Woodbury, whole and its diagonal.
fn check_covariance(s: &Factored<'_>, stored: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let d = s.matrix().dim();
    let stored = stored.matrix_of(d, d)?;
    let found = s.solve(Mat::identity(d, d).as_ref(), Par::Seq)?;
    report.compare("expected_covariance", compare::matrices(found.as_ref(), stored.as_ref()), tolerance::WOODBURY);
    let diagonal: Vec<f64> = (0..d).map(|i| stored[(i, i)]).collect();
    let error = compare::vectors(&s.diagonal_of_inverse(Par::Seq)?, &diagonal, 0.0);
    report.compare("expected_covariance_diagonal", error, tolerance::WOODBURY);
    Ok(())
}

/// `Px`, `α = xᵀμ`, `ν = xᵀPx`.
fn check_projection(root: &Node<'_>, s: &Factored<'_>, x: &[f64], report: &mut Report) -> Result<(), CaseError> {
    let d = x.len();
    let mut px = vec![0.0; d];
    s.solve_vec(&mut px, x, Par::Seq)?;
    report.vector(root, "P_x", &px, 0.0, tolerance::WOODBURY)?;
    if let Some(stored) = root.find("nu") {
        let stored = stored.number()?;
        for (name, found) in [("nu", dot(x, &px)), ("nu_as_square", s.inverse().quadratic_form(x, Par::Seq))] {
            report.compare(name, compare::relative(found, stored), tolerance::WOODBURY);
        }
    }
    if let (Some(stored), Some(mean)) = (root.find("alpha"), root.find("mu")) {
        let mean = mean.vector_of(d)?;
        let terms: f64 = mean.iter().zip(x).map(|(m, x)| (m * x).abs()).sum();
        report.compare("alpha", compare::scaled(dot(&mean, x), stored.number()?, terms), tolerance::WOODBURY);
    }
    Ok(())
}

/// `E s(t)` and `E s′(t)` under `N(α, ν)`, by the probit formula and exactly.
fn check_expectations(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let (Some(alpha), Some(nu)) = (root.find("alpha"), root.find("nu")) else {
        return Ok(());
    };
    let (alpha, nu) = (alpha.number()?, nu.number()?);
    let (probit, exact) = (ProbitApproximation.sigmoid(alpha, nu), Exact.sigmoid(alpha, nu));
    let found = [
        ("probit_k", BETA / (nu + BETA * BETA).sqrt(), tolerance::PROBIT),
        ("probit_E_sigma", probit.0, tolerance::PROBIT),
        ("probit_E_sigma_prime", probit.1, tolerance::PROBIT),
        ("exact_E_sigma", exact.0, tolerance::STORED_QUADRATURE),
        ("exact_E_sigma_prime", exact.1, tolerance::STORED_QUADRATURE),
    ];
    found.into_iter().try_for_each(|(key, found, tolerance)| report.number(root, key, found, 0.0, tolerance))
}
