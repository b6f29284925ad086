"""`forward_search`: the input that lowers the projection error most, again and again."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from gpproj.execute import check_jobs, run
from gpproj.kernels import Kernel
from gpproj.projection import (
    Family,
    Projection,
    checked_kernel,
    family_of,
    project_positions,
)
from gpproj.reference import Reference
from gpproj.search.path import SearchPath, Tried, ends


def forward_search(
    reference: Reference,
    max_inputs: int | None = None,
    strategy: Literal["exhaustive"] = "exhaustive",
    *,
    kernel: Kernel | None = None,
    n_jobs: int | None = 1,
) -> SearchPath:
    """Add inputs one by one, each time the one that leaves the smallest projection error.

    Parameters
    ----------
    reference : Reference
    max_inputs : int, optional
        Where to stop; all inputs when left out.
    strategy : {"exhaustive"}
        Every candidate of every step is optimised to convergence, as in the paper.
    kernel : Kernel, optional
        As for `gpproj.project`.
    n_jobs : int or None
        Workers; -1 for all cores, None for what the configured backend says. The path is the same
        whatever their number.

    Returns
    -------
    SearchPath

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=100, random_state=0)
    >>> ref = gpproj.fit(X[:, 5:], y)
    >>> path = gpproj.forward_search(ref, max_inputs=2)
    >>> path[2].inputs == path.order
    True
    """
    check_jobs(n_jobs)
    if strategy != "exhaustive":
        raise ValueError(f'strategy must be "exhaustive", got {strategy!r}')
    family = family_of(reference, checked_kernel(kernel, reference))
    null, full_error = ends(reference, family)
    chosen: tuple[int, ...] = ()
    projections = [null]
    tried: list[Tried] = []
    for _ in range(_steps(max_inputs, reference)):
        left = [position for position in range(reference.training.d) if position not in chosen]
        extend = partial(_extended, reference, family, chosen, projections[-1])
        found = run(extend, left, n_jobs)
        tried.extend(
            Tried(
                step=len(chosen) + 1,
                input=reference.feature_names[position],
                error=one.projection_error,
                evaluations=one.evaluations,
                converged=one.converged,
            )
            for position, one in zip(left, found, strict=True)
        )
        best = int(np.argmin([one.projection_error for one in found]))
        chosen = (*chosen, left[best])
        projections.append(found[best])
    return SearchPath(reference, chosen, tuple(projections), full_error, tuple(tried))


def _extended(
    reference: Reference,
    family: Family,
    chosen: tuple[int, ...],
    parent: Projection,
    position: int,
) -> Projection:
    return project_positions(reference, family, (*chosen, position), parent=parent)


def _steps(max_inputs: int | None, reference: Reference) -> int:
    d = reference.training.d
    if max_inputs is None:
        return d
    if isinstance(max_inputs, bool) or not isinstance(max_inputs, int | np.integer):
        raise TypeError(f"max_inputs must be a whole number, got {max_inputs!r}")
    if not 0 <= max_inputs <= d:
        raise ValueError(
            f"max_inputs must be from 0 to the number of inputs, {d}; got {max_inputs}"
        )
    return int(max_inputs)
