"""`fit`: the most plausible hyperparameters, from several starts at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.data import TrainingSet
from gpproj.inference import NUGGET, Evidence, Problem, Sites, Sparse, log_evidence, plan_of
from gpproj.inference.sparse import inducing_gradient
from gpproj.kernels import Constant, Kernel, SquaredExponential
from gpproj.likelihoods import Likelihood, named_likelihood
from gpproj.linalg import Host, like, namespace, one_blas_thread, to_host
from gpproj.optimise import Outcome, advance, begin
from gpproj.priors import (
    OBSERVATION_LIMITS,
    Bounds,
    Prior,
    PriorLike,
    Scales,
    bounds,
    log_units,
    parameter_units,
    prior_of,
    scales,
)
from gpproj.recipes import Result, remembered
from gpproj.reference.conditioning import (
    check_nugget,
    inducing_of,
    problem_of,
    reference_of,
    training_for,
)
from gpproj.reference.process import GaussianProcessReference

WARM_UP = 30
"""Iterations that every start gets before the best ones go on."""

KEPT = 3
"""Starts that are optimised to convergence."""

MAX_ITERATIONS = 1000

ALONG = (0.1, 0.3)
"""Length-scales that a fit looks along each input with, in units of the data."""

ALONG_ROWS, ALONG_STARTS, ALONG_ITERATIONS, ALONG_KEPT = 150, 40, 12, 2
"""Rows and iterations for this, the starts that run, and those that are then kept."""

FAR = 100.0
"""Length-scale, in units of the data, above which an input may as well be off."""

SCREENED = 2000
"""Rows on which the starts compete, where there are inducing points."""

ROUNDS = 3
"""Times that inducing points are chosen anew at most."""

GAIN = 1e-4
"""Rise of the log posterior per row below which they are good enough."""

POINT_ITERATIONS = 100
"""In which inducing points are moved, where that is asked for."""

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


@remembered("X", "y", "exposure")
def fit(
    X: Any,
    y: Any,
    likelihood: Any = "gaussian",
    kernel: Kernel | None = None,
    standardize: bool = True,
    *,
    exposure: Any = None,
    prior: PriorLike = "weak",
    inference: str | Sparse = "auto",
    nugget: float = NUGGET,
    device: str | None = None,
) -> Result[GaussianProcessReference]:
    """Fit a Gaussian process: the most plausible hyperparameters, given data and a weak prior.

    Parameters
    ----------
    X : frame or array `(n, d)`
    y : array `(n,)`
        Real numbers, two classes by any labels, or counts, as the likelihood has it.
    likelihood : str or gpproj.likelihoods object
        "gaussian", "student-t", "bernoulli" (or "probit"), "logit", "poisson" or
        "negative-binomial". With a kernel, an object's parameters are one more start.
    kernel : Kernel, optional
        Structure of the covariance; its values are one more start. The default is the paper's,
        `Constant() + SquaredExponential()`.
    standardize : bool
        Scale inputs and target to mean zero and variance one inside; the latent function of
        classes and counts is centred at their overall rate. Without it the bounds and starts
        follow the scale of the data, but a target far from zero needs a constant.
    exposure : array `(n,)`, optional
        Of counts: what each rate is multiplied by (time, area, people at risk).
    prior : {"weak", "log-uniform"}, mapping or None
        Of the hyperparameters, see `gpproj.priors`; the fit is then maximum a posteriori. None is
        maximum marginal likelihood.
    inference : {"auto", "exact", "ep", "laplace"} or gpproj.Sparse
        How the marginal likelihood is computed; "auto" is exact for Gaussian noise, EP for classes
        and Laplace's approximation for the others, and goes through inducing points above 4000
        rows.
    nugget : float
        Small independent variance of the latent function, as a fraction of the noise variance, or
        of what one observation of another likelihood is worth.
    device : str, optional
        Where to compute: "cuda", or another device of torch, to which the data are moved. They stay
        where they live when left out.

    Returns
    -------
    GaussianProcessReference
        `ref.optimum` tells how each start ended.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=100, random_state=0)
    >>> ref = gpproj.fit(X, y)
    >>> ref.ard_relevance().idxmax()
    'x7'
    """
    observation = named_likelihood(likelihood)
    structure = structure_of(kernel)
    check_nugget(nugget)
    training = training_for(X, y, observation, standardize, exposure, device)
    method, sparse = plan_of(inference, observation, training.n)
    problem = problem_of(training, structure, observation, method, nugget)
    units = scales(training)
    candidates = default_starts(problem, units)
    if kernel is not None:
        unit = float(training.scaling.target_scale) ** 2
        own = kernel.scaled(1.0 / unit).log_parameters(training.d)
        noise = observation.scaled(1.0 / unit).log_parameters
        candidates = np.vstack([candidates, np.append(own, noise)])
    with one_blas_thread():
        candidates = np.vstack([candidates, looked_along(problem, units, prior)])
        if sparse is not None:
            problem = with_inducing(problem, training, units, sparse)
        problem, optimum = settled(problem, units, candidates, prior)
        if sparse is None:
            problem, optimum = switched_off(problem, units, optimum, prior)
        elif sparse.optimise:
            problem, optimum = with_moved_points(problem, units, optimum, prior)
    best = int(np.argmin(optimum.value))
    if not np.isfinite(optimum.value[best]):
        raise ValueError("kernel: its covariance could not be factorised at any start")
    if not optimum.converged[best]:
        warnings.warn(
            f"the fit was not optimised to convergence ({optimum.reason[best]})",
            UserWarning,
            stacklevel=3,
        )
    planned = {"inference": sparse or inference}  # folds have fewer rows, and keep to the plan
    return Result(reference_of(training, problem, optimum.x[best], optimum, prior), planned)


def structure_of(kernel: Kernel | None) -> Kernel:
    """Return the kernel that was asked for, or the paper's."""
    if kernel is None:
        return Constant() + SquaredExponential()
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a gpproj.kernels object, got {kernel!r}")
    return kernel


