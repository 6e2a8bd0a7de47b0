//! Pictures by `vi_plot`, and how the methods look in them.

pub use vi_plot::*;

/// Colours, dashes and markers, and the looks of the methods.
pub mod palette {
    pub use vi_plot::palette::*;

    pub use crate::method::{CLASS_0, CLASS_1, Method};
}
