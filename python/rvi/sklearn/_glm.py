"""Generalised linear models: counts, successes among trials, 0 and 1."""

import numpy as np
from sklearn.metrics import mean_poisson_deviance, r2_score

from .. import _settings
from . import _rows
from ._online import atomic
from ._regression import OnlineRegressor

#: The kind of model of each family, and what an observation of it has beside label, offset and weight.
FAMILIES = {
    "gaussian": ("Number", None),
    "robust": ("Robust", None),
    "log_normal": ("LogNumber", None),
    "log_robust": ("LogRobust", None),
    "varying": ("Varying", None),
    "log_varying": ("LogVarying", None),
    "logit_normal": ("LogitNumber", None),
    "logit_robust": ("LogitRobust", None),
    "logit_varying": ("LogitVarying", None),
    "poisson": ("Count", "exposure"),
    "binomial": ("Trials", "trials"),
    "negative_binomial": ("LearnedSpread", "exposure"),
    "zero_inflated": ("ZeroInflated", "exposure"),
    "probit": ("Probit", None),
    "logit": ("Two", None),
}

#: Families that the first rows choose among, the plain one first.
CHOICES = {
    "auto": (
        "gaussian", "log_normal", "logit_normal", "robust", "varying", "logit_varying", "poisson", "negative_binomial", "zero_inflated",
    ),
    "count": ("poisson", "negative_binomial", "zero_inflated"),
}


