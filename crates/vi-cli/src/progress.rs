//! How far a pass has come, on a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use vi_terms::table::text::{grouped, rounded};

/// How often the line is written anew.
const EVERY: Duration = Duration::from_millis(500);
/// Rows between looks at the clock.
const ROWS: u64 = 64;

/// A line on standard error, where that is a terminal.
pub(crate) struct Progress {
    shown: bool,
    begun: Instant,
    last: Instant,
    rows: u64,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        Self { shown: io::stderr().is_terminal(), begun: now, last: now, rows: 0 }
    }

    /// Counts a row; `share` of the file has been read, if that is known.
    pub(crate) fn row(&mut self, share: impl Fn() -> Option<f64>) {
        self.rows += 1;
        if !self.shown || !self.rows.is_multiple_of(ROWS) || self.last.elapsed() < EVERY {
            return;
        }
        self.last = Instant::now();
        write_line(&line(self.rows, self.begun.elapsed().as_secs_f64(), share()));
    }
}

fn write_line(text: &str) {
    // Whether the line can be seen is no matter of the command.
    let _unseen = write!(io::stderr(), "\r{text:<78}\r");
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            write_line("");
        }
    }
}

fn line(rows: u64, seconds: f64, share: Option<f64>) -> String {
    let text = format!("{} rows, {} rows/s", grouped(rows), grouped(rounded(rows as f64 / seconds.max(1e-9))));
    let Some(share) = share.filter(|share| *share > 0.0) else { return text };
    let left = rounded(seconds * (1.0 / share - 1.0).max(0.0));
    format!("{text}, {:.0} %, {}:{:02} left", 100.0 * share, left / 60, left % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_rate_and_time_left() {
        assert_eq!(line(12_000, 4.0, Some(0.04)), "12,000 rows, 3,000 rows/s, 4 %, 1:36 left");
        assert_eq!(line(10, 2.0, None), "10 rows, 5 rows/s");
    }
}
