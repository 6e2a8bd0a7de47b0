//! Plans as bytes: read again by another engine, which has the functions by name alone.

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::physical_plan::collect;
use datafusion::prelude::SessionContext;
use datafusion_proto::bytes::{
    logical_plan_from_bytes, logical_plan_to_bytes, physical_plan_from_bytes, physical_plan_to_bytes,
};

use crate::common::{constant, record, rows, run};
use crate::files::{Format, files, folder, reader};

/// Queries that between them have every function, constants and rows.
fn queries(model: &str) -> Vec<String> {
    let months = "(SELECT g, vi_linear(y, x0, x1) AS m FROM t GROUP BY g)";
    let year = format!("(SELECT vi_merge(m) AS y FROM {months})");
    [
        "SELECT vi_linear('scale=3', y, x0, x1), vi_glm('logistic', c, x0, x1) FROM t".to_owned(),
        "SELECT g, vi_glm('logistic scale=2', c, x0, x1) FILTER (WHERE x0 > 0) FROM t GROUP BY g ORDER BY g".to_owned(),
        format!("SELECT t, vi_predict('level=0.5', q.y, x0, x1) FROM t, {year} AS q ORDER BY t"),
        format!("SELECT vi_coefficients(vi_subtract(q.y, m)), vi_evidence(m), vi_sample(m, 7), vi_describe(m) FROM {months}, {year} AS q WHERE g = 2"),
        format!("SELECT vi_components(p), vi_effects(p, 2), vi_predict_group('level=0.5', p, g, 0.5, 1.0), vi_robust('CR0', p) FROM {months}, (SELECT vi_pool('effects=intercept,1', g, m) AS p FROM {months})"),
        format!("SELECT vi_subtract({model}, vi_factors({model}, vi_pass({model}, c, x0, x1))) FROM t WHERE g = 1"),
        "SELECT vi_linear(y, x0, x1) OVER (ORDER BY t ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) FROM t ORDER BY t".to_owned(),
    ]
    .into()
}

fn assert_same(found: &[RecordBatch], expected: &[RecordBatch], sql: &str) {
    let whole =
        |batches: &[RecordBatch]| datafusion::arrow::compute::concat_batches(&batches[0].schema(), batches).unwrap();
    let (found, expected) = (whole(found), whole(expected));
    assert!(expected.num_rows() > 0, "{sql}");
    assert_eq!(found.columns(), expected.columns(), "{sql}");
}

#[test]
fn another_engine_answers_the_same_plan() {
    run(async {
        let all = rows(300, 2, 4, 81);
        for format in Format::ALL {
            let folder = folder(format, 2, &[&all]);
            // One partition: the same plan then has the same bits.
            let first = files(folder.path(), format, 2, 1).await;
            let model = record(&first, "SELECT vi_glm('logistic scale=2', c, x0, x1) FROM t").await;
            for sql in queries(&constant(&model.encode().unwrap())) {
                let frame = first.sql(&sql).await.unwrap();
                let expected = frame.clone().collect().await.unwrap();
                let second = reader(1);
                let bytes = logical_plan_to_bytes(frame.logical_plan()).unwrap();
                let plan = logical_plan_from_bytes(&bytes, &second.task_ctx()).unwrap();
                let found = second.execute_logical_plan(plan).await.unwrap().collect().await.unwrap();
                assert_same(&found, &expected, &sql);

                let bytes = physical_plan_to_bytes(frame.create_physical_plan().await.unwrap()).unwrap();
                let plan = physical_plan_from_bytes(&bytes, &second.task_ctx()).unwrap();
                assert_same(&collect(plan, second.task_ctx()).await.unwrap(), &expected, &sql);
            }
        }
    });
}

#[test]
fn a_plan_in_an_engine_without_the_functions_names_them() {
    run(async {
        let all = rows(20, 2, 4, 82);
        let folder = folder(Format::Parquet, 2, &[&all]);
        let first = files(folder.path(), Format::Parquet, 2, 1).await;
        let frame = first.sql("SELECT vi_linear(y, x0, x1) FROM t").await.unwrap();
        let bytes = logical_plan_to_bytes(frame.logical_plan()).unwrap();
        let error = logical_plan_from_bytes(&bytes, &SessionContext::new().task_ctx()).unwrap_err();
        assert!(error.to_string().contains("vi_linear"), "{error}");
    });
}
