//! No stored number can be wrong without a failure: each is moved in turn, and the runner must see it.

use std::fs;

use serde_json::Value;
use vi_tests::report::{Line, Report};
use vi_tests::{runner, shapes, slow};

/// Numbers that are not compared: settings, agreement, sizes of errors, and estimates with an error of their own.
const INFORMATION: &[&str] = &[
    "description",
    "parameters",
    "times",
    "authors_vs_exact_roots",
    "authors_filter",
    "gradient_norm",
    "grid_refinement_error",
    "kl_mc",
    "kl_mc_stderr",
    "kl_mc_samples",
    "reldiff_to_authors_mean",
    "reldiff_to_authors_cov",
    "x",
    "y",
    "H",
    "R",
    "prior_mean",
    "prior_cov",
    "sigma0",
    "alpha_30_digits",
    "nu_30_digits",
    "t",
    // Known to be rough.
    "laplace_as_coded",
];

/// The places of all numbers that are compared, as JSON pointers.
fn places(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, inner) in members.iter().filter(|(key, _)| !INFORMATION.contains(&key.as_str())) {
                places(inner, &format!("{path}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (i, inner) in items.iter().enumerate() {
                places(inner, &format!("{path}/{i}"), found);
            }
        }
        Value::Number(_) => found.push(path.to_owned()),
        _ => {}
    }
}

/// Moves the number by a tenth of the largest beside it.
fn tamper(value: &mut Value, place: &str) {
    let (parent, _) = place.rsplit_once('/').unwrap();
    let siblings = value.pointer(parent).and_then(Value::as_array).map_or(&[] as &[Value], |items| items);
    let number = value.pointer(place).and_then(Value::as_f64).unwrap();
    let largest = siblings.iter().filter_map(Value::as_f64).fold(number.abs(), |m, v| m.max(v.abs()));
    *value.pointer_mut(place).unwrap() = (number + 0.1 * largest).into();
}

fn verdicts(value: &Value) -> Vec<Line> {
    let mut report = Report::new("case");
    shapes::check(&value.to_string(), &mut report);
    report.lines().to_vec()
}

/// Tampers with every `stride`-th number of `value`, or with every seventh when slow tests run.
fn every_change_is_seen(value: &Value, stride: usize) {
    assert!(!verdicts(value).iter().any(Line::failed));
    let mut found = Vec::new();
    places(value, "", &mut found);
    assert!(found.len() > stride);
    for place in found.iter().step_by(if slow() { 7 } else { stride }) {
        let mut changed = value.clone();
        tamper(&mut changed, place);
        assert!(verdicts(&changed).iter().any(Line::failed), "{place} may be anything");
    }
}

fn golden_file(name: &str) -> Value {
    let text = fs::read_to_string(runner::default_folder().join("rvga").join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn in_two_dimensions() {
    every_change_is_seen(&golden_file("logistic_d2_fig3.json"), 11);
}

#[test]
fn in_ten_dimensions() {
    let mut value = golden_file("logistic_d10_illcond.json");
    // The estimates are dear and are not what is tampered with.
    for (_, entry) in value["cases"][0]["algorithms"].as_object_mut().unwrap() {
        entry.as_object_mut().unwrap().remove("kl_mc");
    }
    every_change_is_seen(&value, 101);
}

#[test]
fn in_linear_regression() {
    every_change_is_seen(&golden_file("kalman_linear.json"), 101);
}

#[test]
fn in_the_roots() {
    let mut value = golden_file("implicit_roots.json");
    let columns = value["columns"].as_array().unwrap().clone();
    let compared = ["alpha", "nu", "k", "k_alpha", "err", "weight"];
    let wanted: Vec<usize> = (0..columns.len()).filter(|&i| compared.contains(&columns[i].as_str().unwrap())).collect();
    let rows = value["rows"].as_array().unwrap().len();
    for row in (0..rows).step_by(if slow() { 7 } else { 37 }) {
        for &column in &wanted {
            let whole = value.clone();
            let number = whole["rows"][row][column].as_f64().unwrap();
            // 2e-12 of itself, where that is not lost in underflow: the tolerance is tight.
            let moved = if number.abs() > 1e-280 { number * (1.0 + 2e-12) } else { number + 1e-280 };
            value["rows"][row][column] = moved.into();
            let scale_is_sigma = ["alpha", "k_alpha"].contains(&columns[column].as_str().unwrap());
            let failed = verdicts(&value).iter().any(Line::failed);
            assert!(
                failed || scale_is_sigma && number.abs() < whole["rows"][row][4].as_f64().unwrap().sqrt(),
                "row {row}, column {column}"
            );
            value = whole;
        }
    }
}
