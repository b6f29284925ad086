"""What objectives answer, whatever computes them."""

from __future__ import annotations

from typing import NamedTuple

from gpproj.linalg import Array, Host


class Value(NamedTuple):
    """An objective to be minimised, lane by lane, on the host."""

    value: Host
    """`(b,)`; infinite in lanes whose covariance could not be factorised."""
    gradient: Host
    """`(b, p)` with respect to the log parameters."""


class Derivative(NamedTuple):
    """An objective and its derivative in the covariance of a submodel."""

    value: Array
    """`(b,)`."""
    G: Array
    """`(b, n, n)`, the derivative with respect to K."""
    failed: Array
    """`(b,)`: lanes whose covariance could not be factorised."""
