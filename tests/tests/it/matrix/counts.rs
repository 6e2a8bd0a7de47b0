//! Settings that count something, at 0 and at the largest number that the type allows.

use std::fmt::Debug;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_boost::gaussian::GaussianSettings;
use vi_boost::latent::LatentSettings;
use vi_boost::papers::{Printed, PrintedSettings};
use vi_boost::{BoostSettings, Component, Family, FitSettings, GaussianMixture, divergence, target};
use vi_core::batch::BatchSettings;
use vi_core::factor::EmSettings;
use vi_core::low_rank::SweepSettings;
use vi_core::papers::black_box::StepSettings;
use vi_models::laplace::LaplaceSettings;
use vi_models::online::{OnlineLogistic, OnlineSettings, RefineSettings, Standardise};
use vi_models::softmax::SoftmaxRefineSettings;
use vi_models::vb::{VbLinear, VbLinearSettings, VbLogit, VbLogitSettings, VbSettings};
use vi_revrand::SlmSettings;
use vi_sums::{GlmPrior, LinearSlice, LinearSums, OnePass};

use super::{Table, called};

const HEAD: [&str; 2] = ["0", "the largest"];

#[derive(Default)]
struct Entries(Vec<(String, Vec<Option<String>>)>);

impl Entries {
    /// What is said of 0 and of the largest count, which is always an error, while `good` is taken.
    fn ask<T, E: Debug>(&mut self, name: &str, good: usize, call: impl Fn(usize) -> Result<T, E>) {
        assert!(call(good).is_ok(), "{name}: {:?}", call(good).err());
        let cells: Vec<Option<String>> =
            [0, usize::MAX].into_iter().map(|count| call(count).err().map(|error| called(&error))).collect();
        assert!(cells[1].is_some(), "{name}: the largest is taken");
        self.0.push((name.to_owned(), cells));
    }
}

fn searches(entries: &mut Entries) {
    entries.ask("BatchSettings: max_passes", 9, |n| BatchSettings { max_passes: n, ..Default::default() }.check());
    entries.ask("EmSettings: max_iterations", 9, |n| EmSettings { max_iterations: n, ..Default::default() }.check());
    entries
        .ask("StepSettings: max_iterations", 9, |n| StepSettings { max_iterations: n, ..Default::default() }.check());
    entries.ask("RefineSettings: max_sweeps", 9, |n| RefineSettings { max_sweeps: n, ..Default::default() }.check());
    entries.ask("SweepSettings: max_sweeps", 9, |n| SweepSettings { max_sweeps: n, ..Default::default() }.check());
    entries.ask("SweepSettings: em_steps", 9, |n| SweepSettings { em_steps: n, ..Default::default() }.check());
    entries.ask("SweepSettings: max_mean_iterations", 9, |n| {
        SweepSettings { max_mean_iterations: n, ..Default::default() }.check()
    });
    entries.ask("SoftmaxRefineSettings: max_sweeps", 9, |n| {
        SoftmaxRefineSettings { max_sweeps: n, ..Default::default() }.check()
    });
    entries.ask("LaplaceSettings: max_iterations", 9, |n| {
        LaplaceSettings { max_iterations: n, ..Default::default() }.check()
    });
    entries.ask("VbSettings: max_iterations", 9, |n| VbSettings { max_iterations: n, ..Default::default() }.check());
    entries.ask("SlmSettings: starts", 9, |starts| SlmSettings { starts, ..Default::default() }.check());
    entries.ask("SlmSettings: max_iterations", 9, |n| SlmSettings { max_iterations: n, ..Default::default() }.check());
}

