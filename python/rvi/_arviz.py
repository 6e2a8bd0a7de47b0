"""Draws for ArviZ."""


def inference_data(groups, chains, names=None):
    """Groups of draws by name, each of shape (chains * n_draws, ...), as ArviZ has them.

    Parameters
    ----------
    groups : dict of dict of ndarray
        Draws of each group; of ``observed_data`` the labels alone.
    chains : int
        The number of chains; the draws are independent, and are dealt out to them.
    names : dict, optional
        For a variable the names of its last axis.

    Returns
    -------
    data : arviz.InferenceData or xarray.DataTree
        By the version of ArviZ.
    """
    try:
        import arviz
    except ImportError as error:
        raise ImportError("to_arviz needs the package arviz: pip install 'rvi[arviz]'") from error
    dealt = {
        group: {
            name: values if group == "observed_data" else values.reshape(chains, len(values) // chains, *values.shape[1:])
            for name, values in own.items()
        }
        for group, own in groups.items()
    }
    coords = {f"{name}_of": list(own) for name, own in (names or {}).items()}
    dims = {name: [f"{name}_of"] for name in coords and names if groups["posterior"][name].ndim == 2}
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict(dealt, coords=coords, dims=dims)
    return arviz.from_dict(**dealt, coords=coords, dims=dims)
