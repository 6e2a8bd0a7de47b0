//! Terms with all that the first rows tell: what makes inputs of a row.

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_revrand::basis::{Basis, Kernel, LengthScale, RandomFourier};

use crate::coordinate::Coordinate;
use crate::smooth::Smooth;
use crate::{Input, TermsError};

/// Curves of each of two columns, beside the lines, whose products are a surface.
const CURVES: usize = 4;

/// A kernel's length scales as shares of `√(2d)`, the distance of two points of unit spread in `d` directions.
const LENGTHS: [f64; 3] = [1.0, 0.5, 0.25];

/// What a block's inputs are made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum Maker {
    Bent {
        of: Vec<Coordinate>,
    },
    Smooth {
        of: Coordinate,
        smooth: Smooth,
    },
    Tensor {
        of: [Coordinate; 2],
        smooths: [Smooth; 2],
    },
    Pairs {
        of: Vec<Coordinate>,
        pairs: Vec<(usize, usize)>,
    },
    Slopes {
        of: Coordinate,
        levels: Vec<usize>,
        /// Of effects that are correlated: what is added to the scaled input, multiples of 1 (`None`) and of the scaled inputs of slopes before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        mix: Vec<(Option<Coordinate>, f64)>,
    },
    Kernel {
        of: Vec<Coordinate>,
        basis: RandomFourier,
        length: f64,
    },
}

/// A block of inputs that share a prior scale: `(raw − means)·factor`, so that the variances over the first rows are 1 on average, or in
/// sum where the later columns of a block are finer than the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fitted {
    pub(crate) maker: Maker,
    means: Vec<f64>,
    factor: f64,
}

/// The first rows, row by row.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) values: &'a [f64],
    pub(crate) inputs: usize,
}

impl Rows<'_> {
    fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.inputs)
    }

    /// # Errors
    /// A constant column.
    pub(crate) fn coordinate(&self, input: usize, bent: bool) -> Result<Coordinate, TermsError> {
        let values: Vec<f64> = self.iter().map(|row| row[input]).collect();
        Coordinate::new(input, &values, bent)
    }

    fn coordinates(&self, inputs: &[usize]) -> Result<Vec<Coordinate>, TermsError> {
        vi_core::check::not_empty("inputs of a term", inputs.len())?;
        inputs.iter().map(|&input| self.coordinate(input, true)).collect()
    }

    fn smooth(&self, of: &Coordinate, weights: usize) -> Result<Smooth, TermsError> {
        Smooth::new(&self.iter().map(|row| of.at(row)).collect::<Vec<f64>>(), weights)
    }
}

impl Fitted {
    pub(crate) fn bent(inputs: &[usize], rows: Rows<'_>) -> Result<Self, TermsError> {
        let of = rows.coordinates(inputs)?;
        Ok(Self::sized(Maker::Bent { of }, rows))
    }

    pub(crate) fn smooth(input: usize, weights: usize, rows: Rows<'_>) -> Result<Self, TermsError> {
        let of = rows.coordinate(input, true)?;
        let smooth = rows.smooth(&of, weights)?;
        Ok(Self::sized(Maker::Smooth { of, smooth }, rows))
    }

    pub(crate) fn tensor(inputs: [usize; 2], rows: Rows<'_>) -> Result<Self, TermsError> {
        let of = [rows.coordinate(inputs[0], true)?, rows.coordinate(inputs[1], true)?];
        let smooths = [rows.smooth(&of[0], CURVES)?, rows.smooth(&of[1], CURVES)?];
        Ok(Self::sized(Maker::Tensor { of, smooths }, rows))
    }

    pub(crate) fn pairs(inputs: &[usize], all: &[Input], rows: Rows<'_>) -> Result<Self, TermsError> {
        let of = rows.coordinates(inputs)?;
        let pairs: Vec<(usize, usize)> = (0..of.len())
            .flat_map(|i| (i + 1..of.len()).map(move |j| (i, j)))
            // Two inputs of one column, such as two of its levels, have no product of their own.
            .filter(|&(i, j)| all[inputs[i]].column != all[inputs[j]].column)
            .collect();
        vi_core::check::not_empty("pairs of different columns", pairs.len())?;
        Ok(Self::sized(Maker::Pairs { of, pairs }, rows))
    }

    pub(crate) fn slopes(input: usize, levels: &[usize], rows: Rows<'_>) -> Result<Self, TermsError> {
        vi_core::check::not_empty("levels of slopes", levels.len())?;
        let maker = Maker::Slopes { of: rows.coordinate(input, false)?, levels: levels.to_vec(), mix: Vec::new() };
        Ok(Self::sized(maker, rows))
    }

    /// A block for each length scale, `features` together.
    pub(crate) fn kernel(
        inputs: &[usize],
        features: usize,
        rows: Rows<'_>,
        rng: &mut impl Rng,
    ) -> Result<Vec<Self>, TermsError> {
        let of = rows.coordinates(inputs)?;
        let apart = (2.0 * of.len() as f64).sqrt();
        let pairs = (features / (2 * LENGTHS.len())).max(1);
        let block = |share: f64| {
            let length = share * apart;
            let scale = LengthScale::Shared(length);
            let basis = RandomFourier::orthogonal(Kernel::Rbf, of.len(), pairs, scale, rng)?;
            Ok(Self::sized(Maker::Kernel { of: of.clone(), basis, length }, rows))
        };
        LENGTHS.into_iter().map(block).collect()
    }

