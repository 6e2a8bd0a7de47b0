//! The methods that pictures compare: their names and looks.

use vi_plot::palette::{Colour, Marker, Style};

use crate::looks::looks;

looks! {
    /// A method that appears in the pictures, in the order of legends.
    pub enum Method {
        RvgaImplicit: "rvga_implicit", "R-VGA implicit", BLUE Solid Disc;
        RvgaExplicit: "rvga_explicit", "R-VGA explicit", SKY Dashed Triangle;
        Ekf: "ekf", "EKF", GREEN DashDot Square;
        Qkf: "qkf", "QKF", BROWN Dotted Diamond;
        Laplace: "laplace", "Laplace (batch)", VERMILLION Long None;
        TruePosterior: "true_posterior", "true posterior", GREY Solid None;
        Map: "map", "MAP", BLACK Dotted Cross;
        Refinement: "refinement", "refinement sweeps", PURPLE Solid Plus;
        BatchVga: "batch_vga", "batch VGA", BLACK Long None;
        MeanField: "mean_field", "mean field", VERMILLION Dotted Triangle;
        MirrorProx: "mirror_prox", "mirror-prox", PURPLE Dashed Diamond;
        NaturalGradient: "natural_gradient", "natural gradient", GREEN Dashed Square;
    }
}

/// Style of the points of class 0.
pub const CLASS_0: Style = Style::solid(Colour(60, 60, 60)).marker(Marker::Disc);
/// Style of the points of class 1.
pub const CLASS_1: Style = Style::solid(Colour(150, 150, 150)).marker(Marker::Triangle);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_methods_look_alike() {
        for (i, a) in Method::ALL.iter().enumerate() {
            for b in &Method::ALL[i + 1..] {
                let (s, t) = (a.style(), b.style());
                assert!((s.colour, s.dash) != (t.colour, t.dash), "{a:?} and {b:?} share colour and dash");
                assert_ne!(a.slug(), b.slug());
                assert_ne!(a.label(), b.label());
            }
        }
    }

    #[test]
    fn the_papers_methods_have_colours_of_their_own() {
        let first = &Method::ALL[..7];
        for (i, a) in first.iter().enumerate() {
            for b in &first[i + 1..] {
                assert_ne!(a.style().colour, b.style().colour, "{a:?} and {b:?}");
            }
        }
    }
}
