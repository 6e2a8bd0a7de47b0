//! The types of the columns, inferred from the first records.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::date::{Moment, Order, hour_of};
use super::kind::{applied, number};
use super::numeral::Point;
use super::terms::{Coding, parts};
use super::{Asked, Column, Kind, Schema};
use crate::TermsError;
use crate::formula::{Expansion, Factor, Formula, Function, Group};
use crate::table::source::{Entries, Record};

/// The settings of [`infer`].
#[derive(Debug)]
pub(crate) struct InferSettings<'a> {
    /// The target, which is no input.
    pub(crate) target: usize,
    /// The column that says more of the target, which is no input either.
    pub(crate) beside: Option<usize>,
    /// Columns that are not to be used.
    pub(crate) ignore: &'a HashSet<usize>,
    /// Columns that are text whatever they hold.
    pub(crate) text: &'a HashSet<usize>,
    /// Columns that are numbers even though each row has another one.
    pub(crate) number: &'a HashSet<usize>,
    /// The column of a sparse file that holds all its inputs.
    pub(crate) entries: Option<Entries>,
    /// How many inputs a sparse file has, if that is known.
    pub(crate) inputs: Option<usize>,
    /// The formula of the inputs, if given.
    pub(crate) formula: Option<&'a Formula>,
    /// Whether the model can keep the effects of a group by themselves.
    pub(crate) apart: bool,
    /// Levels that get an input each, the most common ones; the others share one.
    pub(crate) levels: usize,
    /// The numbers of the records in the table.
    pub(crate) rows: &'a [u64],
}

/// The options of a user about a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Text,
    Number,
}

impl InferSettings<'_> {
    fn is_of_target(&self, column: usize) -> bool {
        column == self.target || Some(column) == self.beside
    }

    fn told(&self, column: usize) -> Option<Told> {
        let text = self.text.contains(&column).then_some(Told::Text);
        text.or(self.number.contains(&column).then_some(Told::Number))
    }
}

