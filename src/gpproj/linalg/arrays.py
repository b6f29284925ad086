"""Array namespaces: which library an array belongs to, and the few calls that differ."""

from __future__ import annotations

from typing import Any, TypeAlias

import array_api_compat
import array_api_compat.numpy
import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = Any
"""An array of any array-API library (NumPy, torch, CuPy, array-api-strict)."""

Host: TypeAlias = NDArray[np.float64]
"""A double-precision NumPy array: parameters, gradients, tables."""

# glibc gives freed matrices back to the system, and faulting their pages in again costs several
# times what is computed on them (20 times at n = 400 on a virtual machine). Its thresholds follow
# the largest block freed so far, up to 32 MiB: one such block, never touched, keeps them in reach.
np.empty(4_000_000)


def namespace(*arrays: Array) -> Any:
    """Return the array-API namespace that `arrays` share."""
    if len(arrays) == 1 and type(arrays[0]) is np.ndarray:
        return array_api_compat.numpy  # the same result as below, in a thirtieth of the time
    return array_api_compat.array_namespace(*arrays)


def is_numpy(array: Array) -> bool:
    """Say whether `array` takes the LAPACK path."""
    return isinstance(array, np.ndarray)


def like(values: Any, array: Array) -> Array:
    """Return `values` as a double-precision array in the library and on the device of `array`."""
    if is_numpy(array):
        return np.asarray(values, dtype=np.float64)
    xp = namespace(array)
    return xp.asarray(values, dtype=xp.float64, device=array_api_compat.device(array))


def on_device(values: Array, name: str) -> Array:
    """Return an array in double precision on a device of torch, such as "cuda" or "cpu"."""
    try:
        import torch
    except ImportError:
        raise ImportError('device needs torch: pip install "gpproj[gpu]"') from None
    try:
        return torch.asarray(np.array(to_host(values)), dtype=torch.float64, device=name)
    # What torch raises for names that mean nothing, and for devices that it or the machine lacks.
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device: {name!r} cannot be used here ({reason})") from None


SHARE = 256
"""Bytes of a device's memory for each number in the largest arrays of a batch: an evaluation has
some ten such arrays at a time, and recordings of smaller batches keep as many."""

UNKNOWN = 2**33
"""Bytes taken for the memory of devices that do not tell, and of processors."""


def room_for(array: Array) -> int:
    """Return how many numbers the largest arrays of a batch may have where an array lives."""
    total = UNKNOWN
    if array_api_compat.is_torch_array(array) and array.device.type == "cuda":
        import torch

        total = torch.cuda.get_device_properties(array.device).total_memory
    elif array_api_compat.is_cupy_array(array):
        total = array.device.mem_info[1]
    return int(total) // SHARE


def to_host(array: Array) -> Host:
    """Return `array` as a NumPy array, copied from its device where it lives on one."""
    if is_numpy(array):
        pass
    elif array_api_compat.is_torch_array(array):
        array = array.detach().cpu()
    elif array_api_compat.is_cupy_array(array):
        array = array.get()
    return np.asarray(array, dtype=np.float64)


def transpose(matrix: Array) -> Array:
    """Return the batch of transposed matrices `(b, m, n)` of a batch `(b, n, m)`."""
    if is_numpy(matrix):
        return matrix.swapaxes(-2, -1)
    return namespace(matrix).linalg.matrix_transpose(matrix)


def exponential(values: Array) -> Array:
    """Return `exp(values)` in their own library: parameters may be on the host or on a device."""
    return np.exp(values) if is_numpy(values) else namespace(values).exp(values)


def masked(mask: Array, values: Array) -> Array:
    """Return values that are zero where the mask is not set."""
    if is_numpy(values):
        return np.where(mask, values, 0.0)
    xp = namespace(values)
    return xp.where(mask, values, xp.zeros_like(values))


def exp_in_place(array: Array) -> Array:
    """Return `exp(array)`, reusing its memory where the library can.

    The array-API standard has no output argument; at n = 400 a fresh matrix costs as much as the
    exponential itself.
    """
    if is_numpy(array):
        return np.exp(array, out=array)
    if array_api_compat.is_torch_array(array):
        return array.exp_()
    return namespace(array).exp(array)
