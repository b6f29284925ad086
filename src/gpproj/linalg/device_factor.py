"""Cholesky factors and their inverses for batches on a device, by halves.

With A = [[A11, .], [A21, A22]], M11 = L11^-1 and the factor L22 of A22 - L21 L21':

    L21 = A21 M11',   M21 = -M22 L21 M11

so that nearly all work is products of matrices, the fastest thing that a device does. Calls of its
libraries for whole factors and triangular solutions reach a fraction of that speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from typing import NamedTuple

import array_api_compat

from gpproj.linalg.arrays import Array, namespace, transpose
from gpproj.linalg.device_leaf import LEAF, Leaf, by_library, leaf_for

FEW, WHOLE = 4, 1024
"""Matrices, and their size, up to which the library's own factor is taken unless
failures are deferred: launching the many steps of halves takes longer than they do, unless they are
recorded."""

_STATE = local()


@contextmanager
def deferred_failures() -> Iterator[None]:
    """Within the block, matrices on a device that cannot be factorised are flagged, not mended.

    The host learns whether one failed when it reads the flag, so that nothing has to wait.
    """
    before = getattr(_STATE, "deferred", False)
    _STATE.deferred = True
    try:
        yield
    finally:
        _STATE.deferred = before


def defers_failures() -> bool:
    """Say whether failures are flagged rather than mended."""
    return bool(getattr(_STATE, "deferred", False))


class Halves(NamedTuple):
    """The inverse of a factor."""

    root: Array
    """`L^-1`, `(b, n, n)`."""
    log_det: Array
    """`log|A|`, `(b,)`."""
    failed: Array
    """`(b,)`, on the device."""


def factorise(matrix: Array, *, overwrite: bool = False) -> Halves:
    """Return inverses of the factors of torch arrays, `(b, n, n)`; nothing is raised.

    With `overwrite` the matrices are spent.
    """
    import torch

    root = namespace(matrix).zeros_like(matrix)
    lanes, n = int(matrix.shape[0]), int(matrix.shape[1])
    logs = torch.empty((lanes, _leaves(n)), dtype=matrix.dtype, device=matrix.device)
    leaf = leaf_for(matrix)
    if lanes <= FEW and n <= WHOLE and not defers_failures():
        logs = logs[:, :1]
        by_library(matrix, root, logs[:, 0])
    else:
        _into(matrix, root, logs, leaf, overwrite)
    log_det = logs.sum(1)
    return Halves(root, log_det, ~log_det.isfinite())


def is_torch(matrix: Array) -> bool:
    """Say whether an array is one of torch, which can factorise without raising."""
    return bool(array_api_compat.is_torch_array(matrix))


def _into(A: Array, root: Array, logs: Array, leaf: Leaf, overwrite: bool) -> None:
    """Write the inverse of the factor of A into an array, and `log|A|` of its leaves beside."""
    n = int(A.shape[-1])
    if n <= LEAF:
        leaf(A, root, logs[:, 0])
        return
    h = _half(n)
    leaves = h // LEAF
    M11, rest = root[:, :h, :h], A[:, h:, h:]
    _into(A[:, :h, :h], M11, logs[:, :leaves], leaf, overwrite)
    L21 = A[:, h:, :h] @ transpose(M11)
    if overwrite:
        minus_product(rest, L21, transpose(L21))
    else:
        rest = rest - L21 @ transpose(L21)
    _into(rest, root[:, h:, h:], logs[:, leaves:], leaf, True)
    into_product(root[:, h:, :h], root[:, h:, h:] @ L21, M11, -1.0)


def _leaves(n: int) -> int:
    """Return how many leaves a matrix has: all but the last are as large as can be."""
    return -(-n // LEAF)


def _half(n: int) -> int:
    """Return where a matrix is cut in two: between leaves, or not at all."""
    return _leaves(n) // 2 * LEAF


def into_product(part: Array, left: Array, right: Array, factor: float = 1.0) -> None:
    """Write `factor left right` into a part of a torch array in one pass."""
    import torch

    torch.baddbmm(part, left, right, beta=0.0, alpha=factor, out=part)


def squared(root: Array) -> Array:
    """Return `M'M` for lower triangular M of torch arrays, in half the work of a plain product.

    With M = [[M11, 0], [M21, M22]] it is [[M11'M11 + M21'M21, M21'M22], [., M22'M22]].
    """
    import torch

    n = int(root.shape[-1])
    h = _half(n)
    if n <= 2 * LEAF:
        return transpose(root) @ root
    square = torch.empty_like(root)
    M11, M21, M22 = root[:, :h, :h], root[:, h:, :h], root[:, h:, h:]
    into_product(square[:, :h, :h], transpose(M11), M11)
    square[:, :h, :h].baddbmm_(transpose(M21), M21)
    into_product(square[:, h:, :h], transpose(M22), M21)
    into_product(square[:, h:, h:], transpose(M22), M22)
    square[:, :h, h:] = transpose(square[:, h:, :h])
    return square


def times_lower(matrix: Array, lower: Array) -> Array:
    """Return `A L` for lower triangular L of torch arrays, without half of its zeros."""
    import torch

    n = int(matrix.shape[-1])
    h = _half(n)
    if h == 0:
        return matrix @ lower
    product = torch.empty(matrix.shape, dtype=matrix.dtype, device=matrix.device)
    if lower.ndim == 3:
        into_product(product[:, :, :h], matrix, lower[:, :, :h])
        into_product(product[:, :, h:], matrix[:, :, h:], lower[:, h:, h:])
    else:  # the same for all: their rows make one tall matrix
        rows, into = matrix.reshape(-1, n), product.view(-1, n)
        into[:, :h] = rows @ lower[:, :h]
        into[:, h:] = rows[:, h:] @ lower[h:, h:]
    return product


def assemble(matrix: Array, scale: Array | None, into: Array) -> None:
    """Write `matrix * scale` into another torch array in one pass."""
    import torch

    if scale is None:
        into[...] = matrix
    else:
        torch.mul(matrix, scale, out=into)


def minus_scaled(matrix: Array, other: Array, scale: Array) -> Array:
    """Return `A - B * scale` of torch arrays in one pass, reusing the memory of `A`."""
    return matrix.addcmul_(other, scale, value=-1.0)


def minus_product(matrix: Array, left: Array, right: Array) -> Array:
    """Return `A - left right` of torch arrays in one pass, reusing the memory of `A`."""
    return matrix.baddbmm_(left, right, alpha=-1.0)
