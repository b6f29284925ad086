"""The page on plots: its examples run, and it names every plot."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt

import gpproj

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "plots.md").read_text()


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)
    assert (tmp_path / "validation.png").stat().st_size > 10_000
    assert names["table"]["input"].unique().tolist() == ["line", "wave"]
    assert len(plt.get_fignums()) == 2


def test_the_page_and_the_reference_name_every_plot():
    plots = {name for name in gpproj.plots.__all__ if name.islower()}
    assert set(re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE)) == plots
    api = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text()
    (members,) = re.findall(r"gpproj\.plots\n   :members: (.*)", api)
    assert set(members.split(", ")) == plots
