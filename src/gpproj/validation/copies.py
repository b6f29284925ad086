"""How many of the chosen inputs are useless: an estimate from copies that are useless for certain.

Every input gets a copy that tells nothing about the target, the reference is refitted to both, and
a search chooses among them. A useless input and its copy are alike: whichever of the two enters
first, it is the copy with probability 1/2, whatever has entered before. So of the useless inputs
that are in, as many are expected to have come before their copies as there are copies that came
before their inputs; those that came after their copies are seen. With both, when the k-th input
enters,

    share(k) = (copies before their inputs + inputs after their copies) / k

is expected to be the share of useless inputs among k, plus what comes of useful ones that are
beaten by their own copies. (Copies that follow their inputs are not counted: those of useful inputs
do so, and nothing is expected to balance them. There is no one in the numerator as in the knockoff
filter of Candes et al., 2018, since this is an estimate and no bound.)

Copies are Gaussian knockoffs (Candes et al., 2018), which are related to the other inputs as the
input is that they stand beside, or the inputs with rows in another order, which are related to
nothing. Permuted copies of useless inputs that are related to useful ones are chosen too seldom,
so that the share comes out too small; knockoffs of inputs that are nearly functions of others are
nearly these inputs themselves and beat them half of the time, so that it comes out too large.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from gpproj.data import raw_rows
from gpproj.linalg import Host, to_host
from gpproj.projection import CriterionName, Learn
from gpproj.reference import Reference, run_where
from gpproj.search import SearchPath, forward_search
from gpproj.search.strategies import Strategy
from gpproj.search.units import Inputs, Unit, units_of, whole_number

if TYPE_CHECKING:
    import pandas as pd

Copies = Literal["knockoffs", "permuted"]
Maker: TypeAlias = Callable[[Host, np.random.Generator], Host]

LEAST_VARIANCE = (1e-4, 0.3)
"""Smallest eigenvalue of correlations: since columns may be equal; and with no more rows than
columns, where samples have directions without any variance by chance. Of 60 columns and 40 rows, a
tenth took 0.06 to 0.14 too many inputs for useless, and this 0.01 to 0.09."""

SWEEPS = 20
"""Rounds in which the scores of equal values are drawn, and correlations estimated from them."""

SETTLED = 1e-4
"""Change of a conditional variance, as a share of the largest, below which it is solved for."""

MORE_THAN_CHANCE = 10.0
"""Times as many equal rows as independent inputs would have: rows are repeated by design then."""


class Wide(NamedTuple):
    """Inputs and copies side by side, in random order."""

    X: Host
    """`(n, d + c)`: without copies of inputs that are always in."""
    inputs: NDArray[np.intp]
    """`(d,)`: where each input is."""
    copies: dict[int, int]
    """Where the copy of an input is."""


def false_selections(
    reference: Reference,
    max_inputs: int | None = None,
    *,
    copies: Copies = "knockoffs",
    repeats: int = 5,
    strategy: Strategy = "race",
    learn: Learn = "loo",
    criterion: CriterionName | None = None,
    groups: Mapping[str, Inputs] | None = None,
    always: Inputs = (),
    n_jobs: int | None = 1,
    random_state: int | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Estimate how many of the first inputs of a forward search are useless.

    Every repeat refits the reference to its inputs and as many copies of them that tell nothing,
    and searches both until enough inputs are in. An input is useless if it adds nothing to what the
    others tell. The share is that among the inputs which such a search chooses, where the copies
    compete; a search without copies chooses about the same ones, and somewhat fewer useless ones.

    Parameters
    ----------
    reference : Reference
        One that can be refitted, to twice as many inputs.
    max_inputs : int, optional
        Largest number of inputs, or groups, that is asked about; all of them when left out, ten at
        most.
    copies : {"knockoffs", "permuted"}
        Gaussian knockoffs, or the inputs with rows in another order, which are right only for
        inputs that are independent.
    repeats : int
        How often copies are drawn.
    strategy, learn, criterion, groups, always
        As for `gpproj.forward_search`. A group is copied as a whole; inputs that are always in have
        no copies, and are not counted.
    n_jobs : int or None
        Repeats at a time; -1 for all cores.
    random_state : int, optional
        Seed of the copies.
    progress : bool
        Show how many repeats are done, on standard error.

    Returns
    -------
    DataFrame
        Indexed by size: `share`, the estimated share of useless inputs among the first ones, one at
        most; `smallest` and `largest`, what single repeats say; and `useless`, the estimated number
        of such inputs, which is not cut off.

    Notes
    -----
    The estimate averages over data sets, and single ones scatter: it is no bound for the data at
    hand. Rows are taken to be independent, but for those that are repeated by design, whose copies
    are equal too; references with groups of rows are refused.

    References
    ----------
    Candes, Fan, Janson and Lv (2018), Panning for gold: model-X knockoffs for high dimensional
    controlled variable selection. Journal of the Royal Statistical Society B 80, 551-577.

    Examples
    --------
    >>> import gpproj
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> ref = gpproj.fit(X, X[:, 0] + X[:, 1] + 0.2 * rng.standard_normal(60))
    >>> found = gpproj.false_selections(ref, 2, repeats=1, random_state=0, progress=False)
    >>> found["share"].tolist()
    [0.0, 0.0]
    """
    import pandas as pd

    if copies not in ("knockoffs", "permuted"):
        raise ValueError(f'copies must be "knockoffs" or "permuted", got {copies!r}')
    if whole_number("repeats", repeats) < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    forced, units = units_of(reference, groups, always)
    most = min(len(units), 10) if max_inputs is None else whole_number("max_inputs", max_inputs)
    if not 1 <= most <= len(units):
        raise ValueError(f"max_inputs must be from 1 to {len(units)}, got {max_inputs}")
    if reference.recipe is None:
        raise ValueError(
            "reference: it has to be refitted to inputs and copies, and does not know how it was "
            "made; give the function that made it refit= (see the docs, howto/own-reference), or "
            "make the reference by gpproj.fit"
        )
    if reference.training.row_groups is not None:
        raise ValueError(
            "reference: copies take rows to be independent, and this one has groups of rows, which "
            "inputs tell and copies do not; see reference.with_row_groups(None)"
        )
    # Other sets of the same size are not asked about.
    search = partial(
        forward_search,
        strategy=strategy,
        learn=learn,
        criterion=criterion,
        exchange=False,
        progress=False,
    )
    seeds = np.random.SeedSequence(random_state).spawn(repeats)
    work = partial(_useless, reference, most, copies, units, forced, search)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of references that nobody will use
        found = run_where(reference, work, seeds, n_jobs, "copies" if progress else None)
    useless, size = np.stack(found), np.arange(1, most + 1)
    # The mean before it is cut off: a repeat alone may count more than there are.
    single = np.minimum(useless / size, 1.0)
    return pd.DataFrame(
        {
            "share": np.minimum(useless.mean(axis=0) / size, 1.0),
            "smallest": single.min(axis=0),
            "largest": single.max(axis=0),
            "useless": useless.mean(axis=0),
        },
        index=pd.RangeIndex(1, most + 1, name="size"),
    )


