//! The lazy form as state: bytes, refused rows, rows of every kind, forgetting, merging, joint scores.

use proptest::prelude::*;
use rand_distr::{Distribution, StandardNormal};
use vi_core::{
    Belief, Checkpoint, DiagonalGaussian, Error, Explicit, Forget, Forgetting, GaussianBelief, GaussianLikelihood,
    LowRankGaussian, LowRankSettings, Mergeable, Row, Rows, Site, SquareRootGaussian, Upkeep, filter,
};
use vi_linalg::faer::Par;

use crate::common::{CURVED, Made, SparseTable, bytes, rng};
use crate::low_rank_lazy::{LOGIT, apart, blocked, small};

fn lazy_belief(d: usize) -> LowRankGaussian {
    LowRankGaussian::isotropic(&vec![0.05; d], 0.9, blocked(3, 8, 1, Upkeep::Lazy { sweep: 9 })).unwrap()
}

/// Stored after any row and read again, the rest of the stream leads to the same bits, fading included.
#[test]
fn stored_at_any_row_it_goes_on_to_the_same_bits() {
    let d = 150;
    let stream = small(60, d, &mut rng(6));
    let mut belief = lazy_belief(d);
    let mut stored = Vec::new();
    for t in 0..60 {
        stored.push(bytes(&belief));
        stream.learn(&mut belief, t..t + 1);
        if t % 7 == 3 {
            belief.fade(0.98).unwrap();
        }
    }
    assert!(belief.is_lazy());
    for (t, stored) in stored.iter().enumerate().step_by(5) {
        let mut again = LowRankGaussian::read_from(&mut stored.as_slice()).unwrap();
        assert_eq!(&bytes(&again), stored, "row {t}");
        for t in t..60 {
            stream.learn(&mut again, t..t + 1);
            if t % 7 == 3 {
                again.fade(0.98).unwrap();
            }
        }
        assert_eq!(bytes(&again), bytes(&belief), "row {t}");
    }
}

