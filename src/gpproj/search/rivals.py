"""The orders of the usual measures of relevance: a search is never worse than they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpproj.linalg import Host
from gpproj.projection import Projection
from gpproj.reference import Draws, ForeignReference, Reference
from gpproj.search.space import Ledger, Members, Space
from gpproj.sensitivity import relevance

METHODS = ("ard", "kl", "permutation")

WARM, LANES = 6, 1
"""Iterations of the starts of a set, and how many of them then run on to convergence."""


def relevances(reference: Reference, space: Space) -> list[Host]:
    """Return how relevant every unit is by each of the usual measures, per cost, `(units,)` each.

    References with posterior draws are asked at the centre of these. Those that are known by their
    moments alone have no measure but the length-scales that were fitted to their mean.
    """
    family = space.projector.family
    if isinstance(reference, ForeignReference):
        assert family.known is not None  # every reference has values for submodels
        scales = [
            float(np.min(family.known[family.owner[:-1] == j], initial=np.inf))
            for j in range(space.projector.d)
        ]
        found = [np.exp(-np.array(scales)) * family.units.inputs]
    else:
        if reference.draws.count > 1:
            centre = Draws.equal(reference.draws.centre[None, :])
            reference = replace(reference, draws=centre, posterior=None)
        found = [
            relevance(reference, method, random_state=0).to_numpy(dtype=np.float64)
            for method in METHODS
        ]
    return [
        np.array([max(values[list(unit.positions)]) / unit.cost for unit in space.units])
        for values in found
    ]


def along_orders(
    space: Space, ledger: Ledger, rankings: Sequence[Host], size: int, null: Projection
) -> None:
    """Learn the first units of several orders, unless they are known.

    Parameters
    ----------
    space : Space
    ledger : Ledger
    rankings : sequence of arrays `(units,)`
        The largest value first.
    size : int
        How many units.
    null : Projection
        The submodel before the first step.
    """
    orders = (np.argsort(-ranking, kind="stable")[:size] for ranking in rankings)
    for own in dict.fromkeys(frozenset(order.tolist()) for order in orders):
        if own not in ledger and space.mask(own).any():
            ledger.add(own, learned(space, ledger, own, null))


def learned(space: Space, ledger: Ledger, members: Members, null: Projection) -> Projection:
    """Return the submodel of one set, from the optima of its neighbours among others.

    Parameters
    ----------
    space : Space
    ledger : Ledger
    members : frozenset of int
    null : Projection
        The submodel before the first step.
    """
    smaller = [members - {number} for number in sorted(members)]
    known = [ledger[own] for own in smaller if own in ledger] or [null]
    known = [min(known, key=lambda one: one.value)]
    runners = space.begin([members], known, WARM)
    return space.end([runner.narrowed(LANES) for runner in runners], [members], known)[0]
