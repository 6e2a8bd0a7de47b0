//! One table and one model, and what may be asked of them.

use std::io;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use vi_data::records::Record;
use vi_terms::TermsError;
use vi_terms::table::{
    self, Document, Family, FileError, FileRows, Input, Intervals, Options, Source, Step, learning, parse_shape, text,
};

use crate::html;
use crate::samples::SAMPLES;

/// What takes the words of a request while it is being done: JSON, as an answer is.
pub type Tell<'a> = &'a mut dyn FnMut(&str);

/// Rows of a table that are shown before it is learned.
const PREVIEW: usize = 5;
/// Rows of a table of predictions that are shown; all are in its file.
const SHOWN: usize = 100;
/// Parts of an explanation.
const PARTS: usize = 10;
/// The fewest rows between two words on how far a pass has come.
const EVERY: u64 = 250;

/// A table, a model, and no more.
#[derive(Default)]
pub struct Desk {
    table: Option<(Input, Vec<u8>)>,
    model: Option<(String, Document)>,
}

/// What may be asked for; `file` in the words below is what comes with the request.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// The names of the tables that the page has in itself.
    Samples,
    /// One of these tables.
    Sample { name: String },
    /// The file as a table, or as a model where it is one.
    Open { name: String, skip_bad: bool },
    /// A model of the table.
    Learn { target: String, family: String, shape: String },
    /// The model as a file of `rvi`.
    Save,
    /// The report of the model, a page of its own.
    Report,
    /// Predictions for the rows of the file.
    Predict { name: String, level: f64, certified: bool, skip_bad: bool },
    /// The prediction for one row, explained; the fields are those of [`Document::asked`].
    Row { fields: Vec<String>, level: f64, certified: bool },
}

impl Desk {
    /// Does what `request` asks for with the bytes of a file. The answer is JSON: what was asked for, or `error` in the words of the command `rvi`.
    pub fn call(&mut self, request: &[u8], file: Vec<u8>, tell: Tell<'_>) -> String {
        let request: Result<Request, _> = serde_json::from_slice(request);
        let done = match request {
            Ok(request) => self.answer(request, file, tell),
            Err(error) => Err(wrong(&error.to_string())),
        };
        done.unwrap_or_else(|error| json!({ "error": error.to_string() })).to_string()
    }

    fn answer(&mut self, request: Request, file: Vec<u8>, tell: Tell<'_>) -> Result<Value, FileError> {
        match request {
            Request::Samples => Ok(json!({ "samples": SAMPLES.map(|sample| sample.name) })),
            Request::Sample { name } => {
                let sample = SAMPLES.iter().find(|sample| sample.name == name);
                let sample = sample.ok_or_else(|| wrong("there is no such table in the page"))?;
                self.open(Input::in_memory(&name, false), sample.text.as_bytes().to_vec(), Some(sample.target))
            }
            Request::Open { name, .. } if is_model(&name, &file) => self.load(name, &file),
            Request::Open { name, skip_bad } => self.open(Input::in_memory(&name, skip_bad), file, None),
            Request::Learn { target, family, shape } => self.learn(target, &family, &shape, tell),
            Request::Save => {
                let (name, document) = self.model()?;
                Ok(json!({ "name": named(name, "rvi"), "text": document.text()? }))
            }
            Request::Report => {
                let (name, document) = self.model()?;
                Ok(json!({ "name": named(name, "html"), "text": table::page(document)? }))
            }
            Request::Predict { name, level, certified, skip_bad } => {
                self.predict(&Input::in_memory(&name, skip_bad), &file, (level, intervals(certified)))
            }
            Request::Row { fields, level, certified } => self.row(&fields, (level, intervals(certified))),
        }
    }

