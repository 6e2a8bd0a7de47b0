//! Arguments of a call, as slices.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;

use libduckdb_sys::{
    duckdb_data_chunk, duckdb_list_entry, duckdb_vector, duckdb_vector_get_data, duckdb_vector_get_validity,
};
use quack_rs::data_chunk::DataChunk;
use quack_rs::vector::complex::{ArrayVector, ListVector};
use quack_rs::vector::{VectorReader, vector_get_column_type};

use super::Kind;
use crate::Fault;

/// The arguments of a call, for as long as the call lasts.
pub(crate) struct Input<'a> {
    chunk: DataChunk,
    rows: usize,
    call: PhantomData<&'a ()>,
}

/// Which rows are there; all, where there is no mask.
#[derive(Clone, Copy)]
struct Mask<'a>(Option<&'a [u64]>);

impl Mask<'_> {
    /// # Safety
    /// `vector` is one of `rows` rows, and lives for `'a`.
    unsafe fn of(vector: duckdb_vector, rows: usize) -> Self {
        // SAFETY: a live vector, by the caller.
        let words = unsafe { duckdb_vector_get_validity(vector) };
        if words.is_null() || rows == 0 {
            return Self(None);
        }
        // SAFETY: the engine keeps one bit for each row, in words of 64, for as long as the vector.
        Self(Some(unsafe { std::slice::from_raw_parts(words, rows.div_ceil(64)) }))
    }

    #[inline]
    fn has(self, row: usize) -> bool {
        self.0.is_none_or(|words| words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1))
    }

    fn has_all(self, rows: Range<usize>) -> bool {
        self.0.is_none() || rows.into_iter().all(|row| self.has(row))
    }
}

/// The values of a flat vector of `rows` rows.
///
/// # Safety
/// `vector` is flat, of `rows` values of type `T`, and lives for `'a`.
unsafe fn values<'a, T>(vector: duckdb_vector, rows: usize) -> Result<&'a [T], Fault> {
    if rows == 0 {
        return Ok(&[]);
    }
    // SAFETY: a live vector, by the caller.
    let data = unsafe { duckdb_vector_get_data(vector) }.cast::<T>();
    if data.is_null() || !data.is_aligned() {
        return Err(Fault::Engine("a vector without data"));
    }
    // SAFETY: not null, aligned, and of so many values by the caller, none of which is written to during a call.
    Ok(unsafe { std::slice::from_raw_parts(data, rows) })
}

impl<'a> Input<'a> {
    /// # Safety
    /// `chunk` is the argument of a callback that lasts at least for `'a`; its vectors are flat, as the engine makes them for callbacks.
    pub(super) unsafe fn new(chunk: duckdb_data_chunk) -> Self {
        // SAFETY: by the caller.
        let chunk = unsafe { DataChunk::from_raw(chunk) };
        let rows = chunk.size();
        Self { chunk, rows, call: PhantomData }
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The vector of a column of type `kind`.
    fn vector(&self, column: usize, kind: Kind) -> Result<duckdb_vector, Fault> {
        if column >= self.chunk.column_count() {
            return Err(Fault::Engine("an argument is missing"));
        }
        // SAFETY: a column that is there.
        let vector = unsafe { self.chunk.vector(column) };
        // SAFETY: a live vector; its type is destroyed when it is dropped.
        let found = unsafe { vector_get_column_type(vector) };
        // SAFETY: a live type, and the parts of it that it has where it is of that sort.
        let same = unsafe {
            found.try_get_type_id() == Some(kind.id())
                && match kind {
                    Kind::Floats => found.list_child_type().try_get_type_id() == Some(Kind::Float.id()),
                    Kind::Array(d) => {
                        found.array_size() == d as u64
                            && found.array_child_type().try_get_type_id() == Some(Kind::Float.id())
                    }
                    Kind::Fields(_) | Kind::Records(_) => false,
                    _ => true,
                }
        };
        if same { Ok(vector) } else { Err(Fault::Argument { column, expected: kind.name() }) }
    }

    /// A column of `DOUBLE`.
    pub(crate) fn floats(&self, column: usize) -> Result<Floats<'a>, Fault> {
        let vector = self.vector(column, Kind::Float)?;
        // SAFETY: a flat vector of floats, as was just checked, for the length of the call.
        unsafe { Ok(Floats { values: values(vector, self.rows)?, mask: Mask::of(vector, self.rows) }) }
    }

