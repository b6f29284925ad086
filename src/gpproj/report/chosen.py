"""The sections about the chosen submodel: what its inputs do, and what it loses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gpproj.plots.inputs import EFFECTS
from gpproj.report.findings import Findings
from gpproj.report.markup import (
    Markup,
    escaped,
    joined,
    named,
    number,
    quiet,
    section,
    significant,
    tag,
)
from gpproj.report.pictures import ROWS, effect_panels, scatter
from gpproj.report.tables import Line, table

WORST = 5
"""Number of the rows that lost the most that are listed."""


def effects(findings: Findings) -> Markup:
    """Return the effects of the submodel's inputs."""
    title = "What the chosen inputs do"
    if not findings.drawn:
        why = "the submodel has no inputs" if not findings.submodel.inputs else "left out"
        return section("effects", title, tag("p", f"No effects to show: {why}."))
    panels = [
        tag("figure", tag("figcaption", named(name)), picture)
        for name, picture in zip(findings.drawn, effect_panels(findings), strict=True)
    ]
    total = len(findings.submodel.inputs)
    some = "" if len(panels) == total else f" The first {len(panels)} of {total} inputs."
    legend = [
        tag("li", tag("span", class_=f"key {key}", aria_hidden="true"), label)
        for key, label in zip(("submodels", "reference"), EFFECTS, strict=True)
    ]
    return section(
        "effects",
        title,
        tag("ul", *legend, class_="legend"),
        tag("div", *panels, class_="panels"),
        quiet(
            f"The average {findings.kind.effect} as one input moves and the others stay as they "
            "are, ",
            _scale(findings),
            "; ticks at the bottom are values in the data. The submodel gives what dropped inputs "
            "explained to those that go with them, so that the curves may differ." + some,
        ),
    )


def _scale(findings: Findings) -> Markup:
    """Return what the effects are measured in."""
    if findings.kind.is_scaled:
        return escaped("in units of the target")
    if findings.kind.takes_exposure:
        return escaped("as the natural logarithm of the rate")
    reference = findings.cv.reference
    link, classes = getattr(reference.likelihood, "link", "latent"), reference.classes
    second = "the second class" if classes is None else named(str(classes[1]))
    return joined(
        f"on the {link} scale, where zero stands for even chances and more is more probable for ",
        second,
    )


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
    caption: Any = "Predictions of rows that were left out."
    if classes is not None:
        second = named(str(classes[1]))
        caption = joined("Probabilities of ", second, " in rows that were left out.")
    some = f" {ROWS} of {len(rows)} are drawn." if len(rows) > ROWS else ""
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
            tag("figure", tag("figcaption", caption, some), scatter(findings)),
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
