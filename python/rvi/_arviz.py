"""Draws for ArviZ."""


def inference_data(draws, names=None):
    """Draws by name, each of shape (n_draws, ...), as ArviZ has them: one chain.

    Parameters
    ----------
    draws : dict of ndarray
        Posterior draws.
    names : dict, optional
        For a variable the names of its last axis.

    Returns
    -------
    data : arviz.InferenceData
        Without a sampler there is one chain.
    """
    try:
        import arviz
    except ImportError as error:
        raise ImportError("to_arviz needs the package arviz: pip install 'rvi[arviz]'") from error
    named = {name: labels for name, labels in (names or {}).items() if labels is not None}
    return arviz.from_dict(
        posterior={name: values[None] for name, values in draws.items()},
        coords={f"{name}_of": list(labels) for name, labels in named.items()},
        dims={name: [f"{name}_of"] for name in named if draws[name].ndim == 2},
    )
