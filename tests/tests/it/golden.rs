//! The project's own golden cases hold, and the runner tells good from bad.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use vi_tests::report::{Line, Report};
use vi_tests::{runner, shapes};

fn golden_file(name: &str) -> String {
    fs::read_to_string(runner::default_folder().join("rvga").join(name)).unwrap()
}

/// An empty folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn golden(folders: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_golden")).args(folders).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn check(text: &str) -> Vec<String> {
    let mut report = Report::new("case");
    shapes::check(text, &mut report);
    report.lines().iter().map(Line::to_string).collect()
}

#[test]
fn every_golden_case_holds() {
    let mut failures = Vec::new();
    // The boosting cases run algorithms, for half a minute in all.
    let folders: Vec<PathBuf> = fs::read_dir(runner::default_folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() && (vi_tests::slow() || !path.ends_with("bvi")))
        .collect();
    let tally = runner::run(&folders, |line| {
        if line.failed() {
            failures.push(line.to_string());
        }
        Ok(())
    })
    .unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(tally.succeeded());
    // Every folder has shapes with many quantities each: one that is no longer recognised would show.
    assert!(tally.passed > 1000, "{tally:?}");
}

#[test]
fn files_are_found_in_inner_folders_and_named_by_their_path() {
    let outer = folder("inner");
    fs::create_dir(outer.join("some where")).unwrap();
    fs::write(outer.join("some where").join("any name.json"), golden_file("implicit_roots.json")).unwrap();
    fs::write(outer.join("notes.txt"), "{").unwrap();
    let output = golden(&[&outer]);
    assert!(output.status.success());
    let lines = stdout(&output);
    assert_eq!(lines.lines().count(), 6, "{lines}");
    assert!(lines.lines().all(|line| line.starts_with("pass some_where/any_name/")), "{lines}");
    let fields: Vec<&str> = lines.lines().next().unwrap().split(' ').collect();
    let [_, _, error, tolerance] = fields[..] else { panic!("{lines}") };
    assert!(error.parse::<f64>().unwrap() <= tolerance.parse::<f64>().unwrap());
}

#[test]
fn nothing_to_run_is_a_failure() {
    let empty = folder("empty");
    assert_eq!(golden(&[&empty]).status.code(), Some(1));

    let unknown = folder("unknown");
    fs::write(unknown.join("other.json"), r#"{"description": "of another kind", "grid": [1, 2]}"#).unwrap();
    let output = golden(&[&unknown]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), "skip other unrecognised shape\n"));

    let missing = empty.join("nowhere");
    let output = golden(&[&missing]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).starts_with("FAIL "), "{}", stdout(&output));
}

#[test]
fn one_bad_file_fails_the_run_and_stops_no_other() {
    let mixed = folder("mixed");
    let good = golden_file("implicit_roots.json");
    fs::write(mixed.join("a_truncated.json"), &good[..good.len() / 2]).unwrap();
    fs::write(mixed.join("b_empty.json"), "").unwrap();
    fs::write(mixed.join("c_not_text.json"), [0xff, 0xfe, 0x00]).unwrap();
    fs::write(mixed.join("d_deep.json"), "[".repeat(100_000)).unwrap();
    fs::write(mixed.join("e_good.json"), &good).unwrap();
    let output = golden(&[&mixed]);
    assert_eq!(output.status.code(), Some(1));
    let lines = stdout(&output);
    let verdicts: Vec<&str> = lines.lines().map(|line| &line[..4]).collect();
    assert_eq!(verdicts[..4], ["FAIL"; 4], "{lines}");
    assert_eq!(verdicts[4..], ["pass"; 6], "{lines}");
    assert!(lines.lines().take(4).all(|line| line.contains(" - - ")), "{lines}");
}

#[test]
fn shapes_of_other_papers_are_left_alone() {
    for other in [
        "null",
        "[]",
        "3.5",
        r#"{"columns": ["name", "size"], "rows": [["a", 1]]}"#,
        // Variational Bayes: inputs, prior, expected objects.
        r#"{"inputs": {"X": [[1.0]], "y": [1]}, "prior": {"a0": 1e-2}, "expected": {"w": [0.1]}}"#,
    ] {
        assert_eq!(check(other), ["skip case unrecognised shape"], "{other}");
    }
}