fn models(entries: &mut Entries) {
    let (x, y) = ([0.5, 1.2, -0.3, 2.2, -1.5, 0.1], [1.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    let rng = || ChaCha8Rng::seed_from_u64(1);
    let linear = VbLinear::fit(&x, 1, &y, &VbLinearSettings::default()).unwrap();
    entries.ask("VbLinear::samples: draws", 9, |draws| linear.samples(draws, &mut rng()));
    let logit = VbLogit::fit(&x, 1, &y, &VbLogitSettings::default()).unwrap();
    entries.ask("VbLogit::samples: draws", 9, |draws| logit.samples(draws, &mut rng()));
    let settings = OnlineSettings { keep_rows: true, ..OnlineSettings::default() };
    let mut kept = OnlineLogistic::with_settings(1, settings).unwrap();
    kept.update_batch(&x, &y).unwrap();
    entries.ask("OnlineLogistic::diagnose: draws", 50, |draws| kept.clone().diagnose(draws, &mut rng()));
    entries.ask("Standardise::FirstRows: rows", 9, |rows| {
        let standardise = Standardise::FirstRows { rows, centre: true };
        OnlineLogistic::with_settings(1, OnlineSettings { standardise, ..OnlineSettings::default() })
    });
    entries.ask("LinearSums::new: inputs", 2, LinearSums::new);
    entries.ask("LinearSlice::new: inputs", 1, |inputs| LinearSlice::new(inputs, &mut [0.0; 7]).map(drop));
    entries
        .ask("OnePass::new: inputs", 2, |inputs| OnePass::new(vi_sums::Family::Logistic, GlmPrior::default(), inputs));
}

fn mixtures(entries: &mut Entries) {
    let boost = BoostSettings::default;
    entries.ask("BoostSettings: components", 9, |components| BoostSettings { components, ..boost() }.check());
    entries.ask("BoostSettings: starts", 9, |starts| BoostSettings { starts, ..boost() }.check());
    entries.ask("BoostSettings: evaluations", 9, |evaluations| BoostSettings { evaluations, ..boost() }.check());
    entries.ask("BoostSettings: refit_evaluations", 9, |n| BoostSettings { refit_evaluations: n, ..boost() }.check());
    entries
        .ask("GaussianSettings: evaluations", 9, |n| GaussianSettings { evaluations: n, ..Default::default() }.check());
    entries.ask("FitSettings: starts", 9, |starts| FitSettings { starts, ..Default::default() }.check());
    entries.ask("FitSettings: rounds", 1, |rounds| FitSettings { rounds, ..Default::default() }.check());
    let latent = LatentSettings::default;
    entries.ask("LatentSettings: nodes", 99, |nodes| LatentSettings { nodes, ..latent() }.check());
    entries.ask("LatentSettings: draws", 9, |draws| LatentSettings { draws, ..latent() }.check());
    entries.ask("LatentSettings: sweeps", 9, |sweeps| LatentSettings { sweeps, ..latent() }.check());
    let rng = || ChaCha8Rng::seed_from_u64(1);
    let wide = || Component::isotropic(&[0.0], 3.0).unwrap();
    let cauchy = target::Cauchy::new(0.0, 2.0).unwrap();
    let small = || FitSettings { boost: BoostSettings { components: 2, ..boost() }, rounds: 0, ..Default::default() };
    let narrow = GaussianMixture::single(wide());
    entries.ask("vi_boost::fit: draws", 100, |draws| {
        vi_boost::fit(&narrow, &FitSettings { draws, ..small() }, &mut rng())
    });
    let fitted = vi_boost::fit(&narrow, &small(), &mut rng()).unwrap();
    entries.ask("Fit::resample: n", 25, |n| fitted.resample(&narrow, n, &mut rng()));
    entries.ask("Printed::new: samples", 9, |samples| {
        Printed::new(&cauchy, wide(), &PrintedSettings { samples, ..Default::default() }).map(drop)
    });
    entries.ask("Family::LowRank: rank", 1, |rank| {
        let settings = BoostSettings { family: Family::LowRank { rank }, ..boost() };
        vi_boost::Boost::new(&cauchy, &wide(), &settings, &mut rng()).map(drop)
    });
    entries.ask("divergence::random: draws", 9, |draws| divergence::random(&narrow, &cauchy, draws, &mut rng()));
    entries.ask("divergence::quasi: points", 16, |points| divergence::quasi(&narrow, &cauchy, points, 2, 1));
    entries.ask("divergence::quasi: replicates", 2, |n| divergence::quasi(&narrow, &cauchy, 16, n, 1));
}

pub(super) fn table() -> Table {
    let mut entries = Entries::default();
    searches(&mut entries);
    models(&mut entries);
    mixtures(&mut entries);
    let words = "Limits and sizes, at 0 and at the largest number of their type. An empty cell: the number is taken.";
    Table { title: "Counts", words, head: &HEAD, lines: entries.0 }
}