    /// Centres and factor by the first rows.
    fn sized(maker: Maker, rows: Rows<'_>) -> Self {
        let width = maker.width();
        let mut fitted = Self { maker, means: vec![0.0; width], factor: 1.0 };
        let n = rows.iter().count().max(1) as f64;
        let (mut means, mut squares, mut out) = (vec![0.0; width], vec![0.0; width], Vec::new());
        for row in rows.iter() {
            out.clear();
            fitted.maker.write(row, &mut out);
            for (j, value) in out.iter().enumerate() {
                means[j] += value / n;
                squares[j] += value * value / n;
            }
        }
        let variance: f64 = means.iter().zip(&squares).map(|(mean, square)| (square - mean * mean).max(0.0)).sum();
        let size = if fitted.maker.is_ordered() { variance } else { variance / width as f64 }.sqrt();
        if size.is_normal() {
            fitted.factor = size.recip();
        }
        fitted.means = means;
        fitted
    }

    pub(crate) fn width(&self) -> usize {
        self.means.len()
    }

    /// Appends the inputs of `row`, whose first numbers are those that all terms are made of.
    pub(crate) fn append(&self, row: &mut Vec<f64>) {
        let first = row.len();
        let mut out = Vec::with_capacity(self.width());
        self.maker.write(row, &mut out);
        row.extend(out);
        for (value, mean) in row[first..].iter_mut().zip(&self.means) {
            *value = (*value - mean) * self.factor;
        }
    }

    /// The input of effects on slopes, and the levels that have them.
    pub(crate) fn slopes_of(&self) -> Option<(&Coordinate, &[usize])> {
        match &self.maker {
            Maker::Slopes { of, levels, .. } => Some((of, levels)),
            _ => None,
        }
    }

    /// What is added to the scaled input of effects on slopes; nothing where they are independent of others.
    pub(crate) fn mix(&self) -> &[(Option<Coordinate>, f64)] {
        match &self.maker {
            Maker::Slopes { mix, .. } => mix,
            _ => &[],
        }
    }

    /// Effects on slopes that are correlated by `of`, of the multiple `factor`. Inputs of such a block have no centre, so that a row of none of the levels has none.
    pub(crate) fn set_mix(&mut self, of: Vec<(Option<Coordinate>, f64)>, factor: f64) {
        if let Maker::Slopes { mix, .. } = &mut self.maker {
            *mix = of;
            self.means.fill(0.0);
            self.factor = factor;
        }
    }

    /// The multiple of what a maker writes.
    pub(crate) fn factor(&self) -> f64 {
        self.factor
    }

    /// The input of a curve.
    pub(crate) fn curved(&self) -> Option<&Coordinate> {
        match &self.maker {
            Maker::Smooth { of, .. } => Some(of),
            _ => None,
        }
    }

    /// Appends the block's inputs as far as they come from `input` alone, which is `x`; 0 for all others.
    pub(crate) fn alone(&self, input: usize, x: f64, out: &mut Vec<f64>) {
        let mut raw = self.means.clone();
        match &self.maker {
            Maker::Bent { of } => {
                let own = of.iter().zip(&mut raw).filter(|(of, _)| of.input == input);
                own.for_each(|(of, raw)| *raw = of.of(x));
            }
            Maker::Smooth { of, smooth } if of.input == input => {
                raw.clear();
                smooth.write(of.of(x), &mut raw);
            }
            _ => {}
        }
        out.extend(raw.iter().zip(&self.means).map(|(raw, mean)| (raw - mean) * self.factor));
    }

    /// Whether it could be of `inputs` inputs.
    pub(crate) fn is_of(&self, inputs: usize) -> bool {
        self.maker.is_of(inputs)
            && self.means.len() == self.maker.width()
            && self.means.iter().all(|mean| mean.is_finite())
            && self.factor > 0.0
            && self.factor.is_finite()
    }

    /// The name of the block, from those of the inputs.
    pub(crate) fn name(&self, inputs: &[Input]) -> String {
        const SHOWN: usize = 3;
        let name = |of: &Coordinate| inputs[of.input].name.as_str();
        let list = |of: &[Coordinate]| {
            let shown: Vec<&str> = of.iter().take(SHOWN).map(name).collect();
            let more = if of.len() > SHOWN { format!(" and {} more", of.len() - SHOWN) } else { String::new() };
            shown.join(", ") + &more
        };
        match &self.maker {
            Maker::Bent { of } => format!("bent({})", list(of)),
            Maker::Smooth { of, .. } => format!("s({})", name(of)),
            Maker::Tensor { of, .. } => format!("s({})", list(of)),
            Maker::Pairs { of, .. } => format!("pairs({})", list(of)),
            Maker::Slopes { of, levels, .. } => {
                format!("slopes({}; {})", name(of), inputs[levels[levels.len() - 1]].of_levels())
            }
            Maker::Kernel { of, length, .. } => format!("k({}; {length:.3})", list(of)),
        }
    }

