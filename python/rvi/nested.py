"""Latent Gaussian models: values that are Gaussian given a few hyper-parameters, seen through simple likelihoods."""

import numpy as np

from . import _rvi
from ._arviz import inference_data
from ._parameters import blocks, by_name
from .sklearn import _rows

__all__ = ["LatentPosterior", "independent", "latent", "squared_exponential"]

# The name of a likelihood's second number.
_SCALES = {"gaussian": "noise", "student_t": "noise", "negative_binomial": "size"}
_LIKELIHOODS = ("bernoulli", "gaussian", "negative_binomial", "poisson", "probit", "student_t")


def latent(
    y,
    likelihood,
    parameters,
    log_prior,
    *,
    covariance=None,
    precision=None,
    mean=None,
    design=None,
    offset=None,
    noise=None,
    size=None,
    dof=4.0,
    inner="ep",
    nodes=768,
    draws=4000,
    starts=3,
    random_state=0,
):
    """The posterior of a latent Gaussian model: hyper-parameters ψ ~ p(ψ), values f | ψ ~ N(m, K), labels y_i ~ p(y_i | η_i, ψ).

    ``η = offset + design @ f``. The values are integrated by expectation propagation for each ψ, and the few hyper-parameters by
    weighted nodes (as INLA does): some 800 integrations, each a few factors of a matrix of all values.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    likelihood : {'gaussian', 'student_t', 'bernoulli', 'probit', 'poisson', 'negative_binomial'}
        'bernoulli' has the logit link, counts the log link.
    parameters : dict
        Hyper-parameters: to each name its constraint, 'real', 'positive', 'unit', 'ordered', 'simplex', ``(low, high)``, or a pair
        ``(constraint, size)`` for several numbers.
    log_prior : callable
        The log prior density, of a dict of hyper-parameters on their own scale.
    covariance, precision : callable
        One of both, of a dict of hyper-parameters: an array of shape (N, N), of which the lower triangle counts, or (N,) for the
        variances of independent values, which is fastest. `squared_exponential` and `independent` make such callables.
    mean : callable or array-like of shape (N,), optional
        The prior mean of the values (default: 0).
    design : array-like or sparse matrix of shape (n, N), optional
        From values to predictors (default: one label for each value).
    offset : array-like of shape (n,), optional
        A known part of the predictors, such as the logarithm of an exposure.
    noise : float, array-like of shape (n,) or str
        For 'gaussian' and 'student_t': standard deviation of the noise, or scale; a number, one for each label, or the name of a
        hyper-parameter.
    size : float, array-like of shape (n,) or str
        For 'negative_binomial': variances are ``m + m² / size``.
    dof : float, default=4.0
        Degrees of freedom of 'student_t'.
    inner : {'ep', 'laplace'}, default='ep'
        Expectation propagation, or Laplace's method.
    nodes : int, default=768
        Number of nodes, from 16 on.
    draws : int, default=4000
        Number of joint draws.
    starts : int, default=3
        Starting points of the search for modes of the hyper-parameters.
    random_state : int, RandomState instance or None, default=0
        Seed of all random numbers; the same seed gives the same posterior.

    Returns
    -------
    posterior : LatentPosterior
        Draws, nodes and a diagnosis. Exceptions of the callables are raised here.

    Examples
    --------
    Eight schools: the mean effect and the deviations of the schools are latent.

    >>> import numpy as np
    >>> import rvi
    >>> from rvi.nested import independent
    >>> effects, errors = [28, 8, -3, 7, -1, 1, 18, 12], [15, 10, 16, 11, 9, 11, 10, 18]
    >>> posterior = rvi.latent(
    ...     effects, "gaussian", {"tau": "positive"}, lambda h: -np.log1p((h["tau"] / 5) ** 2), noise=errors,
    ...     covariance=independent((1, 5.0), (8, "tau")), design=np.column_stack([np.ones(8), np.eye(8)]))
    >>> posterior.verdict, posterior.draws()["f"].shape
    ('good', (4000, 9))
    >>> bool(4.2 < posterior.mean[0] < 4.7)
    True
    """
    if likelihood not in _LIKELIHOODS:
        raise ValueError(f"likelihood = {likelihood!r} must be one of {', '.join(_LIKELIHOODS)}")
    if (covariance is None) == (precision is None):
        raise TypeError("latent needs either covariance or precision")
    if inner not in ("ep", "laplace"):
        raise ValueError(f"inner = {inner!r} must be 'ep' or 'laplace'")
    labels = _rows.contiguous(np.ravel(y))
    parts, named = blocks(parameters)
    scale = _scale(likelihood, {"noise": noise, "size": size}, len(labels), named)
    dim = len(labels)
    if design is not None:
        design = design if hasattr(design, "tocsr") else _rows.contiguous(np.atleast_2d(design))
        dim, design = design.shape[1], _rows.rows(design)
    spread = covariance if precision is None else precision

    def field(values):
        hyper = _as_dict(values, named)
        found = _rows.contiguous(spread(hyper))
        centre = mean(hyper) if callable(mean) else mean
        centre = np.zeros(len(found)) if centre is None else np.asarray(centre, dtype=np.float64)
        return _rows.contiguous(np.ravel(centre)), found

    def prior(values):
        return float(log_prior(_as_dict(values, named)))

    told = _rvi.latent(
        labels, likelihood, scale, float(dof), parts, prior, field, dim, precision is not None, design,
        _rows.numbers("offset", offset, len(labels)), inner == "laplace", (int(nodes), int(draws), int(starts)),
        _rows.seed(random_state),
    )  # fmt: skip
    return LatentPosterior(told, named)


