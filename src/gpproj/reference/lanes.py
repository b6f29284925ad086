"""Lanes of different targets in one batch: the draws, clusters or data sets of a device.

The processor takes lane after lane in any case; on a device the batch is the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Array, Replays, is_numpy, like, namespace
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


class Kept(dict[int, Any]):
    """Something on a device that can be made again: it does not travel with a pickle."""

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        """Pickle as new."""
        return Kept, ()


def _alike(one: Target, first: Target) -> bool:
    """Say whether two targets go into one batch."""
    if is_numpy(one.X) or is_numpy(first.X) or one.inducing is not None:
        return False
    return bool(one.X.shape == first.X.shape and one.X.device == first.X.device)


def side_by_side(targets: Sequence[Target]) -> Targets | None:
    """Return targets as one, a lane for each; None where they do not go into one batch.

    Parameters
    ----------
    targets : sequence of Target
        Of equally many rows and inputs, on a device, and without inducing points: others do not.
    """
    first = targets[0]
    if not all(_alike(one, first) for one in targets):
        return None
    xp = namespace(first.X)

    def arrays(name: str) -> Array:
        return xp.stack([getattr(one, name) for one in targets], axis=0)

    def numbers(name: str) -> Array:
        return like([getattr(one, name) for one in targets], first.X)

    each = Lanes(
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
    return Targets(each, np.arange(len(targets)), Replays())
