//! Loops over single rows of a factor with few columns, padded to whole vectors.
//!
//! A product with a matrix of a known number of vectors stays in registers, so each narrow width is compiled separately.

/// Numbers in a vector; the padded width of a row is a multiple of it.
pub(super) const LANES: usize = 4;

type Lane = [f64; LANES];

/// `p` with its padding, at least one vector.
pub(super) fn padded(p: usize) -> usize {
    p.max(1).next_multiple_of(LANES)
}

fn lanes(row: &[f64]) -> &[Lane] {
    row.as_chunks().0
}

#[inline(always)]
fn add(sum: &mut Lane, factor: f64, lane: &Lane) {
    for j in 0..LANES {
        sum[j] = factor.mul_add(lane[j], sum[j]);
    }
}

/// `out ← out + rowᵀM`, `M` row after row and as wide as `out`.
#[inline(always)]
pub(super) fn add_times(out: &mut [f64], row: &[f64], m: &[f64]) {
    match out.len() / LANES {
        1 => add_times_of::<1>(out, row, m),
        2 => add_times_of::<2>(out, row, m),
        3 => add_times_of::<3>(out, row, m),
        4 => add_times_of::<4>(out, row, m),
        8 => add_times_of::<8>(out, row, m),
        _ => {
            let width = out.len();
            row.iter().zip(m.chunks_exact(width)).for_each(|(x, m)| add_scaled(out, *x, m));
        }
    }
}

#[inline(always)]
fn add_times_of<const C: usize>(out: &mut [f64], row: &[f64], m: &[f64]) {
    let (Some(out), m) = (out.as_chunks_mut().0.as_chunks_mut::<C>().0.first_mut(), lanes(m).as_chunks::<C>().0) else {
        return;
    };
    // Two sums, which are independent of each other.
    let (mut even, mut odd) = (*out, [[0.0; LANES]; C]);
    let ((pairs, last), (m_pairs, m_last)) = (row.as_chunks::<2>(), m.as_chunks::<2>());
    for ([x, y], [a, b]) in pairs.iter().zip(m_pairs) {
        for c in 0..C {
            add(&mut even[c], *x, &a[c]);
            add(&mut odd[c], *y, &b[c]);
        }
    }
    // The rows of `m` are as many as the numbers of `row`: the last of an odd number stands alone in both.
    for (x, m) in last.iter().zip(m_last) {
        for c in 0..C {
            add(&mut even[c], *x, &m[c]);
        }
    }
    for c in 0..C {
        for j in 0..LANES {
            out[c][j] = even[c][j] + odd[c][j];
        }
    }
}

/// `R ← R·M` for rows `R` as wide as those of `M`, of which as many count as `R` has columns that are not padding.
#[inline(always)]
pub(super) fn times_in_place(rows: &mut [f64], m: &[f64], width: usize) {
    match width / LANES {
        1 => times_in_place_of::<1>(rows, m),
        2 => times_in_place_of::<2>(rows, m),
        3 => times_in_place_of::<3>(rows, m),
        4 => times_in_place_of::<4>(rows, m),
        8 => times_in_place_of::<8>(rows, m),
        _ => {
            let mut turned = vec![0.0; width];
            for row in rows.chunks_exact_mut(width) {
                turned.fill(0.0);
                row.iter().zip(m.chunks_exact(width)).for_each(|(x, m)| add_scaled(&mut turned, *x, m));
                row.copy_from_slice(&turned);
            }
        }
    }
}

#[inline(always)]
fn times_in_place_of<const C: usize>(rows: &mut [f64], m: &[f64]) {
    let (pairs, last) = rows.as_chunks_mut().0.as_chunks_mut::<C>().0.as_chunks_mut::<2>();
    let m = lanes(m).as_chunks::<C>().0;
    // Two rows read `M` once.
    for pair in pairs {
        *pair = turned(pair, m);
    }
    for row in last {
        [*row] = turned(&[*row], m);
    }
}

#[inline(always)]
fn turned<const K: usize, const C: usize>(rows: &[[Lane; C]; K], m: &[[Lane; C]]) -> [[Lane; C]; K] {
    let mut out = [[[0.0; LANES]; C]; K];
    for (k, m) in m.iter().enumerate() {
        for (out, row) in out.iter_mut().zip(rows) {
            let x = row[k / LANES][k % LANES];
            for c in 0..C {
                add(&mut out[c], x, &m[c]);
            }
        }
    }
    out
}

/// `out ← out + factor·row`.
#[inline(always)]
pub(super) fn add_scaled(out: &mut [f64], factor: f64, row: &[f64]) {
    for (out, row) in out.as_chunks_mut().0.iter_mut().zip(lanes(row)) {
        add(out, factor, row);
    }
}

/// `aᵀb`.
#[inline(always)]
pub(super) fn product(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = [0.0; LANES];
    for (a, b) in lanes(a).iter().zip(lanes(b)) {
        for j in 0..LANES {
            sum[j] = a[j].mul_add(b[j], sum[j]);
        }
    }
    (sum[0] + sum[1]) + (sum[2] + sum[3])
}

/// `sum ← sum + Σ_l f_l·a_l·b_lᵀ` (`a`, `b` rows of `width`), `sum` with `p` rows of that width.
#[inline(always)]
pub(super) fn add_outer(sum: &mut [f64], factors: &[f64], a: &[f64], b: &[f64], width: usize) {
    match width / LANES {
        1 => add_outer_of::<1>(sum, factors, a, b),
        2 => add_outer_of::<2>(sum, factors, a, b),
        3 => add_outer_of::<3>(sum, factors, a, b),
        4 => add_outer_of::<4>(sum, factors, a, b),
        _ => {
            for (f, (a, b)) in factors.iter().zip(a.chunks_exact(width).zip(b.chunks_exact(width))) {
                for (a, sum) in a.iter().zip(sum.chunks_exact_mut(width)) {
                    add_scaled(sum, f * a, b);
                }
            }
        }
    }
}

/// Four rows at a time, so that `sum` is read and written once for them.
#[inline(always)]
fn add_outer_of<const C: usize>(sum: &mut [f64], factors: &[f64], a: &[f64], b: &[f64]) {
    const TOGETHER: usize = 4;
    let sum = sum.as_chunks_mut().0.as_chunks_mut::<C>().0;
    let (a, b) = (lanes(a).as_chunks::<C>().0, lanes(b).as_chunks::<C>().0);
    let (fours, rest) = factors.as_chunks::<TOGETHER>();
    let (a_fours, b_fours) = (a.as_chunks::<TOGETHER>().0, b.as_chunks::<TOGETHER>().0);
    for ((f, a), b) in fours.iter().zip(a_fours).zip(b_fours) {
        let b = *b;
        for (k, sum) in sum.iter_mut().enumerate() {
            for row in 0..TOGETHER {
                let factor = f[row] * a[row][k / LANES][k % LANES];
                for c in 0..C {
                    add(&mut sum[c], factor, &b[row][c]);
                }
            }
        }
    }
    let done = TOGETHER * fours.len();
    for (f, (a, b)) in rest.iter().zip(a[done..].iter().zip(&b[done..])) {
        for (k, sum) in sum.iter_mut().enumerate() {
            for c in 0..C {
                add(&mut sum[c], f * a[k / LANES][k % LANES], &b[c]);
            }
        }
    }
}
