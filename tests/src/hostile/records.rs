//! Records of every kind of checkpoint.

use serde::ser::{Serialize, SerializeTuple, Serializer};
use vi_boost::GaussianMixture;
use vi_core::factor::{OnlineEm, RecursiveEm};
use vi_core::{
    AdaptiveFading, Belief, BernoulliLogit, Checkpoint, DenseGaussian, DiagonalGaussian, Error, Implicit,
    LowRankGaussian, Mixture8, ShardPosterior, Sites, SquareRootGaussian, checkpoint, filter,
};
use vi_linalg::faer::Par;
use vi_sums::{At, PassSums, Posterior, SumsError};

use super::{Bytes, Finding, ensure, sums};

/// The kinds of records, in the order of [`record`]'s first byte.
pub const KINDS: [&str; 17] = [
    DenseGaussian::KIND,
    SquareRootGaussian::KIND,
    DiagonalGaussian::KIND,
    LowRankGaussian::KIND,
    Sites::KIND,
    AdaptiveFading::KIND,
    RecursiveEm::KIND,
    OnlineEm::KIND,
    <ShardPosterior<DenseGaussian> as Checkpoint>::KIND,
    <ShardPosterior<DiagonalGaussian> as Checkpoint>::KIND,
    <ShardPosterior<LowRankGaussian> as Checkpoint>::KIND,
    GaussianMixture::KIND,
    <ShardPosterior<SquareRootGaussian> as Checkpoint>::KIND,
    Posterior::LINEAR,
    PassSums::KIND,
    At::KIND,
    Posterior::GLM,
];

/// Bytes that are written as they are: a payload of any content in a right frame.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a>(pub &'a [u8]);

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(self.0.len())?;
        self.0.iter().try_for_each(|byte| tuple.serialize_element(byte))?;
        tuple.end()
    }
}

/// Takes the first byte for a kind, the second for whether a right frame is put around the rest, reads, and works with what comes
/// out.
///
/// # Errors
/// A state that was read and cannot be written, or not to the same bytes; a mean that is not finite.
pub fn record(data: &[u8]) -> Result<(), Finding> {
    let mut bytes = Bytes::new(data);
    let (kind, frame) = (bytes.below(KINDS.len()), bytes.below(4) > 0);
    let payload = bytes.rest();
    let mut framed = Vec::new();
    if frame && checkpoint::write(&mut framed, KINDS[kind], &Raw(payload)).is_err() {
        return Ok(());
    }
    use_record(kind, if frame { &framed } else { payload }).map(drop)
}

/// Reads a record of kind `KINDS[kind]` and works with what comes out; whether there was anything.
///
/// # Errors
/// As [`record`].
pub fn use_record(kind: usize, bytes: &[u8]) -> Result<bool, Finding> {
    match kind {
        0 => used(bytes, |belief: &mut DenseGaussian| step(belief)),
        1 => used(bytes, |belief: &mut SquareRootGaussian| step(belief)),
        2 => used(bytes, |belief: &mut DiagonalGaussian| step(belief)),
        3 => used(bytes, low_rank),
        4 => used(bytes, |_: &mut Sites| Ok(())),
        5 => used(bytes, |fading: &mut AdaptiveFading| finite("λ", &[fading.lambda()])),
        6 => used(bytes, |em: &mut RecursiveEm| {
            let x = vec![0.5; em.factor().dim()];
            after(&em.step(&x, Par::Seq), em)
        }),
        7 => used(bytes, |em: &mut OnlineEm| {
            let x = vec![0.5; em.factor().dim()];
            after(&em.step(&x, Par::Seq), em)
        }),
        8 => used(bytes, |shard: &mut ShardPosterior<DenseGaussian>| finite("mean", shard.belief().mean())),
        9 => used(bytes, |shard: &mut ShardPosterior<DiagonalGaussian>| finite("mean", shard.belief().mean())),
        10 => used(bytes, |shard: &mut ShardPosterior<LowRankGaussian>| finite("mean", shard.belief().mean())),
        12 => used(bytes, |shard: &mut ShardPosterior<SquareRootGaussian>| finite("mean", shard.belief().mean())),
        13 | 16 => sums::posterior(bytes),
        14 => sums::pass(bytes),
        15 => sums::place(bytes),
        _ => used(bytes, |mixture: &mut GaussianMixture| match mixture.log_density(&vec![0.0; mixture.dim()]) {
            Ok(value) => ensure(!value.is_nan(), || "a log density is NaN".to_owned()),
            Err(_) => Ok(()),
        }),
    }
}

