"""Kernels, priors, likelihoods and settings as JSON, and back from a fixed table of names.

Numbers, text, truth values, None and lists are themselves. Anything else is an object with one key,
which says what it is:

    {"SquaredExponential": {"variance": 2.0, "lengthscales": [0.5, 3.0]}}
    {"mapping": {"lengthscale": {"LogNormal": {"median": 2.0, "sigma": 0.5}}}}
    {"Sparse": {"inducing": [[0.5, 3.0], [1.5, 2.0]], "method": "vfe", "selection": "greedy"}}
    {"frame": {"age": [0.5, 1.5], "bmi": [3.0, 2.0]}}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from gpproj.data.frames import column_names, is_foreign, is_frame, read
from gpproj.inference import Sparse
from gpproj.kernels import (
    Constant,
    Kernel,
    Linear,
    Matern32,
    Matern52,
    Product,
    SquaredExponential,
    Sum,
    Zero,
)
from gpproj.likelihoods import Bernoulli, Gaussian, NegativeBinomial, Poisson, StudentT
from gpproj.linalg import to_host
from gpproj.priors import Gamma, InverseGamma, LogNormal, LogUniform, SparseScales

ARGUMENTS: dict[type, tuple[str, ...]] = {
    Constant: ("variance",),
    Linear: ("variances",),
    Matern32: ("variance", "lengthscales"),
    Matern52: ("variance", "lengthscales"),
    SquaredExponential: ("variance", "lengthscales"),
    Zero: (),
    Sum: ("left", "right"),
    Product: ("left", "right"),
    Gamma: ("shape", "rate"),
    InverseGamma: ("shape", "scale"),
    LogNormal: ("median", "sigma"),
    LogUniform: ("lower", "upper"),
    SparseScales: ("scale",),
    Gaussian: ("variance",),
    Bernoulli: ("link",),
    Poisson: (),
    NegativeBinomial: ("dispersion",),
    StudentT: ("variance", "degrees"),
    Sparse: ("inducing", "method", "selection", "optimise"),
}
"""Everything that can be saved, and the arguments that make it."""

MAPPING, FRAME = "mapping", "frame"


def _sparse(inducing: Any, **rest: Any) -> Sparse:
    points = np.array(inducing, dtype=np.float64) if isinstance(inducing, tuple) else inducing
    return Sparse(points, **rest)


def _frame(**columns: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(columns)


KNOWN: dict[str, Callable[..., Any]] = {one.__name__: one for one in ARGUMENTS}
KNOWN |= {Sparse.__name__: _sparse, MAPPING: dict, FRAME: _frame}


def plain(value: Any) -> Any:
    """Return what JSON can hold; tuples, arrays and other collections become lists.

    Raises
    ------
    TypeError
        For objects that are not in the table.

    Examples
    --------
    >>> plain({"kernel": Constant(2.0), "order": ("a", "b")})
    {'mapping': {'kernel': {'Constant': {'variance': 2.0}}, 'order': ['a', 'b']}}
    """
    if isinstance(value, np.generic):
        value = value.item()
    elif is_foreign(value):
        value = to_host(value)
    elif is_frame(value):
        cells = read(value, "frame").T.tolist()
        return {FRAME: dict(zip(column_names(value), cells, strict=True))}
    if type(value) in ARGUMENTS:
        arguments = ARGUMENTS[type(value)]
        return {type(value).__name__: {name: plain(getattr(value, name)) for name in arguments}}
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping() if all(isinstance(key, str) for key in value):
            return {MAPPING: {str(key): plain(one) for key, one in value.items()}}
        case Collection() if not isinstance(value, Mapping | bytes):
            return [plain(one) for one in value]
    if isinstance(value, Kernel):
        raise TypeError(
            f"cannot save the kernel {value!r}: only gpproj's own kernels can be saved, not those "
            "of other libraries or of a user"
        )
    raise TypeError(f"cannot save {value!r}: only gpproj's own kernels, priors and likelihoods can")


def restored(value: Any) -> Any:
    """Return what `plain` has made plain; lists become tuples.

    Examples
    --------
    >>> restored({"Sum": {"left": {"Constant": {"variance": 2.0}}, "right": {"Zero": {}}}})
    Constant(variance=2) + Zero()
    """
    if isinstance(value, list):
        return tuple(restored(one) for one in value)
    if not isinstance(value, dict):
        return value
    ((name, arguments),) = value.items()
    return KNOWN[name](**{key: restored(one) for key, one in arguments.items()})
