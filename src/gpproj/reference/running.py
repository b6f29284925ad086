"""Work on several references of one size: in one batch on a device, else in parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from gpproj.execute import run, run_gathered, uses_processes, workers_of
from gpproj.linalg import is_numpy, room_for, same_stream
from gpproj.reference.base import Reference
from gpproj.reference.draws import Clusters

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_where(
    reference: Reference,
    function: Callable[[Item], Result],
    items: Sequence[Item],
    n_jobs: int | None = 1,
    progress: str | None = None,
    clusters: Clusters = None,
) -> list[Result]:
    """Return `function(item)` for every item, in their order.

    Parameters
    ----------
    reference : Reference
        The work is on references as large as this one, where it lives.
    function : callable
        Work on one item, in the form that `execute.run_gathered` takes.
    items : sequence
    n_jobs : int or None
        Workers; on a device, how many work at a time between two evaluations of all of them.
        Processes of a backend that is configured take the work in any case.
    progress : str, optional
    clusters : int, "draws" or None
        Clusters of the draws that the work projects one by one.
    """
    X, n = reference.training.X, reference.training.n
    if is_numpy(X) or uses_processes(n_jobs):
        return run(function, items, n_jobs, progress, long=True)
    matrices = reference.matrices(clusters)
    if matrices is None:
        return run(function, items, n_jobs, progress)
    room = room_for(X) // (4 * n**2 * matrices)
    threads, stream = max(room, workers_of(n_jobs)), same_stream(X)
    return run_gathered(
        function, items, n_jobs, progress, max_threads=threads, thread_context=stream
    )
