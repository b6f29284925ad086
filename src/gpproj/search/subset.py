"""Searches on some of the rows: candidates are compared there, and the winners projected on all."""

from __future__ import annotations

import operator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import run
from gpproj.projection import Family, Projection, not_worse, solve, solve_null
from gpproj.reference import Reference
from gpproj.search.path import Searched, SearchPath, ends


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


def on_some_rows(reference: Reference, rows: NDArray[np.intp]) -> Reference:
    """Return the reference whose projections are held to its posterior at some rows alone."""
    some = replace(reference)
    vars(some)["target"] = reference.target.take(rows)  # as if it had been asked for already
    return some


def on_all_rows(path: SearchPath, reference: Reference, n_jobs: int | None = 1) -> SearchPath:
    """Return the submodels of a path that was searched on some rows, projected on all of them.

    Each starts from the optimum on the rows of the search.

    Parameters
    ----------
    path : SearchPath
        Of `on_some_rows`.
    reference : Reference
        Of all rows.
    n_jobs : int or None
        Submodels at a time.
    """
    family, full = path.family, ends(path.reference, path.family).full
    null = solve_null(reference.target, family)
    varying = [one for one in path.projections if _mask(reference, one).any()]
    # The largest first: they take longest.
    moved = run(partial(_moved, reference, family), [full, *reversed(varying)], n_jobs)
    found = [null] * (len(path.projections) - len(varying)) + moved[:0:-1]
    for size in range(1, len(found)):
        found[size] = not_worse(found[size], found[size - 1])
    return replace(
        path,
        reference=reference,
        projections=tuple(
            one._replace(inputs=old.inputs)
            for one, old in zip(found, path.projections, strict=True)
        ),
        null_error=null.projection_error,
        full_error=moved[0].projection_error,
        searched=Searched(
            int(path.reference.target.latent_mean.shape[0]), tuple(path.relative_errors.tolist())
        ),
    )


def _mask(reference: Reference, projection: Projection) -> NDArray[np.bool_]:
    """Return the inputs that a submodel can use, `(d,)`, whether or not it did on some rows."""
    mask: NDArray[np.bool_] = projection.inputs & np.asarray(reference.training.varying)
    return mask


def _moved(reference: Reference, family: Family, projection: Projection) -> Projection:
    """Return the projection on all rows, from the optimum on some."""
    mask = _mask(reference, projection)[None, :]
    if projection.kernel != family.kernel:  # the null model, which was no worse on some rows
        return solve(reference.target, family, mask)[0]
    start = family.extended(projection.parameters, projection.active, mask[0])
    return solve(reference.target, family, mask, starts=[start])[0]
