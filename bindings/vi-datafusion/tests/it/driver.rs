//! Passes through the engine, to the optimum of one machine.

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::Float64Type;
use datafusion::prelude::SessionContext;
use vi_core::batch::{BatchInfo, BatchSettings, optimum};
use vi_core::{Belief, BernoulliLogit, DenseGaussian, Mixture8, Stop};
use vi_datafusion::{FitSettings, SqlError, fit_glm};
use vi_sums::{GlmPosterior, GlmPrior, PassSums, Posterior};

use crate::common::{Row, column, constant, engine, failure, names, record, rows, run, shuffled};

/// The optimum of one machine, of classes under `scale=2 intercept=4`.
fn direct(d: usize, all: &[Row]) -> (DenseGaussian, BatchInfo) {
    let start = GlmPrior { scale: 2.0, intercept: 4.0 }.belief(d).unwrap();
    let design: Vec<f64> =
        all.iter().flat_map(|row| [1.0].into_iter().chain(row.x.iter().flatten().copied())).collect();
    let labels: Vec<f64> = all.iter().map(|row| row.class).collect();
    let x = vi_linalg::faer::MatRef::from_row_major_slice(&design, all.len(), d + 1);
    let (logit, par) = (BernoulliLogit(Mixture8), vi_linalg::faer::Par::Seq);
    optimum(&start, &start, x, &labels, &logit, &BatchSettings::default(), par).unwrap()
}

/// Both searches end where a full step is below 10⁻⁹ standard deviations.
fn assert_same(found: &DenseGaussian, best: &DenseGaussian) {
    let (p, q) = (found.covariance(), best.covariance());
    for i in 0..best.dim() {
        assert!((found.mean()[i] - best.mean()[i]).abs() < 1e-8 * q[(i, i)].sqrt());
        for j in 0..best.dim() {
            assert!((p[(i, j)] - q[(i, j)]).abs() < 1e-8 * (q[(i, i)] * q[(j, j)]).sqrt());
        }
    }
}

/// What `vi_newton` answers: the record, the bound, the size; nothing for a null.
async fn step(engine: &SessionContext, sql: &str) -> Option<(Vec<u8>, f64, f64)> {
    let told = column(engine, sql, 0).await;
    let number = |name| told.as_struct().column_by_name(name).unwrap().as_primitive::<Float64Type>().value(0);
    let posterior = told.as_struct().column_by_name("posterior").unwrap().as_binary_view().value(0);
    told.is_valid(0).then(|| (posterior.to_vec(), number("bound"), number("size")))
}

/// The search that the guide writes in Python, by queries alone.
async fn search(engine: &SessionContext, columns: &str, mut place: Vec<u8>) -> GlmPosterior {
    let mut best: Option<(Vec<u8>, Vec<u8>, f64)> = None;
    let mut share = 1.0;
    for _ in 0..100 {
        let pass = column(engine, &format!("SELECT vi_pass({}, {columns}) FROM t", constant(&place)), 0).await;
        let pass = pass.as_binary_view().value(0).to_vec();
        let told = step(engine, &format!("SELECT vi_newton({}, {})", constant(&place), constant(&pass))).await;
        let before = best.as_ref().map_or(f64::MIN, |(_, _, bound)| *bound);
        match told {
            Some((posterior, bound, size)) if bound >= before - 1e-12 * before.abs().min(1e300) => {
                if size < 1e-9 {
                    let Posterior::Glm(found) = Posterior::decode(&posterior).unwrap() else { panic!("another kind") };
                    return found;
                }
                (best, share) = (Some((place, pass, bound)), 1.0);
            }
            _ => share *= 0.5,
        }
        let (at, pass, _) = best.as_ref().unwrap();
        let sql = format!("SELECT vi_newton({}, {}, {share:?})", constant(at), constant(pass));
        place = step(engine, &sql).await.unwrap().0;
    }
    panic!("not in a hundred passes");
}

#[test]
fn queries_alone_reach_the_optimum_of_one_machine() {
    run(async {
        let all = rows(500, 3, 3, 55);
        let (best, told) = direct(3, &all);
        for (parts, size) in [(1, 500), (4, 31)] {
            let engine = engine(3, &all, parts, size);
            let columns = "c, x0, x1, x2";
            let sql = format!("SELECT vi_glm('logistic scale=2 intercept=4', {columns}) FROM t");
            let start = record(&engine, &sql).await.encode().unwrap();
            let found = search(&engine, columns, start).await;
            assert_eq!(found.rows(), 500);
            assert_same(&found.belief().unwrap(), &best);
            assert!((found.log_evidence().unwrap() - told.bound()).abs() < 1e-9 * told.bound().abs());
        }
    });
}

#[test]
fn a_pass_of_another_place_is_refused() {
    run(async {
        let engine = engine(1, &rows(60, 1, 2, 56), 4, 7);
        let place = async |scale: &str| {
            let sql = format!("SELECT vi_glm('logistic scale={scale}', c, x0) FROM t");
            constant(&record(&engine, &sql).await.encode().unwrap())
        };
        let (here, there) = (place("1").await, place("2").await);
        for function in ["vi_newton", "vi_factors"] {
            let sql = format!("SELECT {function}({there}, vi_pass({here}, c, x0)) FROM t");
            assert!(failure(&engine, &sql).await.contains("statistics of another place"));
            let sql = format!("SELECT {function}({here}, vi_pass({here}, c, x0)) FROM t GROUP BY g");
            assert_eq!(column(&engine, &sql, 0).await.null_count(), 0);
        }
        // The state between partitions carries it: so does the record of the whole.
        let pass = column(&engine, &format!("SELECT vi_pass({here}, c, x0) FROM t"), 0).await;
        let pass = PassSums::decode(pass.as_binary_view().value(0)).unwrap();
        assert_eq!(constant(&pass.place().bits().to_le_bytes())[2..18], here[here.len() - 17..here.len() - 1]);
    });
}

#[test]
fn any_partitioning_reaches_the_optimum_of_one_machine() {
    run(async {
        let d = 5;
        let all = rows(800, d, 3, 51);
        let (best, told) = direct(d, &all);
        let settings = FitSettings::new("logistic scale=2 intercept=4").unwrap();
        for (parts, size) in [(1, 800), (2, 64), (8, 97)] {
            let engine = engine(d, &shuffled(all.clone(), 5), parts, size);
            let sql = format!("SELECT c, {} FROM t", names(d));
            let mut passes = Vec::new();
            let fitted = fit_glm(&engine, &sql, &settings, |info| passes.push(info.passes)).await.unwrap();
            assert_eq!(fitted.info.stop, Stop::Converged);
            assert_eq!(passes, (1..=fitted.info.passes).collect::<Vec<_>>());
            assert_eq!((fitted.posterior.rows(), fitted.posterior.skipped()), (800, 0));
            assert_same(&fitted.belief, &best);
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
