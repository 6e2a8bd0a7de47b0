//! Streams: of the generator, and of real data in several orders with the reliability of predictions made on the way.

use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_data::{DataError, Dataset};
use vi_models::Interval;
use vi_models::metrics::{Binning, CalibrationBin, calibration_curve};

use crate::error::ReproError;
use crate::item::Context;
use crate::plot::palette::{Dash, GREY, PALE, Style};
use crate::plot::{Axis, Panel};

/// Level of all intervals.
pub(crate) const LEVEL: f64 = 0.95;

/// The generator of data set `k` of an item: its own stream, so that data sets do not depend on how many are drawn.
pub(crate) fn generator(seed: u64, k: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(k as u64);
    rng
}

/// A real data set: 683 breast tumours with an intercept, or 53 patients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Real {
    Tumours,
    Nodal,
}

impl Real {
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Tumours => {
                "683 breast tumours (Wolberg), nine cytological scores on [−1, 1] and an intercept; 1 is malignant."
            }
            Self::Nodal => {
                "Nodal involvement in 53 patients with prostate cancer (Brown 1980), five indicators and an intercept."
            }
        }
    }

    pub(crate) fn read(self) -> Result<Dataset, ReproError> {
        let read = || -> Result<Dataset, DataError> {
            match self {
                Self::Tumours => vi_data::breast_cancer()?.with_intercept(),
                Self::Nodal => vi_data::nodal(),
            }
        };
        read().map_err(|e| ReproError::computation(format!("{self:?} data"), &e))
    }

    /// `count` orders of the rows, the first that of the file; a longer list begins like a shorter one. Made once for all items.
    pub(crate) fn orders(self, ctx: &Context, count: usize) -> Result<Arc<Vec<Dataset>>, ReproError> {
        ctx.once(&format!("{count} orders of {self:?}"), || {
            let mut rng = ChaCha8Rng::seed_from_u64(ctx.seed);
            let mut orders = vec![self.read()?];
            while orders.len() < count {
                orders.push(orders[0].shuffled(&mut rng));
            }
            Ok(orders)
        })
    }
}

/// Reliability of the predictions `p` of the labels `y` over several orders together, with intervals for one order's worth of
/// them.
pub(crate) fn reliability(p: &[f64], y: &[f64], orders: usize) -> Result<Vec<CalibrationBin>, ReproError> {
    let fail = |e| ReproError::computation("reliability", &e);
    let mut bins = calibration_curve(p, y, Binning::EqualWidth(10), LEVEL).map_err(fail)?;
    for bin in &mut bins {
        let count = (bin.count as f64 / orders as f64).max(1.0).round();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
        let (ones, count) = ((bin.observed_frequency * count).round() as usize, count as usize);
        bin.interval = Interval::wilson(ones, count, LEVEL).map_err(fail)?;
    }
    Ok(bins)
}

/// Bins whose interval holds the mean prediction, and all.
pub(crate) fn reliable(bins: &[CalibrationBin]) -> (usize, usize) {
    (bins.iter().filter(|b| b.interval.contains(b.mean_predicted)).count(), bins.len())
}

/// Observed frequency over predicted probability.
pub(crate) fn reliability_panel(title: &str, bins: &[CalibrationBin], style: Style, label: &str) -> Panel {
    let total: f64 = bins.iter().map(|b| b.count as f64).sum();
    let pick = |f: &dyn Fn(&CalibrationBin) -> f64| bins.iter().map(f).collect::<Vec<f64>>();
    let (x, y) = (pick(&|b| b.mean_predicted), pick(&|b| b.observed_frequency));
    let (low, high) = (pick(&|b| b.interval.lower), pick(&|b| b.interval.upper));
    Panel::new(
        title,
        Axis::linear("predicted probability").range(0.0, 1.0),
        Axis::linear("observed frequency").range(0.0, 1.0),
    )
    .bars(
        &pick(&|b| b.range.lower),
        &pick(&|b| b.range.upper),
        &pick(&|b| b.count as f64 / total),
        PALE,
        1.0,
        "share of the predictions",
    )
    .line_marked(&[0.0, 1.0], &[0.0, 1.0], Style::solid(GREY).dash(Dash::Dotted), 0, "perfectly reliable")
    .spread(&x, &low, &high, Style::solid(style.colour).width(1.5), "")
    .line_marked(&x, &y, style, 1, label)
}
