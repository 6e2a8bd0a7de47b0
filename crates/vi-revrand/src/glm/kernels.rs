//! Products of a batch's features with means and variances. Features are row-major here, so that a row is contiguous.

use pulp::{Arch, Simd, WithSimd};
use vi_linalg::faer::MatRef;

/// The number of rows that share one reading of a component.
const ROWS: usize = 4;

/// `a_n = φₙᵀm` and `v_n = Σ φₙᵢ²cᵢ` for the rows `φₙ` of `phi` (`n × D`). Cost `5nD` flops.
pub(super) fn project(phi: &[f64], m: &[f64], c: &[f64], a: &mut [f64], v: &mut [f64]) {
    assert!(m.len() == c.len() && phi.len() == m.len() * a.len() && a.len() == v.len(), "shapes disagree");
    Arch::new().dispatch(Project { phi, m, c, a, v });
}

struct Project<'a> {
    phi: &'a [f64],
    m: &'a [f64],
    c: &'a [f64],
    a: &'a mut [f64],
    v: &'a mut [f64],
}

impl WithSimd for Project<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { phi, m, c, a, v } = self;
        let d = m.len();
        let (a_blocks, a_rest) = a.as_chunks_mut::<ROWS>();
        let (v_blocks, v_rest) = v.as_chunks_mut::<ROWS>();
        let (phi_blocks, phi_rest) = phi.split_at(a_blocks.len() * ROWS * d);
        for (i, (a, v)) in a_blocks.iter_mut().zip(v_blocks).enumerate() {
            let rows: [&[f64]; ROWS] = std::array::from_fn(|r| &phi_blocks[(i * ROWS + r) * d..][..d]);
            (*a, *v) = moments(simd, rows, m, c);
        }
        for (i, (a, v)) in a_rest.iter_mut().zip(v_rest).enumerate() {
            ([*a], [*v]) = moments(simd, [&phi_rest[i * d..][..d]], m, c);
        }
    }
}

#[inline(always)]
fn moments<S: Simd, const R: usize>(simd: S, rows: [&[f64]; R], m: &[f64], c: &[f64]) -> ([f64; R], [f64; R]) {
    let (m, m_tail) = S::as_simd_f64s(m);
    let (c, c_tail) = S::as_simd_f64s(c);
    let (n, tail) = (m.len(), m_tail.len());
    let heads = rows.map(|row| &S::as_simd_f64s(row).0[..n]);
    let tails = rows.map(|row| &S::as_simd_f64s(row).1[..tail]);
    let (mut a, mut v) = ([simd.splat_f64s(0.0); R], [simd.splat_f64s(0.0); R]);
    let c = &c[..n];
    for i in 0..n {
        for r in 0..R {
            let p = heads[r][i];
            a[r] = simd.mul_add_e_f64s(p, m[i], a[r]);
            v[r] = simd.mul_add_e_f64s(simd.mul_f64s(p, p), c[i], v[r]);
        }
    }
    let (sums_a, sums_v) = (a, v);
    let (mut a, mut v) = ([0.0; R], [0.0; R]);
    for r in 0..R {
        (a[r], v[r]) = (simd.reduce_sum_f64s(sums_a[r]), simd.reduce_sum_f64s(sums_v[r]));
    }
    for i in 0..tail {
        for r in 0..R {
            let p = tails[r][i];
            a[r] += p * m_tail[i];
            v[r] += p * p * c_tail[i];
        }
    }
    (a, v)
}

/// `g_m ← g_m + Σ s_n·φₙ` and `g_c ← g_c + Σ t_n·φₙ∘φₙ` over the rows of `phi` (`n × D`). Cost `5nD` flops.
pub(super) fn back_project(phi: &[f64], s: &[f64], t: &[f64], g_m: &mut [f64], g_c: &mut [f64]) {
    let d = g_m.len();
    assert!(g_c.len() == d && phi.len() == d * s.len() && s.len() == t.len(), "shapes disagree");
    Arch::new().dispatch(BackProject { phi, s, t, g_m, g_c });
}

