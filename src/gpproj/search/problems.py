"""What may be wrong with a search path, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpproj.projection import LEFT

if TYPE_CHECKING:
    from gpproj.search.path import SearchPath

RISEN = 1e-3
"""Rise of the relative error from one size to the next that is worth a word."""

GAINED = 1e-4
"""Fall of the relative error below which a step has improved nothing."""


def problems_of_path(path: SearchPath) -> tuple[str, ...]:
    """Return what may be wrong with a path and its submodels; nothing for most."""
    said, relative = list(path.projector.problems()), path.relative_errors
    falls = enumerate(-np.diff(relative), start=1)
    rises, idle = [], []
    for size, fall in falls:
        if fall < -RISEN:
            rises.append(size)
        if fall < GAINED and relative[size - 1] > LEFT:
            idle.append(size)
    if rises:
        said.append(
            f"the error rises at size {_listed(rises)}: inputs were added, and what is "
            "compared became worse although what is minimised did not"
        )
    if idle and path.candidate_records:
        said.append(f"no candidate improved anything at step {_listed(idle)}")
    for size, found in enumerate(path.projections):
        # That some inputs tell next to nothing by themselves is no news before all are in.
        news = path.projector.problems_of(found, path.null_error, bool(found.inputs.all()))
        said += [f"size {size}: {text}" for text in news]
    for size, own in enumerate(path.better):
        if own is not None:
            news = path.projector.problems_of(own.projection, path.null_error, alone=False)
            said += [f"best set of size {size}: {text}" for text in news]
    return tuple(said)


def _listed(numbers: list[int]) -> str:
    """Return numbers in words: a few of them, and how many more.

    >>> _listed([2]), _listed([2, 3]), _listed([1, 2, 3, 4, 5])
    ('2', '2 and 3', '1, 2, 3 and 2 more')
    """
    shown = [str(number) for number in numbers[:3]]
    if len(numbers) > 3:
        return f"{', '.join(shown)} and {len(numbers) - 3} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
