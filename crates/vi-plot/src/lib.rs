//! A small drawing layer that writes SVG: panels of lines, bands, points, contours,
//! ellipses, heat maps, bars and intervals, on linear or logarithmic axes.
//!
//! Everything is described in data units ([`Panel`]), laid out in rows ([`Figure`]) and turned into
//! SVG text; nothing here touches a file. [`palette`] has the colours, dashes and markers.
//!
//! ```
//! use vi_plot::palette::{BLUE, Style};
//! use vi_plot::{Axis, Figure, Layout, Panel};
//!
//! let t = [1.0, 2.0, 3.0];
//! let panel = Panel::new("KL over time", Axis::linear("t"), Axis::log("KL"))
//!     .line(&t, &[1.0, 0.1, 0.02], Style::solid(BLUE), "filter");
//! let picture = Figure::new("A figure").row(300.0, vec![panel]).draw(Layout::Wide)?;
//! assert!(picture.svg.starts_with("<svg") && picture.width == 1080.0);
//! # Ok::<(), vi_plot::PlotError>(())
//! ```

mod axis;
mod bitmap;
mod canvas;
mod clip;
mod contour;
mod draw;
mod ellipse;
mod error;
mod figure;
mod number;
pub mod palette;
mod panel;
mod text;

pub use axis::{Axis, Scale, superscript};
pub use contour::{Grid, linspace, logspace};
pub use ellipse::ellipse;
pub use error::PlotError;
pub use figure::{Figure, Layout, Picture};
pub use number::number;
pub use panel::{Panel, Ramp};
pub use text::{markup, visible, visible_json};
