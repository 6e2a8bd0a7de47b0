//! Groups pooled by a query against the grouped model that learns the rows.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StructArray};
use datafusion::arrow::datatypes::Float64Type;
use vi_models::Marginal;
use vi_models::online::{Effects, GroupedLinear, GroupedSettings, Standardise};
use vi_sums::{Posterior, RobustSpec};

use crate::common::{Row, column, engine, failure, plan_failure, record, rows, run, shuffled};

/// Rows of 13 groups, with a level of its own for each and a slope of its own for the second feature.
fn grouped() -> Vec<Row> {
    let mut all = rows(400, 2, 13, 91);
    for row in &mut all {
        let own = f64::from(u32::try_from(row.group * 7 % 13).unwrap()) - 6.0;
        let away = 0.4 * own + 0.1 * own * row.x[1].unwrap();
        row.y = row.y.map(|y| y + away);
    }
    shuffled(all, 92)
}

/// The model that learns these rows one by one, standardised by all of them.
fn learned(rows: &[Row]) -> GroupedLinear {
    let settings = GroupedSettings {
        effects: Effects { slopes: vec![1], ..Effects::default() },
        standardise: Standardise::FirstRows { rows: rows.len(), centre: true },
        ..GroupedSettings::default()
    };
    let mut model = GroupedLinear::with_settings(2, settings).unwrap();
    for row in rows {
        let x: Vec<f64> = row.x.iter().flatten().copied().collect();
        model.update(&x, row.group.cast_unsigned(), row.y.unwrap()).unwrap();
    }
    model.refine().unwrap();
    model
}

/// One column of structs, those of all lists one after another.
fn field(array: &ArrayRef, name: &str) -> Vec<f64> {
    let structs =
        |array: &StructArray| array.column_by_name(name).unwrap().as_primitive::<Float64Type>().values().to_vec();
    match array.as_struct_opt() {
        Some(own) => structs(own),
        None => structs(array.as_list::<i32>().values().as_struct()),
    }
}

fn texts(array: &ArrayRef, name: &str) -> Vec<Option<String>> {
    let structs = array.as_list::<i32>().values().as_struct();
    structs.column_by_name(name).unwrap().as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}

/// The allowance for rounding, in standard deviations.
const NEAR: f64 = 1e-10;

fn same(means: &[f64], deviations: &[f64], expected: &[Marginal]) {
    assert_eq!(means.len(), expected.len());
    for ((mean, deviation), expected) in means.iter().zip(deviations).zip(expected) {
        let wanted = expected.standard_deviation();
        assert!((mean - expected.mean()).abs() < NEAR * wanted, "{mean} {}", expected.mean());
        assert!((deviation / wanted - 1.0).abs() < NEAR, "{deviation} {wanted}");
    }
}

const CLINICS: &str = "(SELECT 'c' || g AS clinic, g, vi_linear(y, x0, x1) AS m FROM t GROUP BY g)";

