"""The command line: parse, call, print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

import gpproj

if TYPE_CHECKING:
    from gpproj.reference import Reference

app = typer.Typer(
    name="gpproj",
    help="Projection predictive variable selection for Gaussian processes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
console = Console()


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
def demo() -> None:
    """Fit a Gaussian process to the diabetes data that scikit-learn carries."""
    X, y = gpproj.datasets.diabetes()
    with console.status(f"fitting a Gaussian process to {len(y)} rows of {X.shape[1]} inputs"):
        ref = gpproj.fit(X, y)
    console.print(_relevance_table(ref))
    console.print(
        f"noise sd {ref.noise_variance**0.5:.1f} of a target with sd {y.std():.1f}; "
        f"log marginal likelihood {ref.log_marginal_likelihood:.1f}",
        highlight=False,
    )


def _relevance_table(ref: Reference) -> Table:
    """Lay out the ARD relevance of each input as bars, the largest first."""
    table = Table(title="ARD relevance (inverse length-scale, largest = 1)")
    table.add_column("input")
    table.add_column("relevance", justify="right")
    table.add_column("")
    for name, value in ref.ard_relevance().sort_values(ascending=False).items():
        table.add_row(str(name), f"{value:.3f}", "█" * round(30 * value))
    return table
