"""Tables, plots and errors as the command line prints them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gpproj.validation.sizes import percentage

if TYPE_CHECKING:
    import pandas as pd

    import gpproj

console = Console()
errors = Console(stderr=True)


EXPECTED = (ValueError, TypeError, OSError, ImportError, MemoryError, np.linalg.LinAlgError)
"""Errors of data and machines, which are printed in one line; any other is a bug."""


class Interrupted(Exception):
    """The user has stopped a run that can be continued."""


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Say what goes wrong in one line and leave: 130 if interrupted, otherwise 1."""
    try:
        yield
    except Interrupted as stop:
        raise typer.Exit(say(str(stop), 130)) from None
    except EXPECTED as error:
        raise typer.Exit(say(str(error) or type(error).__name__, 1)) from None


def say(text: str, code: int) -> int:
    """Print one line on standard error, and return the exit code that goes with it."""
    line = f"gpproj: {' '.join(text.split())}"
    errors.print(line, highlight=False, markup=False, soft_wrap=True)
    return code


def note(text: str) -> None:
    """Print a sentence about the data on standard error, before the work begins."""
    errors.print(f"note: {text}", highlight=False, markup=False, soft_wrap=True)


def score_table(cv: gpproj.Validation) -> Table:
    """Lay out the part of a validation's summary that a terminal has room for.

    The last row is the reference, to which differences are taken.
    """
    frame = cv.summary()
    names = ["input", "verdict", "kept", "elpd_diff", "elpd_diff_se"]
    if any(cv.path.is_better(size) for size in range(len(cv.path))):
        names.insert(1, "best_inputs")
    others = [name for name in cv.statistics if name in frame and name not in ("elpd", "mlpd")]
    table = frame[[*names, *others]].round({"elpd_diff": 3, "elpd_diff_se": 3})
    table["elpd_diff"] += 0.0  # of a rounded zero the sign goes
    numbers = [name for name in table if table[name].dtype.kind == "f"]
    own = {"input": "reference", "kept": 1.0, "elpd_diff": 0.0, **cv.reference_summary()[others]}
    table = table.astype(object)
    table.index = table.index.astype(object)
    table.loc[""] = [own.get(name, "") for name in table]
    table["kept"] = [share if np.isnan(share) else percentage(share) for share in table["kept"]]
    return table_of("Validated scores by size", table.rename_axis("size"), numbers)


def comparison_table(cv: gpproj.Validation) -> Table:
    """Lay out what plain models lose to the reference on the same inputs, beside the submodels."""
    import pandas as pd

    table = cv.comparison("elpd").set_index("size")
    columns: dict[str, pd.Series[float]] = {}
    for model in ("submodel", *cv.compared):
        own = table[table["model"] == model]
        columns |= {model: own["elpd_diff"], f"{model}_se": own["elpd_diff_se"]}
    frame = pd.DataFrame(columns)
    return table_of("Elpd less the reference, same inputs", frame, list(frame))


def table_of(title: str, frame: pd.DataFrame, numbers: Collection[Any]) -> Table:
    """Lay out a frame, its index first, with columns of numbers to the right."""
    table = Table(str(frame.index.name), title=title, padding=0)
    for column in frame.columns:
        numeric = column in numbers
        table.add_column(
            str(column).replace("_", " "),
            justify="right" if numeric else "left",
            min_width=10 if column == "verdict" else 5 if numeric else None,  # figures stay whole
        )
    for row in frame.itertuples():
        table.add_row(*(escape(shown(value)) for value in row))
    return table


def shown(value: Any) -> str:
    """Return a cell's text: three digits, or whole numbers, and words rather than booleans."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    if np.isnan(value):
        return ""
    return f"{value:.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def save_plot(ax: Any, file: Path) -> None:
    """Write the figure that axes belong to, and close it."""
    import matplotlib.pyplot as plt

    ax.get_figure().savefig(file, dpi=120)
    plt.close(ax.get_figure())
