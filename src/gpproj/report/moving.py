"""The sections on what inputs do: each of them, and the pairs that act together."""

from __future__ import annotations

from gpproj.plots.numbers import percent
from gpproj.plots.pairs import MATTERS
from gpproj.plots.panels import EFFECTS
from gpproj.report.answer import counted
from gpproj.report.findings import Findings
from gpproj.report.markup import Markup, figure, named, quiet, section, tag
from gpproj.report.pictures import Picture, effect_panels, pair_panels


def effects(findings: Findings) -> Markup:
    """Return the effects of the submodel's inputs."""
    title = "What the chosen inputs do"
    if not findings.drawn:
        why = "the submodel has no inputs" if not findings.chosen else "left out"
        return section("effects", title, tag("p", f"No effects to show: {why}."))
    label = findings.label.removeprefix("the ")
    panels = [_panel(named(one.heading.title), one) for one in effect_panels(findings)]
    total = len(findings.chosen)
    some = "" if len(panels) == total else f" The first {len(panels)} of {total} inputs."
    legend = [
        tag("li", tag("span", class_=f"key {key}", aria_hidden="true"), text)
        for key, text in zip(("submodels", "reference"), EFFECTS, strict=True)
    ]
    return section(
        "effects",
        title,
        tag("p", "Drawn upwards: average ", named(label), ". Under each name, its range."),
        tag("ul", *legend, class_="legend"),
        tag("div", *panels, class_="panels"),
        quiet(
            "The average ",
            named(label),
            " as one input moves and the others stay as they are",
            _at_exposure(findings),
            "; ticks at the bottom are values in the data. Of a column of categories each level "
            "has a bar, from the average over the rows, the largest first. These are averages of "
            "what the models predict, not causes. The submodel gives what dropped inputs explained "
            "to those that go with them, so that the curves may differ." + some,
        ),
    )


def _panel(name: Markup, picture: Picture) -> Markup:
    said = tag("span", picture.heading.conclusion, class_="said")
    return tag("figure", tag("figcaption", name, said), picture.drawing)


def _at_exposure(findings: Findings) -> str:
    return ", at an exposure of one" if findings.kind.takes_exposure else ""


def pairs(findings: Findings) -> Markup:
    """Return which inputs act together, with the pairs that matter."""
    title = "Which inputs act together"
    if len(findings.paired) < 2:
        why = "left out" if not findings.joint else "the submodel has fewer than two inputs"
        return section("pairs", title, tag("p", f"No pairs to show: {why}."))
    drawn = pair_panels(findings)
    some = ""
    if len(findings.paired) < len(findings.chosen):
        some = f" Looked at were the first {len(findings.paired)} inputs."
    explained = quiet(
        "A pair acts together if the effect of one input depends on the value of the other: where "
        "that is so, single effects are averages over different ones. The share is the variance, "
        "over the rows, of the joint effect less both single ones, over that of the predictions; "
        "H is the statistic of Friedman and Popescu"
        + ("" if findings.kind.is_scaled else ", on the scale of the link")
        + f". Pairs of less than {percent(MATTERS)} are not drawn."
        + some
    )
    if not drawn:
        several = counted(len(findings.pairs), "pair")
        said = tag("p", f"None of {several} does anything to speak of: single effects add up.")
        return section("pairs", title, said, explained)
    label = named(findings.label.removeprefix("the "))
    return section(
        "pairs",
        title,
        tag("p", "Drawn upwards: average ", label, ". Lines that do not run alike act together."),
        tag("div", *(figure(one.heading, one.drawing) for one in drawn), class_="panels broad"),
        explained,
    )
