"""BLAS threads: held to one wherever lanes or workers already fill the cores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds; they do not change once SciPy is imported.
    import scipy.linalg  # noqa: F401  (loads the BLAS that is to be held)

    return ThreadpoolController()


class _Hold:
    """Counts the blocks that hold BLAS, in all threads: the setting belongs to the process.

    Without the count, the first of several threads to leave would set BLAS free for the others.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._blocks = 0
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._blocks == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._blocks += 1

    def leave(self) -> None:
        with self._lock:
            self._blocks -= 1
            if self._blocks == 0:
                self._limit.restore_original_limits()


_HOLD = _Hold()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold every BLAS library to one thread inside the block.

    At n = 150 one evaluation takes 3 ms with one thread, and 60 to 570 ms with two on a busy
    two-core machine.

    Examples
    --------
    >>> from gpproj.linalg import one_blas_thread
    >>> with one_blas_thread():
    ...     pass
    """
    _HOLD.enter()
    try:
        yield
    finally:
        _HOLD.leave()
