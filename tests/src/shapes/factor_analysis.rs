//! Factor analysis of a covariance by recursive, online and batch EM (L-RVGA §5.1, Appendices C and E).

use vi_core::factor::{
    self, Averaging, DiagonalSettings, OnlineEm, OnlineSettings, RecursiveEm, RecursiveSettings, SecondMoments,
    UpdateSettings, Weights,
};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::{Cholesky, LowRank};

use super::Shape;
use crate::json::Node;
use crate::report::Report;
use crate::tolerance::{self, OfFactor};
use crate::{CaseError, compare};

pub(super) const SHAPE: Shape = Shape { about: "factor analysis by recursive, online and batch EM", recognise, check };

/// The published online EM averages from this observation on, whatever their number.
const AUTHORS_AVERAGE_AFTER: usize = 500;

fn recognise(root: &Node<'_>) -> bool {
    let run = |name: &str| name.starts_with("recursive_em") || name.starts_with("online_em") || name == "batch_em";
    root.members().is_ok_and(|members| members.iter().any(|(name, node)| run(name) && node.is_object()))
}

/// The data and where every algorithm starts.
struct Case {
    x: Mat<f64>,
    start: LowRank,
    /// Of `S = XᵀX/n`.
    s: Cholesky,
}

impl Case {
    fn read(root: &Node<'_>) -> Result<Self, CaseError> {
        let x = root.get("x")?.matrix()?;
        let s = Cholesky::new((x.transpose() * &x * (1.0 / x.nrows() as f64)).as_ref())?;
        let start = read_factor(root, "W0", "Psi0", x.ncols())?;
        Ok(Self { x, start, s })
    }

    fn loss(&self, c: &LowRank) -> Result<f64, CaseError> {
        Ok(factor::kl(&self.s, c, Par::Seq)?)
    }

    /// How far a run moves when the rows are nudged by 1e-12: what rounding, which is less, may do to it.
    fn sensitivity(&self, run: Run<'_>) -> Result<Sensitivity, CaseError> {
        let nudged = Mat::from_fn(self.x.nrows(), self.x.ncols(), |i, j| {
            // Of either sign, without a pattern.
            self.x[(i, j)] * (1.0 + 1e-12 * (1.0 + 12.9898 * i as f64 + 78.233 * j as f64).sin())
        });
        let follow = |x: MatRef<'_, f64>| {
            let mut losses = Vec::new();
            let last = run(x, &mut |_, c| {
                losses.push(self.loss(c)?);
                Ok(())
            })?;
            Ok::<_, CaseError>((last, losses))
        };
        let ((plain, losses), (nudged, moved)) = (follow(self.x.as_ref())?, follow(nudged.as_ref())?);
        let matrix = compare::matrices(dense(&nudged).as_ref(), dense(&plain).as_ref());
        let diagonal = compare::vectors(nudged.psi(), plain.psi(), 0.0);
        let mut sensitivity = Sensitivity { last: matrix.max(diagonal), losses: Vec::new() };
        for (loss, moved) in losses.iter().zip(moved) {
            sensitivity.last = sensitivity.last.max(loss_error(moved, *loss));
            let so_far = sensitivity.losses.last().copied().unwrap_or(0.0_f64);
            sensitivity.losses.push(so_far.max(loss_error(moved, *loss)));
        }
        Ok(sensitivity)
    }
}

/// How far nudged rows move a run, relative to its size.
struct Sensitivity {
    /// The factor at the end, and all losses.
    last: f64,
    /// The losses up to each step.
    losses: Vec<f64>,
}

/// Is told of the factor after each step.
type Seen<'a> = &'a mut dyn FnMut(usize, &LowRank) -> Result<(), CaseError>;

/// A run of an algorithm over the rows of a matrix.
type Run<'a> = &'a dyn Fn(MatRef<'_, f64>, Seen<'_>) -> Result<LowRank, CaseError>;

fn read_factor(node: &Node<'_>, w: &str, psi: &str, d: usize) -> Result<LowRank, CaseError> {
    let psi = node.get(psi)?.vector_of(d)?;
    let w = node.get(w)?.matrix()?;
    node.check_len(d, w.nrows())?;
    Ok(LowRank::new(w.as_ref(), &psi)?)
}

