"""The orders that the folds of a validation found, and what they predicted."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpproj.plots.numbers import percent, significant
from gpproj.plots.style import (
    BLUE,
    GREY,
    LONGEST,
    ORANGE,
    cut,
    font_size,
    legend_above,
    name_inputs,
    new_axes,
    put_heading,
    room_for,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gpproj.validation import Validation


def ranking_heatmap(
    cv: Validation,
    cumulate: bool = True,
    ax: Axes | None = None,
    *,
    size: int | None = None,
    max_sizes: int | None = None,
    max_inputs: int | None = None,
) -> Axes:
    """Draw in which share of the folds each input entered at each size.

    Inputs are in the order of the path of all rows, followed by those that only folds have found.
    Shares are written into their cells where there is room, except zeros; otherwise a colour bar
    explains them. The table is `cv.ranking_proportions(cumulate)`.

    Parameters
    ----------
    cv : Validation
        A validation with the search repeated in every fold.
    cumulate : bool
        Whether inputs count that entered at that size or before.
    ax : matplotlib Axes, optional
    size : int, optional
        Size that a line marks: inputs of the cells to its left entered by then.
    max_sizes, max_inputs : int, optional
        Largest part to draw: the first sizes, and the first inputs that entered at one of them.

    Returns
    -------
    matplotlib Axes
    """
    from matplotlib import colormaps
    from matplotlib.ticker import MaxNLocator

    chosen = () if size is None else cv.path.best_inputs(size)
    table = ranking_part(cv.ranking_proportions(cumulate), max_sizes, max_inputs, chosen)
    sizes, names = table.index.to_numpy(), list(table.columns)
    shares = table.to_numpy().T
    width, height = max(5.0, 2.5 + 0.45 * len(sizes)), max(3.0, 1.0 + 0.25 * len(names))
    ax = new_axes(ax, width, height)
    ax.grid(visible=False)
    colours = colormaps["Blues"]
    edges = np.arange(len(sizes) + 1) + 0.5, np.arange(len(names) + 1) - 0.5
    cells = ax.pcolormesh(*edges, shares, cmap=colours, vmin=0.0, vmax=1.0, gid="cells")
    ax.invert_yaxis()
    name_inputs(ax, "y", names)
    for row, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True):
        label.set_fontweight("bold" if names[int(row)] in chosen else "normal")
    wide, high = room_for(ax, "x", len(sizes)), room_for(ax, "y", len(names))
    if wide >= 20.0:
        ax.set_xticks(sizes)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"size {'by' if cumulate else 'at'} which the input has entered")
    ax.set_ylabel("input")
    if size is not None and size <= len(sizes):
        ax.axvline(size + 0.5, color=ORANGE, linestyle=":", gid="size")
    if wide >= 28.0 and high >= 11.0:
        font = min(wide / 3.5, 0.7 * high, font_size("x"))
        for row, column in np.argwhere(shares > 0.0):
            share = shares[row, column]
            red, green, blue, _ = colours(share)
            # Black on light cells and white on dark ones: the contrast is 4.5 or more on both.
            light = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
            colour = "black" if light > 0.18 else "white"
            place: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": font}
            ax.text(sizes[column], row, f"{share:.0%}", color=colour, **place)
    else:
        ax.figure.colorbar(cells, ax=ax, aspect=30.0).set_label("share of the folds")
    put_heading(ax, "How often searches without some of the rows took each input", _votes(cv, size))
    return ax


def _votes(cv: Validation, size: int | None) -> str:
    """Say which inputs of a size most searches agree on."""
    size = cv.size_in_question if size is None else size
    inputs, count = cv.path.best_inputs(size), len(cv.orders)
    if not inputs:
        return f"From {count} searches; no input is chosen."
    shares = {name: np.mean([name in order[:size] for order in cv.orders]) for name in inputs}
    sure = [name for name, share in shares.items() if share >= 0.5]
    rest = [name for name, share in shares.items() if share < 0.5]
    first = "first" if size == 1 else f"among the first {size}"
    said = f"Chosen and {first} in half of {count} searches or more: {_named(sure)}."
    return f"{said} Chosen, but in fewer of them: {_named(rest)}." if rest else said


def _named(names: list[str], most: int = 6) -> str:
    """Return names in a row, of many the first ones.

    Examples
    --------
    >>> _named([]), _named(["age", "bmi"]), _named(list("abcd"), 2)
    ('none', 'age, bmi', 'a, b and 2 more')
    """
    shown = ", ".join(cut(name, LONGEST) for name in names[:most])
    return (f"{shown} and {len(names) - most} more" if len(names) > most else shown) or "none"


def ranking_part(
    shares: pd.DataFrame,
    max_sizes: int | None,
    max_inputs: int | None,
    chosen: Sequence[str] = (),
) -> pd.DataFrame:
    """Return the first sizes of a table of ranking proportions and the inputs that have entered.

    Those that are chosen are never left out: ones that no order has are in best sets alone.
    """
    absent = [name for name in chosen if name not in shares]
    part = shares.iloc[:max_sizes].reindex(columns=[*absent, *shares.columns], fill_value=0.0)
    if max_inputs is None or part.empty:
        return part
    entered = [name for name in part if (part[name] > 0.0).any() and name not in chosen]
    kept = {*chosen, *entered[: max(max_inputs - len(chosen), 0)]}
    return part.loc[:, [name for name in part if name in kept]]


def prediction_scatter(
    cv: Validation,
    size: int | None = None,
    ax: Axes | None = None,
    *,
    max_rows: int | None = None,
) -> Axes:
    """Draw the predictions of a submodel against those of the reference, both of unseen rows.

    Points on the diagonal are rows where nothing is lost. The table is `cv.pointwise`.

    Parameters
    ----------
    cv : Validation
    size : int, optional
        Size of the submodel; the suggested size when left out.
    ax : matplotlib Axes, optional
    max_rows : int, optional
        Largest number of rows to draw: a fixed random choice of them.

    Returns
    -------
    matplotlib Axes
    """
    if size is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            size = cv.suggest_size()
        if size is None:
            raise ValueError("no size is suggested: give one")
    if not 0 <= size < len(cv.path):
        raise ValueError(f"size must be from 0 to {len(cv.path) - 1}, got {size}")
    rows = some_rows(paired_predictions(cv, size), max_rows)
    reference, submodel = rows["reference_mean"].to_numpy(), rows["submodel_mean"].to_numpy()
    ax = new_axes(ax, width=4.5, height=4.5)
    ends = [min(reference.min(), submodel.min()), max(reference.max(), submodel.max())]
    ax.plot(ends, ends, color=GREY, linestyle="--", linewidth=1.0, label="no difference")
    ax.plot(
        reference,
        submodel,
        "o",
        color=BLUE,
        markersize=4.0,
        alpha=0.6,
        markeredgewidth=0.0,
        label="rows",
        gid="rows",
    )
    ax.set_aspect("equal")
    ax.set_xlabel("prediction, reference")
    ax.set_ylabel(f"prediction, submodel of size {size}")
    legend_above(ax, *ax.get_legend_handles_labels())
    put_heading(ax, "Predictions of rows that neither model has seen", _agreed(cv, rows))
    return ax


def _agreed(cv: Validation, rows: pd.DataFrame) -> str:
    """Say how far apart the two models are, beside how far the reference is from the target."""
    reference, submodel = rows["reference_mean"], rows["submodel_mean"]
    if cv.reference.training.kind.has_classes:
        alike = float(np.mean((reference >= 0.5) == (submodel >= 0.5)))
        return f"Both think the same class more probable in {percent(alike)} of the rows."
    apart, missed = (
        np.median(np.abs(submodel - reference)),
        np.median(np.abs(rows["y"] - reference)),
    )
    return (
        f"In half of the rows they are less than {significant(apart)} apart, where the model on "
        f"all inputs misses the target by {significant(missed)}."
    )


def paired_predictions(cv: Validation, size: int) -> pd.DataFrame:
    """Return what the reference and a submodel predicted for every row, side by side."""
    table = cv.pointwise
    pair = table.loc[table["size"].isna(), ["observation", "fold", "y"]].reset_index(drop=True)
    for label, own in (
        ("reference", table["size"].isna()),
        ("submodel", (table["size"] == size).fillna(False)),
    ):
        for column in ("mean", "log_density"):
            pair[f"{label}_{column}"] = table.loc[own, column].to_numpy()
    return pair


def some_rows(table: pd.DataFrame, max_rows: int | None) -> pd.DataFrame:
    """Return all rows of a table, or a fixed random choice of them in their order."""
    if max_rows is None or len(table) <= max_rows:
        return table
    return table.sample(max_rows, random_state=0).sort_index()
