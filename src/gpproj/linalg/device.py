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
import numpy as np

from gpproj.linalg.arrays import Array, like, namespace, transpose

LEAF = 64
"""Size up to which the library's own factor is taken."""

_STATE = local()


@contextmanager
def hopeful() -> Iterator[None]:
    """Within it, matrices on a device that cannot be factorised are told, not mended.

    Whether one failed is then known when the host asks for it, so that nothing has to wait.
    """
    before = getattr(_STATE, "hopeful", False)
    _STATE.hopeful = True
    try:
        yield
    finally:
        _STATE.hopeful = before


def is_hopeful() -> bool:
    """Say whether failures are told rather than mended."""
    return bool(getattr(_STATE, "hopeful", False))


class Halves(NamedTuple):
    """A factor and its inverse."""

    lower: Array
    """L, `(b, n, n)`."""
    root: Array
    """`L^-1`, `(b, n, n)`."""
    failed: Array
    """`(b,)`, on the device."""


def factorise(matrix: Array) -> Halves:
    """Return factors and their inverses of torch arrays, `(b, n, n)`; nothing is raised."""
    xp = namespace(matrix)
    lower, root = xp.zeros_like(matrix), xp.zeros_like(matrix)
    failed = _into(matrix, lower, root)
    return Halves(lower, root, failed)


def can_tell(matrix: Array) -> bool:
    """Say whether the library can factorise without raising."""
    return bool(array_api_compat.is_torch_array(matrix))


def _into(A: Array, lower: Array, root: Array) -> Array:
    """Write factor and inverse of A into two arrays; return what failed."""
    n = int(A.shape[-1])
    if n <= LEAF:
        return _leaf(A, lower, root)
    h = n // 2
    failed = _into(A[:, :h, :h], lower[:, :h, :h], root[:, :h, :h])
    M11 = root[:, :h, :h]
    L21 = A[:, h:, :h] @ transpose(M11)
    lower[:, h:, :h] = L21
    failed = failed | _into(A[:, h:, h:] - L21 @ transpose(L21), lower[:, h:, h:], root[:, h:, h:])
    root[:, h:, :h] = -(root[:, h:, h:] @ L21) @ M11
    return failed


def _leaf(A: Array, lower: Array, root: Array) -> Array:
    import torch

    found, told = torch.linalg.cholesky_ex(A)
    identity = like(np.eye(A.shape[-1]), A)
    lower[...] = found
    root[...] = torch.linalg.solve_triangular(found, identity.expand(found.shape), upper=False)
    return told != 0
