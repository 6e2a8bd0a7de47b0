//! One data set under several priors: R-VGA's section 6.3.

use super::Shape;
use crate::json::Node;
use crate::problem::Problem;
use crate::report::Report;
use crate::{CaseError, logistic};

pub(super) const SHAPE: Shape = Shape { about: "logistic regressions under several priors", recognise, check };

/// Cases that start from factors of a precision belong to another shape.
fn recognise(root: &Node<'_>) -> bool {
    let cases = root.find("cases").and_then(|cases| cases.items().ok()).unwrap_or_default();
    let filters = cases.iter().any(|case| case.find("algorithms").is_some() || case.find("sigma0").is_some());
    let scales = root.find("parameters").and_then(|parameters| parameters.find("sigma0"));
    let without_cases = root.find("x").is_some() && scales.is_some_and(|scales| scales.is_array());
    (filters || without_cases) && cases.iter().all(|case| case.find("W0").is_none())
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    for (i, case) in root.get("cases")?.items()?.iter().enumerate() {
        let sigma0 = case.find("sigma0").and_then(|sigma0| sigma0.number().ok());
        let name = sigma0.map_or(format!("case{i}"), |sigma0| format!("case{i}_sigma0_{sigma0}"));
        report.part(&name, |report| {
            let problem = Problem::read(root, case)?;
            let log_normaliser = case.find("log_normaliser").map(|value| value.number()).transpose()?;
            let algorithms = case.get("algorithms")?;
            let exact = algorithms.find("rvga_implicit_exact_roots");
            let gap = logistic::stated_gap(exact.as_ref(), "reldiff_to_authors_mean", "reldiff_to_authors_cov")?;
            logistic::check_all(&problem, &algorithms.members()?, log_normaliser, gap, report)
        });
    }
    Ok(())
}
