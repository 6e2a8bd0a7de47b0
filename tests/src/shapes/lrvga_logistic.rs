//! Limited-memory logistic regression: several schemes from stored factors (L-RVGA §5.3, (53)-(54), Algorithm 1).

use vi_core::DenseGaussian;
use vi_linalg::faer::Par;

use super::Shape;
use crate::json::Node;
use crate::low_rank::{Algorithm, Start, Stored};
use crate::problem::Problem;
use crate::report::Report;
use crate::{CaseError, logistic, tolerance};

pub(super) const SHAPE: Shape = Shape { about: "limited-memory logistic regression", recognise, check };

fn recognise(root: &Node<'_>) -> bool {
    let cases = root.find("cases").and_then(|cases| cases.items().ok()).unwrap_or_default();
    let starts = cases.iter().any(|case| case.find("W0").is_some() || case.find("Psi0").is_some());
    starts && cases.iter().any(|case| case.find("algorithms").is_some())
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let problem = Problem::read(root, root)?;
    if let Some(laplace) = root.find("laplace_exact") {
        report.part("", |report| logistic::check_all(&problem, &[("laplace_exact", laplace)], None, 0.0, report));
    }
    for (i, case) in root.get("cases")?.items()?.iter().enumerate() {
        let rank = case.find("p").and_then(|p| p.count().ok());
        let name = rank.map_or(format!("case{i}"), |p| format!("case{i}_p{p}"));
        report.part(&name, |report| check_case(root, case, &problem, report));
    }
    Ok(())
}

fn check_case(root: &Node<'_>, case: &Node<'_>, problem: &Problem, report: &mut Report) -> Result<(), CaseError> {
    let start = Start::read(root, case, vi_core::Belief::mean(&problem.prior), 1)?;
    let posterior = problem.logistic_posterior()?;
    let kl = |belief: &DenseGaussian| Ok(posterior.kl(belief, Par::Seq)?);
    let algorithms = case.get("algorithms")?;
    let gap = match algorithms.find("lrvga_implicit_exact_roots").and_then(|exact| exact.find("reldiff_to_authors")) {
        Some(gaps) => logistic::stated_gap(Some(&gaps), "mean", "precision")?,
        None => 0.0,
    };
    for (name, node) in algorithms.members()? {
        let Some(algorithm) = Algorithm::named(name) else {
            report.skip(name, "unknown algorithm");
            continue;
        };
        report.part(name, |report| {
            let stored = Stored::read(&node, problem.len())?;
            let beliefs = algorithm.run(&start, problem, &stored.times)?;
            let tolerance = match algorithm {
                Algorithm::Implicit => tolerance::published_implicit(gap).belief,
                _ => tolerance::RECURSION,
            };
            stored.check(&beliefs, "kl_unnormalised", &kl, tolerance, report)
        });
    }
    Ok(())
}