def default_starts(problem: Problem, units: Scales) -> Host:
    """Return starts that cover smooth and wiggly, clear and noisy functions, `(s, p)`.

    The expected squared distance of standardised rows is 2 d, so that length-scales proportional
    to sqrt(d) keep the covariance between flat and diagonal whatever the number of inputs.
    """
    root, kinds = np.sqrt(max(units.relevant, 1)), parameter_units(problem.kernel, units)
    starts = []
    for signal, scale, noise in STARTS:
        values = kinds.typical(0.1, signal, slope=signal / root**2, lengthscale=scale * root)
        starts.append(np.append(values, np.log(noise) + _log_units(problem.likelihood, units)))
    distinct = dict.fromkeys(tuple(start.tolist()) for start in starts)  # noise may be no parameter
    return np.array(list(distinct))


def looked_along(problem: Problem, units: Scales, prior: PriorLike) -> Host:
    """Return starts that look along each input for itself, the most promising few, `(s, p)`.

    From smooth functions on the scale of all inputs an optimiser does not find one input that acts
    fast: so each of them in turn has a short length-scale, the others long ones. They compete on
    some of the rows.
    """
    d, root = len(units.inputs), np.sqrt(max(units.relevant, 1))
    kinds = parameter_units(problem.kernel, units)
    owners = [parameter.input for parameter in problem.kernel.parameters(d)]
    slow = kinds.typical(0.1, 1.0, slope=1.0 / root**2, lengthscale=3.0 * root)
    noise = np.log(0.1) + _log_units(problem.likelihood, units)
    starts = []
    for position in np.flatnonzero(problem.mask):
        for scale in ALONG:
            values = slow.copy()
            for place, (kind, owner) in enumerate(zip(kinds.kinds, owners, strict=True)):
                if kind.is_scale and owner == position:
                    values[place] = np.log(scale * kinds.units[place])
            starts.append(np.append(values, noise))
    if not starts or not np.any(starts[0] != starts[-1]):  # no length-scale of any input's own
        return np.empty((0, slow.size + noise.size))
    n = int(problem.y.shape[0])
    some = np.linspace(0, n - 1, min(n, ALONG_ROWS)).astype(np.intp)
    objective, lower, upper = _minimised(rows_of(problem, some), units, prior)
    state = begin(objective, np.array(starts), lower, upper)
    best = np.argsort(state.value, kind="stable")[:ALONG_STARTS]
    state = advance(objective, state.keep(state.lanes[best]), ALONG_ITERATIONS)
    return state.x[np.argsort(state.value, kind="stable")[:ALONG_KEPT]]


