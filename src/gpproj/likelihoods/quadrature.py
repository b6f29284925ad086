"""Adaptive quadrature of many one-dimensional integrals at once.

Each integral has panels of its own. Every panel gets the 10-point Gauss rule and the 21-point
Kronrod rule on nested nodes; where the two disagree on the mass, the mean or the variance by more
than `TOLERANCE`, the panel is halved. The difference is the error of the poorer rule, the better
one is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host

Index = NDArray[np.intp]

TOLERANCE = 3e-8
"""Largest difference of the two rules on one panel, in units of the integral."""

ROUNDS = 50
CROWD = 256
"""Panels of an integral that are halved at a time; more are rounding errors."""

PADDED = 48
"""Panels are multiplied in multiples of so many, as many as registers hold or a multiple of it."""

NEAR, FAR = 28.0, 90.0
"""How far a concave log integrand falls from its maximum to the ends of its support."""


def _mirrored(half: tuple[float, ...], sign: float = 1.0) -> Host:
    return np.array([*(sign * value for value in half), *half[-2::-1]])


# From the outermost node to the one in the middle; the Gauss nodes are every second one.
NODES = _mirrored(
    (
        0.99565716302580808, 0.97390652851717172, 0.93015749135570823, 0.86506336668898451,
        0.78081772658641690, 0.67940956829902441, 0.56275713466860468, 0.43339539412924719,
        0.29439286270146020, 0.14887433898163121, 0.0,
    ),
    sign=-1.0,
)  # fmt: skip
KRONROD = _mirrored(
    (
        0.011694638867371874, 0.032558162307964727, 0.054755896574351996, 0.075039674810919953,
        0.093125454583697606, 0.10938715880229764, 0.12349197626206585, 0.13470921731147333,
        0.14277593857706008, 0.14773910490133849, 0.14944555400291691,
    )
)  # fmt: skip
GAUSS = _mirrored(
    (
        0.0, 0.066671344308688138, 0.0, 0.14945134915058059, 0.0, 0.21908636251598204, 0.0,
        0.26926671930999636, 0.0, 0.29552422471475287, 0.0,
    )
)  # fmt: skip

# Powers 0, 1, 2 of the nodes under the Kronrod rule and under the difference of the two.
RULES = np.stack(
    [rule * NODES**power for rule in (KRONROD, KRONROD - GAUSS) for power in range(3)], axis=1
)


class Weights(NamedTuple):
    """A discrete distribution for each of n integrands: p panels of 21 nodes."""

    owner: Index
    """Position of the integrand that a panel belongs to, `(p,)`."""
    nodes: Host
    """`(p, 21)`."""
    weights: Host
    """Weights of the nodes, `(p, 21)`, which sum to one over the panels of an integrand."""
    log_integral: Host
    """`(n,)`."""
    mean: Host
    """`(n,)`."""
    variance: Host
    """`(n,)`."""

    def expectation(self, values: Host) -> Host:
        """Return expectations of a function, given at the nodes, `(n,)`."""
        own = np.sum(self.weights * values, axis=1)
        return _sum(self.owner, own, self.mean.size)


class _Panels(NamedTuple):
    owner: Index
    middle: Host
    half: Host
    values: Host
    moments: Host

    def powers(self, first: int, about: Host | float) -> tuple[Host, Host, Host]:
        """Return integrals of the powers 0, 1, 2 of the distance to `about`, `(p,)` each."""
        zero, one, two = self.moments[:, first : first + 3].T
        away = self.middle - about
        one, two = self.half * one, self.half**2 * two
        return zero, one + away * zero, two + away * (2.0 * one + away * zero)

    def at(self, which: NDArray[np.bool_]) -> _Panels:
        own: list[Any] = [field[which] for field in self]
        return _Panels(*own)


def integrate(log_integrand: Callable[[Index, Host], Host], edges: Host) -> Weights:
    """Integrate n functions, and the distributions they are in proportion to.

    Parameters
    ----------
    log_integrand : callable
        From the positions of p integrands, `(p,)`, and places, `(p, k)`, to logarithms `(p, k)`,
        which should have a maximum near 0.
    edges : array `(n, k)`
        Ends of the first panels, ascending. Equal ones make no panel.

    Returns
    -------
    Weights

    Examples
    --------
    >>> import numpy as np
    >>> found = integrate(lambda owner, x: -0.5 * x**2, np.array([[-9.0, -3.0, 0.0, 3.0, 9.0]]))
    >>> np.exp(2 * found.log_integral), found.variance
    (array([6.28318531]), array([1.]))
    """
    n = edges.shape[0]
    owner, column = np.nonzero(edges[:, 1:] > edges[:, :-1])
    left, right = edges[owner, column], edges[owner, column + 1]
    settled: list[_Panels] = []
    sums = np.zeros((3, n))
    for turn in range(ROUNDS):
        panels = _panels(log_integrand, owner, left, right)
        mass, first, second = sums + _sums(panels.owner, panels.powers(0, 0.0), n)
        mean = first / mass
        variance = np.maximum(second / mass - mean**2, 1e-300)
        own = panels.owner
        errors = np.abs(panels.powers(3, mean[own]))
        worst = np.maximum(errors[0], errors[1] / np.sqrt(variance[own]))
        worst = np.maximum(worst, errors[2] / variance[own])
        rough = worst > TOLERANCE * mass[own]
        # Each integral by itself: what is found for one must not depend on which others there are.
        rough &= (np.bincount(own[rough], minlength=n) <= CROWD)[own]
        if not rough.any() or turn == ROUNDS - 1:
            settled.append(panels)
            break
        fine = panels.at(~rough)
        settled.append(fine)
        sums += _sums(fine.owner, fine.powers(0, 0.0), n)
        owner, middle, half = own[rough], panels.middle[rough], panels.half[rough]
        left = np.concatenate([middle - half, middle])
        right = np.concatenate([middle, middle + half])
        owner = np.concatenate([owner, owner])
    panels = _Panels(*(np.concatenate(fields) for fields in zip(*settled, strict=True)))
    own = panels.owner
    centred = _sums(own, panels.powers(0, mean[own]), n)
    nodes = panels.middle[:, None] + panels.half[:, None] * NODES
    weights = panels.values * (KRONROD / centred[0][own, None])
    shift = centred[1] / centred[0]
    return Weights(
        own,
        nodes,
        weights,
        np.log(centred[0]),
        mean + shift,
        centred[2] / centred[0] - shift**2,
    )


def _panels(
    log_integrand: Callable[[Index, Host], Host], owner: Index, left: Host, right: Host
) -> _Panels:
    middle, half = 0.5 * (left + right), 0.5 * (right - left)
    values = log_integrand(owner, middle[:, None] + half[:, None] * NODES)
    values = np.exp(values) * half[:, None]
    # BLAS sums the last few rows of a product in another way than the others: these are of nothing.
    padded = np.zeros((len(values) + PADDED - len(values) % PADDED, NODES.size))
    padded[: len(values)] = values
    return _Panels(owner, middle, half, values, (padded @ RULES)[: len(values)])


def _sums(owner: Index, powers: tuple[Host, Host, Host], n: int) -> Host:
    return np.stack([_sum(owner, power, n) for power in powers])


def _sum(owner: Index, values: Host, n: int) -> Host:
    return np.bincount(owner, values, minlength=n).astype(np.float64, copy=False)


def concave_edges(log_integrand: Callable[[Index, Host], Host], width: Host, limit: Host) -> Host:
    """Lay the first panels of functions whose logarithms are concave and have their maximum at 0.

    On either side they end where the logarithm has fallen by `NEAR` to `FAR`: little is left
    beyond, and being concave it falls slowly enough before to be seen by the nodes.

    Parameters
    ----------
    log_integrand : callable
        As that of `integrate`.
    width : array `(n,)`
        Standard deviations that the curvatures at the maxima stand for.
    limit : array `(n,)`
        Distances at which the logarithms have certainly fallen far enough.

    Returns
    -------
    array `(n, 7)`
    """
    n = width.size
    signs = np.repeat([-1.0, 1.0], n)
    owner = np.tile(np.arange(n), 2)
    cap = np.tile(limit, 2)
    reach = np.minimum(8.5 * np.tile(width, 2), cap)
    inner, outer = np.zeros(2 * n), np.full(2 * n, np.inf)
    left = np.arange(2 * n)
    for _ in range(200):
        x = reach[left]
        fall = -log_integrand(owner[left], (signs[left] * x)[:, None])[:, 0]
        short, beyond = (fall < NEAR) & (x < cap[left]), fall > FAR
        inner[left[short]], outer[left[beyond]] = x[short], x[beyond]
        left = left[short | beyond]
        if left.size == 0:
            break
        open_end = np.isinf(outer[left])
        middle = 0.5 * (inner[left] + np.where(open_end, 0.0, outer[left]))
        reach[left] = np.where(open_end, np.minimum(2.0 * reach[left], cap[left]), middle)
    sides = reach.reshape(2, n)
    third = sides / 3.0
    # What bends sharply on one side of the maximum has not quite ended on the other.
    inmost = np.minimum(third, np.min(sides, axis=0))
    (a, b), (c, d), (e, f) = sides, third, inmost
    return np.stack([-a, -c, -e, np.zeros(n), f, d, b], axis=1)
