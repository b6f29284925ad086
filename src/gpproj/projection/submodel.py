"""`Submodel`: the small Gaussian process that a projection hands back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpproj.data import Columns, new_inputs
from gpproj.kernels import Kernel
from gpproj.likelihoods import Gaussian
from gpproj.linalg import namespace
from gpproj.prediction import LatentPredictor, Prediction, Predictive
from gpproj.projection.objective import conditioned
from gpproj.projection.solving import Projection
from gpproj.reference import Reference


@dataclass(frozen=True, eq=False, repr=False)
class Submodel(Predictive):
    """A Gaussian process on some of the inputs that predicts as the reference does.

    Made by `gpproj.project` and by searches, not by hand. It keeps only what prediction needs.
    Everything public is in the user's units.
    """

    inputs: tuple[str, ...]
    """Names of its inputs, in the order they were given."""
    posterior_kl: float
    """The divergence from the reference's posterior that the projection minimises."""
    projection_error: float
    """The predictive divergence from the reference, by which submodels are compared."""
    converged: bool
    """Whether the optimisation ended at an optimum."""
    evaluations: int
    """Values and gradients that the optimisation took."""
    data_columns: Columns
    """Names and scaling of all inputs of the reference."""
    predictor: LatentPredictor
    """The conditioned process, on the model's scale."""
    model_noise: float
    """Noise variance on the model's scale: the reference's."""
    model_extra: float
    """Extra variance on the model's scale."""

    @property
    def kernel(self) -> Kernel:
        """The kernel on the submodel's inputs: variances in squared units of `y`."""
        predictor = self.predictor
        kernel = predictor.kernel.with_log_parameters(predictor.log_parameters, len(self.inputs))
        return kernel.scaled(self._variance_unit)

    @property
    def extra_variance(self) -> float:
        """What the dropped inputs explained, now independent noise on the latent function."""
        return self.model_extra * self._variance_unit

    @property
    def noise_variance(self) -> float:
        """Noise variance, in squared units of `y`: the reference's."""
        return self.model_noise * self._variance_unit

    @property
    def likelihood(self) -> Gaussian:
        """The likelihood, with its noise variance in squared units of `y`."""
        return Gaussian(self.noise_variance)

    @property
    def columns(self) -> Columns:
        """Names and scaling of all inputs of the reference."""
        return self.data_columns

    def _latent(self, X: Any) -> Prediction:
        return self.predictor(new_inputs(self.columns, X, self.inputs))

    @property
    def _variance_unit(self) -> float:
        return float(self.columns.scaling.target_scale) ** 2

    def __repr__(self) -> str:
        """Name the inputs and what was lost."""
        named = ", ".join(self.inputs) if self.inputs else "no inputs"
        warning = "" if self.converged else ", not converged"
        return f"Submodel({named}; projection error={self.projection_error:.4g}{warning})"


def submodel_of(
    reference: Reference, projection: Projection, positions: tuple[int, ...]
) -> Submodel:
    """Condition a learned submodel on the reference's data and keep what prediction needs.

    Parameters
    ----------
    reference : Reference
    projection : Projection
    positions : tuple of int
        Its inputs, in the order the user knows them.
    """
    target, d = reference.target, reference.training.d
    state = conditioned(
        target, projection.kernel, projection.parameters[None, :], projection.active[None, :]
    )
    extra = float(np.exp(projection.parameters[-1]))
    kernel = projection.kernel.with_log_parameters(projection.parameters[:-1], d)
    small = kernel.restricted(positions, d)
    xp = namespace(target.X)
    chosen = xp.asarray(positions, dtype=xp.int64, device=target.X.device)
    return Submodel(
        inputs=tuple(reference.feature_names[position] for position in positions),
        posterior_kl=projection.posterior_kl,
        projection_error=projection.projection_error,
        converged=projection.converged,
        evaluations=projection.evaluations,
        data_columns=reference.training.columns,
        predictor=LatentPredictor(
            kernel=small,
            log_parameters=small.log_parameters(len(positions)),
            mask=projection.active[list(positions)],
            X=xp.take(target.X, chosen, axis=1),
            coefficients=state.coefficients[0, :],
            root=state.root[0, :, :],
            extra=extra + target.nugget,
        ),
        model_noise=reference.model_noise,
        model_extra=extra,
    )
