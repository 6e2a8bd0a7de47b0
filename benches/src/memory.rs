//! What the kernel says about memory and time.

use std::fs;

/// Peak resident memory of this process in bytes, since its start or the last [`reset_peak`]; nothing where `/proc` is missing.
#[must_use]
pub fn peak() -> Option<u64> {
    field(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Seconds that a processor has worked for the main thread of this process; nothing where `/proc` does not say.
#[must_use]
pub fn worked() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<u64>().ok()? as f64 * 1e-9)
}

/// Forgets the peak so far: what is resident now is the new one. Says whether the kernel did it.
#[must_use]
pub fn reset_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Memory that programs can still take, in bytes.
#[must_use]
pub fn available() -> Option<u64> {
    field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// The number of kibibytes after `name`, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kibibytes_are_read() {
        let text = "Name:\tbench\nVmPeak:\t  900 kB\nVmHWM:\t   123 kB\nVmRSS:\t 7 kB\n";
        assert_eq!(field(text, "VmHWM:"), Some(123 * 1024));
        assert_eq!(field(text, "VmSwap:"), None);
        assert_eq!(field("VmHWM:\t many kB", "VmHWM:"), None);
    }

    #[test]
    fn the_peak_is_seen() {
        let Some(before) = peak() else { return };
        let taken = vec![1_u8; 64 << 20];
        assert!(peak().is_some_and(|after| after >= before.max(64 << 20)));
        std::hint::black_box(taken);
    }
}