    fn open(&mut self, input: Input, bytes: Vec<u8>, target: Option<&str>) -> Result<Value, FileError> {
        let mut rows = FileRows::open(bytes.as_slice(), &input)?;
        let columns = rows.columns().names().to_vec();
        let (mut record, mut first) = (Record::default(), Vec::new());
        while first.len() < PREVIEW && rows.next(&mut record)? {
            first.push(record.fields().map(Value::from).collect());
        }
        let answer = json!({
            "name": input.data.display().to_string(),
            "columns": columns,
            "target": target.or(columns.last().map(String::as_str)),
            "preview": html::table("The first rows", &columns, &first),
        });
        drop(rows);
        self.table = Some((input, bytes));
        Ok(answer)
    }

    fn learn(&mut self, target: String, family: &str, shape: &str, tell: Tell<'_>) -> Result<Value, FileError> {
        let (input, bytes) = self.table.as_ref().ok_or_else(|| wrong("there is no table yet"))?;
        let shape = if shape == "auto" { None } else { Some(parse_shape(shape)?) };
        let options = Options { target: Some(target), family: Family::parse(family)?, shape, ..Options::default() };
        let lines = bytes.split(|byte| *byte == b'\n').count() as f64;
        let (mut next, mut notes, mut skipped) = (0, Vec::new(), 0);
        let open = || FileRows::open(bytes.as_slice(), input);
        let watch = |step: Step<'_, FileRows<'_>>| {
            match step {
                Step::Row(document, source) => {
                    skipped = source.skipped();
                    let rows = document.scores.rows;
                    if rows >= next {
                        next = rows + EVERY.max(rows / 8);
                        let picture = learning(document).map(|drawn| table::drawing(&drawn)).transpose()?;
                        let share = (document.row() as f64 / lines).min(1.0);
                        tell(&json!({ "rows": text::grouped(rows), "share": share, "picture": picture }).to_string());
                    }
                }
                Step::Again(share) => {
                    if share == 0.0 {
                        tell(&json!({ "again": true, "share": share }).to_string());
                    }
                }
                Step::Anew(error, how) => {
                    next = 0;
                    notes.push(format!("{error}; learning the file again {how}"));
                }
            }
            Ok(())
        };
        let mut document = table::fit_watched(&options, input, false, open, watch)?;
        notes.extend(table::left_out(skipped, &input.data));
        notes.extend(document.unreliable());
        document.model.catch_up()?;
        let name = input.data.display().to_string();
        let answer = shown(&name, &document, &notes)?;
        self.model = Some((name, document));
        Ok(answer)
    }

    fn load(&mut self, name: String, bytes: &[u8]) -> Result<Value, FileError> {
        let at = |error| FileError::Table { path: name.clone().into(), error };
        let mut document = Document::of_bytes(bytes).map_err(at)?;
        document.model.catch_up()?;
        let answer = shown(&name, &document, &[])?;
        self.model = Some((name, document));
        Ok(answer)
    }

    fn predict(&self, input: &Input, bytes: &[u8], how: (f64, Intervals)) -> Result<Value, FileError> {
        let document = self.ready(how)?;
        let mut source = FileRows::open(bytes, input)?;
        let asked = document.asked();
        let places: Vec<Option<usize>> =
            asked.iter().map(|column| source.columns().position(&column.name).ok()).collect();
        let columns: Vec<String> = ["row".to_owned()].into_iter().chain(document.field_names(how.1)).collect();
        let names: Vec<Value> = columns.iter().cloned().map(Value::from).collect();
        let (mut csv, mut shown, mut records, mut count) = (text::csv_line(&names), Vec::new(), Vec::new(), 0);
        let notes = document.predict_rows(&mut source, how, |record, fields| {
            csv += &text::csv_line(&fields);
            count += 1;
            if shown.len() < SHOWN {
                shown.push(fields);
                let field = |place: &Option<usize>| place.map_or("", |place| record.field(place)).to_owned();
                records.push(places.iter().map(field).collect::<Vec<_>>());
            }
            Ok(())
        })?;
        let mut notes = notes.lines();
        notes.extend(table::left_out(source.skipped(), source.path()));
        let caption = if count > SHOWN {
            format!("The first {SHOWN} of {}", text::many(count as u64, "row"))
        } else {
            text::many(count as u64, "row")
        };
        Ok(json!({
            "name": named(&input.data.display().to_string(), "predictions.csv"),
            "text": csv,
            "html": html::notes(&notes) + &html::table_of_rows(&caption, &columns, &shown, !asked.is_empty()),
            "records": records,
        }))
    }

