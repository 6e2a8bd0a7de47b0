use vi_linalg::faer::mat;

use super::*;

#[test]
fn columns_that_do_not_exist_are_named() {
    let basis = Bias::new(1.0).unwrap() + Linear::new(1).unwrap().on_columns(&[3]).unwrap();
    let error = basis.features(&[], mat![[1.0, 2.0]].as_ref(), Par::Seq).unwrap_err();
    assert_eq!(error, vi_core::Error::Index { argument: "columns of x", index: 3, len: 2 }.into());
}
