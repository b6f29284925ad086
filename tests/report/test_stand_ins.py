"""Who else could it be: the stand-ins of the chosen inputs, in a sentence, a table and as CSV."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import gpproj
from gpproj.kernels import SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.report import findings as room
from tests.fitting import fit_mode

COPY = "<b>copy</b>"


@pytest.fixture(scope="module")
def cv():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((40, 4)), columns=["line", "wave", COPY, "noise"])
    X[COPY] = X["line"] + 0.02 * rng.standard_normal(40)
    ref = fit_mode(X, X["line"] + np.sin(2.0 * X["wave"]) + 0.1 * rng.standard_normal(40))
    path = gpproj.project_path(ref, ["line", "wave", "noise"])
    return gpproj.validate(ref, path, folds=2, search="once", random_state=0, progress=False)


def section(tree):
    return tree.find(".//section[@id='stand-ins']")


def shown(share, decimals=0):
    return f"{100.0 * share:.{decimals}f} %".replace("-", "\N{MINUS SIGN}")


def lines_of(words, tree):
    return [[words(cell) for cell in row] for row in section(tree).iter("tr")]


def test_inputs_that_are_interchangeable_are_named_in_a_sentence(cv, written, words):
    text, tree = written(cv, size=2, effects=0, stand_ins=3)
    first, *others = [words(one) for one in section(tree).findall("p")]
    table = cv.path.alternatives(2, 3)
    share = table.set_index(["input", "stand_in"])["replaced"]["line", COPY]
    assert first == f"line could be replaced by {COPY} ({100.0 * share:.0f} % of what it adds)."
    assert len(others) == 1
    assert COPY not in text
    assert words(section(tree).find("h2")) == "Who else could it be?"


def test_every_chosen_input_has_a_line_with_its_best_stand_in(cv, written, words, csv):
    _, tree = written(cv, size=2, effects=0, stand_ins=3)
    head, *lines = lines_of(words, tree)
    assert head == ["Input", "Adds", "Best stand-in", "Replaced", "Cost", "Others"]
    table = cv.path.alternatives(2, 3)
    assert [line[0] for line in lines] == list(cv.path.best_inputs(2))
    for name, adds, best, replaced, cost, rest in lines:
        alone, first, *others = table[table["input"] == name].itertuples()
        assert adds == shown(alone.cost, 1)
        assert best == first.stand_in + (" interchangeable" if first.interchangeable else "")
        assert replaced == shown(first.replaced)
        assert cost == shown(first.cost, 1)
        assert rest == ", ".join(f"{one.stand_in} {shown(one.replaced)}" for one in others)
    found = csv(tree, "stand-ins", keep_default_na=False, na_values={"replaced": ""})
    assert_frame_equal(found, table, rtol=1e-6)


def test_that_no_other_input_will_do_is_said(cv, written, words):
    X = cv.reference.training.X[:, [0, 3]]
    ref = gpproj.condition(X, X[:, 0], SquaredExponential(1.0, 2.0), Gaussian(0.1))
    path = gpproj.project_path(ref, [0])
    alone = gpproj.validate(ref, path, folds=2, search="once", random_state=0, progress=False)
    _, tree = written(alone, size=1, effects=0, stand_ins=1)
    said = words(section(tree).find("p"))
    assert said == "No other input gives nearly all of what one of these adds."


def test_inputs_that_add_nothing_have_none(small_cv, written, words):
    _, tree = written(small_cv, effects=0, stand_ins=2)  # made-up submodels, which are all alike
    assert [line[2:] for line in lines_of(words, tree)[1:]] == [["none", "", "", ""]] * 3


def test_no_inputs_and_none_asked_for_say_so(small_cv, written, words):
    for options, said in (
        ({"size": 0, "stand_ins": 3}, "No stand-ins to show: no input of the submodel could be"),
        ({"stand_ins": 0}, "No stand-ins to show: left out."),
    ):
        _, tree = written(small_cv, effects=0, **options)
        assert words(section(tree).find("p")).startswith(said)
        assert section(tree).find(".//table") is None
        assert tree.find(".//textarea[@id='csv-stand-ins']") is None


def test_of_many_inputs_the_first_ones_have_stand_ins(cv, written, words, monkeypatch):
    monkeypatch.setattr(room, "EXCHANGED", 1)
    _, tree = written(cv, size=2, effects=0, stand_ins=2)
    assert [line[0] for line in lines_of(words, tree)[1:]] == ["line"]
    assert words(section(tree)).endswith("The first 1 of 2 inputs.")
