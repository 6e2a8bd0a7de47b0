//! Models as records of posteriors, which SQL and the command `rvi` read too.

use vi_sums::{Family, Posterior};

use crate::fault::Fault;
use crate::model::Model;

/// What a record says beside the model: means of the inputs (0 where it has none), and the numbers of the kind, shape and rate of the noise's prior or the size of
/// counts of more spread.
pub(crate) type Beside = (Vec<f64>, Vec<f64>);

/// # Errors
/// `ValueError` for what is no record, or a prior beyond those of a model.
pub(crate) fn read(record: &[u8], names: Vec<String>) -> Result<(Model, Beside), Fault> {
    let posterior = Posterior::decode(record)?;
    let beside = match &posterior {
        Posterior::Linear(own) => {
            let means = own.sums().mean()[..posterior.inputs()].to_vec();
            (means, vec![own.prior().shape, own.prior().rate])
        }
        Posterior::Glm(own) => {
            let size = if let Family::NegativeBinomial(counts) = own.family() { Some(counts.size()) } else { None };
            (vec![0.0; posterior.inputs()], size.into_iter().collect())
        }
    };
    let model = match posterior.to_model(names)? {
        vi_sums::Model::Linear(model) => Model::Number(model),
        vi_sums::Model::Logistic(model) => Model::Two(model),
        vi_sums::Model::Probit(model) => Model::Probit(model),
        vi_sums::Model::Poisson(model) => Model::Count(model),
        vi_sums::Model::NegativeBinomial(model) => Model::Spread(model),
        _ => return Err(Fault::Value("a posterior of labels that no estimator has".to_owned())),
    };
    Ok((model, beside))
}

/// # Errors
/// `ValueError` for a model that does not hold one Gaussian in the units of its inputs.
pub(crate) fn write(model: &Model) -> Result<Vec<u8>, Fault> {
    let model = match model {
        Model::Number(model) => vi_sums::Model::Linear(model.clone()),
        Model::Two(model) => vi_sums::Model::Logistic(model.clone()),
        Model::Probit(model) => vi_sums::Model::Probit(model.clone()),
        Model::Count(model) => vi_sums::Model::Poisson(model.clone()),
        Model::Spread(model) => vi_sums::Model::NegativeBinomial(model.clone()),
        Model::Classes(_) | Model::Trials(_) | Model::LearnedSpread(_) => {
            return Err(Fault::Value(format!("there is no record of a model of the kind {}", model.name())));
        }
    };
    Ok(Posterior::of_model(&model)?.encode()?)
}
