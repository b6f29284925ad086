"""The command `gpproj demo`: the shortest example of the README, with pictures and a report."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

import gpproj
from gpproj.cli.display import console, errors, save_plot, score_table
from gpproj.cli.expected import expected_seconds, sentence
from gpproj.cli.settings import Settings
from gpproj.execute import WholeProgress
from gpproj.io.tables import prepare

ROWS, INPUTS = 150, 6
"""Rows and inputs to go up to, those of the shortest example in the README: the same answer."""

REPORT_SHARE, DRAWING = 1.0, 3.0
"""A report takes about as long as a search, for its stand-ins, and seconds for all pictures."""


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the plots and the report.")] = Path("demo"),
    n_jobs: Annotated[int, typer.Option(help="Workers; -1 for all cores.")] = -1,
) -> None:
    """Find the inputs that matter in the diabetes data that scikit-learn carries.

    It is the shortest example of the README, with its answer, plots and a report.
    """
    X, y = gpproj.datasets.diabetes()
    X, y = X[:ROWS], y[:ROWS]
    out.mkdir(parents=True, exist_ok=True)
    settings = Settings(
        "diabetes", str(y.name), likelihood="gaussian", max_inputs=min(INPUTS, X.shape[1])
    )
    prepared = prepare(X.join(y), settings.target)
    expected = expected_seconds(settings, prepared, X.shape[1], n_jobs)
    expected["report"] = REPORT_SHARE * expected["search"] + DRAWING
    errors.print(sentence(expected, settings, X.shape[1], n_jobs), highlight=False)
    with WholeProgress("gpproj demo", expected) as display:
        with display.stage("reference"):
            ref = gpproj.fit(X, y)
        console.print(ref, highlight=False)
        with display.stage("search"):
            path = gpproj.forward_search(ref, settings.max_inputs, n_jobs=n_jobs)
        with display.stage("validation"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the report says them
            cv = gpproj.validate(ref, path, random_state=settings.seed, n_jobs=n_jobs)
        console.print(score_table(cv))
        with display.stage("report"):
            for name, ax in (
                ("error", path.plot()),
                ("score", cv.plot()),
                ("relevance", gpproj.plots.relevance_bars(ref, methods=("ard", "kl"))),
            ):
                save_plot(ax, out / f"{name}.png")
                console.print(f"plot written to {out / name}.png", highlight=False)
            file = gpproj.write_report(
                cv, out / "report.html", title="Diabetes progression", command="gpproj demo", seed=0
            )
    console.print(cv.answer(), highlight=False)
    console.print(cv.trade_off(), highlight=False)
    console.print(f"report written to {file}", highlight=False)
