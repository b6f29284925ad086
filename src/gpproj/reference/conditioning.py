"""`condition`: the posterior of a Gaussian process at given hyperparameters."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpproj.data import TrainingSet, training_set
from gpproj.inference import exact
from gpproj.kernels import Kernel
from gpproj.likelihoods import Gaussian
from gpproj.reference.model import Reference


def condition(
    X: Any,
    y: Any,
    kernel: Kernel,
    likelihood: Gaussian,
    inference: str = "auto",
    standardize: bool = False,
    *,
    nugget: float = exact.NUGGET,
) -> Reference:
    """Condition a Gaussian process on data, at the hyperparameters that are given.

    Parameters
    ----------
    X : frame or array `(n, d)`
    y : array `(n,)`
    kernel : Kernel
        Variances in squared units of `y`; length-scales in units of `X`, or of the standardised
        inputs with `standardize=True`.
    likelihood : likelihoods.Gaussian
        With its noise variance in squared units of `y`.
    inference : {"auto", "exact"}
        How the posterior is computed; "auto" chooses.
    standardize : bool
        Scale inputs and target to mean zero and variance one inside.
    nugget : float
        Small independent variance of the latent function, as a fraction of the noise variance. It
        is part of the prior of this reference and of all its submodels.

    Returns
    -------
    Reference

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
    if not isinstance(likelihood, Gaussian):
        raise TypeError(
            f"likelihood must be gpproj.likelihoods.Gaussian(variance), got {likelihood!r}"
        )
    check_inference(inference)
    check_nugget(nugget)
    training = training_set(X, y, standardize=standardize)
    unit = float(training.scaling.target_scale) ** 2
    recipe = partial(
        condition,
        kernel=kernel,
        likelihood=likelihood,
        inference=inference,
        standardize=standardize,
        nugget=nugget,
    )
    return conditioned(
        training, kernel.scaled(1.0 / unit), likelihood.variance / unit, nugget, recipe
    )


def conditioned(
    training: TrainingSet,
    model_kernel: Kernel,
    model_noise: float,
    nugget: float,
    recipe: Any,
    optimum: Any = None,
) -> Reference:
    """Return the reference at hyperparameters on the model's scale."""
    problem = problem_of(training, model_kernel, nugget)
    parameters = np.append(model_kernel.log_parameters(training.d), np.log(model_noise))
    latent = exact.posterior(problem, parameters)
    return Reference(training, model_kernel, model_noise, nugget, latent, recipe, optimum)


def problem_of(training: TrainingSet, kernel: Kernel, nugget: float) -> exact.Problem:
    """Return the inference problem of a training set; constant inputs are out."""
    return exact.Problem(kernel, training.X, training.y, np.asarray(training.varying), nugget)


def check_inference(inference: str) -> None:
    """Refuse algorithms that do not exist."""
    if inference not in ("auto", "exact"):
        raise ValueError(f'inference must be "auto" or "exact", got {inference!r}')


def check_nugget(nugget: float) -> None:
    """Refuse nuggets that are not small fractions."""
    if not 0.0 <= nugget < 1.0:
        raise ValueError(
            f"nugget must be a fraction of the noise variance in [0, 1), got {nugget!r}"
        )
