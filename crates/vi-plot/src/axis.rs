//! Axes: scale, range, ticks and their labels.

use crate::error::PlotError;

/// The map from values to lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences have equal lengths.
    Linear,
    /// Equal ratios have equal lengths. Values at or below zero are drawn on the axis floor.
    Log,
}

/// One axis of a panel.
#[derive(Clone, Debug)]
pub struct Axis {
    pub(super) label: String,
    pub(super) scale: Scale,
    pub(super) range: Option<(f64, f64)>,
    pub(super) floor: Option<f64>,
    pub(super) categories: Vec<String>,
}

impl Axis {
    /// A linear axis that fits its data.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear, range: None, floor: None, categories: Vec::new() }
    }

    /// A logarithmic axis that fits its positive data.
    pub fn log(label: impl Into<String>) -> Self {
        Self { scale: Scale::Log, ..Self::linear(label) }
    }

    /// A linear axis whose values 0, 1, 2, … are named.
    pub fn categories(label: impl Into<String>, names: Vec<String>) -> Self {
        let top = names.len() as f64 - 0.5;
        Self { range: Some((-0.5, top.max(0.5))), categories: names, ..Self::linear(label) }
    }

    /// This axis with smaller values drawn at `floor`, and a note in the panel if there are such values.
    #[must_use]
    pub fn floor(mut self, floor: f64) -> Self {
        self.floor = Some(floor);
        self
    }

    /// This axis from `lo` to `hi` exactly.
    #[must_use]
    pub fn range(mut self, lo: f64, hi: f64) -> Self {
        self.range = Some((lo, hi));
        self
    }
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) at: f64,
    /// Empty for a minor tick.
    pub(super) label: String,
}

/// An axis whose range is fixed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) scale: Scale,
    pub(super) lo: f64,
    pub(super) hi: f64,
    /// Values below this are drawn at it.
    pub(super) floor: Option<f64>,
}

impl Span {
    /// Fixes the range of `axis` from the values drawn on it.
    pub(super) fn fit(
        axis: &Axis,
        name: &'static str,
        panel: &str,
        values: impl Iterator<Item = f64>,
    ) -> Result<Self, PlotError> {
        let (scale, floor) = (axis.scale, axis.floor);
        if let Some((lo, hi)) = axis.range {
            let ok = lo < hi && lo.is_finite() && hi.is_finite();
            if !ok || (scale == Scale::Log && lo <= 0.0) {
                return Err(PlotError::Range { panel: panel.to_owned(), axis: name, lo, hi });
            }
            return Ok(Self { scale, lo, hi, floor });
        }
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        for v in values.map(|v| floor.map_or(v, |floor| v.max(floor))) {
            if v.is_finite() && (scale == Scale::Linear || v > 0.0) {
                lo = lo.min(v);
                hi = hi.max(v);
            }
        }
        if lo > hi {
            return Err(PlotError::NothingToDraw { panel: panel.to_owned(), what: format!("the {name} axis") });
        }
        Ok(match scale {
            Scale::Linear => {
                let width = hi - lo;
                let pad = if width > 0.0 { 0.04 * width } else { (0.1 * lo.abs()).max(0.5) };
                Self { scale, lo: lo - pad, hi: hi + pad, floor }
            }
            Scale::Log => {
                // At least half a decade, so that a nearly constant curve is not magnified.
                let centre = f64::midpoint(lo.ln(), hi.ln());
                let half = (1.08 * (hi.ln() - lo.ln()) / 2.0).max(0.25 * std::f64::consts::LN_10);
                Self {
                    scale,
                    lo: (centre - half).exp().max(f64::MIN_POSITIVE),
                    hi: (centre + half).exp().min(f64::MAX),
                    floor,
                }
            }
        })
    }

