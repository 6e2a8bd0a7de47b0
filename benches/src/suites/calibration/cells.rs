//! Which data each cell draws, and how often.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::exact::Exact;
use super::models::Model;
use super::worlds::{World, settings_of_nobody};
use super::{Effort, Tally};

/// Rows after which intervals are asked for.
const ROWS: [usize; 4] = [20, 100, 500, 2000];

/// Numbers of inputs.
const INPUTS: [usize; 4] = [3, 10, 30, 100];

/// Replications at least: below, a standard error is no figure.
const FEWEST: usize = 8;

/// New rows at which the predictor is asked for.
pub(super) const NEW_ROWS: usize = 20;

/// Counts beyond `e^(6·3)` are no counts: the predictor's standard deviation at most.
const WIDEST_COUNTS: f64 = 2.0;

/// Scales between which one is drawn.
const DRAWN: (f64, f64) = (0.05, 5.0);

/// The scale of weights under which classes all but never overlap.
const SEPARABLE: f64 = 8.0;

/// How the true weights come about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Truth {
    /// `N(0, s²)`.
    Scale(f64),
    /// `N(0, s²)`, `log s` uniform between the logarithms of 0.05 and 5; for counts, of what leaves the predictor a deviation of 2.
    Drawn,
    /// `1, −½, ⅓, −¼, …`.
    Fixed,
    /// `N(0, 8²)`: classes that all but never overlap.
    Separable,
    /// One weight in five is 1 or −1, the others are 0.
    Sparse,
    /// The first two weights oppose each other and leave the predictor a standard deviation of 0.6, the others are 0.
    Opposing,
    /// `N(0, ½²)` at first, and a step from `N(0, WALK²)` of each weight before every row; asked is what they are after the last.
    Drift,
}

/// Standard deviation of a weight's step in a world that drifts.
const WALK: f64 = 0.02;

impl Truth {
    /// The columns of the table of Gaussian inputs.
    pub(super) const ALL: [Self; 7] =
        [Self::Drawn, Self::Scale(0.1), Self::Scale(0.5), Self::Scale(2.5), Self::Fixed, Self::Separable, Self::Drift];

    /// Standard deviation of what is added to each weight before a row.
    pub(super) fn walk(self) -> f64 {
        if self == Self::Drift { WALK } else { 0.0 }
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Scale(s) => format!("s{s}"),
            Self::Drawn => "drawn".to_owned(),
            Self::Fixed => "fixed".to_owned(),
            Self::Separable => "separable".to_owned(),
            Self::Sparse => "sparse".to_owned(),
            Self::Opposing => "opposing".to_owned(),
            Self::Drift => "drift".to_owned(),
        }
    }

    /// As in the table.
    pub(super) fn heading(self) -> String {
        match self {
            Self::Scale(s) => format!("s = {s}"),
            other => other.name(),
        }
    }

    /// Standard deviation of a weight before the first row, one for all classes; `None` where it is drawn.
    fn scale(self) -> Option<f64> {
        match self {
            Self::Scale(s) => Some(s),
            Self::Drawn => None,
            Self::Fixed | Self::Sparse | Self::Opposing => Some(1.0),
            Self::Separable => Some(SEPARABLE),
            Self::Drift => Some(0.5),
        }
    }

    /// The largest standard deviation of a predictor of `d` inputs that is to be expected; of a drawn scale 0, which is as wide as counts allow.
    fn spread(self, d: usize) -> f64 {
        let Some(scale) = self.scale() else { return 0.0 };
        if self == Self::Fixed {
            return 1.3;
        }
        // After 2000 rows.
        let each = (scale * scale + 2000.0 * self.walk() * self.walk()).sqrt();
        each * (d as f64).sqrt()
    }
}

/// One model on data of one make.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    pub(super) model: Model,
    pub(super) inputs: usize,
    pub(super) rows: usize,
    pub(super) truth: Truth,
    pub(super) world: World,
    pub(super) replications: usize,
}

