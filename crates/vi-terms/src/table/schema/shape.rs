//! Curves, products and kernels beside the lines: the terms of `vi_terms` for the inputs of the columns.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::terms::{Coding, Part};
use super::{Column, Encoded, Kind, Schema};
use vi_models::online::Effects;

use crate::TermsError;
use crate::formula::{Curve, Factor, Function, Group, Product, Spread};
use crate::table::source::{Columns, NOWHERE, Record};
use crate::table::target::Target;
use crate::{Budget, Input, Kind as InputKind, Shape, Term, Terms};

/// The seed of a kernel's frequencies: the same in every model of a shape.
const SEED: u64 = 1;

/// Weights of a curve and features of a kernel that a formula asks for, where the rows allow as many.
const CURVE: usize = 15;
const FEATURES: usize = 60;

/// Numbers that are few, and rows that are many, where nobody asks for a shape.
const FEW: usize = 3;
const MANY: usize = 1000;

/// Terms beside the lines.
pub(crate) enum Beside<'a> {
    /// Those that inputs and rows suggest.
    Shape(Shape),
    /// Those that a formula names.
    Asked(&'a Asked),
}

/// The terms of a formula that have prior scales of their own.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) curves: Vec<Curve>,
    pub(crate) groups: Vec<Group>,
    /// The group of which the levels are no inputs, since the model keeps their effects by themselves.
    pub(crate) apart: Option<Group>,
    /// What the spread follows, where the formula says so.
    pub(crate) spread: Option<Spread>,
}

impl Asked {
    pub(crate) fn is_empty(&self) -> bool {
        self.curves.is_empty() && self.groups.is_empty()
    }
}

impl Schema {
    /// Name, column and kind of each input that comes from the columns themselves.
    fn inputs(&self) -> Vec<Input> {
        let mut kinds = Vec::new();
        for (k, term) in self.all_terms().iter().enumerate() {
            match term.as_slice() {
                [part] => {
                    let own = self.columns[part.column].input_kinds(part.coding);
                    kinds.extend(own.into_iter().map(|kind| (part.column, kind)));
                }
                _ => kinds.resize(kinds.len() + self.width_of(term), (self.columns.len() + k, InputKind::Other)),
            }
        }
        let named = self.names().into_iter().zip(kinds);
        named.map(|(name, (column, kind))| Input { name, column, kind }).collect()
    }

    /// Curves and products; where few numbers have many rows, random features beside them, since these fill a space of few dimensions.
    pub(crate) fn shape_of_table(&self, rows: usize) -> Shape {
        let numbers = self.inputs().iter().filter(|input| input.kind == InputKind::Number).count();
        if numbers <= FEW && rows >= MANY { Shape::Any } else { Shape::Pairs }
    }

    /// The inputs of each record; `None` of one that cannot be read.
    ///
    /// # Errors
    /// A column that is not there.
    pub(super) fn rows_of(&self, records: &[Record], columns: &Columns) -> Result<Vec<Option<Vec<f64>>>, TermsError> {
        let (places, width, mut encoded) = (self.places(columns)?, self.width(), Encoded::default());
        let mut row = |record: &Record| {
            encoded.write(self, &places, record, NOWHERE).ok()?;
            let mut row = vec![0.0; width];
            encoded.row(self, true).for_each(|j, value| row[j] = value);
            Some(row)
        };
        Ok(records.iter().map(&mut row).collect())
    }

    /// Puts columns of many levels behind the others, each level with an input of its own, so that each such column is a block.
    fn in_blocks(&mut self) {
        let many = |term: &[Part]| match term {
            [part] => {
                let kind = &self.columns[part.column].kind;
                matches!(kind, Kind::Levels { .. }) && kind.width() >= Terms::LEVELS
            }
            _ => false,
        };
        let mut terms = self.all_terms();
        terms.sort_by_key(|term| many(term));
        if self.terms.is_empty() {
            for term in terms.iter_mut().filter(|term| many(term)) {
                term[0].coding = Coding::Full;
            }
        }
        self.terms = terms;
    }

