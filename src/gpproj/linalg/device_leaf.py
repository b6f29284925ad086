"""The inverse of the Cholesky factor of small matrices on a device, `(b, n, n)` with n up to 64."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from threading import Lock
from typing import Any, TypeAlias

from gpproj.linalg.arrays import Array

LEAF = 64
"""Largest size."""

THREADS = 256
"""Threads for each matrix, in the kernel for GPUs; see device_leaf.cu."""

Leaf: TypeAlias = Callable[[Array, Array, Array], None]
"""Writes `L^-1` of its first argument into the lower triangle of the second, and `log|A|` into the
third, `(b,)`: not finite where there is no factor."""

_LEAVES: dict[Any, Leaf] = {}
_LOST: list[str] = []  # why GPUs have no kernel; only the first reason is said
_LOCK = Lock()


def leaf_for(matrix: Array) -> Leaf:
    """Return the fastest way where a torch array lives; warn where a GPU cannot have its kernel."""
    device = matrix.device
    with _LOCK:  # several threads must not load or compile the same at once
        reason = "" if device in _LEAVES else _choose(device)
    if reason:  # after the way is known: a warning may be an error
        warnings.warn(
            f"gpproj's CUDA kernel for factors of small blocks cannot be used on {device} "
            f"({reason}); torch's own calls take its place: results agree to rounding, but factors "
            f"of blocks of up to {LEAF} rows take about five times as long, and evaluations of "
            "small batches up to twice as long",
            RuntimeWarning,
            stacklevel=2,
        )
    return _LEAVES[device]


def _choose(device: Any) -> str:
    """Find the way of a device; return why the first GPU without its kernel has none, else "".

    Torch compiles the kernel on the spot by a function that is not part of its public interface:
    earlier versions lack it, and later ones may change it. So it has to prove itself.
    """
    A = _trial(device)
    _tried(by_library, A)  # loads what the library needs
    _LEAVES[device] = by_library
    if device.type != "cuda":
        return ""
    try:
        _LEAVES[device] = _fused(A)
    except Exception as error:  # whatever compilers and drivers may raise
        _LOST.append(f"{type(error).__name__}: {error}".splitlines()[0])
        return _LOST[0] if len(_LOST) == 1 else ""
    return ""


def by_library(A: Array, root: Array, log_det: Array) -> None:
    """Ask torch for the factor and for its inverse, of any size."""
    import torch

    lower, info = torch.linalg.cholesky_ex(A)
    identity = torch.eye(int(A.shape[-1]), dtype=A.dtype, device=A.device)
    root[...] = torch.linalg.solve_triangular(lower, identity.expand(lower.shape), upper=False)
    diagonal = torch.diagonal(lower, dim1=-2, dim2=-1)
    log_det[...] = (2.0 * diagonal.log().sum(-1)).where(info == 0, torch.nan)


def _trial(device: Any) -> Array:
    """Return a matrix that is easily factorised, `(1, LEAF, LEAF)`."""
    import torch

    return 2.0 * torch.eye(LEAF, dtype=torch.float64, device=device)[None, :, :] + 1.0


def _fused(A: Array) -> Leaf:
    """Return the kernel that does it in one step on a GPU, once it has done so for a matrix."""
    import torch

    source = (files("gpproj.linalg") / "device_leaf.cu").read_text(encoding="utf-8")
    compiled = getattr(torch.cuda, "_compile_kernel", None)
    if compiled is None:
        raise NotImplementedError(f"torch {torch.__version__} has no torch.cuda._compile_kernel")
    with torch.cuda.device(A.device):
        leaf = partial(by_kernel, compiled(source, "factor_and_invert"))
    for found, right in zip(_tried(leaf, A), _tried(by_library, A), strict=True):
        if not torch.allclose(found, right, rtol=1e-12, atol=1e-12):
            raise ArithmeticError("it does not agree with torch on the factor of a test matrix")
    return leaf


def _tried(leaf: Leaf, A: Array) -> tuple[Array, Array]:
    """Return `L^-1` and `log|A|` by one of the ways."""
    root, log_det = A.new_zeros(A.shape), A.new_zeros((len(A),))
    leaf(A, root, log_det)
    return root, log_det


def by_kernel(kernel: Any, A: Array, root: Array, log_det: Array) -> None:
    """Write the same by the kernel of device_leaf.cu, for sizes up to LEAF."""
    import torch

    lanes, n, _ = A.shape
    strides = (*A.stride(), *root.stride(), *log_det.stride())
    with torch.cuda.device(A.device):
        kernel((lanes, 1, 1), (THREADS, 1, 1), [A, root, log_det, n, *strides])
