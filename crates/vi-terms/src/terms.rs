//! All terms of a design, and the row that they make.

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_core::check;

use crate::TermsError;
use crate::fitted::{Fitted, Rows};

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Kind {
    /// A number.
    Number,
    /// 1 where something is so, 0 elsewhere: a level of a text, or that a number is missing.
    Indicator,
    /// A line by itself, of which no other term is made unless it is asked for: a product of columns, a place on the clock.
    Other,
}

/// An input that terms are made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// The column that it comes from: the inputs of one column are not multiplied by one another.
    pub column: usize,
    /// What it is.
    pub kind: Kind,
}

impl Input {
    /// A number.
    #[must_use]
    pub fn number(name: &str, column: usize) -> Self {
        Self { name: name.to_owned(), column, kind: Kind::Number }
    }

    /// An indicator.
    #[must_use]
    pub fn indicator(name: &str, column: usize) -> Self {
        Self { name: name.to_owned(), column, kind: Kind::Indicator }
    }

    /// The name of the column whose level it is.
    pub(crate) fn of_levels(&self) -> &str {
        self.name.rsplit_once('=').map_or(&self.name, |(column, _)| column)
    }
}

/// A term that is asked for; places are those of inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Term {
    /// Lines in `asinh(x/s)`, one block for all these inputs.
    Bent(Vec<usize>),
    /// A curve of at most so many weights beside the line.
    Smooth {
        /// The input.
        input: usize,
        /// The most weights.
        weights: usize,
    },
    /// A surface over two inputs, beside the curves of each.
    Tensor(usize, usize),
    /// All products of two of these inputs that are of different columns.
    Pairs(Vec<usize>),
    /// A slope of an input for each of the levels of a column, beside the line of that input.
    Slopes {
        /// The input.
        input: usize,
        /// The indicators of the levels.
        levels: Vec<usize>,
    },
    /// A Gaussian process (squared exponential) of these inputs, by about so many random Fourier features.
    Kernel {
        /// The inputs.
        inputs: Vec<usize>,
        /// The features of all length scales together.
        features: usize,
    },
}

impl Term {
    fn places(&self) -> Vec<usize> {
        match self {
            Self::Bent(inputs) | Self::Pairs(inputs) | Self::Kernel { inputs, .. } => inputs.clone(),
            Self::Smooth { input, .. } => vec![*input],
            Self::Slopes { input, levels } => [&[*input], levels.as_slice()].concat(),
            Self::Tensor(a, b) => vec![*a, *b],
        }
    }

    fn label(&self, inputs: &[Input]) -> String {
        let names: Vec<&str> = self.places().iter().map(|&place| inputs[place].name.as_str()).collect();
        let word = match self {
            Self::Bent(_) => "bent",
            Self::Smooth { .. } | Self::Tensor(..) => "s",
            Self::Pairs(_) => "pairs",
            Self::Slopes { .. } => "slopes",
            Self::Kernel { .. } => "k",
        };
        format!("{word}({})", names.join(", "))
    }
}

/// Inputs that follow one another and share a prior scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// What it is called.
    pub name: String,
    /// The place of its first input.
    pub first: usize,
    /// How many inputs it has.
    pub width: usize,
    /// Of effects of levels and of those on slopes, the factor from the prior scale to the standard deviation of a weight, for levels scaled by half
    /// the distance of 0 and 1, as the front door's first rows scale them.
    pub unit: Option<f64>,
}

/// `1/½`.
pub(crate) const UNIT_OF_LEVELS: f64 = 2.0;

/// The inputs of a row and those that terms make of them, with all that the first rows have told.
///
/// A row begins with the inputs themselves; those of the terms follow, with mean 0 and of a common size over the first rows, so that they are
/// to be used as they are.
///
/// ```
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
/// use vi_terms::{Input, Term, Terms};
/// let rows: Vec<f64> = (0..90).flat_map(|i| [f64::from(i % 10), f64::from(i % 9)]).collect();
/// let inputs = [Input::number("a", 0), Input::number("b", 1)];
/// let asked = [Term::Smooth { input: 0, weights: 4 }, Term::Pairs(vec![0, 1])];
/// let terms = Terms::new(&inputs, &asked, &rows, &mut ChaCha8Rng::seed_from_u64(1))?;
/// assert_eq!(terms.names(), ["a", "b", "s(a) 1", "s(a) 2", "s(a) 3", "s(a) 4", "a:b"]);
/// assert_eq!(terms.block_sizes(), [2, 4, 1]);
/// # Ok::<(), vi_terms::TermsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "TermsWire")]
pub struct Terms {
    inputs: Vec<Input>,
    pub(crate) fitted: Vec<Fitted>,
    /// Some of the first rows, equally far apart; the shares of the terms are averages over them.
    pub(crate) sample: Vec<f64>,
}

/// Rows of the sample.
const SAMPLE: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TermsWire {
    inputs: Vec<Input>,
    fitted: Vec<Fitted>,
    sample: Vec<f64>,
}

impl TryFrom<TermsWire> for Terms {
    type Error = TermsError;

