//! Files of every format, whole and damaged.

#![allow(clippy::unwrap_used, clippy::panic, clippy::format_push_string, clippy::format_collect, reason = "a test")]

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;

use common::{folder, json, refused, rvi, told};

/// Two classes told apart by `a`, `b` and a text, with gaps.
fn table(separator: &str) -> String {
    let mut text = ["a", "b", "id", "word", "y"].join(separator) + "\n";
    for t in 0..400_u32 {
        let (a, b) = (f64::from(t * 7919 % 101) / 10.0, f64::from(t * 104_729 % 53));
        let word = ["red", "green", "blue, or so"][(t % 3) as usize];
        let word = if word.contains(separator) { format!("\"{word}\"") } else { word.to_owned() };
        let late = a + 0.1 * b + f64::from(t * 31 % 17) / 3.0 > 10.0;
        let b = if t % 19 == 0 { String::new() } else { format!("{b}") };
        text += &[format!("{a}"), b, format!("N{t}"), word, u8::from(late).to_string()].join(separator);
        text += "\n";
    }
    text
}

/// What a model has learned, as its card says it.
fn learned(folder: &Path, line: &str) -> (serde_json::Value, serde_json::Value) {
    told(folder, &format!("fit {line} -o m.rvi"));
    let card = json(&told(folder, "inspect m.rvi --json"));
    (card["coefficients"].clone(), card["scores"].clone())
}