    /// The position of `v`, 0 at the lower end and 1 at the upper; NaN stays NaN.
    pub(super) fn fraction(&self, v: f64) -> f64 {
        let v = self.floor.map_or(v, |floor| if v < floor { floor } else { v });
        match self.scale {
            Scale::Linear => (v - self.lo) / (self.hi - self.lo),
            Scale::Log if v <= 0.0 => 0.0,
            Scale::Log => (v / self.lo).ln() / (self.hi / self.lo).ln(),
        }
    }

    /// Major ticks with labels and minor ticks without, at most about `most` labels.
    pub(super) fn ticks(&self, most: usize) -> Vec<Tick> {
        let most = most.max(2);
        match self.scale {
            Scale::Linear => self.linear_ticks(most),
            Scale::Log => self.log_ticks(most),
        }
    }

    fn linear_ticks(&self, most: usize) -> Vec<Tick> {
        let step = nice_step((self.hi - self.lo) / most as f64);
        let first = (self.lo / step - 1e-9).ceil();
        (0..=most + 1)
            .map(|i| (first + i as f64) * step)
            .filter(|at| *at <= self.hi + 1e-9 * step)
            .map(|at| {
                let at = if at.abs() < 1e-9 * step { 0.0 } else { at };
                Tick { at, label: linear_label(at, step) }
            })
            .collect()
    }

    fn log_ticks(&self, most: usize) -> Vec<Tick> {
        let (lo, hi) = (self.lo.log10(), self.hi.log10());
        let decades = hi - lo;
        if decades < 1.0 {
            // Less than a decade looks linear, and so are the ticks.
            return self.linear_ticks(most).into_iter().filter(|t| t.at > 0.0).collect();
        }
        let every = (decades / most as f64).ceil().max(1.0);
        #[expect(clippy::cast_possible_truncation, reason = "an exponent of a finite f64")]
        let (first, last) = ((lo - 1e-9).ceil() as i32, (hi + 1e-9).floor() as i32);
        let mut ticks = Vec::new();
        for e in first - 1..=last {
            let decade = 10f64.powi(e);
            let labelled = f64::from(e).rem_euclid(every) == 0.0;
            let label = if labelled { power_label(e) } else { String::new() };
            ticks.push(Tick { at: decade, label });
            if every <= 1.0 {
                for m in 2..10 {
                    let at = f64::from(m) * decade;
                    let label =
                        if decades < 2.0 && (m == 2 || m == 5) { scaled_power_label(m, e) } else { String::new() };
                    ticks.push(Tick { at, label });
                }
            }
        }
        let inside = self.lo * (1.0 - 1e-9)..=self.hi * (1.0 + 1e-9);
        ticks.retain(|t| inside.contains(&t.at));
        ticks
    }
}

/// The smallest of 1, 2, 2.5, 5 times a power of ten that is at least `rough`.
fn nice_step(rough: f64) -> f64 {
    let base = 10f64.powf(rough.log10().floor());
    for m in [1.0, 2.0, 2.5, 5.0] {
        if m * base >= rough * (1.0 - 1e-9) {
            return m * base;
        }
    }
    10.0 * base
}

