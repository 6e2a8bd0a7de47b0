//! Sums in memory of an engine: the same bits as [`LinearSums`].

use vi_core::Error;
use vi_sums::{LinearSlice, LinearSums, SumsError};

use crate::common::{columns, row, slices};

fn rows(x: &[Vec<f64>], n: usize) -> Vec<f64> {
    (0..n).flat_map(|t| row(x, t)).collect()
}

#[test]
fn every_way_to_add_rows_gives_the_bits_of_sums_that_own_their_memory() {
    for d in [1, 2, 7, 16, 33] {
        let (x, y) = columns(700, d, 5);
        let end_to_end = rows(&x, y.len());
        let mut memory = vec![0.0; LinearSums::flat_len(d)];
        let mut sums = LinearSums::new(d).unwrap();

        let mut slice = LinearSlice::new(d, &mut memory).unwrap();
        for (x, y) in end_to_end.chunks(d).zip(&y).take(100) {
            slice.update(x, *y).unwrap();
            sums.update(x, *y).unwrap();
        }
        assert_eq!(slice.inputs(), d);
        slice.update_rows(&end_to_end[100 * d..], &y[100..]).unwrap();
        let rest: Vec<&[f64]> = slices(&x).iter().map(|column| &column[100..]).collect();
        sums.update_columns(&rest, &y[100..]).unwrap();
        slice.skip(3);
        sums.skip(3);
        assert_eq!(memory, sums.flat(), "{d}");

        let other = sums.clone();
        LinearSlice::new(d, &mut memory).unwrap().merge(other.flat()).unwrap();
        sums.merge(&other).unwrap();
        assert_eq!(memory, sums.flat(), "{d}");
        assert_eq!((sums.rows(), sums.skipped()), (1400, 6));
    }
}

#[test]
fn what_is_refused_leaves_the_memory_as_it_was() {
    assert!(matches!(LinearSlice::new(0, &mut []), Err(SumsError::Core(Error::Empty { .. }))));
    assert!(matches!(LinearSlice::new(2, &mut [0.0; 7]), Err(SumsError::Core(Error::Dimension { .. }))));

    let mut memory = vec![0.0; LinearSums::flat_len(2)];
    LinearSlice::new(2, &mut memory).unwrap().update_rows(&[1.0, 2.0, 3.0, 4.0], &[5.0, 7.0]).unwrap();
    let before = memory.clone();
    let mut sums = LinearSlice::new(2, &mut memory).unwrap();
    assert!(matches!(sums.update(&[1.0], 2.0), Err(SumsError::Core(Error::Dimension { .. }))));
    assert!(matches!(
        sums.update(&[1.0, f64::NAN], 2.0),
        Err(SumsError::Core(Error::NonFinite { argument: "x", index: 1, .. }))
    ));
    assert!(matches!(
        sums.update(&[1.0, 2.0], f64::INFINITY),
        Err(SumsError::Core(Error::NonFinite { argument: "y", .. }))
    ));
    assert!(matches!(sums.update(&[1.0, -1e141], 2.0), Err(SumsError::Core(Error::Entry { argument: "x", .. }))));
    assert!(matches!(sums.update_rows(&[1.0; 3], &[1.0]), Err(SumsError::Core(Error::Dimension { .. }))));
    let error = sums.update_rows(&[1.0, 2.0, 3.0, f64::NAN], &[1.0, 2.0]).unwrap_err();
    assert!(error.to_string().contains("observation 1"), "{error}");
    assert!(sums.update_rows(&[1.0, 2.0], &[1e200]).is_err());
    assert!(matches!(sums.merge(&[0.0; 3]), Err(SumsError::Core(Error::Dimension { .. }))));
    let mut part = before.clone();
    part[0] = 0.5;
    assert!(matches!(sums.merge(&part), Err(SumsError::Core(Error::Setting { .. }))));
    // Means and scatter whose sum leaves the floats.
    part[0] = 2.0;
    part[5] = 1.5e308;
    let mut large = part.clone();
    assert!(matches!(
        LinearSlice::new(2, &mut large).unwrap().merge(&part),
        Err(SumsError::Core(Error::Overflow { .. }))
    ));
    assert_eq!((large, memory), (part, before));
}
