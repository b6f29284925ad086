"""`project_path`: submodels along an order that the user gives."""

from __future__ import annotations

from collections.abc import Iterable

from gpproj.kernels import Kernel
from gpproj.linalg import one_blas_thread
from gpproj.priors import PriorLike
from gpproj.projection import (
    PRIOR,
    Learn,
    Projection,
    check_learn,
    family_of,
    project_positions,
)
from gpproj.reference import Clusters, Reference, check_clusters
from gpproj.search.path import SearchPath, ends
from gpproj.search.units import Unit


def project_path(
    reference: Reference,
    order: Iterable[str | int],
    learn: Learn = "projection",
    *,
    prior: PriorLike = PRIOR,
    clusters: Clusters = None,
    kernel: Kernel | None = None,
) -> SearchPath:
    """Project onto growing sets of inputs in a given order: ARD's, a rival's, the user's own.

    Parameters
    ----------
    reference : Reference
    order : iterable of str or int
        Names or positions, the first input first.
    learn : {"projection", "marginal_likelihood"}
        As for `gpproj.project`.
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
    >>> path = gpproj.project_path(ref, ref.ard_relevance().sort_values(ascending=False).index[:2])
    >>> len(path)
    3
    """
    check_learn(learn)
    check_clusters(clusters)
    positions = reference.training.positions(order)
    family = family_of(reference, kernel, prior)
    units = tuple(Unit(reference.feature_names[one], (one,)) for one in positions)
    with one_blas_thread():
        null, full_error = ends(reference, family, learn)
        found: list[Projection] = [null]
        for size in range(1, len(positions) + 1):
            chosen = positions[:size]
            found.append(project_positions(reference, family, chosen, learn, found[-1]))
    return SearchPath(
        reference=reference,
        family=family,
        units=units,
        projections=tuple(found),
        null_error=null.projection_error,
        full_error=full_error,
        learn=learn,
        clusters=clusters,
    )
