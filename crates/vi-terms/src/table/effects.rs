//! The terms of a model: the curve of each input, and the share of each block in the predictor.

use serde::Serialize;
use vi_core::Row;
use vi_models::online::Standardise;

use crate::table::document::Document;
use crate::table::scores::BANDS;
use crate::told::Origin;
use crate::{Block, TermsError};

/// The number of points of a curve.
const POINTS: usize = 60;

/// The effect of an input on the linear predictor, relative to its mean.
#[derive(Serialize)]
pub struct Curve {
    /// The name of the input.
    pub name: String,
    /// The values of the input.
    pub at: Vec<f64>,
    /// The mean of the effect at each value.
    pub mean: Vec<f64>,
    /// Lower and upper ends of central intervals, of the levels of [`BANDS`].
    pub bands: [(Vec<f64>, Vec<f64>); 2],
}

/// The curves of a model of one predictor.
///
/// # Errors
/// Curves beyond the range of floats.
pub fn curves(document: &Document) -> Result<Vec<Curve>, TermsError> {
    let Some(terms) = document.schema.shape.as_ref().filter(|_| document.model.weights().len() == 1) else {
        return Ok(Vec::new());
    };
    let mut curves = Vec::new();
    for effect in terms.effects(POINTS) {
        let mut curve = Curve { name: effect.name, at: effect.at, mean: Vec::new(), bands: Default::default() };
        for factors in &effect.factors {
            let belief = document.model.combination(Row::Dense(factors))?;
            curve.mean.push(belief.mean());
            for (band, level) in curve.bands.iter_mut().zip(BANDS) {
                let interval = belief.interval(level)?;
                band.0.push(interval.lower);
                band.1.push(interval.upper);
            }
        }
        curves.push(curve);
    }
    Ok(curves)
}

/// A block of inputs and what it amounts to.
#[derive(Serialize)]
pub(crate) struct Share {
    pub(crate) term: String,
    pub(crate) weights: usize,
    /// Their prior scale, if the block has one of its own.
    pub(crate) scale: Option<f64>,
    /// The standard deviation of the effects of levels, or of their effects on the slope of an input, on the scale of the predictor.
    pub(crate) deviation: Option<f64>,
    /// Their correlations with effects of the terms of these names, of the same levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) correlations: Vec<(String, f64)>,
    /// The share in the variance of each linear predictor over a sample of the first rows.
    pub(crate) shares: Vec<f64>,
}

/// The weights, share and scale of each block, in their order.
pub(crate) fn shares(document: &Document) -> Vec<Share> {
    let Some(terms) = &document.schema.shape else { return Vec::new() };
    let of_each: Vec<Vec<f64>> =
        document.model.weights().iter().filter_map(|draw| terms.shares(&draw.weights).ok()).collect();
    let scales = document.model.info().block_scales;
    // Scales given once and for all are not those of a level by itself.
    let own_scales = matches!(document.model.settings().standardise, Standardise::FirstRows { .. });
    let unit = document.model.prior_unit();
    let blocks = terms.blocks();
    // Of each weight the prior's standard deviation, and of each block of effects one effect.
    let scaled = |(k, block): (usize, &Block)| {
        let sd = block.unit.zip(scales.get(k)).filter(|_| own_scales).map(|(of_block, scale)| of_block * scale * unit);
        std::iter::repeat_n(sd, block.width)
    };
    let deviations: Vec<Option<f64>> = blocks.iter().enumerate().flat_map(scaled).collect();
    let told = terms.told(Origin::Zero);
    let covariance = |a: &[(usize, f64)], b: &[(usize, f64)]| {
        let both = a.iter().flat_map(|a| b.iter().filter(|b| a.0 == b.0).map(|b| (a.0, a.1 * b.1)));
        both.map(|(place, by)| deviations[place].map(|sd| by * sd * sd)).sum::<Option<f64>>()
    };
    let deviation = |block: &Block| covariance(&told[block.first], &told[block.first]).map(f64::sqrt);
    let share = |(k, block): (usize, &Block)| {
        let own = &told[block.first];
        let is_mixed =
            |other: &&Block| own.iter().any(|(place, _)| told[other.first].iter().any(|(of, _)| of == place));
        let correlation = |other: &Block| {
            let covariance = covariance(own, &told[other.first])?;
            Some((other.name.clone(), covariance / (deviation(block)? * deviation(other)?)))
        };
        Share {
            term: block.name.clone(),
            weights: block.width,
            scale: scales.get(k).copied(),
            deviation: block.unit.and_then(|_| deviation(block)),
            correlations: blocks[..k].iter().filter(is_mixed).filter_map(correlation).collect(),
            shares: of_each.iter().map(|shares| shares[k]).collect(),
        }
    };
    blocks.iter().enumerate().map(share).collect()
}
