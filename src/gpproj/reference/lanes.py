"""Lanes of different targets in one batch: the draws, clusters, folds or data sets of a device.

The processor takes lane after lane in any case; on a device the batch is the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Array, Blocks, Replays, is_numpy, like, namespace, room_for
from gpproj.reference.target import LeftOut, Target


class Lanes(NamedTuple):
    """What `Target` has, one row for each lane."""

    X: Array
    """`(b, n, d)`, or `(n, d)` where all lanes have the same."""
    site_precision: Array
    """`(b, n)`."""
    site_root: Array
    """`(b, n)`."""
    site_target: Array
    """`(b, n)`."""
    nugget: Array
    """`(b, 1)`."""
    latent_mean: Array
    """`(b, n)`."""
    root: Array
    """`(b, n, n)`."""
    log_det: Array
    """`(b,)`."""
    constant: Array
    """`(b,)`."""

    @property
    def site_scale(self) -> Array:
        """`tau^1/2 1 1' tau^1/2`, `(b, n, n)`."""
        return self.site_root[:, :, None] * self.site_root[:, None, :]


class LeftOutLanes(NamedTuple):
    """What `LeftOut` has, one row for each lane."""

    X: Array
    """`(b, u, d)`, or `(u, d)` where all lanes have the same."""
    site_precision: Array
    """`(b, u)`."""
    site_root: Array
    """`(b, u)`."""
    site_target: Array
    """`(b, u)`."""
    nugget: Array
    """`(b, 1)`."""
    mean: Array
    """`(b, u)`."""
    variance: Array
    """`(b, u)`."""
    count: Array
    """`(b, u)`."""
    latent: Array
    """`(b, u)`."""

    @property
    def blocks(self) -> None:
        """Rows that leave in groups are never side by side with others."""
        return None

    @property
    def site_scale(self) -> Array:
        """`tau^1/2 1 1' tau^1/2`, `(b, u, u)`."""
        return self.site_root[:, :, None] * self.site_root[:, None, :]


class Group:
    """Several targets side by side on a device: their arrays, and what was recorded of them.

    Parameters
    ----------
    members : sequence of Target, or of LeftOut
        That go together.
    """

    def __init__(self, members: Sequence[Target | LeftOut]) -> None:
        self.members = tuple(members)
        self.replays = Replays()

    @cached_property
    def each(self) -> Lanes | LeftOutLanes:
        """Every target once."""
        kind: Any = Lanes if isinstance(self.members[0], Target) else LeftOutLanes
        found: Lanes | LeftOutLanes = kind(**{name: self._stacked(name) for name in kind._fields})
        return found

    def _stacked(self, name: str) -> Array:
        first, values = self.members[0], [getattr(one, name) for one in self.members]
        if name == "X" and all(one is values[0] for one in values):
            return values[0]
        if hasattr(values[0], "shape"):
            return namespace(first.X).stack(values, axis=0)
        numbers = like(values, first.X)
        return numbers[:, None] if name == "nugget" else numbers

    @cached_property
    def left_out(self) -> Group:
        """The predictions of single rows by all of them."""
        known = (one.left_out for one in self.members if isinstance(one, Target))
        return Group([one for one in known if one is not None])

    @property
    def size(self) -> int:
        """Numbers in its largest array."""
        return len(self.members) * int(self.members[0].X.shape[0]) ** 2


@dataclass(frozen=True, eq=False)
class Targets:
    """Several targets on a device, and which of them each lane is compared with."""

    group: Group
    owner: NDArray[np.intp]
    """`(b,)`."""
    inducing: None = None

    @property
    def X(self) -> Array:
        """Their inputs, `(t, n, d)` or `(n, d)`."""
        return self.group.each.X

    @property
    def replays(self) -> Replays:
        """Evaluations that were recorded."""
        return self.group.replays

    @property
    def left_out(self) -> Targets:
        """The same lanes, compared by predictions of single rows."""
        return Targets(self.group.left_out, self.owner)

    def take(self, owner: Array) -> Any:
        """Return what lanes are compared with, `Lanes` or `LeftOutLanes`; owners on the device."""
        xp, each = namespace(owner), self.group.each
        X, *others = each
        X = X if X.ndim == 2 else xp.take(X, owner, axis=0)
        return type(each)(X, *(xp.take(part, owner, axis=0) for part in others))

    def at(self, lanes: NDArray[np.intp] | slice) -> Targets:
        """Return what some of the lanes are compared with."""
        return replace(self, owner=self.owner[lanes])


Held: TypeAlias = Target | LeftOut | Targets
"""What lanes are compared with: all with one target, or each with its own."""


class Kept(dict[int, Any]):
    """Something on a device that can be made again: it does not travel with a pickle."""

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        """Pickle as new."""
        return Kept, ()


def go_together(one: Held, first: Held) -> bool:
    """Say whether targets go into one batch.

    They do if they are of one kind, have equally many rows and inputs, are on a device, and have
    neither inducing points nor groups of rows that leave together.
    """
    if is_numpy(one.X) or is_numpy(first.X) or one.inducing or first.inducing:
        return False
    if any(blocks_of(member) for held in (one, first) for member in _members(held)):
        return False
    kinds = {isinstance(member, Target) for held in (one, first) for member in _members(held)[:1]}
    same = one.X.shape[-2:] == first.X.shape[-2:] and one.X.device == first.X.device
    return bool(same and len(kinds) == 1)


def blocks_of(held: Target | LeftOut) -> Blocks | None:
    """Return the groups of rows that leave together, if there are any."""
    own = held.left_out if isinstance(held, Target) else held
    return None if own is None else own.blocks


def _members(held: Held) -> Sequence[Target | LeftOut]:
    return held.group.members if isinstance(held, Targets) else [held]


def side_by_side(targets: Sequence[Target]) -> Targets:
    """Return targets that go together as one, a lane for each."""
    return Targets(Group(targets), np.arange(len(targets)))


REMEMBERED = 8
"""Groups that are kept at most; fewer where they are large."""


class Groups:
    """Targets that were put in one batch, to be found again: their recordings are worth keeping."""

    def __init__(self) -> None:
        self._known: list[Group] = []

    def of(self, several: Sequence[Held], counts: Sequence[int]) -> Targets:
        """Return what the lanes of several are compared with, one after the other.

        Parameters
        ----------
        several : sequence of Target, LeftOut or Targets
            That go together.
        counts : sequence of int
            Lanes of each.
        """
        wanted = {id(member): member for held in several for member in _members(held)}
        known = (one for one in self._known if wanted.keys() <= set(map(id, one.members)))
        group = next(known, None)
        if group is None:
            group = Group(list(wanted.values()))
            self._known = _some([group, *self._known])
        place = {id(member): number for number, member in enumerate(group.members)}
        owner = []
        for held, count in zip(several, counts, strict=True):
            own = np.array([place[id(member)] for member in _members(held)])
            single = np.zeros(count, dtype=np.intp)
            owner.append(own[held.owner if isinstance(held, Targets) else single])
        return Targets(group, np.concatenate(owner))


def _some(groups: Sequence[Group]) -> list[Group]:
    """Return the latest groups: the first one, and others as long as there is room."""
    sizes = np.cumsum([one.size for one in groups])
    fitting = int(np.sum(sizes <= room_for(groups[0].members[0].X)))
    return list(groups[: min(max(fitting, 1), REMEMBERED)])
