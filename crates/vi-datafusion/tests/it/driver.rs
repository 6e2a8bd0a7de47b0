//! Passes through the engine, to the optimum of one machine.

use vi_core::batch::{BatchSettings, optimum};
use vi_core::{Belief, BernoulliLogit, Mixture8, Stop};
use vi_datafusion::{FitSettings, SqlError, fit_glm};
use vi_sums::{GlmPrior, Posterior};

use crate::common::{constant, engine, names, record, rows, run, shuffled};

#[test]
fn any_partitioning_reaches_the_optimum_of_one_machine() {
    run(async {
        let d = 5;
        let all = rows(800, d, 3, 51);
        let prior = GlmPrior { scale: 2.0, intercept: 4.0 };
        let start = prior.belief(d).unwrap();
        let design: Vec<f64> =
            all.iter().flat_map(|row| [1.0].into_iter().chain(row.x.iter().flatten().copied())).collect();
        let labels: Vec<f64> = all.iter().map(|row| row.class).collect();
        let x = vi_linalg::faer::MatRef::from_row_major_slice(&design, 800, d + 1);
        let logit = BernoulliLogit(Mixture8);
        let par = vi_linalg::faer::Par::Seq;
        let (best, told) = optimum(&start, &start, x, &labels, &logit, &BatchSettings::default(), par).unwrap();
        let settings = FitSettings::new("logistic scale=2 intercept=4").unwrap();
        for (parts, size) in [(1, 800), (2, 64), (8, 97)] {
            let engine = engine(d, &shuffled(all.clone(), 5), parts, size);
            let sql = format!("SELECT c, {} FROM t", names(d));
            let mut passes = Vec::new();
            let fitted = fit_glm(&engine, &sql, &settings, |info| passes.push(info.passes)).await.unwrap();
            assert_eq!(fitted.info.stop, Stop::Converged);
            assert_eq!(passes, (1..=fitted.info.passes).collect::<Vec<_>>());
            assert_eq!((fitted.posterior.rows(), fitted.posterior.skipped()), (800, 0));
            let (p, q) = (fitted.belief.covariance(), best.covariance());
            for i in 0..=d {
                assert!((fitted.belief.mean()[i] - best.mean()[i]).abs() < 1e-8 * q[(i, i)].sqrt());
                for j in 0..=d {
                    assert!((p[(i, j)] - q[(i, j)]).abs() < 1e-8 * (q[(i, i)] * q[(j, j)]).sqrt());
                }
            }
            assert!((fitted.info.bound() - told.bound()).abs() < 1e-9 * told.bound().abs());
            // The record is one that queries read.
            let again = Posterior::decode(&fitted.record().unwrap()).unwrap();
            assert!((again.log_evidence().unwrap() - told.bound()).abs() < 1e-8 * told.bound().abs());
        }
    });
}

#[test]
fn a_pass_by_groups_has_names_without_bytes() {
    run(async {
        let all = rows(60, 1, 3, 52);
        let engine = engine(1, &all, 2, 10);
        let model = record(&engine, "SELECT vi_glm('logistic', c, x0) FROM t").await;
        let model = constant(&model.encode().unwrap());
        let frame = engine.sql(&format!("SELECT vi_evidence({model})")).await.unwrap();
        let name = frame.schema().fields()[0].name().clone();
        assert!(name.len() < 60 && name.contains("bytes"), "{name}");
    });
}

#[test]
fn what_cannot_be_fitted_is_told() {
    run(async {
        let mut all = rows(30, 1, 1, 53);
        all[5].class = 3.5;
        let engine = engine(1, &all, 2, 10);
        let settings = FitSettings::new("logistic").unwrap();
        let go = |sql| fit_glm(&engine, sql, &settings, |_| {});
        let error = go("SELECT c, x0 FROM t").await.unwrap_err();
        assert!(error.to_string().contains("label 3.5"), "{error}");
        assert!(matches!(go("SELECT c, 'a' FROM t").await, Err(SqlError::Engine(_))));
        assert!(go("SELECT c FROM t").await.is_err() && go("SELECT nothing").await.is_err());
        assert!(matches!(FitSettings::new("gamma"), Err(SqlError::Sums { .. })));
        let fitted = go("SELECT c, x0 FROM t WHERE g = 7").await.unwrap();
        assert_eq!((fitted.posterior.rows(), fitted.info.stop), (0, Stop::Converged));
    });
}

#[test]
fn rows_are_forgotten_where_they_are() {
    run(async {
        let all = rows(400, 2, 20, 54);
        let engine = engine(2, &all, 2, 50);
        let settings = FitSettings::new("logistic scale=2 intercept=4").unwrap();
        let whole = fit_glm(&engine, "SELECT c, x0, x1 FROM t", &settings, |_| {}).await.unwrap();
        let rest = fit_glm(&engine, "SELECT c, x0, x1 FROM t WHERE g <> 7", &settings, |_| {}).await.unwrap();
        let model = constant(&whole.record().unwrap());
        let sql =
            format!("SELECT vi_subtract({model}, vi_factors({model}, vi_pass({model}, c, x0, x1))) FROM t WHERE g = 7");
        let Posterior::Glm(left) = record(&engine, &sql).await else { panic!("not a generalised linear model's") };
        assert_eq!(left.rows(), 380);
        let (left, truth) = (left.belief().unwrap(), &rest.belief);
        for i in 0..3 {
            let scale = truth.covariance()[(i, i)].sqrt();
            let (off, kept) =
                ((left.mean()[i] - truth.mean()[i]).abs(), (whole.belief.mean()[i] - truth.mean()[i]).abs());
            // A twentieth of the rows: of what keeping them would be off by, the smaller part is left.
            assert!(off < 0.3 * kept.max(0.05 * scale), "{i}: {off} {kept} {scale}");
        }
    });
}
