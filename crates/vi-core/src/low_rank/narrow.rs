//! Loops over single rows of a factor of few columns, padded to whole vectors.

/// Numbers that go together; the padded width of a row is a multiple of them.
pub(super) const LANES: usize = 4;

/// `p` columns with their padding, never nothing.
pub(super) fn padded(p: usize) -> usize {
    p.max(1).next_multiple_of(LANES)
}

/// `out ← out + rowᵀM`, `M` row after row and as wide as `out`.
#[inline(always)]
pub(super) fn add_times(out: &mut [f64], row: &[f64], m: &[f64]) {
    let width = out.len();
    for (c, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let mut sum = *out;
        for (x, m) in row.iter().zip(m.chunks_exact(width)) {
            let m = &m[LANES * c..LANES * (c + 1)];
            for j in 0..LANES {
                sum[j] += x * m[j];
            }
        }
        *out = sum;
    }
}

/// `out ← out + factor·row`.
#[inline(always)]
pub(super) fn add_scaled(out: &mut [f64], factor: f64, row: &[f64]) {
    let rows = row.as_chunks::<LANES>().0;
    for (out, row) in out.as_chunks_mut::<LANES>().0.iter_mut().zip(rows) {
        for j in 0..LANES {
            out[j] += factor * row[j];
        }
    }
}

/// `aᵀb`.
#[inline(always)]
pub(super) fn product(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = [0.0; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for j in 0..LANES {
            sum[j] += a[j] * b[j];
        }
    }
    (sum[0] + sum[1]) + (sum[2] + sum[3])
}

/// `sum ← sum + Σ_l f_l·a_l·b_lᵀ` over a few rows together (`a`, `b` rows of `width`), `sum` with `p` rows of that width.
#[inline(always)]
pub(super) fn add_outer(sum: &mut [f64], factors: &[f64], a: &[f64], b: &[f64], width: usize) {
    const TOGETHER: usize = 4;
    let mut factors = factors.chunks_exact(TOGETHER);
    let mut a = a.chunks_exact(TOGETHER * width);
    let mut b = b.chunks_exact(TOGETHER * width);
    for ((f, a), b) in (&mut factors).zip(&mut a).zip(&mut b) {
        for (k, sum) in sum.chunks_exact_mut(width).enumerate() {
            let x = [f[0] * a[k], f[1] * a[width + k], f[2] * a[2 * width + k], f[3] * a[3 * width + k]];
            for (c, sum) in sum.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                let at = |row: usize| &b[row * width + LANES * c..][..LANES];
                let (b0, b1, b2, b3) = (at(0), at(1), at(2), at(3));
                for j in 0..LANES {
                    sum[j] += (x[0] * b0[j] + x[1] * b1[j]) + (x[2] * b2[j] + x[3] * b3[j]);
                }
            }
        }
    }
    let rest = a.remainder().chunks_exact(width).zip(b.remainder().chunks_exact(width));
    for (f, (a, b)) in factors.remainder().iter().zip(rest) {
        for (a, sum) in a.iter().zip(sum.chunks_exact_mut(width)) {
            add_scaled(sum, f * a, b);
        }
    }
}
