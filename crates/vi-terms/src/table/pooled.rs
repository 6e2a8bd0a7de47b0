//! A column of many levels as a group: the model keeps an effect of each level by itself, where these tell the labels better than mean labels do.
//!
//! An effect is known as well as its level's rows tell it, exactly and however many levels there are; a mean of the rows before is one number whose
//! worth changes with every row. But the noise of a model of groups is Gaussian. With `a` nats a row gained by groups over the second half of `n`
//! records, and `h` nats a row that heavy tails would gain beside them, `a + h` is the gain from effects, which falls as levels get more rows, while
//! `h` stays: where other labels have heavy tails, groups are taken for the `N` rows of the table if `(a + h)·n/N ≥ h`; of a stream, which may have any number, if `h` is 0.

use std::collections::HashSet;

use vi_core::Row;
use vi_core::special::normal_quantile;
use vi_models::online::{Effects, Kind, Model, Observation, Start, Trial};
use vi_models::{ModelError, Student};

use crate::TermsError;
use crate::table::choose::Chosen;
use crate::table::grouped::Groups;
use crate::table::learn::{Reader, scales};
use crate::table::means::Means;
use crate::table::plan::{OF_CURVES, Plan};
use crate::table::schema::{Beside, Schema};
use crate::table::source::{Columns, NOWHERE, Record};
use crate::table::target::Target;
use crate::{Budget, Shape};

/// Columns that are tried, each as the only group.
const TRIED: usize = 3;
/// The prior scale of weights that no curves stand beside: next to none.
const FLAT: f64 = 1e3;
/// Times the records that a table has before curves are taken whatever they cost at first.
const MANY: usize = 2;
/// Degrees of freedom of heavy tails, and the steps that find their scale.
const TAILS: [f64; 5] = [2.0, 3.0, 4.0, 6.0, 10.0];
const STEPS: usize = 20;
/// Nats that they gain by chance.
const BY_CHANCE: f64 = 3.0;
/// The least probability of a label beyond which it counts as that rare.
const RAREST: f64 = 1e-12;

/// A model with nothing learned and what it is made of.
pub(crate) struct Design {
    pub(crate) schema: Schema,
    pub(crate) plan: Plan,
    pub(crate) model: Model,
    pub(crate) chosen: Option<Chosen>,
    pub(crate) means: Means,
}

/// A column as a group beside other inputs, or means alone.
struct Candidate {
    /// The columns without means of their levels: the group's own, and others that divide the records in the same way.
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

    fn groups(&self) -> Option<Groups> {
        self.plan.groups.as_ref().map(|(groups, _)| groups.clone())
    }
}

