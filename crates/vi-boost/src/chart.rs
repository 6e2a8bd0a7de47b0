//! Coordinates about a component, in which a search does not depend on the target's location and scale.

use vi_linalg::faer::Mat;

use crate::component::{Component, Diagonal, Full, LowRank, Raw, Scale, parameters};

/// The most standard deviations of the reference by which a mean may move, and the largest factor by which a spread may change: a
/// search that goes beyond has found nothing.
pub(crate) const FARTHEST: f64 = 1e8;

/// Coordinates `u` of components near a reference `N(μ₀, A₀A₀ᵀ)`; `u = 0` is the reference.
///
/// | kind | mean | spread |
/// |---|---|---|
/// | full | `μ₀ + L₀m` | `L = L₀T`, `T` lower with `T_jj = exp(u)` |
/// | diagonal | `μ₀ + σ₀∘m` | `σ = σ₀∘exp(u)` |
/// | low rank | `μ₀ + σ₀∘m` | `σ = σ₀∘exp(u)`, `V = V₀ + σ₀∘U` |
///
/// A full component's search does not depend on the coordinates of `θ` at all (it is affine invariant), that of a diagonal one
/// not on their units.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    reference: Component,
}

impl Chart {
    pub(crate) fn new(reference: Component) -> Self {
        Self { reference }
    }

    /// The number of coordinates.
    pub(crate) fn len(&self) -> usize {
        parameters(self.reference.family(), self.reference.dim())
    }

    /// The component at `u` (length [`len`](Self::len)); `None` if it is out of range.
    pub(crate) fn component(&self, u: &[f64]) -> Option<Component> {
        let d = self.reference.dim();
        let (m, rest) = u.split_at_checked(d)?;
        if m.iter().any(|m| m.abs() > FARTHEST || m.is_nan()) {
            return None;
        }
        let mut mean = self.reference.mean.clone();
        let scale = match &self.reference.scale {
            Scale::Full(full) => {
                let l = full.factor();
                for i in 0..d {
                    for j in 0..=i {
                        mean[i] += l[(i, j)] * m[j];
                    }
                }
                let mut t = Mat::zeros(d, d);
                let mut rest = rest.iter();
                for j in 0..d {
                    for (i, u) in (j..d).zip(&mut rest) {
                        t[(i, j)] = if i == j { factor(*u)? } else { *u };
                    }
                }
                Scale::Full(Full::from_factor(l * t).ok()?)
            }
            Scale::Diagonal(diagonal) => {
                shift(&mut mean, diagonal.sd(), m);
                Scale::Diagonal(Diagonal::from_sd(stretched(diagonal.sd(), rest)?).ok()?)
            }
            Scale::LowRank(low_rank) => {
                shift(&mut mean, low_rank.sd(), m);
                let (own, shared) = rest.split_at_checked(d)?;
                let (sd, v) = (low_rank.sd(), low_rank.factor());
                let v = Mat::from_fn(d, low_rank.rank(), |i, k| v[(i, k)] + sd[i] * shared[k * d + i]);
                Scale::LowRank(LowRank::from_sd(stretched(sd, own)?, v).ok()?)
            }
        };
        mean.iter().all(|m| m.is_finite()).then_some(Component { mean, scale })
    }

    /// Writes the derivative by `u` into `out`, from the derivative by the numbers of `current`, the component at `u`.
    pub(crate) fn pull(&self, current: &Component, u: &[f64], raw: &Raw, out: &mut [f64]) {
        let d = self.reference.dim();
        let (by_mean, rest) = out.split_at_mut(d);
        match (&self.reference.scale, &current.scale) {
            (Scale::Full(full), _) => {
                let l = full.factor();
                for j in 0..d {
                    by_mean[j] = (j..d).map(|i| l[(i, j)] * raw.mean[i]).sum();
                }
                let mut at = 0;
                for j in 0..d {
                    for i in j..d {
                        // ∂T = L₀ᵀ·∂L
                        let by_t: f64 = (i..d).map(|k| l[(k, i)] * raw.spread[(k, j)]).sum();
                        rest[at] = if i == j { by_t * u[d + at].exp() } else { by_t };
                        at += 1;
                    }
                }
            }
            (Scale::Diagonal(reference), Scale::Diagonal(current)) => {
                for j in 0..d {
                    by_mean[j] = reference.sd()[j] * raw.mean[j];
                    rest[j] = current.sd()[j] * raw.spread[(j, 0)];
                }
            }
            (Scale::LowRank(reference), Scale::LowRank(current)) => {
                for j in 0..d {
                    by_mean[j] = reference.sd()[j] * raw.mean[j];
                    rest[j] = current.sd()[j] * raw.spread[(j, 0)];
                    for k in 0..reference.rank() {
                        rest[d * (1 + k) + j] = reference.sd()[j] * raw.spread[(j, 1 + k)];
                    }
                }
            }
            // A chart gives only components of its own kind.
            _ => out.fill(f64::NAN),
        }
    }
}

/// `exp(u)`, if that is within the range of spreads.
fn factor(u: f64) -> Option<f64> {
    (u.abs() <= FARTHEST.ln()).then(|| u.exp())
}

fn shift(mean: &mut [f64], sd: &[f64], m: &[f64]) {
    for ((mean, sd), m) in mean.iter_mut().zip(sd).zip(m) {
        *mean += sd * m;
    }
}

fn stretched(sd: &[f64], u: &[f64]) -> Option<Vec<f64>> {
    sd.iter().zip(u).map(|(sd, u)| Some(sd * factor(*u)?)).collect()
}
