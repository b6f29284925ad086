"""The sections of the page, each from its tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gpproj.plots.curves import IN_ORDER, SCORES
from gpproj.projection import CRITERIA
from gpproj.report.answer import answer, counted, learning, lost, procedure
from gpproj.report.concerns import Remark
from gpproj.report.curves import in_order, score_curve, told
from gpproj.report.drawings import (
    POINTS,
    averaged,
    drawn_part,
    effect_panels,
    heat_map,
    scatter,
)
from gpproj.report.findings import Findings
from gpproj.report.markup import (
    Markup,
    escaped,
    joined,
    listing,
    named,
    number,
    percent,
    significant,
    tag,
)
from gpproj.report.statistics import MEANINGS
from gpproj.report.tables import Line, scrolling, table, to_copy

KINDS = {"look": "Look", "note": "Note", "fine": "OK"}
WORST = 5
"""How many of the rows that lost the most are listed."""


def section(name: str, title: str, *parts: Any) -> Markup:
    """Return a section with its heading."""
    head = tag("h2", title, id=f"{name}-heading")
    return tag("section", head, *parts, id=name, aria_labelledby=f"{name}-heading")


def quiet(*parts: Any) -> Markup:
    """Return a paragraph that explains."""
    return tag("p", *parts, class_="quiet")


def opening(found: Findings, title: str, remarks: list[Remark]) -> Markup:
    """Return the title, the answer and what it costs."""
    alarms = sum(one.kind == "look" for one in remarks)
    pointer = escaped("")
    if alarms:
        many = "One thing needs" if alarms == 1 else f"{alarms} things need"
        where = tag("a", "diagnostics", href="#diagnostics")
        pointer = tag("p", f"{many} a look first: see ", where, ".", class_="alarm")
    return tag(
        "header",
        tag("h1", title),
        tag("p", answer(found), class_="answer"),
        tag("p", lost(found)),
        pointer,
        quiet(procedure(found)),
    )


def curves(found: Findings) -> Markup:
    """Return the score against the size, and the other statistics to unfold."""
    one, two = found.shown
    return section(
        "sizes",
        "How many inputs are enough",
        score_figure(found, "elpd"),
        quiet(
            "The reference is the Gaussian process on all inputs, a submodel the one on some of "
            f"them that predicts most like it. Submodels were {learning(found)}. Elpd: the sum "
            f"over the rows of the {_density(found)} that was predicted for them while they were "
            "left out; larger is better. Both models predict the same rows, so that their "
            "difference is known better than either value. "
            "Bars are standard errors of the difference, the band is that of the reference's own "
            "value. The suggested size is the first one whose bar reaches the dashed line."
        ),
        tag(
            "details",
            tag("summary", f"The same as {one.noun} and as {two.noun}"),
            score_figure(found, one.stat),
            score_figure(found, two.stat),
            *_meanings(found),
            class_="more",
        ),
    )


def _density(found: Findings) -> str:
    return found.kind.density


def _meanings(found: Findings) -> list[Markup]:
    """Return what the statistics to unfold mean, where not everyone knows."""
    said = MEANINGS[found.kind]
    if found.kind.has_classes and found.cv.method == "loo":
        said += (
            " A model without inputs gives each row the share of its class among the others, which "
            "is the smaller for the row being left out: as rows are left out one by one, its AUC "
            "is near zero, not one half."
        )
    return [quiet(said)] if said else []


def score_figure(found: Findings, stat: str) -> Markup:
    """Return the drawing of a statistic, its legend, and the figures of one size."""
    label = SCORES[stat]
    keys = {
        "submodels": "submodels ± s.e. of the difference",
        "reference": "reference ± s.e.",
    }
    if in_order(found, stat):
        keys["in-order"] = IN_ORDER
    legend = [
        tag("li", tag("span", class_=f"key {key}", aria_hidden="true"), words)
        for key, words in keys.items()
    ]
    return tag(
        "figure",
        tag("figcaption", label[0].upper() + label[1:], tag("ul", *legend, class_="legend")),
        score_curve(found, stat),
        tag("p", told(found, found.size), class_="readout"),
        tag("p", "Point at a size, tap it, or step through with the arrow keys.", class_="hint"),
        class_="scores",
    )


def ranking(found: Findings) -> Markup:
    """Return the order of the inputs, with the scores at each size."""
    searched = found.shares is not None
    agreement = ["Agreement"] if searched else []
    titles = [one.title for one in found.shown]
    head = ["Size", "Input added", "Elpd difference", "s.e.", *titles, *agreement]
    own_inputs = found.cv.path.best_inputs(found.size)
    lines = []
    for size, row in found.scores.iterrows():
        entered = named(row.input) if size else _start(found)
        if found.cv.path.is_better(size):
            entered = joined(entered, " ", tag("span", "exchanged", class_="badge"))
        if size == found.suggested:
            entered = joined(entered, " ", tag("span", "suggested", class_="badge"))
        share = [percent(row.agreement) if size else ""] if searched else []
        cells = [
            entered,
            number(row.elpd_diff),
            number(row.elpd_diff_se),
            *(one.text(row[one.stat]) for one in found.shown),
            *share,
        ]
        lines.append(Line(size, cells, marked=size > 0 and row.input in own_inputs))
    own = found.reference
    fits = [one.text(own[one.stat]) for one in found.shown]
    last = Line("all", ["reference", "", "", *fits, *([""] if searched else [])])
    note = "The order was found once, from all rows."
    if searched:
        note = (
            f"Agreement: the share of {len(found.cv.orders)} searches, each without some of the "
            "rows, that have the input among as many first ones as the size says."
        )
    return section(
        "ranking",
        "The inputs in the order they entered",
        table("Scores by size", head, lines, text=(1,), last=last),
        quiet(note),
        *_exchanged(found),
    )


def _exchanged(found: Findings) -> list[Markup]:
    """Return the best inputs of sizes where they are not the first that entered, if there are."""
    path, errors, along = found.cv.path, found.path, found.in_order
    lines = []
    for size in found.exchanged:
        sets = (
            ("best", path.best_inputs(size), errors.best_relative_error, found.scores),
            ("entered first", path.order[:size], errors.relative_error, along),
        )
        lines += [
            Line(
                size,
                [which, listing(list(inputs)), number(error[size], 3), number(own.elpd_diff[size])],
                marked=size == found.size and which == "best",
            )
            for which, inputs, error, own in sets
        ]
    if not lines:
        return []
    folds = " Each search without some of the rows has best sets of its own."
    return [
        tag("h3", "Where the best inputs are not the first that entered"),
        table(
            "Best inputs by size",
            ["Size", "Set", "Inputs", "Relative error", "Elpd difference"],
            lines,
            text=(1, 2),
        ),
        quiet(
            "An input may be the best one alone and in no good pair. Where a set of the same size "
            "was found that loses less, it has the place of the first inputs that entered, and all "
            "scores of that size are its own. Relative error: the "
            f"{CRITERIA[path.criterion].title}, one without inputs and zero with all of them."
            + ("" if found.shares is None else folds)
        ),
    ]


def _start(found: Findings) -> Markup:
    names = found.cv.reference.feature_names
    always = [names[position] for position in found.cv.path.always]
    return joined("always in: ", listing(always)) if always else tag("em", "none")


def stability(found: Findings) -> Markup:
    """Return what the searches without some of the rows found."""
    title = "How stable the order is"
    if found.shares is None or found.shares.empty:
        return section(
            "stability",
            title,
            tag(
                "p",
                "Not tested: the search was not repeated without the rows that are predicted.",
            ),
        )
    sizes, names = drawn_part(found.shares, found.size)
    some = ""
    if len(sizes) < len(found.shares) or len(names) < found.shares.shape[1]:
        some = (
            f" Drawn are the first {len(sizes)} sizes and {counted(len(names), 'input')}; the "
            "table to copy has all of them."
        )
    return section(
        "stability",
        title,
        tag(
            "figure",
            tag("figcaption", "Percentage of the searches that have an input by each size"),
            scrolling("Heat map of the searches", heat_map(found.shares, found.size)),
        ),
        quiet(
            f"From {len(found.cv.orders)} searches, each without some of the rows. Inputs"
            " that can stand for each other share their votes: a low percentage says "
            "that the choice between them is arbitrary, not that they do not matter." + some
        ),
    )


def effects(found: Findings) -> Markup:
    """Return the effects of the submodel's inputs."""
    title = "What the chosen inputs do"
    if not found.drawn:
        why = "the submodel has no inputs" if not found.submodel.inputs else "left out"
        return section("effects", title, tag("p", f"No effects to show: {why}."))
    panels = [
        tag("figure", tag("figcaption", named(name)), picture)
        for name, picture in zip(found.drawn, effect_panels(found), strict=True)
    ]
    total = len(found.submodel.inputs)
    some = "" if len(panels) == total else f" The first {len(panels)} of {total} inputs."
    keys = {"submodels": "submodel, 95 % band", "reference": "reference"}
    legend = [
        tag("li", tag("span", class_=f"key {key}", aria_hidden="true"), label)
        for key, label in keys.items()
    ]
    return section(
        "effects",
        title,
        tag("ul", *legend, class_="legend"),
        tag("div", *panels, class_="panels"),
        quiet(
            f"The average {averaged(found)} as one input moves and the others stay as they are, ",
            _scale(found),
            "; ticks at the bottom are values in the data. The submodel gives what dropped inputs "
            "explained to those that go with them, so that the curves may differ." + some,
        ),
    )


