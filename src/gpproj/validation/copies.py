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

from gpproj.data import raw_rows
from gpproj.linalg import Host, to_host
from gpproj.projection import CriterionName, Learn
from gpproj.reference import Reference, run_where
from gpproj.search import SearchPath, forward_search
from gpproj.search.strategies import Strategy
from gpproj.search.units import Inputs, Unit, units_of, whole_number
from gpproj.validation.knockoffs import knockoffs

if TYPE_CHECKING:
    import pandas as pd

Copies = Literal["knockoffs", "permuted"]
Maker: TypeAlias = Callable[[Host, np.random.Generator], Host]

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
    random_state: int | np.random.Generator | None = None,
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
    random_state : int or Generator, optional
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
    seeds = np.random.default_rng(random_state).spawn(repeats)
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
    rng: np.random.Generator,
) -> Host:
    """Return one estimate of the useless units among the first k, `(most,)`."""
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
