"""The sections on the chosen submodel's losses, and on how far predictions can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gpproj.plots.numbers import number, significant
from gpproj.report.findings import Findings
from gpproj.report.markup import Markup, figure, named, quiet, section, tag
from gpproj.report.pictures import ROWS, scatter
from gpproj.report.pictures import calibration as calibration_picture
from gpproj.report.tables import Line, table

WORST = 5
"""Number of the rows that lost the most that are listed."""


def losses(findings: Findings) -> Markup:
    """Return the submodel beside the reference: statistics, predictions, rows that lost most."""
    row, reference = findings.scores.loc[findings.size], findings.reference
    printed: list[tuple[str, str, Callable[[float], str]]] = [
        ("elpd", "Elpd", number),
        *((one.stat, one.title, partial(one.text, more=1)) for one in findings.shown),
    ]
    statistics = [
        Line(
            label, [*map(text, (reference[stat], *row[[stat, f"{stat}_diff", f"{stat}_diff_se"]]))]
        )
        for stat, label, text in printed
    ]
    rows, classes = findings.predictions, findings.cv.reference.classes
    gone = rows["reference_log_density"] - rows["submodel_log_density"]
    worst = [
        Line(
            int(row.observation),
            [
                findings.observed(row.y) if classes is None else named(findings.observed(row.y)),
                significant(row.reference_mean),
                significant(row.submodel_mean),
                number(gone[row.Index], 2),
            ],
        )
        for row in rows.loc[(-gone).sort_values(kind="stable").index[:WORST]].itertuples()
    ]
    picture = scatter(findings)
    about: Any = ""
    if classes is not None:
        about = quiet("Probabilities of ", named(str(classes[1])), ".")
    some = quiet(f"{ROWS} of {len(rows)} rows are drawn.") if len(rows) > ROWS else ""
    return section(
        "losses",
        "What is lost",
        table(
            "Statistics of both models",
            ["", "Reference", "Submodel", "Difference", "s.e."],
            statistics,
            text=(0,),
        ),
        tag(
            "div",
            figure(picture.heading, picture.drawing, about, some),
            tag(
                "div",
                tag("h3", "Rows that lost the most"),
                table(
                    "Rows that lost the most",
                    ["Row", "Observed", "Reference", "Submodel", "Lost"],
                    worst,
                ),
                quiet(
                    f"Rows count from zero. Lost: {findings.kind.density} of the reference less "
                    "the submodel's."
                ),
            ),
            class_="beside",
        ),
    )


def calibration(findings: Findings) -> Markup:
    """Return whether the reference is as certain as it should be."""
    title, check = "How far predictions can be trusted", findings.cv.reference.check()
    if check.rows is None or findings.kind.takes_exposure:
        why = "no row can be left out of this reference"
        if check.rows is not None:
            why = "there is no picture of it for counts"
        return section("calibration", title, tag("p", f"Calibration is not shown: {why}."))
    picture = calibration_picture(findings)
    reading = (
        "Bars of the same height are right; high ends say that intervals are too narrow, a high "
        "middle that they are too wide."
    )
    if findings.kind.has_classes:
        reading = "Of rows with a predicted probability of 70 %, 70 % should be of the class."
    explained = quiet(
        "Of the reference, the model on all inputs, which submodels imitate. Every row was "
        "predicted from the others, with the hyperparameters held: a little too good where rows "
        f"are few. {reading}"
    )
    return section("calibration", title, figure(picture.heading, picture.drawing), explained)
