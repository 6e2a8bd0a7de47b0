//! Pictures: rows of panels under one title, with one legend.

use super::canvas::{Anchor, Canvas, Rect, render, text_width, wrapped};
use super::draw::{BOLD, LABEL_SIZE, panel};
use super::palette::BLACK;
use super::panel::{Key, Panel};
use crate::error::PlotError;

const LEGEND_ROW: f64 = 24.0;
const SAMPLE: f64 = 34.0;
const GAP: f64 = 26.0;
const TITLE_SIZE: f64 = 17.0;
const TITLE_LINE: f64 = 21.0;

/// The screen for which a picture is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// 1080 pixels wide: the panels of a row are side by side.
    Wide,
    /// 420 pixels wide: every panel is below the one before.
    Narrow,
}

impl Layout {
    const fn width(self) -> f64 {
        match self {
            Self::Wide => 1080.0,
            Self::Narrow => 420.0,
        }
    }
}

/// A drawn picture, as SVG text with its size.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The text of an SVG file.
    pub svg: String,
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
}

/// A picture to be drawn: rows of panels; every label used in them appears once in the legend below.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    title: String,
    rows: Vec<(f64, Vec<Panel>)>,
}

impl Figure {
    /// A picture with no panels yet.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), rows: Vec::new() }
    }

    /// Adds a row of panels of equal width, `height` pixels high.
    #[must_use]
    pub fn row(mut self, height: f64, panels: Vec<Panel>) -> Self {
        self.rows.push((height, panels));
        self
    }

    /// The picture, laid out for a wide or a narrow screen.
    ///
    /// # Errors
    /// [`PlotError::NothingToDraw`] for a figure, row or axis without anything finite to show;
    /// [`PlotError::Length`] for columns of different lengths; [`PlotError::Range`] for an impossible axis.
    pub fn draw(&self, layout: Layout) -> Result<Picture, PlotError> {
        if self.rows.is_empty() || self.rows.iter().any(|(_, p)| p.is_empty()) {
            return Err(PlotError::NothingToDraw { panel: self.title.clone(), what: "the figure".to_owned() });
        }
        let width = layout.width();
        let legend = legend_rows(&self.keys(), width);
        let title = wrapped(&self.title, BOLD * TITLE_SIZE, width - 16.0);
        let head = 9.0 + TITLE_LINE * title.len() as f64;
        let foot = if legend.is_empty() { 6.0 } else { legend.len() as f64 * LEGEND_ROW + 10.0 };
        let places = self.places(layout, head);
        let height = places.last().map_or(head, |(_, outer)| outer.bottom) + foot;
        let svg = render((width, height), |canvas| {
            for (i, line) in title.iter().enumerate() {
                let at = (width / 2.0, 19.0 + TITLE_LINE * i as f64);
                canvas.text(line, at, TITLE_SIZE, Anchor::Middle, BLACK, true);
            }
            for (p, outer) in &places {
                panel(canvas, p, outer)?;
            }
            draw_legend(canvas, &legend, width, height - foot + LEGEND_ROW / 2.0);
            Ok::<_, PlotError>(())
        })?;
        Ok(Picture { svg, width, height })
    }

    /// The place of each panel, below `top`.
    fn places(&self, layout: Layout, mut top: f64) -> Vec<(&Panel, Rect)> {
        let mut places = Vec::new();
        for (height, panels) in &self.rows {
            match layout {
                Layout::Wide => {
                    let width = layout.width() / panels.len() as f64;
                    for (i, p) in panels.iter().enumerate() {
                        let left = i as f64 * width;
                        places.push((p, Rect { left, top, right: left + width, bottom: top + height }));
                    }
                    top += height;
                }
                Layout::Narrow => {
                    for p in panels {
                        places.push((p, Rect { left: 0.0, top, right: layout.width(), bottom: top + height }));
                        top += height;
                    }
                }
            }
        }
        places
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

fn legend_rows(keys: &[(String, Key)], width: f64) -> Vec<Vec<(String, Key)>> {
    let mut rows: Vec<Vec<(String, Key)>> = Vec::new();
    let mut room = 0.0;
    for (label, key) in keys {
        let entry = entry_width(label);
        match rows.last_mut() {
            Some(row) if entry - GAP <= room => row.push((label.clone(), *key)),
            _ => {
                rows.push(vec![(label.clone(), *key)]);
                room = width - 20.0;
            }
        }
        room -= entry;
    }
    rows
}

fn draw_legend(canvas: &Canvas, rows: &[Vec<(String, Key)>], width: f64, first: f64) {
    for (i, row) in rows.iter().enumerate() {
        let y = first + i as f64 * LEGEND_ROW;
        let total: f64 = row.iter().map(|(l, _)| entry_width(l)).sum::<f64>() - GAP;
        let mut x = ((width - total) / 2.0).max(8.0);
        for (label, key) in row {
            sample(canvas, key, x, y);
            let at = (x + SAMPLE + 8.0, y);
            // A label that is wider than the picture is written smaller.
            let room = width - at.0 - 6.0;
            let size = LABEL_SIZE * (room / text_width(label, LABEL_SIZE)).min(1.0);
            canvas.text(label, at, size, Anchor::Start, BLACK, false);
            x += entry_width(label);
        }
    }
}

fn sample(canvas: &Canvas, key: &Key, x: f64, y: f64) {
    let middle = (x + SAMPLE / 2.0, y);
    match key {
        Key::Line(style) => {
            canvas.line(&[(x, y), (x + SAMPLE, y)], style);
            canvas.marks(&[middle], style, 4.0);
        }
        Key::Points(style) => canvas.marks(&[middle], style, 4.5),
        Key::Fill(colour, alpha) => {
            let r = Rect { left: x + 4.0, right: x + SAMPLE - 4.0, top: y - 6.0, bottom: y + 6.0 };
            canvas.fill_rect(&r, *colour, *alpha);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::axis::Axis;
    use super::super::contour::Grid;
    use super::super::palette::{BLUE, Style, VERMILLION};
    use super::super::panel::Ramp;
    use super::*;

    fn chart(y: &[f64]) -> Figure {
        let x: Vec<f64> = (0..y.len()).map(|i| i as f64).collect();
        let p = Panel::new("p", Axis::linear("t"), Axis::log("KL")).line(&x, y, Style::solid(BLUE), "EKF").horizontal(
            1.0,
            Style::solid(VERMILLION),
            "Laplace (batch)",
        );
        Figure::new("f").row(300.0, vec![p.clone(), p])
    }

    #[test]
    fn a_figure_draws_titles_ticks_and_one_legend_entry_per_label() {
        let svg = chart(&[1.0, 0.1, 0.01]).draw(Layout::Wide).unwrap().svg;
        assert_eq!(svg.matches(">EKF<").count(), 1);
        assert_eq!(svg.matches(">Laplace (batch)<").count(), 1);
        assert_eq!(svg.matches(">0.01<").count(), 2);
        assert!(!svg.contains("floor"));
    }

    #[test]
    fn non_positive_values_on_a_log_axis_are_clipped_with_a_note() {
        let svg = chart(&[1.0, 0.0, -2.0, f64::NAN, 0.01]).draw(Layout::Wide).unwrap().svg;
        assert!(svg.contains("values ≤ 0 drawn on the floor"));
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn a_narrow_picture_stacks_its_panels_and_says_the_same() {
        let figure = chart(&[1.0, 0.1, 0.01]);
        let (wide, narrow) = (figure.draw(Layout::Wide).unwrap(), figure.draw(Layout::Narrow).unwrap());
        assert_eq!((wide.width, narrow.width), (1080.0, 420.0));
        assert!(narrow.height > wide.height + 290.0);
        for text in [">EKF<", ">Laplace (batch)<", ">observations<", ">KL<"] {
            assert_eq!(wide.svg.contains(text), narrow.svg.contains(text), "{text}");
        }
    }

    #[test]
    fn values_outside_an_axis_are_counted_and_a_floor_is_named() {
        let axis = Axis::linear("v").range(0.0, 1.0);
        let p =
            Panel::new("p", Axis::linear("t"), axis).line(&[0.0, 1.0, 2.0], &[0.5, 2.0, 0.2], Style::solid(BLUE), "");
        let svg = Figure::new("f").row(200.0, vec![p]).draw(Layout::Wide).unwrap().svg;
        assert!(svg.contains("1 value lies outside the panel"));
        let axis = Axis::log("v").floor(1e-3);
        let p = Panel::new("p", Axis::linear("t"), axis).line(&[0.0, 1.0], &[0.5, 1e-7], Style::solid(BLUE), "");
        let svg = Figure::new("f").row(200.0, vec![p]).draw(Layout::Wide).unwrap().svg;
        assert!(svg.contains("values &lt; 0.00100 drawn on the floor"), "{svg}");
    }

    #[test]
    fn long_titles_and_labels_are_broken_into_lines_that_fit() {
        let words = "A name of many words that no narrow screen can hold in a line";
        let p = Panel::new(words, Axis::linear(words), Axis::linear("v"));
        let p = p.line(&[0.0, 1.0], &[0.5, 0.7], Style::solid(BLUE), "");
        let figure = Figure::new(words).row(300.0, vec![p]);
        let svg = figure.draw(Layout::Narrow).unwrap().svg;
        assert!(!svg.contains(words));
        assert_eq!((svg.matches(">A name").count(), svg.matches("a line<").count()), (3, 3), "{svg}");
        assert_eq!(figure.draw(Layout::Wide).unwrap().svg.matches(words).count(), 3);
    }

    #[test]
    fn ink_beside_a_heat_map_turns_on_a_dark_screen() {
        let grid = Grid { xs: vec![0.0, 1.0], ys: vec![0.0, 1.0], values: vec![0.0, 0.3, 0.6, 1.0] };
        let p = Panel::new("p", Axis::linear("x"), Axis::linear("y")).heat(&grid, Ramp::PROBABILITY, (0.0, 1.0), true);
        let p = p.line(&[0.0, 1.0], &[0.0, 1.0], Style::solid(BLACK), "");
        let svg = Figure::new("f").row(300.0, vec![p]).draw(Layout::Wide).unwrap().svg;
        assert_eq!(svg.matches("#010000").count(), 1, "{svg}");
        assert!(svg.contains("fill=\"#000000\">0.4<"), "{svg}");
    }

    #[test]
    fn nothing_to_draw_is_a_typed_error() {
        assert!(matches!(Figure::new("f").draw(Layout::Wide), Err(PlotError::NothingToDraw { .. })));
        let empty = Figure::new("f").row(200.0, vec![Panel::new("p", Axis::linear("x"), Axis::linear("y"))]);
        assert!(matches!(empty.draw(Layout::Wide), Err(PlotError::NothingToDraw { .. })));
        let p = Panel::new("p", Axis::linear("x"), Axis::linear("y")).line(&[1.0, 2.0], &[1.0], Style::solid(BLUE), "");
        let uneven = Figure::new("f").row(200.0, vec![p]);
        assert!(matches!(uneven.draw(Layout::Wide), Err(PlotError::Length { .. })));
    }
}
