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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::item::PAPERS;

    const FILE: &str = "paper: p\n\ncorrection: there\nprinted: no\nright: Yes.\n\nclaim: is\nplace: §1\nsays: It\n  is {}.\n\
        numbers: n {}\nwrong: there\n\npromise: keeps\nsays: It keeps\nnumbers: v\n\nitem: a\nnote: @same\n\ntext: same\nsays: S\n";

    #[test]
    fn a_count_holds_fails_or_is_mixed_and_comes_with_its_interval() {
        let words = Words::parse(FILE);
        let v = |hits| words.counted("keeps", (hits, 20), &[]).verdict;
        let verdicts = [20, 16, 15, 5, 4].map(v);
        assert_eq!(verdicts[..2], [Verdict::Holds; 2]);
        assert_eq!(verdicts[2..4], [Verdict::Partly; 2]);
        assert_eq!(verdicts[4], Verdict::DoesNotHold);
        assert_eq!(words.counted("keeps", (0, 0), &[]).verdict, Verdict::DoesNotHold);
        // Wilson's interval of 16 in 20.
        assert_eq!(words.counted("keeps", (16, 20), &[]).numbers, "v; true on 16 of 20 data sets (0.58 to 0.92)");
        let pooled = words.pooled("is", &[("a", (1, 2)), ("b", (2, 2))], &[&"so"]);
        assert_eq!(pooled.claim, "It is so.");
        assert_eq!(pooled.numbers, "n a: 1 of 2; b: 2 of 2; true on 3 of 4 data sets (0.30 to 0.95)");
    }

    #[test]
    fn a_claim_that_fails_says_why_and_one_that_holds_does_not() {
        let words = Words::parse(FILE);
        assert_eq!(words.fact("is", true, &[&1.0, &2_usize]).cause, None);
        let check = words.fact("is", false, &[&1.0, &2_usize]);
        let cause = check.cause.unwrap();
        assert_eq!((cause.fault, cause.why.as_str()), (Fault::Paper, "Yes."));
        assert_eq!(cause.correction.as_deref(), Some("there"));
        assert_eq!((check.claim.as_str(), check.numbers.as_str()), ("It is 1.000.", "n 2"));
        assert_eq!((check.place.as_str(), check.kind), ("§1", Kind::Claim));
        assert_eq!(words.below("keeps", f64::NAN, 1.0).verdict, Verdict::DoesNotHold);
        assert_eq!(words.of_item("a", "note"), ["S"]);
    }

    #[test]
    fn a_sentence_that_is_not_there_and_values_that_do_not_fit_are_seen() {
        let words = Words::parse(FILE);
        let missing = words.fact("nothing", true, &[]);
        assert_eq!((missing.kind, missing.verdict), (Kind::Promise, Verdict::DoesNotHold));
        for values in [&[&1.0 as &dyn Said] as &[_], &[&1.0, &2.0, &3.0]] {
            let outcome = Outcome { checks: vec![words.fact("is", true, values)], ..Outcome::default() };
            assert!(unfilled(&outcome));
        }
        let fits = Outcome { checks: vec![words.fact("is", true, &[&1.0, &2.0])], ..Outcome::default() };
        assert!(!unfilled(&fits));
    }

    /// Names in quotes in the sources of a paper, and the sentences of its file: none is missing and none is left over.
    #[test]
    fn files_and_sources_name_the_same_sentences() {
        for paper in PAPERS {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(paper.id);
            let sources: String = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
                .collect();
            let quoted: BTreeSet<&str> = sources.split('"').collect();
            let kinds = ["claim", "promise", "finding"];
            for block in kinds.iter().flat_map(|kind| paper.words.all(kind)) {
                assert!(quoted.contains(block.name()), "{}: nobody asks for `{}`", paper.id, block.name());
                assert!(!block.text("says").is_empty(), "{}: `{}` says nothing", paper.id, block.name());
                let wrong = block.text("wrong");
                assert!(wrong.is_empty() || paper.words.block("correction", wrong).is_some(), "{wrong}");
            }
            let called = ["fact", "below", "counted", "pooled"].map(|method| format!(".{method}("));
            for after in called.iter().flat_map(|call| sources.split(call.as_str()).skip(1)) {
                let Some(name) = after.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next()) else {
                    continue;
                };
                let there = kinds.iter().any(|kind| paper.words.block(kind, name).is_some());
                assert!(there, "{}: `{name}` is not in the file", paper.id);
            }
            for item in paper.items {
                assert!(!paper.words.of_item(item.id, "title").is_empty(), "{} {}", paper.id, item.id);
                assert!(!paper.words.of_item(item.id, "summary").is_empty(), "{} {}", paper.id, item.id);
            }
            for block in &paper.words.blocks {
                let names = paper.words.blocks.iter().filter(|b| b.kind == block.kind && b.name == block.name);
                assert_eq!(names.count(), 1, "{}: {} {}", paper.id, block.kind, block.name);
                for (key, text) in &block.fields {
                    let named = text.strip_prefix('@');
                    assert!(named.is_none_or(|name| paper.words.block("text", name).is_some()), "{key}: {text}");
                }
            }
        }
    }
}
