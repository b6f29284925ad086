"""Kernels, priors, likelihoods and recipes as JSON, and back by name alone."""

from __future__ import annotations

import json
from functools import partial
from types import MappingProxyType

import array_api_strict
import numpy as np
import pandas as pd
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF

import gpproj
from gpproj import kernels, likelihoods, priors
from gpproj.io.plain import ARGUMENTS, KNOWN, plain, restored
from gpproj.io.recipes import FUNCTIONS, function_named, plain_recipe, recipe_of
from gpproj.kernels import Constant, Kernel, Linear, SquaredExponential, Stationary, Zero
from gpproj.priors import Distribution, Gamma, InverseGamma, LogNormal, LogUniform
from gpproj.search.forward import repeated_extension

positive = st.floats(1e-300, 1e300)
per_input = positive | st.lists(positive, min_size=1, max_size=4)
single = (
    st.builds(Zero)
    | st.builds(Constant, positive)
    | st.builds(Linear, per_input)
    | st.sampled_from([SquaredExponential, kernels.Matern32, kernels.Matern52]).flatmap(
        lambda kernel: st.builds(kernel, positive, per_input)
    )
)
any_kernel = st.recursive(
    single,
    lambda inner: st.builds(kernels.Sum, inner, inner) | st.builds(kernels.Product, inner, inner),
    max_leaves=6,
)
any_distribution = (
    st.builds(LogNormal, positive, positive)
    | st.builds(Gamma, positive, positive)
    | st.builds(InverseGamma, positive, positive)
    | st.builds(LogUniform, st.floats(1e-9, 1.0), st.floats(2.0, 1e9))
)


def through_json(value):
    return restored(json.loads(json.dumps(plain(value), allow_nan=False)))


@given(any_kernel)
def test_every_kernel_comes_back(kernel):
    assert through_json(kernel) == kernel


@given(st.dictionaries(st.sampled_from(sorted(priors.weak(1))), any_distribution))
def test_every_prior_comes_back(prior):
    assert through_json(prior) == prior
    assert through_json(MappingProxyType(prior)) == prior


@pytest.mark.parametrize(
    "value", [None, True, 3, 0.1, "weak", "mapping", likelihoods.Gaussian(0.3), (), {"mapping": {}}]
)
def test_settings_come_back(value):
    found = through_json(value)
    assert type(found) is type(value)
    assert found == value


@pytest.mark.parametrize(
    "value",
    [("a", 1), np.array(["a", "b"]), pd.Index(["a", "b"]), range(3), {"only"}, {"only": 1}.keys()],
)
def test_collections_come_back_as_tuples(value):
    found = through_json(value)
    assert found == tuple(value)
    assert all(type(one) in (str, int) for one in found)


@pytest.mark.parametrize("inducing", [30, np.int64(30)])
def test_numbers_of_inducing_points_come_back(same, inducing):
    same(through_json(gpproj.Sparse(30, "fitc", "kmeans")), gpproj.Sparse(30, "fitc", "kmeans"))
    assert type(through_json(gpproj.Sparse(inducing)).inducing) is int


@pytest.mark.parametrize("form", [list, np.asarray, array_api_strict.asarray, np.float32])
def test_inducing_points_come_back_as_arrays(same, form):
    points = [[0.5, 1e-300], [-3.0, 2.0]] if form is not np.float32 else [[0.1, 0.2]]
    same(through_json(gpproj.Sparse(form(points))), gpproj.Sparse(np.array(form(points), float)))


@pytest.mark.parametrize("library", [pd, polars])
def test_inducing_points_with_names_come_back_as_a_frame(same, library):
    points = library.DataFrame({"b": [0.1, 2.0], "größe\n": [3.0, 4.5]})
    found = through_json(gpproj.Sparse(points)).inducing
    pd.testing.assert_frame_equal(found, pd.DataFrame({"b": [0.1, 2.0], "größe\n": [3.0, 4.5]}))