/// Why a record of kind `KINDS[kind]` cannot be read, if it cannot.
#[must_use]
pub fn read_error(kind: usize, bytes: &[u8]) -> Option<SumsError> {
    fn of<C: Checkpoint>(mut bytes: &[u8]) -> Option<SumsError> {
        C::read_within(&mut bytes, 1 << 24).err().map(SumsError::from)
    }
    match kind {
        0 => of::<DenseGaussian>(bytes),
        1 => of::<SquareRootGaussian>(bytes),
        2 => of::<DiagonalGaussian>(bytes),
        3 => of::<LowRankGaussian>(bytes),
        4 => of::<Sites>(bytes),
        5 => of::<AdaptiveFading>(bytes),
        6 => of::<RecursiveEm>(bytes),
        7 => of::<OnlineEm>(bytes),
        8 => of::<ShardPosterior<DenseGaussian>>(bytes),
        9 => of::<ShardPosterior<DiagonalGaussian>>(bytes),
        10 => of::<ShardPosterior<LowRankGaussian>>(bytes),
        12 => of::<ShardPosterior<SquareRootGaussian>>(bytes),
        13 | 16 => Posterior::decode(bytes).err(),
        14 => PassSums::decode(bytes).err(),
        15 => At::decode(bytes).err(),
        _ => of::<GaussianMixture>(bytes),
    }
}

/// Reads, writes again, and works.
fn used<C: Checkpoint>(mut bytes: &[u8], work: impl FnOnce(&mut C) -> Result<(), Finding>) -> Result<bool, Finding> {
    let given = bytes;
    let Ok(mut state) = C::read_within(&mut bytes, 1 << 24) else { return Ok(false) };
    let mut written = Vec::new();
    state
        .write_to(&mut written)
        .map_err(|error| Finding::new(format!("{}: read and not written: {error}", C::KIND)))?;
    let read = given.len() - bytes.len();
    ensure(written == given[..read], || format!("{}: written as other bytes than were read", C::KIND))?;
    work(&mut state)?;
    Ok(true)
}

const LOGIT: Implicit<BernoulliLogit> = Implicit(BernoulliLogit(Mixture8));

/// One observation; a belief that has learned can be written.
fn step<B: Belief + Checkpoint>(belief: &mut B) -> Result<(), Finding> {
    let (x, mut scratch) = (vec![0.5; belief.dim()], filter::Scratch::default());
    let done = filter::step(belief, &LOGIT, &x, 1.0, &mut scratch).map(drop);
    finite("mean", belief.mean())?;
    after(&done, belief)
}

fn low_rank(belief: &mut LowRankGaussian) -> Result<(), Finding> {
    let x = vec![0.5; belief.dim()];
    if let Ok(seen) = belief.predict(&x, Par::Seq) {
        finite("a prediction", &[seen.mean, seen.variance])?;
    }
    after(&belief.step(&LOGIT, &x, 1.0, Par::Seq).map(drop), belief)?;
    after(&belief.flush(Par::Seq), belief)
}

/// After a success the state can be written.
fn after<C: Checkpoint>(done: &Result<(), Error>, state: &C) -> Result<(), Finding> {
    match done {
        Ok(()) => state
            .write_to(&mut Vec::new())
            .map_err(|error| Finding::new(format!("{}: learned and not written: {error}", C::KIND))),
        Err(_) => Ok(()),
    }
}

fn finite(name: &str, values: &[f64]) -> Result<(), Finding> {
    ensure(values.iter().all(|value| value.is_finite()), || format!("{name} is not finite: {values:?}"))
}
