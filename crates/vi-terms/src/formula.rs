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
//! | `s(a)`, `s(a, b)` | a curve beside the line of `a`; a surface beside the curves of `a` and `b` |
//! | `k(a, b)` | a Gaussian process beside the lines of any number of columns |
//! | `(1 \| g)` | an effect of each level of `g`, pulled towards the others as far as they are alike |
//! | `(a \| g)` | the same, and an effect on the slope of the number `a`, with a correlation of the two |
//! | `(a \|\| g)` | the same without the correlation, at the mean of `a` |
//! | `` `a b` `` | a column of any name |
//! | `Surv(t, d) ~` | the target is the time `t` of an event, or where `d` says that it had not come a time before it |
//! | `between(a, b) ~` | the target is a number that is known to lie from `a` to `b`, or without an end where that is missing |
//! | `…, sigma ~ a + s(b)` | the spread of the target follows these terms of the formula; `sigma ~ 1` none |

mod function;
mod parse;
mod token;

use std::collections::{BTreeSet, HashSet};

use crate::TermsError;

pub use self::function::Function;
pub use self::parse::Beside;
pub(crate) use self::parse::{Left, of_target};
use self::parse::{Node, Parsed, parse};

/// A column in a formula, as it is or through a function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Factor {
    /// The column.
    pub column: String,
    /// The function, if there is one.
    pub function: Option<Function>,
}

/// A curve, a surface or a Gaussian process of columns, with the place where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Curve {
    /// Whether it is a Gaussian process.
    pub kernel: bool,
    /// Its columns, all different.
    pub columns: Vec<String>,
    /// The place of its first character, from 1.
    pub at: usize,
}

/// Effects of the levels of a column, with the place where they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The column, whose values are taken as texts.
    pub column: String,
    /// The columns of numbers on whose slopes there are effects too.
    pub slopes: Vec<String>,
    /// Whether the effects of a level are correlated.
    pub correlated: bool,
    /// The place of the first bracket, from 1.
    pub at: usize,
}

impl Group {
    /// The column as a factor.
    #[must_use]
    pub fn factor(&self) -> Factor {
        Factor { column: self.column.clone(), function: Some(Function::Text) }
    }

    fn is(&self, other: &Self) -> bool {
        self.column == other.column && self.slopes == other.slopes && self.correlated == other.correlated
    }
}

impl Curve {
    fn is(&self, other: &Self) -> bool {
        self.kernel == other.kernel && self.columns == other.columns
    }
}

/// A product of factors, each once; none is the intercept.
pub type Product = BTreeSet<Factor>;

/// A parsed formula.
///
/// ```
/// use vi_terms::formula::Formula;
/// let formula = Formula::parse("y ~ . - id + s(age)")?;
/// let all = ["id", "age", "dose"].map(str::to_owned);
/// let expansion = formula.terms(&all)?;
/// assert_eq!((formula.target.as_deref(), expansion.terms.len(), expansion.curves.len()), (Some("y"), 2, 1));
/// assert!(Formula::parse("y ~ a +").unwrap_err().to_string().contains("a column is expected at 8"));
/// # Ok::<(), vi_terms::TermsError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    /// The column on the left, if there is a left; in `Surv(time, event)` the time, in `between(lower, upper)` the lower end.
    pub target: Option<String>,
    /// The other column of these two.
    pub beside: Option<Beside>,
    right: Node,
    /// What the spread follows, with the place of `sigma`.
    spread: Option<(Node, usize)>,
}

/// What the spread of the target follows, all of it among the terms of the target, with the place of `sigma`.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// The products of columns; none for one spread of all rows.
    pub terms: Vec<Product>,
    /// Curves, whose lines are among the terms.
    pub curves: Vec<Curve>,
    /// The place of its first character, from 1.
    pub at: usize,
}

