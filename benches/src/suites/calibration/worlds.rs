//! Inputs, labels and orders of rows that no prior of the models allows for, as tables of people have them.

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal, StudentT};

use super::cells::{Cell, Truth};
use super::models::Model;

/// How rows and labels come about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum World {
    /// Inputs are independent and Gaussian, rows come at random.
    Gaussian,
    /// Inputs come in pairs, the two of a pair correlated by so much.
    Correlated(f64),
    /// All inputs but two are the levels of one text, a level `k` in proportion to `1/k²`.
    OneHot,
    /// One label in a hundred is 1.
    Rare,
    /// Rows are sorted by their label.
    Sorted,
    /// Rows come in blocks of 50 that are sorted by their label, the blocks at random.
    Blocks,
    /// The units of the inputs go from 1e-6 to 1e6.
    Units,
    /// Inputs have the tails of Student's t with two degrees of freedom.
    HeavyInputs,
    /// Labels have the noise of Student's t with two degrees of freedom.
    HeavyLabels,
    /// So many classes.
    Classes(usize),
}

/// Rows of a block.
const BLOCK: usize = 50;

/// Degrees of freedom of heavy tails.
const TAILS: f64 = 2.0;

/// The standard deviation that opposing weights leave the predictor.
const OPPOSED: f64 = 0.6;

impl World {
    /// As in records; none for the Gaussian one.
    pub(super) fn name(self) -> Option<String> {
        Some(match self {
            Self::Gaussian => return None,
            Self::Correlated(by) => format!("correlated{by}"),
            Self::OneHot => "one-hot".to_owned(),
            Self::Rare => "rare".to_owned(),
            Self::Sorted => "sorted".to_owned(),
            Self::Blocks => "blocks".to_owned(),
            Self::Units => "units".to_owned(),
            Self::HeavyInputs => "heavy-inputs".to_owned(),
            Self::HeavyLabels => "heavy-labels".to_owned(),
            Self::Classes(classes) => format!("classes{classes}"),
        })
    }

    pub(super) fn classes(self) -> usize {
        if let Self::Classes(classes) = self { classes } else { 3 }
    }

    /// What is added to every predictor.
    pub(super) fn shift(self) -> f64 {
        // With a predictor of standard deviation ½·√10 a mean probability of 1 %.
        if self == Self::Rare { -5.65 } else { 0.0 }
    }

    /// The unit of input `j` of `d`.
    pub(super) fn unit(self, j: usize, d: usize) -> f64 {
        if self == Self::Units { 10.0_f64.powf(12.0 * j as f64 / (d - 1) as f64 - 6.0) } else { 1.0 }
    }

    /// The size of two weights that oppose each other.
    pub(super) fn opposed(self) -> f64 {
        let by = if let Self::Correlated(by) = self { by } else { 0.0 };
        OPPOSED / (2.0 * (1.0 - by)).sqrt()
    }

    /// Writes one row.
    fn write<R: Rng>(self, row: &mut [f64], rng: &mut R) {
        for x in &mut *row {
            *x = rng.sample(StandardNormal);
        }
        let d = row.len();
        match self {
            Self::Correlated(by) => {
                for pair in row.chunks_exact_mut(2) {
                    pair[1] = by * pair[0] + (1.0 - by * by).sqrt() * pair[1];
                }
            }
            Self::OneHot => {
                let levels = &mut row[2..];
                let share = |k: usize| ((k + 1) as f64).powi(-2);
                let mut left = rng.random::<f64>() * (0..levels.len()).map(share).sum::<f64>();
                let level = (0..levels.len()).position(|k| {
                    left -= share(k);
                    left < 0.0
                });
                levels.fill(0.0);
                levels[level.unwrap_or(0)] = 1.0;
            }
            Self::HeavyInputs => {
                if let Ok(tails) = StudentT::new(TAILS) {
                    for x in &mut *row {
                        *x = tails.sample(rng);
                    }
                }
            }
            _ => row.iter_mut().enumerate().for_each(|(j, x)| *x *= self.unit(j, d)),
        }
    }

    /// Noise of the label of a linear model.
    pub(super) fn noise<R: Rng>(self, rng: &mut R) -> f64 {
        match StudentT::new(TAILS) {
            Ok(tails) if self == Self::HeavyLabels => tails.sample(rng),
            _ => rng.sample(StandardNormal),
        }
    }

    /// Whether rows come in an order.
    fn orders(self) -> bool {
        matches!(self, Self::Sorted | Self::Blocks)
    }

    /// Rows and labels in the order in which a model learns them.
    pub(super) fn ordered<R: Rng>(self, rows: &[f64], labels: &[f64], rng: &mut R) -> (Vec<f64>, Vec<f64>) {
        if !self.orders() {
            return (rows.to_vec(), labels.to_vec());
        }
        let d = rows.len() / labels.len();
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.sort_by(|&a, &b| labels[a].total_cmp(&labels[b]));
        if self == Self::Blocks {
            let mut blocks: Vec<&[usize]> = order.chunks(BLOCK).collect();
            blocks.shuffle(rng);
            order = blocks.concat();
        }
        (
            order.iter().flat_map(|&i| &rows[i * d..(i + 1) * d]).copied().collect(),
            order.iter().map(|&i| labels[i]).collect(),
        )
    }
}

