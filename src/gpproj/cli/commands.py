"""The command line: parse, call, print."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import gpproj

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(
    name="gpproj",
    help="Projection predictive variable selection for Gaussian processes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
console = Console()


class Experiment(StrEnum):
    """What can be reproduced."""

    toy = "toy"
    known_truth = "known-truth"
    boston = "boston"
    automobile = "automobile"
    crime = "crime"


def main() -> None:
    """Run the command line."""
    app()


def _show_version(wanted: bool) -> None:
    if wanted:
        console.print(f"gpproj {gpproj.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def gpproj_command(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Projection predictive variable selection for Gaussian processes."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the plots.")] = Path("demo"),
    n_jobs: Annotated[int, typer.Option(help="Workers; -1 for all cores.")] = 1,
) -> None:
    """Find the inputs that matter in the diabetes data that scikit-learn carries."""
    X, y = gpproj.datasets.diabetes()
    out.mkdir(parents=True, exist_ok=True)
    with console.status(f"fitting a Gaussian process to {len(y)} rows of {X.shape[1]} inputs"):
        ref = gpproj.fit(X, y)
    console.print(ref, highlight=False)
    path = gpproj.forward_search(ref, n_jobs=n_jobs)
    console.print(_table("Forward search", path.summary()))
    with console.status("leaving one input out at a time"):
        left_out = gpproj.leave_input_out(ref, n_jobs=n_jobs)
    relevances = {"ARD": ref.ard_relevance(), "leave-input-out": left_out}
    _save(path.plot(), out / "search.png")
    _save(gpproj.plots.relevance_bars(relevances), out / "relevance.png")


@app.command()
def reproduce(
    experiment: Annotated[Experiment, typer.Argument(help="Which part of the paper.")],
    realisations: Annotated[
        int | None, typer.Option(min=1, help="Simulated data sets (toy: 200, known-truth: 100).")
    ] = None,
    splits: Annotated[int, typer.Option(min=1, help="Random splits (the other ones).")] = 50,
    out: Annotated[Path | None, typer.Option(help="Folder; experiments/NAME otherwise.")] = None,
    n_jobs: Annotated[int, typer.Option(help="Workers; -1 for all cores.")] = 1,
) -> None:
    """Rerun an experiment of the paper; tables and figures are written to a folder.

    Real data are read from the folder in GPPROJ_DATA. Finished splits are kept and not run again.
    """
    from gpproj.reproduce import EXPERIMENTS

    folder = Path("experiments") / experiment if out is None else out
    simulated = {Experiment.toy: 200, Experiment.known_truth: 100}
    repeats = (realisations or simulated[experiment]) if experiment in simulated else splits
    summary = EXPERIMENTS[experiment](folder, repeats, n_jobs=n_jobs)
    console.print(_table(f"{experiment}: means over {repeats} repetitions", summary))
    console.print(f"written to {folder}", highlight=False)


def _table(title: str, frame: pd.DataFrame) -> Table:
    """Lay out a frame, its index first."""
    table = Table(str(frame.index.name), title=title)
    for column in frame.columns:
        numeric = frame[column].dtype.kind == "f"
        table.add_column(column.replace("_", " "), justify="right" if numeric else "left")
    for row in frame.itertuples():
        table.add_row(*(escape(_shown(value)) for value in row))
    return table


def _shown(value: Any) -> str:
    """Return a cell's text: four digits, and words rather than booleans."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _save(ax: Any, file: Path) -> None:
    """Write a plot and say where it is."""
    import matplotlib.pyplot as plt

    ax.get_figure().savefig(file, dpi=120)
    plt.close(ax.get_figure())
    console.print(f"plot written to {file}", highlight=False)
