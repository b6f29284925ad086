"""The predictions of a submodel, with NumPy alone: the code of every exported file."""

from __future__ import annotations

import base64
import math
from statistics import NormalDist
from typing import Any

import numpy as np

FARTHEST = 1e60  # on the model's scale: squares stay finite
NODES = np.linspace(-12.0, 12.0, 769)  # of integrals over the latent function, in its sd
WEIGHTS = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()
COUNTS = 256  # probabilities of counts computed at a time
LARGEST = 20_000  # count above which bounds of intervals are infinite
ROWS = 512  # new rows at a time
erfc = np.frompyfunc(math.erfc, 1, 1)


def array(packed: Any) -> Any:
    """Return an array of doubles that was written as text; None for None."""
    if packed is None:
        return None
    return np.frombuffer(base64.b64decode(packed["base64"]), "<f8").reshape(packed["shape"])


def covariance(kernel: Any, X: Any, Z: Any) -> Any:
    """Return k(X, Z); a kernel is its name and its values."""
    name, *values = kernel
    if name in ("Sum", "Product"):
        left, right = (covariance(one, X, Z) for one in values)
        return left + right if name == "Sum" else left * right
    if name == "Constant":
        return np.full((len(X), len(Z)), values[0])
    if name == "Linear":
        return (X * np.array(values[0])) @ Z.T
    square = np.zeros((len(X), len(Z)))
    for j, rate in enumerate(values[1]):
        if rate:
            square += (rate * (X[:, j, None] - Z[None, :, j])) ** 2
    return values[0] * profile(name, square)


def profile(name: str, square: Any) -> Any:
    """Return what a kernel of distances is at squared distances."""
    if name == "SquaredExponential":
        return np.exp(-0.5 * square)
    a = np.sqrt({"Matern32": 3.0, "Matern52": 5.0}[name] * square)
    return (1.0 + a + (a**2 / 3.0 if name == "Matern52" else 0.0)) * np.exp(-a)


def prior(kernel: Any, X: Any) -> Any:
    """Return k(x, x) of every row."""
    name, *values = kernel
    if name in ("Sum", "Product"):
        left, right = (prior(one, X) for one in values)
        return left + right if name == "Sum" else left * right
    if name == "Linear":
        return X**2 @ np.array(values[0])
    return np.full(len(X), values[0])


class Process:
    """A Gaussian process given the data."""

    def __init__(self, part: Any, points: Any) -> None:
        self.kernel, self.X, self.extra = part["kernel"], points[part["points"]], part["extra"]
        self.coefficients = array(part["coefficients"])
        self._root, self._precision = array(part["root"]), array(part["precision"])

    @property
    def root(self) -> Any:
        """With B = I + tau^1/2 K tau^1/2 = L L': L^-1 tau^1/2."""
        if self._root is None:
            scale = np.sqrt(self._precision)
            K = covariance(self.kernel, self.X, self.X) + self.extra * np.eye(len(self.X))
            lower = np.linalg.cholesky(np.eye(len(K)) + scale[:, None] * K * scale)
            self._root = np.linalg.solve(lower, np.diag(scale))
        return self._root

    def latent(self, X: Any) -> Any:
        """Return mean and variance of the latent function."""
        k = covariance(self.kernel, X, self.X)
        variance = prior(self.kernel, X) + self.extra - ((k @ self.root.T) ** 2).sum(axis=1)
        return k @ self.coefficients, np.maximum(variance, 0.0)


