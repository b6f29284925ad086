"""What objectives and submodels answer, whatever computes it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Array, Host


class Value(NamedTuple):
    """An objective to be minimised, lane by lane, on the host."""

    value: Host
    """`(b,)`; infinite in lanes whose covariance could not be factorised."""
    gradient: Host
    """`(b, p)` with respect to the log parameters."""


class Conditioned(NamedTuple):
    """A submodel given the sites: what its predictions are made of."""

    coefficients: Array
    """b, `(b, n)`; with inducing points `(b, m)`."""
    root: Array
    """`(b, n, n)`, with `R = root' root`; with inducing points `(b, m, m)`."""
    failed: NDArray[np.bool_]
    """`(b,)`."""
