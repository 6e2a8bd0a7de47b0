"""Models of tables with named columns, as the command ``rvi`` makes them.

Columns may hold numbers, texts, dates, categories and gaps. The first rows decide the kind of each, its curves and products, and the family of the
target; one pass learns the rows, each predicted and scored before. A model is the file of ``rvi fit``: the command reads it, and
`load` reads what the command wrote.

Examples
--------
>>> import rvi
>>> flats = {"size": [31.0, 58.0, None, 44.0] * 30, "town": ["Ulm", "Bonn", "Ulm", "Bonn"] * 30, "rent": [420, 610, 500, 480] * 30}
>>> model = rvi.fit(flats, "rent")
>>> model
<rvi.Model of rent, a number: 120 rows learned>
>>> [round(float(rent), -2) for rent in model.predict({"size": [50.0], "town": ["Bonn"]})]
[500.0]
"""

import json
import os
import sys
import tempfile
import warnings
from html import escape
from pathlib import Path

import numpy as np

from ._rvi import Table

__all__ = ["Model", "fit", "load"]


def fit(
    table, target=None, *, shape=None, family="auto", formula=None, ignore=(), text=(), number=(), classes=(), levels=100, sniff=2000,
    forget="nothing", prior=(), keep_order=False, skip_bad=False, features=None, ard=False, belief=None, refine=None, mergeable=False, unscaled=False,
    no_sample=False,
):  # fmt: skip
    """Learn a table in one pass, with the options and the defaults of ``rvi fit``.

    Parameters
    ----------
    table : table
        A table of pandas (needs PyArrow), Polars or PyArrow, any object with ``__arrow_c_stream__``, or a dict of columns (needs PyArrow). The index of a
        pandas table is no column.
    target : str, optional
        The column to predict, unless the formula names it. Among numbers texts such as ``"<0.5"`` and ``">200"`` are ranges of one.
    shape : {"line", "smooth", "pairs", "any"}, optional
        A line in each input, a curve for each number, products of two inputs beside the curves, or any shape. By default
        the inputs and the number of rows decide.
    family : str
        ``"auto"``, ``"number"``, ``"gaussian"``, ``"robust"``, ``"log-normal"``, ``"log-robust"``, ``"varying"``
        (a spread that follows the inputs), ``"log-varying"``, ``"logit-normal"``, ``"logit-robust"``, ``"logit-varying"`` (of fractions), ``"classes"``, ``"ordered"`` (classes with an order, as ratings: that of
        their numbers, or of `classes`), ``"count"``, ``"poisson"``, ``"negative-binomial"`` or ``"zero-inflated"``.
    formula : str, optional
        Target and inputs, for example ``"late ~ . - id + carrier:origin + log(distance)"`` or ``"pain ~ s(age) + (1 | clinic)"``. ``(days | subject)`` gives each
        subject a level and a slope with their correlation, told at 0 days; ``(days || subject)`` the same without it, told at the mean of the days.
        ``"Surv(days, died) ~ age"`` learns times, of which those are censored where ``died`` is 0, ``False``, or 1 among 1 and 2;
        ``"between(low, high) ~ age"`` numbers of which a range is known, open where an end is missing.
        ``"wage ~ age + s(school), sigma ~ age"`` has a spread that follows some of the terms, ``sigma ~ 1`` one of all rows.
    ignore, text, number : sequence of str
        Columns to leave out, to treat as text, and to keep as numbers although every row has its own.
    classes : sequence of str
        All classes of the target, if the first rows lack some; of texts with an order the lowest first.
    levels : int
        The limit on the levels of a text column; rarer ones share an input. By default such a column may become a group, as `(1 | column)` does, or the
        mean label of the rows before.
    sniff : int
        The number of rows, from all over the table, that decide the kinds of the columns; the first ones with ``keep_order``.
    forget : str or float
        ``"nothing"``, ``"learned"``, or a factor between 0 and 1 for each row.
    prior : float or sequence of float
        Prior standard deviations of the coefficients, averaged by their evidence; learned if empty.
    keep_order : bool
        Whether the table is read once, as a stream: its first rows decide the kinds of the columns, and rows whose labels come in runs are not learned
        again in a random order.
    skip_bad : bool
        Whether rows that cannot be read are skipped.
    features : str, optional
        Nonlinear features instead of a shape: ``"rff:300"``, random Fourier features, or ``"poly:2"``, powers of the numbers.
    ard : bool
        Whether each input has a prior scale of its own, from a horseshoe prior that is sampled on the first rows; for numbers and two classes.
    belief : {"full", "low-rank", "diagonal"}, optional
        Form of the posterior of the coefficients; by default their number decides.
    refine : int, optional
        The most further passes, until the posterior is the best Gaussian; for classes and counts.
    mergeable : bool
        Whether the scales of the inputs are fixed after the first rows, so that ``rvi merge`` can bring together models of parts of the data.
    unscaled : bool
        Whether the inputs keep their units, under the one scale of `prior`, so that ``rvi export`` can write the model as a record.
    no_sample : bool
        Whether the model keeps no sample of the rows, which serves to detect a harmful order.

    Returns
    -------
    model : Model

    Raises
    ------
    ValueError
        For what cannot be learned, with its column, value and row (counted from 0).
    TypeError
        For an object that is no table with named columns.
    """
    for name, value, most in (("levels", levels, 65_535), ("sniff", sniff, 2**32 - 1), ("refine", refine, 1000)):
        if value is not None and not 1 <= value <= most:
            raise ValueError(f"{name} = {value} must be between {1 if name == 'refine' else 2} and {most:,}")
    model = Table.fit(
        _exported(table), target, shape=shape, family=family.replace("_", "-"), formula=formula, ignore=_names(ignore), text=_names(text), number=_names(number),
        classes=_names(classes), levels=levels, sniff=sniff, forget=str(forget), prior=np.atleast_1d(prior).astype(float).tolist(),
        keep_order=keep_order, skip_bad=skip_bad, features=features, ard=ard, belief=belief, refine=refine, mergeable=mergeable, unscaled=unscaled,
        no_sample=no_sample,
    )  # fmt: skip
    _warn_of(model)
    return Model(model)


