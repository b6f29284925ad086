"""Where inducing points are put: rows of the data chosen one by one, or centres of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.linalg import Array, Host, like, namespace, to_host

Selection = Literal["greedy", "kmeans"]

POOL = 4000
"""Rows, evenly spread over the data, that inducing points are chosen from."""

ENOUGH = 1e-6
"""Share of the largest prior variance that inducing points may leave: no more are chosen then."""

BATCH = 256
"""Submodels whose points are chosen at once on a device, in a gigabyte."""

GREEDY = 128
"""Points of a submodel that are chosen one by one: candidates are many, and later points matter
less."""


def shortened(kernel: Kernel, mask: NDArray[np.bool_]) -> Kernel:
    """Return the kernel with half its length-scales, and none much longer than the data.

    Submodels may need shorter ones than the reference, and an input that it hardly used has a long
    one: points chosen by that would all have the same value of it.
    """
    d = int(mask.size)
    longest = np.log(2.0 * np.sqrt(max(int(mask.sum()), 1)))
    logs = kernel.log_parameters(d).copy()
    for place, parameter in enumerate(kernel.parameters(d)):
        if parameter.kind.is_scale:
            logs[place] = min(logs[place], longest) - np.log(2.0)
    return kernel.with_log_parameters(logs, d)


def choose_points(
    selection: Selection,
    kernel: Kernel,
    X: Array,
    mask: NDArray[np.bool_],
    count: int,
    first: int | None = None,
) -> Array:
    """Return inducing points for a kernel on some inputs, `(m, d)`.

    Parameters
    ----------
    selection : {"greedy", "kmeans"}
    kernel : Kernel
    X : array `(n, d)`
    mask : bool array `(d,)`
    count : int
    first : int, optional
        How many of them are chosen one by one; the others are spread evenly over the rows. Fewer
        than `count` come back where those that were chosen are enough.
    """
    pool = to_host(candidate_rows(X))
    count = min(count, len(pool))
    if selection == "kmeans":
        return like(_centres(pool, mask, count), X)
    wanted = count if first is None else min(count, first)
    rows = greedy(kernel, pool, mask, wanted)
    return like(pool[completed(rows, wanted, count, len(pool))], X)


def candidate_rows(X: Array) -> Array:
    """Return the rows that points are chosen from."""
    n = int(X.shape[0])
    return X if n <= POOL else take_rows(X, np.linspace(0, n - 1, POOL).astype(np.intp))


def take_rows(X: Array, rows: NDArray[np.intp]) -> Array:
    """Return some rows of an array of any library."""
    xp = namespace(X)
    return xp.take(X, xp.asarray(rows, device=X.device), axis=0)


def completed(rows: NDArray[np.intp], wanted: int, count: int, n: int) -> NDArray[np.intp]:
    """Return rows with others, spread evenly, up to a count; as they are if they are enough."""
    if not len(rows) == wanted < count:
        return rows
    others = np.setdiff1d(np.arange(n), rows)
    spread = np.linspace(0, len(others) - 1, count - len(rows)).astype(np.intp)
    return np.concatenate([rows, others[spread]])


def greedy(
    kernel: Kernel, X: Host, mask: NDArray[np.bool_], count: int, enough: float | None = None
) -> NDArray[np.intp]:
    """Return rows, each the one where those before it leave most variance.

    These are the pivots of a pivoted Cholesky factor of the covariance: O(n m^2). Fewer rows than
    asked for where they leave next to nothing.

    Parameters
    ----------
    kernel : Kernel
    X : array `(n, d)`
    mask : bool array `(d,)`
    count : int
    enough : float, optional
        The variance that they may leave; next to nothing when left out.

    Examples
    --------
    >>> from gpproj.kernels import SquaredExponential
    >>> X = np.array([[0.0], [0.1], [3.0], [5.9], [6.0]])
    >>> greedy(SquaredExponential(1.0, 2.0), X, np.array([True]), 3).tolist()
    [0, 4, 2]
    """
    n, d = X.shape
    theta, mask = kernel.log_parameters(d)[None, :], mask[None, :]
    left = np.array(kernel.diagonal(theta, X, mask)[0])
    enough = ENOUGH * float(left.max()) if enough is None else enough
    factor = np.zeros((count, n))
    rows: list[int] = []
    while len(rows) < count:
        k, row = len(rows), int(np.argmax(left))
        if k and left[row] <= enough:
            break
        rows.append(row)
        if left[row] <= 0.0:  # no function at all
            break
        column = kernel.cross(theta, X[row : row + 1], X, mask)[0, 0]
        factor[k] = (column - factor[:k, row] @ factor[:k]) / np.sqrt(left[row])
        left = np.maximum(left - factor[k] ** 2, 0.0)
        left[row] = 0.0
    return np.array(rows, dtype=np.intp)


def greedy_batch(
    kernels: Sequence[Kernel], X: Array, masks: NDArray[np.bool_], count: int
) -> list[NDArray[np.intp]]:
    """Choose rows as `greedy` does for `c` kernels of one structure, in one batch on a device.

    Parameters
    ----------
    kernels : sequence of Kernel
    X : array `(n, d)`
    masks : bool array `(c, d)`
    count : int
    """
    xp, (n, d), first = namespace(X), (int(size) for size in X.shape), kernels[0]
    theta = like(np.stack([kernel.log_parameters(d) for kernel in kernels]), X)
    mask = xp.asarray(masks, device=X.device)
    places = xp.arange(n, device=X.device)[None, :]
    left = first.diagonal(theta, X, mask)
    enough = ENOUGH * xp.max(left, axis=1)
    alive = enough == enough
    factor = xp.zeros((len(kernels), count, n), dtype=X.dtype, device=X.device)
    rows, taken = [], []
    for k in range(count):
        row = xp.argmax(left, axis=1)
        here = xp.astype(places == row[:, None], X.dtype)
        most = xp.sum(left * here, axis=1)
        alive = alive & (most > enough) if k else alive
        rows.append(row)
        taken.append(alive)
        alive = alive & (most > 0.0)
        column = first.cross(theta, xp.take(X, row, axis=0)[:, None, :], X, mask)[:, 0, :]
        before = factor[:, :k, :]
        known = (xp.matrix_transpose(before @ here[:, :, None]) @ before)[:, 0, :]
        scale = xp.sqrt(xp.where(alive, most, xp.ones_like(most)))[:, None]
        own = xp.where(alive[:, None], (column - known) / scale, xp.zeros_like(column))
        factor[:, k, :] = own
        left = xp.maximum(left - own**2, xp.zeros_like(left)) * (1.0 - here)
    every = to_host(xp.stack(rows, axis=1)).astype(np.intp)
    some = to_host(xp.stack(taken, axis=1)) > 0.0
    return [own[these] for own, these in zip(every, some, strict=True)]


def _centres(X: Host, mask: NDArray[np.bool_], count: int) -> Host:
    from sklearn.cluster import MiniBatchKMeans

    columns = np.flatnonzero(mask)
    points = np.broadcast_to(X.mean(axis=0), (count, X.shape[1])).copy()
    if columns.size:
        distinct = min(count, len(np.unique(X[:, columns], axis=0)))
        means = MiniBatchKMeans(distinct, n_init=3, random_state=0).fit(X[:, columns])
        points[:, columns] = means.cluster_centers_[np.arange(count) % distinct]
    return points
