"""`condition`: the posterior of a Gaussian process at given hyperparameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpproj.data import Missing, TrainingSet, new_inputs, training_set
from gpproj.inference import NUGGET, Inducing, Method, Problem, Sparse, plan_of
from gpproj.inference.selection import choose_points
from gpproj.kernels import Constant, Kernel, SquaredExponential
from gpproj.likelihoods import Likelihood, named_likelihood
from gpproj.optimise import Outcome
from gpproj.priors import PriorLike
from gpproj.recipes import Result, remembered
from gpproj.reference.draws import Draws
from gpproj.reference.process import GaussianProcessReference


@remembered("X", "y", "exposure")
def condition(
    X: Any,
    y: Any,
    kernel: Kernel,
    likelihood: Likelihood | str,
    inference: str | Sparse = "auto",
    standardize: bool = False,
    *,
    exposure: Any = None,
    missing: Missing = "error",
    nugget: float = NUGGET,
    device: str | None = None,
) -> Result[GaussianProcessReference]:
    """Condition a Gaussian process on data, at the hyperparameters that are given.

    Parameters
    ----------
    X : frame or array `(n, d)`
    y : array `(n,)`
    kernel : Kernel
        Variances in squared units of `y`; length-scales in units of `X`, or of the standardised
        inputs with `standardize=True`.
    likelihood : gpproj.likelihoods object or str
        With its noise variance, if any, in squared units of `y`.
    inference, standardize, exposure, missing, nugget, device
        Described at `gpproj.fit`. The nugget is part of the prior of this reference and of all its
        submodels.

    Returns
    -------
    GaussianProcessReference

    Examples
    --------
    >>> import gpproj
    >>> from gpproj.kernels import SquaredExponential
    >>> from gpproj.likelihoods import Gaussian
    >>> ref = gpproj.condition([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.5],
    ...                        SquaredExponential(1.0, 1.0), Gaussian(0.1))
    >>> ref.predict([[1.0]]).mean.round(2)
    array([0.85])
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a gpproj.kernels object, got {kernel!r}")
    observation = named_likelihood(likelihood)
    check_nugget(nugget)
    training = training_for(X, y, observation, standardize, exposure, device, missing)
    method, sparse = plan_of(inference, observation, training.n)
    if sparse is not None and sparse.optimise:
        raise ValueError("inference: inducing points are optimised by gpproj.fit and gpproj.sample")
    unit = float(training.scaling.target_scale) ** 2
    parameters = np.append(
        kernel.scaled(1.0 / unit).log_parameters(training.d),
        observation.scaled(1.0 / unit).log_parameters,
    )
    problem = problem_of(training, kernel, observation, method, nugget)
    if sparse is not None:
        own = kernel.scaled(1.0 / unit)
        problem = replace(problem, inducing=inducing_of(sparse, training, own))
    planned = {"inference": sparse or inference}  # folds have fewer rows, and keep to the plan
    return Result(reference_of(training, problem, Draws.equal(parameters[None, :])), planned)


def structure_of(kernel: Kernel | None) -> Kernel:
    """Return the given kernel, or the paper's if there is none."""
    if kernel is None:
        return Constant() + SquaredExponential()
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a gpproj.kernels object, got {kernel!r}")
    return kernel


def training_for(
    X: Any,
    y: Any,
    likelihood: Likelihood,
    standardize: bool,
    exposure: Any,
    device: str | None = None,
    missing: Missing | None = None,
) -> TrainingSet:
    """Read data as a likelihood needs them; columns of text where `missing` is given."""
    return training_set(
        X,
        y,
        standardize=standardize,
        kind=likelihood.kind,
        exposure=exposure,
        centre=likelihood.centre,
        device=device,
        missing=missing,
    )


def problem_of(
    training: TrainingSet, kernel: Kernel, likelihood: Likelihood, method: Method, nugget: float
) -> Problem:
    """Return the inference problem on the model's scale; constant inputs are out."""
    mask = np.asarray(training.varying)
    return Problem(
        kernel,
        training.X,
        training.y,
        mask,
        nugget,
        likelihood,
        method,
        training.offset,
        labels=training.row_groups,
    )


def inducing_of(sparse: Sparse, training: TrainingSet, kernel: Kernel) -> Inducing:
    """Return inducing points on the model's scale.

    Parameters
    ----------
    sparse : Sparse
    training : TrainingSet
    kernel : Kernel
        With values on the model's scale, at which the points are chosen.
    """
    mask = np.asarray(training.varying)
    if np.ndim(sparse.inducing) == 2:
        try:
            points = new_inputs(training, sparse.inducing)
        except (TypeError, ValueError) as error:  # which is about X as it stands
            raise type(error)(f"inducing, read as X is: {error}") from None
        return Inducing(points, sparse.method, sparse.selection, True, kernel, training.X)
    most = int(sparse.inducing)
    Z = choose_points(sparse.selection, kernel, training.X, mask, most)
    return Inducing(Z, sparse.method, sparse.selection, False, kernel, training.X, most, mask)


def reference_of(
    training: TrainingSet,
    problem: Problem,
    draws: Draws,
    optimum: Outcome | None = None,
    prior: PriorLike = None,
) -> GaussianProcessReference:
    """Return the reference at draws of log hyperparameters on the model's scale."""
    reference = GaussianProcessReference(
        training=training,
        problem=problem,
        draws=draws,
        optimum=optimum,
        prior=prior,
    )
    _ = reference.latent  # a covariance that cannot be factorised says so here
    return reference


def check_nugget(nugget: float) -> None:
    """Refuse nuggets that are not small fractions."""
    number = isinstance(nugget, float | int | np.number) and not isinstance(nugget, bool)
    if not number or not 0.0 <= nugget < 1.0:
        raise ValueError(
            f"nugget must be a fraction of the noise variance in [0, 1), got {nugget!r}"
        )
