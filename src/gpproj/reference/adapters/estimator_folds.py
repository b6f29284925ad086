"""Folds that an estimator is trained in: every row is predicted by a model that has not seen it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpproj.data.repeats import repeats_of
from gpproj.data.row_groups import groups_of_distinct_rows
from gpproj.linalg import Host


def rows_together(X: Host, groups: NDArray[np.intp] | None) -> NDArray[np.intp]:
    """Return a number for each row: that of the rows which are to be in one fold."""
    repeats = repeats_of(X)
    distinct = np.arange(len(X)) if repeats is None else repeats.label
    label = np.arange(int(distinct.max()) + 1)
    for number, rows in enumerate(groups_of_distinct_rows(groups, repeats) or ()):
        label[rows] = number
    return np.asarray(label[distinct], dtype=np.intp)


def fold_of_rows(
    together: NDArray[np.intp], strata: Host | None, folds: int, seed: int
) -> NDArray[np.intp]:
    """Return the fold of each row: groups are dealt out in turn, large ones first.

    Classes are dealt out one after the other, so that every fold has its share of each, and one
    with members in two groups is in the training rows of all folds.

    Parameters
    ----------
    together : int array `(n,)`
    strata : array `(n,)`, optional
        Classes 0 and 1.
    folds : int
    seed : int
    """
    _, label = np.unique(together, return_inverse=True)
    size = np.bincount(label)
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer):
        raise TypeError(f"folds must be a whole number, got {folds!r}")
    if not 2 <= folds <= size.size:
        raise ValueError(
            f"folds must be from 2 to {size.size}, the number of rows or groups that differ; "
            f"got {folds}"
        )
    share = np.zeros(size.size) if strata is None else np.bincount(label, strata) / size
    shuffled = np.random.default_rng(seed).permutation(size.size)
    order = shuffled[np.lexsort((-size[shuffled], share[shuffled]))]
    place = np.empty(size.size, dtype=np.intp)
    place[order] = np.arange(size.size) % folds
    found: NDArray[np.intp] = place[label]
    if strata is not None:
        for number in range(folds):
            if np.ptp(strata[found != number]) == 0.0:
                raise ValueError(
                    "y must have each class in two groups of rows at least: one of them is "
                    "predicted from the others"
                )
    return found
