//! One table and one model, and what may be asked of them.

use std::io;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use vi_data::records::Record;
use vi_terms::TermsError;
use vi_terms::table::{
    self, Document, Family, FileError, FileRows, Input, Intervals, Options, Source, Step, Target, TargetKind, learning,
    parse_shape, text,
};

use crate::html;
use crate::samples::SAMPLES;

/// The receiver of the words of a request while it is being done: JSON, as an answer is.
pub type Tell<'a> = &'a mut dyn FnMut(&str);

/// Rows of a table that are shown before it is learned.
const PREVIEW: usize = 5;
/// Rows of a table of predictions that are shown; all are in its file.
const SHOWN: usize = 100;
/// Parts of an explanation.
const PARTS: usize = 10;
/// The fewest rows before the first word on how far a pass has come, and between two: while the first are learned the model is chosen.
const EVERY: u64 = 250;
/// The fewest rows of which it is told how often a range held.
const FEWEST_HELD: u64 = 20;
/// The line below words that name options.
const OPTIONS: &str = "Words with -- are options of the command rvi.";

/// A table, a model, and no more.
#[derive(Default)]
pub struct Desk {
    table: Option<(Input, Vec<u8>)>,
    model: Option<(String, Document)>,
}

/// A request; `file` in the words below is the file that comes with it.
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
    /// Does what `request` asks for with the bytes of a file. The answer is JSON: what was asked for, or `error`, with the `column` that is at fault if there is one.
    pub fn call(&mut self, request: &[u8], file: Vec<u8>, tell: Tell<'_>) -> String {
        let request: Result<Request, _> = serde_json::from_slice(request);
        let done = match request {
            Ok(request) => self.answer(request, file, tell),
            Err(error) => Err(wrong(&error.to_string())),
        };
        done.unwrap_or_else(|error| refusal(&error)).to_string()
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
            "preview": html::table(&format!("The first rows of {}", input.data.display()), &columns, &first),
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
        let (mut next, mut notes, mut skipped) = (EVERY, Vec::new(), 0);
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
                        tell(
                            &json!({ "rows": text::many(rows, "row"), "share": share, "picture": picture }).to_string(),
                        );
                    }
                }
                Step::Again(share) => {
                    if share == 0.0 {
                        tell(&json!({ "again": true, "share": share }).to_string());
                    }
                }
                Step::Anew(error, how) => {
                    next = EVERY;
                    notes.push(on_page(&format!("{error}; learning the file again {how}")));
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
        let with_row = |names: Vec<String>| ["row".to_owned()].into_iter().chain(names);
        let names: Vec<Value> = with_row(document.field_names(how.1)).map(Value::from).collect();
        let columns: Vec<String> = with_row(heads(document, how.1)).collect();
        let (mut csv, mut shown, mut records, mut count) = (text::csv_line(&names), Vec::new(), Vec::new(), 0);
        let answers = document.answers(source.columns()).map_err(|error| source.refused(error))?;
        let notes = answers.predict_rows(&mut source, how, |record, fields| {
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
        notes.extend(second(&document.target).map(|class| format!("The saved file calls p({class}) `probability`")));
        let (name, of) = (input.data.display(), text::many(count as u64, "row"));
        let of = if count > SHOWN { format!("the first {SHOWN} of {of}") } else { of };
        let caption = format!("{name}: {of}{}", with_intervals(&document.target, how));
        let buttons = !asked.is_empty() && is_explained(&document.target);
        Ok(json!({
            "name": named(&input.data.display().to_string(), "predictions.csv"),
            "text": csv,
            "html": html::notes(&notes) + &html::table_of_rows(&caption, &columns, &shown, buttons),
            "records": records,
        }))
    }

    fn row(&self, fields: &[String], how: (f64, Intervals)) -> Result<Value, FileError> {
        let document = self.ready(how)?;
        let asked = document.asked();
        let columns = table::Columns::new(asked.iter().map(|column| column.name.clone()), None);
        let record: Record = fields.iter().collect();
        let mut answers = document.answers(&columns)?;
        let predicted = answers.predict(&record, 1)?;
        let values = document.fields(&predicted, how, 1)?;
        let mut notes = Vec::new();
        for (k, (column, field)) in asked.iter().zip(fields).enumerate() {
            if column.texts.is_empty() || column.texts.contains(field) {
                continue;
            }
            // A row with this text alone tells whether it is new, or says that nothing is known.
            let alone: Record = (0..asked.len()).map(|other| if other == k { field.as_str() } else { "" }).collect();
            let before = answers.new_texts();
            answers.predict(&alone, 1)?;
            if answers.new_texts() > before {
                notes.push(format!("{}: `{field}` is unknown to the model, and was taken as `(other)`", column.name));
            }
        }
        let caption = format!("The prediction{}", with_intervals(&document.target, how));
        let mut page = html::notes(&notes) + &html::table(&caption, &heads(document, how.1), &[values]);
        if is_explained(&document.target) {
            let parts = document.explainer(&columns)?.largest(&record, 1, (how.0, PARTS))?;
            page += &html::explanation(&parts, &document.target, how.0)?;
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

/// The report of a model on the page.
fn shown(name: &str, document: &Document, notes: &[String]) -> Result<Value, FileError> {
    let mut report = table::sections(document, 3)?;
    if report.contains("`--") {
        report = format!("{report}<p class=\"small\">{OPTIONS}</p>\n");
    }
    Ok(json!({
        "title": format!("The model of {} ({name})", document.target.column),
        "html": html::short(&in_short(document)) + &html::notes(notes) + &report,
        "asked": document.asked(),
        "certified": document.ready(Intervals::Certified).is_ok(),
        "explains": is_explained(&document.target),
    }))
}

/// The scores in plain words.
fn in_short(document: &Document) -> String {
    let scores = document.own_scores().summary();
    if scores.rows == 0 {
        return String::new();
    }
    let mut words = vec![format!("Learned from {}, each predicted first.", text::many(document.scores.rows, "row"))];
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    if let (Some(error), Some(plain)) = (scores.rmse_of_medians.or(scores.rmse), scores.plain_rmse) {
        let [error, plain] = [error, plain].map(text::number);
        words.push(format!("Typical error {error}; of a guess without the inputs {plain}."));
    }
    if let (Some(right), Some(plain)) = (scores.accuracy, scores.plain_log_loss) {
        let [loss, plain, right] = [text::number(scores.log_loss), text::number(plain), percent(right)];
        words.push(format!(
            "Right class in {right} of the rows; log loss {loss}, of a guess without the inputs {plain}."
        ));
    }
    if let (Some(events), Some(plain)) = (scores.events, scores.plain_log_loss) {
        let [loss, plain] = [scores.log_loss, plain].map(text::number);
        words.push(format!("Events in {events} rows; log loss {loss}, of a guess without the inputs {plain}."));
    }
    let is_of_nine_in_ten = |level: f64| (level - 0.9).abs() < 1e-9;
    let enough = scores.rows >= FEWEST_HELD;
    if let Some((_, held)) = scores.coverage.iter().find(|(level, _)| enough && is_of_nine_in_ten(*level)) {
        words.push(format!("The 90 % range held in {} of the rows.", percent(*held)));
    }
    let sets = scores.certified.iter().find(|share| share.size.is_some() && is_of_nine_in_ten(share.level));
    if let Some(share) = sets {
        words.push(format!("The guaranteed 90 % set of classes held in {} of the rows.", percent(share.certified)));
    }
    words.join(" ")
}

/// Of two classes the one whose probability is told.
fn second(target: &Target) -> Option<&str> {
    match &target.kind {
        TargetKind::Classes(classes) if classes.len() == 2 => Some(&classes[1]),
        _ => None,
    }
}

/// Whether a prediction can be explained: of more than two classes it cannot.
fn is_explained(target: &Target) -> bool {
    !matches!(&target.kind, TargetKind::Classes(classes) if classes.len() > 2)
}

/// The names of the columns of a prediction, where a probability tells of which class it is.
fn heads(document: &Document, intervals: Intervals) -> Vec<String> {
    let mut names = document.field_names(intervals);
    if let Some(class) = second(&document.target) {
        names.iter_mut().filter(|name| *name == "probability").for_each(|name| *name = format!("p({class})"));
    }
    names
}

/// The kind of the intervals beside predictions.
fn with_intervals(target: &Target, (level, intervals): (f64, Intervals)) -> String {
    let percent = 100.0 * level;
    match (&target.kind, intervals) {
        (TargetKind::Classes(_) | TargetKind::Ordered(_), Intervals::Certified) => {
            format!(", with guaranteed {percent:.0} % sets of classes")
        }
        (_, Intervals::Certified) => format!(", with guaranteed {percent:.0} % intervals"),
        (TargetKind::Classes(classes) | TargetKind::Ordered(classes), Intervals::Own) if classes.len() > 2 => {
            String::new()
        }
        (_, Intervals::Own) => {
            let of = second(target).map_or_else(String::new, |class| format!(" of p({class})"));
            format!(", with {percent:.0} % intervals{of}")
        }
    }
}

/// An error as an answer.
fn refusal(error: &FileError) -> Value {
    match error {
        // The one row of the form, which has no file.
        FileError::Whole(TermsError::Field { column, text, expected, .. }) => {
            json!({ "error": format!("{column}: `{text}` is not {expected}"), "column": column })
        }
        error => json!({ "error": on_page(&error.to_string()) }),
    }
}

/// The words of the command `rvi` as those of the page, which has boxes and lists in place of some options.
fn on_page(words: &str) -> String {
    const WORDS: [(&str, &str); 3] = [
        ("`--skip-bad` skips such rows", "tick “leave out rows that cannot be read”"),
        ("for a number use `--family number`", "choose “Kind: a number”"),
        ("for classes use `--family classes`", "choose “Kind: a class”"),
    ];
    let mut words =
        WORDS.iter().fold(words.to_owned(), |words, (of_command, of_page)| words.replace(of_command, of_page));
    if words.contains("`--") {
        words = format!("{words}\n{OPTIONS}");
    }
    words
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
        assert!(told[0]["rows"] == "250 rows" && told[0]["share"].as_f64().unwrap() > 0.5, "{told:?}");
        let short = "<p class=\"short\">Learned from 300 rows, each predicted first. Typical error ";
        assert!(learned["html"].as_str().unwrap().starts_with(short), "{learned}");
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
        assert!(text.contains("The prediction, with 90 % intervals") && !text.contains("unknown"));
        let row = json!({ "do": "row", "fields": ["", "<z>"], "level": 0.5, "certified": false });
        let (strange, _) = asked(&mut desk, &row, "");
        let text = strange["html"].as_str().unwrap();
        assert!(
            text.contains("<li>b: `&lt;z&gt;` is unknown to the model") && text.contains("50 % intervals"),
            "{text}"
        );
        let row = json!({ "do": "row", "fields": ["many", "NA"], "level": 0.5, "certified": false });
        let (refused, _) = asked(&mut desk, &row, "");
        assert_eq!(refused, json!({ "error": "a: `many` is not a number", "column": "a" }));
        let mut other = Desk::default();
        let model = saved["text"].as_str().unwrap();
        let (read, _) = asked(&mut other, &json!({ "do": "open", "name": "t.json", "skip_bad": false }), model);
        assert_eq!((&read["asked"], &read["title"]), (&learned["asked"], &json!("The model of y (t.json)")));
        assert!(read["html"].as_str().unwrap().contains("learned       300 rows"));
        let predict = json!({ "do": "predict", "name": "u.csv", "level": 0.9, "certified": false, "skip_bad": false });
        let (predicted, _) = asked(&mut other, &predict, "b,a\n<q>,3\n<z>,5\n");
        assert_eq!((&predicted["name"], &predicted["records"][0]), (&json!("u.predictions.csv"), &json!(["3", "<q>"])));
        assert!(predicted["text"].as_str().unwrap().starts_with("row,mean,sd,lower,upper\n1,"));
        let text = predicted["html"].as_str().unwrap();
        assert!(text.contains("1 texts unknown to the model") && text.contains("u.csv: 2 rows, with 90 % intervals"));
        assert!(text.contains("<th scope=\"col\" class=\"number\">mean</th>"));
        let predict = json!({ "do": "predict", "name": "u.csv", "level": 0.8, "certified": false, "skip_bad": true });
        let (predicted, _) = asked(&mut other, &predict, "b,a\n<q>\n<p>,5\n");
        assert!(predicted["html"].as_str().unwrap().contains("data-row=\"0\">explain row 2<"), "{predicted}");
    }

    #[test]
    fn a_probability_names_its_class_and_more_classes_have_no_explanation() {
        let mut desk = Desk::default();
        let classes = |names: &[&str]| {
            let row = |k: usize| format!("{},{}\n", (k * 7) % 19, names[k % names.len()]);
            (0..90).map(row).fold("a,y\n".to_owned(), |text, row| text + &row)
        };
        let open = json!({ "do": "open", "name": "t.csv", "skip_bad": false });
        let learn = json!({ "do": "learn", "target": "y", "family": "auto", "shape": "line" });
        let predict = json!({ "do": "predict", "name": "t.csv", "level": 0.9, "certified": false, "skip_bad": false });
        for (names, head, explains) in [(&["no", "yes"][..], "p(yes)", true), (&["u", "v", "w"][..], "p(v)", false)] {
            asked(&mut desk, &open, &classes(names));
            let (learned, _) = asked(&mut desk, &learn, "");
            assert_eq!(learned["explains"], explains, "{learned}");
            assert!(learned["html"].as_str().unwrap().contains("Right class in "));
            let (predicted, _) = asked(&mut desk, &predict, "a\n3\n");
            let text = predicted["html"].as_str().unwrap();
            assert!(text.contains(&format!("class=\"number\">{head}</th>")), "{text}");
            assert_eq!((text.contains("<button"), text.contains("90 % intervals of p(yes)")), (explains, explains));
            let row = json!({ "do": "row", "fields": ["4"], "level": 0.9, "certified": false });
            let (answered, _) = asked(&mut desk, &row, "");
            assert_eq!(answered["html"].as_str().unwrap().contains("(this row)"), explains);
        }
    }

    #[test]
    fn what_cannot_be_done_is_told_in_the_words_of_the_page() {
        let mut desk = Desk::default();
        let open = |text: &str| (json!({ "do": "open", "name": "t.csv", "skip_bad": false }), text.to_owned());
        for ((request, file), words) in [
            (open(""), "t.csv: the file has no rows"),
            (open("a,a\n1,2\n"), "t.csv: two columns have the name `a`"),
            (open("a,y\n1\n"), "t.csv, row 1: 1 fields instead of 2 (tick “leave out rows that cannot be read”)"),
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
        assert_eq!(on_page("`x`; `--text` keeps it"), format!("`x`; `--text` keeps it\n{OPTIONS}"));
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
