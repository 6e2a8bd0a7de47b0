//! Which terms a table gets when nobody asks for any: by the kinds of its inputs, as many as a row may cost and the first rows allow.

use std::collections::BTreeMap;

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::TermsError;
use crate::coordinate::Coordinate;
use crate::curved::by_labels;
use crate::fitted::Rows;
use crate::smooth::distinct;
use crate::terms::{Input, Kind, Term, Terms};

/// What may be learned of a table beside a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Shape {
    /// Nothing.
    Line,
    /// A curve for each number.
    Smooth,
    /// Curves, and products of two inputs.
    Pairs,
    /// Curves, products, and random features of a Gaussian process.
    Any,
}

/// How many weights there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The most weights, by what a row may cost: `O(weights²)`.
    pub weights: usize,
    /// First rows for each weight.
    pub rows: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { weights: 160, rows: 4 }
    }
}

/// Weights of a curve: where there are few curves, more for each.
const CURVE: (usize, usize, usize) = (8, 15, 30);
/// Numbers beyond which labels say which curves are wide.
const MANY: usize = 10;
/// Features of a kernel: fewer tell nothing, more cost too much.
const FEATURES: (usize, usize) = (12, 90);

/// Levels from which on a column names groups, and the most weights beside these.
const GROUPS: usize = 20;
const MOST_WITH_GROUPS: usize = 256;

impl Terms {
    /// The terms of a `shape` that these inputs and first `rows` (`n × inputs`, row by row) allow: lines of skewed numbers in their logarithm, a
    /// curve for each number of at least three values, products of numbers and of the most frequent indicators, features of a kernel, in
    /// this order while the budget lasts. Where it leaves fewer than eight weights for each of more than ten curves, those numbers get more whose curves
    /// tell more than their lines of the labels; `labelled` has rows and their labels.
    ///
    /// # Errors
    /// As [`Terms::new`]; those of a linear model of these labels.
    pub fn automatic(
        inputs: &[Input],
        rows: &[f64],
        labelled: (&[f64], &[f64]),
        shape: Shape,
        budget: &Budget,
        rng: &mut impl Rng,
    ) -> Result<Self, TermsError> {
        // Checks what all else reads.
        let plain = Self::new(inputs, &[], rows, rng)?;
        if shape == Shape::Line {
            return Ok(plain);
        }
        let terms = chosen(inputs, Rows { values: rows, inputs: inputs.len() }, labelled, shape, budget)?;
        Self::new(inputs, &terms, rows, rng)
    }
}

/// Whether each input is a level of a column that names groups. The few rows of each determine less than others, which their prior scale tells.
fn of_groups(inputs: &[Input]) -> Vec<bool> {
    let mut levels: BTreeMap<usize, usize> = BTreeMap::new();
    for input in inputs.iter().filter(|input| input.kind == Kind::Indicator) {
        *levels.entry(input.column).or_default() += 1;
    }
    let many = |input: &Input| input.kind == Kind::Indicator && levels[&input.column] > GROUPS;
    inputs.iter().map(many).collect()
}

/// An input that varies.
struct Varying {
    input: usize,
    scale: Coordinate,
    values: usize,
    /// The variance of an indicator: the nearer to a half its share, the more its products tell.
    variance: f64,
}

