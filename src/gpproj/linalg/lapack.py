"""SciPy's own BLAS and LAPACK, called on blocks in place and without holding other threads up.

`scipy.linalg.blas` and `scipy.linalg.lapack` copy every block that is not a whole Fortran-ordered
array, and most of their functions keep the interpreter's lock while they compute. The functions
behind them, which SciPy exports for compiled code (`scipy.linalg.cython_blas` and `cython_lapack`),
take a leading dimension and need no lock; `ctypes` calls them by their address.

All matrices here are NumPy double-precision views whose columns are contiguous.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from scipy.linalg import cython_blas, cython_lapack

from gpproj.linalg.arrays import Host

LEAF = 96
"""Size below which LAPACK inverts a triangle in one go.

Its `dtrtri` takes 2.3 ms at n = 400. Recursion to this size with matrix products in between takes
0.75 ms; smaller leaves are no faster there, and cost more in calls at n = 150.
"""

_LOWER, _PLAIN, _NONUNIT, _LEFT, _RIGHT = (
    ctypes.byref(ctypes.c_char(letter)) for letter in (b"L", b"N", b"N", b"L", b"R")
)
_ZERO, _ONE, _MINUS = (ctypes.byref(ctypes.c_double(value)) for value in (0.0, 1.0, -1.0))

DOUBLE = ctypes.sizeof(ctypes.c_double)


def _function(module: Any, name: str, arguments: int) -> Callable[..., None]:
    """Return a function that SciPy exports to compiled code; all its arguments are pointers."""
    capsule = module.__pyx_capi__[name]
    signature = ctypes.pythonapi.PyCapsule_GetName
    signature.restype, signature.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)
    return prototype(pointer(capsule, signature(capsule)))


_dpotrf = _function(cython_lapack, "dpotrf", 5)
_dpotrs = _function(cython_lapack, "dpotrs", 8)
_dtrtri = _function(cython_lapack, "dtrtri", 6)
_dlauum = _function(cython_lapack, "dlauum", 5)
_dtrmm = _function(cython_blas, "dtrmm", 11)
_dsyrk = _function(cython_blas, "dsyrk", 10)
_dger = _function(cython_blas, "dger", 9)


@cache
def _integer(value: int) -> Any:
    """Return a pointer to a number that nobody writes to: sizes come again and again."""
    return ctypes.byref(ctypes.c_int(value))


def _matrix(matrix: Host) -> tuple[int, int]:
    """Return the address of a matrix and its leading dimension."""
    row, column = matrix.strides
    if row != DOUBLE and matrix.shape[0] > 1:
        raise ValueError("the columns of the matrix are not contiguous")
    leading = max(column // DOUBLE, matrix.shape[0], 1)
    return matrix.__array_interface__["data"][0], leading


def factorise(matrix: Host) -> bool:
    """Overwrite the lower triangle of `A` with its Cholesky factor; say whether that succeeded."""
    info = ctypes.c_int(0)
    address, leading = _matrix(matrix)
    _dpotrf(_LOWER, _integer(len(matrix)), address, _integer(leading), ctypes.byref(info))
    return info.value == 0


def solve_factored(lower: Host, right: Host) -> None:
    """Overwrite `right` with `A^-1 right`, given the lower factor of `A`."""
    info = ctypes.c_int(0)
    n, k = _integer(lower.shape[0]), _integer(right.shape[1])
    (factor, step), (address, leading) = _matrix(lower), _matrix(right)
    _dpotrs(_LOWER, n, k, factor, _integer(step), address, _integer(leading), ctypes.byref(info))


def invert_lower(lower: Host) -> None:
    """Overwrite a lower triangle with its inverse.

    [L11 0; L21 L22]^-1 = [M11 0; -M22 L21 M11, M22] with M11 = L11^-1, M22 = L22^-1.
    """
    address, leading = _matrix(lower)
    _invert(len(lower), address, leading, ctypes.byref(ctypes.c_int(0)))


def _invert(n: int, address: int, leading: int, info: Any) -> None:
    # Addresses instead of views: at n = 200 views would take a third of the time.
    step = _integer(leading)
    if n <= LEAF:
        _dtrtri(_LOWER, _NONUNIT, _integer(n), address, step, info)
        return
    half = n // 2
    block = address + half * DOUBLE
    corner = block + half * leading * DOUBLE
    _invert(half, address, leading, info)
    _invert(n - half, corner, leading, info)
    sizes = (_LOWER, _PLAIN, _NONUNIT, _integer(n - half), _integer(half))
    _dtrmm(_LEFT, *sizes, _MINUS, corner, step, block, step)
    _dtrmm(_RIGHT, *sizes, _ONE, address, step, block, step)


def square_lower(lower: Host) -> None:
    """Overwrite the lower triangle `M` with that of `M' M`."""
    info = ctypes.c_int(0)
    address, leading = _matrix(lower)
    _dlauum(_LOWER, _integer(len(lower)), address, _integer(leading), ctypes.byref(info))


def multiply_lower(matrix: Host, lower: Host) -> None:
    """Overwrite `B` with `B L`."""
    m, n = matrix.shape
    (triangle, step), (address, leading) = _matrix(lower), _matrix(matrix)
    sizes = (_LOWER, _PLAIN, _NONUNIT, _integer(m), _integer(n))
    _dtrmm(_RIGHT, *sizes, _ONE, triangle, _integer(step), address, _integer(leading))


def subtract_square(half: Host, matrix: Host) -> None:
    """Subtract `P P'` from the lower triangle of `C`."""
    _add_square(half, matrix, _MINUS, _ONE)


def add_square(half: Host, matrix: Host, *, overwrite: bool = False) -> None:
    """Add `P P'` to the lower triangle of `C`, or write it there whatever stood in it."""
    _add_square(half, matrix, _ONE, _ZERO if overwrite else _ONE)


def _add_square(half: Host, matrix: Host, factor: Any, kept: Any) -> None:
    n, k = half.shape
    (address, step), (target, leading) = _matrix(half), _matrix(matrix)
    sizes = (_integer(n), _integer(k), factor)
    _dsyrk(_LOWER, _PLAIN, *sizes, address, _integer(step), kept, target, _integer(leading))


def subtract_outer(left: Host, right: Host, matrix: Host) -> None:
    """Subtract `v w'` from a square matrix; the vectors are contiguous."""
    n, one = _integer(len(left)), _integer(1)
    v, w = (vector.__array_interface__["data"][0] for vector in (left, right))
    address, leading = _matrix(matrix)
    _dger(n, n, _MINUS, v, one, w, one, address, _integer(leading))
