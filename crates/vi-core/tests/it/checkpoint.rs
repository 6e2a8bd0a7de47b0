//! Bytes and back: the same bits, and no input that does more than return an error.

use std::io::{self, Read, Write};

use proptest::prelude::*;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_core::block::{self, BlockScratch, BlockSettings};
use vi_core::{Belief, Checkpoint, CheckpointError, DenseGaussian, Error, Sites, VectorSite, checkpoint, filter};
use vi_linalg::faer::{Par, mat};

use crate::bad_input::bits;
use crate::common::{IMPLICIT, bytes, labels, prior, rng, rows, view};

const HEADER: usize = 8 + 4 + 24 + 8;

fn dense(mut bytes: &[u8]) -> Result<DenseGaussian, CheckpointError> {
    inner(DenseGaussian::read_from(&mut bytes))
}

fn inner<T>(result: Result<T, Error>) -> Result<T, CheckpointError> {
    result.map_err(|error| match error {
        Error::Checkpoint(error) => error,
        other => panic!("{other:?} is no error of a checkpoint"),
    })
}

/// CRC-64/XZ bit by bit, from its definition.
fn crc64(bytes: &[u8]) -> u64 {
    let mut crc = !0_u64;
    for byte in bytes {
        crc ^= u64::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0xc96c_5795_d787_0f42 } else { 0 };
        }
    }
    !crc
}

/// A record as the format's table describes it.
fn framed(version: u32, kind: &str, claimed: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x89VIC\r\n\x1a\n".to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(kind.bytes());
    bytes.resize(8 + 4 + 24, 0);
    bytes.extend(claimed.to_le_bytes());
    bytes.extend(payload);
    let sum = crc64(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

fn sealed(kind: &str, payload: &[u8]) -> Vec<u8> {
    framed(1, kind, payload.len() as u64, payload)
}

/// A payload of 64-bit words.
fn words(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn the_format_is_the_documented_one() {
    assert_eq!(crc64(b"123456789"), 0x995d_c9bb_df19_39fa);
    let belief = DenseGaussian::new(&[1.5, -2.0], mat![[2.0, 0.5], [0.5, 1.0]].as_ref()).unwrap();
    let numbers = [1.5, -2.0, 2.0, 0.5, 1.0_f64].map(f64::to_bits);
    let [m0, m1, p00, p10, p11] = numbers;
    assert_eq!(bytes(&belief), sealed("vi-core/dense", &words(&[2, 2, m0, m1, 3, p00, p10, p11])));
    let sites = Sites::new(vec![1.5], vec![2.0]).unwrap();
    assert_eq!(bytes(&sites), sealed("vi-core/sites", &words(&[1, m0, 1, p00])));
}

#[test]
fn every_bit_comes_back() {
    let mut rng = rng(50);
    for d in [1, 2, 5, 33] {
        let belief = prior(d, 3.0, &mut rng);
        assert_eq!(bits(&dense(&bytes(&belief)).unwrap()), bits(&belief));
    }
    let odd = DenseGaussian::new(&[-0.0, 5e-324], mat![[1e-300, -0.0], [-0.0, 1e300]].as_ref()).unwrap();
    assert_eq!(bits(&dense(&bytes(&odd)).unwrap()), bits(&odd));
    for n in [0, 1, 40] {
        let sites = Sites::new(rows(n, 1, &mut rng), rows(n, 1, &mut rng)).unwrap();
        assert_eq!(Sites::read_from(&mut bytes(&sites).as_slice()).unwrap(), sites);
    }
}

/// A reader that hands out one byte at a time and is interrupted before each.
struct Dribble<'a>(&'a [u8], bool);

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let n = buffer.len().min(1);
        self.0.read(&mut buffer[..n])
    }
}

#[test]
fn a_slow_reader_is_as_good_as_any() {
    let belief = prior(3, 1.0, &mut rng(51));
    let read = DenseGaussian::read_from(&mut Dribble(&bytes(&belief), false)).unwrap();
    assert_eq!(bits(&read), bits(&belief));
}

