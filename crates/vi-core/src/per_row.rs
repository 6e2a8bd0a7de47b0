//! One likelihood, or one rule, for all rows; or one for each.
//!
//! A label is one number. Whatever else comes with a row (an offset, an exposure, a number of trials, a weight) belongs to its
//! likelihood: such a likelihood is a small value made for the row, and a set of rows has a slice of them, [`PerRow`].

use crate::check;
use crate::likelihood::Likelihood;
use crate::{Error, SiteRule};

/// One likelihood or one rule for each row, in the rows' order, for functions that take [`Likelihoods`] or [`SiteRules`].
///
/// ```
/// use vi_core::{Belief, DenseGaussian, Explicit, GaussianLikelihood, PerRow, filter};
/// use vi_linalg::faer::mat;
/// // The second measurement is ten times as precise as the first.
/// let rules = [Explicit(GaussianLikelihood::new(1.0)?), Explicit(GaussianLikelihood::new(0.1)?)];
/// let mut belief = DenseGaussian::isotropic(&[0.0], 100.0)?;
/// let (x, y) = (mat![[1.0], [1.0]], [0.0, 1.1]);
/// filter::run(&mut belief, &PerRow(&rules), x.as_ref(), &y, |_, _, _| {})?;
/// assert!((belief.mean()[0] - 1.0).abs() < 1e-3);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, PartialEq)]
pub struct PerRow<'a, T>(
    /// As many likelihoods or rules as there are rows.
    pub &'a [T],
);

impl<T> Clone for PerRow<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PerRow<'_, T> {}

/// The likelihoods of a set of rows: either one [`Likelihood`] for all of them, or [`PerRow`].
pub trait Likelihoods {
    /// The likelihood of one row.
    type Row: Likelihood;

    /// The likelihood of row `i`; `i` is below the number that [`check_rows`](Self::check_rows) has passed.
    fn likelihood_of(&self, i: usize) -> &Self::Row;

    /// Checks that there are likelihoods for `n` rows.
    ///
    /// # Errors
    /// [`Error::Dimension`].
    fn check_rows(&self, n: usize) -> Result<(), Error>;

    /// Checks labels, one for each row.
    ///
    /// # Errors
    /// [`Error::Dimension`] for another number of likelihoods, [`Error::Row`] with the error of [`Likelihood::check_label`].
    fn check_labels(&self, y: &[f64]) -> Result<(), Error> {
        self.check_rows(y.len())?;
        y.iter()
            .enumerate()
            .try_for_each(|(i, &label)| self.likelihood_of(i).check_label(label).map_err(|error| error.at_row(i)))
    }
}

impl<L: Likelihood> Likelihoods for L {
    type Row = Self;

    fn likelihood_of(&self, _: usize) -> &Self {
        self
    }

    fn check_rows(&self, _: usize) -> Result<(), Error> {
        Ok(())
    }
}

impl<L: Likelihood> Likelihoods for PerRow<'_, L> {
    type Row = L;

    fn likelihood_of(&self, i: usize) -> &L {
        &self.0[i]
    }

    fn check_rows(&self, n: usize) -> Result<(), Error> {
        check::length("likelihoods", n, self.0.len())
    }
}

/// The rules of a set of rows: either one [`SiteRule`] for all of them, or [`PerRow`].
pub trait SiteRules {
    /// The rule of one row.
    type Row: SiteRule;

    /// The rule of row `i`; `i` is below the number that [`check_labels`](Self::check_labels) has passed.
    fn rule_of(&self, i: usize) -> &Self::Row;

    /// Checks labels, one for each row.
    ///
    /// # Errors
    /// [`Error::Dimension`] for another number of rules, [`Error::Row`] with the error of [`SiteRule::check_label`].
    fn check_labels(&self, y: &[f64]) -> Result<(), Error>;
}

impl<R: SiteRule> SiteRules for R {
    type Row = Self;

    fn rule_of(&self, _: usize) -> &Self {
        self
    }

    fn check_labels(&self, y: &[f64]) -> Result<(), Error> {
        check_each(y, |_| self)
    }
}

impl<R: SiteRule> SiteRules for PerRow<'_, R> {
    type Row = R;

    fn rule_of(&self, i: usize) -> &R {
        &self.0[i]
    }

    fn check_labels(&self, y: &[f64]) -> Result<(), Error> {
        check::length("rules", y.len(), self.0.len())?;
        check_each(y, |i| &self.0[i])
    }
}

fn check_each<'a, R: SiteRule + 'a>(y: &[f64], rule: impl Fn(usize) -> &'a R) -> Result<(), Error> {
    y.iter().enumerate().try_for_each(|(i, &label)| rule(i).check_label(label).map_err(|error| error.at_row(i)))
}
