//! JSON lines: one object on each line.

use serde_json::{Map, Value};

use super::record::{Fault, Record, Source};
use super::{Reader, next_line};

/// Records of JSON lines. The columns are the keys of the first object.
pub(super) struct JsonLines<'a> {
    reader: Reader<'a>,
    columns: Vec<String>,
    line: String,
    /// The object that named the columns, until it is read as a record.
    first: Option<Map<String, Value>>,
}

impl<'a> JsonLines<'a> {
    /// Reads the first object; returns `None` for a file without one.
    ///
    /// # Errors
    /// A file that cannot be read; a first line that is not an object.
    pub(super) fn open(mut reader: Reader<'a>) -> Result<Option<Self>, Fault> {
        let mut line = String::new();
        let Some(first) = next_object(&mut *reader, &mut line)? else { return Ok(None) };
        Ok(Some(Self { reader, columns: first.keys().cloned().collect(), line, first: Some(first) }))
    }
}

impl Source for JsonLines<'_> {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next(&mut self, record: &mut Record) -> Result<bool, Fault> {
        let object = match self.first.take() {
            Some(first) => first,
            None => match next_object(&mut *self.reader, &mut self.line)? {
                Some(object) => object,
                None => return Ok(false),
            },
        };
        record.fields.clear();
        for column in &self.columns {
            match object.get(column) {
                None | Some(Value::Null) => record.fields.push_field(""),
                Some(Value::String(text)) => record.fields.push_field(text.trim()),
                Some(Value::Bool(value)) => record.fields.push_field(if *value { "true" } else { "false" }),
                Some(Value::Number(number)) => record.fields.push_field(&number.to_string()),
                Some(_) => return Err(Fault::Record(format!("`{column}` holds more than one value"))),
            }
        }
        Ok(true)
    }
}

/// The object on the next line that is not blank.
fn next_object(reader: &mut dyn std::io::BufRead, line: &mut String) -> Result<Option<Map<String, Value>>, Fault> {
    if !next_line(reader, line)? {
        return Ok(None);
    }
    let text = line.trim();
    if text.starts_with('[') {
        return Err(Fault::Record(
            "a list where one object a line is read; `jq -c '.[]'` makes lines of it".to_owned(),
        ));
    }
    serde_json::from_str(text).map(Some).map_err(|error| Fault::Record(format!("no JSON object: {error}")))
}
