"""Work in other processes: the large arrays of a function are sent once to each worker.

A function that a search runs in parallel holds the reference and its matrices, and a search runs
several of them in a step. Here a function is pickled once a call, without its large arrays, which
are identified by digests of their content. Workers cache the last few functions and their arrays.
The first tasks of a call bring what is new, the others only name it. A worker that lacks something,
because it joined later or replaced another, refuses its task, and the task is sent again with
everything in it.

Tasks depend on nothing outside them, so that any worker can do any of them. Arrays that are
arguments of their own would be scattered by joblib to a Dask cluster: once a call, and lost with
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

CACHE_SIZE = 4
"""Functions that a worker caches: as many as a search repeats."""

TASKS_PER_WORKER = 16
"""Upper limit: several, since workers finish unevenly, but each task costs milliseconds."""

Contents: TypeAlias = dict[str, NDArray[Any]]
"""What a function consists of, by digest: its pickle, and the large arrays that it names."""


class Task(NamedTuple):
    """Some items, and as much of the function as the worker may lack.

    A tuple, since joblib scatters arguments that weak references can point to.
    """

    digest: str
    """Digest of the function's pickle."""
    required: tuple[str, ...]
    """Digests of all contents of the function."""
    contents: Contents
    """The contents that travel with this task."""
    items: Sequence[Any]


class CachedFunction(NamedTuple):
    """A function on a worker, and what it was unpickled from."""

    function: Callable[[Any], Any]
    contents: Contents


# Of this process as a worker, the function that was used last at the end.
_cached_functions: OrderedDict[str, CachedFunction] = OrderedDict()
_cache_lock = Lock()
# Of this process as the caller: digests that its workers should have in their caches.
_sent_digests: deque[frozenset[str]] = deque(maxlen=CACHE_SIZE)
_pool: ContextVar[Parallel | None] = ContextVar("pool", default=None)


def run_in_processes(
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
        As joblib takes it.

    Yields
    ------
    first : int
        Position of an item.
    results : list
        The results for that item and for those after it.
    """
    digest, contents = pickle_function(function)
    small = {name: part for name, part in contents.items() if part.nbytes < LARGE}
    cached = frozenset().union(small, *_sent_digests)
    size = max(1, len(items) // (TASKS_PER_WORKER * workers))
    remaining = list(range(0, len(items), size))
    complete = 0 if cached.issuperset(contents) else workers  # tasks that bring all contents
    while remaining:
        tasks = [
            Task(
                digest,
                tuple(contents),
                contents if place < complete else small,
                list(items[first : first + size]),
            )
            for place, first in enumerate(remaining)
        ]
        refused = []
        for first, results in zip(remaining, _submit(tasks, n_jobs), strict=True):
            if results is None:
                refused.append(first)
            else:
                yield first, results
        if len(refused) == len(remaining):
            _sent_digests.clear()  # these are not the workers of earlier calls
        remaining, complete = refused, len(refused)
    _sent_digests.append(frozenset(contents))


def _submit(tasks: list[Task], n_jobs: int | None) -> Iterator[list[Any] | None]:
    parallel = _pool.get() or _parallel(n_jobs)
    with warnings.catch_warnings():
        # Dask advises against large tasks. They are few, and where warnings are errors this one
        # would be raised in a thread that joblib does not see, and it would wait for ever.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        yield from parallel(map(delayed(run_task), tasks))


def _parallel(n_jobs: int | None) -> Parallel:
    return Parallel(n_jobs, batch_size=1, return_as="list" if _starts_pools() else "generator")


def _starts_pools() -> bool:
    """Return whether the active backend starts its workers anew for each call."""
    backend, _ = get_active_backend()
    # The mark of those that do (multiprocessing, Ray), by their common base.
    return not getattr(backend, "supports_return_generator", False)


@contextmanager
def same_pool(n_jobs: int | None) -> Iterator[None]:
    """Reuse the workers inside the block, where the backend would start new ones for each call."""
    if not _starts_pools():
        yield
        return
    with _parallel(n_jobs) as parallel:
        before = _pool.set(parallel)
        try:
            yield
        finally:
            _pool.reset(before)


def run_task(task: Task) -> list[Any] | None:
    """Do a task on a worker; return None if the worker lacks contents of the function."""
    reuse_memory()
    with _cache_lock:
        function = _load_function(task)
    if function is None:
        return None
    with one_blas_thread():
        return [function(item) for item in task.items]


def _load_function(task: Task) -> Callable[[Any], Any] | None:
    """Return the function of a task from the cache or its contents; None if some are missing."""
    if task.digest not in _cached_functions:
        cached = ChainMap(*(one.contents for one in _cached_functions.values()))
        if any(name not in cached and name not in task.contents for name in task.required):
            return None
        contents = {
            name: cached[name] if name in cached else _read_only_copy(task.contents[name])
            for name in task.required
        }
        function = _Unpickler(contents, task.digest).load()
        _cached_functions[task.digest] = CachedFunction(function, contents)
        while len(_cached_functions) > CACHE_SIZE:
            _cached_functions.popitem(last=False)
    _cached_functions.move_to_end(task.digest)
    return _cached_functions[task.digest].function


def _read_only_copy(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that outlives the message, and that no task can change under the others."""
    copy = np.array(array, order="K")
    copy.flags.writeable = False
    return copy


def pickle_function(function: Callable[[Any], Any]) -> tuple[str, Contents]:
    """Return the digest of a function's pickle, and the contents of the function.

    Examples
    --------
    >>> from functools import partial
    >>> digest, contents = pickle_function(partial(np.dot, np.eye(100)))
    >>> [part.shape for name, part in contents.items() if name != digest]
    [(100, 100)]
    """
    buffer = BytesIO()
    pickler = _Pickler(buffer)
    pickler.dump(function)
    pickled = np.frombuffer(buffer.getbuffer(), dtype=np.uint8)
    digest = _digest(pickled)
    return digest, {digest: pickled, **pickler.contents}


def dumps(thing: Any) -> bytes:
    """Return a pickle, which holds what was defined in the caller's script itself.

    Examples
    --------
    >>> pickle.loads(dumps(lambda x: x + 1))(2)
    3
    """
    buffer = BytesIO()
    CloudPickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(thing)
    return buffer.getvalue()


class _Pickler(CloudPickler):  # type: ignore[misc]  # cloudpickle is untyped
    """Writes digests in the place of large arrays, and collects the arrays."""

    def __init__(self, file: BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.contents: Contents = {}

    def persistent_id(self, thing: Any) -> str | None:
        if type(thing) is not np.ndarray or thing.nbytes < LARGE or thing.dtype.kind not in "biufc":
            return None
        if not thing.flags.forc:
            thing = np.ascontiguousarray(thing)
        digest = _digest(thing)
        self.contents[digest] = thing
        return digest


class _Unpickler(pickle.Unpickler):
    def __init__(self, contents: Contents, digest: str) -> None:
        super().__init__(BytesIO(contents[digest].data))
        self.contents = contents

    def persistent_load(self, digest: str) -> NDArray[Any]:
        return self.contents[digest]


def _digest(array: NDArray[Any]) -> str:
    """Return a digest of content and layout: the latter matters too, to the last digits."""
    layout = f"{array.dtype.str} {array.shape} {array.flags.c_contiguous}"
    content = blake2b(layout.encode(), digest_size=16)
    content.update(array.ravel(order="K").data)
    return content.hexdigest()
