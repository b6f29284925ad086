"""From conditioned Gaussian processes to predictions at new points: weighted mixtures of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.data import Columns, new_offset, new_target
from gpproj.data.frames import is_foreign
from gpproj.kernels import Kernel
from gpproj.likelihoods import Likelihood
from gpproj.linalg import Array, Host, namespace, to_host
from gpproj.prediction.responses import (
    MixedResponses,
    Part,
    Prediction,
    Responses,
    ScaledResponses,
    mixed,
)

ROWS = 1024
"""New rows handled at a time: bounds the memory of a prediction by `ROWS n` numbers."""


class Gradients(NamedTuple):
    """Derivatives of a prediction in the inputs of each new point."""

    mean: Array
    """`(m, d)`."""
    variance: Array
    """`(m, d)`."""


@dataclass(frozen=True, eq=False)
class LatentPredictor:
    """A Gaussian process conditioned on Gaussian sites, on the model's scale.

    mean = k(x*, X) b,   variance = k(x*, x*) + extra - k(x*, X) R k(X, x*),   R = root' root.

    Parameters
    ----------
    kernel : Kernel
        Structure of the covariance function.
    log_parameters : array `(p,)`
        Its values.
    mask : bool array `(d,)`
        Inputs that are in.
    X : array `(n, d)`
        Training inputs.
    coefficients : array `(n,)`
        The vector b.
    root : array `(n, n)`
    extra : float
        Variance that is independent between points: the nugget, and in submodels the extra
        variance.
    """

    kernel: Kernel
    log_parameters: Host
    mask: NDArray[np.bool_]
    X: Array
    coefficients: Array
    root: Array
    extra: float

    def __call__(self, X_new: Array) -> Prediction:
        """Predict the latent function at `X_new`, `(m, d)`."""
        return Prediction(*self._in_blocks(self._predict, X_new))

    def mean(self, X_new: Array) -> Array:
        """Predict its mean alone, `(m,)`: far cheaper than with the variance."""
        return self._in_blocks(lambda block: (self.coefficients @ self._cross(block),), X_new)[0]

    def gradients(self, X_new: Array) -> Gradients:
        """Return the derivatives of mean and variance in the inputs of `X_new`, `(m, d)` each.

        dmean = dk(x*, X) b,   dvariance = dk(x*, x*) - 2 dk(x*, X) R k(X, x*).
        """
        return Gradients(*self._in_blocks(self._differentiate, X_new))

    def _in_blocks(
        self, function: Callable[[Array], tuple[Array, ...]], X_new: Array
    ) -> tuple[Array, ...]:
        m = int(X_new.shape[0])
        blocks = [function(X_new[start : min(start + ROWS, m), :]) for start in range(0, m, ROWS)]
        return tuple(namespace(self.X).concat(parts) for parts in zip(*blocks, strict=True))

    def _cross(self, X_new: Array) -> Array:
        theta, mask = self.log_parameters[None, :], self.mask[None, :]
        return self.kernel.cross(theta, self.X, X_new, mask)[0, :, :]

    def _predict(self, X_new: Array) -> tuple[Array, Array]:
        xp = namespace(self.X)
        theta, mask = self.log_parameters[None, :], self.mask[None, :]
        k = self._cross(X_new)
        prior = self.kernel.diagonal(theta, X_new, mask)[0, :]
        explained = xp.sum((self.root @ k) ** 2, axis=0)
        variance = prior + self.extra - explained
        # Rounding may leave a hair below zero where the function is known.
        return self.coefficients @ k, xp.maximum(variance, xp.zeros_like(variance))

    def _differentiate(self, X_new: Array) -> tuple[Array, Array]:
        theta, mask = self.log_parameters[None, :], self.mask[None, :]
        k = self._cross(X_new)

        def pulled(weights: Array) -> Array:
            weights = weights[None, :, :]
            return self.kernel.cross_gradient(theta, self.X, X_new, mask, weights)[0, :, :]

        coefficients = namespace(k).broadcast_to(self.coefficients[:, None], k.shape)
        prior = self.kernel.diagonal_gradient(theta, X_new, mask)[0, :, :]
        return pulled(coefficients), prior - 2.0 * pulled(self.root.T @ (self.root @ k))


class Component(NamedTuple):
    """One Gaussian process of a mixture, on the model's scale."""

    weight: float
    predictor: LatentPredictor
    likelihood: Likelihood


