//! A picture: rows of panels under one title, over one legend.

use super::canvas::{Anchor, Canvas, Rect, render, text_width};
use super::draw::{LABEL_SIZE, panel};
use super::palette::BLACK;
use super::panel::{Key, Panel};
use crate::error::ReproError;

const WIDTH: f64 = 1080.0;
const LEGEND_ROW: f64 = 24.0;
const SAMPLE: f64 = 34.0;
const GAP: f64 = 26.0;

/// Rows of panels; every label used in them appears once in the legend below.
#[derive(Clone, Debug)]
pub struct Figure {
    title: String,
    rows: Vec<(f64, Vec<Panel>)>,
}

impl Figure {
    /// A picture 1080 pixels wide with no panels yet.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), rows: Vec::new() }
    }

    /// Adds a row of panels of equal width, `height` pixels high.
    #[must_use]
    pub fn row(mut self, height: f64, panels: Vec<Panel>) -> Self {
        self.rows.push((height, panels));
        self
    }

    /// The picture as the text of an SVG file.
    ///
    /// # Errors
    /// [`ReproError::NothingToDraw`] for a figure, row or axis without anything finite to show;
    /// [`ReproError::Length`] for columns of different lengths; [`ReproError::Range`] for an
    /// impossible axis; [`ReproError::Backend`] if the back end fails.
    pub fn to_svg(&self) -> Result<String, ReproError> {
        if self.rows.is_empty() || self.rows.iter().any(|(_, p)| p.is_empty()) {
            return Err(ReproError::NothingToDraw { panel: self.title.clone(), what: "the figure".to_owned() });
        }
        let keys = self.keys();
        let legend = legend_rows(&keys);
        let head = if self.title.is_empty() { 6.0 } else { 36.0 };
        let foot = if legend.is_empty() { 6.0 } else { legend.len() as f64 * LEGEND_ROW + 10.0 };
        let rows: f64 = self.rows.iter().map(|(h, _)| h).sum();
        let height = head + rows + foot;
        render((WIDTH, height), |canvas| {
            let middle = (WIDTH / 2.0, 19.0);
            canvas.text(&self.title, middle, 17.0, Anchor::Middle, BLACK, true)?;
            let mut top = head;
            for (height, panels) in &self.rows {
                let width = WIDTH / panels.len() as f64;
                for (i, p) in panels.iter().enumerate() {
                    let left = i as f64 * width;
                    let outer = Rect { left, top, right: left + width, bottom: top + height };
                    panel(canvas, p, &outer)?;
                }
                top += height;
            }
            draw_legend(canvas, &legend, top + LEGEND_ROW / 2.0)
        })
    }

    /// Labels in order of first use, each with its sample.
    fn keys(&self) -> Vec<(String, Key)> {
        let mut keys: Vec<(String, Key)> = Vec::new();
        let layers = self.rows.iter().flat_map(|(_, p)| p).flat_map(|p| &p.layers);
        for layer in layers {
            if let (Some(label), Some(key)) = (&layer.label, layer.key()) {
                match keys.iter_mut().find(|(l, _)| l == label) {
                    // A sample with a marker says more than one without.
                    Some((_, known)) => {
                        if let (Key::Line(a), Key::Line(b)) = (*known, key)
                            && a.marker == super::palette::Marker::None
                            && a.colour == b.colour
                        {
                            *known = key;
                        }
                    }
                    None => keys.push((label.clone(), key)),
                }
            }
        }
        keys
    }
}

fn entry_width(label: &str) -> f64 {
    SAMPLE + 8.0 + text_width(label, LABEL_SIZE) + GAP
}

fn legend_rows(keys: &[(String, Key)]) -> Vec<Vec<(String, Key)>> {
    let mut rows: Vec<Vec<(String, Key)>> = Vec::new();
    let mut room = 0.0;
    for (label, key) in keys {
        let width = entry_width(label);
        match rows.last_mut() {
            Some(row) if width <= room => row.push((label.clone(), *key)),
            _ => {
                rows.push(vec![(label.clone(), *key)]);
                room = WIDTH - 20.0;
            }
        }
        room -= width;
    }
    rows
}

fn draw_legend(canvas: &Canvas<'_>, rows: &[Vec<(String, Key)>], first: f64) -> Result<(), ReproError> {
    for (i, row) in rows.iter().enumerate() {
        let y = first + i as f64 * LEGEND_ROW;
        let total: f64 = row.iter().map(|(l, _)| entry_width(l)).sum::<f64>() - GAP;
        let mut x = (WIDTH - total) / 2.0;
        for (label, key) in row {
            sample(canvas, key, x, y)?;
            let at = (x + SAMPLE + 8.0, y);
            canvas.text(label, at, LABEL_SIZE, Anchor::Start, BLACK, false)?;
            x += entry_width(label);
        }
    }
    Ok(())
}

fn sample(canvas: &Canvas<'_>, key: &Key, x: f64, y: f64) -> Result<(), ReproError> {
    let middle = (x + SAMPLE / 2.0, y);
    match key {
        Key::Line(style) => {
            canvas.line(&[(x, y), (x + SAMPLE, y)], style)?;
            canvas.mark(middle, style, 4.0)
        }
        Key::Points(style) => canvas.mark(middle, style, 4.5),
        Key::Fill(colour, alpha) => {
            let r = Rect { left: x + 4.0, right: x + SAMPLE - 4.0, top: y - 6.0, bottom: y + 6.0 };
            canvas.fill_rect(&r, *colour, *alpha)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::axis::Axis;
    use super::super::palette::Method;
    use super::*;

    fn chart(y: &[f64]) -> Figure {
        let x: Vec<f64> = (0..y.len()).map(|i| i as f64).collect();
        let p = Panel::new("p", Axis::linear("t"), Axis::log("KL"))
            .line(&x, y, Method::Ekf.style(), Method::Ekf.label())
            .horizontal(1.0, Method::Laplace.style(), Method::Laplace.label());
        Figure::new("f").row(300.0, vec![p.clone(), p])
    }

    #[test]
    fn a_figure_draws_titles_ticks_and_one_legend_entry_per_label() {
        let svg = chart(&[1.0, 0.1, 0.01]).to_svg().unwrap();
        assert_eq!(svg.matches(">\nEKF\n<").count(), 1);
        assert_eq!(svg.matches(">\nLaplace (batch)\n<").count(), 1);
        assert_eq!(svg.matches(">\n0.01\n<").count(), 2);
        assert!(!svg.contains("floor"));
    }

    #[test]
    fn non_positive_values_on_a_log_axis_are_clipped_with_a_note() {
        let svg = chart(&[1.0, 0.0, -2.0, f64::NAN, 0.01]).to_svg().unwrap();
        assert!(svg.contains("values ≤ 0 drawn on the floor"));
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn nothing_to_draw_is_a_typed_error() {
        assert!(matches!(Figure::new("f").to_svg(), Err(ReproError::NothingToDraw { .. })));
        let empty = Figure::new("f").row(200.0, vec![Panel::new("p", Axis::linear("x"), Axis::linear("y"))]);
        assert!(matches!(empty.to_svg(), Err(ReproError::NothingToDraw { .. })));
        let p =
            Panel::new("p", Axis::linear("x"), Axis::linear("y")).line(&[1.0, 2.0], &[1.0], Method::Ekf.style(), "");
        let uneven = Figure::new("f").row(200.0, vec![p]);
        assert!(matches!(uneven.to_svg(), Err(ReproError::Length { .. })));
    }
}
