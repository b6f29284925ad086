"""Two classes, 0 and 1: probit and logit links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, logit, ndtr, ndtri

from gpproj.data import TargetKind
from gpproj.likelihoods.base import Derivatives, Tilted
from gpproj.likelihoods.numerical import Numerical
from gpproj.likelihoods.special import mills
from gpproj.linalg import Host

LINKS = ("probit", "logit")


@dataclass(frozen=True)
class Bernoulli(Numerical):
    """`p(y = 1 | f) = Phi(f)` (probit) or `1 / (1 + exp(-f))` (logit).

    With `s = 2 y - 1` the two are `log p(y | f) = log Phi(s f)` and `-log(1 + exp(-s f))`. Under
    `N(m, v)` the probit has closed forms in `z = s m / sqrt(1 + v)` and `r = phi(z) / Phi(z)`:

        log Z = log Phi(z),   mean = m + s v r / sqrt(1 + v),
        variance = v - v^2 r (z + r) / (1 + v),

    and the logit is integrated numerically.

    Parameters
    ----------
    link : {"probit", "logit"}

    Examples
    --------
    >>> import numpy as np
    >>> probability, variance = Bernoulli().response(np.array([0.0, 2.0]), np.array([1.0, 3.0]))
    >>> probability.round(4), variance.round(4)
    (array([0.5   , 0.8413]), array([0.25  , 0.1335]))
    """

    kind: ClassVar[TargetKind] = TargetKind.BINARY

    link: Literal["probit", "logit"] = "probit"

    def __post_init__(self) -> None:
        """Refuse links that are not known."""
        if self.link not in LINKS:
            raise ValueError(f'link must be "probit" or "logit", got {self.link!r}')

    def unit(self, y: Host) -> float:
        """Return the least variance that an observation has as latent noise: 1 or 4."""
        return 1.0 if self.link == "probit" else 4.0

    def centre(self, y: Host, offset: Host) -> float:
        """Return the link of the share of ones, half an observation added to each class."""
        share = (np.sum(y) + 0.5) / (np.size(y) + 1.0)
        return float(ndtri(share) if self.link == "probit" else logit(share))

    def log_likelihood(self, y: Host, f: Host) -> Host:
        """Return `log p(y | f)`, elementwise."""
        z = _signs(y) * f
        found: Host = log_ndtr(z) if self.link == "probit" else log_expit(z)
        return found

    def derivatives(self, y: Host, f: Host) -> Derivatives:
        """Return the first three derivatives of `log p(y | f)` in f."""
        signs = _signs(y)
        z = signs * f
        if self.link == "probit":
            own = mills(z)
            return Derivatives(
                signs * own.ratio, -own.ratio * own.excess, signs * own.ratio * own.skew
            )
        other = expit(-z)
        second = -expit(z) * other
        return Derivatives(signs * other, second, -signs * second * np.tanh(0.5 * z))

    def tilted(self, y: Host, mean: Host, variance: Host) -> Tilted:
        """Return the moments of `N(f | mean, variance) p(y | f)`, elementwise."""
        if self.link == "logit":
            return super().tilted(y, mean, variance)
        signs, total = _signs(y), 1.0 + np.asarray(variance)
        scale = np.sqrt(total)
        z = signs * mean / scale
        own = mills(z)
        step = variance * signs / scale
        # The same number twice, each in the form that does not cancel.
        found = np.where(z < 0, mean / total + step * own.excess, mean + step * own.ratio)
        return Tilted(log_ndtr(z), found, variance * (1.0 + variance * own.variance) / total)

    def response(self, mean: Host, variance: Host) -> tuple[Host, Host]:
        """Return the probability p of class 1 and `p (1 - p)` for latent `N(mean, variance)`."""
        mean = np.asarray(mean, dtype=np.float64)
        if self.link == "probit":
            z = mean / np.sqrt(1.0 + np.asarray(variance))
            p, q = ndtr(z), ndtr(-z)
        else:
            likely = mean > 0
            rare = np.exp(self.log_density(np.where(likely, 0.0, 1.0), mean, variance))
            p, q = np.where(likely, 1.0 - rare, rare), np.where(likely, rare, 1.0 - rare)
        return p, p * q

    def draw(self, f: Host, rng: np.random.Generator) -> Host:
        """Draw a class, 0 or 1, for each latent value."""
        share = ndtr(f) if self.link == "probit" else expit(f)
        drawn: Host = np.where(rng.random(f.shape) < share, 1.0, 0.0)
        return drawn

    def _corner(self, y: Host) -> Host:
        return np.zeros_like(y)


def _signs(y: Host) -> Host:
    return 2.0 * np.asarray(y, dtype=np.float64) - 1.0