def load(path):
    """Read a model that `Model.save` or the command ``rvi`` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    model : Model
    """
    return Model(Table.of_bytes(Path(path).read_bytes()))


class Model:
    """A model of a table with named columns; `fit` and `load` make one."""

    def __init__(self, model):
        self._model = model

    @property
    def target(self):
        """The name of the column that is predicted."""
        return self._model.target()[0]

    @property
    def classes(self):
        """The classes of the target, as texts; none for a number or a count."""
        return self._model.target()[1]

    def predictions(self, table, level=0.9, *, certified=False):
        """The columns that ``rvi predict`` writes, apart from the number of the row.

        Parameters
        ----------
        table : table
            Rows with the columns of the inputs, in any order; the target is not needed.
        level : float
            The probability of the intervals.
        certified : bool
            Whether the intervals are re-mapped by the record of the model's predictions, so that they hold as often as they say whatever the data do;
            classes have sets.

        Returns
        -------
        columns : dict of str to array
            ``mean``, ``sd``, ``lower``, ``upper`` of a number or a count; ``median``, ``lower``, ``upper`` of a time; ``class``, ``probability`` (of the second class), ``lower``, ``upper`` of two
            classes; ``class`` and ``p(NAME)`` for each of several classes. Certified classes have ``set``, names with ``|`` between them, in place of
            ``lower`` and ``upper``.
        """
        columns, new = self._model.predict(_exported(table), level, certified)
        _warn_of_new(new)
        return {name: np.asarray(column, dtype=object if name in ("class", "set") else None) for name, column in columns.items()}

    def predict(self, table):
        """The expected number or count of each row, its median time, or the name of its most probable class.

        Parameters
        ----------
        table : table
            Rows with the columns of the inputs.

        Returns
        -------
        predicted : array
            Floats, or texts of classes.
        """
        found = self._asked(table, "point")
        return np.array(self.classes, dtype=object)[found.astype(np.intp)] if self.classes else found

    def _asked(self, table, what, numbers=(), seed=0):
        """Numbers of the predictive distribution of each row."""
        numbers = np.atleast_1d(np.asarray(numbers, dtype=np.float64))
        if not np.isfinite(numbers).all():
            raise ValueError(f"{what} at {numbers[~np.isfinite(numbers)][0]}, which is not finite")
        found, new = self._model.distribution(_exported(table), what, numbers.tolist(), seed)
        _warn_of_new(new)
        return found

    def predict_proba(self, table):
        """The probability of each class at each row, in the order of `classes`.

        Parameters
        ----------
        table : table
            Rows with the columns of the inputs.

        Returns
        -------
        probabilities : array of shape (rows, classes)
        """
        if not self.classes:
            raise ValueError(f"the target {self.target!r} has no classes")
        columns = self.predictions(table)
        if len(self.classes) == 2:
            second = columns["probability"]
            return np.column_stack([1.0 - second, second])
        return np.column_stack([columns[f"p({name})"] for name in self.classes])

    def predict_interval(self, table, level=0.9, *, certified=False):
        """The central interval of each row's target, or of the probability of the second of two classes.

        Parameters
        ----------
        table : table
            Rows with the columns of the inputs.
        level : float
            The probability of the intervals.
        certified : bool
            Whether the intervals are re-mapped by the record of the model's predictions, so that they hold as often as they say whatever the data do.
            It needs the record of 200 rows, each predicted before it was learned; a ``ValueError`` says if there are fewer.

        Returns
        -------
        intervals : array of shape (rows, 2)
        """
        columns = self.predictions(table, level, certified=certified)
        if "set" in columns:
            raise ValueError("classes have no certified interval: predict_set has their sets")
        if "lower" not in columns:
            raise ValueError("more than two classes have no interval: predict_proba has their probabilities")
        return np.column_stack([columns["lower"], columns["upper"]])

    def predict_set(self, table, level=0.9):
        """The certified set of classes of each row: it holds the row's class at least as often as `level` says, whatever the data do.

        Parameters
        ----------
        table : table
            Rows with the columns of the inputs.
        level : float
            The share of rows whose class is in their set.

        Returns
        -------
        sets : list of str
            The names of the classes of each row's set, never none, with ``|`` between them.
        """
        if not self.classes:
            raise ValueError(f"the target {self.target!r} has no classes")
        return self.predictions(table, level, certified=True)["set"].tolist()

    def explain(self, table):
        """The parts that each column, and columns together, add to the prediction of each row, as ``rvi explain``.

        Parameters
        ----------
        table : table
            Rows with the columns of the inputs.

        Returns
        -------
        explained : dict
            ``parts``: a list of names, a column or columns with ``×`` between them; ``mean`` and ``sd``: arrays of shape (rows, parts);
            ``predictor`` and ``predictor_sd``: the linear predictor of each row; ``base``: mean and deviation of that of the average row, none without
            rows. ``base[0] + mean.sum(axis=1)`` is ``predictor``: the target, its logarithm or log odds if the model is of these, the logarithm of the mean of a
            count, the log odds of the second of two classes or, of classes with an order, of any above the lowest. More than two classes without
            an order: ``ValueError``.
        """
        return self._model.explain(_exported(table))

    def predict_quantiles(self, table, q=(0.05, 0.25, 0.5, 0.75, 0.95)):
        """Quantiles of each row's number or count, or of the probability of the second of two classes.

        Parameters
        ----------
        table : table
            Rows with the columns of the inputs.
        q : float or sequence of float
            Probabilities, each between 0 and 1.

        Returns
        -------
        quantiles : array of shape (rows, probabilities)
        """
        from .sklearn._rows import probabilities

        return self._asked(table, "quantiles", probabilities(q))

    def cdf(self, table, y=None):
        """The probability that each row's number or count is at most `y`.

        Parameters
        ----------
        table : table
            Rows with the columns of the inputs.
        y : float or sequence of float, optional
            One for all rows, or one for each; by default the target of each row, NaN where it is missing, a range or a censored time. Without rows that the model has learned the
            values are uniform between 0 and 1 where it is right.

        Returns
        -------
        probabilities : array
        """
        return self._asked(table, "cdf", () if y is None else y)

    def crps(self, table, y=None):
        """The continuous ranked probability score of each row's number or count, in its units: the absolute error, generalised to a distribution.

        Parameters
        ----------
        table, y
            As for `cdf`.

        Returns
        -------
        scores : array
        """
        return self._asked(table, "crps", () if y is None else y)

    def log_density(self, table, y=None):
        """The log density of each row's number or time, or the log probability of its class or count, of a range of a number, or of no event up to a censored time.

        Parameters
        ----------
        table, y
            As for `cdf`; a class in `y` is its position in `classes`, a censored time has a minus.

        Returns
        -------
        densities : array
            In nats; NaN where the target is missing.
        """
        return self._asked(table, "log_density", () if y is None else y)

    def sample_y(self, table, n_samples=1, random_state=0):
        """Draws of each row's number, count or class.

        Parameters
        ----------
        table : table
            Rows with the columns of the inputs.
        n_samples : int
            Draws for each row.
        random_state : int, RandomState instance or None
            Seed of the draws.

        Returns
        -------
        draws : array of shape (rows, n_samples)
            Floats, or texts of classes.
        """
        from .sklearn._rows import seed

        if not 1 <= int(n_samples) <= 1_000_000:
            raise ValueError(f"n_samples = {n_samples} must be between 1 and 1,000,000")
        found = self._asked(table, "draws", int(n_samples), seed(random_state))
        return np.array(self.classes, dtype=object)[found.astype(np.intp)] if self.classes else found

    def evaluate(self, table):
        """The scores on rows whose target is known, as ``rvi evaluate``.

        Parameters
        ----------
        table : table
            Rows with the columns of the inputs and the target.

        Returns
        -------
        scores : dict
            Log loss in nats a row; root mean squared error and coverage, or accuracy and calibration.
        """
        return json.loads(self._model.evaluate(_exported(table)))

    def robust_errors(self, table, clusters=None):
        """Standard errors of the coefficients that hold whatever the noise (HC3), as ``rvi inspect --robust``.

        Parameters
        ----------
        table : table
            The rows that were learned.
        clusters : str, optional
            Column of clusters, whose rows may depend on each other (CR1).

        Returns
        -------
        errors : dict
            ``rows``, the number of ``clusters``, and ``coefficients``: ``name``, ``mean``, ``sd`` of the posterior and ``robust`` of each.
        """
        return json.loads(self._model.robust_errors(_exported(table), clusters))

    def update(self, table, *, skip_bad=False):
        """Learn the rows of a further table, all or none, as ``rvi update``.

        Parameters
        ----------
        table : table
            Rows with the columns of the inputs and the target.
        skip_bad : bool
            Whether rows that cannot be read are skipped.

        Returns
        -------
        self : Model
        """
        self._model.update(_exported(table), skip_bad)
        _warn_of(self._model)
        return self

    def merge(self, *others):
        """Merge with models of other rows, all or none, as ``rvi merge``.

        Parameters
        ----------
        *others : Model
            Made by ``rvi fit --like`` the file of this model, which was fitted with ``mergeable=True``.

        Returns
        -------
        self : Model
            A model of all rows: exact for numbers under one given prior scale, an approximation otherwise.

        Raises
        ------
        ValueError
            For models of another target or other columns, or of rows that are in the model already.
        """
        for other in others:
            if not isinstance(other, Model):
                raise TypeError(f"a {type(other).__name__} cannot be merged into a Model")
        self._model.merge([other._model for other in others])
        return self

    def save(self, path):
        """Write the file of the command ``rvi``; it replaces another one whole.

        Parameters
        ----------
        path : str or Path
            The file.
        """
        path = Path(os.path.realpath(path))
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
                out.write(self._model.text())
            Path(part).chmod(path.stat().st_mode if path.exists() else 0o666 & ~_umask())
            Path(part).replace(path)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise

    def info(self):
        """All that is known of the model: the card of ``rvi inspect --json``.

        Returns
        -------
        card : dict
        """
        return json.loads(self._model.card())

    def certificate(self):
        """The findings about the model that have a consequence, as ``rvi inspect`` lists them.

        Returns
        -------
        findings : list of dict
            Of each its subject ``about`` (``calibration``, ``change``, ``outliers``, ``order``, ``posterior``, ``first rows``, ``memory``, ``repairs``,
            ``digits``), its grounds ``basis`` (``exact``, ``asymptotic`` or ``heuristic``), the finding ``says`` and the consequence ``then`` in words,
            and ``numbers`` by name where there are any.

        Examples
        --------
        >>> import rvi
        >>> rows = range(300)
        >>> model = rvi.fit({"size": list(rows), "rent": [2 * k + k % 7 for k in rows]}, "rent")
        >>> [(own["about"], own["basis"]) for own in model.certificate()][0]
        ('calibration', 'exact')
        """
        return json.loads(self._model.certificate())

    def summary(self, top=20):
        """The text of ``rvi inspect``: columns, terms, scores, coefficients, health.

        Parameters
        ----------
        top : int
            The number of coefficients, the most certain first.

        Returns
        -------
        text : str
        """
        return self._model.summary(top)

    def effects(self):
        """The curve of each input: its effect on the predictor, relative to the mean.

        Returns
        -------
        curves : list of dict
            ``name``, ``at`` (values of the input), ``mean``, and ``bands``: lower and upper ends of the 50 % and 90 % intervals. Empty for a model of
            lines.
        """
        curves = json.loads(self._model.effects())
        for curve in curves:
            curve.update(at=np.array(curve["at"]), mean=np.array(curve["mean"]), bands=np.array(curve["bands"]))
        return curves

    def _repr_html_(self):
        return f"<pre>{escape(self.summary())}</pre>"

    def __repr__(self):
        card = self.info()
        kind = card["target"]["kind"]
        kind = "classes" if isinstance(kind, dict) else f"a {kind.lower()}"
        return f"<rvi.Model of {self.target}, {kind}: {card['rows']} rows learned>"

    def __getstate__(self):
        return self._model.text()

    def __setstate__(self, text):
        self._model = Table.of_bytes(text.encode())


def _exported(table):
    """A table that exports its columns by Arrow's C stream."""
    pandas = sys.modules.get("pandas")
    frame = pandas is not None and isinstance(table, pandas.DataFrame)
    if pandas is not None and isinstance(table, pandas.Series):
        raise TypeError("a table with named columns is needed, not one column: series.to_frame() makes a table of it")
    if not frame and not isinstance(table, dict):
        return table
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("a table of pandas or a dict needs the package pyarrow: pip install 'rvi[tables]'") from error
    if frame:
        # An index would be a column; a Series has no name for one.
        return pyarrow.Table.from_pandas(table, preserve_index=False)
    return pyarrow.table(table)


def _names(names):
    """A list of names; one name alone is meant as one."""
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _warn_of_new(new):
    if new:
        warnings.warn(f"{new} texts unknown to the model were taken as `(other)`, of groups as new ones", stacklevel=4)


def _warn_of(model):
    for what in model.warnings():
        warnings.warn(what, stacklevel=3)


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
