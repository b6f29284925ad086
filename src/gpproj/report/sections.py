"""The sections about all sizes, and about the run: each function returns one of them."""

from __future__ import annotations

from gpproj.plots.numbers import number, percent
from gpproj.projection import CRITERIA
from gpproj.report.answer import (
    answer,
    counted,
    learning,
    lost,
    margin_of,
    plainly,
    procedure,
    share_kept,
)
from gpproj.report.concerns import Remark, sentence
from gpproj.report.findings import Findings
from gpproj.report.markup import Markup, figure, joined, listing, named, quiet, section, tag
from gpproj.report.pictures import figures_of, heat_map, score_curve
from gpproj.report.tables import Line, scrolling, table, to_copy

KINDS = {"look": "Look", "note": "Note", "fine": "OK"}

ALARMS = 4
"""Things to look at that are said in full below the answer."""


def opening(findings: Findings, title: str, remarks: list[Remark]) -> Markup:
    """Return the title, the answer, what may be wrong with it, and what it costs."""
    return tag(
        "header",
        tag("h1", title),
        *(tag("p", sentence(one), class_="alarm") for one in findings.cv.better_submodel),
        tag("p", answer(findings), class_="answer"),
        *_alarms(findings, remarks),
        tag("p", plainly(findings)),
        tag("p", findings.cv.trade_off()),
        quiet(lost(findings), " The verdict goes by elpd, which is explained below."),
        quiet(procedure(findings)),
    )


def _alarms(findings: Findings, remarks: list[Remark]) -> list[Markup]:
    """Return what may make the answer wrong, the first of it in words."""
    found = [one.text for one in remarks if one.kind == "look"]
    if not found:
        return []
    above = {sentence(one).casefold() for one in findings.cv.better_submodel}
    told = [tag("li", one) for one in found if one.casefold() not in above][:ALARMS]
    many = "One thing needs" if len(found) == 1 else f"{len(found)} things need"
    where = tag("a", "diagnostics", href="#diagnostics")
    items = [tag("ul", *told)] if told else []
    return [tag("div", tag("p", f"{many} a look first: see ", where, "."), *items, class_="alarm")]


def curves(findings: Findings) -> Markup:
    """Return the loss against the size, and the other statistics below it."""
    one, two = findings.shown
    return section(
        "sizes",
        "How many inputs are enough",
        score_figure(findings, "elpd"),
        quiet(
            "The reference is the model on all inputs, a submodel the one on some of them that "
            f"predicts most like it. Submodels were {learning(findings)}. Elpd, the expected log "
            f"predictive density: the sum over the rows of the {findings.kind.density} that was "
            "predicted for them while they were left out; larger where what came was thought "
            "likely. Its level says little, so drawn is the difference to the reference with bars "
            "of one standard error, and to the right the share that is kept of what the reference "
            "gains over a model without inputs. Both models predict the same rows, so that their "
            "difference is known better than either value. A size is enough if it, and all larger "
            f"ones, are shown to lose less than {margin_of(findings)}."
        ),
        tag(
            "details",
            tag("summary", f"The same as {one.noun} and as {two.noun}"),
            score_figure(findings, one.stat),
            score_figure(findings, two.stat),
            *_meanings(findings),
            class_="more",
            open=True,
        ),
    )


def _meanings(findings: Findings) -> list[Markup]:
    """Return what the statistics to unfold mean, where not everyone knows."""
    said = " ".join(one.metric.meaning for one in findings.shown if one.metric.meaning)
    if findings.kind.has_classes and findings.cv.method == "loo":
        said += (
            " A model without inputs gives each row the share of its class among the others, which "
            "is the smaller for the row being left out: as rows are left out one by one, its AUC "
            "is near zero, not one half."
        )
    return [quiet(said)] if said else []


def score_figure(findings: Findings, stat: str) -> Markup:
    """Return the curve of a statistic, and the figures of one size in words."""
    picture = score_curve(findings, stat)
    text = "Point at a size, tap it, or step through with the arrow keys."
    hint = [tag("p", text, class_="hint")] if stat == "elpd" else []
    return figure(
        picture.heading,
        picture.drawing,
        tag("p", figures_of(findings, findings.size), class_="readout"),
        *hint,
        class_="scores",
    )


