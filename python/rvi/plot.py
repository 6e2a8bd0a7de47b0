"""Pictures: coefficients with their intervals, calibration, scores along a stream. Needs matplotlib."""

import numpy as np

from .sklearn import _rows

__all__ = ["plot_coefficients", "plot_prequential", "plot_reliability", "prequential"]


def _axes(ax):
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("pictures need the package matplotlib: pip install 'rvi[plot]'") from error
    return pyplot.subplots()[1]


def plot_coefficients(estimator, level=0.9, ax=None, unit="deviation"):
    """The coefficients of a fitted estimator with their central intervals.

    Parameters
    ----------
    estimator : fitted estimator
        One of those with `coefficients`.
    level : float, default=0.9
        Mass of the intervals.
    ax : matplotlib.axes.Axes, optional
        Where to draw.
    unit : 'deviation' or 'input', default='deviation'
        Coefficients of an input that is larger by one of its deviations over the first rows (one of two values: by half their distance), so that they can be
        compared; or by 1, with the intercept. Where inputs are used as they are, only the latter is known.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With more than two classes one series for each class but the first.
    """
    if unit not in ("deviation", "input"):
        raise ValueError(f"unit must be 'deviation' or 'input', not {unit!r}")
    ax = _axes(ax)
    names, values = estimator.coefficients(level)
    scales = estimator._input_scales() if unit == "deviation" and hasattr(estimator, "_input_scales") else None
    if scales is not None:
        first = len(names) - len(scales)
        names, values = names[first:], np.asarray(values)[:, first:] * np.asarray(scales)[:, None]
    places = np.arange(len(names), dtype=float)
    for series, rows in enumerate(values):
        at = places + 0.8 * ((series + 0.5) / len(values) - 0.5)
        mean, lower, upper = rows[:, 0], rows[:, 2], rows[:, 3]
        label = str(estimator.classes_[series + 1]) if len(values) > 1 else None
        ax.errorbar(mean, at, xerr=[mean - lower, upper - mean], fmt="o", capsize=2, label=label)
    ax.axvline(0.0, color="0.7", linewidth=0.8, zorder=0)
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    of = "coefficient of one deviation" if scales is not None else "coefficient"
    ax.set_xlabel(f"{of}, {100 * level:g} % interval")
    if len(values) > 1:
        ax.legend(title=f"against {estimator.classes_[0]}")
    return ax


def plot_reliability(y, probability, bins=10, level=0.9, ax=None):
    """Observed frequency by predicted probability.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Outcomes, 0 or 1.
    probability : array-like of shape (n_rows,)
        Predicted probabilities of 1.
    bins : int, default=10
        Number of groups of equal size.
    level : float, default=0.9
        Mass of the interval of each frequency (Wilson).
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib.axes.Axes
        Points on the diagonal are calibrated.
    """
    y, probability = np.asarray(y, dtype=np.float64), np.asarray(probability, dtype=np.float64)
    if y.shape != probability.shape or y.ndim != 1 or len(y) == 0:
        raise ValueError(f"labels of shape {y.shape} and probabilities of shape {probability.shape}")
    if not np.isin(y, (0.0, 1.0)).all():
        raise ValueError("labels must be 0 or 1")
    if not ((probability >= 0) & (probability <= 1)).all():
        raise ValueError("probabilities must be between 0 and 1")
    from scipy.stats import norm

    ax, z = _axes(ax), norm.ppf(0.5 + 0.5 * _rows.level(level))
    said, seen, half = [], [], []
    for group in np.array_split(np.argsort(probability, kind="stable"), min(int(bins), len(y))):
        n, share = len(group), y[group].mean()
        centre = (share + z * z / (2 * n)) / (1 + z * z / n)
        width = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        said.append(probability[group].mean())
        seen.append(share)
        half.append((share - (centre - width), centre + width - share))
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=0.8, zorder=0)
    ax.errorbar(said, seen, yerr=np.maximum(np.transpose(half), 0.0), fmt="o", capsize=2)
    ax.set(xlabel="predicted probability", ylabel="observed frequency", xlim=(0, 1), ylim=(0, 1))
    return ax


def prequential(estimator, X, y, classes=None, block=1):
    """Log score of every row before it is learned, in nats; the estimator learns the rows.

    Parameters
    ----------
    estimator : estimator
        With `partial_fit`; a classifier, or a regressor with `log_density`.
    X, y : arrays
        Rows and labels in their order.
    classes : array-like, optional
        All labels, for a classifier (default: those of `y`).
    block : int, default=1
        Rows in a block, predicted before any of them is learned.

    Returns
    -------
    scores : ndarray of shape (n_rows,)
        Log predictive densities; NaN for the rows before the first fit.
    """
    from sklearn.base import is_classifier
    from sklearn.utils import check_consistent_length, column_or_1d

    y = column_or_1d(y)
    check_consistent_length(X, y)
    scores = np.full(len(y), np.nan)
    classifies = is_classifier(estimator)
    labels = np.unique(y if classes is None else classes)
    if classifies and estimator.__sklearn_is_fitted__():
        if classes is not None and not np.array_equal(labels, estimator.classes_):
            raise ValueError(f"the estimator has the classes {estimator.classes_.tolist()}, not {labels.tolist()}")
        labels = estimator.classes_
    if classifies and not np.isin(y, labels).all():
        raise ValueError(f"labels {np.setdiff1d(y, labels).tolist()} are none of the classes {labels.tolist()}")
    more = {"classes": labels} if classifies else {}
    for first in range(0, len(y), int(block)):
        rows, own = X[first : first + int(block)], y[first : first + int(block)]
        if estimator.__sklearn_is_fitted__():
            if classifies:
                said = estimator.predict_proba(rows)[np.arange(len(own)), np.searchsorted(labels, own)]
                with np.errstate(divide="ignore"):
                    scores[first : first + int(block)] = np.log(said)
            else:
                scores[first : first + int(block)] = estimator.log_density(rows, own)
        estimator.partial_fit(rows, own, **more)
    return scores


def plot_prequential(scores, ax=None, label=None):
    """Running mean of the log loss along a stream.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        From `prequential`.
    ax : matplotlib.axes.Axes, optional
        Where to draw.
    label : str, optional
        Name of the curve.

    Returns
    -------
    ax : matplotlib.axes.Axes
        Lower is better.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1:
        raise ValueError(f"scores must be one for each row, not of shape {scores.shape}")
    known = np.flatnonzero(~np.isnan(scores))
    if len(known) == 0:
        raise ValueError("no row has a score")
    ax = _axes(ax)
    ax.plot(known + 1, -np.cumsum(scores[known]) / np.arange(1, len(known) + 1), label=label)
    ax.set(xlabel="rows", ylabel="running mean log loss, nats")
    if label is not None:
        ax.legend()
    return ax
