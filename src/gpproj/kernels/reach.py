"""How much an input can do through its length-scale."""

from __future__ import annotations

import numpy as np

from gpproj.kernels.base import Kernel
from gpproj.linalg import Array, Host, to_host


def reach_of(kernel: Kernel, log_parameters: Host, X: Array) -> Host:
    """Return the most by which an input changes the exponent of a kernel, `(p,)`.

    That is `(max x_j - min x_j)^2 / (2 l_j^2)` for each length-scale, and infinite for what is no
    length-scale.

    Parameters
    ----------
    kernel : Kernel
    log_parameters : array `(p,)`
    X : array `(n, d)`

    Examples
    --------
    >>> from gpproj.kernels import SquaredExponential
    >>> X = np.array([[0.0, 0.0], [2.0, 1.0]])
    >>> reach_of(SquaredExponential(), np.log([1.0, 1.0, 10.0]), X).round(3)
    array([  inf, 2.   , 0.005])
    """
    points = to_host(X)
    spread = 0.5 * (points.max(axis=0) - points.min(axis=0)) ** 2
    found = np.full(len(log_parameters), np.inf)
    for place, one in enumerate(kernel.parameters(points.shape[1])):
        if one.input is not None and one.kind.is_scale:
            found[place] = np.exp(-2.0 * log_parameters[place]) * spread[one.input]
    return found
