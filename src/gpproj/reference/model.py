"""`Reference`: a Gaussian process conditioned on data, as users and projections see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gpproj.data import Columns, TrainingSet, new_inputs
from gpproj.inference import exact
from gpproj.kernels import Kernel
from gpproj.likelihoods import Gaussian
from gpproj.linalg import Array, Covariance, Host, namespace
from gpproj.prediction import LatentPredictor, Prediction, Predictive
from gpproj.reference.target import Target

if TYPE_CHECKING:
    import pandas as pd

    from gpproj.optimise import Outcome


@dataclass(frozen=True, eq=False, repr=False)
class Reference(Predictive):
    """A Gaussian process on all inputs, conditioned on data.

    Made by `gpproj.condition` or `gpproj.fit`, not by hand. Everything public is in the user's
    units; the fields are on the model's scale, which is standardised if that was asked for.
    """

    training: TrainingSet
    """Data on the model's scale."""
    model_kernel: Kernel
    """The kernel on the model's scale."""
    model_noise: float
    """The noise variance on the model's scale."""
    nugget: float
    """Variance of the common nugget as a fraction of the noise variance."""
    latent: exact.Posterior
    """The latent posterior at the training inputs, on the model's scale."""
    recipe: Callable[[Any, Any], Reference]
    """Makes a reference of other data in the same way."""
    optimum: Outcome | None = None
    """How the search for the hyperparameters ended, start by start; None if they were given."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the inputs: column names of a frame, or x0, x1, ..."""
        return self.training.feature_names

    @property
    def kernel(self) -> Kernel:
        """The kernel: variances in squared units of `y`, length-scales per standardised input."""
        return self.model_kernel.scaled(self._variance_unit)

    @property
    def likelihood(self) -> Gaussian:
        """The likelihood, with its noise variance in squared units of `y`."""
        return Gaussian(self.noise_variance)

    @property
    def noise_variance(self) -> float:
        """Noise variance, in squared units of `y`."""
        return self.model_noise * self._variance_unit

    @property
    def classes(self) -> None:
        """Class labels of the target; None in regression."""
        return None

    @property
    def posterior(self) -> None:
        """Posterior draws of the hyperparameters; None when they are fixed values."""
        return None

    @property
    def latent_mean(self) -> Array:
        """Posterior mean of the latent function at the training inputs, `(n,)`."""
        return self.training.scaling.restore_mean(self.latent.latent_mean)

    @property
    def latent_cov(self) -> Covariance:
        """Posterior covariance of the latent function at the training inputs, `(n, n)`.

        An object with `diagonal`, `product` (or `@`), `solve` and `log_determinant`; NumPy
        functions take it as the matrix it stands for.
        """
        return self.latent.latent_cov.scaled(self._variance_unit)

    @property
    def log_marginal_likelihood(self) -> float:
        """Log density of all targets under the prior, in the user's units."""
        jacobian = self.training.n * np.log(self.training.scaling.target_scale)
        return float(self.latent.log_marginal_likelihood - jacobian)

    def loo(self) -> exact.LeaveOneOut:
        """Predict every training target from all the others, hyperparameters held.

        Returns
        -------
        LeaveOneOut
            `mean`, `variance` (of `y`, noise included) and `log_density`, each `(n,)`.
        """
        scaling = self.training.scaling
        mean, variance, log_density = exact.leave_one_out(
            self.training.y, self.latent.coefficients, self.latent.root
        )
        return exact.LeaveOneOut(
            scaling.restore_mean(mean),
            scaling.restore_variance(variance),
            scaling.restore_log_density(log_density),
        )

    def ard_relevance(self) -> pd.Series[float]:
        """Return the inverse length-scale of each input, the largest scaled to one.

        Where several components have length-scales, an input counts by its shortest one; a kernel
        of linear effects alone counts their standard deviations. Constant inputs have relevance
        zero. Length-scales tell non-linearity rather than predictive relevance.
        """
        import pandas as pd

        d = self.training.d
        parameters = self.model_kernel.parameters(d)
        values = np.exp(self.model_kernel.log_parameters(d))
        kinds = {parameter.kind for parameter in parameters}
        relevance: Host = np.zeros(d)
        for parameter, value in zip(parameters, values, strict=True):
            if parameter.kind == "lengthscale":
                score = 1.0 / value
            elif parameter.kind == "slope" and "lengthscale" not in kinds:
                score = np.sqrt(value)
            else:
                continue
            assert parameter.input is not None  # length-scales and slopes belong to inputs
            relevance[parameter.input] = max(relevance[parameter.input], score)
        relevance = np.where(self.training.varying, relevance, 0.0)
        relevance /= max(relevance.max(), np.finfo(float).tiny)
        return pd.Series(relevance, index=list(self.feature_names), name="ard_relevance")

    def refit(self, X: Any, y: Any) -> Reference:
        """Return a reference of other data, made by the same recipe."""
        return self.recipe(X, y)

    @cached_property
    def target(self) -> Target:
        """What projections are held to, on the model's scale."""
        y = self.training.y
        precision = namespace(y).full_like(y, 1.0 / self.model_noise)
        return Target(
            X=self.training.X,
            latent_mean=self.latent.latent_mean,
            latent_cov=self.latent.latent_cov,
            site_precision=precision,
            site_shift=precision * y,
            nugget=self.nugget * self.model_noise,
        )

    @property
    def _variance_unit(self) -> float:
        return float(self.training.scaling.target_scale) ** 2

    @property
    def columns(self) -> Columns:
        """Names and scaling of the inputs."""
        return self.training.columns

    def _latent(self, X: Any) -> Prediction:
        predictor = LatentPredictor(
            kernel=self.model_kernel,
            log_parameters=self.model_kernel.log_parameters(self.training.d),
            mask=np.asarray(self.training.varying),
            X=self.training.X,
            coefficients=self.latent.coefficients,
            root=self.latent.root,
            extra=self.nugget * self.model_noise,
        )
        return predictor(new_inputs(self.training, X))

    def __repr__(self) -> str:
        """Name the sizes, the noise and the kernel."""
        return (
            f"Reference(n={self.training.n}, inputs={self.training.d}, "
            f"noise sd={np.sqrt(self.noise_variance):.4g}, "
            f"log marginal likelihood={self.log_marginal_likelihood:.2f})"
        )
