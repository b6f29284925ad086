"""`project_path`: submodels along an order that the user gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpproj.kernels import Kernel
from gpproj.linalg import one_blas_thread
from gpproj.priors import PriorLike
from gpproj.projection import (
    CriterionName,
    Learn,
    Projection,
    ProjectionOptions,
    Projector,
    projector_of,
    staged,
)
from gpproj.recipes import Result, remembered
from gpproj.reference import Clusters, Reference
from gpproj.search.path import SearchPath
from gpproj.search.results import Subset, null_and_full
from gpproj.search.rivals import fit_set
from gpproj.search.space import ProjectionCache, SearchSpace
from gpproj.search.units import Unit, ordered, steps_of, units_in_order, units_of


@remembered("reference")
def project_path(
    reference: Reference,
    order: Iterable[str | int] | str,
    learn: Learn = "loo",
    *,
    criterion: CriterionName | None = None,
    max_inputs: int | None = None,
    prior: PriorLike = "auto",
    clusters: Clusters = None,
    kernel: Kernel | None = None,
) -> Result[SearchPath]:
    """Project onto growing sets of inputs in a given order: ARD's, a rival's, the user's own.

    Parameters
    ----------
    reference : Reference
    order : iterable of str or int, or str
        Names or positions, the first input first; a column of text enters as a whole. Or a method
        of `gpproj.relevance`, such as "ard", that gives the order. A validation asks the method
        anew in every fold.
    learn, criterion, prior, clusters, kernel
        As for `gpproj.forward_search`.
    max_inputs : int, optional
        How many inputs of the order to go through; all when left out.

    Returns
    -------
    SearchPath

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    >>> ref = gpproj.fit(X[:, 5:], y)
    >>> path = gpproj.project_path(ref, "ard", max_inputs=2)
    >>> path.order == tuple(ref.ard_relevance().nlargest(2).index)
    True
    """
    options = ProjectionOptions.of_call(locals())
    named = order
    if isinstance(order, str):
        named = ordered(reference, units_of(reference)[1], order)
    units = units_in_order(reference, named)
    units = units[: steps_of(max_inputs, len(units))]
    projector = projector_of(reference, options)
    own = projector.clusters_of(clusters)
    path = replace(_project_nested(reference, projector, units, ()), clusters=own)
    # A measure orders the inputs of other data anew.
    order = order if isinstance(order, str) else path.order
    return Result(path, {"order": order, "max_inputs": len(path.units)})


def reprojected(reference: Reference, path: SearchPath) -> SearchPath:
    """Return the submodels of another reference on the same inputs as those of a path."""
    projector = path.projector.of(reference)
    learning = staged(projector, reference)
    found = _project_nested(reference, projector, path.units, path.always)
    better = list[Subset | None]()
    for own, nested in zip(path.better, found.projections, strict=False):
        if own is None:
            better.append(None)
            continue
        space = SearchSpace(learning, path.always, own.units)
        everything = frozenset(range(len(own.units)))
        end = learning.refine(fit_set(space, ProjectionCache(), everything, nested))
        better.append(Subset(own.units, end))
    return replace(found, better=tuple(better), clusters=path.clusters)


def _project_nested(
    reference: Reference, projector: Projector, units: tuple[Unit, ...], always: tuple[int, ...]
) -> SearchPath:
    """Return the submodels along a given order, each with the one before it as its parent."""
    learning = staged(projector, reference)
    space, cache = SearchSpace(learning, always, units), ProjectionCache()
    with one_blas_thread():
        null, full = null_and_full(learning)
        found: list[Projection] = [null]
        if always:
            found = [learning.project([space.inputs(())], [null])[0]]
        for size in range(1, len(units) + 1):
            members = frozenset(range(size))
            if space.varying_inputs(members).any():
                end = learning.refine(fit_set(space, cache, members, found[0]))
            else:
                end = null._replace(inputs=space.inputs(members))
            found.append(cache.add(members, end))
    return SearchPath(
        reference=reference,
        projector=projector,
        units=units,
        projections=tuple(found),
        null_error=null.error,
        full_error=full.error,
        always=always,
        better=(None,) * len(found),
    )
