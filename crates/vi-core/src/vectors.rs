//! Loops compiled for the processor's vectors.

use pulp::Arch;

/// Runs `f`, a short closure that is to be inlined always, compiled for the processor's widest vectors.
pub(crate) fn vectorised<R>(f: impl FnOnce() -> R) -> R {
    Arch::new().dispatch(f)
}
