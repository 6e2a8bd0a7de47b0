//! From words and signs to a tree. From what binds least: `+ -`, `* /`, `:`, `^`.

use super::token::{Token, What, tokens};
use super::{Curve, Factor, Function, Group};

/// A part of a formula.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Dot,
    Factor(Factor),
    Number(u32),
    /// `a + b - c`: a first part and others with whether each is taken away.
    Sum(Box<Node>, Vec<(bool, Node)>),
    /// `a:b`.
    Product(Box<Node>, Box<Node>),
    /// `a*b`.
    Cross(Box<Node>, Box<Node>),
    /// `a/b`.
    Within(Box<Node>, Box<Node>),
    Power(Box<Node>, u32),
    /// `s(a)`, `k(a, b)`.
    Curve(Curve),
    /// `(1 | g)`, `(a | g)`, `(a || g)`.
    Group(Group),
}

impl Node {
    pub(super) fn has_groups(&self) -> bool {
        match self {
            Self::Group(_) => true,
            Self::Dot | Self::Factor(_) | Self::Number(_) | Self::Curve(_) => false,
            Self::Sum(a, more) => a.has_groups() || more.iter().any(|(_, b)| b.has_groups()),
            Self::Product(a, b) | Self::Cross(a, b) | Self::Within(a, b) => a.has_groups() || b.has_groups(),
            Self::Power(a, _) => a.has_groups(),
        }
    }
}

/// The largest power; beyond it a formula is taken for a mistake.
const MOST: u32 = 8;

/// The most factors of a product, and brackets within brackets.
const MOST_PARTS: u32 = 64;

struct Reader {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    /// One after the last character.
    end: usize,
    depth: u32,
}

/// The target, with the column beside it of a time or of a range.
pub(crate) type Left = (String, Option<Beside>);

/// The column that says more of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beside {
    /// Whether the event came, in `Surv(time, event)`.
    Event(String),
    /// The upper end, in `between(lower, upper)`.
    Upper(String),
}

impl Beside {
    /// The name of the column.
    #[must_use]
    pub fn column(&self) -> &String {
        match self {
            Self::Event(column) | Self::Upper(column) => column,
        }
    }
}

/// What stands before `~` where the terms of the spread follow.
const SPREAD: &str = "sigma";
/// The functions of a target of times and of ranges.
const TIMES: &str = "Surv";
const RANGES: &str = "between";

/// The target before `~`.
///
/// # Errors
/// What is neither a column nor `Surv(time, event)` nor `between(lower, upper)`.
fn left(tokens: &[Token]) -> Result<Left, String> {
    let names = |token: &Token| if let What::Name(name) = &token.what { Some(name.clone()) } else { None };
    let is = |token: &Token, sign: char| token.what == What::Sign(sign);
    let two = || match tokens {
        [_, open, one, comma, other, close] if is(open, '(') && is(comma, ',') && is(close, ')') => {
            names(one).zip(names(other)).filter(|(one, other)| one != other)
        }
        _ => None,
    };
    match tokens {
        [one] => names(one)
            .map(|name| (name, None))
            .ok_or_else(|| "one column, the target, must stand before `~`".to_owned()),
        [surv, ..] if surv.what == What::Name(TIMES.to_owned()) => two()
            .map(|(time, event)| (time, Some(Beside::Event(event))))
            .ok_or_else(|| "`Surv(time, event)` has two columns, the time and whether the event came then".to_owned()),
        [between, ..] if between.what == What::Name(RANGES.to_owned()) => two()
            .map(|(lower, upper)| (lower, Some(Beside::Upper(upper))))
            .ok_or_else(|| "`between(lower, upper)` has two columns, the ends of the range of a number".to_owned()),
        [surv, ..] if matches!(&surv.what, What::Name(name) if name.eq_ignore_ascii_case(TIMES)) => {
            Err(format!("times of events are written `{TIMES}(time, event)`, with this capital, at {}", surv.at))
        }
        _ => Err("one column, the target, must stand before `~`; functions of the target are not supported".to_owned()),
    }
}

/// The columns of `text` as a target: one, or those of `Surv(time, event)` or `between(lower, upper)`.
///
/// # Errors
/// One of these of other than two columns.
pub(crate) fn of_target(text: &str) -> Result<Left, String> {
    let calls = |function: &str| text.split_once('(').is_some_and(|(name, _)| name.eq_ignore_ascii_case(function));
    if calls(TIMES) || text.starts_with("between(") { left(&tokens(text)?) } else { Ok((text.to_owned(), None)) }
}

