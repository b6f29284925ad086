"""Projections of linear models, draw by draw: the paper's section 3.1.

With f = X w + c the fit of one draw, the projection onto some inputs minimises the mean divergence
between the predictive distributions at the training rows. Gaussian noise has the closed form

    f_perp = least squares of f on (1, X_perp),   sigma_perp^2 = sigma^2 + |f - f_perp|^2 / n,

with the error log(sigma_perp^2 / sigma^2) / 2. Classes and counts take iteratively reweighted least
squares on the means that the draw fits. The overall error is the average over the draws.

Where several weights give the same fit, the projection takes those that are closest to the weights
of the draw itself: all inputs give the draw back, whatever their number and however collinear.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from gpproj.linalg import Host, to_host
from gpproj.projection.irls import best_start, irls
from gpproj.projection.options import ProjectionOptions
from gpproj.projection.projections import Divergences, Figures
from gpproj.projection.submodel import Submodel
from gpproj.reference import LinearDraws, LinearPredictive, LinearReference

COLLINEAR = 1e-10
"""Part of a column, relative to its length, that is rounding where others explain the rest."""

USUAL: dict[str, Any] = {"learn": "loo", "prior": "auto", "clusters": "draws"}
"""Values of options, beside None, that ask for nothing else than what is done."""


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LinearSubmodel(LinearPredictive, Submodel):
    """A linear model on some of the inputs that predicts as the reference does, draw by draw.

    `weights`, `intercept`, `noise_draws` and all predictions are in the user's units.
    `noise_variance` is the mean of the projected noise variances: the reference's, and what the
    dropped inputs explained on top. `posterior_kl` is the same as `projection_error`: the
    projection of a linear model minimises it directly.
    """

    linear: LinearDraws
    """The projected draws, on the model's scale."""
    errors: Host
    """Projection error of every draw, per observation, `(s,)`; `projection_error` is their mean."""
    extra: float
    """Mean growth of the noise variance on the model's scale; NaN for classes and counts."""

    @property
    def extra_variance(self) -> float:
        """What the dropped inputs explained: the part of `noise_variance` that is theirs.

        Classes and counts have none: that is an AttributeError.
        """
        if self.linear.noise is None:
            raise AttributeError(f"the family {self.family!r} has no extra variance")
        return self._variance_unit * self.extra

    @property
    def clusters(self) -> int:
        """How many draws the submodel is a mixture of."""
        return self.linear.count

    def in_order(self, inputs: tuple[str, ...], problems: tuple[str, ...] = ()) -> LinearSubmodel:
        """Return the same submodel with its inputs in another order, and what may be wrong."""
        places = [self.inputs.index(name) for name in inputs]
        linear = replace(self.linear, slopes=self.linear.slopes[:, places])
        return replace(self, inputs=inputs, linear=linear, problems=problems)

    @property
    def _positions(self) -> list[int]:
        return list(self.columns.exact(self.inputs))

    @property
    def _loss_text(self) -> str:
        return f"projection error={self.projection_error:.4g}"


class Basis(NamedTuple):
    """An orthonormal basis of some columns, and the coefficients that make it of them."""

    vectors: Host
    """`(n, r)`."""
    coefficients: Host
    """`(k, r)`, of least norm: columns times coefficients are the vectors."""


def basis_of(columns: Host) -> Basis:
    """Return a basis of the space of columns `(n, k)`, which may be collinear."""
    U, s, Vt = np.linalg.svd(columns, full_matrices=False)
    kept = s > COLLINEAR * max(s.max(initial=0.0), np.finfo(float).tiny)
    return Basis(U[:, kept], Vt[kept].T / s[kept])


def with_intercept(X: Host) -> Host:
    """Return columns with one of ones before them."""
    return np.column_stack([np.ones(X.shape[0]), X])


def project_draws(reference: LinearReference, positions: tuple[int, ...]) -> LinearSubmodel:
    """Return the projection onto inputs given by position."""
    X, linear = to_host(reference.training.X), reference.linear
    chosen = list(positions)
    dropped = np.setdiff1d(np.arange(X.shape[1]), chosen)
    basis = basis_of(with_intercept(X[:, chosen]))
    # What the submodel has to make up for: the draw's own function without the dropped inputs.
    missing = linear.slopes[:, dropped] @ X[:, dropped].T
    noise, extra, iterations, converged = linear.noise, np.nan, 1, True
    if linear.link is None:
        assert noise is not None  # Gaussian noise has a variance
        change = (missing @ basis.vectors) @ basis.vectors.T
        misfit = np.mean((missing - change) ** 2, axis=1)
        errors, extra = gaussian_error(misfit, noise), float(linear.weights @ misfit)
        noise = noise + misfit
    else:
        offset = reference.training_offset
        aim = linear.link.aim(reference.training_values + offset)
        begin = best_start(linear.link, basis.vectors, offset, aim, missing)
        found = irls(linear.link, basis.vectors, aim, begin)
        change, errors = found.eta - (aim.eta - missing), found.divergence
        iterations, converged = found.iterations, bool(found.converged.all())
    moved = (change @ basis.vectors) @ basis.coefficients.T
    error = float(linear.weights @ errors)
    return LinearSubmodel(
        inputs=tuple(reference.feature_names[position] for position in positions),
        lost=Divergences(Figures(error, error, np.nan)),
        converged=converged,
        evaluations=iterations,
        data_columns=reference.training.columns,
        linear=LinearDraws(
            linear.family,
            linear.slopes[:, chosen] + moved[:, 1:],
            linear.intercept + moved[:, 0],
            noise,
            linear.weights,
        ),
        errors=errors,
        extra=extra,
    )


def gaussian_error(misfit: Host, noise: Host) -> Host:
    """Return `log(sigma_perp^2 / sigma^2) / 2` for mean squared misfits of the latent function."""
    found: Host = 0.5 * np.log1p(misfit / noise)
    return found


def refuse_options(options: ProjectionOptions) -> None:
    """Refuse options that have no meaning for linear references."""
    for name in ("learn", "criterion", "prior", "kernel", "clusters"):
        value = getattr(options, name)
        if value is None or (isinstance(value, str) and value == USUAL.get(name)):
            continue
        raise ValueError(
            f"{name} is not offered for linear references, which are projected draw by draw in "
            f"closed form or by least squares; got {value!r}"
        )
