"""An estimator for people: one line, a table, a table in HTML."""

from html import escape

import numpy as np


class Shown:
    """`summary` and the HTML that notebooks show."""

    def summary(self, level=0.9):
        """The coefficients with their intervals, the evidence, rows and health, as text.

        Parameters
        ----------
        level : float, default=0.9
            Mass of the intervals.

        Returns
        -------
        text : str
            One line for each coefficient.
        """
        names, values = self.coefficients(level)
        width = max((len(name) for name in names), default=4)
        lines = [self._headline()]
        for title, rows in zip(self._titles(values.shape[0]), values, strict=True):
            lines += [title] if title else []
            lines.append(f"{'':{width}}  {'mean':>11} {'sd':>11} {'lower':>11} {'upper':>11}")
            for name, row in zip(names, rows, strict=True):
                lines.append(f"{name:{width}}  " + " ".join(f"{value:11.4g}" for value in row))
        return "\n".join(lines)

    def _headline(self):
        info = self.info_
        health = "good" if info["healthy"] else "few digits left"
        return (
            f"{type(self).__name__}: {info['observations']} rows, log evidence {info['evidence']:.2f} nats, "
            f"numerical health {health} ({info['digits']:.1f} digits); {info['advice']}."
            + (" Labels came in runs: the rows were learned again in random order." if getattr(self, "reordered_", False) else "")
        )

    def _titles(self, predictors):
        if predictors == 1:
            return [""]
        return [f"class {label} against {self.classes_[0]}" for label in self.classes_[1:]]

    def _repr_html_(self):
        """The coefficients with their 90 % intervals, evidence, rows and health."""
        if not hasattr(self, "_model"):
            return f"<pre>{escape(repr(self))}</pre>"
        names, values = self.coefficients(0.9)
        parts = [f"<p>{escape(self._headline())}</p>"]
        for title, rows in zip(self._titles(values.shape[0]), values, strict=True):
            parts.append("<table><thead><tr><th></th><th>mean</th><th>sd</th><th>5 %</th><th>95 %</th></tr></thead><tbody>")
            if title:
                parts.insert(-1, f"<p>{escape(title)}</p>")
            for name, row in zip(names, rows, strict=True):
                cells = "".join(f"<td>{value:.4g}</td>" for value in np.asarray(row))
                parts.append(f"<tr><th>{escape(name)}</th>{cells}</tr>")
            parts.append("</tbody></table>")
        return "\n".join(parts)

    def _repr_mimebundle_(self, **_options):
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