fn dense(c: &LowRank) -> Mat<f64> {
    let mut dense = c.to_dense_lower(Par::Seq);
    vi_linalg::kernels::mirror_lower(dense.as_mut());
    dense
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let case = Case::read(root)?;
    if let Some(stored) = root.find("initial_loss") {
        compare_loss(report, "initial_loss", case.loss(&case.start)?, &stored, tolerance::STORED_FACTOR)?;
    }
    for (name, node) in root.members()? {
        let check: fn(&Case, &str, &Node<'_>, &mut Report) -> Result<(), CaseError> = match name {
            "batch_em" => check_batch,
            _ if name.starts_with("recursive_em") => check_recursive,
            _ if name.starts_with("online_em") => check_online,
            _ => continue,
        };
        report.part(name, |report| check(&case, name, &node, report));
    }
    Ok(())
}

fn check_batch(case: &Case, _: &str, node: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let history = match node.find_any(&["loss_history", "loss_history_200"]) {
        Some(history) => history.vector()?,
        None => Vec::new(),
    };
    let iterations = node.get("iterations")?.count()?;
    let last = iterations.max(history.len().saturating_sub(1));
    let run = |x: MatRef<'_, f64>, see: Seen<'_>| {
        let s = SecondMoments::new(x)?;
        let mut c = case.start.clone();
        see(0, &c)?;
        for t in 1..=last {
            factor::step(&s, &mut c, &DiagonalSettings::default(), Par::Seq)?;
            see(t, &c)?;
        }
        Ok::<_, CaseError>(c)
    };
    let Some(tolerance) = tolerance::factor_of_run(case.sensitivity(&run)?.last) else {
        report.skip("", "rounding decides");
        return Ok(());
    };
    let (mut losses, mut stopped) = (Vec::new(), case.start.clone());
    run(case.x.as_ref(), &mut |t, c| {
        losses.push(case.loss(c)?);
        if t == iterations {
            stopped.clone_from(c);
        }
        Ok(())
    })?;
    compare_factor(case, &stopped, node, tolerance, report)?;
    let errors = losses.iter().zip(&history).enumerate();
    let errors = errors.map(|(t, (loss, stored))| (format!("iteration {t}"), loss_error(*loss, *stored)));
    report.compare_worst("loss_history", errors, tolerance.loss);
    Ok(())
}

fn check_recursive(case: &Case, name: &str, node: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let inner_loops = inner_loops(name, node)?;
    let stated = node.find("weights").and_then(|weights| weights.text()).unwrap_or_default();
    let regularised = name.contains("regularised") || name.contains("regularized") || stated.contains("t/(t+1)");
    let weights = if regularised { Weights::Mean } else { Weights::MeanAsPrinted };
    let settings = RecursiveSettings { weights, update: UpdateSettings { inner_loops, ..UpdateSettings::default() } };
    let run = |x: MatRef<'_, f64>, see: Seen<'_>| {
        let mut em = RecursiveEm::new(case.start.clone(), &settings)?;
        for t in 0..x.nrows() {
            em.run(x.subrows(t, 1), Par::Seq)?;
            see(t + 1, em.factor())?;
        }
        Ok::<_, CaseError>(em.into_factor())
    };
    check_stream(case, node, &run, report)
}

fn check_online(case: &Case, name: &str, node: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let averaging = if name.contains("no_averaging") {
        Averaging::Off
    } else if name.contains("halfway") {
        Averaging::After { from: case.x.nrows() / 2 }
    } else {
        Averaging::AsPrinted { after: AUTHORS_AVERAGE_AFTER }
    };
    let settings = OnlineSettings { exponent: 0.6, averaging, ..OnlineSettings::default() };
    let run = |x: MatRef<'_, f64>, see: Seen<'_>| {
        let mut em = OnlineEm::new(case.start.clone(), &settings)?;
        for t in 0..x.nrows() {
            em.run(x.subrows(t, 1), Par::Seq)?;
            see(t + 1, em.factor())?;
        }
        Ok::<_, CaseError>(em.factor().clone())
    };
    check_stream(case, node, &run, report)
}