def switched_off(
    problem: Problem, units: Scales, optimum: Outcome, prior: PriorLike
) -> tuple[Problem, Outcome]:
    """Leave inputs out whose length-scales the data push to their limit, where that is better.

    With a large signal variance an input still acts at the largest length-scale that is allowed.
    There it is off: it costs what its prior costs at the limit, and the likelihood does without it.
    """
    best = optimum.x[int(np.argmin(optimum.value))]
    d = len(units.inputs)
    kinds, parameters = parameter_units(problem.kernel, units), problem.kernel.parameters(d)
    log_prior = prior_of(prior, problem.kernel, units, _names(problem.likelihood))
    limit = box_of(problem, units, prior).upper
    own: dict[int, list[int]] = {}
    for place, parameter in enumerate(parameters):
        if parameter.input is not None:
            own.setdefault(parameter.input, []).append(place)
    scales_only = all(kinds.kinds[place].is_scale for one in own.values() for place in one)
    if not own or not scales_only:
        return problem, optimum
    relative = best[: len(parameters)] - np.log(kinds.units)
    varying = np.flatnonzero(problem.mask).tolist()
    far = [j for j in varying if min(relative[own[j]]) > np.log(FAR)]
    mask, now = problem.mask, _loss(problem, log_prior, best)
    gains = {}
    for j in far:
        moved, without = best.copy(), mask.copy()
        moved[own[j]], without[j] = limit[own[j]], False
        gains[j] = now - _loss(replace(problem, mask=without), log_prior, moved, mask)
    leaving = [j for j in sorted(gains, key=lambda j: -gains[j]) if gains[j] > 0.0]
    if not leaving or len(leaving) == int(mask.sum()):
        return problem, optimum
    start, left = best.copy(), mask.copy()
    for j in leaving:
        start[own[j]], left[j] = limit[own[j]], False
    smaller = replace(problem, mask=left)
    end = maximise_posterior(smaller, units, start[None, :], prior)
    # What those that are off cost is no part of the smaller problem's prior.
    if _loss(smaller, log_prior, end.x[0], mask) >= now:
        return problem, optimum
    return smaller, end


def _loss(
    problem: Problem,
    log_prior: Prior | None,
    parameters: Host,
    counted: NDArray[np.bool_] | None = None,
) -> float:
    """Return minus the log posterior of one vector; all inputs that are counted have a prior."""
    value = float(log_evidence(problem, parameters[None, :]).value[0])
    if log_prior is not None:
        mask = problem.mask if counted is None else counted
        value += float(log_prior(parameters[None, :], mask[None, :]).value[0])
    return -value


def maximise_posterior(problem: Problem, units: Scales, starts: Host, prior: PriorLike) -> Outcome:
    """Minimise `-log p(y) - log prior`; the best starts go on to convergence."""
    objective, lower, upper = _minimised(problem, units, prior)
    state = advance(objective, begin(objective, starts, lower, upper), WARM_UP)
    order = np.argsort(state.outcome().value, kind="stable")
    return advance(objective, state.keep(order[:KEPT]), MAX_ITERATIONS).outcome()


def _minimised(
    problem: Problem, units: Scales, prior: PriorLike
) -> tuple[Callable[[Host, Any], tuple[Host, Host]], Host, Host]:
    """Return minus the log posterior, and the bounds of its parameters."""
    density = log_density_of(problem, units, prior)

    def objective(parameters: Host, lanes: Any) -> tuple[Host, Host]:
        value, gradient = density(parameters, lanes)
        return -value, -gradient

    return objective, *box_of(problem, units, prior)


def with_inducing(
    problem: Problem, training: TrainingSet, units: Scales, sparse: Sparse
) -> Problem:
    """Return the problem with inducing points that suit the first of the starts."""
    if sparse.optimise and not problem.is_exact:
        raise ValueError("inference: inducing points are optimised for Gaussian noise only")
    start, _ = problem.halves(default_starts(problem, units)[0])
    kernel = problem.kernel.with_log_parameters(start, training.d)
    return replace(problem, inducing=inducing_of(sparse, training, kernel))


def settled(
    problem: Problem, units: Scales, starts: Host, prior: PriorLike
) -> tuple[Problem, Outcome]:
    """Maximise the posterior; inducing points are chosen anew as the kernel settles.

    With inducing points the starts compete on some of the rows, and only the best one sees all.
    """
    if problem.inducing is None:
        return problem, maximise_posterior(problem, units, starts, prior)
    given = problem.inducing.given
    n = int(problem.y.shape[0])
    some = np.linspace(0, n - 1, SCREENED).astype(np.intp) if n > SCREENED else np.arange(n)
    found = maximise_posterior(rows_of(problem, some), units, starts, prior)
    problem, best = _chosen_anew(problem, found)
    optimum = maximise_posterior(problem, units, best, prior)
    for _ in range(ROUNDS):
        if given or not np.isfinite(np.min(optimum.value)):
            break
        moved, best = _chosen_anew(problem, optimum)
        again = maximise_posterior(moved, units, best, prior)
        gain = float(np.min(optimum.value) - np.min(again.value))
        if gain > 0.0:
            problem, optimum = moved, again
        if gain < GAIN * n:
            break
    return problem, optimum


