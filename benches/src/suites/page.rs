//! A page that several suites write: each its own part, which begins with a heading of the first level.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::BenchError;

/// Writes `part`, which begins with `# Heading`, in place of the part of that heading, or at the end of the page.
///
/// # Errors
/// [`BenchError::Write`].
pub(super) fn replace(path: &Path, part: &str) -> Result<(), BenchError> {
    let old = std::fs::read_to_string(path).unwrap_or_default();
    std::fs::write(path, replaced(&old, part)).map_err(|source| BenchError::Write { path: path.to_owned(), source })
}

fn replaced(old: &str, part: &str) -> String {
    let heading = part.lines().next().unwrap_or_default();
    let mut parts: Vec<String> = Vec::new();
    for line in old.lines() {
        if line.starts_with("# ") || parts.is_empty() {
            parts.push(String::new());
        }
        if let Some(last) = parts.last_mut() {
            *last += line;
            last.push('\n');
        }
    }
    match parts.iter_mut().find(|old| old.lines().next() == Some(heading)) {
        Some(old) => part.clone_into(old),
        None => parts.push(part.to_owned()),
    }
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_end()).collect();
    parts.join("\n\n") + "\n"
}

/// The sentences with which a suite's part begins; `what` says what was measured.
pub(super) fn written(suite: &str, took: Duration, what: &str) -> String {
    format!(
        "Written by `cargo xtask bench {suite}` on {} in {:.0} minutes; do not edit. {what} Machine: {}.",
        date(SystemTime::now()),
        (took.as_secs_f64() / 60.0).max(1.0),
        machine()
    )
}

/// The processor's name and number of cores, as far as the system tells.
fn machine() -> String {
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = information.lines().find_map(|line| line.strip_prefix("model name")?.split(':').nth(1));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let name = name.map_or("a processor of unknown name", str::trim);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().map_or(String::new(), |load| format!(", load {load} at the end of the run"));
    format!("{name}, {cores} cores, {}{load}", std::env::consts::OS)
}

/// Year, month and day of the world's time; by days from the civil calendar's cycle of 400 years (Hinnant).
fn date(time: SystemTime) -> String {
    let days = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400) + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_takes_the_place_of_its_own_and_leaves_the_others() {
        let page = replaced("# A\n\none\n\n## More\n", "# B\n\ntwo\n");
        assert_eq!(page, "# A\n\none\n\n## More\n\n# B\n\ntwo\n");
        assert_eq!(replaced(&page, "# A\nnew\n"), "# A\nnew\n\n# B\n\ntwo\n");
        assert_eq!(replaced("", "# A\n"), "# A\n");
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        let at = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!((at(0).as_str(), at(951_782_400).as_str()), ("1970-01-01", "2000-02-29"));
        assert_eq!(at(1_772_323_199), "2026-02-28");
    }
}
