//! Certified intervals over streams that drift: how often they hold, over all rows and in windows, and how wide they are.
//! `VI_SLOW=1 cargo test -p vi-models --test online certified -- --nocapture` prints the table of the guide.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Gamma, Poisson, StandardNormal, StudentT};
use vi_models::Transform;
use vi_models::online::{Certificate, Kind, Memory, Model, Observation, OnlineLinear};

/// Inputs.
const D: usize = 5;
/// Rows of a stream, and of a window.
const N: usize = 10_000;
const WINDOW: usize = 500;

/// A change of the world.
#[derive(Debug, Clone, Copy, PartialEq)]
enum World {
    Still,
    /// New weights in the middle.
    Weights,
    /// The mean jumps by so many deviations.
    Jump(f64),
    /// The deviation of the noise is multiplied.
    Noise(f64),
    /// The deviation of the noise goes up and down by a factor e.
    Cycle,
    /// Student-t noise of 2.2 degrees of freedom.
    Tails,
    /// Exponential noise; of counts a rate that varies.
    Skew,
    /// The deviation of the noise follows an input.
    Inputs,
    /// Weights that walk.
    Walk,
    /// A mean that moves by five deviations.
    Trend,
}

const NUMBERS: [World; 12] = [
    World::Still,
    World::Weights,
    World::Jump(3.0),
    World::Jump(10.0),
    World::Noise(3.0),
    World::Noise(1.0 / 3.0),
    World::Cycle,
    World::Tails,
    World::Skew,
    World::Inputs,
    World::Walk,
    World::Trend,
];
const OTHERS: [World; 6] = [World::Still, World::Weights, World::Jump(3.0), World::Skew, World::Walk, World::Trend];

/// A stream: its labels are drawn row by row.
struct Stream {
    world: World,
    kind: Kind,
    weights: Vec<[f64; D]>,
    rng: ChaCha8Rng,
}

impl Stream {
    fn new(world: World, kind: Kind, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let weights = (0..4).map(|_| drawn(&mut rng, size(kind))).collect();
        Self { world, kind, weights, rng }
    }

    fn row(&mut self, t: usize) -> ([f64; D], f64) {
        let (late, share) = (t >= N / 2, t as f64 / N as f64);
        let size = size(self.kind);
        if t == N / 2 && self.world == World::Weights {
            self.weights = (0..4).map(|_| drawn(&mut self.rng, size)).collect();
        }
        if self.world == World::Walk {
            for own in &mut self.weights {
                let step = drawn(&mut self.rng, 0.01 * size);
                own.iter_mut().zip(step).for_each(|(weight, step)| *weight += step);
            }
        }
        let x = drawn(&mut self.rng, 1.0);
        let line = |own: &[f64; D]| own.iter().zip(x).map(|(weight, x)| weight * x).sum::<f64>();
        let shift = match self.world {
            World::Jump(by) if late => by,
            World::Trend => 5.0 * share,
            _ => 0.0,
        };
        let lines: Vec<f64> = self.weights.iter().map(line).collect();
        let rng = &mut self.rng;
        let label = match self.kind {
            Kind::Number { .. } => {
                let deviation = match self.world {
                    World::Noise(by) if late => by,
                    World::Cycle => (t as f64 * std::f64::consts::TAU / 3000.0).sin().exp(),
                    World::Inputs => (0.7 * x[0]).exp(),
                    _ => 1.0,
                };
                let noise = match self.world {
                    World::Tails => StudentT::new(2.2).unwrap().sample(rng),
                    World::Skew => Gamma::new(1.0, 1.0).unwrap().sample(rng) - 1.0,
                    _ => rng.sample(StandardNormal),
                };
                lines[0] + shift + deviation * noise
            }
            Kind::Count => {
                let rate = if self.world == World::Skew { Gamma::new(1.0, 1.0).unwrap().sample(rng) } else { 1.0 };
                let mean = rate * (1.0 + lines[0] + shift / 3.0).exp();
                Poisson::new(mean.clamp(1e-9, 1e6)).unwrap().sample(rng)
            }
            Kind::Two => f64::from(rng.random::<f64>() < 1.0 / (1.0 + (-lines[0] - shift).exp())),
            _ => {
                let odds: Vec<f64> =
                    lines.iter().enumerate().map(|(k, own)| (own + if k == 1 { shift } else { 0.0 }).exp()).collect();
                let mut left = rng.random::<f64>() * odds.iter().sum::<f64>();
                let chosen = odds.iter().position(|own| {
                    left -= own;
                    left <= 0.0
                });
                chosen.unwrap_or(0) as f64
            }
        };
        (x, label)
    }
}

