"""The section on stand-ins: a small matrix of what other inputs could replace."""

from __future__ import annotations

import math

import pandas as pd

from gpproj.plots.numbers import number, percent
from gpproj.projection import CRITERIA
from gpproj.report.findings import Findings
from gpproj.report.markup import Markup, joined, named, quiet, section, tag
from gpproj.report.tables import Line, table
from gpproj.search.alternatives import INTERCHANGEABLE

COLUMNS = 10
"""Stand-ins that have a column, at most: those that replace most."""
SHADES = 5


def stand_ins(findings: Findings) -> Markup:
    """Return what could stand in for each input of the submodel."""
    title, names = "Who else could it be?", findings.cv.path.best_inputs(findings.size)
    if not findings.asked:
        why = "left out" if names else "no input of the submodel could be exchanged"
        return section("stand-ins", title, tag("p", f"No stand-ins to show: {why}."))
    rows = findings.stand_ins
    replaced = rows[rows["stand_in"] != ""].pivot(
        index="input", columns="stand_in", values="replaced"
    )
    order = replaced.max().sort_values(ascending=False, kind="stable").index
    shown = list(order[:COLUMNS])
    total = len(names)
    some = "" if len(findings.asked) == total else f" The first {len(findings.asked)} of {total}."
    some += "" if len(order) == len(shown) else f" The {COLUMNS} stand-ins that replace most."
    return section(
        "stand-ins",
        title,
        *_sentences(rows),
        table(
            "Stand-ins of the chosen inputs",
            ["Chosen", "Adds", *map(named, shown)],
            [_line(rows, replaced, name, shown) for name in findings.asked],
            text=(0,),
        ),
        quiet(
            "Each input of the submodel was left out, and others were tried in its place. A cell "
            "is the share of what the chosen input adds that the stand-in makes up for; "
            f"{percent(INTERCHANGEABLE)} or more is interchangeable, more than 100 % is better, "
            "and an empty cell was not among the best. Adds: by how much the "
            f"{CRITERIA[findings.cv.path.criterion].title} rises without the input, as a share of "
            "what all inputs explain. Which of two interchangeable inputs is chosen is arbitrary: "
            "take the one that is easier to measure." + some
        ),
    )


def _sentences(rows: pd.DataFrame) -> list[Markup]:
    """Return for each input that has them those that could replace it."""
    alike = rows[rows["interchangeable"]]
    said = []
    for name, own in alike.groupby("input", sort=False):
        others = ", ".join(
            joined(named(one.stand_in), f" ({percent(one.replaced)} of what it adds)")
            for one in own.itertuples()
        )
        said.append(tag("p", named(str(name)), " could be replaced by ", Markup(others), "."))
    return said or [tag("p", "No other input gives nearly all of what one of these adds.")]


def _line(rows: pd.DataFrame, replaced: pd.DataFrame, name: str, shown: list[str]) -> Line:
    """Return the row of an input: what it adds, and what each stand-in replaces of it."""
    own = rows[rows["input"] == name]
    adds = f"{number(100.0 * own.loc[own['stand_in'] == '', 'cost'].iloc[0])} %"
    shares = replaced.loc[name] if name in replaced.index else {}
    return Line(named(name), [adds, *(_cell(shares.get(one, math.nan)) for one in shown)])


def _cell(share: float) -> Markup:
    if math.isnan(share):
        return Markup("")
    shade = min(max(int(SHADES * share), 0), SHADES)
    return tag("span", percent(share), class_=f"shade shade-{shade}")
