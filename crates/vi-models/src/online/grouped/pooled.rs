//! A linear mixed model from the sums of its groups, wherever their rows are.
//!
//! The posterior depends on the rows of a group by their number, means and scatter alone (`n`, `m`, `S` of `(x, y)`), from which come the products
//! of any two columns `v`, standardised by centre `c` and scale `s`:
//!
//! ```text
//! Σ v_a·v_b = (S_ab + n·δ_a·δ_b)/(s_a·s_b),   Σ v_a = n·δ_a/s_a,   δ = m − c
//! ```

use vi_core::{Error, Grouped};
use vi_linalg::faer::Par;

use super::columns::Columns;
use super::engine::{Engine, grown, prior_variances};
use super::linear::GroupedLinear;
use super::place::EXACT;
use super::settings::GroupedSettings;
use crate::online::design::Design;
use crate::online::engine::{Stateful, Together};
use crate::online::linear::Linear;
use crate::online::target::Target;
use crate::{ModelError, check};

/// The sums over the rows of one group, in the units of the inputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupSums<'a> {
    /// The key of the group.
    pub group: u64,
    /// The number `n` of rows.
    pub rows: u64,
    /// The means `m` of the inputs and, last, of the label: length `d + 1`, of no meaning without rows.
    pub mean: &'a [f64],
    /// The scatter `S = Σ(v − m)(v − m)ᵀ` about these means: the lower triangle by rows, length `(d + 1)(d + 2)/2`.
    pub scatter: &'a [f64],
}

impl GroupSums<'_> {
    /// Checks lengths, finiteness and the diagonal.
    fn check(&self, inputs: usize) -> Result<(), Error> {
        check::length("means of a group", inputs + 1, self.mean.len())?;
        check::length("scatter of a group", (inputs + 1) * (inputs + 2) / 2, self.scatter.len())?;
        check::values("means of a group", self.mean)?;
        check::values("scatter of a group", self.scatter)?;
        let squares = (0..=inputs).map(|j| self.scatter[diagonal(j)]);
        match squares.enumerate().find(|(_, square)| *square < 0.0) {
            None => Ok(()),
            Some((index, value)) => {
                Err(Error::Entry { argument: "scatter of a group", index, value, requirement: "not negative" })
            }
        }
    }
}

/// Where entry `(j, j)` stands in a lower triangle by rows.
fn diagonal(j: usize) -> usize {
    j * (j + 3) / 2
}

