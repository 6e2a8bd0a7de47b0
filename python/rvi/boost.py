"""The posterior of any log-density, in one call, as a mixture of Gaussians."""

import numpy as np

from . import _rvi
from ._arviz import inference_data
from ._parameters import blocks, by_name, named
from .density import Density
from .sklearn import _rows

__all__ = ["Posterior", "fit"]


def fit(
    logp,
    grad=None,
    dim=None,
    *,
    parameters=None,
    value_and_grad=None,
    batch=None,
    components=6,
    starts=8,
    draws=4000,
    rounds=1,
    evaluations=None,
    random_state=0,
):
    """The posterior of a log-density as a mixture of Gaussians: modes, the best Gaussian, boosting, a diagnosis.

    Scale the coordinates so that typical values lie between about 1 and a few hundred in size. Costs some 10⁵ evaluations in ten
    dimensions; with a gradient some 20 times fewer calls.

    Parameters
    ----------
    logp : callable or Density
        The log-density up to a constant, of a point (``dim`` numbers, to a float) or of points ``(n, dim)`` to ``n`` numbers. May
        return anything that NumPy converts to an array (as JAX does). ``-inf`` is a density of zero. Or a model of `rvi.density`, which
        has gradient, names and constraints of its own.
    grad : callable, optional
        Its gradient, for one point or many as `logp` (default: central differences).
    dim : int, optional
        Number of coordinates; needed without `parameters`.
    parameters : dict, optional
        Names and constraints of what `logp` takes, in that order: 'real', 'positive', 'unit', 'ordered', 'simplex', ``(low, high)``, or a
        pair ``(constraint, size)`` for several numbers. The mixture is then one of free coordinates; draws are constrained and have names.
    value_and_grad : callable, optional
        Value and gradient together, instead of `grad`, for example ``jax.value_and_grad(logp)``.
    batch : bool, optional
        Whether the callables take many points (default: tested by calling `logp` with three points).
    components : int, default=6
        Most components, at least 2.
    starts : int, default=8
        Starting points of the search for modes.
    draws : int, default=4000
        Draws of the diagnosis, at least 100.
    rounds : int, default=1
        Most further rounds of boosting, each with twice the components and points, while the diagnosis is not good.
    evaluations : int, optional
        Number of points at which the density is evaluated beyond which no further search begins (default: no limit).
    random_state : int, RandomState instance or None, default=0
        Seed of all random numbers; the same seed gives the same posterior.

    Returns
    -------
    posterior : Posterior
        The mixture and its diagnosis. Exceptions of `logp` are raised here.

    Examples
    --------
    >>> import numpy as np
    >>> from rvi import boost
    >>> def two_modes(x):
    ...     return np.logaddexp(-0.5 * np.sum((x - 3) ** 2, axis=-1), -0.5 * np.sum((x + 3) ** 2, axis=-1))
    >>> posterior = boost.fit(two_modes, dim=1)
    >>> posterior.verdict, posterior.sample(1000).shape
    ('good', (1000, 1))
    >>> bool(abs(posterior.logpdf([[3.0]])[0] - np.log(0.5 / np.sqrt(2 * np.pi))) < 0.05)
    True
    >>> waiting = boost.fit(lambda x: 2 * np.log(x[0]) - 3 * x[0], parameters={"rate": "positive"})
    >>> bool(np.all(waiting.draws(1000)["rate"] > 0)), waiting.names
    (True, ['rate'])
    """
    parts = places = None
    if isinstance(logp, Density):
        if not (grad is dim is parameters is value_and_grad is batch is None):
            raise TypeError("a Density has its own gradient, dim, parameters and batches")
        logp, value_and_grad, dim, batch, places = logp.value, logp.value_and_grad, logp.dim, True, logp.parameters
    if parameters is not None:
        parts, places = blocks(parameters)
        own = max((place.stop for place in places.values()), default=0)
        if dim is not None and int(dim) != own:
            raise ValueError(f"dim = {dim}, but parameters have {own} numbers")
        dim = own
    if dim is None:
        raise TypeError("fit needs dim, the number of coordinates, or parameters")
    if grad is not None and value_and_grad is not None:
        raise TypeError("give either grad or value_and_grad, not both")
    dim, seed = int(dim), _rows.seed(random_state)
    if dim < 1:
        raise ValueError(f"dim = {dim} must be at least 1")
    if int(components) < 2:
        raise ValueError(f"components = {components} must be at least 2: boosting adds to the best Gaussian")
    if batch is None:
        batch = _takes_many(logp, dim, parts)
    values = _values(logp, batch)
    both = None
    if value_and_grad is not None:
        both = _both(value_and_grad, batch)
    elif grad is not None:
        both = _both(lambda points: (logp(points), grad(points)), batch)
    limit = None if evaluations is None else int(evaluations)
    mixture, told = _rvi.fit(values, both, dim, int(components), int(draws), int(starts), int(rounds), limit, seed, parts)
    return Posterior(mixture, told, None if places is None else (parts, places), values)


