"""SciPy's own BLAS and LAPACK, called on blocks in place and without holding other threads up.

`scipy.linalg.blas` and `scipy.linalg.lapack` copy every block that is not a whole Fortran-ordered
array, and most of their functions keep the interpreter's lock while they compute. The functions
behind them, which SciPy exports for compiled code (`scipy.linalg.cython_blas` and `cython_lapack`),
take a leading dimension and need no lock; `ctypes` calls them by their address.

An address says nothing about what is behind it. The capsule that holds it has the signature of the
function as its name, and nothing is called whose signature is not the expected one: SciPy may be
built with integers of 64 bits, and a call with those of 32 would corrupt memory.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from gpproj.linalg.arrays import Host
from gpproj.linalg.lapack_wrapped import DOUBLE, LEAF, leading_dimension

_LOWER, _PLAIN, _NONUNIT, _LEFT, _RIGHT = (
    ctypes.byref(ctypes.c_char(letter)) for letter in (b"L", b"N", b"N", b"L", b"R")
)
_ZERO, _ONE, _MINUS = (ctypes.byref(ctypes.c_double(value)) for value in (0.0, 1.0, -1.0))

LAPACK = {"dpotrf": "cidii", "dpotrs": "ciididii", "dtrtri": "ccidii", "dlauum": "cidii"}
BLAS = {"dtrmm": "cccciiddidi", "dsyrk": "cciiddiddi", "dger": "iiddididi"}
"""Types behind the pointers that a function takes: characters, integers of C, doubles."""

_KINDS = {"c": r"char", "i": r"int", "d": r"(?:double|__pyx_t_\w+cython_(?:blas|lapack)_d)"}
"""Names of these types in Cython; SciPy has a name of its own for a double, `d`."""


Functions: TypeAlias = dict[str, Callable[..., None]]
"""Functions by name, called by their addresses; all their arguments are pointers."""


def exported_functions(blas: Any, lapack: Any) -> Functions | None:
    """Return what two modules of SciPy export to compiled code; None unless all is as expected."""
    found = {}
    for module, signatures in ((lapack, LAPACK), (blas, BLAS)):
        capsules: Mapping[str, Any] = getattr(module, "__pyx_capi__", {})
        for name, kinds in signatures.items():
            function = _function(capsules.get(name), kinds)
            if function is None:
                return None
            found[name] = function
    return found


def _function(capsule: Any, kinds: str) -> Callable[..., None] | None:
    """Return the function in a capsule; None where there is none, or one of another signature."""
    if type(capsule).__name__ != "PyCapsule":
        return None
    named = ctypes.pythonapi.PyCapsule_GetName
    named.restype, named.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = named(capsule)
    if name is None or not has_signature(name.decode(), kinds):
        return None
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kinds))
    return prototype(pointer(capsule, name))


def has_signature(text: str, kinds: str) -> bool:
    """Say whether Cython's words for a function mean one that takes pointers to these kinds.

    Examples
    --------
    >>> has_signature("void (char *, int *, double *, int *, int *)", "cidii")
    True
    >>> has_signature("void (char *, int64_t *, double *, int64_t *, int64_t *)", "cidii")
    False
    """
    arguments = ", ".join(rf"{_KINDS[kind]} \*" for kind in kinds)
    return re.fullmatch(rf"void \({arguments}\)", text) is not None


@cache
def _integer(value: int) -> Any:
    """Return a pointer to a number that is never written: the same sizes recur."""
    return ctypes.byref(ctypes.c_int(value))


def _matrix(matrix: Host) -> tuple[int, int]:
    """Return the address of a matrix and its leading dimension."""
    return matrix.__array_interface__["data"][0], leading_dimension(matrix)


class Direct:
    """The calls of `Wrapped` by address."""

    def __init__(self, functions: Functions) -> None:
        self._dpotrf, self._dpotrs = functions["dpotrf"], functions["dpotrs"]
        self._dtrtri, self._dlauum = functions["dtrtri"], functions["dlauum"]
        self._dtrmm, self._dsyrk = functions["dtrmm"], functions["dsyrk"]
        self._dger = functions["dger"]

    def factorise(self, matrix: Host) -> bool:
        """Overwrite the lower triangle of `A` with its Cholesky factor."""
        info = ctypes.c_int(0)
        address, leading = _matrix(matrix)
        self._dpotrf(_LOWER, _integer(len(matrix)), address, _integer(leading), ctypes.byref(info))
        return info.value == 0

    def solve_factored(self, lower: Host, right: Host) -> None:
        """Overwrite `right` with `A^-1 right`."""
        info = ctypes.byref(ctypes.c_int(0))
        n, k = _integer(lower.shape[0]), _integer(right.shape[1])
        (factor, step), (address, leading) = _matrix(lower), _matrix(right)
        self._dpotrs(_LOWER, n, k, factor, _integer(step), address, _integer(leading), info)

    def invert_lower(self, lower: Host) -> None:
        """Overwrite a lower triangle with its inverse, by halves.

        [L11 0; L21 L22]^-1 = [M11 0; -M22 L21 M11, M22] with M11 = L11^-1, M22 = L22^-1.
        """
        address, leading = _matrix(lower)
        self._invert(len(lower), address, leading, ctypes.byref(ctypes.c_int(0)))

    def _invert(self, n: int, address: int, leading: int, info: Any) -> None:
        # Addresses instead of views: at n = 200 views would take a third of the time.
        step = _integer(leading)
        if n <= LEAF:
            self._dtrtri(_LOWER, _NONUNIT, _integer(n), address, step, info)
            return
        half = n // 2
        block = address + half * DOUBLE
        corner = block + half * leading * DOUBLE
        self._invert(half, address, leading, info)
        self._invert(n - half, corner, leading, info)
        sizes = (_LOWER, _PLAIN, _NONUNIT, _integer(n - half), _integer(half))
        self._dtrmm(_LEFT, *sizes, _MINUS, corner, step, block, step)
        self._dtrmm(_RIGHT, *sizes, _ONE, address, step, block, step)

    def square_lower(self, lower: Host) -> None:
        """Overwrite the lower triangle `M` with that of `M' M`."""
        info = ctypes.c_int(0)
        address, leading = _matrix(lower)
        self._dlauum(_LOWER, _integer(len(lower)), address, _integer(leading), ctypes.byref(info))

    def multiply_lower(self, matrix: Host, lower: Host) -> None:
        """Overwrite `B` with `B L`."""
        m, n = matrix.shape
        (triangle, step), (address, leading) = _matrix(lower), _matrix(matrix)
        sizes = (_LOWER, _PLAIN, _NONUNIT, _integer(m), _integer(n))
        self._dtrmm(_RIGHT, *sizes, _ONE, triangle, _integer(step), address, _integer(leading))

    def subtract_square(self, half: Host, matrix: Host) -> None:
        """Subtract `P P'` from the lower triangle of `C`."""
        self._add_square(half, matrix, _MINUS, _ONE)

    def add_square(self, half: Host, matrix: Host, *, overwrite: bool = False) -> None:
        """Add `P P'` to the lower triangle of `C`, or write it there."""
        self._add_square(half, matrix, _ONE, _ZERO if overwrite else _ONE)

    def _add_square(self, half: Host, matrix: Host, factor: Any, kept: Any) -> None:
        n, k = half.shape
        (address, step), (target, leading) = _matrix(half), _matrix(matrix)
        sizes = (_integer(n), _integer(k), factor)
        self._dsyrk(
            _LOWER, _PLAIN, *sizes, address, _integer(step), kept, target, _integer(leading)
        )

    def subtract_outer(self, left: Host, right: Host, matrix: Host) -> None:
        """Subtract `v w'` from a square matrix."""
        n, one = _integer(len(left)), _integer(1)
        v, w = (vector.__array_interface__["data"][0] for vector in (left, right))
        address, leading = _matrix(matrix)
        self._dger(n, n, _MINUS, v, one, w, one, address, _integer(leading))
