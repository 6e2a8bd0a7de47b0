//! Files that survive: several processes at once, damage, outputs that are inputs, names that would move a terminal.

#![allow(clippy::unwrap_used, clippy::panic, clippy::format_push_string, reason = "a test")]

mod common;

use std::fs;
use std::path::Path;

use common::{command, folder, json, parts_left, refused, rvi, told};

/// Rows of two inputs and a number, from `seed` on.
fn rows(count: u32, seed: u32) -> String {
    let row = |t: u32| format!("{},{},{}\n", t % 7, (t * t) % 11, 2 * (t % 7) + t % 3);
    "a,b,y\n".to_owned() + &(seed..seed + count).map(row).collect::<String>()
}

/// A model of 60 rows in `m.rvi`, and `parts` files of 40 rows.
fn model(name: &str, parts: u32) -> std::path::PathBuf {
    let folder = folder(name);
    fs::write(folder.join("t.csv"), rows(60, 0)).unwrap();
    for part in 0..parts {
        fs::write(folder.join(format!("{part}.csv")), rows(40, 100 * (part + 1))).unwrap();
    }
    told(&folder, "fit t.csv -t y --family number -o m.rvi");
    folder
}

fn card(folder: &Path, model: &str) -> serde_json::Value {
    json(&told(folder, &format!("inspect {model} --json")))
}

#[test]
fn updates_at_once_lose_no_row_and_count_none_twice() {
    let folder = model("at-once", 12);
    for pair in (0..12).step_by(3) {
        let started: Vec<_> = (pair..pair + 3)
            .map(|part| {
                let line = format!("update m.rvi {part}.csv");
                command(&folder, &line).stdout(std::process::Stdio::null()).spawn().unwrap()
            })
            .collect();
        assert!(started.into_iter().all(|mut child| child.wait().unwrap().success()));
    }
    let card = card(&folder, "m.rvi");
    assert_eq!((card["rows"].as_u64(), card["data"].as_array().unwrap().len()), (Some(60 + 12 * 40), 13));
    assert_eq!(card["learned_twice"].as_array().unwrap().len(), 0, "{card}");
    assert_eq!(parts_left(&folder), 0);
}

#[cfg(unix)]
#[test]
fn an_update_waits_for_the_one_before_it() {
    let folder = model("waits", 1);
    let held = fs::File::open(folder.join("m.rvi")).unwrap();
    held.lock().unwrap();
    let mut child = command(&folder, "update m.rvi 0.csv").stdout(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none());
    assert_eq!(card(&folder, "m.rvi")["rows"], 60);
    held.unlock().unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(card(&folder, "m.rvi")["rows"], 100);
}

#[cfg(unix)]
#[test]
fn a_model_that_others_replace_meanwhile_is_not_overwritten() {
    use std::io::Write;
    let folder = model("overtaken", 1);
    fs::copy(folder.join("m.rvi"), folder.join("other.rvi")).unwrap();
    told(&folder, "update other.rvi 0.csv");
    let other = fs::read(folder.join("other.rvi")).unwrap();
    // These rows are more than a pipe holds: once they are written, the process has read its model. Then another program replaces the file.
    let mut child = command(&folder, "update m.rvi - --format csv");
    let mut child = child.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(rows(60_000, 900).as_bytes()).unwrap();
    fs::write(folder.join("m.rvi"), &other).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && text.contains("m.rvi: another program has changed"), "{text}");
    assert_eq!(fs::read(folder.join("m.rvi")).unwrap(), other);
    assert_eq!(parts_left(&folder), 0);
}

