//! A network on handwritten digits, held against softmax regression on the same rows.

use super::inputs::generator;
use super::network::{Linear, Network, Score, Shape, held_out, learn, prequential, rows};
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{BLUE, Dash, ORANGE, Style};
use crate::plot::{Axis, Panel};

pub(super) const SHAPE: Shape = Shape { inputs: 64, units: 20, classes: 10, scale: 2.0, rank: 20, draws: 2 };
/// Prior deviation of the weights of softmax regression.
pub(super) const SIGMA0: f64 = 2.0;

/// One classifier: running means of the first pass, and scores on rows kept after one pass and after two.
pub(super) struct Course {
    pub(super) running: Vec<Score>,
    pub(super) once: Score,
    pub(super) twice: Option<Score>,
}

impl Course {
    pub(super) fn end(&self) -> Score {
        self.running.last().copied().unwrap_or(Score { accuracy: f64::NAN, log_loss: f64::NAN })
    }
}

/// The digits in one order.
pub(super) struct Digits {
    pub(super) rows: (usize, usize),
    pub(super) dim: usize,
    pub(super) network: Course,
    pub(super) linear: Course,
}

impl Digits {
    pub(super) fn new(ctx: &Context, k: usize) -> Result<Self, ReproError> {
        let mut rng = generator(ctx.seed, k);
        let data = vi_data::digits().context("digits")?.shuffled(&mut rng);
        let (learnt, kept) = ctx.pick((700, 300), (200, 200));
        let (seen, unseen) = (rows(&data, 0, learnt), rows(&data, learnt, learnt + kept));
        let mut linear = Linear::new(SHAPE.inputs, SHAPE.classes, SIGMA0)?;
        let running = prequential(&mut linear, &seen)?;
        let linear = Course { running, once: held_out(&mut linear, &unseen)?, twice: None };
        ctx.step("softmax regression");
        let mut network = Network::new(SHAPE, rng)?;
        let running = prequential(&mut network, &seen)?;
        let once = held_out(&mut network, &unseen)?;
        ctx.step("network, one pass");
        learn(&mut network, &seen)?;
        let twice = Some(held_out(&mut network, &unseen)?);
        ctx.step("network, another pass");
        Ok(Self { rows: (learnt, kept), dim: network.dim(), network: Course { running, once, twice }, linear })
    }

    /// Running means over the rows, and the scores on rows kept.
    pub(super) fn panels(&self) -> Vec<Panel> {
        let one = |title: &str, label: &str, of: fn(&Score) -> f64| {
            let mut panel = Panel::new(title, Axis::linear("observations"), Axis::linear(label));
            let courses = [("network", &self.network, BLUE), ("softmax regression", &self.linear, ORANGE)];
            for (name, course, colour) in courses {
                let (t, values): (Vec<f64>, Vec<f64>) = course
                    .running
                    .iter()
                    .enumerate()
                    .filter(|(t, _)| (t + 1) % 10 == 0)
                    .map(|(t, score)| ((t + 1) as f64, of(score)))
                    .unzip();
                let style = Style::solid(colour);
                let thin = style.width(1.4);
                panel = panel.line(&t, &values, style, &format!("{name}, predicted before learning")).horizontal(
                    of(&course.once),
                    thin.dash(Dash::Dashed),
                    &format!("{name}, rows kept, one pass"),
                );
                if let Some(twice) = &course.twice {
                    let label = format!("{name}, rows kept, two passes");
                    panel = panel.horizontal(of(twice), thin.dash(Dash::Dotted), &label);
                }
            }
            panel
        };
        vec![
            one("Digits: share right, running mean", "accuracy", |s| s.accuracy),
            one("Digits: log loss, running mean", "log loss (nats)", |s| s.log_loss),
        ]
    }
}