/// The terms of a formula in the order in which they are written, those of fewer factors first, without the intercept.
#[derive(Debug, Clone, PartialEq)]
pub struct Expansion {
    /// Whether there is an intercept.
    pub intercept: bool,
    /// The products of columns.
    pub terms: Vec<Product>,
    /// Curves, whose lines are among the terms.
    pub curves: Vec<Curve>,
    /// Groups, whose columns and lines are among the terms.
    pub groups: Vec<Group>,
    /// What the spread follows, where `sigma ~` says so.
    pub spread: Option<Spread>,
}

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// [`TermsError::Formula`]: the unreadable part and its place.
    pub fn parse(text: &str) -> Result<Self, TermsError> {
        let Parsed { left, right, spread } = parse(text).map_err(|what| TermsError::Formula { what })?;
        let (target, beside) = left.unzip();
        Ok(Self { target, beside: beside.flatten(), right, spread })
    }

    /// The place of `sigma ~`, where the formula says what the spread follows.
    #[must_use]
    pub fn spread_at(&self) -> Option<usize> {
        self.spread.as_ref().map(|(_, at)| *at)
    }

    /// Whether there is a group.
    #[must_use]
    pub fn has_groups(&self) -> bool {
        self.right.has_groups()
    }

    /// The terms, where `.` stands for the `columns` that name no group.
    ///
    /// # Errors
    /// [`TermsError::Formula`]: a power or product that has no meaning; correlated effects of a group in two terms, or with slopes of itself; a spread
    /// that follows what is no term of the target.
    pub fn terms(&self, columns: &[String]) -> Result<Expansion, TermsError> {
        let expand = |columns: &[String]| expand(&self.right, columns).map_err(|what| TermsError::Formula { what });
        let mut list = expand(columns)?;
        let others: Vec<String>;
        let mut columns = columns;
        if !list.groups.is_empty() {
            let names_group = |column: &&String| list.groups.iter().any(|group| group.column == **column);
            others = columns.iter().filter(|column| !names_group(column)).cloned().collect();
            columns = &others;
            list = expand(columns)?;
        }
        let spread = self.spread.as_ref().map(|(node, at)| spread(&list, node, *at, columns)).transpose();
        let spread = spread.map_err(|what| TermsError::Formula { what })?;
        if !list.no_intercept {
            list.add(Product::new());
        }
        let intercept = list.has(&Product::new());
        whole(&list.groups).map_err(|what| TermsError::Formula { what })?;
        let mut terms: Vec<Product> = list.terms.into_iter().filter(|term| !term.is_empty()).collect();
        terms.sort_by_key(Product::len);
        Ok(Expansion { intercept, terms, curves: list.curves, groups: list.groups, spread })
    }
}

/// What stands after `sigma ~`.
///
/// # Errors
/// What is no term of the target, a group, a formula without a level.
fn spread(list: &List, node: &Node, at: usize, columns: &[String]) -> Result<Spread, String> {
    let own = expand(node, columns)?;
    if let Some(group) = own.groups.first() {
        return Err(format!("the spread (`sigma ~` at {at}) follows no groups; there is one at {}", group.at));
    }
    if own.no_intercept {
        return Err(format!("the spread (`sigma ~` at {at}) has a level of its own in any case; there is a 0"));
    }
    let outside =
        |name: String| format!("`{name}`, which the spread (`sigma ~` at {at}) is to follow, is no term of the target");
    let label = |factor: &Factor| factor.function.map_or_else(|| factor.column.clone(), |of| of.label(&factor.column));
    let terms: Vec<Product> = own.terms.into_iter().filter(|term| !term.is_empty()).collect();
    if let Some(term) = terms.iter().find(|term| !list.has(term)) {
        return Err(outside(term.iter().map(label).collect::<Vec<_>>().join(":")));
    }
    match own.curves.iter().find(|curve| !list.curves.iter().any(|known| known.is(curve))) {
        Some(curve) => Err(format!("{} (the curve at {})", outside(curve.columns.join(", ")), curve.at)),
        None => Ok(Spread { terms, curves: own.curves, at }),
    }
}

/// # Errors
/// A group with a correlation in one of several terms: which of its effects are correlated is then not told. A slope of the group itself.
fn whole(groups: &[Group]) -> Result<(), String> {
    for (k, group) in groups.iter().enumerate() {
        if group.slopes.contains(&group.column) {
            return Err(format!("`{}` is both a slope and its group in the term at {}", group.column, group.at));
        }
        let others = groups[..k].iter().filter(|other| other.column == group.column);
        if let Some(other) = others.into_iter().find(|other| other.correlated || group.correlated) {
            let (name, first, at) = (&group.column, other.at, group.at);
            return Err(format!(
                "the groups at {first} and {at} are both of `{name}`, with a correlation in one; write all effects of `{name}` as one term"
            ));
        }
    }
    Ok(())
}

/// Terms beyond which a product of terms is taken for a mistake.
const MOST_TERMS: usize = 250_000;

/// Different terms in the order of their writing; whether the intercept has been taken away.
#[derive(Default)]
struct List {
    terms: Vec<Product>,
    known: HashSet<Product>,
    curves: Vec<Curve>,
    groups: Vec<Group>,
    no_intercept: bool,
}

impl List {
    fn of(term: Product) -> Self {
        Self::of_all([term])
    }

    fn of_all(terms: impl IntoIterator<Item = Product>) -> Self {
        let mut list = Self::default();
        terms.into_iter().for_each(|term| list.add(term));
        list
    }

    fn add(&mut self, term: Product) {
        if self.known.insert(term.clone()) {
            self.terms.push(term);
        }
    }

