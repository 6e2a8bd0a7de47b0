//! `rvi export`: what a stored model believes, as the record of a posterior.

use vi_models::online::{Model, PriorScale, Standardise};
use vi_sums::Posterior;

use crate::args::Export;
use crate::document::answering;
use crate::error::CliError;
use crate::files::whole_file;
use crate::report;

pub(super) fn export(args: &Export) -> Result<(), CliError> {
    let document = answering(&args.model)?;
    let refused = |what: String| CliError::Document { path: args.model.clone(), what };
    let inputs = document.schema.plain_numbers().map_err(|(input, why)| {
        refused(format!(
            "a record holds only plain columns of numbers: `{input}` {why}; write it as columns of numbers, or leave it out with `rvi fit --ignore`"
        ))
    })?;
    let settings = document.model.settings();
    let scaled = settings.standardise != Standardise::Never;
    if scaled || !matches!(settings.prior_scale, PriorScale::Given(_)) {
        let why = if scaled { "this model standardises its inputs" } else { "this model averages over prior scales" };
        return Err(refused(format!(
            "a record is one Gaussian in the units of the inputs, and {why}; `rvi fit --unscaled --prior SCALE` makes such a model"
        )));
    }
    if matches!(document.model, Model::Classes(_) | Model::Ordered(_)) {
        let what = "no record holds more than two classes; a record is for numbers, counts or two classes";
        return Err(refused(what.to_owned()));
    }
    if matches!(document.model, Model::Survival(_)) {
        let what = "no record holds times of events; a record is for numbers, counts or two classes";
        return Err(refused(what.to_owned()));
    }
    let told = |source| CliError::Posterior { path: args.model.clone(), source };
    let posterior = Posterior::of_model(&document.model).map_err(told)?;
    let record = posterior.encode().map_err(told)?;
    whole_file(&args.output, |out| out.write_all(&record).map_err(|error| CliError::file(&args.output, error)))?;
    report::exported(posterior.rows(), &inputs, args)
}
