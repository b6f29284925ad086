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
from gpproj.report import matrix
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


def test_every_chosen_input_has_a_line_and_its_stand_ins_a_column(cv, written, words, csv):
    _, tree = written(cv, size=2, effects=0, stand_ins=3)
    (chosen, adds, *others), *lines = lines_of(words, tree)
    assert (chosen, adds) == ("Chosen", "Adds")
    table = cv.path.alternatives(2, 3)
    known = table.set_index(["input", "stand_in"])
    best = table[table["stand_in"] != ""].groupby("stand_in")["replaced"].max()
    assert others == list(best.sort_values(ascending=False).index)
    assert [line[0] for line in lines] == list(cv.path.best_inputs(2))
    for name, alone, *cells in lines:
        assert alone == shown(known.loc[(name, ""), "cost"], 1)
        for other, cell in zip(others, cells, strict=True):
            there = (name, other) in known.index
            assert cell == (shown(known.loc[(name, other), "replaced"]) if there else "")
    shades = {
        one.get("class") for one in section(tree).iter("span") if "shade" in one.get("class", "")
    }
    assert "shade shade-5" in shades or "shade shade-4" in shades
    found = csv(tree, "stand-ins", keep_default_na=False, na_values={"replaced": ""})
    assert_frame_equal(found, table, rtol=1e-6)


def test_only_the_stand_ins_that_replace_most_have_columns(cv, written, words, monkeypatch):
    monkeypatch.setattr(matrix, "COLUMNS", 1)
    _, tree = written(cv, size=2, effects=0, stand_ins=4)
    head, *_ = lines_of(words, tree)
    assert head == ["Chosen", "Adds", COPY]
    assert words(section(tree)).endswith("The 1 stand-ins that replace most.")


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
    assert [line[2:] for line in lines_of(words, tree)] == [[]] * 4


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
    assert words(section(tree)).endswith("The first 1 of 2.")