#[test]
fn going_on_after_reading_is_never_having_stopped() {
    let mut rng = rng(52);
    let (n, d, cut) = (60, 5, 23);
    let (x, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let start = prior(d, 2.0, &mut rng);
    let pass = |belief: &mut DenseGaussian, from: usize, to: usize| {
        filter::run(belief, &IMPLICIT, view(&x[from * d..to * d], d), &y[from..to], |_, _, _| {}).unwrap();
    };
    let (mut whole, mut first) = (start.clone(), start.clone());
    pass(&mut whole, 0, n);
    pass(&mut first, 0, cut);
    let mut second = dense(&bytes(&first)).unwrap();
    pass(&mut second, cut, n);
    assert_eq!(bits(&second), bits(&whole));

    // By blocks, which use the upper triangle for their own ends; the cut is at a block's edge.
    let pass = |belief: &mut DenseGaussian, from: usize, to: usize| {
        let mut scratch = BlockScratch::new(belief, BlockSettings::new(8).unwrap());
        let (x, y) = (view(&x[from * d..to * d], d), &y[from..to]);
        block::run(belief, &IMPLICIT, x, y, &mut scratch, Par::Seq, |_, _, _| {}).unwrap();
    };
    let (mut whole, mut first) = (start.clone(), start);
    pass(&mut whole, 0, n);
    pass(&mut first, 0, 24);
    let mut second = dense(&bytes(&first)).unwrap();
    pass(&mut second, 24, n);
    assert_eq!(bits(&second), bits(&whole));
}

/// A filter that chooses its own inputs at random.
fn explore(belief: &mut DenseGaussian, sites: &mut Sites, rng: &mut ChaCha8Rng, steps: usize) {
    let mut scratch = filter::Scratch::default();
    for _ in 0..steps {
        let x: Vec<f64> = (0..belief.dim()).map(|_| rng.sample(StandardNormal)).collect();
        let y = f64::from(u8::from(rng.random_bool(0.3)));
        sites.push(&filter::step(belief, &IMPLICIT, &x, y, &mut scratch).unwrap());
    }
}

#[test]
fn a_random_run_resumes_from_three_records_in_one_stream() {
    let (mut belief, mut sites, mut generator) = (prior(3, 2.0, &mut rng(53)), Sites::default(), rng(54));
    // 17 steps leave the generator in the middle of a block of its output.
    explore(&mut belief, &mut sites, &mut generator, 17);
    let mut bytes = Vec::new();
    belief.write_to(&mut bytes).unwrap();
    sites.write_to(&mut bytes).unwrap();
    checkpoint::write(&mut bytes, "chacha8", &generator).unwrap();
    explore(&mut belief, &mut sites, &mut generator, 20);

    let mut input = bytes.as_slice();
    let mut again = DenseGaussian::read_from(&mut input).unwrap();
    let mut again_sites = Sites::read_from(&mut input).unwrap();
    assert_eq!(checkpoint::expect_end(&mut &*input), Err(CheckpointError::TrailingBytes.into()));
    let mut again_generator: ChaCha8Rng = checkpoint::read(&mut input, "chacha8", 1 << 10).unwrap();
    checkpoint::expect_end(&mut input).unwrap();
    explore(&mut again, &mut again_sites, &mut again_generator, 20);
    assert_eq!(bits(&again), bits(&belief));
    assert_eq!(again_sites, sites);
    assert_eq!(again_generator, generator);
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = bytes(&prior(2, 1.0, &mut rng(55)));
    for end in 0..bytes.len() {
        let part = match end {
            0..8 => "magic",
            8..12 => "version",
            12..36 => "kind",
            36..HEADER => "length",
            _ if end < bytes.len() - 8 => "payload",
            _ => "checksum",
        };
        assert_eq!(dense(&bytes[..end]).unwrap_err(), CheckpointError::Truncated { part }, "{end}");
    }
}

#[test]
fn every_flipped_bit_is_an_error() {
    let bytes = bytes(&prior(2, 1.0, &mut rng(56)));
    for at in 0..bytes.len() {
        for mask in (0..8).map(|bit| 1_u8 << bit).chain([0xff]) {
            let mut damaged = bytes.clone();
            damaged[at] ^= mask;
            let error = dense(&damaged).expect_err("damage went unseen");
            let named = match at {
                0..8 => error == CheckpointError::Foreign,
                8..12 => matches!(error, CheckpointError::Version { supported: 1, .. }),
                12..36 => matches!(error, CheckpointError::Kind { .. }),
                // A length that shrank leaves too few bytes for the sum to be right, one that grew leaves no sum.
                36..HEADER => matches!(
                    error,
                    CheckpointError::Checksum { .. }
                        | CheckpointError::Truncated { .. }
                        | CheckpointError::TooLarge { .. }
                ),
                _ => matches!(error, CheckpointError::Checksum { .. }),
            };
            assert!(named, "byte {at} ^ {mask:02x}: {error:?}");
        }
    }
}

#[test]
fn claims_are_checked_before_memory_is_taken() {
    let claim = framed(1, "vi-core/dense", 1 << 60, &[0; 100]);
    let too_large = CheckpointError::TooLarge { claimed: 1 << 60, limit: checkpoint::DEFAULT_LIMIT };
    let mut input = claim.as_slice();
    assert_eq!(inner(DenseGaussian::read_from(&mut input)).unwrap_err(), too_large);
    assert_eq!(input.len(), claim.len() - HEADER, "nothing is read beyond the header");
    let unlimited = DenseGaussian::read_within(&mut claim.as_slice(), u64::MAX);
    assert_eq!(inner(unlimited).unwrap_err(), CheckpointError::Truncated { part: "payload" });

    let belief = prior(2, 1.0, &mut rng(57));
    let bytes = bytes(&belief);
    let length = (bytes.len() - HEADER - 8) as u64;
    assert!(DenseGaussian::read_within(&mut bytes.as_slice(), length).is_ok());
    let short = DenseGaussian::read_within(&mut bytes.as_slice(), length - 1);
    assert_eq!(inner(short).unwrap_err(), CheckpointError::TooLarge { claimed: length, limit: length - 1 });

    // The same within an undamaged payload: 2⁶⁰ numbers, or a string of 2⁶⁰ bytes.
    let vector = sealed("vi-core/dense", &words(&[1, 1 << 60, 0, 0]));
    assert!(matches!(dense(&vector), Err(CheckpointError::Malformed { .. })));
    let string = sealed("text", &words(&[1 << 60, 0]));
    let read = checkpoint::read::<String>(&mut string.as_slice(), "text", 1 << 10);
    assert!(matches!(inner(read), Err(CheckpointError::Malformed { .. })));
}

#[test]
fn other_files_versions_and_kinds_are_named() {
    let foreign = b"PK\x03\x04 a zip archive, say, and more bytes than any header has";
    assert_eq!(dense(foreign).unwrap_err(), CheckpointError::Foreign);
    let later = framed(2, "vi-core/dense", 0, &[]);
    assert_eq!(dense(&later).unwrap_err(), CheckpointError::Version { found: 2, supported: 1 });
    let sites = bytes(&Sites::default());
    let kind = CheckpointError::Kind { expected: "vi-core/dense".into(), found: "vi-core/sites".into() };
    assert_eq!(dense(&sites).unwrap_err(), kind);

    let one = f64::to_bits(1.0);
    let left_over = sealed("vi-core/dense", &words(&[1, 1, one, 1, one, 0]));
    assert!(matches!(dense(&left_over), Err(CheckpointError::Malformed { .. })));
    for kind in ["", "a kind", "a-kind-of-25-letters-long", "κ", "tab\t"] {
        let mut bytes = Vec::new();
        let written = checkpoint::write(&mut bytes, kind, &0_u8);
        assert_eq!(inner(written).unwrap_err(), CheckpointError::KindName { kind: kind.into() });
        assert!(bytes.is_empty());
        let read = checkpoint::read::<u8>(&mut bytes.as_slice(), kind, 1);
        assert_eq!(inner(read).unwrap_err(), CheckpointError::KindName { kind: kind.into() });
    }
}

/// The error inside a well-formed record of these numbers.
fn contents(dim: u64, mean: &[f64], lower: &[f64]) -> Error {
    let mut payload = words(&[dim, mean.len() as u64]);
    payload.extend(mean.iter().flat_map(|v| v.to_le_bytes()));
    payload.extend((lower.len() as u64).to_le_bytes());
    payload.extend(lower.iter().flat_map(|v| v.to_le_bytes()));
    match dense(&sealed("vi-core/dense", &payload)) {
        Err(CheckpointError::Contents(error)) => *error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn impossible_contents_are_named() {
    assert!(matches!(contents(0, &[], &[]), Error::Empty { argument: "mean" }));
    assert!(matches!(contents(2, &[0.0], &[1.0]), Error::Dimension { argument: "mean", expected: 2, found: 1 }));
    assert!(matches!(contents(u64::MAX, &[0.0], &[1.0]), Error::Dimension { .. }));
    let triangle = "lower triangle of the covariance";
    assert!(matches!(
        contents(2, &[0.0; 2], &[1.0, 0.0]),
        Error::Dimension { argument, expected: 3, found: 2 } if argument == triangle
    ));
    assert!(matches!(contents(1, &[f64::NAN], &[1.0]), Error::NonFinite { argument: "mean", index: 0, .. }));
    for bad in [f64::NAN, f64::INFINITY] {
        assert!(matches!(
            contents(2, &[0.0; 2], &[1.0, bad, 1.0]),
            Error::NonFinite { argument, index: 1, .. } if argument == triangle
        ));
    }
    assert!(matches!(contents(2, &[0.0; 2], &[1.0, 2.0, 1.0]), Error::NotPositiveDefinite { pivot: 1, .. }));

    let site = |words_: &[u64]| inner(Sites::read_from(&mut sealed("vi-core/sites", &words(words_)).as_slice()));
    let unequal =
        CheckpointError::Contents(Box::new(Error::Dimension { argument: "curvatures", expected: 1, found: 0 }));
    assert_eq!(site(&[1, 0, 0]).unwrap_err(), unequal);
    assert!(matches!(
        site(&[1, 0, 1, f64::NAN.to_bits()]),
        Err(CheckpointError::Contents(error)) if matches!(*error, Error::NonFinite { argument: "curvatures", .. })
    ));
}

#[test]
fn a_destroyed_belief_is_not_written() {
    let mut belief = DenseGaussian::isotropic(&[0.0, 0.0], 1.0).unwrap();
    // c = 0.9, which no curvature gives at ν = 2, takes [[1, 0], [0, 1]] to [[0.1, −0.9], [−0.9, 0.1]].
    let shrinkage = mat![[0.9]];
    let site = VectorSite { shift: &[0.0], shrinkage: shrinkage.as_ref(), information: &[0.9; 2], factor: 2.8 };
    belief.absorb_vector(mat![[1.0], [1.0]].as_ref(), site, Par::Seq).unwrap();
    let mut bytes = Vec::new();
    let error = inner(belief.write_to(&mut bytes)).unwrap_err();
    assert!(matches!(error, CheckpointError::Contents(e) if matches!(*e, Error::NotPositiveDefinite { .. })));
    assert!(bytes.is_empty());
}

/// A device that is full, and whose reads fail.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Full {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

#[test]
fn failing_devices_are_named() {
    let written = inner(Sites::default().write_to(&mut Full)).unwrap_err();
    assert!(matches!(written, CheckpointError::Io { kind: io::ErrorKind::StorageFull, .. }));
    let denied = |error| matches!(error, CheckpointError::Io { kind: io::ErrorKind::PermissionDenied, .. });
    assert!(denied(inner(Sites::read_from(&mut Full)).unwrap_err()));
    let bytes = bytes(&prior(2, 1.0, &mut rng(58)));
    assert!(denied(inner(DenseGaussian::read_from(&mut bytes[..60].chain(Full))).unwrap_err()));
    assert!(denied(inner(checkpoint::expect_end(&mut Full)).unwrap_err()));
}

#[test]
fn sites_check_their_input() {
    let new = |r: &[f64], h: &[f64]| Sites::new(r.to_vec(), h.to_vec()).unwrap_err();
    assert!(matches!(new(&[0.0], &[]), Error::Dimension { argument: "curvatures", expected: 1, found: 0 }));
    assert!(matches!(new(&[f64::NAN], &[0.0]), Error::NonFinite { argument: "slopes", index: 0, .. }));
    assert!(matches!(new(&[0.0], &[f64::INFINITY]), Error::NonFinite { argument: "curvatures", index: 0, .. }));
}

proptest! {
    #[test]
    fn random_bytes_are_no_checkpoint(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(dense(&bytes).is_err());
    }

    /// Damage behind a right checksum: only what could have been saved is accepted.
    #[test]
    fn random_payloads_do_no_harm(payload in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(belief) = dense(&sealed("vi-core/dense", &payload)) {
            prop_assert!(belief.cholesky().is_ok());
        }
        let sites = Sites::read_from(&mut sealed("vi-core/sites", &payload).as_slice());
        prop_assert!(sites.is_err() || bytes(&sites.unwrap()).len() == payload.len() + HEADER + 8);
    }

    #[test]
    fn random_numbers_in_a_right_frame(
        dim in 0_u64..4,
        numbers in prop::collection::vec(any::<f64>(), 0..12),
        split in 0_usize..12,
    ) {
        let (mean, lower) = numbers.split_at(split.min(numbers.len()));
        let mut payload = words(&[dim, mean.len() as u64]);
        payload.extend(mean.iter().flat_map(|v| v.to_le_bytes()));
        payload.extend((lower.len() as u64).to_le_bytes());
        payload.extend(lower.iter().flat_map(|v| v.to_le_bytes()));
        let record = sealed("vi-core/dense", &payload);
        match dense(&record) {
            Ok(belief) => prop_assert_eq!(bytes(&belief), record),
            Err(error) => prop_assert!(matches!(error, CheckpointError::Contents(_)), "{:?}", error),
        }
    }
}
