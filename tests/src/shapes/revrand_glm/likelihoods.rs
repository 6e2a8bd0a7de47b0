//! Densities, derivatives, means and distribution functions on a grid of labels, predictors and parameters.

use vi_revrand::likelihood::GlmLikelihood;

use super::family::{Visit, dispatch};
use crate::json::Node;
use crate::report::Report;
use crate::shapes::Shape;
use crate::{CaseError, compare, tolerance};

pub(in crate::shapes) const SHAPE: Shape = Shape { about: "likelihoods of a GLM on a grid", recognise, check };

/// What is compared, the first key that a row has: the exact number before the published one.
const QUANTITIES: &[(&str, &[&str])] = &[
    ("loglike", &["loglike_exact", "loglike"]),
    ("df", &["df_exact", "df"]),
    ("d2f", &["d2f"]),
    ("d3f", &["d3f"]),
    ("dp", &["dp_exact", "dp"]),
    ("d_param_d2f", &["d_param_d2f"]),
    ("Ey", &["Ey"]),
    ("cdf", &["cdf"]),
];

fn recognise(root: &Node<'_>) -> bool {
    let rows = |grid: Node<'_>| {
        let members = grid.members().unwrap_or_default();
        members.iter().any(|(_, rows)| {
            rows.items()
                .unwrap_or_default()
                .first()
                .is_some_and(|row| row.find("f").is_some() && row.find("y").is_some())
        })
    };
    root.find("grid").is_some_and(rows)
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    for (name, rows) in root.get("grid")?.members()? {
        report.part(name, |report| {
            let rows = rows.items()?;
            let mut errors: Vec<Vec<(String, f64)>> = vec![Vec::new(); QUANTITIES.len()];
            for row in &rows {
                let parameter = row.find("param").map(|value| value.number()).transpose()?;
                let Some(numbers) = dispatch(name, parameter, Row { row, parameter })? else {
                    report.skip("", "unknown likelihood");
                    return Ok(());
                };
                for (((_, keys), found), errors) in QUANTITIES.iter().zip(numbers).zip(&mut errors) {
                    let (Some((found, scale)), Some(stored)) = (found, row.find_any(keys)) else { continue };
                    let stored = stored.number()?;
                    let scale = stored.abs().max(scale);
                    errors.push((row.path().to_owned(), compare::scaled(found, stored, scale)));
                }
            }
            for ((name, _), errors) in QUANTITIES.iter().zip(errors) {
                report.compare_worst(name, errors, tolerance::LIKELIHOOD);
            }
            Ok(())
        });
    }
    Ok(())
}

/// One row of the grid.
struct Row<'a> {
    row: &'a Node<'a>,
    parameter: Option<f64>,
}

impl Visit for Row<'_> {
    /// Each quantity with the size below which its error is absolute.
    type Output = Vec<Option<(f64, f64)>>;

    fn visit<L: GlmLikelihood>(self, likelihood: &L) -> Result<Self::Output, CaseError> {
        let (y, f) = (self.row.get("y")?.number()?, self.row.get("f")?.number()?);
        let trials = if likelihood.counts_trials() { self.parameter.unwrap_or(1.0) } else { 1.0 };
        if !likelihood.supports(y, trials) {
            return Err(vi_core::Error::Label { label: y, family: likelihood.family() }.into());
        }
        let mut numbers: Vec<Option<(f64, f64)>> = likelihood
            .derivatives(y, trials, f)
            .into_iter()
            .map(|value| Some((value, tolerance::NUMERICAL_DERIVATIVE_ZERO)))
            .collect();
        let mut by_parameter = vec![[0.0; 2]; likelihood.parameters().len()];
        likelihood.parameter_derivatives(y, trials, f, &mut by_parameter);
        let first = by_parameter.first();
        // A residual of one standard deviation makes the first derivative 0, out of two terms of ½/σ².
        let terms = self.parameter.map_or(0.0, |variance| 0.5 / variance);
        numbers.push(first.map(|[value, _]| (*value, terms)));
        numbers.push(first.map(|[_, second]| (*second, tolerance::NUMERICAL_DERIVATIVE_ZERO)));
        // The published mean and distribution function lose digits where they are small.
        numbers.push(Some((likelihood.mean(trials, f), 1.0)));
        numbers.push(Some((likelihood.cdf(y, trials, f), 1.0)));
        Ok(numbers)
    }
}
