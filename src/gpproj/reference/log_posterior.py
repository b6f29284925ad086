"""The log posterior density of hyperparameters, which fits maximise and samplers draw from.

With many inputs most length-scales are so long that their inputs hardly act. Let w = 1 / l^2 be the
relevance of an input and c = w (max x - min x)^2 / 2 the most by which it changes the exponent of a
kernel. Where c is small, the log evidence L is linear in w,

    dL/dlog l = -2 w dL/dw = g,    L(w = 0) - L = g / 2,    d^2 L / (dlog l)^2 = -2 g,

up to terms of the order of c^2: one gradient tells of all such inputs what would take an
evaluation, or a gradient, for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.data import copies_of, taken
from gpproj.inference import Evidence, Problem, Sites, log_evidence
from gpproj.kernels import reach_of
from gpproj.linalg import Host, to_host
from gpproj.optimise import Outcome, State, advance, begin, concatenate_states
from gpproj.priors import (
    OBSERVATION_LIMITS,
    Bounds,
    Prior,
    PriorLike,
    Scales,
    SparseScales,
    bounds,
    log_units,
    prior_of,
)

WARM_UP = 30
"""Iterations that every start gets before the best ones go on."""

KEPT = 3
"""Starts that are optimised to convergence."""

MAX_ITERATIONS = 1000

MEMORY = 40
"""Pairs that the optimiser remembers. Length-scales of useless inputs are hardly curved: with ten
pairs it takes half as many evaluations more."""

LOOSE = 1e-6
"""Relative change of the density that counts as none on many rows."""

CURVED = 500
"""Rows that the curvature around a mode is seen on at most: it takes a gradient for each parameter.
"""

STEP, BATCH = 1e-4, 16
"""Step in log hyperparameters for differences of gradients, and how many are computed at a time:
each is a matrix of all rows."""

IDLE = 1e-2
"""The c below which an input is idle."""

FEW_ITERATIONS, NEAR = 8, 5.0
"""Iterations after which a start must be about as good as the maxima that are known, in nats."""


@dataclass(frozen=True, eq=False)
class LogPosterior:
    """The log posterior density of log hyperparameters, up to a constant.

    Parameters
    ----------
    problem : Problem
    units : Scales
        Units of the data, which priors and bounds are in.
    prior : str, mapping or None
        Prior of the hyperparameters; None for the marginal likelihood alone.
    times : float
        How often the evidence counts, where these rows stand for more.
    """

    problem: Problem
    units: Scales
    prior: PriorLike
    times: float = 1.0

    @cached_property
    def log_prior(self) -> Prior | None:
        """The log density of the prior; None if there is none."""
        return prior_of(self.prior, self.problem.kernel, self.units, self._last_names)

    @property
    def is_sparse(self) -> bool:
        """Whether the prior lets few length-scales be short, and has a valley for each set."""
        terms = () if self.log_prior is None else self.log_prior.terms
        return any(isinstance(term, SparseScales) for term in terms)

    @cached_property
    def bounds(self) -> Bounds:
        """Bounds of the log hyperparameters, those of the likelihood last, `(p,)` each."""
        box = bounds(self.problem.kernel, self.units)
        limits = np.log([OBSERVATION_LIMITS[name] for name in self._last_names]).reshape(-1, 2)
        limits = limits + self.last_units[:, None]
        wide = Bounds(np.append(box.lower, limits[:, 0]), np.append(box.upper, limits[:, 1]))
        return wide if self.log_prior is None else wide.within(self.log_prior.bounds)

    @property
    def last_units(self) -> Host:
        """Logarithms of the units of the likelihood's parameters, which come last, `(q,)`."""
        return log_units(self._last_names, self.units)

    @property
    def _last_names(self) -> tuple[str, ...]:
        return tuple(self.problem.likelihood.parameters.values())

    def density(self) -> Callable[..., Evidence]:
        """Return the density as a function of log hyperparameters, `(b, p)`.

        The function takes the numbers of the lanes that they are, too: an approximation then starts
        where it ended for the same lane.
        """
        memory: dict[int, Sites] = {}

        def density(parameters: Host, lanes: Sequence[int] | None = None) -> Evidence:
            remembered = None if lanes is None else memory
            evidence = log_evidence(self.problem, parameters, remembered, lanes)
            if self.times != 1.0:
                evidence = Evidence(self.times * evidence.value, self.times * evidence.gradient)
            if self.log_prior is None:
                return evidence
            weight = self.log_prior(parameters, self.problem.masks(parameters.shape[0]))
            return Evidence(evidence.value + weight.value, evidence.gradient + weight.gradient)

        return density

    def loss(self) -> Callable[[Host, Any], tuple[Host, Host]]:
        """Return minus the density, and its gradient, as optimisers take them."""
        density = self.density()

        def loss(parameters: Host, lanes: Any) -> tuple[Host, Host]:
            value, gradient = density(parameters, lanes)
            return -value, -gradient

        return loss

    def maximise(self, starts: Host) -> Outcome:
        """Maximise the density from several starts; the best of them go on to convergence."""
        return self.ascended(starts).outcome()

    def ascended(self, starts: Host) -> State:
        """Return the state of the optimiser where it has maximised the density."""
        loss = self.loss()
        state = advance(loss, begin(loss, starts, *self.bounds, memory=MEMORY), WARM_UP)
        value, noise = state.outcome().value, state.x[:, -1]
        kept = np.argsort(value, kind="stable")[:KEPT]
        if self._last_names:
            # That the data are mostly noise is a mode too, often of less height but more mass.
            noisiest = np.argmax(np.where(np.isfinite(value), noise, -np.inf))
            kept = np.unique(np.append(kept, noisiest))
        return advance(loss, state.keep(kept), MAX_ITERATIONS)

    def followed(self, start: Host, iterations: int) -> State:
        """Return the state of the optimiser after some iterations from a single start."""
        loss = self.loss()
        begun = begin(loss, start[None, :], *self.bounds, memory=MEMORY)
        return advance(loss, begun, iterations)

    def continued(self, fewer: State, factor: float, others: Host) -> State:
        """Return the state of the optimiser where it has gone on from maxima on fewer rows.

        Parameters
        ----------
        fewer : State
            The maxima on fewer rows, with the curvature found there.
        factor : float
            How many times as many rows there are.
        others : array `(s, p)`
            More starts. Those go on that are about as good after a few iterations: what many rows
            show need not be there on few of them.
        """
        loss = self.loss()
        state = begin(loss, fewer.x, *self.bounds, value_tolerance=LOOSE, memory=MEMORY)
        state = advance(loss, state.with_memory(fewer.memory.scaled(factor)), MAX_ITERATIONS)
        if not len(others):
            return state
        check = begin(loss, others, *self.bounds, value_tolerance=LOOSE, memory=MEMORY)
        check = advance(loss, check, FEW_ITERATIONS)
        good = np.flatnonzero(check.value < np.min(state.value) + NEAR)
        check = advance(loss, check.take(good), MAX_ITERATIONS)
        return concatenate_states([state, check])

    def with_problem(self, **changes: Any) -> LogPosterior:
        """Return the posterior of a problem that is changed in some fields."""
        return replace(self, problem=replace(self.problem, **changes))

    def on_rows(self, rows: NDArray[np.intp]) -> LogPosterior:
        """Return the posterior given some of the rows alone."""
        problem = self.problem
        some = replace(
            problem,
            X=taken(problem.X, rows),
            y=taken(problem.y, rows),
            offset=taken(problem.offset, rows),
            labels=None if problem.labels is None else problem.labels[rows],
        )
        return replace(self, problem=some, times=1.0)

    def without_copies(self) -> LogPosterior:
        """Return the posterior in which rows that are copies of another count once.

        The same measurement twice would be evidence that there is no noise.
        """
        if not self.problem.likelihood.kind.is_scaled:
            return self
        first = copies_of(self.problem.X, to_host(self.problem.y))
        return self if first is None else self.on_rows(np.unique(first))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.problem.y.shape[0])

    def on_some_rows(self, most: int) -> LogPosterior:
        """Return the posterior given so many rows at most, evenly spread over all of them."""
        if self.rows <= most:
            return self if self.times == 1.0 else replace(self, times=1.0)
        return self.on_rows(np.linspace(0, self.rows - 1, most).astype(np.intp))

    def by_some_rows(self, most: int) -> LogPosterior:
        """Return about the same posterior, by so many rows at most that stand for all of them."""
        return replace(self.on_some_rows(most), times=self.times * max(1.0, self.rows / most))

    @cached_property
    def _for_curvature(self) -> LogPosterior:
        """A posterior with about the same curvature, for differences of gradients."""
        return self.by_some_rows(CURVED)

    def curvature(self, x: Host, places: NDArray[np.intp]) -> Host:
        """Return the curvature of minus the log density in some entries, `(k, k)`.

        That of the evidence is seen by differences of gradients, one for each entry that is not
        idle; the prior has its own.
        """
        own = self._for_curvature
        acting = places[~own._idle(x)[places]]
        points = np.repeat(x[None, :], acting.size + 1, axis=0)
        points[np.arange(acting.size), acting] += STEP
        blocks = np.split(points, range(BATCH, len(points), BATCH))
        gradients = np.concatenate([own._evidence(block).gradient for block in blocks])
        H = np.diag(2.0 * gradients[-1])
        H[acting] = (gradients[-1] - gradients[:-1]) / STEP
        H[:, acting] = H[acting].T
        if own.log_prior is not None:
            H -= own.log_prior.curvature(x, own.problem.mask)
        H = H[np.ix_(places, places)]
        return 0.5 * (H + H.T)

    def evidence_without_each(
        self, x: Host, entries: Sequence[Sequence[int]], each_off: Host
    ) -> Host:
        """Return the log evidence with each of some inputs off, `(k,)`.

        Parameters
        ----------
        x : array `(p,)`
            With all of them in.
        entries : sequence of sequences of int
            The length-scales of each input.
        each_off : array `(k, p)`
            The parameters with each of them off.
        """
        idle = self._idle(x)
        linear = np.array([bool(idle[list(own)].all()) for own in entries])
        found = np.empty(len(entries))
        if linear.any():
            now = self._evidence(x[None, :])
            gain = 0.5 * np.array([now.gradient[0, list(own)].sum() for own in entries])
            found[linear] = (now.value[0] + gain)[linear]
        if not linear.all():
            found[~linear] = self._evidence(each_off[~linear]).value
        return found

    def _evidence(self, points: Host) -> Evidence:
        value, gradient = log_evidence(self.problem, points)
        return Evidence(self.times * value, self.times * gradient)

    def _idle(self, x: Host) -> NDArray[np.bool_]:
        """Return which entries are length-scales of idle inputs, `(p,)`."""
        found = np.zeros(x.size, dtype=bool)
        kernel = self.problem.halves(x)[0]
        found[: kernel.size] = reach_of(self.problem.kernel, kernel, self.problem.X) < IDLE
        return found