    fn row(&self, fields: &[String], how: (f64, Intervals)) -> Result<Value, FileError> {
        let document = self.ready(how)?;
        let asked = document.asked();
        let columns = table::Columns::new(asked.iter().map(|column| column.name.clone()), None);
        let record: Record = fields.iter().collect();
        let predicted = document.answers(&columns)?.predict(&record, 1)?;
        let values = document.fields(&predicted, how, 1)?;
        let mut page = html::table("The prediction", &document.field_names(how.1), &[values]);
        // Of more than two classes there is a prediction and no explanation.
        match document.explainer(&columns) {
            Ok(mut explainer) => {
                let parts = explainer.largest(&record, 1, (how.0, PARTS))?;
                page += &html::explanation(&parts, &document.target, how.0)?;
            }
            Err(TermsError::Model(error)) => page += &html::notes(&[error.to_string()]),
            Err(error) => return Err(error.into()),
        }
        Ok(json!({ "html": page }))
    }

    fn model(&self) -> Result<(&str, &Document), FileError> {
        let (name, document) = self.model.as_ref().ok_or_else(|| wrong("there is no model yet"))?;
        Ok((name, document))
    }

    /// The model, if it can give such intervals.
    fn ready(&self, (level, intervals): (f64, Intervals)) -> Result<&Document, FileError> {
        let (_, document) = self.model()?;
        if !(level > 0.0 && level < 1.0) {
            return Err(wrong("the probability of an interval is a number between 0 and 1, exclusive"));
        }
        document.ready(intervals)?;
        Ok(document)
    }
}

/// What a page shows of a model.
fn shown(name: &str, document: &Document, notes: &[String]) -> Result<Value, FileError> {
    Ok(json!({
        "title": format!("The model of {} ({name})", document.target.column),
        "html": html::notes(notes) + &table::sections(document, 3)?,
        "asked": document.asked(),
        "certified": document.ready(Intervals::Certified).is_ok(),
    }))
}

fn intervals(certified: bool) -> Intervals {
    if certified { Intervals::Certified } else { Intervals::Own }
}

/// Whether a file is a model, by its name or its beginning.
fn is_model(name: &str, bytes: &[u8]) -> bool {
    Path::new(name).extension().is_some_and(|end| end == "rvi") || bytes.starts_with(b"{\"seal\":")
}

/// The name of a file with another ending.
fn named(name: &str, ending: &str) -> String {
    Path::new(name).with_extension(ending).display().to_string()
}

