//! Aggregates: their states in the engine's memory, and its calls.

use std::marker::PhantomData;

use libduckdb_sys::{duckdb_aggregate_state, duckdb_data_chunk, duckdb_function_info, duckdb_vector, idx_t};
use quack_rs::aggregate::{
    AggregateFunctionInfo, AggregateFunctionSetBuilder, AggregateOverloadBuilder, AggregateState, FfiState,
};
use quack_rs::types::NullHandling;

use super::{Formed, Input, Kind, Value, guarded, output};
use crate::Fault;

/// Where a state is kept.
///
/// # Safety
/// `init` leaves in `size` bytes what `at`, `shared` and `destroy` expect.
pub(crate) unsafe trait Place: 'static {
    /// The state.
    type State: 'static;

    /// Bytes in the engine's memory.
    fn size() -> usize;

    /// # Safety
    /// `state` is a place of `size` bytes.
    unsafe fn init(info: duckdb_function_info, state: duckdb_aggregate_state);

    /// The state, where it is one.
    ///
    /// # Safety
    /// `init` has been called for `state`; nobody else refers to it during `'a`.
    unsafe fn at<'a>(state: duckdb_aggregate_state) -> Option<&'a mut Self::State>;

    /// The state, where it is one.
    ///
    /// # Safety
    /// `init` has been called for `state`; nobody writes to it during `'a`.
    unsafe fn shared<'a>(state: duckdb_aggregate_state) -> Option<&'a Self::State>;

    /// # Safety
    /// `states` are `count` places of `size` bytes, not used afterwards.
    unsafe fn destroy(states: *mut duckdb_aggregate_state, count: idx_t);
}

/// `N` floats in the engine's own memory, zeros at first: it counts them, moves them and lets them go.
pub(crate) struct Inline<const N: usize>;

// SAFETY: floats of which every pattern of bits is one; nothing is owned.
unsafe impl<const N: usize> Place for Inline<N> {
    type State = [f64; N];

    fn size() -> usize {
        size_of::<[f64; N]>()
    }

    unsafe fn init(_info: duckdb_function_info, state: duckdb_aggregate_state) {
        // SAFETY: so many bytes, by the caller.
        unsafe { std::ptr::write_bytes(state.cast::<u8>(), 0, Self::size()) };
    }

    #[inline]
    unsafe fn at<'a>(state: duckdb_aggregate_state) -> Option<&'a mut [f64; N]> {
        let state = state.cast::<[f64; N]>();
        // SAFETY: written by `init`, not null, aligned, and nobody else's, by the caller.
        if state.is_aligned() { unsafe { state.as_mut() } } else { None }
    }

    #[inline]
    unsafe fn shared<'a>(state: duckdb_aggregate_state) -> Option<&'a [f64; N]> {
        let state = state.cast::<[f64; N]>();
        // SAFETY: written by `init`, not null, aligned, and not written to, by the caller.
        if state.is_aligned() { unsafe { state.as_ref() } } else { None }
    }

    unsafe fn destroy(_states: *mut duckdb_aggregate_state, _count: idx_t) {}
}

/// A value that owns memory of its own.
pub(crate) struct Heap<T>(PhantomData<T>);

// SAFETY: all four are those of `FfiState<T>`, for the same `T`.
unsafe impl<T: AggregateState> Place for Heap<T> {
    type State = T;

    fn size() -> usize {
        FfiState::<T>::size()
    }

    unsafe fn init(info: duckdb_function_info, state: duckdb_aggregate_state) {
        // SAFETY: by the caller.
        unsafe { FfiState::<T>::init_callback(info, state) };
    }

    unsafe fn at<'a>(state: duckdb_aggregate_state) -> Option<&'a mut T> {
        // SAFETY: by the caller.
        unsafe { FfiState::<T>::with_state_mut(state) }
    }

    unsafe fn shared<'a>(state: duckdb_aggregate_state) -> Option<&'a T> {
        // SAFETY: by the caller.
        unsafe { FfiState::<T>::with_state(state) }
    }

    unsafe fn destroy(states: *mut duckdb_aggregate_state, count: idx_t) {
        // SAFETY: by the caller.
        unsafe { FfiState::<T>::destroy_callback(states, count) };
    }
}

/// The states of the rows of a chunk: rows of one group have the same.
pub(crate) struct States<'a, P> {
    pointers: &'a [duckdb_aggregate_state],
    place: PhantomData<P>,
}

impl<P: Place> States<'_, P> {
    /// The end of the rows from `row` on that have the state of `row`.
    #[inline]
    pub(crate) fn end(&self, row: usize) -> usize {
        let own = self.pointers.get(row);
        let others = self.pointers.iter().skip(row + 1).take_while(|other| Some(*other) == own);
        row + 1 + others.count()
    }

    /// The rows of the chunk by their states: those of each state, in their order.
    pub(crate) fn together(&self) -> Vec<Vec<usize>> {
        let mut rows: Vec<usize> = (0..self.pointers.len()).collect();
        rows.sort_by_key(|row| self.pointers[*row].addr());
        rows.chunk_by(|a, b| self.pointers[*a] == self.pointers[*b]).map(<[usize]>::to_vec).collect()
    }

    /// The state of a row.
    #[inline]
    pub(crate) fn at(&mut self, row: usize) -> Result<&mut P::State, Fault> {
        let state = self.pointers.get(row).ok_or(NO_STATE)?;
        // SAFETY: the engine has had it initialised, and lets one thread at a time update it; the borrow of `self` keeps a second reference away.
        unsafe { P::at(*state) }.ok_or(NO_STATE)
    }
}