def test_everything_that_a_room_offers_is_known():
    bases = ((kernels, Kernel), (priors, Distribution), (likelihoods, likelihoods.Likelihood))
    for room, base in bases:
        offered = [getattr(room, name) for name in room.__all__]
        made = [one for one in offered if isinstance(one, type) and issubclass(one, base)]
        concrete = {one.__name__ for one in made} - {
            "Kernel",
            "ScikitLearn",  # holds an object of another library
            "Stationary",
            "Distribution",
            "Likelihood",
            "Numerical",
        }
        if base is not object:
            assert len(concrete) >= 4
        assert concrete <= set(KNOWN)
    assert {one.__name__ for one in ARGUMENTS} | {"mapping", "frame"} == set(KNOWN)


class Own(Stationary):
    @staticmethod
    def profile(q):
        return np.exp(q), np.exp(q)


class Renamed(Constant):
    pass


Renamed.__name__ = "Constant"


@pytest.mark.parametrize(
    "odd", [Own(), Constant() + Own(), Renamed(), object(), b"bytes", {1: 2}, iter("ab"), print]
)
def test_what_gpproj_does_not_know_is_refused(odd):
    with pytest.raises(TypeError, match="only gpproj's own"):
        plain(odd)


def test_a_kernel_of_another_library_is_refused_by_name():
    kernel = Constant() + kernels.ScikitLearn(RBF([1.0, 2.0]))
    with pytest.raises(TypeError, match=r"cannot save the kernel ScikitLearn\(.*only gpproj's own"):
        plain(kernel)


@pytest.mark.parametrize(
    "forged",
    [
        {"Own": {}},
        {"Constant": {"variance": -1.0}},
        {"Constant": {"value": 1.0}},
        {"Constant": {}, "Zero": {}},
        {},
        {"os.system": {"command": "true"}},
        {"Sparse": {"inducing": 0}},
        {"Sparse": {"inducing": [1.0, 2.0]}},
        {"Sparse": {"inducing": "all"}},
        {"frame": {"a": [1.0], "b": [1.0, 2.0]}},
    ],
)
def test_only_known_names_are_restored(forged):
    with pytest.raises((KeyError, TypeError, ValueError)):
        restored(forged)


# Recipes


def test_recipes_come_back(same):
    kernel = Constant(2.0) * SquaredExponential(1.0, [0.5, 3.0])
    prior = {"lengthscale": LogNormal(2.0, 0.5), "noise_variance": Gamma(1.0, 2.0)}
    recipe = partial(gpproj.fit, kernel=kernel, prior=prior, likelihood=likelihoods.Gaussian(0.2))
    same(recipe_of(json.loads(json.dumps(plain_recipe(recipe)))), recipe)
    recipe = partial(gpproj.fit, inference=gpproj.Sparse(np.array([[0.1, 0.3], [2.0, 1.0]])))
    same(recipe_of(json.loads(json.dumps(plain_recipe(recipe)))), recipe)


@pytest.mark.parametrize(
    "recipe",
    [
        None,
        lambda X, y: None,
        partial(print, sep=""),
        partial(gpproj.fit, [[1.0]]),
        partial(gpproj.fit, kernel=Own()),
        partial(gpproj.forward_search, always=iter("a")),
        partial(repeated_extension, begun=lambda ref: None, again=partial(gpproj.forward_search)),
    ],
)
def test_other_recipes_are_absent(recipe):
    assert plain_recipe(recipe) is None
    assert recipe_of(None) is None


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("os.system", {}),
        ("validate", {}),
        ("fit", {"tune": 10}),
        ("fit", {"y": [1.0]}),
        ("forward_search", {"checkpoint": "/etc/passwd"}),
        ("forward_search", {"extend": None}),
        (
            "repeated_extension",
            {"again": {"recipe": {"name": "fit", "settings": {"X": None}}}, "begun": None},
        ),
    ],
)
def test_recipes_name_functions_of_gpproj_and_no_files(name, settings):
    with pytest.raises((KeyError, ValueError)):
        recipe_of({"name": name, "settings": settings})


def test_every_function_with_a_recipe_is_a_public_name():
    for name, module in FUNCTIONS.items():
        function = function_named(name)
        assert function.__module__ == module
        assert function is repeated_extension or getattr(gpproj, name) is function
        assert function.__name__ == name