/// A formula in parts.
pub(super) struct Parsed {
    /// The target, if there is one.
    pub(super) left: Option<Left>,
    pub(super) right: Node,
    /// What stands after `sigma ~`, and the place of that.
    pub(super) spread: Option<(Node, usize)>,
}

/// The parts of a formula.
///
/// # Errors
/// The unreadable part and its place.
pub(super) fn parse(text: &str) -> Result<Parsed, String> {
    let (mut tokens, end) = (tokens(text)?, text.chars().count() + 1);
    let is_spread = |three: &[Token]| {
        let signs = [&three[0], &three[2]].map(|token| &token.what) == [&What::Sign(','), &What::Sign('~')];
        signs && three[1].what == What::Name(SPREAD.to_owned())
    };
    let spread = tokens.windows(3).position(is_spread).map(|place| tokens.split_off(place));
    let target = match tokens.iter().position(|token| token.what == What::Sign('~')) {
        None | Some(0) => None,
        Some(end) => Some(left(&tokens[..end])?),
    };
    let from = tokens.iter().position(|token| token.what == What::Sign('~')).map_or(0, |place| place + 1);
    let end_of_right = spread.as_ref().map_or(end, |tokens| tokens[0].at);
    let right = whole(tokens.split_off(from), end_of_right)?;
    let spread = match spread {
        None => None,
        Some(mut tokens) => {
            let at = tokens[1].at;
            Some((whole(tokens.split_off(3), end)?, at))
        }
    };
    Ok(Parsed { left: target, right, spread })
}

/// A sum of terms and nothing else; `end` is the place after it.
fn whole(tokens: Vec<Token>, end: usize) -> Result<Node, String> {
    let mut reader = Reader { tokens: tokens.into_iter().peekable(), end, depth: 0 };
    let node = reader.sum()?;
    match reader.tokens.next() {
        None => Ok(node),
        Some(Token { what: What::Sign(','), at }) => {
            Err(format!("unexpected text at {at}; after a comma stands `{SPREAD} ~` with what the spread follows"))
        }
        Some(token) => Err(format!("unexpected text at {}", token.at)),
    }
}

/// The columns of a sum of columns, in which a 1 stands for the intercepts, which are there with or without it.
fn slopes_of(node: &Node, slopes: &mut Vec<String>) -> Result<(), String> {
    match node {
        Node::Number(1) => {}
        Node::Factor(Factor { column, function: None }) if !slopes.contains(column) => slopes.push(column.clone()),
        Node::Sum(a, more) if more.iter().all(|(is_gone, _)| !is_gone) => {
            slopes_of(a, slopes)?;
            more.iter().try_for_each(|(_, b)| slopes_of(b, slopes))?;
        }
        Node::Number(0) | Node::Sum(..) => return Err("slopes have intercepts beside them; there is a 0".to_owned()),
        _ => return Err("only 1 and different columns of numbers stand before the bar; there is another".to_owned()),
    }
    Ok(())
}

impl Reader {
    fn sign(&mut self, signs: &str) -> Option<char> {
        let is = |token: &Token| matches!(token.what, What::Sign(sign) if signs.contains(sign));
        match self.tokens.next_if(is)?.what {
            What::Sign(sign) => Some(sign),
            _ => None,
        }
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        let at = self.at();
        self.sign(&sign.to_string()).map(|_| ()).ok_or_else(|| format!("`{sign}` is expected at {at}"))
    }

    fn at(&mut self) -> usize {
        self.tokens.peek().map_or(self.end, |token| token.at)
    }

    fn sum(&mut self) -> Result<Node, String> {
        let mut more = Vec::new();
        let first = if self.sign("-").is_some() {
            more.push((true, self.crossed()?));
            // `-1 + a` takes the 1 from nothing.
            Node::Power(Box::new(Node::Dot), 0)
        } else {
            let _plus = self.sign("+");
            self.crossed()?
        };
        while let Some(sign) = self.sign("+-") {
            more.push((sign == '-', self.crossed()?));
        }
        Ok(if more.is_empty() { first } else { Node::Sum(Box::new(first), more) })
    }

    /// Counts a factor of a product.
    ///
    /// # Errors
    /// More than [`MOST_PARTS`].
    fn one_more(&mut self, factors: &mut u32) -> Result<(), String> {
        *factors += 1;
        if *factors > MOST_PARTS { Err(format!("too many factors at {}", self.at())) } else { Ok(()) }
    }

