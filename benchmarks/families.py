"""Small simulated data sets of many kinds, on which fits, projections and searches can go wrong.

Each family is a function of a random generator, a number of rows and a number of inputs (at least
four). It returns the inputs, the targets and the positions of the inputs that matter; all further
inputs are noise. How much the prior of submodels counts was chosen on six of them (interaction,
exponential, ring, nothing, sines, steps) and checked on the others; nothing else was tuned to any.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Data = tuple[np.ndarray, np.ndarray, list[int]]


def linear(rng: np.random.Generator, n: int, d: int) -> Data:
    """Two straight effects."""
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n), [0, 1]


def sines(rng: np.random.Generator, n: int, d: int) -> Data:
    """A curved effect and a straight one."""
    X = rng.uniform(-1.0, 1.0, (n, d))
    return X, np.sin(3.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n), [0, 1]


def simulator(rng: np.random.Generator, n: int, d: int) -> Data:
    """The same without any noise."""
    X = rng.uniform(-1.0, 1.0, (n, d))
    return X, np.sin(3.0 * X[:, 0]) + X[:, 1], [0, 1]


def interaction(rng: np.random.Generator, n: int, d: int) -> Data:
    """Two inputs that act only together, and a weak third."""
    X = rng.normal(size=(n, d))
    return X, X[:, 0] * X[:, 1] + 0.3 * X[:, 2] + 0.2 * rng.normal(size=n), [0, 1, 2]


def fast(rng: np.random.Generator, n: int, d: int) -> Data:
    """Fast along one input, slow along another."""
    X = rng.uniform(-1.0, 1.0, (n, d))
    return X, np.sin(9.0 * X[:, 0]) + X[:, 1] + 0.15 * rng.normal(size=n), [0, 1]


def exponential(rng: np.random.Generator, n: int, d: int) -> Data:
    """Steep in one input, hardly any noise."""
    X = np.c_[rng.uniform(size=n), rng.normal(size=(n, d - 1))]
    y = np.exp(4.0 * X[:, 0]) / 10.0 * (1.0 + 0.05 * X[:, 1])
    return X, y + 0.02 * rng.normal(size=n), [0, 1]


def persons(rng: np.random.Generator, n: int, d: int) -> Data:
    """One input tells the person, and each person has a level."""
    values, levels = rng.normal(size=n // 5), rng.normal(size=n // 5)
    person = rng.integers(n // 5, size=n)
    X = np.c_[values[person], rng.normal(size=(n, d - 1))]
    return X, levels[person] + 0.4 * X[:, 1] + 0.15 * rng.normal(size=n), [0, 1]


def whole(rng: np.random.Generator, n: int, d: int) -> Data:
    """Targets are whole numbers."""
    X = rng.normal(size=(n, d))
    y = np.round(5.6 + 0.5 * X[:, 0] - 0.3 * X[:, 1] + 0.6 * rng.normal(size=n))
    return X, y, [0, 1]


def steps(rng: np.random.Generator, n: int, d: int) -> Data:
    """Jumps, which no smooth function follows."""
    X = rng.uniform(-1.0, 1.0, (n, d))
    return X, np.sign(X[:, 0]) + 0.5 * (X[:, 1] > 0.3) + 0.1 * rng.normal(size=n), [0, 1]


def stand_ins(rng: np.random.Generator, n: int, d: int) -> Data:
    """Noisy copies of what matters beside what matters."""
    Z = rng.normal(size=(n, 2))
    X = np.c_[Z, 0.8 * Z + 0.6 * rng.normal(size=(n, 2)), rng.normal(size=(n, d - 4))]
    return X, np.sin(2.0 * Z[:, 0]) + 0.5 * Z[:, 1] + 0.2 * rng.normal(size=n), [0, 1]


def magnitudes(rng: np.random.Generator, n: int, d: int) -> Data:
    """Inputs over orders of magnitude, which act by their logarithms."""
    Z = rng.normal(size=(n, d))
    return np.exp(1.5 * Z), Z[:, 0] + np.tanh(Z[:, 1]) + 0.2 * rng.normal(size=n), [0, 1]


def nothing(rng: np.random.Generator, n: int, d: int) -> Data:
    """No input matters."""
    return rng.normal(size=(n, d)), rng.normal(size=n), []


def outliers(rng: np.random.Generator, n: int, d: int) -> Data:
    """Noise with heavy tails."""
    X = rng.normal(size=(n, d))
    return X, X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.standard_t(2.0, size=n), [0, 1]


def ring(rng: np.random.Generator, n: int, d: int) -> Data:
    """A ridge along a circle: neither input tells anything by itself."""
    X = rng.uniform(-2.0, 2.0, (n, d))
    radius = np.hypot(X[:, 0], X[:, 1])
    return X, np.exp(-4.0 * (radius - 1.0) ** 2) + 0.05 * rng.normal(size=n), [0, 1]


def replicates(rng: np.random.Generator, n: int, d: int) -> Data:
    """A designed experiment: few values of each input, every run done several times."""
    design = rng.integers(4, size=(max(n // 4, 1), d)).astype(float)
    X = design[rng.integers(len(design), size=n)]
    return X, X[:, 0] + 0.5 * (X[:, 1] - 1.5) ** 2 + 0.4 * rng.normal(size=n), [0, 1]


FAMILIES: dict[str, Callable[[np.random.Generator, int, int], Data]] = {
    function.__name__: function
    for function in (
        linear,
        sines,
        simulator,
        interaction,
        fast,
        exponential,
        persons,
        whole,
        steps,
        stand_ins,
        magnitudes,
        nothing,
        outliers,
        ring,
        replicates,
    )
}


def with_decoys(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Return inputs with noisy copies of six of them, and six columns of noise."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    copied = Z[:, rng.integers(X.shape[1], size=6)]
    copies = 0.8 * copied + 0.6 * rng.normal(size=copied.shape)
    return np.c_[X, copies, rng.normal(size=copies.shape)]
