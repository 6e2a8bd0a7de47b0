"""Names and constraints of parameters, as the extension takes them."""

_CONSTRAINTS = ("real", "positive", "unit", "ordered", "simplex")


def by_name(draws, places):
    """Draws by name: an array of one axis for one number, of two for several."""
    own = {name: draws[:, place] for name, place in places.items()}
    return {name: part[:, 0] if part.shape[1] == 1 else part for name, part in own.items()}


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
