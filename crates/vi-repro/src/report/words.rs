//! What is said of a paper's items, read from one text file for each paper.
//!
//! A file is blocks with a blank line between them. A block is lines `key: text`, the first `kind: name`; a line that begins
//! with two spaces goes on with the text before it. Each `{}` of a text is filled by a value that the code gives.

use super::check::{Cause, Check, Fault, Kind};
use super::verdict::Verdict;
use super::{number, share_text};
use crate::item::Context;
use crate::report::Outcome;

/// A value that fills a `{}` or a cell of a table: numbers in four digits, or all of them; anything else as it is.
pub trait Said {
    /// The text that stands in a sentence.
    fn said(&self) -> String;

    /// The text of a cell of a table, with all digits.
    fn cell(&self) -> String {
        self.said()
    }

    /// Its number; NaN for words.
    fn number(&self) -> f64 {
        f64::NAN
    }
}

impl Said for f64 {
    fn said(&self) -> String {
        number(*self)
    }

    fn cell(&self) -> String {
        super::cell(*self)
    }

    fn number(&self) -> f64 {
        *self
    }
}

macro_rules! said_as_displayed {
    ($($kind:ty),*) => {$(impl Said for $kind { fn said(&self) -> String { self.to_string() } })*};
}
said_as_displayed!(str, String, usize, u32, u64);

impl<T: Said + ?Sized> Said for &T {
    fn said(&self) -> String {
        (**self).said()
    }

    fn cell(&self) -> String {
        (**self).cell()
    }

    fn number(&self) -> f64 {
        (**self).number()
    }
}

/// The sentences of one paper.
#[derive(Debug)]
pub struct Words {
    blocks: Vec<Block>,
}

/// What is known under one name.
#[derive(Debug)]
pub struct Block {
    kind: String,
    name: String,
    fields: Vec<(String, String)>,
}

impl Block {
    /// The text under a key; empty where there is none.
    #[must_use]
    pub fn text(&self, key: &str) -> &str {
        self.texts(key).next().unwrap_or("")
    }