class BayesianGLMRegressor(OnlineRegressor):
    """Generalised linear regression in one pass: the mean of the label is a function of a linear predictor.

    ===================== ======================================== =============================
    family                labels                                   predictor
    ===================== ======================================== =============================
    'gaussian'            numbers, unknown noise                   mean
    'robust'              numbers with outliers or heavy tails     mean
    'log_normal'          positive numbers, skewed                 log of the median
    'log_robust'          the same with heavy tails                log of the median
    'varying'             a spread that follows the inputs, tails  mean
    'log_varying'         the same for positive numbers            log of the median
    'logit_normal'        fractions, between 0 and 1               log odds of the median
    'logit_robust'        the same with heavy tails                log odds of the median
    'logit_varying'       'varying' for fractions                  log odds of the median
    'auto'                numbers: 'gaussian', 'log_normal',
                          'robust' or 'varying'; of fractions
                          also 'logit_normal', 'logit_varying';
                          of what may be counts those of 'count'
    'poisson'             counts, ``exposure``                     log of mean over exposure
    'negative_binomial'   counts that vary more, ``exposure``      log of mean over exposure
    'zero_inflated'       the same with excess zeros, ``exposure`` log of mean of the others
    'count'               counts: of these three the best
    'binomial'            successes among ``trials``               log odds
    'logit', 'probit'     0 and 1                                  log odds; normal quantile
    ===================== ======================================== =============================

    Numbers may be counts where all are whole, none is negative, two in a hundred are 0, and they vary at least as Poisson counts of their mean.
    The best family is the one of the highest evidence on the first rows (at most 1000) of the first fit. Degrees of freedom and scale of the
    Student-t noise of 'robust' are learned, and with 'varying' the logarithm of its scale has a regression of its own. With 'zero_inflated' a share of the labels is 0 whatever the inputs, learned with the size.

    Parameters
    ----------
    family : str, default='gaussian'
        As above.
    dispersion : float or None, default=None
        Size of a negative binomial, ``variance = mean + mean²/size``; learned by default.
    prior_scale : 'learned', float or sequence of float, default='learned'
        Prior standard deviation of the weights of standardised inputs.
    fit_intercept : bool, default=True
        Fit an intercept.
    intercept_scale : float or None, default=None
        Prior standard deviation of the intercept; 5 by default, 1000 noises for numbers.
    standardise : int, 'never' or (centres, scales), default=50
        Number of first rows that set the scales of the inputs; 'never' for no scales; or given scales.
    memory : 'everything', 'learned' or float, default='everything'
        Forgetting: 'everything' is remembered; 'learned' follows the drift; a number is the factor on a row's weight for every later row.
    belief : 'auto', 'full', 'square_root', 'diagonal' or int, default='auto'
        Form of the posterior; an integer is the rank of a factor.
    keep_rows : bool, default=False
        Keep the rows, for `refine` and `diagnose`.
    keep_sample : bool, default=True
        Keep a sample of the rows (at most 256, 1 MiB) in the model, to detect a harmful order of the rows; see ``info_["order"]``.
    reorder : bool, default=True
        If the labels come in runs (for example sorted), let `fit` learn the rows again in random order, because one pass in such an
        order misleads. Never with forgetting or in `partial_fit`.
    start : 'fitted' or 'one_pass', default='fitted'
        Fit the first rows together, or learn them one by one.
    column_order : 'strict' or 'by_name', default='strict'
        Require the columns of a table in the order of the fit, or match them by name.

    Attributes
    ----------
    coef_, coef_std_ : ndarray of shape (n_features,)
        Posterior means and standard deviations of the weights, in the units of the inputs.
    intercept_, intercept_std_ : float
        The same for the intercept.
    covariance_ : ndarray of shape (n_features, n_features)
        Posterior covariance of the weights.
    evidence_ : float
        Log evidence, in nats.
    info_ : dict
        Rows, evidence, prior scales, digits left, advice.
    family_ : str
        The family, of 'auto' and 'count' the one that was chosen.
    behind_ : dict
        Of 'auto' and 'count', by how many nats each family that the labels allow was behind on the first rows.
    reordered_ : bool
        True if `fit` learned the rows again in random order.

    Examples
    --------
    >>> import numpy as np
    >>> from rvi.sklearn import BayesianGLMRegressor
    >>> rng = np.random.default_rng(1)
    >>> X, hours = rng.normal(size=(400, 2)), rng.uniform(1.0, 3.0, 400)
    >>> y = rng.poisson(hours * np.exp(0.5 + X @ [0.8, -0.4]))
    >>> model = BayesianGLMRegressor(family="poisson").fit(X, y, exposure=hours)
    >>> bool(np.all(np.abs(model.coef_ - [0.8, -0.4]) < 4 * model.coef_std_))
    True
    >>> mean, interval = model.predict(X[:3], return_interval=0.9, exposure=2.0)
    >>> interval.shape
    (3, 2)
    """

    _kinds = ("Number", "Count", "Two", "LearnedSpread", "ZeroInflated", "Robust", "Varying")
    _record_kinds = ("Number", "Count", "Two", "Probit", "Spread")

    def __init__(
        self,
        family="gaussian",
        *,
        dispersion=None,
        prior_scale="learned",
        fit_intercept=True,
        intercept_scale=None,
        standardise=50,
        memory="everything",
        belief="auto",
        keep_rows=False,
        keep_sample=True,
        reorder=True,
        start="fitted",
        column_order="strict",
    ):
        self.family = family
        self.dispersion = dispersion
        self.prior_scale = prior_scale
        self.fit_intercept = fit_intercept
        self.intercept_scale = intercept_scale
        self.standardise = standardise
        self.memory = memory
        self.belief = belief
        self.keep_rows = keep_rows
        self.keep_sample = keep_sample
        self.reorder = reorder
        self.start = start
        self.column_order = column_order

    def _family(self):
        if self.family not in FAMILIES and self.family not in CHOICES:
            raise ValueError(f"family must be one of {', '.join(map(repr, [*FAMILIES, *CHOICES]))}, not {self.family!r}")
        if self.dispersion is not None and self.family != "negative_binomial":
            raise ValueError(f"dispersion has no meaning for the family {self.family!r}")
        return FAMILIES[getattr(self, "family_", CHOICES.get(self.family, (self.family,))[0])]

    def _preferred(self, X, told):
        families = CHOICES.get(self.family)
        if families is None:
            self.family_ = self.family
            return self._kind()
        models = {}
        # Labels that a transform has not are labels of other families.
        positive, fractions = bool((told[0] > 0.0).all()), bool(((told[0] > 0.0) & (told[0] < 1.0)).all())
        taken = {"log": positive, "logit": fractions}
        # Integrals of each row, and all correlations: beside many inputs they cost more than the fit.
        wide = self.belief == "auto" and X.shape[1] > _settings.WIDE_OF_SEVERAL
        for name in families:
            if not taken.get(name.partition("_")[0], True) or (wide and name.endswith(("robust", "varying"))):
                continue
            try:
                models[name] = self._begin(X, FAMILIES[name][0], {})
            except (TypeError, ValueError):
                # Other families need all correlations; the plain one says what else is wrong.
                if name == families[0]:
                    raise
        first, *others = models.values()
        place, behind = first.preferred(others, _rows.rows(X), *told)
        self.family_ = list(models)[place]
        self.behind_ = dict(zip(models, behind, strict=True))
        return FAMILIES[self.family_][0], {}

    def _kind(self):
        kind, _ = self._family()
        return (kind, {}) if self.dispersion is None else ("Spread", {"size": float(self.dispersion)})

    def _family_name(self):
        return getattr(self, "family_", self.family)

    def _score_name(self):
        return "D²" if self._family()[1] == "exposure" else "R²"

    def _size(self, n, sizes):
        _, taken = self._family()
        super()._size(n, {name: values for name, values in sizes.items() if name != taken})
        return _rows.numbers(taken, sizes.get(taken), n, positive=True)

    @classmethod
    def _parameters(cls, kind, settings):
        families = {kind: family for family, (kind, _) in FAMILIES.items()}
        family = families.get(kind, "negative_binomial")
        return {"family": family, **super()._parameters(kind, settings)}

    @staticmethod
    def _numbers(*numbers):
        return {"dispersion": numbers[0]} if len(numbers) == 1 else {}

    @property
    def classes_(self):
        """The labels of a family of 0 and 1."""
        if self.family in ("logit", "probit"):
            return np.array([0, 1])
        raise AttributeError(f"the family {self.family!r} has no classes")

    @classes_.setter
    def classes_(self, labels):
        if [str(label) for label in labels] != ["0", "1"]:
            raise ValueError(f"the family 'logit' has the labels 0 and 1, not {list(labels)}")

    @atomic
    def fit(self, X, y, sample_weight=None, offset=None, exposure=None, trials=None):
        """Learn the rows anew.

        Parameters
        ----------
        X : {array-like, sparse matrix, table} of shape (n_rows, n_features)
            Rows; contiguous float64 arrays are not copied.
        y : array-like of shape (n_rows,)
            Labels of the family.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row, not negative.
        offset : array-like of shape (n_rows,) or float, optional
            A known part of the linear predictor.
        exposure : array-like of shape (n_rows,) or float, optional
            Time, area or people of a count.
        trials : array-like of shape (n_rows,) or float, optional
            Trials of a binomial count.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._family()
        X, y = self._checked(X, y, reset=True, y_numeric=True)
        self._restart()
        size = self._size(X.shape[0], {"exposure": exposure, "trials": trials})
        return self._learn(X, y, sample_weight, offset=offset, size=size, reorder=self.reorder)

    @atomic
    def partial_fit(self, X, y, sample_weight=None, offset=None, exposure=None, trials=None):
        """Learn more rows: the same as if they had been the rest of the fit.

        Parameters
        ----------
        X, y, sample_weight, offset, exposure, trials
            As for `fit`.

        Returns
        -------
        self : object
            The estimator; after an error it is as it was.
        """
        self._family()
        X, y = self._checked(X, y, reset=not hasattr(self, "_model"), y_numeric=True)
        size = self._size(X.shape[0], {"exposure": exposure, "trials": trials})
        return self._learn(X, y, sample_weight, offset=offset, size=size)

    def predict(self, X, return_std=False, return_interval=None, offset=None, exposure=None, trials=None):
        """Expected label.

        Parameters
        ----------
        X : {array-like, sparse matrix, table} of shape (n_rows, n_features)
            Rows.
        return_std : bool, default=False
            Also return the standard deviation of a new label (for 'logit' that of the posterior of the
            probability).
        return_interval : float, optional
            Mass of the central interval of a new label, returned too, of shape (n_rows, 2).
        offset, exposure, trials : array-like of shape (n_rows,) or float, optional
            As for `fit`.

        Returns
        -------
        mean : ndarray of shape (n_rows,)
            Or a tuple that begins with it.
        """
        return self._predict(
            X,
            return_std=return_std,
            return_interval=return_interval,
            offset=offset,
            exposure=exposure,
            trials=trials,
        )

    def score(self, X, y, sample_weight=None, offset=None, exposure=None, trials=None):
        """How much of the labels the predictions explain: 1 at best, 0 for one rate, or one number, for all rows.

        Of counts it is D², the share of the Poisson deviance from one rate per exposure that is explained, as of scikit-learn's
        `PoissonRegressor` (of rates weighted by their exposure, where there is one); of other families R².

        Parameters
        ----------
        X, y, sample_weight, offset, exposure, trials
            As for `fit`. For cross-validation with exposures, enable scikit-learn's metadata routing and ask for them:
            ``model.set_fit_request(exposure=True).set_score_request(exposure=True)``.

        Returns
        -------
        score : float
            D² or R².
        """
        expected = self.predict(X, offset=offset, exposure=exposure, trials=trials)
        y = np.asarray(y, dtype=np.float64)
        sample_weight = _rows.numbers("sample_weight", sample_weight, len(expected))
        if self._family()[1] != "exposure":
            return float(r2_score(y, expected, sample_weight=sample_weight))
        exposed = np.ones(len(expected)) if exposure is None else _rows.numbers("exposure", exposure, len(expected), positive=True)
        if sample_weight is not None and not np.sum(sample_weight) > 0.0:
            raise ValueError("sample_weight: the weights sum to 0, so that there is nothing to score")
        rate = np.average(y, weights=sample_weight) / np.average(exposed, weights=sample_weight)
        if rate == 0.0:
            # Nothing came, which one rate explains wholly.
            return 0.0
        least = np.finfo(float).tiny
        left, whole = (
            mean_poisson_deviance(y, np.maximum(mean, least), sample_weight=sample_weight) for mean in (expected, rate * exposed)
        )
        return float(1.0 - left / whole) if whole > 0.0 else 0.0
