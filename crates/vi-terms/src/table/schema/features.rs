//! Features that bend a linear model: powers, and random Fourier features of `vi_revrand`.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_revrand::basis::{Kernel, LengthScale, Polynomial, RandomFourier};
use vi_revrand::{Basis, RevrandError};

/// Which features are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Features {
    /// So many random Fourier features.
    Fourier(usize),
    /// Powers up to this one.
    Powers(usize),
}

impl Features {
    /// `rff:300` or `poly:2`; none for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, number) = text.split_once(':')?;
        match (name, number.parse().ok()?) {
            ("rff", features @ 2..=100_000) => Some(Self::Fourier(features)),
            ("poly", degree @ 2..=8) => Some(Self::Powers(degree)),
            _ => None,
        }
    }
}

/// Features `φ(z)` of the inputs on a common scale, `z = (x − centre)/spread`, which stand after the inputs themselves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Map {
    centres: Vec<f64>,
    spreads: Vec<f64>,
    kind: MapKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum MapKind {
    Fourier {
        basis: RandomFourier,
        length_scale: f64,
    },
    /// Of the inputs at these places, the first power left out.
    Powers {
        basis: Polynomial,
        degree: usize,
        inputs: Vec<usize>,
    },
}

/// The seed of the frequencies: the same features in every model of a shape.
const SEED: u64 = 1;

impl Map {
    /// Random Fourier features at a length scale.
    ///
    /// # Errors
    /// More than memory holds.
    pub(crate) fn fourier(
        centres: Vec<f64>,
        spreads: Vec<f64>,
        features: usize,
        length_scale: f64,
    ) -> Result<Self, RevrandError> {
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        let scale = LengthScale::Shared(length_scale);
        let basis = RandomFourier::orthogonal(Kernel::Rbf, centres.len(), features.div_ceil(2), scale, &mut rng)?;
        Ok(Self { centres, spreads, kind: MapKind::Fourier { basis, length_scale } })
    }

    /// Powers of the inputs at these places.
    ///
    /// # Errors
    /// No input.
    pub(crate) fn powers(
        centres: Vec<f64>,
        spreads: Vec<f64>,
        degree: usize,
        inputs: Vec<usize>,
    ) -> Result<Self, RevrandError> {
        let basis = Polynomial::new(inputs.len(), degree)?;
        Ok(Self { centres, spreads, kind: MapKind::Powers { basis, degree, inputs } })
    }

    /// How many features there are.
    pub(crate) fn width(&self) -> usize {
        match &self.kind {
            MapKind::Fourier { basis, .. } => basis.width(),
            MapKind::Powers { degree, inputs, .. } => inputs.len() * (degree - 1),
        }
    }

    /// Their names, from the names of the inputs.
    pub(crate) fn names(&self, names: &[String]) -> Vec<String> {
        match &self.kind {
            MapKind::Fourier { basis, .. } => (1..=basis.width()).map(|k| format!("feature {k}")).collect(),
            MapKind::Powers { degree, inputs, .. } => {
                let name = |j: &usize| names.get(*j).map_or("", String::as_str);
                let powers = |j| (2..=*degree).map(move |k| format!("{}^{k}, standardised", name(j)));
                inputs.iter().flat_map(powers).collect()
            }
        }
    }

    /// The places of the inputs that each feature is made of.
    pub(crate) fn sources(&self) -> Vec<Vec<usize>> {
        match &self.kind {
            MapKind::Fourier { basis, .. } => vec![(0..self.centres.len()).collect(); basis.width()],
            MapKind::Powers { degree, inputs, .. } => {
                inputs.iter().flat_map(|&input| std::iter::repeat_n(vec![input], degree - 1)).collect()
            }
        }
    }

    /// A description for people.
    pub(crate) fn describe(&self) -> String {
        match &self.kind {
            MapKind::Fourier { basis, length_scale } => {
                format!("{} random Fourier, length scale {length_scale:.3}", basis.width())
            }
            MapKind::Powers { degree, inputs, .. } => format!("powers up to {degree} of {} inputs", inputs.len()),
        }
    }

    /// Whether it could be of `inputs` inputs.
    pub(crate) fn is_of(&self, inputs: usize) -> bool {
        let whole = self.centres.len() == inputs
            && self.spreads.len() == inputs
            && self.centres.iter().all(|centre| centre.is_finite())
            && self.spreads.iter().all(|spread| *spread > 0.0 && spread.is_finite());
        whole
            && match &self.kind {
                MapKind::Fourier { basis, length_scale } => basis.inputs() == Some(inputs) && *length_scale > 0.0,
                MapKind::Powers { basis, degree, inputs: places } => {
                    *degree > 1
                        && basis.width() == places.len() * degree
                        && basis.inputs() == Some(places.len())
                        && places.iter().all(|place| *place < inputs)
                }
            }
    }

    /// Appends the features of the inputs that `row` holds.
    pub(crate) fn append(&self, row: &mut Vec<f64>) {
        let z: Vec<f64> = row.iter().zip(&self.centres).zip(&self.spreads).map(|((x, c), s)| (x - c) / s).collect();
        match &self.kind {
            MapKind::Fourier { basis, length_scale } => {
                let mut features = Mat::zeros(1, basis.width());
                basis.fill(&[*length_scale], MatRef::from_row_major_slice(&z, 1, z.len()), features.as_mut(), Par::Seq);
                // Of unit size each, as the inputs are, and not together.
                let size = (0.5 * basis.width() as f64).sqrt();
                row.extend(features.row(0).iter().map(|feature| feature * size));
            }
            MapKind::Powers { basis, degree, inputs } => {
                let chosen: Vec<f64> = inputs.iter().map(|&j| z[j]).collect();
                let mut powers = Mat::zeros(1, basis.width());
                let x = MatRef::from_row_major_slice(&chosen, 1, chosen.len());
                basis.fill(&[], x, powers.as_mut(), Par::Seq);
                row.extend(powers.row(0).iter().enumerate().filter(|(k, _)| k % degree != 0).map(|(_, power)| *power));
            }
        }
    }
}
