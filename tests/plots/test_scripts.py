"""Names in any script are drawn without a warning, whatever fonts there are."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib import font_manager

import gpproj
from gpproj.plots import scripts
from gpproj.plots.scripts import MISSING, drawable, readers_fonts, text_style

NAMES = {
    "Greek": "ηλικία",
    "Arabic": "العمر",
    "Chinese": "年龄",
    "emoji": "age \N{GRINNING FACE}",
    "family": "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}",
    "heart": "\N{HEAVY BLACK HEART}\N{VARIATION SELECTOR-16}",
    "control": "a\x00b",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_in_any_script_are_drawn(name):
    table = pd.DataFrame({name: [1.0, 0.5]}, index=[name, "b"])
    ax = gpproj.plots.relevance_bars(table)
    ax.figure.draw_without_rendering()  # a glyph that is missing would be an error here


def test_what_the_font_has_stays_and_what_none_has_is_marked(monkeypatch):
    assert drawable("ηλικία σ² é") == "ηλικία σ² é"
    assert text_style("ηλικία") == {}
    monkeypatch.setattr(scripts, "_other_family", lambda char: None)
    assert drawable("年age") == f"{MISSING}age"
    assert drawable("x\N{COMBINING DOUBLED CIRCUMFLEX ACCENT}") == "x"


def test_another_font_is_taken_where_one_has_the_characters(monkeypatch):
    own, other = Path(font_manager.findfont("DejaVu Sans")), "DejaVu Sans Mono"
    with plt.rc_context({"font.family": ["cmr10"]}):
        assert text_style("я") == {"fontfamily": ["cmr10", text_style("я")["fontfamily"][1]]}
        assert drawable("я") == "я"
    assert own.exists()
    monkeypatch.setattr(scripts, "_other_family", lambda char: other)
    assert text_style("年")["fontfamily"][-1] == other


def test_readers_bring_their_own_fonts():
    with readers_fonts():
        assert drawable("年龄\x00") == f"年龄{MISSING}"
        assert text_style("年龄") == {}