def _useless(
    reference: Reference,
    most: int,
    copies: Copies,
    units: tuple[Unit, ...],
    forced: tuple[int, ...],
    search: partial[SearchPath],
    seed: np.random.SeedSequence,
) -> Host:
    """Return one estimate of the useless units among the first k, `(most,)`."""
    rng = np.random.default_rng(seed)
    X, y, exposure, _ = raw_rows(reference.training, np.arange(reference.training.n))
    X = to_host(X.to_numpy() if hasattr(X, "to_numpy") else X)
    wide = _wide(X, copies, forced, rng)
    refitted = _refitted(reference, wide.X, to_host(y), exposure)
    unit_of: dict[int, tuple[str, bool]] = {}
    grouped: dict[str, list[int]] = {}
    for number, (name, positions, _) in enumerate(units):
        own = [int(wide.inputs[j]) for j in positions], [wide.copies[j] for j in positions]
        for is_copy, columns in enumerate(own):
            unit_of |= {column: (name, bool(is_copy)) for column in columns}
            if len(columns) > 1:
                grouped[f"group {number}, {('inputs', 'copies')[is_copy]}"] = columns
    again = partial(search, groups=grouped, always=[int(wide.inputs[j]) for j in forced])
    steps = most
    path = again(refitted, steps)
    while True:
        entered = [unit_of[unit.positions[0]] for unit in path.units]
        counted = useless_counts(entered)
        missing = most - counted.size
        if missing <= 0:
            return counted[:most]
        # Of useless inputs and copies every second one is an input; going on has its price too.
        steps = min(steps + 2 * missing, 2 * len(units))
        path = again(refitted, steps, extend=path)


