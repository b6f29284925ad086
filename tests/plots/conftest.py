from __future__ import annotations

from itertools import pairwise

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(autouse=True)
def no_screen(monkeypatch):
    def show(*arguments, **options):
        raise AssertionError("plots are for the user to show")

    monkeypatch.setattr(plt, "show", show)


@pytest.fixture
def overlap():
    """Whether any two neighbours of a row of labels overlap once the figure is drawn."""

    def found(labels):
        labels[0].figure.draw_without_rendering()
        boxes = [label.get_window_extent() for label in labels]
        return any(one.overlaps(two) for one, two in pairwise(boxes))

    return found
