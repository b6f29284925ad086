"""Lanes of different targets in one batch: the draws, clusters, folds or data sets of a device.

The processor takes lane after lane in any case; on a device the batch is the point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Array, Replays, is_numpy, like, namespace, room_for
from gpproj.reference.target import Target


class Lanes(NamedTuple):
    """What `Target` has, one row for each lane."""

    X: Array
    """`(b, n, d)`, or `(n, d)` where all lanes have the same."""
    latent_mean: Array
    """`(b, n)`."""
    root: Array
    """`(b, n, n)`."""
    site_precision: Array
    """`(b, n)`."""
    site_root: Array
    """`(b, n)`."""
    site_target: Array
    """`(b, n)`."""
    log_det: Array
    """`(b,)`."""
    constant: Array
    """`(b,)`."""
    nugget: Array
    """`(b, 1)`."""

    @property
    def site_scale(self) -> Array:
        """`tau^1/2 1 1' tau^1/2`, `(b, n, n)`."""
        return self.site_root[:, :, None] * self.site_root[:, None, :]

    def take(self, rows: Array) -> Lanes:
        """Return some of the rows, repeatedly if asked to; rows are on the device."""
        xp = namespace(rows)
        X, *others = self
        X = X if X.ndim == 2 else xp.take(X, rows, axis=0)
        return Lanes(X, *(xp.take(part, rows, axis=0) for part in others))


@dataclass(frozen=True, eq=False)
class Targets:
    """Several targets on a device, and which of them each lane is held to."""

    each: Lanes
    """Every target once."""
    owner: NDArray[np.intp]
    """`(b,)`."""
    replays: Replays
    """Evaluations that were recorded."""
    inducing: None = None

    @property
    def X(self) -> Array:
        """Their inputs, `(t, n, d)` or `(n, d)`."""
        return self.each.X

    def at(self, lanes: NDArray[np.intp] | slice) -> Targets:
        """Return what some of the lanes are held to."""
        return replace(self, owner=self.owner[lanes])


Held: TypeAlias = Target | Targets
"""What lanes are held to: all to one target, or each to its own."""


class Kept(dict[int, Any]):
    """Something on a device that can be made again: it does not travel with a pickle."""

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        """Pickle as new."""
        return Kept, ()


def go_together(one: Held, first: Held) -> bool:
    """Say whether targets go into one batch.

    They do if they have equally many rows and inputs, are on a device, and have no inducing points.
    """
    if is_numpy(one.X) or is_numpy(first.X) or one.inducing or first.inducing:
        return False
    return bool(one.X.shape[-2:] == first.X.shape[-2:] and one.X.device == first.X.device)


def side_by_side(targets: Sequence[Target]) -> Targets:
    """Return targets that go together as one, a lane for each."""
    return Targets(_lanes(targets), np.arange(len(targets)), Replays())


def _lanes(targets: Sequence[Target]) -> Lanes:
    """Return targets that go together, a lane for each."""
    first = targets[0]
    xp = namespace(first.X)

    def arrays(name: str) -> Array:
        return xp.stack([getattr(one, name) for one in targets], axis=0)

    def numbers(name: str) -> Array:
        return like([getattr(one, name) for one in targets], first.X)

    return Lanes(
        X=first.X if all(one.X is first.X for one in targets) else arrays("X"),
        latent_mean=arrays("latent_mean"),
        root=arrays("root"),
        site_precision=arrays("site_precision"),
        site_root=arrays("site_root"),
        site_target=arrays("site_target"),
        log_det=numbers("log_det"),
        constant=numbers("constant"),
        nugget=numbers("nugget")[:, None],
    )


REMEMBERED = 8
"""Companies that are kept at most; fewer where they are large."""


class Companies:
    """Targets that were put in one batch, to be found again: their recordings are worth keeping."""

    def __init__(self) -> None:
        self._known: list[_Company] = []

    def of(self, several: Sequence[Held], counts: Sequence[int]) -> Targets:
        """Return what the lanes of several are held to, one after the other.

        Parameters
        ----------
        several : sequence of Target or Targets
            That go together.
        counts : sequence of int
            Lanes of each.
        """
        members = [one.each if isinstance(one, Targets) else one for one in several]
        known = (one for one in self._known if all(id(member) in one.first for member in members))
        company = next(known, None)
        if company is None:
            company = _company(members)
            self._known = _some([company, *self._known])
        owner = [
            company.first[id(member)] + _owner(one, count)
            for member, one, count in zip(members, several, counts, strict=True)
        ]
        return replace(company.targets, owner=np.concatenate(owner))


def _some(companies: Sequence[_Company]) -> list[_Company]:
    """Return the latest companies: the first one, and others as long as there is room."""
    sizes = np.cumsum([one.size for one in companies])
    fitting = int(np.sum(sizes <= room_for(companies[0].targets.X)))
    return list(companies[: min(max(fitting, 1), REMEMBERED)])


class _Company(NamedTuple):
    members: Sequence[Target | Lanes]
    first: dict[int, int]
    """Where each member begins among the targets, by its identity."""
    targets: Targets

    @property
    def size(self) -> int:
        """Numbers in its largest array."""
        return math.prod(self.targets.each.root.shape)


def _company(members: Sequence[Target | Lanes]) -> _Company:
    different = list({id(one): one for one in members}.values())
    parts = [one if isinstance(one, Lanes) else _lanes([one]) for one in different]
    sizes = [int(part.log_det.shape[0]) for part in parts]
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    first = {id(one): start for one, start in zip(different, starts, strict=True)}
    targets = Targets(_joined(parts, sizes), np.arange(sum(sizes)), Replays())
    return _Company(different, first, targets)


def _joined(parts: Sequence[Lanes], sizes: Sequence[int]) -> Lanes:
    """Return lanes one after the other."""
    xp = namespace(parts[0].X)
    X = parts[0].X
    if not all(part.X is X for part in parts):
        own = zip(parts, sizes, strict=True)
        X = xp.concat([_of_each(part.X, size) for part, size in own], axis=0)
    others = (
        xp.concat(list(arrays), axis=0) for arrays in zip(*(p[1:] for p in parts), strict=True)
    )
    return Lanes(X, *others)


def _of_each(X: Array, size: int) -> Array:
    """Return inputs for each of the targets, `(t, n, d)`."""
    return X if X.ndim == 3 else namespace(X).broadcast_to(X[None, :, :], (size, *X.shape))


def _owner(one: Held, count: int) -> NDArray[np.intp]:
    return one.owner if isinstance(one, Targets) else np.zeros(count, dtype=np.intp)
