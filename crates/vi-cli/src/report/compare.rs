//! Models of the same rows side by side.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;

use vi_terms::table::Document;
use vi_terms::table::text::{add, grouped, number, shortened};

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
}

pub(crate) fn compared(models: &[(PathBuf, Document)], json: bool) -> Result<(), CliError> {
    let mut ranked: Vec<Ranked> = models
        .iter()
        .map(|(path, document)| Ranked {
            model: path.display().to_string(),
            evidence: document.model.info().evidence,
            behind: 0.0,
            probability: 0.0,
            log_loss: (document.scores.rows > 0).then(|| document.own_scores().summary().log_loss),
            inputs: document.schema.width(),
            in_order: document.model.info().order.is_some_and(|order| order.is_in_runs()),
        })
        .collect();
    ranked.sort_by(|a, b| b.evidence.total_cmp(&a.evidence));
    let best = ranked.first().map_or(0.0, |model| model.evidence);
    let sum: f64 = ranked.iter().map(|model| (model.evidence - best).exp()).sum();
    for model in &mut ranked {
        model.behind = best - model.evidence;
        model.probability = (-model.behind).exp() / sum;
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
        let (name, inputs) = (shortened(&model.model, 32), model.inputs);
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
        let what = "its labels came in runs; its evidence may be too high";
        add(&mut text, &format!("order         {}: {what}\n", shortened(&model.model, 12)));
    }
    add(&mut text, "probability   under equal prior probabilities; nats of log evidence\n");
    print(&text)
}
