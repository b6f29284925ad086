"""Kinds of kernel parameters: everything that the rest of the package asks of a parameter.

A kernel with a new kind of parameter defines the kind here and names it in its `parameters`: its
bounds, units, default prior, plausible values and starts follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Unit(NamedTuple):
    """The data's own units, at one input."""

    level: float
    """Mean square of the target."""
    spread: float
    """Variance of the target."""
    input: float
    """Standard deviation of the input, one for parameters of no input."""


class Typical(NamedTuple):
    """A function that an optimisation may start from, in units of the data."""

    constant: float
    """Variance of its constant."""
    signal: float
    """Variance of the function."""
    slope: float
    """Variance of its slope along an input."""
    lengthscale: float
    """Distance over which it changes."""


@dataclass(frozen=True, repr=False)
class ParameterKind:
    """What a parameter measures.

    Parameters
    ----------
    word : str
        The kind's own name.
    name : str
        What its parameters are called in tables, posteriors and priors.
    unit : callable
        What one is worth, given the units of the data.
    limits : (float, float)
        Smallest and largest value, in these units.
    plausible : (float, float)
        Smallest and largest value that a check of an optimum tries.
    prior : callable
        Median of the weak prior, given the number of inputs, in these units.
    width : float
        Standard deviation of its logarithm.
    start : callable
        Its value for a typical function.
    is_variance : bool
        Whether it is in squared units of the target.
    is_scale : bool
        Whether it is a distance along an input, over which functions change: short is fast.
    """

    word: str
    name: str
    unit: Callable[[Unit], float]
    limits: tuple[float, float]
    plausible: tuple[float, float]
    prior: Callable[[int], float]
    width: float
    start: Callable[[Typical], float]
    is_variance: bool = True
    is_scale: bool = False

    def __repr__(self) -> str:
        """Return the word: kinds are known by it."""
        return self.word

    def __reduce__(self) -> tuple[Callable[[str], ParameterKind], tuple[str]]:
        """Travel to other processes by the word."""
        return kind_of, (self.word,)


CONSTANT = ParameterKind(
    word="constant",
    name="constant_variance",
    unit=lambda units: max(units.level, units.spread),
    limits=(1e-6, 1e6),
    plausible=(0.01, 3.0),
    prior=lambda d: 1.0,
    width=3.0,
    start=lambda typical: typical.constant,
)
"""The variance of a constant function."""

# Functions that are linear in some inputs need large signal variances together with long
# length-scales: signal standard deviations of 150 are ordinary.
SIGNAL = ParameterKind(
    word="signal",
    name="signal_variance",
    unit=lambda units: units.spread,
    limits=(1e-6, 1e6),
    plausible=(0.05, 300.0),
    prior=lambda d: 1.0,
    width=3.0,
    start=lambda typical: typical.signal,
)
"""The variance of a function."""

LENGTHSCALE = ParameterKind(
    word="lengthscale",
    name="lengthscale",
    unit=lambda units: units.input,
    limits=(1e-2, 1e4),
    plausible=(0.05, 20.0),
    # Squared distances grow with d: this keeps functions about as wiggly whatever d is.
    prior=lambda d: math.exp(math.sqrt(2.0)) * math.sqrt(max(d, 1)),
    width=math.sqrt(3.0),
    start=lambda typical: typical.lengthscale,
    is_variance=False,
    is_scale=True,
)
"""The distance along an input over which a function changes."""

SLOPE = ParameterKind(
    word="slope",
    name="slope_variance",
    unit=lambda units: units.spread / units.input**2,
    limits=(1e-8, 1e6),
    plausible=(0.05, 300.0),
    prior=lambda d: 1.0 / max(d, 1),
    width=3.0,
    start=lambda typical: typical.slope,
)
"""The variance of a linear effect."""

KINDS = {kind.word: kind for kind in (CONSTANT, SIGNAL, LENGTHSCALE, SLOPE)}
"""All of them, by their words."""


def kind_of(word: str) -> ParameterKind:
    """Return the kind of a word.

    >>> kind_of("signal").name
    'signal_variance'
    """
    return KINDS[word]
