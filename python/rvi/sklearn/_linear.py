"""Linear regression with unknown noise."""

from .. import _settings
from ._online import atomic
from ._regression import OnlineRegressor


class BayesianLinearRegression(OnlineRegressor):
    """Linear regression with unknown noise, the exact posterior of one pass.

    ``y = intercept + Xw + N(0, s²)``, a normal-gamma posterior, the prior scale of the weights averaged over. One row costs
    some ``9 n_features²`` flops. `fit` and `partial_fit` learn the rows in their order.

    Parameters
    ----------
    prior_scale : 'learned', float or sequence of float, default='learned'
        Prior standard deviation of the weights of standardised inputs, in units of the noise.
    fit_intercept : bool, default=True
        Fit an intercept.
    intercept_scale : float or None, default=None
        Prior standard deviation of the intercept in units of the noise; 1000 by default.
    standardise : int, 'never' or (centres, scales), default=50
        Number of first rows that set the scales of inputs and target; 'never' for no scales; or given scales of the inputs.
    memory : 'everything', 'learned' or float, default='everything'
        Forgetting: 'everything' is remembered; 'learned' follows the drift; a number is the factor on a row's weight for every later row.
    belief : 'auto', 'full', 'square_root', 'diagonal' or int, default='auto'
        Form of the posterior; an integer is the rank of a factor. 'auto' is 'full' up to 1000 inputs, 10 up to 20,000.
    keep_rows : bool, default=False
        Keep the rows.
    start : 'fitted' or 'one_pass', default='fitted'
        Fit the first rows together, or learn them one by one.
    noise_shape, noise_rate : float, default=0.1, 0.00001
        Prior of the noise's precision, ``Gamma(noise_shape, noise_rate)``, for a standardised target.
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
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of str
        Names of the inputs, if the rows were a table.

    Examples
    --------
    >>> import numpy as np
    >>> from rvi.sklearn import BayesianLinearRegression
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> y = 3.0 - 2.0 * X[:, 0] + 0.1 * (np.arange(20) % 3)
    >>> model = BayesianLinearRegression().fit(X, y)
    >>> mean, interval = model.predict([[30.0]], return_interval=0.9)
    >>> bool(interval[0, 0] < -56.9 < interval[0, 1])
    True
    """

    _kinds = _record_kinds = ("Number",)

    def __init__(
        self,
        prior_scale="learned",
        *,
        fit_intercept=True,
        intercept_scale=None,
        standardise=50,
        memory="everything",
        belief="auto",
        keep_rows=False,
        start="fitted",
        noise_shape=_settings.NOISE[0],
        noise_rate=_settings.NOISE[1],
        column_order="strict",
    ):
        self.prior_scale = prior_scale
        self.fit_intercept = fit_intercept
        self.intercept_scale = intercept_scale
        self.standardise = standardise
        self.memory = memory
        self.belief = belief
        self.keep_rows = keep_rows
        self.start = start
        self.noise_shape = noise_shape
        self.noise_rate = noise_rate
        self.column_order = column_order

    @staticmethod
    def _numbers(*numbers):
        return dict(zip(("noise_shape", "noise_rate"), numbers, strict=False))

    def _kind(self):
        return "Number", {"noise": (float(self.noise_shape), float(self.noise_rate))}

    @atomic
    def fit(self, X, y, sample_weight=None, offset=None):
        """Learn the rows anew.

        Parameters
        ----------
        X : {array-like, sparse matrix, table} of shape (n_rows, n_features)
            Rows; contiguous float64 arrays are not copied.
        y : array-like of shape (n_rows,)
            Numbers.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row, not negative.
        offset : array-like of shape (n_rows,) or float, optional
            A known part of the target.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._checked(X, y, reset=True, y_numeric=True)
        self._restart()
        return self._learn(X, y, sample_weight, offset=offset)

    @atomic
    def partial_fit(self, X, y, sample_weight=None, offset=None):
        """Learn more rows: the same as if they had been the rest of the fit.

        Parameters
        ----------
        X, y, sample_weight, offset
            As for `fit`.

        Returns
        -------
        self : object
            The estimator; after an error it is as it was.
        """
        X, y = self._checked(X, y, reset=not hasattr(self, "_model"), y_numeric=True)
        return self._learn(X, y, sample_weight, offset=offset)

    def predict(self, X, return_std=False, return_interval=None, offset=None):
        """Expected target.

        Parameters
        ----------
        X : {array-like, sparse matrix, table} of shape (n_rows, n_features)
            Rows.
        return_std : bool, default=False
            Also return the standard deviation of a new target, noise included.
        return_interval : float, optional
            Mass of the central interval of a new target, returned too, of shape (n_rows, 2).
        offset : array-like of shape (n_rows,) or float, optional
            A known part of the target.

        Returns
        -------
        mean : ndarray of shape (n_rows,)
            Or a tuple that begins with it.
        """
        return self._predict(X, return_std=return_std, return_interval=return_interval, offset=offset)
