"""Searches on some of the rows: candidates are compared there, and the winners projected on all."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import run
from gpproj.projection import Projection, Projector
from gpproj.reference import Reference
from gpproj.search.path import Searched, SearchPath, Subset, ends


def rows_to_search(n: int, search_rows: Any, random_state: Any) -> NDArray[np.intp]:
    """Return a random choice of rows, in their order; all of them where there are no more.

    Parameters
    ----------
    n : int
        Rows there are.
    search_rows : int
        How many to choose.
    random_state : int, Generator or None
    """
    try:
        count = operator.index(search_rows)
    except TypeError:
        raise TypeError(f"search_rows must be a whole number, got {search_rows!r}") from None
    if count < 2:
        raise ValueError(f"search_rows must be at least 2, got {count}")
    count = min(count, n)
    return np.sort(np.random.default_rng(random_state).choice(n, count, replace=False))


def on_all_rows(
    path: SearchPath, reference: Reference, projector: Projector, n_jobs: int | None = 1
) -> SearchPath:
    """Return the submodels of a path that was searched on some rows, projected on all of them.

    Each starts from the optimum on the rows of the search and from the reference's own values.

    Parameters
    ----------
    path : SearchPath
        Of some rows.
    reference : Reference
        Of all rows.
    projector : Projector
        Likewise.
    n_jobs : int or None
        Submodels at a time.
    """
    null, full = ends(projector)
    own = [one.projection for one in path.better if one is not None]
    # The largest first: they take longest.
    wanted = sorted([*path.projections, *own], key=lambda one: -int(one.inputs.sum()))
    moved = dict(
        zip(
            map(id, wanted),
            run(projector.moved, wanted, n_jobs),
            strict=True,
        )
    )
    found: list[Projection] = []
    for old in path.projections:
        found.append(projector.not_worse(moved[id(old)], found[-1:]))
    better: list[Subset | None] = []
    for place, one in enumerate(path.better):
        now = None if one is None else Subset(one.units, moved[id(one.projection)])
        kept = now is not None and now.projection.error < found[place].error
        better.append(now if kept else None)
    return replace(
        path,
        reference=reference,
        projector=projector,
        projections=tuple(projector.completed(one) for one in found),
        null_error=null.error,
        full_error=full.error,
        better=tuple(
            one and Subset(one.units, projector.completed(one.projection)) for one in better
        ),
        pool=(),
        searched=Searched(path.reference.training.n, tuple(path.relative_errors.tolist())),
    )
