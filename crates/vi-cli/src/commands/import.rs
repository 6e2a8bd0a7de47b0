//! `rvi import`: a stored model of the record of a posterior.

use std::fs;

use vi_models::online::Model;
use vi_sums::Posterior;
use vi_terms::TermsError;
use vi_terms::table::{Document, Schema, Target, TargetKind};

use crate::args::Import;
use crate::document::save;
use crate::error::CliError;
use crate::report;

pub(super) fn import(args: &Import) -> Result<(), CliError> {
    let told = |source| CliError::Posterior { path: args.record.clone(), source };
    let bytes = fs::read(&args.record).map_err(|error| CliError::file(&args.record, error))?;
    let posterior = Posterior::decode(&bytes).map_err(told)?;
    let wrong = |option, value: String, what: String| Err(TermsError::Option { option, value, what }.into());
    if args.columns.len() != posterior.inputs() {
        let what = format!(
            "{} has {} inputs, but there are {} names",
            args.record.display(),
            posterior.inputs(),
            args.columns.len()
        );
        return wrong("columns", args.columns.join(","), what);
    }
    if let Some((_, name)) = args.columns.iter().enumerate().find(|(j, name)| args.columns[..*j].contains(name)) {
        return wrong("columns", name.clone(), "the name occurs twice".to_owned());
    }
    if args.columns.contains(&args.target) {
        return wrong("columns", args.target.clone(), "it is the target (`--target` names another)".to_owned());
    }
    if args.classes.len() != 2 || args.classes[0] == args.classes[1] {
        return wrong("classes", args.classes.join(","), "two names are needed; the second is label 1".to_owned());
    }
    let (means, intercept, noise) = match &posterior {
        Posterior::Linear(own) => {
            let (prior, mean) = (own.prior(), own.sums().mean());
            (mean[..posterior.inputs()].to_vec(), prior.intercept, (prior.shape, prior.rate))
        }
        // The sums of these rows do not tell where the inputs lie.
        Posterior::Glm(own) => (vec![0.0; posterior.inputs()], own.prior().intercept, (1.0, 1.0)),
        // Refused by what follows.
        Posterior::Pool(_) => (vec![0.0; posterior.inputs()], 1.0, (1.0, 1.0)),
    };
    let schema = Schema::of_numbers(args.columns.iter().cloned().zip(means), intercept > 0.0);
    let model = posterior.to_model(schema.names()).map_err(told)?;
    let kind = match &model {
        Model::Number(_) => TargetKind::Number,
        Model::Count(_) => TargetKind::Count,
        Model::Two(_) => TargetKind::Classes(args.classes.clone()),
        _ => {
            let what = "`rvi` has models only for numbers, counts (Poisson) and two classes (logistic), not for the labels of this posterior";
            return Err(CliError::Document { path: args.record.clone(), what: what.to_owned() });
        }
    };
    let target = Target::new(&args.target, kind);
    let mut document = Document::new(target, schema, model, noise);
    document.imported = Some(posterior.rows());
    save(&document, &args.output)?;
    report::imported(&document, &args.output, &args.show)
}
