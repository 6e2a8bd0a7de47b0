use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::*;

fn table() -> (Vec<Input>, Vec<f64>) {
    let inputs = vec![
        Input::number("a", 0),
        Input::number("b", 1),
        Input::indicator("g=x", 2),
        Input::indicator("g=y", 2),
        Input::indicator("g=z", 2),
    ];
    let row = |i: u32| {
        let level = i % 4;
        let is = |k| f64::from(level == k);
        [(0.7 * f64::from(i)).sin(), f64::from(i % 13), is(0), is(1), is(2)]
    };
    (inputs, (0..120).flat_map(row).collect())
}

fn every() -> Vec<Term> {
    vec![
        Term::Bent(vec![1]),
        Term::Smooth { input: 0, weights: 5 },
        Term::Tensor(0, 1),
        Term::Pairs(vec![0, 1, 2, 3]),
        Term::Kernel { inputs: vec![0, 1], features: 24 },
    ]
}

fn made(asked: &[Term]) -> Result<Terms, TermsError> {
    let (inputs, rows) = table();
    Terms::new(&inputs, asked, &rows, &mut ChaCha8Rng::seed_from_u64(3))
}

#[test]
fn a_row_has_an_input_for_each_name_and_block() {
    let terms = made(&every()).unwrap();
    let mut row = vec![0.3, 4.0, 0.0, 1.0, 0.0];
    terms.append(&mut row).unwrap();
    assert_eq!(row.len(), terms.width());
    let mut names = terms.names();
    assert_eq!(names.len(), terms.width());
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), terms.width());
    assert_eq!(terms.block_sizes(), [2, 3, 1, 5, 25, 5, 8, 8, 8]);
    let blocks = terms.blocks();
    assert_eq!((blocks[1].name.as_str(), blocks[6].name.as_str()), ("levels(g)", "k(a, b; 2.000)"));
    assert!(blocks.windows(2).all(|pair| pair[0].first + pair[0].width == pair[1].first));
}

#[test]
fn terms_have_mean_0_and_a_common_size_over_the_first_rows() {
    let terms = made(&every()).unwrap();
    let (_, rows) = table();
    let all: Vec<Vec<f64>> = rows
        .chunks(5)
        .map(|row| {
            let mut row = row.to_vec();
            terms.append(&mut row).unwrap();
            row
        })
        .collect();
    let n = all.len() as f64;
    for (k, block) in terms.blocks().iter().enumerate().skip(2) {
        let places = block.first..block.first + block.width;
        let variance = |j: usize| all.iter().map(|row| row[j] * row[j]).sum::<f64>() / n;
        assert!(places.clone().all(|j| (all.iter().map(|row| row[j]).sum::<f64>() / n).abs() < 1e-12));
        let total: f64 = places.map(variance).sum();
        let expected = if k == 3 || k == 4 { 1.0 } else { block.width as f64 };
        assert!((total - expected).abs() < 1e-12 * expected, "{}: {total}", block.name);
    }
}

#[test]
fn a_pair_is_the_product_of_two_scaled_inputs() {
    let terms = made(&[Term::Pairs(vec![0, 2])]).unwrap();
    let last = |a: f64, g: f64| {
        let mut row = vec![a, 0.0, g, 0.0, 0.0];
        terms.append(&mut row).unwrap();
        row[5]
    };
    // Bilinear: the cross difference of a rectangle is as large for any rectangle of that size.
    let cross = |a: f64| last(a + 0.1, 1.0) - last(a, 1.0) - last(a + 0.1, 0.0) + last(a, 0.0);
    assert!((cross(0.2) - cross(-0.7)).abs() < 1e-13 && cross(0.2) > 0.01);
    // Beyond the first rows a product stays as it is at their end.
    assert_eq!(last(5.0, 1.0), last(50.0, 1.0));
}

#[test]
fn they_are_stored_and_read_to_the_bit() {
    let terms = made(&every()).unwrap();
    let text = serde_json::to_string(&terms).unwrap();
    let read: Terms = serde_json::from_str(&text).unwrap();
    assert_eq!(read, terms);
    for (from, to) in
        [("\"factor\":", "\"factor\":-"), ("\"input\":1", "\"input\":9"), ("\"length\":2", "\"length\":-2")]
    {
        assert_ne!(text.replace(from, to), text);
        assert!(serde_json::from_str::<Terms>(&text.replace(from, to)).is_err(), "{from}");
    }
    assert_eq!(made(&every()).unwrap(), terms);
}

#[test]
fn bad_input_is_named() {
    let said = |asked: &[Term]| made(asked).unwrap_err().to_string();
    assert_eq!(said(&[Term::Smooth { input: 7, weights: 3 }]), "a term of input 7, and there are 5");
    let few = "s(g=x): 2 different values in the first rows, and 3 are needed";
    assert_eq!(said(&[Term::Smooth { input: 2, weights: 3 }]), few);
    assert_eq!(said(&[Term::Tensor(0, 3)]).replace("a, g=y", "g=x"), few);
    assert_eq!(said(&[Term::Pairs(vec![2, 3])]), "pairs(g=x, g=y): pairs of different columns is empty");
    assert!(said(&[Term::Kernel { inputs: vec![], features: 9 }]).starts_with("k(): "));
    assert!(said(&[Term::Bent(vec![])]).starts_with("bent(): "));
    let (inputs, mut rows) = table();
    let rng = &mut ChaCha8Rng::seed_from_u64(3);
    let new = |inputs: &[Input], rows: &[f64], rng: &mut ChaCha8Rng| {
        Terms::new(inputs, &[], rows, rng).unwrap_err().to_string()
    };
    assert_eq!(new(&[], &rows, rng), "inputs is empty");
    assert_eq!(new(&inputs, &[], rng), "rows is empty");
    assert_eq!(new(&inputs, &rows[1..], rng), "rows has length 599, expected 600");
    rows[4] = f64::NAN;
    assert_eq!(new(&inputs, &rows, rng), "rows[4] is not finite: NaN");
    let mut short = vec![1.0];
    assert!(made(&[]).unwrap().append(&mut short).is_err());
    assert_eq!(short, [1.0]);
}
