"""From the words of Python arguments to the settings of a front-door model."""

import json
from numbers import Integral, Real

#: Inputs beyond which a full covariance costs too much for many rows, and beyond which even a low rank does.
WIDE, VERY_WIDE = 1000, 20_000
#: The same where each class, or each family that is compared, has a covariance.
WIDE_OF_SEVERAL = 400
#: Columns of the factor that wide models keep.
RANK = 10
#: Prior standard deviation of the intercept: in units of the noise for numbers, of the predictor for all others.
INTERCEPT_SCALE = {"Number": 1000.0, "LogNumber": 1000.0, "LogitNumber": 1000.0}
#: Shape and rate of the noise's precision at first, for a standardised target.
NOISE = (0.1, 1e-5)


def belief(choice, inputs, several=False):
    """The JSON form of the kind of posterior."""
    if choice == "auto":
        choice = "full" if inputs <= (WIDE_OF_SEVERAL if several else WIDE) else RANK if inputs <= VERY_WIDE else "diagonal"
    names = {"full": "Full", "square_root": "SquareRoot", "diagonal": "Diagonal"}
    if isinstance(choice, str) and choice in names:
        return names[choice]
    if isinstance(choice, Integral) and not isinstance(choice, bool) and choice >= 0:
        return {"LowRank": {"rank": int(choice)}}
    raise ValueError(
        f"belief must be 'auto', 'full', 'square_root', 'diagonal' or a rank (an integer), not {choice!r}"
    )


def is_dense(form):
    """Whether a belief in its JSON form takes all entries of a row."""
    return form in ("Full", "SquareRoot")


def prior_scale(choice):
    """The JSON form of the prior scale."""
    if choice == "learned":
        return "Learned"
    if isinstance(choice, Real) and not isinstance(choice, bool):
        return {"Given": float(choice)}
    if not isinstance(choice, str) and hasattr(choice, "__iter__"):
        return {"Among": [float(scale) for scale in choice]}
    raise ValueError(f"prior_scale must be 'learned', a number or several, not {choice!r}")


def memory(choice):
    """The JSON form of the memory."""
    if choice in ("everything", "learned"):
        return choice.capitalize()
    if isinstance(choice, Real) and not isinstance(choice, bool):
        return {"Fading": float(choice)}
    raise ValueError(f"memory must be 'everything', 'learned' or a number between 0 and 1, not {choice!r}")


def standardise(choice, centre):
    """The JSON form of the scaling of the inputs."""
    if choice == "never":
        return "Never"
    if isinstance(choice, Integral) and not isinstance(choice, bool):
        return {"FirstRows": {"rows": int(choice), "centre": bool(centre)}}
    if isinstance(choice, tuple) and len(choice) == 2:
        centres, scales = choice
        return {"Fixed": {"centres": [float(c) for c in centres], "scales": [float(s) for s in scales]}}
    hint = {True: ": leave it out for the default, 50", False: ": did you mean 'never'?"}.get(choice if isinstance(choice, bool) else None, "")
    raise ValueError(f"standardise must be a number of first rows, 'never' or a pair (centres, scales), not {choice!r}{hint}")


def start(choice):
    """The JSON form of the start."""
    forms = {"fitted": "Fitted", "one_pass": "OnePass"}
    if choice in forms:
        return forms[choice]
    raise ValueError(f"start must be 'fitted' or 'one_pass', not {choice!r}")


def dumps(form):
    """JSON for Rust; a number that is not finite is a `ValueError`."""
    try:
        return json.dumps(form, allow_nan=False)
    except ValueError as error:
        raise ValueError(f"a setting is not finite: {form!r}") from error
