"""`project_path`: submodels along an order that the user gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from gpproj.kernels import Kernel
from gpproj.priors import PriorLike
from gpproj.projection import PRIOR, Learn, check_learn, family_of, refuse_options
from gpproj.reference import Clusters, LinearReference, Reference, check_clusters
from gpproj.search.linear import linear_path
from gpproj.search.path import SearchPath, path_along
from gpproj.search.units import Unit, steps_of
from gpproj.sensitivity import relevance


def project_path(
    reference: Reference,
    order: Iterable[str | int] | str,
    learn: Learn = "projection",
    *,
    max_inputs: int | None = None,
    prior: PriorLike = PRIOR,
    clusters: Clusters = None,
    kernel: Kernel | None = None,
) -> SearchPath:
    """Project onto growing sets of inputs in a given order: ARD's, a rival's, the user's own.

    Parameters
    ----------
    reference : Reference
    order : iterable of str or int, or str
        Names or positions, the first input first; or a method of `gpproj.relevance`, such as "ard",
        that gives the order. A validation asks the method anew in every fold.
    learn : {"projection", "marginal_likelihood"}
        As for `gpproj.project`.
    max_inputs : int, optional
        How many inputs of the order to go through; all when left out.
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
    >>> path = gpproj.project_path(ref, "ard", max_inputs=2)
    >>> path.order == tuple(ref.ard_relevance().nlargest(2).index)
    True
    """
    check_learn(learn)
    check_clusters(clusters)
    named = order
    if isinstance(order, str):
        values = relevance(reference, order, random_state=0)
        named = list(values.sort_values(ascending=False, kind="stable").index)
    positions = reference.training.positions(named)
    positions = positions[: steps_of(max_inputs, len(positions))]
    units = tuple(Unit(reference.feature_names[one], (one,)) for one in positions)
    if isinstance(reference, LinearReference):
        refuse_options(learn=learn, prior=prior, clusters=clusters, kernel=kernel)
        found = linear_path(reference, units)
        own = order if isinstance(order, str) else found.order
        return replace(found, recipe=partial(project_path, order=own, max_inputs=len(units)))
    family = family_of(reference, kernel, prior)
    path = path_along(reference, family, units, (), learn, clusters)
    recipe = partial(
        project_path,
        order=order if isinstance(order, str) else path.order,
        learn=learn,
        max_inputs=len(units),
        prior=prior,
        clusters=clusters,
        kernel=kernel,
    )
    return replace(path, recipe=recipe)
