//! Tables as people have them, with nothing set but the target.

#![allow(clippy::unwrap_used, clippy::panic, clippy::format_push_string, clippy::format_collect, reason = "a test")]

mod common;

use std::fs;
use std::path::Path;

use common::{folder, json, refused, told};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Rows of a year, a rate and a count that grows with both: the inputs are far from 0, and their scales unlike.
fn counts(rows: usize) -> String {
    let row = |t: usize| {
        let (year, rate) = (1900 + t % 90, (t * 37 % 100) as f64 / 10.0);
        format!("{year},{rate},{}\n", t % 5 + usize::from(rate > 5.0) * 4)
    };
    "year,rate,deaths\n".to_owned() + &(0..rows).map(row).collect::<String>()
}

#[test]
fn counts_are_learned_though_their_first_predictions_overflow() {
    let folder = folder("ordinary-counts");
    fs::write(folder.join("t.csv"), counts(200)).unwrap();
    let text = told(&folder, "fit t.csv -t deaths --family count -o m.rvi");
    assert!(text.contains("200 rows learned") && text.contains("only in the log loss"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let scores = json(&told(&folder, "inspect m.rvi --json"))["scores"].clone();
    let of = |name: &str| scores[name].as_f64().unwrap();
    assert!(of("unexpected") < 5.0 && of("log_loss") < 4.0 && of("rmse") < 2.0 * of("plain_rmse"), "{scores:#}");
    assert!(told(&folder, "evaluate m.rvi t.csv").contains("200 rows"));
    // An outlier in the inputs, whose count the model would not have dreamt of.
    fs::write(folder.join("far.csv"), "year,rate,deaths\n1e9,3,2\n1950,-1e12,0\n").unwrap();
    assert!(told(&folder, "update m.rvi far.csv").contains("2 rows learned"));
    told(&folder, "evaluate m.rvi t.csv");
}

/// Catches of parties, of which 45 % did not fish.
#[test]
fn excess_zeros_are_found_and_their_share_is_told() {
    let folder = folder("ordinary-zeros");
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let row = |_| {
        let (people, camper) = (rng.random_range(1..6), rng.random_range(0..2));
        let rate = (0.3 + 0.3 * f64::from(people) + 0.5 * f64::from(camper)).exp();
        let fished = rng.random::<f64>() > 0.45;
        // A count of the mean `rate`: arrivals until the time is over.
        let mut time = 0.0;
        let arrivals = std::iter::repeat_with(|| {
            time -= rng.random::<f64>().ln() / rate;
            time
        });
        let caught = arrivals.take_while(|time| *time < 1.0).count();
        format!("{people},{camper},{}\n", if fished { caught } else { 0 })
    };
    fs::write(folder.join("t.csv"), "people,camper,fish\n".to_owned() + &(0..600).map(row).collect::<String>())
        .unwrap();
    let text = told(&folder, "fit t.csv -t fish --family count -o m.rvi");
    assert!(text.contains("family        zero-inflated by") && text.contains("% are excess zeros"), "{text}");
    let asked = told(&folder, "fit t.csv -t fish --family zero-inflated -o asked.rvi");
    assert!(!asked.contains("nats before") && asked.contains("% are excess zeros"), "{asked}");
    let zeros = json(&told(&folder, "inspect asked.rvi --json"))["excess_zeros"].clone();
    let of = |name: &str| zeros[name].as_f64().unwrap();
    assert!(of("lower") < 0.45 && 0.45 < of("upper") && of("lower") < of("share"), "{zeros}");
    // Beside the excess zeros they are Poisson counts, whose size is infinite.
    let size = json(&told(&folder, "inspect asked.rvi --json"))["size"].clone();
    let of = |name: &str| size[name].as_f64().unwrap();
    assert!(of("upper") > 20.0 && of("lower") < of("value") && asked.contains("of a count mean + mean²/"), "{size}");
    assert!(
        refused(&folder, "fit t.csv -t fish --family zero-inflated --belief diagonal -o d.rvi")
            .contains("excess zeros")
    );
}

/// Ratings of a sequential model, and the same in words.
#[test]
fn classes_in_order_have_one_predictor_and_cut_points() {
    const WORDS: [&str; 4] = ["bad", "fair", "good", "best"];
    let folder = folder("ordinary-ordered");
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let (mut numbers, mut words) = ("price,town,stars\n".to_owned(), "price,town,stars\n".to_owned());
    for _ in 0..500 {
        let (price, town) = (rng.random::<f64>() * 4.0, usize::from(rng.random::<f64>() < 0.5));
        let eta = 1.2 * price - 2.0 + town as f64;
        let beyond = |cut: &&f64| rng.random::<f64>() < 1.0 / (1.0 + (*cut - eta).exp());
        let class = [-1.0, 0.0, 1.0].iter().take_while(beyond).count();
        numbers += &format!("{price:.3},{},{}\n", ["Ulm", "Bonn"][town], class + 1);
        words += &format!("{price:.3},{},{}\n", ["Ulm", "Bonn"][town], WORDS[class]);
    }
    fs::write(folder.join("t.csv"), &numbers).unwrap();
    fs::write(folder.join("w.csv"), &words).unwrap();
    let text = told(&folder, "fit t.csv -t stars --family ordered --shape line -o m.rvi");
    assert!(text.contains("stars, one of 4 classes in order") && text.contains("cut points    1|2"), "{text}");
    assert!(text.contains("of the log odds of a higher class"), "{text}");
    let card = json(&told(&folder, "inspect m.rvi --json"));
    let mean = |k: usize| card["cut_points"][k]["mean"].as_f64().unwrap();
    assert!(card["cut_points"].as_array().unwrap().len() == 3 && mean(0) < mean(2), "{card}");
    assert!(card["coefficients"].as_array().unwrap().iter().all(|own| own["name"] != "0|1"));

    let refusal = refused(&folder, "fit w.csv -t stars --family ordered -o w.rvi");
    assert!(refusal.contains("texts have no order: `--classes low,mid,high` names all classes"), "{refusal}");
    told(&folder, "fit w.csv -t stars --family ordered --classes bad,fair,good,best --shape line -o w.rvi");
    let [own, other] = ["m", "w"].map(|name| told(&folder, &format!("predict {name}.rvi t.csv")));
    let values = |text: &str| text.lines().nth(1).unwrap().splitn(3, ',').last().unwrap().to_owned();
    let header = |text: &str| text.lines().next().unwrap().to_owned();
    assert_eq!(
        [&own, &other].map(|text| header(text)),
        ["row,class,p(1),p(2),p(3),p(4)", "row,class,p(bad),p(fair),p(good),p(best)"]
    );
    assert_eq!(values(&own), values(&other));
    assert!(told(&folder, "predict m.rvi t.csv --certified").starts_with("row,class,set,p(1)"));

    // A softmax has two predictors more to learn.
    let loss = |family: &str| {
        told(&folder, &format!("fit t.csv -t stars --family {family} --shape line -o l.rvi"));
        json(&told(&folder, "inspect l.rvi --json"))["scores"]["log_loss"].as_f64().unwrap()
    };
    let (ordered, classes) = (loss("ordered"), loss("classes"));
    assert!(ordered < classes, "{ordered} {classes}");

    assert!(told(&folder, "evaluate m.rvi t.csv").contains("log loss"));
    assert!(told(&folder, "explain m.rvi t.csv").contains("price"));
    told(&folder, "update m.rvi t.csv -o more.rvi");
    told(&folder, "inspect m.rvi --html page.html");
    told(&folder, "fit t.csv -t stars --family ordered -o curves.rvi --refine 10 --html fit.html");
    fs::write(folder.join("six.csv"), "price,town,stars\n1,Ulm,6\n").unwrap();
    assert!(refused(&folder, "update m.rvi six.csv").contains("`6` is not a class that the first rows have shown"));
    told(&folder, "fit t.csv -t stars --family ordered --ignore town --unscaled --prior 1 -o plain.rvi");
    assert!(refused(&folder, "export plain.rvi -o p.bin").contains("no record holds more than two classes"));
    told(&folder, "fit t.csv -t stars --family ordered --mergeable --shape line -o a.rvi");
    let others: Vec<&str> = std::iter::once("price,town,stars").chain(numbers.lines().rev().take(500)).collect();
    fs::write(folder.join("u.csv"), others.join("\n") + "\n").unwrap();
    told(&folder, "fit u.csv --like a.rvi -o b.rvi");
    told(&folder, "merge a.rvi b.rvi -o both.rvi");
    assert_eq!(json(&told(&folder, "inspect both.rvi --json"))["rows"], 1000);
}

/// Times with the hazard `e^(dose − 3)` per month, seen for two years at most.
#[test]
fn times_of_events_have_medians_and_hazards() {
    let folder = folder("ordinary-times");
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut text = "dose,town,months,died\n".to_owned();
    for _ in 0..400 {
        let (dose, town) = (rng.random::<f64>() * 2.0, rng.random_range(0..2_usize));
        let (event, until) = (-rng.random::<f64>().ln() * (3.0 - dose).exp(), 24.0 * rng.random::<f64>().sqrt());
        text += &format!(
            "{dose:.3},{},{:.4},{}\n",
            ["Ulm", "Bonn"][town],
            event.min(until).max(1e-3),
            u8::from(event < until)
        );
    }
    fs::write(folder.join("t.csv"), &text).unwrap();
    fs::write(folder.join("r.csv"), text.replace(",1\n", ",2\n").replace(",0\n", ",1\n")).unwrap();
    fs::write(folder.join("b.csv"), text.replace(",1\n", ",TRUE\n").replace(",0\n", ",FALSE\n")).unwrap();
    let output = told(&folder, "fit t.csv --formula Surv(months,died)~. -o m.rvi");
    assert!(output.contains("months, the time of an event where `died` is 1, else censored"), "{output}");
    assert!(output.contains("log hazards   0–") && output.contains("of the log hazard, 90 %"), "{output}");
    assert!(output.contains("censored") && output.contains("without inputs"), "{output}");
    let card = json(&told(&folder, "inspect m.rvi --json"));
    let dose = card["coefficients"].as_array().unwrap().iter().find(|own| own["name"] == "dose").unwrap();
    assert!((dose["mean"].as_f64().unwrap() - 1.0).abs() < 3.0 * dose["sd"].as_f64().unwrap(), "{dose}");
    assert!(card["log_hazards"].as_array().unwrap().len() > 5 && card["cut_points"].is_null());
    let scores = &card["scores"];
    assert_eq!(scores["events"].as_u64().unwrap() + scores["censored"].as_u64().unwrap(), 400);
    assert!(scores["log_loss"].as_f64().unwrap() < scores["plain_log_loss"].as_f64().unwrap());

    let predicted = told(&folder, "predict m.rvi t.csv");
    assert!(predicted.starts_with("row,median,lower,upper\n"), "{predicted}");
    // Events are the larger of two values, however they are written.
    for other in ["r", "b"] {
        told(&folder, &format!("fit {other}.csv --formula Surv(months,died)~. -o o.rvi"));
        assert_eq!(told(&folder, "predict o.rvi t.csv"), predicted);
    }
    assert!(refused(&folder, "predict m.rvi t.csv --certified").contains("certified interval of a time"));
    assert!(refused(&folder, "update m.rvi r.csv").contains("column `died`: `2` is not 0 or 1"));
    assert!(refused(&folder, "export m.rvi -o p.bin").contains("record"));
    assert!(told(&folder, "evaluate m.rvi t.csv").contains("log loss"));
    assert!(told(&folder, "explain m.rvi t.csv").contains("dose"));
    told(&folder, "update m.rvi t.csv -o more.rvi");
    told(&folder, "inspect m.rvi --html page.html");
    told(&folder, "fit t.csv -t Surv(months,died) -o curves.rvi --refine 5 --html fit.html");
    told(&folder, "fit t.csv -t Surv(months,died) --mergeable --shape line -o a.rvi");
    let half = format!("dose,town,months,died\n{}", text[text.len() / 2..].split_once('\n').unwrap().1);
    fs::write(folder.join("half.csv"), half).unwrap();
    told(&folder, "fit half.csv --like a.rvi -o c.rvi");
    told(&folder, "merge a.rvi c.rvi -o both.rvi");
    assert!(json(&told(&folder, "inspect both.rvi --json"))["rows"].as_u64().unwrap() > 550);
    fs::write(folder.join("zero.csv"), "dose,town,months,died\n1,Ulm,0,1\n").unwrap();
    assert!(refused(&folder, "update m.rvi zero.csv").contains("`0` is not a positive, finite time"));
}

/// Lead in wells, `log₂ = 1 + ½·depth + ½·noise`, of which a laboratory tells nothing below 1 and above 16 but that.
#[test]
fn numbers_beyond_the_limits_of_a_meter_are_ranges() {
    let folder = folder("ordinary-ranges");
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let (mut marked, mut columns, mut at_limit) =
        ("depth,lead\n".to_owned(), "depth,low,high\n".to_owned(), String::new());
    let mut ranges = 0;
    for _ in 0..600 {
        let [depth, u, turn] = [(); 3].map(|()| rng.random::<f64>());
        let (depth, noise) = (4.0 * depth - 2.0, (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * turn).cos());
        let lead = (1.0 + 1.5 * depth + 0.5 * noise).exp2();
        let [text, low, high] = match lead {
            lead if lead < 1.0 => ["<1", "", "1"].map(str::to_owned),
            lead if lead > 16.0 => ["> 16", "16", ""].map(str::to_owned),
            lead => [lead, lead, lead].map(|lead| format!("{lead:.4}")),
        };
        ranges += u64::from(text.contains(['<', '>']));
        at_limit += &format!("{depth:.3},{}\n", text.replace(['<', '>', ' '], ""));
        marked += &format!("{depth:.3},{text}\n");
        columns += &format!("{depth:.3},{low},{high}\n");
    }
    fs::write(folder.join("m.csv"), &marked).unwrap();
    fs::write(folder.join("c.csv"), &columns).unwrap();
    fs::write(folder.join("l.csv"), format!("depth,lead\n{at_limit}")).unwrap();
    let output = told(&folder, "fit m.csv -t lead --shape line -o m.rvi");
    assert!(output.contains("lead, a number") && output.contains("log-robust"), "{output}");
    assert!(output.contains(&format!("known as a range {ranges:>26}")), "{output}");
    assert!(output.lines().all(|line| line.chars().count() <= 80), "{output}");
    let slope = |model: &str| {
        let card = json(&told(&folder, &format!("inspect {model} --json")));
        let depth = card["coefficients"].as_array().unwrap().iter().find(|own| own["name"] == "depth").unwrap().clone();
        (depth["mean"].as_f64().unwrap(), depth["sd"].as_f64().unwrap())
    };
    // The natural logarithm's slope.
    let ((mean, sd), truth) = (slope("m.rvi"), 1.5 * 2_f64.ln());
    assert!((mean - truth).abs() < 3.0 * sd && sd < 0.05, "{mean} {sd} {truth}");
    // Limits in place of ranges flatten it.
    told(&folder, "fit l.csv -t lead --shape line --family log-robust -o l.rvi");
    assert!(slope("l.rvi").0 < truth - 0.15, "{:?}", slope("l.rvi"));

    let output = told(&folder, "fit c.csv --formula between(low,high)~depth -o c.rvi");
    assert!(output.contains("a number between low and high"), "{output}");
    assert_eq!(slope("c.rvi"), slope("m.rvi"));
    let scores = json(&told(&folder, "inspect c.rvi --json"))["scores"].clone();
    assert_eq!(scores["ranges"].as_u64(), Some(ranges));
    let held = scores["coverage"][1][1].as_f64().unwrap();
    // Three deviations of 600 rows; a range is a number drawn from its prediction.
    assert!((held - 0.9).abs() < 0.04, "{held}");
    told(&folder, "fit c.csv -t between(low,high) -o t.rvi");
    for model in ["m", "c"] {
        let more = told(&folder, &format!("update {model}.rvi {model}.csv -o more.rvi"));
        assert!(more.contains("600 rows learned"), "{more}");
        assert!(told(&folder, &format!("evaluate {model}.rvi {model}.csv")).contains("known as a range"));
        told(&folder, &format!("predict {model}.rvi {model}.csv --certified"));
        told(&folder, &format!("inspect {model}.rvi --html page.html --plot plots"));
    }
    // A mark that only later rows have begins the pass anew.
    let (head, body) = marked.split_once('\n').unwrap();
    let (known, others): (Vec<&str>, Vec<&str>) = body.lines().partition(|line| !line.contains(['<', '>']));
    let late = [vec![head], known, others].concat().join("\n");
    fs::write(folder.join("late.csv"), late).unwrap();
    let output = told(&folder, "fit late.csv -t lead --shape line --sniff 100 -o late.rvi");
    assert!((slope("late.rvi").0 - truth).abs() < 0.1, "{output} {:?}", slope("late.rvi"));
    // Models of other noise refuse it by its row, and say what takes it.
    told(&folder, "fit l.csv -t lead --family gaussian -o g.rvi");
    let text = refused(&folder, "update g.rvi m.csv");
    let why =
        "`<1` is not a finite number (`--skip-bad` skips such rows; models of `--family robust` take such ranges)";
    assert!(text.contains(why), "{text}");
    assert!(refused(&folder, "fit c.csv -t between(low,high) --family gaussian -o g.rvi").contains("no ranges"));
    assert!(refused(&folder, "fit m.csv -t lead --ard -o g.rvi").contains("only known to lie in a range"));
}

#[test]
fn a_pass_that_learns_nothing_is_an_error() {
    let folder = folder("ordinary-nothing");
    fs::write(folder.join("t.csv"), "x,y\n1,2\n2,3\n3,5\n").unwrap();
    fs::write(folder.join("bad.csv"), "x,y\none,2\ntwo,3\n").unwrap();
    fs::write(folder.join("blank.csv"), "x,y\n1,\n2,\n").unwrap();
    told(&folder, "fit t.csv -t y -o m.rvi");
    let before = fs::read(folder.join("m.rvi")).unwrap();
    let text = refused(&folder, "update m.rvi bad.csv --skip-bad");
    assert!(text.contains("no row was used; the first: ") && text.contains("`one` is not a number"), "{text}");
    assert!(refused(&folder, "update m.rvi blank.csv").contains("no row was used: no row has a target"));
    fs::write(folder.join("header.csv"), "x,y\n").unwrap();
    assert!(refused(&folder, "update m.rvi header.csv").contains("header.csv: the file has no rows"));
    assert_eq!(fs::read(folder.join("m.rvi")).unwrap(), before);
}

/// One word among many numbers is an error of its row, or is left out: no class, and no column of texts.
#[test]
fn a_slip_among_numbers_is_named_with_its_row() {
    let folder = folder("ordinary-slip");
    for (name, slip) in [("word.csv", "hello"), ("inf.csv", "inf"), ("far.csv", "1e309")] {
        let label = |t: usize| if t == 150 { slip.to_owned() } else { format!("{}.5", t * 7 % 83) };
        let rows: String = (0..300).map(|t| format!("{},{}\n", t % 40, label(t))).collect();
        fs::write(folder.join(name), format!("x,y\n{rows}")).unwrap();
        let said = refused(&folder, &format!("fit {name} -t y -o m.rvi"));
        assert!(said.contains("row 151") && said.contains(&format!("`{slip}` is not a finite number")), "{said}");
        let left_out = told(&folder, &format!("fit {name} -t y --skip-bad -o m.rvi"));
        assert!(left_out.contains("y, a number") && left_out.contains("299 rows learned"), "{left_out}");
        let age = |t: usize| if t == 150 { slip.to_owned() } else { (t % 40).to_string() };
        let rows: String = (0..300).map(|t| format!("{},{}\n", age(t), t * 7 % 83)).collect();
        fs::write(folder.join(name), format!("x,y\n{rows}")).unwrap();
        let said = refused(&folder, &format!("fit {name} -t y -o m.rvi"));
        assert!(said.contains("row 151") && said.contains("`x`") && said.contains(slip), "{said}");
    }
}

/// Noise that grows with the input, in clusters of four rows.
#[test]
fn robust_errors_come_from_the_learned_rows() {
    let folder = folder("ordinary-robust");
    let row = |t: usize| {
        let (x, noise) = ((t * 7 % 40) as f64 / 10.0, (t * 31 % 17) as f64 / 8.0 - 1.0);
        format!("{x},c{},{}\n", t / 4, 1.0 + x + x * x * noise)
    };
    fs::write(folder.join("t.csv"), "x,clinic,y\n".to_owned() + &(0..400).map(row).collect::<String>()).unwrap();
    told(&folder, "fit t.csv --formula y~x --family gaussian -o m.rvi");
    let text = told(&folder, "inspect m.rvi --robust t.csv");
    assert!(text.contains("robust        standard errors that hold whatever the noise (HC3), by 400 rows"), "{text}");
    assert!(text.contains("apart (*): 1 of 2,") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let found = json(&told(&folder, "inspect m.rvi --robust t.csv --clusters clinic --json"))["robust"].clone();
    assert_eq!((found["rows"].as_u64(), found["clusters"].as_u64()), (Some(400), Some(100)), "{found:#}");
    assert!(refused(&folder, "inspect m.rvi --robust t.csv --clusters firm").contains("there is no column `firm`"));
    fs::write(folder.join("one.csv"), "x,clinic,y\n1,c,2\n2,c,3\n").unwrap();
    let one = refused(&folder, "inspect m.rvi --robust one.csv --clusters clinic");
    assert!(one.contains("`--clusters clinic`: has one value in all rows"), "{one}");
}

#[test]
fn numbers_are_read_as_people_write_them() {
    let folder = folder("ordinary-marks");
    let row = |t: usize| {
        let (a, b) = (1000 + 37 * (t % 90), t * 7 % 50);
        let (group, gap) =
            (format!("{},{:03}", a / 1000, a % 1000), if t % 9 == 4 { "unknown".to_owned() } else { format!("{b}%") });
        format!("\"${group}\",{gap},\"{}\"\n", a + 20 * b)
    };
    let text = "paid,share,y\n".to_owned() + &(0..300).map(row).collect::<String>();
    fs::write(folder.join("t.csv"), &text).unwrap();
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    fs::write(folder.join("u.csv"), utf16).unwrap();
    for name in ["t.csv", "u.csv"] {
        let said = told(&folder, &format!("fit {name} -t y --shape line -o m.rvi"));
        assert!(said.contains("paid (number), share (number; `unknown` a gap)"), "{said}");
    }
    fs::write(folder.join("new.csv"), "paid,share\n$2000,unknown\n2000,nobody\n").unwrap();
    let nobody = refused(&folder, "predict m.rvi new.csv");
    assert!(
        nobody.contains("row 2, column `share`: `nobody` is not a number") && nobody.contains("a fit with `--text`"),
        "{nobody}"
    );
}

/// `10,383` is ten thousand and more among other such numbers, and ten and a bit beside `0,19`.
#[test]
fn the_numbers_of_a_column_have_one_decimal_mark() {
    let folder = folder("ordinary-commas");
    let comma = |x: f64, decimals: usize| format!("{x:.decimals$}").replace('.', ",");
    let row = |t: usize| {
        let x = t as f64 * 0.37 % 12.0;
        let group = format!("{},{:03}", 1 + t % 7, t * 31 % 1000);
        format!("{}\t{group}\t{}\n", comma(x, 2 + t % 2), comma(2.0 * x - 1.0, 3))
    };
    fs::write(folder.join("t.tsv"), "x\tpaid\ty\n".to_owned() + &(0..300).map(row).collect::<String>()).unwrap();
    let said = told(&folder, "fit t.tsv -t y --shape line -o m.rvi");
    assert!(said.contains("target        y, a number with a decimal comma"), "{said}");
    assert!(said.contains("x (number with a decimal comma), paid (number)"), "{said}");
    fs::write(folder.join("new.tsv"), "x\tpaid\n10,383\t1,234\n7\t1,234\n").unwrap();
    let predicted = told(&folder, "predict m.rvi new.tsv");
    let means = predicted.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse::<f64>().unwrap());
    assert!(means.zip([2.0 * 10.383 - 1.0, 13.0]).all(|(mean, y)| (mean - y).abs() < 1e-2), "{predicted}");
    // A dot alone may be of either kind.
    fs::write(folder.join("dot.tsv"), "x\tpaid\n1.234\t1,234\n").unwrap();
    let dot = refused(&folder, "predict m.rvi dot.tsv");
    assert!(dot.contains("row 1, column `x`: `1.234` is not a number with a decimal comma"), "{dot}");
}

#[test]
fn a_class_that_came_against_all_odds_leaves_a_model_that_can_be_read() {
    let folder = folder("ordinary-odds");
    // One of ten is of another class than its place says, so that 6000 rows tell the slopes to forty deviations.
    let three = |t: usize| format!("{},{}\n", t % 9, ["a", "b", "c"][if t % 10 == 3 { t / 10 % 3 } else { t % 9 / 3 }]);
    let rows: String = (0..6000).map(three).collect();
    fs::write(folder.join("t.csv"), format!("x,y\n{rows}")).unwrap();
    fs::write(folder.join("far.csv"), "x,y\n1e6,a\n").unwrap();
    told(&folder, "fit t.csv -t y --shape line -o m.rvi");
    let far = json(&told(&folder, "evaluate m.rvi far.csv --json"))["scores"].clone();
    // A probability below the least float, 5e-324.
    assert!(far["log_loss"].as_f64().unwrap() > 744.0, "{far}");
    told(&folder, "update m.rvi far.csv");
    let scores = json(&told(&folder, "inspect m.rvi --json"))["scores"].clone();
    assert!(scores["log_loss"].is_number() && scores["rows"] == 6001, "{scores}");
}

#[test]
fn the_noise_starts_where_the_library_starts_it() {
    let folder = folder("ordinary-noise");
    let rows: String = (0..60).map(|t| format!("{},{}\n", t % 7, 3 * (t % 7))).collect();
    fs::write(folder.join("t.csv"), format!("x,y\n{rows}")).unwrap();
    told(&folder, "fit t.csv -t y -o m.rvi");
    let predicted = told(&folder, "predict m.rvi t.csv --to jsonl");
    let sd = json(predicted.lines().next().unwrap())["sd"].as_f64().unwrap();
    // A line without noise: Gamma(1, 1) would leave √(2/62) = 0.18 of the target's deviation of 6.
    assert!(sd < 0.2, "{sd}");
}

#[test]
fn what_columns_hold_is_what_people_mean() {
    let folder = folder("ordinary-kinds");
    let mut text = String::from("customer_id,room,when,at,pain,y\n");
    for t in 0..300 {
        let room = if t == 60 { "113b".to_owned() } else { (t / 2).to_string() };
        let pain = ["none", "-", "mild"][t % 3];
        let (day, hour) = (1 + t % 28, t % 24);
        text += &format!("{},{room},{day}/{}/11,{hour}:30,{pain},{}\n", t * 7919 % 1009 + 5000, 1 + t / 28, 1 + t % 2);
    }
    fs::write(folder.join("t.csv"), text).unwrap();
    let text = told(&folder, "fit t.csv -t y");
    assert!(text.contains("customer_id (an identifier: `--number` keeps it)"), "{text}");
    assert!(text.contains("room (149 levels, ") && text.contains("rarer together"), "{text}");
    assert!(text.contains("when (date, day first)") && text.contains("at (time of day)"), "{text}");
    assert!(text.contains("y: the probability of `2` (else `1`)"), "{text}");
    let rows: String = (0..40).map(|t| format!("{t},{}\n", t % 5)).collect();
    fs::write(folder.join("only.csv"), format!("t1,y\n{rows}")).unwrap();
    assert!(told(&folder, "fit only.csv -t y").contains("t1 (number)"));
    assert!(told(&folder, "fit t.csv -t y --number customer_id").contains("customer_id (number)"));
    let text = told(&folder, "fit t.csv -t pain");
    assert!(text.contains("300 rows learned") && text.contains("pain, one of 3 classes"), "{text}");
}

#[test]
fn a_level_that_comes_late_is_said() {
    let folder = folder("ordinary-late");
    let row = |t: usize| format!("{},{},{}\n", t % 7, if t < 150 { ["a", "b"][t % 2] } else { "c" }, t % 5);
    fs::write(folder.join("t.csv"), format!("x,place,y\n{}", (0..200).map(row).collect::<String>())).unwrap();
    let text = told(&folder, "fit t.csv -t y --sniff 100 --keep-order -o m.rvi");
    assert!(text.contains("changed       place (a new text in 50 rows)"), "{text}");
    let output = common::rvi(&folder, "predict m.rvi t.csv");
    assert!(String::from_utf8(output.stderr).unwrap().contains("50 texts unknown to the model"), "{text}");
}

#[test]
fn many_inputs_and_classes_have_a_belief_that_can_be_kept() {
    let folder = folder("ordinary-wide");
    let head: String = (0..450).map(|j| format!("x{j},")).collect();
    let row = |t: usize| {
        (0..450).map(|j| format!("{},", (t * 31 + j * 17) % 23)).collect::<String>() + ["a\n", "b\n", "c\n"][t % 3]
    };
    fs::write(folder.join("t.csv"), format!("{head}y\n{}", (0..30).map(row).collect::<String>())).unwrap();
    let text = told(&folder, "fit t.csv -t y");
    assert!(text.contains("30 rows learned") && text.contains("belief        "), "{text}");
    assert!(told(&folder, "fit t.csv -t y --belief diagonal").contains("a variance for each coefficient"));
}

#[test]
fn a_covariance_without_digits_is_begun_again() {
    let folder = folder("ordinary-digits");
    // Numbers of 1e9 and their products, in their own units.
    let row = |t: usize| {
        let late = if t < 200 { 0.0 } else { 1e9 + (t % 7) as f64 };
        format!("{},{},{late},{}\n", t % 11, t * t % 13, t % 4)
    };
    fs::write(folder.join("t.csv"), format!("a,b,c,y\n{}", (0..400).map(row).collect::<String>())).unwrap();
    let output = common::rvi(&folder, "fit t.csv --family count --formula y~(.)^2 --unscaled --prior 1");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("again with the square root"), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("400 rows learned") && text.contains("belief        the square root"), "{text}");
}

#[test]
fn heavy_tails_are_seen_in_the_first_rows_and_an_infinite_mean_is_stored() {
    let folder = folder("tails");
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let mut text = String::from("x,y,z\n");
    for _ in 0..400 {
        let (x, u) = (rng.random_range(-1.5..1.5), rng.random_range(0.001..0.999_f64));
        // The quantile of Student's t with two degrees of freedom.
        let y = x + 0.3 * (2.0 * u - 1.0) / (2.0 * u * (1.0 - u)).sqrt();
        text += &format!("{x},{y},{}\n", y.exp());
    }
    fs::write(folder.join("t.csv"), text).unwrap();
    let text = told(&folder, "fit t.csv -t y --ignore z -o m.rvi");
    assert!(text.contains("family        robust by ") && text.contains("noise         Student-t, "), "{text}");
    let noise = &json(&told(&folder, "inspect m.rvi --json"))["noise"];
    let of = |name: &str| noise[name].as_f64().unwrap();
    assert!((1.2..4.0).contains(&of("degrees_of_freedom")) && (0.2..0.4).contains(&of("scale")), "{noise}");
    let text = told(&folder, "fit t.csv -t y --ignore z --mergeable -o sums.rvi");
    assert!(text.contains("noise         Gaussian, deviation "), "{text}");

    told(&folder, "fit t.csv -t z --ignore y --family log-robust -o m.rvi");
    assert!(told(&folder, "inspect m.rvi").contains("scale 0."));
    told(&folder, "update m.rvi t.csv");
}

/// In a file sorted by date each row lies beyond the dates of all rows before it.
#[test]
fn a_spread_that_follows_inputs_foresees_dates_as_well_as_a_constant_one() {
    let folder = folder("ordinary-dates");
    let houses = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/data/houses.csv");
    fs::copy(houses, folder.join("t.csv")).unwrap();
    let loss = |family: &str| {
        let card = json(&told(&folder, &format!("fit t.csv --target price --family {family} -o m.rvi --json")));
        card["scores"]["log_loss"].as_f64().unwrap()
    };
    let (constant, varying) = (loss("log-normal"), loss("log-varying"));
    assert!(varying < constant + 0.1, "{varying} {constant}");
}