impl Cell {
    /// So many rows, end to end.
    pub(super) fn rows_of<R: Rng>(&self, n: usize, rng: &mut R) -> Vec<f64> {
        let mut rows = vec![0.0; n * self.inputs];
        rows.chunks_mut(self.inputs).for_each(|row| self.world.write(row, rng));
        rows
    }
}

/// The settings that are nobody's prior: model, world, inputs and rows, truth.
pub(super) fn settings_of_nobody() -> Vec<(Model, World, (usize, usize), Truth)> {
    use Model::{ByClass, Linear, Logit, Poisson, Probit, Softmax};
    let half = Truth::Scale(0.5);
    let mut settings = Vec::new();
    for by in [0.7, 0.96, 0.995] {
        for rows in [500, 3000] {
            for truth in [Truth::Opposing, Truth::Sparse] {
                settings.push((Logit, World::Correlated(by), (20, rows), truth));
            }
        }
        settings.push((Softmax, World::Correlated(by), (10, 500), Truth::Opposing));
    }
    for rows in [500, 2000] {
        settings.extend([Logit, Poisson].map(|model| (model, World::OneHot, (22, rows), half)));
        settings.push((Logit, World::Rare, (10, rows), half));
    }
    for world in [World::Sorted, World::Blocks] {
        settings.extend([Logit, Probit, Poisson, Softmax].map(|model| (model, world, (10, 2000), half)));
    }
    settings.extend([Linear, Logit, Poisson].map(|model| (model, World::Units, (13, 500), half)));
    settings.extend([Linear, Logit].map(|model| (model, World::HeavyInputs, (10, 500), half)));
    settings.push((Linear, World::HeavyLabels, (10, 500), half));
    settings.push((Softmax, World::Classes(5), (10, 500), half));
    settings.push((Softmax, World::Classes(10), (10, 1000), half));
    settings.push((ByClass, World::Classes(5), (10, 500), half));
    settings.push((ByClass, World::Classes(10), (20, 1000), half));
    for d in [150, 300] {
        settings.extend([1000, 3000].map(|rows| (Logit, World::Gaussian, (d, rows), Truth::Scale(0.1))));
        settings.push((Poisson, World::Gaussian, (d, 1000), Truth::Scale(0.1)));
        settings.push((Linear, World::Gaussian, (d, 1000), Truth::Scale(0.1)));
    }
    settings
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn correlated_inputs_and_opposing_weights_are_what_they_say() {
        let world = World::Correlated(0.96);
        let cell = Cell { model: Model::Logit, inputs: 4, rows: 0, truth: Truth::Opposing, world, replications: 1 };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let rows = cell.rows_of(20_000, &mut rng);
        let theta = cell.weights(1.0, &mut rng);
        let mean = |of: &dyn Fn(&[f64]) -> f64| rows.chunks(4).map(of).sum::<f64>() / 20_000.0;
        // Standard errors of 20,000 rows: 0.007 and 0.5 % of the square.
        assert!((mean(&|x| x[0] * x[1]) - 0.96).abs() < 0.03 && mean(&|x| x[1] * x[2]).abs() < 0.03);
        let square = mean(&|x| x.iter().zip(&theta).map(|(x, w)| x * w).sum::<f64>().powi(2));
        assert!((square.sqrt() / OPPOSED - 1.0).abs() < 0.02, "{square}");
    }

    #[test]
    fn an_order_keeps_rows_with_their_labels() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let labels: Vec<f64> = (0..200).map(|i| f64::from(i % 2)).collect();
        let rows: Vec<f64> = labels.iter().flat_map(|y| [*y, -y]).collect();
        for world in [World::Sorted, World::Blocks] {
            let (rows, sorted) = world.ordered(&rows, &labels, &mut rng);
            assert!(rows.chunks(2).zip(&sorted).all(|(x, y)| x == [*y, -y]));
            assert!(sorted.chunks(BLOCK).all(|block| block.iter().all(|y| *y == block[0])));
            assert!(sorted != labels && sorted.iter().sum::<f64>() == 100.0);
        }
    }

    #[test]
    fn a_level_is_one_of_all() {
        let cell = Cell {
            model: Model::Logit,
            inputs: 22,
            rows: 0,
            truth: Truth::Fixed,
            world: World::OneHot,
            replications: 1,
        };
        let rows = cell.rows_of(500, &mut ChaCha8Rng::seed_from_u64(3));
        assert!(rows.chunks(22).all(|x| x[2..].iter().sum::<f64>() == 1.0));
    }
}