/// Whether a field says that nothing is known.
pub(crate) fn is_missing(text: &str) -> bool {
    const WORDS: [&str; 13] = ["", "na", "n/a", "nan", "null", "none", "?", "-", ".", "--", "#n/a", "<na>", "n/d"];
    text.len() <= 4 && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// The schema that the first records of a file with these columns suggest, and the terms of the formula that have scales of their own.
///
/// # Errors
/// No column from which anything could be learned.
pub(crate) fn infer(
    columns: &[String],
    records: &[Record],
    settings: &InferSettings<'_>,
) -> Result<(Schema, Asked), TermsError> {
    let mut schema = Schema {
        columns: Vec::new(),
        ignored: Vec::new(),
        constant: Vec::new(),
        terms: Vec::new(),
        intercept: true,
        map: None,
        shape: None,
    };
    for (j, name) in columns.iter().enumerate().filter(|(j, _)| !settings.is_of_target(*j)) {
        let found = if settings.ignore.contains(&j) {
            Err("as asked".to_owned())
        } else if let Some(entries) = settings.entries.filter(|entries| entries.column == j) {
            kind_of_entries(records, entries.named, settings.inputs)
        } else {
            kind_in(settings.rows, name, &fields(records, j), settings.told(j), settings.levels)
        };
        match found {
            Ok(kind) => schema.columns.push(Column { name: name.clone(), function: None, kind }),
            Err(why) => {
                if let ([only], false) = (distinct(&fields(records, j)).as_slice(), settings.ignore.contains(&j)) {
                    schema.constant.push((name.clone(), only.clone()));
                }
                schema.ignored.push((name.clone(), why));
            }
        }
    }
    if schema.columns.is_empty() {
        // Where nothing else tells, the number of a row is what is known of it.
        for (j, name) in columns.iter().enumerate() {
            if let Some(at) = schema.ignored.iter().position(|(own, why)| why == NUMBERED && own == name) {
                let kind = kind_of(name, &fields(records, j), Some(Told::Number), settings.levels);
                schema.ignored.remove(at);
                schema.columns.extend(kind.map(|kind| Column { name: name.clone(), function: None, kind }));
            }
        }
    }
    if let Some(formula) = settings.formula {
        return by_formula(formula, &schema, columns, records, settings);
    }
    if schema.columns.is_empty() {
        let why = schema.ignored.iter().map(|(name, why)| format!("`{name}`: {why}")).collect::<Vec<_>>().join("; ");
        return Err(TermsError::NoInputs {
            why: if why.is_empty() { "the target is the only one".to_owned() } else { why },
        });
    }
    Ok((schema, Asked::default()))
}

/// The schema of a formula, of which `.` stands for the columns of `all`.
fn by_formula(
    formula: &Formula,
    all: &Schema,
    columns: &[String],
    records: &[Record],
    settings: &InferSettings<'_>,
) -> Result<(Schema, Asked), TermsError> {
    let fail = |what: String| TermsError::Unfit { what };
    if settings.entries.is_some() {
        return Err(fail("a sparse file has no columns for it to name".to_owned()));
    }
    let names: Vec<String> = all.columns.iter().map(|column| column.name.clone()).collect();
    let Expansion { intercept, mut terms, curves, mut groups, spread } =
        formula.terms(&names).map_err(|error| fail(error.to_string()))?;
    if terms.is_empty() {
        return Err(TermsError::NoInputs { why: "the formula has no column".to_owned() });
    }
    let apart = apart(&groups, columns, records).filter(|_| settings.apart);
    if let Some(group) = &apart {
        if columns.iter().enumerate().any(|(j, name)| *name == group.column && settings.is_of_target(j)) {
            return Err(fail(format!("`{}` is the target and cannot name groups", group.column)));
        }
        groups.clear();
        terms.retain(|term| !term.iter().eq([&group.factor()]));
    }
    let (mut factors, mut place_of): (Vec<&Factor>, HashMap<&Factor, usize>) = (Vec::new(), HashMap::new());
    for factor in terms.iter().flatten() {
        place_of.entry(factor).or_insert_with(|| {
            factors.push(factor);
            factors.len() - 1
        });
    }
    let places: HashMap<&String, usize> = columns.iter().enumerate().map(|(k, name)| (name, k)).collect();
    let kinds: HashMap<&String, &Kind> = all.columns.iter().map(|column| (&column.name, &column.kind)).collect();
    let mut schema = Schema {
        columns: Vec::new(),
        ignored: all.ignored.clone(),
        constant: Vec::new(),
        terms: Vec::new(),
        intercept,
        map: None,
        shape: None,
    };
    let group_of = |factor: &Factor| groups.iter().find(|group| group.factor() == *factor);
    for factor in &factors {
        let name = &factor.column;
        let place = places
            .get(name)
            .copied()
            .ok_or_else(|| TermsError::FormulaColumn { wanted: name.clone(), columns: columns.to_vec() })?;
        if settings.is_of_target(place) {
            return Err(fail(format!("`{name}` is the target and cannot be an input")));
        }
        let fields = fields(records, place);
        let kind = match factor.function {
            _ if let Some(group) = group_of(factor) => kind_of_group(group, &fields),
            Some(Function::Text) => kind_of(name, &fields, Some(Told::Text), settings.levels),
            Some(function) => kind_of_function(&fields, function),
            // What is named is wanted, be it as various as an identifier.
            None => match kinds.get(name) {
                Some(kind) => Ok((*kind).clone()),
                None if all_numbers(&fields) => kind_of(name, &fields, Some(Told::Number), settings.levels),
                None => kind_of(name, &fields, Some(Told::Text), settings.levels),
            },
        };
        let kind = kind.map_err(|why| fail(format!("column `{name}`: {why}")))?;
        schema.columns.push(Column { name: name.clone(), function: factor.function, kind });
    }
    let of_group = apart.iter().map(|group| &group.column);
    let named: HashSet<&String> = factors.iter().map(|factor| &factor.column).chain(of_group).collect();
    schema.ignored.retain(|(name, _)| !named.contains(name));
    let unnamed = names.iter().filter(|name| !named.contains(name));
    schema.ignored.extend(unnamed.map(|name| (name.clone(), "not in the formula".to_owned())));
    let column_of = |factor: &Factor| place_of.get(factor).copied().unwrap_or(0);
    schema.terms = parts(&terms, intercept, column_of);
    for part in schema.terms.iter_mut().filter(|term| term.len() == 1).flatten() {
        if group_of(factors[part.column]).is_some() {
            part.coding = Coding::Full;
        }
    }
    let width = schema.width();
    if width > MOST_PRODUCTS {
        return Err(fail(format!("{width} inputs are too many; leave out products of texts with many levels")));
    }
    Ok((schema, Asked { curves, groups, apart, spread }))
}

/// Effects of a group beyond which the model keeps them by themselves, at a cost that does not depend on their number.
const APART: usize = 500;

/// The only group of a formula, if it has more effects, and these are correlated: such effects do not depend on the origin of a slope's input.
fn apart(groups: &[Group], columns: &[String], records: &[Record]) -> Option<Group> {
    let [group] = groups else { return None };
    if !(group.correlated || group.slopes.is_empty()) {
        return None;
    }
    let place = columns.iter().position(|name| *name == group.column)?;
    let levels = records.iter().map(|record| record.field(place)).collect::<HashSet<_>>().len();
    (levels * (1 + group.slopes.len()) > APART).then(|| group.clone())
}

/// Levels of a group: each has a weight in the full covariance.
const MOST_IN_GROUP: usize = 2000;

/// The kind of a column that names groups.
fn kind_of_group(group: &Group, fields: &[&str]) -> Result<Kind, String> {
    let levels = distinct(fields).len();
    if levels > MOST_IN_GROUP {
        return Err(format!(
            "{levels} groups at {} are more than {MOST_IN_GROUP}; beyond, the formula may have one group alone, with `|` and not `||`, the family must be \
             gaussian, log-normal, logit-normal, poisson or two classes, and `--forget`, `--mergeable`, `--prior` and `--belief` are not available",
            group.at
        ));
    }
    kind_of(&group.column, fields, Some(Told::Text), MOST_IN_GROUP)
}

/// Inputs of a formula beyond which it is taken for a mistake.
const MOST_PRODUCTS: usize = 1_000_000;

fn fields(records: &[Record], place: usize) -> Vec<&str> {
    records.iter().map(|record| record.field(place)).collect()
}

/// The kind of a function of numbers, or why there is none.
fn kind_of_function(fields: &[&str], function: Function) -> Result<Kind, String> {
    let (mut sum, mut known, point) = (0.0, 0, Point::of(fields.iter().copied()));
    for text in fields.iter().filter(|text| !is_missing(text)) {
        let value = number(text, point).and_then(|x| applied(Some(function), x));
        sum += value.map_err(|(expected, hint)| format!("`{text}` is not {expected}{hint}"))?;
        known += 1;
    }
    if known == 0 {
        return Err("no value in the first rows".to_owned());
    }
    let tells_missing = fields.iter().any(|text| is_missing(text));
    Ok(Kind::Number { mean: sum / f64::from(known), tells_missing, gaps: Vec::new(), point })
}

/// Places for names that are hashed.
const HASHED: usize = 1 << 18;

/// The kind of all inputs of a sparse file.
fn kind_of_entries(records: &[Record], named: bool, inputs: Option<usize>) -> Result<Kind, String> {
    if named {
        return Ok(Kind::Entries { inputs: inputs.unwrap_or(HASHED), named });
    }
    let largest = records.iter().flat_map(|record| &record.entries).map(|(index, _)| *index).max();
    let found = largest.map(|largest| usize::try_from(largest).unwrap_or(usize::MAX).saturating_add(1));
    match inputs.or(found) {
        Some(inputs) if inputs <= MOST_INPUTS => Ok(Kind::Entries { inputs, named }),
        Some(_) => Err(format!("an index above {MOST_INPUTS}; `--inputs N` skips indices from N on")),
        None => Err("no entry in the first rows".to_owned()),
    }
}

/// Inputs that fit into memory.
const MOST_INPUTS: usize = 100_000_000;

/// Whether all fields that are not missing are numbers.
fn all_numbers(fields: &[&str]) -> bool {
    let point = Point::of(fields.iter().copied());
    fields.iter().all(|text| is_missing(text) || number(text, point).is_ok())
}

/// The kind of a column in rows that follow one another, or why it is of no use.
pub(crate) fn kind_of(name: &str, fields: &[&str], told: Option<Told>, most_levels: usize) -> Result<Kind, String> {
    let rows: Vec<u64> = (1..).take(fields.len()).collect();
    kind_in(&rows, name, fields, told, most_levels)
}

/// The kind of a column in rows of these numbers, or why it is of no use.
fn kind_in(rows: &[u64], name: &str, fields: &[&str], told: Option<Told>, most_levels: usize) -> Result<Kind, String> {
    let as_text = told == Some(Told::Text);
    let known: Vec<&str> = fields.iter().copied().filter(|text| !is_missing(text)).collect();
    let missing = known.len() < fields.len();
    let Some(first) = known.first() else { return Err("no value in the first rows".to_owned()) };
    let point = Point::of(known.iter().copied());
    let number = |text: &str| number(text, point);
    if !as_text {
        let read = |text: &str| number(text).ok().filter(|_| told.is_some() || !is_code(text));
        if let Some(numbers) = all(&known, read) {
            let mean = mean_of(&numbers);
            if !missing && numbers.iter().all(|x| *x == numbers[0]) && fields.len() > 1 {
                return Err(format!("always {first} in the rows looked at"));
            }
            if told.is_none() && is_identifier(name, &numbers, rows) {
                return Err(NUMBERED.to_owned());
            }
            return Ok(Kind::Number { mean, tells_missing: missing, gaps: Vec::new(), point });
        }
        if let Some(hours) = all(&known, hour_of) {
            return Ok(Kind::Clock { mean: hours.iter().sum::<f64>() / hours.len() as f64 });
        }
        if let Some(order) = Order::of(&known)
            && let Some(dates) = all(&known, |text| Moment::parse(text, order))
        {
            let start = dates.iter().map(|date| date.day).min().unwrap_or(0);
            let mean = dates.iter().map(|date| date.days_since(start)).sum::<f64>() / dates.len() as f64;
            return Ok(Kind::Date { first: start, mean, clock: dates.iter().any(|date| date.clock), order });
        }
    }
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for text in &known {
        *counts.entry(text).or_default() += 1;
    }
    if counts.len() == 1 && !missing && fields.len() > 1 {
        return Err(format!("always `{first}` in the rows looked at"));
    }
    let numbers: Vec<f64> = known.iter().filter_map(|text| number(text).ok()).collect();
    let slips = known.len() - numbers.len();
    let values = counts.keys().filter(|text| number(text).is_ok()).count();
    let gaps = gaps_of(&counts, point);
    if !as_text
        && !gaps.is_empty()
        && values >= MANY
        && slips == gaps.iter().map(|gap| counts[gap.as_str()]).sum::<usize>()
    {
        return Ok(Kind::Number { mean: mean_of(&numbers), tells_missing: true, gaps, point });
    }
    if told == Some(Told::Number)
        || !as_text && (counts.len() > most_levels.min(known.len() / 2) || values >= MANY && 100 * slips <= known.len())
    {
        let mut others = known.iter().filter(|text| point.numeral(text).is_none()).peekable();
        let codes = others.peek().is_some() && others.all(|text| has_letter_and_digit(text));
        // What is no number among so many is a mistake, which is told where it is learned; unless `273b` stands among 273 and 274.
        let likely = known.len() > MANY && nearly_all(numbers.len(), known.len()) && !codes;
        if likely || told == Some(Told::Number) && !numbers.is_empty() {
            let mean = mean_of(&numbers);
            return Ok(Kind::Number { mean, tells_missing: missing, gaps: Vec::new(), point });
        }
    }
    if known.len() > MANY && nearly_all(counts.len(), known.len()) && !as_text {
        let (levels, rows) = (counts.len(), known.len());
        return Err(format!("{levels} values in {rows} rows: {NAMED}"));
    }
    let mut levels: Vec<(&str, usize)> = counts.into_iter().collect();
    levels.sort_unstable_by_key(|&(level, count)| (Reverse(count), level));
    let rare = levels.len().saturating_sub(most_levels);
    levels.truncate(most_levels);
    if missing {
        levels.push(("", fields.len() - known.len()));
    }
    levels.sort_unstable();
    let base = levels.iter().enumerate().max_by_key(|(k, (_, count))| (*count, Reverse(*k))).map_or(0, |(k, _)| k);
    let base = levels.remove(base).0.to_owned();
    Ok(Kind::Levels { base, levels: levels.into_iter().map(|(level, _)| level.to_owned()).collect(), rare })
}

/// Words that stand for a gap among numbers, if they come again and are few: `T` for a trace, `unknown`, `<0.5`.
fn gaps_of(counts: &HashMap<&str, usize>, point: Point) -> Vec<String> {
    const MOST: usize = 3;
    let words = counts.iter().filter(|(text, _)| point.numeral(text).is_none());
    let again = words.filter(|(text, count)| **count > 1 && !has_letter_and_digit(text));
    let mut gaps: Vec<String> = again.map(|(text, _)| (*text).to_owned()).collect();
    gaps.sort_unstable();
    if gaps.len() > MOST { Vec::new() } else { gaps }
}

/// Why whole numbers that name rows are left out.
const NUMBERED: &str = "an identifier: `--number` keeps it";
/// The same of texts.
const NAMED: &str = "an identifier (`--text` keeps it)";

/// Whether a column is left out, for this reason, as one that names rows.
pub(crate) fn names_rows(why: &str) -> bool {
    why == NUMBERED || why.ends_with(NAMED)
}

/// The number of values up to which they tell nothing of what a column is.
pub(crate) const MANY: usize = 20;

/// Whether a part of some values or rows is nearly all of them.
pub(crate) fn nearly_all(part: usize, whole: usize) -> bool {
    10 * part > 9 * whole
}

/// Whether whole numbers, another in each row, name the rows: by what the column is called, or since they only count the rows.
fn is_identifier(name: &str, numbers: &[f64], rows: &[u64]) -> bool {
    /// Names of counts with a meaning: the place of a row in time.
    const TIMES: [&str; 12] =
        ["t", "time", "year", "quarter", "month", "week", "day", "date", "hour", "minute", "second", "period"];
    if numbers.len() <= MANY || numbers.iter().any(|x| x.fract() != 0.0) {
        return false;
    }
    let distinct: HashSet<u64> = numbers.iter().map(|x| x.to_bits()).collect();
    if !nearly_all(distinct.len(), numbers.len()) {
        return false;
    }
    let counts = numbers[0].abs() <= 1.0
        && numbers.len() == rows.len()
        && numbers.iter().zip(rows).all(|(x, row)| x - numbers[0] == (row - rows[0]) as f64);
    is_called_identifier(name) || counts && !words_of(name).iter().any(|word| TIMES.contains(&word.as_str()))
}

/// Whether a column is called an identifier.
pub(crate) fn is_called_identifier(name: &str) -> bool {
    /// Names of identifiers, alone or beside other words.
    const WORDS: [&str; 13] = [
        "id",
        "ids",
        "uid",
        "uuid",
        "guid",
        "pk",
        "rownames",
        "rowid",
        "rownum",
        "rownumber",
        "index",
        "serial",
        "identifier",
    ];
    /// Things with an identifier, for names in one word.
    const OWNERS: [&str; 16] = [
        "account",
        "case",
        "client",
        "customer",
        "employee",
        "event",
        "household",
        "item",
        "member",
        "order",
        "patient",
        "person",
        "product",
        "record",
        "subject",
        "user",
    ];
    let owned = |word: &String| word.strip_suffix("id").is_some_and(|owner| OWNERS.contains(&owner));
    words_of(name).iter().any(|word| WORDS.contains(&word.as_str()) || owned(word))
}

/// The words of a name in lower case: `customer_id`, `customer.id` and `customerID` have two.
fn words_of(name: &str) -> Vec<String> {
    let (mut words, mut small) = (vec![String::new()], false);
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && small) {
            words.push(String::new());
        }
        small = c.is_lowercase();
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
    }
    words
}

