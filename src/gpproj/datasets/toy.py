"""The toy example of the paper, generated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gpproj.datasets.source import Dataset
from gpproj.linalg import Host

# phi_j evenly spaced from pi/10 to pi; Var sin(phi x) over U(-1, 1) is 1/2 - sin(2 phi) / (4 phi).
TOY_FREQUENCY: Host = np.linspace(np.pi / 10, np.pi, 8)
TOY_AMPLITUDE: Host = (0.5 - np.sin(2 * TOY_FREQUENCY) / (4 * TOY_FREQUENCY)) ** -0.5
TOY_NOISE_SD = 0.3


def toy_functions(X: ArrayLike) -> Host:
    """Return the latent functions of the toy example, f_j(x_j) = A_j sin(phi_j x_j).

    The frequencies phi_j are evenly spaced from pi/10 to pi, and the amplitudes A_j give every
    f_j unit variance over x_j ~ U(-1, 1), so that all eight inputs matter equally.

    Parameters
    ----------
    X : array (n, 8)

    Returns
    -------
    ndarray (n, 8)
        One column a function; the noise-free target is their sum.

    Examples
    --------
    >>> toy_functions([[0.0] * 8]).shape
    (1, 8)
    """
    values: Host = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != TOY_FREQUENCY.size:
        raise ValueError(f"X must have shape (n, {TOY_FREQUENCY.size}); saw {values.shape}")
    return TOY_AMPLITUDE * np.sin(TOY_FREQUENCY * values)


def toy_sines(n: int = 300, random_state: int | np.random.Generator | None = None) -> Dataset:
    """Return the paper's toy example: eight equally relevant inputs, from almost linear to a sine.

    y = f_1(x_1) + ... + f_8(x_8) + e, with x_j ~ U(-1, 1) and e ~ N(0, 0.3^2).

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, numpy Generator or None
        Seed or source of randomness; None draws anew each time.

    Returns
    -------
    Dataset
        Arrays `X (n, 8)` and `y (n,)`.

    Examples
    --------
    >>> X, y = toy_sines(n=5, random_state=1)
    >>> X.shape, y.shape
    ((5, 8), (5,))
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a positive integer; saw {n!r}")
    random = _generator(random_state)
    X = random.uniform(-1.0, 1.0, size=(n, TOY_FREQUENCY.size))
    noise = random.normal(0.0, TOY_NOISE_SD, size=n)
    return Dataset(X, toy_functions(X).sum(axis=1) + noise)


def _generator(random_state: Any) -> np.random.Generator:
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    whole = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if whole and random_state >= 0:
        return np.random.default_rng(random_state)
    raise ValueError(
        "random_state must be None, a non-negative integer or a numpy Generator; "
        f"saw {random_state!r}"
    )
