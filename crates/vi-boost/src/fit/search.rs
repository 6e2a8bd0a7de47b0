//! The search for modes: near 0 first, then ever further about what was found, until further starts bring nothing new.

use crate::block::Block;
use crate::component::{Component, HALF_LN_2PI};
use crate::modes::{APART, ascent, curved, distance};
use crate::seeds::Seeds;
use crate::target::{LogDensity, Probe};

/// A mode with the number of starts that led to it.
pub(super) struct Sighting {
    /// Laplace's Gaussian at the peak, and minus its log evidence.
    peak: Component,
    laplace: f64,
    /// The log-density at the peak.
    top: f64,
    /// The Gaussian that stands for it.
    pub(super) gaussian: Component,
    /// Minus the bound on the log evidence of this mode alone.
    pub(super) value: f64,
    /// True if the best Gaussian from here spans other peaks too: Laplace's then stands for the mode.
    pub(super) split: bool,
    pub(super) starts: usize,
}

/// All modes met so far.
#[derive(Default)]
pub(super) struct Search {
    pub(super) sightings: Vec<Sighting>,
    /// The number of starts that led to a mode.
    pub(super) led: usize,
    /// The number of starts, the last ones, that led to nothing new.
    pub(super) idle: usize,
    /// The place of the last further start in the range of their distances.
    phase: f64,
    /// Centre and direction of the start opposite to the last further one.
    opposite: Option<(Vec<f64>, Vec<f64>)>,
    /// The log-densities at all points tried as starts.
    pub(super) tried: Vec<f64>,
    /// The best Gaussian, with its value, of those that Laplace's at the peaks that they span stand for.
    spanning: Option<(Component, f64)>,
}

/// Half the width of the cube that the first starting points are uniform on, as in Stan.
pub(super) const HALF_WIDTH: f64 = 2.0;

/// The most halvings of the way to a starting point while the target is not finite there.
const HALVINGS: usize = 8;

/// The largest distance of a further start from the modes, in standard deviations.
const FURTHEST: f64 = 1000.0;

/// Multiples of it, without their whole parts, fill the unit interval most evenly.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The nats by which a density should fall at one standard deviation of the Gaussian at its peak, at least and at most; half a nat
/// for a Gaussian.
const FALL: (f64, f64) = (0.05, 3.0);

/// The nats by which the density at a peak may exceed a Gaussian that spans it before the peak is a mode of its own.
const SPANNED: f64 = 2.0;

/// The nats by which the mass of a peak under a spanning Gaussian may be less than that Gaussian's: a hundredth of it.
const LESSER: f64 = 4.6;

/// The distance, in standard deviations of the wider one, below which two modes touch, as those along an arm of a bent density do.
const TOUCH: f64 = 6.0;

/// The expected number of starts that lead to a body, for the probability of none to be `e⁻³`, a twentieth.
const MISSED: f64 = 3.0;

/// How often such a deviation is doubled or halved: from where curvature vanishes it may be off by 10²⁰. A density that falls too
/// far within a tenth of the width leaps there.
const RESIZINGS: usize = 80;
const LEAP: f64 = 1.1;

impl Search {
    /// The `k`-th of the first starting points: 0, then points uniform on a cube, which is halved while the target is not finite
    /// there.
    pub(super) fn near<T: LogDensity + ?Sized>(
        &mut self,
        probe: &Probe<'_, T>,
        k: usize,
        seeds: &mut Seeds,
    ) -> Option<Vec<f64>> {
        let origin = vec![0.0; probe.dim()];
        let direction: Vec<f64> =
            origin.iter().map(|_| if k == 0 { 0.0 } else { HALF_WIDTH * (2.0 * seeds.uniform() - 1.0) }).collect();
        self.finite(probe, &origin, &direction, if k == 0 { 1 } else { HALVINGS })
    }

