"""An estimator as a document that the command `rvi` and Rust read too, and back."""

import json
from pathlib import Path

import numpy as np

from .. import _settings
from .._rvi import Online, check_seal, seal

#: The version of the command's model files.
FORMAT = 3
#: The one before: of its parts the model alone is sealed.
UNSEALED = 2

_NO_SCORES = {
    "rows": 0, "log_loss": 0.0, "squared_error": 0.0, "held": [0, 0, 0], "right": 0, "bins": [], "mean": 0.0,
    "squares": 0.0, "classes": [], "plain_log_loss": 0.0, "plain_squared_error": 0.0, "along": [], "block": 0,
}  # fmt: skip


class Stored:
    """`to_json` and `from_json`, `to_record` and `from_record`."""

    #: The column that the command `rvi` reads the target from.
    _target = "target"

    def to_json(self, path=None):
        """The model as the file that the command ``rvi`` writes: ``rvi predict``, ``update`` and ``inspect`` take it.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it.

        Returns
        -------
        document : str
            The text of the file. Class labels are stored as text.
        """
        model = self._learned()
        state = json.loads(model.state())
        kind = model.kind()
        if kind not in ("Number", "Count", "Two", "Classes"):
            raise ValueError(f"the command rvi has no models of the kind {kind}: use pickle")
        settings = json.loads(model.settings())
        names = settings["names"]
        target = {"Number": "Number", "Count": "Count"}.get(kind)
        if target is None:
            target = {"Classes": [str(label) for label in self.classes_]}
        columns = [
            {"name": name, "function": None, "kind": {"Number": {"mean": float(mean), "tells_missing": False}}}
            for name, mean in zip(names, self._means, strict=True)
        ]
        column = self._target
        while column in names:
            column += "_"
        document = {
            "rvi": FORMAT,
            "target": {"column": column, "kind": target},
            "schema": {
                "columns": columns, "ignored": [], "constant": [], "terms": [],
                "intercept": settings["intercept"], "map": None,
            },
            "passes": [], "unlabelled": 0, "imputed": 0, "unknown": 0, "changed": {}, "scores": _NO_SCORES,
            "noise": list(_settings.NOISE),
            "model": state,
        }  # fmt: skip
        sealed = "," + json.dumps(document, allow_nan=False).removeprefix("{")
        text = '{"seal":' + seal(sealed) + sealed
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    @classmethod
    def from_json(cls, document):
        """An estimator from the text of `to_json` or a file of the command ``rvi`` whose inputs are plain numbers.

        Parameters
        ----------
        document : str or Path
            The text, or the path of a file.

        Returns
        -------
        estimator : object
            Fitted. Labels that were numbers are numbers again.
        """
        found = _opened(_text(document))
        try:
            columns, state = found["schema"]["columns"], found["model"]
            kind, numbers = next(iter(state)), [column["kind"]["Number"] for column in columns]
            plain = found["schema"]["map"] is None and not any(own["tells_missing"] for own in numbers)
            target = found["target"]
        except (KeyError, TypeError, ValueError, StopIteration, AttributeError) as error:
            raise ValueError(f"this is no model of `rvi` with numbers for inputs: {error!r}") from error
        if kind not in cls._kinds:
            raise ValueError(f"a model of the kind {kind} is no {cls.__name__}")
        if not plain:
            raise ValueError("the inputs of this model are not plain numbers")
        model = Online.from_state(json.dumps(state).encode())
        settings = json.loads(model.settings())
        estimator = cls._of(model, cls._parameters(kind, settings))
        estimator.feature_names_in_ = np.asarray(settings["names"], dtype=object)
        if settings["names"] == [f"x{j}" for j in range(model.inputs)]:
            del estimator.feature_names_in_
        estimator._means = np.asarray([own["mean"] for own in numbers], dtype=np.float64)
        estimator._target = target["column"]
        if isinstance(target["kind"], dict):
            estimator.classes_ = _labels(target["kind"]["Classes"])
        return estimator

    def to_record(self):
        """The posterior as a record for ``vi_predict``, ``vi_merge`` and other functions of SQL, and for ``rvi import``.

        A record is one Gaussian in the units of the inputs. The estimator must have a number for ``prior_scale``, ``standardise='never'``, all correlations,
        no forgetting and at most two classes. The record holds no names of inputs or classes.

        Returns
        -------
        record : bytes
            The record.
        """
        try:
            return self._fitted().record()
        except ValueError as error:
            raise ValueError(
                f"{error}; a record needs prior_scale=NUMBER, standardise='never', belief='full' and memory='everything'"
            ) from error

    @classmethod
    def from_record(cls, record, feature_names=None, classes=(0, 1)):
        """An estimator from the record of a posterior, for example one made by SQL.

        Parameters
        ----------
        record : bytes
            A value of ``vi_linear``, ``vi_glm`` or ``vi_merge``, or the output of `to_record` or ``rvi export``.
        feature_names : sequence of str, optional
            Names of the inputs, in the order of the record.
        classes : sequence of two labels, default=(0, 1)
            The two classes of a classifier; the second is label 1.

        Returns
        -------
        estimator : object
            Fitted, with the predictions of ``vi_predict``; it can learn more rows.
        """
        names = [] if feature_names is None else [str(name) for name in feature_names]
        model, (means, numbers) = Online.from_record(bytes(memoryview(record)), names)
        kind = model.kind()
        if kind not in cls._record_kinds:
            raise ValueError(f"a posterior of the kind {kind} cannot be a {cls.__name__}")
        estimator = cls._of(model, cls._parameters(kind, json.loads(model.settings())), *numbers)
        if names:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        estimator._means = np.asarray(means, dtype=np.float64)
        if kind == "Two":
            estimator.classes_ = np.asarray(classes)
            if estimator.classes_.shape != (2,):
                raise ValueError(f"classes must be two labels, not {classes!r}")
        return estimator

    @classmethod
    def _of(cls, model, parameters, *numbers):
        """An estimator of these arguments and numbers of its kind, with a model that has learned."""
        estimator = cls(**parameters, **cls._numbers(*numbers))
        estimator._model = model
        estimator.n_features_in_ = model.inputs
        return estimator

    @staticmethod
    def _numbers(*numbers):
        """The arguments that numbers of a kind are."""
        return {}

    @classmethod
    def _parameters(cls, kind, settings):
        """The arguments that lead to a model's settings."""
        forms = {"Full": "full", "SquareRoot": "square_root", "Diagonal": "diagonal"}
        belief, scale, memory = settings["belief"], settings["prior_scale"], settings["memory"]
        standardise = settings["standardise"]
        if standardise == "Chosen":
            standardise = 50
        elif standardise != "Never":
            name, given = next(iter(standardise.items()))
            standardise = given["rows"] if name == "FirstRows" else (tuple(given["centres"]), tuple(given["scales"]))
        return {
            "belief": forms[belief] if isinstance(belief, str) else next(iter(belief.values()))["rank"],
            "prior_scale": "learned" if scale == "Learned" else next(iter(scale.values())),
            "fit_intercept": settings["intercept"],
            "intercept_scale": settings["intercept_scale"],
            "standardise": "never" if standardise == "Never" else standardise,
            "memory": memory.lower() if isinstance(memory, str) else memory["Fading"],
            "keep_rows": settings["keep_rows"],
            **({} if settings.get("keep_sample", True) else {"keep_sample": False}),
            "start": {"Fitted": "fitted", "OnePass": "one_pass"}[settings["start"]],
        }