fn chosen(
    inputs: &[Input],
    rows: Rows<'_>,
    labelled: (&[f64], &[f64]),
    shape: Shape,
    budget: &Budget,
) -> Result<Vec<Term>, TermsError> {
    let n = rows.values.len() / rows.inputs;
    let left = MOST_WITH_GROUPS.saturating_sub(inputs.len());
    let of_groups = of_groups(inputs);
    let others = of_groups.iter().filter(|group| !**group).count();
    let mut room = budget.weights.min(n / budget.rows.max(1)).saturating_sub(others).min(left);
    let taken = (0..inputs.len()).filter(|input| inputs[*input].kind != Kind::Other && !of_groups[*input]);
    let varying: Vec<Varying> = taken.filter_map(|input| varying(input, rows)).collect();
    let curved: Vec<&Varying> =
        varying.iter().filter(|one| inputs[one.input].kind == Kind::Number && one.values > 2).collect();
    let mut terms = Vec::new();

    let bent: Vec<usize> = curved.iter().filter(|one| one.scale.is_bent()).map(|one| one.input).take(room).collect();
    room -= bent.len();
    if !bent.is_empty() {
        terms.push(Term::Bent(bent));
    }

    let several = varying.len() > 1 && shape != Shape::Smooth;
    let share = if several { room / 2 } else { room };
    let (least, most, together) = CURVE;
    let each = (share / curved.len().max(1)).clamp(1, (together / curved.len().max(1)).clamp(least, most));
    // Where curves are many and narrow, those that labels ask for come first.
    let favoured = if curved.len() > MANY && each < least && share > 0 {
        let all: Vec<usize> = curved.iter().map(|one| one.input).collect();
        by_labels(Rows { values: labelled.0, ..rows }, labelled.1, &all)?
    } else {
        Vec::new()
    };
    let wide = (together / favoured.len().max(1)).clamp(least, most);
    let mut left = share;
    let mut take = |one: &Varying, weights: usize| {
        let weights = weights.min(one.values - 2).min(left);
        left -= weights;
        weights
    };
    let asked = favoured.iter().filter_map(|input| curved.iter().find(|one| one.input == *input));
    let asked: BTreeMap<usize, usize> = asked.map(|one| (one.input, take(one, wide))).collect();
    let others = (share - asked.values().sum::<usize>()) / (curved.len() - asked.len()).max(1);
    let each = if asked.is_empty() { each } else { others };
    for one in &curved {
        let weights = asked.get(&one.input).copied().unwrap_or_else(|| take(one, each));
        if weights > 0 {
            room -= weights;
            terms.push(Term::Smooth { input: one.input, weights });
        }
    }
    if !several {
        return Ok(terms);
    }

    let kernel = shape == Shape::Any && !curved.is_empty();
    let products = among(inputs, &varying, if kernel { room / 2 } else { room });
    if products.len() > 1 {
        room -= count(inputs, &products);
        terms.push(Term::Pairs(products.clone()));
        if kernel && room >= FEATURES.0 {
            terms.push(Term::Kernel { inputs: products, features: room.min(FEATURES.1) });
        }
    }
    Ok(terms)
}

fn varying(input: usize, rows: Rows<'_>) -> Option<Varying> {
    let column: Vec<f64> = rows.values.iter().skip(input).step_by(rows.inputs).copied().collect();
    let scale = Coordinate::new(input, &column, true).ok()?;
    let n = column.len() as f64;
    let mean = column.iter().sum::<f64>() / n;
    let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    Some(Varying { input, scale, values: distinct(&column).len(), variance })
}

/// Inputs with at most `room` products: numbers first, then indicators, the most frequent before others.
fn among(inputs: &[Input], varying: &[Varying], room: usize) -> Vec<usize> {
    let is_number = |one: &&Varying| inputs[one.input].kind == Kind::Number;
    let mut indicators: Vec<&Varying> = varying.iter().filter(|one| !is_number(one)).collect();
    indicators.sort_by(|a, b| b.variance.total_cmp(&a.variance));
    let mut among = Vec::new();
    for one in varying.iter().filter(is_number).chain(indicators) {
        among.push(one.input);
        if count(inputs, &among) > room {
            among.pop();
            break;
        }
    }
    if count(inputs, &among) == 0 { Vec::new() } else { among }
}

