//! §3: the report's tables that are not run here, since their data are not there.

use super::words;
use crate::error::ReproError;
use crate::item::Context;
use crate::plot::palette::{BLACK, BLUE, GREY, Marker, SKY, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Outcome, Quantity, Table, number};

/// Boston housing, five folds: SMSE and MSLL with their deviations over folds.
const BOSTON: [(&str, [f64; 2], [f64; 2]); 5] = [
    ("SLM", [0.0982, 0.0134], [-1.1504, 0.1191]),
    ("GLM", [0.1589, 0.0491], [-0.9209, 0.153]),
    ("exact process", [0.0973, 0.0137], [-1.1792, 0.1581]),
    ("random forest", [0.1533, 0.0709], [-0.4241, 0.0529]),
    ("support vectors", [0.3705, 0.0863], [-0.3142, 0.0388]),
];
/// SARCOS, the GLM by its number of bases: SMSE and MSLL.
const SARCOS: [(f64, f64, f64); 5] = [
    (256.0, 0.0358, -1.6644),
    (512.0, 0.0252, -1.8397),
    (1024.0, 0.0207, -1.9341),
    (2048.0, 0.0171, -2.0243),
    (8192.0, 0.0152, -1.9804),
];
/// USPS, 3 against 5: log loss and share wrong.
const USPS: [(&str, f64, f64); 5] = [
    ("GLM", 0.1138, 0.0207),
    ("logistic regression", 0.1734, 0.0362),
    ("support vectors", 0.1008, 0.0699),
    ("process classifier", 0.1405, 0.0259),
    ("random forest", 0.1368, 0.0272),
];

/// The published tables as they stand.
pub(super) fn published(ctx: &Context) -> Result<Outcome, ReproError> {
    let mut table = Table::new("", &["data", "model", "score", "value"]);
    let mut quantities = Vec::new();
    let mut push = |data: &str, model: &str, score: &str, value: f64| -> Result<(), ReproError> {
        quantities.push(Quantity::new(format!("{data}: {score}, {model}")).authors(number(value)));
        table.push(&[&data, &model, &score, &value])
    };
    for (model, smse, msll) in BOSTON {
        push("Boston", model, "SMSE", smse[0])?;
        push("Boston", model, "MSLL", msll[0])?;
    }
    for (bases, smse, msll) in SARCOS {
        push("SARCOS", &format!("GLM, {bases} bases"), "SMSE", smse)?;
        push("SARCOS", &format!("GLM, {bases} bases"), "MSLL", msll)?;
    }
    for (model, loss, wrong) in USPS {
        push("USPS 3 and 5", model, "log loss", loss)?;
        push("USPS 3 and 5", model, "share wrong", wrong)?;
    }
    let names = BOSTON.iter().rev().map(|(name, ..)| (*name).to_owned()).collect();
    let at: Vec<f64> = (0..BOSTON.len()).map(|i| i as f64).collect();
    let boston: Vec<[f64; 2]> = BOSTON.iter().rev().map(|(_, smse, _)| *smse).collect();
    let side = |sign: f64| boston.iter().map(|[mean, deviation]| mean + sign * deviation).collect::<Vec<f64>>();
    let dots = Style::solid(BLUE).marker(Marker::Disc);
    let left = Panel::new("Boston housing, as published", Axis::linear("SMSE"), Axis::categories("", names))
        .spread_sideways(&at, &side(-1.0), &side(1.0), Style::solid(GREY).width(1.6), "± one deviation over folds")
        .points(&boston.iter().map(|b| b[0]).collect::<Vec<_>>(), &at, dots, 5.0, "mean");
    let bases: Vec<f64> = SARCOS.iter().map(|s| s.0).collect();
    let smse: Vec<f64> = SARCOS.iter().map(|s| s.1).collect();
    let middle = Panel::new("SARCOS, as published", Axis::log("bases"), Axis::log("SMSE")).line_marked(
        &bases,
        &smse,
        Style::solid(SKY).marker(Marker::Diamond),
        1,
        "GLM",
    );
    let names = USPS.iter().rev().map(|(name, ..)| (*name).to_owned()).collect();
    let loss: Vec<f64> = USPS.iter().rev().map(|u| u.1).collect();
    let right = Panel::new("USPS digits, as published", Axis::linear("log loss"), Axis::categories("", names)).points(
        &loss,
        &at,
        Style::solid(BLACK).marker(Marker::Disc),
        5.0,
        "",
    );
    Ok(Outcome {
        quantities: quantities,
        tables: vec![table],
        figure: Figure::new("Published, not run").row(300.0, vec![left, middle, right]),
        ..words().outcome(ctx, &[])
    })
}
