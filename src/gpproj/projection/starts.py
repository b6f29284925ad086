"""Where the optimisation of a submodel starts.

Every valley that a start misses is missed for good, so starts differ in what they take for granted:
the reference's own values, a smooth function, one input that acts fast; each with an extra variance
that is large, small or nothing. None is chosen by its first value, which always favours smooth
kernels with a large extra variance: lanes run before they are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host
from gpproj.projection.family import Family

SLOW = 3.0
"""Length-scale over sqrt(k), in units of the data, of one of k inputs that hardly acts."""

FAST, FASTER = 0.2, 0.07
"""Length-scales of an input that acts fast, in units of the data."""

UNEXPLAINED = 0.1
"""What the loss of an input may leave unexplained, as a share of what the reference explains."""

LOOKED_AT = 6
"""Inputs of a submodel that are looked at one by one, as if they acted fast."""


class Starts(NamedTuple):
    """Points to start from."""

    parameters: Host
    """`(s, p)`."""
    active: NDArray[np.bool_]
    """The inputs that each one uses, `(s, d)`."""

    def plus(self, *others: Starts) -> Starts:
        """Return these and other starts."""
        every = (self, *others)
        return Starts(
            np.concatenate([one.parameters for one in every]),
            np.concatenate([one.active for one in every]),
        )


def starts_at(points: Sequence[Host], mask: NDArray[np.bool_]) -> Starts:
    """Return starts that use all inputs that are in."""
    return Starts(np.stack(points), np.tile(mask, (len(points), 1)))


def usual_starts(family: Family, mask: NDArray[np.bool_]) -> Starts:
    """Return starts for a set of inputs `(d,)` about which nothing else is known."""
    share, root = family.share(mask), float(np.sqrt(max(int(mask.sum()), 1)))
    smooth = [
        family.at(family.smooth(root, 1.0), share),
        family.at(family.smooth(root, 1.0), 0.1 * share),
        family.at(family.smooth(0.3 * root, 1.0), 0.01 * family.signal),
        family.at(family.smooth(root, 0.3), 0.9 * family.signal),
        family.at(family.smooth(2.0 * root, 10.0), 0.3 * share),
        family.at(family.smooth(4.0 * root, 100.0), 0.1 * share),
    ]
    found = starts_at(smooth, mask)
    if family.known is None:
        return found
    own = mask & family.used
    found = found.plus(reference_starts(family, mask, (1.0, 0.1, 0.01)))
    if not own.any():
        return found
    # The reference itself, as far as it goes.
    return found.plus(Starts(family.at(family.known, 0.0)[None, :], own[None, :]))


def few_starts(family: Family, mask: NDArray[np.bool_]) -> Starts:
    """Return the most different of the usual starts, for candidates of which there are many."""
    share, root = family.share(mask), float(np.sqrt(max(int(mask.sum()), 1)))
    smooth = [
        family.at(family.smooth(root, 1.0), share),
        family.at(family.smooth(0.3 * root, 1.0), 0.01 * family.signal),
        family.at(family.smooth(2.0 * root, 10.0), 0.3 * share),
    ]
    found = starts_at(smooth, mask)
    if family.known is None:
        return found
    return found.plus(reference_starts(family, mask, (0.5, 0.05)))


def fast_starts(family: Family, mask: NDArray[np.bool_]) -> Starts:
    """Return starts where one input after the other acts fast.

    The others hardly act, or as in the reference.
    """
    root, share = float(np.sqrt(max(int(mask.sum()), 1))), family.share(mask)
    bases = [(family.smooth(SLOW * root, 1.0), FAST)]
    if family.known is not None:
        bases.append((known_values(family, mask), FASTER))
    points = [
        family.at(family.with_lengthscale(values, position, lengthscale), 0.1 * share)
        for values, lengthscale in bases
        for position in _fastest(family, mask)
    ]
    return starts_at(points, mask)


def _fastest(family: Family, mask: NDArray[np.bool_]) -> list[int]:
    """Return the inputs to look at: all of a few, else those that act fastest in the reference."""
    positions = np.flatnonzero(mask)
    if positions.size > LOOKED_AT and family.known is not None:
        scale = family.known_scales[positions] - np.log(family.units.inputs[positions])
        positions = positions[np.argsort(scale, kind="stable")[:LOOKED_AT]]
    return [int(position) for position in np.sort(positions[:LOOKED_AT])]


def scattered_starts(family: Family, mask: NDArray[np.bool_], count: int, first: int = 0) -> Starts:
    """Return points that fill the box of plausible values evenly, to check an optimum with.

    The fractional parts of multiples of irrational numbers: even in any dimension, and the same
    every time.

    Parameters
    ----------
    mask : bool array `(d,)`
    count : int
        Number of points.
    first : int
        Number of points to pass over.
    """
    moving = np.isin(family.owner[:-1], [-1, *np.flatnonzero(mask)])
    dimension = int(moving.sum()) + 1
    # The root of x^(d + 1) = x + 1: its powers are as far from fractions as numbers can be.
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (dimension + 1.0))
    steps = root ** -np.arange(1.0, dimension + 1.0)
    places = (0.5 + np.outer(np.arange(first + 1, first + count + 1), steps)) % 1.0
    extras = (1e-3 * family.signal, 1.5 * family.signal)
    lower, upper = (family.at(*ends) for ends in zip(family.plausible, extras, strict=True))
    points = np.tile(lower, (count, 1))
    own = np.append(moving, True)
    points[:, own] += places * (upper - lower)[own]
    return Starts(points, np.tile(mask, (count, 1)))


def reference_starts(
    family: Family, mask: NDArray[np.bool_], shares: Sequence[float] = (0.2,)
) -> Starts:
    """Return starts at the reference's own values, with several extra variances.

    An input that the reference does not use starts as one that hardly acts.

    Parameters
    ----------
    mask : bool array `(d,)`
    shares : sequence of float
        Extra variances, over what they would be if all inputs explained alike.
    """
    assert family.known is not None  # whoever asks has seen that
    values, share = known_values(family, mask), family.share(mask)
    return starts_at([family.at(values, factor * share) for factor in shares], mask)


def known_values(family: Family, mask: NDArray[np.bool_]) -> Host:
    """Return the reference's values; what it has no use for hardly acts, `(p - 1,)`."""
    assert family.known is not None
    root = float(np.sqrt(max(int(mask.sum()), 1)))
    unused = np.isin(family.owner[:-1], np.flatnonzero(~family.used))
    return np.where(unused, family.smooth(SLOW * root, 1.0), family.known)


def from_known(
    family: Family, parameters: Host, old: NDArray[np.bool_], new: NDArray[np.bool_]
) -> Starts:
    """Return starts that add inputs to a submodel, or leave some out.

    New inputs enter with the reference's length-scales, where it has them, and slowly. They never
    enter with relevance zero, which is stationary. What inputs explained that leave may have to go
    into the extra variance, which a valley with little of it would never show.

    Parameters
    ----------
    parameters : array `(p,)`
        Parameters of the submodel with the inputs `old`.
    old, new : bool arrays `(d,)`
    """
    points = [parameters]
    if np.any(old & ~new):
        unexplained = UNEXPLAINED * family.signal
        if unexplained > np.exp(parameters[-1]):
            points.append(family.at(parameters[:-1], unexplained))
    own = np.isin(family.owner, np.flatnonzero(new & ~old))
    if own.any():
        root = float(np.sqrt(max(int(new.sum()), 1)))
        sources = [family.smooth(SLOW * root, 1.0)]
        if family.known is not None:
            sources.append(known_values(family, new))
        entering = [np.append(values, 0.0) for values in sources]
        points = [np.where(own, values, point) for point in points for values in entering]
    return starts_at(points, new)
