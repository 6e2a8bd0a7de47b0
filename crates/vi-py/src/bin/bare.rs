//! The front door without Python, on the rows that `python/bench.py` learns: what the binding is measured against.
//!
//! `bare FILE N D` reads `N·D` inputs and `N` labels (float64, little-endian), learns them at once and one by one, and prints the seconds of both.
#![allow(clippy::print_stdout, reason = "a program that measures")]

use std::error::Error;
use std::time::Instant;

use vi_models::online::OnlineLinear;

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
    let begun = Instant::now();
    whole.update_batch(x, y)?;
    let batch = begun.elapsed().as_secs_f64();

    let mut rows = OnlineLinear::new(d)?;
    let begun = Instant::now();
    for (x, y) in x.chunks_exact(d).zip(y) {
        rows.update(x, *y)?;
    }
    let loops = begun.elapsed().as_secs_f64();
    println!("{{\"batch\": {batch}, \"rows\": {loops}, \"evidence\": {}}}", whole.evidence());
    Ok(())
}
