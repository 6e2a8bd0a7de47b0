//! Items and papers: the registry behind the command line.

use indicatif::ProgressBar;

use crate::error::ReproError;
use crate::report::Outcome;

/// What the function of an item is given.
#[derive(Clone, Debug)]
pub struct Context {
    /// Seed of every generated data set.
    pub seed: u64,
    /// Smaller sizes and fewer data sets, so that everything ends within a minute.
    pub quick: bool,
    /// Moves while the item runs.
    pub progress: ProgressBar,
}

impl Context {
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
}

/// A figure or table to reproduce.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Name on the command line and of the files.
    pub id: &'static str,
    /// Title on the page.
    pub title: &'static str,
    /// Computes it.
    pub run: fn(&Context) -> Result<Outcome, ReproError>,
}

/// A paper and what is reproduced of it.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Name on the command line and of the folder.
    pub id: &'static str,
    /// Short title on the page.
    pub title: &'static str,
    /// Full reference.
    pub source: &'static str,
    /// Its items, in the paper's order.
    pub items: &'static [Item],
}

/// Every paper, in the order of the page.
pub const PAPERS: &[Paper] =
    &[crate::rvga::PAPER, crate::lrvga::PAPER, crate::revrand::PAPER, crate::drugowitsch::PAPER, crate::bvi::PAPER];

/// The items named by `paper` and `item`; all of them when both are absent.
///
/// # Errors
/// [`ReproError::UnknownPaper`] or [`ReproError::UnknownItem`], listing the valid names.
pub fn select(
    papers: &'static [Paper],
    paper: Option<&str>,
    item: Option<&str>,
) -> Result<Vec<(&'static Paper, &'static Item)>, ReproError> {
    let names = |all: &mut dyn Iterator<Item = &'static str>| all.collect::<Vec<_>>().join(", ");
    let Some(paper) = paper else {
        let all = papers.iter().flat_map(|p| p.items.iter().map(move |i| (p, i)));
        return Ok(all.collect());
    };
    let found = papers.iter().find(|p| p.id == paper).ok_or_else(|| ReproError::UnknownPaper {
        name: paper.to_owned(),
        valid: names(&mut papers.iter().map(|p| p.id)),
    })?;
    let Some(item) = item else {
        return Ok(found.items.iter().map(|i| (found, i)).collect());
    };
    let one = found.items.iter().find(|i| i.id == item).ok_or_else(|| ReproError::UnknownItem {
        paper: paper.to_owned(),
        name: item.to_owned(),
        valid: names(&mut found.items.iter().map(|i| i.id)),
    })?;
    Ok(vec![(found, one)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_fit_for_files() {
        for paper in PAPERS {
            let mut seen = std::collections::HashSet::new();
            for item in paper.items {
                assert!(seen.insert(item.id), "{} appears twice", item.id);
                let fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                assert!(item.id.chars().all(fit), "{}", item.id);
            }
        }
    }

    #[test]
    fn unknown_names_list_the_valid_ones() {
        let e = select(PAPERS, Some("nothing"), None).unwrap_err();
        assert!(e.to_string().contains("rvga"), "{e}");
        let e = select(PAPERS, Some("rvga"), Some("fig99")).unwrap_err();
        assert!(e.to_string().contains("fig1"), "{e}");
        assert_eq!(select(PAPERS, Some("rvga"), Some("fig1")).unwrap().len(), 1);
        let all: usize = PAPERS.iter().map(|p| p.items.len()).sum();
        assert_eq!(select(PAPERS, None, None).unwrap().len(), all);
    }
}
