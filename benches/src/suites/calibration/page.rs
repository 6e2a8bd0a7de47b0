//! What the run writes: the page of the guide, its picture and its numbers.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::table::{Measured, Row, csv};
use super::{Effort, picture};
use crate::{BenchError, folder, root};

/// How many settings the tables of the page show.
const SHOWN: usize = 14;

/// How many settings were measured anew, the words that chose them, and how long it took.
pub(super) type Run<'a> = (usize, Option<&'a str>, Duration);

/// The guide, or a folder beside the records for a quick run, which is not for readers.
fn guide(effort: Effort) -> PathBuf {
    if effort == Effort::Quick { folder().join("guide") } else { root().join("docs").join("src") }
}

/// Where all numbers are.
pub(super) fn numbers(effort: Effort) -> PathBuf {
    guide(effort).join("data").join("calibration.csv")
}

/// Writes page, picture and numbers.
pub(super) fn write(effort: Effort, rows: &[Row], run: Run<'_>) -> Result<(), BenchError> {
    let (guide, numbers) = (guide(effort), numbers(effort));
    let data = numbers.parent().unwrap_or(&guide);
    fs::create_dir_all(data).map_err(|source| BenchError::Write { path: data.to_path_buf(), source })?;
    put(&numbers, &csv(rows))?;
    put(&guide.join("calibration.md"), &page(effort, rows, run))?;
    put(&guide.join("calibration.svg"), &picture::draw(rows)?)
}

/// Writes a file.
pub(super) fn put(path: &Path, text: &str) -> Result<(), BenchError> {
    fs::write(path, text).map_err(|source| BenchError::Write { path: path.to_path_buf(), source })
}

const ABOUT: &str = "\
Every cell of the picture is a model with its defaults on data of one kind: the share of 90 % intervals that held the truth, white where it is the 90 % that
they promise, orange where it is less, blue where it is more. All numbers, 50 and 95 % intervals among them, with standard errors and
the number of data sets, are in [calibration.csv](data/calibration.csv).

![Share of 90 % intervals that held the truth](calibration.svg)

- **Truths that the prior allows for.** Inputs are independent and Gaussian. Weights come from N(0, s²) with s as stated, or \"drawn\": log s uniform between those of 0.05 and 5 (counts: up to a
  predictor of standard deviation 2); \"fixed\": 1, −½, ⅓, −¼, …; \"separable\": s = 8, so that classes hardly ever overlap; \"drift\": s = ½ at first,
  then a step of 0.02 of each weight before every row, with `Memory::Learned`. Softmax has three classes, binomial counts ten trials,
  negative-binomial counts a size of 3. `vb` is variational Bayes, `ard` with relevance determination.
- **Settings that are nobody's prior.** \"Correlated\": inputs in pairs of that correlation, with truths that oppose each other (two weights of opposite sign that leave the
  predictor a standard deviation of 0.6, all others 0) or are sparse (one in five is 1 or −1). \"One-hot\": a text of 20 levels, the
  k-th in proportion to 1/k², beside two numbers. \"Rare\": one label in a hundred is 1. \"Sorted\" by the label, or in \"blocks\" of 50 sorted rows. \"Units\": from 1e-6 to 1e6. \"Heavy\"
  tails are Student's t with two degrees of freedom. \"Classes5\" and \"10\" have so many. Without a name: many weights.
- **The exact posterior** of the same prior stands beside them for a few data sets of each: Hamiltonian Monte Carlo at every prior scale that counts, by
  `benches/python/exact.py`. Where the truth is nobody's prior it does not hold 90 % either. **Regret** is the log loss at 500 new rows above its own, in nats a row. **Evidence** is
  the default's less the exact one, of the data set where they differ most, in nats; **order said** the share of all data sets of which `info` says that labels come in runs.

";

