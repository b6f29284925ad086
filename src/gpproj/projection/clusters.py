"""Several Gaussian processes for one submodel: every cluster of the draws projected by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from gpproj.execute import run
from gpproj.linalg import is_numpy, room_for
from gpproj.projection.family import Family
from gpproj.projection.projections import Divergences, Figures, Projection
from gpproj.projection.some_rows import spread_rows
from gpproj.projection.starts import Starts, reference_starts, starts_at, usual_starts
from gpproj.projection.submodel import GaussianProcessSubmodel, Part, parts_of, submodel_of
from gpproj.reference import (
    Cluster,
    Clusters,
    Draws,
    TargetReference,
    Targets,
    blocks_of,
    stacked,
)

if TYPE_CHECKING:
    from gpproj.projection.process_projector import ProcessProjector


def project_clusters(
    reference: TargetReference,
    projector: ProcessProjector,
    integrated: Projection,
    positions: tuple[int, ...],
    clusters: Clusters = None,
    n_jobs: int | None = 1,
    problems: tuple[str, ...] = (),
) -> GaussianProcessSubmodel:
    """Return a submodel that is a mixture: every cluster of the reference's draws projected.

    Parameters
    ----------
    projector : ProcessProjector
        The projector of all draws at once.
    integrated : Projection
        Its projection. Every cluster starts from it, among others, and none ends worse.
    positions : tuple of int
        Its inputs, in the order the user knows them.
    problems : tuple of str
        What may be wrong with the projection.
    """
    work = partial(_parts, reference, projector, integrated, positions)
    found = [pair for pairs in run(work, _batches(reference, clusters), n_jobs) for pair in pairs]
    lost = None
    if found[0][0].figures is None:  # one process stands for all draws

        def compute() -> Figures:
            figures = projector.with_figures(integrated).figures
            assert figures is not None  # it has just been computed
            return figures

        lost = Divergences(compute=compute, known={projector.criterion.name: integrated.error})
    return submodel_of(reference, positions, found, problems, lost)


class _Batch(NamedTuple):
    """Clusters that are projected together."""

    components: tuple[Cluster, ...]
    targets: Targets | None
    """Side by side, on a device."""


_Batches: TypeAlias = "Sequence[Sequence[Draws | None]] | Sequence[_Batch]"


def _batches(reference: TargetReference, clusters: Clusters) -> _Batches:
    """Return the clusters in batches: each by itself on the processor, as draws for the worker.

    On a device a batch that is the only one is kept for all submodels of the reference.
    """
    draws = reference.clustered_draws(clusters)
    X = reference.target.X
    alone = reference.target.inducing is not None or blocks_of(reference.target) is not None
    if is_numpy(X) or alone or len(draws) == 1:
        return [[one] for one in draws]
    # They are kept, in three arrays, as long as the reference is.
    size = max(room_for(X) // (16 * int(X.shape[0]) ** 2), 1)
    if len(draws) > size:
        return [draws[first : first + size] for first in range(0, len(draws), size)]
    cache = reference.device_cache
    if len(draws) not in cache:
        cache[len(draws)] = _batch(reference, draws)
    return [cache[len(draws)]]


def _batch(reference: TargetReference, draws: Sequence[Draws | None]) -> _Batch:
    components = tuple(reference.cluster_of(one) for one in draws)
    targets = (
        stacked([component.target for component in components]) if len(components) > 1 else None
    )
    return _Batch(components, targets)


def _parts(
    reference: TargetReference,
    projector: ProcessProjector,
    integrated: Projection,
    positions: tuple[int, ...],
    clusters: Sequence[Draws | None] | _Batch,
) -> list[tuple[Projection, Part]]:
    """Project some clusters; the matrices of their targets are let go at once, unless kept."""
    batch = clusters if isinstance(clusters, _Batch) else _batch(reference, clusters)
    if batch.components[0].target is reference.target:
        found = [integrated]
    else:
        learning = batch
        if projector.times != 1.0 and not isinstance(clusters, _Batch):
            some = reference.on_rows(spread_rows(reference.training, projector.rows))
            learning = _batch(some, clusters)
        found = _project(reference, projector, integrated, learning)
    learn = projector.learn
    parts = parts_of(reference.problem, batch.components, batch.targets, found, positions, learn)
    return list(zip(found, parts, strict=True))


def _project(
    reference: TargetReference, projector: ProcessProjector, integrated: Projection, batch: _Batch
) -> list[Projection]:
    mask = integrated.active
    if not mask.any():
        projector = projector.without_inputs
    families = tuple(
        _own_family(reference, projector.family, component) for component in batch.components
    )
    own = [
        replace(projector, target=component.target, family=family)
        for component, family in zip(batch.components, families, strict=True)
    ]
    starts = [_starts(family, integrated) for family in families]
    if batch.targets is not None:
        together = replace(projector, target=batch.targets, families=families)
        found = together.solve(starts)
    else:
        found = [one.solve([at])[0] for one, at in zip(own, starts, strict=True)]
    return [
        one.with_figures(end)._replace(inputs=integrated.inputs)
        for one, end in zip(own, found, strict=True)
    ]


def _own_family(reference: TargetReference, family: Family, component: Cluster) -> Family:
    """Return the family around a cluster's own values, where its submodels have such a kernel."""
    d = reference.training.d
    if family.known is None or reference.structure.structure(d) != family.kernel.structure(d):
        return family
    return replace(family, known=reference.problem.halves(component.known)[0])


def _starts(family: Family, integrated: Projection) -> Starts:
    """Return the cluster's own values, and where all draws together ended."""
    mask = integrated.active
    here = starts_at([integrated.parameters], mask)
    if family.known is None:
        return usual_starts(family, mask).plus(here)
    # With all inputs that it uses the cluster itself is a submodel.
    components = (0.2,) if np.any(family.used & ~mask) else (0.2, 0.0)
    return reference_starts(family, mask, components).plus(here)
