//! The eight posteriors: data and reference from the project's copy.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use vi_boost::transform::Constrained;

use super::garch::Garch;
use super::nested::{self, Nested};
use super::poisson_process::PoissonProcess;
use super::predator::Predator;
use super::regression::{Prior, Regression};
use super::schools::Schools;
use super::{Free, Model};
use crate::BenchError;

/// A posterior with its reference.
pub struct Case {
    /// A short name.
    pub name: &'static str,
    /// The density of the free coordinates.
    pub target: Free,
    /// Names of the reference's quantities.
    pub names: Vec<String>,
    /// Their standard deviations.
    pub sd: Vec<f64>,
    /// 400 quantiles of each, at `(k + ½)/400`.
    pub quantiles: Vec<Vec<f64>>,
    /// Whether the posterior is nearly Gaussian in its free coordinates: one Gaussian should do.
    pub near_gaussian: bool,
    /// The same posterior as a latent Gaussian one, where it is.
    pub nested: Option<Nested>,
}

#[derive(Deserialize)]
struct Reference {
    names: Vec<String>,
    sd: Vec<f64>,
    quantiles: Vec<Vec<f64>>,
}

const REFERENCE: &str = include_str!("../../data/posteriordb/reference.json");

/// The data file of a posterior.
macro_rules! data {
    ($name:literal) => {
        parsed(include_str!(concat!("../../data/posteriordb/", $name, ".json")))?
    };
}

fn parsed<T: DeserializeOwned>(json: &str) -> Result<T, BenchError> {
    Ok(serde_json::from_str(json)?)
}

/// All eight, in the order of the table.
///
/// # Errors
/// [`BenchError::Json`] for a file that is not what it should be.
pub fn cases() -> Result<Vec<Case>, BenchError> {
    let references: BTreeMap<String, Reference> = parsed(REFERENCE)?;
    let near = true;
    let all: Vec<(&'static str, &str, Box<dyn Model>, bool)> = vec![
        ("arK", "arK-arK", Box::new(autoregression()?), near),
        ("garch11", "garch-garch11", Box::new(garch()?), !near),
        ("eight_schools", "eight_schools-eight_schools_noncentered", Box::new(schools()?), !near),
        ("kidscore", "kidiq-kidscore_interaction", Box::new(kidscore()?), near),
        ("nes1980", "nes1980-nes", Box::new(election()?), near),
        ("mesquite", "mesquite-mesquite", Box::new(mesquite()?), near),
        ("gp_pois", "gp_pois_regr-gp_pois_regr", Box::new(process()?), !near),
        ("lotka_volterra", "hudson_lynx_hare-lotka_volterra", Box::new(predator()?), near),
    ];
    let mut cases = Vec::new();
    for (name, key, model, near_gaussian) in all {
        let Some(reference) = references.get(key) else { return Err(BenchError::Missing { what: key.to_owned() }) };
        let target = Constrained::new(model.parameters()?, model)?;
        let Reference { names, sd, quantiles } = reference;
        let (names, sd, quantiles) = (names.clone(), sd.clone(), quantiles.clone());
        let nested = match name {
            "eight_schools" => {
                let Schools { y, sigma } = schools()?;
                Some(nested::schools(y, sigma)?)
            }
            "gp_pois" => {
                let (x, k) = counts()?;
                Some(nested::process(&x, k)?)
            }
            _ => None,
        };
        cases.push(Case { name, target, names, sd, quantiles, near_gaussian, nested });
    }
    Ok(cases)
}

fn autoregression() -> Result<Regression, BenchError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    struct Data {
        k: usize,
        #[serde(rename = "y")]
        y: Vec<f64>,
    }
    let Data { k, y }: Data = data!("arK-arK");
    let rows = (k..y.len()).map(|t| (std::iter::once(1.0).chain((1..=k).map(|lag| y[t - lag])).collect(), y[t]));
    Ok(Regression::new(rows, Prior { coefficient_sd: Some(10.0), noise_scale: Some(2.5) }, 1))
}

