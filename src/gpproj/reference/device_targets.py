"""Several targets stacked into one batch, which is how a device projects onto them at once.

The targets are those of draws, clusters, folds or data sets. Each is projected onto by a batch of
optimisations that run in lock-step; a lane is one entry of such a batch. With NumPy lanes are
evaluated one after the other, and nothing is gained by stacking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Array, Blocks, Replays, is_numpy, like, namespace, room_for
from gpproj.reference.target import LeaveOneOut, Target


@dataclass(frozen=True, eq=False, kw_only=True)
class StackedRows:
    """The arrays of several `SiteRows`, one row for each of them."""

    X: Array
    """`(b, n, d)`, or `(n, d)` where all have the same inputs."""
    site_precision: Array
    """`(b, n)`."""
    site_root: Array
    """`(b, n)`."""
    site_target: Array
    """`(b, n)`."""
    nugget: Array
    """`(b, 1)`."""

    @property
    def site_scale(self) -> Array:
        """`tau^1/2 1 1' tau^1/2`, `(b, n, n)`."""
        return self.site_root[:, :, None] * self.site_root[:, None, :]


@dataclass(frozen=True, eq=False, kw_only=True)
class StackedTargets(StackedRows):
    """The arrays of several `Target`s, one row for each of them."""

    latent_mean: Array
    """`(b, n)`."""
    root: Array
    """`(b, n, n)`."""
    log_det: Array
    """`(b,)`."""
    constant: Array
    """`(b,)`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StackedLeaveOneOut(StackedRows):
    """The arrays of several `LeaveOneOut`s with u distinct rows, one row for each of them."""

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
        """Rows that leave in groups are never stacked."""
        return None


class TargetStack:
    """Several targets on a device: their stacked arrays, and the recordings of work on them.

    Parameters
    ----------
    members : sequence of Target, or of LeaveOneOut
        Targets that `can_be_stacked`.
    """

    def __init__(self, members: Sequence[Target | LeaveOneOut]) -> None:
        self.members = tuple(members)
        self.replays = Replays()

    @cached_property
    def arrays(self) -> StackedTargets | StackedLeaveOneOut:
        """The arrays of every target once."""
        is_target = isinstance(self.members[0], Target)
        kind = StackedTargets if is_target else StackedLeaveOneOut
        return kind(**{field.name: self._stacked(field.name) for field in fields(kind)})

    def _stacked(self, name: str) -> Array:
        first, values = self.members[0], [getattr(target, name) for target in self.members]
        if name == "X" and all(X is values[0] for X in values):
            return values[0]
        if hasattr(values[0], "shape"):
            return namespace(first.X).stack(values, axis=0)
        numbers = like(values, first.X)
        return numbers[:, None] if name == "nugget" else numbers

    @cached_property
    def left_out(self) -> TargetStack:
        """The predictions of single rows by all of them."""
        known = (target.left_out for target in self.members if isinstance(target, Target))
        return TargetStack([found for found in known if found is not None])

    @property
    def size(self) -> int:
        """Numbers in its largest array."""
        return len(self.members) * int(self.members[0].X.shape[0]) ** 2


@dataclass(frozen=True, eq=False)
class Targets:
    """Several targets on a device, and which of them each lane is compared with."""

    stack: TargetStack
    owner: NDArray[np.intp]
    """`(b,)`."""
    inducing: None = None

    @property
    def X(self) -> Array:
        """Their inputs, `(t, n, d)` or `(n, d)`."""
        return self.stack.arrays.X

    @property
    def replays(self) -> Replays:
        """Evaluations that were recorded."""
        return self.stack.replays

    @property
    def left_out(self) -> Targets:
        """The same lanes, compared by predictions of single rows."""
        return Targets(self.stack.left_out, self.owner)

    def take(self, owner: Array) -> Any:
        """Return what lanes are compared with, given their owners on the device."""
        xp, arrays = namespace(owner), self.stack.arrays
        return type(arrays)(
            **{
                name: part if name == "X" and part.ndim == 2 else xp.take(part, owner, axis=0)
                for name, part in vars(arrays).items()
            }
        )

    def at(self, lanes: NDArray[np.intp] | slice) -> Targets:
        """Return what some of the lanes are compared with."""
        return replace(self, owner=self.owner[lanes])


AnyTarget: TypeAlias = Target | LeaveOneOut | Targets
"""What lanes are compared with: all with one target, or each with its own."""


class DeviceCache(dict[int, Any]):
    """A cache of arrays on a device: it is left out of pickles, for all can be computed anew."""

    def __reduce__(self) -> tuple[type[DeviceCache], tuple[()]]:
        """Pickle as new."""
        return DeviceCache, ()


def can_be_stacked(one: AnyTarget, other: AnyTarget) -> bool:
    """Say whether targets go into one batch.

    They do if they are of one kind, have equally many rows and inputs, are on a device, and have
    neither inducing points nor groups of rows that leave together.
    """
    if is_numpy(one.X) or is_numpy(other.X) or one.inducing or other.inducing:
        return False
    members = [*_members(one), *_members(other)]
    if any(blocks_of(member) for member in members):
        return False
    one_kind = len({isinstance(member, Target) for member in members}) == 1
    same_shape = one.X.shape[-2:] == other.X.shape[-2:]
    return bool(one_kind and same_shape and one.X.device == other.X.device)


def blocks_of(target: Target | LeaveOneOut) -> Blocks | None:
    """Return the groups of rows that leave together, if there are any."""
    left_out = target.left_out if isinstance(target, Target) else target
    return None if left_out is None else left_out.blocks


def _members(target: AnyTarget) -> Sequence[Target | LeaveOneOut]:
    return target.stack.members if isinstance(target, Targets) else [target]


def stacked(targets: Sequence[Target]) -> Targets:
    """Return targets as one batch, with a lane for each."""
    return Targets(TargetStack(targets), np.arange(len(targets)))


REMEMBERED = 8
"""Most stacks that are kept; fewer where they are large."""


class StackCache:
    """Stacks of targets that were used before, whose recordings are worth keeping."""

    def __init__(self) -> None:
        self._stacks: list[TargetStack] = []

    def of(self, several: Sequence[AnyTarget], counts: Sequence[int]) -> Targets:
        """Return what the lanes of several targets are compared with, one after the other.

        Parameters
        ----------
        several : sequence of Target, LeaveOneOut or Targets
            Targets that `can_be_stacked`.
        counts : sequence of int
            How many lanes each of them has.
        """
        wanted = {id(member): member for target in several for member in _members(target)}
        fitting = (known for known in self._stacks if wanted.keys() <= set(map(id, known.members)))
        stack = next(fitting, None)
        if stack is None:
            stack = TargetStack(list(wanted.values()))
            self._stacks = _latest([stack, *self._stacks])
        place = {id(member): number for number, member in enumerate(stack.members)}
        owner = []
        for target, count in zip(several, counts, strict=True):
            places = np.array([place[id(member)] for member in _members(target)])
            single = np.zeros(count, dtype=np.intp)
            owner.append(places[target.owner if isinstance(target, Targets) else single])
        return Targets(stack, np.concatenate(owner))


def _latest(stacks: Sequence[TargetStack]) -> list[TargetStack]:
    """Return the latest stacks: the first one, and others as long as there is room."""
    sizes = np.cumsum([stack.size for stack in stacks])
    fitting = int(np.sum(sizes <= room_for(stacks[0].members[0].X)))
    return list(stacks[: min(max(fitting, 1), REMEMBERED)])
