//! Formulas, `late ~ . - id + carrier:origin + log(distance)`: what they say of the inputs, in the words of Wilkinson and Rogers (1973) as R and
//! Python's formulaic write them.
//!
//! | written | means |
//! | :-- | :-- |
//! | `a + b`, `a - b` | with, without |
//! | `.` | every column that is of use |
//! | `a:b` | products of the inputs of `a` and those of `b` |
//! | `a*b`, `a/b`, `(a + b)^2` | `a + b + a:b`, `a + a:b`, all products of at most two |
//! | `0`, `- 1` | no intercept |
//! | `log(a)`, `I(a^2)`, `C(a)` | a function of a number, a power, a number as a text |
//! | `` `a b` `` | a column of any name |

mod function;
mod parse;
mod token;

use std::collections::{BTreeSet, HashSet};

pub(crate) use self::function::Function;
use self::parse::{Node, parse};

/// A column in a formula, as it is or through a function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Factor {
    pub(crate) column: String,
    pub(crate) function: Option<Function>,
}

/// A product of factors, each once; none is the intercept.
pub(crate) type Term = BTreeSet<Factor>;

/// A parsed formula.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Formula {
    /// The column on the left, if there is a left.
    pub(crate) target: Option<String>,
    right: Node,
}

/// The terms of a formula in the order in which they are written, those of fewer factors first, without the intercept.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Terms {
    pub(crate) intercept: bool,
    pub(crate) terms: Vec<Term>,
}

impl Formula {
    /// # Errors
    /// The unreadable part and its place.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (target, right) = parse(text)?;
        Ok(Self { target, right })
    }

    /// The terms, where `.` stands for `columns`.
    ///
    /// # Errors
    /// A power or product that has no meaning.
    pub(crate) fn terms(&self, columns: &[String]) -> Result<Terms, String> {
        let mut list = expand(&self.right, columns)?;
        if !list.no_intercept {
            list.add(Term::new());
        }
        let intercept = list.has(&Term::new());
        let mut terms: Vec<Term> = list.terms.into_iter().filter(|term| !term.is_empty()).collect();
        terms.sort_by_key(Term::len);
        Ok(Terms { intercept, terms })
    }
}

/// Different terms in the order of their writing; whether the intercept has been taken away.
#[derive(Default)]
struct List {
    terms: Vec<Term>,
    known: HashSet<Term>,
    no_intercept: bool,
}

impl List {
    fn of(term: Term) -> Self {
        Self::of_all([term])
    }

    fn of_all(terms: impl IntoIterator<Item = Term>) -> Self {
        let mut list = Self::default();
        terms.into_iter().for_each(|term| list.add(term));
        list
    }

    fn add(&mut self, term: Term) {
        if self.known.insert(term.clone()) {
            self.terms.push(term);
        }
    }

    fn has(&self, term: &Term) -> bool {
        self.known.contains(term)
    }

    /// Every term of this one with every one of the other.
    fn times(&self, other: &Self) -> Self {
        let mut product = Self::default();
        for a in &self.terms {
            for b in &other.terms {
                product.add(a.union(b).cloned().collect());
            }
        }
        product
    }

    fn joined(mut self, other: Self) -> Self {
        other.terms.into_iter().for_each(|term| self.add(term));
        self.no_intercept |= other.no_intercept;
        self
    }
}

fn expand(node: &Node, columns: &[String]) -> Result<List, String> {
    Ok(match node {
        Node::Dot => {
            let factor = |column: &String| Factor { column: column.clone(), function: None };
            List::of_all(columns.iter().map(|column| Term::from([factor(column)])))
        }
        Node::Factor(factor) => List::of(Term::from([factor.clone()])),
        Node::Number(0) => List { no_intercept: true, ..List::default() },
        Node::Number(1) => List::of(Term::new()),
        Node::Number(other) => return Err(format!("`{other}` where only 0 and 1 mean something")),
        Node::Plus(a, b) => {
            let mut sum = expand(a, columns)?;
            let more = expand(b, columns)?;
            // Whoever writes the 1 after the 0 wants it.
            sum.no_intercept &= !more.has(&Term::new());
            sum.joined(more)
        }
        Node::Minus(a, b) => {
            let mut left = expand(a, columns)?;
            let gone = expand(b, columns)?;
            left.terms.retain(|term| !gone.has(term));
            left.known.retain(|term| !gone.has(term));
            // Without the 1 means no intercept; without the 0, one.
            left.no_intercept = (left.no_intercept && !gone.no_intercept) || gone.has(&Term::new());
            if gone.no_intercept {
                left.add(Term::new());
            }
            left
        }
        Node::Product(a, b) => expand(a, columns)?.times(&expand(b, columns)?),
        Node::Cross(a, b) => {
            let (a, b) = (expand(a, columns)?, expand(b, columns)?);
            let product = a.times(&b);
            a.joined(b).joined(product)
        }
        Node::Within(a, b) => {
            let (a, b) = (expand(a, columns)?, expand(b, columns)?);
            let all = List::of(a.terms.iter().flatten().cloned().collect());
            let product = all.times(&b);
            a.joined(product)
        }
        Node::Power(a, power) => {
            let base = expand(a, columns)?;
            let mut sum = List::of(Term::new());
            let mut product = List::of(Term::new());
            for _ in 0..*power {
                product = product.times(&base);
                product.terms.iter().for_each(|term| sum.add(term.clone()));
            }
            List::of_all(sum.terms.into_iter().filter(|term| !term.is_empty()))
        }
    })
}

#[cfg(test)]
mod tests;
