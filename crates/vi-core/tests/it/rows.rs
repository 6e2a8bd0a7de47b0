//! Every way to bring rows is the same rows.

use vi_core::batch::{BatchSettings, optimum};
use vi_core::{
    Belief, DenseGaussian, DiagonalGaussian, Error, GaussianBelief, Implicit, LowRankGaussian, LowRankSettings, Row,
    Rows, filter,
};
use vi_linalg::faer::{Mat, Par};

use crate::common::{LOGIT, SparseTable, difference, labels, rng, rows, view};

/// Rows with some zeros: end to end, as a matrix by rows and by columns, and compressed.
struct Table {
    flat: Vec<f64>,
    by_columns: Mat<f64>,
    sparse: SparseTable,
    y: Vec<f64>,
}

impl Table {
    fn new(n: usize, d: usize) -> Self {
        let mut rng = rng(77);
        let flat: Vec<f64> = rows(n, d, &mut rng).into_iter().map(|x| if x.abs() < 0.4 { 0.0 } else { x }).collect();
        let entries: Vec<(Vec<usize>, Vec<f64>)> =
            flat.chunks(d).map(|row| row.iter().enumerate().filter(|(_, x)| **x != 0.0).unzip()).collect();
        let sparse = SparseTable::new(entries.iter().map(|(positions, values)| (&positions[..], &values[..])));
        Self { by_columns: view(&flat, d).to_owned(), flat, sparse, y: labels(n, &mut rng) }
    }

    fn forms(&self, d: usize) -> [Rows<'_>; 4] {
        [Rows::from(&self.flat), view(&self.flat, d).into(), Rows::from(&self.by_columns), self.sparse.rows()]
    }
}

#[test]
fn a_pass_over_any_form_gives_the_same_belief() {
    let (n, d) = (41, 9);
    let table = Table::new(n, d);
    let prior = DiagonalGaussian::isotropic(&vec![0.0; d], 2.0).unwrap();
    let low = LowRankGaussian::isotropic(&vec![0.0; d], 2.0, LowRankSettings::blocked(d).unwrap()).unwrap();
    let dense = DenseGaussian::isotropic(&vec![0.0; d], 2.0).unwrap();
    let mut first: Option<(DiagonalGaussian, DenseGaussian, DenseGaussian)> = None;
    for x in table.forms(d) {
        let (mut diagonal, mut full, mut low) = (prior.clone(), dense.clone(), low.clone());
        filter::run(&mut diagonal, &Implicit(LOGIT), x, &table.y, |_, _, _| {}).unwrap();
        filter::run(&mut full, &Implicit(LOGIT), x, &table.y, |_, _, _| {}).unwrap();
        low.run(&Implicit(LOGIT), x, &table.y, Par::Seq, |_, _, _| {}).unwrap();
        low.flush(Par::Seq).unwrap();
        let (best, _) = optimum(&dense, &dense, x, &table.y, &LOGIT, &BatchSettings::default(), Par::Seq).unwrap();
        // With as many columns as weights the low-rank belief is the full one, to rounding of n steps.
        assert!(difference(&low.to_dense().unwrap(), &full) < 1e3 * n as f64 * f64::EPSILON);
        let (diagonal0, full0, best0) = first.get_or_insert_with(|| (diagonal.clone(), full.clone(), best.clone()));
        assert_eq!(diagonal.mean(), diagonal0.mean());
        assert_eq!(diagonal.precisions(), diagonal0.precisions());
        // A sum over the entries given rounds in another order than one over all.
        let rounding = 100.0 * n as f64 * f64::EPSILON;
        assert!(difference(&full, full0) < rounding);
        assert!(difference(&best, best0) < rounding);
    }
}

#[test]
fn splitting_gives_the_rows_of_every_form() {
    let (n, d) = (7, 4);
    let table = Table::new(n, d);
    for x in table.forms(d) {
        assert_eq!(x.count(d), n);
        let (mut memory, mut written) = (Vec::new(), Vec::new());
        for (t, row) in x.split(n, d, &mut memory).unwrap().into_iter().enumerate() {
            assert_eq!(row.written_out(d, &mut written), &table.flat[t * d..(t + 1) * d]);
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let check = |rows: Rows<'_>, n, d| rows.check(n, d).unwrap_err();
    let flat = [1.0, 2.0, 3.0, f64::NAN, 5.0, 6.0];
    assert!(matches!(check(Rows::from(&flat), 0, 2), Error::Empty { argument: "x" }));
    assert!(matches!(check(Rows::from(&flat), 2, 2), Error::Dimension { argument: "x", expected: 4, found: 6 }));
    assert!(matches!(check(Rows::from(&flat), usize::MAX, 2), Error::Dimension { argument: "x", .. }));
    let in_row = |error: Error, at: usize| match error {
        Error::Row { row, source } if row == at => *source,
        other => panic!("{other:?}"),
    };
    let holed = in_row(check(Rows::from(&flat), 3, 2), 1);
    assert!(matches!(holed, Error::NonFinite { argument: "x", index: 1, .. }));
    let matrix = Mat::from_fn(3, 2, |i, j| flat[2 * i + j]);
    assert!(matches!(check(Rows::from(&matrix), 2, 2), Error::Dimension { argument: "rows of x", .. }));
    assert!(matches!(check(Rows::from(&matrix), 3, 1), Error::Dimension { argument: "columns of x", .. }));
    assert!(matches!(in_row(check(Rows::from(&matrix), 3, 2), 1), Error::NonFinite { index: 1, .. }));

    let sparse = |starts, positions, values| Rows::Sparse { starts, positions, values };
    let bad = |starts, positions, values| check(sparse(starts, positions, values), 2, 5);
    assert!(matches!(bad(&[0, 2], &[0, 1], &[1.0; 2]), Error::Dimension { argument: "starts", .. }));
    assert!(matches!(bad(&[0, 1, 2], &[0, 1], &[1.0]), Error::Dimension { argument: "values", .. }));
    assert!(matches!(bad(&[1, 1, 2], &[0, 1], &[1.0; 2]), Error::Entry { argument: "starts", index: 0, .. }));
    assert!(matches!(bad(&[0, 1, 1], &[0, 1], &[1.0; 2]), Error::Entry { argument: "starts", index: 2, .. }));
    assert!(matches!(in_row(bad(&[0, 3, 2], &[0, 1], &[1.0; 2]), 0), Error::Index { argument: "starts", .. }));
    let late = in_row(bad(&[0, 1, 3], &[0, 4, 4], &[1.0; 3]), 1);
    assert!(matches!(late, Error::Entry { argument: "positions", index: 1, value: 4.0, .. }));
    let holed = in_row(bad(&[0, 1, 2], &[0, 1], &[1.0, f64::INFINITY]), 1);
    assert!(matches!(holed, Error::NonFinite { argument: "values", index: 0, .. }));
    assert!(sparse(&[0, 0, 1], &[4], &[1.0]).check(2, 5).is_ok());
    assert_eq!(Row::from((&[4], &[1.0])).check(5), Ok(()));
}
