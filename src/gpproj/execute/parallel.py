"""`run`: work in parallel, through joblib alone.

Threads of this process do the work by default: almost all of it is linear algebra that runs without
the interpreter's lock, and threads share the reference instead of copying it. A backend that the
user configured (`joblib.parallel_config`: processes, Dask, Ray) takes the work instead; what other
processes then have to be sent is in `sending`.
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
"""For each worker: some have more to do than others in the end."""


def run(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    n_jobs: int | None = 1,
    progress: str | None = None,
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

    Examples
    --------
    >>> run(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    check_jobs(n_jobs)
    # Held here for threads, which share the setting, and inside the work for other processes.
    with one_blas_thread():
        found: list[Any] = [None] * len(items)
        done = 0
        with (
            Progress(progress or "", len(items), enabled=progress is not None) as display,
            closing(_results(function, items, n_jobs)) as finished,
        ):
            for first, results in finished:
                check_stop()  # this work may be a part of other work
                found[first : first + len(results)] = results
                done += len(results)
                display.step(done)
        return found


def _results(
    function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None
) -> Generator[tuple[int, list[Result]]]:
    """Yield results of neighbouring items as they come, with the position of the first."""
    workers = workers_of(n_jobs)
    if workers == 1 or not items:
        yield from ((place, [function(item)]) for place, item in enumerate(items))
    elif _elsewhere():
        from gpproj.execute.sending import send

        yield from send(function, items, workers, n_jobs)
    else:
        from joblib import Parallel, delayed

        tasks = (delayed(_with_one_thread)(function, item) for item in items)
        results = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(tasks)
        yield from ((place, [result]) for place, result in enumerate(results))


def workers_of(n_jobs: int | None) -> int:
    """Return how many workers a number stands for."""
    if n_jobs == 1:
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def elsewhere(n_jobs: int | None) -> bool:
    """Return whether several workers are asked for that are in other processes."""
    return workers_of(n_jobs) > 1 and _elsewhere()


def _elsewhere() -> bool:
    """Return whether the workers of the configured backend are in other processes."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer="threads")
    return not getattr(backend, "supports_sharedmem", False)


@contextmanager
def same_workers(n_jobs: int | None) -> Iterator[None]:
    """Keep the workers from one `run` to the next inside the block, where starting them takes time.

    Ray and pools of processes start theirs for each call otherwise, in seconds.

    Examples
    --------
    >>> with same_workers(n_jobs=1):
    ...     _ = run(abs, [-1, 2]), run(abs, [-3])
    """
    if elsewhere(n_jobs):
        from gpproj.execute.sending import same_pool

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
    """Return what a function of several items at once gives for every item, in their order.

    For work that costs less together: one worker gets all items in one batch.

    Parameters
    ----------
    function : callable
        From items to as many results. What an item gives must not depend on its batch.
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
    batches = [items[part::parts] for part in range(parts)]
    for part, results in enumerate(run(function, [list(batch) for batch in batches], n_jobs)):
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
