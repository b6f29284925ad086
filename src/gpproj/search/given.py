"""`project_path`: submodels along an order that the user gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from gpproj.kernels import Kernel
from gpproj.priors import PriorLike
from gpproj.projection import PRIOR, Learn, check_learn, family_of
from gpproj.reference import Clusters, Reference, check_clusters
from gpproj.search.path import SearchPath, path_along
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
    path = path_along(reference, family, units, (), learn, clusters)
    names = tuple(unit.name for unit in units)
    return replace(
        path,
        recipe=partial(
            project_path, order=names, learn=learn, prior=prior, clusters=clusters, kernel=kernel
        ),
    )