#[test]
fn a_query_pools_groups_as_the_model_that_learns_their_rows() {
    run(async {
        let all = grouped();
        let model = learned(&all);
        for (parts, key) in [(1, "g"), (4, "g"), (4, "CAST(g AS SMALLINT)")] {
            let engine = engine(2, &all, parts, 30);
            let pool = format!("(SELECT vi_pool('effects=intercept,2', {key}, m) AS p FROM {CLINICS})");
            let weights = column(&engine, &format!("SELECT vi_coefficients(p) FROM {pool}"), 0).await;
            let expected: Vec<Marginal> = model.coefficients().unwrap().into_iter().map(|own| own.belief).collect();
            same(&field(&weights, "mean"), &field(&weights, "deviation"), &expected);

            let components = column(&engine, &format!("SELECT vi_components(p) FROM {pool}"), 0).await;
            let names = texts(&components, "name");
            assert_eq!(
                names.iter().flatten().collect::<Vec<_>>(),
                ["sd(intercept)", "sd(x2)", "cor(intercept, x2)", "sd(noise)"]
            );
            for (value, own) in field(&components, "value").iter().zip(model.components().unwrap()) {
                assert!((value / own.value - 1.0).abs() < NEAR, "{value} {own:?}");
            }

            let effects = column(&engine, &format!("SELECT vi_effects(p) FROM {pool}"), 0).await;
            let mut expected = Vec::new();
            (0..13).for_each(|group| expected.extend(model.effects(group).unwrap().effects));
            same(&field(&effects, "mean"), &field(&effects, "deviation"), &expected);
            assert_eq!(texts(&effects, "group")[24..].iter().flatten().collect::<Vec<_>>(), ["12", "12"]);
            let one = column(&engine, &format!("SELECT vi_effects(p, 5) FROM {pool}"), 0).await;
            same(&field(&one, "mean"), &field(&one, "deviation"), &model.effects(5).unwrap().effects);

            let of = |group: &str| format!("vi_predict_group('level=0.5', p, {group}, 0.3, -1.0)");
            for (call, group) in [
                (of("4"), Some(4)),
                (of("NULL"), None),
                (of("77"), None),
                ("vi_predict('level=0.5', p, 0.3, -1.0)".to_owned(), None),
            ] {
                let seen = column(&engine, &format!("SELECT {call} FROM {pool}"), 0).await;
                let expected = model.predict(&[0.3, -1.0], group).unwrap().label;
                let deviation = field(&seen, "variance")[0].sqrt();
                let upper = expected.interval(0.5).unwrap().upper;
                assert!((field(&seen, "upper")[0] - upper).abs() < 10.0 * NEAR * deviation, "{call}");
                same(&field(&seen, "mean"), &[deviation], &[expected]);
            }
        }
    });
}

#[test]
fn parts_of_groups_add_and_a_clinic_goes() {
    run(async {
        let all = grouped();
        let engine = engine(2, &all, 4, 30);
        // Texts as keys, a record for each group and remainder.
        let parts = "(SELECT 'c' || g AS clinic, vi_linear(y, x0, x1) AS m FROM t GROUP BY g, t % 3)";
        let whole = record(&engine, &format!("SELECT vi_pool(clinic, m) FROM {parts}")).await;
        let Posterior::Pool(pool) = &whole else { panic!("no pool") };
        assert_eq!((pool.groups(), pool.rows(), pool.inputs()), (13, 400, 2));
        let without = |pool: &str| format!("SELECT vi_coefficients({pool})");
        let weights = |sql: String| {
            let engine = &engine;
            async move {
                let found = column(engine, &sql, 0).await;
                (field(&found, "mean"), field(&found, "deviation"))
            }
        };
        let (means, deviations) =
            weights(format!("{} FROM {CLINICS} WHERE clinic <> 'c3'", without("vi_pool(clinic, m)"))).await;
        for sql in [
            format!("{} FROM {CLINICS}", without("vi_pool(clinic, m) FILTER (WHERE clinic <> 'c3')")),
            format!(
                "{} FROM (SELECT vi_pool(clinic, m) AS p FROM {CLINICS}), (SELECT vi_pool(clinic, m) AS c FROM {CLINICS} WHERE clinic = 'c3')",
                without("vi_subtract(p, c)")
            ),
            format!(
                "{} FROM (SELECT vi_pool(clinic, m) AS p FROM {parts} WHERE clinic <> 'c3' GROUP BY length(clinic))",
                without("vi_merge(p)")
            ),
        ] {
            let (own, width) = weights(sql.clone()).await;
            for i in 0..3 {
                assert!((own[i] - means[i]).abs() < NEAR * deviations[i], "{sql}");
                assert!((width[i] / deviations[i] - 1.0).abs() < NEAR, "{sql}");
            }
        }
        let robust =
            column(&engine, &format!("SELECT vi_robust('CR0 level=0.5', vi_pool(clinic, m)) FROM {parts}"), 0).await;
        let expected = pool.robust(RobustSpec { corrected: false, level: 0.5 }).unwrap();
        for (deviation, own) in field(&robust, "deviation").iter().zip(&expected) {
            assert!((deviation / own.deviation - 1.0).abs() < NEAR, "{deviation} {own:?}");
        }
        let told = column(&engine, &format!("SELECT vi_describe(vi_pool(clinic, m)) FROM {parts}"), 0).await;
        assert_eq!(told.as_struct().column(0).as_string::<i32>().value(0), "pool");
        let none = format!("SELECT vi_pool(clinic, m) FROM {parts} WHERE false");
        assert!(column(&engine, &none, 0).await.is_null(0));
        for sql in [
            "SELECT vi_components(NULL)",
            "SELECT vi_effects(NULL)",
            "SELECT vi_robust(NULL)",
            "SELECT vi_robust(NULL, NULL)",
            "SELECT vi_robust(NULL, 'a, b')",
            "SELECT vi_predict_group(NULL, 1, 2.0)",
        ] {
            assert!(column(&engine, sql, 0).await.is_null(0), "{sql}");
        }
    });
}

