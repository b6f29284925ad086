"""What can be wrong with an answer, in words: one remark for each thing that was looked at."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from functools import singledispatch
from typing import Any, Literal, NamedTuple

import numpy as np

from gpproj.reference import GaussianProcessReference, Reference
from gpproj.reference.diagnostics import RHAT, warn_of_trouble
from gpproj.report.answer import apart, counted
from gpproj.report.findings import Findings
from gpproj.report.markup import Markup, escaped, joined, listing, number
from gpproj.validation.loo import worst_k

FEW_ROWS = 100
"""Below so many predicted rows standard errors are rough."""

Kind = Literal["look", "note", "fine"]


class Remark(NamedTuple):
    """One thing that was looked at."""

    kind: Kind
    """Something is wrong, is to be known, or is as it should be."""
    text: Markup


def remarks(found: Findings, given: Iterable[Any] = ()) -> list[Remark]:
    """Return all remarks, what is wrong first.

    Parameters
    ----------
    found : Findings
    given : iterable of str or warning
        What the user was warned of on the way.
    """
    every = [
        *_of_scores(found),
        *_of_folds(found),
        *_of_search(found),
        *_of_reference(found),
        *_of_weights(found),
        *(Remark("look", escaped(getattr(one, "message", one))) for one in given),
    ]
    unique: dict[str, Remark] = {}
    for one in every:  # what was warned of repeatedly, or is found here too, is said once
        unique.setdefault(one.text.casefold().rstrip("."), one)
    kinds: tuple[Kind, ...] = ("look", "note", "fine")
    return sorted(unique.values(), key=lambda one: kinds.index(one.kind))


def _of_scores(found: Findings) -> Iterator[Remark]:
    cv, null = found.cv, found.scores.iloc[0]
    for problem in cv.problems:
        yield Remark("look", escaped(f"{problem[0].upper()}{problem[1:]}."))
    gain, error = -null["elpd_diff"], null["elpd_diff_se"]
    if gain >= 0.0 and not cv.path.always:
        clearly = gain > 2.0 * error
        yield Remark(
            "fine" if clearly else "note",
            joined(
                f"The reference predicts {'' if clearly else 'hardly '}better than the null model, "
                f"by {number(gain)} ± {number(error)} in elpd."
            ),
        )
    yield from _of_nothing(found)
    if found.suggested is None:
        yield Remark(
            "look",
            joined(
                f"No submodel of up to {len(cv.path) - 1} inputs predicts as well as the "
                "reference; search further, or take the size where the curve is flat."
            ),
        )
    if found.predicted < FEW_ROWS:
        yield Remark(
            "note",
            joined(
                f"Only {counted(found.predicted, 'row')} were predicted: standard errors are "
                "rough, and rather too small than too large."
            ),
        )
    n = cv.reference.training.n
    if found.predicted < n and cv.method == "kfold":
        yield Remark("note", joined(f"{n - found.predicted} of {n} rows were never predicted."))


def _of_nothing(found: Findings) -> Iterator[Remark]:
    """Remark on a reference that is no better than chance."""
    stat = "auc" if found.kind.has_classes else "r2"
    value = found.cv.reference_summary(stat)[stat]
    if found.kind.has_classes and value <= 0.5:
        said = "does not tell the classes apart in rows that it has not seen (AUC"
    elif not found.kind.has_classes and value <= 0.0:
        said = "explains nothing of rows that it has not seen (R²"
    else:
        return
    rest = f"{said} {number(value, 2)}): there is little that a submodel could lose."
    yield Remark("look", joined(f"The reference {rest}"))


def _of_folds(found: Findings) -> Iterator[Remark]:
    cv = found.cv
    if found.shares is None:
        size = cv.smallest_enough(corrected=True)
        corrected = "no size is enough" if size is None else f"size {size} is suggested"
        yield Remark(
            "note",
            joined(
                "The order of the inputs was found with the rows that are predicted: scores are "
                "optimistic, and how stable the order is was not tested. With the elpd corrected "
                f"for the number of candidates, a heuristic, {corrected}."
            ),
        )
    elif cv.path.is_better(found.size):
        yield Remark(
            "note",
            joined(
                "The inputs of the submodel are not the first ones that entered. How stable the "
                "order is was tested; how often the folds have the same best inputs was not kept."
            ),
        )
    elif found.size:
        own = list(cv.path.order[: found.size])
        last = min(found.size, len(found.shares))
        rare = [name for name in own if found.shares.loc[last, name] < 0.5]
        if rare:
            yield Remark(
                "note",
                joined(
                    f"Fewer than half of the folds have these among their first {last}: ",
                    listing(rare),
                    ". Inputs that can stand for each other share their votes, so that the choice "
                    "between them may be arbitrary.",
                ),
            )
        else:
            yield Remark(
                "fine",
                joined(
                    f"Each input of the submodel was among the first {last} in half of "
                    "the folds or more."
                ),
            )
    if cv.chosen:
        nested, first = cv.nested_summary().iloc[0], found.shown[0]
        yield Remark(
            "note",
            joined(
                "With the size, too, chosen in every fold (on average "
                f"{number(nested['size'])}), the elpd is "
                f"{apart(nested['elpd_diff'], nested['elpd_diff_se'])}, and {first.label} is "
                f"{first.text(nested[first.stat])}."
            ),
        )


def _of_search(found: Findings) -> Iterator[Remark]:
    converged = found.path["converged"].to_numpy(dtype=bool)
    if converged.all():  # those that did not are among the problems of the path
        yield Remark("fine", joined(f"All {len(converged)} projections converged."))
    if converged[found.size] and not found.submodel.converged:
        yield Remark("look", joined("Not all clusters of the submodel converged."))


def _of_reference(found: Findings) -> Iterator[Remark]:
    yield from _remarks(found.cv.reference)


@singledispatch
def _remarks(reference: Reference) -> Iterator[Remark]:
    """Return what is to be said of how a reference was learned: nothing where it is not known."""
    return iter(())


@_remarks.register(GaussianProcessReference)
def _of_process(reference: GaussianProcessReference) -> Iterator[Remark]:
    if (optimum := reference.optimum) is not None:
        best = int(np.argmin(optimum.value))
        starts = counted(len(optimum.value), "start")
        if optimum.converged[best]:
            yield Remark("fine", joined(f"The fit of the reference converged (best of {starts})."))
        else:
            yield Remark(
                "look",
                joined(
                    f"The fit of the reference did not converge (best of {starts}): it ended "
                    f"by its {optimum.reason[best]}."
                ),
            )
    posterior = reference.posterior
    if posterior is None or not hasattr(posterior, "sample_stats"):
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        warn_of_trouble(posterior)
    for one in caught:
        yield Remark("look", escaped(one.message))
    if not caught:
        yield Remark(
            "fine",
            joined(
                f"Sampling: no draw diverged, the chains agree (R-hat at most {RHAT}), and the "
                f"{reference.draws.count} draws are not too much alike."
            ),
        )


def _of_weights(found: Findings) -> Iterator[Remark]:
    cv = found.cv
    if cv.k_hat is None:
        return
    limit = worst_k(cv.reference.count)
    largest = float(np.max(cv.k_hat[np.unique(cv.scores.rows)]))
    if cv.refitted:
        yield Remark(
            "note",
            joined(
                f"Pareto k was above {number(limit, 2)} (up to {number(largest, 2)}) for "
                f"{counted(len(cv.refitted), 'row')}, left out by sampling again: ",
                listing([str(row) for row in cv.refitted], most=20),
                ".",
            ),
        )
    else:
        yield Remark(
            "fine",
            joined(
                f"Pareto k is at most {number(largest, 2)}, below its limit {number(limit, 2)}: "
                "the weights can be trusted."
            ),
        )
