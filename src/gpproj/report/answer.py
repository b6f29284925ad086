"""The answer in a sentence, what it costs, and how it was found."""

from __future__ import annotations

import math

from gpproj.projection import CRITERIA
from gpproj.report.findings import Findings
from gpproj.report.markup import Markup, joined, listing, number


def answer(found: Findings) -> Markup:
    """Return the answer in one sentence, or what the report is about instead."""
    if found.suggested is None or found.size == found.suggested:
        said, inputs = found.cv.verdict()
        return joined(said, ": ", listing(list(inputs)), ".") if inputs else joined(said, ".")
    inputs = found.submodel.inputs
    names = listing(list(inputs))
    which = joined(f"{len(inputs)} of {found.d} inputs: ", names) if inputs else "no inputs"
    return joined("This report is about the submodel on ", which, ".")


def lost(found: Findings) -> Markup:
    """Return what is lost by it, with its uncertainty."""
    own, reference = found.scores.loc[found.size], found.reference
    k = len(found.submodel.inputs)
    if found.suggested is None:
        said = f"The closest, on {counted(k, 'input')}, has an elpd "
    elif k:
        said = "On rows that had been left out, the submodel's elpd is "
    else:
        said = "On rows that had been left out, the null model's elpd is "
    away = apart(own["elpd_diff"], own["elpd_diff_se"])
    # Neither of the two says much of classes without the other.
    told = found.shown if found.kind.has_classes else found.shown[:1]
    others = [
        f"its {one.label} is {one.text(own[one.stat])}, the reference's "
        f"{one.text(reference[one.stat])}"
        for one in told
    ]
    words = [said, away, "; ", "; ".join(others), "."]
    if found.suggested is not None and found.size != found.suggested:
        words.append(f" The suggested size is {found.suggested}, not {found.size}.")
    return joined(*words)


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


def procedure(found: Findings) -> str:
    """Return in a sentence how the figures came about."""
    cv, n = found.cv, found.cv.reference.training.n
    inside = cv.search == "inside"
    if cv.method == "loo":
        how = "leave-one-out"
        if found.predicted < n:
            how += f" of {found.predicted} rows"
    else:
        how = f"cross-validation with {found.folds} folds"
    search = (
        "with the search repeated each time"
        if inside
        else "with the order of the inputs found from all rows"
    )
    return f"{counted(n, 'row')}, {counted(found.d, 'input')}; {how}, {search}."


LEARNED = {
    "loo": "the cross-validated projection",
    "projection": "the projection of the posterior",
    "marginal_likelihood": "the marginal likelihood",
}
"""Ways to learn submodels, in words."""


def learning(found: Findings) -> str:
    """Return how submodels were learned, and what they were compared by."""
    path = found.cv.path
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