/// The products of two inputs of different columns.
fn count(inputs: &[Input], among: &[usize]) -> usize {
    let different =
        |(k, a): (usize, &usize)| among[..k].iter().filter(|b| inputs[**b].column != inputs[*a].column).count();
    among.iter().enumerate().map(different).sum()
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    fn table(n: usize) -> (Vec<Input>, Vec<f64>) {
        let inputs = vec![
            Input::number("a", 0),
            Input::number("income", 1),
            Input::indicator("g=x", 2),
            Input::indicator("g=y", 2),
            Input::number("flat", 3),
        ];
        let row = |i: usize| {
            let t = i as f64;
            [
                (0.7 * t).sin(),
                ((i * 37 % 100) as f64 / 20.0).exp(),
                f64::from(i.is_multiple_of(3)),
                f64::from(i % 3 == 1),
                2.0,
            ]
        };
        (inputs, (0..n).flat_map(row).collect())
    }

    fn made(shape: Shape, n: usize, budget: &Budget) -> Terms {
        let (inputs, rows) = table(n);
        Terms::automatic(&inputs, &rows, (&[], &[]), shape, budget, &mut ChaCha8Rng::seed_from_u64(1)).unwrap()
    }

    #[test]
    fn terms_follow_the_kinds_of_the_inputs() {
        let names = |shape| {
            let blocks = made(shape, 400, &Budget::default()).blocks();
            blocks.into_iter().map(|block| block.name).collect::<Vec<_>>()
        };
        assert_eq!(names(Shape::Line), ["lines"]);
        assert_eq!(names(Shape::Smooth), ["lines", "bent(income)", "s(a)", "s(income)"]);
        assert_eq!(names(Shape::Pairs)[4..], ["pairs(a, income, g=x and 1 more)"]);
        assert_eq!(names(Shape::Any).len(), 8);
        let pairs = made(Shape::Pairs, 400, &Budget::default()).names();
        assert!(pairs.contains(&"a:g=x".to_owned()) && !pairs.contains(&"g=x:g=y".to_owned()), "{pairs:?}");
    }

    #[test]
    fn where_curves_are_many_those_that_labels_ask_for_are_wide() {
        let inputs: Vec<Input> = (0..20).map(|k| Input::number(&format!("x{k}"), k)).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let rows: Vec<f64> = (0..20 * 800).map(|_| rng.random()).collect();
        let labels: Vec<f64> = rows.chunks_exact(20).map(|x| (9.0 * x[7]).sin() + 0.1 * x[0]).collect();
        let widths = |labelled: (&[f64], &[f64])| {
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let terms = Terms::automatic(&inputs, &rows, labelled, Shape::Pairs, &Budget::default(), &mut rng).unwrap();
            let curves = terms.blocks().into_iter().filter(|block| block.name.starts_with("s("));
            (terms.width(), curves.map(|block| block.width).collect::<Vec<_>>())
        };
        let (plain, asked) = (widths((&[], &[])), widths((&rows, &labels)));
        assert!(plain.1 == [3; 20] && asked.1[7] == 15 && asked.1[0] == 2, "{plain:?} {asked:?}");
        assert!(asked.0 <= Budget::default().weights, "{}", asked.0);
        // Without room for a curve the labels are not looked at: a full covariance of all numbers would tell nothing.
        let (none, unreadable) = (Budget { weights: 20, rows: 4 }, vec![f64::NAN; rows.len()]);
        assert!(Terms::automatic(&inputs, &rows, (&unreadable, &labels), Shape::Pairs, &none, &mut rng).is_ok());
    }

    #[test]
    fn no_more_weights_than_the_rows_and_the_budget_allow() {
        for n in [4, 20, 30, 60, 100, 300, 2000] {
            for weights in [5, 6, 20, 60, 160] {
                for shape in [Shape::Line, Shape::Smooth, Shape::Pairs, Shape::Any] {
                    let terms = made(shape, n, &Budget { weights, rows: 4 });
                    let most = weights.min(n / 4).max(5);
                    assert!(terms.width() <= most, "{shape:?}, {n} rows: {} of {most}", terms.width());
                    assert!(shape != Shape::Any || n < 300 || 2 * terms.width() > most);
                }
            }
        }
    }
}