def _scale(likelihood, given, n, named):
    """The second number of a likelihood: numbers and a position, of which one counts; None if it has none."""
    own = _SCALES.get(likelihood)
    for name, value in given.items():
        if value is not None and name != own:
            raise TypeError(f"likelihood {likelihood!r} takes no {name}")
    if own is None:
        return None
    value = given[own]
    if value is None:
        raise TypeError(f"likelihood {likelihood!r} needs {own}")
    if isinstance(value, str):
        if value not in named:
            raise ValueError(f"{own} = {value!r} names no hyper-parameter")
        return None, named[value].start
    return _rows.numbers(own, value, n, positive=True), 0


def _as_dict(values, named):
    """Hyper-parameters by name: a number for one, an array for several."""
    return {name: float(values[own][0]) if own.stop - own.start == 1 else values[own] for name, own in named.items()}


def squared_exponential(x, amplitude="amplitude", length="length", *, jitter=0.0):
    """The covariance ``a²·exp(−|x − x'|² / 2l²)`` of a Gaussian process, as a callable for `latent`.

    Parameters
    ----------
    x : array-like of shape (N,) or (N, k)
        Coordinates.
    amplitude, length : str
        The names of the hyper-parameters `a` and `l`; a `length` of k numbers is one for each coordinate.
    jitter : float, default=0.0
        A variance added to each value as part of the model, without which a smooth process at many points has no factor.

    Examples
    --------
    >>> from rvi.nested import squared_exponential
    >>> squared_exponential([0.0, 1.0])({"amplitude": 2.0, "length": 1.0}).round(3)
    array([[4.   , 2.426],
           [2.426, 4.   ]])
    """
    x = np.asarray(x, dtype=np.float64)
    x = x[:, None] if x.ndim == 1 else x
    between = x[:, None, :] - x[None, :, :]

    def covariance(hyper):
        away = np.sum((between / hyper[length]) ** 2, axis=-1)
        return hyper[amplitude] ** 2 * np.exp(-0.5 * away) + jitter * np.eye(len(x))

    return covariance


def independent(*groups):
    """The variances of independent values in groups of one standard deviation each, as a callable for `latent`.

    Parameters
    ----------
    *groups : (int, float or str)
        The number of values, and their standard deviation: a number, or the name of a hyper-parameter.

    Examples
    --------
    >>> from rvi.nested import independent
    >>> independent((1, 10.0), (3, "tau"))({"tau": 2.0})
    array([100.,   4.,   4.,   4.])
    """
    return lambda hyper: np.concatenate(
        [np.full(count, (hyper[sd] if isinstance(sd, str) else float(sd)) ** 2) for count, sd in groups]
    )


class LatentPosterior:
    """The posterior of a latent Gaussian model.

    Attributes
    ----------
    verdict : str
        'good', 'near', 'fair' or 'poor', as of `rvi.boost.Posterior`; ``info["says"]`` is it in words.
    log_evidence : float
        The log evidence of the model, if the prior density is normalised.
    mean, sd : ndarray of shape (N,)
        Of the latent values.
    nodes : dict
        ``hyper`` (S, p), ``weights`` (S,), and the ``means`` and ``variances`` (S, N) of the latent values at each: the posterior of a
        value is a mixture of one Gaussian from each node.
    info : dict
        Diagnosis and work: ``evaluations`` integrations, ``sweeps`` in them, ``differences`` for gradients, ``refused`` points at which
        the model failed, with the first ``refusal``.
    """

    def __init__(self, told, named):
        told = dict(told)
        self._draws, self._named = told.pop("draws"), named
        self.nodes = {key: told.pop(key) for key in ("hyper", "weights", "means", "variances")}
        self.names, self.info = told.pop("names"), told

    @property
    def verdict(self):
        """'good', 'near', 'fair' or 'poor'."""
        return self.info["verdict"]

    @property
    def log_evidence(self):
        """The log evidence of the model."""
        return self.info["log_evidence"]

    @property
    def mean(self):
        """The means of the latent values."""
        return self.nodes["weights"] @ self.nodes["means"]

    @property
    def sd(self):
        """The standard deviations of the latent values."""
        weights, means = self.nodes["weights"], self.nodes["means"]
        return np.sqrt(weights @ (self.nodes["variances"] + (means - self.mean) ** 2))

    def draws(self):
        """Joint draws: to the name of each hyper-parameter, and to ``f``, an array whose first axis is the draws'."""
        return {**by_name(self._draws, self._named), "f": self._draws[:, self._draws.shape[1] - self.nodes["means"].shape[1] :]}

    def to_arviz(self, *, chains=4):
        """The draws for ArviZ.

        Parameters
        ----------
        chains : int, default=4
            Number of chains that the draws are dealt out to.
        """
        if not 1 <= int(chains) <= len(self._draws):
            raise ValueError(f"chains = {chains} must be at least 1 and at most the number of draws")
        kept = len(self._draws) // int(chains) * int(chains)
        return inference_data({"posterior": {name: values[:kept] for name, values in self.draws().items()}}, int(chains))

    def __repr__(self):
        p, n = len(self.names) - self.nodes["means"].shape[1], self.nodes["means"].shape[1]
        return f"LatentPosterior(hyper={p}, latent={n}, nodes={len(self.nodes['weights'])}, verdict={self.verdict!r})"