    /// A starting point about one of the modes, in a random direction in units of all of them together, at a distance of 1 to
    /// 1000 of these units. Points come in pairs on opposite sides, at distances whose logarithms fill their range evenly, so that
    /// no scale and no side is left out by chance.
    pub(super) fn far<T: LogDensity + ?Sized>(&mut self, probe: &Probe<'_, T>, seeds: &mut Seeds) -> Option<Vec<f64>> {
        if let Some((centre, direction)) = self.opposite.take() {
            return self.finite(probe, &centre, &direction, HALVINGS);
        }
        let count = self.sightings.len();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number below the count")]
        let chosen = ((seeds.uniform() * count as f64) as usize).min(count.checked_sub(1)?);
        let centre = self.sightings[chosen].gaussian.mean.clone();
        self.phase = (self.phase + GOLDEN).fract();
        let size = FURTHEST.powf(self.phase);
        let normal = crate::block::random(1, probe.dim(), &mut seeds.generator());
        let spread = self.spread();
        let direction: Vec<f64> = spread.iter().enumerate().map(|(j, s)| size * s * normal[0].col(j)[0]).collect();
        self.opposite = Some((centre.clone(), direction.iter().map(|x| -x).collect()));
        self.finite(probe, &centre, &direction, HALVINGS)
    }

    /// For each coordinate the largest standard deviation of a mode.
    fn spread(&self) -> Vec<f64> {
        let d = self.sightings.first().map_or(0, |sighting| sighting.gaussian.dim());
        let all = self.sightings.iter().map(|sighting| deviations(&sighting.gaussian));
        all.fold(vec![0.0; d], |most, own| most.iter().zip(own).map(|(a, b): (&f64, f64)| a.max(b)).collect())
    }

    /// The point `centre + direction`, or the first half way back to the centre at which the target is finite.
    fn finite<T: LogDensity + ?Sized>(
        &mut self,
        probe: &Probe<'_, T>,
        centre: &[f64],
        direction: &[f64],
        halvings: usize,
    ) -> Option<Vec<f64>> {
        let mut size = 1.0;
        for _ in 0..halvings {
            let point: Vec<f64> = centre.iter().zip(direction).map(|(c, x)| c + size * x).collect();
            let value = probe.value(&point);
            self.tried.push(value);
            if value.is_finite() {
                return Some(point);
            }
            size *= 0.5;
        }
        None
    }

    /// Climbs from a start: returns the Gaussian at a mode not met before, and the log-density there. A mode that is known, or
    /// that has by `hopeless` nats less mass than the best one, is counted as a start that led to nothing new.
    pub(super) fn climb<T: LogDensity + ?Sized>(
        &mut self,
        probe: &Probe<'_, T>,
        from: &[f64],
        hopeless: f64,
    ) -> Option<(Component, f64)> {
        let peak = ascent(probe, from)?;
        let top = probe.value(&peak);
        if self.met(&peak, top) {
            return None;
        }
        // One so low is hopeless even if it is as wide as the search is: its width need not be sought.
        if self.widest(top) > self.least() + hopeless {
            self.count();
            return None;
        }
        let mut gaussian = curved(probe, &peak)?;
        resize(probe, &mut gaussian);
        if laplace_value(&gaussian, top) > self.least() + hopeless {
            self.count();
            return None;
        }
        Some((gaussian, top))
    }

    /// Counts a start that led to nothing new.
    fn count(&mut self) {
        (self.led, self.idle) = (self.led + 1, self.idle + 1);
    }

    /// Counts a start that led to a known mode; returns whether it did. `log_f` is the log-density at the peak.
    fn met(&mut self, peak: &[f64], log_f: f64) -> bool {
        let Ok(place) = Component::isotropic(peak, 1.0) else { return false };
        let known = self.sightings.iter_mut().find(|known| {
            let is_spanned = || log_f + known.value - log_density(&known.gaussian, peak) <= SPANNED;
            let is_own = || log_f - known.top <= SPANNED && distance(&place, &known.peak) < APART;
            is_own() || distance(&place, &known.gaussian) < APART && is_spanned()
        });
        let Some(known) = known else { return false };
        known.starts += 1;
        self.count();
        true
    }

    /// The best value of a mode; infinite before the first.
    fn least(&self) -> f64 {
        self.sightings.iter().map(|sighting| sighting.value).fold(f64::INFINITY, f64::min)
    }

