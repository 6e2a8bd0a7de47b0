"""Models where Spark has the rows: each partition learns its own, the driver merges them, and executors predict.

`python recipe.py [ROWS]`, in an environment with `pyspark`, `pyarrow` and the wheel of `rvi`; a JVM on the path.
"""

import os
import pickle
import signal
import sys
import time

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from rvi.sklearn import BayesianLinearRegression, BayesianLogisticRegression

FEATURES = ["x0", "x1", "x2"]
# All parts must mean the same by a weight: one prior, and no scales that the first rows would tell.
SETTINGS = {"standardise": "never", "prior_scale": 5.0}


def arrays(batch, label):
    """The complete rows of a batch."""
    rows = batch.select([*FEATURES, label]).to_pandas().dropna()
    return np.ascontiguousarray(rows[FEATURES], dtype=float), rows[label].to_numpy(dtype=float)


def learner(kind, label, dies=False):
    """What a partition does: one pass over its rows, in the batches in which they come; the answer is one model."""

    def learned(batches):
        model, rows = kind(**SETTINGS), 0
        for batch in batches:
            X, y = arrays(batch, label)
            if len(y):
                # A batch need not have both classes.
                classes = {"classes": [0.0, 1.0]} if kind is BayesianLogisticRegression else {}
                model.partial_fit(X, y, **classes)
                rows += len(y)
            if dies and TaskContext.get().partitionId() == 3 and TaskContext.get().attemptNumber() == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        # Without a row there is nothing to tell.
        if rows:
            part = TaskContext.get().partitionId()
            yield pa.RecordBatch.from_pydict({"part": [part], "rows": [rows], "model": [pickle.dumps(model)]})

    return learned


def merged(frame, kind, label, **options):
    """The model of all rows, and of how many: merged on the driver, in the order of the partitions, for the same bits."""
    schema = "part long, rows long, model binary"
    parts = frame.mapInArrow(learner(kind, label, **options), schema).orderBy("part").collect()
    models = [pickle.loads(row["model"]) for row in parts]
    return models[0].merge(*models[1:]), sum(row["rows"] for row in parts), len(parts)


def of_a_group(rows):
    """A model for a group, whose rows Spark has brought together."""
    X, y = arrays(rows, "y")
    model = BayesianLinearRegression(**SETTINGS).fit(X, y)
    weights = model.coef_
    return pa.table({"g": [rows["g"][0].as_py()], "rows": [len(y)], "weights": [list(weights)], "model": [pickle.dumps(model)]})


def predictor(model):
    """What executors do with a model: mean and interval for each row."""

    def predicted(batches):
        for batch in batches:
            X, y = arrays(batch, "y")
            mean, interval = model.predict(X, return_interval=0.9)
            yield pa.RecordBatch.from_pydict({"y": y, "mean": mean, "lower": interval[:, 0], "upper": interval[:, 1]})

    return predicted


def main(n):
    # Workers are of this environment. Two threads, and a task may fail twice.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master("local[2,3]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    frame = spark.range(0, n, numPartitions=8).select(
        (F.col("id") % 20).alias("g"),
        *(F.randn(seed=j).alias(name) for j, name in enumerate(FEATURES)),
        F.randn(seed=9).alias("noise"),
    )
    predictor_of_y = 0.5 + F.col("x0") - 0.7 * F.col("x1") + 0.2 * F.col("x2")
    frame = frame.select(
        "g",
        F.when(F.col("g") == 7, None).otherwise(F.col("x0")).alias("x0"),
        "x1",
        "x2",
        (predictor_of_y + 0.4 * F.col("noise")).alias("y"),
        (predictor_of_y + F.col("noise") > 0).cast("double").alias("c"),
    ).cache()
    print(f"Spark {spark.version}, {frame.count()} rows in {frame.rdd.getNumPartitions()} partitions, every twentieth incomplete")

    begun = time.perf_counter()
    model, rows, parts = merged(frame, BayesianLinearRegression, "y")
    seconds = time.perf_counter() - begun
    print(f"linear, {rows} rows learned in {parts} parts and merged: {np.round(model.coef_, 4)} in {seconds:.1f} s")
    X, y = arrays(frame.toArrow(), "y")
    whole = BayesianLinearRegression(**SETTINGS).fit(X, y)
    difference = np.abs(model.coef_ - whole.coef_) / whole.coef_std_
    print(f"  from one pass over all rows by at most {difference.max():.1e} posterior deviations")
    # A million rounded updates beside eight times an eighth of them.
    assert rows == len(y) and difference.max() < 1e-6

    again, _, _ = merged(frame, BayesianLinearRegression, "y", dies=True)
    same = np.array_equal(again.coef_, model.coef_) and again.evidence_ == model.evidence_
    print(f"  a worker killed in the midst of a partition: {'the same bits' if same else 'OTHER BITS'}")
    assert same

    begun = time.perf_counter()
    model_of_c, rows, parts = merged(frame, BayesianLogisticRegression, "c")
    seconds = time.perf_counter() - begun
    X_of_c, c = arrays(frame.toArrow(), "c")
    whole = BayesianLogisticRegression(**SETTINGS).fit(X_of_c, c)
    difference = np.abs(model_of_c.coef_ - whole.coef_) / whole.coef_std_
    print(f"logistic, the same: {np.round(model_of_c.coef_.ravel(), 4)} in {seconds:.1f} s, {difference.max():.3f} posterior deviations apart")
    # A merge of parts that did not know of each other, each of many rows.
    assert difference.max() < 0.5

    begun = time.perf_counter()
    schema = "g long, rows long, weights array<double>, model binary"
    complete = frame.where("g <> 7")
    groups = complete.groupBy("g").applyInArrow(of_a_group, schema).orderBy("g").collect()
    seconds = time.perf_counter() - begun
    spread = np.ptp([row["weights"] for row in groups], axis=0)
    print(f"{len(groups)} groups, a model for each, in {seconds:.1f} s: weights within {np.round(spread, 4)}")
    assert len(groups) == 19 and all(row["rows"] > 0 for row in groups)

    predicted = frame.mapInArrow(predictor(model), "y double, mean double, lower double, upper double")
    held = predicted.select(F.avg(((F.col("y") >= F.col("lower")) & (F.col("y") <= F.col("upper"))).cast("double"))).first()[0]
    print(f"intervals of 90 % hold {100 * held:.1f} % of the labels")
    assert abs(held - 0.9) < 0.01
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400_000)