#[cfg(unix)]
#[test]
fn modes_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = model("links", 3);
    fs::create_dir(folder.join("far")).unwrap();
    fs::rename(folder.join("m.rvi"), folder.join("far/m.rvi")).unwrap();
    fs::set_permissions(folder.join("far/m.rvi"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("far/m.rvi", folder.join("near.rvi")).unwrap();
    symlink("near.rvi", folder.join("m.rvi")).unwrap();
    told(&folder, "update m.rvi 0.csv");
    assert!(folder.join("m.rvi").is_symlink() && folder.join("near.rvi").is_symlink());
    let mode = |name: &str| fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("far/m.rvi"), &card(&folder, "far/m.rvi")["rows"]), (0o640, &100.into()));
    // Where a link leads to nothing yet, the file comes there; what lies in the way of the old name of temporary files is left alone.
    symlink("far/new.rvi", folder.join("new.rvi")).unwrap();
    symlink("t.csv", folder.join("far/new.rvi.part")).unwrap();
    told(&folder, "update m.rvi 1.csv -o new.rvi");
    assert!(folder.join("new.rvi").is_symlink() && folder.join("far/new.rvi").is_file());
    assert_eq!(fs::read_to_string(folder.join("t.csv")).unwrap(), rows(60, 0));
    told(&folder, "predict m.rvi 1.csv -o /dev/null");
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn an_output_that_is_read_is_refused() {
    let folder = model("same", 1);
    fs::create_dir(folder.join("sub")).unwrap();
    told(&folder, "fit t.csv -t y --family number --unscaled --prior 1 -o plain.rvi");
    told(&folder, "export plain.rvi -o r.bin");
    let files = ["t.csv", "0.csv", "m.rvi", "plain.rvi", "r.bin"];
    let read = |name: &&str| fs::read(folder.join(name)).unwrap();
    let before: Vec<_> = files.iter().map(read).collect();
    for (line, words) in [
        ("fit t.csv -t y -o sub/../t.csv", "`--output sub/../t.csv` would overwrite the input t.csv"),
        ("fit t.csv -t y --html t.csv", "`--html t.csv` would overwrite the input t.csv"),
        ("fit 0.csv --like m.rvi -o m.rvi", "`--output m.rvi` would overwrite the model m.rvi"),
        ("update m.rvi 0.csv -o 0.csv", "`--output 0.csv` would overwrite the input 0.csv"),
        ("update m.rvi 0.csv -o ./m.rvi", "`--output ./m.rvi` would overwrite the model m.rvi"),
        ("predict m.rvi 0.csv -o m.rvi", "`--output m.rvi` would overwrite the model m.rvi"),
        ("predict m.rvi 0.csv -o 0.csv", "`--output 0.csv` would overwrite the input 0.csv"),
        ("inspect m.rvi --html m.rvi", "`--html m.rvi` would overwrite the model m.rvi"),
        ("resume m.rvi --html m.rvi", "`--html m.rvi` would overwrite the model m.rvi"),
        ("merge m.rvi plain.rvi -o plain.rvi", "`--output plain.rvi` would overwrite the model plain.rvi"),
        ("export plain.rvi -o plain.rvi", "`--output plain.rvi` would overwrite the model plain.rvi"),
        ("import r.bin --columns a,b -o r.bin", "`--output r.bin` would overwrite the record r.bin"),
        ("inspect m.rvi --robust t.csv --html t.csv", "`--html t.csv` would overwrite the input t.csv"),
        ("fit t.csv -t y -o n.rvi --html sub/../n.rvi", "`--html sub/../n.rvi` would overwrite the output n.rvi"),
        ("merge m.rvi plain.rvi -o n.rvi --html n.rvi", "`--html n.rvi` would overwrite the output n.rvi"),
        ("inspect m.rvi --groups g.csv --html ./g.csv", "`--html ./g.csv` would overwrite the output g.csv"),
        ("fit t.csv -t y -o n.rvi --plot n.rvi", "`--plot n.rvi` would overwrite the output n.rvi"),
        ("fit t.csv -t y --html sub/loss.svg --plot sub", "`--plot sub` would overwrite the output sub/loss.svg"),
    ] {
        let error = refused(&folder, line);
        assert!(error.contains(words), "{line}: {error}");
    }
    assert_eq!(files.iter().map(read).collect::<Vec<_>>(), before);
    assert!(!folder.join("n.rvi").exists());
    told(&folder, "fit t.csv -t y -o /dev/null --html /dev/null");
}