def _scale(found: Findings) -> Markup:
    """Return what the effects are measured in."""
    if found.kind.is_scaled:
        return escaped("in units of the target")
    if found.kind.takes_exposure:
        return escaped("as the natural logarithm of the rate")
    reference = found.cv.reference
    link, classes = getattr(reference.likelihood, "link", "latent"), reference.classes
    second = "the second class" if classes is None else named(str(classes[1]))
    return joined(
        f"on the {link} scale, where zero stands for even chances and more is more probable for ",
        second,
    )


def losses(found: Findings) -> Markup:
    """Return the submodel beside the reference: statistics, predictions, rows that lost most."""
    own, reference = found.scores.loc[found.size], found.reference
    printed: list[tuple[str, str, Callable[[float], str]]] = [
        ("elpd", "Elpd", number),
        *((one.stat, one.title, partial(one.text, more=1)) for one in found.shown),
    ]
    statistics = [
        Line(
            label,
            [
                digits(reference[stat]),
                digits(own[stat]),
                digits(own[f"{stat}_diff"]),
                digits(own[f"{stat}_diff_se"]),
            ],
        )
        for stat, label, digits in printed
    ]
    rows, classes = found.predictions, found.cv.reference.classes
    gone = rows["reference_log_density"] - rows["submodel_log_density"]
    worst = [
        Line(
            int(row.observation),
            [
                found.observed(row.y) if classes is None else named(found.observed(row.y)),
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
    some = f" {POINTS} of {len(rows)} are drawn." if len(rows) > POINTS else ""
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
            tag(
                "figure",
                tag("figcaption", caption, some),
                scatter(found),
            ),
            tag(
                "div",
                tag("h3", "Rows that lost the most"),
                table(
                    "Rows that lost the most",
                    ["Row", "Observed", "Reference", "Submodel", "Lost"],
                    worst,
                ),
                quiet(
                    f"Rows count from zero. Lost: {_density(found)} of the reference less the "
                    "submodel's."
                ),
            ),
            class_="beside",
        ),
    )


def diagnostics(remarks: list[Remark]) -> Markup:
    """Return what was looked at, what is wrong first."""
    items = [
        tag("li", tag("strong", KINDS[one.kind]), " ", tag("span", one.text), class_=one.kind)
        for one in remarks
    ]
    return section("diagnostics", "Diagnostics and warnings", tag("ul", *items, class_="remarks"))


def reproduction(facts: dict[str, str], command: str | None) -> Markup:
    """Return what someone needs to do it again."""
    told_how = [tag("pre", tag("code", command), tabindex=0)] if command else []
    pairs = [joined(tag("dt", key), tag("dd", value)) for key, value in facts.items()]
    return section("reproduce", "How to reproduce this", *told_how, tag("dl", *pairs))


def copies(found: Findings) -> Markup:
    """Return the tables as text."""
    tables = [
        to_copy("scores", "Scores by size", found.scores),
        to_copy("path", "Errors by size", found.path),
    ]
    if found.shares is not None:
        tables.append(to_copy("folds", "Shares of the searches, by size", found.shares))
    rows = found.predictions
    if found.cv.reference.classes is not None:
        rows = rows.assign(y=[found.observed(y) for y in rows["y"]])
    tables.append(to_copy("rows", "Predictions of rows that were left out", rows, index=False))
    if found.drawn:
        tables.append(to_copy("effects", "Effects of the inputs", found.effects, index=False))
    return section("tables", "Tables to copy", *tables)