impl Cell {
    /// The standard deviation of the true weights before the first row, one for all classes.
    pub(super) fn scale<R: Rng>(&self, rng: &mut R) -> f64 {
        self.truth.scale().unwrap_or_else(|| {
            let widest = if self.model.counts() { WIDEST_COUNTS / (self.inputs as f64).sqrt() } else { DRAWN.1 };
            let (low, high) = (DRAWN.0.ln(), widest.ln());
            let u: f64 = rng.random();
            (low + (high - low) * u).exp()
        })
    }

    /// The true weights before the first row.
    pub(super) fn weights<R: Rng>(&self, scale: f64, rng: &mut R) -> Vec<f64> {
        let sign = |j: usize| if j.is_multiple_of(2) { 1.0 } else { -1.0 };
        let each: Box<dyn FnMut(usize) -> f64> = match self.truth {
            Truth::Fixed => Box::new(|j| sign(j) / (j + 1) as f64),
            Truth::Sparse => Box::new(|j| if j % 5 == 0 { sign(j) } else { 0.0 }),
            Truth::Opposing => Box::new(|j| if j < 2 { sign(j) * self.world.opposed() } else { 0.0 }),
            _ => Box::new(|_| scale * rng.sample::<f64, _>(StandardNormal)),
        };
        (0..self.inputs).map(each).enumerate().map(|(j, weight)| weight / self.world.unit(j, self.inputs)).collect()
    }

    pub(super) fn name(&self) -> String {
        let world = self.world.name().map_or_else(String::new, |world| format!("{world}/"));
        format!("{}/{world}d{}/n{}/{}", self.model.name(), self.inputs, self.rows, self.truth.name())
    }

    /// All replications, on as many threads as there are processors; the figures are those of one. What is known of the exact
    /// posterior is held against it.
    pub(super) fn measure(&self, exact: &Exact) -> Tally {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(self.replications);
        let parts: Vec<Tally> = std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..threads).map(|first| scope.spawn(move || self.part(first, threads, exact))).collect();
            workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
        });
        let mut tally = Tally::default();
        for part in parts {
            tally.join(part);
        }
        tally
    }

    /// Replications `first`, `first + step`, ….
    fn part(&self, first: usize, step: usize, exact: &Exact) -> Tally {
        let mut tally = Tally::default();
        for replication in (first..self.replications).step_by(step) {
            // The same data for every model of a kind of label.
            let seed = 1_000_003 * replication as u64 + 1009 * self.inputs as u64 + self.rows as u64;
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            match self.model.replicate(self, &mut rng) {
                Ok(places) => {
                    if let Some(held) = &places.held {
                        tally.compare(&places, held, exact.of(&self.name(), replication, held));
                    }
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
                    if model.counts() && truth.spread(inputs) > WIDEST_COUNTS
                        || !model.takes(truth)
                        || !model.affords(inputs, rows)
                    {
                        continue;
                    }
                    let replications = replications(effort, model, (inputs, rows));
                    cells.push(Cell { model, inputs, rows, truth, world: World::Gaussian, replications });
                }
            }
        }
    }
    for (model, world, (inputs, rows), truth) in settings_of_nobody() {
        if inputs <= most_inputs && rows <= most_rows || effort != Effort::Quick {
            let replications = replications(effort, model, (inputs, rows));
            cells.push(Cell { model, inputs, rows, truth, world, replications });
        }
    }
    cells
}

/// How often a cell is drawn: 400 times where a replication is cheap. The weights of one replication are as many tries, so the more inputs the
/// fewer; many rows cost what they tell; and a model whose fit takes several times as long is drawn as many times less, at the price of its
/// square root in standard errors.
fn replications(effort: Effort, model: Model, (inputs, rows): (usize, usize)) -> usize {
    let asked = match effort {
        Effort::Quick => 40,
        Effort::Full => 400,
        Effort::Replications(replications) => replications,
    };
    // Measured: these two made up two thirds of the suite's time.
    let dear = if matches!(model, Model::Softmax | Model::ByClass | Model::Probit) { 4 } else { 1 };
    (asked * 10 / inputs.max(10) * 500 / rows.max(500) / dear).max(FEWEST.min(asked))
}