class Predictive(ABC):
    """A model that predicts in the user's units: a reference or a submodel."""

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """Names and scaling of the inputs that the data had."""

    @abstractmethod
    def predict(self, X: Any) -> Prediction:
        """Predict the latent function: that of classes and counts on the scale of their link.

        Parameters
        ----------
        X : frame or array
            New inputs. Frames are read by column name, and other columns are ignored, as are those
            that a submodel does not need; text and missing cells as in the training data. Arrays
            are read by position: as many columns as the training data had are in their order,
            fewer are those of a submodel in the order of its `column_names`.

        Returns
        -------
        Prediction
            `mean` and `variance`, `(m,)`, in the user's units.
        """

    @abstractmethod
    def predict_response(self, X: Any, exposure: Any = None) -> Prediction:
        """Predict the target, noise included.

        Parameters
        ----------
        X : frame or array
            New inputs, as `predict` takes them.
        exposure : array `(m,)`, optional
            What the rate of each count is multiplied by; one when left out.

        Returns
        -------
        Prediction
            `mean` and `variance` of `y`, `(m,)`: of classes, the probability of the second one and
            its variance p (1 - p); of counts, the expected count.
        """

    @abstractmethod
    def log_density(self, X: Any, y: Any, exposure: Any = None) -> Array:
        """Return the log predictive density of each new target, `(m,)`.

        Parameters
        ----------
        X : frame or array
            New inputs, as `predict` takes them.
        y : array `(m,)`
            New targets: classes by the labels that the training data had.
        exposure : array `(m,)`, optional
            What the rate of each count is multiplied by; one when left out.

        Returns
        -------
        array `(m,)`
        """

    @abstractmethod
    def respond(self, X: Any, exposure: Any = None) -> Responses:
        """Predict the targets of new rows once, to ask for densities of any targets.

        Parameters
        ----------
        X : frame or array
            New inputs, as `predict` takes them.
        exposure : array `(m,)`, optional
            What the rate of each count is multiplied by; one when left out.

        Returns
        -------
        Responses
            Their `moments()`, and `log_density(y)` of numbers in the user's units.
        """


class Mixture(Predictive):
    """A mixture of Gaussian processes: one for each draw or cluster of the hyperparameters.

    Often it is just one. They are evaluated one after the other, so that they need not be in memory
    at once. A subclass whose mixture has a closed form overrides `_latent` and `_responses`, which
    work on the model's scale.
    """

    @abstractmethod
    def _components(self) -> Iterable[Component]:
        """Return the Gaussian processes; their weights sum to one."""

    @abstractmethod
    def _read(self, X: Any) -> Array:
        """Read new inputs onto the model's scale, `(m, d)`."""

    def predict(self, X: Any) -> Prediction:
        """Predict the latent function, as every `Predictive` does."""
        mean, variance = self._latent(self._read(X))
        scaling = self.columns.scaling
        found = (scaling.restore_mean(mean), scaling.restore_variance(variance))
        return Prediction(*(returned(part, X) for part in found))

    def predict_response(self, X: Any, exposure: Any = None) -> Prediction:
        """Predict the target, noise included, as every `Predictive` does."""
        found = self.respond(X, exposure).moments()
        return Prediction(*(returned(part, X) for part in found))

    def log_density(self, X: Any, y: Any, exposure: Any = None) -> Array:
        """Return the log density of each new target, as every `Predictive` does."""
        X_new = self._read(X)
        target = new_target(self.columns, y, int(X_new.shape[0]))
        found = self._responses(X_new, self._offset(exposure, int(X_new.shape[0])))
        density = found.log_density(target)
        return returned(self.columns.scaling.restore_log_density(density), X)

    def respond(self, X: Any, exposure: Any = None) -> Responses:
        """Predict the targets of new rows once, to ask for densities of any targets."""
        X_new = self._read(X)
        found = self._responses(X_new, self._offset(exposure, int(X_new.shape[0])))
        if not self.columns.kind.is_scaled:
            return found
        return ScaledResponses(found, self.columns.scaling)

    def _latent(self, X_new: Array) -> Prediction:
        """Return mean and variance of the latent function, `(m,)` each."""
        return mixed((one.weight, one.predictor(X_new)) for one in self._components())

    def _responses(self, X_new: Array, offset: Host | None) -> Responses:
        """Predict targets on the model's scale."""
        every = self._components()
        parts = [Part(one.weight, one.predictor(X_new), one.likelihood) for one in every]
        return MixedResponses(parts, offset)

    def _offset(self, exposure: Any, rows: int) -> Host | None:
        """Return what is added to the latent function of new rows; None for real targets."""
        added = new_offset(self.columns, exposure, rows)
        if self.columns.kind.is_scaled:
            return None
        log_exposure = np.zeros(rows) if added is None else to_host(added)
        return log_exposure + self.columns.scaling.target_mean


def returned(found: Array, given: Any) -> Array:
    """Return a prediction where its inputs came from: beside arrays on a device, else here."""
    return found if is_foreign(given) else to_host(found)