    fn crossed(&mut self) -> Result<Node, String> {
        let (mut product, mut factors) = (self.product()?, 1);
        while let Some(sign) = self.sign("*/") {
            self.one_more(&mut factors)?;
            let next = Box::new(self.product()?);
            product =
                if sign == '*' { Node::Cross(Box::new(product), next) } else { Node::Within(Box::new(product), next) };
        }
        Ok(product)
    }

    fn product(&mut self) -> Result<Node, String> {
        let (mut product, mut factors) = (self.power()?, 1);
        while self.sign(":").is_some() {
            self.one_more(&mut factors)?;
            product = Node::Product(Box::new(product), Box::new(self.power()?));
        }
        Ok(product)
    }

    fn power(&mut self) -> Result<Node, String> {
        let base = self.atom()?;
        if self.sign("^").is_none() {
            return Ok(base);
        }
        Ok(Node::Power(Box::new(base), self.exponent()?))
    }

    fn exponent(&mut self) -> Result<u32, String> {
        let at = self.at();
        match self.tokens.next().map(|token| token.what) {
            Some(What::Number(power @ 1..=MOST)) => Ok(power),
            _ => Err(format!("a power from 1 to {MOST} is expected at {at}")),
        }
    }

    fn atom(&mut self) -> Result<Node, String> {
        let at = self.at();
        match self.tokens.next().map(|token| token.what) {
            Some(What::Sign('.')) => Ok(Node::Dot),
            Some(What::Number(number)) => Ok(Node::Number(number)),
            Some(What::Sign('(')) => {
                self.depth += 1;
                if self.depth > MOST_PARTS {
                    return Err(format!("too many brackets at {at}"));
                }
                let inner = self.sum()?;
                let bar = self.sign("|‖");
                let inner = match bar {
                    Some(bar) => self.group(&inner, bar == '|', at)?,
                    None => inner,
                };
                self.expect(')')?;
                self.depth -= 1;
                Ok(inner)
            }
            Some(What::Name(name)) if self.sign("(").is_some() => self.function(&name, at),
            Some(What::Name(column)) => Ok(Node::Factor(Factor { column, function: None })),
            _ => Err(format!("a column is expected at {at}")),
        }
    }

    fn column(&mut self) -> Result<String, String> {
        let at = self.at();
        match self.tokens.next().map(|token| token.what) {
            Some(What::Name(column)) => Ok(column),
            _ => Err(format!("a column is expected at {at}")),
        }
    }

    /// The effects before a bar and the column after it, `correlated` by a single bar.
    fn group(&mut self, effects: &Node, correlated: bool, at: usize) -> Result<Node, String> {
        let column = self.column()?;
        let mut slopes = Vec::new();
        slopes_of(effects, &mut slopes).map_err(|what| format!("{what} in the group at {at}"))?;
        let correlated = correlated && !slopes.is_empty();
        Ok(Node::Group(Group { column, slopes, correlated, at }))
    }

    /// The columns in brackets after `s` or `k`.
    fn curve(&mut self, kernel: bool, at: usize) -> Result<Node, String> {
        let mut columns = vec![self.column()?];
        while self.sign(",").is_some() {
            columns.push(self.column()?);
        }
        self.expect(')')?;
        let curve = Curve { kernel, columns, at };
        if !kernel && curve.columns.len() > 2 {
            return Err(format!("`s` at {at} takes one column or two; `k` takes more"));
        }
        match (1..curve.columns.len()).find(|&k| curve.columns[..k].contains(&curve.columns[k])) {
            Some(twice) => Err(format!("`{}` stands twice in the term at {at}", curve.columns[twice])),
            None => Ok(Node::Curve(curve)),
        }
    }

    /// The argument in brackets after `name`.
    fn function(&mut self, name: &str, at: usize) -> Result<Node, String> {
        if let "s" | "k" = name {
            return self.curve(name == "k", at);
        }
        let column = self.column()?;
        let function = if name == "I" {
            if self.sign("^").is_none() {
                return Err(format!("`I` at {at} takes a power of a column, as in `I(a^2)`"));
            }
            Function::Power(self.exponent()?)
        } else {
            let unknown = || format!("no function `{name}` at {at}; there are {}, `I`, `s`, `k`", Function::names());
            Function::named(name).ok_or_else(unknown)?
        };
        self.expect(')')?;
        Ok(Node::Factor(Factor { column, function: Some(function) }))
    }
}
