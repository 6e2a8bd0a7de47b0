//! `vi_glm` and `vi_merge`: passes over partitions, added.

use vi_core::Belief;
use vi_sums::{Family, GlmPosterior, GlmPrior, OnePass, Posterior};

use crate::common::{Row, engine, names, record, records, rows, run, whole};

fn pass(d: usize, family: Family, rows: &[Row]) -> GlmPosterior {
    let mut fold = OnePass::new(family, GlmPrior::default(), d).unwrap();
    for row in rows {
        let x: Vec<f64> = row.x.iter().flatten().copied().collect();
        fold.update(&x, row.class).unwrap();
    }
    fold.posterior().unwrap()
}

fn assert_same(found: &Posterior, expected: &GlmPosterior) {
    let Posterior::Glm(found) = found else { panic!("not a generalised linear model's") };
    assert_eq!((found.rows(), found.runs()), (expected.rows(), expected.runs()));
    let (a, b) = (found.belief().unwrap(), expected.belief().unwrap());
    let (p, q) = (a.covariance(), b.covariance());
    for i in 0..a.dim() {
        assert!((a.mean()[i] - b.mean()[i]).abs() < 1e-12 * q[(i, i)].sqrt());
        for j in 0..a.dim() {
            assert!((p[(i, j)] - q[(i, j)]).abs() < 1e-12 * (q[(i, i)] * q[(j, j)]).sqrt());
        }
    }
}

#[test]
fn one_partition_is_one_pass_and_more_are_their_merge() {
    run(async {
        let (d, n) = (3, 400);
        let all = rows(n, d, 4, 21);
        for (name, family) in [("logistic", Family::Logistic), ("probit", Family::Probit), ("poisson", Family::Poisson)]
        {
            let sql = format!("SELECT vi_glm('{name}', c, {}) FROM t", names(d));
            let found = record(&engine(d, &all, 1, n), &sql).await;
            assert_same(&found, &pass(d, family, &all));
            let found = record(&engine(d, &all, 4, n / 4), &sql).await;
            let mut expected = pass(d, family, &all[..n / 4]);
            for part in all[n / 4..].chunks(n / 4) {
                expected.merge(&pass(d, family, part)).unwrap();
            }
            assert_same(&found, &expected);
        }
    });
}

#[test]
fn groups_are_models_of_their_own() {
    run(async {
        let d = 2;
        let all = rows(600, d, 6, 22);
        let engine = engine(d, &all, 1, 100);
        let found = records(&engine, "SELECT vi_glm('logistic', c, x0, x1) FROM t GROUP BY g ORDER BY g").await;
        for (g, found) in found.iter().enumerate() {
            let own: Vec<Row> = all.iter().filter(|row| row.group == whole(g)).cloned().collect();
            assert_same(found.as_ref().unwrap(), &pass(d, Family::Logistic, &own));
        }
        let merged =
            record(&engine, "SELECT vi_merge(m) FROM (SELECT vi_glm('logistic', c, x0, x1) AS m FROM t GROUP BY g)")
                .await;
        let mut expected = found[0].clone().unwrap();
        for found in &found[1..] {
            expected.merge(found.as_ref().unwrap()).unwrap();
        }
        let Posterior::Glm(expected) = expected else { panic!("not a generalised linear model's") };
        assert_same(&merged, &expected);
    });
}
