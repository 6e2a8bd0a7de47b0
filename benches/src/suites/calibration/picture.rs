//! The heat map of the page: 90 % intervals of every setting.

use std::collections::BTreeSet;

use vi_plot::palette::{BLACK, BLUE, VERMILLION, WHITE};
use vi_plot::{Axis, Figure, Grid, Layout, Panel, PlotError, Ramp};

use super::cells::Truth;
use super::models::Model;
use super::table::Row;

/// Orange where fewer intervals hold than promised, blue where more do.
const RAMP: Ramp = Ramp { low: VERMILLION, middle: WHITE, high: BLUE };

/// Shares of the ends of the ramp, in percent, the promise in the middle.
const SHARES: (f64, f64) = (70.0, 110.0);

/// The picture as SVG.
///
/// # Errors
/// [`PlotError`] if there is nothing to draw.
pub(super) fn draw(rows: &[Row]) -> Result<String, PlotError> {
    let mut figure = Figure::new("Share of 90 % intervals that held the truth");
    let mut panels = Vec::new();
    for truth in Truth::ALL {
        panels.extend(gaussian(rows, truth)?);
    }
    for pair in panels.chunks(2) {
        figure = figure.row(264.0, pair.to_vec());
    }
    let beyond: Vec<&Row> = rows.iter().filter(|row| row.is_beyond()).collect();
    if !beyond.is_empty() {
        figure = figure.row(90.0 + 17.0 * beyond.len() as f64, vec![others(&beyond)?]);
    }
    Ok(figure.draw(Layout::Wide)?.svg)
}

/// Every model on Gaussian inputs with one kind of truth, by inputs and rows; none where nothing was measured.
fn gaussian(rows: &[Row], truth: Truth) -> Result<Option<Panel>, PlotError> {
    let name = truth.name();
    let rows: Vec<&Row> = rows.iter().filter(|row| !row.is_beyond() && row.truth == name).collect();
    let sizes: BTreeSet<(usize, usize)> = rows.iter().map(|row| (row.inputs, row.rows)).collect();
    let sizes: Vec<(usize, usize)> = sizes.into_iter().collect();
    if sizes.len() < 2 {
        return Ok(None);
    }
    let models: Vec<String> = Model::ALL.iter().rev().map(|model| model.name().replace('_', " ")).collect();
    let value = |x: f64, y: f64| {
        let (size, model) = (sizes[place(x)], &models[place(y)]);
        let row = rows.iter().find(|row| (row.inputs, row.rows) == size && row.model == *model);
        row.and_then(|row| row.ninety(1)).map_or(f64::NAN, |(share, _)| share)
    };
    let grid = Grid::of(whole(sizes.len()), whole(models.len()), value)?;
    // The number of inputs stands once for all its numbers of rows.
    let named = sizes
        .iter()
        .enumerate()
        .map(|(i, (inputs, _))| if i == 0 || sizes[i - 1].0 != *inputs { inputs.to_string() } else { String::new() });
    let x = Axis::categories("inputs, and for each of them 20, 100, 500, 2000 rows", named.collect());
    let title = format!("predictors at new rows, weights: {}", truth.heading());
    Ok(Some(Panel::new(title, x, Axis::categories("", models)).heat(&grid, RAMP, SHARES, true)))
}

/// The settings that are nobody's prior, with the exact posterior beside them.
fn others(rows: &[&Row]) -> Result<Panel, PlotError> {
    let names: Vec<String> = rows.iter().rev().map(|row| row.name()).collect();
    let columns = ["weights", "exact", "predictors", "exact", "labels"].map(str::to_owned).to_vec();
    let value = |x: f64, y: f64| {
        let row = rows[rows.len() - 1 - place(y)];
        let measured = match place(x) {
            0 => row.ninety(0),
            1 => row.exact[0],
            2 => row.ninety(1),
            3 => row.exact[1],
            _ => row.ninety(2),
        };
        measured.map_or(f64::NAN, |(share, _)| share)
    };
    let grid = Grid::of(whole(columns.len()), whole(names.len()), value)?;
    let title = "settings that are nobody’s prior, beside the exact posterior of a few of their data sets";
    let mut panel = Panel::new(title, Axis::categories("", columns.clone()), Axis::categories("", names.clone()))
        .heat(&grid, RAMP, SHARES, true);
    for x in whole(columns.len()) {
        for y in whole(names.len()) {
            let share = value(x, y);
            if share.is_finite() {
                panel = panel.text(x - 0.06, y - 0.25, format!("{share:.0}"), BLACK);
            }
        }
    }
    Ok(panel)
}

fn whole(n: usize) -> Vec<f64> {
    (0..n).map(|i| i as f64).collect()
}

/// The index that an axis of categories gives to a coordinate.
fn place(at: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the coordinates are small whole numbers"
    )]
    let place = at.round() as usize;
    place
}

#[cfg(test)]
mod tests {
    use super::super::table::plain;
    use super::*;

    #[test]
    fn every_kind_of_setting_has_its_panel() {
        let rows = [
            plain("logit", 90.0, 80.0),
            Row { rows: 500, ..plain("linear", 90.0, 90.0) },
            Row { world: "sorted".to_owned(), exact: [Some((86.0, 1.0)), None], ..plain("poisson", 41.0, 33.0) },
            Row { inputs: 300, ..plain("logit", 77.0, 71.0) },
        ];
        let svg = draw(&rows).unwrap();
        for text in
            ["weights: drawn", "nobody’s prior", ">logit<", "poisson: sorted", "300 inputs", ">41<", ">86<", ">71<"]
        {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        assert!(!svg.contains("weights: drift"));
        assert!(draw(&[]).is_err());
    }
}
