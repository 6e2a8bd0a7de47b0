//! A small drawing layer that writes SVG: panels of lines, bands, points, contours,
//! ellipses, heat maps, bars and intervals, on linear or logarithmic axes.
//!
//! Everything is described in data units ([`Panel`]), laid out in rows ([`Figure`]) and turned into
//! SVG text; nothing here touches a file. [`palette`] is the one place that gives a method its looks.
//!
//! ```
//! use vi_repro::plot::{Axis, Figure, Layout, Panel, palette::Method};
//!
//! let t = [1.0, 2.0, 3.0];
//! let panel = Panel::new("KL over time", Axis::linear("t"), Axis::log("KL"))
//!     .line(&t, &[1.0, 0.1, 0.02], Method::Ekf.style(), Method::Ekf.label());
//! let picture = Figure::new("A figure").row(300.0, vec![panel]).draw(Layout::Wide)?;
//! assert!(picture.svg.starts_with("<svg") && picture.width == 1080.0);
//! # Ok::<(), vi_repro::ReproError>(())
//! ```

mod axis;
mod bitmap;
mod canvas;
mod clip;
mod contour;
mod draw;
mod ellipse;
mod figure;
pub mod palette;
mod panel;

pub(crate) use axis::superscript;
pub use axis::{Axis, Scale};
pub use contour::{Grid, linspace, logspace};
pub use ellipse::ellipse;
pub use figure::{Figure, Layout, Picture};
pub use panel::{Panel, Ramp};