/// The small file with one thing changed.
fn changed(change: impl FnOnce(&mut serde_json::Value)) -> Vec<String> {
    changed_file("logistic_d2_fig3.json", change)
}

fn changed_file(name: &str, change: impl FnOnce(&mut serde_json::Value)) -> Vec<String> {
    let mut value = serde_json::from_str(&golden_file(name)).unwrap();
    change(&mut value);
    check(&value.to_string())
}

/// The only line of a case that is broken as a whole.
fn reason(lines: &[String]) -> &str {
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines[0].strip_prefix("FAIL case - - ").unwrap_or_else(|| panic!("{lines:?}"))
}

#[test]
fn broken_content_of_a_known_shape_fails_with_its_reason() {
    let cases: [(&str, Vec<String>); 12] = [
        ("y is missing", changed(|v| drop(v.as_object_mut().unwrap().remove("y")))),
        ("x is missing", changed(|v| drop(v.as_object_mut().unwrap().remove("x")))),
        ("prior_cov is missing", changed(|v| drop(v.as_object_mut().unwrap().remove("prior_cov")))),
        ("x[3][1] is not a finite number", changed(|v| v["x"][3][1] = "NaN".into())),
        ("x[7] has length 1, expected 2", changed(|v| v["x"][7] = serde_json::json!([1.0]))),
        ("x is not a matrix with rows and columns", changed(|v| v["x"] = serde_json::json!([]))),
        ("y has length 99, expected 100", changed(|v| drop(v["y"].as_array_mut().unwrap().pop()))),
        (
            "observation 4: label 2 is outside the support of the Bernoulli (labels 0 and 1) likelihood",
            changed(|v| v["y"][4] = 2.into()),
        ),
        ("prior_mean has length 3, expected 2", changed(|v| v["prior_mean"] = serde_json::json!([0.0, 0.0, 0.0]))),
        (
            "covariance is not positive definite (pivot 1)",
            changed(|v| v["prior_cov"] = serde_json::json!([[1.0, 2.0], [2.0, 1.0]])),
        ),
        (
            "prior_cov: \"identity\" is neither a matrix nor \"sigma0^2 * identity\"",
            changed(|v| v["prior_cov"] = "identity".into()),
        ),
        (
            "sigma0 = 0 must be positive and finite",
            changed(|v| {
                v["prior_cov"] = "sigma0^2 * identity".into();
                v["parameters"]["sigma0"] = 0.0.into();
            }),
        ),
    ];
    for (expected, lines) in cases {
        assert_eq!(reason(&lines), expected);
    }
    // Numbers that JSON cannot have.
    let text = golden_file("logistic_d2_fig3.json").replacen("1.9400103991889237", "NaN", 1);
    assert!(reason(&check(&text)).starts_with("malformed JSON"));
    let text = golden_file("logistic_d2_fig3.json").replacen("1.9400103991889237", "1e999", 1);
    assert!(reason(&check(&text)).starts_with("malformed JSON"));
}

#[test]
fn a_broken_part_fails_alone() {
    let lines = changed(|v| {
        v["algorithms"]["ekf"]["final_mean"][0] = "NaN".into();
        v["algorithms"]["qkf"]["trajectory"][1]["t"] = 101.into();
        v["algorithms"]["rvga_explicit"]["final_cov"] = serde_json::json!([[1.0]]);
        v["algorithms"]["new_method"] = serde_json::json!({});
        v["true_posterior"]["mean"] = serde_json::json!([1.0]);
    });
    let odd: Vec<&String> = lines.iter().filter(|line| !line.starts_with("pass ")).collect();
    assert_eq!(
        odd,
        [
            "FAIL case/ekf - - algorithms.ekf.final_mean[0] is not a finite number",
            "skip case/new_method unknown algorithm",
            "FAIL case/qkf - - algorithms.qkf.trajectory[1].t: beyond the last of 100 observations",
            "FAIL case/rvga_explicit - - algorithms.rvga_explicit.final_cov has length 1, expected 2",
            "FAIL case/true_posterior - - true_posterior.mean has length 1, expected 2",
        ]
    );
    assert!(lines.len() > 30, "{lines:?}");

    let lines = changed_file("kalman_linear.json", |v| {
        v["vector_observations"]["R"][0][1] = 5.0.into();
        v["expected"] = serde_json::json!([v["expected"][0], {"t": 10}]);
    });
    let odd: Vec<&String> = lines.iter().filter(|line| !line.starts_with("pass ")).collect();
    assert_eq!(odd.len(), 2, "{odd:?}");
    assert_eq!(odd[0], "FAIL case/t10 - - expected[1].mean is missing");
    assert!(odd[1].starts_with("FAIL case/vector_observations - - r is not symmetric"), "{}", odd[1]);
}

