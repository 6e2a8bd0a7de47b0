//! Which data each cell draws, and how often.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::models::Model;
use super::{Effort, Tally};

/// Rows after which intervals are asked for.
const ROWS: [usize; 4] = [20, 100, 500, 2000];

/// Numbers of inputs.
const INPUTS: [usize; 4] = [3, 10, 30, 100];

/// New rows at which the predictor is asked for.
pub(super) const NEW_ROWS: usize = 10;

/// Counts beyond `e^(6·3)` are no counts: the predictor's standard deviation at most.
const WIDEST_COUNTS: f64 = 2.0;

/// How the true weights come about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Truth {
    /// `N(0, s²)`.
    Scale(f64),
    /// `N(0, s²)`, `log s` uniform between the logarithms of 0.05 and 5.
    Drawn,
    /// `1, −½, ⅓, −¼, …`.
    Fixed,
}

impl Truth {
    pub(super) const ALL: [Self; 5] = [Self::Scale(0.1), Self::Scale(0.5), Self::Scale(2.5), Self::Drawn, Self::Fixed];

    pub(super) fn name(self) -> String {
        match self {
            Self::Scale(s) => format!("s{s}"),
            Self::Drawn => "drawn".to_owned(),
            Self::Fixed => "fixed".to_owned(),
        }
    }

    /// The largest standard deviation of a predictor of `d` inputs that is to be expected.
    fn spread(self, d: usize) -> f64 {
        match self {
            Self::Scale(s) => s * (d as f64).sqrt(),
            Self::Drawn => 5.0 * (d as f64).sqrt(),
            Self::Fixed => 1.3,
        }
    }

    pub(super) fn weights<R: Rng>(self, d: usize, rng: &mut R) -> Vec<f64> {
        let mut normals = |s: f64| (0..d).map(|_| s * rng.sample::<f64, _>(StandardNormal)).collect();
        match self {
            Self::Scale(s) => normals(s),
            Self::Drawn => {
                let (low, high) = (0.05_f64.ln(), 5.0_f64.ln());
                let u: f64 = rng.random();
                let s = (low + (high - low) * u).exp();
                (0..d).map(|_| s * rng.sample::<f64, _>(StandardNormal)).collect()
            }
            Self::Fixed => (0..d).map(|j| if j % 2 == 0 { 1.0 } else { -1.0 } / (j + 1) as f64).collect(),
        }
    }
}

/// One model on data of one make.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    pub(super) model: Model,
    pub(super) inputs: usize,
    pub(super) rows: usize,
    pub(super) truth: Truth,
    replications: usize,
}

impl Cell {
    pub(super) fn name(&self) -> String {
        format!("{}/d{}/n{}/{}", self.model.name(), self.inputs, self.rows, self.truth.name())
    }

    /// All replications, on as many threads as there are processors; the figures are those of one.
    pub(super) fn measure(&self) -> Tally {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(self.replications);
        let parts: Vec<Tally> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || self.part(first, threads))).collect();
            workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
        });
        let mut tally = Tally::default();
        for part in parts {
            tally.join(part);
        }
        tally
    }

    /// Replications `first`, `first + step`, ….
    fn part(&self, first: usize, step: usize) -> Tally {
        let mut tally = Tally::default();
        for replication in (first..self.replications).step_by(step) {
            // The same data for every model of a kind of label.
            let seed = 1_000_003 * replication as u64 + 1009 * self.inputs as u64 + self.rows as u64;
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            match self.model.replicate(self, &mut rng) {
                Ok(places) => {
                    tally.weights.add(&places.weights);
                    tally.predictors.add(&places.predictors);
                    tally.labels.add(&places.labels);
                }
                Err(_) => tally.failed += 1,
            }
        }
        tally
    }
}

/// Every cell that ends in minutes, the small ones first. Counts leave out truths whose labels no count reaches.
pub(super) fn cells(effort: Effort) -> Vec<Cell> {
    let (most_inputs, most_rows) = if effort == Effort::Quick { (10, 100) } else { (100, 2000) };
    let mut cells = Vec::new();
    for inputs in INPUTS.into_iter().filter(|&d| d <= most_inputs) {
        for model in Model::ALL {
            for rows in ROWS.into_iter().filter(|&n| n <= most_rows) {
                for truth in Truth::ALL {
                    if model.counts() && truth.spread(inputs) > WIDEST_COUNTS || !model.affords(inputs, rows) {
                        continue;
                    }
                    let asked = match effort {
                        Effort::Quick => 40,
                        Effort::Full => 400,
                        Effort::Replications(replications) => replications,
                    };
                    // The weights of one replication are as many tries.
                    let replications = (asked * 10 / inputs.max(10)).max(2);
                    cells.push(Cell { model, inputs, rows, truth, replications });
                }
            }
        }
    }
    cells
}
