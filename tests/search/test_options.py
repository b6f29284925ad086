"""Keywords that searches and projections share are checked by one object."""

from __future__ import annotations

from dataclasses import fields
from inspect import signature

import pytest

import gpproj
from gpproj.projection import ProjectionOptions
from gpproj.search.options import SearchOptions

OF_ITS_OWN = {
    gpproj.project: {"reference", "inputs"},
    gpproj.project_path: {"reference", "order", "max_inputs"},
    gpproj.leave_input_out: {"reference"},
    gpproj.backward_search: {"reference", "min_inputs", "progress"},
    gpproj.forward_search: {
        "reference",
        "max_inputs",
        "progress",
        "checkpoint",
        "stop_below",
        "prefilter",
        "search_rows",
        "random_state",
        "extend",
        "start_from",
    },
}


@pytest.mark.parametrize("function", OF_ITS_OWN, ids=lambda function: function.__name__)
def test_every_other_keyword_is_an_option_with_the_same_default(function):
    searches = function in (gpproj.forward_search, gpproj.backward_search)
    options = {
        one.name: one.default for one in fields(SearchOptions if searches else ProjectionOptions)
    }
    for name, parameter in signature(function).parameters.items():
        if name not in OF_ITS_OWN[function]:
            assert options[name] == parameter.default, name


def test_options_are_checked_when_they_are_made():
    for wrong in ({"learn": "x"}, {"criterion": "x"}, {"clusters": 0}, {"n_jobs": 0}):
        with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
            ProjectionOptions(**wrong)
    with pytest.raises(ValueError, match="strategy must be"):
        SearchOptions(strategy="x")


def test_iterables_are_read_once():
    options = SearchOptions(always=iter(["a"]), groups={"g": iter([1, 2]), "h": "b"})
    assert options.always == ("a",)
    assert options.groups == {"g": (1, 2), "h": "b"}
