"""`backward_search`: from all inputs, the one that is missed least leaves, again and again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpproj.execute import Progress, check_jobs, same_workers
from gpproj.kernels import Kernel
from gpproj.linalg import one_blas_thread
from gpproj.priors import PriorLike
from gpproj.projection import (
    CriterionName,
    Learn,
    Projection,
    check_criterion,
    check_learn,
    projector_of,
)
from gpproj.recipes import Result, remembered
from gpproj.reference import Clusters, Reference, check_clusters
from gpproj.search.forward import check_strategy
from gpproj.search.growing import Strategy, comparison
from gpproj.search.path import SearchPath, Tried, ends, relative
from gpproj.search.space import Space
from gpproj.search.step import Step, compared, recorded, winner
from gpproj.search.units import Inputs, held_groups, units_of


@remembered("reference", "n_jobs", progress=False)
def backward_search(
    reference: Reference,
    min_inputs: int = 0,
    strategy: Strategy = "race",
    *,
    learn: Learn = "loo",
    criterion: CriterionName | None = None,
    n_jobs: int | None = 1,
    progress: bool = True,
    groups: Mapping[str, Inputs] | None = None,
    always: Inputs = (),
    costs: Mapping[str, float] | None = None,
    prior: PriorLike = "auto",
    clusters: Clusters = None,
    kernel: Kernel | None = None,
) -> Result[SearchPath]:
    """Start from all inputs and remove, one by one, the input whose loss is least.

    It sees inputs that explain something only together, which a forward search may miss; it costs
    more, since its submodels are large.

    Parameters
    ----------
    reference : Reference
    min_inputs : int
        Where to stop removing: inputs, or groups of them.
    strategy, learn, criterion, n_jobs, progress, groups, always, costs, prior, clusters, kernel
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
    check_criterion(criterion, check_learn(learn))
    always, groups = tuple(always), held_groups(groups)
    forced, units = units_of(reference, groups, always, costs)
    if not 0 <= min_inputs <= len(units):
        raise ValueError(f"min_inputs must be from 0 to {len(units)}, got {min_inputs!r}")
    steps = len(units) - min_inputs
    stay, removed, tried = list(range(len(units))), list[int](), list[Tried]()
    hopes = dict.fromkeys(stay, np.inf)
    display = Progress("backward search", steps, enabled=progress)
    with display, one_blas_thread(), same_workers(n_jobs):
        projector = projector_of(reference, learn, criterion, prior, kernel)
        own_clusters = projector.clusters_of(clusters)
        compare = comparison(strategy, projector, removing=True)
        space = Space(projector, forced, units, n_jobs)
        null, full = ends(projector)
        projections: list[Projection] = [full]
        for step in range(1, steps + 1):
            here = Step(space, frozenset(stay), projections[-1], removing=True)
            known = np.array([hopes[number] for number in stay])
            found = compared(compare, here, stay, known)
            tried += recorded(here, step, stay, found)
            for number, one in zip(stay, found, strict=True):
                if one.evaluations:
                    hopes[number] = float(here.gains([one.error], space.costs([number]))[0])
            best, projection = winner(here, stay, found)
            projections.append(projector.polished(projection))
            removed.append(stay.pop(best))
            error = np.array([projections[-1].error])
            left = float(relative(error, null.error, full.error)[0])
            display.step(step, units[removed[-1]].name, left)
        completed = tuple(projector.completed(one) for one in reversed(projections))
    path = SearchPath(
        reference=reference,
        projector=projector,
        units=tuple(units[number] for number in reversed(removed)),
        projections=completed,
        null_error=null.error,
        full_error=full.error,
        always=(*forced, *(place for number in stay for place in units[number].positions)),
        tried=tuple(tried),
        better=(None,) * len(completed),
        clusters=own_clusters,
    )
    return Result(path, {"groups": groups, "always": always})
