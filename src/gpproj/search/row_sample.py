"""Searches on some of the rows: candidates are compared there, and the winners projected on all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import run
from gpproj.projection import Projection, Projector, staged
from gpproj.reference import Reference
from gpproj.search.path import SearchPath
from gpproj.search.results import RowSample, Subset, null_and_full
from gpproj.search.units import whole_number


def rows_to_search(n: int, search_rows: Any, random_state: Any) -> NDArray[np.intp]:
    """Return a random choice of rows, in their order; all of them where there are no more.

    Parameters
    ----------
    n : int
        Rows there are.
    search_rows : int
        How many to choose.
    """
    count = whole_number("search_rows", search_rows)
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
        The path on some rows.
    reference : Reference
        The reference of all rows.
    projector : Projector
        The projector of that reference.
    n_jobs : int or None
        Submodels at a time.
    """
    learning = staged(projector, reference)
    null, full = null_and_full(learning)
    own = [one.projection for one in path.better if one is not None]
    # The largest first: they take longest.
    wanted = sorted([*path.projections, *own], key=lambda one: -int(one.inputs.sum()))
    refits = run(learning.refit, wanted, n_jobs)
    refit_of = {id(old): new for old, new in zip(wanted, refits, strict=True)}
    found: list[Projection] = []
    for old in path.projections:
        found.append(projector.not_worse(refit_of[id(old)], found[-1:]))
    better: list[Subset | None] = []
    for one, nested in zip(path.better, found, strict=True):
        now = nested if one is None else refit_of[id(one.projection)]
        if one is None or now.error >= nested.error:
            better.append(None)
        else:
            better.append(Subset(one.units, now))
    return replace(
        path,
        reference=reference,
        projector=projector,
        projections=tuple(found),
        null_error=null.error,
        full_error=full.error,
        better=tuple(better),
        pool=(),
        searched=RowSample(path.reference.training.n, tuple(path.relative_errors.tolist())),
    )