    /// The places of the inputs that each of the block's is made of.
    pub(crate) fn sources(&self) -> Vec<Vec<usize>> {
        let places = |of: &[Coordinate]| of.iter().map(|of| of.input).collect::<Vec<_>>();
        match &self.maker {
            Maker::Bent { of } => of.iter().map(|of| vec![of.input]).collect(),
            Maker::Smooth { of, .. } => vec![vec![of.input]; self.width()],
            Maker::Tensor { of, .. } => vec![places(of); self.width()],
            Maker::Kernel { of, .. } => vec![places(of); self.width()],
            Maker::Pairs { of, pairs } => pairs.iter().map(|&(i, j)| vec![of[i].input, of[j].input]).collect(),
            Maker::Slopes { of, levels, .. } => levels.iter().map(|&level| vec![of.input, level]).collect(),
        }
    }

    /// The names of the inputs.
    pub(crate) fn names(&self, inputs: &[Input]) -> Vec<String> {
        let name = |of: &Coordinate| inputs[of.input].name.as_str();
        match &self.maker {
            Maker::Bent { of } => of.iter().map(|of| format!("bent({})", name(of))).collect(),
            Maker::Pairs { of, pairs } => {
                pairs.iter().map(|&(i, j)| format!("{}:{}", name(&of[i]), name(&of[j]))).collect()
            }
            Maker::Slopes { of, levels, .. } => {
                levels.iter().map(|level| format!("{}:{}", name(of), inputs[*level].name)).collect()
            }
            _ => (1..=self.width()).map(|k| format!("{} {k}", self.name(inputs))).collect(),
        }
    }
}

impl Maker {
    /// Whether later columns are finer, so that the first say what a block amounts to.
    fn is_ordered(&self) -> bool {
        matches!(self, Self::Smooth { .. } | Self::Tensor { .. })
    }

    fn width(&self) -> usize {
        match self {
            Self::Bent { of } => of.len(),
            Self::Smooth { smooth, .. } => smooth.width(),
            Self::Tensor { smooths: [a, b], .. } => (1 + a.width()) * (1 + b.width()),
            Self::Pairs { pairs, .. } => pairs.len(),
            Self::Slopes { levels, .. } => levels.len(),
            Self::Kernel { basis, .. } => basis.width(),
        }
    }

    fn is_of(&self, inputs: usize) -> bool {
        let all = |of: &[Coordinate]| !of.is_empty() && of.iter().all(|of| of.is_of(inputs));
        match self {
            Self::Bent { of } => all(of),
            Self::Smooth { of, .. } => of.is_of(inputs),
            Self::Tensor { of, .. } => all(of),
            Self::Pairs { of, pairs } => {
                all(of) && !pairs.is_empty() && pairs.iter().all(|(i, j)| i.max(j) < &of.len())
            }
            Self::Slopes { of, levels, mix } => {
                let known = |(of, by): &(Option<Coordinate>, f64)| {
                    by.is_finite() && of.as_ref().is_none_or(|of| of.is_of(inputs))
                };
                of.is_of(inputs)
                    && !levels.is_empty()
                    && levels.iter().all(|level| *level < inputs)
                    && mix.iter().all(known)
            }
            Self::Kernel { of, basis, length } => {
                all(of) && basis.inputs() == Some(of.len()) && *length > 0.0 && length.is_finite()
            }
        }
    }

    fn write(&self, row: &[f64], out: &mut Vec<f64>) {
        match self {
            Self::Bent { of } => out.extend(of.iter().map(|of| of.at(row))),
            Self::Smooth { of, smooth } => smooth.write(of.at(row), out),
            Self::Tensor { of, smooths } => {
                let mut curves = [Vec::new(), Vec::new()];
                for ((of, smooth), curves) in of.iter().zip(smooths).zip(&mut curves) {
                    let z = of.within(row);
                    curves.push(z);
                    smooth.write(z, curves);
                }
                let [a, b] = &curves;
                out.extend(a.iter().flat_map(|a| b.iter().map(move |b| a * b)));
            }
            Self::Pairs { of, pairs } => {
                let z: Vec<f64> = of.iter().map(|of| of.within(row)).collect();
                out.extend(pairs.iter().map(|&(i, j)| z[i] * z[j]));
            }
            Self::Slopes { of, levels, mix } => {
                let at = |of: &Coordinate| of.of(row[of.input]);
                let z = mix.iter().fold(at(of), |z, (of, by)| z + by * of.as_ref().map_or(1.0, at));
                out.extend(levels.iter().map(|level| z * row[*level]));
            }
            Self::Kernel { of, basis, length } => {
                let z: Vec<f64> = of.iter().map(|of| of.within(row)).collect();
                let mut features = Mat::zeros(1, basis.width());
                basis.fill(&[*length], MatRef::from_row_major_slice(&z, 1, z.len()), features.as_mut(), Par::Seq);
                out.extend(features.row(0).iter());
            }
        }
    }
}
