"""How figures of the paper are written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def save(ax: Axes, file: Path) -> None:
    """Write the figure that axes belong to, and close it."""
    import matplotlib.pyplot as plt

    figure = ax.get_figure(root=True)
    assert figure is not None  # axes that were just drawn have one
    figure.savefig(file, dpi=120)
    plt.close(figure)
