"""Inputs that are off: where a fit does without them, and modes of the posterior on fewer inputs.

The prior of sparse axes keeps useless inputs at a small common scale, not at zero. Many small
effects together are a function of their own, which with few rows explains a part of the noise. So
each input may be off besides: a set of k of the d inputs has the prior probability

    p(set) = 1 / ((k + 1) C(d, k)),   up to a constant,

all sets of a size alike, and the hyperparameters on it have the prior of those inputs alone. The
mass of the posterior around a mode t on a set is

    log mass = g(t) + log |2 pi H^-1|^1/2 - log(mass of the prior) + log p(set),

with g the log density relative to the prior's highest value, as in `modes`. The sets are those that
an elimination from the mode on all inputs passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from gpproj.inference import log_evidence
from gpproj.linalg import Host
from gpproj.optimise import State
from gpproj.priors import parameter_units
from gpproj.reference.log_posterior import LogPosterior
from gpproj.reference.modes import Mode, modes_of

FAR = 100.0
"""Length-scale, in units of the data, above which an input may as well be off."""

SHRUNK, ONE_BY_ONE = 1.5, 8
"""Factor between the sizes of sets that an elimination passes, down to the size from which a single
input leaves at a time."""

ROWS, ITERATIONS = 200, 10
"""Rows that eliminations see at most, and iterations of a set before more inputs leave it."""

FOLLOWED = 3
"""Sets whose modes are found, those of the highest density."""

AT_LEAST = 1.0 / 3.0
"""Share of the draws that all inputs have. Masses are right only if the model is: where it is not,
as with a few rows far out, a few inputs look certain and are far too sure of themselves."""

OPEN = 0.5 * math.log(0.5 * math.pi)
"""What Laplace's approximation misses of `log pi`, the mass of a hyperbolic secant, for an input
whose length-scale the data leave open."""


def without_useless_inputs(posterior: LogPosterior, optimum: State) -> tuple[LogPosterior, State]:
    """Leave inputs out whose length-scales the data push to their limit, where that is better.

    With a large signal variance an input still acts at the largest length-scale that is allowed.
    There it is off: it costs what its prior costs at the limit, and the likelihood does without it.
    """
    best, mask = optimum.x[int(np.argmin(optimum.value))], posterior.problem.mask
    places = _places(posterior)
    if not places:
        return posterior, optimum
    units = parameter_units(posterior.problem.kernel, posterior.units).units
    relative = best[: len(units)] - np.log(units)
    now = _loss(posterior, best, mask)
    far = [j for j in np.flatnonzero(mask).tolist() if min(relative[places[j]]) > np.log(FAR)]
    if not far:
        return posterior, optimum
    each_off = np.array([_switched_off(posterior, best, [j]) for j in far])
    losses = -posterior.evidence_without_each(best, [places[j] for j in far], each_off)
    if posterior.log_prior is not None:
        losses -= posterior.log_prior(each_off, posterior.problem.masks(len(far))).value
    useless = [j for j, loss in zip(far, losses.tolist(), strict=True) if loss < now]
    if not useless or len(useless) == int(mask.sum()):
        return posterior, optimum
    smaller = _without(posterior, useless)
    end = smaller.ascended(_switched_off(posterior, best, useless)[None, :])
    # The prior of the inputs that are off is no part of the smaller problem's prior.
    if _loss(smaller, end.x[0], mask) >= now:
        return posterior, optimum
    return smaller, end


def with_modes_on_fewer_inputs(posterior: LogPosterior, modes: Sequence[Mode]) -> list[Mode]:
    """Return modes on all inputs and on sets of fewer, with masses that can be compared.

    Where the prior does not expect most inputs to be useless, there are no others. Inputs are
    eliminated on some of the rows; the best sets then see all.

    Parameters
    ----------
    posterior : LogPosterior
    modes : sequence of Mode
        Those on all inputs, that of largest mass first.
    """
    if not (modes and posterior.is_sparse and len(_places(posterior)) > 1):
        return list(modes)
    few = posterior.on_some_rows(ROWS)
    passed = list(_eliminated(few, modes[0].parameters))
    factor = posterior.times * posterior.rows / few.rows
    heights = []
    for smaller, state in passed:
        own = posterior.with_problem(mask=smaller.problem.mask)
        height = -state.value[0] if factor == 1.0 else float(own.density()(state.x).value[0])
        heights.append(height + _log_weight(own))
    found: list[Mode] = []
    for place in np.argsort(heights, kind="stable")[::-1][:FOLLOWED]:
        smaller, state = passed[place]
        own = posterior.with_problem(mask=smaller.problem.mask)
        end = own.continued(state, factor, np.empty((0, state.x.shape[1])))
        off = _entries_of(posterior, posterior.problem.mask & ~own.problem.mask)
        found += [mode._replace(off=off) for mode in _weighed(own, modes_of(own, end))]
    return _with_share(_weighed(posterior, modes), found)


def inputs_off(posterior: LogPosterior, mode: Mode) -> NDArray[np.bool_]:
    """Return which inputs do not act at a mode, `(d,)`."""
    found = np.zeros(posterior.problem.mask.size, dtype=bool)
    if mode.off is not None:
        for j, places in _places(posterior).items():
            found[j] = mode.off[places].all()
    return found


def _with_share(whole: list[Mode], fewer: list[Mode]) -> list[Mode]:
    """Return all modes, those on all inputs with at least their share of the mass."""
    if fewer:
        mass, others = (np.logaddexp.reduce([m.log_mass for m in own]) for own in (whole, fewer))
        lift = max(0.0, math.log(AT_LEAST / (1.0 - AT_LEAST)) + float(others - mass))
        whole = [mode._replace(log_mass=mode.log_mass + lift) for mode in whole]
    return sorted([*whole, *fewer], key=lambda mode: -mode.log_mass)


def _eliminated(posterior: LogPosterior, start: Host) -> Iterator[tuple[LogPosterior, State]]:
    """Yield posteriors on ever fewer inputs and their optimum, about.

    Those inputs leave whose absence the data notice least, as the others stand.
    """
    size, x, places = int(posterior.problem.mask.sum()), start, _places(posterior)
    while size > 1:
        size = size - 1 if size <= ONE_BY_ONE else max(round(size / SHRUNK), ONE_BY_ONE)
        inside = np.flatnonzero(posterior.problem.mask).tolist()
        each_off = np.array([_switched_off(posterior, x, [j]) for j in inside])
        evidence = posterior.evidence_without_each(x, [places[j] for j in inside], each_off)
        order = np.argsort(np.where(np.isfinite(evidence), -evidence, np.inf), kind="stable")
        gone = [inside[place] for place in order[: len(inside) - size]]
        x = _switched_off(posterior, x, gone)
        posterior = _without(posterior, gone)
        state = posterior.followed(x, ITERATIONS)
        if not np.isfinite(state.value[0]):
            return
        x = state.x[0]
        yield posterior, state


def _log_weight(posterior: LogPosterior) -> float:
    """Return the log prior probability of a set, less the mass of its length-scales' prior.

    The joint prior of the logarithms of k length-scales, relative to its highest value, has the
    mass `(pi / 2)^k pi / B(1/2, (k + 1) / 2)`, see `SparseScales`.
    """
    mask = posterior.problem.mask
    k, d = int(mask.sum()), posterior.units.relevant
    entries = sum(len(places) for j, places in _places(posterior).items() if mask[j])
    mass = entries * math.log(0.5 * math.pi) + math.log(math.pi) - betaln(0.5, 0.5 * (entries + 1))
    choices = math.lgamma(d + 1) - math.lgamma(k + 1) - math.lgamma(d - k + 1)
    return float(-mass - choices - math.log(k + 1.0))


def _weighed(posterior: LogPosterior, modes: Sequence[Mode]) -> list[Mode]:
    """Return modes on a set of inputs with the mass that they have among all sets."""
    weight = _log_weight(posterior)
    return [
        mode._replace(log_mass=mode.log_mass + weight + OPEN * _open_inputs(posterior, mode))
        for mode in modes
    ]


def _open_inputs(posterior: LogPosterior, mode: Mode) -> float:
    """Return how many length-scales only the prior decides about at a mode, counted in parts."""
    prior, mask = posterior.log_prior, posterior.problem.mask
    assert prior is not None  # it is that of sparse axes
    every = _places(posterior)
    places = [place for j in np.flatnonzero(mask).tolist() for place in every[j]]
    curvature = -np.diag(prior.curvature(mode.parameters, mask))[places]
    variance = np.sum(mode.spread[places] ** 2, axis=1)
    return float(np.sum(np.clip(curvature * variance, 0.0, 1.0)))


def _places(posterior: LogPosterior) -> dict[int, list[int]]:
    """Return where the length-scales of every input are; none if inputs have other parameters."""
    parameters = posterior.problem.kernel.parameters(len(posterior.units.inputs))
    places: dict[int, list[int]] = {}
    for place, parameter in enumerate(parameters):
        if parameter.input is not None:
            if not parameter.kind.is_scale:
                return {}
            places.setdefault(parameter.input, []).append(place)
    return places


def _entries_of(posterior: LogPosterior, inputs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which parameters are length-scales of some of the inputs, `(p,)`."""
    every, found = _places(posterior), np.zeros(posterior.bounds.upper.size, dtype=bool)
    for j in np.flatnonzero(inputs).tolist():
        found[every[j]] = True
    return found


def _without(posterior: LogPosterior, inputs: Sequence[int]) -> LogPosterior:
    mask = posterior.problem.mask.copy()
    mask[list(inputs)] = False
    return posterior.with_problem(mask=mask)


def _switched_off(posterior: LogPosterior, parameters: Host, inputs: Sequence[int]) -> Host:
    """Return parameters with the length-scales of inputs at their upper bound."""
    places, changed = _places(posterior), parameters.copy()
    for j in inputs:
        changed[places[j]] = posterior.bounds.upper[places[j]]
    return changed


def _loss(posterior: LogPosterior, parameters: Host, counted: NDArray[np.bool_]) -> float:
    """Return minus the log posterior of one vector; all inputs that are counted have a prior."""
    value = float(log_evidence(posterior.problem, parameters[None, :]).value[0])
    if posterior.log_prior is not None:
        value += float(posterior.log_prior(parameters[None, :], counted[None, :]).value[0])
    return -value