fn gzip(path: &Path, text: &str) {
    let mut packed = flate2::write::GzEncoder::new(fs::File::create(path).unwrap(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap();
}

/// Delimited by anything, compressed by anything: the same records, and the same bits.
#[test]
fn one_table_in_every_format_is_one_model() {
    let folder = folder("one_table");
    let comma = table(",");
    fs::write(folder.join("t.csv"), &comma).unwrap();
    let known = learned(&folder, "t.csv -t y");
    fs::write(folder.join("t.tsv"), table("\t")).unwrap();
    fs::write(folder.join("t.txt"), table("|")).unwrap();
    fs::write(folder.join("hash.txt"), table("#")).unwrap();
    gzip(&folder.join("t.csv.gz"), &comma);
    let zst = zstd::encode_all(comma.as_bytes(), 1).unwrap();
    fs::write(folder.join("t.csv.zst"), &zst).unwrap();
    // Two frames end to end are one file.
    let (one, two) = comma.split_at(comma.find("N200,").unwrap());
    let frames = [one, two].map(|part| zstd::encode_all(part.as_bytes(), 1).unwrap()).concat();
    fs::write(folder.join("frames"), frames).unwrap();
    let lines: String = csv_objects(&comma);
    fs::write(folder.join("t.ndjson"), &lines).unwrap();
    fs::write(folder.join("unnamed"), &lines).unwrap();
    for line in ["t.tsv", "t.txt", "hash.txt --delimiter #", "t.csv.gz", "t.csv.zst", "frames", "t.ndjson", "unnamed"] {
        assert!(learned(&folder, &format!("{line} -t y")) == known, "{line}");
    }
    fs::write(folder.join("wrong.json"), &comma).unwrap();
    let said = refused(&folder, "fit wrong.json -t y");
    assert!(said.contains("wrong.json, row 1: no JSON object"), "{said}");
    assert!(learned(&folder, "wrong.json --format csv -t y") == known);
    assert!(refused(&folder, "fit t.csv").contains("must name the column to predict"));
}

/// The rows of [`table`] as JSON lines, numbers as numbers.
fn csv_objects(text: &str) -> String {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().unwrap().clone();
    let mut lines = String::new();
    for record in reader.records() {
        let record = record.unwrap();
        let value = |field: &str| match (field, field.parse::<f64>()) {
            ("", _) => "null".to_owned(),
            (_, Ok(_)) => field.to_owned(),
            _ => format!("{field:?}"),
        };
        let fields: Vec<String> =
            names.iter().zip(&record).map(|(name, f)| format!("{name:?}: {}", value(f))).collect();
        lines += &format!("{{{}}}\n", fields.join(", "));
    }
    lines
}

#[test]
fn sparse_files_are_learned_by_index_and_by_name() {
    let folder = folder("sparse");
    let (mut svm, mut vw, mut csv) = (String::new(), String::new(), String::from("y,x0,x1,x2,x3\n"));
    for t in 0..600_u32 {
        let (a, b) = (t % 2, t / 2 % 3);
        let noisy = t * 7919 % 11 == 0;
        let label = (a == 1) ^ noisy;
        let sign = if label { "+1" } else { "-1" };
        svm += &format!("{sign} {}:1 3:{}\n", 1 + a, f64::from(b) / 2.0);
        vw += &format!("{sign} 'tag{t}|side left{a}:1 |size b:{}\n", f64::from(b) / 2.0);
        csv += &format!("{},0,{},{},{}\n", if label { 1 } else { -1 }, 1 - a, a, f64::from(b) / 2.0);
    }
    fs::write(folder.join("d.svm"), &svm).unwrap();
    fs::write(folder.join("d.vw"), &vw).unwrap();
    fs::write(folder.join("d.csv"), &csv).unwrap();
    let text = told(&folder, "fit d.svm -o d.rvi");
    assert!(text.contains("the probability of `1` (else `-1`)") && text.contains("features (by index)"), "{text}");
    // The same numbers by columns, the constant one apart: the same scores.
    let score =
        |model: &str| json(&told(&folder, &format!("inspect {model} --json")))["scores"]["log_loss"].as_f64().unwrap();
    told(&folder, "fit d.csv -t y -o table.rvi");
    assert!((score("d.rvi") - score("table.rvi")).abs() < 0.01, "{} {}", score("d.rvi"), score("table.rvi"));
    let text = told(&folder, "fit d.vw --inputs 1000 -o w.rvi");
    assert!(text.contains("features (names, hashed)"), "{text}");
    assert!((score("w.rvi") - score("d.rvi")).abs() < 0.05, "{} {}", score("w.rvi"), score("d.rvi"));

    // A row without a label is predicted; entries beyond the model are left out and counted.
    fs::write(folder.join("new.svm"), "2:1 900:5\n").unwrap();
    let output = rvi(&folder, "predict d.rvi new.svm");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 2);
    assert!(String::from_utf8(output.stderr).unwrap().contains("1 entries of inputs"));
    let text = told(&folder, "fit d.svm --inputs 3");
    assert!(text.contains("left out      600 entries"), "{text}");
    assert!(refused(&folder, "predict d.rvi d.csv").contains("there is no column `features`"));

    // An importance of 2 is the row twice.
    let twice: String = vw.lines().take(100).map(|line| format!("{line}\n{line}\n")).collect();
    let weighted: String = vw.lines().take(100).map(|line| line.replacen("1 ", "1 2 ", 1) + "\n").collect();
    fs::write(folder.join("twice.vw"), twice).unwrap();
    fs::write(folder.join("weighted.vw"), weighted).unwrap();
    let top = |name: &str| {
        let (lines, _) = learned(&folder, &format!("{name} --inputs 500"));
        let line = lines.as_array().unwrap().iter().find(|line| line["name"] == "intercept").unwrap().clone();
        (line["mean"].as_f64().unwrap(), line["sd"].as_f64().unwrap())
    };
    let ((mean, sd), (other, _)) = (top("twice.vw"), top("weighted.vw"));
    assert!((mean - other).abs() < sd, "{mean} {other} {sd}");
}

#[test]
fn damaged_files_are_told_in_one_line() {
    let folder = folder("damaged");
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    gzip(&folder.join("whole.csv.gz"), &table(","));
    let whole = fs::read(folder.join("whole.csv.gz")).unwrap();
    write("cut.csv.gz", &whole[..whole.len() - 20]);
    let said = refused(&folder, "fit cut.csv.gz -t y");
    assert!(said.contains("cut.csv.gz") && said.contains("cut short: copy it again"), "{said}");
    // That the file is damaged is no fault of a row that could be left out.
    assert_eq!(refused(&folder, "fit cut.csv.gz -t y --skip-bad"), said);
    let zst = zstd::encode_all(table(",").as_bytes(), 1).unwrap();
    write("cut.zst", &zst[..zst.len() / 2]);
    assert!(refused(&folder, "fit cut.zst -t y").contains("copy it again"));

    write("latin.csv", b"a,b\n1,u\n2,v\n3,\xe9t\xe9\n");
    let said = refused(&folder, "fit latin.csv -t a");
    assert!(said.contains("latin.csv, row 3: the text in column `b` is not UTF-8") && said.contains("iconv"), "{said}");
    write("latin.vw", b"1 | a\n-1 | \xe9\n");
    assert!(refused(&folder, "fit latin.vw").contains("latin.vw, row 2: byte 6 of 7 is not UTF-8"));
    write("bad.svm", b"1 1:2\n-1 x:3\n");
    let said = refused(&folder, "fit bad.svm");
    assert!(said.contains("bad.svm, row 2, column `features`: `x:3` is not `index:value`"), "{said}");
    assert!(told(&folder, "fit bad.svm --skip-bad --classes -1,1").contains("left out      1 row "));
    write("list.json", b"[{\"a\": 1}]\n");
    assert!(refused(&folder, "fit list.json -t a").contains("jq -c '.[]'"));
    write("nolabel.csv", b"a,y\n1,\n2,\n");
    assert!(refused(&folder, "fit nolabel.csv -t y").contains("column `y`: no value in the first rows"));
    assert!(refused(&folder, "fit list.json -t a --delimiter ;").contains("only CSV and TSV have a delimiter"));
    assert_eq!(rvi(&folder, "fit latin.csv -t a --format xls").status.code(), Some(2));
}

#[cfg(feature = "columnar")]
#[test]
fn files_of_columns_are_read_and_written() {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, Date32Array, Float64Array, Int32Array, RecordBatch, StringArray, TimestampMillisecondArray,
    };
    use arrow_ipc::writer::{FileWriter, StreamWriter};

    let folder = folder("columns");
    let n = 3000;
    let x: Vec<Option<f64>> = (0..n).map(|t| (t % 13 != 0).then(|| f64::from(t * 37 % 101) / 7.0)).collect();
    let day: Vec<i32> = (0..n).map(|t| 15_706 + t % 200).collect();
    let word: Vec<&str> = (0..n).map(|t| ["Ulm", "Bonn"][usize::from(t % 3 == 0)]).collect();
    let y: Vec<i32> = (0..n).map(|t| 3 * (t * 37 % 101) + t % 5).collect();
    // Milliseconds from 1970 of half past the hour, in March 2013; a column of a zone holds the time of UTC.
    let at: Vec<i64> =
        (0..n).map(i64::from).map(|t| (15_765 + t % 28) * 86_400_000 + (t % 24) * 3_600_000 + 1_800_000).collect();
    let csv: String = ["x,day,word,at,y\n".to_owned()]
        .into_iter()
        .chain((0..x.len()).map(|t| {
            let day = Date32Array::from(vec![day[t]]).value_as_date(0).unwrap();
            let x = x[t].map_or_else(String::new, |x| x.to_string());
            format!("{x},{day},{},2013-03-{:02}T{:02}:30:00Z,{}\n", word[t], 1 + t % 28, t % 24, y[t])
        }))
        .collect();
    fs::write(folder.join("t.csv"), csv).unwrap();
    let columns: [(&str, ArrayRef); 5] = [
        ("x", Arc::new(Float64Array::from(x))),
        ("day", Arc::new(Date32Array::from(day))),
        ("word", Arc::new(StringArray::from(word))),
        ("at", Arc::new(TimestampMillisecondArray::from(at).with_timezone("Europe/Berlin"))),
        ("y", Arc::new(Int32Array::from(y))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
    let file = |name: &str| fs::File::create(folder.join(name)).unwrap();
    let mut writer = FileWriter::try_new(file("t.feather"), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let mut writer = StreamWriter::try_new(file("t.arrows"), &batch.schema()).unwrap();
    for k in 0..3 {
        writer.write(&batch.slice(1000 * k, 1000)).unwrap();
    }
    writer.finish().unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file("t.parquet"), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let known = learned(&folder, "t.csv -t y");
    for line in ["t.feather", "t.arrows", "t.parquet"] {
        assert!(learned(&folder, &format!("{line} -t y")) == known, "{line}");
    }

    // Predictions as Parquet are those of the text.
    let plain = told(&folder, "predict m.rvi t.csv");
    told(&folder, "predict m.rvi t.csv -o p.parquet");
    fs::write(folder.join("p.csv"), plain).unwrap();
    assert!(learned(&folder, "p.parquet -t mean") == learned(&folder, "p.csv -t mean"));

    let whole = fs::read(folder.join("t.parquet")).unwrap();
    fs::write(folder.join("cut.parquet"), &whole[..whole.len() / 2]).unwrap();
    let said = refused(&folder, "fit cut.parquet -t y");
    assert!(said.contains("no whole Parquet file") && said.contains("copy or write it again"), "{said}");
    gzip(&folder.join("t.csv.parquet.gz"), "PAR1 and so on");
    assert!(refused(&folder, "fit t.csv.parquet.gz -t y").contains("store it first"));
    fs::write(folder.join("noise.arrow"), "no such thing").unwrap();
    assert!(refused(&folder, "fit noise.arrow -t y").contains("noise.arrow: "));
}

/// The first sheet with cells: dates, times of day, texts, a gap, a cell that could not be computed; from a file, or as it comes.
#[test]
fn a_spreadsheet_is_a_table() {
    let folder = folder("sheet");
    let bytes = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored/visitors.xlsx")).unwrap();
    fs::write(folder.join("visitors.xlsx"), &bytes).unwrap();
    let text = told(&folder, "fit visitors.xlsx -t sold --shape line -o m.rvi");
    assert!(text.contains("59 rows learned"), "{text}");
    assert!(text.contains("day (date), open (time of day), shop (3 levels; base east)"), "{text}");
    // A row without a target, and one without visitors.
    let card = json(&told(&folder, "inspect m.rvi --json"));
    assert_eq!(
        (card["rows_without_target"].as_u64(), card["numbers_imputed"].as_u64()),
        (Some(1), Some(2)),
        "{card:#}"
    );
    fs::write(folder.join("unnamed"), &bytes).unwrap();
    assert_eq!(told(&folder, "predict m.rvi unnamed"), told(&folder, "predict m.rvi visitors.xlsx"));
    fs::write(folder.join("cut.xlsx"), &bytes[..bytes.len() / 2]).unwrap();
    assert!(refused(&folder, "fit cut.xlsx -t sold -o n.rvi").contains("no spreadsheet, or one that is damaged"));
}
