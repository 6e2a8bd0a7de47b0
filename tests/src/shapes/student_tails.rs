//! Tails of Student's t distribution, and its quantiles at these tails.

use vi_models::Student;

use super::Shape;
use crate::json::Node;
use crate::report::Report;
use crate::{CaseError, compare, tolerance};

pub(super) const SHAPE: Shape = Shape { about: "tails of Student's t", recognise, check };

fn recognise(root: &Node<'_>) -> bool {
    root.find("student_tails").is_some()
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let rows = root.get("student_tails")?.items()?;
    let (mut tails, mut quantiles) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    for row in &rows {
        let cells = row.vector_of(3)?;
        let (dof, t, tail) = (cells[0], cells[1], cells[2]);
        let student = Student::new(0.0, 1.0, dof)?;
        // The tail is the exponential of so large a number, and the quantile what inverts it, at a slope `d log P/d log t` of 1 and more.
        let size = 4.0 - tail.ln();
        let found = compare::scaled(student.cdf(-t), tail, tail * size);
        tails.push((row.path().to_owned(), found));
        let found = compare::scaled(-student.quantile(tail)?, t, t.max(1.0) * size);
        quantiles.push((row.path().to_owned(), found));
    }
    report.compare_worst("tail", tails, tolerance::STUDENT);
    report.compare_worst("quantile", quantiles, tolerance::STUDENT);
    Ok(())
}