/// Whether a text is a code: a letter and a digit, and no mark of money, shares or units.
fn has_letter_and_digit(text: &str) -> bool {
    text.chars().any(|c| c.is_ascii_digit())
        && text.chars().any(char::is_alphabetic)
        && text.chars().all(|c| c.is_alphanumeric() || ['-', '_', '.', '/'].contains(&c))
}

/// The mean, whose sum may be beyond the range of floats.
fn mean_of(numbers: &[f64]) -> f64 {
    let n = numbers.len() as f64;
    let sum: f64 = numbers.iter().sum();
    if sum.is_finite() { sum / n } else { numbers.iter().map(|x| x / n).sum() }
}

/// All fields as `read` takes them; none where it takes one not.
fn all<T>(fields: &[&str], read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    fields.iter().map(|text| read(text)).collect()
}

/// Whether digits stand for a code (a postal code, say): a zero leads.
fn is_code(text: &str) -> bool {
    let digits = text.as_bytes();
    digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit()
}

/// The different texts among fields that are not missing, sorted.
pub(crate) fn distinct(fields: &[&str]) -> Vec<String> {
    distinct_but(fields, is_missing)
}

/// The different texts among fields of classes, sorted: among words `none`, `na`, `-` and `?` are classes, and what programs write for no value is none.
pub(crate) fn distinct_words(fields: &[&str]) -> Vec<String> {
    const PROGRAMS: [&str; 7] = ["", "NA", "N/A", "NaN", "nan", "NULL", "null"];
    distinct_but(fields, |text| PROGRAMS.contains(&text))
}