def _takes_many(logp, dim, parts):
    """Whether `logp` gives each of several points its value alone."""
    points = np.random.default_rng(0).normal(size=(3, dim))
    if parts is not None:
        free = sum(size - (kind == "simplex") for _, kind, size, _, _ in parts)
        points, _ = _rvi.constrain(parts, _rows.contiguous(points[:, :free]))
    try:
        together = np.asarray(logp(points.copy()), dtype=np.float64)
        alone = [float(np.asarray(logp(point.copy()), dtype=np.float64).reshape(())) for point in points]
    except Exception:
        # Not a function of many points, or broken: then a call with one point says so.
        return _only_many(logp, points)
    # The same to single precision: a batch may sum in another order.
    return together.shape == (3,) and bool(np.allclose(together, alone, rtol=1e-4, atol=1e-4, equal_nan=True))


def _only_many(logp, points):
    try:
        return np.asarray(logp(points.copy()), dtype=np.float64).shape == (3,)
    except Exception:
        return False


def _values(logp, batch):
    def many(points):
        return _rows.contiguous(np.atleast_1d(logp(points)))

    def each(points):
        return np.array([_number(logp(point)) for point in points], dtype=np.float64)

    return many if batch else each


def _number(value):
    array = np.asarray(value, dtype=np.float64)
    if array.size != 1:
        raise ValueError(f"logp must return a number for a point, not an array of shape {array.shape}")
    return float(array.reshape(()))


def _both(call, batch):
    def many(points):
        values, gradients = call(points)
        return _rows.contiguous(np.atleast_1d(values)), _rows.contiguous(gradients)

    def each(points):
        values, gradients = np.empty(len(points)), np.empty(points.shape)
        for i, point in enumerate(points):
            value, gradient = call(point)
            values[i], gradients[i] = _number(value), np.asarray(gradient, dtype=np.float64)
        return values, gradients

    return many if batch else each