    fn add_curve(&mut self, curve: Curve) {
        if !self.curves.iter().any(|known| known.is(&curve)) {
            self.curves.push(curve);
        }
    }

    fn add_group(&mut self, group: Group) {
        if !self.groups.iter().any(|known| known.is(&group)) {
            self.groups.push(group);
        }
    }

    /// # Errors
    /// A curve or a group, of which there are no products.
    fn straight(self) -> Result<Self, String> {
        let fail = |what, at| Err(format!("the {what} at {at} stands in a product; it is a term by itself"));
        match (self.curves.first(), self.groups.first()) {
            (Some(curve), _) => fail("curve", curve.at),
            (None, Some(group)) => fail("group", group.at),
            (None, None) => Ok(self),
        }
    }

    fn has(&self, term: &Product) -> bool {
        self.known.contains(term)
    }

    /// Every term of this one with every one of the other.
    ///
    /// # Errors
    /// More than [`MOST_TERMS`].
    fn times(&self, other: &Self) -> Result<Self, String> {
        if self.terms.len().saturating_mul(other.terms.len()) > MOST_TERMS {
            return Err(format!("a product has more than {MOST_TERMS} terms"));
        }
        let mut product = Self::default();
        for a in &self.terms {
            for b in &other.terms {
                product.add(a.union(b).cloned().collect());
            }
        }
        Ok(product)
    }

    /// This list and what is added to it.
    fn with(mut self, more: Self) -> Self {
        // Whoever writes the 1 after the 0 wants it.
        self.no_intercept &= !more.has(&Product::new());
        self.joined(more)
    }

    /// This list without what is taken away.
    fn without(mut self, gone: &Self) -> Self {
        self.terms.retain(|term| !gone.has(term));
        self.known.retain(|term| !gone.has(term));
        self.curves.retain(|curve| !gone.curves.iter().any(|other| other.is(curve)));
        self.groups.retain(|group| !gone.groups.iter().any(|other| other.is(group)));
        // Without the 1 means no intercept; without the 0, one.
        self.no_intercept = (self.no_intercept && !gone.no_intercept) || gone.has(&Product::new());
        if gone.no_intercept {
            self.add(Product::new());
        }
        self
    }

    fn joined(mut self, other: Self) -> Self {
        other.terms.into_iter().for_each(|term| self.add(term));
        other.curves.into_iter().for_each(|curve| self.add_curve(curve));
        other.groups.into_iter().for_each(|group| self.add_group(group));
        self.no_intercept |= other.no_intercept;
        self
    }
}

fn expand(node: &Node, columns: &[String]) -> Result<List, String> {
    let straight = |node: &Node| expand(node, columns)?.straight();
    let line = |column: &String| Product::from([Factor { column: column.clone(), function: None }]);
    Ok(match node {
        Node::Dot => List::of_all(columns.iter().map(line)),
        Node::Factor(factor) => List::of(Product::from([factor.clone()])),
        Node::Curve(curve) => {
            let mut list = List::of_all(curve.columns.iter().map(line));
            list.add_curve(curve.clone());
            list
        }
        Node::Group(group) => {
            let mut list = List::of_all(group.slopes.iter().map(line));
            list.add(Product::from([group.factor()]));
            list.add_group(group.clone());
            list
        }
        Node::Number(0) => List { no_intercept: true, ..List::default() },
        Node::Number(1) => List::of(Product::new()),
        Node::Number(other) => return Err(format!("`{other}` where only 0 and 1 mean something")),
        Node::Sum(first, more) => {
            let mut sum = expand(first, columns)?;
            for (is_gone, node) in more {
                let list = expand(node, columns)?;
                sum = if *is_gone { sum.without(&list) } else { sum.with(list) };
            }
            sum
        }
        Node::Product(a, b) => straight(a)?.times(&straight(b)?)?,
        Node::Cross(a, b) => {
            let (a, b) = (straight(a)?, straight(b)?);
            let product = a.times(&b)?;
            a.joined(b).joined(product)
        }
        Node::Within(a, b) => {
            let (a, b) = (straight(a)?, straight(b)?);
            let all = List::of(a.terms.iter().flatten().cloned().collect());
            let product = all.times(&b)?;
            a.joined(product)
        }
        Node::Power(a, power) => {
            let base = straight(a)?;
            let mut sum = List::of(Product::new());
            let mut product = List::of(Product::new());
            for _ in 0..*power {
                product = product.times(&base)?;
                product.terms.iter().for_each(|term| sum.add(term.clone()));
            }
            List::of_all(sum.terms.into_iter().filter(|term| !term.is_empty()))
        }
    })
}

#[cfg(test)]
mod tests;
