//! What is refused, and what is said of it.

use crate::common::{engine, failure, plan_failure, rows, run};

#[test]
fn shapes_and_settings_are_refused_while_the_query_is_planned() {
    run(async {
        let engine = engine(2, &rows(20, 2, 2, 41), 2, 5);
        for (sql, words) in [
            ("SELECT vi_linear(y) FROM t", "needs features"),
            ("SELECT vi_linear(y, 'a') FROM t", "feature 1"),
            ("SELECT vi_linear(y, x0, w) FROM (SELECT y, x0, 'a' AS w FROM t)", "feature 2 (column w) is Utf8"),
            ("SELECT vi_linear('strict', w, x0) FROM (SELECT x0, 'a' AS w FROM t)", "the label (column w)"),
            ("SELECT vi_predict(m, w) FROM (SELECT g, vi_linear(y, x0) AS m, 'a' AS w FROM t GROUP BY g)", "column w"),
            ("SELECT vi_linear(y, w) OVER (ORDER BY x0) FROM (SELECT y, x0, 'a' AS w FROM t)", "column w"),
            ("SELECT vi_linear(DISTINCT y, x0) FROM t", "DISTINCT"),
            ("SELECT vi_linear(DISTINCT y, x0) FROM t GROUP BY g", "DISTINCT"),
            ("SELECT vi_linear('scale=-1', y, x0) FROM t", "scale"),
            ("SELECT vi_linear('wide', y, x0) FROM t", "wide"),
            ("SELECT vi_glm('gamma', c, x0) FROM t", "gamma"),
            ("SELECT vi_glm(c, x0, x1) FROM t", "family"),
            ("SELECT vi_glm('logistic', c) FROM t", "needs features"),
            ("SELECT vi_merge(y) FROM t", "posterior"),
            ("SELECT vi_merge(DISTINCT m) FROM (SELECT vi_linear(y, x0) AS m FROM t GROUP BY g)", "DISTINCT"),
            (
                "SELECT n, vi_merge(DISTINCT m) FROM (SELECT g % 2 AS n, vi_linear(y, x0) AS m FROM t GROUP BY g) GROUP BY n",
                "DISTINCT",
            ),
            ("SELECT vi_merge(vi_linear(y, x0), 1) FROM t", "one posterior"),
            ("SELECT vi_pass(X'00', c, x0) FROM t", "vi-sums/at"),
            ("SELECT vi_predict(y, x0) FROM t", "posterior"),
            ("SELECT vi_sample(X'00', 0.5)", "whole number"),
            ("SELECT vi_subtract(X'00')", "two posteriors"),
            ("SELECT vi_newton(X'00')", "takes the place of a pass"),
            ("SELECT vi_newton(X'00', X'00', 'all')", "the share"),
        ] {
            let error = plan_failure(&engine, sql).await;
            assert!(error.contains(words), "{sql}: {error}");
        }
    });
}

#[test]
fn rows_and_records_are_refused_by_name() {
    run(async {
        let mut all = rows(20, 2, 2, 42);
        all[7].class = 0.5;
        let engine = engine(2, &all, 2, 5);
        for (sql, words) in [
            ("SELECT vi_glm('logistic', c, x0) FROM t", "column c: label 0.5"),
            ("SELECT vi_glm('logistic', c, x0) FROM t GROUP BY g", "column c: label 0.5"),
            ("SELECT vi_glm(CASE WHEN g = 0 THEN 'logistic' ELSE 'probit' END, c, x0) FROM t", "constant"),
            ("SELECT vi_evidence(X'00')", "vi-sums/linear"),
            ("SELECT vi_newton(X'00', X'00')", "vi-sums/at"),
            ("SELECT vi_newton(vi_glm('poisson', g, x0), vi_glm('poisson', g, x0)) FROM t", "vi-sums/pass-2"),
            ("SELECT vi_predict(vi_linear(y, x0), 1.0, 2.0) FROM t", "length"),
            ("SELECT vi_predict('level=2', vi_linear(y, x0), 1.0) FROM t", "level"),
            ("SELECT vi_predict('wide', vi_linear(y, x0), 1.0) FROM t", "level="),
            ("SELECT vi_subtract(vi_linear(y, x0), vi_linear(y, x0, x1)) FROM t", "inputs"),
            ("SELECT vi_subtract(vi_linear(y, x0), vi_glm('poisson', g, x0)) FROM t", "kind"),
            ("SELECT vi_subtract(vi_linear(y, x0), vi_linear(y, 10 * x1)) FROM t", "never added"),
            (
                "SELECT vi_merge(m) FROM (SELECT vi_linear(y, x0) AS m FROM t UNION ALL SELECT vi_linear('scale=1', y, x0) FROM t)",
                "prior",
            ),
        ] {
            let error = failure(&engine, sql).await;
            assert!(error.contains(words), "{sql}: {error}");
        }
    });
}
