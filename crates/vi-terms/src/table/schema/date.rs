//! Dates and times of day, in the order of day, month and year that the rows of a column tell.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

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

/// The order of the parts of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) enum Order {
    /// `2024-02-28`, `2024/2/28`.
    #[default]
    Year,
    /// `28.02.2024`, `28/2/24`.
    Day,
    /// `2/28/2024`.
    Month,
}

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

impl Order {
    /// The order in which all of `texts` are dates; of two that fit, that in which each row is nearer to the one before, and if these are equally near the
    /// month first between slashes and the day first otherwise.
    pub(crate) fn of(texts: &[&str]) -> Option<Self> {
        let first = texts.first()?;
        let likely = if first.contains('/') { [Self::Month, Self::Day] } else { [Self::Day, Self::Month] };
        let days = |order: Self| {
            let days = texts.iter().map(|text| Some(Moment::parse(text, order)?.day)).collect::<Option<Vec<i64>>>()?;
            let far: i64 = days.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
            Some((far, order))
        };
        [Self::Year].into_iter().chain(likely).filter_map(days).min_by_key(|(far, _)| *far).map(|(_, order)| order)
    }

    /// The expected form of a field, for errors.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Self::Year => "a date (2024-02-28, with or without a time)",
            Self::Day => "a date with the day first (28.02.2024, with or without a time)",
            Self::Month => "a date with the month first (2/28/2024, with or without a time)",
        }
    }

    /// The name in a summary.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Year => "",
            Self::Day => ", day first",
            Self::Month => ", month first",
        }
    }
}

impl Moment {
    /// Three numbers between slashes, dots or hyphens in this order, or with the month's name, which blanks may separate too; then perhaps a
    /// [time of day](hour_of) after a blank or a `T`, with or without a zone, of whose clock it then is. A year of two digits is one of 1930 to 2029. None for anything else.
    pub(crate) fn parse(text: &str, order: Order) -> Option<Self> {
        let ([first, second, third], time) = words(text).or_else(|| numbers(text))?;
        let (year, month, day) = match order {
            Order::Year if first.len() == 4 => (first, second, third),
            Order::Year => return None,
            Order::Day => (third, second, first),
            Order::Month => (third, first, second),
        };
        let number = |text: &str, most: usize| {
            let digits = (1..=most).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit());
            if digits { text.parse::<i16>().ok() } else { None }
        };
        let month = match number(month, 2) {
            Some(month) => i8::try_from(month).ok()?,
            None => month_named(month)?,
        };
        let year = match year.len() {
            2 => number(year, 2).map(|year| if year < 30 { 2000 + year } else { 1900 + year }),
            4 => number(year, 4),
            _ => None,
        }?;
        let date = Date::new(year, month, i8::try_from(number(day, 2)?).ok()?).ok()?;
        let epoch = Date::new(1970, 1, 1).ok()?;
        Some(Self {
            day: i64::from(epoch.until(date).ok()?.get_days()),
            weekday: usize::try_from(date.weekday().to_monday_zero_offset()).ok()?,
            month: usize::try_from(date.month() - 1).ok()?,
            hour: time.map_or(Some(0.0), |time| hour_of(on_the_clock(time)))?,
            clock: time.is_some(),
        })
    }

    /// Days since day `first`, the hour as a part of one.
    pub(crate) fn days_since(&self, first: i64) -> f64 {
        (self.day - first) as f64 + self.hour / 24.0
    }
}

/// The parts of a date, and the time of day after them.
type Parts<'a> = ([&'a str; 3], Option<&'a str>);

/// Those between slashes, dots or hyphens.
fn numbers(text: &str) -> Option<Parts<'_>> {
    let at = text.find(|c: char| c == ' ' || c == 'T' && text.starts_with(|c: char| c.is_ascii_digit()));
    let (date, time) = at.map_or((text, None), |at| (&text[..at], Some(&text[at + 1..])));
    let mark = date.chars().find(|c| ['/', '-', '.'].contains(c))?;
    let mut parts = date.split(mark);
    let own = [parts.next()?, parts.next()?, parts.next()?];
    if parts.next().is_some() { None } else { Some((own, time)) }
}

