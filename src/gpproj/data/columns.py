"""The inputs and the target of a model without its data: names, scaling, encoding."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpproj.data.encoding import Encoding
from gpproj.data.frames import listed
from gpproj.data.scaling import Scaling
from gpproj.data.target_kinds import TargetKind
from gpproj.data.targets import known_kind
from gpproj.linalg import Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns:
    """The inputs and the target of a model: names, scaling and kind, without the data."""

    feature_names: tuple[str, ...]
    named: bool
    """Whether the user gave the names; otherwise they are x0, x1, ..."""
    varying: tuple[bool, ...]
    """False for inputs that are constant in the training data."""
    scaling: Scaling
    kind: TargetKind = TargetKind.REAL
    """What the target is: real numbers, two classes as 0 and 1, or counts."""
    classes: tuple[Any, ...] | None = None
    """Labels of the two classes in sorted order; the second is the one predicted."""
    encoding: Encoding | None = None
    """How columns became inputs, and missing cells; None where all of them are complete numbers."""

    def __post_init__(self) -> None:
        """Take the word of a kind for the kind."""
        object.__setattr__(self, "kind", known_kind(self.kind))

    @property
    def d(self) -> int:
        """Number of inputs."""
        return len(self.feature_names)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, of which inputs are made: levels of one column are one."""
        return self.feature_names if self.encoding is None else self.encoding.names

    @property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """Positions of the inputs of columns that have several, or that have other names."""
        if self.encoding is None:
            return {}
        return {name: self.exact(inputs) for name, inputs in self.encoding.groups.items()}

    def columns_of(self, inputs: Iterable[str]) -> tuple[str, ...]:
        """Return the names of the columns of some inputs, in the order of these, each once."""
        return tuple(inputs) if self.encoding is None else self.encoding.columns_of(inputs)

    def exact(self, inputs: Iterable[str | int]) -> tuple[int, ...]:
        """Return the positions of inputs, whose names are never those of columns."""
        return tuple(self._position(item) for item in inputs)

    def response(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Predicted mean and variance of the target in the user's units."""
        if not self.kind.is_scaled:  # probabilities, or counts
            return mean, variance
        return self.scaling.restore_mean(mean), self.scaling.restore_variance(variance)

    def positions(self, inputs: Iterable[str | int] | str) -> tuple[int, ...]:
        """Positions of inputs given by name or by position; an empty list is no inputs.

        Parameters
        ----------
        inputs : iterable of str or int, or str
            A string is always a name and an integer always a position, also where columns are
            called "0", "1", ... The name of a column stands for all its inputs, its levels and
            whether it is missing; a single name is one.

        Examples
        --------
        >>> from gpproj.data import training_set
        >>> training = training_set([[1, 5], [2, 7], [4, 6]], [1, 2, 3], standardize=True)
        >>> training.positions(["x1", 0])
        (1, 0)
        """
        if isinstance(inputs, str):
            inputs = (inputs,)
        if isinstance(inputs, bytes) or not isinstance(inputs, Iterable):
            raise TypeError(f"inputs must be a list of names or positions; saw {inputs!r}")
        groups = self.groups
        found: list[int] = []
        for item in inputs:
            whole = groups.get(item) if isinstance(item, str) else None
            found += (self._position(item),) if whole is None else whole
        repeated = [self.feature_names[i] for i in dict.fromkeys(found) if found.count(i) > 1]
        if repeated:
            raise ValueError(f"inputs must not repeat; saw {listed(repeated)} more than once")
        return tuple(found)

    def _position(self, item: str | int) -> int:
        if isinstance(item, str):
            if item not in self.feature_names:
                known = dict.fromkeys((*self.column_names, *self.feature_names))
                raise ValueError(f"inputs must be among {listed(known)}; saw the name {item!r}")
            return self.feature_names.index(item)
        # A mask is a likely mistake, and True would pass as position 1.
        if type(item).__name__ in ("bool", "bool_"):
            raise TypeError("inputs must be names or positions; saw a boolean mask")
        try:
            position = operator.index(item)
        except TypeError:
            raise TypeError(f"inputs must be names or positions; saw {item!r}") from None
        if not 0 <= position < self.d:
            raise ValueError(
                f"inputs must be positions from 0 to {self.d - 1}; saw the position {position}"
            )
        return position
