//! From words and signs to a tree. From what binds least: `+ -`, `* /`, `:`, `^`.

use super::token::{Token, What, tokens};
use super::{Factor, Function};

/// A part of a formula.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Dot,
    Factor(Factor),
    Number(u32),
    Plus(Box<Node>, Box<Node>),
    Minus(Box<Node>, Box<Node>),
    /// `a:b`.
    Product(Box<Node>, Box<Node>),
    /// `a*b`.
    Cross(Box<Node>, Box<Node>),
    /// `a/b`.
    Within(Box<Node>, Box<Node>),
    Power(Box<Node>, u32),
}

/// Powers and brackets beyond which a formula is taken for a mistake.
const MOST: u32 = 8;

struct Reader {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    /// One after the last character.
    end: usize,
    depth: u32,
}

/// The target, if there is one, and the right side.
///
/// # Errors
/// The unreadable part and its place.
pub(super) fn parse(text: &str) -> Result<(Option<String>, Node), String> {
    let mut tokens = tokens(text)?;
    let target = match tokens.iter().position(|token| token.what == What::Sign('~')) {
        None | Some(0) => None,
        Some(1) => match &tokens[0].what {
            What::Name(name) => Some(name.clone()),
            _ => return Err("one column, the target, must stand before `~`".to_owned()),
        },
        Some(_) => {
            return Err(
                "one column, the target, must stand before `~`; functions of the target are not supported".to_owned()
            );
        }
    };
    let from = tokens.iter().position(|token| token.what == What::Sign('~')).map_or(0, |place| place + 1);
    let tokens = tokens.split_off(from).into_iter().peekable();
    let mut reader = Reader { tokens, end: text.chars().count() + 1, depth: 0 };
    let node = reader.sum()?;
    match reader.tokens.next() {
        None => Ok((target, node)),
        Some(token) => Err(format!("unexpected text at {}", token.at)),
    }
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
        let mut sum = if self.sign("-").is_some() {
            // `-1 + a` begins with nothing taken away.
            Node::Minus(Box::new(Node::Power(Box::new(Node::Dot), 0)), Box::new(self.crossed()?))
        } else {
            let _plus = self.sign("+");
            self.crossed()?
        };
        while let Some(sign) = self.sign("+-") {
            let next = Box::new(self.crossed()?);
            sum = if sign == '+' { Node::Plus(Box::new(sum), next) } else { Node::Minus(Box::new(sum), next) };
        }
        Ok(sum)
    }

    fn crossed(&mut self) -> Result<Node, String> {
        let mut product = self.product()?;
        while let Some(sign) = self.sign("*/") {
            let next = Box::new(self.product()?);
            product =
                if sign == '*' { Node::Cross(Box::new(product), next) } else { Node::Within(Box::new(product), next) };
        }
        Ok(product)
    }

    fn product(&mut self) -> Result<Node, String> {
        let mut product = self.power()?;
        while self.sign(":").is_some() {
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
                if self.depth > MOST * MOST {
                    return Err(format!("too many brackets at {at}"));
                }
                let inner = self.sum()?;
                self.expect(')')?;
                self.depth -= 1;
                Ok(inner)
            }
            Some(What::Name(name)) if self.sign("(").is_some() => self.function(&name, at),
            Some(What::Name(column)) => Ok(Node::Factor(Factor { column, function: None })),
            _ => Err(format!("a column is expected at {at}")),
        }
    }

    /// The argument in brackets after `name`.
    fn function(&mut self, name: &str, at: usize) -> Result<Node, String> {
        let inner = self.at();
        let Some(What::Name(column)) = self.tokens.next().map(|token| token.what) else {
            return Err(format!("a column is expected at {inner}"));
        };
        let function = if name == "I" {
            if self.sign("^").is_none() {
                return Err(format!("`I` at {at} takes a power of a column, as in `I(a^2)`"));
            }
            Function::Power(self.exponent()?)
        } else {
            let unknown = || format!("no function `{name}` at {at}; there are {}, `I`", Function::names());
            Function::named(name).ok_or_else(unknown)?
        };
        self.expect(')')?;
        Ok(Node::Factor(Factor { column, function: Some(function) }))
    }
}
