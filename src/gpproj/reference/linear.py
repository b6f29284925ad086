"""`LinearReference`: posterior draws of a linear model, and `from_linear_draws` that makes one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from gpproj.data import TrainingSet
from gpproj.data.frames import is_frame, read_columns
from gpproj.inference import Latent, LeaveOneOut, Sites
from gpproj.linalg import DenseCovariance, Host, like, to_host
from gpproj.reference.base import LeftOutRows, Reference, Refit
from gpproj.reference.conditioning import training_for
from gpproj.reference.draws import mixture_moments, smoothed
from gpproj.reference.linear_draws import (
    FAMILIES,
    LinearDraws,
    LinearPredictive,
    check_family,
)
from gpproj.reference.moments import numbers_of

LARGEST = 700.0
"""Logarithm of the largest rate that has a meaning."""

FEWEST = 25
"""Draws below which their weights say nothing about single observations."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LinearReference(Reference, LinearPredictive):
    """A linear model on all inputs, known by posterior draws of its weights.

    Made by `gpproj.from_linear_draws` and `gpproj.sample_linear`, not by hand. It is projected
    draw by draw, without any kernel (the paper's section 3.1). `weights`, `intercept`,
    `noise_draws` and all predictions are in the user's units.
    """

    linear: LinearDraws
    """The draws, on the model's scale."""
    source: str
    """The function that made it."""

    measures: ClassVar[tuple[str, ...]] = ("kl", "variance", "permutation")

    @cached_property
    def latent(self) -> Latent:
        """Moments of the latent function at the training inputs over the draws, model's scale."""
        linear, X, values = self.linear, self.training.X, self.training_values
        mean = linear.weights @ values
        away = np.sqrt(linear.weights)[:, None] * (values - mean)
        return Latent(
            like(mean, X),
            DenseCovariance(like(away.T @ away, X)),
            linear.likelihood,
            self._sites(),
        )

    def _sites(self) -> Sites:
        """Return the Gaussian sites that stand for the likelihood, means over the draws."""
        linear, y = self.linear, to_host(self.training.y)
        if linear.noise is not None:
            precision = np.full_like(y, 1.0 / linear.likelihood.unit(y))
            return Sites(precision, precision * y)
        precision, shift = np.zeros_like(y), np.zeros_like(y)
        for weight, f in zip(linear.weights, self.training_values, strict=True):
            first, second, _ = linear.likelihood.derivatives(y, f + self.training_offset)
            precision -= weight * second
            shift += weight * (first - second * f)
        return Sites(precision, shift)

    @cached_property
    def training_values(self) -> Host:
        """The latent function of every draw at the training inputs, model's scale, `(s, n)`."""
        return self.linear.values(to_host(self.training.X))

    @property
    def training_offset(self) -> Host:
        """What is added to it in the likelihood, `(n,)`."""
        offset = self.training.offset
        return np.zeros(self.training.n) if offset is None else to_host(offset)

    def log_weights(self) -> tuple[Host, Host]:
        """Return log weights of the draws without each target, and their Pareto k.

        The posterior without the i-th target weighs draw s by 1 / p(y_i | draw s);
        Pareto-smoothed and normalised.

        Returns
        -------
        array `(s, n)`, array `(n,)`
        """
        if self.linear.count < FEWEST:
            raise ValueError(
                f"leave-one-out weighs the draws anew for every target, and {self.linear.count} "
                f"are too few: at least {FEWEST} are needed"
            )
        X, y = to_host(self.training.X), to_host(self.training.y)
        density = self.linear.log_likelihood(X, y, self.training_offset)
        return smoothed(np.log(self.linear.weights)[:, None] - density)

    def loo(self) -> LeaveOneOut:
        """Predict every training target from all the others, the draws weighted anew for each."""
        log_weights, _ = self.log_weights()
        linear, offset = self.linear, self.training_offset
        X, y = to_host(self.training.X), to_host(self.training.y)
        weights, means = np.exp(log_weights), linear.means(X, offset)
        mean, variance = mixture_moments(weights, means, linear.spread(means))
        density = np.logaddexp.reduce(log_weights + linear.log_likelihood(X, y, offset), axis=0)
        mean, variance = self.columns.response(mean, variance)
        density = self.training.scaling.restore_log_density(density)
        return LeaveOneOut(*(like(part, self.training.X) for part in (mean, variance, density)))

    def left_out_rows(self) -> LeftOutRows | None:
        """Return what `loo` does, row by row; None where there are too few draws for it."""
        return super().left_out_rows() if self.linear.count >= FEWEST else None

    def refit(
        self, X: Any, y: Any, exposure: Any = None, row_groups: Any = None
    ) -> LinearReference:
        """Return a reference of other data, made by the same recipe."""
        found = super().refit(X, y, exposure, row_groups)
        if not isinstance(found, LinearReference):
            raise TypeError(f"refit must return a linear reference, as this one is; got {found!r}")
        return found

    def on_rows(self, rows: NDArray[np.intp]) -> Self:
        """Return the reference of some of the rows alone; draws and scaling stay fixed."""
        return self._with(self.training.take(rows), recipe=None)

    @property
    def count(self) -> int:
        """How many draws there are."""
        return self.linear.count

    @property
    def facts(self) -> tuple[Any, ...]:
        """The draws, for a fingerprint."""
        linear = self.linear
        return linear.slopes, linear.intercept, linear.noise, linear.weights

    @property
    def usual_validation(self) -> Literal["loo", "kfold"]:
        """K-fold where it can be refitted, with the search inside, at little cost."""
        return "kfold" if self.recipe is not None else super().usual_validation

    @property
    def _positions(self) -> list[int]:
        return list(range(self.training.d))

    @property
    def _no_recipe(self) -> str:
        return (
            f"this reference cannot be refitted, which folds need: {self.source} was called "
            "without refit="
        )

    def __repr__(self) -> str:
        """Name the sizes and the family."""
        if self.linear.noise is None:
            model = f"family={self.family}"
        else:
            model = f"noise sd={np.sqrt(self.noise_variance):.4g}"
        return (
            f"LinearReference(n={self.training.n}, inputs={len(self.column_names)}, "
            f"draws={self.linear.count}, {model})"
        )


