//! The page: `BENCHMARKS.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use super::scores::Scores;
use super::sets::{Kind, SETS, Split};
use super::{Entry, Outcome, Table};
use crate::suites::page::written;

/// A number of a score that is better when it is smaller.
type Measure = (&'static str, fn(&Scores) -> Option<f64>);

const LOSS: Measure = ("log loss", |scores| scores.loss.map(|(loss, _)| loss));
const RMSE: Measure = ("root mean squared error", |scores| scores.rmse);

/// The page of these tables, and of what could not be measured.
pub(super) fn page(tables: &[Table], missing: &[(String, String)], took: Duration) -> String {
    let mut text = String::from("# Benchmarks\n\n");
    let tasks = format!("{} of {} tasks.", tables.len(), SETS.len());
    let _ = writeln!(text, "{} One thread for every method.\n", written("peers", took, &tasks));
    let versions: BTreeSet<&str> = tables
        .iter()
        .flat_map(|table| &table.entries)
        .filter(|entry| entry.method.package.is_some() && !entry.version.is_empty())
        .map(|entry| entry.version.as_str())
        .collect();
    let versions: Vec<&str> = versions.into_iter().collect();
    let _ = writeln!(text, "Versions: ours {}; {}.\n", env!("CARGO_PKG_VERSION"), versions.join(", "));
    for (what, reason) in missing {
        let _ = writeln!(text, "Left out: {what}, since {reason}\n");
    }
    text.push_str(HOW);
    glance(tables, &mut text);
    for table in tables {
        section(table, &mut text);
    }
    range(tables, &mut text);
    text
}

const HOW: &str = "\
## How it is measured

- Every method reads the same file and predicts the same rows; all predictions are scored by the same code. Log loss is the mean of
  `−log p(label)` in nats (of numbers and counts that of the predictive density, NLPD), ± its standard error over the rows. No
  probability counts as less than 1e-15.
- Every method runs with its defaults, behind its own scaler where it has one or is used with one (scikit-learn's for scikit-learn, glum and
  bayesianbandits; river's; statsmodels and Vowpal Wabbit need none). For those with a step size a second line tells the best of the steps
  over a range of 1000, chosen *on the very rows that are scored*: better than anyone can do. Ours has no such line.
- *ours* is `OnlineLinear`, `OnlineLogistic`, `OnlineSoftmax` or `OnlineGlm` with nothing set: one pass, the prior scale learned. *ours,
  refined* keeps the rows and sweeps over them to the end. *Learned memory* is `Memory::Learned`. *ours, `rvi fit`* is what the command does
  with the file, with nothing set but that the numbers of several classes are classes: curves, products and the family of the label are chosen,
  and it reads the rows again where they come in an order.
- Rows per second: from file to model in a process of its own; Vowpal Wabbit reads its own format (writing that is not counted), imports
  are not counted. In streams every row is predicted before it is learned, and both are counted. One run each, so small sets say little.
  Rows per CPU second are by the time that processors worked, all threads of the others' processes together: what else runs on the machine makes
  the first smaller and hardly the second.
- Memory: the process at its largest when the model is there, interpreter and imports included; ours reads the whole file first.
- A process that takes more than 25 s, of any method, is ended and the line says so: a method with its default, or all settings of a range.
- Coverage: share of labels in their 90 % intervals; of counts it is above 90 % where single counts are probable. Calibration error: expected
  calibration error in ten bins of equal counts, of the most probable class where there are several; a few √(10/rows) are noise.
- A Poisson model's density and interval are those of its predicted mean. Trees are no linear model and stand for what the inputs allow.

";

/// Ours with nothing set, and the best of the others, in hindsight too.
fn glance(tables: &[Table], text: &mut String) {
    text.push_str("## At a glance\n\nOurs, one pass with nothing set, beside the best linear method of others, which may differ from row to row and have a step chosen in hindsight.\n\n");
    let more = ("ours, refined or with memory", &["ours_refined", "ours_memory"][..]);
    beside(tables, text, "ours", more, |entry| entry.method.linear);
    text.push_str("The command `rvi fit` with nothing set, beside the best of all others, trees among them.\n\n");
    beside(tables, text, "ours_table", ("ours, linear", &["ours"]), |_| true);
}

/// A table of the method of ours with this name, in a second column under `heading` the first of `more` that there is, beside the best of
/// those others that `counts`.
fn beside(
    tables: &[Table],
    text: &mut String,
    ours: &str,
    (heading, more): (&str, &[&str]),
    counts: impl Fn(&Entry) -> bool,
) {
    let _ = writeln!(
        text,
        "| data | score | ours | {heading} | best of others | by | ours is |\n|---|---|--:|--:|--:|---|---|"
    );
    let (mut better, mut of) = (0, 0);
    for table in tables {
        let measures: &[Measure] = if table.set.kind.is_class() { &[LOSS] } else { &[LOSS, RMSE] };
        for &(name, value) in measures {
            let of_outcome = |outcome: &Outcome| outcome.scores.as_ref().and_then(value).filter(|v| v.is_finite());
            let find = |name: &str| table.entries.iter().find(|entry| entry.method.name == name);
            let Some(entry) = find(ours) else { continue };
            let ours = of_outcome(&entry.default);
            // A score that the kind of label has not is no failure; a run that gave none is.
            if ours.is_none() && entry.default.scores.is_some() {
                continue;
            }
            let more = more.iter().find_map(|name| find(name)).and_then(|entry| of_outcome(&entry.default));
            let theirs = table.entries.iter().filter(|entry| entry.method.package.is_some() && counts(entry));
            let candidates = theirs.flat_map(|entry| {
                let all = std::iter::once(&entry.default).chain(&entry.swept);
                all.filter_map(|outcome| Some((of_outcome(outcome)?, title(entry, outcome))))
            });
            let Some((best, by)) = candidates.min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
            of += 1;
            better += usize::from(ours.is_some_and(|ours| ours <= best));
            let verdict = match ours {
                Some(ours) => {
                    let side = if ours <= best { "better" } else { "worse" };
                    format!("{side}, {:.1} %", 100.0 * ((ours - best) / best).abs())
                }
                None => "worse: it fails".to_owned(),
            };
            let _ = writeln!(
                text,
                "| {} | {name} | {} | {} | {} | {by} | {verdict} |",
                table.set.name,
                number(ours),
                number(more),
                number(Some(best))
            );
        }
    }
    let _ = writeln!(text, "\nBetter in {better} of {of}.\n");
}

fn title(entry: &Entry, outcome: &Outcome) -> String {
    match outcome.setting {
        Some(step) => format!("{}, best step ({})", entry.method.title, short(step)),
        None => entry.method.title.to_owned(),
    }
}

/// The best outcome over the range, by loss, or by error where there is none.
pub(super) fn best(entry: &Entry) -> Option<&Outcome> {
    entry.swept.iter().filter(|outcome| primary(outcome).is_some()).min_by(|a, b| {
        let value = |outcome: &&Outcome| primary(outcome).unwrap_or(f64::INFINITY);
        value(a).total_cmp(&value(b))
    })
}

fn primary(outcome: &Outcome) -> Option<f64> {
    let scores = outcome.scores.as_ref()?;
    (LOSS.1)(scores).or(scores.rmse).filter(|value| !value.is_nan())
}

fn section(table: &Table, text: &mut String) {
    let (learned, predicted) = table.rows;
    let rows = if matches!(table.set.split, Split::Stream(_)) {
        format!("{learned} rows, each predicted and then learned")
    } else {
        format!("{learned} rows learned, {predicted} others predicted")
    };
    let _ = writeln!(text, "## {}\n\n{}; {rows}.\n", table.set.name, capital(table.set.about));
    let classes = table.set.kind.is_class();
    text.push_str(if classes {
        "| method | log loss | calibration error | rows/s | rows/CPU s | memory, MiB |\n|---|--:|--:|--:|--:|--:|\n"
    } else {
        "| method | NLPD | root mean squared error | 90 % coverage | rows/s | rows/CPU s | memory, MiB |\n|---|--:|--:|--:|--:|--:|--:|\n"
    });
    let unit = if table.set.kind == Kind::Count { 3 } else { 2 };
    for entry in &table.entries {
        let theirs = entry.method.package.is_some();
        let hindsight = best(entry).filter(|_| theirs);
        for outcome in std::iter::once(&entry.default).chain(hindsight) {
            let mut cells = vec![title(entry, outcome)];
            if let Some(scores) = outcome.scores {
                let loss = scores.loss.map(|(loss, error)| format!("{} ± {error:.4}", number(Some(loss))));
                cells.push(loss.unwrap_or_else(|| "–".to_owned()));
                if classes {
                    cells.push(scores.calibration.map_or("–".to_owned(), |error| format!("{error:.3}")));
                } else {
                    cells.push(scores.rmse.map_or("–".to_owned(), |error| long(error, unit)));
                    cells.push(scores.coverage.map_or("–".to_owned(), |share| format!("{:.1} %", 100.0 * share)));
                }
                for seconds in [outcome.seconds, outcome.cpu] {
                    let rate = seconds.filter(|seconds| *seconds > 0.0);
                    cells.push(rate.map_or("–".to_owned(), |seconds| thousands(learned as f64 / seconds)));
                }
                let peak = entry.peak.filter(|_| outcome.setting.is_none());
                cells.push(peak.map_or("–".to_owned(), |peak| format!("{:.0}", peak as f64 / f64::from(1 << 20))));
            } else {
                let note = entry.note.as_deref().unwrap_or("no answer");
                cells.push(format!("fails: {}", note.replace('|', "/")));
                cells.resize(if classes { 6 } else { 7 }, String::new());
            }
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
    }
    text.push('\n');
}

/// What a setting that nobody knows beforehand costs.
fn range(tables: &[Table], text: &mut String) {
    text.push_str(
        "## A setting that nobody knows beforehand\n\nLog loss (or root mean squared error where a method has no density) over a range of 1000: of ours the prior variance, given \
         instead of learned, of theirs the step size. What matters is how far the worst is from the best, and where the default lies.\n\n\
         | data | method | default | best of range | worst of range | worst − best | broke down |\n|---|---|--:|--:|--:|--:|--:|\n",
    );
    for table in tables {
        for entry in table.entries.iter().filter(|entry| !entry.swept.is_empty()) {
            let values: Vec<f64> = entry.swept.iter().filter_map(primary).collect();
            let broken = entry.swept.len() - values.len();
            let least = values.iter().copied().reduce(f64::min);
            let most = values.iter().copied().reduce(f64::max);
            let apart = least.zip(most).map(|(least, most)| most - least);
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} |",
                table.set.name,
                entry.method.title,
                number(primary(&entry.default)),
                number(least),
                number(most),
                number(apart),
                if broken == 0 { String::new() } else { format!("{broken} of {}", entry.swept.len()) }
            );
        }
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| long(value, 4))
}

/// So many decimals, or an exponent where the number is too long to read.
fn long(value: f64, decimals: usize) -> String {
    if value.abs() < 1e6 { format!("{value:.decimals$}") } else { format!("{value:.1e}") }
}

/// Two digits that count, with commas.
fn thousands(value: f64) -> String {
    let unit = 10_f64.powf((value.max(1.0).log10().floor() - 1.0).max(0.0));
    let digits = format!("{:.0}", (value / unit).round() * unit);
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Two digits that count.
fn short(step: f64) -> String {
    let digits = (1.0 - step.abs().log10().floor()).clamp(0.0, 8.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 8")]
    let digits = digits as usize;
    format!("{step:.digits$}")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::super::methods::METHODS;
    use super::*;

    fn outcome(setting: Option<f64>, loss: f64) -> Outcome {
        let scores = Scores { loss: Some((loss, 0.01)), rmse: None, coverage: None, calibration: Some(0.02) };
        Outcome { setting, scores: Some(scores), seconds: Some(0.5), cpu: Some(0.25) }
    }

    fn entry(name: &str, default: f64, swept: &[(f64, f64)]) -> Entry {
        let method = *METHODS.iter().find(|method| method.name == name).unwrap();
        let swept = swept.iter().map(|&(setting, loss)| outcome(Some(setting), loss)).collect();
        Entry { method, default: outcome(None, default), peak: Some(3 << 20), version: "p 1".into(), swept, note: None }
    }

    fn table(ours: f64) -> Table {
        let entries =
            vec![entry("ours", ours, &[(0.1, 0.4), (10.0, 0.6)]), entry("river", 0.7, &[(0.1, 0.3), (1.0, 0.9)])];
        Table { set: SETS[0], rows: (12_345, 20), entries }
    }

    #[test]
    fn losses_are_told_as_well_as_wins() {
        let none = Duration::from_mins(1);
        let text = page(&[table(0.33)], &[], none);
        assert!(text.contains("| 0.3000 | river, SGD, best step (0.10) | worse, 10.0 % |"), "{text}");
        assert!(text.contains("Better in 0 of 1."), "{text}");
        let mut failed = table(0.33);
        failed.entries[0].default.scores = None;
        let text = page(&[failed], &[], none);
        assert!(text.contains("| worse: it fails |") && text.contains("Better in 0 of 1."), "{text}");
        assert!(page(&[table(0.27)], &[], none).contains("| better, 10.0 % |"));
        assert!(page(&[], &[("glum".into(), "no network".into())], none).contains("Left out: glum, since no network"));
    }

    #[test]
    fn a_section_has_default_and_best_step_and_the_range_its_ends() {
        let text = page(&[table(0.5)], &[], Duration::ZERO);
        assert!(text.contains("| river, SGD | 0.7000 ± 0.0100 | 0.020 | 25,000 | 49,000 | 3 |"), "{text}");
        assert!(text.contains("| river, SGD, best step (0.10) | 0.3000 ± 0.0100 |"), "{text}");
        assert!(text.contains("| phishing | ours | 0.5000 | 0.4000 | 0.6000 | 0.2000 |  |"), "{text}");
    }

    #[test]
    fn trees_stand_beside_the_command_alone() {
        let mut all = table(0.33);
        all.entries.extend([entry("ours_table", 0.2, &[]), entry("sklearn_boosting", 0.25, &[])]);
        let text = page(&[all], &[], Duration::ZERO);
        assert!(text.contains("| 0.3300 | – | 0.3000 | river, SGD, best step (0.10) | worse, 10.0 % |"), "{text}");
        let trees = "scikit-learn HistGradientBoosting (trees)";
        assert!(text.contains(&format!("| 0.2000 | 0.3300 | 0.2500 | {trees} | better, 20.0 % |")), "{text}");
    }

    #[test]
    fn what_breaks_down_is_told() {
        let mut broken = table(0.5);
        broken.entries[1].default.scores = None;
        broken.entries[1].note = Some("OverflowError: math range error".into());
        broken.entries[1].swept[1].scores = None;
        let text = page(&[broken], &[], Duration::ZERO);
        assert!(text.contains("| river, SGD | fails: OverflowError: math range error |  |  |  |  |"), "{text}");
        assert!(text.contains("| 1 of 2 |"), "{text}");
    }

    #[test]
    fn speeds_have_two_digits() {
        assert_eq!(thousands(1_234_567.0), "1,200,000");
        assert_eq!((thousands(999.0).as_str(), thousands(7.4).as_str()), ("1,000", "7"));
        assert_eq!([short(0.003162), short(0.1), short(5.0), short(15.81)], ["0.0032", "0.10", "5.0", "16"]);
    }
}
