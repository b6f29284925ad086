"""Arguments of the same name agree between functions: default, kind and annotation."""

from __future__ import annotations

import inspect
from collections import defaultdict

import pytest

import gpproj

FUNCTIONS = {
    name: inspect.signature(getattr(gpproj, name)).parameters
    for name in gpproj.__all__
    if inspect.isfunction(getattr(gpproj, name))
}

ORDER = (
    "exposure",
    "missing",
    "prior",
    "inference",
    "standardize",
    "nugget",
    "random_state",
    "n_jobs",
    "progress",
    "device",
)
"""Order of the settings of all functions that make references."""

MAKERS = ("condition", "fit", "sample", "sample_linear", *(n for n in FUNCTIONS if "from_" in n))

EXCEPTIONS = {
    # Given hyperparameters are in the user's units, and there is no default for them.
    ("condition", "kernel"): {"default", "kind", "annotation"},
    ("condition", "likelihood"): {"default"},
    ("condition", "standardize"): {"default", "kind"},
    ("condition", "inference"): {"kind"},
    ("fit", "standardize"): {"kind"},
    # An estimator says itself whether it predicts numbers or classes.
    ("from_estimator", "likelihood"): {"default", "annotation", "kind"},
    # What the model is comes by position where gpproj makes it. Models of others come first
    # themselves, and submodels have the kernel of their reference unless somebody says otherwise.
    **{(name, "kernel"): {"kind"} for name in ("fit", "sample")},
    **{
        (name, "likelihood"): {"kind"}
        for name in ("from_moments", "from_draws", "from_predictions")
    },
    # A process of PyMC may hold its observations and its noise itself.
    ("from_pymc", "y"): {"default", "kind"},
    ("from_pymc", "noise_variance"): {"kind", "annotation"},
    ("from_pymc", "likelihood"): {"default", "kind", "annotation"},
    # Draws of a noise variance are many numbers; a known one is an option.
    ("from_draws", "noise_variance"): {"annotation"},
    ("from_linear_draws", "noise_variance"): {"annotation"},
    ("sample_linear", "noise_variance"): {"kind"},
    # Exact draws of a linear model cost next to nothing.
    ("sample_linear", "draws"): {"default"},
    # A fit has a few draws around modes, as many as suit its inference unless told otherwise.
    ("fit", "draws"): {"default", "kind", "annotation"},
    # The folds of an estimator are the same each time, as its own seed is.
    ("from_estimator", "random_state"): {"default"},
    ("from_estimator", "folds"): {"default", "annotation"},
    ("from_estimator", "quantiles"): {"annotation"},
    # Priors of submodels know their reference, priors of references do not.
    ("fit", "prior"): {"default"},
    ("sample", "prior"): {"default"},
    # Other rooms: the settings of the path when left out.
    ("validate", "learn"): {"default", "annotation"},
    ("validate", "method"): {"default", "annotation"},
    # Other rooms: the same word for another thing.
    ("validate", "refit"): {"default", "annotation"},
    ("validate", "points"): {"default", "kind", "annotation"},
    ("effects", "points"): {"default", "kind"},
    **{(name, "model"): {"annotation"} for name in ("effects", "interactions")},
    **{(name, "inputs"): {"default", "annotation"} for name in ("effects", "interactions")},
    ("leave_input_out", "reference"): {"annotation"},
    ("project", "learn"): {"kind"},
    ("project_path", "learn"): {"kind"},
    ("forward_search", "max_inputs"): {"kind"},
    # Other rooms: no generators yet, and a fixed seed for the rows of a search.
    ("forward_search", "random_state"): {"default", "annotation"},
    ("validate", "random_state"): {"annotation"},
    # What is asked first of a search comes by position, as it does there.
    ("false_selections", "max_inputs"): {"kind"},
    ("false_selections", "strategy"): {"kind"},
}


def aspects(parameter):
    required = parameter.default is parameter.empty
    yield "default", "required" if required else repr(parameter.default)
    yield "kind", parameter.kind.description
    yield "annotation", parameter.annotation


def test_arguments_of_the_same_name_agree():
    seen = defaultdict(lambda: defaultdict(list))
    for function, parameters in FUNCTIONS.items():
        for name, parameter in parameters.items():
            for aspect, value in aspects(parameter):
                if aspect not in EXCEPTIONS.get((function, name), ()):
                    seen[name, aspect][value].append(function)
    assert {where: dict(values) for where, values in seen.items() if len(values) > 1} == {}


@pytest.mark.parametrize(("function", "name"), EXCEPTIONS)
def test_exceptions_name_arguments_that_there_are(function, name):
    assert name in FUNCTIONS[function]


@pytest.mark.parametrize("function", MAKERS)
def test_settings_of_references_come_in_one_order(function):
    keywords = [
        name
        for name, parameter in FUNCTIONS[function].items()
        if parameter.kind is parameter.KEYWORD_ONLY and name in ORDER
    ]
    assert keywords == [name for name in ORDER if name in keywords]
    names = list(FUNCTIONS[function])
    if "likelihood" in names and "kernel" in names and function != "condition":
        assert names.index("likelihood") < names.index("kernel")
    if "X" in names:
        assert [name for name in names if name != "estimator"][:2] == ["X", "y"]


@pytest.mark.parametrize("function", MAKERS)
def test_seeds_are_described_by_one_sentence(function):
    sentence = "Seed of the random numbers, or a generator that one is drawn from; None takes a new"
    assert ("random_state" in FUNCTIONS[function]) == (
        sentence in getattr(gpproj, function).__doc__
    )


@pytest.mark.parametrize(
    ("function", "names"),
    [
        ("condition", ["X", "y", "kernel", "likelihood", "inference", "standardize"]),
        ("fit", ["X", "y", "likelihood", "kernel", "standardize"]),
        ("sample", ["X", "y", "draws"]),
    ],
)
def test_arguments_that_are_given_by_position(function, names):
    first = list(FUNCTIONS[function].values())[: len(names)]
    assert [parameter.name for parameter in first] == names
    assert {parameter.kind for parameter in first} == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
