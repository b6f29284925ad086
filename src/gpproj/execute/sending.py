"""Functions for workers in other processes: their large arrays travel once for each worker.

A function that a search hands out holds the reference and its matrices, and a search hands out work
several times a step. Here the function is pickled once a call, without its large arrays, which are
known by their content. Workers hold what the last few functions were made from. The first tasks of
a call bring what is new, the others name it. A worker that lacks something, because it joined later
or after another died, hands its task back, and the task is sent again with everything in it.

Tasks depend on nothing outside them, so that any worker can do any of them. Arrays that are
arguments of their own would be scattered by joblib to a Dask cluster: once a call, and gone with
the worker that holds them, together with all the work that waits for them.
"""

from __future__ import annotations

import pickle
import warnings
from collections import ChainMap, OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from io import BytesIO
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from gpproj.execute.memory import reuse_memory
from gpproj.linalg import one_blas_thread

try:
    from cloudpickle import CloudPickler  # type: ignore[import-untyped]  # it has no types
except ImportError:  # joblib had one of its own before it depended on that package
    from joblib.externals.cloudpickle import CloudPickler

LARGE = 2**16
"""Bytes from which an array, or a pickle, is not sent with every task."""

HELD = 4
"""Functions that a worker holds: as many as a search repeats."""

CHUNKS = 16
"""Tasks for each worker at most: their ends are uneven, and each costs milliseconds."""

Contents: TypeAlias = dict[str, NDArray[Any]]
"""What a function is made from, by digests: its pickle, and the large arrays that it names."""


class Task(NamedTuple):
    """Some items, and as much of the function as the worker may lack.

    A tuple, since joblib scatters arguments that weak references can point to.
    """

    token: str
    """Digest of the function's pickle."""
    names: tuple[str, ...]
    """Digests of all contents."""
    contents: Contents
    items: Sequence[Any]


class Held(NamedTuple):
    """A function on a worker."""

    function: Callable[[Any], Any]
    contents: Contents


_held: OrderedDict[str, Held] = OrderedDict()  # by this process as a worker, the latest last
_holding = Lock()
_pool: ContextVar[Parallel | None] = ContextVar("pool", default=None)
_sent: deque[frozenset[str]] = deque(maxlen=HELD)  # what its own workers hold, so far as it knows


def send(
    function: Callable[[Any], Any], items: Sequence[Any], workers: int, n_jobs: int | None
) -> Iterator[tuple[int, list[Any]]]:
    """Have the workers of joblib's active backend do the work.

    Parameters
    ----------
    function : callable
    items : sequence
    workers : int
        How many there are.
    n_jobs : int or None
        What joblib is to be told.

    Yields
    ------
    first : int
        Position of an item.
    results : list
        Of that item and of those after it.
    """
    token, contents = packed(function)
    small = {name: part for name, part in contents.items() if part.nbytes < LARGE}
    known = frozenset().union(small, *_sent)
    size = max(1, len(items) // (CHUNKS * workers))
    waiting = list(range(0, len(items), size))
    bringing = 0 if known.issuperset(contents) else workers
    while waiting:
        tasks = [
            Task(
                token,
                tuple(contents),
                contents if place < bringing else small,
                list(items[first : first + size]),
            )
            for place, first in enumerate(waiting)
        ]
        refused = []
        for first, results in zip(waiting, _performed(tasks, n_jobs), strict=True):
            if results is None:
                refused.append(first)
            else:
                yield first, results
        if len(refused) == len(waiting):
            _sent.clear()  # these are not the workers that were sent to before
        waiting, bringing = refused, len(refused)
    _sent.append(frozenset(contents))


def _performed(tasks: list[Task], n_jobs: int | None) -> Iterator[list[Any] | None]:
    parallel = _pool.get() or _parallel(n_jobs)
    with warnings.catch_warnings():
        # Dask advises against large tasks. They are few, and where warnings are errors this one
        # would be raised in a thread that joblib does not see, and it would wait for ever.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        yield from parallel(map(delayed(perform), tasks))


def _parallel(n_jobs: int | None) -> Parallel:
    return Parallel(n_jobs, batch_size=1, return_as="list" if _starts_pools() else "generator")


def _starts_pools() -> bool:
    """Return whether the active backend starts its workers anew for each call."""
    backend, _ = get_active_backend()
    # The mark of those that do (multiprocessing, Ray), by their common base.
    return not getattr(backend, "supports_return_generator", False)


@contextmanager
def same_pool(n_jobs: int | None) -> Iterator[None]:
    """Keep the workers from call to call inside the block, where they would be started anew."""
    if not _starts_pools():
        yield
        return
    with _parallel(n_jobs) as parallel:
        before = _pool.set(parallel)
        try:
            yield
        finally:
            _pool.reset(before)


def perform(task: Task) -> list[Any] | None:
    """Do a task on a worker; None if the worker lacks what the function is made from."""
    reuse_memory()
    with _holding:
        function = _unpacked(task)
    if function is None:
        return None
    with one_blas_thread():
        return [function(item) for item in task.items]


def _unpacked(task: Task) -> Callable[[Any], Any] | None:
    if task.token not in _held:
        here = ChainMap(*(held.contents for held in _held.values()))
        if any(name not in here and name not in task.contents for name in task.names):
            return None
        contents = {
            name: here[name] if name in here else _kept(task.contents[name]) for name in task.names
        }
        _held[task.token] = Held(_Unpickler(contents, task.token).load(), contents)
        while len(_held) > HELD:
            _held.popitem(last=False)
    _held.move_to_end(task.token)
    return _held[task.token].function


def _kept(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that outlives the message, and that no task can change under the others."""
    own = np.array(array, order="K")
    own.flags.writeable = False
    return own


def packed(function: Callable[[Any], Any]) -> tuple[str, Contents]:
    """Return what a function is made from, and the digest of its pickle.

    Examples
    --------
    >>> from functools import partial
    >>> token, contents = packed(partial(np.dot, np.eye(100)))
    >>> [part.shape for name, part in contents.items() if name != token]
    [(100, 100)]
    """
    buffer = BytesIO()
    pickler = _Pickler(buffer)
    pickler.dump(function)
    pickled = np.frombuffer(buffer.getbuffer(), dtype=np.uint8)
    token = _digest(pickled)
    return token, {token: pickled, **pickler.contents}


class _Pickler(CloudPickler):  # type: ignore[misc]  # cloudpickle is untyped
    """Puts large arrays aside, and their digests in their places."""

    def __init__(self, file: BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.contents: Contents = {}

    def persistent_id(self, thing: Any) -> str | None:
        if type(thing) is not np.ndarray or thing.nbytes < LARGE or thing.dtype.kind not in "biufc":
            return None
        if not thing.flags.forc:
            thing = np.ascontiguousarray(thing)
        name = _digest(thing)
        self.contents[name] = thing
        return name


class _Unpickler(pickle.Unpickler):
    def __init__(self, contents: Contents, token: str) -> None:
        super().__init__(BytesIO(contents[token].data))
        self.contents = contents

    def persistent_load(self, name: str) -> NDArray[Any]:
        return self.contents[name]


def _digest(array: NDArray[Any]) -> str:
    """Return what tells an array from any other: layout matters too, to the last digits."""
    form = f"{array.dtype.str} {array.shape} {array.flags.c_contiguous}"
    found = blake2b(form.encode(), digest_size=16)
    found.update(array.ravel(order="K").data)
    return found.hexdigest()
