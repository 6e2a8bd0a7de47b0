"""Log-densities of models that are written in JAX, NumPyro, PyMC or Stan, for `rvi.boost.fit`."""

import contextlib

import numpy as np

__all__ = ["Density", "of_jax", "of_numpyro", "of_pymc", "of_stan"]


class Density:
    """A log-density of free coordinates with its gradient, and the parameters that such coordinates stand for.

    `of_jax`, `of_numpyro`, `of_pymc` and `of_stan` make one, `rvi.boost.fit` takes it. A density that is NaN counts as zero, as in
    a sampler: far from its mass a model may overflow.

    Parameters
    ----------
    dim : int
        Number of free coordinates.
    value_and_grad : callable
        Of points ``(n, dim)``: `n` log-densities, with the logarithm of the Jacobian, and gradients ``(n, dim)``.
    parameters : callable
        Of points ``(n, dim)``: a dict of arrays whose first axis has length `n`.
    value : callable, optional
        The log-densities alone, where that costs less.

    Examples
    --------
    >>> import numpy as np
    >>> from rvi import boost
    >>> from rvi.density import Density
    >>> rate = Density(1, lambda x: (3 * x[:, 0] - np.exp(x[:, 0]), 3 - np.exp(x)), lambda x: {"rate": np.exp(x[:, 0])})
    >>> posterior = boost.fit(rate)
    >>> bool(abs(posterior.draws(4000)["rate"].mean() - 3) < 0.1)
    True
    """

    def __init__(self, dim, value_and_grad, parameters, value=None):
        self.dim, self._both, self._parameters, self._value = int(dim), value_and_grad, parameters, value

    def value(self, points):
        """Log-densities, of shape (n,).

        Parameters
        ----------
        points : ndarray of shape (n, dim)
            Free coordinates.
        """
        return self.value_and_grad(points)[0] if self._value is None else _proper(self._value(points))

    def value_and_grad(self, points):
        """Log-densities and gradients, of shapes (n,) and (n, dim).

        Parameters
        ----------
        points : ndarray of shape (n, dim)
            Free coordinates.
        """
        values, gradients = self._both(points)
        return _proper(values), np.asarray(gradients, dtype=np.float64)

    def parameters(self, points):
        """Parameters by name: arrays whose first axis has length n.

        Parameters
        ----------
        points : ndarray of shape (n, dim)
            Free coordinates.
        """
        return {name: np.asarray(values, dtype=np.float64) for name, values in self._parameters(points).items()}


def _proper(values):
    values = np.asarray(values, dtype=np.float64)
    return np.where(np.isnan(values), -np.inf, values)


def _needs(package, name):
    return ImportError(f"{name} needs the package {package}: pip install 'rvi[{package}]'")


def of_jax(logp, like):
    """The density of a JAX function of one point, compiled for many points and differentiated by JAX, in double precision.

    Parameters
    ----------
    logp : callable
        The log-density up to a constant, of an array or a tree as `like`.
    like : int, or tree of arrays
        Number of coordinates, or an example of the argument: a dict gives the parameters its names and shapes.

    Returns
    -------
    density : Density
        Compiled anew for each power of two of points, at most.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from rvi import boost
    >>> from rvi.density import of_jax
    >>> density = of_jax(lambda p: -0.5 * (p["a"] - 1) ** 2 - 0.5 * jnp.sum(p["b"] ** 2), {"a": 0.0, "b": jnp.zeros(2)})
    >>> boost.fit(density).names
    ['a', 'b[1]', 'b[2]']
    """
    try:
        from jax.flatten_util import ravel_pytree
    except ImportError as error:
        raise _needs("jax", "of_jax") from error
    example = np.zeros(like) if isinstance(like, int) else like
    with _double():
        flat, tree = ravel_pytree(example)
    return _jax(len(flat), lambda x: logp(tree(x)), lambda x: found if isinstance(found := tree(x), dict) else {"x": x})


def _jax(dim, logp, parameters):
    import jax

    def many(function):
        compiled = jax.jit(jax.vmap(function))

        def call(points):
            # One compilation for each power of two.
            n = len(points)
            padded = np.concatenate([points, np.repeat(points[:1], (1 << (n - 1).bit_length()) - n, axis=0)])
            with _double():
                return jax.tree.map(lambda found: np.asarray(found)[:n], compiled(padded))

        return call

    return Density(dim, many(jax.value_and_grad(logp)), many(parameters), many(logp))


@contextlib.contextmanager
def _double():
    import jax

    known = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", known)


