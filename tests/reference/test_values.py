"""The values that a kernel has for a reference: its own, or those fitted to its mean function."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.kernels import Constant, Linear, Matern52, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.projection import family_of
from gpproj.reference import values, values_for
from gpproj.reference.log_posterior import LogPosterior

KERNEL = Constant(0.5) + SquaredExponential(2.0, [0.5, 3.0, 8.0])
OTHER = Constant() + Matern52() + Linear()
"""Of other parameters than the first."""


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    return X, 4.0 + np.sin(3.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(50)


@pytest.fixture(scope="module")
def ref(data):
    return gpproj.condition(*data, KERNEL, Gaussian(0.02), standardize=True)


def moved(ref, data):
    """The same reference, known by its moments alone."""
    eps = ref.problem.nugget * ref.noise_variance
    cov = np.asarray(ref.latent_cov) - eps * np.eye(ref.training.n)
    return gpproj.from_moments(*data, ref.latent_mean, cov, ref.noise_variance)


def test_a_reference_has_values_for_its_own_structure(ref):
    found = values_for(ref, Constant() + SquaredExponential())  # whatever its numbers are
    np.testing.assert_array_equal(found.log_parameters, ref.known_parameters)
    np.testing.assert_array_equal(found.used, [True, True, True])
    assert ref.fitted_values == {}


def test_inputs_that_are_switched_off_are_not_used(ref):
    off = replace(ref, problem=replace(ref.problem, mask=np.array([True, True, False])))
    assert values_for(off, KERNEL).used.tolist() == [True, True, False]
    # Another kernel is fitted to all inputs that vary.
    assert values_for(off, OTHER).used.tolist() == [True, True, True]


@pytest.mark.parametrize("structure", [KERNEL, OTHER], ids=["own", "other"])
def test_moments_have_values_by_a_fit_to_the_mean(ref, data, structure):
    foreign = moved(ref, data)
    assert foreign.known_parameters is None
    found = values_for(foreign, structure)
    assert found.log_parameters.shape == (len(structure.parameters(3)),)
    lengthscales = np.exp(found.log_parameters[2:5])
    assert np.argmin(lengthscales) == 0
    assert lengthscales[0] < 1.5
    assert lengthscales[2] > 3.0 * lengthscales[0]
    # It follows the mean function from one half of the rows to the other.
    half = np.arange(50) % 2 == 0
    X, mean = np.asarray(foreign.training.X), np.asarray(foreign.target.latent_mean)
    kernel = structure.with_log_parameters(found.log_parameters, 3)
    A = kernel(X[half]) + 1e-4 * np.eye(25)
    followed = kernel(X[~half], X[half]) @ np.linalg.solve(A, mean[half])
    assert np.mean((followed - mean[~half]) ** 2) < 0.2 * np.var(mean)


def test_values_are_fitted_once_for_each_structure(data, monkeypatch):
    # With another reference than the others, which have values already.
    own = gpproj.condition(*data, KERNEL, Gaussian(0.02), standardize=True)
    calls, plain = [], LogPosterior.maximise

    def counted(*given):
        calls.append(given)
        return plain(*given)

    monkeypatch.setattr(LogPosterior, "maximise", counted)
    first = values_for(own, OTHER)
    again = values_for(own, Constant(3.0) + Matern52(2.0, 0.1) + Linear(0.5))
    assert again.log_parameters is first.log_parameters
    assert len(calls) == 1
    linear = values_for(own, Constant() + Linear())
    assert len(calls) == 2
    assert linear.log_parameters.shape == (4,)


def test_many_rows_are_thinned(data, monkeypatch):
    own = gpproj.condition(*data, KERNEL, Gaussian(0.02), standardize=True)
    sizes, plain = [], LogPosterior.maximise

    def counted(posterior, starts):
        sizes.append(posterior.problem.y.shape[0])
        return plain(posterior, starts)

    monkeypatch.setattr(LogPosterior, "maximise", counted)
    monkeypatch.setattr(values, "ROWS", 20)
    assert np.argmin(values_for(own, OTHER).log_parameters[2:5]) == 0
    assert sizes == [20]


def test_a_constant_input_is_not_used(data):
    X, y = data
    frame = pd.DataFrame({"a": X[:, 0], "one": 1.0, "b": X[:, 1]})
    with pytest.warns(UserWarning, match="constant"):
        own = gpproj.condition(frame, y, KERNEL, Gaussian(0.02), standardize=True)
    for structure in (KERNEL, OTHER):
        assert values_for(own, structure).used.tolist() == [True, False, True]


def test_a_mean_function_that_is_constant_has_values_too(data):
    X, y = data
    flat = gpproj.from_moments(X, y, np.full(50, y.mean()), 0.1 * np.eye(50), 1.0)
    assert np.isfinite(values_for(flat, OTHER).log_parameters).all()


def test_submodels_of_another_kernel_start_and_are_bounded_by_them(ref):
    family = family_of(ref, OTHER, "reference")
    np.testing.assert_array_equal(family.known, values_for(ref, OTHER).log_parameters)
    assert np.all(family.bounds.lower[:-1] <= family.known)
    assert np.all(family.bounds.upper[:-1] >= family.known)


def test_kernels_with_the_same_parameters_are_not_the_same(ref):
    smooth, rough = Constant() + SquaredExponential(), Constant() + Matern52()
    assert smooth.parameters(3) == rough.parameters(3)
    own, fitted = values_for(ref, smooth), values_for(ref, rough)
    np.testing.assert_array_equal(own.log_parameters, ref.known_parameters)
    assert not np.allclose(fitted.log_parameters, own.log_parameters)
    assert repr(rough.structure(3)) in ref.fitted_values
