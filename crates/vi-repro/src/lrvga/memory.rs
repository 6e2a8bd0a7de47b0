//! How much memory a piece of work takes.

use crate::HEAP;

/// Bytes on the heap at the start of a piece of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    before: usize,
}

impl Watch {
    /// Begins to watch.
    pub(super) fn start() -> Self {
        HEAP.reset_peak_usage();
        Self { before: HEAP.current_usage() }
    }

    /// From here on the peak counts, still against the bytes at the start of each watch.
    pub(super) fn forget_peak() {
        HEAP.reset_peak_usage();
    }

    /// Bytes on the heap at the peak beyond those at the start.
    pub(super) fn peak(self) -> f64 {
        HEAP.peak_usage().saturating_sub(self.before) as f64
    }
}

/// Bytes that the machine has free; `None` where the system does not tell.
pub(super) fn available() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(1024.0 * kilobytes)
}
