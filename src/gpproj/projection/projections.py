"""`Projection`: what was learned of one submodel, in a small tuple."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.linalg import Host


class Figures(NamedTuple):
    """The divergences of a submodel from its reference."""

    posterior_kl: float
    projection_error: float
    loo_divergence: float


class Divergences:
    """The divergences of a submodel from its reference, computed where somebody asks for them.

    Those that need the covariances of all rows take longer than learning the submodel did.

    Parameters
    ----------
    figures : Figures, optional
        All of them, if they are known.
    compute : callable, optional
        Returns them.
    known : mapping of str to float, optional
        Those that are known already, by name.

    Examples
    --------
    >>> lost = Divergences(compute=lambda: Figures(1.0, 2.0, 3.0), known={"loo_divergence": 3.0})
    >>> lost["loo_divergence"], lost["posterior_kl"]
    (3.0, 1.0)
    """

    def __init__(
        self,
        figures: Figures | None = None,
        compute: Callable[[], Figures] | None = None,
        known: Mapping[str, float] | None = None,
    ) -> None:
        self._given, self._compute, self._known = figures, compute, dict(known or {})

    @cached_property
    def figures(self) -> Figures:
        """All of them."""
        if self._given is not None:
            return self._given
        assert self._compute is not None  # one of the two is given
        found, self._compute = self._compute(), None  # which holds the reference
        return found

    def __getitem__(self, name: str) -> float:
        """Return one of them."""
        return self._known[name] if name in self._known else getattr(self.figures, name)

    def __eq__(self, other: object) -> bool:
        """Say whether all of them are equal."""
        if not isinstance(other, Divergences):
            return NotImplemented
        return np.array_equal(self.figures, other.figures, equal_nan=True)

    def __hash__(self) -> int:
        """Hash what is compared."""
        return hash(self.figures)

    def __reduce__(self) -> tuple[Any, ...]:
        """Go elsewhere with all of them computed, and without the reference."""
        return Divergences, (self.figures,)


class Projection(NamedTuple):
    """One submodel's learned parameters, on the model's scale."""

    kernel: Kernel
    """Structure of its covariance."""
    parameters: Host
    """Log parameters of the kernel for all d inputs, then the log extra variance, `(p,)`."""
    inputs: NDArray[np.bool_]
    """Inputs it may use, `(d,)`."""
    active: NDArray[np.bool_]
    """Inputs it does use, `(d,)`: fewer where a submodel on fewer inputs was better."""
    value: float
    """The objective at its minimum, prior included."""
    error: float
    """The criterion it is compared by."""
    converged: bool
    evaluations: int
    """Values and gradients that it took, all starts together."""
    doubt: float = 0.0
    """By how much the predictions of another optimum with about the same value differ, as a share
    of the variance of the reference's own."""
    figures: Figures | None = None
    """All divergences, once they were computed."""


def mask_of(positions: Iterable[int], d: int) -> NDArray[np.bool_]:
    """Return the mask of inputs given by position, `(d,)`."""
    mask = np.zeros(d, dtype=bool)
    mask[list(positions)] = True
    return mask
