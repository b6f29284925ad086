"""Rows that are equal in all inputs: they leave together when one of them is predicted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpproj.data.scaling import taken
from gpproj.linalg import Array, Host, like, to_host


@dataclass(frozen=True, eq=False)
class Repeats:
    """Which rows share their inputs with others.

    Leaving out one of two equal rows says nothing: a model that interpolates predicts it from the
    other. So such rows are merged into one, which stands where the first of them stood.
    """

    first: NDArray[np.intp]
    """`(u,)`: the first row of each set of equal rows, in increasing order."""
    label: NDArray[np.intp]
    """`(n,)`: the set that each row belongs to."""

    @property
    def count(self) -> Host:
        """How many rows each set has, `(u,)`."""
        count: Host = np.bincount(self.label, minlength=self.first.size).astype(np.float64)
        return count

    def distinct(self, values: Array) -> Array:
        """Return the values at the first row of each set, `(u, ...)` of `(n, ...)`."""
        return taken(values, self.first)

    def total(self, values: Array) -> Array:
        """Return the sums over each set, `(u,)` of `(n,)`."""
        sums: Host = np.asarray(
            np.bincount(self.label, to_host(values), minlength=self.first.size), dtype=np.float64
        )
        return like(sums, values) if hasattr(values, "device") else sums


BY_CHANCE, NEARLY_ALL = 0.5, 0.95
"""Values of the target over distinct rows below which targets may be equal by chance, and the share
of repeated rows that have equal targets above which they are copies all the same."""


def copies_of(X: Array, y: Host) -> NDArray[np.intp] | None:
    """Return for each row of numbers the first row with its inputs and its target, `(n,)`.

    Whole numbers are equal by chance: there rows are copies only if nearly all rows that share
    their inputs share their target.

    Returns
    -------
    int array `(n,)` or None
        None if no row is a copy of another.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0], [1.0, 2.0]])
    >>> copies_of(X, np.array([0.5, 0.7, 0.5, 0.6]))
    array([0, 1, 0, 3])
    """
    repeats = repeats_of(X)
    if repeats is None:
        return None
    pairs = np.column_stack([repeats.label, np.unique(y, return_inverse=True)[1]])
    _, first, label, count = np.unique(
        pairs, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    label = label.reshape(-1)
    copied, several = count[label] > 1, repeats.count[repeats.label] > 1.0
    chance = np.unique(y).size < BY_CHANCE * first.size
    if not copied.any() or (chance and copied.sum() <= NEARLY_ALL * several.sum()):
        return None
    found: NDArray[np.intp] = first[label]
    return found


def repeats_of(X: Array) -> Repeats | None:
    """Return which rows of `X`, `(n, d)`, are equal; None if no two are, or if there are no inputs.

    Examples
    --------
    >>> repeats = repeats_of(np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0]]))
    >>> repeats.first, repeats.label
    (array([0, 1]), array([0, 1, 0]))
    >>> repeats_of(np.eye(3)) is None
    True
    """
    rows = to_host(X)
    if not rows.shape[1]:
        return None
    _, first, label = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if first.size == len(rows):
        return None
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return Repeats(first[order], rank[label.reshape(-1)])
