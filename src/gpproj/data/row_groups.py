"""Groups of rows that a user wants left out together: visits of a patient, rows of a day."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.data.repeats import Repeats


def read_row_groups(
    labels: Any, rows: int, kept: NDArray[np.bool_] | None = None
) -> NDArray[np.intp]:
    """Return the number of each row's group, in the order in which groups appear.

    Parameters
    ----------
    labels : series, array or list `(rows,)`
        Any labels: equal ones are of one group.
    rows : int
        How many there must be.
    kept : bool array (rows given,), optional
        Which rows were not left out: labels of all rows that were given are taken too.

    Examples
    --------
    >>> read_row_groups(["ann", "bob", "ann"], 3)
    array([0, 1, 0])
    """
    import pandas as pd

    if isinstance(labels, str | bytes) or not hasattr(labels, "__len__"):
        raise TypeError(f"row_groups must be a list of labels, one a row; got {labels!r}")
    column = labels.to_numpy() if hasattr(labels, "to_numpy") else np.asarray(labels)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise ValueError(f"row_groups must be one column of labels; saw the shape {column.shape}")
    if kept is not None and column.shape[0] == kept.size:
        column = column[kept]
    if column.shape[0] != rows:
        raise ValueError(f"row_groups must be {rows} labels, one a row; saw {column.shape[0]}")
    codes, found = pd.factorize(column)
    if np.any(codes < 0):
        raise ValueError("row_groups must not be missing in any row")
    if len(found) < 2:
        raise ValueError("row_groups must be two groups at least: each is predicted from others")
    return np.asarray(codes, dtype=np.intp)


def groups_of_distinct_rows(
    labels: NDArray[np.intp] | None, repeats: Repeats | None
) -> tuple[NDArray[np.intp], ...] | None:
    """Return the rows of each group, where rows that are equal in all inputs are one.

    Groups that share such a row are one group: equal rows leave together in any case. None if every
    group is a single row.

    Parameters
    ----------
    labels : int array `(n,)`, optional
    repeats : Repeats, optional

    Examples
    --------
    >>> groups_of_distinct_rows(np.array([0, 1, 0, 2]), None)
    (array([0, 2]), array([1]), array([3]))
    """
    if labels is None:
        return None
    count = labels.size
    if repeats is not None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        # One node a distinct row and one a group; every row joins one of each.
        count = repeats.first.size
        ends = count + labels
        nodes = count + int(labels.max()) + 1
        edges = coo_array((np.ones(labels.size), (repeats.label, ends)), shape=(nodes, nodes))
        labels = connected_components(edges, directed=False)[1][:count]
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    sets = np.split(order, starts)
    return None if len(sets) == count else tuple(sets)
