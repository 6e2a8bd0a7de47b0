//! Answers, as values.

use libduckdb_sys::duckdb_vector;
use quack_rs::types::TypeId;
use quack_rs::vector::complex::{ListVector, StructVector};
use quack_rs::vector::{ListBuilder, StructWriter, VectorWriter};
use vi_sums::{Coefficient, GroupEffect, Predicted, VarianceComponent};

use super::Kind;
use crate::Fault;

/// A value of an answer.
pub(crate) trait Value {
    /// Its type in the engine.
    const KIND: Kind;

    /// Writes it.
    ///
    /// # Safety
    /// `vector` is a writable vector of the type [`KIND`](Self::KIND), and `row` one of its rows.
    unsafe fn write(&self, vector: duckdb_vector, row: usize) -> Result<(), Fault>;
}

/// Writes an answer or a null.
///
/// # Safety
/// As [`Value::write`].
pub(super) unsafe fn put<V: Value>(vector: duckdb_vector, row: usize, value: Option<&V>) -> Result<(), Fault> {
    if let Some(value) = value {
        // SAFETY: by the caller.
        return unsafe { value.write(vector, row) };
    }
    // SAFETY: by the caller. A list has an entry even where it is null, lest one of an earlier chunk stay.
    unsafe {
        if matches!(V::KIND, Kind::Floats | Kind::Records(_)) {
            ListVector::set_entry(vector, row, 0, 0);
        }
        VectorWriter::from_vector(vector).set_null(row);
    }
    Ok(())
}

impl Value for f64 {
    const KIND: Kind = Kind::Float;

    unsafe fn write(&self, vector: duckdb_vector, row: usize) -> Result<(), Fault> {
        // SAFETY: by the caller.
        unsafe { VectorWriter::from_vector(vector).write_f64(row, *self) };
        Ok(())
    }
}

impl Value for Vec<u8> {
    const KIND: Kind = Kind::Bytes;

    unsafe fn write(&self, vector: duckdb_vector, row: usize) -> Result<(), Fault> {
        // SAFETY: by the caller; the engine copies the bytes.
        unsafe { VectorWriter::from_vector(vector).try_write_blob(row, self) }
            .map_err(|_| Fault::Engine("bytes beyond its limit"))
    }
}

/// Appends a list of `len` elements, which `write` writes from the given place on.
///
/// # Safety
/// As [`Value::write`], for a list; `write` writes these elements alone.
unsafe fn append(
    vector: duckdb_vector,
    row: usize,
    len: usize,
    write: impl FnOnce(&mut VectorWriter, usize),
) -> Result<(), Fault> {
    // SAFETY: by the caller. The builder goes on behind what earlier rows have written.
    unsafe {
        let mut builder = ListBuilder::new(vector);
        builder.push_row(row, len, write);
        let full = builder.overflowed();
        builder.finish();
        if full { Err(Fault::Engine("a list beyond its limit")) } else { Ok(()) }
    }
}

impl Value for Vec<f64> {
    const KIND: Kind = Kind::Floats;

    unsafe fn write(&self, vector: duckdb_vector, row: usize) -> Result<(), Fault> {
        // SAFETY: by the caller; elements from `base` on, as many as were announced.
        unsafe {
            append(vector, row, self.len(), |child, base| {
                for (i, value) in self.iter().enumerate() {
                    child.write_f64(base + i, *value);
                }
            })
        }
    }
}

/// An answer of texts and numbers, in this order.
trait Told {
    /// Names and types.
    const FIELDS: &'static [(&'static str, TypeId)];

    /// The texts; `None` for null.
    fn texts(&self) -> Vec<Option<String>> {
        Vec::new()
    }

    /// The numbers behind them.
    fn numbers(&self) -> [f64; 4];
}

/// Writes the fields of values, as many numbers of each as fields are left for them.
///
/// # Safety
/// `vector` is a writable vector of structs of [`Told::FIELDS`], with a place for `values` from `first` on.
unsafe fn write<'a, T: Told + 'a>(vector: duckdb_vector, first: usize, values: impl IntoIterator<Item = &'a T>) {
    // SAFETY: by the caller: as many fields, of texts and then of floats.
    unsafe {
        let mut fields = StructWriter::new(vector, T::FIELDS.len());
        for (row, value) in values.into_iter().enumerate() {
            let texts = value.texts();
            for (field, text) in texts.iter().enumerate() {
                match text {
                    // A null of an earlier chunk may have stood there.
                    Some(text) => {
                        fields.set_valid(first + row, field);
                        fields.write_varchar(first + row, field, text);
                    }
                    None => fields.set_null(first + row, field),
                }
            }
            for (field, number) in (texts.len()..T::FIELDS.len()).zip(value.numbers()) {
                fields.write_f64(first + row, field, number);
            }
        }
    }
}

