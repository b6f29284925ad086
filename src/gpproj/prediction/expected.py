"""Expectations over the targets that a model predicts, by sums over nodes for each row.

With the predictive density p of a reference and q of a submodel,

    KL(p || q) = E_p[log p(y) - log q(y)] = sum_j w_j (log p(y_j) - log q(y_j)),   sum_j w_j = 1,

where node y_j stands for a piece of the axis of length c_j and w_j is proportional to p(y_j) c_j.
Nothing but densities and moments is asked of either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gpproj.data import TargetKind
from gpproj.linalg import Host, like, to_host
from gpproj.prediction.responses import Responses

NODES = 81
"""Nodes around the mean."""

REACH = 12.0
"""Standard deviations from the mean to the outermost node."""

CENTRING = 4.0
"""How much closer nodes are in the middle: the hyperbolic cosine of it, 27 times."""

SINGLE_COUNTS = 32
"""Counts below this are nodes of their own."""

RATIO = 1.15
"""From one larger count to the next."""

LARGEST_COUNT = 1e12

BLOCK = 2_000_000
"""Densities computed at a time: bounds the memory."""


class ExpectedTargets(NamedTuple):
    """Targets that a model expects of m rows, and their probabilities."""

    y: Host
    """Nodes, `(q, m)`, in the user's units, or in those of a transformation of the target: the
    divergence is the same."""
    weights: Host
    """Probabilities, `(q, m)`; the sum of each column is one."""
    log_density: Host
    """Log densities of the model at the nodes, `(q, m)`."""

    def divergence(self, other: Responses) -> Host:
        """Return the divergence from the model to another one, of every row, `(m,)`."""
        apart = np.empty(self.y.shape)
        for block in _blocks(self.y):
            apart[block] = self.log_density[block] - _density(other.plain, self.y[block])
        # A node of no weight may have no density at all.
        total = np.sum(np.where(self.weights > 0.0, self.weights * apart, 0.0), axis=0)
        found: Host = np.maximum(total, 0.0)  # below it by rounding alone
        return found


def expected_targets(responses: Responses, kind: TargetKind) -> ExpectedTargets:
    """Return the targets that a model expects.

    Parameters
    ----------
    responses : Responses
        What it predicts of m rows.
    kind : TargetKind
    """
    responses = responses.plain
    mean, variance = (to_host(part) for part in responses.moments())
    y, length = _pieces(mean, np.sqrt(variance), kind)
    density = np.concatenate([_density(responses, y[block]) for block in _blocks(y)])
    weights = np.exp(density - density.max(axis=0)) * length
    return ExpectedTargets(y, weights / weights.sum(axis=0), density)


def _pieces(mean: Host, sd: Host, kind: TargetKind) -> tuple[Host, Host]:
    """Return nodes and the lengths they stand for, `(q, m)` each; of counts, how many of them."""
    if kind.has_classes:
        y = np.broadcast_to(np.array([[0.0], [1.0]]), (2, mean.size))
        return y, np.ones(y.shape)
    place = np.linspace(-1.0, 1.0, NODES)[:, None]
    away = REACH * np.sinh(CENTRING * place) / np.sinh(CENTRING)
    if not kind.takes_exposure:
        return mean + sd * away, np.broadcast_to(np.cosh(CENTRING * place), (NODES, 1)) * sd
    # Counts from one edge to the next are represented by the one in the middle. Edges are dense
    # where the distribution is, and near zero, where that of a wide one is.
    around = np.clip(mean + sd * away, 0.0, LARGEST_COUNT)
    larger = np.arange(1.0, np.log(max(around.max() / SINGLE_COUNTS, 1.0)) / np.log(RATIO))
    shared = np.append(np.arange(SINGLE_COUNTS + 1.0), SINGLE_COUNTS * RATIO**larger)
    shared = np.broadcast_to(shared[:, None], (shared.size, mean.size))
    edges = np.sort(np.floor(np.concatenate([around, shared])), axis=0)
    count = np.diff(edges, axis=0)
    middle = np.floor(edges[:-1] + 0.5 * np.maximum(count - 1.0, 0.0))
    return middle, count


def _density(responses: Responses, y: Host) -> Host:
    mean = responses.moments().mean
    return to_host(responses.log_density(like(y, mean)))


def _blocks(y: Host) -> Iterator[slice]:
    step = max(1, BLOCK // max(y.shape[1], 1))
    return (slice(start, start + step) for start in range(0, len(y), step))
