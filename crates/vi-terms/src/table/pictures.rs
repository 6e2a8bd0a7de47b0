//! Pictures of a model and of its predictions.

use vi_plot::palette::{BLACK, BLUE, Dash, GREY, Marker, ORANGE, Style};
use vi_plot::{Axis, Figure, Layout, Panel, PlotError};

use crate::TermsError;
use crate::table::answered::Part;
use crate::table::document::Document;
use crate::table::effects::{Curve, curves};
use crate::table::scores::{BANDS, Seen};
use crate::table::summary::{Line, surest};
use crate::table::target::{Target, TargetKind};
use crate::table::text::shortened;

/// Coefficients in a picture.
const SHOWN: usize = 20;

/// A picture with its name and what is to be seen on it.
#[derive(Debug)]
pub struct Drawn {
    /// The name, in one word of small letters.
    pub name: &'static str,
    /// What is to be seen.
    pub caption: &'static str,
    figure: Figure,
}

impl Drawn {
    /// The text of the picture, for a wide screen or a narrow one.
    ///
    /// # Errors
    /// [`TermsError::Picture`] for numbers that cannot be drawn.
    pub fn svg(&self, layout: Layout) -> Result<String, TermsError> {
        let failed = |error: PlotError| TermsError::Picture { name: self.name, what: error.to_string() };
        Ok(self.figure.draw(layout).map_err(failed)?.svg)
    }
}

/// All pictures that a model has enough for.
///
/// # Errors
/// Coefficients that are no numbers.
pub fn pictures(document: &Document) -> Result<Vec<Drawn>, TermsError> {
    let all = [
        effects(&curves(document)?, &document.target),
        coefficients(&surest(document, SHOWN)?),
        predictions(document),
        reliability(document),
        learning(document),
    ];
    Ok(all.into_iter().flatten().collect())
}

/// The curve of each input with its bands.
fn effects(curves: &[Curve], target: &Target) -> Option<Drawn> {
    const ACROSS: usize = 3;
    const MOST: usize = 24;
    if curves.is_empty() {
        return None;
    }
    let what = match target.kind {
        TargetKind::Number => "effect",
        TargetKind::Count => "effect on the log of the mean",
        TargetKind::Classes(_) | TargetKind::Ordered(_) => "effect on the log odds",
        TargetKind::Survival(_) => "effect on the log hazard",
    };
    let label = |level: f64| format!("{:.0} % interval", 100.0 * level);
    let panel = |curve: &Curve| {
        let [(low, high), (least, most)] = &curve.bands;
        Panel::new(shortened(&curve.name, 24), Axis::linear(""), Axis::linear(what))
            .band(&curve.at, least, most, BLUE, 0.16, &label(BANDS[1]))
            .band(&curve.at, low, high, BLUE, 0.3, &label(BANDS[0]))
            .horizontal(0.0, Style::solid(GREY).dash(Dash::Dashed), "")
            .line_marked(&curve.at, &curve.mean, Style::solid(BLUE), 0, "mean")
    };
    let curves = &curves[..curves.len().min(MOST)];
    let row = |figure: Figure, curves: &[Curve]| figure.row(260.0, curves.iter().map(panel).collect());
    Some(Drawn {
        name: "effects",
        caption: "Line and curve of each number, relative to its mean, with posterior intervals; products and kernels come on top.",
        figure: curves.chunks(ACROSS).fold(Figure::new("Effects"), row),
    })
}

