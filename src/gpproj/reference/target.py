"""What a projection is compared with: the reference reduced to moments and Gaussian sites."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.inference import (
    Inducing,
    Latent,
    Marginals,
    Problem,
    groups_left_out_of_moments,
    left_out_of_moments,
    merged_sites,
)
from gpproj.likelihoods import Likelihood
from gpproj.linalg import (
    Array,
    Blocks,
    Covariance,
    Host,
    LowRankCovariance,
    Replays,
    cholesky,
    in_lapack_order,
    is_numpy,
    like,
    lower_triangle,
    namespace,
    to_host,
)

FAINT = 1e-6
"""Precision of a site that counts as saying nothing, over the median of those that say something.
Less would cost the digits of cavity variances."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SiteRows:
    """Training rows, on the model's scale, with the Gaussian sites that stand for the likelihood.

    A site is `exp(nu f - tau f^2 / 2)`.
    """

    X: Array
    """`(n, d)`."""
    site_precision: Array
    """tau, `(n,)`, not negative."""
    site_shift: Array
    """nu, `(n,)`; zero where tau is."""
    nugget: float
    """eps, a variance."""
    inducing: Inducing | None = None
    """Inducing points of the reference, where it has any: submodels then have some too."""

    def points(self, mask: NDArray[np.bool_]) -> Array:
        """Return the inducing points of submodels on some inputs, `(m, d)`."""
        assert self.inducing is not None  # callers have checked that there are some
        return self.inducing.points(mask)

    def prepare(self) -> None:
        """Compute what all evaluations share, before any of them is recorded or timed."""
        _ = self.site_scale, self.site_target

    @cached_property
    def replays(self) -> Replays:
        """Evaluations that were recorded on a device."""
        return Replays()

    @cached_property
    def site_root(self) -> Array:
        """`tau^1/2`, `(n,)`."""
        return namespace(self.X).sqrt(self.site_precision)

    @cached_property
    def site_scale(self) -> Array:
        """`tau^1/2 1 1' tau^1/2`, `(1, n, n)`; one number where all sites are equally precise."""
        root = self.site_root
        if is_numpy(root) and root.ndim == 1 and np.all(root == root[0]):
            return np.full((1, 1, 1), root[0] * root[0])
        outer = self.site_root[:, None] * self.site_root[None, :]
        return in_lapack_order(outer[None, :, :])

    @cached_property
    def site_target(self) -> Array:
        """`u = nu / tau^1/2`, `(n,)`; zero where a site says nothing."""
        xp = namespace(self.X)
        silent = self.site_precision == 0.0
        root = xp.where(silent, xp.ones_like(self.site_root), self.site_root)
        return xp.where(silent, xp.zeros_like(root), self.site_shift / root)


@dataclass(frozen=True, eq=False, kw_only=True)
class LeaveOneOut(SiteRows):
    """The reference's predictions of every distinct row from the others, hyperparameters fixed.

    Rows that are equal in all inputs are one, whose site is the product of theirs.
    """

    mean: Array
    """m, `(u,)`."""
    variance: Array
    """v, `(u,)`."""
    count: Array
    """How many rows each one stands for, `(u,)`."""
    latent: Array
    """`(u,)`: one where the latent function is predicted, zero where the target is, with its
    noise."""
    blocks: Blocks | None = None
    """Rows that leave together in the groups of a user; None if each leaves by itself."""
    separable: bool = True
    """Whether rows could be left out of the reference at all."""

    def at(self, lanes: NDArray[np.intp] | slice) -> LeaveOneOut:
        """Return what some lanes are compared with: all of them with the same."""
        return self


