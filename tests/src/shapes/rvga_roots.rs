//! Rows of `(α₀, ν₀, y) → (α, ν)` and what derives from them: R-VGA (64)-(72) and (74)-(77).

use vi_core::implicit::{ImplicitRoot, probit_root};

use super::Shape;
use crate::json::Node;
use crate::report::Report;
use crate::{CaseError, compare, tolerance};

pub(super) const SHAPE: Shape = Shape { about: "roots of the implicit system", recognise, check };

/// `β = √(8/π)`.
const BETA: f64 = vi_core::expectation::BETA;

/// A derived column, its value from a root, and the scale of its error.
type Quantity = (&'static str, fn(&ImplicitRoot) -> f64, fn(&ImplicitRoot, f64) -> f64);

/// `α` and `kα` may pass through 0: there the standard deviation is their scale.
const QUANTITIES: &[Quantity] = &[
    ("alpha", |root| root.alpha, |root, stored| stored.abs().max(root.nu.sqrt())),
    ("nu", |root| root.nu, |_, stored| stored.abs()),
    ("k", k, |_, stored| stored.abs()),
    ("k_alpha", |root| k(root) * root.alpha, |root, stored| stored.abs().max(k(root) * root.nu.sqrt())),
    ("err", |root| root.gain, |_, stored| stored.abs().max(tolerance::UNDERFLOW)),
    ("weight", |root| root.curvature, |_, stored| stored.abs().max(tolerance::UNDERFLOW)),
];

/// `k = β/√(ν+β²)`.
fn k(root: &ImplicitRoot) -> f64 {
    BETA / (root.nu + BETA * BETA).sqrt()
}

fn column_names(root: &Node<'_>) -> Option<Vec<String>> {
    let items = root.find("columns")?.items().ok()?;
    items.iter().map(|item| item.text().map(str::to_owned)).collect()
}

fn recognise(root: &Node<'_>) -> bool {
    let inputs = |names: &[String]| names.iter().any(|name| name == "alpha0" || name == "nu0");
    let digits = ["alpha_30_digits", "nu_30_digits"].iter().any(|key| root.find(key).is_some());
    column_names(root).is_some_and(|names| inputs(&names)) || (root.find("rows").is_some() && digits)
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let names = column_names(root).unwrap_or_default();
    let position = |name: &str| names.iter().position(|other| other == name);
    let input = |name: &str| position(name).ok_or_else(|| CaseError::Missing { path: format!("columns: {name}") });
    let (alpha0, nu0, y) = (input("alpha0")?, input("nu0")?, input("y")?);
    input("alpha")?;
    input("nu")?;

    let rows = root.get("rows")?.items()?;
    if rows.is_empty() {
        return Err(root.get("rows")?.refuse("no rows"));
    }
    let mut errors = vec![Vec::with_capacity(rows.len()); QUANTITIES.len()];
    for row in &rows {
        // Only the columns that are asked for need be numbers.
        let cells = row.items()?;
        row.check_len(names.len(), cells.len())?;
        let (mean, variance, label) = (cells[alpha0].number()?, cells[nu0].number()?, cells[y].number()?);
        if variance < 0.0 {
            return Err(cells[nu0].refuse("a variance cannot be negative"));
        }
        if label != 0.0 && label != 1.0 {
            return Err(cells[y].refuse("a label is 0 or 1"));
        }
        let found = probit_root(label, mean, variance)?;
        for (errors, (name, value, scale)) in errors.iter_mut().zip(QUANTITIES) {
            let Some(column) = position(name) else { continue };
            let stored = cells[column].number()?;
            let error = compare::scaled(value(&found), stored, scale(&found, stored));
            errors.push((row.path().to_owned(), error));
        }
    }
    for (errors, (name, ..)) in errors.into_iter().zip(QUANTITIES) {
        report.compare_worst(name, errors, tolerance::ROOT);
    }
    Ok(())
}