    fn try_from(wire: TermsWire) -> Result<Self, TermsError> {
        let TermsWire { inputs, fitted, sample } = wire;
        let rows =
            !sample.is_empty() && sample.len().is_multiple_of(inputs.len()) && sample.iter().all(|x| x.is_finite());
        if !inputs.is_empty() && rows && fitted.iter().all(|fitted| fitted.is_of(inputs.len())) {
            let terms = Self { inputs, fitted, sample };
            terms.check_mixes().map(|()| terms)
        } else {
            Err(TermsError::Stored { what: "a term and its inputs" })
        }
    }
}

impl Terms {
    /// Levels of a column from which on they have a prior scale of their own.
    pub const LEVELS: usize = 3;

    /// The terms `asked` for, by `rows` (`n × inputs`, row by row): the first of the stream.
    ///
    /// Cost `O(n·width)` and for each smooth `O(K³)`.
    ///
    /// # Errors
    /// `Empty`, `Dimension`, `NonFinite` for inputs and rows; [`TermsError::Input`]; [`TermsError::Term`] with the reason for a term that its
    /// columns do not allow.
    pub fn new(inputs: &[Input], asked: &[Term], rows: &[f64], rng: &mut impl Rng) -> Result<Self, TermsError> {
        check::not_empty("inputs", inputs.len())?;
        check::not_empty("rows", rows.len())?;
        check::length("rows", rows.len().next_multiple_of(inputs.len()), rows.len())?;
        check::finite("rows", rows)?;
        let all = Rows { values: rows, inputs: inputs.len() };
        let mut fitted = Vec::new();
        for term in asked {
            if let Some(&input) = term.places().iter().find(|place| **place >= inputs.len()) {
                return Err(TermsError::Input { input, inputs: inputs.len() });
            }
            let made = match term {
                Term::Bent(places) => Fitted::bent(places, all).map(|made| vec![made]),
                Term::Smooth { input, weights } => Fitted::smooth(*input, *weights, all).map(|made| vec![made]),
                Term::Tensor(a, b) => Fitted::tensor([*a, *b], all).map(|made| vec![made]),
                Term::Pairs(places) => Fitted::pairs(places, inputs, all).map(|made| vec![made]),
                Term::Slopes { input, levels } => Fitted::slopes(*input, levels, all).map(|made| vec![made]),
                Term::Kernel { inputs, features } => Fitted::kernel(inputs, *features, all, rng),
            };
            fitted.extend(made.map_err(|source| TermsError::Term { term: term.label(inputs), source: source.into() })?);
        }
        let every = (rows.len() / inputs.len()).div_ceil(SAMPLE);
        let sample = rows.chunks_exact(inputs.len()).step_by(every).flatten().copied().collect();
        Ok(Self { inputs: inputs.to_vec(), fitted, sample })
    }

    /// The inputs that all terms are made of.
    #[must_use]
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// How many inputs a row has: those it begins with, and those of the terms.
    #[must_use]
    pub fn width(&self) -> usize {
        self.inputs.len() + self.fitted.iter().map(Fitted::width).sum::<usize>()
    }

    /// Appends the inputs of the terms to a row of the inputs they are made of. A number beyond the range of floats is left to the model to
    /// refuse.
    ///
    /// # Errors
    /// `Dimension` for a row of another length, which stays as it was.
    pub fn append(&self, row: &mut Vec<f64>) -> Result<(), TermsError> {
        check::length("row", self.inputs.len(), row.len())?;
        row.reserve(self.width() - row.len());
        for fitted in &self.fitted {
            fitted.append(row);
        }
        Ok(())
    }

    /// The names of all inputs.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let own = self.inputs.iter().map(|input| input.name.clone());
        own.chain(self.fitted.iter().flat_map(|fitted| fitted.names(&self.inputs))).collect()
    }

    /// The blocks, in the order of the inputs: of the inputs themselves those of a column of many levels, and what stands between such; then
    /// one or more for each term.
    #[must_use]
    pub fn blocks(&self) -> Vec<Block> {
        let levels = |at: usize| {
            let column = self.inputs[at].column;
            let is_of = |input: &&Input| input.column == column && input.kind == Kind::Indicator;
            let many = self.inputs.iter().filter(is_of).count() >= Self::LEVELS;
            (many && self.inputs[at].kind == Kind::Indicator).then_some(column)
        };
        let mut blocks: Vec<Block> = Vec::new();
        let mut last = None;
        for at in 0..self.inputs.len() {
            let own = levels(at);
            match blocks.last_mut() {
                Some(block) if last == Some(own) => block.width += 1,
                _ => blocks.push(Block { name: "lines".to_owned(), first: at, width: 1, unit: None }),
            }
            if let (Some(block), true) = (blocks.last_mut(), own.is_some()) {
                block.name = format!("levels({})", self.inputs[at].of_levels());
                block.unit = Some(UNIT_OF_LEVELS);
            }
            last = Some(own);
        }
        for fitted in &self.fitted {
            let first = blocks.last().map_or(0, |block| block.first + block.width);
            let (name, width) = (fitted.name(&self.inputs), fitted.width());
            blocks.push(Block { name, first, width, unit: fitted.slopes_of().map(|_| 1.0) });
        }
        blocks
    }

    /// The widths of the blocks.
    #[must_use]
    pub fn block_sizes(&self) -> Vec<usize> {
        self.blocks().iter().map(|block| block.width).collect()
    }
}

#[cfg(test)]
mod tests;
