"""Dynamic batching: work in threads, whose evaluations are gathered into one batch for a device.

A device does many small evaluations in the time of one. `run_gathered` gives every piece of work a
thread of its own, in which it runs as if it were alone until it requests an evaluation by
`call_gathered`. When every thread that has not finished waits for an evaluation, the requests of
the most frequent kind are evaluated as one batch, and their threads continue. The others wait until
theirs is the most frequent kind, so that work that fell out of step comes into step again. Which
requests make a batch, and in which order, depends on the work alone and not on timing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from contextvars import ContextVar, copy_context
from threading import Event, Semaphore, Thread, current_thread
from typing import Any, Generic, TypeAlias, TypeVar

from gpproj.execute.parallel import check_jobs, workers_of
from gpproj.execute.progress import Progress
from gpproj.execute.stopping import Stopped, check_stop, stoppable
from gpproj.linalg import one_blas_thread

Item = TypeVar("Item")
Result = TypeVar("Result")

POLL_SECONDS = 0.1

Cache: TypeAlias = dict[str, Any]
"""What evaluations may store for later ones of the same run."""

Evaluate: TypeAlias = Callable[[Sequence[Any], Cache], Sequence[Any]]
"""Evaluates a batch of requests: from them and the cache to as many results."""

_current_worker: ContextVar[_Worker[Any, Any] | None] = ContextVar("_current_worker", default=None)


def call_gathered(evaluate: Evaluate, request: Any, kind: Hashable = None) -> Any:
    """Return the result of one request, evaluated in a batch with those of other threads.

    Outside of `run_gathered` the request is a batch by itself.

    Parameters
    ----------
    evaluate : callable
        From a batch of requests and the cache of this run to as many results.
    request : object
    kind : hashable
        Requests of the same `evaluate` and kind make a batch: they should take about as long.

    Examples
    --------
    >>> def squares(numbers, cache):
    ...     return [number**2 for number in numbers]
    >>> call_gathered(squares, 3)
    9
    """
    worker = _current_worker.get()
    # Threads that the work itself starts may have inherited its context.
    if worker is None or worker.thread is not current_thread():
        return evaluate([request], {})[0]
    return worker.call(evaluate, request, kind)


def run_gathered(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    n_jobs: int | None = 1,
    progress: str | None = None,
    *,
    max_threads: int | None = None,
    thread_context: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> list[Result]:
    """Return `function(item)` for every item, in their order, evaluating requests in batches.

    An error of one item, or an interrupt from the keyboard, ends the others at their next request;
    the call returns when all have ended. What takes long without a request calls `check_stop`. A
    second interrupt does not wait for them.

    Parameters
    ----------
    function : callable
        May use `call_gathered`. What it changes outside itself (filters of warnings, say) it must
        have restored whenever it does, and it may then hold no lock that other threads need: before
        Python 3.12 a `cached_property` holds one for all instances while it is computed.
    items : sequence
    n_jobs : int or None
        How many threads run at the same time between two evaluations; -1 for all cores.
    progress : str, optional
        Show a `Progress` with this title.
    max_threads : int, optional
        How many threads there are at most: the next items start when these are done. One for every
        item when left out.
    thread_context : callable
        Makes a context manager that every thread works in.

    Examples
    --------
    >>> def squares(numbers, cache):
    ...     print("a batch of", numbers)
    ...     return [number**2 for number in numbers]
    >>> run_gathered(lambda number: call_gathered(squares, number) + 1, [1, 2, 3])
    a batch of [1, 2, 3]
    [2, 5, 10]
    """
    check_jobs(n_jobs)
    size = max(len(items) if max_threads is None else max_threads, 1)

    def work(item: Item) -> Result:
        with thread_context():
            return function(item)

    results: list[Result] = []
    # Limited here for all: threads enter and leave such blocks in no particular order.
    with (
        one_blas_thread(),
        Progress(progress or "", len(items), enabled=progress is not None) as display,
    ):
        for first in range(0, len(items), size):
            some = items[first : first + size]
            with closing(_Gathering(work, some, workers_of(n_jobs))) as gathering:
                for finished in gathering.rounds():
                    display.step(first + finished)
                results += [worker.result for worker in gathering.workers]
    return results


class _Gathering(Generic[Item, Result]):
    """Threads whose requests are evaluated together, at most `n_running` of them running."""

    def __init__(
        self, function: Callable[[Item], Result], items: Sequence[Item], n_running: int
    ) -> None:
        self._n_running = n_running
        self._slots = Semaphore(n_running)
        self._cache: Cache = {}
        self._closed = Event()
        self.workers = [_Worker(function, item, self._slots, self._closed) for item in items]

    def rounds(self) -> Iterator[int]:
        """Alternate between running threads and evaluating requests; yield how many finished."""
        unfinished = ready = self.workers
        while unfinished:
            for worker in ready:
                self._acquire_slot(unfinished)
                worker.resume()
            for _ in range(self._n_running):  # until no thread runs
                self._acquire_slot(unfinished)
            self._slots.release(self._n_running)
            unfinished = [worker for worker in unfinished if not worker.finished]
            ready = self._evaluate(unfinished)
            yield len(self.workers) - len(unfinished)

    def _acquire_slot(self, workers: Sequence[_Worker[Item, Result]]) -> None:
        """Wait for a slot, and raise the error of a worker that has left its own by one.

        The wait is polled: this call may itself run in a thread of another run that was closed.
        """
        check_stop()
        while not self._slots.acquire(timeout=POLL_SECONDS):
            check_stop()
        error = next((worker.error for worker in workers if worker.error is not None), None)
        if error is not None:
            raise error

    def _evaluate(self, workers: Sequence[_Worker[Item, Result]]) -> list[_Worker[Item, Result]]:
        """Evaluate the requests of the most frequent kind, and return their workers."""
        kinds: dict[Any, list[_Worker[Item, Result]]] = {}
        for worker in workers:
            kinds.setdefault(worker.kind, []).append(worker)
        batch = max(kinds.values(), key=len, default=[])  # the first of several
        if batch:
            evaluate, _ = batch[0].kind
            responses = evaluate([worker.request for worker in batch], self._cache)
            for worker, response in zip(batch, responses, strict=True):
                worker.response = response
        return batch

    def close(self) -> None:
        """End unfinished threads, at their next request at the latest, and wait for them."""
        self._closed.set()  # before any thread is woken: it looks at the flag then
        for worker in self.workers:
            worker.wake()
        for worker in self.workers:
            while worker.thread.is_alive():  # polled: a second interrupt is heard in between
                worker.thread.join(POLL_SECONDS)


class _Worker(Generic[Item, Result]):
    """One item of the work, in a thread of its own."""

    result: Result
    kind: tuple[Evaluate, Hashable]
    request: Any
    response: Any

    def __init__(
        self, function: Callable[[Item], Result], item: Item, slots: Semaphore, closed: Event
    ) -> None:
        self.finished = False
        self.error: BaseException | None = None
        self._slots, self._closed, self._turn = slots, closed, Semaphore(0)
        self._started = False
        run = copy_context().run
        self.thread = Thread(target=run, args=(self._work, function, item), daemon=True)

    def resume(self) -> None:
        """Start the thread, or let it continue with the response; a slot is free for it."""
        if self._started:
            self.wake()
        else:
            self._started = True
            self.thread.start()

    def wake(self) -> None:
        """Let the thread continue if it waits for a response."""
        self._turn.release()

    def call(self, evaluate: Evaluate, request: Any, kind: Hashable) -> Any:
        """Leave the slot with a request, and return its result once it is evaluated."""
        check_stop()
        self.kind, self.request = (evaluate, kind), request
        self._slots.release()
        self._turn.acquire()
        check_stop()
        response, self.request, self.response = self.response, None, None
        return response

    def _work(self, function: Callable[[Item], Result], item: Item) -> None:
        _current_worker.set(self)
        with suppress(Stopped), stoppable(self._closed):
            check_stop()
            try:
                self.result = function(item)
            except Stopped:
                raise
            except BaseException as error:
                self.error = error
            self.finished = True
            self._slots.release()
