"""Several Gaussian processes for one submodel: every cluster of the draws projected by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from gpproj.execute import run
from gpproj.linalg import Host, is_numpy, room_for
from gpproj.projection.family import Family, null_family
from gpproj.projection.goal import Learn
from gpproj.projection.solving import Projection, solve
from gpproj.projection.submodel import Part, Submodel, parts_of, submodel_of
from gpproj.reference import Clusters, Draws, Reference, Share, Targets, side_by_side


def project_clusters(
    reference: Reference,
    family: Family,
    integrated: Projection,
    positions: tuple[int, ...],
    clusters: Clusters = None,
    learn: Learn = "projection",
    n_jobs: int | None = 1,
) -> Submodel:
    """Return a submodel that is a mixture: every cluster of the reference's draws projected.

    Parameters
    ----------
    reference : Reference
    family : Family
    integrated : Projection
        The projection of all draws at once. Every cluster starts from it, among others, and none
        ends worse.
    positions : tuple of int
        Its inputs, in the order the user knows them.
    clusters : int, "draws" or None
    learn : {"projection", "marginal_likelihood"}
    n_jobs : int or None
    """
    work = partial(_parts, reference, family, integrated, positions, learn)
    found = run(work, _batches(reference, clusters), n_jobs)
    return submodel_of(reference, positions, [pair for pairs in found for pair in pairs])


class _Batch(NamedTuple):
    """Clusters that are projected together."""

    shares: tuple[Share, ...]
    targets: Targets | None
    """Side by side, on a device."""


_Batches: TypeAlias = "Sequence[Sequence[Draws]] | Sequence[_Batch]"


def _batches(reference: Reference, clusters: Clusters) -> _Batches:
    """Return the clusters in batches: each by itself on the processor, as draws for the worker.

    On a device a batch that is the only one is kept for all submodels of the reference.
    """
    draws = reference.shares(clusters)
    X = reference.target.X
    if is_numpy(X) or reference.target.inducing is not None or len(draws) == 1:
        return [[one] for one in draws]
    # They are kept, in three arrays, as long as the reference is.
    size = max(room_for(X) // (16 * int(X.shape[0]) ** 2), 1)
    if len(draws) > size:
        return [draws[first : first + size] for first in range(0, len(draws), size)]
    kept = reference.kept
    if len(draws) not in kept:
        kept[len(draws)] = _batch(reference, draws)
    return [kept[len(draws)]]


def _batch(reference: Reference, draws: Sequence[Draws]) -> _Batch:
    shares = tuple(reference.share(one) for one in draws)
    targets = side_by_side([share.target for share in shares]) if len(shares) > 1 else None
    return _Batch(shares, targets)


def _parts(
    reference: Reference,
    family: Family,
    integrated: Projection,
    positions: tuple[int, ...],
    learn: Learn,
    clusters: Sequence[Draws] | _Batch,
) -> list[tuple[Projection, Part]]:
    """Project some clusters; the matrices of their targets are let go at once, unless kept."""
    batch = clusters if isinstance(clusters, _Batch) else _batch(reference, clusters)
    if batch.shares[0].target is reference.target:
        found = [integrated]
    else:
        found = _project(reference, family, integrated, learn, batch)
    parts = parts_of(reference.problem, batch.shares, batch.targets, found, positions)
    return list(zip(found, parts, strict=True))


def _project(
    reference: Reference, family: Family, integrated: Projection, learn: Learn, batch: _Batch
) -> list[Projection]:
    shares, mask = batch.shares, integrated.active
    if mask.any():
        starts = [_starts(reference, family, integrated, share) for share in shares]
    else:
        family = null_family(family)
        starts = [family.starts(mask)] * len(shares)
    if batch.targets is not None:
        masks = np.tile(mask, (len(shares), 1))
        found = solve(batch.targets, family, masks, learn, starts=starts)
    else:
        found = [
            solve(share.target, family, mask[None, :], learn, starts=[own])[0]
            for share, own in zip(shares, starts, strict=True)
        ]
    return [one._replace(inputs=integrated.inputs) for one in found]


def _starts(reference: Reference, family: Family, integrated: Projection, share: Share) -> Host:
    """Return the cluster's own values, and where all draws together ended, `(s, p)`."""
    known = None if family.known is None else reference.problem.halves(share.known)[0]
    own = replace(family, known=known).known_starts(integrated.active)
    return np.vstack([own, integrated.parameters[None, :]])
