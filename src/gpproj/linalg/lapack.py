"""The BLAS and LAPACK that factors are made of, in the fastest way that is known to be safe here.

All matrices are NumPy double-precision views whose columns are contiguous, and are overwritten.
"""

from __future__ import annotations

from typing import Any

from scipy.linalg import cython_blas, cython_lapack

from gpproj.linalg.lapack_direct import Direct, exported_functions
from gpproj.linalg.lapack_wrapped import Wrapped


def choose(blas: Any = cython_blas, lapack: Any = cython_lapack) -> Direct | Wrapped:
    """Return the calls by address where all signatures are as expected, else by SciPy's wrappers.

    Parameters
    ----------
    blas, lapack : modules
        What SciPy exports to compiled code.
    """
    functions = exported_functions(blas, lapack)
    return Wrapped() if functions is None else Direct(functions)


CALLS = choose()
"""The calls that all of gpproj uses."""