def of_numpyro(model, *args, **kwargs):
    """The posterior density of a NumPyro model without discrete latent values: minus its potential energy.

    Parameters
    ----------
    model : callable
        The model.
    *args, **kwargs
        Its arguments.

    Returns
    -------
    density : Density
        Draws have the model's sites and ``deterministic`` values, on their own scale.

    Examples
    --------
    >>> import numpyro
    >>> from numpyro.distributions import Exponential, Poisson
    >>> from rvi import boost
    >>> from rvi.density import of_numpyro
    >>> def model(counts):
    ...     numpyro.sample("y", Poisson(numpyro.sample("rate", Exponential(1.0))), obs=counts)
    >>> posterior = boost.fit(of_numpyro(model, 3))
    >>> posterior.names, bool(abs(posterior.draws(4000)["rate"].mean() - 2) < 0.1)
    (['rate'], True)
    """
    try:
        from jax import random
        from jax.flatten_util import ravel_pytree
        from numpyro.infer.util import initialize_model
    except ImportError as error:
        raise _needs("numpyro", "of_numpyro") from error
    with _double():
        found = initialize_model(random.PRNGKey(0), model, model_args=args, model_kwargs=kwargs)
        flat, tree = ravel_pytree(found.param_info.z)
    return _jax(len(flat), lambda x: -found.potential_fn(tree(x)), lambda x: found.postprocess_fn(tree(x)))


def of_pymc(model):
    """The posterior density of a PyMC model without discrete latent values, and its gradient.

    Parameters
    ----------
    model : pymc.Model
        The model.

    Returns
    -------
    density : Density
        Draws have the model's variables and ``Deterministic`` values, on their own scale.

    Examples
    --------
    >>> import pymc
    >>> from rvi import boost
    >>> from rvi.density import of_pymc
    >>> with pymc.Model() as model:
    ...     rate = pymc.Exponential("rate", 1.0)
    ...     counts = pymc.Poisson("counts", rate, observed=3)
    >>> posterior = boost.fit(of_pymc(model))
    >>> posterior.names, bool(abs(posterior.draws(4000)["rate"].mean() - 2) < 0.1)
    (['rate'], True)
    """
    try:
        from pymc.util import get_default_varnames
    except ImportError as error:
        raise _needs("pymc", "of_pymc") from error
    if model.discrete_value_vars:
        raise ValueError(f"{model.discrete_value_vars[0].name} is discrete: sum it out")
    start = model.initial_point()
    shapes = {var.name: start[var.name].shape for var in model.continuous_value_vars}
    ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes.values()])
    compiled = model.logp_dlogp_function(ravel_inputs=True)
    compiled.set_extra_values({})
    shown = get_default_varnames(model.unobserved_value_vars, include_transformed=False)
    outputs = model.compile_fn(shown, inputs=model.continuous_value_vars, on_unused_input="ignore")

    def by_name(point):
        parts = zip(shapes.items(), np.split(point, ends[:-1]), strict=True)
        return outputs({name: part.reshape(shape) for (name, shape), part in parts})

    def parameters(points):
        drawn = zip(*map(by_name, points), strict=True)
        return {var.name: np.stack(values) for var, values in zip(shown, drawn, strict=True)}

    return Density(ends[-1], _each(lambda point: compiled([point])), parameters)


def _each(call):
    def each(points):
        values, gradients = np.empty(len(points)), np.empty(points.shape)
        for i, point in enumerate(points):
            values[i], gradients[i] = call(point)
        return values, gradients

    return each


def of_stan(model):
    """The posterior density of a Stan model with its data, by BridgeStan.

    Parameters
    ----------
    model : bridgestan.StanModel
        The model. Where it raises an error, the density is zero.

    Returns
    -------
    density : Density
        Draws have the parameters and transformed parameters, on their own scale; arrays of an array have one axis for each index.

    Examples
    --------
    >>> from rvi.density import of_stan
    >>> of_stan(3)
    Traceback (most recent call last):
    TypeError: of_stan needs a bridgestan.StanModel, not int
    """
    if not hasattr(model, "log_density_gradient"):
        raise TypeError(f"of_stan needs a bridgestan.StanModel, not {type(model).__name__}")
    places = {}
    for column, name in enumerate(model.param_names(include_tp=True)):
        name, *index = name.split(".")
        places.setdefault(name, []).append((column, [int(i) - 1 for i in index]))

    def both(point):
        try:
            return model.log_density_gradient(point)
        except RuntimeError:
            return -np.inf, np.zeros(len(point))

    def parameters(points):
        drawn = np.array([model.param_constrain(point, include_tp=True) for point in points])
        named = {}
        for name, own in places.items():
            shape = np.max([index for _, index in own], axis=0).astype(int) + 1
            named[name] = np.empty((len(points), *shape))
            for column, index in own:
                named[name][(slice(None), *index)] = drawn[:, column]
        return named

    return Density(model.param_unc_num(), _each(both), parameters)