fn distinct_but(fields: &[&str], missing: impl Fn(&str) -> bool) -> Vec<String> {
    let found: HashSet<&str> = fields.iter().copied().filter(|text| !missing(text)).collect();
    let mut found: Vec<String> = found.into_iter().map(str::to_owned).collect();
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_the_values() {
        let kind = |fields: &[&str]| kind_of("c", fields, None, 3);
        assert_eq!(
            kind(&["1", "2.5", "-3e0"]),
            Ok(Kind::Number { mean: 1.0 / 6.0, tells_missing: false, gaps: vec![], point: Point::Dot })
        );
        assert_eq!(
            kind(&["1", "NA", "3"]),
            Ok(Kind::Number { mean: 2.0, tells_missing: true, gaps: vec![], point: Point::Dot })
        );
        let levels = |base: &str, levels: &[&str]| {
            Ok(Kind::Levels { base: base.to_owned(), levels: levels.iter().map(|&l| l.to_owned()).collect(), rare: 0 })
        };
        assert_eq!(kind(&["b", "a", "b"]), levels("b", &["a"]));
        assert_eq!(kind(&["b", "", "b"]), levels("b", &[""]));
        assert_eq!(kind(&["01234", "99999"]), levels("01234", &["99999"]));
        let most = Ok(Kind::Levels { base: "d".to_owned(), levels: vec!["a".to_owned(), "b".to_owned()], rare: 1 });
        assert_eq!(kind(&["a", "b", "c", "d", "d"]), most);
        assert_eq!(kind_of("c", &["1", "2"], Some(Told::Text), 3), levels("1", &["2"]));
        assert!(matches!(kind(&["2013-01-01", "2013-01-03"]), Ok(Kind::Date { mean: 1.0, clock: false, .. })));
        assert!(kind(&["", "NA"]).is_err() && kind(&["7", "7"]).is_err() && kind(&["a", "a"]).is_err());
        let total: Vec<String> = (0..30).map(|i| i.to_string()).chain(["Total".to_owned()]).collect();
        let total: Vec<&str> = total.iter().map(String::as_str).collect();
        let gap =
            Ok(Kind::Number { mean: 14.5, tells_missing: true, gaps: vec!["Total".to_owned()], point: Point::Dot });
        assert_eq!(kind(&[total.as_slice(), &["Total"]].concat()), gap);
        assert_eq!(
            kind(&total),
            Ok(Kind::Number { mean: 14.5, tells_missing: false, gaps: vec![], point: Point::Dot })
        );
        // One slip among values that come again; a code is none.
        let one_of =
            |odd: &str| (0..300).map(|i| if i == 70 { odd.to_owned() } else { (i % 25).to_string() }).collect();
        for (odd, is_number) in [("typo", true), ("1e309", true), ("inf", true), ("16b", false)] {
            let ages: Vec<String> = one_of(odd);
            let ages: Vec<&str> = ages.iter().map(String::as_str).collect();
            assert_eq!(matches!(kind_of("c", &ages, None, 100), Ok(Kind::Number { .. })), is_number, "{odd}");
        }
        let identifiers: Vec<String> = (0..30).map(|i| format!("N{i}")).collect();
        let identifiers: Vec<&str> = identifiers.iter().map(String::as_str).collect();
        assert!(kind(&identifiers).unwrap_err().contains("identifier"));
        assert!(matches!(kind_of("c", &identifiers, Some(Told::Text), 3), Ok(Kind::Levels { rare: 27, .. })));
        let codes: Vec<String> =
            (0..90).map(|i| if i == 60 { "16b".to_owned() } else { (i / 3).to_string() }).collect();
        let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
        assert!(matches!(kind(&codes), Ok(Kind::Levels { rare: 28, .. })));
        let times = ["1/3/11", "25/11/63"];
        assert!(matches!(kind(&times), Ok(Kind::Date { order: Order::Day, .. })));
        assert_eq!(kind(&["06:00", "18:00"]), Ok(Kind::Clock { mean: 12.0 }));
    }

    #[test]
    fn whole_numbers_that_name_rows_are_identifiers() {
        let of = |name: &str, numbers: &[i32]| {
            let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            kind_of(name, &texts.iter().map(String::as_str).collect::<Vec<_>>(), None, 100)
        };
        let counted: Vec<i32> = (1..40).collect();
        let scattered: Vec<i32> = (1..40).map(|i| 7919 * i % 1009).collect();
        for name in ["customer_id", "customerID", "Id", "rownames", "patientid"] {
            assert!(of(name, &scattered).unwrap_err().contains("identifier: `--number` keeps it"), "{name}");
        }
        assert!(of("x", &counted).is_err() && of("x", &counted[..10]).is_ok());
        for (name, numbers) in [("year", &counted), ("income", &scattered), ("paid", &scattered), ("acid", &scattered)]
        {
            assert!(of(name, numbers).is_ok(), "{name}");
        }
        let repeated: Vec<i32> = (1..40).map(|i| i / 2).collect();
        assert!(of("id", &repeated).is_ok());
    }
}
