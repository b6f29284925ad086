"""Divergence of Gaussians against its definition."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

from gpproj.divergence import gaussian_kl
from gpproj.linalg import cholesky


def explicit_kl(mu, Sigma, mu_other, Sigma_other):
    difference = mu_other - mu
    return 0.5 * (
        np.trace(np.linalg.solve(Sigma_other, Sigma))
        + difference @ np.linalg.solve(Sigma_other, difference)
        + np.linalg.slogdet(Sigma_other).logabsdet
        - np.linalg.slogdet(Sigma).logabsdet
        - len(mu)
    )


def covariance(rng, n):
    root = rng.standard_normal((n, n))
    return root @ root.T + np.eye(n)


@pytest.mark.parametrize("xp", [np, array_api_strict])
def test_against_the_definition(xp):
    rng = np.random.default_rng(0)
    n = 12
    mu, Sigma = rng.standard_normal(n), covariance(rng, n)
    others = [(rng.standard_normal(n), covariance(rng, n)) for _ in range(3)]
    found = gaussian_kl(
        xp.asarray(np.stack([mu - mean for mean, _ in others])),
        xp.asarray(np.linalg.cholesky(Sigma)),
        float(np.linalg.slogdet(Sigma).logabsdet),
        cholesky(xp.asarray(np.stack([matrix for _, matrix in others]))),
    )
    expected = [explicit_kl(mu, Sigma, mean, matrix) for mean, matrix in others]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    same = gaussian_kl(
        xp.zeros((1, n), dtype=xp.float64),
        xp.asarray(np.linalg.cholesky(Sigma)),
        float(np.linalg.slogdet(Sigma).logabsdet),
        cholesky(xp.asarray(Sigma[None])),
    )
    np.testing.assert_allclose(same, 0.0, atol=1e-12)


def test_a_lane_that_cannot_be_factorised_is_infinitely_far():
    bad = cholesky(np.stack([np.eye(2), -np.eye(2)]))
    found = gaussian_kl(np.zeros((2, 2)), np.eye(2), 0.0, bad)
    np.testing.assert_array_equal(found, [0.0, np.inf])
