"""What objectives answer, whatever computes them."""

from __future__ import annotations

from typing import NamedTuple

from gpproj.linalg import Host


class Value(NamedTuple):
    """An objective to be minimised, lane by lane, on the host."""

    value: Host
    """`(b,)`; infinite in lanes whose covariance could not be factorised."""
    gradient: Host
    """`(b, p)` with respect to the log parameters."""
