"""`project`: one submodel of a reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from gpproj.execute import check_jobs
from gpproj.kernels import Kernel
from gpproj.linalg import one_blas_thread
from gpproj.priors import PriorLike
from gpproj.projection.clusters import project_clusters
from gpproj.projection.family import PRIOR, Family, family_of
from gpproj.projection.goal import OBJECTIVES, Learn
from gpproj.projection.linear import project_linear, refuse_options
from gpproj.projection.solving import (
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
    return project_subsets(reference, family, [positions], learn, parent, warm)[0]


def project_subsets(
    reference: Reference,
    family: Family,
    subsets: Sequence[tuple[int, ...]],
    learn: Learn = "projection",
    parent: Projection | None = None,
    warm: Place | None = None,
) -> list[Projection]:
    """Return the projections onto several sets of inputs, all in one batch.

    Parameters
    ----------
    reference : Reference
    family : Family
    subsets : sequence of tuples of int
    learn : {"projection", "marginal_likelihood"}
    parent : Projection, optional
        A submodel on fewer inputs: where they start from, if it is of the same family.
    warm : Place, optional
        One more start, as for `solve`.
    """
    target = reference.target
    asked = masks_of(subsets, reference.training.d)
    masks = asked & np.asarray(reference.training.varying)
    some = masks.any(axis=1)
    if parent is not None and parent.kernel == family.kernel:
        found = iter(grow(target, family, masks[some], parent, learn))
    else:
        found = iter(solve(target, family, masks[some], learn, parent, warm) if some.any() else [])
    null = None if some.all() else solve_null(target, family, learn)
    every = [next(found) if one else null for one in some]
    return [
        one._replace(inputs=mask)
        for one, mask in zip(every, asked, strict=True)
        if one is not None  # which none of them is
    ]


def check_learn(learn: str) -> None:
    """Refuse ways of learning that do not exist."""
    if learn not in OBJECTIVES:
        raise ValueError(f"learn must be one of {', '.join(OBJECTIVES)}; got {learn!r}")