impl GroupedLinear {
    /// The model that has learned the rows of which these are the sums, [refined](Self::refine); each group stands once. It is the model that learns the rows
    /// themselves, where both standardise alike: not at all, by given numbers, or ([`Standardise::Chosen`](crate::online::Standardise::Chosen) and
    /// [`Standardise::FirstRows`](crate::online::Standardise::FirstRows)) by all rows, which is what sums can tell; a column of two values then has its
    /// standard deviation for its scale. The evidence counts weights of nearly flat prior as flat in units of the label.
    ///
    /// `near` is where the search for the components begins: [`coordinates`](Self::coordinates) of a model of nearly the same rows, or nothing.
    /// Cost `O(d²)` a group and the search, some twenty passes of `O(m(q³ + p²q²) + p³)` for `m` groups; the same bits for any number of threads.
    ///
    /// # Errors
    /// Those of [`with_settings`](Self::with_settings); `Row` with `Dimension`, `NonFinite` or `Entry` for the sums of the group at that place; `Entry` for a key
    /// that occurs twice; `Unsupported` for `keep_rows`; `Setting` where the noise of the labels is lost in the rounding of their sums; `Overflow`,
    /// `NotPositiveDefinite`.
    ///
    /// ```
    /// use vi_linalg::faer::Par;
    /// use vi_models::online::{GroupSums, GroupedLinear, GroupedSettings};
    /// // Rows (0, 1.0), (1, 2.1), (2, 2.7) of a clinic and (0, 0.2), (2, 2.4), (4, 4.1) of another.
    /// let clinics = [
    ///     GroupSums { group: 7, rows: 3, mean: &[1.0, 5.8 / 3.0], scatter: &[2.0, 1.7, 1.4866666666666668] },
    ///     GroupSums { group: 8, rows: 3, mean: &[2.0, 6.7 / 3.0], scatter: &[8.0, 7.8, 7.646666666666665] },
    /// ];
    /// let model = GroupedLinear::of_sums(1, GroupedSettings::default(), &clinics, &[], Par::Seq)?;
    /// assert_eq!((model.observations(), model.groups()), (6, [7, 8].as_slice()));
    /// assert!(model.effects(7)?.effects[0].mean() > model.effects(8)?.effects[0].mean());
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn of_sums(
        inputs: usize,
        settings: GroupedSettings,
        groups: &[GroupSums<'_>],
        near: &[f64],
        par: Par,
    ) -> Result<Self, ModelError> {
        if settings.keep_rows {
            return Err(ModelError::Unsupported { what: "row to keep in sums" });
        }
        let mut model = Self::with_settings(inputs, settings)?;
        for (index, group) in groups.iter().enumerate() {
            group.check(inputs).map_err(|error| error.at_row(index))?;
        }
        if !near.is_empty() {
            check::length("coordinates of the components", model.engine.phi.len(), near.len())?;
            check::values("coordinates of the components", near)?;
            model.engine.phi = near.to_vec();
        }
        model.engine.par = par;
        model.engine.take_sums(groups)?;
        model.engine.par = Par::Seq;
        Ok(model)
    }

    /// The coordinates of the components at the peak of their posterior: logarithms of the standard deviations of the effects of standardised columns in units of the
    /// noise, then artanhs of partial correlations. A search that [begins](Self::of_sums) there ends there.
    #[must_use]
    pub fn coordinates(&self) -> &[f64] {
        &self.engine.phi
    }
}

impl Engine<Linear> {
    /// Learns the sums of all groups, from nothing learned.
    fn take_sums(&mut self, groups: &[GroupSums<'_>]) -> Result<(), ModelError> {
        let count = groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.rows));
        if count == 0 {
            return Ok(());
        }
        if let Some((_, centre)) = self.settings.standardise.by_rows() {
            self.columns.design = design(groups, self.settings.intercept, centre, self.columns.design.target)?;
        }
        let mut totals = Totals::new(self.columns.design.columns());
        let mut products = Products::default();
        for group in groups {
            products.set(&self.columns, group);
            totals.add(&self.columns, &products, group.group);
        }
        let variances = prior_variances(&self.columns.design, self.priors);
        let root = self.coordinates().root(&self.phi);
        let Totals { curvature, slope, keys, records, squares } = totals;
        let all = (curvature, slope);
        let (belief, solution) = Grouped::of_sums(&variances, root.as_ref(), all, keys, records, self.par)?;
        let rows = usize::try_from(count).unwrap_or(usize::MAX);
        let told = Together { rows, squares, log_det: solution.log_det, quadratic: solution.quadratic };
        let Some((score, state)) = self.family.initial().after(told) else {
            let (value, requirement) =
                (0.5 - solution.quadratic / squares, "at least 1e-8 for sums, by their rounding");
            return Err(Error::Setting { name: "share of the noise in the labels", value, requirement }.into());
        };
        (self.belief, self.state) = (belief, state);
        self.observations = count;
        self.evidence = score - count as f64 * self.unit().ln();
        self.fixed = false;
        self.place(EXACT)?;
        self.evidence += self.occam();
        self.fixed = true;
        self.next = grown(count, self.growth());
        Ok(())
    }
}