fn coefficients(lines: &[Line]) -> Option<Drawn> {
    if lines.is_empty() {
        return None;
    }
    let bar = |line: &Line, of: f64| (line.label(), [line.lower, line.mean, line.upper].map(|end| of * end));
    // The surest stands on top.
    let scaled: Vec<Bar> = lines.iter().filter_map(|line| Some(bar(line, line.deviation?))).collect();
    let (bars, across, caption) = if scaled.is_empty() {
        let caption =
            "Posterior of the coefficients, the most certain on top. An interval that contains 0 leaves the sign open.";
        (lines.iter().map(|line| bar(line, 1.0)).collect(), "coefficient", caption)
    } else {
        let caption = "What an input adds that is larger by one of its deviations (one of two values: by half their distance), the most certain on top. An interval that contains 0 leaves the sign open.";
        (scaled, "coefficient of one deviation", caption)
    };
    Some(Drawn {
        name: "coefficients",
        caption,
        figure: Figure::new("Coefficients").row(height(&bars), vec![sideways(&bars, across, "90 % interval")]),
    })
}

/// What each part adds to the linear predictor of a row, with intervals of probability `level`.
#[must_use]
pub fn explained(parts: &[Part], level: f64) -> Drawn {
    let bars: Vec<Bar> = parts.iter().map(|part| (part.name.clone(), [part.lower, part.mean, part.upper])).collect();
    let label = format!("{:.0} % interval", 100.0 * level);
    Drawn {
        name: "explanation",
        caption: "What each column adds to the average row; the means add up to that of this row.",
        figure: Figure::new("Explanation").row(height(&bars), vec![sideways(&bars, "adds", &label)]),
    }
}

/// A name with the lower end, the mean and the upper end of what is believed.
type Bar = (String, [f64; 3]);

fn height(bars: &[Bar]) -> f64 {
    80.0 + 22.0 * bars.len() as f64
}

/// Intervals side by side, the first on top.
fn sideways(bars: &[Bar], across: &str, label: &str) -> Panel {
    let names = bars.iter().rev().map(|(name, _)| shortened(name, 28)).collect();
    let places: Vec<f64> = (0..bars.len()).map(|k| k as f64).collect();
    let take = |k: usize| bars.iter().rev().map(|(_, ends)| ends[k]).collect::<Vec<f64>>();
    let grey = Style::solid(GREY).dash(Dash::Dashed);
    Panel::new("", Axis::linear(across), Axis::categories("", names))
        .vertical(0.0, grey, "")
        .spread_sideways(&places, &take(0), &take(2), Style::solid(BLUE), label)
        .points(&take(1), &places, Style::solid(BLUE).marker(Marker::Disc), 4.0, "mean")
}

/// Rows sorted by prediction, with intervals and outcomes.
fn predictions(document: &Document) -> Option<Drawn> {
    let mut seen = document.own_scores().seen();
    if seen.len() < 10 {
        return None;
    }
    seen.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    let of_classes = document.target.kind.classes().is_some();
    let take = |of: fn(&Seen) -> f64| seen.iter().map(of).collect::<Vec<f64>>();
    let rank: Vec<f64> = (0..seen.len()).map(|k| 100.0 * k as f64 / (seen.len() - 1) as f64).collect();
    let label = |level: f64| format!("{:.0} % interval", 100.0 * level);
    let (up, caption) = match &document.target.kind {
        _ if seen.iter().all(|seen| seen.bands.is_none()) => (
            "probability of the most probable class".to_owned(),
            "Rows sorted by the predicted probability of their most probable class, and whether it came, 1 or 0. Each row was predicted before it \
             was learned.",
        ),
        TargetKind::Classes(classes) => (
            shortened(&format!("probability of {}", classes.last().map_or("", String::as_str)), 40),
            "Rows sorted by predicted probability, with its posterior intervals and the outcome, 0 or 1. Each row was predicted before it was learned.",
        ),
        _ => (
            shortened(&document.target.column, 40),
            "Rows sorted by prediction, with intervals and outcomes. Each row was predicted before it was learned; nine in ten should lie in the wide \
             band.",
        ),
    };
    let axis = Axis::linear(up);
    let axis = if of_classes { axis.range(-0.03, 1.03) } else { axis };
    let mut panel = Panel::new("", Axis::linear("rows by prediction, %").range(0.0, 100.0), axis);
    let bands: Option<Vec<[(f64, f64); 2]>> = seen.iter().map(|seen| seen.bands).collect();
    for (k, shade) in [(1, 0.16), (0, 0.3)] {
        let Some(bands) = &bands else { break };
        let (lower, upper): (Vec<f64>, Vec<f64>) = bands.iter().map(|band| band[k]).unzip();
        panel = panel.band(&rank, &lower, &upper, BLUE, shade, &label(BANDS[k]));
    }
    let panel = panel.line_marked(&rank, &take(|seen| seen.mean), Style::solid(BLUE), 0, "predicted").points(
        &rank,
        &take(|seen| seen.label),
        Style::solid(ORANGE).marker(Marker::Disc),
        2.5,
        "outcome",
    );
    Some(Drawn {
        name: "predictions",
        caption,
        figure: Figure::new("Predictions and outcomes").row(360.0, vec![panel]),
    })
}

