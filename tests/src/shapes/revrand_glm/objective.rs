//! The objective (22) with the second-order Taylor series, and its gradient.

use vi_revrand::glm::{Expectation, Featured, Gradient, Mixture, Prior, Terms, objective};
use vi_revrand::likelihood::GlmLikelihood;

use super::family::{Visit, dispatch, each_case};
use crate::json::Node;
use crate::report::Report;
use crate::shapes::Shape;
use crate::{CaseError, compare, tolerance};

pub(in crate::shapes) const SHAPE: Shape = Shape { about: "second-order objective of a GLM", recognise, check };

fn recognise(root: &Node<'_>) -> bool {
    let cases = root.find("cases").and_then(|cases| cases.items().ok()).unwrap_or_default();
    cases.iter().any(|case| {
        let has = |key| case.find("inputs").is_some_and(|inputs| inputs.find(key).is_some());
        let given = has("Phi") && !has("y_query") && !has("rff_weights_W");
        case.find("likelihood").is_some() && given && (has("regularisers") || has("regulariser_slices"))
    })
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    each_case(root, report, |name, case, report| {
        let inputs = case.get("inputs")?;
        let variance = inputs.find("likelihood_param").map(|value| value.number()).transpose()?;
        let Some((terms, gradient)) = dispatch(name, variance, Case { case, inputs })? else { return Ok(false) };
        compare_with(&case.get("expected")?, &terms, &gradient, report).map(|()| true)
    })
}

/// What the mixture and the labels are, in every file about objectives.
pub(super) struct Inputs {
    pub(super) posterior: Mixture,
    pub(super) y: Vec<f64>,
    pub(super) trials: Option<Vec<f64>>,
    pub(super) magnification: f64,
}

impl Inputs {
    pub(super) fn read(case: &Node<'_>, inputs: &Node<'_>) -> Result<Self, CaseError> {
        let y = inputs.get("y")?.vector()?;
        let means = inputs.get("m")?.matrix()?;
        let variances = inputs.get("C")?.matrix_of(means.nrows(), means.ncols())?;
        let trials = inputs.find_any(&["n_trials", "trials"]).map(|trials| trials.vector_of(y.len())).transpose()?;
        let magnification = case.find("batch_magnification").map(|value| value.number()).transpose()?.unwrap_or(1.0);
        let posterior = Mixture::new(means.as_ref(), variances.as_ref())?;
        Ok(Self { posterior, y, trials, magnification })
    }
}

struct Case<'a> {
    case: &'a Node<'a>,
    inputs: Node<'a>,
}

impl Visit for Case<'_> {
    type Output = (Terms, Gradient);

    fn visit<L: GlmLikelihood>(self, likelihood: &L) -> Result<Self::Output, CaseError> {
        let Inputs { posterior, y, trials, magnification } = Inputs::read(self.case, &self.inputs)?;
        let phi = self.inputs.get("Phi")?.matrix_of(y.len(), posterior.dimension())?;
        let variances = self.inputs.get("regularisers")?.vector()?;
        let ranges = self.inputs.get("regulariser_slices")?.items()?;
        let range = |node: &Node<'_>| {
            let ends = node.items()?;
            node.check_len(2, ends.len())?;
            Ok(ends[0].count()?..ends[1].count()?)
        };
        let parts = ranges.iter().map(range).collect::<Result<Vec<_>, CaseError>>()?;
        let trials = trials.as_deref().filter(|_| likelihood.counts_trials());
        let batch = Featured { features: phi.as_ref(), y: &y, trials, magnification };
        let prior = Prior { variances: &variances, parts: &parts };
        Ok(objective(&posterior, prior, likelihood, batch, Expectation::SecondOrder, &[])?)
    }
}

fn compare_with(expected: &Node<'_>, terms: &Terms, gradient: &Gradient, report: &mut Report) -> Result<(), CaseError> {
    let number = |key: &str| expected.find(key).map(|value| value.number()).transpose();
    let log_k = number("logK")?.unwrap_or_else(|| (gradient.means.ncols() as f64).ln());
    // The files' trace term holds the prior's share, which is exact and stands with the prior here.
    let parts = [number("expected_loglike_term")?, number("prior_term")?, number("trace_term")?];
    if let [Some(likelihood), Some(prior), Some(trace)] = parts {
        let size = likelihood.abs().max(prior.abs()).max(trace.abs());
        let error = compare::scaled(terms.likelihood + terms.prior, likelihood + prior + trace, size);
        report.compare("likelihood_prior_trace", error, tolerance::OBJECTIVE);
    }
    if let Some(entropy) = number("entropy_term_without_logK")? {
        let stored = entropy + log_k;
        report.compare("entropy", compare::scaled(terms.entropy, stored, stored.abs().max(1.0)), tolerance::OBJECTIVE);
    }
    let printed = number("objective_with_minus_logK_as_printed")?.map(|printed| printed + 2.0 * log_k);
    for (name, stored) in [("objective", number("objective_correct")?), ("objective_printed_plus_2logK", printed)] {
        if let Some(stored) = stored {
            let error = compare::scaled(terms.value(), stored, stored.abs().max(1.0));
            report.compare(name, error, tolerance::OBJECTIVE);
        }
    }
    matrix_gradients(expected, gradient, report)?;
    if let Some(stored) = expected.find("grad_likelihood_param") {
        let stored = if stored.is_array() { stored.vector()? } else { vec![stored.number()?] };
        report.compare(
            "grad_likelihood_param",
            compare::vectors(&gradient.likelihood, &stored, 0.0),
            tolerance::OBJECTIVE_GRADIENT,
        );
    }
    report.matrix(expected, "grad_Phi", gradient.features.as_ref(), tolerance::OBJECTIVE_GRADIENT)
}

/// The gradients in means, variances and prior variances.
pub(super) fn matrix_gradients(expected: &Node<'_>, gradient: &Gradient, report: &mut Report) -> Result<(), CaseError> {
    report.matrix(expected, "grad_m", gradient.means.as_ref(), tolerance::OBJECTIVE_GRADIENT)?;
    report.matrix(expected, "grad_C", gradient.variances.as_ref(), tolerance::OBJECTIVE_GRADIENT)?;
    report.vector(expected, "grad_regulariser", &gradient.regularisers, 0.0, tolerance::OBJECTIVE_GRADIENT)
}
