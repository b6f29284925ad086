"""Searches repeated on other data: in the same way, or along the order that was found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.kernels import Constant, Linear, Matern52
from gpproj.reference.draws import Draws
from tests.fitting import fit_mode


def make_reference(strong="a", n=30, seed=1):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    y = 0.8 * np.sin(X["a"]) + X["b"] + 2 * X[strong] + 0.3 * rng.standard_normal(n)
    return fit_mode(X, y)


@pytest.fixture(scope="module")
def ref():
    return make_reference()


@pytest.fixture(scope="module")
def other():
    """Another input matters most."""
    return make_reference(strong="d", seed=2)


@pytest.fixture(scope="module")
def plain(other):
    return gpproj.forward_search(other, 2, progress=False)


def same(one, two):
    assert one.order == two.order
    assert one.always == two.always
    assert one.units == two.units
    np.testing.assert_allclose(one.errors, two.errors, rtol=0, atol=1e-10)
    pd.testing.assert_frame_equal(one.candidates, two.candidates)


OPTIONS = {
    "plain": {},
    "exhaustive": {"strategy": "exhaustive"},
    "always": {"always": ["c"]},
    "groups": {"groups": {"pair": ["c", "d"]}},
    "costs": {"costs": {"d": 1000.0}},
    "prior": {"prior": None},
    "kernel": {"kernel": Constant() + Matern52()},
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[pytest.mark.slow] if name in ("exhaustive", "costs", "kernel") else []
        )
        for name in OPTIONS
    ],
)
def test_a_forward_search_is_repeated_with_its_settings(ref, other, plain, name):
    options = OPTIONS[name]
    path = gpproj.forward_search(ref, 2, progress=False, **options)
    again = path.repeat(other)
    assert again.reference is other
    anew = gpproj.forward_search(other, 2, progress=False, **options) if options else plain
    same(again, anew)
    if name != "plain":
        told = [
            (own.order, own.always, own.candidates["evaluations"].sum(), own.errors[-1])
            for own in (again, plain)
        ]
        assert told[0] != told[1]


def test_a_repeated_search_finds_its_own_order(ref, other):
    path = gpproj.forward_search(ref, 1, progress=False)
    assert path.order == ("a",)
    assert path.repeat(other).order == ("d",)
    along = path.reproject(other)
    assert along.order == ("a",)
    assert along.reference is other


def test_a_repeated_search_is_as_long_as_the_first(ref, other):
    """Wherever it was stopped, and not where it would stop itself."""
    path = gpproj.forward_search(ref, stop_below=0.5, progress=False)
    assert 1 <= len(path.units) < 4
    assert len(path.repeat(other)) == len(path)
    longer = gpproj.forward_search(ref, len(path.units) + 1, extend=path, progress=False)
    assert len(longer.repeat(other)) == len(path) + 1


def test_a_backward_search_is_repeated_with_its_settings(ref, other):
    for options in ({"always": ["c"]}, {"groups": {"pair": ["a", "c", "d"]}, "prior": None}):
        path = gpproj.backward_search(ref, 1, progress=False, **options)
        same(path.repeat(other), gpproj.backward_search(other, 1, progress=False, **options))


@pytest.mark.slow
def test_a_given_order_is_repeated(ref, other):
    for options in (
        {},
        {"learn": "marginal_likelihood"},
        {"prior": None},
        {"kernel": Constant() + Linear()},
    ):
        path = gpproj.project_path(ref, ["c", "b"], **options)
        same(path.repeat(other), gpproj.project_path(other, ["c", "b"], **options))
        assert path.repeat(other).learn == path.learn


@pytest.mark.slow
def test_submodels_along_the_same_order(ref, other):
    """Those of `project_path`, whatever the search was; groups and settings are kept."""
    path = gpproj.forward_search(ref, 2, prior=None, progress=False)
    along = path.reproject(other)
    expected = gpproj.project_path(other, path.order, prior=None)
    np.testing.assert_allclose(along.errors, expected.errors, rtol=0, atol=1e-10)
    assert along.full_error == expected.full_error
    kernel = Constant() + Matern52()
    path = gpproj.forward_search(
        ref, 2, groups={"pair": ["c", "d"]}, always=["b"], kernel=kernel, progress=False
    )
    along = path.reproject(other)
    assert along.units == path.units
    assert along.always == path.always
    assert along[0].inputs == ("b",)
    for size in range(3):
        own = gpproj.project(other, path[size].inputs, kernel=kernel)
        assert along.errors[size] == pytest.approx(own.loo_divergence, rel=0.02)
        assert type(along[size].kernel) is type(own.kernel)
        assert repr(along[size].kernel).count("Matern52") == 1


def test_submodels_along_an_order_are_learned_in_the_same_way(ref, other):
    path = gpproj.project_path(ref, ["a"], learn="marginal_likelihood")
    expected = gpproj.project_path(other, ["a"], learn="marginal_likelihood")
    assert path.reproject(other).learn == "marginal_likelihood"
    np.testing.assert_allclose(path.reproject(other).errors, expected.errors)


@pytest.mark.slow
def test_clusters_are_kept(ref):
    parameters = ref.draws.parameters + np.linspace(-0.3, 0.3, 3)[:, None]
    drawn = replace(ref, draws=Draws.equal(parameters))
    for path in (
        gpproj.forward_search(drawn, 0, clusters=2, progress=False),
        gpproj.project_path(drawn, ["a"], clusters="draws"),
        gpproj.backward_search(drawn, 4, clusters=2, progress=False),
    ):
        assert path.repeat(drawn).clusters == path.reproject(drawn).clusters == path.clusters
        assert path.reproject(drawn)[0].clusters == path[0].clusters > 1


@pytest.mark.slow
def test_clusters_of_a_path_can_be_chosen_later(ref):
    parameters = ref.draws.parameters + np.linspace(-0.3, 0.3, 3)[:, None]
    drawn = replace(ref, draws=Draws.equal(parameters))
    path = gpproj.forward_search(drawn, 1, progress=False)
    mixed = path.with_clusters("draws")
    assert (path.with_clusters(1)[1].clusters, mixed[1].clusters) == (1, 3)
    assert mixed.order == path.order
    assert mixed.repeat(drawn)[1].clusters == mixed.reproject(drawn)[1].clusters == 3
    assert path[1].clusters == mixed.with_clusters(None)[1].clusters == 3  # of a few draws
    for wrong in (0, "all"):
        with pytest.raises(ValueError, match="clusters"):
            path.with_clusters(wrong)


def test_a_path_that_does_not_know_how_it_was_found(ref, other):
    path = gpproj.forward_search(ref, 1, progress=False)
    lost = path.reproject(other)
    with pytest.raises(ValueError, match="does not know how it was found"):
        lost.repeat(ref)
    assert lost.reproject(ref).order == path.order


def test_an_extended_path_begins_again_as_it_began(ref):
    begun = gpproj.project_path(ref, ["c", "b"])
    path = gpproj.forward_search(ref, 3, extend=begun, progress=False)
    assert path.repeat(ref).order == path.order


def test_inputs_that_can_be_gone_through_once_are_kept(ref):
    path = gpproj.forward_search(
        ref, 1, always=iter(["c"]), groups={"g": iter(["a", "b"])}, progress=False
    )
    again = path.repeat(ref)
    assert again.always == path.always == (2,)
    assert again.order == path.order == ("g",)