def ranking(findings: Findings) -> Markup:
    """Return the order of the inputs, with the scores at each size."""
    path, searched = findings.cv.path, findings.shares is not None
    agreement = ["Agreement"] if searched else []
    titles = [one.title for one in findings.shown]
    head = ["Size", "Input added", "Verdict", "Kept", "Elpd difference", "s.e.", *titles]
    head += agreement
    always = [findings.cv.reference.feature_names[position] for position in path.always]
    start = joined("always in: ", listing(always)) if always else tag("em", "none")
    chosen = path.best_inputs(findings.size)
    lines = []
    for size, row in findings.scores.iterrows():
        badges = {"exchanged": path.is_better(size), "suggested": size == findings.suggested}
        entered = named(row.input) if size else start
        for word in (word for word, given in badges.items() if given):
            entered = joined(entered, " ", tag("span", word, class_="badge"))
        cells = [
            entered,
            tag("span", row.verdict, class_="whole"),
            share_kept(row),
            number(row.elpd_diff),
            number(row.elpd_diff_se),
            *(one.text(row[one.stat]) for one in findings.shown),
            *([percent(row.agreement) if size else ""] if searched else []),
        ]
        lines.append(Line(size, cells, marked=size > 0 and row.input in chosen))
    statistics = [one.text(findings.reference[one.stat]) for one in findings.shown]
    everything = tag("span", "reference", class_="whole")
    last = Line("all", [everything, "", "", "", "", *statistics, *([""] if searched else [])])
    note = "The order was found once, from all rows."
    if searched:
        note = (
            f"Agreement: the share of {len(findings.cv.orders)} searches, each without some of the "
            "rows, that have the input among as many first ones as the size says."
        )
    return section(
        "ranking",
        "The inputs in the order they entered",
        table("Scores by size", head, lines, text=(1, 2), last=last),
        quiet(
            "Kept: the share of what the reference gains over the null model in elpd, as observed, "
            "and in brackets the bounds of two standard errors. " + note
        ),
        *_exchanged(findings),
        *_compared(findings),
    )


def _compared(findings: Findings) -> list[Markup]:
    """Return what plain models on the same inputs reach, where some were fitted."""
    names = [name for name in PLAIN if name in findings.cv.compared]
    if not names:
        return []
    found = findings.cv.comparison("elpd").set_index(["model", "size"])["elpd_diff"]
    lines = [
        Line(size, [number(found[model, size]) for model in ("submodel", *names)])
        for size in findings.scores.index
    ]
    head = ["Size", "Submodel", *(PLAIN[name] for name in names)]
    return [
        tag("h3", "Beside models fitted to the same inputs"),
        table("Models fitted to the same inputs", head, lines),
        quiet(
            "Elpd difference to the reference, on the same rows. Plain models were fitted from "
            "scratch in every fold, to the inputs of its own best submodels."
        ),
    ]


PLAIN = {"process": "Gaussian process", "linear": "Linear regression"}
"""Plain models that submodels are compared with, and what they are called."""


def _exchanged(findings: Findings) -> list[Markup]:
    """Return the best inputs of sizes where they are not the first that entered, if there are."""
    path, errors, along = findings.cv.path, findings.path, findings.in_order
    lines = []
    for size in findings.exchanged:
        sets = (
            ("best", path.best_inputs(size), errors.best_relative_error, findings.scores),
            ("entered first", path.order[:size], errors.relative_error, along),
        )
        lines += [
            Line(
                size,
                [which, listing(list(inputs)), number(error[size], 3), number(own.elpd_diff[size])],
                marked=size == findings.size and which == "best",
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
            + ("" if findings.shares is None else folds)
        ),
    ]


def stability(findings: Findings) -> Markup:
    """Return what the searches without some of the rows found."""
    title = "How stable the order is"
    if findings.shares is None or findings.shares.empty:
        why = "Not tested: the search was not repeated without the rows that are predicted."
        return section("stability", title, tag("p", why))
    picture, (sizes, inputs) = heat_map(findings)
    some = ""
    if (sizes, inputs) != findings.shares.shape:
        some = (
            f" Drawn are the first {sizes} sizes and {counted(inputs, 'input')}; the "
            "table to copy has all of them."
        )
    return section(
        "stability",
        title,
        figure(picture.heading, scrolling("Heat map of the searches", picture.drawing)),
        quiet(
            f"From {len(findings.cv.orders)} searches, each without some of the rows: the "
            "percentage of them that have an input by each size; chosen ones are in bold. Inputs"
            " that can stand for each other share their votes: a low percentage says "
            "that the choice between them is arbitrary, not that they do not matter." + some
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
    """Return what someone needs to repeat the run."""
    code = [tag("pre", tag("code", command), tabindex=0)] if command else []
    pairs = [joined(tag("dt", key), tag("dd", value)) for key, value in facts.items()]
    return section("reproduce", "How to reproduce this", *code, tag("dl", *pairs))


def copies(findings: Findings) -> Markup:
    """Return the tables as text."""
    tables = [
        to_copy("scores", "Scores by size", findings.scores),
        to_copy("path", "Errors by size", findings.path),
    ]
    if findings.shares is not None:
        tables.append(to_copy("folds", "Shares of the searches, by size", findings.shares))
    if findings.asked:
        tables.append(to_copy("stand-ins", "Stand-ins", findings.stand_ins, index=False))
    rows = findings.predictions
    if findings.cv.reference.classes is not None:
        rows = rows.assign(y=[findings.observed(y) for y in rows["y"]])
    tables.append(to_copy("rows", "Predictions of rows that were left out", rows, index=False))
    if findings.drawn:
        tables.append(to_copy("effects", "Effects of the inputs", findings.effects, index=False))
    if len(findings.paired) > 1:
        tables.append(to_copy("pairs", "Pairs of inputs", findings.pairs, index=False))
    return section("tables", "Tables to copy", *tables)
