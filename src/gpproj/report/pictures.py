"""The pictures of the report: those of `gpproj.plots`, with texts that answer to the pointer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpproj import plots
from gpproj.plots.curves import SCORES
from gpproj.plots.folds import ranking_part, some_rows
from gpproj.plots.numbers import number, percent, significant
from gpproj.plots.pairs import draw_pair, pair_said, pair_title, pairs_that_matter
from gpproj.plots.panels import draw_effect, moved_by, values_of
from gpproj.plots.style import Heading, cut, take_heading
from gpproj.report.answer import apart, share_kept
from gpproj.report.findings import Findings
from gpproj.report.markup import LONGEST, Markup, joined, replaced
from gpproj.report.svg import LEFT, add_title, fit, markup_of, page_axes, page_style, to_svg

WIDTHS = {"wide": (720.0, 260.0), "narrow": (340.0, 220.0)}
"""Widths of a curve and heights of its axes: scaled down to a phone, labels could not be read."""
SIZES, INPUTS = 20, 40
"""Largest part of the heat map that is drawn; its table has all of it."""
CELL = (34.0, 22.0)
"""Width and height of a cell of the heat map."""
PANEL = (230.0, 160.0)
"""Width and height of the drawing of an effect."""
PAIR = (340.0, 210.0)
"""The same of a joint effect, which has a legend, too."""
CALIBRATION = (430.0, 240.0)
ROWS = 1000
"""Largest number of rows in the scatter plot."""


class Picture(NamedTuple):
    """A drawing, and what is written above it."""

    heading: Heading
    drawing: Markup


def score_curve(findings: Findings, stat: str) -> Picture:
    """Draw a statistic against the size in both widths, of which the style sheet shows one."""
    both = [_score_curve(findings, stat, width) for width in WIDTHS]
    return Picture(both[0].heading, joined(*(one.drawing for one in both)))


def _score_curve(findings: Findings, stat: str, name: str) -> Picture:
    width, height = WIDTHS[name]
    sizes = findings.scores.index
    with page_style(f"{stat}-{name}"):
        ax = plots.score_curve(findings.cv, stat, ax=page_axes(width, height))
        heading = take_heading(ax)
        ax.set(xlim=(-0.5, len(sizes) - 0.5))
        for size in sizes:
            ax.axvspan(size - 0.5, size + 0.5, zorder=10.0, gid=f"point-{size}")
        fit(ax, height=height)
        label = (
            f"{SCORES[stat]} of the submodels against their size, with bars of one standard error "
            f"of the difference to the reference; the reference has "
            f"{number(findings.reference[stat], 2)}"
        )
        svg = to_svg(ax, label, f"scores {name}", role="group")
    for size in sizes:
        point = svg.find(f".//g[@class='point-{size}']")
        assert point is not None
        text = replaced(figures_of(findings, size))
        chosen = " shown" if size == findings.size else ""
        attributes = {"tabindex": "0", "role": "img", "aria-label": text}
        point.attrib.update(attributes | {"class": f"point{chosen}"})
        (column,) = point
        column.attrib = {"d": column.attrib["d"], "class": "column"}
        add_title(point, text)
    return Picture(heading, markup_of(svg))


def figures_of(findings: Findings, size: int) -> str:
    """Return the statistics of a size in a sentence."""
    row = findings.scores.loc[size]
    entered = f" (+ {cut(row['input'], LONGEST)})" if size else ""
    if findings.cv.path.is_better(size):
        entered = f" ({cut(row['best_inputs'], LONGEST)})"
    share = share_kept(row)
    keeps = f"keeps {share}; " if share else ""
    words = [
        f"Size {size}{entered}: {keeps}elpd {number(row['elpd'])}, "
        f"{apart(row['elpd_diff'], row['elpd_diff_se'])}",
        *(f"{one.label} {one.text(row[one.stat])}" for one in findings.shown),
    ]
    if size and findings.shares is not None and not findings.cv.path.is_better(size):
        words.append(f"agreement {percent(row['agreement'])}")
    return "; ".join(words)


def heat_map(findings: Findings) -> tuple[Picture, tuple[int, int]]:
    """Draw which share of the folds has each input by each size; return also what is drawn.

    Returns
    -------
    Picture
    tuple of int
        Number of sizes and number of inputs.
    """
    assert findings.shares is not None
    max_sizes = max(SIZES, min(findings.size + 2, 2 * SIZES))
    own = findings.cv.path.best_inputs(findings.size)
    sizes, inputs = ranking_part(findings.shares, max_sizes, INPUTS, own).shape
    width, height = CELL[0] * sizes, CELL[1] * inputs
    with page_style("ranking"):
        ax = page_axes(LEFT + width, height)
        plots.ranking_heatmap(
            findings.cv, ax=ax, size=findings.size, max_sizes=max_sizes, max_inputs=INPUTS
        )
        heading = take_heading(ax)
        ax.set(ylabel="")
        fit(ax, width, height)
        svg = to_svg(ax, "share of the folds that have an input by each size", "heat")
    return Picture(heading, markup_of(svg)), (sizes, inputs)


def effect_panels(findings: Findings) -> list[Picture]:
    """Draw the effect of each input, all on the same vertical scale."""
    table, reference = findings.effects, findings.cv.reference
    whose = "of the submodel"
    if "reference" in set(table["model"]):
        whose += " and of the reference"
    own = table["model"] == "submodel"
    low, high = _limits(table["mean"], table.loc[own, "lower"], table.loc[own, "upper"])
    pictures = []
    for place, name in enumerate(findings.drawn):
        part = table[table["input"] == name]
        with page_style(f"effect-{place}"):
            ax = page_axes(*PANEL)
            factor = findings.factors.get(name)
            levels = factor if factor is not None and factor.levels else None
            draw_effect(ax, part, values_of(reference, findings.X, levels or name))
            ax.set_ylim(low, high)
            if levels is None:
                ax.locator_params(nbins=5)
            fit(ax, height=PANEL[1] - LEFT)
            label = f"average {findings.label.removeprefix('the ')} as {name} moves, {whose}"
            drawing = markup_of(to_svg(ax, label, "effect"))
        heading = Heading(name, moved_by(part, reference, "response"))
        pictures.append(Picture(heading, drawing))
    return pictures


def pair_panels(findings: Findings) -> list[Picture]:
    """Draw the joint effects of the pairs that act together, all on the same vertical scale."""
    pairs = pairs_that_matter(findings.pairs, findings.joint)
    tables = [findings.joint_effect(one.input, one.other) for one in pairs]
    pictures = []
    for place, (pair, table) in enumerate(zip(pairs, tables, strict=True)):
        with page_style(f"pair-{place}"):
            ax = page_axes(*PAIR)
            draw_pair(ax, table)
            ax.set_ylim(*_limits(*(one["mean"] for one in tables)))
            fit(ax)
            what = findings.label.removeprefix("the ")
            label = f"average {what} as {pair.input} and {pair.other} move"
            drawing = markup_of(to_svg(ax, label, "effect"))
        heading = Heading(pair_title(table), pair_said(pair.share, pair.h))
        pictures.append(Picture(heading, drawing))
    return pictures


def _limits(*values: Any) -> tuple[float, float]:
    """Return limits of an axis that holds all values."""
    every = np.concatenate(values)
    low, high = float(every.min()), float(every.max())
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def calibration(findings: Findings) -> Picture:
    """Draw whether the reference's predictions of left-out rows are as certain as they say."""
    with page_style("calibration"):
        ax = plots.calibration(findings.cv.reference, ax=page_axes(*CALIBRATION))
        heading = take_heading(ax)
        fit(ax)
        label = "shares of left-out rows against what was predicted, with bounds of 95 %"
        return Picture(heading, markup_of(to_svg(ax, label, "calibration")))


def scatter(findings: Findings) -> Picture:
    """Draw the predictions of the submodel against those of the reference."""
    with page_style("predictions"):
        ax = page_axes(330.0, 330.0)
        plots.prediction_scatter(findings.cv, findings.size, ax=ax, max_rows=ROWS)
        heading = take_heading(ax)
        fit(ax)
        label = "predictions of the submodel against those of the reference, row by row"
        svg = to_svg(ax, label, "scatter")
    rows = some_rows(findings.predictions, ROWS)
    finite = np.isfinite(rows[["reference_mean", "submodel_mean"]]).all(axis=1)
    points = svg.findall(".//g[@class='rows']//use")
    for point, row in zip(points, rows[finite].itertuples(), strict=True):
        seen = cut(findings.observed(row.y), LONGEST)
        text = (
            f"row {row.observation}: reference {significant(row.reference_mean)}, "
            f"submodel {significant(row.submodel_mean)}, observed {seen}"
        )
        add_title(point, text)
    return Picture(heading, markup_of(svg))
