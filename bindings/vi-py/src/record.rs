//! Models as records of posteriors, which SQL and the command `rvi` read too.

use vi_models::online::Model;
use vi_sums::{Family, Posterior};

use crate::fault::Fault;

/// What a record says beside the model: means of the inputs (0 where it has none), and the numbers of the kind, shape and rate of the noise's prior or the size of
/// counts of more spread.
pub(crate) type Beside = (Vec<f64>, Vec<f64>);

/// # Errors
/// `ValueError` for what is no record, or a prior beyond those of a model.
pub(crate) fn read(record: &[u8], names: Vec<String>) -> Result<(Model, Beside), Fault> {
    let posterior = Posterior::decode(record)?;
    let model = posterior.to_model(names)?;
    let beside = match &posterior {
        Posterior::Linear(own) => {
            let means = own.sums().mean()[..posterior.inputs()].to_vec();
            (means, vec![own.prior().shape, own.prior().rate])
        }
        Posterior::Glm(own) => {
            let size = if let Family::NegativeBinomial(counts) = own.family() { Some(counts.size()) } else { None };
            (vec![0.0; posterior.inputs()], size.into_iter().collect())
        }
        // No model of one Gaussian: refused above.
        Posterior::Pool(_) => Beside::default(),
    };
    Ok((model, beside))
}

/// # Errors
/// `ValueError` for a model that does not hold one Gaussian in the units of its inputs.
pub(crate) fn write(model: &Model) -> Result<Vec<u8>, Fault> {
    Ok(Posterior::of_model(model)?.encode()?)
}
