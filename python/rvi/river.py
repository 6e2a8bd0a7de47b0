"""Classifiers and regressors for river: the front door's models on dictionaries of features.

Each new name takes the next free place. Free places cost little and change nothing, since a column of zeros leaves its weight at the prior;
when none is left, names share places by their hash, as they do from the start with ``n_hashed``.

Examples
--------
>>> from river import datasets, evaluate, metrics
>>> from rvi.river import BayesianLogisticRegression
>>> evaluate.progressive_val_score(datasets.Phishing(), BayesianLogisticRegression(), metrics.LogLoss())
LogLoss: 0.2...
"""

import json
import math
from numbers import Number
from zlib import crc32

import numpy as np

try:
    import river.base
    import river.proba
except ImportError as error:
    raise ImportError("rvi.river needs the package river: pip install 'rvi[river]'") from error

from . import _settings
from ._rvi import Online, Record

__all__ = ["BayesianLinearRegression", "BayesianLogisticRegression", "BayesianSoftmaxRegression"]


class _Model:
    """Places of the features, and the model beneath."""

    def __init__(self, prior_scale, standardise, memory, belief, reserve, n_hashed, certified):
        self.certified = certified
        self.prior_scale = prior_scale
        self.standardise = standardise
        self.memory = memory
        self.belief = belief
        self.reserve = reserve
        self.n_hashed = n_hashed
        self._places = {}
        self._width = 0
        self._model = None
        self._record = Record() if certified else None

    @classmethod
    def _unit_test_params(cls):
        yield {}

    def _kind(self):
        """The kind of model, and the numbers that belong to it."""
        raise NotImplementedError

    def _begin(self, names):
        width = len(names) + int(self.reserve) if self.n_hashed is None else int(self.n_hashed)
        if width < 1:
            raise ValueError(f"{width} places for features: reserve and n_hashed must leave at least one")
        kind, numbers = self._kind()
        belief = _settings.belief(self.belief, width, kind == "Classes")
        settings = {
            "belief": belief,
            "prior_scale": _settings.prior_scale(self.prior_scale),
            "intercept": True,
            "intercept_scale": _settings.INTERCEPT_SCALE.get(kind, 5.0),
            "standardise": _settings.standardise(self.standardise, _settings.is_dense(belief)),
            "memory": _settings.memory(self.memory),
            "keep_rows": False,
            "start": "Fitted",
            "names": [],
        }
        model = Online(kind, width, _settings.dumps(settings), **numbers)
        self._width = width
        return model

    def _learned(self, places, row, y, weight):
        """Learns a row; a failure leaves places and model as they were."""
        self._model.update_row(row, y, weight, record=self._record)
        self._places = places

    def _row(self, x, places):
        """A row for the model; names without a place have no entry."""
        if self._sparse_rows():
            entries = {}
            try:
                for name, value in x.items():
                    place = places.get(name)
                    if place is not None:
                        entries[place] = entries.get(place, 0.0) + value
            except TypeError as error:
                raise _no_number(x) from error
            kept = sorted(entries)
            return kept, [float(entries[place]) for place in kept]
        row = [0.0] * self._width
        try:
            for name, value in x.items():
                place = places.get(name)
                if place is not None:
                    row[place] += value
        except TypeError as error:
            raise _no_number(x) from error
        return row

    def _sparse_rows(self):
        return self._width > 200

    def _placed(self, names):
        """The places with those of `names`, and whether there are new ones."""
        places = self._places
        new = [name for name in names if name not in places]
        if not new:
            return places
        places = dict(places)
        # Sorted, so that the order in which a row happens to be written makes no difference.
        for name in sorted(new, key=str):
            if self.n_hashed is None and len(places) < self._width:
                places[name] = len(places)
            else:
                places[name] = crc32(str(name).encode()) % self._width
        return places

    def _learn_one(self, x, y, weight):
        if self._model is None:
            width = self._width
            try:
                self._model = self._begin(x)
                places = self._placed(x)
                self._learned(places, self._row(x, places), y, weight)
            except BaseException:
                self._model, self._width = None, width
                raise
            return
        places = self._placed(x)
        self._learned(places, self._row(x, places), y, weight)

    def _set(self, x, level):
        """The positions of the labels in the certified set; None where there is none yet."""
        record = self._known_record()
        return None if self._model is None else self._model.certified_set_row(self._row(x, self._places), level, record)

    def _known_record(self):
        if self._record is None:
            raise ValueError("certified intervals and sets are those of a model made with certified=True")
        return self._record

    def _matrix(self, X, places):
        """The rows of a table as a matrix, and its column of places."""
        frame = _frame(X)
        rows = np.zeros((len(frame), self._width))
        for name in frame.columns:
            place = places.get(name)
            if place is not None:
                rows[:, place] += np.asarray(frame[name].to_numpy(), dtype=np.float64)
        return rows

    def _learn_many(self, X, y):
        frame = _frame(X)
        if len(frame) == 0:
            return
        names, before = list(frame.columns), (self._model, self._width)
        try:
            if self._model is None:
                self._model = self._begin(names)
            places = self._placed(names)
            self._model.update(self._matrix(X, places), y)
            self._places = places
        except BaseException:
            self._model, self._width = before
            raise

    def __deepcopy__(self, memo):
        other = self.__class__.__new__(self.__class__)
        memo[id(self)] = other
        for name, value in self.__dict__.items():
            other.__dict__[name] = dict(value) if isinstance(value, dict) else value
        if self._model is not None:
            other._model = self._model.copy()
        other._record = self._record and self._record.copy()
        return other

    def certificate(self):
        """The findings about the model that have a consequence, as `rvi.table.Model.certificate` has them.

        Those about its predictions, with `certified` alone, are by the rows that `learn_one` has learned, each predicted before.

        Returns
        -------
        findings : list of dict
        """
        return [] if self._model is None else json.loads(self._model.certificate(record=self._record))

    @property
    def info(self):
        """Rows, evidence, prior scales, digits left, advice (a dictionary); None before the first row."""
        return None if self._model is None else self._model.info()

    @property
    def weights(self):
        """Posterior mean of the weight of each feature that has a place."""
        if self._model is None:
            return {}
        _, weights = self._model.weights()
        return {name: float(weights[-1, place]) for name, place in self._places.items()}


