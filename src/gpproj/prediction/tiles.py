"""New rows in tiles of a fixed size, so that the prediction of each depends on itself alone.

BLAS computes a product in tiles that its registers hold, and what is left over at the edges in
other ways, which round differently. Products with new rows therefore have whole tiles only: rows
are padded to a multiple of `TILE`, which is a multiple of the widths in use (4, 6, 8, 12, 16, 24).
Full tiles sum over the same numbers in the same order wherever they are. BLAS has one thread
meanwhile, since threads would have edges of their own; blocks of rows are shared among as many
threads instead. Products of a single vector go another way in every BLAS, hence never through it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from gpproj.linalg import Array, blas_threads, is_numpy, namespace, one_blas_thread

TILE = 48
"""Rows of a tile: no product is slower for it, and a single row waits for few others."""

ROWS = 20 * TILE
"""New rows handled at a time: bounds the memory of a prediction by `ROWS n` numbers."""

FARTHEST = 1e60
"""How far from zero new rows are told apart, on the model's scale: beyond, squares of squares would
overflow, and no covariance of a distance is left long before."""

Predicted: TypeAlias = tuple[Array, ...]


def by_tiles(function: Callable[[Array], Predicted], X_new: Array) -> Predicted:
    """Return what a function computes of new rows, `(m, ...)` each, in blocks of whole tiles.

    Parameters
    ----------
    function : callable
        From `(r, d)` to a tuple of arrays `(r, ...)`, where r is a multiple of `TILE`.
    X_new : array `(m, d)`

    Examples
    --------
    >>> by_tiles(lambda rows: (rows[:, 0], 0.0 * rows[:, 0] + len(rows)), np.ones((2, 1)))
    (array([1., 1.]), array([48., 48.]))
    """
    m = int(X_new.shape[0])
    padded = whole_tiles(X_new)
    r = int(padded.shape[0])
    blocks = [padded[start : min(start + ROWS, r), :] for start in range(0, r, ROWS)]
    threads = min(blas_threads(), len(blocks)) if is_numpy(X_new) else 1
    with one_blas_thread():
        if threads == 1:
            found = [function(block) for block in blocks]
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(threads) as pool:
                found = list(pool.map(function, blocks))
    if len(found) == 1:
        return tuple(part[:m, ...] for part in found[0])
    xp = namespace(X_new)
    return tuple(xp.concat(parts)[:m, ...] for parts in zip(*found, strict=True))


def whole_tiles(X_new: Array) -> Array:
    """Return rows, then copies of the first, `(r, d)`, so that r is a multiple of `TILE`."""
    m, xp = int(X_new.shape[0]), namespace(X_new)
    X_new = near(X_new)
    if is_numpy(X_new):  # the order of sums follows the layout in memory
        X_new = np.ascontiguousarray(X_new)
    missing = -m % TILE if m else TILE
    if not missing:
        return X_new
    shape = (missing, int(X_new.shape[1]))
    if m:
        return xp.concat([X_new, xp.broadcast_to(X_new[:1, :], shape)])
    return xp.zeros(shape, dtype=X_new.dtype, device=X_new.device)


def near(X_new: Array) -> Array:
    """Return rows of which those that are too far are brought as near as squares are finite."""
    return namespace(X_new).clip(X_new, -FARTHEST, FARTHEST)


def squared_norms(k: Array, root: Array) -> Array:
    """Return `|root k_i|^2` of the rows of k, `(r, n)`, `(r,)`."""
    product = k @ root.T
    if is_numpy(product):
        return np.einsum("ij,ij->i", product, product)
    return namespace(product).sum(product**2, axis=1)


def weighted(k: Array, weights: Array) -> Array:
    """Return `k weights` for rows k, `(r, n)`, each summed by itself, `(r,)`."""
    return np.einsum("ij,j->i", k, weights) if is_numpy(k) else k @ weights
