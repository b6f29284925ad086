"""What the tests of `Projector` share: one kind of reference, and what was found for it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import gpproj
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.projection import ProjectionOptions, mask_of, projector_of
from gpproj.projection.loss import Loss
from tests.fitting import fit_mode

D = 4


@cache
def reference(seed):
    """An input that acts fast through another one, which leaves several optima to submodels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, D))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] + 0.1 * rng.standard_normal(30)
    return fit_mode(X, y)


@cache
def projector(learn="loo", seed=1, **options):
    return projector_of(reference(seed), ProjectionOptions(learn, **options))


@cache
def found(learn, inputs, seed=1):
    """The submodel on some inputs, from every start there is."""
    return projector(learn, seed).project([mask_of(inputs, D)])[0]


def value_at(projector, starts):
    loss = Loss(projector.target, projector.family, starts.active, projector.learn)
    return loss(starts.parameters, np.arange(len(starts.parameters)))[0]


def same(one, other):
    """Every number of two projections is equal, and so are their inputs."""
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(left, right)


@cache
def with_and_without(learn, prior):
    """Projectors of one reference, the first with a constant input between the others."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(30)
    kernel = Constant(0.5) + SquaredExponential(1.5, [1.0, 2.0, 3.0])
    wider = Constant(0.5) + SquaredExponential(1.5, [1.0, 5.0, 2.0, 3.0])
    plain = gpproj.condition(X, y, kernel, Gaussian(0.1))
    with pytest.warns(UserWarning, match="constant"):
        more = gpproj.condition(np.insert(X, 1, 7.0, axis=1), y, wider, Gaussian(0.1))
    return projector_of(more, ProjectionOptions(learn, prior=prior)), projector_of(
        plain, ProjectionOptions(learn, prior=prior)
    )


@pytest.fixture(scope="session", name="reference")
def reference_fixture():
    return reference


@pytest.fixture(scope="session", name="projector")
def projector_fixture():
    return projector


@pytest.fixture(scope="session", name="found")
def found_fixture():
    return found


@pytest.fixture(scope="session", name="value_at")
def value_at_fixture():
    return value_at


@pytest.fixture(scope="session", name="same")
def same_fixture():
    return same


@pytest.fixture(scope="session", name="with_and_without")
def with_and_without_fixture():
    return with_and_without
