//! Items and papers: the registry behind the command line.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use indicatif::ProgressBar;

use crate::error::ReproError;
use crate::report::{Outcome, Words};

/// What the function of an item is given.
#[derive(Clone, Debug)]
pub struct Context {
    /// Seed of every generated data set.
    pub seed: u64,
    /// Smaller sizes and fewer data sets, so that everything ends within a minute.
    pub quick: bool,
    /// Moves while the item runs.
    pub progress: ProgressBar,
    /// Name of the item that runs.
    pub item: &'static str,
    /// What items of the same run share.
    pub shared: Shared,
}

type Slot = Arc<Mutex<Option<Arc<dyn Any + Send + Sync>>>>;

/// Computations that several items of a run need, each made once.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Mutex<HashMap<String, Slot>>>);

impl Context {
    /// What `make` returns, made by the first item of the run that asks for `name`; items that ask meanwhile wait.
    ///
    /// # Errors
    /// Whatever `make` returns; the next item tries again.
    pub fn once<T: Any + Send + Sync>(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<T, ReproError>,
    ) -> Result<Arc<T>, ReproError> {
        let slot = {
            let mut all = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(name.to_owned()).or_default())
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = slot.as_ref().and_then(|made| Arc::clone(made).downcast::<T>().ok()) {
            return Ok(made);
        }
        let made = Arc::new(make()?);
        *slot = Some(Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        Ok(made)
    }

    /// `full` in a full run, `quick` in a quick one.
    #[must_use]
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Sets how many steps the item's progress bar has.
    pub fn steps(&self, n: usize) {
        self.progress.set_length(n as u64);
        self.progress.set_position(0);
    }

    /// Moves the item's progress bar by one step and says what it was.
    pub fn step(&self, what: &str) {
        self.progress.set_message(what.to_owned());
        self.progress.inc(1);
    }

    /// What `make` returns for each case, with a step of the bar after each.
    ///
    /// # Errors
    /// The first that `make` returns.
    pub fn each<C, T>(
        &self,
        cases: impl IntoIterator<Item = C>,
        what: &str,
        mut make: impl FnMut(C) -> Result<T, ReproError>,
    ) -> Result<Vec<T>, ReproError> {
        let one = |case| {
            let made = make(case);
            self.step(what);
            made
        };
        cases.into_iter().map(one).collect()
    }
}

/// A figure or table to reproduce; its words stand in the file of its paper.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Name on the command line and of the files.
    pub id: &'static str,
    /// Whether it takes times or memory, so that no other item may run beside it.
    pub alone: bool,
    /// Computes it.
    pub run: Run,
}

/// Computes an item.
pub type Run = fn(&Context) -> Result<Outcome, ReproError>;

impl Item {
    /// An item that may run beside others.
    #[must_use]
    pub const fn new(id: &'static str, run: Run) -> Self {
        Self { id, alone: false, run }
    }

    /// The same with the machine to itself.
    #[must_use]
    pub const fn alone(mut self) -> Self {
        self.alone = true;
        self
    }
}

/// Whom a section is for, and so on which page it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Readers of the papers: `index.html`.
    Readers,
    /// People with data: `methods.html`.
    Practitioners,
}

/// A paper and what is reproduced of it.
#[derive(Debug)]
pub struct Paper {
    /// Name on the command line and of the folder.
    pub id: &'static str,
    /// Whom it is for.
    pub audience: Audience,
    /// What is said of it and of its items.
    pub words: LazyLock<Words>,
    /// Its items, in the paper's order.
    pub items: &'static [Item],
}

impl Paper {
    /// What the file says of the paper itself: `short`, its name in a line; `title`; `source`, the reference.
    #[must_use]
    pub fn of(&self, key: &str) -> &str {
        self.words.all("paper").next().map_or("", |paper| paper.text(key))
    }
}

/// Every paper, in the order of the page.
pub static PAPERS: [&Paper; 6] = [
    &crate::rvga::PAPER,
    &crate::lrvga::PAPER,
    &crate::revrand::PAPER,
    &crate::drugowitsch::PAPER,
    &crate::bvi::PAPER,
    &crate::practice::PAPER,
];

/// The items named by `paper` and `item`; all of them when both are absent.
///
/// # Errors
/// [`ReproError::UnknownPaper`] or [`ReproError::UnknownItem`], listing the valid names.
pub fn select(
    papers: &'static [&'static Paper],
    paper: Option<&str>,
    item: Option<&str>,
) -> Result<Vec<(&'static Paper, &'static Item)>, ReproError> {
    let names = |all: &mut dyn Iterator<Item = &'static str>| all.collect::<Vec<_>>().join(", ");
    let Some(paper) = paper else {
        let all = papers.iter().flat_map(|p| p.items.iter().map(move |i| (*p, i)));
        return Ok(all.collect());
    };
    let found = papers.iter().find(|p| p.id == paper).ok_or_else(|| ReproError::UnknownPaper {
        name: paper.to_owned(),
        valid: names(&mut papers.iter().map(|p| p.id)),
    })?;
    let Some(item) = item else {
        return Ok(found.items.iter().map(|i| (*found, i)).collect());
    };
    let one = found.items.iter().find(|i| i.id == item).ok_or_else(|| ReproError::UnknownItem {
        paper: paper.to_owned(),
        name: item.to_owned(),
        valid: names(&mut found.items.iter().map(|i| i.id)),
    })?;
    Ok(vec![(*found, one)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Doing as _;

    #[test]
    fn names_are_unique_and_fit_for_files() {
        for paper in &PAPERS {
            let mut seen = std::collections::HashSet::new();
            for item in paper.items {
                assert!(seen.insert(item.id), "{} appears twice", item.id);
                let fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                assert!(item.id.chars().all(fit), "{}", item.id);
                let code = paper.words.of_item(item.id, "code").concat();
                let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(&code);
                assert!(source.is_file(), "{code} of {} is not there", item.id);
            }
        }
    }

    #[test]
    fn what_is_shared_is_made_once_and_a_failure_is_tried_again() {
        let context =
            Context { seed: 1, quick: true, progress: ProgressBar::hidden(), item: "", shared: Shared::default() };
        let fail = context.once::<u32>("a", || Err("no").context("a"));
        assert!(fail.is_err());
        assert_eq!(*context.once("a", || Ok(3_u32)).unwrap(), 3);
        assert_eq!(*context.clone().once("a", || Ok(4_u32)).unwrap(), 3);
        assert_eq!(*context.once("b", || Ok(4_u32)).unwrap(), 4);
    }

    #[test]
    fn unknown_names_list_the_valid_ones() {
        let e = select(&PAPERS, Some("nothing"), None).unwrap_err();
        assert!(e.to_string().contains("rvga"), "{e}");
        let e = select(&PAPERS, Some("rvga"), Some("fig99")).unwrap_err();
        assert!(e.to_string().contains("fig1"), "{e}");
        assert_eq!(select(&PAPERS, Some("rvga"), Some("fig1")).unwrap().len(), 1);
        let all: usize = PAPERS.iter().map(|p| p.items.len()).sum();
        assert_eq!(select(&PAPERS, None, None).unwrap().len(), all);
    }
}
