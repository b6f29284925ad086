"""Kernels by name."""

from __future__ import annotations

from functools import reduce
from operator import add

from gpproj.kernels.base import Kernel
from gpproj.kernels.constant import Constant
from gpproj.kernels.linear import Linear
from gpproj.kernels.stationary import Matern32, Matern52, SquaredExponential

NAMES: dict[str, type[Linear] | type[Matern32] | type[Matern52] | type[SquaredExponential]] = {
    "linear": Linear,
    "matern32": Matern32,
    "matern52": Matern52,
    "squared-exponential": SquaredExponential,
}
"""Kernels that may be named."""


def named_kernel(name: str) -> Kernel:
    """Return a constant and the kernels that a name stands for, one or a sum of them.

    Parameters
    ----------
    name : str
        "linear", "matern32", "matern52" or "squared-exponential", or some of them with a plus
        between.

    Examples
    --------
    >>> named_kernel("linear+matern52").__class__.__name__
    'Sum'
    """
    parts = [part.strip() for part in name.split("+")]
    odd = [part for part in parts if part not in NAMES]
    if odd or len(set(parts)) < len(parts):
        known = ", ".join(NAMES)
        raise ValueError(
            f"kernel must be one of {known}, or a sum as linear+matern52; got {name!r}"
        )
    return reduce(add, [Constant(), *(NAMES[part]() for part in parts)])