/// The design by the means and standard deviations of all rows.
fn design(groups: &[GroupSums<'_>], intercept: bool, centre: bool, target: Target) -> Result<Design, Error> {
    let told = || groups.iter().filter(|group| group.rows > 0);
    let n: f64 = told().map(|group| group.rows as f64).sum();
    let k = groups.first().map_or(0, |group| group.mean.len());
    // About the mean of one group, so that equal means are the mean.
    let mean = |j: usize| {
        let first = told().next().map_or(0.0, |group| group.mean[j]);
        first + told().map(|group| group.rows as f64 / n * (group.mean[j] - first)).sum::<f64>()
    };
    let means: Vec<f64> = (0..k).map(mean).collect();
    let square = |j: usize, centre: f64| {
        let of =
            |group: &GroupSums<'_>| group.scatter[diagonal(j)] + group.rows as f64 * (group.mean[j] - centre).powi(2);
        told().map(of).sum::<f64>() / n
    };
    let deviations: Vec<f64> = (0..k).map(|j| square(j, means[j]).sqrt()).collect();
    let (inputs, label) = (&means[..k - 1], means[k - 1]);
    let design = Design::of_moments(intercept, centre, inputs.to_vec(), &deviations[..k - 1])?;
    let middle = if centre && intercept { label } else { 0.0 };
    let spread = square(k - 1, middle).sqrt();
    let target = target.of_moments(middle, spread, label.abs().max(spread), n)?;
    Ok(Design { target, ..design }.without_tiny_columns())
}

/// The sums of products of the columns `v = (x, 1, y)` of one group.
#[derive(Debug, Default)]
struct Products {
    k: usize,
    entries: Vec<f64>,
}

impl Products {
    /// Those of a group with the columns of a model.
    fn set(&mut self, columns: &Columns, group: &GroupSums<'_>) {
        let (d, n) = (group.mean.len() - 1, group.rows as f64);
        let target = columns.design.target;
        let (one, y) = (d, d + 1);
        self.k = d + 2;
        self.entries.clear();
        self.entries.resize(self.k * self.k, 0.0);
        if group.rows == 0 {
            return;
        }
        // The inverse scale of a column, 0 where it is constant, and how far the group's mean is from the centre.
        let of = |j: usize| {
            if j == d {
                (1.0 / target.scale, group.mean[d] - target.centre)
            } else if columns.design.constant.binary_search(&j).is_ok() {
                (0.0, 0.0)
            } else {
                (1.0 / columns.scale(j), group.mean[j] - columns.centre(j))
            }
        };
        let columns: Vec<(f64, f64)> = (0..=d).map(of).collect();
        let place = |j: usize| if j == d { y } else { j };
        for (a, (inverse, away)) in columns.iter().enumerate() {
            self.put(place(a), one, n * away * inverse);
            for (b, (second, beyond)) in columns[..=a].iter().enumerate() {
                let sum = group.scatter[a * (a + 1) / 2 + b] + n * away * beyond;
                self.put(place(a), place(b), sum * inverse * second);
            }
        }
        self.put(one, one, n);
    }

    fn put(&mut self, a: usize, b: usize, value: f64) {
        self.entries[a * self.k + b] = value;
        self.entries[b * self.k + a] = value;
    }

    fn at(&self, a: usize, b: usize) -> f64 {
        self.entries[a * self.k + b]
    }
}

/// What [`Grouped::of_sums`] takes, and the sum of the labels' squares.
struct Totals {
    curvature: Vec<f64>,
    slope: Vec<f64>,
    keys: Vec<u64>,
    records: Vec<f64>,
    squares: f64,
}

impl Totals {
    fn new(p: usize) -> Self {
        let (keys, records) = (Vec::new(), Vec::new());
        Self { curvature: vec![0.0; p * (p + 1) / 2], slope: vec![0.0; p], keys, records, squares: 0.0 }
    }

    /// Adds a group, whose effects are along `z_k = v_i + o_k`.
    fn add(&mut self, columns: &Columns, products: &Products, group: u64) {
        let (p, one) = (self.slope.len(), products.k - 2);
        let y = one + 1;
        for i in 0..p {
            (0..=i).for_each(|j| self.curvature[i * (i + 1) / 2 + j] += products.at(i, j));
            self.slope[i] += products.at(i, y);
        }
        self.squares += products.at(y, y);
        let level = columns.effects.intercept.then_some((one, 0.0));
        let slopes = columns.effects.slopes.iter().map(|&j| (j, columns.origin(j)));
        let effects: Vec<(usize, f64)> = level.into_iter().chain(slopes).collect();
        let along = |(i, origin): (usize, f64), b: usize| products.at(i, b) + origin * products.at(one, b);
        for (k, first) in effects.iter().enumerate() {
            let with = effects[..=k].iter().map(|(j, origin)| along(*first, *j) + origin * along(*first, one));
            self.records.extend(with);
        }
        for effect in &effects {
            self.records.extend((0..p).map(|b| along(*effect, b)));
        }
        self.records.extend(effects.iter().map(|effect| along(*effect, y)));
        self.keys.push(group);
    }
}
