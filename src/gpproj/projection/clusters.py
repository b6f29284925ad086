"""Several Gaussian processes for one submodel: every cluster of the draws projected by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from gpproj.execute import run
from gpproj.linalg import Host, is_numpy
from gpproj.projection.family import Family
from gpproj.projection.solving import Learn, Projection, solve, solve_null
from gpproj.projection.submodel import Part, Submodel, part_of, submodel_of
from gpproj.reference import Clusters, Draws, Reference, Share, side_by_side

NUMBERS = 2**27
"""In the covariances of clusters that go into one batch on a device: a gigabyte."""


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
    shares = reference.shares(clusters)
    size = _together(reference)
    batches = [shares[first : first + size] for first in range(0, len(shares), size)]
    found = run(work, batches, n_jobs)
    return submodel_of(reference, positions, [pair for pairs in found for pair in pairs])


def _together(reference: Reference) -> int:
    """Return how many clusters go into one batch: on the processor each goes by itself."""
    X = reference.target.X
    if is_numpy(X) or reference.target.inducing is not None:
        return 1
    return max(NUMBERS // int(X.shape[0]) ** 2, 1)


def _parts(
    reference: Reference,
    family: Family,
    integrated: Projection,
    positions: tuple[int, ...],
    learn: Learn,
    draws: Sequence[Draws],
) -> list[tuple[Projection, Part]]:
    """Project some clusters; the matrices of their targets are let go at once."""
    shares = [reference.share(one) for one in draws]
    if len(shares) == 1 and shares[0].target is reference.target:
        found = [integrated]
    else:
        found = _project(reference, family, integrated, learn, shares)
    pairs = zip(found, shares, strict=True)
    return [(one, part_of(reference.problem, share, one, positions)) for one, share in pairs]


def _project(
    reference: Reference,
    family: Family,
    integrated: Projection,
    learn: Learn,
    shares: Sequence[Share],
) -> list[Projection]:
    if not integrated.active.any():
        found = [solve_null(share.target, family, learn) for share in shares]
    else:
        starts = [_starts(reference, family, integrated, share) for share in shares]
        masks = np.tile(integrated.active, (len(shares), 1))
        targets = side_by_side([share.target for share in shares])
        if targets is None:
            each = zip(shares, masks, starts, strict=True)
            found = [
                solve(share.target, family, mask[None, :], learn, starts=[own])[0]
                for share, mask, own in each
            ]
        else:
            found = solve(targets, family, masks, learn, starts=starts)
    return [one._replace(inputs=integrated.inputs) for one in found]


def _starts(reference: Reference, family: Family, integrated: Projection, share: Share) -> Host:
    """Return the cluster's own values, and where all draws together ended, `(s, p)`."""
    known = None if family.known is None else reference.problem.halves(share.known)[0]
    own = replace(family, known=known).known_starts(integrated.active)
    return np.vstack([own, integrated.parameters[None, :]])
