"""The answer of a validation, in one sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gpproj
from gpproj.validation.result import Validation
from gpproj.validation.scores import Scores
from tests.fitting import fit_mode


@pytest.fixture(scope="module")
def path():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    ref = fit_mode(X, X[:, 1] + 0.5 * X[:, 0] + 0.3 * rng.standard_normal(20))
    return gpproj.forward_search(ref, progress=False)


def validation(path, differences):
    """Submodels that are apart from the reference by these figures, on every row."""
    m = 40
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
        (
            (-1, -1, -1, -0.5),
            "No submodel of up to 3 inputs predicts as well as all 3 inputs: the largest keeps "
            "50 % (50 to 50 %).",
        ),
        (
            (-1, -1, -0.03, -0.02),
            "2 of 3 inputs keep 97 % (97 to 97 %) of what all predict (a clear loss of elpd): "
            "{0}, {1}.",
        ),
        (
            (-1, -1, -1, -0.05),
            "No size is shown to be enough; 3 inputs keep 95 % (95 to 95 %) of what all predict: "
            "{0}, {1}, {2}.",
        ),
        (
            (-5e-5, 0, 0, 0),
            "No input is shown to help: with all 3 inputs the elpd is 0.0 ± 0.0 above the null "
            "model's.",
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
    ref = fit_mode(X, X[:, 1] + 0.3 * rng.standard_normal(20))
    path = gpproj.forward_search(ref, 0, always=["x1"], progress=False)
    cv = validation(path, [-1e-4])
    assert cv.answer() == "The input that is always in is enough, 1 of 3: x1."
    none = replace(cv, scores=validation(path, [-1.0]).scores)
    assert none.answer() == "No submodel without further inputs predicts as well as all 3 inputs."


@pytest.mark.parametrize(
    ("differences", "size"),
    [((-1, -1, 0.5, 0.3), 2), ((-1, 0.1, 0.1, 0.1), None), ((1, 0.4, 0.3, 0.2), None)],
)
def test_a_submodel_that_is_better_than_the_reference_comes_first(path, differences, size):
    """A tenth of a nat a row is two nats in all, too little; a better null model has its own."""
    cv = validation(path, np.array(differences, dtype=float))
    if size is None:
        assert cv.better_submodel == ()
        assert cv.answer().startswith(cv.verdict()[0])
        return
    (text,) = cv.better_submodel
    start = f"the submodel of size {size} predicts clearly better than the reference (elpd "
    assert text.startswith(f"{start}difference 10.0 ± 0.")
    assert "gpproj.sample" in text
    assert cv.problems[0] == text
    assert cv.answer().startswith(f"Look first: {text}. ")
    assert cv.verdict()[0] in cv.answer()


def test_a_difference_within_two_standard_errors_is_not_clear(path):
    cv = validation(path, np.array([-1.0, -1.0, 0.5, -1.0]))
    density = cv.scores.log_density.copy()
    density[3] += 2.0 * (np.arange(40) % 2) - 1.0  # a standard error of about 4.6 in elpd
    density[3, :20] -= 0.8
    assert replace(cv, scores=cv.scores._replace(log_density=density)).better_submodel == ()


def test_what_is_wrong_with_the_reference_is_repeated():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    ref = fit_mode(np.tile(X[:20], (2, 1)), np.tile(X[:20, 0] + rng.standard_normal(20), 2))
    path = gpproj.forward_search(ref, progress=False)
    cv = validation(path, [-1.0, -1e-4, -1e-4])
    assert ref.check().problems
    assert cv.problems[: len(ref.check().problems)] == ref.check().problems
    for problem in ref.check().problems:
        assert f"Note: {problem}." in cv.answer()
