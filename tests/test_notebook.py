"""What notebooks show: short tables, with names escaped and without scripts."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.notebook import MOST_ROWS, card
from tests.fitting import fit_mode

NASTY = "<script>alert('a & b')</script>"


@pytest.fixture(scope="module")
def path():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((40, 3)), columns=[NASTY, "b", "c"])
    kind = rng.choice(["x", "y"], 40)
    y = X[NASTY] + (kind == "x") + 0.3 * rng.standard_normal(40)
    ref = fit_mode(X.assign(kind=kind), y, missing="impute")
    return gpproj.forward_search(ref, 2, always="c", exchange=False, progress=False)


def cells_of(thing):
    """Parse what is shown, which is well formed, and return all its texts."""
    shown = thing._repr_html_()
    tree = ElementTree.fromstring(shown)
    assert {one.tag for one in tree.iter()} <= {
        "div",
        "b",
        "p",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert all(set(one.attrib) <= {"colspan"} for one in tree.iter())
    return [one.text or "" for one in tree.iter()]


def test_references_tell_their_columns(path):
    cells = cells_of(path.reference)
    assert f"4: {NASTY}, b, c, kind" in cells
    assert cells[cells.index("columns of text") + 1] == "kind"
    assert cells[cells.index("missing cells") + 1] == "impute"
    assert cells[cells.index("rows") + 1] == "40"


def test_paths_and_submodels_tell_what_entered(path):
    cells = cells_of(path)
    assert NASTY in cells
    assert cells[cells.index("always in") + 1] == "c"
    assert f"{path.relative_errors[1]:.4g}" in cells
    sub = cells_of(path[2])
    assert ", ".join(path[2].column_names) in sub
    assert any(text.startswith("divergence=") for text in sub)


@pytest.mark.filterwarnings("ignore:.*predicts.*better:UserWarning")
def test_validations_tell_the_answer(path):
    cv = gpproj.validate(path.reference, path, folds=2, random_state=0, progress=False)
    cells = cells_of(cv)
    assert cv.answer() in cells
    verdicts = [text for text in cells if text in ("enough", "not enough", "not shown")]
    assert verdicts == list(cv.sizes.verdict)


def test_long_tables_and_texts_are_cut():
    shown = card("t", {"long": "x" * 500}, ["a"], [[k] for k in range(MOST_ROWS + 7)])
    assert "and 7 more" in shown
    assert "x" * 117 + "..." in shown
    assert "x" * 118 not in shown
