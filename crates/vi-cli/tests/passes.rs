//! Passes that are stopped, parts that are merged, models that are compared, and what a shell is told.

#![allow(clippy::unwrap_used, clippy::panic, clippy::format_push_string, clippy::format_collect, reason = "a test")]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{command, folder, json, parts_left, refused, rvi, sales, told};

const MANY: usize = 10_000;

/// Starts a pass and waits until it has stored a model for the first time.
fn begun(folder: &Path, line: &str, model: &str) -> Child {
    let child = command(folder, line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_mins(1);
    while !folder.join(model).exists() {
        assert!(Instant::now() < until, "no checkpoint");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

/// How many rows a stored model has read.
fn rows(folder: &Path, model: &str) -> u64 {
    json(&fs::read_to_string(folder.join(model)).unwrap())["passes"][0]["rows"].as_u64().unwrap()
}

/// Killed anywhere and run again, the model is that of a run that was never stopped, byte for byte.
#[test]
fn an_interrupted_pass_goes_on_with_the_same_bits() {
    let folder = folder("continue");
    let whole = sales(900, 3);
    fs::write(folder.join("data.csv"), &whole).unwrap();
    told(&folder, "fit data.csv -t sold -o straight.rvi --keep-order");
    // A run that ends at row 600 leaves what a kill after its checkpoint leaves.
    let part: String = whole.lines().take(601).map(|line| format!("{line}\n")).collect();
    fs::write(folder.join("data.csv"), part).unwrap();
    told(&folder, "fit data.csv -t sold -o stopped.rvi --sniff 500 --checkpoint 100 --keep-order");
    fs::write(folder.join("data.csv"), &whole).unwrap();
    told(&folder, "resume stopped.rvi --checkpoint 100");
    told(&folder, "fit data.csv -t sold -o straight.rvi --sniff 500 --keep-order");
    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(bytes("stopped.rvi") == bytes("straight.rvi"));
    assert_eq!(parts_left(&folder), 0);
}

/// A child that is killed, and one that is asked to stop: both go on to the bits of a pass that nobody stopped.
#[cfg(unix)]
#[test]
fn a_killed_pass_is_resumed_to_the_same_bits() {
    use std::os::unix::process::ExitStatusExt;

    let folder = folder("killed");
    fs::write(folder.join("data.csv"), sales(MANY, 5)).unwrap();
    told(&folder, "fit data.csv -t sold -o straight.rvi");
    let straight = fs::read(folder.join("straight.rvi")).unwrap();

    let mut child = begun(&folder, "fit data.csv -t sold -o m.rvi --checkpoint 300", "m.rvi");
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert!((300..MANY as u64).contains(&rows(&folder, "m.rvi")));
    told(&folder, "resume m.rvi");
    assert!(fs::read(folder.join("m.rvi")).unwrap() == straight);

    fs::remove_file(folder.join("m.rvi")).unwrap();
    let child = begun(&folder, "fit data.csv -t sold -o m.rvi --checkpoint 300", "m.rvi");
    let asked = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(asked.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("rvi: stopped after row ") && said.contains("`rvi resume m.rvi` continues"), "{said}");
    assert!(rows(&folder, "m.rvi") < MANY as u64 && parts_left(&folder) == 0);
    assert!(told(&folder, "inspect m.rvi").contains("`rvi resume` goes on"));
    fs::copy(folder.join("m.rvi"), folder.join("left.rvi")).unwrap();
    let more = command(&folder, "update left.rvi data.csv --output more.rvi").output().unwrap();
    assert!(String::from_utf8(more.stderr).unwrap().contains("`rvi resume` no longer learns its other rows"));
    fs::remove_file(folder.join("left.rvi")).unwrap();
    fs::remove_file(folder.join("more.rvi")).unwrap();
    // Elsewhere by now.
    fs::rename(folder.join("data.csv"), folder.join("moved.csv")).unwrap();
    assert!(refused(&folder, "resume m.rvi").contains("data.csv: "));
    fs::write(folder.join("other.csv"), sales(MANY, 6)).unwrap();
    assert!(refused(&folder, "resume m.rvi --data other.csv").contains("rows differ from those of the model"));
    told(&folder, "resume m.rvi --data moved.csv");
    assert!(fs::read(folder.join("m.rvi")).unwrap() == straight);
    // Nothing is left to learn.
    assert!(told(&folder, "resume m.rvi --data moved.csv").contains("0 rows learned"));
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = folder("pipe");
    fs::write(folder.join("data.csv"), sales(5000, 7)).unwrap();
    told(&folder, "fit data.csv -t sold -o m.rvi");
    let mut child =
        command(&folder, "predict m.rvi data.csv").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "row,mean,sd,lower,upper\n");
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

/// Models of two halves, scaled alike, are together the model of the whole: exactly so for a number with one prior.
#[test]
fn parts_are_merged_to_the_whole() {
    let folder = folder("merge");
    let whole = sales(1200, 8);
    let (head, lines) = whole.split_once('\n').unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    let write =
        |name: &str, lines: &[&str]| fs::write(folder.join(name), [head, &lines.join("\n")].join("\n") + "\n").unwrap();
    write("whole.csv", &lines);
    write("east.csv", &lines[..700]);
    write("west.csv", &lines[700..]);
    told(&folder, "fit east.csv -t sold --mergeable --shape line --sniff 700 -o east.rvi");
    told(&folder, "fit west.csv --like east.rvi -o west.rvi");
    told(&folder, "fit whole.csv --like east.rvi -o whole.rvi");
    let text = told(&folder, "merge east.rvi west.rvi -o both.rvi");
    assert!(text.contains("1,200 rows from 2 models") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let coefficients = |model: &str| json(&told(&folder, &format!("inspect {model} --json")))["coefficients"].clone();
    let (both, known, east) = (coefficients("both.rvi"), coefficients("whole.rvi"), coefficients("east.rvi"));
    let number = |line: &serde_json::Value, key: &str| line[key].as_f64().unwrap();
    for (k, line) in known.as_array().unwrap().iter().enumerate() {
        // The prior scale is learned by each, so that the two differ, but by little of what is not known.
        let away = (number(&both[k], "mean") - number(line, "mean")).abs();
        assert!(away < 0.2 * number(line, "sd"), "{line} {}", both[k]);
        let (sd, part) = (number(&both[k], "sd"), number(&east[k], "sd"));
        // A level that no row has is known as the prior scale says, which more rows may widen.
        let narrower = line["name"] == "place=(other)" || sd <= part * 1.01;
        assert!((sd / number(line, "sd") - 1.0).abs() < 0.1 && narrower, "{line} {} {part}", both[k]);
    }
    // A learned scale of the first rows serves only its own model.
    told(&folder, "fit west.csv -t sold -o alone.rvi");
    assert!(refused(&folder, "fit west.csv --like alone.rvi").contains("`fit --mergeable`"));
    assert!(refused(&folder, "merge east.rvi alone.rvi -o no.rvi").contains("`fit --like east.rvi`"));
    assert!(refused(&folder, "merge alone.rvi east.rvi -o no.rvi").contains("`fit --mergeable`"));
    assert!(refused(&folder, "merge east.rvi both.rvi -o no.rvi").contains("another model already contains"));
    assert!(!folder.join("no.rvi").exists());
}

#[test]
fn models_of_the_same_rows_are_ranked_by_evidence() {
    let folder = folder("compare");
    fs::write(folder.join("data.csv"), sales(800, 9)).unwrap();
    fs::write(folder.join("other.csv"), sales(800, 10)).unwrap();
    told(&folder, "fit data.csv -t sold -o full.rvi");
    told(&folder, "fit data.csv -t sold --ignore price -o poor.rvi");
    told(&folder, "fit other.csv -t sold -o other.rvi");
    let text = told(&folder, "compare poor.rvi full.rvi");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // The family was chosen by all rows.
    let against = "against the first, by 800 rows that all predicted before they learned them";
    assert!(text.contains(against) && text.contains("whenever you look (heuristic)"), "{text}");
    let found = json(&told(&folder, "compare poor.rvi full.rvi --json"));
    let against = &found["models"][1]["against"];
    let losses = [0, 1].map(|k: usize| found["models"][k]["log_loss"].as_f64().unwrap());
    // Each loss is good to rounding.
    assert!(
        (against["difference"].as_f64().unwrap() - (losses[1] - losses[0])).abs() < 1e-12
            && against["log_e_value"].as_f64().unwrap() > 100.0
    );
    assert!(against["interval"][0].as_f64().unwrap() > 0.0 && found["models"][0]["against"].is_null());
    assert_eq!(found["models"][0]["model"], "full.rvi");
    assert!(found["models"][1]["behind"].as_f64().unwrap() > 100.0);
    assert!(found["models"][0]["probability"].as_f64().unwrap() > 0.999);
    assert!(refused(&folder, "compare full.rvi other.rvi").contains("learned other rows"));
    assert_eq!(rvi(&folder, "compare full.rvi").status.code(), Some(2));
}

#[test]
fn shells_and_manuals_are_told_of_every_command() {
    let folder = folder("shell");
    let bash = told(&folder, "completions bash");
    assert!(bash.contains("resume") && bash.contains("--skip-bad"));
    assert!(told(&folder, "completions fish").contains("rvi") && told(&folder, "man").contains(".TH rvi"));
    assert!(told(&folder, "--help").contains("Exit codes: 0, success"));
    told(&folder, "man pages");
    assert!(fs::read_to_string(folder.join("pages/rvi-fit.1")).unwrap().contains("target"));
}

type Label<'a> = dyn Fn(f64, f64) -> String + 'a;

/// Rows `x,z,y` of labels that `label` draws from a number between 0 and 1 and a slope, sorted by their labels or as they came.
fn labelled(rows: usize, sorted: bool, label: &Label<'_>) -> String {
    use rand::{RngExt, SeedableRng};

    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(17);
    let mut lines: Vec<(String, String)> = (0..rows)
        .map(|_| {
            let (x, z) = (rng.random_range(-2.0..2.0_f64), rng.random_range(-2.0..2.0_f64));
            let y = label(rng.random(), x - 0.5 * z);
            (y.clone(), format!("{x:.4},{z:.4},{y}\n"))
        })
        .collect();
    if sorted {
        lines.sort();
    }
    std::iter::once("x,z,y\n".to_owned()).chain(lines.into_iter().map(|(_, line)| line)).collect()
}

/// A file that is sorted by its target is read again, and its model is that of a random order: in what it says of new rows and in its
/// evidence. Where it cannot or must not be read again, that is said.
#[test]
fn rows_that_are_sorted_by_their_target_are_learned_in_a_random_order() {
    let folder = folder("order");
    let logit = |u: f64, t: f64| u8::from(u < 1.0 / (1.0 + (-t).exp()));
    let two = |u: f64, t: f64| ["no", "yes"][usize::from(logit(u, t))].to_owned();
    let three = |u: f64, t: f64| ["a", "b", "c"][usize::from(logit(u, t) + logit(u * u, t + 1.0))].to_owned();
    let count = |u: f64, t: f64| (0..3).filter(|k| u < (0.3 * t).exp() / f64::from(3 + k)).count().to_string();
    // Of three classes all these rows are fitted together, in an order of its own.
    let kinds: [(&str, bool, &Label<'_>); 3] =
        [("auto", true, &two), ("classes", false, &three), ("count --prior .5", true, &count)];
    for (family, suffers, label) in kinds {
        for (name, sorted) in [("random", false), ("sorted", true)] {
            fs::write(folder.join(format!("{name}.csv")), labelled(1200, sorted, label)).unwrap();
        }
        let fit = |file: &str, more: &str| {
            let output = rvi(&folder, &format!("fit {file}.csv -t y --family {family} -o {file}.rvi {more} --json"));
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let card = json(&String::from_utf8(output.stdout).unwrap());
            let evaluated = json(&told(&folder, &format!("evaluate {file}.rvi random.csv --json")));
            let loss = evaluated["scores"]["log_loss"].as_f64().unwrap();
            (loss, card, String::from_utf8(output.stderr).unwrap())
        };
        let (random, sorted, kept) = (fit("random", ""), fit("sorted", ""), fit("sorted", "--keep-order"));
        let evidence = |card: &serde_json::Value| card["evidence"].as_f64().unwrap();
        assert!((sorted.0 - random.0).abs() < 0.02, "{family}: {} {}", sorted.0, random.0);
        assert!((evidence(&sorted.1) - evidence(&random.1)).abs() < 8.0, "{family}");
        assert_eq!(kept.0 > random.0 + 0.05, suffers, "{family}: {}", kept.0);
        let excess = evidence(&kept.1) - evidence(&random.1);
        assert!(if suffers { excess > 50.0 } else { excess.abs() < 8.0 }, "{family}: {excess}");
        let said = kept.2.starts_with("rvi: the model is unreliable: labels come in runs");
        assert_eq!(said, suffers, "{family}: {}", kept.2);
        assert!(random.2.is_empty() && sorted.2.is_empty(), "{}", sorted.2);
        // What each row was predicted to be on the way stays that of the file, and is labelled.
        assert_eq!(sorted.1["scores"], kept.1["scores"]);
        let of = |card: &serde_json::Value, key: &str| card[key].clone();
        assert_eq!([of(&random.1, "scores_in_order"), of(&sorted.1, "scores_in_order")], [false, true]);
        assert!(of(&random.1, "scores_in_random_order").is_null() && of(&sorted.1, "order")["in_runs"] == false);
    }
    let text = told(&folder, "fit sorted.csv -t y --family count --prior .5");
    for line in [
        "    in random order\n",
        "    in the file's order, which is not random\n",
        "  order       labels come in runs (",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let text = told(&folder, "inspect sorted.rvi");
    assert!(text.contains("one pass: shuffle them") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    told(&folder, "fit sorted.csv -t y --family count --prior .5 -o again.rvi");
    let text = told(&folder, "compare again.rvi sorted.rvi");
    assert!(text.contains("sorted.rvi: its labels came in runs"), "{text}");
    assert_eq!(text.matches("came in runs").count(), 1, "{text}");
}

/// A fit that is stopped in its random order is resumed to the bits of one that nobody stopped; until then the model tells that the order matters.
#[cfg(unix)]
#[test]
fn a_stopped_random_order_is_resumed_to_the_same_bits() {
    let folder = folder("stopped-order");
    let label = |u: f64, t: f64| u8::from(u < 1.0 / (1.0 + (-t).exp())).to_string();
    fs::write(folder.join("data.csv"), labelled(20_000, true, &label)).unwrap();
    told(&folder, "fit data.csv -t y --shape line -o straight.rvi");
    let child = begun(&folder, "fit data.csv -t y --shape line -o m.rvi", "m.rvi");
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(130) && said.contains("`rvi resume m.rvi` goes on"), "{said}");
    let text = told(&folder, "inspect m.rvi");
    assert!(text.contains("were not learned again in random order") && !text.contains("hardly affected"), "{text}");

    // A pipe cannot be read again.
    fs::copy(folder.join("m.rvi"), folder.join("piped.rvi")).unwrap();
    let piped = fs::File::open(folder.join("data.csv")).unwrap();
    let output = command(&folder, "resume piped.rvi --data -").stdin(piped).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("the rows were not learned again in random order"), "{said}");
    assert!(fs::read(folder.join("piped.rvi")).unwrap() == fs::read(folder.join("m.rvi")).unwrap());

    told(&folder, "resume m.rvi");
    assert!(fs::read(folder.join("m.rvi")).unwrap() == fs::read(folder.join("straight.rvi")).unwrap());
    told(&folder, "fit data.csv -t y --shape line -o kept.rvi --keep-order");
    let kept = fs::read(folder.join("kept.rvi")).unwrap();
    told(&folder, "resume kept.rvi");
    assert!(fs::read(folder.join("kept.rvi")).unwrap() == kept);
}

/// A file that is sorted by a class which its first 2000 rows do not show is learned with all classes; one text by itself stays a mistake.
#[test]
fn classes_that_come_late_are_read_from_the_whole_file() {
    let folder = folder("late-classes");
    let table = |of: &dyn Fn(usize) -> &'static str| -> String {
        (0..2100).map(|t| format!("{},{}\n", t * 7 % 13, of(t))).fold("x,y\n".to_owned(), |text, row| text + &row)
    };
    fs::write(folder.join("two.csv"), table(&|t| if t < 2050 { "no" } else { "yes" })).unwrap();
    fs::write(folder.join("three.csv"), table(&|t| ["a", "b", "c"][t / 1030])).unwrap();
    fs::write(folder.join("slip.csv"), table(&|t| if t == 2050 { "yse" } else { ["no", "yes"][t % 2] })).unwrap();
    fs::write(folder.join("one.csv"), table(&|_| "no")).unwrap();
    for (name, classes) in [("two", "the probability of `yes`"), ("three", "one of 3 classes")] {
        assert!(told(&folder, &format!("fit {name}.csv -t y")).contains(classes), "{name}");
        let output = rvi(&folder, &format!("fit {name}.csv -t y --keep-order"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() && said.contains("learning the file again with the classes of all its rows"),
            "{said}"
        );
        assert!(String::from_utf8(output.stdout).unwrap().contains(classes), "{name}");
    }
    for (name, what) in [("slip", "row 2051, column `y`: `yse` is not a class"), ("one", "only `no` in the first rows")]
    {
        let output = rvi(&folder, &format!("fit {name}.csv -t y --keep-order"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && said.lines().last().unwrap().contains(what), "{said}");
    }
}

/// An update of few rows does not pay for the fit of first rows, which whoever asks the model does.
#[test]
fn an_update_leaves_the_fit_of_first_rows_to_who_asks() {
    let folder = folder("cheap-update");
    let label = |u: f64, t: f64| ["no", "yes"][usize::from(u < 1.0 / (1.0 + (-t).exp()))].to_owned();
    let (head, more) = (labelled(150, false, &label), labelled(160, false, &label));
    let more = format!("x,z,y\n{}", more.lines().skip(151).map(|line| format!("{line}\n")).collect::<String>());
    fs::write(folder.join("rows.csv"), head).unwrap();
    fs::write(folder.join("more.csv"), more).unwrap();
    told(&folder, "fit rows.csv -t y -o before.rvi");
    let evidence = |line: &str| {
        let text = told(&folder, line);
        assert!(text.contains("still gathering the first rows"), "{text}");
        text.lines().find(|line| line.starts_with("evidence")).unwrap().to_owned()
    };
    assert_ne!(evidence("update before.rvi more.csv -o m.rvi"), evidence("inspect m.rvi"));
    let card = |line: &str| json(&told(&folder, line))["coefficients"].clone();
    assert_eq!(card("update before.rvi more.csv -o m.rvi --json"), card("inspect m.rvi --json"));
}

/// Passes over a file take several classes too.
#[test]
fn classes_are_refined_over_a_file() {
    let folder = folder("refined-classes");
    let logit = |u: f64, t: f64| usize::from(u < 1.0 / (1.0 + (-t).exp()));
    let label = |u: f64, t: f64| ["a", "b", "c"][logit(u, t) + logit(u * u, t + 1.0)].to_owned();
    fs::write(folder.join("rows.csv"), labelled(600, false, &label)).unwrap();
    let card = json(&told(&folder, "fit rows.csv -t y --refine 20 --json"));
    let refined = &card["refined"];
    assert!(refined["converged"] == true && refined["gained"].as_f64().unwrap() > 0.0, "{refined}");

    // A pass that was learned first is refined to the same bits.
    told(&folder, "fit rows.csv -t y -o whole.rvi --refine 20");
    told(&folder, "fit rows.csv -t y -o later.rvi");
    let pass = fs::read(folder.join("later.rvi")).unwrap();
    told(&folder, "resume later.rvi --refine 20");
    let [whole, later] = ["whole.rvi", "later.rvi"].map(|name| fs::read(folder.join(name)).unwrap());
    assert!(later == whole && later != pass);
}
