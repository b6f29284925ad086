"""From conditioned Gaussian processes to predictions at new points: weighted mixtures of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from gpproj.data import Columns, new_offset, new_target
from gpproj.data.frames import is_foreign
from gpproj.likelihoods import Likelihood
from gpproj.linalg import Array, Host, to_host
from gpproj.prediction.latent import Component
from gpproj.prediction.responses import (
    Interval,
    MixedResponses,
    Part,
    Prediction,
    Responses,
    ScaledResponses,
    mixed,
)
from gpproj.prediction.sampling import check_draws, normal_draws


class Predictive(ABC):
    """A model that predicts in the user's units: a reference or a submodel."""

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """Names and scaling of the inputs that the data had."""

    @abstractmethod
    def predict(self, X: Any) -> Prediction:
        """Predict the latent function: that of classes and counts on the scale of their link.

        That of a transformed target is on the scale of the transformation.

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
            `mean` and `variance`, `(m,)`, in the user's units, or in those of a transformation.
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

    def predict_interval(self, X: Any, level: float = 0.95, exposure: Any = None) -> Interval:
        """Predict the interval that holds each new target with a given probability.

        It goes from one quantile of the predictive distribution to another, with the same
        probability below it and above it. Bounds of counts are counts, and belong to the interval:
        it has the probability or more. Classes have none; that is a TypeError.

        Parameters
        ----------
        X : frame or array
            New inputs, as `predict` takes them.
        level : float
            Probability of the interval, between 0 and 1.
        exposure : array `(m,)`, optional
            What the rate of each count is multiplied by; one when left out.

        Returns
        -------
        Interval
            `lower` and `upper`, `(m,)`, in the user's units.

        Examples
        --------
        >>> import gpproj
        >>> X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
        >>> ref = gpproj.fit(X[:, 5:], y, draws=2)
        >>> sub = gpproj.project(ref, ["x1", "x2"])
        >>> lower, upper = sub.predict_interval(X[:, 5:], level=0.8)
        >>> bool(((lower < y) & (y < upper)).mean() > 0.7)
        True
        """
        if isinstance(level, bool) or not 0.0 < level < 1.0:
            raise ValueError(f"level must be between 0 and 1, got {level!r}")
        if self.columns.kind.has_classes:
            raise TypeError("classes have no interval; predict_response gives their probability")
        found = self.respond(X, exposure).quantiles((0.5 - 0.5 * level, 0.5 + 0.5 * level))
        return Interval(found[0], found[1])


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
        return returned(self.columns.scaling.restore_log_density(density, target), X)

    def respond(self, X: Any, exposure: Any = None) -> Responses:
        """Predict the targets of new rows once, to ask for densities of any targets."""
        X_new = self._read(X)
        found = self._responses(X_new, self._offset(exposure, int(X_new.shape[0])))
        if not self.columns.kind.is_scaled:
            return found
        return ScaledResponses(found, self.columns.scaling)

    def sample(
        self,
        X: Any,
        draws: int = 100,
        random_state: Any = None,
        *,
        exposure: Any = None,
        latent: bool = False,
    ) -> Host:
        """Draw the targets of new rows together, or the latent function behind them.

        Every draw is of one process of the mixture, and of its joint distribution at all rows:
        sums, maxima and differences of rows have the distribution that the model gives them.
        Noise, and what the dropped inputs explained, is independent between rows, of equal rows
        too. It takes the cube of the number of rows.

        Parameters
        ----------
        X : frame or array
            New inputs, m rows, as `predict` takes them.
        draws : int
            How many.
        random_state : int, Generator or None
            Seed of the random numbers, or where they come from; None takes a new one.
        exposure : array `(m,)`, optional
            What the rate of each count is multiplied by; one when left out.
        latent : bool
            Draw the latent function, as `predict` predicts it, and not the targets.

        Returns
        -------
        array `(draws, m)`
            In the user's units: classes by their labels, counts as whole numbers.

        Examples
        --------
        >>> import gpproj
        >>> X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
        >>> ref = gpproj.fit(X[:, 5:], y, draws=2)
        >>> total = ref.sample(X[:5, 5:], draws=400, random_state=0).sum(axis=1)
        >>> bool(abs(total.mean() - ref.predict(X[:5, 5:]).mean.sum()) < 0.3)
        True
        """
        X_new = self._read(X)
        rows = int(X_new.shape[0])
        count, rng = check_draws(draws, rows), np.random.default_rng(random_state)
        offset, found = self._offset(exposure, rows), []
        for f, likelihood in self._drawn(X_new, count, rng):
            own = f if offset is None or latent else f + offset
            found.append(own if latent else likelihood.draw(own, rng))
        every = np.concatenate(found)[rng.permutation(count)]
        if latent:
            return to_host(self.columns.scaling.restore_mean(every))
        if self.columns.kind.is_scaled:
            return to_host(self.columns.scaling.restore_target(every))
        classes = self.columns.classes
        return every if classes is None else np.array(classes)[every.astype(np.intp)]

    def prior_share(self, X: Any) -> Array:
        """Say how far new rows are from the data: 1 where the data tell nothing of them.

        It is the share of the prior variance of the latent function that is left given the data,
        constants aside: near 0 among the training rows, and 1 where no covariance with them is
        left, so that the prediction is that without any inputs. The mean over a mixture. Linear
        effects reach everywhere: where all are linear it stays small.

        Parameters
        ----------
        X : frame or array
            New inputs, as `predict` takes them.

        Returns
        -------
        array `(m,)`
        """
        X_new = self._read(X)
        shares = [one.weight * one.predictor.prior_share(X_new) for one in self._components()]
        return returned(sum(shares[1:], shares[0]), X)

    def _drawn(
        self, X_new: Array, draws: int, rng: np.random.Generator
    ) -> Iterable[tuple[Host, Likelihood]]:
        """Return draws of the latent function, model's scale, `(s, m)`, with their likelihoods."""
        every = list(self._components())
        shares = np.array([one.weight for one in every])
        counts = rng.multinomial(draws, shares / shares.sum())
        for one, count in zip(every, counts.tolist(), strict=True):
            if count:
                mean, cov = (to_host(part) for part in one.predictor.joint(X_new))
                yield normal_draws(mean, cov, count, rng), one.likelihood

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