    /// A column of labels, of the kind that [`Kind::label`] tells.
    pub(crate) fn labels(&self, column: usize, flag: bool) -> Result<Labels<'a>, Fault> {
        if !flag {
            let Floats { values, mask } = self.floats(column)?;
            return Ok(Labels { values: Cow::Borrowed(values), mask });
        }
        let vector = self.vector(column, Kind::Flag)?;
        // SAFETY: a flat vector of bytes, as was just checked, for the length of the call.
        let (bytes, mask) = unsafe { (values::<u8>(vector, self.rows)?, Mask::of(vector, self.rows)) };
        Ok(Labels { values: bytes.iter().map(|byte| f64::from(u8::from(*byte != 0))).collect(), mask })
    }

    /// A column of `BIGINT`; `None` for nulls.
    pub(crate) fn integers(&self, column: usize) -> Result<impl Fn(usize) -> Option<i64> + use<'a>, Fault> {
        let vector = self.vector(column, Kind::Integer)?;
        // SAFETY: a flat vector of whole numbers, as was just checked, for the length of the call.
        let (values, mask) = unsafe { (values::<i64>(vector, self.rows)?, Mask::of(vector, self.rows)) };
        Ok(move |row| values.get(row).copied().filter(|_| mask.has(row)))
    }

    /// A column of `VARCHAR`.
    pub(crate) fn texts(&self, column: usize) -> Result<Texts<'a>, Fault> {
        Ok(Texts::of(self.vector(column, Kind::Text)?, self.rows))
    }

    /// A column of `BLOB`.
    pub(crate) fn bytes(&self, column: usize) -> Result<Texts<'a>, Fault> {
        Ok(Texts::of(self.vector(column, Kind::Bytes)?, self.rows))
    }

    /// A column of `DOUBLE[D]`.
    pub(crate) fn arrays<const D: usize>(&self, column: usize) -> Result<Arrays<'a, D>, Fault> {
        let vector = self.vector(column, Kind::Array(D))?;
        // SAFETY: an array vector, as was just checked; its child has `D` floats for each of its rows and lives as long.
        unsafe {
            let child = ArrayVector::get_child(vector);
            let (elements, own) = (Mask::of(child, self.rows * D), Mask::of(vector, self.rows));
            Ok(Arrays { values: values(child, self.rows * D)?, elements, mask: own })
        }
    }

    /// `D` columns of `DOUBLE`, the first of them at `first`.
    pub(crate) fn columns<const D: usize>(&self, first: usize) -> Result<Columns<'a, D>, Fault> {
        let mut values = vec![0.0; self.rows * D];
        let masks = (0..D).map(|j| {
            let column = self.floats(first + j)?;
            values.iter_mut().skip(j).step_by(D).zip(column.values).for_each(|(own, value)| *own = *value);
            Ok(column.mask)
        });
        let masks = masks.collect::<Result<Vec<_>, Fault>>()?;
        Ok(Columns { values, masks })
    }

    /// A column of `DOUBLE[]`.
    pub(crate) fn lists(&self, column: usize) -> Result<Lists<'a>, Fault> {
        let vector = self.vector(column, Kind::Floats)?;
        // SAFETY: a list vector, as was just checked: an entry for each row, and a child with as many floats as it says, for the length of the call.
        unsafe {
            let (child, size) = (ListVector::get_child(vector), ListVector::get_size(vector));
            let (elements, mask) = (Mask::of(child, size), Mask::of(vector, self.rows));
            Ok(Lists { entries: values(vector, self.rows)?, values: values(child, size)?, elements, mask })
        }
    }
}

