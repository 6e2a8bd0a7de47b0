//! What several sections share: ramps and error wrapping.

use crate::plot::Ramp;
use crate::plot::palette::{BLUE, Colour, ORANGE, WHITE};

/// White to grey, for a background that leaves lines legible.
pub(super) const GREYS: Ramp = Ramp { low: WHITE, middle: Colour(228, 228, 228), high: Colour(196, 196, 196) };

/// White to blue, for values of one sign.
pub(super) const SEQUENTIAL: Ramp = Ramp { low: BLUE, middle: Colour(150, 196, 222), high: WHITE };

/// Blue through white to orange, for signed values and probabilities.
pub(super) const DIVERGING: Ramp = Ramp { low: BLUE, middle: WHITE, high: ORANGE };
