//! Models of tables with named columns: those of the command `rvi`.

use std::cell::OnceCell;
use std::sync::Mutex;

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use vi_data::records::Record;
use vi_models::Marginal;
use vi_models::online::{BeliefKind, Observation};
use vi_terms::TermsError;
use vi_terms::table::summary::{body, card, head, progressive};
use vi_terms::table::{
    self, Columns, Document, Family, Input, Intervals, NOTHING, Options, RANK, Source, TargetKind, curves, parse_shape,
};

use crate::arrow::{Batches, TableRows};
use crate::fault::{Fault, freely, locked, threads};
use crate::rows::array;

/// The name of a table in memory among those that a model has learned.
const NAME: &str = "a table in memory";

/// A model with the columns that feed it, the very document of the command `rvi`.
#[pyclass(frozen, module = "rvi._rvi")]
pub(crate) struct Table {
    state: Mutex<State>,
}

struct State {
    /// As it is stored: its first rows perhaps still being gathered.
    document: Document,
    /// The same with these fitted together, which answers, from the first question on.
    answering: OnceCell<Document>,
}

impl State {
    fn new(document: Document) -> Self {
        Self { document, answering: OnceCell::new() }
    }

    /// # Errors
    /// A fit of the first rows that fails.
    fn answering(&self) -> Result<&Document, Fault> {
        if let Some(answering) = self.answering.get() {
            return Ok(answering);
        }
        if !self.document.model.is_behind() {
            return Ok(&self.document);
        }
        let mut own = self.document.clone();
        own.model.catch_up()?;
        Ok(self.answering.get_or_init(|| own))
    }
}

