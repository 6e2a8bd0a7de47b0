//! Formatting of numbers.

use crate::axis::superscript;

/// A number formatted for people: four significant digits, powers of ten where they read better.
#[must_use]
pub fn number(v: f64) -> String {
    if v == 0.0 {
        return "0".to_owned();
    }
    if v.is_nan() {
        return "not a number".to_owned();
    }
    let sign = if v < 0.0 { "−" } else { "" };
    let size = v.abs();
    if size.is_infinite() {
        return format!("{sign}∞");
    }
    if (1e-3..1e5).contains(&size) {
        let decimals = match size {
            s if s >= 1e3 => 0,
            s if s >= 1e2 => 1,
            s if s >= 1e1 => 2,
            s if s >= 1.0 => 3,
            s if s >= 0.1 => 4,
            _ => 5,
        };
        return format!("{sign}{size:.decimals$}");
    }
    let text = format!("{size:.2e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{sign}{mantissa}·10{}", superscript(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(number(0.10643835), "0.1064");
        assert_eq!(number(62_223.485), "62223");
        assert_eq!(number(-31.79), "−31.79");
        assert_eq!(number(1.2e-9), "1.20·10⁻⁹");
        assert_eq!(number(f64::INFINITY), "∞");
    }
}
