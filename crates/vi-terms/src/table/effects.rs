//! The terms of a model: the curve of each input, and the share of each block in the predictor.

use serde::Serialize;
use vi_core::Row;
use vi_models::online::Standardise;

use crate::TermsError;
use crate::table::document::Document;
use crate::table::scores::BANDS;

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
    let share = |(k, block): (usize, crate::Block)| Share {
        term: block.name,
        weights: block.width,
        scale: scales.get(k).copied(),
        deviation: block
            .unit
            .zip(scales.get(k))
            .filter(|_| own_scales)
            .map(|(of_block, scale)| of_block * scale * unit),
        shares: of_each.iter().map(|shares| shares[k]).collect(),
    };
    terms.blocks().into_iter().enumerate().map(share).collect()
}
