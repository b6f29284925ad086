"""`fit`: the most plausible hyperparameters, from several starts at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpproj.data import TrainingSet, training_set
from gpproj.inference import exact
from gpproj.kernels import Constant, Kernel, SquaredExponential
from gpproj.likelihoods import named_likelihood
from gpproj.linalg import Host, one_blas_thread
from gpproj.optimise import Outcome, advance, begin
from gpproj.priors import (
    NOISE_LIMITS,
    Bounds,
    PriorLike,
    Scales,
    bounds,
    in_data_units,
    prior_of,
    scales,
)
from gpproj.reference.conditioning import check_inference, check_nugget, reference_of
from gpproj.reference.model import Reference

WARM_UP = 30
"""Iterations that every start gets before the best ones go on."""

KEPT = 2
"""Starts that are optimised to convergence."""

MAX_ITERATIONS = 1000

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


def fit(
    X: Any,
    y: Any,
    likelihood: Any = "gaussian",
    kernel: Kernel | None = None,
    standardize: bool = True,
    *,
    prior: PriorLike = "weak",
    inference: str = "auto",
    nugget: float = exact.NUGGET,
) -> Reference:
    """Fit a Gaussian process: the most plausible hyperparameters, given data and a weak prior.

    Parameters
    ----------
    X : frame or array `(n, d)`
    y : array `(n,)`
    likelihood : "gaussian" or likelihoods.Gaussian
        The noise variance of an object is one more start.
    kernel : Kernel, optional
        Structure of the covariance; its values are one more start. The default is the paper's,
        `Constant() + SquaredExponential()`.
    standardize : bool
        Scale inputs and target to mean zero and variance one inside. Without it the bounds and
        starts follow the scale of the data, but a target far from zero needs a constant.
    prior : {"weak", "log-uniform"}, mapping or None
        Of the hyperparameters, see `gpproj.priors`; the fit is then maximum a posteriori. None is
        maximum marginal likelihood.
    inference : {"auto", "exact"}
        How the marginal likelihood is computed; "auto" chooses.
    nugget : float
        Small independent variance of the latent function, as a fraction of the noise variance.

    Returns
    -------
    Reference
        `ref.optimum` tells how each start ended.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=100, random_state=0)
    >>> ref = gpproj.fit(X, y)
    >>> ref.ard_relevance().idxmax()
    'x7'
    """
    start = named_likelihood(likelihood)
    structure = structure_of(kernel)
    check_inference(inference)
    check_nugget(nugget)
    training = training_set(X, y, standardize=standardize)
    units = scales(training)
    candidates = default_starts(structure, units)
    if kernel is not None:
        unit = float(training.scaling.target_scale) ** 2
        own = kernel.scaled(1.0 / unit).log_parameters(training.d)
        candidates = np.vstack([candidates, np.append(own, np.log(start.variance / unit))])
    with one_blas_thread():
        optimum = maximise_posterior(training, structure, nugget, candidates, prior)
    best = int(np.argmin(optimum.value))
    if not np.isfinite(optimum.value[best]):
        raise ValueError("kernel: its covariance could not be factorised at any start")
    if not optimum.converged[best]:
        warnings.warn(
            f"the fit was not optimised to convergence ({optimum.reason[best]})",
            UserWarning,
            stacklevel=2,
        )
    recipe = partial(
        fit,
        likelihood=likelihood,
        kernel=kernel,
        standardize=standardize,
        prior=prior,
        inference=inference,
        nugget=nugget,
    )
    return reference_of(training, structure, optimum.x[best], nugget, recipe, optimum, prior)


def structure_of(kernel: Kernel | None) -> Kernel:
    """Return the kernel that was asked for, or the paper's."""
    if kernel is None:
        return Constant() + SquaredExponential()
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a gpproj.kernels object, got {kernel!r}")
    return kernel


def default_starts(kernel: Kernel, units: Scales) -> Host:
    """Return starts that cover smooth and wiggly, clear and noisy functions, `(s, p)`.

    The expected squared distance of standardised rows is 2 d, so that length-scales proportional
    to sqrt(d) keep the covariance between flat and diagonal whatever the number of inputs.
    """
    root = np.sqrt(max(len(units.inputs), 1))
    starts = []
    for signal, scale, noise in STARTS:
        relative = {"constant": 0.1, "slope": signal / root**2}
        relative |= {"signal": signal, "lengthscale": scale * root}
        values = in_data_units(kernel, units, relative)
        starts.append(np.append(values, np.log(noise * units.spread)))
    return np.stack(starts)


def maximise_posterior(
    training: TrainingSet, kernel: Kernel, nugget: float, starts: Host, prior: PriorLike
) -> Outcome:
    """Minimise `-log p(y) - log prior`; the best starts go on to convergence."""
    density = log_density_of(training, kernel, nugget, prior)
    lower, upper = box_of(training, kernel, prior)

    def objective(parameters: Host, lanes: Any) -> tuple[Host, Host]:
        value, gradient = density(parameters)
        return -value, -gradient

    state = advance(objective, begin(objective, starts, lower, upper), WARM_UP)
    order = np.argsort(state.outcome().value, kind="stable")
    return advance(objective, state.keep(order[:KEPT]), MAX_ITERATIONS).outcome()


def log_density_of(
    training: TrainingSet, kernel: Kernel, nugget: float, prior: PriorLike
) -> Callable[[Host], exact.Evidence]:
    """Return the log posterior density of log hyperparameters, up to a constant, `(b, p)` each.

    Parameters
    ----------
    training : TrainingSet
    kernel : Kernel
    nugget : float
    prior : {"weak", "log-uniform"}, mapping or None
    """
    mask = np.asarray(training.varying)
    problem = exact.Problem(kernel, training.X, training.y, mask, nugget)
    log_prior = prior_of(prior, kernel, scales(training), "noise_variance")

    def density(parameters: Host) -> exact.Evidence:
        evidence = exact.log_marginal_likelihood(problem, parameters)
        if log_prior is None:
            return evidence
        weight = log_prior(parameters, problem.masks(parameters.shape[0]))
        return exact.Evidence(evidence.value + weight.value, evidence.gradient + weight.gradient)

    return density


def box_of(training: TrainingSet, kernel: Kernel, prior: PriorLike) -> Bounds:
    """Return the bounds of the log hyperparameters, the noise variance last, `(p,)` each."""
    units = scales(training)
    box, noise = bounds(kernel, units), np.log(np.multiply(NOISE_LIMITS, units.spread))
    wide = Bounds(np.append(box.lower, noise[0]), np.append(box.upper, noise[1]))
    log_prior = prior_of(prior, kernel, units, "noise_variance")
    return wide if log_prior is None else wide.within(log_prior.bounds)
