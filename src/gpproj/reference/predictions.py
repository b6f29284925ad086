"""`from_predictions`: a reference of predictions alone, by any model that has not seen the rows.

A forest or a boosted model has no latent posterior to project. Submodels that are learned by
leave-one-out predictions need none: they are compared with predictions of single rows. Those of a
model that has memorised its training rows say nothing of new ones, so that each row has to be
predicted by a model that was trained without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from gpproj.data.checks import same_order
from gpproj.inference import NUGGET, Marginals, Sparse
from gpproj.kernels import Kernel
from gpproj.likelihoods import Gaussian, Likelihood, named_likelihood
from gpproj.linalg import Host
from gpproj.reference.base import Refit
from gpproj.reference.moment_making import moment_reference
from gpproj.reference.moments import MomentReference, Predict, row_count, vector_of
from gpproj.reference.predicted import (
    QUIET,
    draws_of,
    latent_of,
    means_of,
    normal_of,
    one_a_row,
    per_exposure,
    usual_variance,
    variances_of,
)


def from_predictions(
    X: Any,
    y: Any,
    mean: Any = None,
    variance: Any = None,
    *,
    quantiles: Mapping[float, Any] | None = None,
    samples: Any = None,
    likelihood: Likelihood | str = "gaussian",
    kernel: Kernel | None = None,
    exposure: Any = None,
    inference: str | Sparse = "auto",
    standardize: bool = True,
    nugget: float = NUGGET,
    predict: Predict | None = None,
    refit: Refit | None = None,
) -> MomentReference:
    """Make a reference of predictions of the training rows, each by a model that has not seen it.

    Submodels are learned by `learn="loo"`: the predictions are what theirs are compared with. With
    `learn="projection"` the uncertainties of different rows are taken as independent, which they
    hardly are.

    Parameters
    ----------
    X : frame or array `(n, d)`
    y : array `(n,)`
    mean : array `(n,)`, optional
        Predictions of the targets: numbers, probabilities of the second class in sorted order, or
        expected counts. Needed unless there are `quantiles` or `samples`.
    variance : float or array `(n,)`, optional
        Variances of the targets around their predictions, noise included. When left out, the mean
        square of `y - mean`; of counts, their mean and as much besides, in proportion to its
        square, as `y` asks for. Classes have none.
    quantiles : mapping of float to array `(n,)`, optional
        Predicted quantiles of numbers by their probabilities, two at least, in place of `variance`
        and, if it is left out, of `mean`.
    samples : array `(s, n)`, optional
        Draws of the targets from what is predicted of them, noise included, in place of `variance`
        and, if it is left out, of `mean`.
    likelihood : str or gpproj.likelihoods object
        Kind of the targets: `"gaussian"`, whose noise follows from the variances, `"bernoulli"`,
        `"poisson"` or `"negative-binomial"`.
    exposure : array `(n,)`, optional
        What the rate of each count is multiplied by; `mean` is the expected count itself.
    inference : "auto" or gpproj.Sparse
        Inducing points of the submodels; "auto" has them above 1000 rows, at most 200.
    predict : callable, optional
        A function from new inputs to the predicted mean of the target, of counts at an exposure of
        one, or to that and its variance, noise included, which classes have none of. Without it
        the reference cannot predict.
    refit : callable, optional
        A function from other data `(X, y)`, and `exposure` if there is one, to a reference of the
        same kind, for K-fold validation. It is given `row_groups` too where there are any and it
        takes them.
    kernel, standardize, nugget
        Described at `gpproj.from_moments`.

    Returns
    -------
    MomentReference

    Examples
    --------
    >>> import gpproj
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from sklearn.model_selection import cross_val_predict
    >>> X, y = gpproj.datasets.toy_sines(n=100, random_state=0)
    >>> forest = RandomForestRegressor(n_estimators=30, random_state=0)
    >>> ref = gpproj.from_predictions(X[:, 5:], y, cross_val_predict(forest, X[:, 5:], y))
    >>> gpproj.forward_search(ref, 1, progress=False).order
    ('x0',)
    """
    observation = named_likelihood(likelihood)
    if observation.kind.is_scaled and not isinstance(observation, Gaussian):
        raise ValueError(
            'likelihood must be "gaussian", "bernoulli" or one of counts: predictions of numbers '
            f"have Gaussian noise; got {likelihood!r}"
        )
    rows = row_count(X)
    given = {"variance": variance, "quantiles": quantiles, "samples": samples}
    predicted = read_predictions(X, y, rows, observation, mean=mean, **given)
    if isinstance(observation, Gaussian):
        observation = Gaussian(0.5 * float(np.quantile(predicted.variance, QUIET)))
    rates = predicted if exposure is None else per_exposure(predicted, exposure, rows)
    latent = latent_of(observation, rates)

    def predict_latent(new: Any) -> tuple[Host, Host]:
        answer = cast("Predict", predict)(new)
        centre, spread = answer if isinstance(answer, tuple) else (answer, None)
        centre = means_of("predict", centre, observation, rows)
        if spread is None:
            spread = usual_variance(observation, predicted, centre)
        return latent_of(observation, Marginals(centre, variances_of("predict", spread, centre)))

    return moment_reference(
        X,
        y,
        observation,
        latent.mean,
        np.maximum(latent.variance, 1e-9 * float(np.mean(latent.variance))),
        kernel=kernel,
        exposure=exposure,
        inference=inference,
        standardize=standardize,
        nugget=nugget,
        predict=None if predict is None else predict_latent,
        refit=refit,
        source="from_predictions",
        row_predictions=predicted if observation.kind.is_scaled else latent,
    )


def read_predictions(
    X: Any,
    y: Any,
    rows: int,
    likelihood: Likelihood,
    *,
    mean: Any,
    variance: Any,
    quantiles: Any,
    samples: Any,
) -> Marginals:
    """Return mean and variance of every target, `(n,)` each, or say what is missing."""
    ways = {"variance": variance, "quantiles": quantiles, "samples": samples}
    found = [name for name, value in ways.items() if value is not None]
    if len(found) > 1:
        raise ValueError(f"give one of variance, quantiles and samples; got {' and '.join(found)}")
    kind = likelihood.kind
    for name in found:
        if (kind.has_classes and name != "samples") or (name == "quantiles" and not kind.is_scaled):
            raise ValueError(f"{name}: targets of {likelihood!r} have none; give mean or samples")
    if quantiles is not None:
        centre, sd = normal_of(quantiles, rows)
        mean, variance = centre if mean is None else mean, sd**2
    if samples is not None:
        drawn = draws_of(samples, rows)
        mean = drawn.mean(axis=0) if mean is None else mean
        variance = None if kind.has_classes else drawn.var(axis=0, ddof=1)
        if not kind.is_scaled:  # a rate that was never seen among s draws
            mean = np.maximum(vector_of("mean", mean), 0.5 / len(drawn))
            variance = None if variance is None else np.maximum(variance, mean)
        elif np.any(variance <= 0.0):
            raise ValueError("samples must differ in every row: they are draws with their noise")
    if mean is None:
        raise ValueError("mean is missing: give predictions as mean, quantiles or samples")
    same_order(X, mean, "mean")
    centre = means_of("mean", mean, likelihood, rows)
    one_a_row("mean", centre, rows)
    if variance is None:
        targets = centre if kind.has_classes else vector_of("y", y)
        one_a_row("y", targets, rows)
        residuals = Marginals(centre, (targets - centre) ** 2)
        if kind.is_scaled and not np.any(residuals.variance):
            raise ValueError("mean equals y: rows must be predicted by models without them")
        variance = usual_variance(likelihood, residuals, centre)
    return Marginals(centre, variances_of("variance", variance, centre))
