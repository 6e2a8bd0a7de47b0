//! A mixture stored as bytes.

use serde::{Deserialize, Serialize};
use vi_core::{Checkpoint, CheckpointError, Error, check};
use vi_linalg::faer::{Mat, MatRef};

use super::GaussianMixture;
use crate::BoostError;
use crate::component::{Component, Diagonal, Full, LowRank, Scale};

/// The stored form of a mixture: log-weights and components, each by the numbers it computes with, so that reading it gives the
/// same bits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MixtureWire {
    dim: u64,
    log_weights: Vec<f64>,
    components: Vec<ComponentWire>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ComponentWire {
    mean: Vec<f64>,
    spread: SpreadWire,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum SpreadWire {
    /// The lower triangle of the Cholesky factor, by columns.
    Full(Vec<f64>),
    /// Standard deviations.
    Diagonal(Vec<f64>),
    /// Standard deviations, and the factor by columns.
    LowRank(Vec<f64>, Vec<f64>),
}

impl Checkpoint for GaussianMixture {
    const KIND: &'static str = "vi-boost/mixture";

    type Wire = MixtureWire;

    fn to_wire(&self) -> Result<MixtureWire, Error> {
        Ok(MixtureWire {
            dim: self.dim() as u64,
            log_weights: self.log_weights.clone(),
            components: self.components.iter().map(ComponentWire::of).collect(),
        })
    }

    fn from_wire(wire: MixtureWire) -> Result<Self, Error> {
        read(wire).map_err(|error| match error {
            BoostError::Core(error) => CheckpointError::Contents(Box::new(error)).into(),
            other => CheckpointError::Malformed { message: other.to_string() }.into(),
        })
    }
}

fn read(wire: MixtureWire) -> Result<GaussianMixture, BoostError> {
    if wire.components.is_empty() {
        return Err(Error::Empty { argument: "components" }.into());
    }
    check::length("log-weights", wire.components.len(), wire.log_weights.len())?;
    let d = usize::try_from(wire.dim).unwrap_or(usize::MAX);
    // A weight may be 0, with logarithm −∞; their sum is 1 up to the rounding of K logarithms of size 700 at most.
    let sum: f64 = wire.log_weights.iter().map(|w| w.exp()).sum();
    if (sum - 1.0).abs() > super::SUM_TOLERANCE || sum.is_nan() {
        return Err(crate::error::setting("sum of the weights", sum, "1"));
    }
    let components = wire.components.into_iter().map(|c| c.component(d)).collect::<Result<_, _>>()?;
    Ok(GaussianMixture::from_parts(components, wire.log_weights))
}

impl ComponentWire {
    fn of(component: &Component) -> Self {
        let all = |matrix: MatRef<'_, f64>, from_diagonal: bool| {
            let first = |j| if from_diagonal { j } else { 0 };
            (0..matrix.ncols()).flat_map(|j| (first(j)..matrix.nrows()).map(move |i| matrix[(i, j)])).collect()
        };
        let spread = match &component.scale {
            Scale::Full(full) => SpreadWire::Full(all(full.factor(), true)),
            Scale::Diagonal(diagonal) => SpreadWire::Diagonal(diagonal.sd().to_vec()),
            Scale::LowRank(low_rank) => SpreadWire::LowRank(low_rank.sd().to_vec(), all(low_rank.factor(), false)),
        };
        Self { mean: component.mean.clone(), spread }
    }

    fn component(self, d: usize) -> Result<Component, BoostError> {
        if d == 0 {
            return Err(Error::Empty { argument: "mean" }.into());
        }
        check::length("mean", d, self.mean.len())?;
        check::finite("mean", &self.mean)?;
        let scale = match self.spread {
            SpreadWire::Full(lower) => {
                check::length("lower triangle of the factor", d.saturating_mul(d + 1) / 2, lower.len())?;
                let mut factor = Mat::zeros(d, d);
                let mut entries = lower.into_iter();
                for j in 0..d {
                    for (i, value) in (j..d).zip(&mut entries) {
                        factor[(i, j)] = value;
                    }
                }
                Scale::Full(Full::from_factor(factor)?)
            }
            SpreadWire::Diagonal(sd) => {
                check::length("standard deviations", d, sd.len())?;
                Scale::Diagonal(Diagonal::from_sd(sd)?)
            }
            SpreadWire::LowRank(sd, factor) => {
                check::length("standard deviations", d, sd.len())?;
                let rank = factor.len() / d;
                check::length("factor", rank.saturating_mul(d), factor.len())?;
                let v = MatRef::from_column_major_slice(&factor, d, rank).to_owned();
                Scale::LowRank(LowRank::from_sd(sd, v)?)
            }
        };
        Ok(Component { mean: self.mean, scale })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut MixtureWire);

    /// One component of each kind in two dimensions.
    fn wire() -> MixtureWire {
        let factor = Mat::from_fn(2, 1, |i, _| 0.5 + i as f64);
        let components = vec![
            Component::isotropic(&[1.0, 2.0], 0.5).unwrap(),
            Component::diagonal(&[0.0, 1.0], &[1.0, 4.0]).unwrap(),
            Component::low_rank(&[0.0, 0.0], &[1.0, 1.0], factor.as_ref()).unwrap(),
        ];
        GaussianMixture::new(components, &[0.5, 0.25, 0.25]).unwrap().to_wire().unwrap()
    }

    #[test]
    fn contents_that_cannot_be_are_refused() {
        GaussianMixture::from_wire(wire()).unwrap();
        let changes: [(&str, Change); 11] = [
            ("another dimension", |w| w.dim = 3),
            ("no dimension", |w| w.dim = 0),
            ("a dimension beyond memory", |w| w.dim = u64::MAX),
            ("no components", |w| w.components.clear()),
            ("a weight too many", |w| w.log_weights.push(f64::NEG_INFINITY)),
            ("weights of another sum", |w| w.log_weights[0] = 0.0),
            ("a weight that is no number", |w| w.log_weights[0] = f64::NAN),
            ("an infinite mean", |w| w.components[1].mean[0] = f64::INFINITY),
            ("a factor that is none", |w| w.components[0].spread = SpreadWire::Full(vec![1.0, 0.0, -1.0])),
            ("a short factor", |w| w.components[0].spread = SpreadWire::Full(vec![1.0, 0.0])),
            ("a negative spread", |w| w.components[1].spread = SpreadWire::Diagonal(vec![1.0, -1.0])),
        ];
        for (what, change) in changes {
            let mut changed = wire();
            change(&mut changed);
            let error = GaussianMixture::from_wire(changed).unwrap_err();
            assert!(matches!(error, Error::Checkpoint(_)), "{what}: {error}");
        }
    }
}
