//! What each column, and columns together, add to the prediction of a row.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use vi_core::Row;
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
    /// The linear predictor `η`: the target, its logarithm, the logarithm of its mean, or the log odds of the second of two classes.
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
        let inputs = self.reader.row(&self.document.means, record, row)?;
        self.from_mean.clear();
        self.from_mean.extend(self.means.iter().map(|mean| -mean));
        inputs.for_each(|j, x| self.from_mean[j] += x);
        if let Some(terms) = &self.document.schema.shape {
            terms.unmix(&mut self.from_mean);
        }
        let refused = |source| TermsError::Row { row, source };
        let predictor = one_predictor(self.document, inputs).map_err(refused)?;
        let differs = (0..self.means.len()).filter(|j| self.from_mean[*j] != 0.0);
        let parts: BTreeSet<usize> = differs.map(|j| self.part_of[j]).collect();
        let parts = parts.into_iter().map(|part| Ok((part, self.together(&[part])?))).collect::<Result<_, _>>();
        Ok(Explanation { base: self.base.clone(), parts: parts.map_err(refused)?, predictor })
    }

    /// The contribution of several parts together to the row explained last. Parts are correlated: variances do not add up.
    ///
    /// # Errors
    /// Those of the model.
    pub fn together(&self, parts: &[usize]) -> Result<Marginal, ModelError> {
        let inputs: BTreeSet<usize> = parts.iter().flat_map(|&part| &self.inputs[part]).copied().collect();
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
        self.document.model.combination(Row::Sparse { positions: &positions, values: &values })
    }
}

fn one_predictor(document: &Document, row: Row<'_>) -> Result<Marginal, ModelError> {
    let mut all = document.model.predictors(row, 0.0)?;
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
        let base = one_predictor(self, Row::Dense(&means))?;
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
        Ok(Explainer { document: self, reader, names, inputs, part_of, means, base, told, from_mean: Vec::new() })
    }
}
