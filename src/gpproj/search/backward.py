"""`backward_search`: from all inputs, the one that is missed least leaves, again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from gpproj.execute import Progress, check_jobs, same_workers
from gpproj.kernels import Kernel
from gpproj.linalg import one_blas_thread
from gpproj.priors import PriorLike
from gpproj.projection import PRIOR, family_of, project_positions, refuse_options
from gpproj.reference import Clusters, LinearReference, Reference, check_clusters
from gpproj.search.forward import check_strategy
from gpproj.search.linear import linear_backward
from gpproj.search.path import SearchPath, ends, relative
from gpproj.search.race import race
from gpproj.search.step import Field, exhaust, gains, recorded, winner
from gpproj.search.units import Inputs, held_groups, units_of


def backward_search(
    reference: Reference,
    min_inputs: int = 0,
    strategy: Literal["race", "exhaustive"] = "race",
    *,
    n_jobs: int | None = 1,
    progress: bool = True,
    groups: Mapping[str, Inputs] | None = None,
    always: Inputs = (),
    costs: Mapping[str, float] | None = None,
    prior: PriorLike = PRIOR,
    clusters: Clusters = None,
    kernel: Kernel | None = None,
) -> SearchPath:
    """Start from all inputs and remove, one by one, the input whose loss is least.

    It sees inputs that explain something only together, which a forward search may miss; it costs
    more, since its submodels are large.

    Parameters
    ----------
    reference : Reference
    min_inputs : int
        Where to stop removing: inputs, or groups of them.
    strategy, n_jobs, progress, groups, always, costs, prior, clusters, kernel
        As for `gpproj.forward_search`. With costs, the smallest loss per cost decides.

    Returns
    -------
    SearchPath
        In growing order, as from a forward search: `path[k]` is what was left with k steps. If it
        stopped early, what was left then is always in.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    >>> path = gpproj.backward_search(gpproj.fit(X[:, 5:], y))
    >>> len(path)
    4
    """
    check_jobs(n_jobs)
    check_clusters(clusters)
    check_strategy(strategy)
    always, groups = tuple(always), held_groups(groups)
    forced, units = units_of(reference, groups, always, costs)
    if not 0 <= min_inputs <= len(units):
        raise ValueError(f"min_inputs must be from 0 to {len(units)}, got {min_inputs!r}")
    steps = len(units) - min_inputs
    if isinstance(reference, LinearReference):
        refuse_options(prior=prior, clusters=clusters, kernel=kernel)
        return replace(
            linear_backward(reference, forced, units, steps, n_jobs, progress),
            recipe=partial(
                backward_search,
                min_inputs=min_inputs,
                strategy=strategy,
                progress=False,
                groups=groups,
                always=always,
                costs=costs,
            ),
        )
    family = family_of(reference, kernel, prior)
    stay, removed, tried = list(units), [], []
    hopes = {unit.name: np.inf for unit in units}
    display = Progress("backward search", steps, enabled=progress)
    with display, one_blas_thread(), same_workers(n_jobs):
        null, full = ends(reference, family)
        full_error = full.projection_error
        chosen = (*forced, *(position for unit in units for position in unit.positions))
        projections = [project_positions(reference, family, chosen)]
        for step in range(1, steps + 1):
            field = Field(reference, family, chosen, projections[-1], removing=True)
            if strategy == "race":
                waiting = np.array([hopes[unit.name] for unit in stay])
                found = race(field, stay, waiting, n_jobs)
            else:
                found = exhaust(field, stay, n_jobs)
            tried.extend(recorded(field, step, stay, found))
            for unit, one in zip(stay, found, strict=True):
                if one.evaluations:
                    hopes[unit.name] = float(gains(field, [one.error], np.array([unit.cost]))[0])
            best, projection = winner(field, stay, found)
            projections.append(projection)
            chosen = field.positions(stay[best])
            removed.append(stay.pop(best))
            error = np.array([projection.projection_error])
            left = relative(error, null.projection_error, full_error)[0]
            display.step(step, removed[-1].name, float(left))
    return SearchPath(
        reference=reference,
        family=family,
        units=tuple(reversed(removed)),
        projections=tuple(reversed(projections)),
        null_error=null.projection_error,
        full_error=full_error,
        always=chosen,
        tried=tuple(tried),
        clusters=clusters,
        recipe=partial(
            backward_search,
            min_inputs=min_inputs,
            strategy=strategy,
            progress=False,
            groups=groups,
            always=always,
            costs=costs,
            prior=prior,
            clusters=clusters,
            kernel=kernel,
        ),
    )
