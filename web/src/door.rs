//! The interface to JavaScript: two buffers that it fills, one call, one answer that it reads.
//!
//! The buffers belong to this module, JavaScript only copies into and out of them, and the program has one thread, so that nothing here dereferences a pointer.
//! All that is `unsafe` is the names of the functions, each of which is there once.
#![allow(unsafe_code, reason = "names of functions that JavaScript calls, and of one that it has")]

use std::cell::RefCell;
use std::panic;

use crate::desk::Desk;

thread_local! {
    static DESK: RefCell<Desk> = RefCell::default();
    /// The request and the file, which JavaScript writes.
    static REQUEST: RefCell<[Vec<u8>; 2]> = RefCell::default();
    /// The answer, which JavaScript reads after a call.
    static ANSWER: RefCell<String> = RefCell::default();
}

// SAFETY: the worker gives the module a function of this name, which copies the bytes and returns; it takes two numbers and cannot be called wrongly.
#[link(wasm_import_module = "env")]
unsafe extern "C" {
    /// Hands a text of `length` bytes at `start` to the worker.
    safe fn tell(start: *const u8, length: usize);
}

/// A place for the `length` bytes of the request (`which` is 0) or of the file (1). It holds until the next call of any function here.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn rvi_room(which: usize, length: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|buffers| {
        let buffer = &mut buffers[which.min(1)];
        buffer.clear();
        buffer.resize(length, 0);
        buffer.as_mut_ptr()
    })
}

/// Does what the request asks for; the length of the answer.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn rvi_call() -> usize {
    // A fault of the program ends it; its words go to the page before.
    panic::set_hook(Box::new(|fault| say(&serde_json::json!({ "fault": fault.to_string() }).to_string())));
    let [request, file] = REQUEST.take();
    let answer = DESK.with_borrow_mut(|desk| desk.call(&request, file, &mut say));
    let length = answer.len();
    ANSWER.replace(answer);
    length
}

/// Where the answer is. It holds until the next call.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn rvi_answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

fn say(text: &str) {
    tell(text.as_ptr(), text.len());
}
