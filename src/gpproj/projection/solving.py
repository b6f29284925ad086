"""From candidate subsets to projected parameters: many starts, few finishers, best of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.linalg import Host
from gpproj.optimise import Outcome, State, joined
from gpproj.projection.family import Family, null_family
from gpproj.projection.goal import Goal, Learn
from gpproj.reference import Held, Target

Place: TypeAlias = tuple[Host, NDArray[np.bool_]]
"""Parameters of a submodel, and the inputs it uses."""

STAGES = ((8, 2), (25, 1))
"""Iterations that the starts of a candidate get, and how many of them then go on."""

MAX_ITERATIONS = 500


class Projection(NamedTuple):
    """One submodel's learned parameters, on the model's scale."""

    kernel: Kernel
    """Structure of its covariance."""
    parameters: Host
    """Log parameters of the kernel for all d inputs, then the log extra variance, `(p,)`."""
    inputs: NDArray[np.bool_]
    """Inputs it may use, `(d,)`."""
    active: NDArray[np.bool_]
    """Inputs it does use, `(d,)`: fewer where the submodel before it on a path was better."""
    value: float
    """The objective at its minimum."""
    posterior_kl: float
    projection_error: float
    converged: bool
    evaluations: int
    """Values and gradients that it took, all starts together."""


def solve(
    target: Held,
    family: Family,
    masks: NDArray[np.bool_],
    learn: Learn = "projection",
    parent: Projection | None = None,
    warm: Place | None = None,
    starts: Sequence[Host] | None = None,
) -> list[Projection]:
    """Learn the submodel of every subset of the inputs, all starts of all subsets in one batch.

    Parameters
    ----------
    target : Target or Targets
        Of all subsets, or of each of them.
    family : Family
    masks : bool array `(c, d)`
        Subsets, none of them empty.
    learn : {"projection", "marginal_likelihood"}
    parent : Projection, optional
        A submodel on fewer inputs: the answer where nothing better is found, so that the objective
        never grows along a path.
    warm : (array `(p,)`, bool array `(d,)`), optional
        Parameters of any other submodel of the family and the inputs it uses: one more start.
    starts : sequence of arrays `(s, p)`, optional
        The other starts of each subset; the family's own when left out.

    Returns
    -------
    list of Projection
    """
    if starts is None:
        starts = [family.starts(mask) for mask in masks]
    if warm is not None:
        pairs = zip(starts, masks, strict=True)
        starts = [np.vstack([own, family.extended(*warm, mask)]) for own, mask in pairs]
    candidate = np.repeat(np.arange(len(masks)), [len(own) for own in starts])

    goal = Goal(target, family, masks, learn)
    lanes = goal.at(candidate)
    state = lanes.begin(np.vstack(starts))
    evaluations = np.zeros(len(masks), dtype=int)
    for iterations, kept in STAGES:
        state = lanes.advance(state, iterations)
        stayed = _best_of_each(candidate[state.lanes], state.outcome().value, kept)
        dropped = np.setdiff1d(np.arange(state.lanes.size), stayed)
        np.add.at(evaluations, candidate[state.lanes[dropped]], state.evaluations[dropped])
        state = state.keep(state.lanes[stayed])
    outcome = lanes.advance(state, MAX_ITERATIONS).outcome()
    found = _projections(goal, outcome, evaluations + outcome.evaluations)
    return [not_worse(projection, parent) for projection in found]


def enter(
    target: Target,
    family: Family,
    masks: NDArray[np.bool_],
    parent: Projection,
    learn: Learn = "projection",
) -> list[State]:
    """Begin at a parent's optimum, inputs entering by the better of their ways.

    The null model's optimum tells nothing: there the best of the family's own starts is taken.

    Parameters
    ----------
    target : Target
    family : Family
    masks : bool array `(c, d)`
    parent : Projection
        On fewer inputs, or on others.
    learn : {"projection", "marginal_likelihood"}

    Returns
    -------
    list of State
        Of one lane each, one for each mask.
    """
    same = parent.kernel == family.kernel
    ways = [
        family.extended(parent.parameters, parent.active, mask) if same else family.starts(mask)
        for mask in masks
    ]
    return _best_begun(target, family, masks, ways, learn)


def elsewhere(
    target: Target, family: Family, masks: NDArray[np.bool_], learn: Learn = "projection"
) -> list[State]:
    """Begin where the kernel has to explain nearly all: a valley that parents do not lead to."""
    return _best_begun(target, family, masks, [family.flexible_start(one) for one in masks], learn)


def _best_begun(
    target: Target,
    family: Family,
    masks: NDArray[np.bool_],
    starts: Sequence[Host],
    learn: Learn,
) -> list[State]:
    """Evaluate the starts of every mask in one batch, and keep the best of each."""
    if not len(masks):
        return []
    owner = np.repeat(np.arange(len(masks)), [len(own) for own in starts])
    begun = Goal(target, family, masks[owner], learn).begin(np.vstack(starts))
    best = begun.keep(_best_of_each(owner, begun.value, 1)).apart()
    return [
        replace(state, evaluations=state.evaluations + len(own) - 1)
        for state, own in zip(best, starts, strict=True)
    ]


def finish(
    target: Target,
    family: Family,
    masks: NDArray[np.bool_],
    states: Sequence[Sequence[State]],
    parent: Projection | None = None,
    learn: Learn = "projection",
) -> list[Projection]:
    """Run the states of every mask on to convergence, in one batch, and return the best ends.

    Parameters
    ----------
    target : Target
    family : Family
    masks : bool array `(c, d)`
    states : sequence of sequences of State
        For each mask, of one lane each.
    parent : Projection, optional
        As for `solve`.
    learn : {"projection", "marginal_likelihood"}
    """
    if not len(masks):
        return []
    owner = np.repeat(np.arange(len(masks)), [len(own) for own in states])
    goal = Goal(target, family, masks, learn)
    together = joined([state for own in states for state in own])
    end = goal.at(owner).advance(together, MAX_ITERATIONS)
    spent = np.zeros(len(masks), dtype=int)
    np.add.at(spent, owner, end.evaluations)
    best = end.keep(_best_of_each(owner, end.value, 1)).outcome()
    found = _projections(goal, best, spent)
    return [not_worse(one, parent) for one in found]


def grow(
    target: Target,
    family: Family,
    masks: NDArray[np.bool_],
    parent: Projection,
    learn: Learn = "projection",
) -> list[Projection]:
    """Learn the submodels of subsets, from the optimum on fewer inputs and from elsewhere.

    Parameters
    ----------
    target : Target
    family : Family
    masks : bool array `(c, d)`
    parent : Projection
        Of the same family.
    learn : {"projection", "marginal_likelihood"}
    """
    ways = zip(
        enter(target, family, masks, parent, learn),
        elsewhere(target, family, masks, learn),
        strict=True,
    )
    return finish(target, family, masks, list(ways), parent, learn)


def _projections(goal: Goal, outcome: Outcome, evaluations: NDArray[np.intp]) -> list[Projection]:
    """Return what the optimum of each subset is worth."""
    parameters = outcome.x
    kl = _divergences(goal, parameters, outcome.value)
    errors = goal.errors(parameters)
    return [
        Projection(
            kernel=goal.family.kernel,
            parameters=parameters[c],
            inputs=mask,
            active=mask,
            value=float(outcome.value[c]),
            posterior_kl=0.5 * float(kl[c]),
            projection_error=float(errors[c]),
            converged=bool(outcome.converged[c]),
            evaluations=int(evaluations[c]),
        )
        for c, mask in enumerate(goal.masks)
    ]


def _divergences(goal: Goal, parameters: Host, value: Host) -> Host:
    """Return E at the optima, `(c,)`."""
    if goal.learn != "projection":
        return goal.divergences(parameters)
    if goal.family.log_prior is None:
        return value
    return value + 2.0 * goal.family.log_prior(parameters, goal.masks).value


def solve_null(target: Target, family: Family, learn: Learn = "projection") -> Projection:
    """Learn the null model: the kernel's own constants and the extra variance, no inputs."""
    empty = np.zeros((1, target.X.shape[1]), dtype=bool)
    return solve(target, null_family(family), empty, learn)[0]


def _best_of_each(candidate: NDArray[np.intp], value: Host, count: int) -> NDArray[np.intp]:
    """Return the rows with the smallest values of each candidate; ties go to the first start."""
    rows = (np.flatnonzero(candidate == one) for one in np.unique(candidate))
    return np.concatenate([mine[np.argsort(value[mine], kind="stable")[:count]] for mine in rows])


def not_worse(found: Projection, parent: Projection | None) -> Projection:
    """Return what was found, or the parent where it is better; the inputs are those asked for."""
    if parent is None or found.value <= parent.value:
        return found
    return parent._replace(inputs=found.inputs, evaluations=found.evaluations)


def masks_of(subsets: Sequence[Sequence[int]], d: int) -> NDArray[np.bool_]:
    """Return the masks of subsets given by positions, `(c, d)`."""
    masks = np.zeros((len(subsets), d), dtype=bool)
    for mask, subset in zip(masks, subsets, strict=True):
        mask[list(subset)] = True
    return masks