/// Rows along four fixed patterns are a belief of four dimensions, which rank 4 has exactly. Two of the patterns are met at the beginning
/// alone: their coordinates then take part through the sweep, after hundreds of blocks, and through what has been kept of those.
#[test]
fn coordinates_untouched_for_hundreds_of_blocks_are_exact() {
    let (patterns, size, n) = (4, 40, 700_usize);
    let d = patterns * size;
    let mut rng = rng(17);
    let unit = 1.0 / (size as f64).sqrt();
    let along = |c: &[f64]| -> (Vec<usize>, Vec<f64>) {
        (0..d).filter(|i| c[i / size] != 0.0).map(|i| (i, c[i / size] * unit)).unzip()
    };
    let rule = Explicit(GaussianLikelihood::new(1.0).unwrap());
    let settings = blocked(patterns, 2, 0, Upkeep::Lazy { sweep: 1 });
    let mut belief = LowRankGaussian::isotropic(&vec![0.0; d], 1.0, settings).unwrap();
    let mut exact = SquareRootGaussian::isotropic(&[0.0; 4], 1.0).unwrap();
    for t in 0..n {
        let met = if t < 20 { patterns } else { 2 };
        let c: Vec<f64> = (0..patterns).map(|k| if k < met { StandardNormal.sample(&mut rng) } else { 0.0 }).collect();
        let (positions, values) = along(&c);
        let y = 0.5 * c[0] - c[1] + c[patterns - 1] + {
            let z: f64 = StandardNormal.sample(&mut rng);
            z
        };
        belief.step(&rule, (&positions, &values), y, Par::Seq).unwrap();
        filter::step(&mut exact, &rule, &c, y, &mut filter::Scratch::default()).unwrap();
        if t == 451 {
            belief = LowRankGaussian::read_from(&mut bytes(&belief).as_slice()).unwrap();
        }
    }
    assert!(belief.is_lazy() && belief.counts().projections == n as u64 / 2);
    let mut step = <SquareRootGaussian as Belief>::Step::default();
    // A rounding for each row, times the condition of the precision: 1 beside 1 + Σc².
    let tolerance = (n * n) as f64 * f64::EPSILON;
    for _ in 0..20 {
        let c: Vec<f64> = (0..patterns).map(|_| StandardNormal.sample(&mut rng)).collect();
        let (positions, values) = along(&c);
        let found = belief.predict((&positions, &values), Par::Seq).unwrap();
        let sought = exact.project((&c).into(), 1.0, &mut step).unwrap();
        assert!((found.mean - sought.mean).abs() < tolerance, "{} {}", found.mean, sought.mean);
        assert!((found.variance - sought.variance).abs() < tolerance, "{} {}", found.variance, sought.variance);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A right frame around wrong numbers: an error or a belief that can be used, never a panic.
    #[test]
    fn changed_payloads_of_the_lazy_form_do_no_harm(position in 0_usize..20_000, value in any::<u8>()) {
        let stream = small(21, 40, &mut rng(7));
        let mut belief = lazy_belief(40);
        stream.learn(&mut belief, 0..21);
        let mut framed = bytes(&belief);
        let payload = 8 + 4 + 24 + 8;
        let position = payload + position % (framed.len() - payload - 8);
        framed[position] = value;
        let crc = crc::Crc::<u64>::new(&crc::CRC_64_XZ).checksum(&framed[..framed.len() - 8]);
        let end = framed.len();
        framed[end - 8..].copy_from_slice(&crc.to_le_bytes());
        if let Ok(mut belief) = LowRankGaussian::read_from(&mut framed.as_slice()) {
            if belief.settings().inner_loops() > 10 {
                return Ok(()); // as asked, and long
            }
            let row = (&[1_usize, 30], &[0.5, -1.0]);
            for _ in 0..9 {
                let _ = belief.step(&LOGIT, row, 1.0, Par::Seq);
            }
            let _ = belief.predict(&vec![0.5; belief.dim()], Par::Seq);
            let _ = belief.flush(Par::Seq);
            let _ = belief.mean();
        }
    }

    /// A pass over many rows is the loop of steps, predictions do not change the belief, and it stays a Gaussian.
    #[test]
    fn a_pass_is_the_loop(seed in 0_u64..1000, n in 1_usize..60, p in 0_usize..5) {
        let d = 120;
        let stream = small(n, d, &mut rng(seed));
        let settings = blocked(p, 8, 1, Upkeep::Lazy { sweep: 5 });
        let mut one = LowRankGaussian::isotropic(&vec![0.0; d], 1.0, settings).unwrap();
        let mut all = one.clone();
        stream.learn(&mut one, 0..n);
        let table = stream.table();
        all.run(&LOGIT, table.rows(), &stream.labels, Par::Seq, |_, belief, _| {
            belief.predict((&[3], &[1.0]), Par::Seq).unwrap();
        }).unwrap();
        prop_assert_eq!(bytes(&one), bytes(&all));
        let dense = one.to_dense().unwrap();
        for (positions, values) in stream.rows.iter().take(5) {
            let row = (positions, values);
            let (lazy, full) = (one.predict(row, Par::Seq).unwrap(), dense.predict(row).unwrap());
            prop_assert!((lazy.mean - full.mean).abs() < 1e-9);
            // The Gram matrix may have too much of a row, never too little.
            prop_assert!(lazy.variance > 0.0 && lazy.variance >= full.variance * (1.0 - 1e-9));
        }
    }
}

/// A rule that answers with whatever the label says, −1 being no Gaussian.
const GIVEN: Made = Made(|a, nu, y| {
    if y == 9.0 {
        return Err(Error::Label { label: y, family: "all but nine" });
    }
    Ok(Site { slope: 0.3 - 0.1 * a, curvature: if y < 0.0 { -2.0 / nu } else { y } })
});

/// Refused rows of every kind, at every place of a block, leave every bit.
#[test]
fn a_refused_row_leaves_the_belief_as_it_was() {
    let d = 60;
    let stream = small(30, d, &mut rng(8));
    let mut belief = lazy_belief(d);
    for t in 0..30 {
        let before = bytes(&belief);
        let row: (&[usize], &[f64]) = (&[2, 17], &[1.0, 0.5]);
        let huge: (&[usize], &[f64]) = (&[2, 17], &[1e300, 0.5]);
        assert!(matches!(belief.step(&GIVEN, row, 9.0, Par::Seq), Err(Error::Label { .. })));
        assert!(matches!(belief.step(&GIVEN, row, -1.0, Par::Seq), Err(Error::ImproperSite { .. })));
        assert!(matches!(belief.step(&GIVEN, huge, 0.5, Par::Seq), Err(Error::Overflow { .. })));
        assert!(matches!(belief.step(&GIVEN, (&[2, d], &[1.0, 1.0]), 0.5, Par::Seq), Err(Error::Entry { .. })));
        assert!(matches!(belief.step(&GIVEN, (&[2], &[f64::NAN]), 0.5, Par::Seq), Err(Error::NonFinite { .. })));
        assert_eq!(bytes(&belief), before, "row {t}");
        stream.learn(&mut belief, t..t + 1);
    }
}

/// Dense rows and rows of negative curvature take the belief to the full form and sparse ones back; dense twins agree at rank `d`.
#[test]
fn rows_of_all_kinds_are_the_exact_filter_at_full_rank() {
    let d = 12;
    let mut rng = rng(9);
    let settings = blocked(d, 4, 1, Upkeep::Lazy { sweep: 3 });
    let mut belief = LowRankGaussian::isotropic(&vec![0.2; d], 1.1, settings).unwrap();
    let mut exact = belief.to_dense().unwrap();
    let (mut forms, mut scratch) = ([0, 0], filter::Scratch::default());
    for t in 0..60 {
        let dense: Vec<f64> = (0..d).map(|_| StandardNormal.sample(&mut rng)).collect();
        let (positions, values) = ([t % 5, 6 + t % 6], [1.0, 0.4 + 0.01 * t as f64]);
        let x = if t % 11 == 10 { Row::from(&dense) } else { Row::from((&positions, &values)) };
        let y = if t % 13 == 12 { -0.01 } else { 0.4 };
        let seen = belief.step(&CURVED, x, y, Par::Seq).unwrap().projection;
        let expected = filter::step(&mut exact, &CURVED, x, y, &mut scratch).unwrap().projection;
        // Where nothing has been credited late, nothing is lost at rank d.
        assert!(
            (seen.mean - expected.mean).abs() < 1e-6 && (seen.variance / expected.variance - 1.0).abs() < 1e-6,
            "row {t}"
        );
        forms[usize::from(belief.is_lazy())] += 1;
    }
    assert!(forms[0] > 5 && forms[1] > 30, "{forms:?}");
}

/// Fading is one number, and rows after it count as they should; towards a prior and merging go through the full form.
#[test]
fn forgetting_and_merging_are_those_of_the_full_form() {
    let d = 200;
    let stream = small(160, d, &mut rng(10));
    let belief = |upkeep| LowRankGaussian::isotropic(&vec![0.1; d], 0.8, blocked(4, 16, 1, upkeep)).unwrap();
    let prior = belief(Upkeep::Full);
    let both = [Upkeep::Full, Upkeep::Lazy { sweep: d }].map(|upkeep| {
        let mut belief = belief(upkeep);
        for t in 0..150 {
            stream.learn(&mut belief, t..t + 1);
            belief.fade(0.9).unwrap();
            if t == 75 {
                Forgetting::towards(&prior, 0.5).unwrap().apply(&mut belief).unwrap();
            }
        }
        belief
    });
    let (variances, means) = apart(&both[0], &both[1]);
    assert!(variances < 1e-8 && means < 1e-8, "{variances:e} {means:e}");
    let merged = [Upkeep::Full, Upkeep::Lazy { sweep: d }].map(|upkeep| {
        let mut parts = [belief(upkeep), belief(upkeep)];
        stream.learn(&mut parts[0], 0..70);
        stream.learn(&mut parts[1], 70..150);
        LowRankGaussian::merge(&prior, &[&parts[0], &parts[1]]).unwrap()
    });
    let (variances, means) = apart(&merged[0], &merged[1]);
    assert!(variances < 1e-8 && means < 1e-8, "{variances:e} {means:e}");
    // A scale that 150 rows have made small.
    let mut long = belief(Upkeep::Lazy { sweep: 20 });
    for t in 0..150 {
        stream.learn(&mut long, t..t + 1);
        if long.can_fade(0.8) {
            long.fade(0.8).unwrap();
        }
    }
    assert!(long.is_lazy() && long.variances(Par::Seq).unwrap().iter().all(|v| v.is_finite() && *v > 0.0));
}

/// A return towards a diagonal prior is the full form's, costs no change of form, and can come after every block and after storage; where a
/// coordinate that nothing has touched is not the prior's, the full form does it.
#[test]
fn returns_of_the_lazy_form_are_those_of_the_full_one() {
    let d = 300;
    let stream = small(200, d / 2, &mut rng(13));
    let mut mean = vec![0.1; d];
    mean[7] = -0.4;
    let variances: Vec<f64> = (0..d).map(|i| 0.5 + 0.01 * (i % 9) as f64).collect();
    let belief = |upkeep| LowRankGaussian::new(&mean, &variances, blocked(4, 16, 1, upkeep)).unwrap();
    let prior = belief(Upkeep::Full);
    let mut other = mean.clone();
    // A coordinate beyond those of the stream.
    other[d - 1] = 0.2;
    let other = LowRankGaussian::new(&other, &variances, blocked(4, 16, 1, Upkeep::Full)).unwrap();
    // So much is forgotten that coordinates met at first are the prior's again.
    let mut long = belief(Upkeep::Lazy { sweep: d });
    let (anchor, seven) = (prior.anchor().unwrap(), (&[7_usize][..], &[1.0][..]));
    long.step(&LOGIT, seven, 1.0, Par::Seq).unwrap();
    long.towards(&anchor, 0.9).unwrap();
    assert!(Belief::predict(&long, seven).unwrap().mean > mean[7] + 1e-3);
    (0..400).for_each(|_| long.towards(&anchor, 0.9).unwrap());
    assert_eq!(
        bytes(&long),
        bytes(&{
            let mut fresh = belief(Upkeep::Lazy { sweep: d });
            fresh.step(&LOGIT, seven, 1.0, Par::Seq).unwrap();
            (0..390).for_each(|_| fresh.towards(&anchor, 0.9).unwrap());
            fresh
        })
    );
    for (prior, stays) in [(&prior, true), (&other, false)] {
        let both = [Upkeep::Full, Upkeep::Lazy { sweep: d }].map(|upkeep| {
            let mut belief = belief(upkeep);
            let anchor = prior.anchor().unwrap();
            for t in 0..200 {
                stream.learn(&mut belief, t..t + 1);
                // With rows that wait, and none.
                if t % 16 == 15 || t % 50 == 20 {
                    belief.towards(&anchor, 0.9).unwrap();
                    assert_eq!(belief.is_lazy(), upkeep != Upkeep::Full && stays, "row {t}");
                    assert!(belief.owed() < 1e-12);
                }
                if t == 120 {
                    belief = LowRankGaussian::read_from(&mut bytes(&belief).as_slice()).unwrap();
                }
            }
            belief
        });
        let (variances, means) = apart(&both[0], &both[1]);
        assert!(variances < 1e-9 && means < 1e-9, "{variances:e} {means:e}");
    }
}

/// Joint scores are those of the dense belief with the same mean and covariance, for every kind, and draws have their moments.
#[test]
fn scores_are_the_dense_ones_for_every_belief() {
    let d = 40;
    let stream = small(45, d, &mut rng(12));
    let mut lazy = LowRankGaussian::isotropic(&vec![0.0; d], 1.0, blocked(3, 8, 0, Upkeep::Lazy { sweep: d })).unwrap();
    stream.learn(&mut lazy, 0..45);
    assert!(lazy.waiting() > 0 && lazy.is_lazy());
    let mut faded = lazy.clone();
    faded.fade(0.7).unwrap();
    let mut full = LowRankGaussian::isotropic(&vec![0.0; d], 1.0, blocked(3, 8, 0, Upkeep::Full)).unwrap();
    stream.learn(&mut full, 0..45);
    let dense: Vec<f64> = (0..d).map(|i| (i as f64).sin()).collect();
    let mut mixed = full.clone();
    mixed.step(&Explicit(GaussianLikelihood::new(1.0).unwrap()), &dense, 1.0, Par::Seq).unwrap();
    assert!(mixed.waiting() > 1);
    let rows = |with_dense: bool| {
        let mut rows: Vec<Row<'_>> = stream.rows[..6].iter().map(|(i, x)| Row::from((i, x))).collect();
        rows.push(rows[0]);
        rows.push(Row::from((&[] as &[usize], &[] as &[f64])));
        if with_dense {
            rows.push(Row::from(&dense));
        }
        rows
    };
    let root = SquareRootGaussian::from_dense(&lazy.to_dense().unwrap()).unwrap();
    let diagonal = DiagonalGaussian::new(&vec![0.3; d], &(0..d).map(|i| 0.1 + i as f64).collect::<Vec<_>>()).unwrap();
    for with_dense in [false, true] {
        let rows = rows(with_dense);
        let pairs = [
            (lazy.scores(&rows).unwrap(), lazy.to_dense().unwrap()),
            (faded.scores(&rows).unwrap(), faded.to_dense().unwrap()),
            (full.scores(&rows).unwrap(), full.to_dense().unwrap()),
            (mixed.scores(&rows).unwrap(), mixed.to_dense().unwrap()),
            (root.scores(&rows).unwrap(), lazy.to_dense().unwrap()),
            (diagonal.scores(&rows).unwrap(), diagonal.to_dense().unwrap()),
            (lazy.to_dense().unwrap().scores(&rows).unwrap(), lazy.to_dense().unwrap()),
        ];
        for (kind, (scores, dense)) in pairs.iter().enumerate() {
            for (i, x) in rows.iter().enumerate() {
                let seen = dense.predict(*x).unwrap();
                assert!((scores.means()[i] - seen.mean).abs() < 1e-9, "{kind}");
                for (j, z) in rows.iter().enumerate() {
                    let (mut x, mut z) = ((vec![0.0; d], *x), (vec![0.0; d], *z));
                    x.1.for_each(|k, value| x.0[k] = value);
                    z.1.for_each(|k, value| z.0[k] = value);
                    let sum: Vec<f64> = x.0.iter().zip(&z.0).map(|(x, z)| x + z).collect();
                    let lone = |v: &Vec<f64>| dense.predict(v).unwrap().variance;
                    let expected = 0.5 * (lone(&sum) - lone(&x.0) - lone(&z.0));
                    assert!((scores.covariance(i, j) - expected).abs() < 1e-9, "{kind} {i} {j}");
                }
            }
        }
    }
    let scores = lazy.scores(&rows(false)).unwrap();
    let (k, n, mut random) = (scores.means().len(), 20_000, rng(13));
    let draws: Vec<Vec<f64>> = (0..n).map(|_| scores.draw(&mut random)).collect();
    for i in 0..k {
        for j in 0..k {
            let product = |draw: &Vec<f64>| (draw[i] - scores.means()[i]) * (draw[j] - scores.means()[j]);
            let found = draws.iter().map(product).sum::<f64>() / f64::from(n);
            let error = (scores.covariance(i, i) * scores.covariance(j, j) / f64::from(n)).sqrt();
            assert!((found - scores.covariance(i, j)).abs() <= 8.0 * error + 1e-12, "{i} {j}");
        }
        assert!((draws[i][0] - draws[i][6]).abs() < 1e-6, "rows that are the same have the same score");
    }
    assert!(matches!(lazy.scores(&[Row::from((&[d], &[1.0]))]), Err(Error::Row { row: 0, .. })));
    assert_eq!(lazy.scores(&[]).unwrap().draw(&mut random), []);
}

/// Streams on one machine in a loop of steps, whatever rule.
#[test]
fn rows_of_many_entries_are_for_the_full_form() {
    let d = 6000;
    let mut belief = LowRankGaussian::isotropic(&vec![0.0; d], 1.0, LowRankSettings::blocked(2).unwrap()).unwrap();
    let rule = Explicit(GaussianLikelihood::new(1.0).unwrap());
    belief.step(&rule, (&[1, 5], &[1.0, 1.0]), 1.0, Par::Seq).unwrap();
    assert!(belief.is_lazy());
    let positions: Vec<usize> = (0..d / 2).collect();
    let seen = belief.predict((&[5], &[1.0]), Par::Seq).unwrap();
    belief.step(&rule, (&positions, &vec![0.0; d / 2]), 1.0, Par::Seq).unwrap();
    assert!(!belief.is_lazy());
    let after = belief.predict((&[5], &[1.0]), Par::Seq).unwrap();
    assert!((seen.mean - after.mean).abs() < 1e-12 && (seen.variance - after.variance).abs() < 1e-12);
    let table = SparseTable::new([(&[1_usize][..], &[1.0][..])]);
    let rows: Rows<'_> = table.rows();
    belief.run(&rule, rows, &[1.0], Par::Seq, |_, _, _| {}).unwrap();
}
