"""Exchanges: a unit that is in against one that is out, where that lowers the error.

A forward search is greedy: the best single input may be in no good pair. After each step the units
that are missed least are tried against those that promise most, as the splicing of best-subset
selection does; an exchange is made only if the error of the converged submodel falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from gpproj.linalg import Host
from gpproj.projection import Projection
from gpproj.search.space import Ledger, Members, Space
from gpproj.search.step import Compare, Step, grow


class Effort(NamedTuple):
    """How much is tried in a round."""

    learned: int
    """Sets without one unit that are optimised to convergence."""
    leaving: int
    """The best of these, whose unit may leave."""
    entering: int
    """Units that are tried in the place of each."""


SMALL, EFFORTS = 6, (Effort(4, 2, 5), Effort(2, 1, 4))
"""Sets of so many units, and what is tried around these and around larger ones: the first inputs
decide most, and there are fewest of them."""

ARRIVING = 1
"""Exchanges for a unit that leaves which are optimised to convergence."""

ROUNDS = 4
"""Rounds of exchanges at one size at most."""

ITERATIONS = 6
"""Of candidates, before they are compared."""

TOLERANCE = 1e-4
"""Fall of the relative error below which an exchange is not worth the name."""


class Standing(NamedTuple):
    """A set of units and its submodel."""

    members: Members
    projection: Projection


def exchanged(
    space: Space, ledger: Ledger, standing: Standing, rankings: Sequence[Host], span: float
) -> Standing:
    """Return a set of the same size that no exchange tried here makes better.

    Sets without one of the units are learned on the way, and kept in the ledger: one of them may be
    the best of its size.

    Parameters
    ----------
    space : Space
    ledger : Ledger
    standing : Standing
    rankings : sequence of arrays `(units,)`
        What each unit promises, by several measures.
    span : float
        Distance from the null model's error to that of all inputs.
    """
    for _ in range(ROUNDS):
        better = _round(space, ledger, standing, rankings)
        if better is None or better.projection.error > standing.projection.error - TOLERANCE * span:
            return standing
        standing = better
    return standing


def _round(
    space: Space, ledger: Ledger, standing: Standing, rankings: Sequence[Host]
) -> Standing | None:
    """Return the best exchange of one round, if there is any."""
    out = [number for number in range(len(space.units)) if number not in standing.members]
    if not out or len(standing.members) < 2:
        return None
    tried: list[Standing] = []
    effort = EFFORTS[len(standing.members) > SMALL]
    for smaller in _without_one(space, ledger, standing, effort):
        (left,) = standing.members - smaller.members
        affordable = [one for one in out if space.units[one].cost <= space.units[left].cost]
        entering = _promising(space, smaller.projection, affordable, rankings)[: effort.entering]
        sets = [smaller.members | {number} for number in entering]
        tried += [Standing(own, ledger[own]) for own in sets if own in ledger]
        new = [own for own in sets if own not in ledger]
        if new:
            runners = space.begin(new, (smaller.projection,), ITERATIONS, near=True)
            best = np.argsort(space.projector.errors(runners), kind="stable")[:ARRIVING]
            runners = [runners[place].narrowed(1) for place in best]
            arrived = [new[place] for place in best]
            ends = space.end(runners, arrived, (smaller.projection,))
            pairs = zip(arrived, ends, strict=True)
            tried += [Standing(own, ledger.add(own, end)) for own, end in pairs]
    return min(tried, key=lambda one: one.projection.error, default=None)


def exchanged_freely(
    space: Space, ledger: Ledger, standing: Standing, compare: Compare, span: float
) -> Standing:
    """Return a set of the same size that no exchange makes better, where candidates cost nothing.

    All units that are out are tried in the place of those that may leave.

    Parameters
    ----------
    space : Space
    ledger : Ledger
    standing : Standing
    compare : callable
        How candidates are compared.
    span : float
        Distance from the null model's error to that of all inputs.
    """
    for _ in range(ROUNDS):
        better = _free_round(space, ledger, standing, compare)
        if better is None or better.projection.error > standing.projection.error - TOLERANCE * span:
            return standing
        standing = better
    return standing


def _free_round(
    space: Space, ledger: Ledger, standing: Standing, compare: Compare
) -> Standing | None:
    out = [number for number in range(len(space.units)) if number not in standing.members]
    effort = space.projector.effort
    if not out or len(standing.members) < 2 or effort is None:
        return None
    sets = [standing.members - {number} for number in sorted(standing.members)]
    unknown = [own for own in sets if own not in ledger]
    for own, found in zip(unknown, space.project(unknown), strict=True):
        ledger.add(own, found)
    tried: list[Standing] = []
    for smaller in sorted(sets, key=lambda own: ledger[own].error)[: effort.leaving]:
        (left,) = standing.members - smaller
        affordable = [one for one in out if space.units[one].cost <= space.units[left].cost]
        grow(compare, ledger, Step(space, smaller, ledger[smaller]), affordable)
        grown = (smaller | {number} for number in affordable)
        tried += [Standing(own, ledger[own]) for own in grown if own in ledger]
    return min(tried, key=lambda one: one.projection.error, default=None)


def _without_one(
    space: Space, ledger: Ledger, standing: Standing, effort: Effort
) -> list[Standing]:
    """Return the sets without the units that are missed least, and their submodels."""
    sets = [standing.members - {number} for number in sorted(standing.members)]
    sets = [own for own in sets if space.mask(own).any()]
    unknown = [own for own in sets if own not in ledger]
    begun = space.begin(unknown, (standing.projection,), 0, near=True)
    runners = dict(zip(unknown, begun, strict=True))
    known = {own: ledger[own].error for own in sets if own in ledger}
    for iterations, count in ((0, 2 * effort.learned), (ITERATIONS, effort.learned)):
        if iterations:
            moved = space.advance(list(runners.values()), iterations)
            runners = dict(zip(runners, moved, strict=True))
        own_errors = space.projector.errors(list(runners.values())).tolist()
        errors = known | dict(zip(runners, own_errors, strict=True))
        sets = sorted(sets, key=errors.__getitem__)[:count]
        runners = {own: runners[own] for own in sets if own in runners}
    ends = space.end(list(runners.values()), list(runners))
    for own, end in zip(runners, ends, strict=True):
        ledger.add(own, end)
    learned = [Standing(own, ledger[own]) for own in sets]
    return sorted(learned, key=lambda one: one.projection.error)[: effort.leaving]


def _promising(
    space: Space, parent: Projection, units: Sequence[int], rankings: Sequence[Host]
) -> list[int]:
    """Return the units that promise most: by their slopes and by other rankings in turn."""
    numbers = np.array(units, dtype=np.intp)
    orders = [numbers[np.argsort(space.slopes(parent)[numbers], kind="stable")]]
    orders += [numbers[np.argsort(-ranking[numbers], kind="stable")] for ranking in rankings]
    turns = chain.from_iterable(zip(*(order.tolist() for order in orders), strict=True))
    return list(dict.fromkeys(turns))