    /// Adds terms beside the lines, by the first records, their labels and within the budget.
    ///
    /// # Errors
    /// A term of a formula that its columns do not allow.
    pub(crate) fn shape(
        &mut self,
        beside: &Beside<'_>,
        target: &Target,
        budget: &Budget,
        records: &[Record],
        columns: &Columns,
    ) -> Result<(), TermsError> {
        let mut blocked = self.clone();
        blocked.in_blocks();
        let inputs = blocked.inputs();
        // Learning reports the error of a bad record.
        let place = target.places(columns)?;
        let (mut rows, mut labelled, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        for (row, record) in blocked.rows_of(records, columns)?.into_iter().zip(records) {
            let Some(row) = row else { continue };
            rows.extend_from_slice(&row);
            if let Ok(Some(label)) = target.label(record, place, NOWHERE) {
                labelled.extend(row);
                labels.push(label.label());
            }
        }
        let failed = |what: String| TermsError::Unfit { what };
        let rng = || ChaCha8Rng::seed_from_u64(SEED);
        let terms = match beside {
            _ if rows.is_empty() => return Ok(()),
            Beside::Shape(shape) => Terms::automatic(&inputs, &rows, (&labelled, &labels), *shape, budget, &mut rng())
                .map_err(|error| failed(error.to_string()))?,
            Beside::Asked(Asked { curves, groups, .. }) => {
                let room = rows.len() / inputs.len() / budget.rows / curves.len().max(1);
                let curves = curves.iter().map(|curve| (curve.at, blocked.curve(curve, room, &inputs)));
                let groups = groups.iter().map(|group| (group.at, blocked.slopes(group, &inputs)));
                let mut asked = Vec::new();
                for (at, own) in curves.chain(groups) {
                    let told = |what: String| failed(format!("{what} (the term at {at})"));
                    let own = own.map_err(told)?;
                    let tried = Terms::new(&inputs, &own, &rows, &mut rng());
                    tried.map_err(|error| told(error.to_string()))?;
                    asked.extend(own.into_iter().filter(|term| !asked.contains(term)).collect::<Vec<_>>());
                }
                Terms::new(&inputs, &asked, &rows, &mut rng()).map_err(|error| failed(error.to_string()))?
            }
        };
        if terms.width() > inputs.len() || matches!(beside, Beside::Asked(_)) {
            blocked.shape = Some(terms);
            *self = blocked;
        }
        Ok(())
    }

    /// The place of a column of numbers among the inputs.
    ///
    /// # Errors
    /// A column that is not a number, or no input.
    fn number(&self, name: &str, inputs: &[Input]) -> Result<usize, String> {
        let is = |column: &Column| column.name == name && column.function.is_none();
        let at = self.columns.iter().position(is);
        if at.is_none() {
            return Err(format!("column `{name}`, beside whose line it stands, is not among the inputs"));
        }
        let number = |input: &Input| Some(input.column) == at && input.kind == InputKind::Number;
        inputs.iter().position(number).ok_or_else(|| format!("column `{name}` is not a number"))
    }

    /// The effects of a group whose levels are no inputs.
    ///
    /// # Errors
    /// A slope that is not a number among the inputs.
    pub(crate) fn effects(&self, group: &Group) -> Result<Effects, TermsError> {
        let inputs = self.inputs();
        let slopes = group.slopes.iter().map(|name| self.number(name, &inputs)).collect::<Result<_, _>>();
        let slopes = slopes.map_err(|what| TermsError::Unfit { what: format!("{what} (the term at {})", group.at) })?;
        Ok(Effects { slopes, ..Effects::default() })
    }

    /// The inputs that the spread follows, in increasing order.
    pub(crate) fn inputs_of(&self, spread: &Spread) -> Vec<usize> {
        let factor = |part: &Part| {
            let column = &self.columns[part.column];
            Factor { column: column.name.clone(), function: column.function }
        };
        let (mut first, mut found) = (0, Vec::new());
        for term in self.all_terms() {
            let width = self.width_of(&term);
            if spread.terms.contains(&term.iter().map(factor).collect::<Product>()) {
                found.extend(first..first + width);
            }
            first += width;
        }
        let names: Vec<String> = spread.curves.iter().flat_map(blocks_of).collect();
        let blocks = self.shape.as_ref().map_or_else(Vec::new, Terms::blocks);
        for block in blocks.iter().filter(|block| block.first >= first && names.contains(&block.name)) {
            found.extend(block.first..block.first + block.width);
        }
        found.sort_unstable();
        found
    }

    /// The places of the levels of a group among the inputs.
    pub(crate) fn levels(&self, group: &Group) -> Vec<usize> {
        let text = |column: &Column| column.name == group.column && column.function == Some(Function::Text);
        let at = self.columns.iter().position(text);
        let inputs = self.inputs();
        (0..inputs.len()).filter(|input| Some(inputs[*input].column) == at).collect()
    }

    /// The slopes of a group, whose intercepts are among the inputs.
    ///
    /// # Errors
    /// A column that is not a number.
    fn slopes(&self, group: &Group, inputs: &[Input]) -> Result<Vec<Term>, String> {
        let levels = self.levels(group);
        let slope = |name: &String| Ok(Term::Slopes { input: self.number(name, inputs)?, levels: levels.clone() });
        group.slopes.iter().map(slope).collect()
    }

    /// The terms of a curve of a formula.
    ///
    /// # Errors
    /// A column that is not a number.
    fn curve(&self, curve: &Curve, room: usize, inputs: &[Input]) -> Result<Vec<Term>, String> {
        let places =
            curve.columns.iter().map(|name| self.number(name, inputs)).collect::<Result<Vec<usize>, String>>()?;
        let weights = CURVE.min(room).max(1);
        Ok(match places.as_slice() {
            _ if curve.kernel => vec![Term::Kernel { inputs: places, features: FEATURES.min(room) }],
            &[a, b] => {
                let each = |input| Term::Smooth { input, weights };
                vec![each(a), each(b), Term::Tensor(a, b)]
            }
            _ => places.iter().map(|&input| Term::Smooth { input, weights }).collect(),
        })
    }
}

/// The names of the blocks of a curve.
fn blocks_of(curve: &Curve) -> Vec<String> {
    const SHOWN: usize = 3;
    let shown = curve.columns.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match curve.columns.len() {
        more if more > SHOWN => vec![format!("k({shown} and {} more)", more - SHOWN)],
        _ if curve.kernel => vec![format!("k({shown})")],
        1 => vec![format!("s({shown})")],
        _ => curve.columns.iter().map(|column| format!("s({column})")).chain([format!("s({shown})")]).collect(),
    }
}

impl Column {
    /// The kinds of its inputs.
    fn input_kinds(&self, coding: Coding) -> Vec<InputKind> {
        let width = self.width(coding);
        let kind = |at: usize| match &self.kind {
            Kind::Number { .. } | Kind::Date { .. } | Kind::Clock { .. } if at == 0 => InputKind::Number,
            Kind::Number { .. } | Kind::Levels { .. } => InputKind::Indicator,
            Kind::Date { clock, .. } if at < width - 2 * usize::from(*clock) => InputKind::Indicator,
            _ => InputKind::Other,
        };
        (0..width).map(kind).collect()
    }
}