/// For classes predicted probabilities and observed frequencies; for numbers nominal and observed coverage.
fn reliability(document: &Document) -> Option<Drawn> {
    let summary = document.own_scores().summary();
    let percent = |share: &f64| 100.0 * share;
    let classes = document.target.kind.classes();
    let (promised, held): (Vec<f64>, Vec<f64>) = match classes {
        Some(_) => summary.calibration.iter().map(|(p, seen, _)| (percent(p), percent(seen))).unzip(),
        None => summary.coverage.iter().map(|(promised, held)| (percent(promised), percent(held))).unzip(),
    };
    if promised.is_empty() {
        return None;
    }
    let (across, up, caption) = match classes {
        Some(classes) if classes.len() > 2 => (
            "predicted probability, %",
            "observed, %",
            "How often the most probable class came, by its predicted probability; each row was predicted before it was learned. On the line both agree.",
        ),
        Some(_) => (
            "predicted probability, %",
            "observed, %",
            "Observed frequency by predicted probability; each row was predicted before it was learned. On the line both agree.",
        ),
        None => (
            "nominal coverage, %",
            "observed coverage, %",
            "Share of targets inside the intervals; each row was predicted before it was learned. On the line the intervals are calibrated.",
        ),
    };
    let panel = Panel::new("", Axis::linear(across).range(0.0, 100.0), Axis::linear(up).range(0.0, 100.0))
        .line(&[0.0, 100.0], &[0.0, 100.0], Style::solid(GREY).dash(Dash::Dashed), "calibrated")
        .line_marked(&promised, &held, Style::solid(BLUE).marker(Marker::Disc), 1, "this model");
    Some(Drawn { name: "reliability", caption, figure: Figure::new("Reliability").row(380.0, vec![panel]) })
}

/// Log loss along the rows, in blocks of them; none for fewer than two blocks.
#[must_use]
pub fn learning(document: &Document) -> Option<Drawn> {
    let blocks = document.own_scores().along();
    if blocks.len() < 2 {
        return None;
    }
    let rows: Vec<f64> = blocks.iter().map(|block| block.0).collect();
    let loss: Vec<f64> = blocks.iter().map(|block| block.1).collect();
    let mut panel = Panel::new("", Axis::linear("rows learned"), Axis::linear("log loss, nats a row"));
    if document.target.kind.classes().is_some() {
        let plain: Vec<f64> = blocks.iter().map(|block| block.2).collect();
        panel = panel.line_marked(&rows, &plain, Style::solid(ORANGE).dash(Dash::Dashed), 0, "without inputs");
    }
    let mean = document.own_scores().summary().log_loss;
    panel = panel.line_marked(&rows, &loss, Style::solid(BLUE), 0, "this model").horizontal(
        mean,
        Style::solid(BLACK).dash(Dash::Dotted),
        "its mean",
    );
    Some(Drawn {
        name: "loss",
        caption: "Loss of rows predicted before they were learned, in blocks along the file: lower is better.",
        figure: Figure::new("Loss along the rows").row(320.0, vec![panel]),
    })
}
