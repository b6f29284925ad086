"""Where the optimisation of hyperparameters starts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpproj.data import TrainingSet
from gpproj.inference import log_evidence
from gpproj.kernels import Kernel
from gpproj.linalg import Host
from gpproj.optimise import advance, begin
from gpproj.priors import parameter_units
from gpproj.reference.log_posterior import LogPosterior

STARTS = (
    (1.0, 1.0, 0.1),
    (1.0, 0.3, 0.01),
    (10.0, 2.0, 0.01),
    (100.0, 3.0, 0.01),
    (1000.0, 4.0, 0.001),
    (1.0, 1.0, 0.6),
)
"""Signal variance, length-scale over sqrt(d) and noise variance, in units of the data.

Starts with little noise reach the best optimum of additive functions; from starts with much noise
half of the fits end with everything in noise. The last one is for data that are mostly noise.
"""

SHORT = (0.1, 0.3)
"""Length-scales that each input in turn has in `starts_by_input`, in units of the data."""

PRUNED, LONG = (3, 10), 30.0
"""Numbers of inputs in `pruned_starts`, and the length-scale of the others."""

ROWS, BEGUN, ITERATIONS, KEPT = 150, 40, 12, 2
"""Rows and iterations of the competition there, the starts that run, and those that are kept."""

SCREENED = 200
"""Starts from which on the others of an input are left out while it is compared: they hardly act
there, and take most of the time."""


def default_starts(posterior: LogPosterior) -> Host:
    """Return starts that cover smooth and wiggly, clear and noisy functions, `(s, p)`.

    The expected squared distance of standardised rows is 2 d, so that length-scales proportional
    to sqrt(d) keep the covariance between flat and diagonal whatever the number of inputs.
    """
    units = posterior.units
    root, kinds = _root(posterior), parameter_units(posterior.problem.kernel, units)
    starts = []
    for signal, scale, noise in STARTS:
        values = kinds.typical(0.1, signal, slope=signal / root**2, lengthscale=scale * root)
        starts.append(np.append(values, np.log(noise) + posterior.last_units))
    distinct = dict.fromkeys(tuple(start.tolist()) for start in starts)  # noise may be no parameter
    return np.array(list(distinct))


def starts_by_input(posterior: LogPosterior) -> Host:
    """Return starts with a fast effect of a single input, the most promising few, `(s, p)`.

    A prior that expects most inputs to be useless is not asked which they are.

    From smooth functions on the scale of all inputs an optimiser does not find one input that acts
    fast: so each of them in turn has a short length-scale, the others long ones. They compete on
    some of the rows.
    """
    posterior = replace(posterior, prior="weak") if posterior.is_sparse else posterior
    problem, units, root = posterior.problem, posterior.units, _root(posterior)
    kinds = parameter_units(problem.kernel, units)
    owners = [parameter.input for parameter in problem.kernel.parameters(len(units.inputs))]
    slow = kinds.typical(0.1, 1.0, slope=1.0 / root**2, lengthscale=3.0 * root)
    noise = np.log(0.1) + posterior.last_units
    starts: Any = []
    for position in np.flatnonzero(problem.mask):
        for scale in SHORT:
            values = slow.copy()
            for place, (kind, owner) in enumerate(zip(kinds.kinds, owners, strict=True)):
                if kind.is_scale and owner == position:
                    values[place] = np.log(scale * kinds.units[place])
            starts.append(np.append(values, noise))
    if not starts or not np.any(starts[0] != starts[-1]):  # no input has a length-scale to itself
        return np.empty((0, slow.size + noise.size))
    competition = posterior.on_some_rows(ROWS)
    loss = competition.loss()
    if len(starts) > SCREENED:
        starts = _screened(competition, np.array(starts), slow)
    state = begin(loss, np.array(starts), *competition.bounds)
    best = np.argsort(state.value, kind="stable")[:BEGUN]
    state = advance(loss, state.keep(state.lanes[best]), ITERATIONS)
    return state.x[np.argsort(state.value, kind="stable")[:KEPT]]


def _screened(posterior: LogPosterior, starts: Host, slow: Host) -> Host:
    """Return the starts that explain most while all inputs are left out but the one that is fast.

    An infinite length-scale leaves an input out to the last digit.
    """
    kinds = parameter_units(posterior.problem.kernel, posterior.units).kinds
    scales = np.array([*(kind.is_scale for kind in kinds), *(False for _ in posterior.last_units)])
    usual = np.append(slow, starts[0, slow.size :])
    alone = np.where(scales & (starts == usual), np.inf, starts)
    evidence = log_evidence(posterior.problem, alone).value
    best = np.argsort(np.where(np.isfinite(evidence), -evidence, np.inf), kind="stable")
    return starts[np.sort(best[:SCREENED])]


def first_starts(posterior: LogPosterior, training: TrainingSet, kernel: Kernel | None) -> Host:
    """Return usual starts, the user's own values, and fast effects of single inputs, `(s, p)`.

    A prior of sparse length-scales has a valley for every set of inputs, and an input whose
    length-scale has become long has no slope that would lead it back. The weak prior has far fewer
    valleys: its optima are the starts of a sparse one.
    """
    starts = [default_starts(posterior)]
    if kernel is not None:
        unit = float(training.scaling.target_scale) ** 2
        given = kernel.scaled(1.0 / unit).log_parameters(training.d)
        noise = posterior.problem.likelihood.scaled(1.0 / unit).log_parameters
        starts.append(np.append(given, noise)[None, :])
    if not posterior.is_sparse:
        return np.vstack([*starts, starts_by_input(posterior)])
    weak = replace(posterior, prior="weak")
    return np.vstack([weak.maximise(np.vstack([*starts, starts_by_input(weak)])).x, *starts[1:]])


def pruned_starts(posterior: LogPosterior, best: Host) -> Host:
    """Return starts on few inputs, those of the shortest length-scales at an optimum, `(s, p)`.

    The inputs have a moderate length-scale again, and all others a long one. What was lost on the
    way to the optimum because too many inputs acted at once can be found from there.

    Parameters
    ----------
    posterior : LogPosterior
    best : array `(p,)`
    """
    problem, units = posterior.problem, posterior.units
    kinds = parameter_units(problem.kernel, units)
    parameters = problem.kernel.parameters(len(units.inputs))
    scales = {
        parameter.input: place
        for place, parameter in enumerate(parameters)
        if parameter.input is not None and parameter.kind.is_scale and problem.mask[parameter.input]
    }
    relative = {j: best[place] - np.log(kinds.units[place]) for j, place in scales.items()}
    order = sorted(scales, key=lambda j: relative[j])
    starts = []
    for count in PRUNED:
        if count < len(order):
            start = np.append(
                kinds.typical(0.1, 1.0, slope=1.0 / count, lengthscale=LONG),
                np.log(0.1) + posterior.last_units,
            )
            for j in order[:count]:
                start[scales[j]] = np.log(np.sqrt(count) * kinds.units[scales[j]])
            starts.append(start)
    return np.array(starts).reshape(-1, best.size)


def _root(posterior: LogPosterior) -> float:
    """Return the square root of the number of inputs that can matter."""
    return float(np.sqrt(max(posterior.units.relevant, 1)))
