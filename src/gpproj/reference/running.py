"""Work on several references like one: side by side on a device, in parallel on the processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from gpproj.execute import run, together
from gpproj.linalg import is_numpy, room_for
from gpproj.reference.model import Reference

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_where(
    reference: Reference,
    function: Callable[[Item], Result],
    items: Sequence[Item],
    n_jobs: int | None = 1,
    progress: str | None = None,
) -> list[Result]:
    """Return `function(item)` for every item, in their order.

    Parameters
    ----------
    reference : Reference
        The work is on references as large as this one, where it lives.
    function : callable
        As for `execute.together`.
    items : sequence
    n_jobs : int or None
        Workers; on a device, how many work at a time between two evaluations of all of them.
    progress : str, optional
    """
    X, n = reference.training.X, reference.training.n
    if is_numpy(X):
        return run(function, items, n_jobs, progress)
    return together(function, items, n_jobs, progress, at_once=max(room_for(X) // (4 * n**2), 1))