def useless_counts(entered: list[tuple[str, bool]]) -> Host:
    """Return the estimated number of useless units at each one that entered, `(k,)`.

    Parameters
    ----------
    entered : list of (name, is_copy)
        Units and copies of them, in their order.

    Examples
    --------
    >>> useless_counts([("a", False), ("b", True), ("a", True), ("c", False), ("b", False)])
    array([0., 1., 2.])
    """
    seen: set[tuple[str, bool]] = set()
    count, counts = 0, []
    for name, is_copy in entered:
        # A copy before its input, or an input after its copy.
        count += is_copy != ((name, not is_copy) in seen)
        seen.add((name, is_copy))
        if not is_copy:
            counts.append(count)
    return np.array(counts, dtype=np.float64)


def _wide(X: Host, copies: Copies, forced: tuple[int, ...], rng: np.random.Generator) -> Wide:
    """Return inputs and copies in random order, so that columns that tie are alike."""
    d = X.shape[1]
    make = knockoffs if copies == "knockoffs" else permuted
    copied = [j for j in range(d) if j not in forced]
    both = np.concatenate([X, _by_distinct_rows(make, X, rng)[:, copied]], axis=1)
    order = rng.permutation(both.shape[1])
    place = np.argsort(order)
    return Wide(
        both[:, order],
        place[:d],
        {j: int(place[d + number]) for number, j in enumerate(copied)},
    )


def _refitted(reference: Reference, X: Host, y: Host, exposure: Host | None) -> Reference:
    """Return the reference of inputs and copies, or say that its recipe makes none."""
    width = X.shape[1]
    try:
        found = reference.refit(X, y, exposure)
    except (ValueError, TypeError, IndexError, KeyError) as error:
        raise ValueError(
            f"reference: it has to be refitted to inputs and copies, an array of {width} columns, "
            f"and its recipe is for {reference.training.d} (a kernel or a prior with a number for "
            f"each input, or columns by name?): {error}"
        ) from error
    if found.training.d != width:
        raise ValueError(
            f"reference: refitted to inputs and copies, an array of {width} columns, it has "
            f"{found.training.d} inputs; its recipe must take all that it is given"
        )
    return found


def _by_distinct_rows(make: Maker, X: Host, rng: np.random.Generator) -> Host:
    """Return copies, of which rows that are repeated by design have equal ones.

    What an input could tell about such rows, which one a row repeats, its copy has to tell as well.
    Inputs with few values have equal rows by chance: those are rows of their own.
    """
    distinct, label, count = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    by_chance = 1.0
    for column in X.T:
        by_chance *= np.sum((np.unique(column, return_counts=True)[1] / len(X)) ** 2)
    equal = np.sum(count * (count - 1.0))
    if len(distinct) < 2 or equal <= MORE_THAN_CHANCE * by_chance * len(X) ** 2:
        return make(X, rng)
    return make(distinct, rng)[label.ravel()]


def permuted(X: Host, rng: np.random.Generator) -> Host:
    """Return inputs with rows in another order, the same one for all of them."""
    return X[rng.permutation(len(X))]


def knockoffs(X: Host, rng: np.random.Generator) -> Host:
    """Return Gaussian knockoffs of inputs, with their marginal distributions.

    With Z the normal scores of the inputs, C their correlations and S = diag(s), copies are drawn
    from

        N(Z - Z C^-1 S,  2 S - S C^-1 S),

    and mapped back to the values of the inputs by rank. Columns are correlated with all others as
    those they are copies of, and with the latter by 1 - s. Constant columns stay as they are.
    """
    varying = np.ptp(X, axis=0) > 0.0
    if not varying.any():
        return X.copy()
    Z, C = normal_scores(X[:, varying], rng)
    s = independent_parts(C)
    # C^-1 S, and a root of 2 S - S C^-1 S, which rounding may leave indefinite.
    part = np.linalg.solve(C, np.diag(s))
    values, axes = np.linalg.eigh(2.0 * np.diag(s) - s[:, None] * part)
    noise = (rng.standard_normal(Z.shape) * np.sqrt(np.maximum(values, 0.0))) @ axes.T
    rank = np.argsort(np.argsort(Z - Z @ part + noise, axis=0), axis=0)
    found = X.copy()
    found[:, varying] = np.take_along_axis(np.sort(X[:, varying], axis=0), rank, axis=0)
    return found


