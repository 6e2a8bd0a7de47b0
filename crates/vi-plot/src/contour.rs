//! A function on a rectangular grid and its level lines, by marching squares.

use crate::error::{PlotError, same_length};

/// Values on the grid `xs` × `ys`, row by row: `values[j * nx + i]` belongs to `(xs[i], ys[j])`.
#[derive(Clone, Debug)]
pub struct Grid {
    pub(super) xs: Vec<f64>,
    pub(super) ys: Vec<f64>,
    pub(super) values: Vec<f64>,
}

/// `n` values from `lo` to `hi`, both included (`n ≥ 2`).
#[must_use]
pub fn linspace(lo: f64, hi: f64, n: usize) -> Vec<f64> {
    let steps = n.max(2) - 1;
    (0..=steps).map(|i| lo + (hi - lo) * i as f64 / steps as f64).collect()
}

/// `n` values from `lo` to `hi` in equal ratios, both included (`0 < lo`, `n ≥ 2`).
#[must_use]
pub fn logspace(lo: f64, hi: f64, n: usize) -> Vec<f64> {
    linspace(lo.ln(), hi.ln(), n).into_iter().map(f64::exp).collect()
}

impl Grid {
    /// A grid of values already computed, row by row.
    ///
    /// # Errors
    /// [`PlotError::Length`] unless there are `xs.len() · ys.len()` of them and at least two of each.
    pub fn new(xs: Vec<f64>, ys: Vec<f64>, values: Vec<f64>) -> Result<Self, PlotError> {
        if xs.len() < 2 || ys.len() < 2 {
            same_length("grid axes", 2, xs.len().min(ys.len()))?;
        }
        same_length("grid values", xs.len() * ys.len(), values.len())?;
        Ok(Self { xs, ys, values })
    }

    /// Evaluates `f(x, y)` on `xs` × `ys`.
    ///
    /// # Errors
    /// As [`Grid::new`].
    pub fn of(xs: Vec<f64>, ys: Vec<f64>, mut f: impl FnMut(f64, f64) -> f64) -> Result<Self, PlotError> {
        let mut values = Vec::with_capacity(xs.len() * ys.len());
        for &y in &ys {
            for &x in &xs {
                values.push(f(x, y));
            }
        }
        Self::new(xs, ys, values)
    }

    /// Smallest and largest finite value.
    #[must_use]
    pub fn extent(&self) -> Option<(f64, f64)> {
        let finite = self.values.iter().copied().filter(|v| v.is_finite());
        let (lo, hi) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        (lo <= hi).then_some((lo, hi))
    }

    pub(super) fn at(&self, i: usize, j: usize) -> f64 {
        self.values[j * self.xs.len() + i]
    }

    /// The lines on which the function equals `level`, joined into as few pieces as possible.
    ///
    /// Cells with a corner that is not finite are left out. Cost: one pass over the cells.
    #[must_use]
    pub fn level_lines(&self, level: f64) -> Vec<Vec<(f64, f64)>> {
        join(&self.segments(level))
    }

    fn segments(&self, level: f64) -> Vec<Segment> {
        let (nx, ny) = (self.xs.len(), self.ys.len());
        let mut out = Vec::new();
        for j in 0..ny - 1 {
            for i in 0..nx - 1 {
                // Corners anticlockwise from the lower left; edge k joins corner k to k + 1.
                let corner = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
                let v = corner.map(|(a, b)| self.at(a, b) - level);
                if v.iter().any(|v| !v.is_finite()) {
                    continue;
                }
                let above = v.map(|v| v > 0.0);
                let crossed: Vec<usize> = (0..4).filter(|&k| above[k] != above[(k + 1) % 4]).collect();
                let end = |k: usize| {
                    let (a, b) = (corner[k], corner[(k + 1) % 4]);
                    let t = v[k] / (v[k] - v[(k + 1) % 4]);
                    let at = |c: (usize, usize)| (self.xs[c.0], self.ys[c.1]);
                    let (p, q) = (at(a), at(b));
                    End {
                        edge: if a < b { (a, b) } else { (b, a) },
                        at: (p.0 + t * (q.0 - p.0), p.1 + t * (q.1 - p.1)),
                    }
                };
                match crossed.as_slice() {
                    [a, b] => out.push((end(*a), end(*b))),
                    [_, _, _, _] => {
                        // A saddle: the mean decides which corners are joined.
                        let joined = (v.iter().sum::<f64>() > 0.0) == above[0];
                        let pairs = if joined { [(0, 1), (2, 3)] } else { [(3, 0), (1, 2)] };
                        for (a, b) in pairs {
                            out.push((end(a), end(b)));
                        }
                    }
                    _ => {}
                }
            }
        }
        out
    }
}