/// The values of a column.
enum Column {
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

#[pymethods]
impl Table {
    /// Learns a table that exports a C stream of Arrow.
    #[staticmethod]
    #[pyo3(signature = (
        table, target=None, *, shape=None, family="auto", formula=None, ignore=Vec::new(), text=Vec::new(), number=Vec::new(), classes=Vec::new(),
        levels=100, sniff=2000, forget=NOTHING, prior=Vec::new(), keep_order=false, skip_bad=false, features=None, ard=false, belief=None,
        refine=None, mergeable=false, unscaled=false, no_sample=false
    ))]
    #[expect(clippy::too_many_arguments, clippy::fn_params_excessive_bools, reason = "the options of the command")]
    fn fit(
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        target: Option<String>,
        shape: Option<&str>,
        family: &str,
        formula: Option<String>,
        ignore: Vec<String>,
        text: Vec<String>,
        number: Vec<String>,
        classes: Vec<String>,
        levels: u16,
        sniff: u32,
        forget: &str,
        prior: Vec<f64>,
        keep_order: bool,
        skip_bad: bool,
        features: Option<String>,
        ard: bool,
        belief: Option<&str>,
        refine: Option<u16>,
        mergeable: bool,
        unscaled: bool,
        no_sample: bool,
    ) -> PyResult<Self> {
        let beside = [("features", features.is_some()), ("ard", ard), ("unscaled", unscaled)];
        let both = |name: &str, other: &str| Fault::Value(format!("{name} and {other} cannot be given together"));
        if let Some((name, _)) = beside.into_iter().find(|(_, given)| *given && shape.is_some()) {
            return Err(both("shape", name).into());
        }
        if unscaled && (mergeable || ard) {
            return Err(both("unscaled", if ard { "ard" } else { "mergeable" }).into());
        }
        if unscaled && prior.is_empty() {
            return Err(Fault::Value("unscaled needs one number for prior".to_owned()).into());
        }
        let options = Options {
            target,
            family: Family::parse(family).map_err(Fault::from)?,
            formula,
            shape: shape.map(parse_shape).transpose().map_err(Fault::from)?,
            ignore,
            text,
            number,
            classes,
            levels,
            sniff,
            forget: forget.to_owned(),
            prior,
            features,
            ard,
            belief: belief.map(belief_of).transpose()?,
            mergeable,
            unscaled,
            no_sample,
            threads: threads(),
            ..Options::default()
        };
        let batches = Batches::of(table)?;
        let document = freely(py, || {
            let open = || batches.open(skip_bad);
            let mut document = table::fit(&options, &Input::in_memory(NAME, skip_bad), keep_order, open)?;
            if let Some(passes) = refine {
                table::check_refine(passes, true, &document)?;
                table::refine(&mut document, open, passes)?;
            }
            Ok(document)
        })?;
        Ok(Self::of(document))
    }

    /// Reads the bytes of a file of the command.
    #[staticmethod]
    fn of_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let document = freely(py, || Ok(Document::of_bytes(bytes)?))?;
        Ok(Self::of(document))
    }

    /// The text of the file.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |state| Ok(state.document.text()?))
    }

    /// Learns the rows of a further table, all or none; how many were skipped.
    #[pyo3(signature = (table, skip_bad=false))]
    fn update(&self, py: Python<'_>, table: &Bound<'_, PyAny>, skip_bad: bool) -> PyResult<u64> {
        let batches = Batches::of(table)?;
        freely(py, || {
            let mut state = locked(&self.state)?;
            let mut next = state.document.clone();
            let mut rows = batches.open(skip_bad)?;
            table::update(&mut next, &mut rows, &Input::in_memory(NAME, skip_bad))?;
            *state = State::new(next);
            Ok(rows.skipped)
        })
    }

    /// Learns what further models have learned, all or nothing.
    fn merge(&self, py: Python<'_>, others: Vec<Py<Self>>) -> PyResult<()> {
        freely(py, || {
            let named = |(k, other): (usize, &Py<Self>)| {
                Ok((format!("others[{k}]"), locked(&other.get().state)?.document.clone()))
            };
            let others = others.iter().enumerate().map(named).collect::<Result<Vec<_>, Fault>>()?;
            let mut state = locked(&self.state)?;
            let merged = table::merge(("model".to_owned(), state.document.clone()), &others)?;
            *state = State::new(merged);
            Ok(())
        })
    }

    /// The columns of `rvi predict`, by name, and how many texts no first row had.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'_, PyAny>,
        level: f64,
        certified: bool,
    ) -> PyResult<(Bound<'py, PyDict>, u64)> {
        let intervals = if certified { Intervals::Certified } else { Intervals::Own };
        let batches = Batches::of(table)?;
        let (names, columns, new) =
            self.look(py, |state| predicted(state.answering()?, &mut batches.open(false)?, (level, intervals)))?;
        let found = PyDict::new(py);
        for (name, column) in names.into_iter().zip(columns) {
            match column {
                Column::Texts(texts) => found.set_item(name, PyList::new(py, texts)?)?,
                Column::Numbers(numbers) => {
                    let n = numbers.len();
                    found.set_item(name, array(py, numbers, &[n])?)?;
                }
            }
        }
        Ok((found, new))
    }

    /// Names of the parts; mean and deviation of each at every row (`rows × parts`), of the average row, and of the predictor at every row.
    fn explain<'py>(&self, py: Python<'py>, table: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let batches = Batches::of(table)?;
        let (names, base, parts, predictors) = self.look(py, |state| {
            let mut rows = batches.open(false)?;
            let columns: Columns = rows.columns().clone();
            let (mut explainer, mut record) = (state.answering()?.explainer(&columns)?, Record::default());
            let names = explainer.names().to_vec();
            let (mut parts, mut predictors) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
            let mut base = None;
            while rows.next(&mut record)? {
                let found = explainer.explain(&record, rows.row())?;
                let first = parts[0].len();
                for (own, of) in parts.iter_mut().zip([Marginal::mean, Marginal::standard_deviation]) {
                    own.resize(first + names.len(), 0.0);
                    found.parts.iter().for_each(|(part, belief)| own[first + part] = of(belief));
                }
                predictors[0].push(found.predictor.mean());
                predictors[1].push(found.predictor.standard_deviation());
                base = Some((found.base.mean(), found.base.standard_deviation()));
            }
            Ok((names, base, parts, predictors))
        })?;
        let (n, width) = (predictors[0].len(), names.len());
        let explained = PyDict::new(py);
        explained.set_item("parts", names)?;
        explained.set_item("base", base)?;
        for (values, [of_parts, of_rows]) in
            parts.into_iter().zip(predictors).zip([["mean", "predictor"], ["sd", "predictor_sd"]])
        {
            explained.set_item(of_parts, array(py, values.0, &[n, width])?)?;
            explained.set_item(of_rows, array(py, values.1, &[n])?)?;
        }
        Ok(explained)
    }

    /// Something of the predictive distribution of every row, and how many texts no first row had: `point` (the expected number or the position of the
    /// most probable class), `quantiles` (`rows × numbers`), `draws` (`rows × numbers[0]`, by `seed`), and at the numbers, one for all rows or each,
    /// or without them at the targets: `cdf`, `crps`, `log_density`, NaN where the target is missing.
    #[pyo3(signature = (table, what, numbers=Vec::new(), seed=0))]
    fn distribution<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'_, PyAny>,
        what: &str,
        numbers: Vec<f64>,
        seed: u64,
    ) -> PyResult<(Bound<'py, PyArrayDyn<f64>>, u64)> {
        let batches = Batches::of(table)?;
        let (found, n, new) =
            self.look(py, |state| distribution(state.answering()?, &batches, (what, &numbers, seed)))?;
        let wide = [n, found.len().checked_div(n).unwrap_or(numbers.len())];
        let shape = if ["quantiles", "draws"].contains(&what) { &wide[..] } else { &wide[..1] };
        Ok((array(py, found, shape)?, new))
    }

    /// The scores on rows whose target is known, as JSON.
    fn evaluate(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<String> {
        let batches = Batches::of(table)?;
        self.look(py, |state| {
            let (scores, _) = state.answering()?.evaluate(&mut batches.open(false)?)?;
            Ok(serde_json::to_string(&scores.summary())?)
        })
    }

    /// Robust standard errors by the rows that were learned, as JSON.
    #[pyo3(signature = (table, clusters=None))]
    fn robust_errors(&self, py: Python<'_>, table: &Bound<'_, PyAny>, clusters: Option<String>) -> PyResult<String> {
        let batches = Batches::of(table)?;
        self.look(py, |state| {
            let found = state.answering()?.robust_errors(&mut batches.open(false)?, clusters.as_deref())?;
            Ok(serde_json::to_string(&found)?)
        })
    }

    /// The summary of `rvi inspect`, with this many coefficients.
    fn summary(&self, py: Python<'_>, top: usize) -> PyResult<String> {
        self.look(py, |state| {
            let document = state.answering()?;
            Ok(head(document) + &progressive(document, "") + &body(document, top)?)
        })
    }

    /// The findings about the model that have a consequence, as JSON.
    fn certificate(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |state| Ok(serde_json::to_string(&table::certificate(state.answering()?))?))
    }

    /// The card of `rvi inspect --json`.
    fn card(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |state| Ok(card(state.answering()?)?.to_string()))
    }

    /// The curves of the inputs, as JSON.
    fn effects(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |state| Ok(serde_json::to_string(&curves(state.answering()?)?)?))
    }

    /// The name of the target, and its classes if it has any.
    fn target(&self, py: Python<'_>) -> PyResult<(String, Option<Vec<String>>)> {
        self.look(py, |state| {
            let target = &state.document.target;
            Ok((target.column.clone(), target.kind.classes().map(<[String]>::to_vec)))
        })
    }

    /// Warnings about the last table: an order of rows that misleads, rows that the model had learned before.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.look(py, |state| {
            let document = &state.document;
            let order = document.unreliable();
            let order = order.map(|why| format!("{why}; a fit of one table with all rows learns them in random order"));
            let twice = document.passes.last().and_then(|pass| document.learned_before(pass));
            let twice =
                twice.map(|_| "the rows of the table are already in the model: they now count twice".to_owned());
            Ok(order.into_iter().chain(twice).collect())
        })
    }
}

