"""Cancelling work in another thread, by a flag that the work checks itself.

Python can raise an exception in another thread, but wherever that happens to be: between opening a
block and remembering to close it, or inside a lock. A flag is looked at where nothing is open that
an exception would leave so, and the exception that ends the work is raised by the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, local

_THREAD = local()


class Stopped(BaseException):
    """The work of this thread was cancelled; the code that set the flag catches this."""


@contextmanager
def stoppable(flag: Event) -> Iterator[None]:
    """Let a flag end what this thread does inside the block.

    Examples
    --------
    >>> flag = Event()
    >>> with stoppable(flag):
    ...     check_stop()
    ...     flag.set()
    ...     check_stop()
    Traceback (most recent call last):
    gpproj.execute.stopping.Stopped
    """
    before = getattr(_THREAD, "flag", None)
    _THREAD.flag = flag
    try:
        yield
    finally:
        _THREAD.flag = before


def check_stop() -> None:
    """Raise `Stopped` where the flag of this thread is set; work calls this now and then."""
    flag = getattr(_THREAD, "flag", None)
    if flag is not None and flag.is_set():
        raise Stopped
