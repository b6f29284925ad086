"""Several Gaussian processes for one submodel: every cluster of the draws projected by itself."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from gpproj.execute import run
from gpproj.projection.family import Family
from gpproj.projection.solving import Learn, Projection, solve, solve_null
from gpproj.projection.submodel import Part, Submodel, part_of, submodel_of
from gpproj.reference import Clusters, Draws, Reference, Share


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
    work = partial(_part, reference, family, integrated, positions, learn)
    return submodel_of(reference, positions, run(work, reference.shares(clusters), n_jobs))


def _part(
    reference: Reference,
    family: Family,
    integrated: Projection,
    positions: tuple[int, ...],
    learn: Learn,
    draws: Draws,
) -> tuple[Projection, Part]:
    """Project one cluster; the matrices of its target are let go at once."""
    share = reference.share(draws)
    if share.target is reference.target:
        found = integrated
    else:
        found = _project(reference, family, integrated, learn, share)
    return found, part_of(reference.problem, share, found, positions)


def _project(
    reference: Reference, family: Family, integrated: Projection, learn: Learn, share: Share
) -> Projection:
    known = None if family.known is None else reference.problem.halves(share.known)[0]
    own = replace(family, known=known)
    if not integrated.active.any():
        found = solve_null(share.target, own, learn)
    else:
        found = solve(
            share.target,
            own,
            np.asarray(integrated.active)[None, :],
            learn,
            warm=(integrated.parameters, integrated.active),
            starts_of=own.known_starts,
        )[0]
    return found._replace(inputs=integrated.inputs)
