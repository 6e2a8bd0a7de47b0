//! Which kind of model the first rows prefer.
//!
//! Candidates learn the same rows, and each predicts a label before it learns it. The first half of the rows only makes them ready: priors are
//! not as wide in all families, and a family of more weights is behind at first though it may be better for all rows to come (the catch-up
//! phenomenon: van Erven, Grünwald and de Rooij 2012, arXiv 0807.1005). The log probabilities are in nats and in the units of the labels, so that
//! families compare:
//!
//! ```text
//! kind_k is chosen before the plain kind₀ if Σ_{t > n/2} [log p(y_t | y₁ … y_{t−1}, kind_k) − log p(y_t | y₁ … y_{t−1}, kind₀)] > margin
//! ```
//!
//! A kind that weighs outliers little may do so where they carry the sum. One whose means are further from the labels, by more than chance, is not
//! chosen if that costs more than its score gains, as Gaussian densities of the best variance about both means tell it:
//!
//! ```text
//! ½ n log(Σ(y_t − m_k)² / Σ(y_t − m₀)²) > Σ [log p(y_t | …, kind_k) − log p(y_t | …, kind₀)]
//! ```
//!
//! Beside counts, the `p(y)` of a density is the probability that it gives to the cell of the count, from `y − ½` to `y + ½`.

mod candidate;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use self::candidate::Candidate;
use super::engine::key;
use super::{Kind, Model, Observation, Row};
use crate::{ModelError, check};

/// Rows after which a trial ends.
const MOST_ROWS: u64 = Trial::MOST_ROWS as u64;

/// Rows after which candidates that are far behind are given up; then again at each doubling.
const FEWEST_ROWS: u64 = 90;

/// Nats behind the best beyond which a candidate is given up before the end.
const BEHIND: f64 = 100.0;

/// Nats by which another candidate must be better than the plain one.
const MARGIN: f64 = 1.0;

/// Standard errors beyond which a mean difference is no chance.
const STANDARD_ERRORS: f64 = 2.0;

/// The least share of zeros among counts.
const FEWEST_ZEROS: f64 = 0.02;

/// The least number of equal labels that are a point mass.
const FEWEST_EQUAL: u64 = 10;

/// A trial of several kinds of models on the first rows: each learns them, and the log probability that each gave to the labels says
/// which is to learn all. The first half of the rows does not count.
///
/// The plain candidate is chosen unless another is better by more than a nat, and one with excess zeros only if it is better by a further nat than
/// those without. A candidate that cannot learn a row that another could is out, and so is one that is 100 nats behind after 90, 180, 360, … rows,
/// which bounds the cost. The trial ends after 2000 rows. Of few rows further passes in [other orders](Self::learn_again) tell more.
///
/// A candidate is out, too, whose means cost more than its score gains: the squared errors of the second half are above the plain candidate's by two
/// standard errors of their mean difference, and `n` times the log of the ratio of their roots is more than the nats gained ([`misses`](Self::misses)).
///
/// Beside kinds of counts, the densities of numbers count by the probability of the cell around a label, one wide.
///
/// Where more than half the labels are one number, kinds with heavy tails are out too, if they are not the plain one: a learned scale shrinks to
/// that number, where the density has no bound, and the mean and the intervals of all other labels are lost.
///
/// ```
/// use vi_models::online::{Kind, Model, Observation, Row, Trial};
/// let new = |kind: Kind| Model::new(kind, 1, kind.default_settings());
/// let mut trial = Trial::new(new(Kind::Count)?, vec![new(Kind::LearnedSpread)?]);
/// for t in 0..200 {
///     let count = [0.0, 9.0, 1.0, 4.0, 0.0][t % 5];
///     trial.learn(Row::Dense(&[t as f64 % 3.0]), Observation::new(count))?;
/// }
/// assert_eq!(trial.chosen(), Kind::LearnedSpread);
/// assert!(trial.behind()[0].1 > 15.0);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Trial {
    plain: Candidate,
    others: Vec<Candidate>,
    rows: u64,
    /// How often each label came.
    labels: HashMap<u64, u64>,
}

/// Whether this number of rows is one at which candidates far behind are given up.
fn is_look(rows: u64) -> bool {
    rows.is_multiple_of(FEWEST_ROWS) && (rows / FEWEST_ROWS).is_power_of_two()
}

