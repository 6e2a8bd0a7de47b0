//! A network on two moons: what it predicts before learning, after one pass and after more.

use vi_data::Dataset;
use vi_data::synthetic::TwoMoonsSettings;

use super::inputs::generator;
use super::network::{Classifier, Linear, Network, Score, Shape, held_out, learn, rows};
use crate::error::{Doing as _, ReproError};
use crate::plot::palette::{BLACK, CLASS_0, CLASS_1, Style};
use crate::plot::{Axis, Grid, Panel, Ramp, linspace};

/// Rows learnt from, and rows kept to score on.
pub(super) const ROWS: (usize, usize) = (200, 500);
/// Passes after which the network is shown; 0 is the prior.
pub(super) const PASSES: [usize; 3] = [0, 1, 3];
pub(super) const SHAPE: Shape = Shape { inputs: 2, units: 16, classes: 2, scale: 5.0, rank: 20, draws: 10 };
const NOISE: f64 = 0.15;
/// Prior deviation of the weights of softmax regression.
pub(super) const SIGMA0: f64 = 2.0;
const LEVELS: [f64; 3] = [0.1, 0.5, 0.9];
const WINDOW: [(f64, f64); 2] = [(-1.8, 2.8), (-1.5, 2.0)];

/// One data set.
pub(super) struct Moons {
    data: Dataset,
    /// Scores on rows kept, at [`PASSES`].
    pub(super) network: Vec<Score>,
    /// Softmax regression after one pass.
    pub(super) linear: Score,
    /// `P(y = 1)` on a grid at [`PASSES`], if asked for.
    maps: Vec<Grid>,
    pub(super) dim: usize,
}

impl Moons {
    /// Data set `k`; `grid` points on each side of the maps, none for 0.
    pub(super) fn new(seed: u64, k: usize, grid: usize) -> Result<Self, ReproError> {
        let mut rng = generator(seed, k);
        let settings = TwoMoonsSettings { n: ROWS.0 + ROWS.1, noise_sd: NOISE };
        let data = settings.draw(&mut rng).context("data")?;
        let (seen, kept) = (rows(&data, 0, ROWS.0), rows(&data, ROWS.0, ROWS.0 + ROWS.1));
        let mut linear = Linear::new(2, 2, SIGMA0)?;
        learn(&mut linear, &seen)?;
        let linear = held_out(&mut linear, &kept)?;
        let mut network = Network::new(SHAPE, rng)?;
        let (mut scores, mut maps, mut passes) = (Vec::new(), Vec::new(), 0);
        for wanted in PASSES {
            while passes < wanted {
                learn(&mut network, &seen)?;
                passes += 1;
            }
            scores.push(held_out(&mut network, &kept)?);
            if grid > 0 {
                maps.push(map(&mut network, grid)?);
            }
        }
        let dim = network.dim();
        Ok(Self { data, network: scores, linear, maps, dim })
    }

    /// The maps with the rows learnt from.
    pub(super) fn panels(&self) -> Vec<Panel> {
        let class = |y: f64, i: usize| -> Vec<f64> {
            self.data.observations().take(ROWS.0).filter(|o| o.1 == y).map(|o| o.0[i]).collect()
        };
        let titles = ["before learning", "after one pass", "after three passes"];
        let all = titles.into_iter().zip(&self.maps).zip(&self.network);
        all.map(|((title, grid), score)| {
            let [x, y] = WINDOW;
            let title = format!("{title}: {:.1} % right", 100.0 * score.accuracy);
            Panel::new(title, Axis::linear("x₁").range(x.0, x.1), Axis::linear("x₂").range(y.0, y.1))
                .heat(grid, Ramp::PROBABILITY, (0.0, 1.0), true)
                .contours(grid, &LEVELS, Style::solid(BLACK).width(1.4), "P(y = 1) = 0.1, 0.5, 0.9")
                .points(&class(0.0, 0), &class(0.0, 1), CLASS_0, 2.6, "class 0")
                .points(&class(1.0, 0), &class(1.0, 1), CLASS_1, 2.8, "class 1")
        })
        .collect()
    }
}

fn map(network: &mut Network, n: usize) -> Result<Grid, ReproError> {
    let [x, y] = WINDOW;
    let (xs, ys) = (linspace(x.0, x.1, n), linspace(y.0, y.1, n));
    let points: Vec<[f64; 2]> = ys.iter().flat_map(|y| xs.iter().map(move |x| [*x, *y])).collect();
    let points: Vec<&[f64]> = points.iter().map(<[f64; 2]>::as_slice).collect();
    let ones = network.predict(&points)?.iter().map(|p| p[1]).collect();
    Ok(Grid::new(xs, ys, ones)?)
}
