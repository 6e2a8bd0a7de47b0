//! What each column, and columns together, add to the prediction of a row.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use vi_core::Row;
use vi_models::online::{Model, Observation};
use vi_models::{Marginal, ModelError};

use crate::TermsError;
use crate::table::document::Document;
use crate::table::learn::Reader;
use crate::table::source::{Columns, Record};
use crate::told::Origin;

/// What a row's linear predictor is made of: `η = η̄ + Σ_k c_k`.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The linear predictor `η̄` of the average row, which has the mean of every input over a sample of the first rows (of a model of lines the
    /// mean of each number and the base of each text).
    pub base: Marginal,
    /// The parts in which the row differs from the average row, by their places among the [names](Explainer::names), each with its contribution
    /// `c_k = Σ_{j ∈ k} (x_j − x̄_j)·w_j`; correlated effects of a group are `w_j` at the means of their inputs.
    pub parts: Vec<(usize, Marginal)>,
    /// The linear predictor `η`: the target, its logarithm or log odds where the model is of these, the logarithm of its mean, the log odds of the second of two classes, or of any class
    /// above the lowest where they have an order.
    pub predictor: Marginal,
}

/// Explains the predictions of a model of one predictor: the inputs of a column, its curve and its levels are one part, those that two columns make
/// together another.
pub struct Explainer<'a> {
    document: &'a Document,
    reader: Reader<'a>,
    names: Vec<String>,
    /// The inputs of each part, and the part of each input.
    inputs: Vec<Vec<usize>>,
    part_of: Vec<usize>,
    means: Vec<f64>,
    base: Marginal,
    /// Of a model with terms the effect that is told of each input: places of weights, and their multiples.
    told: Option<Vec<Vec<(usize, f64)>>>,
    /// `x − x̄` of the last row, by which what is told is multiplied.
    from_mean: Vec<f64>,
    /// The last row and its group, where the model keeps the effects of groups by themselves: these are the last part.
    grouped: Option<(Vec<f64>, u64)>,
}

impl Explainer<'_> {
    /// The name of each part: a column, or columns with ` × ` between them.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The explanation of a row, whose target need not be known; errors name `row`. Cost `O(d²)` for a full covariance of `d` weights.
    ///
    /// # Errors
    /// [`TermsError::Field`] for a field of the wrong type, [`TermsError::Row`] for a row that the model refuses.
    pub fn explain(&mut self, record: &Record, row: u64) -> Result<Explanation, TermsError> {
        let at = self.reader.observed(self.document.groups.as_ref(), record, 0.0.into());
        let field = self.reader.group(record);
        let inputs = self.reader.row(&self.document.means, record, row)?;
        self.grouped = self.document.groups.as_ref().zip(field).map(|(groups, field)| {
            let mut dense = vec![0.0; self.means.len()];
            inputs.for_each(|j, x| dense[j] = x);
            (dense, groups.key(field))
        });
        self.from_mean.clear();
        self.from_mean.extend(self.means.iter().map(|mean| -mean));
        inputs.for_each(|j, x| self.from_mean[j] += x);
        if let Some(terms) = &self.document.schema.shape {
            terms.unmix(&mut self.from_mean);
        }
        let predictor = one_predictor(self.document, inputs, at);
        let refused = |source| self.reader.refused(row, source);
        let differs = (0..self.means.len()).filter(|j| self.from_mean[*j] != 0.0);
        let mut parts: BTreeSet<usize> = differs.map(|j| self.part_of[j]).collect();
        parts.extend(self.grouped.as_ref().map(|_| self.inputs.len()));
        let parts = parts.into_iter().map(|part| Ok((part, self.together(&[part])?))).collect::<Result<_, _>>();
        let (parts, predictor) = (parts.map_err(refused)?, predictor.map_err(refused)?);
        Ok(Explanation { base: self.base.clone(), parts, predictor })
    }

    /// The contribution of several parts together to the row explained last. Parts are correlated: variances do not add up.
    ///
    /// # Errors
    /// Those of the model.
    pub fn together(&self, parts: &[usize]) -> Result<Marginal, ModelError> {
        let own = parts.iter().filter_map(|&part| self.inputs.get(part));
        let inputs: BTreeSet<usize> = own.flatten().copied().collect();
        let mut weights = BTreeMap::new();
        for j in inputs {
            let x = self.from_mean.get(j).copied().unwrap_or(0.0);
            let own = [(j, 1.0)];
            let told = self.told.as_ref().map_or(&own[..], |told| &told[j]);
            for (place, by) in told.iter().filter(|_| x != 0.0) {
                *weights.entry(*place).or_insert(0.0) += by * x;
            }
        }
        let (positions, values): (Vec<usize>, Vec<f64>) = weights.into_iter().unzip();
        let c = Row::Sparse { positions: &positions, values: &values };
        match (&self.document.model, self.grouped.as_ref().filter(|_| parts.contains(&self.inputs.len()))) {
            (Model::Grouped(model), Some((row, group))) => model.contribution(c, Some((Row::Dense(row), *group))),
            (model, _) => model.combination(c),
        }
    }
}

fn one_predictor(document: &Document, row: Row<'_>, at: Observation) -> Result<Marginal, ModelError> {
    let mut all = document.model.predictors(row, at)?;
    match all.len() {
        1 => Ok(all.remove(0)),
        _ => Err(ModelError::Unsupported { what: "the explanation of predictions of more than two classes" }),
    }
}

impl Document {
    /// What explains predictions at rows with these columns.
    ///
    /// # Errors
    /// [`TermsError::Column`] for a column of the model that is not there; [`TermsError::Model`] with `Unsupported` for more than two classes.
    pub fn explainer(&self, columns: &Columns) -> Result<Explainer<'_>, TermsError> {
        let reader = Reader::of(&self.schema, self, columns)?;
        let means = self.schema.means()?;
        let told = self.schema.shape.as_ref().map(|terms| terms.told(Origin::Mean));
        let base = one_predictor(self, Row::Dense(&means), Observation::new(0.0))?;
        let (mut names, mut inputs, mut part_of) = (Vec::new(), Vec::new(), Vec::with_capacity(means.len()));
        let mut known = HashMap::new();
        for (input, sources) in self.schema.sources().into_iter().enumerate() {
            let part = *known.entry(sources).or_insert_with_key(|sources| {
                names.push(sources.join(" × "));
                inputs.push(Vec::new());
                names.len() - 1
            });
            inputs[part].push(input);
            part_of.push(part);
        }
        names.extend(self.groups.iter().map(|groups| groups.column.clone()));
        let (from_mean, grouped) = (Vec::new(), None);
        Ok(Explainer { document: self, reader, names, inputs, part_of, means, base, told, from_mean, grouped })
    }
}
