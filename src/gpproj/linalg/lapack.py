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
from typing import Any

from scipy.linalg import cython_blas, cython_lapack

from gpproj.linalg.arrays import Host

_LOWER, _PLAIN, _NONUNIT = (ctypes.byref(ctypes.c_char(letter)) for letter in (b"L", b"N", b"N"))
_SIDES = {"left": ctypes.byref(ctypes.c_char(b"L")), "right": ctypes.byref(ctypes.c_char(b"R"))}


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


def _integer(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


def _number(value: float) -> Any:
    return ctypes.byref(ctypes.c_double(value))


def _matrix(matrix: Host) -> tuple[int, Any]:
    """Return the address of a matrix and its leading dimension."""
    row, column = matrix.strides
    if row != matrix.itemsize and matrix.shape[0] > 1:
        raise ValueError("the columns of the matrix are not contiguous")
    leading = max(column // matrix.itemsize, matrix.shape[0], 1)
    return matrix.__array_interface__["data"][0], _integer(leading)


def factorise(matrix: Host) -> bool:
    """Overwrite the lower triangle of `A` with its Cholesky factor; say whether that succeeded."""
    info = ctypes.c_int(0)
    _dpotrf(_LOWER, _integer(matrix.shape[0]), *_matrix(matrix), ctypes.byref(info))
    return info.value == 0


def solve_factored(lower: Host, right: Host) -> None:
    """Overwrite `right` with `A^-1 right`, given the lower factor of `A`."""
    info = ctypes.c_int(0)
    n, k = _integer(lower.shape[0]), _integer(right.shape[1])
    _dpotrs(_LOWER, n, k, *_matrix(lower), *_matrix(right), ctypes.byref(info))


def invert_lower(lower: Host) -> None:
    """Overwrite a lower triangle with its inverse."""
    info = ctypes.c_int(0)
    n = _integer(lower.shape[0])
    _dtrtri(_LOWER, _NONUNIT, n, *_matrix(lower), ctypes.byref(info))


def square_lower(lower: Host) -> None:
    """Overwrite the lower triangle `M` with that of `M' M`."""
    info = ctypes.c_int(0)
    _dlauum(_LOWER, _integer(lower.shape[0]), *_matrix(lower), ctypes.byref(info))


def multiply_lower(lower: Host, right: Host, side: str, factor: float = 1.0) -> None:
    """Overwrite `B` with `factor L B` (side "left") or `factor B L` (side "right")."""
    m, n = (_integer(size) for size in right.shape)
    sizes = (_SIDES[side], _LOWER, _PLAIN, _NONUNIT, m, n, _number(factor))
    _dtrmm(*sizes, *_matrix(lower), *_matrix(right))


def subtract_square(half: Host, matrix: Host) -> None:
    """Subtract `P P'` from the lower triangle of `C`."""
    n, k = (_integer(size) for size in half.shape)
    _dsyrk(_LOWER, _PLAIN, n, k, _number(-1.0), *_matrix(half), _number(1.0), *_matrix(matrix))