fn garch() -> Result<Garch, BenchError> {
    #[derive(Deserialize)]
    struct Data {
        y: Vec<f64>,
        sigma1: f64,
    }
    let Data { y, sigma1 } = data!("garch-garch11");
    Ok(Garch { y, sigma1 })
}

fn schools() -> Result<Schools, BenchError> {
    #[derive(Deserialize)]
    struct Data {
        y: Vec<f64>,
        sigma: Vec<f64>,
    }
    let Data { y, sigma } = data!("eight_schools-eight_schools_noncentered");
    Ok(Schools { y, sigma })
}

fn kidscore() -> Result<Regression, BenchError> {
    #[derive(Deserialize)]
    struct Data {
        kid_score: Vec<f64>,
        mom_iq: Vec<f64>,
        mom_hs: Vec<f64>,
    }
    let Data { kid_score, mom_iq, mom_hs } = data!("kidiq-kidscore_interaction");
    let rows = (0..kid_score.len()).map(|i| (vec![1.0, mom_hs[i], mom_iq[i], mom_hs[i] * mom_iq[i]], kid_score[i]));
    Ok(Regression::new(rows, Prior { coefficient_sd: None, noise_scale: Some(2.5) }, 0))
}

fn election() -> Result<Regression, BenchError> {
    #[derive(Deserialize)]
    struct Data {
        partyid7: Vec<f64>,
        real_ideo: Vec<f64>,
        race_adj: Vec<f64>,
        educ1: Vec<f64>,
        gender: Vec<f64>,
        income: Vec<f64>,
        age_discrete: Vec<i64>,
    }
    let d: Data = data!("nes1980-nes");
    let age = |i: usize, group: i64| if d.age_discrete[i] == group { 1.0 } else { 0.0 };
    let rows = (0..d.partyid7.len()).map(|i| {
        let ages = [age(i, 2), age(i, 3), age(i, 4)];
        let row = [1.0, d.real_ideo[i], d.race_adj[i]].into_iter().chain(ages);
        (row.chain([d.educ1[i], d.gender[i], d.income[i]]).collect(), d.partyid7[i])
    });
    Ok(Regression::new(rows, Prior { coefficient_sd: None, noise_scale: None }, 0))
}

fn mesquite() -> Result<Regression, BenchError> {
    #[derive(Deserialize)]
    struct Data {
        weight: Vec<f64>,
        diam1: Vec<f64>,
        diam2: Vec<f64>,
        canopy_height: Vec<f64>,
        total_height: Vec<f64>,
        density: Vec<f64>,
        group: Vec<f64>,
    }
    let d: Data = data!("mesquite-mesquite");
    let rows = (0..d.weight.len()).map(|i| {
        let row = vec![1.0, d.diam1[i], d.diam2[i], d.canopy_height[i], d.total_height[i], d.density[i], d.group[i]];
        (row, d.weight[i])
    });
    Ok(Regression::new(rows, Prior { coefficient_sd: None, noise_scale: None }, 0))
}

fn process() -> Result<PoissonProcess, BenchError> {
    let (x, k) = counts()?;
    Ok(PoissonProcess::new(&x, k))
}

fn counts() -> Result<(Vec<f64>, Vec<f64>), BenchError> {
    #[derive(Deserialize)]
    struct Data {
        x: Vec<f64>,
        k: Vec<f64>,
    }
    let Data { x, k } = data!("gp_pois_regr-gp_pois_regr");
    Ok((x, k))
}

fn predator() -> Result<Predator, BenchError> {
    #[derive(Deserialize)]
    struct Data {
        ts: Vec<f64>,
        y_init: [f64; 2],
        y: Vec<[f64; 2]>,
    }
    let Data { ts, y_init, y } = data!("hudson_lynx_hare-lotka_volterra");
    Ok(Predator { times: ts, first: y_init, later: y })
}