#[test]
fn rows_of_roots_are_checked_one_by_one() {
    let broken = |row: serde_json::Value| {
        let file = serde_json::json!({"columns": ["alpha0", "nu0", "y", "alpha", "nu"], "rows": [[0.5, 0.0, 1, 0.5, 0.0], row]});
        check(&file.to_string())
    };
    assert_eq!(
        reason(&broken(serde_json::json!([0.0, -1.0, 1, 0.0, 1.0]))),
        "rows[1][1]: a variance cannot be negative"
    );
    assert_eq!(reason(&broken(serde_json::json!([0.0, 1.0, 0.5, 0.0, 1.0]))), "rows[1][2]: a label is 0 or 1");
    assert_eq!(reason(&broken(serde_json::json!([0.0, 1.0, 1]))), "rows[1] has length 3, expected 5");
    assert_eq!(reason(&broken(serde_json::json!([0.0, 1.0, 1, "NaN", 1.0]))), "rows[1][3] is not a finite number");
    let lines = broken(serde_json::json!([0.0, 1.0, 1, 0.4, 0.8]));
    assert!(lines[0].starts_with("FAIL case/alpha ") && lines[0].ends_with(" at rows[1]"), "{lines:?}");
    let missing = r#"{"columns": ["alpha0", "nu0", "y", "nu"], "rows": [[0.0, 1.0, 1, 0.8]]}"#;
    assert_eq!(reason(&check(missing)), "columns: alpha is missing");
    assert_eq!(reason(&check(r#"{"columns": ["alpha0", "nu0", "y", "alpha", "nu"], "rows": []}"#)), "rows: no rows");
}

#[test]
fn descriptive_keys_are_optional_and_columns_may_stand_in_any_order() {
    let lines = changed_file("implicit_roots.json", |v| {
        let names: Vec<String> =
            v["columns"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
        let order = ["extra", "nu", "y", "alpha", "weight", "alpha0", "solver_of_authors_success", "nu0", "err"];
        let rows: Vec<serde_json::Value> = v["rows"]
            .as_array()
            .unwrap()
            .iter()
            .step_by(7)
            .map(|row| {
                let cell = |name: &&str| {
                    names.iter().position(|other| other == name).map_or("a word".into(), |i| row[i].clone())
                };
                order.iter().map(cell).collect()
            })
            .collect();
        *v = serde_json::json!({"columns": order, "rows": rows});
    });
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines.iter().all(|line| line.starts_with("pass ")), "{lines:?}");

    let lines = changed(|v| {
        for key in ["description", "paper", "parameters", "times", "authors_vs_exact_roots", "laplace_exact"] {
            v.as_object_mut().unwrap().remove(key);
        }
        for key in ["log_normaliser", "grid_refinement_error", "note"] {
            v["true_posterior"].as_object_mut().unwrap().remove(key);
        }
        for key in ["rvga_implicit", "qkf", "laplace_as_coded"] {
            v["algorithms"].as_object_mut().unwrap().remove(key);
        }
        v["algorithms"]["ekf"].as_object_mut().unwrap().remove("trajectory");
    });
    assert!(!lines.iter().any(|line| line.starts_with("FAIL ")), "{lines:?}");
    assert!(
        lines.iter().any(|line| line == "skip case/ekf/kl_normalised the file gives no log_normaliser"),
        "{lines:?}"
    );
    assert!(lines.iter().any(|line| line.starts_with("pass case/true_posterior/cov ")), "{lines:?}");
}
