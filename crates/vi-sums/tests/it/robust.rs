//! Cluster-robust errors against statsmodels.

use vi_core::Error;
use vi_sums::{LinearSums, Pool, PoolSpec, RobustSpec, SumsError};

/// Rows of six clinics of three to eight rows, the second input far from zero.
fn pool(spec: &str) -> Pool {
    let shifts = [0.0, 1.0, -0.5, 2.0, 0.25, -1.5];
    let mut pool = Pool::new(PoolSpec::parse(spec).unwrap()).unwrap();
    for (g, shift) in (0_u32..).zip(shifts) {
        let mut sums = LinearSums::new(2).unwrap();
        for t in 0..3 + g {
            let x = [f64::from((t * 7 + g * 3) % 5) - 1.5 + 0.25 * f64::from(g), 100.0 + f64::from(t) - f64::from(g)];
            let noise = (f64::from((t * 11 + g * 5) % 7) - 3.0) / 4.0;
            sums.update(&x, 0.5 * x[0] - 0.25 * (x[1] - 100.0) + shift + noise).unwrap();
        }
        pool.add(i64::from(g).into(), &sums).unwrap();
    }
    pool
}

/// Settings of the pool and of the errors, means, errors, the lower end of the first interval.
type Case<'a> = (&'a str, &'a str, &'a [f64], &'a [f64], f64);

#[test]
fn cluster_robust_errors_are_those_of_statsmodels() {
    // OLS(...).fit().get_robustcov_results("cluster", groups=g, use_correction=...) and conf_int(0.1) of statsmodels 0.15.0.
    let with = [16.46866903487853, 0.4702786789524193, -0.16298630421025864];
    let without = [0.45119722862276235, 0.002759992808188306];
    let cases: [Case<'_>; 4] = [
        ("", "CR1", &with, &[9.767721423537884, 0.07836654098083748, 0.09595159351557314], -3.213762130791604),
        ("", "CR0", &with, &[8.633527569155943, 0.06926689068210456, 0.08481002805064615], -0.9283066494749619),
        ("intercept=0", "CR1", &without, &[0.07439731155853006, 0.005695043138617504], 0.3012830469863962),
        ("intercept=0", "CR0", &without, &[0.066845546275001, 0.005116962719292446], 0.31650021933676425),
    ];
    for (pooled, spec, means, errors, lower) in cases {
        let found = pool(pooled).robust(RobustSpec::parse(spec).unwrap()).unwrap();
        assert_eq!(found.len(), means.len());
        for ((own, mean), error) in found.iter().zip(means).zip(errors) {
            // statsmodels solves raw columns near 100 by a pseudo-inverse: some 1e-12 of its own.
            assert!((own.mean / mean - 1.0).abs() < 1e-10, "{spec} {own:?} {mean}");
            assert!((own.deviation / error - 1.0).abs() < 1e-10, "{spec} {own:?} {error}");
        }
        assert!((found[0].lower / lower - 1.0).abs() < 1e-9, "{} {lower}", found[0].lower);
    }
    assert!(RobustSpec::parse("CR2").is_err() && RobustSpec::parse("level=1").is_err());
}

#[test]
fn too_little_for_errors_is_told() {
    let mut one = Pool::new(PoolSpec::default()).unwrap();
    let refused = |pool: &Pool| pool.robust(RobustSpec::default()).unwrap_err();
    assert!(matches!(refused(&one), SumsError::Core(Error::Setting { name: "groups with rows", value: 0.0, .. })));
    let mut sums = LinearSums::new(1).unwrap();
    sums.update(&[1.0], 2.0).unwrap();
    one.add("a".into(), &sums).unwrap();
    // A group without rows is no cluster.
    one.add("b".into(), &LinearSums::new(1).unwrap()).unwrap();
    assert!(matches!(refused(&one), SumsError::Core(Error::Setting { name: "groups with rows", value: 1.0, .. })));
    one.add("c".into(), &sums).unwrap();
    assert!(matches!(refused(&one), SumsError::Core(Error::Setting { name: "rows", .. })));
    one.add("c".into(), &sums).unwrap();
    // A column that does not vary.
    assert!(matches!(refused(&one), SumsError::Core(Error::Linalg(_) | Error::NotPositiveDefinite { .. })));
}
