"""An estimator for people: one line, a table, a table in HTML."""

from html import escape

import numpy as np

from .. import _settings

#: What the exponential of a weight is, by the kind of model.
RATIOS = {"Two": "odds ratio", "Classes": "odds ratio", "Trials": "odds ratio", "Count": "rate ratio", "Spread": "rate ratio", "LearnedSpread": "rate ratio",
          "ZeroInflated": "rate ratio"}


def _cell(value):
    """A number as it is shown; nothing where there is none."""
    return "" if np.isnan(value) else f"{value:.4g}"


class Summary(str):
    """Text with a form in HTML, which notebooks show.

    Attributes
    ----------
    facts : dict
        What is said of the model as a whole.
    columns : list of str
        The names of the columns.
    tables : dict
        For each predictor its title, and for each coefficient its numbers.
    """

    facts: dict
    columns: list
    tables: dict

    @classmethod
    def of(cls, head, facts, columns, tables, note):
        """A summary from its parts."""
        width = max((len(name) for rows in tables.values() for name in rows), default=4)
        wide = max((len(name) for name in facts), default=0)
        lines = [head, *(f"  {name:{wide}}  {value}" for name, value in facts.items())]
        for title, rows in tables.items():
            lines += [title] if title else []
            lines.append(f"{'':{width}}  " + " ".join(f"{name:>11}" for name in columns))
            lines += [f"{name:{width}}  " + " ".join(f"{_cell(value):>11}" for value in row) for name, row in rows.items()]
        text = cls("\n".join([*lines, note]))
        text.head, text.facts, text.columns, text.tables, text.note = head, facts, columns, tables, note
        return text

    def __reduce__(self):
        return Summary.of, (self.head, self.facts, self.columns, self.tables, self.note)

    def _repr_html_(self):
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in self.facts.items())
        parts = [f"<p>{escape(self.head)}</p><table><tbody>{cells}</tbody></table>"]
        titles = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        for title, rows in self.tables.items():
            parts += [f"<p>{escape(title)}</p>"] if title else []
            parts.append(f"<table><thead><tr><th></th>{titles}</tr></thead><tbody>")
            for name, row in rows.items():
                parts.append(f"<tr><th>{escape(name)}</th>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>")
            parts.append("</tbody></table>")
        return "\n".join([*parts, f"<p>{escape(self.note)}</p>"])


def columns_of(level):
    """The columns of a coefficient: mean, deviation, ends of the interval of mass `level`, sign."""
    tail = 50 * (1 - level)
    return ["mean", "sd", f"{tail:.3g} %", f"{100 - tail:.3g} %", "P(> 0)"]


def holds(level):
    return f"Intervals hold {100 * level:g} % of the posterior."


class InNotebooks:
    """An estimator with a `summary`, which notebooks show."""

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def _repr_html_(self):
        if not self.__sklearn_is_fitted__():
            return f"<pre>{escape(repr(self))}</pre>"
        return self.summary()._repr_html_()

    def _repr_mimebundle_(self, **_options):
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class Shown:
    """The `summary` of a model of rows and coefficients."""

    def summary(self, level=0.9, names=None, X=None, y=None, clusters=None):
        """The model in a table: family, rows, noise, health, and of each coefficient its interval, its sign and, of odds and rates, its ratio.

        Parameters
        ----------
        level : float, default=0.9
            Mass of the intervals.
        names : sequence of str or transformer, optional
            Names of the inputs; of a pipeline the steps before the model, as ``pipeline[:-1]``, which name their output. By default the columns of the
            table that was learned.
        X, y : arrays, optional
            Rows with their labels, for their `score` and, where they are those that were learned, for `robust_errors`.
        clusters : array-like, optional
            The cluster of each row, for `robust_errors`.

        Returns
        -------
        text : Summary
            A `str`, which notebooks show as a table. ``P(> 0)`` is the posterior probability that the coefficient is positive.
        """
        info, kind = self.info_, self._learned().kind()
        own, values = self.coefficients(level)
        inputs = self.n_features_in_
        if names is not None:
            names = names.get_feature_names_out() if hasattr(names, "get_feature_names_out") else names
            names = [str(name) for name in names]
            if len(names) != inputs:
                raise ValueError(f"{len(names)} names for {inputs} inputs")
            own = own[: len(own) - inputs] + names
        facts = {"family": self._family_name(), "rows": info["observations"]}
        of_log = {"log": " of the logarithm", "logit": " of the log odds"}.get(facts["family"].partition("_")[0], "") if kind != "Two" else ""
        told = {
            f"noise, standard deviation{of_log}" if kind == "Number" else f"noise, scale{of_log}": info["noise"],
            "noise, degrees of freedom": info["degrees_of_freedom"],
            "dispersion, size": info["size"],
            "R² (adjusted)": self._explained(info["noise"]),
        }
        facts |= {name: f"{value:.4g}" for name, value in told.items() if value is not None}
        note, robust = holds(level), None
        if X is not None:
            if kind not in ("Classes", "Ordered") and _settings.belief(self.belief, inputs) in ("Full", "SquareRoot"):
                robust = self.robust_errors(X, y, clusters)
            facts[f"{'accuracy' if hasattr(self, 'classes_') else self._score_name()} of the rows given"] = f"{self.score(X, y):.4g}"
        facts["log evidence"] = f"{info['evidence']:.2f} nats"
        columns, ratio = columns_of(level), RATIOS.get(kind)
        if ratio is not None:
            columns += [ratio, *columns[2:4]]
            with np.errstate(over="ignore"):
                values = np.concatenate([values, np.exp(values[..., [0, 2, 3]])], axis=-1)
        if robust is not None:
            columns, ratios = [*columns, "robust sd"], robust / values[0, :, 1]
            values = np.concatenate([values, robust[None, :, None]], axis=-1)
            if (differ := int(np.sum((ratios > 4 / 3) | (ratios < 3 / 4)))) > 0:
                note += f" Of {differ} the robust error differs by more than a third: their intervals are wrong by as much."
        titles = [""] if len(values) == 1 else [f"class {label} against {self.classes_[0]}" for label in self.classes_[1:]]
        tables = {title: dict(zip(own, rows, strict=True)) for title, rows in zip(titles, values, strict=True)}
        return Summary.of(self._headline(info), facts, columns, tables, note)

    def _headline(self, info):
        health = "good" if info["healthy"] else "few digits left"
        return (
            f"{type(self).__name__}: {info['observations']} rows, numerical health {health} ({info['digits']:.1f} digits); {info['advice']}."
            + (" Labels came in runs: the rows were learned again in random order." if getattr(self, "reordered_", False) else "")
        )

    def _explained(self, noise):
        """The share of the variance of a number that the inputs explain, where its labels are known."""
        count, _, squares = getattr(self, "_moments", None) or (0, 0.0, 0.0)
        return 1.0 - noise**2 * (count - 1) / squares if count > 1 and squares > 0.0 and noise is not None else None