impl Table {
    fn of(document: Document) -> Self {
        Self { state: Mutex::new(State::new(document)) }
    }

    fn look<T: Send>(&self, py: Python<'_>, look: impl FnOnce(&State) -> Result<T, Fault> + Send) -> PyResult<T> {
        freely(py, || look(&*locked(&self.state)?))
    }
}

fn belief_of(name: &str) -> Result<BeliefKind, Fault> {
    match name {
        "full" => Ok(BeliefKind::Full),
        "low-rank" => Ok(BeliefKind::LowRank { rank: RANK }),
        "diagonal" => Ok(BeliefKind::Diagonal),
        _ => Err(Fault::Value(format!("belief must be 'full', 'low-rank' or 'diagonal', not '{name}'"))),
    }
}

/// Numbers of the predictive distribution of each row, how many rows there are, and how many texts no first row had.
fn distribution(
    document: &Document,
    batches: &Batches,
    (what, numbers, seed): (&str, &[f64], u64),
) -> Result<(Vec<f64>, usize, u64), Fault> {
    let mut rows = batches.open(false)?;
    let columns: Columns = rows.columns().clone();
    let (mut answers, mut record) = (document.answers(&columns)?, Record::default());
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut found, mut n) = (Vec::new(), 0);
    while rows.next(&mut record)? {
        let row = rows.row();
        let refused = |source| TermsError::Row { row, source };
        let of_times = matches!(document.target.kind, TargetKind::Survival(_));
        let none = || {
            Fault::Value(if of_times {
                format!("times have no {what}, since some are censored: log_density is for them")
            } else {
                format!("classes have no {what}: predict_proba and log_density are for them")
            })
        };
        // A censored time has a minus.
        let told = |y: f64| if of_times && y < 0.0 { Observation::new(-y).censored() } else { Observation::new(y) };
        let at = || match numbers {
            // A range has no place in its prediction, and no distance from it.
            [] if what != "log_density" => Ok(answers.label(&record, row)?.filter(|own| !own.is_range())),
            [] => answers.label(&record, row),
            [one] => Ok(Some(told(*one))),
            each => Ok(each.get(n).copied().map(told)),
        };
        match what {
            "point" => found.push(answers.point(&record, row)?),
            "cdf" | "crps" | "log_density" => {
                let value = match at()? {
                    None => Some(f64::NAN),
                    Some(y) => {
                        let seen = answers.predict(&record, row)?;
                        let value = match what {
                            "cdf" => seen.below(y.label()).map(|below| below.map(|(_, to)| to)),
                            "crps" => seen.crps(y.label()),
                            _ => seen.log_density_of(y).map(Some),
                        };
                        value.map_err(refused)?
                    }
                };
                found.push(value.ok_or_else(none)?);
            }
            "quantiles" => {
                let seen = answers.predict(&record, row)?;
                for p in numbers {
                    found.push(seen.quantile(*p).map_err(refused)?.ok_or_else(none)?);
                }
            }
            "draws" => {
                let seen = answers.predict(&record, row)?;
                for _ in 0..draws(numbers) {
                    found.push(seen.draw(&mut rng).map_err(refused)?);
                }
            }
            _ => return Err(Fault::Value(format!("a distribution has no {what}"))),
        }
        n += 1;
    }
    if ["cdf", "crps", "log_density"].contains(&what) && numbers.len() > 1 && numbers.len() != n {
        return Err(Fault::Value(format!("y has length {}, but the table has {n} rows", numbers.len())));
    }
    Ok((found, n, answers.new_texts()))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number, checked in Python")]