fn page(effort: Effort, rows: &[Row], (anew, chosen, took): Run<'_>) -> String {
    let mut text = String::from("# How often intervals hold\n\n");
    let asked =
        if let Effort::Replications(count) = effort { format!(" --replications {count}") } else { String::new() };
    let minutes = (took.as_secs_f64() / 60.0).max(1.0);
    let sets: usize = rows.iter().map(|row| row.sets).sum();
    let _ = writeln!(
        text,
        "Written by `cargo xtask bench calibration{asked}` in {minutes:.0} minutes; do not edit. {} settings, {sets} data sets.",
        rows.len(),
    );
    if let Some(words) = chosen {
        let _ = writeln!(
            text,
            "This run measured the {anew} settings with one of `{words}` in their names; the others are of an earlier run."
        );
    }
    text.push('\n');
    text.push_str(ABOUT);
    let (beyond, usual): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.is_beyond());
    let front: Vec<&Row> = usual.into_iter().filter(|row| row.is_front_door()).collect();
    let held = |rows: &[&Row]| rows.iter().filter(|row| row.short() == 0.0).count();
    let failed: usize = rows.iter().map(|row| row.failed).sum();
    let regrets: Vec<f64> = beyond.iter().filter_map(|row| row.regret.map(|(mean, _)| mean)).collect();
    let gaps: Vec<f64> = beyond.iter().filter(|row| !row.is_ordered()).filter_map(|row| row.evidence).collect();
    let within = |values: &[f64], limit: f64| values.iter().filter(|value| value.abs() <= limit).count();
    let _ = writeln!(
        text,
        "Held, which is to say not short of 90 % by more than three points and three standard errors, for weights and for predictors:\n\n\
         - by the front door's models on the truths of the first kind that stand still, in {} of {} settings;\n\
         - in settings that are nobody's prior, in {} of {}.\n",
        held(&front),
        front.len(),
        held(&beyond),
        beyond.len(),
    );
    if !regrets.is_empty() {
        let _ = writeln!(
            text,
            "Beside the exact posterior, in settings that are nobody's prior: the regret is at most 0.01 nats a row in {} of {}, and with rows at \
             random the evidence is within 1 nat in {} of {}.\n",
            regrets.iter().filter(|regret| **regret <= 0.01).count(),
            regrets.len(),
            within(&gaps, 1.0),
            gaps.len(),
        );
    }
    let _ = writeln!(text, "Data sets that a model refused: {failed}.\n");
    text.push_str("## The worst of the first kind\n\n");
    text.push_str("The front door's models, nothing drifting; 90 % intervals, in percent.\n\n");
    text.push_str("| setting | data sets | weights | predictors | labels |\n|---|--:|--:|--:|--:|\n");
    for row in worst(front, Row::lowest).into_iter().take(SHOWN) {
        let _ = writeln!(text, "| {} | {} | {} |", row.name(), row.sets, shares(row));
    }
    text.push_str("\n## The worst of those that are nobody's prior\n\n");
    text.push_str("In parentheses, on the few data sets whose exact posterior is stored, its own share and then the default's on the same data.\n\n");
    text.push_str(
        "| setting | data sets | weights | predictors | labels | regret | evidence | order said |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in worst(beyond, Row::lowest).into_iter().take(2 * SHOWN) {
        let single =
            |value: Option<f64>, digits: usize| value.map_or(String::new(), |value| format!("{value:.digits$}"));
        let said = single(row.said, 0) + if row.said.is_some() { " %" } else { "" };
        let regret = row.regret.map_or(String::new(), |(mean, error)| format!("{mean:.3} ± {error:.3}"));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {regret} | {} | {said} |",
            row.name(),
            row.sets,
            shares(row),
            single(row.evidence, 1),
        );
    }
    text
}

/// Rows by falling shortfall.
fn worst(mut rows: Vec<&Row>, short: impl Fn(&Row) -> f64) -> Vec<&Row> {
    rows.sort_by(|a, b| short(b).total_cmp(&short(a)));
    rows
}

/// Weights, predictors and labels as the cells of a table, with the exact posterior's where it is known.
fn shares(row: &Row) -> String {
    let of = |pair: &[Measured; 2], what: usize| pair.get(what).copied().flatten().map(|(mean, _)| mean);
    let cell = |what: usize| {
        let own = row.ninety(what).map_or(String::new(), |(mean, error)| format!("{mean:.0} ± {:.0}", error.ceil()));
        let both = of(&row.exact, what).zip(of(&row.beside, what));
        both.map_or(own.clone(), |(exact, beside)| format!("{own} ({exact:.0}, {beside:.0})"))
    };
    [0, 1, 2].map(cell).join(" | ")
}

#[cfg(test)]
mod tests {
    use super::super::table::plain;
    use super::*;

    #[test]
    fn the_page_counts_and_shows_the_worst_first() {
        let beyond = Row {
            world: "sorted".to_owned(),
            regret: Some((0.02, 0.001)),
            evidence: Some(5.0),
            said: Some(100.0),
            exact: [Some((86.0, 2.0)), None],
            beside: [Some((62.0, 2.0)), None],
            ..plain("logit", 60.0, 50.0)
        };
        let rows = [plain("logit", 90.0, 88.0), plain("probit", 90.0, 70.0), plain("vb logit", 20.0, 20.0), beyond];
        let run = (2, Some("logit,sorted"), Duration::from_mins(10));
        let text = page(Effort::Replications(40), &rows, run);
        assert!(
            text.contains("in 1 of 2 settings") && text.contains("the regret is at most 0.01 nats a row in 0 of 1")
        );
        assert!(text.contains("the 2 settings with one of `logit,sorted`"), "{text}");
        assert!(!page(Effort::Replications(40), &rows[..3], run).contains("the regret is"));
        assert!(text.contains("evidence is within 1 nat in 0 of 0"));
        let at = |name: &str| text.find(name).unwrap();
        assert!(at("| probit: 3 inputs") < at("| logit: 3 inputs") && !text.contains("vb logit: 3"));
        assert!(text.contains("| 60 ± 1 (86, 62) | 50 ± 1 | 90 ± 1 | 0.020 ± 0.001 | 5.0 | 100 % |"), "{text}");
    }
}
