"""BLAS threads, limited to one wherever lanes or workers already fill the cores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds; they do not change once SciPy is imported.
    import scipy.linalg  # noqa: F401  (loads the BLAS that is to be limited)

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit every BLAS library to one thread inside the block.

    At n = 150 one evaluation takes 3 ms with one thread, and 60 to 570 ms with two on a busy
    two-core machine.

    Examples
    --------
    >>> from gpproj.linalg import one_blas_thread
    >>> with one_blas_thread():
    ...     pass
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


def blas_threads() -> int:
    """Return how many threads BLAS may have: the most that any of its libraries does."""
    own = _controller().select(user_api="blas").lib_controllers
    return max((library.num_threads or 1 for library in own), default=1)