/// Numbers, some of which may be null.
#[derive(Clone, Copy)]
pub(crate) struct Floats<'a> {
    values: &'a [f64],
    mask: Mask<'a>,
}

impl<'a> Floats<'a> {
    /// The number of a row; `None` for null.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<f64> {
        self.values.get(row).copied().filter(|_| self.mask.has(row))
    }

    /// The numbers of some rows, none of them null.
    pub(crate) fn block(&self, rows: Range<usize>) -> Option<&'a [f64]> {
        self.values.get(rows.clone()).filter(|_| self.mask.has_all(rows))
    }
}

/// Numbers, or 1 for true and 0 for false, some of which may be null.
pub(crate) struct Labels<'a> {
    values: Cow<'a, [f64]>,
    mask: Mask<'a>,
}

impl Labels<'_> {
    /// The numbers.
    pub(crate) fn floats(&self) -> Floats<'_> {
        Floats { values: &self.values, mask: self.mask }
    }
}

/// Texts or bytes, some of which may be null.
pub(crate) struct Texts<'a> {
    reader: VectorReader,
    call: PhantomData<&'a ()>,
}

impl<'a> Texts<'a> {
    fn of(vector: duckdb_vector, rows: usize) -> Self {
        // SAFETY: `vector` comes from `Input::vector`: live for the call, of texts or bytes.
        let reader = unsafe { VectorReader::from_vector(vector, rows) };
        Self { reader, call: PhantomData }
    }

    /// The bytes of a row; `None` for null.
    pub(crate) fn get(&self, row: usize) -> Option<&'a [u8]> {
        // SAFETY: a row that is there and not null, of texts or bytes, which the engine keeps for the length of the call.
        unsafe {
            if row >= self.reader.row_count() || !self.reader.is_valid(row) {
                return None;
            }
            let bytes = self.reader.read_blob(row);
            Some(std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()))
        }
    }
}

/// Rows of features.
pub(crate) trait Features {
    /// The features of a row; `None` where it or one of them is null.
    fn row(&self, row: usize) -> Option<&[f64]>;

    /// The features of some rows end to end, none of them null and each of `inputs` features; `None` where they do not stand like that.
    fn block(&self, rows: Range<usize>, inputs: usize) -> Option<&[f64]>;
}

/// Arrays of `D` numbers.
pub(crate) struct Arrays<'a, const D: usize> {
    values: &'a [f64],
    elements: Mask<'a>,
    mask: Mask<'a>,
}

impl<const D: usize> Features for Arrays<'_, D> {
    #[inline]
    fn row(&self, row: usize) -> Option<&[f64]> {
        let range = row * D..row * D + D;
        let there = self.mask.has(row) && self.elements.has_all(range.clone());
        self.values.get(range).filter(|_| there)
    }

    fn block(&self, rows: Range<usize>, inputs: usize) -> Option<&[f64]> {
        let range = rows.start * D..rows.end * D;
        let there = inputs == D && self.mask.has_all(rows) && self.elements.has_all(range.clone());
        self.values.get(range).filter(|_| there)
    }
}

/// Rows of the numbers in `D` columns.
pub(crate) struct Columns<'a, const D: usize> {
    /// Row after row.
    values: Vec<f64>,
    masks: Vec<Mask<'a>>,
}

impl<const D: usize> Features for Columns<'_, D> {
    #[inline]
    fn row(&self, row: usize) -> Option<&[f64]> {
        let there = self.masks.iter().all(|mask| mask.has(row));
        self.values.get(row * D..row * D + D).filter(|_| there)
    }

    fn block(&self, rows: Range<usize>, inputs: usize) -> Option<&[f64]> {
        let there = inputs == D && self.masks.iter().all(|mask| mask.has_all(rows.clone()));
        self.values.get(rows.start * D..rows.end * D).filter(|_| there)
    }
}