    fn texts<'a>(&'a self, key: &str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(k, _)| k == key).map(|(_, text)| text.as_str())
    }

    /// The name of the block.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Words {
    /// Reads the text of a file. A line without a key belongs to no block and is left out.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut blocks: Vec<Block> = Vec::new();
        let mut within = false;
        for line in text.lines() {
            if line.trim().is_empty() {
                within = false;
            } else if let Some(more) = line.strip_prefix("  ") {
                if let Some((_, text)) = blocks.last_mut().and_then(|block| block.fields.last_mut()) {
                    text.push(' ');
                    text.push_str(more.trim());
                }
            } else if let Some((key, text)) = line.split_once(':') {
                let (key, text) = (key.trim().to_owned(), text.trim().to_owned());
                match blocks.last_mut().filter(|_| within) {
                    Some(block) => block.fields.push((key, text)),
                    None => blocks.push(Block { kind: key, name: text, fields: Vec::new() }),
                }
                within = true;
            }
        }
        Self { blocks }
    }

    /// The blocks of a kind, in the order of the file.
    pub fn all<'a>(&'a self, kind: &str) -> impl Iterator<Item = &'a Block> {
        self.blocks.iter().filter(move |block| block.kind == kind)
    }

    fn block(&self, kind: &str, name: &str) -> Option<&Block> {
        self.all(kind).find(|block| block.name == name)
    }

    /// The texts of an item under a key; `@name` stands for what the block `text: name` says.
    #[must_use]
    pub fn of_item(&self, item: &str, key: &str) -> Vec<&str> {
        let named = |name| self.block("text", name).map(|block| block.text("says"));
        let texts = self.block("item", item).into_iter().flat_map(|block| block.texts(key));
        texts.map(|text| text.strip_prefix('@').and_then(named).unwrap_or(text)).collect()
    }

    /// The sentence of that name, either true or not. One that is not in the file is a broken promise, so that the run fails.
    #[must_use]
    pub fn fact(&self, name: &str, holds: bool, values: &[&dyn Said]) -> Check {
        self.check(name, if holds { Verdict::Holds } else { Verdict::DoesNotHold }, values, |numbers, _| numbers)
    }

    /// The sentence that `value` is below `bound`; false when either is NaN.
    #[must_use]
    pub fn below(&self, name: &str, value: f64, bound: f64) -> Check {
        let verdict = if value < bound { Verdict::Holds } else { Verdict::DoesNotHold };
        self.check(name, verdict, &[], |what, _| format!("{what}: {}, bound {}", number(value), number(bound)))
    }

    /// A sentence counted over cases: it holds from a share of [`MOST`](super::MOST), and does not at or below `1 − MOST`. Its
    /// numbers end with the count and the share's 95 % interval (Wilson).
    #[must_use]
    pub fn counted(&self, name: &str, (hits, total): (usize, usize), values: &[&dyn Said]) -> Check {
        self.check(name, Verdict::of_count(hits, total), values, |numbers, block| {
            let over = Some(block.text("over")).filter(|over| !over.is_empty()).unwrap_or("data sets");
            let gap = if numbers.is_empty() { "" } else { "; " };
            format!("{numbers}{gap}true on {}", share_text(hits, total, over))
        })
    }

    /// A sentence counted over the cases of several groups together; its last value says how many each has.
    #[must_use]
    pub fn pooled(&self, name: &str, groups: &[(impl Said, (usize, usize))], values: &[&dyn Said]) -> Check {
        let total = groups.iter().fold((0, 0), |all, (_, of)| (all.0 + of.0, all.1 + of.1));
        let each = join(groups, "; ", |(group, (hits, n))| format!("{}: {hits} of {n}", group.said()));
        self.counted(name, total, &[values, &[&each as &dyn Said]].concat())
    }

    fn check(
        &self,
        name: &str,
        verdict: Verdict,
        values: &[&dyn Said],
        numbers: impl FnOnce(String, &Block) -> String,
    ) -> Check {
        let kinds = [(Kind::Claim, "claim"), (Kind::Promise, "promise"), (Kind::Finding, "finding")];
        let found = kinds.iter().find_map(|(kind, word)| Some((*kind, self.block(word, name)?)));
        let Some((kind, block)) = found else {
            let claim = format!("The sentence `{name}` stands in the file of the paper");
            return Check::new(Kind::Promise, claim, Verdict::DoesNotHold, String::new());
        };
        let values = &mut values.iter().copied();
        let says = fill(block.text("says"), values);
        let filled = leftovers(fill(block.text("numbers"), values), values);
        let cause = (kind == Kind::Claim && verdict != Verdict::Holds).then(|| self.cause(block));
        let numbers = numbers(filled, block);
        Check { place: block.text("place").to_owned(), cause, ..Check::new(kind, says, verdict, numbers) }
    }

    fn cause(&self, block: &Block) -> Cause {
        let why = |fault, why: &str| Cause { fault, why: why.to_owned(), correction: None };
        if let Some(correction) = self.block("correction", block.text("wrong")) {
            return Cause { correction: Some(correction.name.clone()), ..why(Fault::Paper, correction.text("right")) };
        }
        match (block.text("setting"), block.text("ours")) {
            ("", "") => why(Fault::Untraced, "Not yet traced to a cause."),
            ("", ours) => why(Fault::Ours, ours),
            (setting, _) => why(Fault::Setting, setting),
        }
    }

    /// The words of the item that `ctx` runs, each `{}` of summary, caption and notes filled in turn; the rest is to be added.
    #[must_use]
    pub fn outcome(&self, ctx: &Context, values: &[&dyn Said]) -> Outcome {
        let values = &mut values.iter().copied();
        let one = |key| self.of_item(ctx.item, key).first().copied().unwrap_or("");
        let (summary, caption) = (fill(one("summary"), values), fill(one("caption"), values));
        let notes = self.of_item(ctx.item, "note").into_iter().map(|note| fill(note, values)).collect();
        Outcome {
            summary: leftovers(summary, values),
            caption,
            quote: one("quote").to_owned(),
            notes,
            ..Outcome::default()
        }
    }
}

/// The texts of the parts, with `gap` between them.
pub fn join<T>(parts: impl IntoIterator<Item = T>, gap: &str, text: impl Fn(T) -> String) -> String {
    parts.into_iter().map(text).collect::<Vec<_>>().join(gap)
}

/// The text with each `{}` replaced by the next value; what has no value stays, for [`unfilled`] to see.
fn fill<'a>(text: &str, values: &mut impl Iterator<Item = &'a dyn Said>) -> String {
    let mut parts = text.split("{}");
    let mut out = parts.next().unwrap_or("").to_owned();
    for part in parts {
        out += &values.next().map_or_else(|| "{}".to_owned(), Said::said);
        out += part;
    }
    out
}

/// The text, with a `{}` at its end for each value that had no place.
fn leftovers<'a>(text: String, values: &mut impl Iterator<Item = &'a dyn Said>) -> String {
    values.fold(text, |text, _| text + "{}")
}

/// Whether words and values did not fit each other.
pub(super) fn unfilled(outcome: &Outcome) -> bool {
    let words = [&outcome.summary, &outcome.caption].into_iter().chain(&outcome.notes);
    let sentences = outcome.checks.iter().flat_map(|check| [&check.claim, &check.numbers]);
    words.chain(sentences).any(|text| text.contains("{}"))
}
