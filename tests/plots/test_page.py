"""The page on plots names every one."""

from __future__ import annotations

import re
from pathlib import Path

import gpproj

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "plots.md").read_text()


def test_the_page_and_the_reference_name_every_plot():
    plots = {name for name in gpproj.plots.__all__ if name.islower()}
    assert set(re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE)) == plots
    api = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text()
    (members,) = re.findall(r"gpproj\.plots\n   :members: (.*)", api)
    assert set(members.split(", ")) == plots
