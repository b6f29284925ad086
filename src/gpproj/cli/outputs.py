"""The files of a completed run: tables, plots, models and the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gpproj
from gpproj import store
from gpproj.cli.checking import RunError
from gpproj.cli.display import save_plot
from gpproj.cli.run import Run
from gpproj.cli.settings import Settings
from gpproj.io.cells import for_spreadsheets

if TYPE_CHECKING:
    import pandas as pd


def write_outputs(run: Run, cv: gpproj.Validation) -> Path:
    """Write everything that people look at, and return the report's file."""
    folder = run.folder
    for name, frame in _tables(cv).items():
        (folder / "tables").mkdir(exist_ok=True)
        store.write_text(folder / "tables" / f"{name}.csv", for_spreadsheets(frame).to_csv())
    cv.save(folder / "validation", overwrite=True)
    size = cv.smallest_enough(_rule(run.settings))
    chosen = cv.submodel(cv.size_in_question if size is None else size)
    chosen.save(folder / "submodel", overwrite=True)
    (folder / "plots").mkdir(exist_ok=True)
    save_plot(cv.plot(), folder / "plots" / "score.png")
    save_plot(cv.path.plot(), folder / "plots" / "error.png")
    if cv.search == "inside":
        save_plot(gpproj.plots.ranking_heatmap(cv), folder / "plots" / "ranking.png")
    return write_run_report(run, cv, folder / "report.html")


def write_run_report(run: Run, cv: gpproj.Validation, file: Path) -> Path:
    """Write the report of a run."""
    return gpproj.write_report(
        cv,
        file,
        title=f"Inputs that predict {run.settings.target}",
        target=run.settings.target,
        command=run.settings.command(run.folder),
        seed=run.settings.seed,
        warnings=run.said,
    )


def _tables(cv: gpproj.Validation) -> dict[str, Any]:
    found = {
        "path": cv.path.summary(),
        "scores": cv.summary(cv.statistics),
        "reference": cv.reference_summary(cv.statistics).to_frame(),
        "pointwise": cv.pointwise,
        "candidates": cv.path.candidates,
        "relevance": gpproj.relevance_table(cv.reference, ("ard", "kl")),
    }
    if cv.search == "inside":
        found["ranking"] = cv.ranking_proportions(cumulate=True)
    if cv.compared:
        found["comparison"] = cv.comparison(cv.statistics)
    return found


def _rule(settings: Settings) -> Any:
    return settings.rule


def other_rule(cv: gpproj.Validation, rule: Any) -> str | None:
    """Return what another rule than that of the answer says, in a sentence."""
    if rule == "margin":
        return None
    size = cv.smallest_enough(rule)
    if size is None:
        return f"By the rule {rule}, no size is enough."
    inputs = ", ".join(cv.path.best_inputs(size)) or "no inputs"
    return f"By the rule {rule}, which decides here, size {size} is enough: {inputs}."


def answer_of(cv: gpproj.Validation, report: Path, settings: Settings) -> dict[str, Any]:
    """Return what a machine wants to know."""
    size = cv.smallest_enough(_rule(settings))
    compared = {"comparison": _records(cv.comparison())} if cv.compared else {}
    return {
        "likelihood": settings.likelihood,
        "suggested_size": size,
        "inputs": None if size is None else list(cv.submodel(size).inputs),
        "order": list(cv.path.order),
        "answer": cv.answer(),
        "trade_off": cv.trade_off(),
        "problems": list(cv.problems),
        "scores": _records(cv.summary().reset_index()),
        "reference": _records(cv.reference_summary().to_frame().T)[0],
        **compared,
        "report": str(report),
    }


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table for JSON, in which missing and infinite cells are null."""
    import numpy as np

    cells = table.replace([np.inf, -np.inf], np.nan).astype(object)
    found: list[dict[str, Any]] = cells.where(cells.notna(), None).to_dict("records")
    return found


def validation_of(folder: Path) -> gpproj.Validation:
    """Return what a completed run has found."""
    saved = folder / "validation"
    if not saved.exists():
        raise RunError(f"{folder} holds no completed run; gpproj select --resume {folder} does it")
    found: gpproj.Validation = gpproj.load(saved)
    return found
