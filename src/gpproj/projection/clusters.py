"""Several Gaussian processes for one submodel: every cluster of the draws projected by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from gpproj.execute import run
from gpproj.linalg import is_numpy, room_for
from gpproj.optimise import Memory, empty_memory, remember
from gpproj.priors import free_parameters
from gpproj.projection.family import Family, null_family
from gpproj.projection.loss import LOOSE, MEMORY
from gpproj.projection.projections import Divergences, Figures, Projection
from gpproj.projection.some_rows import spread_rows, stage_sizes, target_on
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
    batches = _batches(reference, clusters)
    learning = _learning(reference, projector, integrated, clusters)
    work = partial(_parts, reference, projector, integrated, positions, learning)
    found = [pair for pairs in run(work, batches, n_jobs) for pair in pairs]
    projections = [one for one, _ in found]
    compute = partial(_figures, reference, projector, clusters, projections)
    known: dict[str, float] = {}
    if learning.projector.rows == projector.rows:
        error = sum(part.weight * one.error for one, part in found)
        known[projector.criterion.name] = float(error)
    lost = Divergences(compute=compute, known=known)
    return submodel_of(reference, positions, found, lost, problems)


class _Learning(NamedTuple):
    """What clusters are learned with."""

    reference: TargetReference
    """Of the rows that they are learned from."""
    projector: ProcessProjector
    """Of all draws and these rows."""
    together: Projection
    """The optimum of all draws on these rows."""
    curvature: Memory | None
    """There; None where every cluster starts everywhere."""
    tolerance: float
    """Relative change of the objective that counts as none."""


def _learning(
    reference: TargetReference,
    projector: ProcessProjector,
    integrated: Projection,
    clusters: Clusters,
) -> _Learning:
    """Return what clusters are learned with.

    Where there are many rows it is some of them: by how much clusters differ from all draws
    together shows there as well, at a small part of the price.
    """
    # A single cluster is all draws, whose projection is known.
    count = len(reference.clustered_draws(clusters))
    tolerance = ENOUGH if count >= MANY else LOOSE
    quick = count > 1
    quick &= projector.learn.name == "loo" and projector.family.log_prior is not None
    sizes = stage_sizes(projector.rows)
    alone = reference.inducing is not None or blocks_of(reference.target) is not None
    if quick and sizes and not alone and is_numpy(reference.target.X):
        rows = spread_rows(reference.training, sizes[0])
        few = replace(projector, target=target_on(reference, rows), times=1.0, tolerance=LOOSE)
        near = few.again(integrated)
        return _Learning(reference.on_rows(rows), few, near, _curvature(few, near), tolerance)
    curvature = _curvature(projector, integrated) if quick else None
    if projector.times != 1.0:
        own = reference.on_rows(spread_rows(reference.training, projector.rows))
        return _Learning(own, projector, integrated, curvature, tolerance)
    return _Learning(reference, projector, integrated, curvature, tolerance)


def _figures(
    reference: TargetReference,
    projector: ProcessProjector,
    clusters: Clusters,
    projections: Sequence[Projection],
) -> Figures:
    """Return the divergences of all clusters, weighted; their covariances are made one by one."""
    own = reference
    if projector.times != 1.0:
        own = reference.on_rows(spread_rows(reference.training, projector.rows))
    rows = []
    for draws, one in zip(reference.clustered_draws(clusters), projections, strict=True):
        component = own.cluster_of(draws)
        at = one.kernel, one.parameters[None], one.active[None]
        error = projector.times * float(projector.criterion(component.target, *at)[0])
        there = replace(projector, target=component.target)
        figures = there.with_figures(one._replace(error=error)).figures
        assert figures is not None  # they have just been computed
        rows.append(component.weight * np.array(figures))
    return Figures(*np.sum(rows, axis=0).tolist())


STEP = 1e-3
"""Step of finite differences, on the log scale."""

MANY, ENOUGH = 8, 2e-3
"""Clusters from which on so much of a relative change of the objective counts as none: each counts
for little, and the step that brings it has come much closer. With 16 draws of Boston, Automobile
and heart, mean log densities of new rows moved by 0.005 at most, for half of the evaluations."""


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
    learning: _Learning,
    clusters: Sequence[Draws | None] | _Batch,
) -> list[tuple[Projection, Part]]:
    """Project some clusters; the matrices of their targets are let go at once, unless kept."""
    batch = clusters if isinstance(clusters, _Batch) else _batch(reference, clusters)
    if batch.components[0].target is reference.target:
        found = [integrated]
    else:
        own = batch
        if learning.reference is not reference and not isinstance(clusters, _Batch):
            own = _batch(learning.reference, clusters)
        found = _project(learning, own)
        found = [_moved(one, learning.together, integrated, projector.family) for one in found]
    learn = projector.learn
    parts = parts_of(reference.problem, batch.components, batch.targets, found, positions, learn)
    return list(zip(found, parts, strict=True))


def _moved(
    found: Projection, together: Projection, integrated: Projection, family: Family
) -> Projection:
    """Return a cluster on all rows: as far from all draws together as it is on few of them."""
    if together is integrated:
        return found._replace(inputs=integrated.inputs)
    bounds = family.bounds if integrated.active.any() else null_family(family).bounds
    parameters = integrated.parameters + found.parameters - together.parameters
    return found._replace(parameters=np.clip(parameters, *bounds), inputs=integrated.inputs)


def _curvature(projector: ProcessProjector, integrated: Projection) -> Memory:
    """Return the curvature at the optimum of all draws, by a gradient for each parameter in use.

    That of the clusters, which are close, is about the same: it saves them two thirds of their
    evaluations.
    """
    if not integrated.active.any():
        projector = projector.without_inputs
    at, family = integrated.parameters, projector.family
    free = free_parameters(family.kernel, integrated.active, at, family.bounds, STEP)
    points = [at, *(at + STEP * np.eye(at.size)[place] for place in free)]
    (fit,) = projector.begin_at([starts_at(points, integrated.active)])
    first, *others = [lane.state for lane in fit.lanes]
    memory = empty_memory(1, MEMORY, at.size)
    for one in others:
        remember(memory, np.zeros(1, dtype=np.intp), one.x - first.x, one.gradient - first.gradient)
    return memory


def _project(learning: _Learning, batch: _Batch) -> list[Projection]:
    reference, projector, together, curvature, tolerance = learning
    if curvature is not None:
        projector = projector.with_tolerance(tolerance)
    if not together.active.any():
        projector = projector.without_inputs
    families = tuple(
        _own_family(reference, projector.family, component) for component in batch.components
    )
    own = [
        replace(projector, target=component.target, family=family)
        for component, family in zip(batch.components, families, strict=True)
    ]
    starts = [_starts(family, together, curvature is not None) for family in families]
    if batch.targets is not None:
        side_by_side = replace(projector, target=batch.targets, families=families)
        return _learned(side_by_side, starts, curvature)
    return [_learned(one, [at], curvature)[0] for one, at in zip(own, starts, strict=True)]


def _learned(
    projector: ProcessProjector, starts: Sequence[Starts], curvature: Memory | None
) -> list[Projection]:
    """Return the optima that the best starts lead to.

    Clusters are close to each other, and to the optimum of all draws together, which is a start and
    whose curvature is known: other valleys were looked at where that was learned. Other objectives,
    and this one without a prior, have several optima nearby, and all starts run on.
    """
    if curvature is None:
        return projector.solve(starts)
    begun = [fit.keep_best(1).with_memory(curvature) for fit in projector.begin_at(starts)]
    return projector.projections(projector.climbed(begun))


def _own_family(reference: TargetReference, family: Family, component: Cluster) -> Family:
    """Return the family around a cluster's own values, where its submodels have such a kernel."""
    d = reference.training.d
    if family.known is None or reference.structure.structure(d) != family.kernel.structure(d):
        return family
    return replace(family, known=reference.problem.halves(component.known)[0])


def _starts(family: Family, together: Projection, near: bool) -> Starts:
    """Return the cluster's own values, and where all draws together ended.

    Near that optimum nothing else is a start, unless the cluster itself is a submodel: with all
    inputs that it uses.
    """
    mask = together.active
    here = starts_at([together.parameters], mask)
    if family.known is None:
        return here if near else usual_starts(family, mask).plus(here)
    itself = () if np.any(family.used & ~mask) else (0.0,)
    shares = itself if near else (0.2, *itself)
    return reference_starts(family, mask, shares).plus(here) if shares else here
