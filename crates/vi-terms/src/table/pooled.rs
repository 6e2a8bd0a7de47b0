//! A column of many levels as a group: the model keeps an effect of each level by itself, where these tell the labels better than mean labels do.
//!
//! An effect is known as well as its level's rows tell it, exactly and however many levels there are; a mean of the rows before is one number whose
//! worth changes with every row.

use std::collections::HashSet;

use vi_core::Row;
use vi_models::ModelError;
use vi_models::online::{Effects, Kind, Model, Observation, Start, Trial};

use crate::TermsError;
use crate::table::choose::Chosen;
use crate::table::grouped::Groups;
use crate::table::learn::Reader;
use crate::table::means::Means;
use crate::table::plan::Plan;
use crate::table::schema::{Beside, Schema};
use crate::table::source::{Columns, NOWHERE, Record};
use crate::table::target::Target;
use crate::{Budget, Shape};

/// Columns that are tried, each as the only group.
const TRIED: usize = 3;

/// A model with nothing learned and what it is made of.
pub(crate) struct Design {
    pub(crate) schema: Schema,
    pub(crate) plan: Plan,
    pub(crate) model: Model,
    pub(crate) chosen: Option<Chosen>,
    pub(crate) means: Means,
}

/// A column as a group beside other inputs.
struct Candidate {
    column: String,
    /// The columns whose levels have no means beside it: its own, and those that say the same.
    same: Vec<String>,
    schema: Schema,
    plan: Plan,
    kind: Kind,
}

impl Candidate {
    fn model(&self, target: &Target, start: Start) -> Result<Model, ModelError> {
        let plan = Plan { start, ..self.plan.clone() };
        plan.model_of(self.kind, &target.kind, self.schema.names())
    }
}

impl Design {
    /// The design with a column of its means as a group, if one pass over the records tells their labels better so. `lines` is its schema without
    /// curves and products; the records have the means already.
    ///
    /// # Errors
    /// A column that is not there.
    pub(crate) fn pooled(
        self,
        lines: &Schema,
        target: &Target,
        (shapes, budget): (&[Shape], &Budget),
        records: &[Record],
        columns: &Columns,
    ) -> Result<Self, TermsError> {
        let candidates = self.candidates(lines, target, (shapes, budget), records, columns)?;
        let tried = candidates.into_iter().filter_map(|own| Some((own.model(target, Start::OnePass).ok()?, own)));
        let (models, mut candidates): (Vec<Model>, Vec<Candidate>) = tried.unzip();
        if models.is_empty() {
            return Ok(self);
        }
        let quick = Plan { start: Start::OnePass, ..self.plan.clone() };
        let plain = quick.model_of(self.model.kind(), &target.kind, self.schema.names())?;
        let seen = candidates.iter().zip(&models).map(|(own, model)| (&own.schema, model, own.plan.groups.as_ref()));
        let mut readers = std::iter::once((&self.schema, &plain, None))
            .chain(seen)
            .map(|(schema, model, groups)| {
                let groups = groups.map(|(groups, _)| groups.clone());
                Ok((Reader::new(schema, model, columns)?.grouped(groups.as_ref(), columns)?, groups))
            })
            .collect::<Result<Vec<_>, TermsError>>()?;
        let mut trial = Trial::new(plain.clone(), models.clone());
        let (place, means) = (target.places(columns)?, Means::default());
        for record in records {
            // Learning reports the error of a bad record.
            let Ok(Some(label)) = target.label(record, place, NOWHERE) else { continue };
            let row = |(reader, groups): &mut (Reader<'_>, Option<Groups>)| {
                let seen = reader.observed(groups.as_ref(), record, label);
                reader.add(groups.as_mut(), record);
                (seen, reader.row(&means, record, NOWHERE).map(drop))
            };
            let seen: Vec<(Observation, Result<(), TermsError>)> = readers.iter_mut().map(row).collect();
            if seen.iter().any(|(_, read)| read.is_err()) {
                continue;
            }
            let rows = readers.iter_mut().zip(seen).map(|((reader, _), (seen, _))| (reader.last(), seen));
            let rows: Vec<(Row<'_>, Observation)> = rows.collect();
            let _unlearned = trial.learn_each(&rows);
        }
        drop(readers);
        let Some(at) = trial.place().checked_sub(1) else { return Ok(self) };
        let Candidate { column, same, schema, plan, kind } = candidates.swap_remove(at);
        let model = plan.model_of(kind, &target.kind, schema.names())?;
        let behind = trial.behind().first().map(|(_, nats)| *nats).filter(|nats| nats.is_finite());
        let chosen = Chosen::in_groups(kind, &column, trial.rows(), (self.model.kind(), behind));
        Ok(Self { schema, plan, model, chosen: Some(chosen), means: self.means.without(&same) })
    }

    /// The columns of the means as groups, beside each of the shapes and of each kind that keeps groups.
    ///
    /// # Errors
    /// A column that is not there.
    fn candidates(
        &self,
        lines: &Schema,
        target: &Target,
        (shapes, budget): (&[Shape], &Budget),
        records: &[Record],
        columns: &Columns,
    ) -> Result<Vec<Candidate>, TermsError> {
        let (mut found, mut tried) = (Vec::new(), Vec::new());
        let all: Vec<(&str, Vec<String>)> = self.means.names().collect();
        for (column, _) in &all {
            if tried.len() == TRIED || tried.iter().any(|before: &Vec<String>| before.iter().any(|own| own == column)) {
                continue;
            }
            let place = columns.position(column)?;
            let (mut others, mut same) = (lines.clone(), Vec::new());
            for (other, means) in &all {
                if say_the_same(records, place, columns.position(other)?) {
                    others.columns.retain(|own| own.name != *other && !means.contains(&own.name));
                    others.ignored.retain(|(own, _)| own != other);
                    if other != column {
                        others.ignored.push(((*other).to_owned(), format!("says the same as {column}")));
                    }
                    same.push((*other).to_owned());
                }
            }
            tried.push(same.clone());
            // Without other columns there is no shape.
            let shapes = if others.columns.is_empty() { &shapes[..1] } else { shapes };
            for shape in shapes {
                let mut schema = others.clone();
                if !(others.columns.is_empty() || matches!(shape, Shape::Line)) {
                    schema.shape(&Beside::Shape(*shape), budget, records, columns)?;
                }
                let groups = Some((Groups::new((*column).to_owned()), Effects::default()));
                let plan = Plan { groups, ..self.plan.clone() }.shaped(&schema);
                let (plain, kinds) = plan.kinds(&target.kind, schema.width());
                if self.model.kind().is_of_counts() && self.model.kind() != plain {
                    continue;
                }
                let candidate = |kind| Candidate {
                    column: (*column).to_owned(),
                    same: same.clone(),
                    schema: schema.clone(),
                    plan: plan.clone(),
                    kind,
                };
                found.extend(std::iter::once(plain).chain(kinds).map(candidate));
            }
        }
        Ok(found)
    }
}

/// Whether two columns divide the records in the same way, whatever they call the parts.
fn say_the_same(records: &[Record], one: usize, other: usize) -> bool {
    let pairs: HashSet<(&str, &str)> = records.iter().map(|record| (record.field(one), record.field(other))).collect();
    let firsts: HashSet<&str> = pairs.iter().map(|pair| pair.0).collect();
    let seconds: HashSet<&str> = pairs.iter().map(|pair| pair.1).collect();
    firsts.len() == pairs.len() && seconds.len() == pairs.len()
}
