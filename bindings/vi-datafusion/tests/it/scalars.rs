//! What is asked of a posterior.

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use vi_sums::{LinearPosterior, LinearPrior, Posterior, Predictor};

use crate::common::{column, difference, direct, engine, record, rows, run, sums};

#[test]
fn months_make_a_year_from_which_one_is_taken() {
    run(async {
        let all = rows(1200, 2, 12, 31);
        let engine = engine(2, &all, 4, 100);
        let months = "(SELECT g, vi_linear(y, x0, x1) AS m FROM t GROUP BY g)";
        let year = record(&engine, &format!("SELECT vi_merge(m) FROM {months}")).await;
        assert!(difference(&direct(2, &all), sums(&year)) < 1e-12);
        let rest = record(
            &engine,
            &format!(
                "SELECT vi_subtract(year, m) FROM {months}, (SELECT vi_merge(m) AS year FROM {months}) WHERE g = 2"
            ),
        )
        .await;
        assert!(difference(&direct(2, all.iter().filter(|row| row.group != 2)), sums(&rest)) < 1e-12);
    });
}

#[test]
fn answers_are_those_of_the_sums() {
    run(async {
        let all = rows(80, 2, 2, 32);
        let engine = engine(2, &all, 1, 80);
        let fitted = LinearPosterior::of(LinearPrior::default(), direct(2, &all)).unwrap();
        let posterior = Posterior::from(fitted);
        let predictor = Predictor::new(&posterior).unwrap();
        let model = "(SELECT vi_linear(y, x0, x1) AS m FROM t)";

        let sql = format!(
            "SELECT get_field(p, 'mean'), get_field(p, 'variance'), get_field(p, 'lower'), get_field(p, 'upper') FROM (SELECT t, vi_predict('level=0.5', m, x0, x1) AS p FROM t, {model}) ORDER BY t"
        );
        let mut found = Vec::new();
        for i in 0..4 {
            found.push(column(&engine, &sql, i).await);
        }
        for (t, row) in all.iter().enumerate() {
            let x: Vec<f64> = row.x.iter().flatten().copied().collect();
            let seen = predictor.predict(&x, 0.5).unwrap();
            let expected = [seen.mean, seen.variance, seen.lower, seen.upper];
            for i in 0..4 {
                let value = found[i].as_primitive::<Float64Type>().value(t);
                assert!((value - expected[i]).abs() < 1e-10 * (1.0 + expected[i].abs()), "{t} {i}");
            }
        }

        let evidence = column(&engine, &format!("SELECT vi_evidence(m) FROM {model}"), 0).await;
        let expected = posterior.log_evidence().unwrap();
        assert!((evidence.as_primitive::<Float64Type>().value(0) - expected).abs() < 1e-10 * expected.abs());

        let weights = column(&engine, &format!("SELECT vi_coefficients(m) FROM {model}"), 0).await;
        let weights = weights.as_list::<i32>().value(0);
        let means = weights.as_struct().column_by_name("mean").unwrap().as_primitive::<Float64Type>().clone();
        let expected = predictor.weights(0.9).unwrap();
        assert_eq!(means.len(), 3);
        for (j, weight) in expected.iter().enumerate() {
            assert!((means.value(j) - weight.mean).abs() < 1e-10);
        }
        for (call, expected) in [
            ("vi_coefficients(m)", ["intercept", "x1", "x2"]),
            ("vi_coefficients(m, 'dep_delay, distance')", ["intercept", "dep_delay", "distance"]),
        ] {
            let found = column(&engine, &format!("SELECT {call} FROM {model}"), 0).await.as_list::<i32>().value(0);
            let names = found.as_struct().column_by_name("name").unwrap().as_string::<i32>().clone();
            assert_eq!(names.iter().flatten().collect::<Vec<_>>(), expected);
        }

        let draws = column(&engine, &format!("SELECT vi_sample(m, g) FROM t, {model} ORDER BY t"), 0).await;
        let draw = |t: usize| draws.as_list::<i32>().value(t).as_primitive::<Float64Type>().values().to_vec();
        assert_eq!(draw(0), draw(2));
        assert_ne!(draw(0), draw(1));
        for (a, b) in draw(1).iter().zip(predictor.sample(1).unwrap()) {
            assert!((a - b).abs() < 1e-9);
        }

        let told = column(&engine, &format!("SELECT vi_describe(m) FROM {model}"), 0).await;
        let told = told.as_struct();
        assert_eq!(told.column(0).as_string::<i32>().value(0), "linear");
        assert_eq!(told.column(2).as_primitive::<Int64Type>().value(0), 80);
    });
}

#[test]
fn nulls_are_answered_by_nulls() {
    run(async {
        let mut all = rows(20, 1, 1, 33);
        all[3].x[0] = None;
        let engine = engine(1, &all, 1, 20);
        let sql = "SELECT vi_predict(m, x0) FROM t, (SELECT vi_linear(y, x0) AS m FROM t) ORDER BY t";
        let seen = column(&engine, sql, 0).await;
        assert_eq!((seen.len(), seen.null_count(), seen.is_null(3)), (20, 1, true));
        for sql in [
            "SELECT vi_evidence(NULL)",
            "SELECT vi_subtract(NULL, NULL)",
            "SELECT vi_sample(NULL, 1)",
            "SELECT vi_coefficients(NULL)",
            "SELECT vi_coefficients(NULL, 'a')",
            "SELECT vi_describe(NULL)",
            "SELECT vi_predict(NULL, 1.0)",
            "SELECT vi_merge(NULL)",
            "SELECT vi_factors(NULL, NULL)",
            "SELECT vi_newton(NULL, NULL)",
            "SELECT vi_newton(NULL, NULL, 0.5)",
        ] {
            assert!(column(&engine, sql, 0).await.is_null(0), "{sql}");
        }
    });
}