def independent_parts(C: Host) -> Host:
    """Return 1 less the correlation of each column with its copy, `(d,)`.

    Those of the copies with the largest entropy (Gimenez and Zou, 2019),

        max  log det(2 C - S) + sum_j log s_j,   where   s_j = 1 / ((2 C - S)^-1)_jj,

    which is solved for one column after the other. An s that is the same for all columns, as large
    as can be, would make all copies useless where two columns are nearly equal; the smallest
    correlations with the copies would let inputs be recovered from the others and their copies.
    """
    s = np.full(len(C), min(1.0, float(np.linalg.eigvalsh(C)[0])))
    change = 1.0
    while change > SETTLED * s.max():
        change = 0.0
        P = np.linalg.inv(2.0 * C - np.diag(s))  # anew, so that rounding does not add up
        for j in range(len(C)):
            step = 0.5 * (1.0 / P[j, j] - s[j])
            s[j] += step
            # (D - step e e')^-1 with P = D^-1, by Sherman and Morrison
            P += (step / (1.0 - step * P[j, j])) * np.outer(P[j], P[j])
            change = max(change, abs(step))
    return s


def normal_scores(X: Host, rng: np.random.Generator) -> tuple[Host, Host]:
    """Return normal scores of columns that vary, `(n, d)`, and their correlations, `(d, d)`.

    Equal values share an interval of scores. Which one each row has is drawn given the others, in
    turn with the correlations, as for the Gaussian copula of Hoff (2007): scores that ignore the
    others would make columns of few values seem less related than they are.
    """
    n, d = X.shape
    order = np.lexsort((rng.random((n, d)), X), axis=0)
    rank = np.argsort(order, axis=0)
    Z = ndtri((rank + 0.5) / n)
    tied = []
    for j in range(d):
        values, label, count = np.unique(X[:, j], return_inverse=True, return_counts=True)
        if values.size < n:
            edges = ndtri(np.concatenate([[0], np.cumsum(count)]) / n)
            tied.append((j, edges[label], edges[label + 1]))
    C = _correlations(Z)
    for _ in range(SWEEPS if tied and d > 1 else 0):
        P = np.linalg.inv(C)
        Z /= np.sqrt(np.mean(Z**2, axis=0))
        for j, low, high in tied:
            sd = P[j, j] ** -0.5
            mean = Z[:, j] - Z @ P[:, j] / P[j, j]
            Z[:, j] = mean + sd * _between((low - mean) / sd, (high - mean) / sd, rng)
        C = _correlations(Z)
    return Z / np.sqrt(np.mean(Z**2, axis=0)), C


def _between(low: Host, high: Host, rng: np.random.Generator) -> Host:
    """Return standard normal numbers between bounds, `(n,)`."""
    flip = low > -high  # the lower tail has more digits
    below, above = np.where(flip, -high, low), np.where(flip, -low, high)
    part = ndtr(below)
    drawn = ndtri(part + rng.random(low.size) * (ndtr(above) - part))
    drawn = np.clip(drawn, np.maximum(below, -40.0), above)
    found: Host = np.where(flip, -drawn, drawn)
    return found


def _correlations(Z: Host) -> Host:
    """Return correlations of scores, each shrunk by as much as it may be chance.

    By the garrote of Breiman (1995), r becomes r (1 - v / r^2), or zero, with its sampling variance
    v = (1 - r^2)^2 / n: those that are chance all but go, so that copies may differ from their
    inputs, and strong ones stay. One share for all, such as that of Ledoit and Wolf (2004), takes
    too much from a few strong ones among many that are chance: copies are then less related to
    useful inputs than useless inputs are, and are chosen too seldom.
    """
    n, d = Z.shape
    Z = Z / np.sqrt(np.mean(Z**2, axis=0))
    R = Z.T @ Z / n
    C: Host = R * np.maximum(1.0 - (1.0 - R**2) ** 2 / (n * np.maximum(R**2, 1.0 / n**2)), 0.0)
    np.fill_diagonal(C, 1.0)
    # Together they may be too small in some direction, or negative: no smaller than they were.
    least = LEAST_VARIANCE[1]
    if n > d:
        least = float(np.clip(np.linalg.eigvalsh(R)[0], *LEAST_VARIANCE))
    lack = max(least - float(np.linalg.eigvalsh(C)[0]), 0.0)
    share = lack / (1.0 - least + lack)
    return (1.0 - share) * C + share * np.eye(d)
