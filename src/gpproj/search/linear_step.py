"""One step of a forward search of linear submodels, for all candidates and draws at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, NamedTuple

import numpy as np

from gpproj.execute import run
from gpproj.linalg import Host, to_host
from gpproj.projection import LinearSubmodel, project_draws
from gpproj.projection.irls import Fit, irls, one_step_errors
from gpproj.projection.linear import COLLINEAR, gaussian_error
from gpproj.reference import Aim, LinearReference, Link
from gpproj.search.path import Tried
from gpproj.search.step import worth
from gpproj.search.units import Unit

ARRIVE = 3
"""Candidates of a race that are optimised to convergence, at least; a tenth of all if more."""


@dataclass(frozen=True, eq=False)
class Standing:
    """Where a forward search stands."""

    reference: LinearReference
    submodel: LinearSubmodel
    """On the inputs that are in."""
    basis: Host
    """Orthonormal, of their columns and a constant, `(n, r)`."""
    left: Host
    """What it does not explain of every input, `(n, d)`."""

    @cached_property
    def X(self) -> Host:
        """All inputs, `(n, d)`."""
        return to_host(self.reference.training.X)

    @property
    def chosen(self) -> tuple[int, ...]:
        """Positions of the inputs that are in."""
        return self.reference.training.positions(self.submodel.inputs)

    @property
    def fit(self) -> Host:
        """The submodel's latent function in every draw, `(s, n)`."""
        return self.submodel.linear.values(self.X[:, list(self.chosen)])

    def directions(self, unit: Unit) -> Host:
        """Return what a unit adds to the basis, orthonormal, `(n, q)`; collinear inputs nothing."""
        columns = list(unit.positions)
        lengths = np.linalg.norm(self.X[:, columns], axis=0)
        some = np.linalg.norm(self.left[:, columns], axis=0) > COLLINEAR * lengths
        scaled = self.left[:, columns][:, some] / lengths[some]
        U, s, _ = np.linalg.svd(scaled, full_matrices=False)
        found = U[:, s > COLLINEAR]
        # Once more: short remainders carry the rounding errors of long columns.
        found = found - self.basis @ (self.basis.T @ found)
        unit_vectors: Host = found / np.linalg.norm(found, axis=0)
        return unit_vectors

    def entered(self, unit: Unit, start: Host | None = None) -> Standing:
        """Return where the search stands once a unit has entered."""
        added = self.directions(unit)
        positions = (*self.chosen, *unit.positions)
        return Standing(
            self.reference,
            project_draws(self.reference, positions, start),
            np.hstack([self.basis, added]),
            self.left - added @ (added.T @ self.left),
        )


def beginning(reference: LinearReference, forced: tuple[int, ...]) -> Standing:
    """Return where a search stands before its first step."""
    X = to_host(reference.training.X)
    constant = np.full((len(X), 1), 1.0 / np.sqrt(len(X)))
    null = Standing(
        reference,
        project_draws(reference, ()),
        constant,
        X - constant @ (constant.T @ X),
    )
    return null.entered(Unit("", forced)) if forced else null


class Seen(NamedTuple):
    """What a step has found out about one candidate."""

    error: float
    evaluations: int
    converged: bool
    arrived: bool
    """Whether it was optimised to the end, and may win."""
    start: Host | None = None
    """Linear predictors it has arrived at, `(s, n)`."""


def gaussian_step(standing: Standing, units: Sequence[Unit]) -> list[Seen]:
    """Return the errors of all candidates exactly: they add one orthogonal direction or a few.

    With e = f - f_perp of one draw and q the unit vector that a candidate adds, the misfit falls
    by (q'e)^2 / n.
    """
    linear = standing.reference.linear
    assert linear.noise is not None  # Gaussian noise has a variance
    rest = standing.reference.training_values - standing.fit
    misfit = np.mean(rest**2, axis=1)
    directions = [standing.directions(unit) for unit in units]
    edges = np.cumsum([direction.shape[1] for direction in directions])[:-1]
    falls = (rest @ np.hstack(directions)) ** 2 / rest.shape[1]
    found = []
    for own in np.split(falls, edges, axis=1):
        left = np.maximum(misfit - own.sum(axis=1), 0.0)
        error = float(linear.weights @ gaussian_error(left, linear.noise))
        found.append(Seen(error, 1, True, True))
    return found


def iterated_step(
    standing: Standing,
    units: Sequence[Unit],
    strategy: Literal["race", "exhaustive"],
    n_jobs: int | None,
) -> list[Seen]:
    """Return the errors of candidates of classes and counts.

    In a race they all take one Newton step, and the best go on to convergence.
    """
    reference, linear = standing.reference, standing.reference.linear
    assert linear.link is not None  # that of the family
    offset = reference.training_offset
    aim, eta = linear.link.aim(reference.training_values + offset), standing.fit + offset
    directions = [standing.directions(unit) for unit in units]
    errors, final = np.full(len(units), np.inf), np.arange(len(units))
    if strategy == "race":
        parent = standing.submodel.errors
        steps = one_step_errors(linear.link, standing.basis, directions, aim, eta, parent)
        errors = steps @ linear.weights
        costs = np.array([unit.cost for unit in units])
        promise = worth(standing.submodel.projection_error - errors, costs)
        final = np.argsort(-promise, kind="stable")[: max(ARRIVE, -(-len(units) // 10))]
    bases = [np.hstack([standing.basis, directions[place]]) for place in final]
    fits: list[Fit] = run(partial(_arrive, linear.link, aim, eta), bases, n_jobs)
    found = [Seen(float(error), 1, False, False) for error in errors]
    for place, fit in zip(final, fits, strict=True):
        error = float(linear.weights @ fit.divergence)
        found[place] = Seen(error, fit.iterations, bool(fit.converged.all()), True, fit.eta)
    return found


def _arrive(link: Link, aim: Aim, eta: Host, basis: Host) -> Fit:
    return irls(link, basis, aim, eta)


def recorded(step: int, units: Sequence[Unit], seen: Sequence[Seen]) -> list[Tried]:
    """Return what a step has found out about every unit, for the path's record."""
    return [
        Tried(step, unit.name, one.error, one.evaluations, one.converged)
        for unit, one in zip(units, seen, strict=True)
    ]


def winner(error: float, units: Sequence[Unit], seen: Sequence[Seen]) -> int:
    """Return the place of the largest fall of the error per cost."""
    falls = np.array([error - one.error if one.arrived else -np.inf for one in seen])
    return int(np.argmax(worth(falls, np.array([unit.cost for unit in units]))))