fn draws(numbers: &[f64]) -> usize {
    numbers.first().map_or(1, |number| *number as usize)
}

/// Names and values of the columns of the predictions, and how many texts no first row had.
fn predicted(
    document: &Document,
    rows: &mut TableRows,
    (level, intervals): (f64, Intervals),
) -> Result<(Vec<String>, Vec<Column>, u64), Fault> {
    document.ready(intervals)?;
    let columns = rows.columns().clone();
    let (mut answers, mut record) = (document.answers(&columns)?, Record::default());
    let names = document.field_names(intervals);
    let empty = |name: &String| {
        if ["class", "set"].contains(&name.as_str()) { Column::Texts(Vec::new()) } else { Column::Numbers(Vec::new()) }
    };
    let mut found: Vec<Column> = names.iter().map(empty).collect();
    while rows.next(&mut record)? {
        let row = rows.row();
        let predicted = answers.predict(&record, row)?;
        for (column, value) in found.iter_mut().zip(document.fields(&predicted, (level, intervals), row)?) {
            match (column, value) {
                (Column::Texts(texts), Value::String(text)) => texts.push(text),
                (Column::Texts(texts), _) => texts.push(String::new()),
                (Column::Numbers(numbers), value) => numbers.push(value.as_f64().unwrap_or(f64::NAN)),
            }
        }
    }
    Ok((names, found, answers.new_texts()))
}