fn linear_label(at: f64, step: f64) -> String {
    if at == 0.0 {
        return "0".to_owned();
    }
    let largest = at.abs().max(step);
    if largest >= 1e5 || step < 1e-4 {
        let text = format!("{at:.1e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa = mantissa.strip_suffix(".0").unwrap_or(mantissa);
        return format!("{mantissa}·10{}", superscript(exponent)).replace('-', "−");
    }
    let decimals = (0..6)
        .find(|d| {
            let scaled = step * 10f64.powi(*d);
            (scaled - scaled.round()).abs() < 1e-6 * scaled.max(1.0)
        })
        .unwrap_or(6);
    let decimals = usize::try_from(decimals).unwrap_or(0);
    format!("{at:.decimals$}").replace('-', "−")
}

fn power_label(e: i32) -> String {
    match e {
        -2 => "0.01".to_owned(),
        -1 => "0.1".to_owned(),
        0 => "1".to_owned(),
        1 => "10".to_owned(),
        2 => "100".to_owned(),
        _ => format!("10{}", superscript(&e.to_string())),
    }
}

fn scaled_power_label(m: i32, e: i32) -> String {
    match e {
        -2 => format!("0.0{m}"),
        -1 => format!("0.{m}"),
        0 => format!("{m}"),
        1 => format!("{m}0"),
        2 => format!("{m}00"),
        _ => format!("{m}·10{}", superscript(&e.to_string())),
    }
}

/// An exponent in raised characters.
#[must_use]
pub fn superscript(digits: &str) -> String {
    digits
        .chars()
        .filter_map(|c| match c {
            '-' => Some('⁻'),
            '1' => Some('¹'),
            '2' => Some('²'),
            '3' => Some('³'),
            '0' => Some('⁰'),
            '4'..='9' => char::from_u32('⁴' as u32 + (c as u32 - '4' as u32)),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(scale: Scale, lo: f64, hi: f64) -> Span {
        Span { scale, lo, hi, floor: None }
    }

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().filter(|t| !t.label.is_empty()).map(|t| t.label.as_str()).collect()
    }

    #[test]
    fn linear_ticks_are_round_numbers() {
        let t = span(Scale::Linear, 0.0, 100.0).ticks(5);
        assert_eq!(labels(&t), ["0", "20", "40", "60", "80", "100"]);
        let t = span(Scale::Linear, -0.31, 0.52).ticks(5);
        assert_eq!(labels(&t), ["−0.2", "0.0", "0.2", "0.4"].map(|s| if s == "0.0" { "0" } else { s }));
        let t = span(Scale::Linear, 0.0, 600_000.0).ticks(3);
        assert_eq!(labels(&t), ["0", "2·10⁵", "4·10⁵", "6·10⁵"]);
    }

    #[test]
    fn log_ticks_are_decades_and_thin_out() {
        let t = span(Scale::Log, 0.009, 110.0).ticks(6);
        assert_eq!(labels(&t), ["0.01", "0.1", "1", "10", "100"]);
        let t = span(Scale::Log, 1e-9, 1e9).ticks(6);
        assert_eq!(labels(&t), ["10⁻⁹", "10⁻⁶", "10⁻³", "1", "10³", "10⁶", "10⁹"]);
        let t = span(Scale::Log, 20.0, 90.0).ticks(4);
        assert!(labels(&t).len() >= 3);
    }

    #[test]
    fn values_at_or_below_zero_fall_on_the_log_floor() {
        let s = span(Scale::Log, 0.1, 10.0);
        assert_eq!(s.fraction(0.0), 0.0);
        assert_eq!(s.fraction(-3.0), 0.0);
        assert!((s.fraction(1.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn impossible_ranges_and_empty_data_are_typed_errors() {
        let fit = |a: &Axis, v: &[f64]| Span::fit(a, "x", "p", v.iter().copied());
        let linear = Axis::linear("v");
        assert!(matches!(fit(&linear, &[f64::NAN, f64::INFINITY]), Err(PlotError::NothingToDraw { .. })));
        assert!(matches!(fit(&Axis::log("v"), &[-1.0, 0.0]), Err(PlotError::NothingToDraw { .. })));
        for (lo, hi) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            let axis = Axis::linear("v").range(lo, hi);
            assert!(matches!(fit(&axis, &[1.0]), Err(PlotError::Range { .. })));
        }
        let axis = Axis::log("v").range(0.0, 1.0);
        assert!(matches!(fit(&axis, &[1.0]), Err(PlotError::Range { .. })));
    }

    #[test]
    fn a_constant_gets_a_range_of_some_width() {
        let s = Span::fit(&Axis::linear("v"), "x", "p", std::iter::once(3.0)).unwrap();
        assert!(s.lo < 3.0 && s.hi > 3.0);
        let s = Span::fit(&Axis::log("v"), "x", "p", std::iter::once(3.0)).unwrap();
        assert!(s.lo < 3.0 && s.hi > 3.0);
    }
}
