"""`backward_search`: from all inputs, the one that is missed least leaves, again and again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpproj.execute import Progress, same_workers
from gpproj.kernels import Kernel
from gpproj.linalg import one_blas_thread
from gpproj.priors import PriorLike
from gpproj.projection import CriterionName, Learn, projector_of
from gpproj.recipes import Result, remembered
from gpproj.reference import Clusters, Reference
from gpproj.search.options import SearchOptions
from gpproj.search.path import SearchPath
from gpproj.search.results import CandidateRecord, null_and_full, relative
from gpproj.search.space import SearchSpace
from gpproj.search.step import Step, best_candidate, compare_candidates, records_of
from gpproj.search.strategies import Strategy, comparison, search_projector
from gpproj.search.units import Inputs, units_of


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
    options = SearchOptions.of_call(locals())
    forced, units = units_of(reference, options.groups, options.always, costs)
    if not 0 <= min_inputs <= len(units):
        raise ValueError(f"min_inputs must be from 0 to {len(units)}, got {min_inputs!r}")
    steps = len(units) - min_inputs
    stay, removed, records = list(range(len(units))), list[int](), list[CandidateRecord]()
    expected_gains = dict.fromkeys(stay, np.inf)
    display = Progress("backward search", steps, enabled=progress)
    with display, one_blas_thread(), same_workers(n_jobs):
        projector = projector_of(reference, options)
        own_clusters = projector.clusters_of(clusters)
        compare = comparison(strategy, projector, removing=True)
        own = search_projector(options.strategy, projector, reference)
        null, full = null_and_full(own)
        own = own.between(null, full)
        space = SearchSpace(own, forced, units, n_jobs)
        projections = [full]
        for number in range(1, steps + 1):
            step = Step(space, frozenset(stay), projections[-1], removing=True)
            known = np.array([expected_gains[unit] for unit in stay])
            found = compare_candidates(compare, step, stay, known)
            records += records_of(step, number, stay, found)
            gains = step.gains([one.error for one in found], space.costs(stay)).tolist()
            for unit, one, gain in zip(stay, found, gains, strict=True):
                if one.evaluations:
                    expected_gains[unit] = gain
            best, projection = best_candidate(step, stay, found)
            projections.append(own.refine(projection))
            removed.append(stay.pop(best))
            error = np.array([projections[-1].error])
            left = float(relative(error, null.error, full.error)[0])
            display.step(number, units[removed[-1]].name, left)
    path = SearchPath(
        reference=reference,
        projector=projector,
        units=tuple(units[number] for number in reversed(removed)),
        projections=tuple(reversed(projections)),
        null_error=null.error,
        full_error=full.error,
        always=(*forced, *(place for number in stay for place in units[number].positions)),
        candidate_records=tuple(records),
        better=(None,) * len(projections),
        clusters=own_clusters,
    )
    return Result(path, {"groups": options.groups, "always": options.always})
