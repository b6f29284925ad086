"""Blocks on the diagonal of batched matrices: sets of rows that are treated together.

Blocks of one size are one array, so that a batch of them is one call of any array library.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg.arrays import Array, namespace


class Blocks:
    """A partition of n rows, and what it picks of vectors and matrices.

    Parameters
    ----------
    sets : sequence of int arrays
        Positions of the rows of each set; together every row once.
    beside : array
        An array of the library and on the device that positions are wanted for.

    Examples
    --------
    >>> blocks = Blocks([np.array([0, 2]), np.array([1])], np.empty(0))
    >>> [part.tolist() for part in blocks.of_vectors(np.array([[1.0, 2.0, 3.0]]))]
    [[[[2.0]]], [[[1.0, 3.0]]]]
    """

    def __init__(self, sets: Sequence[NDArray[np.intp]], beside: Array) -> None:
        sizes = np.array([rows.size for rows in sets])
        members = [
            np.stack([rows for rows in sets if rows.size == size]) for size in np.unique(sizes)
        ]
        order = np.concatenate([own.ravel() for own in members])
        self.shapes = [own.shape for own in members]
        n = order.size
        xp = namespace(beside)

        def there(positions: NDArray[np.intp]) -> Array:
            return xp.asarray(positions, device=beside.device)

        self._rows = [there(own.ravel()) for own in members]
        pairs = (own[:, :, None] * n + own[:, None, :] for own in members)
        self._pairs = [there(own.ravel()) for own in pairs]
        self._back = there(np.argsort(order))

    def of_vectors(self, vectors: Array) -> list[Array]:
        """Return the parts of vectors `(b, n)`: `(b, g, s)` for the g blocks of each size s."""
        return [part[..., 0] for part in self.of_rows(vectors[:, :, None])]

    def of_rows(self, matrices: Array) -> list[Array]:
        """Return the rows of matrices `(b, n, k)`: `(b, g, s, k)` for each size."""
        xp, (lanes, _, k) = namespace(matrices), matrices.shape
        return [
            xp.reshape(xp.take(matrices, rows, axis=1), (lanes, *shape, k))
            for rows, shape in zip(self._rows, self.shapes, strict=True)
        ]

    def of_matrices(self, matrices: Array) -> list[Array]:
        """Return the blocks on the diagonal of `(b, n, n)`: `(b, g, s, s)` for each size."""
        xp, (lanes, n, _) = namespace(matrices), matrices.shape
        flat = xp.reshape(matrices, (lanes, n * n))
        return [
            xp.reshape(xp.take(flat, pairs, axis=1), (lanes, *shape, shape[-1]))
            for pairs, shape in zip(self._pairs, self.shapes, strict=True)
        ]

    def joined(self, parts: Sequence[Array]) -> Array:
        """Return `(b, n)` of parts `(b, g, s)`, or `(b, n, k)` of parts `(b, g, s, k)`."""
        xp = namespace(parts[0])
        flat = [
            xp.reshape(part, (part.shape[0], shape[0] * shape[1], *part.shape[3:]))
            for part, shape in zip(parts, self.shapes, strict=True)
        ]
        return xp.take(xp.concat(flat, axis=1), self._back, axis=1)