#[cfg(unix)]
#[test]
fn two_outputs_that_a_link_makes_one_are_refused() {
    let folder = model("linked", 1);
    std::os::unix::fs::symlink("n.rvi", folder.join("near.html")).unwrap();
    let error = refused(&folder, "fit t.csv -t y -o n.rvi --html near.html");
    assert!(error.contains("`--html near.html` would overwrite the output n.rvi"), "{error}");
    assert!(!folder.join("n.rvi").exists());
}

#[test]
fn no_bit_of_a_document_changes_unseen() {
    let folder = model("bits", 0);
    let whole = fs::read(folder.join("m.rvi")).unwrap();
    let known = card(&folder, "m.rvi");
    // A prime apart, so that every part of the document and every place within a byte is among them; all of the beginning, where the seal is.
    let apart = (8 * whole.len() / 120) | 1;
    let bits = (0..8 * whole.len()).step_by(apart).chain((0..8 * 48).step_by(5));
    for bit in bits {
        let mut changed = whole.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        fs::write(folder.join("c.rvi"), &changed).unwrap();
        let output = rvi(&folder, "inspect c.rvi --json");
        if output.status.success() {
            // The case of a digit of the checksum.
            assert_eq!(json(&String::from_utf8(output.stdout).unwrap()), known, "bit {bit} was changed unseen");
        }
    }
}

#[test]
fn rows_that_are_learned_again_are_named() {
    let folder = model("twice", 1);
    fs::copy(folder.join("0.csv"), folder.join("copy.csv")).unwrap();
    let first = rvi(&folder, "update m.rvi 0.csv");
    assert!(first.status.success() && first.stderr.is_empty());
    let again = rvi(&folder, "update m.rvi copy.csv");
    let warned = String::from_utf8(again.stderr).unwrap();
    assert!(again.status.success() && warned.contains("the rows of copy.csv are those of 0.csv"), "{warned}");
    let text = told(&folder, "inspect m.rvi");
    assert!(text.contains("140 rows learned") && text.contains("learned twice copy.csv (40 rows)"), "{text}");
}

#[test]
fn names_and_texts_of_files_move_no_terminal() {
    let folder = folder("control");
    let row = |t: u32| format!("{},\"{}\u{1b}[2J\u{9b}\nz\",{}\n", t % 7, ["u", "v"][t as usize % 2], t % 5 + t % 2);
    let rows: String = (0..80).map(row).collect();
    fs::write(folder.join("t.csv"), format!("a\u{1b}]0;x\u{7},b\u{202e},y\u{1b}[1m\n{rows}")).unwrap();
    let mut line = command(&folder, "fit t.csv --family number -o m.rvi --html page.html --plot plots -t");
    let text = line.arg("y\u{1b}[1m").output().unwrap();
    let mut shown = vec![
        ("summary", String::from_utf8(text.stdout).unwrap()),
        ("card", told(&folder, "inspect m.rvi --json")),
        ("page", fs::read_to_string(folder.join("page.html")).unwrap()),
        ("picture", fs::read_to_string(folder.join("plots/coefficients.svg")).unwrap()),
    ];
    fs::write(folder.join("bad.csv"), "a\u{1b}]0;x\u{7},b\u{202e},y\u{1b}[1m\n\u{1b}[2Jx,u,1\n").unwrap();
    shown.push(("error", refused(&folder, "update m.rvi bad.csv")));
    for (what, text) in shown {
        let moves = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(text.contains("1b") && !text.contains(moves), "{what}: {text:?}");
    }
    let text = told(&folder, "inspect m.rvi");
    assert!(text.contains("a\\u{1b}]0;x\\u{7}") && text.contains("\\u{1b}[2J\\u{9b}\\nz"), "{text}");
}
