//! All text for people: names and texts of files never move a terminal.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use serde_json::Value;
use vi_plot::{visible, visible_json};

use crate::error::CliError;

const OUTPUT: &str = "standard output";

/// Writes lines to standard output.
///
/// # Errors
/// An output that does not take them.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    write(&lines(text))
}

/// Writes a value to standard output, for programs.
///
/// # Errors
/// An output that does not take it.
pub(crate) fn print_json(value: &Value) -> Result<(), CliError> {
    write(&visible_json(&format!("{value:#}\n")))
}

/// Writes a line to standard error, in one piece.
pub(crate) fn warn(text: &str) {
    let line = format!("rvi: {}\n", visible(text));
    // Whether the line can be seen is no matter of the command.
    let _unseen = io::stderr().write_all(line.as_bytes());
}

/// Standard output for a table: its bytes as they are, but on a terminal.
pub(crate) fn table_output() -> Box<dyn Write + Send> {
    let out = io::stdout();
    if out.is_terminal() { Box::new(Screen(out)) } else { Box::new(BufWriter::new(out)) }
}

/// The name of [`table_output`] in errors.
pub(crate) fn output() -> &'static Path {
    Path::new(OUTPUT)
}

fn write(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| CliError::file(output(), error))
}

fn lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// A terminal, to which whole texts are written.
struct Screen<W>(W);

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(lines(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_lines_and_nothing_that_moves_it() {
        let mut screen = Screen(Vec::new());
        screen.write_all("a\u{1b}[2J\u{9b}b\r\nKöln\n".as_bytes()).unwrap();
        assert_eq!(String::from_utf8(screen.0).unwrap(), "a\\u{1b}[2J\\u{9b}b\\r\nKöln\n");
    }
}
