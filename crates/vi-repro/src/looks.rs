//! Enumerations of what is compared: for each its name in tables, its name for people, and how it is drawn.

use crate::plot::palette::Style;

/// What [`looks!`] gives, for code that takes any of them.
pub(crate) trait Looks: Copy + PartialEq + 'static {
    fn label(self) -> &'static str;
    fn style(self) -> Style;
}

/// `enum Name { Variant: "slug", "label", COLOUR Dash Marker; … }` with `ALL`, `slug`, `label` and `style`.
macro_rules! looks {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($variant:ident: $slug:literal, $label:literal, $colour:ident $dash:ident $marker:ident;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $name {
            $(#[doc = $label] $variant),*
        }

        #[allow(dead_code, reason = "not each of them is written to a table, shown and drawn")]
        impl $name {
            /// All of them, in the order of tables and legends.
            $vis const ALL: [Self; [$($slug),*].len()] = [$(Self::$variant),*];

            /// The name used in tables.
            #[must_use]
            $vis const fn slug(self) -> &'static str {
                match self { $(Self::$variant => $slug),* }
            }

            /// The name shown to people.
            #[must_use]
            $vis const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label),* }
            }

            /// How it is drawn, everywhere.
            #[must_use]
            $vis const fn style(self) -> $crate::plot::palette::Style {
                use $crate::plot::palette as p;
                match self {
                    $(Self::$variant => {
                        p::Style::solid(p::$colour).dash(p::Dash::$dash).marker(p::Marker::$marker)
                    })*
                }
            }
        }

        impl $crate::looks::Looks for $name {
            fn label(self) -> &'static str {
                self.label()
            }

            fn style(self) -> $crate::plot::palette::Style {
                self.style()
            }
        }
    };
}
pub(crate) use looks;