struct BackProject<'a> {
    phi: &'a [f64],
    s: &'a [f64],
    t: &'a [f64],
    g_m: &'a mut [f64],
    g_c: &'a mut [f64],
}

impl WithSimd for BackProject<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { phi, s, t, g_m, g_c } = self;
        let d = g_m.len();
        let (s_blocks, s_rest) = s.as_chunks::<ROWS>();
        let (t_blocks, t_rest) = t.as_chunks::<ROWS>();
        let (phi_blocks, phi_rest) = phi.split_at(s_blocks.len() * ROWS * d);
        for (i, (s, t)) in s_blocks.iter().zip(t_blocks).enumerate() {
            add_rows(&phi_blocks[i * ROWS * d..][..ROWS * d], *s, *t, g_m, g_c);
        }
        for (i, (s, t)) in s_rest.iter().zip(t_rest).enumerate() {
            add_rows(&phi_rest[i * d..][..d], [*s], [*t], g_m, g_c);
        }
    }
}

#[inline(always)]
fn add_rows<const R: usize>(phi: &[f64], s: [f64; R], t: [f64; R], g_m: &mut [f64], g_c: &mut [f64]) {
    let d = g_m.len();
    let rows: [&[f64]; R] = std::array::from_fn(|r| &phi[r * d..][..d]);
    let g_c = &mut g_c[..d];
    for i in 0..d {
        let (mut first, mut second) = (g_m[i], g_c[i]);
        for r in 0..R {
            let p = rows[r][i];
            first = s[r].mul_add(p, first);
            second = (t[r] * p).mul_add(p, second);
        }
        g_m[i] = first;
        g_c[i] = second;
    }
}

/// `G ← G + s·mᵀ + 2·diag(t)·Φ·diag(c)`, the gradient in the features (row-major, `n × D`) through `a` and `v`.
pub(super) fn back_features(phi: &[f64], s: &[f64], t: &[f64], m: &[f64], c: &[f64], out: &mut [f64]) {
    let d = m.len();
    assert!(
        c.len() == d && phi.len() == d * s.len() && s.len() == t.len() && out.len() == phi.len(),
        "shapes disagree"
    );
    Arch::new().dispatch(BackFeatures { phi, s, t, m, c, out });
}

struct BackFeatures<'a> {
    phi: &'a [f64],
    s: &'a [f64],
    t: &'a [f64],
    m: &'a [f64],
    c: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for BackFeatures<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { phi, s, t, m, c, out } = self;
        let d = m.len();
        let c = &c[..d];
        for (n, (phi, out)) in phi.chunks_exact(d).zip(out.chunks_exact_mut(d)).enumerate() {
            let (s, t) = (s[n], 2.0 * t[n]);
            for i in 0..d {
                out[i] += s.mul_add(m[i], t * c[i] * phi[i]);
            }
        }
    }
}

/// A matrix row by row.
pub(super) fn rows(matrix: MatRef<'_, f64>) -> Vec<f64> {
    matrix.row_iter().flat_map(|row| row.iter().copied()).collect()
}

/// Turns a matrix of `n` rows, column by column, into one row by row, or back: `out[i·w + j] = columns[j·n + i]` with `w` the
/// number of columns.
pub(super) fn transpose(columns: &[f64], n: usize, out: &mut [f64]) {
    /// A block of this many rows and columns stays in the first-level cache.
    const BLOCK: usize = 16;
    assert!(columns.len() == out.len() && columns.len().is_multiple_of(n.max(1)), "shapes disagree");
    let width = columns.len() / n.max(1);
    for first in (0..width).step_by(BLOCK) {
        let block = BLOCK.min(width - first);
        for i in 0..n {
            for (j, out) in out[i * width + first..][..block].iter_mut().enumerate() {
                *out = columns[(first + j) * n + i];
            }
        }
    }
}
