//! Dates in the ISO form or with the day first and dots, with and without a time of day.

use jiff::civil::{Date, DateTime};

pub(crate) const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A date with its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moment {
    /// Days from the first of January 1970.
    pub(crate) day: i64,
    /// From 0, Monday.
    pub(crate) weekday: usize,
    /// From 0, January.
    pub(crate) month: usize,
    /// Since midnight.
    pub(crate) hour: f64,
    /// Whether a time of day was told.
    pub(crate) clock: bool,
}

impl Moment {
    /// `YYYY-MM-DD` or `DD.MM.YYYY`, also with `HH:MM` or `HH:MM:SS` after a blank or a `T`, and a `Z`; none for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() < 10 || !bytes[0].is_ascii_digit() {
            return None;
        }
        let turned;
        let text = if bytes[2] == b'.' && bytes[5] == b'.' {
            let [day, month, year, rest] = [text.get(..2)?, text.get(3..5)?, text.get(6..10)?, text.get(10..)?];
            turned = format!("{year}-{month}-{day}{rest}");
            turned.as_str()
        } else if bytes[4] == b'-' && bytes[7] == b'-' {
            text
        } else {
            return None;
        };
        let text = text.strip_suffix('Z').unwrap_or(text);
        let clock = text.len() > 10;
        let (date, hour) = if clock {
            let moment: DateTime = text.parse().ok()?;
            let seconds = f64::from(moment.second()) + f64::from(moment.subsec_nanosecond()) * 1e-9;
            (moment.date(), f64::from(moment.hour()) + f64::from(moment.minute()) / 60.0 + seconds / 3600.0)
        } else {
            (text.parse().ok()?, 0.0)
        };
        let epoch = Date::new(1970, 1, 1).ok()?;
        Some(Self {
            day: i64::from(epoch.until(date).ok()?.get_days()),
            weekday: usize::try_from(date.weekday().to_monday_zero_offset()).ok()?,
            month: usize::try_from(date.month() - 1).ok()?,
            hour,
            clock,
        })
    }

    /// Days since day `first`, the hour as a part of one.
    pub(crate) fn days_since(&self, first: i64) -> f64 {
        (self.day - first) as f64 + self.hour / 24.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_the_iso_form() {
        let moment = Moment::parse("1970-01-02 12:30").unwrap();
        assert_eq!((moment.day, moment.weekday, moment.month, moment.clock), (1, 4, 0, true));
        assert_eq!(moment.days_since(0), 1.0 + 12.5 / 24.0);
        assert_eq!(Moment::parse("2013-12-31").unwrap().day, 16_070);
        assert_eq!(Moment::parse("2013-12-31T23:00:00Z").unwrap().hour, 23.0);
        assert_eq!(Moment::parse("31.12.2013"), Moment::parse("2013-12-31"));
        assert_eq!(Moment::parse("31.12.2013 23:00").unwrap().hour, 23.0);
        for text in [
            "",
            "12",
            "2013-13-01",
            "2013-02-30",
            "31-12-2013",
            "2013-12-31 25:00",
            "2013-1-1",
            "31.13.2013",
            "1.1.2013",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }
}
