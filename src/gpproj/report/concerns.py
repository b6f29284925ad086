"""Remarks on what may be wrong with an answer, one for each thing that was looked at."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from gpproj.plots.numbers import number
from gpproj.reference import GaussianProcessReference, Reference
from gpproj.reference.diagnostics import RHAT, warn_of_trouble
from gpproj.report.answer import apart, counted
from gpproj.report.findings import Findings
from gpproj.report.markup import Markup, joined, listing
from gpproj.validation.loo import worst_k

FEW_ROWS = 100
"""Number of predicted rows below which standard errors are rough."""

Kind = Literal["look", "note", "fine"]


class Remark(NamedTuple):
    """A sentence about one thing that was looked at."""

    kind: Kind
    """Whether something may be wrong, limits the answer, or is as it should be."""
    text: Markup


def remarks(findings: Findings, warned: Iterable[Any] = ()) -> list[Remark]:
    """Return all remarks, those on what is wrong first.

    Parameters
    ----------
    findings : Findings
    warned : iterable of str or warning
        Warnings that the user was given on the way.
    """
    every = [
        *_of_scores(findings),
        *_of_folds(findings),
        *_of_projections(findings),
        *_of_reference(findings.cv.reference),
        *_of_weights(findings),
        *(look(getattr(one, "message", one)) for one in warned),
    ]
    unique: dict[str, Remark] = {}
    for one in every:  # what was warned of repeatedly, or is found here too, is said once
        unique.setdefault(one.text.casefold().rstrip("."), one)
    kinds: tuple[Kind, ...] = ("look", "note", "fine")
    return sorted(unique.values(), key=lambda one: kinds.index(one.kind))


def look(*parts: Any) -> Remark:
    """Return a remark on something that may make the answer wrong."""
    return Remark("look", joined(*parts))


def note(*parts: Any) -> Remark:
    """Return a remark on something that limits the answer."""
    return Remark("note", joined(*parts))


def fine(*parts: Any) -> Remark:
    """Return a remark on something that is as it should be."""
    return Remark("fine", joined(*parts))


def sentence(problem: str) -> str:
    """Return a problem as a sentence.

    Examples
    --------
    >>> sentence("the error rises")
    'The error rises.'
    """
    return f"{problem[0].upper()}{problem[1:]}."


def _of_scores(findings: Findings) -> Iterator[Remark]:
    cv, null = findings.cv, findings.scores.iloc[0]
    for problem in cv.problems:
        yield look(sentence(problem))
    gain, error = -null["elpd_diff"], null["elpd_diff_se"]
    if gain >= 0.0 and not cv.path.always:
        size = f"by {number(gain)} ± {number(error)} in elpd."
        if gain > 2.0 * error:
            yield fine(f"The reference predicts better than the null model, {size}")
        else:
            yield note(f"The reference predicts hardly better than the null model, {size}")
    if not cv.reference.check().problems:
        yield fine("The check of the reference found nothing wrong: ref.check().")
    yield from _of_chance(findings)
    if findings.suggested is None:
        yield look(
            f"No submodel of up to {len(cv.path) - 1} inputs is shown to be enough: the column "
            "verdict of the summary tells those that are too small from those that could not be "
            "told; search further, or choose a size from what it keeps."
        )
    if findings.predicted < FEW_ROWS:
        yield note(
            f"Only {counted(findings.predicted, 'row')} were predicted: standard errors are rough, "
            "and rather too small than too large."
        )
    n = cv.reference.training.n
    if findings.predicted < n and cv.method == "kfold":
        yield note(f"{n - findings.predicted} of {n} rows were never predicted.")


def _of_chance(findings: Findings) -> Iterator[Remark]:
    """Remark on a reference that is no better than chance."""
    if findings.kind.has_classes:
        stat, chance = "auc", 0.5
        said = "does not tell the classes apart in rows that it has not seen (AUC"
    else:
        stat, chance = "r2", 0.0
        said = "explains nothing of rows that it has not seen (R²"
    value = findings.cv.reference_summary(stat)[stat]
    if value <= chance:
        end = "there is little that a submodel could lose."
        yield look(f"The reference {said} {number(value, 2)}): {end}")


def _of_folds(findings: Findings) -> Iterator[Remark]:
    cv = findings.cv
    if findings.shares is None:
        yield note(
            "The order of the inputs was found with the rows that are predicted: scores are "
            "optimistic, and how stable the order is was not tested."
        )
    elif cv.path.is_better(findings.size):
        yield note(
            "The inputs of the submodel are not the first ones that entered. How stable the order "
            "is was tested; how often the folds have the same best inputs was not kept."
        )
    elif findings.size:
        last = min(findings.size, len(findings.shares))
        chosen = cv.path.order[: findings.size]
        rare = [name for name in chosen if findings.shares.loc[last, name] < 0.5]
        if rare:
            yield note(
                f"Fewer than half of the folds have these among their first {last}: ",
                listing(rare),
                ". Inputs that can stand for each other share their votes, so that the choice "
                "between them may be arbitrary.",
            )
        else:
            yield fine(
                f"Each input of the submodel was among the first {last} in half of the folds or "
                "more."
            )
    if cv.chosen:
        nested, first = cv.nested_summary().iloc[0], findings.shown[0]
        yield note(
            f"With the size, too, chosen in every fold (on average {number(nested['size'])}), the "
            f"elpd is {apart(nested['elpd_diff'], nested['elpd_diff_se'])}, and {first.label} is "
            f"{first.text(nested[first.stat])}."
        )


def _of_projections(findings: Findings) -> Iterator[Remark]:
    converged = findings.path["converged"].to_numpy(dtype=bool)
    if converged.all():  # those that did not are among the problems of the path
        yield fine(f"All {len(converged)} projections converged.")
    if converged[findings.size] and not findings.submodel.converged:
        yield look("Not all clusters of the submodel converged.")


def _of_reference(reference: Reference) -> Iterator[Remark]:
    """Remark on how a Gaussian process was learned; nothing is known of other references."""
    if not isinstance(reference, GaussianProcessReference):
        return
    if (optimum := reference.optimum) is not None:
        best = int(np.argmin(optimum.value))
        starts = counted(len(optimum.value), "start")
        if optimum.converged[best]:
            yield fine(f"The fit of the reference converged (best of {starts}).")
        else:
            yield look(
                f"The fit of the reference did not converge (best of {starts}): it ended by its "
                f"{optimum.reason[best]}."
            )
    posterior = reference.posterior
    if posterior is None or not hasattr(posterior, "sample_stats"):
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        warn_of_trouble(posterior)
    for one in caught:
        yield look(one.message)
    if not caught:
        yield fine(
            f"Sampling: no draw diverged, the chains agree (R-hat at most {RHAT}), and the "
            f"{reference.draws.count} draws are not too much alike."
        )


def _of_weights(findings: Findings) -> Iterator[Remark]:
    cv = findings.cv
    if cv.k_hat is None:
        return
    limit = number(worst_k(cv.reference.count), 2)
    largest = number(float(np.max(cv.k_hat[np.unique(cv.scores.rows)])), 2)
    if cv.refitted:
        yield note(
            f"Pareto k was above {limit} (up to {largest}) for {counted(len(cv.refitted), 'row')}, "
            "left out by sampling again: ",
            listing([str(row) for row in cv.refitted], most=20),
            ".",
        )
    else:
        yield fine(
            f"Pareto k is at most {largest}, below its limit {limit}: the weights can be trusted."
        )
