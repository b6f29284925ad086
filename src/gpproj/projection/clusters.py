"""Several Gaussian processes for one submodel: every cluster of the draws projected by itself."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from gpproj.execute import run
from gpproj.projection.family import Family
from gpproj.projection.solving import Learn, Projection, solve, solve_null
from gpproj.reference import Clusters, Reference, Share


def project_clusters(
    reference: Reference,
    family: Family,
    integrated: Projection,
    clusters: Clusters,
    learn: Learn = "projection",
    n_jobs: int | None = 1,
) -> list[tuple[Share, Projection]]:
    """Project every cluster of the reference's draws onto the inputs of a known submodel.

    Parameters
    ----------
    reference : Reference
    family : Family
    integrated : Projection
        The projection of all draws at once. Every cluster starts from it, among others, and none
        ends worse.
    clusters : int, "draws" or None
    learn : {"projection", "marginal_likelihood"}
    n_jobs : int or None
    """
    shares = reference.shares(clusters)
    if len(shares) == 1:
        return [(shares[0], integrated)]
    found = run(partial(_project, family, integrated, learn), shares, n_jobs)
    return list(zip(shares, found, strict=True))


def _project(family: Family, integrated: Projection, learn: Learn, share: Share) -> Projection:
    known = None if family.known is None else share.known[:-1]
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
