"""Tables of several libraries as arrays, with the names of their columns."""

import functools
import sys

import numpy as np


def named(X):
    """`X` as something that scikit-learn validates, and its columns' names where scikit-learn cannot see them.

    pandas' tables and arrays pass as they are. Polars, PyArrow and whatever else narwhals knows, or what exports an Arrow
    stream, become a float64 matrix and a list of names; a table with other columns than numbers is a `ValueError`.
    """
    if isinstance(X, np.ndarray) or hasattr(X, "tocsr") or isinstance(X, list | tuple):
        return X, None
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame | pandas.Series):
        return X, None
    frame = _frame(X)
    if frame is None:
        return X, None
    names = [str(name) for name in frame.columns]
    columns = [_column(frame[name], name) for name in names]
    return (np.column_stack(columns) if columns else np.empty((len(frame), 0))), names


def _frame(X):
    """A narwhals frame, or None if it is not a table."""
    known = ("polars", "pyarrow", "modin", "cudf")
    if type(X).__module__.split(".")[0] not in known and not hasattr(X, "__arrow_c_stream__"):
        return None
    try:
        import narwhals.stable.v2 as nw
    except ImportError as error:
        raise TypeError(f"a table of {type(X).__module__} needs the package narwhals") from error
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame) and hasattr(X, "__arrow_c_stream__"):
        import pyarrow

        frame = nw.from_native(pyarrow.table(X), pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _column(series, name):
    try:
        return np.asarray(series.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} is not numeric: {error}") from error


def explained(X, y, error):
    """The place of an error in `X` or in the labels (columns, or row and column) and its remedy, or None."""
    texts, missing, rows = [], [], []
    for name, numbers in _numbers(X):
        try:
            gaps = np.flatnonzero(np.isnan(numbers()))
        except (TypeError, ValueError):
            texts.append(name)
            continue
        if gaps.size:
            missing.append(name)
            rows.append(int(gaps[0]))
    if texts:
        return (
            f"{_listed(texts, 'hold')} no numbers: encode them first, for example by scikit-learn's OneHotEncoder in a ColumnTransformer, or leave "
            "them out"
        )
    if missing:
        return (
            f"{error}\n{_listed(missing, 'lack')} values: fill them in first, for example by scikit-learn's SimpleImputer(add_indicator=True), or "
            f"leave those rows out; the first is row {min(rows)}"
        )
    place = located("X", X) or located("y", y) or worded(y, error)
    return None if place is None else f"{error}\n{place}"


def located(argument, values):
    """The first entry of a matrix or list of numbers that is not finite, rows and columns counted from 0; none where all are.

    Examples
    --------
    >>> import numpy as np
    >>> located("X", np.array([[1.0, 2.0], [0.5, np.nan]])), located("y", [1.0, np.inf]), located("y", ["a"])
    ('row 1, column 1 of X is not finite: nan', 'y[1] is not finite: inf', None)
    """
    if values is None or isinstance(values, str) or np.iscomplexobj(values):
        return None
    if hasattr(values, "tocoo"):
        try:
            # Places beyond the matrix would have SciPy read and write where it must not.
            getattr(values, "check_format", lambda full_check: None)(full_check=True)
        except ValueError:
            return None
        entries = values.tocoo()
        bad = np.flatnonzero(~np.isfinite(entries.data))
        if not bad.size:
            return None
        first = bad[np.lexsort((entries.col[bad], entries.row[bad]))[0]]
        return f"row {entries.row[first]}, column {entries.col[first]} of {argument} is not finite: {entries.data[first]}"
    try:
        values = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    bad = np.argwhere(~np.isfinite(values))
    if not len(bad) or values.ndim not in (1, 2):
        return None
    value = values[tuple(bad[0])]
    if values.ndim == 1:
        return f"{argument}[{bad[0][0]}] is not finite: {value}"
    return f"row {bad[0][0]}, column {bad[0][1]} of {argument} is not finite: {value}"


def worded(y, error):
    """The first label that is no number, where numbers were asked for."""
    if "could not convert" not in str(error) or isinstance(y, str) or y is None:
        return None
    for place, value in enumerate(np.asarray(y, dtype=object).ravel()):
        try:
            float(value)
        except (TypeError, ValueError):
            return f"y[{place}] = {value!r} is no number; for classes take BayesianLogisticRegression"
    return None


def _numbers(X):
    """The name of each column of a table, and a function that makes floats of it."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        for place, name in enumerate(X.columns):
            column = X.iloc[:, place]
            # pandas would count the nanoseconds of a date.
            dated = getattr(column.dtype, "kind", "O") in "mM"
            yield name, functools.partial(float, "a date") if dated else functools.partial(column.to_numpy, np.float64, na_value=np.nan)
        return
    frame = None if isinstance(X, np.ndarray | list | tuple) or hasattr(X, "tocsr") else _frame(X)
    for name in [] if frame is None else frame.columns:
        yield name, functools.partial(_column, frame[name], name)


def _listed(names, verb):
    """The first names as the subject of a sentence, and its verb."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    known = ", ".join(map(repr, names[:5]))
    return f"columns {known}{more} {verb}" if len(names) > 1 else f"column {known} {verb}s"


def reordered(X, names, expected):
    """The columns of a table in the order of the fit.

    Raises `ValueError` naming the columns that are missing or unknown.
    """
    missing = [name for name in expected if name not in names]
    unknown = [name for name in names if name not in set(expected)]
    if missing or unknown:
        raise ValueError(difference(missing, unknown))
    order = [names.index(name) for name in expected]
    return X.iloc[:, order] if hasattr(X, "iloc") else X[:, order]


def difference(missing, unknown):
    """The difference between two lists of columns, in scikit-learn's words."""
    message = "The feature names should match those that were passed during fit.\n"
    if unknown:
        message += "Feature names unseen at fit time:\n" + "".join(f"- {name}\n" for name in sorted(unknown)[:5])
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n"
        message += "".join(f"- {name}\n" for name in sorted(missing)[:5])
    if not missing and not unknown:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message
