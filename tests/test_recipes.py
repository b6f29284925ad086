"""Recipes: everything that was asked for is done again with other data; no setting is forgotten."""

from __future__ import annotations

import inspect
import pickle
import typing

import numpy as np
import pytest

import gpproj
from gpproj.kernels import Matern52
from gpproj.likelihoods import Gaussian
from gpproj.recipes import Result, remembered
from tests.fitting import fit_mode

RNG = np.random.default_rng(0)
X = RNG.standard_normal((25, 3))
Y = X[:, 0] + 0.3 * RNG.standard_normal(25)
DATA = {"X", "y", "exposure"}
NOT_OF_PATHS = {"reference", "n_jobs", "checkpoint", "stop_below", "extend", "start_from"}


def settings_of(function):
    return set(inspect.signature(function).parameters)


@pytest.fixture(scope="module")
def reference():
    return gpproj.condition(X, Y, Matern52(1.0, [1.0, 2.0, 3.0]), Gaussian(0.1))


def test_references_remember_every_setting(reference):
    fitted = fit_mode(X, Y, kernel=Matern52(), prior=None, nugget=1e-3)
    linear = gpproj.sample_linear(X, Y, draws=30)
    made = {gpproj.condition: reference, gpproj.fit: fitted, gpproj.sample_linear: linear}
    for function, found in made.items():
        assert found.recipe.func is function
        assert set(found.recipe.keywords) == settings_of(function) - DATA
    assert fitted.recipe.keywords["prior"] is None
    assert fitted.recipe.keywords["nugget"] == 1e-3
    assert isinstance(linear.recipe.keywords["random_state"], int)  # drawn once, and kept


def test_paths_remember_every_setting(reference):
    groups = {"both": (one for one in ["x0", "x1"])}
    forward = gpproj.forward_search(
        reference, 1, groups=groups, learn="projection", exchange=False, progress=False
    )
    backward = gpproj.backward_search(reference, 2, always=iter(["x2"]), progress=False)
    given = gpproj.project_path(reference, iter(["x1", "x0"]), prior=None)
    made = {
        gpproj.forward_search: forward,
        gpproj.backward_search: backward,
        gpproj.project_path: given,
    }
    for function, path in made.items():
        assert path.recipe.func is function
        assert set(path.recipe.keywords) == settings_of(function) - NOT_OF_PATHS
        assert path.recipe.keywords.get("progress", False) is False
    assert forward.recipe.keywords["groups"] == {"both": ("x0", "x1")}
    assert backward.recipe.keywords["always"] == ("x2",)
    assert given.recipe.keywords["order"] == ("x1", "x0")
    again = forward.repeat(reference)
    assert (again.order, again.learn) == (forward.order, "projection")
    # It starts from what the first one has found, and may find a little more.
    np.testing.assert_allclose(again.errors, forward.errors, rtol=1e-2)
    (kept, more) = (path.projections[1].value for path in (forward, again))
    assert more <= kept + 1e-6 * abs(kept)


def test_recipes_travel_to_other_processes(reference):
    path = gpproj.project_path(reference, ["x0"])
    there = pickle.loads(pickle.dumps(path.recipe))
    assert there.func is gpproj.project_path
    assert there(reference).order == ("x0",)


def test_users_see_what_is_made():
    shown = inspect.signature(gpproj.fit).return_annotation
    assert shown == "GaussianProcessReference"
    assert typing.get_type_hints(gpproj.project_path)["return"] is gpproj.SearchPath


class Thing:
    recipe = None


def test_what_was_computed_is_not_lost():
    thing = Thing()

    @remembered("data")
    def make(data, size=3):
        return Result(thing, {})

    assert make([1]) is thing
    assert thing.recipe.keywords == {"size": 3}


def test_a_recipe_may_go_on_from_another():
    @remembered("data")
    def make(data, size=3):
        return Result(Thing(), {}, lambda again: ("after", again))

    word, again = make([1]).recipe
    assert (word, again.keywords) == ("after", {"size": 3})
