"""The answer in a sentence, what it costs, and how it was found."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gpproj.plots.numbers import number, percent
from gpproj.plots.style import cut
from gpproj.projection import CRITERIA
from gpproj.report.findings import Findings
from gpproj.report.markup import LONGEST, Markup, joined, listing
from gpproj.validation.scores import STATISTICS
from gpproj.validation.sizes import GAIN

if TYPE_CHECKING:
    import pandas as pd


def answer(findings: Findings) -> Markup:
    """Return the answer in one sentence, or what the report is about instead."""
    if findings.suggested is None or findings.size == findings.suggested:
        said, found = findings.cv.verdict()
        return joined(said, ": ", listing(list(found)), ".") if found else joined(said, ".")
    inputs = findings.chosen
    names = listing(inputs)
    which = joined(f"{len(inputs)} of {findings.d} inputs: ", names) if inputs else "no inputs"
    return joined("This report is about the submodel on ", which, ".")


def plainly(findings: Findings) -> str:
    """Return how well both models predict, in words that need no explanation."""
    row, reference, k = findings.scores.loc[findings.size], findings.reference, len(findings.chosen)
    inputs = ("this input" if k == 1 else f"these {k} inputs") if k else "no inputs"
    start = f"In rows that had been left out, the model on {inputs}"
    everything = "with all inputs it" if findings.d > 1 else "with the only input it"
    if findings.kind.has_classes:
        own, whole = (percent(one["accuracy"]) for one in (row, reference))
        return f"{start} finds the right class of {own} of the rows; {everything} is {whole}."
    if not findings.kind.takes_exposure and row["r2"] > 0.0 and reference["r2"] > 0.0:
        own, whole = (percent(one["r2"]) for one in (row, reference))
        target = cut(findings.target, LONGEST) if findings.target else "the target"
        return f"{start} explains {own} of the variance of {target}; {everything} is {whole}."
    typical = next(one for one in findings.shown if one.stat == "rmse")
    own, whole = (typical.text(one["rmse"]) for one in (row, reference))
    return f"{start} is off by {own}, as a root mean square; {everything} is {whole}."


def lost(findings: Findings) -> Markup:
    """Return what the submodel loses to the reference, with its uncertainty."""
    row, reference = findings.scores.loc[findings.size], findings.reference
    k = len(findings.chosen)
    if findings.suggested is None:
        said = f"The submodel on {counted(k, 'input')} has an elpd "
    elif k:
        said = "On rows that had been left out, the submodel's elpd is "
    else:
        said = "On rows that had been left out, the null model's elpd is "
    away = apart(row["elpd_diff"], row["elpd_diff_se"])
    # Neither of the two says much of classes without the other.
    shown = findings.shown if findings.kind.has_classes else findings.shown[:1]
    others = [
        f"its {one.label} is {one.text(row[one.stat])}, the reference's "
        f"{one.text(reference[one.stat])}"
        for one in shown
    ]
    words = [said, away, "; ", "; ".join(others), "."]
    if findings.suggested is not None and findings.size != findings.suggested:
        words.append(f" The suggested size is {findings.suggested}, not {findings.size}.")
    return joined(*words)


def margin_of(findings: Findings) -> str:
    """Return the largest loss that would not matter, in words."""
    value, unit = findings.cv.margin
    if unit == GAIN:
        return f"{percent(value)} of what the reference gains over the null model in elpd"
    return f"{number(value)} of {STATISTICS[findings.kind][unit].label}"


def share_kept(row: pd.Series[Any]) -> str:
    """Return the share of the reference's gain that a size keeps, with its bounds."""
    if math.isnan(row.kept):
        return ""
    if math.isnan(row.kept_low):
        return percent(row.kept)
    low, high = (number(100.0 * bound, 0) for bound in (row.kept_low, row.kept_high))
    return f"{percent(row.kept)} ({low} to {high})"


def apart(difference: float, error: float) -> str:
    """Return a difference of elpd in words.

    Examples
    --------
    >>> apart(-2.1, 3.4)
    "2.1 ± 3.4 (s.e.) below the reference's"
    """
    side = "above" if difference > 0.0 else "below"
    spread = "(s.e. unknown)" if math.isnan(error) else f"± {number(error)} (s.e.)"
    return f"{number(abs(difference))} {spread} {side} the reference's"


def procedure(findings: Findings) -> str:
    """Return in a sentence how the figures came about."""
    cv, n = findings.cv, findings.cv.reference.training.n
    if cv.method == "loo":
        how = "leave-one-out"
        if findings.predicted < n:
            how += f" of {findings.predicted} rows"
    else:
        how = f"cross-validation with {findings.folds} folds"
    search = (
        "with the search repeated each time"
        if cv.search == "inside"
        else "with the order of the inputs found from all rows"
    )
    return f"{counted(n, 'row')}, {counted(findings.d, 'input')}; {how}, {search}."


LEARNED = {
    "loo": "the cross-validated projection",
    "projection": "the projection of the posterior",
    "marginal_likelihood": "the marginal likelihood",
}
"""Ways to learn submodels, in words."""


def learning(findings: Findings) -> str:
    """Return how submodels were learned, and what they were compared by."""
    path = findings.cv.path
    by = CRITERIA[path.criterion].title
    return f"learned by {LEARNED[path.learn]} and compared by the {by}"


def counted(count: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "input"), counted(2, "input")
    ('1 input', '2 inputs')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"