const NO_STATE: Fault = Fault::Engine("no state");

/// An aggregate over rows.
pub(crate) trait Aggregate: 'static {
    /// Its name.
    const NAME: &'static str;
    /// Where its state is kept.
    type Place: Place;
    /// What it answers.
    type Answer: Value;

    /// The types of its arguments.
    fn takes() -> Vec<Kind>;

    /// Adds rows to their states.
    fn update<'a>(input: &Input<'a>, states: &mut States<'a, Self::Place>) -> Result<(), Fault>;

    /// Adds one state to another.
    fn combine(source: &State<Self>, target: &mut State<Self>) -> Result<(), Fault>;

    /// The answer; `None` for null.
    fn finish(state: &State<Self>) -> Result<Option<Self::Answer>, Fault>;
}

type State<A> = <<A as Aggregate>::Place as Place>::State;

impl<A: Aggregate> Formed<AggregateFunctionSetBuilder> for A {
    fn add(set: AggregateFunctionSetBuilder) -> AggregateFunctionSetBuilder {
        let form = AggregateOverloadBuilder::new()
            .returns_logical(A::Answer::KIND.logical())
            // A null is counted, so that an answer to nulls is none.
            .null_handling(NullHandling::SpecialNullHandling)
            .state_size(size::<A>)
            .init(init::<A>)
            .update(update::<A>)
            .combine(combine::<A>)
            .finalize(finalize::<A>)
            .destructor(destroy::<A>);
        set.overload(A::takes().into_iter().fold(form, |form, kind| form.param_logical(kind.logical())))
    }
}

fn tell(info: duckdb_function_info, done: Result<(), String>) {
    if let Err(message) = done {
        // SAFETY: what the engine has passed to the callback that calls this.
        unsafe { AggregateFunctionInfo::new(info) }.set_error(&message);
    }
}

/// # Safety
/// Called by the engine, as all that follow.
unsafe extern "C" fn size<A: Aggregate>(_info: duckdb_function_info) -> idx_t {
    A::Place::size() as idx_t
}

unsafe extern "C" fn init<A: Aggregate>(info: duckdb_function_info, state: duckdb_aggregate_state) {
    // SAFETY: a place of the size that `size` told. Neither kind of place panics here.
    unsafe { A::Place::init(info, state) };
}

unsafe extern "C" fn update<A: Aggregate>(
    info: duckdb_function_info,
    input: duckdb_data_chunk,
    states: *mut duckdb_aggregate_state,
) {
    let done = guarded(A::NAME, || {
        // SAFETY: the engine's chunk, for the length of this call.
        let input = unsafe { Input::new(input) };
        if input.rows() == 0 {
            return Ok(());
        }
        // SAFETY: one pointer for each row of the chunk (since version 2.0 for every form of query).
        let pointers = unsafe { std::slice::from_raw_parts(states, input.rows()) };
        A::update(&input, &mut States { pointers, place: PhantomData })
    });
    tell(info, done);
}

unsafe extern "C" fn combine<A: Aggregate>(
    info: duckdb_function_info,
    source: *mut duckdb_aggregate_state,
    target: *mut duckdb_aggregate_state,
    count: idx_t,
) {
    let done = guarded(A::NAME, || {
        for i in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: `count` pointers in each array.
            let (source, target) = unsafe { (*source.add(i), *target.add(i)) };
            if source == target {
                return Err(Fault::Engine("a state to be added to itself"));
            }
            // SAFETY: initialised and different; the source is read alone, also by other threads, and the target is this thread's.
            let (source, target) = unsafe { (A::Place::shared(source), A::Place::at(target)) };
            A::combine(source.ok_or(NO_STATE)?, target.ok_or(NO_STATE)?)?;
        }
        Ok(())
    });
    tell(info, done);
}

unsafe extern "C" fn finalize<A: Aggregate>(
    info: duckdb_function_info,
    source: *mut duckdb_aggregate_state,
    result: duckdb_vector,
    count: idx_t,
    offset: idx_t,
) {
    let done = guarded(A::NAME, || {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        for i in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: `count` pointers to initialised states, which nobody writes to now.
            let state = unsafe { A::Place::shared(*source.add(i)) };
            let answer = A::finish(state.ok_or(NO_STATE)?)?;
            // SAFETY: a vector of the type that was registered, with a place for each state behind `offset`.
            unsafe { output::put(result, offset + i, answer.as_ref())? };
        }
        Ok(())
    });
    tell(info, done);
}

unsafe extern "C" fn destroy<A: Aggregate>(states: *mut duckdb_aggregate_state, count: idx_t) {
    // SAFETY: states that the engine uses no more. Neither kind of place lets a panic out here.
    unsafe { A::Place::destroy(states, count) };
}
