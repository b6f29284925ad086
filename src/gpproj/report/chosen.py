"""The sections about the chosen submodel: its stand-ins, what its inputs do, what it loses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gpproj.plots.inputs import EFFECTS
from gpproj.projection import CRITERIA
from gpproj.report.findings import Findings
from gpproj.report.markup import (
    Markup,
    escaped,
    joined,
    named,
    number,
    percent,
    quiet,
    section,
    significant,
    tag,
)
from gpproj.report.pictures import ROWS, effect_panels, scatter
from gpproj.report.tables import Line, table
from gpproj.search.alternatives import INTERCHANGEABLE

WORST = 5
"""Number of the rows that lost the most that are listed."""


def stand_ins(findings: Findings) -> Markup:
    """Return what could stand in for each input of the submodel."""
    title, names = "Who else could it be?", findings.cv.path.best_inputs(findings.size)
    if not findings.asked:
        why = "left out" if names else "no input of the submodel could be exchanged"
        return section("stand-ins", title, tag("p", f"No stand-ins to show: {why}."))
    rows = findings.stand_ins
    said, lines = list[Markup](), list[Line]()
    for name in findings.asked:
        alone, *others = rows[rows["input"] == name].itertuples()
        shown = [
            (named(one.stand_in), percent(one.replaced), one.interchangeable) for one in others
        ]
        alike = [joined(one, f" ({share} of what it adds)") for one, share, fit in shown if fit]
        if alike:
            said.append(tag("p", named(name), " could be replaced by ", _in_a_row(alike), "."))
        best = [tag("em", "none"), "", ""]
        if others:
            badge = joined(" ", tag("span", "interchangeable", class_="badge")) if alike else ""
            best = [joined(shown[0][0], badge), shown[0][1], _share(others[0].cost)]
        rest = _in_a_row(
            [tag("span", one, f" {share}", class_="whole") for one, share, _ in shown[1:]]
        )
        lines.append(Line(named(name), [_share(alone.cost), *best, rest]))
    total = len(names)
    some = "" if len(findings.asked) == total else f" The first {len(lines)} of {total} inputs."
    return section(
        "stand-ins",
        title,
        *(said or [tag("p", "No other input gives nearly all of what one of these adds.")]),
        table(
            "Stand-ins of the chosen inputs",
            ["Input", "Adds", "Best stand-in", "Replaced", "Cost", "Others"],
            lines,
            text=(0, 2, 5),
        ),
        quiet(
            "Each input of the submodel was left out, and others were tried in its place. Adds: by "
            f"how much the {CRITERIA[findings.cv.path.criterion].title} rises without the input, "
            "as a share of what all inputs explain. Replaced: the share of this that the stand-in "
            f"makes up for; {percent(INTERCHANGEABLE)} or more is interchangeable, and more than "
            "100 % is better. Cost: what is still lost with it. Which of two interchangeable "
            "inputs is chosen is arbitrary: take the one that is easier to measure." + some
        ),
    )


def _in_a_row(parts: list[Markup]) -> Markup:
    """Return parts with commas between them."""
    return Markup(", ".join(parts))


def _share(value: float) -> str:
    """Return a share of what all inputs explain, which may be a small one."""
    return f"{number(100.0 * value)} %"


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