/// Compares a run over the rows with the stored one, along its way and at the end.
fn check_stream(case: &Case, node: &Node<'_>, run: Run<'_>, report: &mut Report) -> Result<(), CaseError> {
    let points = match node.find("trajectory") {
        Some(points) => points.items()?,
        None => Vec::new(),
    };
    let mut at = Vec::new();
    for point in &points {
        let t = point.get("t")?.count()?;
        if t == 0 || t > case.x.nrows() {
            return Err(point.refuse(format!("t = {t} is not among {} observations", case.x.nrows())));
        }
        at.push(t);
    }
    let mut losses = vec![f64::NAN; points.len()];
    let mut least = case.start.psi().iter().copied().fold(f64::INFINITY, f64::min);
    let last = run(case.x.as_ref(), &mut |t, c| {
        least = c.psi().iter().copied().fold(least, f64::min);
        for (loss, _) in losses.iter_mut().zip(&at).filter(|(_, at)| **at == t) {
            *loss = case.loss(c)?;
        }
        Ok(())
    })?;
    let sensitivity = case.sensitivity(run)?;
    for ((point, loss), t) in points.iter().zip(losses).zip(at) {
        match tolerance::factor_of_run(sensitivity.losses[t - 1]) {
            Some(tolerance) => compare_loss(report, &format!("t{t}/loss"), loss, &point.get("loss")?, tolerance)?,
            None => report.skip(&format!("t{t}/loss"), "rounding decides"),
        }
    }
    let sensitivity = sensitivity.last.max(stated_sensitivity(node)?);
    if let Some(tolerance) = tolerance::factor_of_run(sensitivity) {
        compare_factor(case, &last, node, tolerance, report)?;
        if let Some(stored) = node.find("min_psi_along_run") {
            report.compare("min_psi_along_run", compare::relative(least, stored.number()?), tolerance.loss);
        }
    } else {
        let reason = format!("rounding decides: rows nudged by 1e-12 move the result by {sensitivity:.1e}");
        report.skip("C", &reason);
        if let Some(stored) = node.find("loss") {
            let error = (case.loss(&last)? / stored.number()?).log10().abs();
            report.compare("loss_magnitude", error, tolerance::MAGNITUDE);
        }
    }
    Ok(())
}

fn compare_factor(
    case: &Case,
    c: &LowRank,
    node: &Node<'_>,
    tolerance: OfFactor,
    report: &mut Report,
) -> Result<(), CaseError> {
    let stored = read_factor(node, "W", "Psi", case.x.ncols())?;
    report.compare("C", compare::matrices(dense(c).as_ref(), dense(&stored).as_ref()), tolerance.matrix);
    report.compare("Psi", compare::vectors(c.psi(), stored.psi(), 0.0), tolerance.matrix);
    if let Some(trace) = node.find("trace_C") {
        let found: f64 = c.diagonal().iter().sum();
        report.compare("trace_C", compare::relative(found, trace.number()?), tolerance.matrix);
    }
    if let Some(loss) = node.find("loss") {
        compare_loss(report, "loss", case.loss(c)?, &loss, tolerance)?;
        compare_loss(report, "loss_of_stored", case.loss(&stored)?, &loss, tolerance::STORED_FACTOR)?;
    }
    Ok(())
}

fn compare_loss(
    report: &mut Report,
    name: &str,
    found: f64,
    stored: &Node<'_>,
    tolerance: OfFactor,
) -> Result<(), CaseError> {
    report.compare(name, loss_error(found, stored.number()?), tolerance.loss);
    Ok(())
}

/// Relative above one nat, absolute below: a loss is a difference of larger numbers.
fn loss_error(found: f64, stored: f64) -> f64 {
    compare::scaled(found, stored, stored.abs().max(1.0))
}

/// The largest of what the file says of how well the run can be reproduced; 0 where it says nothing.
fn stated_sensitivity(node: &Node<'_>) -> Result<f64, CaseError> {
    let mut largest = 0.0_f64;
    for key in ["sensitivity", "second_implementation"] {
        if let Some(stated) = node.find(key) {
            largest = largest.max(stated.number()?.abs());
        }
    }
    Ok(largest)
}

/// From a key, or from a name such as `recursive_em_3_inner`.
fn inner_loops(name: &str, node: &Node<'_>) -> Result<usize, CaseError> {
    if let Some(stated) = node.find_any(&["inner_loops", "inner"]) {
        return stated.count();
    }
    let words: Vec<&str> = name.split('_').collect();
    let number = words.iter().position(|word| *word == "inner").and_then(|at| at.checked_sub(1));
    let loops = number.and_then(|at| words[at].parse().ok());
    loops.ok_or_else(|| node.refuse("neither a key inner_loops nor a name such as recursive_em_3_inner"))
}
