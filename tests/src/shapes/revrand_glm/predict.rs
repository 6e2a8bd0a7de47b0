//! Predictions from a given mixture.

use vi_linalg::faer::{Mat, Par};
use vi_revrand::glm::{Mixture, Predictions};
use vi_revrand::likelihood::GlmLikelihood;

use super::family::{Visit, dispatch, each_case};
use crate::json::Node;
use crate::report::Report;
use crate::shapes::Shape;
use crate::{CaseError, tolerance};

pub(in crate::shapes) const SHAPE: Shape = Shape { about: "predictions of a GLM", recognise, check };

fn recognise(root: &Node<'_>) -> bool {
    let cases = root.find("cases").and_then(|cases| cases.items().ok()).unwrap_or_default();
    cases.iter().any(|case| case.find("inputs").is_some_and(|inputs| inputs.find("y_query").is_some()))
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    each_case(root, report, |name, case, report| {
        let parameter = case.get("inputs")?.find("param").filter(|param| !param.is_array());
        let parameter = parameter.map(|param| param.number()).transpose()?;
        Ok(dispatch(name, parameter, Case { node: case, parameter, report })?.is_some())
    })
}

struct Case<'a> {
    node: &'a Node<'a>,
    parameter: Option<f64>,
    report: &'a mut Report,
}

impl Visit for Case<'_> {
    type Output = ();

    fn visit<L: GlmLikelihood>(self, likelihood: &L) -> Result<(), CaseError> {
        let (inputs, expected, report) = (self.node.get("inputs")?, self.node.get("expected")?, self.report);
        let means = inputs.get("m")?.matrix()?;
        let variances = inputs.get("C")?.matrix_of(means.nrows(), means.ncols())?;
        let posterior = Mixture::new(means.as_ref(), variances.as_ref())?;
        let phi = inputs.get("Phi")?.matrix()?;
        let n = phi.nrows();
        let y = inputs.get("y_query")?.vector_of(n)?;
        let trials = match inputs.find_any(&["n_trials", "trials", "param"]) {
            Some(trials) if trials.is_array() => trials.vector_of(n)?,
            Some(trials) => vec![trials.number()?; n],
            None => vec![self.parameter.unwrap_or(1.0); n],
        };
        let trials = Some(trials.as_slice()).filter(|_| likelihood.counts_trials());
        let predicted = Predictions::new(&posterior, likelihood, phi.as_ref(), trials)?;

        let components = means.ncols();
        let latent = |of: &dyn Fn(usize) -> Vec<f64>| {
            let rows: Vec<Vec<f64>> = (0..n).map(of).collect();
            Mat::from_fn(n, components, |i, k| rows[i][k])
        };
        let both = [
            ("latent_component_means", latent(&|i| predicted.row(i).predictor_means().to_vec())),
            ("latent_component_vars", latent(&|i| predicted.row(i).predictor_variances().to_vec())),
        ];
        for (key, ours) in both {
            report.matrix(&expected, key, ours.as_ref(), tolerance::OBJECTIVE)?;
        }
        let of_mean = (0..n).map(|i| predicted.row(i).variance_of_mean()).collect::<Result<Vec<_>, _>>()?;
        let quantities = [
            ("Ey", predicted.means(Par::Seq)?),
            ("Vy_of_conditional_mean", of_mean),
            ("Vy_total_including_noise", predicted.variances(Par::Seq)?),
            ("log_of_mean_density", predicted.log_densities(&y, Par::Seq)?),
            ("cdf", predicted.cdfs(&y, Par::Seq)?),
        ];
        for (key, ours) in quantities {
            report.vector(&expected, key, &ours, 0.0, tolerance::PREDICTION)?;
        }
        for (key, stored) in expected.members()? {
            let level = key.strip_prefix("interval_").map(|rest| rest.trim_end_matches("_exact").parse::<f64>());
            let Some(level) = level else { continue };
            let level = level.map_err(|_| stored.refuse("the key names no level"))?;
            let intervals = predicted.intervals(level, Par::Seq)?;
            let ours = Mat::from_fn(n, 2, |i, j| if j == 0 { intervals[i].lower } else { intervals[i].upper });
            report.matrix(&expected, key, ours.as_ref(), tolerance::PREDICTION)?;
        }
        if expected.find("mean_of_log_density_as_published").is_some() {
            report.skip("mean_of_log_density_as_published", "information");
        }
        Ok(())
    }
}