/// Those between blanks, of which one is the name of a month.
fn words(text: &str) -> Option<Parts<'_>> {
    let mut words = text.splitn(4, ' ');
    let mut next = || words.next().map(|word| word.strip_suffix(',').unwrap_or(word));
    let own = [next()?, next()?, next()?];
    own[..2].iter().any(|word| month_named(word).is_some()).then(|| (own, words.next()))
}

/// A time without its zone: ` UTC`, ` GMT`, `+01:00`, `-0500`, `+02`.
fn on_the_clock(time: &str) -> &str {
    let is_offset = |offset: &str| {
        let digits = match offset.as_bytes() {
            [a, b] => vec![a, b],
            [a, b, c, d] | [a, b, b':', c, d] => vec![a, b, c, d],
            _ => return false,
        };
        digits.iter().all(|digit| digit.is_ascii_digit())
    };
    let named = [" UTC", " GMT"].iter().find_map(|zone| time.strip_suffix(zone));
    let numbered = || time.rfind(['+', '-']).filter(|at| is_offset(&time[at + 1..])).map(|at| &time[..at]);
    named.or_else(numbered).map_or(time, str::trim_end)
}

/// The hours since midnight of `HH:MM` or `HH:MM:SS`, perhaps with parts of a second, `AM` or `PM`, or a final `Z`.
pub(crate) fn hour_of(text: &str) -> Option<f64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let half = text.get(text.len().saturating_sub(2)..).map(str::to_ascii_lowercase);
    let (text, half) = match half.as_deref() {
        Some("am") => (text[..text.len() - 2].trim_end(), Some(0.0)),
        Some("pm") => (text[..text.len() - 2].trim_end(), Some(12.0)),
        _ => (text, None),
    };
    let mut parts = text.split(':');
    let (hour, minute) = (parts.next()?, parts.next()?);
    let second = parts.next().unwrap_or("0");
    let digits = |text: &str| (1..=2).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit());
    let whole = second.split('.').next().is_some_and(digits) && second.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    if !digits(hour) || !digits(minute) || !whole || parts.next().is_some() {
        return None;
    }
    let (mut hour, minute, second): (f64, f64, f64) = (hour.parse().ok()?, minute.parse().ok()?, second.parse().ok()?);
    if let Some(half) = half {
        if !(1.0..=12.0).contains(&hour) {
            return None;
        }
        hour = hour % 12.0 + half;
    }
    (hour < 24.0 && minute < 60.0 && second < 60.0).then(|| hour + minute / 60.0 + second / 3600.0)
}

