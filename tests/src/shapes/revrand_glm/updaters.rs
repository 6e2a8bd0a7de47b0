//! Trajectories of the update rules on a quadratic function, and the bounded one.

use vi_linalg::faer::{Mat, MatRef};
use vi_revrand::sgd::{Bounds, Descent, DescentSettings, Updater, UpdaterState, minimise};

use crate::json::Node;
use crate::report::Report;
use crate::shapes::Shape;
use crate::{CaseError, compare, tolerance};

pub(in crate::shapes) const SHAPE: Shape = Shape { about: "update rules of stochastic gradients", recognise, check };

fn recognise(root: &Node<'_>) -> bool {
    let cases = root.find("cases").and_then(|cases| cases.items().ok()).unwrap_or_default();
    let quadratic = ["A", "b", "x0"].iter().all(|key| root.find(key).is_some());
    cases.iter().any(|case| case.find("updater").is_some()) || quadratic && root.find("bounded").is_some()
}

/// `f(x) = xᵀAx/2 − bᵀx`.
struct Quadratic {
    a: Mat<f64>,
    b: Vec<f64>,
}

impl Quadratic {
    fn gradient(&self, x: &[f64], out: &mut [f64]) -> f64 {
        let a: MatRef<'_, f64> = self.a.as_ref();
        let mut value = 0.0;
        for i in 0..x.len() {
            let row: f64 = (0..x.len()).map(|j| a[(i, j)] * x[j]).sum();
            out[i] = row - self.b[i];
            value += x[i] * (0.5 * row - self.b[i]);
        }
        value
    }
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let b = root.get("b")?.vector()?;
    let quadratic = Quadratic { a: root.get("A")?.matrix_of(b.len(), b.len())?, b };
    let start = root.get("x0")?.vector_of(quadratic.b.len())?;
    for case in root.find("cases").map(|cases| cases.items()).transpose()?.unwrap_or_default() {
        let name = case.get("updater")?;
        let name = name.text().unwrap_or_default();
        report.part(name, |report| {
            let Some(updater) = updater(name, &case)? else {
                report.skip("", "unknown update rule");
                return Ok(());
            };
            trajectory(&quadratic, &start, &updater, &case, report)
        });
    }
    if let Some(bounded) = root.find("bounded") {
        report.part("bounded", |report| check_bounded(&quadratic, &start, &bounded, report));
    }
    Ok(())
}

/// The rule that a name begins with, with the settings of the case or the published defaults.
fn updater(name: &str, case: &Node<'_>) -> Result<Option<Updater>, CaseError> {
    let setting = |key: &str, default: f64| {
        let stored = case.find("attributes").and_then(|attributes| attributes.find(key));
        stored.map_or(Ok(default), |stored| stored.number())
    };
    let name = name.to_lowercase();
    let rule = if name.starts_with("sgd") {
        Updater::plain(setting("eta", 0.1)?)
    } else if name.starts_with("adadelta") {
        Updater::ada_delta(setting("rho", 0.1)?, setting("epsilon", 1e-5)?)
    } else if name.starts_with("adagrad") {
        Updater::ada_grad(setting("eta", 1.0)?, setting("epsilon", 1e-6)?)
    } else if name.starts_with("momentum") {
        Updater::momentum(setting("eta", 0.01)?, setting("rho", 0.5)?)
    } else if name.starts_with("adam") {
        let decays = (setting("beta1", 0.9)?, setting("beta2", 0.99)?);
        Updater::adam_with(setting("alpha", 0.01)?, decays.0, decays.1, setting("epsilon", 1e-8)?)
    } else {
        return Ok(None);
    };
    Ok(Some(rule?))
}

fn trajectory(
    quadratic: &Quadratic,
    start: &[f64],
    updater: &Updater,
    case: &Node<'_>,
    report: &mut Report,
) -> Result<(), CaseError> {
    let stored = case.get("trajectory")?.matrix()?;
    case.get("trajectory")?.check_len(start.len(), stored.row(0).ncols())?;
    let (mut x, mut gradient) = (start.to_vec(), vec![0.0; start.len()]);
    let mut state = UpdaterState::new(x.len());
    let errors: Vec<(String, f64)> = (0..stored.nrows())
        .map(|t| {
            if t > 0 {
                quadratic.gradient(&x, &mut gradient);
                state.step(updater, &mut x, &gradient);
            }
            let stored: Vec<f64> = stored.row(t).iter().copied().collect();
            (format!("step {t}"), compare::vectors(&x, &stored, 0.0))
        })
        .collect();
    report.compare_worst("trajectory", errors, tolerance::TRAJECTORY);
    Ok(())
}

fn check_bounded(
    quadratic: &Quadratic,
    start: &[f64],
    bounded: &Node<'_>,
    report: &mut Report,
) -> Result<(), CaseError> {
    let ends = |key: &str| {
        let stored = bounded.get(key)?;
        let ends = stored.items()?.iter().map(end).collect::<Result<Vec<f64>, CaseError>>()?;
        stored.check_len(start.len(), ends.len())?;
        Ok::<_, CaseError>(ends)
    };
    let rate = bounded.find("eta").map_or(Ok(0.05), |eta| eta.number())?;
    let settings = DescentSettings {
        updater: Updater::plain(rate)?,
        bounds: Some(Bounds::new(ends("lower")?, ends("upper")?)?),
        stop: None,
    };
    let mut x = start.to_vec();
    let mut norms = Vec::new();
    let objective = |x: &[f64], gradient: &mut [f64]| {
        let value = quadratic.gradient(x, gradient);
        norms.push(gradient.iter().fold(0.0, |norm, g| f64::hypot(norm, *g)));
        Ok(value)
    };
    minimise(&mut Descent::new(settings, x.len())?, &mut x, bounded.get("steps")?.count()?, objective)?;
    bounded.get("result")?;
    report.vector(bounded, "result", &x, 0.0, tolerance::TRAJECTORY)?;
    report.vector(bounded, "grad_norms", &norms, 0.0, tolerance::TRAJECTORY)
}

/// A number, or an infinite one as text, which JSON has no number for.
fn end(node: &Node<'_>) -> Result<f64, CaseError> {
    match node.text() {
        Some(text) => text.parse::<f64>().map_err(|_| node.refuse("neither a number nor an infinity")),
        None => node.number(),
    }
}