    /// The value of a peak with the log-density `log_f` if it were [`FURTHEST`] times as wide as the widest mode.
    fn widest(&self, log_f: f64) -> f64 {
        let widths = self.spread().into_iter().map(|sd| (FURTHEST * sd).ln() + HALF_LN_2PI);
        -log_f - widths.sum::<f64>()
    }

    /// Takes up a mode with Laplace's Gaussian at its peak, the log-density there, and the best Gaussian from it. Where the best
    /// one is that of another peak and does not show this one, it spans both, and Laplace's stand for them.
    pub(super) fn meet(&mut self, (peak, log_f): (Component, f64), gaussian: Component, value: f64) {
        let own = laplace_value(&peak, log_f);
        let same = |known: &Sighting| {
            distance(&gaussian, &known.gaussian) < APART && distance(&known.gaussian, &gaussian) < APART
        };
        let spanning = self.sightings.iter().position(|known| !known.split && same(known));
        let narrow =
            distance(&gaussian, &peak) >= APART || log_f + value - log_density(&gaussian, peak.mean()) > SPANNED;
        let split = narrow && (spanning.is_some() || self.sightings.iter().any(|known| known.split));
        if narrow && own > value + LESSER && split || !narrow && spanning.is_some() {
            if let Some(known) = spanning.map(|k| &mut self.sightings[k]) {
                known.starts += 1;
            }
            self.count();
            return;
        }
        if let Some(known) = spanning.map(|k| &mut self.sightings[k]).filter(|_| split) {
            let whole = std::mem::replace(&mut known.gaussian, known.peak.clone());
            if self.spanning.as_ref().is_none_or(|(_, best)| known.value < *best) {
                self.spanning = Some((whole, known.value));
            }
            (known.value, known.split) = (known.laplace, true);
        }
        let (gaussian, value) = if split { (peak.clone(), own) } else { (gaussian, value) };
        self.sightings.push(Sighting { peak, laplace: own, top: log_f, gaussian, value, split, starts: 1 });
        (self.led, self.idle) = (self.led + 1, 0);
    }

    /// Returns to the Gaussian that spans several peaks where these hold less mass than it, as the peaks of a density that is
    /// infinite on a line do: its value bounds the mass that there is, and Laplace's method says how much is at the peaks.
    pub(super) fn settle(&mut self) {
        let Some((whole, value)) = self.spanning.take() else { return };
        let split = || self.sightings.iter().filter(|sighting| sighting.split);
        let held: f64 = split().map(|sighting| (value - sighting.value).exp()).sum();
        let starts = split().map(|sighting| sighting.starts).sum();
        let Some(first) = self.sightings.iter_mut().find(|sighting| sighting.split && held < 1.0) else { return };
        (first.gaussian, first.value, first.starts, first.split) = (whole, value, starts, false);
        self.sightings.retain(|sighting| !sighting.split);
    }

    /// Whether a body half as wide as those met would have been met too, if there are several: modes are of one body where they
    /// touch. It is the end of `2⁻ᵈ` of the starts of a body twice as wide: the least met one needs `3·2ᵈ`, and then `e⁻³` is the
    /// probability to have missed it.
    pub(super) fn is_thorough(&self) -> bool {
        let least = self.least();
        let met: Vec<&Sighting> = self.sightings.iter().filter(|sighting| sighting.value <= least + LESSER).collect();
        let widths: Vec<Vec<f64>> = met.iter().map(|sighting| deviations(&sighting.gaussian)).collect();
        let touch = |i: usize, k: usize| {
            let means = met[i].gaussian.mean.iter().zip(&met[k].gaussian.mean);
            means.zip(widths[i].iter().zip(&widths[k])).all(|((a, b), (s, t))| (a - b).abs() < TOUCH * s.max(*t))
        };
        let mut bodies: Vec<usize> = (0..met.len()).collect();
        for i in 0..met.len() {
            for k in (0..i).filter(|k| touch(i, *k)) {
                let (from, to) = (bodies[i], bodies[k]);
                bodies.iter_mut().filter(|body| **body == from).for_each(|body| *body = to);
            }
        }
        let mut starts = vec![0; met.len()];
        bodies.iter().zip(&met).for_each(|(body, sighting)| starts[*body] += sighting.starts);
        starts.retain(|starts| *starts > 0);
        let needed = widths.first().map_or(0.0, |widths| widths.iter().fold(MISSED, |needed, _| 2.0 * needed));
        starts.len() < 2 || starts.iter().all(|starts| *starts as f64 >= needed)
    }