def from_linear_draws(
    X: Any,
    y: Any,
    weights: Any,
    noise_variance: Any = None,
    family: str = "gaussian",
    *,
    intercept: Any = None,
    exposure: Any = None,
    refit: Refit | None = None,
) -> LinearReference:
    """Make a reference of posterior draws of a linear or generalised linear model.

    Its latent function is `X @ weights[s] + intercept[s]` in draw s. Projections are draw by draw:
    in closed form for Gaussian noise, by iteratively reweighted least squares for classes and
    counts.

    Parameters
    ----------
    X : frame or array `(n, d)`
        In the units that the weights belong to.
    y : array `(n,)`
        Real numbers, labels of two classes, or counts, as the family says.
    weights : frame or array `(s, d)`
        One row for each draw. A frame is read by column name.
    noise_variance : float or array `(s,)`
        Draws of the noise variance, in squared units of `y`. Classes and counts have none.
    family : {"gaussian", "binomial", "poisson"}
        "binomial" is for two classes, with a logit link: the linear function is the log odds of
        the second class in the sorted order of the labels. "poisson" is for counts, with a log
        link.
    intercept : float or array `(s,)`, optional
        Draws of the intercept; zero when left out. Submodels always have one.
    exposure : array `(n,)`, optional
        What the rate of each count is multiplied by.
    refit : callable, optional
        From other data (X, y, and exposure if there is one; classes as 0 and 1) to a reference of
        the same kind. Without it there is no K-fold validation.

    Returns
    -------
    LinearReference

    Examples
    --------
    >>> import gpproj
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> weights = np.array([[2.0, 0.0, 1.0], [2.1, 0.1, 0.9]])
    >>> ref = gpproj.from_linear_draws(X, X @ weights[0], weights, [0.5, 0.6], intercept=1.0)
    >>> gpproj.forward_search(ref, progress=False).order
    ('x0', 'x2', 'x1')
    """
    check_family(family)
    training = training_for(X, y, FAMILIES[family][0], True, exposure)
    slopes = _read_weights(weights, training)
    count = slopes.shape[0]
    noise = _read_noise(noise_variance, family, count)
    constant = np.zeros(count) if intercept is None else _each("intercept", intercept, count)
    scaling = training.scaling
    unit = float(scaling.target_scale)
    centre = constant + slopes @ to_host(scaling.input_mean) - scaling.target_mean
    linear = LinearDraws(
        family,
        slopes * to_host(scaling.input_scale) / unit,
        centre / unit,
        None if noise is None else noise / unit**2,
        np.full(count, 1.0 / count),
    )
    return linear_reference(training, linear, refit, "from_linear_draws")


def linear_reference(
    training: TrainingSet, linear: LinearDraws, recipe: Refit | None, source: str
) -> LinearReference:
    """Return a reference of draws on the model's scale.

    Parameters
    ----------
    training : TrainingSet
    linear : LinearDraws
        Draws of the weights of all inputs.
    recipe : callable or None
    source : str
        Name of the function that makes it.
    """
    reference = LinearReference(training=training, recipe=recipe, linear=linear, source=source)
    eta = reference.training_values + reference.training_offset
    if not np.all(np.isfinite(eta)):
        raise ValueError("weights are too large: the linear function overflows at X")
    if linear.family == "poisson" and eta.max() > LARGEST:
        raise ValueError(
            f"weights are too large: the logarithm of a rate is {eta.max():.4g}, and rates above "
            f"exp({LARGEST:.0f}) overflow"
        )
    return reference


def _read_weights(weights: Any, training: TrainingSet) -> Host:
    if is_frame(weights):
        weights = read_columns(weights, training.feature_names, "weights")
    values = numbers_of("weights", weights)
    if values.ndim != 2 or values.shape[1] != training.d or not values.shape[0]:
        raise ValueError(
            f"weights must have one row for each draw and one column for each of the {training.d} "
            f"inputs; saw the shape {values.shape}"
        )
    return values


def _read_noise(noise_variance: Any, family: str, count: int) -> Host | None:
    if family != "gaussian":
        if noise_variance is not None:
            raise ValueError(f'noise_variance is for family="gaussian"; {family!r} has none')
        return None
    if noise_variance is None:
        raise ValueError("noise_variance is missing: Gaussian noise has one")
    noise = _each("noise_variance", noise_variance, count)
    if np.any(noise <= 0.0):
        raise ValueError(f"noise_variance must be positive; saw {noise.min():g}")
    return noise


def _each(name: str, values: Any, count: int) -> Host:
    """Read one number for all draws, or one for each."""
    found = numbers_of(name, values)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim and found.shape != (count,):
        raise ValueError(
            f"{name} must be a number, or one for each of the {count} draws; "
            f"saw the shape {found.shape}"
        )
    return np.broadcast_to(found, (count,))
