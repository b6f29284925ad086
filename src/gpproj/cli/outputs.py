"""The files of a completed run: tables, plots, models and the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gpproj
from gpproj import store
from gpproj.cli.display import save_plot
from gpproj.cli.run import Run, encoding_of
from gpproj.cli.settings import RunError
from gpproj.io.tables import exposure_of, read_table
from gpproj.prediction import interval

if TYPE_CHECKING:
    import pandas as pd


def write_outputs(run: Run, cv: gpproj.Validation) -> Path:
    """Write everything that people look at, and return the report's file."""
    folder = run.folder
    for name, frame in _tables(cv).items():
        (folder / "tables").mkdir(exist_ok=True)
        store.write_text(folder / "tables" / f"{name}.csv", frame.to_csv())
    cv.save(folder / "validation", overwrite=True)
    chosen = cv.submodel(cv.size_in_question)
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


def answer_of(cv: gpproj.Validation, report: Path, likelihood: str) -> dict[str, Any]:
    """Return what a machine wants to know."""
    size = cv.smallest_enough()
    compared = {"comparison": _records(cv.comparison())} if cv.compared else {}
    return {
        "likelihood": likelihood,
        "suggested_size": size,
        "inputs": None if size is None else list(cv.submodel(size).inputs),
        "order": list(cv.path.order),
        "answer": cv.answer(),
        "trade_off": cv.trade_off(),
        "problems": list(cv.problems),
        "scores": _records(cv.summary().reset_index()),
        **compared,
        "report": str(report),
    }


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table for JSON, in which missing cells are null."""
    cells = table.astype(object)
    found: list[dict[str, Any]] = cells.where(cells.notna(), None).to_dict("records")
    return found


def validation_of(folder: Path) -> gpproj.Validation:
    """Return what a completed run has found."""
    saved = folder / "validation"
    if not saved.exists():
        raise RunError(f"{folder} holds no completed run; gpproj select --resume {folder} does it")
    found: gpproj.Validation = gpproj.load(saved)
    return found


def predictions(folder: Path, data: Path, size: int | None, level: float) -> pd.DataFrame:
    """Return what a submodel of a run predicts for new rows.

    Numbers and counts have mean, lower and upper. The interval of numbers is the normal one with
    the predicted variance, that of counts goes from one quantile of their distribution to another.
    Classes have the more probable one, and the probability of the second.

    Parameters
    ----------
    folder : Path
        Folder of the run.
    data : Path
        Table with the columns that the submodel needs, and that of exposures if the run had one.
    size : int or None
        Size of the submodel; the suggested one when left out.
    level : float
        Probability of the interval; classes have none.
    """
    import pandas as pd

    if not 0.0 < level < 1.0:
        raise RunError(f"level must be between 0 and 1, got {level}")
    cv = validation_of(folder)
    chosen = cv.smallest_enough() if size is None else size
    if chosen is None:
        raise RunError(f"the run in {folder} suggests no size; give one with --size")
    if not 0 <= chosen < len(cv.path):
        raise RunError(f"size must be from 0 to {len(cv.path) - 1}, got {chosen}")
    sub, encoding = cv.submodel(chosen), encoding_of(folder)
    column = Run.old(folder, 1, False).settings.exposure
    table = read_table(data)
    X = encoding.inputs(table, encoding.needed(sub.inputs))
    if not sub.inputs:
        X = pd.DataFrame(index=table.index)
    exposure = None if column is None else exposure_of(table, column)
    mean = sub.predict_response(X, exposure).mean
    if sub.classes is not None:
        first, second = sub.classes
        likely = [second if one else first for one in mean >= 0.5]
        return pd.DataFrame({"class": likely, f"probability of {second}": mean})
    lower, upper = interval(sub, X, level, exposure)
    return pd.DataFrame({"mean": mean, "lower": lower, "upper": upper})