fn wrong(what: &str) -> FileError {
    FileError::Unreadable { path: "the page".into(), source: io::Error::other(what.to_owned()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    /// The answer to a request, and the words on the way.
    fn asked(desk: &mut Desk, request: &Value, file: &str) -> (Value, Vec<Value>) {
        let mut told = Vec::new();
        let mut tell = |words: &str| told.push(serde_json::from_str(words).unwrap());
        let answer = desk.call(request.to_string().as_bytes(), file.as_bytes().to_vec(), &mut tell);
        (serde_json::from_str(&answer).unwrap(), told)
    }

    fn table() -> String {
        let row = |k: u32| format!("{},<{}>,{}\n", k % 17, ["p", "q"][k as usize % 2], 3 * (k % 17) + k % 3);
        (0..300).map(row).fold("a,b,y\n".to_owned(), |text, row| text + &row)
    }

    #[test]
    fn a_table_is_learned_stored_read_and_asked() {
        let mut desk = Desk::default();
        let (opened, _) = asked(&mut desk, &json!({ "do": "open", "name": "t.csv", "skip_bad": false }), &table());
        assert_eq!((&opened["columns"], &opened["target"]), (&json!(["a", "b", "y"]), &json!("y")));
        assert!(opened["preview"].as_str().unwrap().contains("<td>&lt;p&gt;</td>"));
        let learn = json!({ "do": "learn", "target": "y", "family": "number", "shape": "smooth" });
        let (learned, told) = asked(&mut desk, &learn, "");
        assert!(learned["html"].as_str().unwrap().contains("<h3>Effects</h3>"), "{learned}");
        assert!(told.len() >= 2 && told[1]["share"].as_f64().unwrap() > 0.5);
        assert_eq!(learned["title"], "The model of y (t.csv)");
        assert_eq!(learned["asked"][1]["texts"], json!(["<p>", "<q>"]));

        let (saved, _) = asked(&mut desk, &json!({ "do": "save" }), "");
        assert_eq!(saved["name"], "t.rvi");
        let row = json!({ "do": "row", "fields": ["4", "<p>"], "level": 0.9, "certified": false });
        let (explained, _) = asked(&mut desk, &row, "");
        let text = explained["html"].as_str().unwrap();
        assert!(
            text.contains("(this row)") && text.contains("aria-label=\"explanation\"") && !text.contains("<p>\"),")
        );
        let mut other = Desk::default();
        let model = saved["text"].as_str().unwrap();
        let (read, _) = asked(&mut other, &json!({ "do": "open", "name": "t.json", "skip_bad": false }), model);
        assert_eq!((&read["asked"], &read["title"]), (&learned["asked"], &json!("The model of y (t.json)")));
        assert!(read["html"].as_str().unwrap().contains("learned       300 rows"));
        let predict = json!({ "do": "predict", "name": "u.csv", "level": 0.9, "certified": false, "skip_bad": false });
        let (predicted, _) = asked(&mut other, &predict, "b,a\n<q>,3\n<z>,5\n");
        assert_eq!((&predicted["name"], &predicted["records"][0]), (&json!("u.predictions.csv"), &json!(["3", "<q>"])));
        assert!(predicted["text"].as_str().unwrap().starts_with("row,mean,sd,lower,upper\n1,"));
        assert!(predicted["html"].as_str().unwrap().contains("1 texts unknown to the model"));
    }

    #[test]
    fn what_cannot_be_done_is_told_in_the_words_of_the_command() {
        let mut desk = Desk::default();
        let open = |text: &str| (json!({ "do": "open", "name": "t.csv", "skip_bad": false }), text.to_owned());
        for ((request, file), words) in [
            (open(""), "t.csv: the file has no rows"),
            (open("a,a\n1,2\n"), "t.csv: two columns have the name `a`"),
            (open("a,y\n1\n"), "t.csv, row 1: 1 fields instead of 2 (`--skip-bad` skips such rows)"),
            ((json!({ "do": "save" }), String::new()), "the page: there is no model yet"),
            (
                (json!({ "do": "open", "name": "t.rvi", "skip_bad": false }), "{}".to_owned()),
                "t.rvi: not a model of `rvi`",
            ),
        ] {
            assert_eq!(asked(&mut desk, &request, &file).0["error"], words);
        }
        let (request, file) = open("a,y\n1,2\n");
        asked(&mut desk, &request, &file);
        let learn = json!({ "do": "learn", "target": "z", "family": "auto", "shape": "auto" });
        let error = asked(&mut desk, &learn, "").0["error"].clone();
        assert_eq!(error, "t.csv: there is no column `z`; did you mean `a`?");
        assert!(asked(&mut desk, &json!({ "do": "dance" }), "").0["error"].as_str().unwrap().contains("dance"));
    }

    #[test]
    fn the_tables_of_the_page_are_there() {
        let mut desk = Desk::default();
        for name in asked(&mut desk, &json!({ "do": "samples" }), "").0["samples"].as_array().unwrap() {
            let (opened, _) = asked(&mut desk, &json!({ "do": "sample", "name": name }), "");
            assert!(opened["columns"].as_array().unwrap().contains(&opened["target"]), "{opened}");
        }
    }
}
