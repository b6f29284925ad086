"""`project`: one submodel of a reference."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gpproj.execute import check_jobs
from gpproj.kernels import Kernel
from gpproj.linalg import one_blas_thread
from gpproj.priors import PriorLike
from gpproj.projection.clusters import project_clusters
from gpproj.projection.family import PRIOR, Family, family_of
from gpproj.projection.linear import project_linear, refuse_options
from gpproj.projection.solving import (
    OBJECTIVES,
    Learn,
    Place,
    Projection,
    grow,
    masks_of,
    solve,
    solve_null,
)
from gpproj.projection.submodel import Submodel
from gpproj.reference import Clusters, LinearReference, Reference, check_clusters


def project(
    reference: Reference,
    inputs: Iterable[str | int],
    learn: Learn = "projection",
    *,
    prior: PriorLike = PRIOR,
    clusters: Clusters = None,
    kernel: Kernel | None = None,
    n_jobs: int | None = 1,
) -> Submodel:
    """Project a reference onto a Gaussian process, or a linear model, on some of its inputs.

    Parameters
    ----------
    reference : Reference
    inputs : iterable of str or int
        Names or positions; an empty list is the null model.
    learn : {"projection", "marginal_likelihood"}
        Learn the submodel's hyperparameters from the reference's posterior, or from the data alone
        with the reference's noise variance.
    prior : {"weak", "log-uniform"}, mapping or None
        Of the submodel's hyperparameters: its log density joins the objective, see `gpproj.priors`.
        None is the paper's projection.
    clusters : int, "draws" or None
        How many Gaussian processes the submodel is a mixture of, where the reference has posterior
        draws: that many clusters of draws that predict alike, each projected by itself, or every
        draw by itself. None projects all draws at once, as the paper does.
    kernel : Kernel, optional
        Structure of the submodel's covariance; the reference's when left out.
    n_jobs : int or None
        Workers for the clusters; -1 for all cores.

    Returns
    -------
    Submodel
        Of a linear reference a `LinearSubmodel`: every draw is projected by itself, and `learn`,
        `prior`, `clusters` and `kernel` have no meaning.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=80, random_state=0)
    >>> ref = gpproj.fit(X[:, 5:], y)
    >>> sub = gpproj.project(ref, ["x1", "x2"])
    >>> sub.inputs
    ('x1', 'x2')
    >>> sub.projection_error < gpproj.project(ref, []).projection_error
    True
    """
    check_learn(learn)
    check_clusters(clusters)
    check_jobs(n_jobs)
    if isinstance(reference, LinearReference):
        refuse_options(learn=learn, prior=prior, clusters=clusters, kernel=kernel)
        return project_linear(reference, inputs)
    positions = reference.training.positions(inputs)
    family = family_of(reference, kernel, prior)
    with one_blas_thread():
        found = project_positions(reference, family, positions, learn)
        return project_clusters(reference, family, found, positions, clusters, learn, n_jobs)


def project_positions(
    reference: Reference,
    family: Family,
    positions: tuple[int, ...],
    learn: Learn = "projection",
    parent: Projection | None = None,
    warm: Place | None = None,
) -> Projection:
    """Return the projection onto inputs given by position; constant inputs are never used."""
    mask = masks_of([positions], reference.training.d) & np.asarray(reference.training.varying)
    if not mask.any():
        null = solve_null(reference.target, family, learn)
        return null._replace(inputs=masks_of([positions], reference.training.d)[0])
    if parent is not None and parent.kernel == family.kernel:
        found = grow(reference.target, family, mask[0], parent, learn)
        return found._replace(inputs=masks_of([positions], reference.training.d)[0])
    return solve(reference.target, family, mask, learn, parent, warm)[0]


def check_learn(learn: str) -> None:
    """Refuse ways of learning that do not exist."""
    if learn not in OBJECTIVES:
        raise ValueError(f"learn must be one of {', '.join(OBJECTIVES)}; got {learn!r}")