def _opened(text):
    """The content of a model file, after its version and its seal are checked."""
    try:
        found = json.loads(text)
        version = found["rvi"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"this is no model of `rvi`: {error!r}") from error
    if version not in (UNSEALED, FORMAT):
        raise ValueError(f"a model of version {version}; this rvi reads versions {UNSEALED} and {FORMAT}")
    sealed = version == FORMAT
    if ("seal" in found) != sealed or (sealed and not text.startswith('{"seal":')):
        raise ValueError("the model is damaged: its seal does not stand first")
    if sealed:
        check_seal(json.dumps(found["seal"]), text.partition("}")[2])
    return found


def _text(document):
    if isinstance(document, bytes):
        return document.decode("utf-8")
    if isinstance(document, Path) or (isinstance(document, str) and not document.lstrip().startswith("{")):
        return Path(document).read_text(encoding="utf-8")
    if isinstance(document, str):
        return document
    raise TypeError(f"a text or a path, not {type(document).__name__}")


def _labels(texts):
    """Labels from their texts: integers, then floats, where all are."""
    for kind in (np.int64, np.float64):
        try:
            labels = np.asarray([kind(text) for text in texts])
        except ValueError:
            continue
        if [str(label) for label in labels] == texts:
            return labels
    return np.asarray(texts)