@dataclass(frozen=True, eq=False, kw_only=True)
class Target(SiteRows):
    """What a projection is compared with: the reference's latent posterior and sites."""

    latent_mean: Array
    """`(n,)`."""
    latent_cov: Covariance
    """`(n, n)`."""
    left_out: LeaveOneOut | None = None
    """The reference's predictions of single rows, where they are known."""

    def at(self, lanes: NDArray[np.intp] | slice) -> Target:
        """Return what some lanes of a batch are compared with: all of them with the same.

        `device_targets.Targets` are several targets in one batch.
        """
        return self

    @property
    def low_rank(self) -> LowRankCovariance:
        """Sigma, where there are inducing points: `D_S + U U'`."""
        assert isinstance(self.latent_cov, LowRankCovariance)
        return self.latent_cov

    @cached_property
    def spanning(self) -> Array:
        """`T = [U mu]`, `(n, r + 1)`."""
        parts = [self.low_rank.factor, self.latent_mean[:, None]]
        return namespace(self.X).concat(parts, axis=1)

    @cached_property
    def spanning_squares(self) -> Array:
        """`T^2 1 + D_S`: the diagonal of S, `(n,)`."""
        return namespace(self.X).sum(self.spanning**2, axis=1) + self.low_rank.noise

    def prepare(self) -> None:
        """Compute what all evaluations share, before any of them is recorded or timed."""
        super().prepare()
        _ = self.root, self.log_det, self.constant

    @cached_property
    def root(self) -> Array:
        """Lower triangular factor of Sigma, `(n, n)`."""
        factor = cholesky(self.latent_cov.dense()[None, :, :])
        return in_lapack_order(lower_triangle(factor))[0, :, :]

    @cached_property
    def log_det(self) -> float:
        """`log|Sigma|`, computed once."""
        return self.latent_cov.log_determinant()

    @cached_property
    def constant(self) -> float:
        """`tr(tau Sigma) + |tau^1/2 mu - u|^2 - log|Sigma| - n`."""
        xp = namespace(self.X)
        spread = xp.sum(self.site_precision * self.latent_cov.diagonal())
        misfit = xp.sum((self.site_root * self.latent_mean - self.site_target) ** 2)
        return float(spread + misfit) - self.log_det - int(self.latent_mean.shape[0])


class Cluster(NamedTuple):
    """A cluster of the reference's draws, and what its projections are compared with."""

    weight: float
    target: Target
    likelihood: Likelihood
    """On the model's scale."""
    known: Host
    """Mean of its log hyperparameters, those of the likelihood last, `(p,)`."""


def target_of(problem: Problem, latent: Latent) -> Target:
    """Return what projections are compared with."""
    nugget = problem.nugget_variance(latent.likelihood)
    predicted, separable = latent.left_out, True
    if predicted is None:
        predicted, separable = _removed(problem, latent)
    return Target(
        X=problem.X,
        latent_mean=latent.latent_mean,
        latent_cov=latent.latent_cov,
        site_precision=like(latent.sites.precision, problem.X),
        site_shift=like(latent.sites.shift, problem.X),
        nugget=nugget,
        inducing=problem.inducing,
        left_out=replace(_left_out(problem, latent, predicted, nugget), separable=separable),
    )


def _removed(problem: Problem, latent: Latent) -> tuple[Marginals, bool]:
    """Return predictions of rows by latent moments without their sites; whether that could be."""
    mean, cov = to_host(latent.latent_mean), latent.latent_cov
    if problem.row_groups is not None:
        return groups_left_out_of_moments(problem, mean, cov, latent.sites)
    return left_out_of_moments(problem, Marginals(mean, to_host(cov.diagonal())), latent.sites)


def _left_out(problem: Problem, latent: Latent, predicted: Marginals, nugget: float) -> LeaveOneOut:
    X, repeats, observed = problem.X, problem.repeats, problem.is_exact
    precision, shift = merged_sites(problem, latent.sites)
    if not observed:
        informed = precision[precision > 0.0]
        faint = FAINT * float(np.median(informed)) if informed.size else 1.0
        precision = np.maximum(precision, faint)
    count = np.ones(precision.size) if repeats is None else repeats.count
    return LeaveOneOut(
        X=X if repeats is None else repeats.distinct(X),
        site_precision=like(precision, X),
        site_shift=like(shift, X),
        nugget=nugget,
        inducing=problem.inducing,
        mean=like(predicted.mean, X),
        variance=like(predicted.variance, X),
        count=like(count, X),
        latent=like(np.full_like(precision, not observed), X),
        blocks=None if problem.row_groups is None else Blocks(problem.row_groups, X),
    )