type Edge = ((usize, usize), (usize, usize));

#[derive(Clone, Copy)]
struct End {
    edge: Edge,
    at: (f64, f64),
}

type Segment = (End, End);

/// Joins segments that share a grid edge.
fn join(segments: &[Segment]) -> Vec<Vec<(f64, f64)>> {
    let mut at_edge: std::collections::HashMap<Edge, Vec<usize>> = std::collections::HashMap::new();
    for (k, s) in segments.iter().enumerate() {
        at_edge.entry(s.0.edge).or_default().push(k);
        at_edge.entry(s.1.edge).or_default().push(k);
    }
    let mut used = vec![false; segments.len()];
    let mut lines = Vec::new();
    for start in 0..segments.len() {
        if used[start] {
            continue;
        }
        used[start] = true;
        let (a, b) = segments[start];
        let mut line = std::collections::VecDeque::from([a.at, b.at]);
        for (mut edge, forwards) in [(b.edge, true), (a.edge, false)] {
            while let Some(next) = at_edge.get(&edge).and_then(|list| list.iter().copied().find(|&k| !used[k])) {
                used[next] = true;
                let (p, q) = segments[next];
                let far = if p.edge == edge { q } else { p };
                if forwards {
                    line.push_back(far.at);
                } else {
                    line.push_front(far.at);
                }
                edge = far.edge;
            }
        }
        lines.push(line.into_iter().collect());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_one_closed_line_of_the_right_radius() {
        let n = 81;
        let xs = linspace(-2.0, 2.0, n);
        let grid = Grid::of(xs.clone(), xs, |x, y| x * x + y * y).unwrap();
        let lines = grid.level_lines(1.0);
        assert_eq!(lines.len(), 1);
        let line = &lines[0];
        assert_eq!(line.first(), line.last());
        // Linear interpolation of a quadratic over a cell of side s is off by at most s²/4 in value, s²/8 in radius.
        let s = 4.0 / (n as f64 - 1.0);
        for (x, y) in line {
            assert!((x.hypot(*y) - 1.0).abs() <= s * s / 8.0 + 1e-12);
        }
    }

    #[test]
    fn a_saddle_gives_two_branches() {
        let xs = linspace(-1.0, 1.0, 20);
        let grid = Grid::of(xs.clone(), xs, |x, y| x * y).unwrap();
        assert_eq!(grid.level_lines(0.1).len(), 2);
    }

    #[test]
    fn nan_cells_are_left_out_and_levels_outside_give_nothing() {
        let xs = linspace(-1.0, 1.0, 5);
        let grid = Grid::of(xs.clone(), xs, |x, _| if x > 0.4 { f64::NAN } else { x }).unwrap();
        assert_eq!(grid.level_lines(-0.25).len(), 1);
        assert!(grid.level_lines(7.0).is_empty());
        assert_eq!(grid.extent(), Some((-1.0, 0.0)));
    }

    #[test]
    fn wrong_sizes_are_typed_errors() {
        assert!(matches!(Grid::new(vec![0.0, 1.0], vec![0.0, 1.0], vec![0.0; 3]), Err(PlotError::Length { .. })));
        assert!(matches!(Grid::new(vec![0.0], vec![0.0, 1.0], vec![0.0; 2]), Err(PlotError::Length { .. })));
    }
}
