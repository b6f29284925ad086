"""The answer of a validation, in one sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gpproj
from gpproj.validation.result import Validation
from gpproj.validation.scores import Scores


@pytest.fixture(scope="module")
def path():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    ref = gpproj.fit(X, X[:, 1] + 0.5 * X[:, 0] + 0.3 * rng.standard_normal(20))
    return gpproj.forward_search(ref, progress=False)


def validation(path, differences):
    """Submodels that are apart from the reference by these figures, on every row."""
    m = 20
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.standard_normal(m)
    away = np.array([0.0, *differences])[:, None] + (noise - noise.mean())
    away[0] = 0.0
    rows = np.arange(m)
    scores = Scores(rows, rows % 5, rng.standard_normal(m), np.zeros((len(away), m)), away)
    return Validation(path.reference, path, "kfold", "inside", scores, (path.order,) * 5)


@pytest.mark.parametrize(
    ("differences", "said"),
    [
        ((-1, -1, 0, 0), "2 of 3 inputs predict as well as all: {0}, {1}."),
        ((-1, 0, 0, 0), "1 of 3 inputs predicts as well as all: {0}."),
        ((-1, -1, -1, 0), "All 3 inputs are needed: {0}, {1}, {2}."),
        ((-1, -1, -1, -1), "No submodel of up to 3 inputs predicts as well as all 3 inputs."),
        (
            (-0.0005, 0, 0, 0),
            "No input is needed: the null model predicts as well as all 3 inputs.",
        ),
        ((1, 0, 0, 0), "No input helps: the null model predicts better than all 3 inputs."),
    ],
)
def test_the_answer_names_what_is_enough(path, differences, said):
    differences = np.array(differences, dtype=float)
    differences[differences == 0] = -1e-4
    cv = validation(path, differences)
    assert cv.answer() == said.format(*path.order)


def test_inputs_that_are_always_in_are_named():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    ref = gpproj.fit(X, X[:, 1] + 0.3 * rng.standard_normal(20))
    path = gpproj.forward_search(ref, 0, always=["x1"], progress=False)
    cv = validation(path, [-1e-4])
    assert cv.answer() == "The input that is always in is enough, 1 of 3: x1."
    none = replace(cv, scores=validation(path, [-1.0]).scores)
    assert none.answer() == "No submodel without further inputs predicts as well as all 3 inputs."