/// Calls `each` with every record as each of the candidates sees it, and its label.
///
/// # Errors
/// A column that is not there.
fn read(
    candidates: &[(Candidate, Model)],
    target: &Target,
    records: &[Record],
    columns: &Columns,
    mut each: impl FnMut(&[(Row<'_>, Observation)], f64),
) -> Result<(), TermsError> {
    let mut readers = Vec::new();
    for (own, model) in candidates {
        let groups = own.groups();
        readers.push((Reader::new(&own.schema, model, columns)?.grouped(groups.as_ref(), columns)?, groups));
    }
    let (place, means) = (target.places(columns)?, Means::default());
    for record in records {
        // Learning reports the error of a bad record.
        let Ok(Some(label)) = target.label(record, place, NOWHERE) else { continue };
        let row = |(reader, groups): &mut (Reader<'_>, Option<Groups>)| {
            let seen = reader.added(groups, record, label);
            reader.row(&means, record, NOWHERE).is_ok().then_some(seen)
        };
        let seen: Option<Vec<Observation>> = readers.iter_mut().map(row).collect();
        if let Some(seen) = seen {
            let rows = readers.iter_mut().zip(seen).map(|((reader, _), seen)| (reader.last(), seen));
            each(&rows.collect::<Vec<_>>(), label.label());
        }
    }
    Ok(())
}

impl Design {
    /// The design with a column of many levels as a group, if it predicts the records better in one pass than means of the levels do, for a table of so
    /// many rows. `lines` is its schema without curves and products; the records have the means already.
    ///
    /// # Errors
    /// A column that is not there.
    pub(crate) fn pooled(
        self,
        lines: &Schema,
        target: &Target,
        shape: (Shape, &Budget),
        (rows, records): (Option<usize>, &[Record]),
        columns: &Columns,
    ) -> Result<Self, TermsError> {
        // Counts that vary more than Poisson's do so in groups too.
        if self.model.kind().is_of_counts() && self.model.kind() != Kind::Count {
            return Ok(self);
        }
        let many = rows.is_none_or(|rows| rows >= MANY * records.len());
        let shapes = if many { vec![shape.0] } else { vec![Shape::Line, shape.0] };
        let own = Candidate {
            same: Vec::new(),
            schema: self.schema.clone(),
            plan: self.plan.clone(),
            kind: self.model.kind(),
        };
        let mut all = vec![own];
        all.extend(self.candidates(lines, target, (&shapes, shape.1), records, columns)?);
        let tried = all.into_iter().filter_map(|own| own.model(target, Start::OnePass).ok().map(|model| (own, model)));
        let mut tried: Vec<(Candidate, Model)> = tried.collect();
        let mut others = tried.iter().map(|(_, model)| model.clone());
        let Some(plain) = others.next().filter(|_| tried.len() > 1) else { return Ok(self) };
        let mut trial = Trial::new(plain, others.collect());
        read(&tried, target, records, columns, |rows, _| {
            let _unlearned = trial.learn_each(rows);
        })?;
        let at = trial.place();
        if at == 0 {
            return Ok(self);
        }
        let behind = trial.behind().first().map(|(_, nats)| *nats).filter(|nats| nats.is_finite());
        let winner = tried.swap_remove(at);
        let n = trial.rows() as f64;
        let has_tails = matches!(self.model.kind(), Kind::Robust { .. } | Kind::Varying { .. });
        if let Some(nats) = behind.filter(|_| has_tails) {
            let tails = 2.0 / n * gain_of_tails(&winner, target, records, columns)?;
            let part = rows.map_or(0.0, |rows| n / rows as f64).min(1.0);
            if (2.0 / n * nats + tails) * part < tails {
                return Ok(self);
            }
        }
        let model = winner.0.model(target, self.plan.start)?;
        let Candidate { same, schema, plan, kind } = winner.0;
        let column = plan.groups.as_ref().map_or("", |(groups, _)| &groups.column);
        let chosen = Chosen::in_groups(kind, column, trial.rows(), (self.model.kind(), behind));
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
                    schema.shape(&Beside::Shape(*shape), target, budget, records, columns)?;
                }
                let groups = Some((Groups::new((*column).to_owned()), Effects::default()));
                let mut plan = Plan { groups, ..self.plan.clone() }.shaped(&schema);
                let (plain, kinds) = plan.kinds(&target.kind, schema.width());
                let wide = if plan.blocks.is_empty() { FLAT } else { OF_CURVES };
                // The weight of an input that no record moves is next to nothing.
                plan.scales = Some(scales(&schema, target, records, columns, wide)?);
                let candidate =
                    |kind| Candidate { same: same.clone(), schema: schema.clone(), plan: plan.clone(), kind };
                found.extend(std::iter::once(plain).chain(kinds).map(candidate));
            }
        }
        Ok(found)
    }
}

/// The nats that heavy tails gain over the second half of the labels beside the groups of a candidate, beyond chance: of their normal scores `z`,
/// Student's t of some degrees of freedom and the best scale (by expectation-maximisation) against the best Gaussian.
///
/// # Errors
/// A column that is not there.
fn gain_of_tails(
    winner: &(Candidate, Model),
    target: &Target,
    records: &[Record],
    columns: &Columns,
) -> Result<f64, TermsError> {
    let (mut model, mut scores) = (winner.1.clone(), Vec::new());
    read(std::slice::from_ref(winner), target, records, columns, |rows, label| {
        let (row, observed) = rows[0];
        let seen = model.predict_and_update(row, observed).and_then(|seen| seen?.below(label));
        if let Ok(Some((_, below))) = seen {
            scores.push(normal_quantile(below.clamp(RAREST, 1.0 - RAREST)));
        }
    })?;
    let late = &scores[scores.len() / 2..];
    let n = late.len() as f64;
    let variance = late.iter().map(|z| z * z).sum::<f64>() / n;
    if !variance.is_normal() {
        return Ok(0.0);
    }
    let gaussian = -0.5 * n * (1.0 + (std::f64::consts::TAU * variance).ln());
    let mut most = f64::NEG_INFINITY;
    for dof in TAILS {
        let mut square = variance;
        for _ in 0..STEPS {
            square = late.iter().map(|z| z * z * (dof + 1.0) / (dof + z * z / square)).sum::<f64>() / n;
        }
        let tails = Student::new(0.0, square.sqrt(), dof)?;
        most = most.max(late.iter().map(|z| tails.log_density(*z)).sum());
    }
    Ok((most - gaussian - BY_CHANCE).max(0.0))
}

/// Whether two columns divide the records in the same way, under whatever names.
fn say_the_same(records: &[Record], one: usize, other: usize) -> bool {
    let pairs: HashSet<(&str, &str)> = records.iter().map(|record| (record.field(one), record.field(other))).collect();
    let firsts: HashSet<&str> = pairs.iter().map(|pair| pair.0).collect();
    let seconds: HashSet<&str> = pairs.iter().map(|pair| pair.1).collect();
    firsts.len() == pairs.len() && seconds.len() == pairs.len()
}
