//! Models of the same rows side by side.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;

use vi_terms::table::text::{add, ending, grouped, number};
use vi_terms::table::{Basis, Document, Versus};

use crate::error::CliError;
use crate::tell::{print, print_json};

/// A model among others of the same rows.
#[derive(Serialize)]
struct Ranked {
    model: String,
    /// The log probability of all targets given the inputs, in nats.
    evidence: f64,
    /// That of the first less its own.
    behind: f64,
    /// How probable it is if all were equally so before.
    probability: f64,
    /// None of a model that has learned elsewhere.
    log_loss: Option<f64>,
    inputs: usize,
    /// Whether its labels came in runs, so that its evidence may be too high.
    in_order: bool,
    /// The gain of the first model's predictions over this one's; none for the first.
    against: Option<Versus>,
    #[serde(skip)]
    place: usize,
}

pub(crate) fn compared(models: &[(PathBuf, Document)], json: bool) -> Result<(), CliError> {
    let mut ranked: Vec<Ranked> = models
        .iter()
        .enumerate()
        .map(|(place, (path, document))| Ranked {
            model: path.display().to_string(),
            evidence: document.model.info().evidence,
            behind: 0.0,
            probability: 0.0,
            log_loss: (document.scores.rows > 0).then(|| document.own_scores().summary().log_loss),
            inputs: document.schema.width(),
            in_order: document.model.info().order.is_some_and(|order| order.is_in_runs()),
            against: None,
            place,
        })
        .collect();
    ranked.sort_by(|a, b| b.evidence.total_cmp(&a.evidence));
    let best = ranked.first().map_or(0.0, |model| model.evidence);
    let sum: f64 = ranked.iter().map(|model| (model.evidence - best).exp()).sum();
    for model in &mut ranked {
        model.behind = best - model.evidence;
        model.probability = (-model.behind).exp() / sum;
    }
    if let Some(first) = ranked.first().map(|first| first.place) {
        // That it is the first was seen in the rows: of several that could have been, each has its share of the evidence.
        let others = (ranked.len() as f64 - 1.0).max(1.0).ln();
        for model in &mut ranked[1..] {
            let mut against = models[first].1.against(&models[model.place].1)?;
            against.log_e_value -= others;
            model.against = Some(against);
        }
    }
    if json {
        return print_json(&json!({ "models": ranked }));
    }
    let rows = models.first().map_or(0, |(_, document)| document.model.info().observations);
    let mut text = format!("{} models of the same {} rows, best first\n", ranked.len(), grouped(rows));
    add(
        &mut text,
        &format!("  {:<32} {:>8} {:>12} {:>11} {:>11}\n", "model", "inputs", "nats behind", "probability", "log loss"),
    );
    for model in &ranked {
        let (name, inputs) = (ending(&model.model, 32), model.inputs);
        let behind = if model.behind == 0.0 { "0".to_owned() } else { number(model.behind) };
        add(
            &mut text,
            &format!(
                "  {name:<32} {inputs:>8} {behind:>12} {:>11} {:>11}\n",
                number(model.probability),
                model.log_loss.map_or_else(|| "-".to_owned(), number)
            ),
        );
    }
    for model in ranked.iter().filter(|model| model.in_order) {
        let name = ending(&model.model, 40);
        add(&mut text, &format!("order         {name}: its labels came in runs;\n"));
        add(&mut text, "              its evidence may be too high\n");
    }
    add(&mut text, "probability   under equal prior probabilities; nats of log evidence\n");
    text += &against(&ranked);
    print(&text)
}

/// The loss of each model against the first, with an interval and an e-value that hold at any look.
fn against(ranked: &[Ranked]) -> String {
    let all: Vec<(&str, &Versus)> =
        ranked.iter().filter_map(|model| Some((model.model.as_str(), model.against.as_ref()?))).collect();
    let rows = all.iter().map(|(_, own)| own.rows).min().unwrap_or(0);
    if rows == 0 {
        return String::new();
    }
    let mut text =
        format!("against the first, by {} rows that all predicted before they learned them\n", grouped(rows));
    add(&mut text, &format!("  {:<32} {:>10} {:>22} {:>11}\n", "model", "nats worse", "95 % interval", "e-value"));
    for (name, own) in &all {
        let interval =
            own.interval.map_or_else(|| "-".to_owned(), |(low, high)| format!("{} to {}", number(low), number(high)));
        let worse = own.difference.map_or_else(|| "-".to_owned(), number);
        add(
            &mut text,
            &format!("  {:<32} {worse:>10} {interval:>22} {:>11}\n", ending(name, 32), e_value(own.log_e_value)),
        );
    }
    let grounds = if all.iter().all(|(_, own)| own.basis == Basis::Exact) { "exact" } else { "heuristic" };
    add(&mut text, &format!("e-value       20 is a level of 5 % against a model whenever you look ({grounds})\n"));
    if all.iter().any(|(_, own)| own.interval.is_some()) {
        add(&mut text, "interval      for the mean of a row, holds at all looks together (asymptotic)\n");
    }
    text
}

/// An e-value by its logarithm, which may be beyond floats.
fn e_value(log: f64) -> String {
    if log.abs() < 11.0 { number(log.exp()) } else { format!("10^{:.0}", log / std::f64::consts::LN_10) }
}
