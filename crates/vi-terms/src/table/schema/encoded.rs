//! A record as numbers.

use vi_core::Row;

use super::kind::Untold;
use super::terms::{Coding, Part};
use super::{Kind, Schema};
use crate::TermsError;
use crate::table::source::Record;

/// A record as numbers; memory used again from record to record.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    positions: Vec<usize>,
    values: Vec<f64>,
    dense: Vec<f64>,
    /// Numbers that were missing, and taken at their column's mean.
    pub(crate) imputed: u64,
    /// Entries of a sparse file whose inputs the model does not have.
    pub(crate) unknown: u64,
    /// Texts that no first row had, and share an input.
    pub(crate) new: u64,
    sorted: Vec<(usize, f64)>,
    /// The inputs of one column, and of a product so far.
    block: Vec<(usize, f64)>,
    product: Vec<(usize, f64)>,
    /// The part of each column of the record that its inputs do not hold.
    untold: Vec<Untold>,
}

impl Encoded {
    /// Writes `record`, which is that of `row`.
    ///
    /// # Errors
    /// A field of the wrong type.
    pub(crate) fn write(
        &mut self,
        schema: &Schema,
        places: &[usize],
        record: &Record,
        row: u64,
    ) -> Result<(), TermsError> {
        self.positions.clear();
        self.values.clear();
        self.untold.clear();
        self.untold.resize(schema.columns.len(), Untold::Nothing);
        let mut first = 0;
        if schema.terms.is_empty() {
            for column in 0..schema.columns.len() {
                let alone = [Part { column, coding: Coding::Alone }];
                first += self.write_term(schema, &alone, first, places, record, row)?;
            }
        } else {
            for term in &schema.terms {
                first += self.write_term(schema, term, first, places, record, row)?;
            }
        }
        let count = |what| self.untold.iter().filter(|untold| **untold == what).count() as u64;
        self.imputed += count(Untold::Imputed);
        self.new += count(Untold::New);
        Ok(())
    }

    /// The columns of the record whose text no first row had.
    pub(crate) fn new_texts(&self) -> impl Iterator<Item = usize> {
        (0..self.untold.len()).filter(|column| self.untold[*column] == Untold::New)
    }

    /// Writes the product of columns from input `first` on; how many inputs it is.
    fn write_term(
        &mut self,
        schema: &Schema,
        term: &[Part],
        first: usize,
        places: &[usize],
        record: &Record,
        row: u64,
    ) -> Result<usize, TermsError> {
        let mut width = 1;
        self.product.clear();
        self.product.push((0, 1.0));
        for part in term {
            let column = &schema.columns[part.column];
            if let Kind::Entries { inputs, named } = column.kind {
                self.write_entries(&record.entries, first, inputs, named);
                return Ok(inputs);
            }
            let text = record.field(places[part.column]);
            self.block.clear();
            let block = &mut self.block;
            let mut push = |at: usize, value: f64| {
                if value != 0.0 {
                    block.push((at, value));
                }
            };
            match column.write(text, part.coding, &mut push) {
                Ok(Untold::Nothing) => {}
                Ok(untold) => self.untold[part.column] = untold,
                Err((expected, hint)) => {
                    let (column, text) = (column.name.clone(), text.to_owned());
                    return Err(TermsError::Field { row, column, text, expected, hint });
                }
            }
            let own = column.width(part.coding);
            width *= own;
            self.sorted.clear();
            for &(at, value) in &self.product {
                self.sorted.extend(self.block.iter().map(|&(next, factor)| (at * own + next, value * factor)));
            }
            std::mem::swap(&mut self.product, &mut self.sorted);
        }
        for &(at, value) in &self.product {
            self.positions.push(first + at);
            self.values.push(value);
        }
        Ok(width)
    }

    /// The entries of a sparse file from input `first` on, in the order of the inputs; those that share one are added.
    fn write_entries(&mut self, entries: &[(u64, f64)], first: usize, inputs: usize, named: bool) {
        self.sorted.clear();
        for &(key, value) in entries {
            let key = if named { key % inputs as u64 } else { key };
            match usize::try_from(key) {
                Ok(at) if at < inputs => self.sorted.push((at, value)),
                _ => self.unknown += 1,
            }
        }
        self.sorted.sort_unstable_by_key(|(at, _)| *at);
        let mut last = None;
        for &(at, value) in &self.sorted {
            if last == Some(at) {
                self.values.last_mut().into_iter().for_each(|sum| *sum += value);
            } else {
                self.positions.push(first + at);
                self.values.push(value);
            }
            last = Some(at);
        }
    }

    /// The input of the record that is farthest from 0.
    pub(crate) fn farthest(&self) -> Option<(usize, f64)> {
        let inputs = self.positions.iter().copied().zip(self.values.iter().copied());
        inputs.max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()))
    }

    /// The record as the row of a model: its entries for a wide one, all numbers for another.
    pub(crate) fn row(&mut self, schema: &Schema, sparse: bool) -> Row<'_> {
        let row = Row::Sparse { positions: &self.positions, values: &self.values };
        if sparse && schema.map.is_none() && schema.shape.is_none() {
            return row;
        }
        row.written_out(schema.own_width(), &mut self.dense);
        if let Some(map) = &schema.map {
            map.append(&mut self.dense);
        }
        if let Some(terms) = &schema.shape {
            // A checked schema has terms of its own inputs; a shorter row would be refused by the model.
            let _whole = terms.append(&mut self.dense);
        }
        Row::Dense(&self.dense)
    }
}
