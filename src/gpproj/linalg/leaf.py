"""The inverse of the Cholesky factor of small matrices on a device, `(b, n, n)` with n up to 64."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.resources import files
from threading import Lock
from typing import Any, TypeAlias

from gpproj.linalg.arrays import Array

LEAF = 64
"""Largest size."""

THREADS = 256
"""For each matrix, in the kernel for GPUs; see leaf.cu."""

Leaf: TypeAlias = Callable[[Array, Array, Array], None]
"""Writes `L^-1` of its first argument into the lower triangle of the second, and `log|A|` into the
third, `(b,)`: not finite where there is no factor."""

_LEAVES: dict[Any, Leaf] = {}
_LOCK = Lock()


def leaf_for(matrix: Array) -> Leaf:
    """Return the fastest way where a torch array lives."""
    device = matrix.device
    with _LOCK:  # several threads must not load or compile the same at once
        if device not in _LEAVES:
            _LEAVES[device] = _fused(device) or by_library
    return _LEAVES[device]


def by_library(A: Array, root: Array, log_det: Array) -> None:
    """Ask torch for the factor and for its inverse, of any size."""
    import torch

    lower, told = torch.linalg.cholesky_ex(A)
    identity = torch.eye(int(A.shape[-1]), dtype=A.dtype, device=A.device)
    root[...] = torch.linalg.solve_triangular(lower, identity.expand(lower.shape), upper=False)
    diagonal = torch.diagonal(lower, dim1=-2, dim2=-1)
    log_det[...] = (2.0 * diagonal.log().sum(-1)).where(told == 0, torch.nan)


def _fused(device: Any) -> Leaf | None:
    """Return the kernel that does it in one step on a GPU; None where it cannot be had.

    Torch compiles it on the spot by a function that is not part of its public interface, and that
    earlier versions lack. So it has to prove itself.
    """
    import torch

    A = 2.0 * torch.eye(LEAF, dtype=torch.float64, device=device)[None, :, :] + 1.0
    expected, root, log_det = torch.zeros_like(A), torch.zeros_like(A), A.new_empty((1,))
    by_library(A, expected, log_det)  # also loads what the library needs
    if device.type != "cuda":
        return None
    try:
        source = (files("gpproj.linalg") / "leaf.cu").read_text(encoding="utf-8")
        with torch.cuda.device(device):
            kernel = torch.cuda._compile_kernel(source, "factor_and_invert")
        by_kernel(kernel, A, root, log_det)
        works = torch.allclose(root, expected, rtol=1e-12, atol=1e-12)
    except Exception:  # whatever compilers and drivers may raise
        return None
    return partial(by_kernel, kernel) if works else None


def by_kernel(kernel: Any, A: Array, root: Array, log_det: Array) -> None:
    """Do the same by leaf.cu, for sizes up to LEAF."""
    import torch

    lanes, n, _ = A.shape
    strides = (*A.stride(), *root.stride(), *log_det.stride())
    with torch.cuda.device(A.device):
        kernel((lanes, 1, 1), (THREADS, 1, 1), [A, root, log_det, n, *strides])