/// The results of `work` on each of `items`, in their order. The last ones start first, since later kinds of models take the longest.
fn in_threads<T: Send, A: Send>(items: Vec<T>, threads: usize, work: impl Fn(T) -> A + Sync) -> Vec<A> {
    let mut made: Vec<Option<A>> = items.iter().map(|_| None).collect();
    let helpers = threads.min(items.len()).saturating_sub(1);
    let queue = Mutex::new(items.into_iter().zip(&mut made));
    let run = || {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next_back();
            let Some((item, made)) = next else { break };
            *made = Some(work(item));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(run);
        }
        run();
    });
    drop(queue);
    made.into_iter().flatten().collect()
}

impl Trial {
    /// Rows after which a trial ends.
    pub const MOST_ROWS: usize = 2000;

    /// A trial of models with nothing learned.
    #[must_use]
    pub fn new(plain: Model, others: Vec<Model>) -> Self {
        let other = |model| {
            let is_heavy = matches!(model, Model::Robust(_) | Model::Varying(_));
            Candidate { is_heavy, ..Candidate::new(model) }
        };
        let others: Vec<Candidate> = others.into_iter().map(other).collect();
        let mut trial = Self { plain: Candidate::new(plain), others, rows: 0, labels: HashMap::new() };
        if trial.candidates().any(|own| own.model.kind().is_of_counts()) {
            trial.remaining().for_each(|own| own.in_cells = !own.model.kind().is_of_counts());
        }
        trial
    }

    /// Whether labels may be counts, so that kinds of counts are worth a trial beside those of numbers: all are whole, none is negative, two in a
    /// hundred are 0, and they vary at least as Poisson counts of their mean. Without a 0 the kinds of numbers are as good, and quicker.
    ///
    /// ```
    /// use vi_models::online::Trial;
    /// assert!(Trial::may_be_counts(&[0.0, 3.0, 1.0, 7.0]));
    /// assert!(!Trial::may_be_counts(&[18.0, 36.0, 24.0]) && !Trial::may_be_counts(&[0.0, 0.5]));
    /// ```
    #[must_use]
    pub fn may_be_counts(labels: &[f64]) -> bool {
        let n = labels.len().max(1) as f64;
        let mean = labels.iter().sum::<f64>() / n;
        let variance = labels.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / n;
        let zeros = labels.iter().filter(|y| **y == 0.0).count() as f64;
        let whole = labels.iter().all(|y| *y >= 0.0 && y.fract() == 0.0);
        // A mixture of Poisson counts varies no less than its mean.
        whole && zeros >= FEWEST_ZEROS * n && mean > 0.0 && variance >= mean
    }

    fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        std::iter::once(&self.plain).chain(&self.others)
    }

    fn candidates_mut(&mut self) -> impl Iterator<Item = &mut Candidate> {
        std::iter::once(&mut self.plain).chain(&mut self.others)
    }

    fn see(&mut self, observed: &Observation) {
        // The density of a range has a bound.
        if observed.is_range() {
            return;
        }
        // Both zeros are one label.
        *self.labels.entry((observed.label + 0.0).to_bits()).or_default() += 1;
    }

    /// Whether more than half the labels are one number.
    fn has_point_mass(&self) -> bool {
        let (all, most) = (self.labels.values().sum::<u64>(), self.labels.values().max().copied().unwrap_or(0));
        most >= FEWEST_EQUAL && 2 * most > all
    }

    /// What a candidate has gained, if its density has a bound for these labels and its means are of use.
    fn gained(&self, candidate: &Candidate) -> Option<f64> {
        candidate
            .gained()
            .filter(|_| !(candidate.is_heavy && self.has_point_mass()) && self.costly_means(candidate).is_none())
    }

    /// The ratio of the root mean squared errors of a candidate's means to the plain candidate's, where these cost more than its spread gains.
    fn costly_means(&self, candidate: &Candidate) -> Option<f64> {
        let gained = candidate.gained()? - self.plain.gained()?;
        // Passes over the same rows are no more evidence than one.
        let passes = (candidate.before.0.len() + usize::from(!candidate.scores.is_empty())).max(1) as f64;
        let pairs = self.plain.late_errors().zip(candidate.late_errors());
        let (mut n, mut sums, mut mean, mut squares) = (0.0, (0.0, 0.0), 0.0, 0.0);
        for (plain, own) in pairs.filter(|(plain, own)| (*plain + *own).is_finite()) {
            n += 1.0;
            sums = (sums.0 + plain, sums.1 + own);
            let step = own - plain - mean;
            mean += step / n;
            squares += step * (own - plain - mean);
        }
        let by_chance = STANDARD_ERRORS * (squares / n / (n / passes - 1.0)).sqrt();
        let ratio = (sums.1 / sums.0).sqrt();
        (gained > 0.0 && mean > by_chance && n / passes * ratio.ln() > gained).then_some(ratio)
    }

    /// The kinds that are out for their means, with the ratio of their root mean squared errors to those of the plain kind.
    pub fn misses(&self) -> impl Iterator<Item = (Kind, f64)> {
        self.others.iter().filter_map(|own| Some((own.model.kind(), self.costly_means(own)?)))
    }

    /// Those that are not given up.
    fn remaining(&mut self) -> impl Iterator<Item = &mut Candidate> {
        self.candidates_mut().filter(|own| own.out.is_none())
    }

    /// Rows learned so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether further rows change nothing: enough were learned, or one candidate is left.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.rows >= MOST_ROWS || self.candidates().filter(|candidate| candidate.out.is_none()).count() < 2
    }

    /// Learns a row, unless the trial is over. Costs what the candidates cost.
    ///
    /// # Errors
    /// What the first candidate refuses, where all refuse the row; none has then learned it.
    pub fn learn(&mut self, row: Row<'_>, observed: Observation) -> Result<(), ModelError> {
        if self.is_over() {
            return Ok(());
        }
        self.learn_row(|_| (row, observed))?;
        self.see(&observed);
        Ok(())
    }

    /// [`learn`](Self::learn) for candidates with different inputs or groups: one row and observation for each, those of the plain candidate first.
    ///
    /// # Errors
    /// `Dimension` for another number of rows; as [`learn`](Self::learn).
    pub fn learn_each(&mut self, rows: &[(Row<'_>, Observation)]) -> Result<(), ModelError> {
        check::length("rows", 1 + self.others.len(), rows.len())?;
        if self.is_over() {
            return Ok(());
        }
        self.learn_row(|candidate| rows[candidate])?;
        self.see(&rows[0].1);
        Ok(())
    }

    /// Learns a row as each candidate sees it.
    fn learn_row<'r>(&mut self, row: impl Fn(usize) -> (Row<'r>, Observation)) -> Result<(), ModelError> {
        let (mut refused, mut first, mut learned) = (Vec::new(), None, false);
        for (k, candidate) in self.candidates_mut().enumerate().filter(|(_, own)| own.out.is_none()) {
            let (row, observed) = row(k);
            match candidate.learn(row, observed) {
                Ok(()) => learned = true,
                Err(error) => {
                    first = first.or(Some(error));
                    refused.push(candidate);
                }
            }
        }
        match first {
            Some(error) if !learned => return Err(error),
            _ => refused.into_iter().for_each(|candidate| candidate.out = Some(f64::INFINITY)),
        }
        self.count(1);
        Ok(())
    }

    /// [`learn`](Self::learn) for each of many rows, until the trial is over; rows that all refuse are left out. The labels are known before the first
    /// is learned, so that a point mass costs no candidate's time. The candidates learn on up to `threads` threads; the number changes no bit.
    pub fn learn_all(&mut self, rows: &[(Row<'_>, Observation)], threads: usize) {
        let rows = &rows[..rows.len().min(Self::MOST_ROWS)];
        for (_, observed) in rows {
            self.see(observed);
        }
        if self.has_point_mass() {
            let heavy = self.others.iter_mut().filter(|own| own.is_heavy && own.out.is_none());
            heavy.for_each(|own| own.out = Some(f64::INFINITY));
        }
        self.learn_in_order(rows, threads);
    }

    /// Learns the rows of [`learn_all`](Self::learn_all) up to `passes` times more, each time from nothing and in another order: one pass can fail in one
    /// order and not in others, so that the median of the passes tells which kind is the best. Candidates whose median cannot be the best learn no
    /// further pass.
    ///
    /// # Errors
    /// A model of settings that can no longer be made.
    pub fn learn_again(
        &mut self,
        rows: &[(Row<'_>, Observation)],
        passes: usize,
        threads: usize,
    ) -> Result<(), ModelError> {
        let all = self.rows;
        self.end_pass();
        for _ in 0..passes {
            if !self.is_open(1 + passes) {
                break;
            }
            for candidate in self.remaining() {
                candidate.model = candidate.model.emptied()?;
            }
            let first = rows.len() * self.plain.before.0.len();
            let mut order: Vec<usize> = (0..rows.len()).collect();
            order.sort_by_key(|i| key((first + i) as u64));
            self.rows = 0;
            self.learn_in_order(&order.into_iter().map(|i| rows[i]).collect::<Vec<_>>(), threads);
            self.end_pass();
        }
        self.rows = all.max(self.rows);
        Ok(())
    }

    /// Gives up the candidates whose median of `passes` passes cannot be the best, except the plain one, with whose means those of the others are compared.
    /// Returns whether several candidates can still be the best.
    fn is_open(&mut self, passes: usize) -> bool {
        let surest = self.candidates().filter(|own| self.gained(own).is_some()).map(|own| own.median_within(passes).1);
        let bound = surest.fold(f64::INFINITY, f64::min) + 2.0 * MARGIN;
        let can_win = |own: &Candidate| own.out.is_none() && own.median_within(passes).0 <= bound;
        if self.candidates().filter(|own| can_win(own)).count() < 2 {
            return false;
        }
        for lost in self.others.iter_mut().filter(|own| own.out.is_none() && !can_win(own)) {
            lost.out = lost.behind();
        }
        true
    }

    /// Learns rows as [`learn_row`](Self::learn_row) does one by one: each candidate those up to the next look at all.
    fn learn_in_order(&mut self, rows: &[(Row<'_>, Observation)], threads: usize) {
        let mut left = rows;
        while !left.is_empty() && !self.is_over() {
            let to_look =
                (1..=MOST_ROWS - self.rows).find(|rows| is_look(self.rows + rows)).unwrap_or(MOST_ROWS - self.rows);
            let many = left.len().min(usize::try_from(to_look).unwrap_or(usize::MAX));
            let learned = in_threads(self.remaining().collect(), threads, |candidate| {
                candidate.learn_until_refused(&left[..many])
            });
            let most = learned.iter().copied().max().unwrap_or(0);
            // Of those that refused a row that another learned.
            let last = learned.iter().copied().filter(|own| *own < most).max();
            let out = self.remaining().zip(&learned).filter(|(_, own)| **own < most);
            out.for_each(|(candidate, _)| candidate.out = Some(f64::INFINITY));
            let counted = last.filter(|_| self.is_over()).map_or(most, |last| last + 1);
            self.remaining().for_each(|own| own.forget(most - counted));
            self.count(counted as u64);
            left = &left[(most + 1).min(many)..];
        }
    }

    /// Counts rows, and gives up those that are far behind where it is time for it.
    fn count(&mut self, rows: u64) {
        self.rows += rows;
        if rows > 0 && is_look(self.rows) {
            self.give_up();
        }
    }

    /// Ends a pass, if one is not at its end.
    fn end_pass(&mut self) {
        let best = self.candidates().filter_map(Candidate::gained).fold(f64::NEG_INFINITY, f64::max);
        for candidate in self.remaining().filter(|own| !own.scores.is_empty()) {
            let behind = candidate.gained().map_or(f64::INFINITY, |gained| best - gained);
            candidate.end(behind);
        }
    }

    /// Gives up those that are far behind.
    fn give_up(&mut self) {
        let best = self.candidates().filter_map(|own| self.gained(own)).fold(f64::NEG_INFINITY, f64::max);
        for candidate in self.remaining() {
            let behind = candidate.gained().map_or(f64::INFINITY, |gained| best - gained);
            candidate.out = (behind > BEHIND).then_some(behind);
        }
    }

    /// The kind that the rows prefer.
    #[must_use]
    pub fn chosen(&self) -> Kind {
        self.best().1.model.kind()
    }

    /// The place of the candidate that the rows prefer: 0 of the plain one, from 1 on of the others.
    #[must_use]
    pub fn place(&self) -> usize {
        self.best().0
    }

    fn best(&self) -> (usize, &Candidate) {
        let of = |candidate: &Candidate| self.gained(candidate).unwrap_or(f64::NEG_INFINITY);
        let start = ((0, &self.plain), of(&self.plain) + MARGIN);
        let handicap = |other: &Candidate| if matches!(other.model, Model::ZeroInflated(_)) { MARGIN } else { 0.0 };
        let better = |best: (_, f64), (k, other)| {
            if of(other) - handicap(other) > best.1 { ((k, other), of(other)) } else { best }
        };
        (1..).zip(&self.others).fold(start, better).0
    }

    /// How many nats each kind is behind the chosen one, or was behind the best when it was given up; infinite for one that could not
    /// learn a row. The plain kind comes first.
    #[must_use]
    pub fn behind(&self) -> Vec<(Kind, f64)> {
        let best = self.best().1.gained().unwrap_or(f64::NEG_INFINITY);
        let of = |own: &Candidate| own.out.or(self.gained(own).map(|gained| best - gained)).unwrap_or(f64::INFINITY);
        self.candidates().map(|own| (own.model.kind(), of(own))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transform;

    /// Ten of fifty rows are far off under the other kind, or one.
    #[test]
    fn kinds_whose_means_cost_more_than_they_gain_are_not_chosen() {
        let new = |kind: Kind| Model::new(kind, 2, kind.default_settings()).unwrap();
        let robust = Kind::Robust { unit: (0.0, 1.0), transform: Transform::Identity };
        let chosen = |gain: f64, far: &dyn Fn(u32) -> bool| {
            let mut trial =
                Trial::new(new(Kind::Number { noise: (0.5, 0.1), transform: Transform::Identity }), vec![new(robust)]);
            let rows = || (1..=100_u32).map(f64::from);
            trial.plain.scores = rows().map(|t| -3.0 * t).collect();
            trial.others[0].scores = rows().map(|t| (gain - 3.0) * t).collect();
            trial.plain.errors = vec![1.0; 100];
            trial.others[0].errors = (0..100).map(|t| if far(t) { 1001.0 } else { 1.0 }).collect();
            (trial.chosen() == robust, trial.misses().map(|(_, ratio)| ratio).collect::<Vec<f64>>())
        };
        let often = |t: u32| t.is_multiple_of(5);
        // The root of the mean square is √201 times as large: 2.65 nats a row.
        assert_eq!(chosen(2.6, &often), (false, vec![201.0_f64.sqrt()]));
        assert_eq!(chosen(2.7, &often), (true, vec![]));
        assert_eq!(chosen(0.1, &|t| t == 80), (true, vec![]), "by chance");
    }

    /// The labels are those of the input that the second candidate sees, and the first does not.
    #[test]
    fn candidates_may_have_inputs_of_their_own() {
        let kind = Kind::Number { noise: (0.5, 0.1), transform: Transform::Identity };
        let new = |inputs: usize| Model::new(kind, inputs, kind.default_settings()).unwrap();
        let mut trial = Trial::new(new(1), vec![new(2)]);
        let x = |t: u32| f64::from(t * 7 % 11);
        for t in 0..60 {
            let seen = Observation::new(3.0 * x(t) + f64::from(t * 5 % 3));
            trial.learn_each(&[(Row::Dense(&[x(t + 4)]), seen), (Row::Dense(&[x(t + 4), x(t)]), seen)]).unwrap();
        }
        assert_eq!((trial.place(), trial.rows()), (1, 60));
        let one = trial.learn_each(&[(Row::Dense(&[0.0]), Observation::new(0.0))]).unwrap_err();
        assert!(matches!(one, ModelError::Core(vi_core::Error::Dimension { expected: 2, found: 1, .. })), "{one}");
        assert_eq!(trial.rows(), 60);
    }

    /// Two labels in three are 0, the others numbers: the density of heavy tails at 0 has no bound.
    #[test]
    fn heavy_tails_are_out_where_most_labels_are_one_number() {
        let new = |kind: Kind| Model::new(kind, 1, kind.default_settings()).unwrap();
        let chosen = |zeros: u32, at_once: bool| {
            let others = vec![new(Kind::Robust { transform: Transform::Identity, unit: (0.0, 1.0) })];
            let mut trial = Trial::new(new(Kind::Number { transform: Transform::Identity, noise: (0.5, 0.1) }), others);
            let label = |t: u32| if t % 6 < zeros { 0.0 } else { 5.0 + f64::from(t * 7 % 11) };
            let inputs: Vec<[f64; 1]> = (0..120).map(|t| [f64::from(t * 5 % 13)]).collect();
            let rows: Vec<_> = (0..).zip(&inputs).map(|(t, x)| (Row::Dense(x), Observation::new(label(t)))).collect();
            if at_once {
                trial.learn_all(&rows, 2);
            } else {
                for (row, observed) in rows {
                    trial.learn(row, observed).unwrap();
                }
            }
            (trial.chosen(), trial.behind()[1].1)
        };
        for at_once in [true, false] {
            let (kind, behind) = chosen(4, at_once);
            assert!(matches!(kind, Kind::Number { .. }) && behind == f64::INFINITY, "{kind:?} {behind}");
            assert!(chosen(2, at_once).1.is_finite());
        }
    }

    /// Of labels that are 0 wherever the input is, a density can be as high as it likes; the probability of a count is at most 1.
    #[test]
    fn densities_beside_counts_are_compared_by_cells() {
        let new = |kind: Kind| Model::new(kind, 1, kind.default_settings()).unwrap();
        let label = |t: u32| if t % 5 < 2 { 0.0 } else { f64::from(1 + t * 7 % 4) };
        let behind = |others: Vec<Kind>| {
            let mut trial = Trial::new(
                new(Kind::Number { noise: (0.5, 0.1), transform: Transform::Identity }),
                others.into_iter().map(new).collect(),
            );
            for t in 0..200 {
                trial.learn(Row::Dense(&[f64::from(u8::from(t % 5 < 2))]), Observation::new(label(t))).unwrap();
            }
            trial.behind()[0].1
        };
        let varying = Kind::Varying { unit: (0.0, 1.0), transform: Transform::Identity };
        let (alone, beside) = (behind(vec![varying]), behind(vec![varying, Kind::Count]));
        assert!(alone > 3.0 * beside && beside > 0.0, "{alone} {beside}");
    }

    /// Of three passes the other kind is ten nats better in two, and far behind in one.
    #[test]
    fn one_order_of_several_does_not_decide() {
        let new = |kind: Kind| Model::new(kind, 1, kind.default_settings()).unwrap();
        let plain = Kind::Number { noise: (0.5, 0.1), transform: Transform::Identity };
        let robust = Kind::Robust { unit: (0.0, 1.0), transform: Transform::Identity };
        let mut trial = Trial::new(new(plain), vec![new(robust)]);
        trial.plain.before.0 = vec![10.0, 0.0, 10.0];
        trial.others[0].before.0 = vec![0.0, 90.0, 0.0];
        assert_eq!((trial.chosen(), trial.behind()), (robust, vec![(plain, 10.0), (robust, 0.0)]));
        trial.others[0].before.0 = vec![0.0, 90.0, 90.0];
        assert_eq!(trial.chosen(), plain);
    }

    #[test]
    fn rows_are_learned_again_in_other_orders() {
        let new = |kind: Kind| Model::new(kind, 1, kind.default_settings()).unwrap();
        let plain = Kind::Number { noise: (0.5, 0.1), transform: Transform::Identity };
        let robust = Kind::Robust { unit: (0.0, 1.0), transform: Transform::Identity };
        let inputs: Vec<[f64; 1]> = (0..80).map(|t| [f64::from(t * 7 % 11)]).collect();
        let after = |far: f64| {
            let mut trial = Trial::new(new(plain), vec![new(robust)]);
            let label = |t: u32| f64::from(t * 7 % 11 + t * t % 7) + if t.is_multiple_of(9) { far } else { 0.0 };
            let rows: Vec<_> = (0..).zip(&inputs).map(|(t, x)| (Row::Dense(x), Observation::new(label(t)))).collect();
            trial.learn_all(&rows, 2);
            let one = trial.clone();
            trial.learn_again(&rows, 2, 2).unwrap();
            assert_eq!((trial.rows(), one.rows()), (80, 80));
            let best = trial.best().1.behind().unwrap();
            for (own, (_, behind)) in trial.candidates().zip(trial.behind()) {
                assert_eq!(behind, own.behind().unwrap() - best);
            }
            assert_eq!(
                trial.plain.before.0[0],
                one.behind()[0].1 - one.behind().iter().map(|own| own.1).fold(0.0, f64::min)
            );
            trial
        };
        let (open, decided) = (after(0.0), after(40.0));
        let passes = &open.plain.before;
        assert_eq!((passes.0.len(), passes.1.len()), (3, 3 * 40));
        let behind = &open.others[0].before.0;
        assert!(behind[1] != behind[0] && behind[1] != behind[2]);
        // After two passes the third cannot make the plain kind the best.
        assert_eq!((decided.plain.before.0.len(), decided.chosen()), (2, robust));
    }

    /// A kind that cannot be the best learns no further pass, and one that may be does.
    #[test]
    fn passes_are_made_while_their_median_is_open() {
        let new = |kind: Kind| Model::new(kind, 1, kind.default_settings()).unwrap();
        let plain = Kind::Number { noise: (0.5, 0.1), transform: Transform::Identity };
        let robust = Kind::Robust { unit: (0.0, 1.0), transform: Transform::Identity };
        let open = |of_plain: [f64; 2], of_others: [[f64; 2]; 2]| {
            let mut trial = Trial::new(new(plain), vec![new(robust), new(robust)]);
            trial.plain.before.0 = of_plain.to_vec();
            for (own, behind) in trial.others.iter_mut().zip(of_others) {
                own.before.0 = behind.to_vec();
            }
            (trial.is_open(3), [0, 1].map(|k: usize| trial.others[k].out))
        };
        assert_eq!(open([9.0, 5.0], [[0.0, 0.0], [30.0, 40.0]]), (false, [None, None]));
        assert_eq!(open([9.0, 0.0], [[0.0, 5.0], [30.0, 40.0]]), (true, [None, Some(40.0)]));
        assert_eq!(open([9.0, 0.0], [[0.0, 5.0], [30.0, 6.0]]), (true, [None, None]));
        assert_eq!(open([1.0, 1.0], [[0.0, 0.0], [30.0, 40.0]]), (true, [None, Some(40.0)]));
    }

    #[test]
    fn many_rows_at_a_time_are_the_same_trial() {
        let new = |kind: Kind| Model::new(kind, 2, kind.default_settings()).unwrap();
        // All refuse one row, and the logarithm another.
        let row = |t: u32| [if t == 30 { f64::NAN } else { f64::from(t * 7 % 11) }, (0.3 * f64::from(t)).sin()];
        let label =
            |t: u32| if t == 70 { -1.0 } else { (0.2 * f64::from(t * 7 % 11) + row(t)[1]).exp() + f64::from(t % 3) };
        let log = Kind::Number { transform: Transform::Log, noise: (0.5, 0.1) };
        let robust = Kind::Robust { transform: Transform::Identity, unit: (0.0, 1.0) };
        let inputs: Vec<[f64; 2]> = (0..150).map(row).collect();
        let rows: Vec<_> = (0..).zip(&inputs).map(|(t, x)| (Row::Dense(x), Observation::new(label(t)))).collect();
        for (others, learned) in [(vec![log, robust], 149), (vec![log], 70)] {
            let plain = Kind::Number { transform: Transform::Identity, noise: (0.5, 0.1) };
            let mut each = Trial::new(new(plain), others.into_iter().map(new).collect());
            let mut all = [each.clone(), each.clone()];
            for (t, (row, observed)) in rows.iter().enumerate() {
                assert_eq!(each.learn(*row, *observed).is_err(), t == 30);
            }
            assert_eq!(each.rows(), learned);
            for (all, threads) in all.iter_mut().zip(1..) {
                all.learn_all(&rows, threads);
                assert_eq!((each.rows(), each.behind()), (all.rows(), all.behind()));
            }
        }
    }
}
