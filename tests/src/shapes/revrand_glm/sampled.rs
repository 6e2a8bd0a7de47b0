//! The objective with stored draws of the weights, through features whose length scales are learned.

use vi_linalg::faer::{Mat, Par};
use vi_revrand::basis::{Basis, Composed, Kernel, LengthScale, Linear, RandomFourier};
use vi_revrand::glm::{Expectation, Featured, Gradient, Kept, Prior, Terms, objective};
use vi_revrand::likelihood::GlmLikelihood;

use super::family::{Visit, dispatch, each_case};
use super::objective::{Inputs, matrix_gradients};
use crate::json::Node;
use crate::report::Report;
use crate::shapes::Shape;
use crate::{CaseError, compare, tolerance};

pub(in crate::shapes) const SHAPE: Shape = Shape { about: "objective of a GLM by stored draws", recognise, check };

const DRAWS: &str = "standard_normal_draws_per_component";

fn recognise(root: &Node<'_>) -> bool {
    let cases = root.find("cases").and_then(|cases| cases.items().ok()).unwrap_or_default();
    cases.iter().any(|case| {
        let has = |key| case.find("inputs").is_some_and(|inputs| inputs.find(key).is_some());
        has(DRAWS) || case.find("likelihood").is_some() && has("rff_weights_W")
    })
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    each_case(root, report, |name, case, report| {
        let inputs = case.get("inputs")?;
        let variance = inputs.find("likelihood_param").map(|value| value.number()).transpose()?;
        let Some(answer) = dispatch(name, variance, Case { case, inputs: &inputs })? else { return Ok(false) };
        answer.compare_with(&case.get("expected")?, report).map(|()| true)
    })
}

struct Case<'a> {
    case: &'a Node<'a>,
    inputs: &'a Node<'a>,
}

struct Answer {
    features: Mat<f64>,
    terms: Terms,
    gradient: Gradient,
    by_length_scale: Vec<f64>,
    magnification: f64,
}

/// `[1, X, cos(XW/l)/√m, sin(XW/l)/√m]`.
fn basis(inputs: &Node<'_>, d: usize) -> Result<(Composed, Vec<f64>), CaseError> {
    let frequencies = inputs.get("rff_weights_W")?.matrix()?;
    let stored = inputs.get("lenscale")?;
    let scales = if stored.is_array() { stored.vector()? } else { vec![stored.number()?] };
    let start = match scales.as_slice() {
        [one] => LengthScale::Shared(*one),
        _ => LengthScale::PerInput(scales.clone()),
    };
    let waves = RandomFourier::from_frequencies(Kernel::Rbf, frequencies, start)?;
    Ok((Linear::with_intercept(d)? + waves, scales))
}

impl Visit for Case<'_> {
    type Output = Answer;

    fn visit<L: GlmLikelihood>(self, likelihood: &L) -> Result<Answer, CaseError> {
        let Inputs { posterior, y, trials, magnification } = Inputs::read(self.case, self.inputs)?;
        // A file that gives the data's and the batch's size beside their ratio had better mean the same.
        if let (Some(all), Some(batch)) = (self.case.find("N"), self.case.find("batch_size")) {
            let ratio = all.number()? / batch.number()?;
            if compare::relative(magnification, ratio) > tolerance::OBJECTIVE {
                return Err(self.case.refuse(format!("batch_magnification is not N/batch_size = {ratio}")));
            }
        }
        let x = self.inputs.get("X")?.matrix()?;
        self.inputs.get("X")?.check_len(y.len(), x.nrows())?;
        let (basis, scales) = basis(self.inputs, x.ncols())?;
        let features = basis.features(&scales, x.as_ref(), Par::Seq)?;
        let parts: Vec<_> = basis.regularisers().into_iter().map(|part| part.features).collect();
        let variances = self.inputs.get("regularisers")?.vector_of(parts.len())?;

        let components = self.inputs.get(DRAWS)?;
        components.check_len(posterior.components(), components.items()?.len())?;
        let (mut normals, mut draws) = (Vec::new(), None);
        for component in components.items()? {
            let rows = component.matrix()?;
            component.check_len(posterior.dimension(), rows.ncols())?;
            component.check_len(*draws.get_or_insert(rows.nrows()), rows.nrows())?;
            normals.extend(rows.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>()));
        }
        let expectation = Expectation::Weights { draws: draws.unwrap_or(0), kept: Kept::Fixed };
        let trials = trials.as_deref().filter(|_| likelihood.counts_trials());
        let batch = Featured { features: features.as_ref(), y: &y, trials, magnification };
        let prior = Prior { variances: &variances, parts: &parts };
        let (terms, gradient) = objective(&posterior, prior, likelihood, batch, expectation, &normals)?;
        let mut by_length_scale = vec![0.0; scales.len()];
        let weights = gradient.features.as_ref();
        basis.contract(&scales, x.as_ref(), features.as_ref(), weights, &mut by_length_scale, Par::Seq);
        Ok(Answer { features, terms, gradient, by_length_scale, magnification })
    }
}

impl Answer {
    fn compare_with(&self, expected: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
        let Self { features, terms, gradient, by_length_scale, magnification } = self;
        report.matrix(expected, "Phi", features.as_ref(), tolerance::OBJECTIVE)?;
        if let Some(stored) = expected.find("elbo") {
            // The published constant is log(K)/K.
            let k = gradient.means.ncols() as f64;
            let stored = stored.number()? + k.ln() - k.ln() / k;
            let error = compare::scaled(terms.value(), stored, stored.abs().max(1.0));
            report.compare("elbo", error, tolerance::OBJECTIVE);
        }
        matrix_gradients(expected, gradient, report)?;
        let both = [("likelihood_param", &gradient.likelihood), ("basis_lenscale", by_length_scale)];
        for (name, ours) in both {
            let key = format!("grad_{name}_of_objective_fd");
            let floor = ours.iter().fold(1.0_f64, |largest, value| largest.max(value.abs()));
            report.vector(expected, &key, ours, floor, tolerance::CENTRAL_DIFFERENCE)?;
            // The published gradients lack the factor N/M.
            let key = format!("grad_{name}_as_published");
            if let Some(stored) = expected.find(&key) {
                let stored: Vec<f64> =
                    stored.vector_of(ours.len())?.iter().map(|value| magnification * value).collect();
                let error = compare::vectors(ours, &stored, 0.0);
                report.compare(&format!("{key}_times_N_over_M"), error, tolerance::OBJECTIVE_GRADIENT);
            }
        }
        Ok(())
    }
}