impl<T: Told> Value for T {
    const KIND: Kind = Kind::Fields(T::FIELDS);

    unsafe fn write(&self, vector: duckdb_vector, row: usize) -> Result<(), Fault> {
        // SAFETY: by the caller.
        unsafe { write(vector, row, [self]) };
        Ok(())
    }
}

impl<T: Told> Value for Vec<T> {
    const KIND: Kind = Kind::Records(T::FIELDS);

    unsafe fn write(&self, vector: duckdb_vector, row: usize) -> Result<(), Fault> {
        // SAFETY: by the caller: a list of such structs, whose fields are asked for after the list has grown.
        unsafe { append(vector, row, self.len(), |_, base| write(ListVector::get_child(vector), base, self)) }
    }
}

const fn text(name: &'static str) -> (&'static str, TypeId) {
    (name, TypeId::Varchar)
}

const fn number(name: &'static str) -> (&'static str, TypeId) {
    (name, TypeId::Double)
}

impl Told for Predicted {
    const FIELDS: &'static [(&'static str, TypeId)] =
        &[number("mean"), number("variance"), number("lower"), number("upper")];

    fn numbers(&self) -> [f64; 4] {
        [self.mean, self.variance, self.lower, self.upper]
    }
}

impl Told for Coefficient {
    const FIELDS: &'static [(&'static str, TypeId)] =
        &[text("name"), number("mean"), number("deviation"), number("lower"), number("upper")];

    fn texts(&self) -> Vec<Option<String>> {
        vec![Some(self.name.clone())]
    }

    fn numbers(&self) -> [f64; 4] {
        self.weight.numbers()
    }
}

impl Told for VarianceComponent {
    const FIELDS: &'static [(&'static str, TypeId)] =
        &[text("name"), number("value"), number("lower"), number("upper")];

    fn texts(&self) -> Vec<Option<String>> {
        vec![Some(self.name.clone())]
    }

    fn numbers(&self) -> [f64; 4] {
        [self.value, self.lower, self.upper, 0.0]
    }
}

impl Told for GroupEffect {
    const FIELDS: &'static [(&'static str, TypeId)] =
        &[text("group"), text("effect"), number("mean"), number("deviation"), number("lower"), number("upper")];

    fn texts(&self) -> Vec<Option<String>> {
        vec![self.group.as_ref().map(ToString::to_string), Some(self.effect.clone())]
    }

    fn numbers(&self) -> [f64; 4] {
        self.weight.numbers()
    }
}

/// A step of a search, and what it is taken by.
pub(crate) struct Step {
    /// The record of where it leads.
    pub(crate) posterior: Vec<u8>,
    /// The bound at the place before.
    pub(crate) bound: f64,
    /// The length of the full step.
    pub(crate) size: f64,
}

impl Value for Step {
    const KIND: Kind =
        Kind::Fields(&[("posterior", TypeId::Blob), ("bound", TypeId::Double), ("size", TypeId::Double)]);

    unsafe fn write(&self, vector: duckdb_vector, row: usize) -> Result<(), Fault> {
        // SAFETY: by the caller: bytes, which are written as such, and two floats.
        unsafe {
            self.posterior.write(StructVector::get_child(vector, 0), row)?;
            StructVector::field_writer(vector, 1).write_f64(row, self.bound);
            StructVector::field_writer(vector, 2).write_f64(row, self.size);
        }
        Ok(())
    }
}

/// What a record is of.
pub(crate) struct Description {
    /// `linear`, or the family.
    pub(crate) kind: &'static str,
    /// Inputs, rows, rows that were left out.
    pub(crate) counts: [u64; 3],
}

impl Value for Description {
    const KIND: Kind = Kind::Fields(&[
        ("kind", TypeId::Varchar),
        ("inputs", TypeId::BigInt),
        ("rows", TypeId::BigInt),
        ("skipped", TypeId::BigInt),
    ]);

    unsafe fn write(&self, vector: duckdb_vector, row: usize) -> Result<(), Fault> {
        // SAFETY: by the caller: a text and three whole numbers; the text is short.
        unsafe {
            StructVector::field_writer(vector, 0).write_varchar(row, self.kind);
            for (field, count) in self.counts.into_iter().enumerate() {
                StructVector::field_writer(vector, field + 1).write_i64(row, count.cast_signed());
            }
        }
        Ok(())
    }
}
