"""Kernels, priors, likelihoods and settings as JSON, and back from a fixed table of names.

Numbers, text, truth values, None and lists are themselves. Anything else is an object with one key,
which says what it is:

    {"SquaredExponential": {"variance": 2.0, "lengthscales": [0.5, 3.0]}}
    {"mapping": {"lengthscale": {"LogNormal": {"median": 2.0, "sigma": 0.5}}}}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from gpproj.kernels import (
    Constant,
    Linear,
    Matern32,
    Matern52,
    Product,
    SquaredExponential,
    Sum,
    Zero,
)
from gpproj.likelihoods import Bernoulli, Gaussian, NegativeBinomial, Poisson, StudentT
from gpproj.priors import Gamma, InverseGamma, LogNormal, LogUniform

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
    Gaussian: ("variance",),
    Bernoulli: ("link",),
    Poisson: (),
    NegativeBinomial: ("dispersion",),
    StudentT: ("variance", "degrees"),
}
"""Everything that can be saved, and the arguments that make it."""

KNOWN = {one.__name__: one for one in ARGUMENTS}

MAPPING = "mapping"


def plain(value: Any) -> Any:
    """Return what JSON can hold; tuples and other collections become lists.

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
    ((name, held),) = value.items()
    held = {key: restored(one) for key, one in held.items()}
    return held if name == MAPPING else KNOWN[name](**held)
