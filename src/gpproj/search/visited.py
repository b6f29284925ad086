"""Sets of inputs that a search has looked at, for a search of other rows to start from.

Folds differ from the whole by a fifth of the rows, and their submodels on a set of inputs by
little. So a fold starts each set where the whole has ended it; which set wins, and where its
submodel ends, is for the fold's own rows to say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.projection import Learned


class Visited(NamedTuple):
    """Parameters of submodels on sets of inputs, as far as they were learned."""

    masks: NDArray[np.bool_]
    """`(v, d)`."""
    points: NDArray[np.float32]
    """`(v, p)`: starts need few digits."""

    def as_starts(self) -> Learned:
        """Return the parameters by the bytes of the masks."""
        return {
            mask.tobytes(): point.astype(np.float64)
            for mask, point in zip(self.masks, self.points, strict=True)
        }


def visited_of(known: Learned, d: int) -> Visited | None:
    """Return what is known as arrays; None if nothing is."""
    if not known:
        return None
    masks = np.frombuffer(b"".join(known), dtype=np.bool_).reshape(len(known), d)
    return Visited(masks.copy(), np.stack(list(known.values())).astype(np.float32))
