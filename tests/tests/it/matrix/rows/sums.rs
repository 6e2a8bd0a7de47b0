//! Folds of sums, and what is asked of them.

use vi_sums::{
    At, Family, GlmPrior, LinearPosterior, LinearPrior, LinearSlice, LinearSums, OnePass, PassSums, Posterior,
    Predictor,
};

use super::{Entries, Input, Takes, nothing};

fn bytes(flat: &[f64]) -> Vec<u8> {
    flat.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(super) fn ask(entries: &mut Entries) {
    linear(entries);
    passes(entries);
    let mut fold = LinearPosterior::new(2, LinearPrior::default()).unwrap();
    let good = Input::good();
    good.x.chunks(2).zip(&good.y).for_each(|(x, y)| fold.sums_mut().update(x, *y).unwrap());
    let linear = Predictor::new(&Posterior::from(fold)).unwrap();
    let counts = OnePass::new(Family::Poisson, GlmPrior::default(), 2).unwrap().posterior().unwrap();
    let counts = Predictor::new(&Posterior::from(counts)).unwrap();
    for (name, predictor) in [("linear", linear), ("counts", counts)] {
        entries.ask(
            &format!("Predictor::predict, {name}"),
            Takes::OneInput,
            (&predictor, 0.0),
            nothing,
            |own, input| own.predict(input.row(), 0.9),
        );
    }
}

fn linear(entries: &mut Entries) {
    let mut sums = LinearSums::new(2).unwrap();
    sums.update(Input::good().row(), Input::good().label()).unwrap();
    let shown = |sums: &LinearSums| bytes(sums.flat());
    entries.ask("LinearSums::update", Takes::RowOfNumber, (&sums, 0.0), shown, |sums, input| {
        sums.update(input.row(), input.label())
    });
    entries.ask("LinearSums::retract", Takes::RowOfNumber, (&sums, 0.0), shown, |sums, input| {
        sums.retract(input.row(), input.label())
    });
    entries.ask("LinearSums::update_columns", Takes::BatchOfNumbers, (&sums, 0.0), shown, |sums, input| {
        let columns = input.columns();
        sums.update_columns(&columns.iter().map(Vec::as_slice).collect::<Vec<_>>(), &input.y)
    });
    let memory = sums.flat().to_vec();
    let shown = |memory: &Vec<f64>| bytes(memory);
    entries.ask("LinearSlice::update", Takes::RowOfNumber, (&memory, 0.0), shown, |memory, input| {
        LinearSlice::new(2, memory)?.update(input.row(), input.label())
    });
    entries.ask("LinearSlice::update_rows", Takes::BatchOfNumbers, (&memory, 0.0), shown, |memory, input| {
        LinearSlice::new(2, memory)?.update_rows(&input.x, &input.y)
    });
}

fn passes(entries: &mut Entries) {
    for (family, outside) in [(Family::Logistic, 2.0), (Family::Poisson, -1.0)] {
        let fold = OnePass::new(family, GlmPrior::default(), 2).unwrap();
        let name = family.name();
        let shown = |fold: &OnePass| bytes(fold.posterior().unwrap().flat());
        entries.ask(&format!("OnePass::update, {name}"), Takes::Row, (&fold, outside), shown, |fold, input| {
            fold.update(input.row(), input.label())
        });
        let at = At::belief(family, GlmPrior::default(), fold.belief()).unwrap();
        let sums = PassSums::new(&at);
        let shown = |sums: &PassSums| bytes(sums.flat());
        entries.ask(
            &format!("PassSums::update_columns, {name}"),
            Takes::Batch,
            (&sums, outside),
            shown,
            |sums, input| {
                let columns = input.columns();
                sums.update_columns(&at, &columns.iter().map(Vec::as_slice).collect::<Vec<_>>(), &input.y)
            },
        );
        entries.ask(&format!("PassSums::update_rows, {name}"), Takes::Batch, (&sums, outside), shown, |sums, input| {
            sums.update_rows(&at, &input.x, &input.y)
        });
    }
}
