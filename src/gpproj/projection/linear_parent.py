"""What candidates need of the linear submodel that they add inputs to: a basis of its columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host
from gpproj.projection.linear import COLLINEAR, LinearSubmodel

Mask: TypeAlias = NDArray[np.bool_]

RECENT = 4
"""Sets whose submodels, and what candidates need of them, are remembered."""


class LinearParent(NamedTuple):
    """A submodel that inputs are added to."""

    basis: Host
    """Orthonormal basis of its columns and a constant, `(n, r)`."""
    unexplained: Host
    """The part of every input outside the space of the basis, `(n, d)`."""
    lengths: Host
    """Norms of the inputs, `(d,)`."""
    fit: Host
    """Its latent function in every draw, `(s, n)`."""
    errors: Host
    """Its projection error in every draw, `(s,)`."""

    def directions(self, added: Mask) -> Host:
        """Return what inputs add to the basis, orthonormal, `(n, q)`; collinear ones nothing."""
        found = self._scaled(np.flatnonzero(added))[0]
        if found.shape[1] > 1:
            U, s, _ = np.linalg.svd(found, full_matrices=False)
            found = U[:, s > COLLINEAR]
        return self._orthonormal(found)

    def single_directions(self, positions: Sequence[int]) -> list[Host]:
        """Return what each of several inputs adds by itself, `(n, 1)` or `(n, 0)`."""
        found, some = self._scaled(np.array(positions, dtype=np.intp))
        every = self._orthonormal(found)
        place = np.cumsum(some) - 1
        return [every[:, at : at + own] for at, own in zip(place, some.astype(int), strict=True)]

    def _scaled(self, columns: NDArray[np.intp]) -> tuple[Host, Mask]:
        """Return unexplained parts over the inputs' lengths, and which inputs have one at all."""
        lengths = self.lengths[columns]
        some = np.linalg.norm(self.unexplained[:, columns], axis=0) > COLLINEAR * lengths
        return self.unexplained[:, columns[some]] / lengths[some], some

    def _orthonormal(self, found: Host) -> Host:
        """Return columns of length one that are orthogonal to the basis, as they nearly are."""
        found = found / np.linalg.norm(found, axis=0)
        # Once more: short remainders carry the rounding errors of long columns.
        found = found - self.basis @ (self.basis.T @ found)
        unit_vectors: Host = found / np.linalg.norm(found, axis=0)
        return unit_vectors


def parent_of(X: Host, mask: Mask, submodel: LinearSubmodel) -> LinearParent:
    """Return the submodel on some inputs as the parent of candidates."""
    constant, none = np.full((len(X), 1), 1.0 / np.sqrt(len(X))), np.empty(0)
    centred = X - constant @ (constant.T @ X)
    lengths: Host = np.linalg.norm(X, axis=0)
    added = LinearParent(constant, centred, lengths, none, none).directions(mask)
    return LinearParent(
        np.hstack([constant, added]),
        centred - added @ (added.T @ centred),
        lengths,
        submodel.linear.values(X[:, mask]),
        submodel.errors,
    )


Made = TypeVar("Made")


class Recent(Generic[Made]):
    """The last few things that were made of sets of inputs; they do not travel with a pickle."""

    def __init__(self) -> None:
        self._made: dict[bytes, Made] = {}
        self._lock = Lock()

    def get(self, mask: Mask, make: Callable[[Mask], Made]) -> Made:
        """Return what was made of a set, or make it and forget the oldest."""
        found = self._made.get(mask.tobytes())
        if found is None:
            found = make(mask)
            with self._lock:
                self._made[mask.tobytes()] = found
                while len(self._made) > RECENT:
                    del self._made[next(iter(self._made))]
        return found

    def __reduce__(self) -> tuple[type[Recent[Made]], tuple[()]]:
        """Pickle as new."""
        return Recent, ()