#[test]
fn what_cannot_be_pooled_is_named() {
    run(async {
        let engine = engine(2, &grouped(), 2, 30);
        for (sql, words) in [
            (format!("SELECT vi_pool(m) FROM {CLINICS}"), "takes the key of a group"),
            (format!("SELECT vi_pool(0.5, m) FROM {CLINICS}"), "the key of the group is Float64"),
            (format!("SELECT vi_pool(g, g) FROM {CLINICS}"), "posterior"),
            (format!("SELECT vi_pool(DISTINCT g, m) FROM {CLINICS}"), "DISTINCT"),
            (format!("SELECT vi_pool('effects=days', g, m) FROM {CLINICS}"), "days"),
        ] {
            let error = plan_failure(&engine, &sql).await;
            assert!(error.contains(words), "{sql}: {error}");
        }
        for (sql, words) in [
            (format!("SELECT vi_pool(clinic, CASE WHEN g = 3 THEN NULL ELSE m END) FROM {CLINICS}"), "group \"c3\": posterior is empty"),
            (format!("SELECT vi_pool(CASE WHEN g < 9 THEN g END, m) FROM {CLINICS}"), "key of a group is empty"),
            ("SELECT vi_pool(g, m) FROM (SELECT g, vi_linear(y, x0) AS m FROM t WHERE g < 3 GROUP BY g UNION ALL SELECT g, vi_linear(y, x0, x1) FROM t WHERE g = 3 GROUP BY g)".to_owned(), "number of inputs"),
            ("SELECT vi_pool(g, m) FROM (SELECT g, vi_glm('logistic', c, x0) AS m FROM t GROUP BY g)".to_owned(), "the record is of kind \"vi-sums/glm\""),
            (format!("SELECT vi_pool('effects=3', g, m) FROM {CLINICS}"), "inputs"),
            (format!("SELECT vi_components(m) FROM {CLINICS}"), "vi-sums/pool"),
            (format!("SELECT vi_predict_group(m, g, 1.0, 2.0) FROM {CLINICS}"), "vi-sums/pool"),
            (format!("SELECT vi_robust(vi_pool(g, m), 'one, two, three, four') FROM {CLINICS}"), "names"),
            (format!("SELECT vi_robust('CR2', vi_pool(g, m)) FROM {CLINICS}"), "CR2"),
            (format!("SELECT vi_sample(vi_pool(g, m), 1) FROM {CLINICS}"), "draw of the weights of a pool"),
            (format!("SELECT vi_merge(p) FROM (SELECT vi_pool(g, m) AS p FROM {CLINICS} UNION ALL SELECT m FROM {CLINICS})"), "kind"),
        ] {
            let error = failure(&engine, &sql).await;
            assert!(error.contains(words), "{sql}: {error}");
        }
    });
}