/// The deviation of the weights.
fn size(kind: Kind) -> f64 {
    if kind == Kind::Count { 0.3 } else { 1.0 }
}

fn drawn(rng: &mut ChaCha8Rng, size: f64) -> [f64; D] {
    std::array::from_fn(|_| size * rng.sample::<f64, _>(StandardNormal))
}

/// Of 90 % intervals or sets: how many held, windows that were off by more than four points, widths and the model's own, or classes of sets.
#[derive(Default)]
struct Found {
    rows: f64,
    own: f64,
    held: f64,
    windows: f64,
    off: f64,
    below: f64,
    width: f64,
    own_width: f64,
}

fn follow(stream: &mut Stream, memory: Memory, found: &mut Found) {
    let kind = stream.kind;
    let settings = vi_models::online::OnlineSettings { memory, ..kind.default_settings() };
    let mut model = Model::new(kind, D, settings).unwrap();
    let mut certificate = Certificate::default();
    let ninety = |certificate: &Certificate| {
        let share = certificate.shares().find(|share| share.level == 0.9).unwrap();
        (share.certified * certificate.rows() as f64, share.own * certificate.rows() as f64, share.size)
    };
    let mut before = 0.0;
    for t in 0..N {
        let (x, label) = stream.row(t);
        let seen = model.predict_and_update(x.as_slice().into(), Observation::new(label)).unwrap();
        let Ok(seen) = seen else { continue };
        if t % 10 == 0
            && certificate.ready().is_ok()
            && let (Some(own), Some(certified)) =
                (seen.interval(0.9).unwrap(), certificate.interval(&seen, 0.9).unwrap())
        {
            found.width += certified.upper - certified.lower;
            found.own_width += own.upper - own.lower;
        }
        certificate.add(&seen, label).unwrap();
        if (t + 1) % WINDOW == 0 {
            let held = ninety(&certificate).0;
            let share = (held - before) / WINDOW as f64;
            before = held;
            found.windows += 1.0;
            found.off += f64::from(u8::from((share - 0.9).abs() > 0.04));
            found.below += f64::from(u8::from(share < 0.86));
        }
    }
    let (held, own, size) = ninety(&certificate);
    if let Some(size) = size {
        found.width += size;
        found.own_width += 1.0;
    }
    found.rows += certificate.rows() as f64;
    found.held += held;
    found.own += own;
}

#[test]
fn intervals_hold_what_they_say_on_streams_that_drift() {
    let number = Kind::Number { transform: Transform::Identity, noise: OnlineLinear::DEFAULT_NOISE };
    let four = Kind::Classes { classes: 4, joint: None };
    let streams = if crate::slow() { 10 } else { 1 };
    println!("labels, memory, world: own %, certified %, windows off by > 4 points, below 86 %, width or size");
    for (kind, worlds) in [(number, NUMBERS.as_slice()), (Kind::Count, &OTHERS), (Kind::Two, &OTHERS), (four, &OTHERS)]
    {
        let mut all = Found::default();
        for memory in [Memory::Everything, Memory::Learned] {
            if !crate::slow() && (kind == four || memory == Memory::Learned) {
                continue;
            }
            for &world in worlds {
                let mut found = Found::default();
                for seed in 0..streams {
                    // Steps were chosen on streams of other seeds.
                    follow(&mut Stream::new(world, kind, 777_000 + seed), memory, &mut found);
                }
                let (held, own) = (100.0 * found.held / found.rows, 100.0 * found.own / found.rows);
                let width = found.width / found.own_width;
                println!(
                    "{kind:?}, {memory:?}, {world:?}: {own:.2} {held:.2} {}/{} {} {width:.3}",
                    found.off, found.windows, found.below
                );
                // The targets: half a point for numbers; classes and counts may hold more.
                assert!(held > 89.5 && (kind != number || held < 90.5), "{kind:?} {memory:?} {world:?}: {held}");
                // Where the model's own intervals hold.
                assert!(world != World::Still || kind != number || width < 1.05, "{kind:?} {memory:?}: {width}");
                all.windows += found.windows;
                all.off += found.off;
                all.below += found.below;
            }
        }
        // 99 of 100 windows of a kind of label; of classes that hold more by the most probable alone only those that hold too few.
        let counted = if kind == Kind::Two || kind == four { all.below } else { all.off };
        assert!(counted <= 0.01 * all.windows, "{kind:?}: {} and {} of {}", all.off, all.below, all.windows);
    }
}
