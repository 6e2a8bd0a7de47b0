//! Answers, as values.

use libduckdb_sys::duckdb_vector;
use quack_rs::types::TypeId;
use quack_rs::vector::complex::{ListVector, StructVector};
use quack_rs::vector::{ListBuilder, StructWriter, VectorWriter};
use vi_sums::{Predicted, Weight};

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

impl Value for Predicted {
    const KIND: Kind = Kind::Fields(&[
        ("mean", TypeId::Double),
        ("variance", TypeId::Double),
        ("lower", TypeId::Double),
        ("upper", TypeId::Double),
    ]);

    unsafe fn write(&self, vector: duckdb_vector, row: usize) -> Result<(), Fault> {
        let values = [self.mean, self.variance, self.lower, self.upper];
        // SAFETY: by the caller: four fields of floats.
        unsafe {
            for (field, value) in values.into_iter().enumerate() {
                StructVector::field_writer(vector, field).write_f64(row, value);
            }
        }
        Ok(())
    }
}

impl Value for Vec<Weight> {
    const KIND: Kind = Kind::Records(&[
        ("mean", TypeId::Double),
        ("deviation", TypeId::Double),
        ("lower", TypeId::Double),
        ("upper", TypeId::Double),
    ]);

    unsafe fn write(&self, vector: duckdb_vector, row: usize) -> Result<(), Fault> {
        // SAFETY: by the caller: a list of structs of four floats. Its fields are asked for after the list has grown.
        unsafe {
            append(vector, row, self.len(), |_, base| {
                let mut fields = StructWriter::new(ListVector::get_child(vector), 4);
                for (i, weight) in self.iter().enumerate() {
                    let values = [weight.mean, weight.deviation, weight.lower, weight.upper];
                    for (field, value) in values.into_iter().enumerate() {
                        fields.write_f64(base + i, field, value);
                    }
                }
            })
        }
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
