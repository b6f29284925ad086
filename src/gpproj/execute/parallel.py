"""`run`: work in parallel, through joblib alone.

Long pieces of work are done by processes by default, short ones by threads of this process, which
share the reference instead of copying it, and wait for the interpreter's lock. A backend that the
user configured (`joblib.parallel_config`: processes, Dask, Ray) takes the work instead; `processes`
has what is sent to other processes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from numbers import Integral
from typing import Any, TypeVar

from gpproj.execute.progress import Progress
from gpproj.execute.stopping import check_stop
from gpproj.linalg import one_blas_thread

Item = TypeVar("Item")
Result = TypeVar("Result")

BATCHES = 2
"""Batches for each worker: more than one, since some workers are faster than others."""


def run(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    n_jobs: int | None = 1,
    progress: str | None = None,
    *,
    long: bool = False,
) -> list[Result]:
    """Return `function(item)` for every item, in their order.

    BLAS has one thread inside the work, so that workers times threads never exceed the cores.

    Parameters
    ----------
    function : callable
        Must be picklable for backends of processes.
    items : sequence
    n_jobs : int or None
        Workers; -1 for all cores, None for what the configured backend says.
    progress : str, optional
        Show a `Progress` with this title.
    long : bool
        Whether an item takes so long that a process of its own pays.

    Examples
    --------
    >>> run(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    check_jobs(n_jobs)
    results: list[Any] = [None] * len(items)
    done = 0
    # BLAS is limited here for threads, which share the setting, and by the workers of processes.
    with (
        one_blas_thread(),
        Progress(progress or "", len(items), enabled=progress is not None) as display,
        closing(_results(function, items, n_jobs, long)) as finished,
    ):
        for first, some in finished:
            check_stop()  # this work may be a part of other work
            results[first : first + len(some)] = some
            done += len(some)
            display.step(done)
    return results


def _results(
    function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None, long: bool
) -> Generator[tuple[int, list[Result]]]:
    """Yield results of neighbouring items as they come, with the position of the first."""
    workers = workers_of(n_jobs)
    if workers == 1 or not items:
        yield from ((place, [function(item)]) for place, item in enumerate(items))
    elif _backend_has_processes(long):
        from gpproj.execute.processes import run_in_processes

        yield from run_in_processes(function, items, workers, n_jobs)
    else:
        from joblib import Parallel, delayed

        tasks = (delayed(_with_one_thread)(function, item) for item in items)
        results = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(tasks)
        yield from ((place, [result]) for place, result in enumerate(results))


def workers_of(n_jobs: int | None) -> int:
    """Return the number of workers that `n_jobs` means."""
    if n_jobs == 1:
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def uses_processes(n_jobs: int | None) -> bool:
    """Return whether `n_jobs` means several workers in other processes."""
    return workers_of(n_jobs) > 1 and _backend_has_processes()


def _backend_has_processes(long: bool = False) -> bool:
    """Return whether the workers of the configured backend are in other processes.

    Where none is configured, those for long work are.
    """
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer="processes" if long else "threads")
    return not getattr(backend, "supports_sharedmem", False)


@contextmanager
def same_workers(n_jobs: int | None) -> Iterator[None]:
    """Reuse the workers of one `run` in the next ones inside the block.

    Ray and pools of processes would start new ones for each call, which takes seconds.

    Examples
    --------
    >>> with same_workers(n_jobs=1):
    ...     _ = run(abs, [-1, 2]), run(abs, [-3])
    """
    if uses_processes(n_jobs):
        from gpproj.execute.processes import same_pool

        with same_pool(n_jobs):
            yield
    else:
        yield


def run_in_batches(
    function: Callable[[list[Item]], Sequence[Result]],
    items: Sequence[Item],
    n_jobs: int | None = 1,
    *,
    alike: bool = True,
) -> list[Result]:
    """Return the result for every item, in their order, of a function that takes a batch of items.

    This is for work that costs less in batches: a single worker gets all items in one batch.

    Parameters
    ----------
    function : callable
        From items to as many results. The result for an item must not depend on its batch.
    items : sequence
    n_jobs : int or None
    alike : bool
        Whether all items take about as long. If not, several workers get them one by one.

    Examples
    --------
    >>> run_in_batches(lambda batch: [-item for item in batch], [1, 2, 3])
    [-1, -2, -3]
    """
    check_jobs(n_jobs)
    workers = workers_of(n_jobs)
    if not items:
        return []
    if workers == 1:
        check_stop()
        with one_blas_thread():
            return list(function(list(items)))
    parts = min(BATCHES * workers, len(items)) if alike else len(items)
    found: list[Any] = [None] * len(items)
    batches = [list(items[part::parts]) for part in range(parts)]
    for part, results in enumerate(run(function, batches, n_jobs)):
        found[part::parts] = results
    return found


def _with_one_thread(function: Callable[[Any], Any], item: Any) -> Any:
    with one_blas_thread():
        return function(item)


def check_jobs(n_jobs: Any) -> None:
    """Refuse numbers of workers that mean nothing."""
    if n_jobs is None:
        return
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a number of workers, -1 or None; got {n_jobs!r}")
