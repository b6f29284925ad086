"""K-fold validation: fit, search and predict anew, each time without some of the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.data import Rows as RawRows
from gpproj.data import TargetKind, raw_rows, read_row_groups
from gpproj.execute import run
from gpproj.linalg import Host, is_numpy, to_host
from gpproj.prediction import ExpectedTargets, Predictive, expected_targets
from gpproj.reference import Reference, run_where
from gpproj.search import SearchPath
from gpproj.validation.fitted import fitted_scores
from gpproj.validation.scores import Scores, joined

Rows = NDArray[np.intp]

PLAIN_MODELS = r"gpproj\.validation\.fitted|sklearn\.linear_model\."
"""Modules whose warnings are about plain models, as a pattern."""


class Fold(NamedTuple):
    """One repetition of everything without some of the rows."""

    number: int
    train: Rows
    test: Rows


class FoldResult(NamedTuple):
    """The result of a fold."""

    scores: Scores
    """Predictions of the best submodels of each size."""
    order: tuple[str, ...]
    """Inputs, or groups of them, in the order they entered."""
    along: Scores | None = None
    """Predictions of the submodels along the path, where some are not the best ones."""
    chosen: int | None = None
    """The size that a validation inside the fold suggests."""
    compared: Mapping[str, Scores] = {}
    """Predictions of plain models on the inputs of the best submodels, by their names."""


Work: TypeAlias = Callable[[Fold], FoldResult]


def folds_of(reference: Reference, folds: Any, groups: Any, random_state: Any) -> list[Fold]:
    """Return the folds that a number, a splitter of scikit-learn or a list of pairs stands for.

    A number stands for random folds; of class targets, with about the same share of each class, and
    of counts with about the same share of zeros. Groups of rows stay together, whoever makes folds.
    """
    training = reference.training
    n, y = training.n, to_host(training.y)
    splitter = folds
    groups = training.row_groups if groups is None else read_row_groups(groups, n, training.kept)
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        most, what = (n, "rows") if groups is None else (int(groups.max()) + 1, "groups of rows")
        if not 2 <= folds <= most:
            raise ValueError(f"folds must be from 2 to the number of {what}, {most}; got {folds}")
        classes = training.kind.strata(y)
        y = y if classes is None else classes
        splitter = _random_folds(int(folds), classes, groups is not None, random_state)
    text = isinstance(splitter, (str, bytes))  # which have a method `split` too
    if hasattr(splitter, "split") and not text:
        with warnings.catch_warnings():  # whether groups are kept together is looked at below
            warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)
            pairs: Iterable[Any] = list(splitter.split(np.zeros((n, 1)), y, groups))
    elif isinstance(splitter, Iterable) and not text:
        pairs = splitter
    else:
        raise TypeError(
            "folds must be a number, a splitter of scikit-learn or pairs of training and test "
            f"rows; got {folds!r}"
        )
    found = [Fold(number, *_rows_of(pair, n)) for number, pair in enumerate(pairs)]
    if not found:
        raise ValueError("folds must give at least one pair of training and test rows")
    if groups is not None:
        _check_groups(found, groups)
    return found


def _check_groups(folds: list[Fold], groups: NDArray[np.intp]) -> None:
    """Refuse folds that predict rows from others of the same group: what they tell is too good."""
    for number, train, test in folds:
        parted = np.intersect1d(groups[train], groups[test])
        if parted.size:
            one, other = (rows[groups[rows] == parted[0]][0] for rows in (train, test))
            raise ValueError(
                f"folds must keep groups of rows together; in fold {number} rows {one} and {other} "
                "are of one group, and only the first is learned from. Give a number of folds, or "
                "a splitter that goes by groups, as GroupKFold does"
            )


def _random_folds(folds: int, classes: Host | None, grouped: bool, random_state: Any) -> Any:
    """Return a splitter into random folds that have about the same share of each class, if any."""
    from sklearn import model_selection as splitters
    from sklearn.utils import check_random_state

    if classes is None:
        kind = splitters.GroupKFold if grouped else splitters.KFold
        return kind(folds, shuffle=True, random_state=random_state)
    if grouped or folds <= np.unique(classes, return_counts=True)[1].min():
        kind = splitters.StratifiedGroupKFold if grouped else splitters.StratifiedKFold
        return kind(folds, shuffle=True, random_state=random_state)
    # `StratifiedKFold` warns of more folds than a class has members, and may refuse them. Dealt out
    # in turn, class after class, the rows of each are in as many folds as can be.
    shuffled = check_random_state(random_state).permutation(classes.size)
    order = shuffled[np.argsort(classes[shuffled], kind="stable")]
    place = np.empty(classes.size, dtype=np.intp)
    place[order] = np.arange(classes.size) % folds
    return splitters.PredefinedSplit(place)


def _rows_of(pair: Any, n: int) -> tuple[Rows, Rows]:
    """Read a pair of training and test rows."""
    try:
        train, test = (np.asarray(rows) for rows in pair)
    except (TypeError, ValueError):
        raise TypeError(
            f"folds must be pairs of training and test rows; saw the pair {pair!r}"
        ) from None
    for rows in (train, test):
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise TypeError(f"folds must hold positions of rows; saw {rows!r}")
        if rows.size and not (rows.min() >= 0 and rows.max() < n):
            raise ValueError(f"folds must hold rows from 0 to {n - 1}; saw {rows!r}")
    if np.intersect1d(train, test).size or not (train.size and test.size):
        raise ValueError("folds must be pairs of training and test rows that share none")
    return train.astype(np.intp), test.astype(np.intp)


def leave_one_out_folds(n: int, points: Rows) -> list[Fold]:
    """Return folds of one row each."""
    everyone = np.arange(n)
    return [
        Fold(number, np.delete(everyone, point), np.array([point]))
        for number, point in enumerate(points)
    ]


def validate_folds(
    path: SearchPath,
    folds: list[Fold],
    inside: bool,
    n_jobs: int | None,
    progress: bool,
    choose_size: Any = None,
    checkpoint: Callable[[Work], Work] | None = None,
    compare: Sequence[str] = (),
) -> list[FoldResult]:
    """Refit the reference of a path in every fold, and repeat or reproject the path.

    Parameters
    ----------
    path : SearchPath
        The path of all rows.
    folds : list of Fold
    inside : bool
        Whether the search is repeated too, or the order of the path is used in every fold.
    n_jobs : int or None
    progress : bool
    choose_size : callable, optional
        From a fold's reference and path to a size: the validation inside the fold.
    checkpoint : callable, optional
        From the work on a fold to work that also writes its result.
    compare : sequence of str
        Plain models that are fitted to the inputs of the best submodels.
    """
    reference = path.reference
    kind, y = reference.training.kind, to_host(reference.training.y)
    for fold in folds:
        if (lack := kind.lacks(y[fold.train])) is not None:
            raise ValueError(f"the training rows of fold {fold.number} have {lack}")
    work: Work = partial(_in_fold, path, inside, choose_size, compare)
    if checkpoint is not None:
        work = checkpoint(work)
    with warnings.catch_warnings():
        # An input that varies in all rows may be constant in some: nothing the user can act on.
        # Said here and not in the workers, since threads share their filters.
        warnings.filterwarnings("ignore", ".*constant in X.*", UserWarning)
        if compare:  # nor of what plain models have not converged to
            warnings.filterwarnings("ignore", module=PLAIN_MODELS)
        title = "validation" if progress else None
        if checkpoint is not None:  # side by side all folds would finish at the end
            return run(work, folds, n_jobs, title, long=is_numpy(reference.training.X))
        return run_where(reference, work, folds, n_jobs, title, path.clusters)


def _in_fold(
    path: SearchPath, inside: bool, choose_size: Any, compare: Sequence[str], fold: Fold
) -> FoldResult:
    """Refit the reference and its path on the training rows, and predict the test rows."""
    training = path.reference.training
    own = raw_rows(training, fold.train)
    reference = path.reference.refit(*own)
    path = path.repeat_nearby(reference) if inside else path.reproject(reference)
    chosen = None if choose_size is None else choose_size(reference, path)
    sizes = range(len(path))
    better = [size for size in sizes if path.is_better(size)]
    # One after the other: each holds a matrix of all rows.
    models = chain(
        [reference],
        (path.best(size) for size in sizes),
        (path[size] for size in better),
    )
    new = raw_rows(training, fold.test)
    every = predictions(models, training.kind, new, fold.test, fold.number)
    lines = np.arange(1 + len(path))
    scores, along = every.models(lines), None
    if better:
        lines[1 + np.array(better)] = 1 + len(path) + np.arange(len(better))
        along = every.models(lines)
    compared = fitted_scores(compare, reference, path, own, new, scores)
    return FoldResult(scores, path.order, along, chosen, compared)


def nested_scores(results: Sequence[FoldResult]) -> Scores | None:
    """Return the predictions along the paths of all folds, where any of these has better sets."""
    if all(one.along is None for one in results):
        return None
    return joined([one.along or one.scores for one in results])


def compared_scores(results: Sequence[FoldResult], scores: Scores) -> dict[str, Scores]:
    """Return the predictions of plain models in all folds, in the rows of those of submodels."""
    every = {
        name: joined([result.compared[name] for result in results]) for name in results[0].compared
    }
    return {
        name: Scores(scores.rows, scores.fold, scores.y, one.mean, one.log_density)
        for name, one in every.items()
    }


def predictions(
    models: Iterable[Predictive], kind: TargetKind, new: RawRows, rows: Rows, fold: int
) -> Scores:
    """Return the predictions of new rows by several models, the reference first."""
    X, y, exposure, _ = new
    means: list[Host] = []
    densities: list[Host] = []
    divergences: list[Host] = []
    expected: ExpectedTargets | None = None
    for model in models:
        found = model.respond(X, exposure)
        means.append(to_host(found.moments().mean))
        densities.append(to_host(found.log_density(y)))
        if expected is None:  # the first one is the reference
            expected = expected_targets(found, kind)
        divergences.append(expected.divergence(found))
    label = np.full(rows.size, fold, dtype=np.intp)
    tables = (np.stack(lines) for lines in (means, densities, divergences))
    return Scores(rows, label, to_host(y), *tables)