def _no_number(x):
    """The error for a row with a value that is no number."""
    for name, value in x.items():
        if not isinstance(value, Number):
            return TypeError(
                f"the feature {name!r} is {value!r}, not a number: river.preprocessing has OneHotEncoder for texts, StatImputer for gaps"
            )
    return TypeError(f"the row {x!r} has a value that is not a number")


def _frame(X):
    import narwhals.stable.v2 as nw

    return nw.from_native(X, eager_only=True)


def _series(X, values, name=None):
    """Values beside the rows of a table, in the table's own library."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    series = nw.new_series(name or "", values, backend=frame.implementation)
    native = series.to_native()
    if hasattr(X, "index"):
        native.index = X.index
        native.name = name
    return native


def _labels(y):
    return y.to_list() if hasattr(y, "to_list") else y.tolist() if hasattr(y, "tolist") else list(y)


class BayesianLinearRegression(_Model, river.base.MiniBatchRegressor):
    """Linear regression with unknown noise: the exact posterior, follows drift if asked to.

    Parameters
    ----------
    prior_scale
        Prior standard deviation of the weights of standardised features, in units of the noise: 'learned', a number or several.
    standardise
        Number of first rows that set the scales of features and target, or 'never'.
    memory
        'everything'; 'learned', at the pace of the drift; or a factor on the weight of each row for every later row.
    belief
        Form of the posterior: 'auto', 'full', 'square_root', 'diagonal', or the rank of a factor.
    reserve
        Places kept free for names that the first row does not have.
    n_hashed
        Number of places if all names share them by their hash.
    certified
        Whether `learn_one` predicts each row first and records how its label fell in the prediction, for certified intervals or sets and
        the findings of `certificate`. It takes some 1.3 to 1.6 times as long.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from rvi.river import BayesianLinearRegression
    >>> model = BayesianLinearRegression(memory="learned")
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.3...
    >>> x, _ = next(iter(datasets.TrumpApproval()))
    >>> type(model.predict_one(x, with_dist=True)).__name__
    'Gaussian'
    """

    def __init__(
        self,
        prior_scale="learned",
        standardise=50,
        memory="everything",
        belief="auto",
        reserve=4,
        n_hashed=None,
        certified=False,
    ):
        super().__init__(prior_scale, standardise, memory, belief, reserve, n_hashed, certified)

    def _kind(self):
        return "Number", {}

    def learn_one(self, x, y, w=1.0):
        """Learn a row `x` with the target `y`, which counts `w` times."""
        self._learn_one(x, float(y), w)

    def predict_one(self, x, with_dist=False):
        """The expected target; with `with_dist` the Gaussian of its mean and standard deviation, noise included."""
        mean, deviation = (0.0, math.inf) if self._model is None else self._model.predict_row(self._row(x, self._places))
        if not with_dist:
            return mean
        return river.proba.Gaussian._from_state(n=1, m=mean, var=deviation**2, ddof=0)

    def predict_interval_one(self, x, level=0.9, certified=False):
        """The central interval of the target.

        A certified one, of a model with `certified`, holds targets as often as `level` says in the long run, whatever the data do: its width
        follows where the targets of the rows that `learn_one` has learned fell in their predictions. Before the first row, and certified before the 200th, it has no ends.
        """
        record = self._known_record() if certified else None
        if self._model is None:
            return -math.inf, math.inf
        row = self._row(x, self._places)
        if record is None:
            return self._model.interval_row(row, level)
        return self._model.certified_interval_row(row, level, record) or (-math.inf, math.inf)

    def learn_many(self, X, y):
        """Learn the rows of a table in their order: the same model as `learn_one` for each."""
        self._learn_many(X, np.asarray(_labels(y), dtype=np.float64))

    def predict_many(self, X):
        """The expected target of each row of a table."""
        if self._model is None:
            return _series(X, [0.0] * len(_frame(X)))
        mean, _ = self._model.predict(self._matrix(X, self._places))
        return _series(X, mean.tolist())


class BayesianLogisticRegression(_Model, river.base.MiniBatchClassifier):
    """Logistic regression of labels True and False: probabilities averaged over the posterior of the weights.

    Parameters
    ----------
    prior_scale
        Prior standard deviation of the weights of standardised features: 'learned', a number or several.
    standardise
        Number of first rows that set the scales of features, or 'never'.
    memory
        'everything'; 'learned', at the pace of the drift; or a factor on the weight of each row for every later row.
    belief
        Form of the posterior: 'auto', 'full', 'square_root', 'diagonal', or the rank of a factor.
    reserve
        Places kept free for names that the first row does not have.
    n_hashed
        Number of places if all names share them by their hash.
    certified
        Whether `learn_one` predicts each row first and records how its label fell in the prediction, for certified intervals or sets and
        the findings of `certificate`. It takes some 1.3 to 1.6 times as long.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from rvi.river import BayesianLogisticRegression
    >>> model = BayesianLogisticRegression()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 8...
    """

    def __init__(
        self,
        prior_scale="learned",
        standardise=50,
        memory="everything",
        belief="auto",
        reserve=4,
        n_hashed=None,
        certified=False,
    ):
        super().__init__(prior_scale, standardise, memory, belief, reserve, n_hashed, certified)

    def _kind(self):
        return "Two", {}

    def learn_one(self, x, y, w=1.0):
        """Learn a row `x` with the label `y`, which counts `w` times."""
        self._learn_one(x, _truth(y), w)

    def predict_proba_one(self, x):
        """The probabilities of False and True."""
        p = 0.5 if self._model is None else self._model.predict_row(self._row(x, self._places))[0]
        return {False: 1.0 - p, True: p}

    def predict_interval_one(self, x, level=0.9):
        """The central posterior interval of the probability of True."""
        if self._model is None:
            return 0.0, 1.0
        return self._model.interval_row(self._row(x, self._places), level)

    def predict_set_one(self, x, level=0.9):
        """The certified set of labels, of a model with `certified`: it holds the label as often as `level` says in the long run, whatever the data do.

        Its size follows how probable the labels of the rows that `learn_one` has learned were before. Before the 200th row it holds both.
        """
        found = self._set(x, level)
        return {False, True} if found is None else {place == 1 for place in found}

    def learn_many(self, X, y):
        """Learn the rows of a table in their order: the same model as `learn_one` for each."""
        self._learn_many(X, np.asarray([_truth(label) for label in _labels(y)]))

    def predict_proba_many(self, X):
        """The probabilities of False and True at each row of a table."""
        import narwhals.stable.v2 as nw

        frame = _frame(X)
        p = np.full(len(frame), 0.5) if self._model is None else self._model.predict(self._matrix(X, self._places))[0]
        columns = {False: 1.0 - p, True: p}
        if hasattr(X, "index"):
            return type(X)(columns, index=X.index)
        named = {str(label): values for label, values in columns.items()}
        return nw.from_dict(named, backend=frame.implementation).to_native()

    def predict_many(self, X):
        """The more probable label of each row of a table."""
        p = [0.5] * len(_frame(X)) if self._model is None else self._model.predict(self._matrix(X, self._places))[0]
        return _series(X, [bool(own > 0.5) for own in p])


def _truth(y):
    if isinstance(y, bool | np.bool_ | Number) and y in (0, 1):
        return float(y)
    raise ValueError(f"the label {y!r} is neither True nor False: BayesianSoftmaxRegression takes others")


class BayesianSoftmaxRegression(_Model, river.base.Classifier):
    """Softmax regression of labels that come as they may, up to a number of classes.

    Parameters
    ----------
    n_classes
        Most classes; one more is a `ValueError`, and the model as it was.
    prior_scale
        Prior standard deviation of the weights of standardised features: 'learned', a number or several.
    standardise
        Number of first rows that set the scales of features, or 'never'.
    memory
        'everything'; 'learned', at the pace of the drift; or a factor on the weight of each row for every later row.
    belief
        Form of the posterior: 'auto', 'full', 'square_root', 'diagonal', or the rank of a factor.
    reserve
        Places kept free for names that the first row does not have.
    n_hashed
        Number of places if all names share them by their hash.
    certified
        Whether `learn_one` predicts each row first and records how its label fell in the prediction, for certified intervals or sets and
        the findings of `certificate`. It takes some 1.3 to 1.6 times as long.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from rvi.river import BayesianSoftmaxRegression
    >>> model = BayesianSoftmaxRegression(n_classes=7)
    >>> evaluate.progressive_val_score(datasets.ImageSegments().take(500), model, metrics.Accuracy())
    Accuracy: 8...
    """

    def __init__(
        self,
        n_classes=10,
        prior_scale="learned",
        standardise=50,
        memory="everything",
        belief="auto",
        reserve=0,
        n_hashed=None,
        certified=False,
    ):
        super().__init__(prior_scale, standardise, memory, belief, reserve, n_hashed, certified)
        self.n_classes = n_classes
        self._classes = {}

    @property
    def _multiclass(self):
        return True

    def _kind(self):
        # One belief for each class: a joint one over classes that have not come would cost more than it knows.
        return "Classes", {"classes": int(self.n_classes), "joint": False}

    def learn_one(self, x, y, w=1.0):
        """Learn a row `x` with the label `y`, which counts `w` times."""
        place = self._classes.get(y)
        if place is None:
            place = len(self._classes)
            if place >= int(self.n_classes):
                raise ValueError(f"the label {y!r} is one more than n_classes = {self.n_classes}")
        self._learn_one(x, float(place), w)
        self._classes[y] = place

    def predict_proba_one(self, x):
        """The probability of each class seen so far; none before the first row."""
        if self._model is None:
            return {}
        found = self._model.probabilities_row(self._row(x, self._places))
        total = sum(found[place] for place in self._classes.values())
        return {label: found[place] / total for label, place in self._classes.items()}

    def predict_set_one(self, x, level=0.9):
        """The certified set of labels, of a model with `certified`: it holds the label as often as `level` says in the long run, whatever the data do.

        Its size follows how probable the labels of the rows that `learn_one` has learned were before. Before the 200th row it holds all
        labels seen so far.
        """
        found = self._set(x, level)
        return {label for label, place in self._classes.items() if found is None or place in found}
