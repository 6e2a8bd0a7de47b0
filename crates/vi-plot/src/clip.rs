//! Clipping of lines and polygons to a rectangle.

use super::canvas::{Px, Rect};

/// The parts of a line inside `r`; a point that is not finite breaks the line.
pub(super) fn clip_line(points: &[Px], r: &Rect) -> Vec<Vec<Px>> {
    let mut pieces: Vec<Vec<Px>> = Vec::new();
    let mut piece: Vec<Px> = Vec::new();
    for pair in points.windows(2) {
        let Some((a, b)) = clip_segment(pair[0], pair[1], r) else {
            keep(&mut pieces, std::mem::take(&mut piece));
            continue;
        };
        if piece.last() != Some(&a) {
            keep(&mut pieces, std::mem::replace(&mut piece, vec![a]));
        }
        piece.push(b);
    }
    keep(&mut pieces, piece);
    pieces
}

fn keep(pieces: &mut Vec<Vec<Px>>, piece: Vec<Px>) {
    if piece.len() > 1 {
        pieces.push(piece);
    }
}

/// The part of one segment inside `r` (Liang and Barsky).
fn clip_segment(a: Px, b: Px, r: &Rect) -> Option<(Px, Px)> {
    if ![a.0, a.1, b.0, b.1].iter().all(|v| v.is_finite()) {
        return None;
    }
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let (mut t0, mut t1) = (0.0_f64, 1.0_f64);
    let sides = [(-dx, a.0 - r.left), (dx, r.right - a.0), (-dy, a.1 - r.top), (dy, r.bottom - a.1)];
    for (p, q) in sides {
        if p == 0.0 {
            if q < 0.0 {
                return None;
            }
        } else if p < 0.0 {
            t0 = t0.max(q / p);
        } else {
            t1 = t1.min(q / p);
        }
    }
    if t0 > t1 {
        return None;
    }
    let at = |t: f64| {
        if t == 0.0 {
            a
        } else if t == 1.0 {
            b
        } else {
            (a.0 + t * dx, a.1 + t * dy)
        }
    };
    Some((at(t0), at(t1)))
}

/// The part of a polygon inside `r` (Sutherland and Hodgman); points that are not finite are left out.
pub(super) fn clip_polygon(points: &[Px], r: &Rect) -> Vec<Px> {
    let mut out: Vec<Px> = points.iter().copied().filter(|p| p.0.is_finite() && p.1.is_finite()).collect();
    let sides: [(bool, f64, f64); 4] =
        [(true, r.left, 1.0), (true, r.right, -1.0), (false, r.top, 1.0), (false, r.bottom, -1.0)];
    for (horizontal, edge, sign) in sides {
        let depth = |p: Px| sign * (if horizontal { p.0 } else { p.1 } - edge);
        let input = std::mem::take(&mut out);
        for (i, &p) in input.iter().enumerate() {
            let q = input[(i + input.len() - 1) % input.len()];
            let (dp, dq) = (depth(p), depth(q));
            if (dp >= 0.0) != (dq >= 0.0) {
                let t = dq / (dq - dp);
                out.push((q.0 + t * (p.0 - q.0), q.1 + t * (p.1 - q.1)));
            }
            if dp >= 0.0 {
                out.push(p);
            }
        }
    }
    out
}

/// Whether a point lies in `r`; a NaN does not.
pub(super) fn inside(p: Px, r: &Rect) -> bool {
    p.0 >= r.left && p.0 <= r.right && p.1 >= r.top && p.1 <= r.bottom
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Rect = Rect { left: 0.0, top: 0.0, right: 1.0, bottom: 1.0 };

    #[test]
    fn a_line_that_leaves_and_returns_becomes_two() {
        let line = [(0.5, 0.5), (2.0, 0.5), (2.0, 0.8), (0.5, 0.8)];
        let pieces = clip_line(&line, &UNIT);
        assert_eq!(pieces, vec![vec![(0.5, 0.5), (1.0, 0.5)], vec![(1.0, 0.8), (0.5, 0.8)]]);
    }

    #[test]
    fn nan_breaks_a_line() {
        let line = [(0.1, 0.1), (0.2, 0.2), (f64::NAN, 0.3), (0.4, 0.4), (0.5, 0.5)];
        assert_eq!(clip_line(&line, &UNIT).len(), 2);
    }

    #[test]
    fn a_polygon_round_the_rectangle_becomes_the_rectangle() {
        let big = [(-1.0, -1.0), (3.0, -1.0), (3.0, 3.0), (-1.0, 3.0)];
        let area: f64 = {
            let p = clip_polygon(&big, &UNIT);
            (0..p.len())
                .map(|i| {
                    let (a, b) = (p[i], p[(i + 1) % p.len()]);
                    (a.0 * b.1 - b.0 * a.1) / 2.0
                })
                .sum()
        };
        assert!((area - 1.0).abs() < 1e-12);
        assert!(clip_polygon(&[], &UNIT).is_empty());
    }
}