class Posterior:
    """A mixture of Gaussians, and its distance to the target density.

    Attributes
    ----------
    kl : float
        Divergence from the mixture to the target, in nats, estimated from fresh draws.
    verdict : str
        'good' (at most 0.03 nats; good for what was searched), 'near' (the same, but right only near what was found: modes were met
        seldom, or there is mass far outside), 'fair' (0.3) or 'poor'. ``info["says"]`` is the verdict in words.
    log_evidence : float
        An estimate of the log of the target's integral.
    info : dict
        The whole diagnosis; ``unseen`` is the estimated probability that a further start meets a new mode, ``phases`` the
        evaluations with and without gradient by what they were spent on.
    weights, means, covariances : ndarray of shape (K,), (K, dim), (K, dim, dim)
        The components.
    mean, covariance : ndarray of shape (dim,), (dim, dim)
        Of the mixture.
    names : list of str
        One for each number of a draw.

    With `parameters`, or of a `Density`, the mixture is one of free coordinates (logarithms of positive numbers): `weights` to
    `covariance`, `dim` and `logpdf` are theirs, while draws are on the scale of the parameters. A pickled posterior has no target, and so
    no importance weights; with a `Density` it can be pickled if that can.
    """

    def __init__(self, mixture, info, parameters=None, values=None):
        self._mixture, self.info, self._parameters, self._values = mixture, dict(info), parameters, values

    def __getstate__(self):
        return {**self.__dict__, "_values": None}

    def _by_name(self, free):
        if self._parameters is None:
            return {"x": free}
        parts, places = self._parameters
        return places(free) if parts is None else by_name(_rvi.constrain(parts, free)[0], places)

    def _free(self, n, random_state, resampled):
        seed = _rows.seed(random_state)
        if not resampled:
            return self._mixture.sample(int(n), seed)
        free = self._mixture.sample(4 * int(n), seed)
        weights, rng = np.exp(self._log_weights(free)[0]), np.random.default_rng(seed)
        # Systematic: each draw as often as its weight requires, give or take one.
        places = np.cumsum(weights) / np.sum(weights)
        chosen = np.searchsorted(places[:-1], (np.arange(int(n)) + rng.random()) / int(n))
        return free[rng.permutation(chosen)]

    def _log_weights(self, free):
        if self._values is None:
            raise ValueError("a posterior that was pickled has no target: fit again")
        parts = None if self._parameters is None else self._parameters[0]
        return _rvi.importance(self._mixture, self._values, parts, free)

    @property
    def names(self):
        """One name for each number of a draw."""
        if self._parameters is None:
            return [f"x[{j}]" for j in range(1, self.dim + 1)]
        return named(self._by_name(np.zeros((1, self.dim))))[1]

    @property
    def kl(self):
        """Divergence to the target, in nats."""
        return self.info["kl"]

    @property
    def verdict(self):
        """'good', 'near', 'fair' or 'poor'."""
        return self.info["verdict"]

    @property
    def log_evidence(self):
        """An estimate of the log of the target's integral."""
        return self.info["log_evidence"]

    @property
    def dim(self):
        """Number of coordinates."""
        return self._mixture.dim

    @property
    def weights(self):
        """The components' weights."""
        return self._mixture.weights()

    @property
    def means(self):
        """The components' means."""
        return self._mixture.means()

    @property
    def covariances(self):
        """The components' covariances."""
        return self._mixture.covariances()

    @property
    def mean(self):
        """The mean."""
        return self._mixture.mean()

    @property
    def covariance(self):
        """The covariance."""
        return self._mixture.covariance()

    def sample(self, n=1, random_state=0, *, resampled=False):
        """Draws, of shape (n, dim), or of one column for each number of the parameters.

        Parameters
        ----------
        n : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.
        resampled : bool, default=False
            Whether ``4 n`` draws are drawn again by their importance weights. Worth it for the verdict 'fair' where ``info["k_hat"]``
            is below 0.7; for 'good' weights only add noise.
        """
        free = self._free(n, random_state, resampled)
        return free if self._parameters is None else named(self._by_name(free))[0]

    def draws(self, n=1000, random_state=0, *, resampled=False):
        """Draws by name: an array whose first axis is the draws'; ``x`` without `parameters`.

        Parameters
        ----------
        n : int, default=1000
            Number of draws.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.
        resampled : bool, default=False
            As of `sample`.
        """
        return self._by_name(self._free(n, random_state, resampled))

    def weighted(self, n=4000, random_state=0):
        """Draws of the mixture by name with their importance weights, which sum to 1.

        The weights ``target / mixture`` are Pareto-smoothed (Vehtari, Simpson, Gelman, Yao and Gabry 2024).

        Parameters
        ----------
        n : int, default=4000
            Number of draws; the weights of fewer than 25 are not smoothed.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        Returns
        -------
        draws, weights, k_hat : dict, ndarray of shape (n,), float
            Averages are to be relied on if `k_hat` is below 0.7.
        """
        free = self._free(n, random_state, False)
        log_weights, k_hat = self._log_weights(free)
        return self._by_name(free), np.exp(log_weights), k_hat

    def logpdf(self, x):
        """Log-density of the mixture, in nats, of shape (n,).

        Parameters
        ----------
        x : array-like of shape (n, dim)
            Points.
        """
        points = _rows.contiguous(np.atleast_2d(x))
        return self._mixture.log_density(points)

    def to_arviz(self, n=1000, random_state=0, *, chains=4, resampled=False):
        """Independent draws for ArviZ, of the parameters by name or of the variable ``x``.

        Parameters
        ----------
        n : int, default=1000
            Number of draws in each chain.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.
        chains : int, default=4
            Number of chains.
        resampled : bool, default=False
            As of `sample`.
        """
        if int(n) < 1 or int(chains) < 1:
            raise ValueError(f"n = {n} and chains = {chains} must be at least 1")
        drawn = self.draws(int(n) * int(chains), random_state, resampled=resampled)
        return inference_data({"posterior": drawn}, int(chains))

    def __repr__(self):
        parts = len(self.weights)
        return f"Posterior(dim={self.dim}, components={parts}, kl={self.kl:.3g} nats, verdict={self.verdict!r})"