/// The form in which a call gives the features of its rows.
pub(crate) trait Given {
    /// The features.
    type Rows<'a>: Features;

    /// The types of their arguments.
    fn kinds() -> Vec<Kind>;

    /// The features in the arguments from `first` on.
    fn read<'a>(input: &Input<'a>, first: usize) -> Result<Self::Rows<'a>, Fault>;
}

/// A `DOUBLE[D]`.
pub(crate) struct InArray<const D: usize>;

impl<const D: usize> Given for InArray<D> {
    type Rows<'a> = Arrays<'a, D>;

    fn kinds() -> Vec<Kind> {
        vec![Kind::Array(D)]
    }

    fn read<'a>(input: &Input<'a>, first: usize) -> Result<Arrays<'a, D>, Fault> {
        input.arrays(first)
    }
}

/// `D` arguments of `DOUBLE`.
pub(crate) struct InColumns<const D: usize>;

impl<const D: usize> Given for InColumns<D> {
    type Rows<'a> = Columns<'a, D>;

    fn kinds() -> Vec<Kind> {
        vec![Kind::Float; D]
    }

    fn read<'a>(input: &Input<'a>, first: usize) -> Result<Columns<'a, D>, Fault> {
        input.columns(first)
    }
}

/// A `DOUBLE[]`.
pub(crate) struct InList;

impl Given for InList {
    type Rows<'a> = Lists<'a>;

    fn kinds() -> Vec<Kind> {
        vec![Kind::Floats]
    }

    fn read<'a>(input: &Input<'a>, first: usize) -> Result<Lists<'a>, Fault> {
        input.lists(first)
    }
}

/// Adds forms to a set, each for features in a list and in 1 to 8 columns.
macro_rules! for_columns {
    ($set:expr, $x:ident => $($form:ty),+) => {{
        use $crate::ffi::{Form, InColumns, InList};
        let set = $set;
        $crate::ffi::for_columns!(@each set, $x => ($($form),+), InList, InColumns<1>, InColumns<2>, InColumns<3>, InColumns<4>, InColumns<5>, InColumns<6>, InColumns<7>, InColumns<8>)
    }};
    (@each $set:ident, $x:ident => $forms:tt, $($given:ty),+) => {{
        $(let $set = { type $x = $given; $crate::ffi::for_columns!(@one $set, $forms) };)+
        $set
    }};
    (@one $set:ident, ($($form:ty),+)) => { $set$(.with::<$form>())+ };
}
pub(crate) use for_columns;

/// Lists of numbers of any length.
pub(crate) struct Lists<'a> {
    entries: &'a [duckdb_list_entry],
    values: &'a [f64],
    elements: Mask<'a>,
    mask: Mask<'a>,
}

impl Lists<'_> {
    /// Where the numbers of a row stand.
    fn range(&self, row: usize) -> Option<Range<usize>> {
        // The entry of a null is of no meaning.
        let entry = self.entries.get(row).filter(|_| self.mask.has(row))?;
        let start = usize::try_from(entry.offset).ok()?;
        Some(start..start.checked_add(usize::try_from(entry.length).ok()?)?)
    }
}

impl Features for Lists<'_> {
    fn row(&self, row: usize) -> Option<&[f64]> {
        let range = self.range(row)?;
        self.values.get(range.clone()).filter(|_| self.elements.has_all(range))
    }

    fn block(&self, rows: Range<usize>, inputs: usize) -> Option<&[f64]> {
        let start = self.range(rows.start)?.start;
        let mut end = start;
        for row in rows {
            let range = self.range(row)?;
            if range.start != end || range.len() != inputs {
                return None;
            }
            end = range.end;
        }
        self.values.get(start..end).filter(|_| self.elements.has_all(start..end))
    }
}
