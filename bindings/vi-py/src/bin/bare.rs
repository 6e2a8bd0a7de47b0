//! The front door without Python, on the rows that `python/bench.py` learns: what the binding is measured against.
//!
//! `bare FILE N D` reads `N·D` inputs and `N` labels (float64, little-endian), learns them at once and one by one, and prints the seconds of processor time
//! of both, which a busy machine lengthens less than those of a clock.
#![allow(clippy::print_stdout, reason = "a program that measures")]

use std::error::Error;

use vi_models::online::OnlineLinear;

/// Processor time of this thread in seconds, as Linux counts it.
fn now() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = text.split_whitespace().next().ok_or("an empty schedstat")?.parse()?;
    Ok(nanoseconds * 1e-9)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, n, d] = arguments.as_slice() else { return Err("bare FILE N D".into()) };
    let (n, d): (usize, usize) = (n.parse()?, d.parse()?);
    let bytes = std::fs::read(path)?;
    let numbers: Vec<f64> = bytes
        .chunks_exact(8)
        .map(|chunk| Ok(f64::from_le_bytes(chunk.try_into()?)))
        .collect::<Result<_, Box<dyn Error>>>()?;
    let (x, y) = numbers.split_at_checked(n * d).filter(|(_, y)| y.len() == n).ok_or("a file of another size")?;

    let mut whole = OnlineLinear::new(d)?;
    let begun = now()?;
    whole.update_batch(x, y)?;
    let batch = now()? - begun;

    let mut rows = OnlineLinear::new(d)?;
    let begun = now()?;
    for (x, y) in x.chunks_exact(d).zip(y) {
        rows.update(x, *y)?;
    }
    let loops = now()? - begun;
    println!("{{\"batch\": {batch}, \"rows\": {loops}, \"evidence\": {}}}", whole.evidence());
    Ok(())
}
