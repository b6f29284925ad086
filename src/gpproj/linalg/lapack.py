"""The BLAS and LAPACK that factors are made of, in the fastest way that is known to be safe here.

All matrices are NumPy double-precision views whose columns are contiguous.
"""

from __future__ import annotations

from typing import Any, Protocol

from scipy.linalg import cython_blas, cython_lapack

from gpproj.linalg.arrays import Host
from gpproj.linalg.lapack_direct import Direct, exported_functions
from gpproj.linalg.lapack_wrapped import Wrapped


class Calls(Protocol):
    """What is done to matrices in place."""

    def factorise(self, matrix: Host) -> bool:
        """Overwrite the lower triangle of `A` with its Cholesky factor; say if that succeeded."""
        ...

    def solve_factored(self, lower: Host, right: Host) -> None:
        """Overwrite `right` with `A^-1 right`, given the lower factor of `A`."""
        ...

    def invert_lower(self, lower: Host) -> None:
        """Overwrite a lower triangle with its inverse."""
        ...

    def square_lower(self, lower: Host) -> None:
        """Overwrite the lower triangle `M` with that of `M' M`."""
        ...

    def multiply_lower(self, matrix: Host, lower: Host) -> None:
        """Overwrite `B` with `B L`."""
        ...

    def subtract_square(self, half: Host, matrix: Host) -> None:
        """Subtract `P P'` from the lower triangle of `C`."""
        ...

    def add_square(self, half: Host, matrix: Host, *, overwrite: bool = False) -> None:
        """Add `P P'` to the lower triangle of `C`, or write it there whatever stood in it."""
        ...

    def subtract_outer(self, left: Host, right: Host, matrix: Host) -> None:
        """Subtract `v w'` from a square matrix; the vectors are contiguous."""
        ...


def choose(blas: Any = cython_blas, lapack: Any = cython_lapack) -> Calls:
    """Return the calls by address where all signatures are as expected, else by SciPy's wrappers.

    Parameters
    ----------
    blas, lapack : modules
        What SciPy exports to compiled code.
    """
    functions = exported_functions(blas, lapack)
    return Wrapped() if functions is None else Direct(functions)


CALLS = choose()
"""What all of gpproj calls."""