class Model:
    """A submodel: a mixture of Gaussian processes, or of linear functions."""

    def __init__(self, content: Any) -> None:
        self._content = content
        self.inputs, self.classes = tuple(content["inputs"]), content["classes"]
        self._weights = array(content["weights"])
        points = [array(one) for one in content["points"]]
        self._processes = [Process(part, points) for part in content["processes"]]

    def predict(self, X: Any) -> Any:
        """Return mean and variance of the latent function."""
        mean, variance = self._mixed(*self._latent(self._read(X)))
        center, scale = self._content["target"]
        return center + scale * mean, scale**2 * variance

    def predict_response(self, X: Any, exposure: Any = None) -> Any:
        """Return mean and variance of the target: of classes, the probability of the second one."""
        rows = self._read(X)
        offset = self._offset(exposure, len(rows))
        kind, values = self._content["likelihood"]
        mean, variance = self._latent(rows)
        if kind in ("Gaussian", "StudentT"):
            noise = array(values[0])[:, None]
            if kind == "StudentT":
                noise = noise * values[1] / (values[1] - 2.0)
            center, scale = self._content["target"]
            own = center + scale * mean, scale**2 * (variance + noise)
            return self._mixed(*moments(self._content["transformation"], *own))
        mean = mean + offset
        if kind == "Bernoulli":
            p = self._mixed(probability(values[0], mean, variance), 0.0 * mean)[0]
            return p, p * (1.0 - p)
        a = array(values[0])[:, None]
        rate = np.exp(mean + 0.5 * variance)
        spread = rate + np.exp(2.0 * mean + variance) * ((1.0 + a) * np.expm1(variance) + a)
        return self._mixed(rate, spread)

    def predict_interval(self, X: Any, level: float = 0.95, exposure: Any = None) -> Any:
        """Return the bounds of the interval that holds targets with a probability."""
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must be between 0 and 1, got {level!r}")
        kind, values = self._content["likelihood"]
        if kind in ("Bernoulli", "StudentT"):
            raise TypeError(f"there are no intervals for the likelihood {kind}")
        rows = self._read(X)
        offset = self._offset(exposure, len(rows))
        mean, variance = self._latent(rows)
        shares = 0.5 - 0.5 * level, 0.5 + 0.5 * level
        if kind == "Gaussian":
            sd = np.sqrt(variance + array(values[0])[:, None])
            center, scale = self._content["target"]
            found = (center + scale * self._quantile(mean, sd, share) for share in shares)
            return tuple(backward(self._content["transformation"], one) for one in found)
        sd = np.sqrt(variance)
        dispersion = array(values[0])
        both = zip((mean + offset).T, sd.T, strict=True)
        own = [self._counted(f, s, shares, dispersion) for f, s in both]
        return tuple(np.array(own, dtype=float).reshape(-1, 2).T)

    def _read(self, X: Any) -> Any:
        """Return rows on the model's scale, from named columns or from an array."""
        names = getattr(getattr(X, "dtype", None), "names", None)
        known = X.keys() if hasattr(X, "keys") else names
        if known is not None:
            absent = [name for name in self.inputs if name not in known]
            if absent:
                raise ValueError(f"X lacks the inputs {absent}; it needs {list(self.inputs)}")
            count = len(X[next(iter(known))]) if len(known) else 0
            columns = [np.asarray(X[name], dtype=float) for name in self.inputs]
            rows = np.column_stack(columns) if columns else np.zeros((count, 0))
        else:
            rows = np.asarray(X, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != len(self.inputs):
            raise ValueError(
                f"X must have {len(self.inputs)} columns, {list(self.inputs)}; "
                f"saw the shape {rows.shape}"
            )
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
            raise ValueError(
                f"X must be finite; saw {rows[row, column]} in row {row} of {self.inputs[column]!r}"
            )
        mean, scale = (array(one) for one in self._content["scaling"])
        with np.errstate(over="ignore"):
            return np.clip((rows - mean) / scale, -FARTHEST, FARTHEST)

    def _offset(self, exposure: Any, rows: int) -> Any:
        """Return what is added to the latent function."""
        added = np.zeros(rows)
        if exposure is not None:
            if self._content["likelihood"][0] != "Counts":
                raise ValueError("exposure is for counts")
            added = np.log(np.broadcast_to(np.asarray(exposure, dtype=float), (rows,)))
        return added + self._content["target"][0]

    def _latent(self, rows: Any) -> Any:
        """Return means and variances of all components, `(c, m)` each."""
        linear = self._content["linear"]
        if linear is not None:
            mean = array(linear["intercept"])[:, None] + array(linear["slopes"]) @ rows.T
            return mean, np.zeros_like(mean)
        blocks = [rows[start : start + ROWS] for start in range(0, len(rows), ROWS)] or [rows]
        found = [
            np.concatenate([one.latent(own) for own in blocks], axis=1) for one in self._processes
        ]
        return np.stack(found, axis=1)

    def _mixed(self, mean: Any, variance: Any) -> Any:
        center = self._weights @ mean
        return center, self._weights @ (variance + (mean - center) ** 2)

    def _quantile(self, mean: Any, sd: Any, share: float) -> Any:
        """Return where the mixture of normal distributions has a share below: by bisection."""
        if len(mean) == 1:
            return mean[0] + NormalDist().inv_cdf(share) * sd[0]
        reach = max(abs(NormalDist().inv_cdf(share)), 1.0)
        low, high = (mean - reach * sd).min(axis=0), (mean + reach * sd).max(axis=0)
        for _ in range(100):
            middle = 0.5 * (low + high)
            below = 0.5 * erfc((mean - middle) / (math.sqrt(2.0) * sd)).astype(float)
            over = self._weights @ below >= share
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        return 0.5 * (low + high)

    def _counted(self, f: Any, sd: Any, shares: Any, dispersion: Any) -> Any:
        """Return the smallest counts of one row up to which the probability is large enough."""
        known = not sd.any()
        nodes = np.zeros(1) if known else np.linspace(-6.0, 6.0, 241)
        weights = np.exp(-0.5 * nodes**2) / np.exp(-0.5 * nodes**2).sum()
        log_rate = np.minimum(f[:, None] + sd[:, None] * nodes, 700.0).ravel()
        weights = (self._weights[:, None] * weights).ravel()
        r = 1.0 / np.repeat(dispersion, nodes.size) if dispersion.any() else None
        bounds: list[Any] = []
        total, start, factorial, rising = 0.0, 0, 0.0, 0.0
        while len(bounds) < 2 and start <= LARGEST:
            k = np.arange(start, start + COUNTS)
            # log k!, and log Gamma(k + r) / Gamma(r), go on from the last block.
            logs = np.log(np.maximum(k, 1))
            log_factorial = factorial + np.cumsum(logs)
            if r is None:
                log_p = k[:, None] * log_rate - np.exp(log_rate) - log_factorial[:, None]
            else:
                steps = np.log(np.where(k[:, None] > 0, r + k[:, None] - 1.0, 1.0))
                log_rising = rising + np.cumsum(steps, axis=0)
                odds = log_rate - np.log(r)
                both = np.logaddexp(0.0, odds)
                log_p = k[:, None] * (odds - both) - r * both + log_rising - log_factorial[:, None]
                rising = log_rising[-1]
            factorial = log_factorial[-1]
            below = total + np.cumsum(np.exp(log_p) @ weights)
            for share in shares[len(bounds) :]:
                if below[-1] >= share:
                    bounds.append(start + int(np.searchsorted(below, share)))
            total, start = below[-1], start + COUNTS
        return bounds + [math.inf] * (2 - len(bounds))


def probability(link: str, mean: Any, variance: Any) -> Any:
    """Return the probability of the second class."""
    if link == "probit":
        return 0.5 * erfc(-mean / np.sqrt(2.0 * (1.0 + variance))).astype(float)
    f = mean[..., None] + np.sqrt(variance)[..., None] * NODES
    return (0.5 + 0.5 * np.tanh(0.5 * f)) @ WEIGHTS


def backward(transformation: Any, z: Any) -> Any:
    """Return targets whose transformation is z."""
    if transformation is None:
        return z
    name, *values = transformation
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if name == "Log":
            return np.exp(z)
        if name == "Logit":
            return 0.5 + 0.5 * np.tanh(0.5 * z)
        power = values[0]
        if name == "YeoJohnson":
            above, below = (root_of(np.abs(z), own) for own in (power, 2.0 - power))
            return np.where(z >= 0.0, np.expm1(above), -np.expm1(below))
        _, unit, edge = values
        if power == 1.0:
            return unit * (1.0 + z)
        if power == 0.0:
            return unit * np.exp(z)
        end = math.expm1(power * math.log(edge)) / power
        beyond = z < end if power > 0.0 else z > end
        log_x = np.where(
            beyond,
            math.log(edge) + (z - end) / edge**power,
            root_of(np.where(beyond, end, z), power),
        )
        return unit * np.exp(log_x)


def root_of(z: Any, power: float) -> Any:
    """Return `log x` where z is `(x^power - 1) / power`."""
    return z if power == 0.0 else np.log1p(power * z) / power


def moments(transformation: Any, mean: Any, variance: Any) -> Any:
    """Return mean and variance of targets whose transformation is normal."""
    if transformation is None:
        return mean, variance
    if transformation[0] == "Log":
        expected = np.exp(mean + 0.5 * variance)
        return expected, expected**2 * np.expm1(variance)
    y = backward(transformation, mean[..., None] + np.sqrt(variance)[..., None] * NODES)
    center = y @ WEIGHTS
    return center, (y - center[..., None]) ** 2 @ WEIGHTS
