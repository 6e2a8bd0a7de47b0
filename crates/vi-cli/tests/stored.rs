//! One small model file of each kind of each version, which every later version reads or refuses by name.

#![allow(clippy::unwrap_used, clippy::panic, clippy::format_push_string, reason = "a test")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{folder, json, refused, told};

/// What each form of the present version is made by.
const FORMS: [(&str, &str); 9] = [
    ("number", "number~a+c --family number"),
    ("low-rank", "number~a+c --family number --belief low-rank"),
    ("diagonal", "number~a+c --family number --belief diagonal"),
    ("count", "count~a+c --family count --prior 0.3"),
    ("two", "two~a+c --forget learned"),
    ("three", "three~a+c --prior 1"),
    ("mergeable", "number~a+c --family number --mergeable"),
    ("features", "number~a*c --family number --features poly:2 --ard"),
    ("refined", "two~a --prior 1 --refine 2"),
];

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored")
}

/// Every model of the fixtures, with their data, in a folder of its own.
fn copied(name: &str) -> (PathBuf, Vec<String>) {
    let folder = folder(name);
    let mut names = Vec::new();
    for entry in fs::read_dir(kept()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        fs::copy(&path, folder.join(&name)).unwrap();
        names.push(name);
    }
    names.retain(|name| name.contains(".rvi"));
    names.sort();
    (folder, names)
}

/// With `VI_WRITE_SEEDS=1` those of the present version are written anew.
#[test]
fn stored_models_of_each_version_are_read() {
    if std::env::var_os("VI_WRITE_SEEDS").is_some_and(|value| value == "1") {
        for (name, form) in FORMS {
            told(&kept(), &format!("fit data.csv -o v3-{name}.rvi --formula {form}"));
        }
    }
    let (folder, names) = copied("stored");
    for (name, _) in FORMS {
        assert!(names.contains(&format!("v3-{name}.rvi")), "{name}");
    }
    assert!(names.iter().any(|name| name.starts_with("v2-")));
    for name in names {
        let card = json(&told(&folder, &format!("inspect {name} --json")));
        assert_eq!(card["rows"], 70, "{name}");
        // Read, and written as it was; one of an earlier version as one of this.
        let before = fs::read_to_string(folder.join(&name)).unwrap();
        told(&folder, &format!("resume {name}"));
        let after = fs::read_to_string(folder.join(&name)).unwrap();
        assert!(after.starts_with("{\"seal\":") && json(&after)["rvi"] == 3);
        if name.starts_with("v3-") {
            assert!(after == before, "{name}");
        }
        assert_eq!(json(&told(&folder, &format!("inspect {name} --json"))), card, "{name}");
    }
}

#[test]
fn models_of_two_versions_are_not_merged() {
    let (folder, _) = copied("versions");
    let error = refused(&folder, "merge v3-mergeable.rvi v2-mergeable.rvi -o both.rvi");
    assert!(
        error.contains("v2-mergeable.rvi: a different model version (2, not 3) than in v3-mergeable.rvi"),
        "{error}"
    );
    fs::write(folder.join("v4.rvi"), "{\"seal\":{\"format\":1,\"checksum\":null},\"rvi\":4}").unwrap();
    assert!(refused(&folder, "inspect v4.rvi").contains("version 4; this `rvi` reads versions 2 and 3"));
}

/// Python writes models that have learned elsewhere, and scored nothing.
#[test]
fn a_model_without_scores_tells_none() {
    let (folder, _) = copied("unscored");
    let mut model = json(&fs::read_to_string(folder.join("v3-number.rvi")).unwrap());
    let scores = model["scores"].as_object_mut().unwrap();
    for (_, value) in scores.iter_mut() {
        *value = match value {
            serde_json::Value::Array(_) => serde_json::json!([]),
            serde_json::Value::Object(seen) => serde_json::json!({ "step": seen["step"], "kept": [] }),
            _ => 0.into(),
        };
    }
    scores["held"] = serde_json::json!([0, 0, 0]);
    model["passes"] = serde_json::json!([]);
    let rest = model.as_object().unwrap().iter().filter(|(key, _)| *key != "seal");
    let rest: Vec<String> = rest.map(|(key, value)| format!("\"{key}\":{value}")).collect();
    let text = format!("{{\"seal\":{{\"format\":1,\"checksum\":null}},{}}}", rest.join(","));
    fs::write(folder.join("m.rvi"), text).unwrap();
    let text = told(&folder, "inspect m.rvi");
    assert!(text.contains("70 rows learned") && !text.contains("scores ") && !text.contains("log loss"), "{text}");
    let card = json(&told(&folder, "inspect m.rvi --json"));
    assert_eq!((&card["scores"], &card["rows"]), (&serde_json::Value::Null, &70.into()));
}