def with_moved_points(
    problem: Problem, units: Scales, optimum: Outcome, prior: PriorLike
) -> tuple[Problem, Outcome]:
    """Maximise the posterior in hyperparameters and inducing points, then in the former alone.

    The points stay within the range of the data, and a little beyond.
    """
    inducing = problem.inducing
    assert inducing is not None  # whoever asks for it has some
    best = int(np.argmin(optimum.value))
    p, shape = optimum.x.shape[1], inducing.Z.shape
    lower, upper = box_of(problem, units, prior)
    X = to_host(problem.X)
    reach = 0.1 * (X.max(axis=0) - X.min(axis=0))
    ends = [
        np.append(bound, np.broadcast_to(edge, shape).ravel())
        for bound, edge in (
            (lower, X.min(axis=0) - reach),
            (upper, X.max(axis=0) + reach),
        )
    ]

    def at(x: Host) -> Problem:
        Z = like(x[p:].reshape(shape), problem.X)
        return replace(problem, inducing=inducing.moved(Z))

    def objective(x: Host, lanes: Any) -> tuple[Host, Host]:
        value, gradient = np.empty(len(x)), np.empty_like(x)
        for row, one in enumerate(x):
            here = at(one)
            found = log_density_of(here, units, prior)(one[None, :p])
            value[row], gradient[row, :p] = -found.value[0], -found.gradient[0]
            gradient[row, p:] = -inducing_gradient(here, one[:p]).ravel()
        return value, gradient

    start = np.append(optimum.x[best], to_host(inducing.Z).ravel())
    end = advance(objective, begin(objective, start[None, :], *ends), POINT_ITERATIONS).outcome()
    # Many points need not converge to be better; the hyperparameters do, given the points.
    moved = at(end.x[0])
    return moved, maximise_posterior(moved, units, end.x[:, :p], prior)


def _chosen_anew(problem: Problem, optimum: Outcome) -> tuple[Problem, Host]:
    """Return the problem with points for the best optimum, and that optimum as a start."""
    assert problem.inducing is not None
    best = optimum.x[[int(np.argmin(optimum.value))]]
    theta, _ = problem.halves(best[0])
    kernel = problem.kernel.with_log_parameters(theta, problem.mask.size)
    return replace(problem, inducing=problem.inducing.at(kernel, problem.mask)), best


def rows_of(problem: Problem, rows: NDArray[np.intp]) -> Problem:
    """Return the problem of some of the rows."""
    xp = namespace(problem.X)
    where = xp.asarray(rows, device=problem.X.device)
    offset = problem.offset
    return replace(
        problem,
        X=xp.take(problem.X, where, axis=0),
        y=xp.take(problem.y, where),
        offset=None if offset is None else xp.take(offset, where),
        labels=None if problem.labels is None else problem.labels[rows],
    )


def log_density_of(problem: Problem, units: Scales, prior: PriorLike) -> Callable[..., Evidence]:
    """Return the log posterior density of log hyperparameters, up to a constant.

    It takes parameters, `(b, p)`, and may be told which lanes of an optimisation they are: an
    approximation then starts where it ended for the same lane.

    Parameters
    ----------
    problem : Problem
    units : Scales
    prior : {"weak", "log-uniform"}, mapping or None
    """
    log_prior = prior_of(prior, problem.kernel, units, _names(problem.likelihood))

    memory: dict[int, Sites] = {}

    def density(parameters: Host, lanes: Sequence[int] | None = None) -> Evidence:
        evidence = log_evidence(problem, parameters, None if lanes is None else memory, lanes)
        if log_prior is None:
            return evidence
        weight = log_prior(parameters, problem.masks(parameters.shape[0]))
        return Evidence(evidence.value + weight.value, evidence.gradient + weight.gradient)

    return density


def box_of(problem: Problem, units: Scales, prior: PriorLike) -> Bounds:
    """Return the bounds of the log hyperparameters, those of the likelihood last, `(p,)` each."""
    box, last = bounds(problem.kernel, units), _names(problem.likelihood)
    limits = np.log([OBSERVATION_LIMITS[name] for name in last]).reshape(-1, 2)
    limits = limits + _log_units(problem.likelihood, units)[:, None]
    wide = Bounds(np.append(box.lower, limits[:, 0]), np.append(box.upper, limits[:, 1]))
    log_prior = prior_of(prior, problem.kernel, units, last)
    return wide if log_prior is None else wide.within(log_prior.bounds)


def _names(likelihood: Likelihood) -> tuple[str, ...]:
    return tuple(likelihood.parameters.values())


def _log_units(likelihood: Likelihood, units: Scales) -> Host:
    return log_units(_names(likelihood), units)
