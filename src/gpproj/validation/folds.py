"""K-fold validation: fit, search and predict anew, each time without some of the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.data import Rows as RawRows
from gpproj.data import raw_rows, read_row_groups
from gpproj.execute import run
from gpproj.linalg import Host, to_host
from gpproj.prediction import Predictive
from gpproj.reference import Reference, run_where
from gpproj.search import SearchPath
from gpproj.validation.scores import Scores, joined

Rows = NDArray[np.intp]


class Fold(NamedTuple):
    """One repetition of everything without some of the rows."""

    number: int
    train: Rows
    test: Rows


class FoldResult(NamedTuple):
    """What a fold has found."""

    scores: Scores
    """Of the best submodels of each size."""
    order: tuple[str, ...]
    """Inputs, or groups of them, in the order they entered."""
    along: Scores | None = None
    """Of the submodels along the path, where some are others."""
    chosen: int | None = None
    """The size that a validation inside the fold suggests."""


Work: TypeAlias = Callable[[Fold], FoldResult]


def folds_of(reference: Reference, folds: Any, groups: Any, random_state: Any) -> list[Fold]:
    """Return the folds that a number, a splitter of scikit-learn or a list of pairs stands for.

    A number stands for random folds; of class targets, with about the same share of each class, and
    of counts with about the same share of zeros. Groups of rows stay together.
    """
    training = reference.training
    n, y = training.n, to_host(training.y)
    splitter = folds
    groups = training.row_groups if groups is None else read_row_groups(groups, n)
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        most, what = (n, "rows") if groups is None else (int(groups.max()) + 1, "groups of rows")
        if not 2 <= folds <= most:
            raise ValueError(f"folds must be from 2 to the number of {what}, {most}; got {folds}")
        classes = training.kind.strata(y)
        y = y if classes is None else classes
        if groups is None:
            splitter = _random_folds(int(folds), classes, random_state)
        else:
            splitter = _grouped_folds(int(folds), classes, random_state)
    text = isinstance(splitter, (str, bytes))  # which have a method `split` too
    if hasattr(splitter, "split") and not text:
        pairs: Iterable[Any] = splitter.split(np.zeros((n, 1)), y, groups)
    elif isinstance(splitter, Iterable) and not text:
        pairs = splitter
    else:
        raise TypeError(
            "folds must be a number, a splitter of scikit-learn or pairs of training and test "
            f"rows; got {folds!r}"
        )
    found = []
    for number, pair in enumerate(pairs):
        train, test = _rows_of(pair, n)
        if np.intersect1d(train, test).size or not (train.size and test.size):
            raise ValueError("folds must be pairs of training and test rows that share none")
        found.append(Fold(number, train, test))
    if not found:
        raise ValueError("folds must give at least one pair of training and test rows")
    return found


def _random_folds(folds: int, classes: Host | None, random_state: Any) -> Any:
    """Return a splitter into random folds that have about the same share of each class, if any."""
    from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold
    from sklearn.utils import check_random_state

    if classes is None:
        return KFold(folds, shuffle=True, random_state=random_state)
    if folds <= np.unique(classes, return_counts=True)[1].min():
        return StratifiedKFold(folds, shuffle=True, random_state=random_state)
    # It warns of more folds than a class has members, and may refuse them. Dealt out in turn, class
    # after class, the rows of each are in as many folds as can be.
    shuffled = check_random_state(random_state).permutation(classes.size)
    order = shuffled[np.argsort(classes[shuffled], kind="stable")]
    place = np.empty(classes.size, dtype=np.intp)
    place[order] = np.arange(classes.size) % folds
    return PredefinedSplit(place)


def _grouped_folds(folds: int, classes: Host | None, random_state: Any) -> Any:
    """Return a splitter into random folds that keep groups of rows together."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    kind = GroupKFold if classes is None else StratifiedGroupKFold
    return kind(folds, shuffle=True, random_state=random_state)


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
    return train.astype(np.intp), test.astype(np.intp)


def leave_one_out_folds(n: int, points: Rows) -> list[Fold]:
    """Return folds of one row each."""
    everyone = np.arange(n)
    return [
        Fold(number, np.delete(everyone, point), np.array([point]))
        for number, point in enumerate(points)
    ]


def validate_folds(
    reference: Reference,
    path: SearchPath,
    folds: list[Fold],
    inside: bool,
    n_jobs: int | None,
    progress: bool,
    choose: Any = None,
    keep: Callable[[Work], Work] | None = None,
) -> list[FoldResult]:
    """Repeat everything in every fold.

    Parameters
    ----------
    reference : Reference
    path : SearchPath
        Of all rows.
    folds : list of Fold
    inside : bool
        Whether the search is repeated too, or the order of the path kept.
    n_jobs : int or None
    progress : bool
    choose : callable, optional
        From a fold's reference and path to a size: the validation inside the fold.
    keep : callable, optional
        Makes work that is kept as it finishes out of work that is not.
    """
    _check_teaching(reference, folds)
    work: Work = partial(_in_fold, reference, path, inside, choose)
    if keep is not None:
        work = keep(work)
    with warnings.catch_warnings():
        # An input that varies in all rows may be constant in some: nothing the user can act on.
        # Said here and not in the workers, since threads share their filters.
        warnings.filterwarnings("ignore", ".*constant in X.*", UserWarning)
        title = "validation" if progress else None
        if keep is not None:  # side by side all would finish at the end
            return run(work, folds, n_jobs, title)
        return run_where(reference, work, folds, n_jobs, title, path.clusters)


def _check_teaching(reference: Reference, folds: list[Fold]) -> None:
    """Refuse folds that leave a single class, or no event, to learn from."""
    kind, y = reference.training.kind, to_host(reference.training.y)
    for fold in folds:
        if (lack := kind.lacks(y[fold.train])) is not None:
            raise ValueError(f"the training rows of fold {fold.number} have {lack}")


def _in_fold(
    reference: Reference, path: SearchPath, inside: bool, choose: Any, fold: Fold
) -> FoldResult:
    own = reference.refit(*raw_rows(reference.training, fold.train))
    found = path.again(own) if inside else path.along(own)
    chosen = None if choose is None else choose(own, found)
    new, sizes = raw_rows(reference.training, fold.test), range(len(found))
    best: list[Predictive] = [own, *(found.best(size) for size in sizes)]
    scores, along = predictions(best, new, fold.test, fold.number), None
    if any(found.is_better(size) for size in sizes):
        nested: list[Predictive] = [own, *(found[size] for size in sizes)]
        along = predictions(nested, new, fold.test, fold.number)
    return FoldResult(scores, found.order, along, chosen)


def along_of(results: Sequence[FoldResult]) -> Scores | None:
    """Return the predictions along the paths of all folds, where any has better sets besides."""
    if all(one.along is None for one in results):
        return None
    return joined([one.along or one.scores for one in results])


def predictions(models: list[Predictive], new: RawRows, rows: Rows, fold: int) -> Scores:
    """Return what models say of rows that they have not seen."""
    X, y, exposure, _ = new
    means: list[Host] = [to_host(model.predict_response(X, exposure).mean) for model in models]
    densities: list[Host] = [to_host(model.log_density(X, y, exposure)) for model in models]
    label = np.full(rows.size, fold, dtype=np.intp)
    return Scores(rows, label, to_host(y), np.stack(means), np.stack(densities))
