"""How many of the chosen inputs are useless: an estimate from copies that are useless for certain.

Every input gets a copy that tells nothing about the target, the reference is refitted to both, and
a search chooses among them. A useless input and its copy are alike, so that each is as likely as
the other to be chosen first: there are about as many useless inputs among those chosen as copies,

    share(k) = (copies chosen before the k-th input) / k.

Copies are Gaussian knockoffs (Candes et al., 2018), which are related to the other inputs as the
input is that they stand beside, or the inputs with rows in another order, which are related to
nothing. Permuted copies of inputs that are related to useful ones are too easy to tell from them,
so that the share comes out too small; knockoffs of inputs that are nearly functions of others are
nearly these inputs themselves, and take their places.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from gpproj.data import raw_rows
from gpproj.execute import run
from gpproj.linalg import Host, to_host
from gpproj.reference import Reference
from gpproj.search import forward_search
from gpproj.search.units import whole_number

if TYPE_CHECKING:
    import pandas as pd

Copies = Literal["knockoffs", "permuted"]

SHRINKAGE = 0.05
"""Share of the identity in the correlation matrix of inputs, which keeps it invertible."""


def false_selections(
    reference: Reference,
    max_inputs: int | None = None,
    *,
    copies: Copies = "knockoffs",
    repeats: int = 5,
    n_jobs: int | None = 1,
    random_state: int | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Estimate how many of the first inputs of a forward search are useless.

    Every repeat refits the reference to its inputs and as many copies, and searches them.

    Parameters
    ----------
    reference : Reference
        One that can be refitted.
    max_inputs : int, optional
        Largest number of inputs that is asked about; all of them when left out, ten at most.
    copies : {"knockoffs", "permuted"}
        Gaussian knockoffs, or the inputs with rows in another order.
    repeats : int
        How often copies are drawn.
    n_jobs : int or None
        Repeats at a time; -1 for all cores.
    random_state : int, optional
        Seed of the copies.
    progress : bool
        Show how many repeats are done, on standard error.

    Returns
    -------
    DataFrame
        Indexed by size: `share`, the estimated share of useless inputs among the first ones, its
        smallest and largest value over the repeats, and `copies`, how many were chosen before on
        average. A repeat that has not chosen so many inputs among twice as many steps counts with
        those it has.

    Examples
    --------
    >>> import gpproj
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 6))
    >>> ref = gpproj.fit(X, X[:, 0] + X[:, 1] + 0.2 * rng.standard_normal(100))
    >>> found = gpproj.false_selections(ref, 2, repeats=2, random_state=0, progress=False)
    >>> found["share"].tolist()
    [0.0, 0.0]
    """
    import pandas as pd

    if copies not in ("knockoffs", "permuted"):
        raise ValueError(f'copies must be "knockoffs" or "permuted", got {copies!r}')
    if whole_number("repeats", repeats) < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    d = reference.training.d
    most = min(d, 10) if max_inputs is None else whole_number("max_inputs", max_inputs)
    if not 1 <= most <= d:
        raise ValueError(f"max_inputs must be from 1 to {d}, got {max_inputs}")
    seeds = np.random.SeedSequence(random_state).spawn(repeats)
    work = partial(_copies_before, reference, most, copies)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of references that nobody will use
        found = run(work, seeds, n_jobs, "copies" if progress else None)
    before = np.stack(found)
    share = np.minimum(before / np.arange(1, most + 1), 1.0)
    return pd.DataFrame(
        {
            "share": share.mean(axis=0),
            "smallest": share.min(axis=0),
            "largest": share.max(axis=0),
            "copies": before.mean(axis=0),
        },
        index=pd.RangeIndex(1, most + 1, name="size"),
    )


def _copies_before(
    reference: Reference, most: int, copies: Copies, seed: np.random.SeedSequence
) -> Host:
    """Return how many copies are chosen before the k-th input, `(most,)`."""
    rng, d = np.random.default_rng(seed), reference.training.d
    X, y, exposure, groups = raw_rows(reference.training, np.arange(reference.training.n))
    own = to_host(X if not hasattr(X, "to_numpy") else X.to_numpy())
    make = knockoffs if copies == "knockoffs" else permuted
    both = np.concatenate([own, make(own, rng)], axis=1)
    wide = reference.refit(both, to_host(y), exposure, groups)
    path = forward_search(wide, min(2 * most, 2 * d), progress=False)
    is_copy = np.array(path.positions) >= d
    counted = np.cumsum(is_copy)[~is_copy][:most].astype(np.float64)
    missing = most - counted.size
    return np.append(counted, np.full(missing, float(is_copy.sum())))


def permuted(X: Host, rng: np.random.Generator) -> Host:
    """Return inputs with rows in another order, the same one for all of them."""
    return X[rng.permutation(len(X))]


def knockoffs(X: Host, rng: np.random.Generator) -> Host:
    """Return Gaussian knockoffs of inputs, with their marginal distributions.

    With Z the normal scores of the inputs, C their correlations, and s = min(1, 2 lambda_min(C)),
    copies are drawn from

        N(Z - s Z C^-1,  2 s I - s^2 C^-1),

    and mapped back to the values of the inputs by rank.
    """
    n, d = X.shape
    rank = np.argsort(np.argsort(X, axis=0, kind="stable"), axis=0, kind="stable")
    Z = ndtri((rank + 0.5) / n)
    C = (1.0 - SHRINKAGE) * (Z.T @ Z / n) + SHRINKAGE * np.eye(d)
    scale = np.sqrt(np.diag(C))
    Z, C = Z / scale, C / np.outer(scale, scale)
    values = np.linalg.eigvalsh(C)
    s = min(1.0, 2.0 * float(values[0]))
    inverse = cho_solve(cho_factor(C), np.eye(d))
    spread, axes = np.linalg.eigh(2.0 * s * np.eye(d) - s**2 * inverse)
    noise = rng.standard_normal((n, d)) * np.sqrt(np.maximum(spread, 0.0)) @ axes.T
    drawn = Z - s * Z @ inverse + noise
    place = np.argsort(np.argsort(drawn, axis=0, kind="stable"), axis=0, kind="stable")
    return np.take_along_axis(np.sort(X, axis=0), place, axis=0)
