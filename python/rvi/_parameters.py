"""Names and constraints of parameters, as the extension takes them."""

import numpy as np

_CONSTRAINTS = ("real", "positive", "unit", "ordered", "simplex")


def by_name(draws, places):
    """Draws by name: an array of one axis for one number, of two for several."""
    own = {name: draws[:, place] for name, place in places.items()}
    return {name: part[:, 0] if part.shape[1] == 1 else part for name, part in own.items()}


def named(draws):
    """Draws by name as one matrix of a row each, and the names of its columns, which count from 1.

    Examples
    --------
    >>> import numpy as np
    >>> named({"a": np.zeros(2), "b": np.zeros((2, 1, 2))})[1]
    ['a', 'b[1,1]', 'b[1,2]']
    """
    names = []
    for name, own in draws.items():
        places = [",".join(str(i + 1) for i in place) for place in np.ndindex(own.shape[1:])]
        names += [f"{name}[{place}]" if place else name for place in places]
    return np.concatenate([own.reshape(len(own), -1) for own in draws.values()], axis=1), names


def blocks(parameters):
    """Blocks `(name, constraint, size, lower, upper)`, and where the numbers of each name lie.

    Examples
    --------
    >>> blocks({"tau": "positive", "p": ("simplex", 3), "rho": (-1, 1)})[0]
    [('tau', 'positive', 1, 0.0, 0.0), ('p', 'simplex', 3, 0.0, 0.0), ('rho', 'between', 1, -1.0, 1.0)]
    """
    parts, places, first = [], {}, 0
    for name, given in dict(parameters).items():
        constraint, size = given if isinstance(given, tuple) and isinstance(given[0], str | tuple) else (given, 1)
        lower = upper = 0.0
        if constraint == "unit":
            constraint = (0.0, 1.0)
        if isinstance(constraint, tuple):
            (lower, upper), constraint = map(float, constraint), "between"
        elif constraint not in _CONSTRAINTS:
            raise ValueError(f"{name}: {constraint!r} must be one of {', '.join(_CONSTRAINTS)}, or (low, high)")
        parts.append((str(name), constraint, int(size), lower, upper))
        places[str(name)] = slice(first, first + int(size))
        first += int(size)
    return parts, places