/// The number of a month by its English name, or by the first three letters of it.
fn month_named(text: &str) -> Option<i8> {
    let named = |month: &&str| text.eq_ignore_ascii_case(month) || text.eq_ignore_ascii_case(&month[..3]);
    i8::try_from(MONTHS.iter().position(named)? + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_each_order() {
        let read = |text| Moment::parse(text, Order::Year);
        let moment = read("1970-01-02 12:30").unwrap();
        assert_eq!((moment.day, moment.weekday, moment.month, moment.clock), (1, 4, 0, true));
        assert_eq!(moment.days_since(0), 1.0 + 12.5 / 24.0);
        let last = read("2013-12-31").unwrap();
        assert_eq!(last.day, 16_070);
        assert_eq!(read("2013-12-31T23:00:00Z").unwrap().hour, 23.0);
        assert_eq!(read("2013/12/31 0:47").unwrap().hour, 47.0 / 60.0);
        for zone in ["+01:00", "-0500", "+02", " UTC", " GMT", " +0100", ".25-03:30"] {
            let moment = Moment::parse(&format!("2013-12-31 23:00:00{zone}"), Order::Year).unwrap();
            assert!((moment.day, moment.hour.floor()) == (last.day, 23.0), "{zone}");
        }
        for zone in ["+1", "-05:0", "+01:00:00", " CET", "+é", "-0:500", "+"] {
            assert_eq!(Moment::parse(&format!("2013-12-31 23:00:00{zone}"), Order::Year), None, "{zone}");
        }
        for text in ["31.12.2013", "31/12/13", "31-12-2013", "31-Dec-2013"] {
            assert_eq!(Moment::parse(text, Order::Day), Some(last), "{text}");
        }
        assert_eq!(Moment::parse("12/31/2013", Order::Month), Some(last));
        assert_eq!(Moment::parse("25/11/63", Order::Day), read("1963-11-25"));
        for (text, order) in [
            ("Dec 31, 2013", Order::Month),
            ("december 31 2013", Order::Month),
            ("31 Dec 2013", Order::Day),
            ("31 December, 2013", Order::Day),
            ("2013 Dec 31", Order::Year),
        ] {
            assert_eq!(Moment::parse(text, order), Some(last), "{text}");
        }
        assert_eq!(Moment::parse("Dec 31, 2013 11:00 PM", Order::Month).unwrap().hour, 23.0);
        for text in ["31 12 2013", "31 Dec", "Dec 31 2013", "31 Dec 13th", "31 Dec  2013", "31 Dec 2013 late"] {
            assert_eq!(Moment::parse(text, Order::Day), None, "{text}");
        }
        assert_eq!(Moment::parse("31.12.2013 11:00 PM", Order::Day).unwrap().hour, 23.0);
        for text in ["", "12", "2013-13-01", "2013-02-30", "31-12-2013", "2013-12-31 25:00", "13-01-01", "2013-1-1-1"] {
            assert_eq!(read(text), None, "{text}");
        }
        for text in ["31.13.2013", "2013-01-01", "1.1.203", "+1.1.2013", "1.2", "é.1.2013", "ab"] {
            assert_eq!(Moment::parse(text, Order::Day), None, "{text}");
        }
    }

    #[test]
    fn rows_tell_whether_the_day_or_the_month_is_first() {
        assert_eq!(Order::of(&["25/11/63", "1/2/64"]), Some(Order::Day));
        assert_eq!(Order::of(&["1/3/11", "1/31/11"]), Some(Order::Month));
        // Three days that follow one another, or three that are months apart.
        assert_eq!(Order::of(&["1/3/11", "2/3/11", "3/3/11"]), Some(Order::Day));
        assert_eq!(Order::of(&["3/1/11", "3/2/11", "3/3/11"]), Some(Order::Month));
        assert_eq!(Order::of(&["1/3/11"]), Some(Order::Month));
        assert_eq!(Order::of(&["1.3.11"]), Some(Order::Day));
        assert_eq!(Order::of(&["2016/01/01 00:47"]), Some(Order::Year));
        assert_eq!(Order::of(&["Jun 13, 2012", "May 1, 2012"]), Some(Order::Month));
        assert_eq!((Order::of(&["13 Jun 2012"]), Order::of(&["13 Jun 2012", "May 1, 2012"])), (Some(Order::Day), None));
        assert_eq!((Order::of(&["25/11/63", "11/25/63"]), Order::of(&[])), (None, None));
    }

    #[test]
    fn times_of_day_are_hours() {
        assert_eq!((hour_of("00:30"), hour_of("6:15:36")), (Some(0.5), Some(6.26)));
        assert_eq!(
            (hour_of("12:30 am"), hour_of("1:30PM"), hour_of("23:00:00.5Z")),
            (Some(0.5), Some(13.5), Some(23.0 + 0.5 / 3600.0))
        );
        for text in ["", "12", "24:00", "1:60", "13:00 pm", "1:2:3:4", "a:10", "1:0x", "é"] {
            assert_eq!(hour_of(text), None, "{text}");
        }
    }
}
