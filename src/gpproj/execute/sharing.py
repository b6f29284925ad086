"""Evaluations shared with processes that stand by, for work that takes milliseconds.

Small evaluations hold the interpreter's lock for much of their time, so that threads wait for each
other: two of them do 150 rows no faster than one. Pools of processes are asked at intervals of ten
milliseconds whether they are done. Here partners wait at the other end of a pipe, and remember
what is evaluated; a call sends them some rows of its arguments, and does the others itself.

A partner takes a second to start. Until then, and where one has died, the work is done here.
"""

from __future__ import annotations

import pickle
import signal
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from threading import Thread, current_thread
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpproj.execute.parallel import uses_processes, workers_of
from gpproj.linalg import one_blas_thread

Rows: TypeAlias = tuple[NDArray[Any], ...]
"""Arrays with a row for each piece of the work."""

Evaluate: TypeAlias = Callable[..., Rows]
"""From an object that is remembered and `Rows` to arrays with as many rows."""

REMEMBERED = 8
"""Objects that a partner remembers."""

GONE = (EOFError, OSError)
"""What a pipe raises whose other end is gone."""

Thing = TypeVar("Thing")


class Recent(Generic[Thing]):
    """The things that were used last, by number; both ends of a pipe forget the same ones."""

    def __init__(self) -> None:
        self._things: OrderedDict[int, Thing] = OrderedDict()

    def __contains__(self, number: int) -> bool:
        """Say whether something is remembered."""
        return number in self._things

    def use(self, number: int, new: Callable[[], Thing]) -> Thing:
        """Return a thing, made if it is not remembered."""
        if number not in self._things:
            self._things[number] = new()
        self._things.move_to_end(number)
        while len(self._things) > REMEMBERED:
            self._things.popitem(last=False)
        return self._things[number]


class Request(NamedTuple):
    """Some rows of a call."""

    number: int
    pickled: bytes | None
    """Function and object behind the number, if they are new."""
    rows: Rows


class Partner:
    """A process that evaluates what it is sent."""

    def __init__(self) -> None:
        from joblib.externals.loky.backend import get_context

        # Joblib's own way to start processes, which does not run the caller's script again.
        context = get_context("loky")
        self._pipe, other = context.Pipe()
        # What is imported here will be needed there: nobody is to wait for that.
        own = __name__.partition(".")[0]
        names = [name for name in sys.modules if name.partition(".")[0] == own]
        self._process = context.Process(target=serve, args=(other, names), daemon=True)
        self._process.start()
        other.close()
        self._is_ready = False
        self._remembers: Recent[None] = Recent()

    def is_ready(self) -> bool:
        """Say whether it has started."""
        if not self._is_ready and self._pipe.poll():
            self._pipe.recv()
            self._is_ready = True
        return self._is_ready

    def send(self, number: int, pickled: bytes, rows: Rows) -> None:
        """Ask for an evaluation."""
        new = number not in self._remembers
        self._remembers.use(number, lambda: None)
        self._pipe.send(Request(number, pickled if new else None, rows))

    def receive(self) -> Rows:
        """Return the results and repeat the warnings, or raise the error, of what was asked."""
        found, warned = self._pipe.recv()
        for one in warned:
            warnings.warn(one, stacklevel=4)
        if isinstance(found, BaseException):
            raise found
        results: Rows = found
        return results

    def stop(self) -> None:
        """End the process, whatever it does."""
        with suppress(OSError):
            self._pipe.close()
        self._process.terminate()
        self._process.join()