    /// The probability that a further start leads to a mode not met so far: the share of starts that led to a mode met once
    /// (Good 1953, eq. 9), of those that hold mass; 0 while all led to one.
    pub(super) fn unseen(&self, hopeless: f64) -> f64 {
        let least = self.least();
        let once = |sighting: &&Sighting| sighting.starts == 1 && sighting.value <= least + hopeless;
        let once = self.sightings.iter().filter(once).count();
        once as f64 / self.led.max(1) as f64
    }
}

/// The standard deviation of each coordinate.
fn deviations(gaussian: &Component) -> Vec<f64> {
    let covariance = gaussian.covariance();
    (0..gaussian.dim()).map(|j| covariance[(j, j)].sqrt()).collect()
}

/// Minus the log evidence of a peak by Laplace's method.
fn laplace_value(peak: &Component, log_f: f64) -> f64 {
    -log_f - 0.5 * peak.log_det() - peak.dim() as f64 * HALF_LN_2PI
}

fn log_density(gaussian: &Component, at: &[f64]) -> f64 {
    let mut value = [0.0];
    gaussian.evaluate(&Block::point(at), &mut value, &mut Block::default(), false);
    value[0]
}

/// Makes the Gaussian at a peak as wide, along each of its axes, as the density there is: the curvature alone says nothing where
/// it vanishes, as at the peak of `exp(−x⁸)`, or is infinite.
fn resize<T: LogDensity + ?Sized>(probe: &Probe<'_, T>, gaussian: &mut Component) {
    let d = gaussian.dim();
    let Ok((values, vectors)) = vi_linalg::eigen::eigen(gaussian.covariance().as_ref(), vi_linalg::faer::Par::Seq)
    else {
        return;
    };
    let top = probe.value(&gaussian.mean);
    let mut sizes: Vec<f64> = values.iter().map(|v: &f64| v.max(0.0).sqrt()).collect();
    let mut changed = false;
    for (k, size) in sizes.iter_mut().enumerate() {
        let fall = |size: f64| {
            let side = |sign: f64| {
                let x: Vec<f64> = (0..d).map(|j| gaussian.mean[j] + sign * size * vectors[(j, k)]).collect();
                let fall = top - probe.value(&x);
                if fall.is_nan() { f64::INFINITY } else { fall }
            };
            side(1.0).min(side(-1.0))
        };
        if let Some(own) = width(*size, fall) {
            changed |= own != *size;
            *size = own;
        }
    }
    if changed {
        let scaled = vi_linalg::faer::Mat::from_fn(d, d, |i, k| vectors[(i, k)] * sizes[k]);
        if let Ok(resized) = Component::full(&gaussian.mean, (&scaled * scaled.transpose()).as_ref()) {
            *gaussian = resized;
        }
    }
}

/// The width, from `own` on by doubling or halving and then in between, at which the density falls by [`FALL`]; where it leaps, the
/// last one before. `None` if the density falls nowhere, or too far everywhere: a search then follows it from where it is.
fn width(mut own: f64, fall: impl Fn(f64) -> f64) -> Option<f64> {
    let (mut narrow, mut wide) = (None, None);
    for _ in 0..RESIZINGS {
        let at_own = fall(own);
        if (FALL.0..=FALL.1).contains(&at_own) {
            return Some(own);
        }
        *(if at_own > FALL.1 { &mut wide } else { &mut narrow }) = Some(own);
        own = match (narrow, wide) {
            (Some(narrow), Some(wide)) if wide <= LEAP * narrow => break,
            (Some(narrow), Some(wide)) => f64::sqrt(narrow * wide),
            (Some(narrow), None) => 2.0 * narrow,
            (None, wide) => 0.5 * wide?,
        };
    }
    wide.and(narrow)
}
