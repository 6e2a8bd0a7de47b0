//! Likelihoods by the names that the files give them.

use vi_revrand::likelihood::{Bernoulli, Binomial, Gaussian, GlmLikelihood, Poisson, Rate};

use crate::CaseError;
use crate::json::Node;
use crate::report::Report;

/// What is to be done with a likelihood, whichever it is.
pub(super) trait Visit {
    type Output;

    fn visit<L: GlmLikelihood>(self, likelihood: &L) -> Result<Self::Output, CaseError>;
}

/// Hands the likelihood named `name` to `visit`; `None` when there is none of that name.
pub(super) fn dispatch<V: Visit>(name: &str, variance: Option<f64>, visit: V) -> Result<Option<V::Output>, CaseError> {
    match name {
        "gaussian" => visit.visit(&Gaussian::new(variance.unwrap_or(1.0))?).map(Some),
        "bernoulli" => visit.visit(&Bernoulli).map(Some),
        "binomial" => visit.visit(&Binomial).map(Some),
        "poisson_exp" | "poisson" => visit.visit(&Poisson(Rate::Exponential)).map(Some),
        "poisson_softplus" => visit.visit(&Poisson(Rate::Softplus)).map(Some),
        _ => Ok(None),
    }
}

/// Runs `one` on each case of a file by the name of its likelihood; it says whether there is one of that name.
pub(super) fn each_case(
    root: &Node<'_>,
    report: &mut Report,
    one: impl Fn(&str, &Node<'_>, &mut Report) -> Result<bool, CaseError>,
) -> Result<(), CaseError> {
    for (i, case) in root.get("cases")?.items()?.iter().enumerate() {
        let family = case.get("likelihood")?;
        let name = family.text().unwrap_or_default();
        report.part(&format!("case{i}_{name}"), |report| {
            if !one(name, case, report)? {
                report.skip("", "unknown likelihood");
            }
            Ok(())
        });
    }
    Ok(())
}
