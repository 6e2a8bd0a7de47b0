//! Functions of a number that a formula may name.

use serde::{Deserialize, Serialize};

/// A function of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Function {
    /// The natural logarithm.
    Log,
    /// To base 2.
    Log2,
    /// To base 10.
    Log10,
    /// `log(1 + x)`.
    Log1p,
    /// The exponential.
    Exp,
    /// The square root.
    Sqrt,
    /// The absolute value.
    Abs,
    /// The sine.
    Sin,
    /// The cosine.
    Cos,
    /// `I(x^k)`.
    Power(u32),
    /// `C(x)`: the numbers are names.
    Text,
}

const NAMED: [(&str, Function); 10] = [
    ("log", Function::Log),
    ("log2", Function::Log2),
    ("log10", Function::Log10),
    ("log1p", Function::Log1p),
    ("exp", Function::Exp),
    ("sqrt", Function::Sqrt),
    ("abs", Function::Abs),
    ("sin", Function::Sin),
    ("cos", Function::Cos),
    ("C", Function::Text),
];

impl Function {
    pub(super) fn named(name: &str) -> Option<Self> {
        NAMED.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    /// All names, for whoever wrote another.
    pub(super) fn names() -> String {
        NAMED.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }

    /// `f(x)`; none where that is no finite number.
    #[must_use]
    pub fn of(self, x: f64) -> Option<f64> {
        let y = match self {
            Self::Log => x.ln(),
            Self::Log2 => x.log2(),
            Self::Log10 => x.log10(),
            Self::Log1p => x.ln_1p(),
            Self::Exp => x.exp(),
            Self::Sqrt => x.sqrt(),
            Self::Abs => x.abs(),
            Self::Sin => x.sin(),
            Self::Cos => x.cos(),
            Self::Power(k) => x.powi(i32::try_from(k).unwrap_or(i32::MAX)),
            Self::Text => x,
        };
        y.is_finite().then_some(y)
    }

    /// The name of the function of a column.
    #[must_use]
    pub fn label(self, column: &str) -> String {
        match self {
            Self::Power(k) => format!("{column}^{k}"),
            Self::Text => column.to_owned(),
            named => {
                let name = NAMED.iter().find(|(_, function)| *function == named).map_or("", |(name, _)| name);
                format!("{name}({column})")
            }
        }
    }
}
