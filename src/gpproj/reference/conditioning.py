"""`condition`: the posterior of a Gaussian process at given hyperparameters."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpproj.data import TrainingSet, training_set
from gpproj.inference import exact
from gpproj.kernels import Kernel
from gpproj.likelihoods import Gaussian
from gpproj.linalg import Host
from gpproj.optimise import Outcome
from gpproj.priors import PriorLike
from gpproj.reference.draws import Draws
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
    parameters = np.append(
        kernel.scaled(1.0 / unit).log_parameters(training.d), np.log(likelihood.variance / unit)
    )
    return reference_of(training, kernel, parameters, nugget, recipe)


def reference_of(
    training: TrainingSet,
    structure: Kernel,
    parameters: Host,
    nugget: float,
    recipe: Any,
    optimum: Outcome | None = None,
    prior: PriorLike = None,
) -> Reference:
    """Return the reference at one vector of log hyperparameters on the model's scale, `(p,)`."""
    draws = Draws.equal(parameters[None, :])
    reference = Reference(training, structure, draws, nugget, recipe, optimum, prior)
    _ = reference.latent  # a covariance that cannot be factorised says so here
    return reference


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
