"""`project_path`: submodels along an order that the user gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gpproj.kernels import Kernel
from gpproj.linalg import one_blas_thread
from gpproj.priors import PriorLike
from gpproj.projection import (
    CriterionName,
    Learn,
    Projection,
    Projector,
    check_criterion,
    check_learn,
    projector_of,
)
from gpproj.recipes import Result, remembered
from gpproj.reference import Clusters, Reference, check_clusters
from gpproj.search.path import SearchPath, Subset, ends
from gpproj.search.rivals import learned
from gpproj.search.space import Ledger, Space
from gpproj.search.units import Unit, steps_of
from gpproj.sensitivity import relevance


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
        Names or positions, the first input first; or a method of `gpproj.relevance`, such as "ard",
        that gives the order. A validation asks the method anew in every fold.
    learn : {"loo", "projection", "marginal_likelihood"}
        As for `gpproj.project`.
    criterion : {"loo_divergence", "projection_error"}, optional
        As for `gpproj.forward_search`.
    max_inputs : int, optional
        How many inputs of the order to go through; all when left out.
    prior, clusters, kernel
        As for `gpproj.project`.

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
    check_criterion(criterion, check_learn(learn))
    check_clusters(clusters)
    named = order
    if isinstance(order, str):
        values = relevance(reference, order, random_state=0)
        named = list(values.sort_values(ascending=False, kind="stable").index)
    positions = reference.training.positions(named)
    positions = positions[: steps_of(max_inputs, len(positions))]
    units = tuple(Unit(reference.feature_names[one], (one,)) for one in positions)
    projector = projector_of(reference, learn, criterion, prior, kernel)
    own = projector.clusters_of(clusters)
    path = _along(reference, projector, units, ())
    return Result(replace(path, clusters=own), _changed(order, path))


def _changed(order: Any, path: SearchPath) -> dict[str, Any]:
    """Return the settings of a path's recipe: a measure orders the inputs of other data anew."""
    return {
        "order": order if isinstance(order, str) else path.order,
        "max_inputs": len(path.units),
    }


def path_along(reference: Reference, path: SearchPath) -> SearchPath:
    """Return the submodels of another reference on the same inputs as those of a path."""
    projector = path.projector.of(reference)
    found = _along(reference, projector, path.units, path.always)
    better = list[Subset | None]()
    for own, nested in zip(path.better, found.projections, strict=False):
        if own is None:
            better.append(None)
            continue
        space = Space(projector, path.always, own.units)
        everything = frozenset(range(len(own.units)))
        end = projector.polished(learned(space, Ledger(), everything, nested))
        better.append(Subset(own.units, projector.completed(end)))
    return replace(found, better=tuple(better), clusters=path.clusters)


def _along(
    reference: Reference, projector: Projector, units: tuple[Unit, ...], always: tuple[int, ...]
) -> SearchPath:
    """Return the submodels along a given order, each with the one before it as its parent."""
    space, ledger = Space(projector, always, units), Ledger()
    with one_blas_thread():
        null, full = ends(projector)
        found: list[Projection] = [null]
        if always:
            found = [projector.project([space.asked(())], [null])[0]]
        for size in range(1, len(units) + 1):
            members = frozenset(range(size))
            if space.mask(members).any():
                end = projector.polished(learned(space, ledger, members, found[0]))
            else:
                end = null._replace(inputs=space.asked(members))
            found.append(ledger.add(members, end))
        completed = tuple(projector.completed(one) for one in found)
    return SearchPath(
        reference=reference,
        projector=projector,
        units=units,
        projections=completed,
        null_error=null.error,
        full_error=full.error,
        always=always,
        better=(None,) * len(completed),
    )