def serve(pipe: Any, modules: Iterable[str] = ()) -> None:
    """Import some modules, then evaluate what is asked for, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # that is the caller's to answer
    for name in modules:
        import_module(name)
    remembered: Recent[tuple[Evaluate, Any]] = Recent()
    with suppress(*GONE), one_blas_thread():
        pipe.send("ready")
        while True:
            number, pickled, rows = pipe.recv()
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    function, known = remembered.use(number, lambda: pickle.loads(pickled))  # noqa: B023
                    found: Any = function(known, *rows)
                except Exception as error:
                    found = error
            pipe.send((found, [one.message for one in warned]))


class Crew:
    """The partners of a thread, and what they were told of."""

    def __init__(self, count: int) -> None:
        self._owner: Thread = current_thread()
        self._partners = [Partner() for _ in range(count)]
        self._count = 0
        self._known: dict[tuple[int, ...], tuple[int, bytes, Any]] = {}

    def ready(self) -> list[Partner]:
        """Return the partners that can be asked; none in other threads, or when all are busy."""
        if current_thread() is not self._owner:
            return []
        found = []
        for partner in list(self._partners):
            try:
                if partner.is_ready():
                    found.append(partner)
            except GONE:
                self.lose(partner)
        return found

    def number_of(self, function: Evaluate, known: tuple[Any, ...]) -> tuple[int, bytes]:
        """Return the number that stands for a function and some objects, and all as bytes."""
        key = id(function), *map(id, known)
        if key not in self._known:
            from gpproj.execute.processes import dumps

            while len(self._known) >= REMEMBERED:
                del self._known[next(iter(self._known))]
            self._count += 1
            # Kept alive, so that nothing else gets their identities.
            self._known[key] = self._count, dumps((function, known)), (function, known)
        return self._known[key][:2]

    def lose(self, partner: Partner) -> None:
        """Do without a partner that has died."""
        self._partners.remove(partner)
        partner.stop()

    def stop(self) -> None:
        """End all partners."""
        for partner in self._partners:
            partner.stop()
        self._partners = []


_crew: ContextVar[Crew | None] = ContextVar("_crew", default=None)


@contextmanager
def partners(n_jobs: int | None) -> Iterator[int | None]:
    """Have partners stand by inside the block, and yield the workers that other work has left.

    A backend of joblib that the user has configured does all the work itself: then there are none.

    Parameters
    ----------
    n_jobs : int or None

    Examples
    --------
    >>> with partners(1) as left:
    ...     left
    1
    """
    if _crew.get() is not None or uses_processes(n_jobs) or workers_of(n_jobs) == 1:
        yield n_jobs
        return
    crew = Crew(workers_of(n_jobs) - 1)
    before = _crew.set(crew)
    try:
        yield 1
    finally:
        _crew.reset(before)
        crew.stop()


def has_partners() -> bool:
    """Say whether there are partners to share with, in this thread or another one."""
    return _crew.get() is not None


def shared(function: Evaluate, known: tuple[Any, ...], *rows: NDArray[Any]) -> Rows:
    """Return `function(known, *rows)`, some rows of it computed by partners, if there are any.

    Parameters
    ----------
    function : callable
        The result for a row must not depend on the others.
    known : tuple
        Partners remember it: the same objects are sent once.
    *rows : arrays
        With a row for each piece of the work.

    Examples
    --------
    >>> shared(lambda known, x: (known[0] * x,), (2.0,), np.arange(3.0))
    (array([0., 2., 4.]),)
    """
    crew, count = _crew.get(), len(rows[0])
    ready = crew.ready()[: count - 1] if crew is not None and count > 1 else []
    if not ready:
        return function(known, *rows)
    assert crew is not None
    number, pickled = crew.number_of(function, known)
    parts = len(ready) + 1
    asked, found = {}, {}
    try:
        for place, partner in enumerate(ready):
            own = tuple(one[place::parts] for one in rows)
            try:
                partner.send(number, pickled, own)
                asked[place] = partner
            except GONE:
                crew.lose(partner)
        found[len(ready)] = function(known, *(one[len(ready) :: parts] for one in rows))
        for place, partner in asked.items():
            try:
                found[place] = partner.receive()
            except GONE:
                crew.lose(partner)
    except BaseException:
        crew.stop()  # what they still send would answer the wrong question
        raise
    for place in range(parts):
        if place not in found:
            found[place] = function(known, *(one[place::parts] for one in rows))
    results = []
    for field in zip(*(found[place] for place in range(parts)), strict=True):
        whole = np.empty((count, *field[0].shape[1:]), dtype=field[0].dtype)
        for place, part in enumerate(field):
            whole[place::parts] = part
        results.append(whole)
    return tuple(results)
