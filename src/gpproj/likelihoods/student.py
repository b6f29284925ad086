"""Real targets with heavy-tailed noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import stdtr

from gpproj.data import positive
from gpproj.likelihoods.base import AdditiveNoise, Derivatives, ParameterDerivatives, Tilted
from gpproj.likelihoods.numerical import LIMIT, Layout, Numerical
from gpproj.likelihoods.quadrature import concave_edges
from gpproj.likelihoods.special import LOG_2_PI, stirling_remainder
from gpproj.linalg import Host

LADDER = 6.0
"""Ratio of the panels around a sharp likelihood in a wide latent distribution."""

NEGLIGIBLE = 40.0
"""How far the logarithm of an integrand falls to where it is too small to be integrated."""


@dataclass(frozen=True)
class StudentT(AdditiveNoise, Numerical):
    """`y = f + e`, e from a t distribution.

    With `e = y - f`, up to a constant,

        log p(y | f) = -log(variance) / 2 - (degrees + 1) / 2 log(1 + e^2 / (degrees variance)),

    which is not concave in f. The information is the Fisher information,
    `(degrees + 1) / ((degrees + 3) variance)`.

    Parameters
    ----------
    variance : float
        Squared scale of the noise, in squared units of the target. The variance of the noise is
        `degrees / (degrees - 2)` times as large.
    degrees : float
        Degrees of freedom, above 2; they are not learned.

    Examples
    --------
    >>> import numpy as np
    >>> noise = StudentT(0.5, degrees=4.0)
    >>> noise.response(np.array([2.0]), np.array([0.5]))
    (array([2.]), array([1.5]))
    >>> noise.weights(np.array([2.0, 9.0]), np.array([2.0, 2.0])).round(3)
    array([2.5  , 0.098])
    """

    log_concave: ClassVar[bool] = False

    variance: float = 1.0
    degrees: float = 4.0

    def __post_init__(self) -> None:
        """Refuse variances that are not positive, and noise that has no variance."""
        object.__setattr__(self, "variance", positive("variance", self.variance))
        object.__setattr__(self, "degrees", positive("degrees", self.degrees))
        if self.degrees <= 2.0:
            raise ValueError(
                f"degrees must be above 2, else the noise has no variance; got {self.degrees:g}"
            )

    def log_likelihood(self, y: Host, f: Host) -> Host:
        """Return `log p(y | f)`, elementwise."""
        x = 0.5 * self.degrees
        ratio = x * math.log1p(0.5 / x) - 0.5  # of the two gamma functions
        ratio += float(stirling_remainder(x + 0.5) - stirling_remainder(x))
        highest = ratio - 0.5 * (LOG_2_PI + math.log(self.variance))
        return highest - (x + 0.5) * np.log1p((y - f) ** 2 / self._core)

    def derivatives(self, y: Host, f: Host) -> Derivatives:
        """Return the first three derivatives of `log p(y | f)` in f."""
        e = y - f
        weight = self.weights(y, f)
        share = self._core / (self._core + e**2)
        return Derivatives(
            weight * e,
            weight * (1.0 - 2.0 * share),
            2.0 * weight * e * (1.0 - 4.0 * share) / (self._core + e**2),
        )

    def information(self, y: Host, f: Host) -> Host:
        """Return the Fisher information, which is the same everywhere."""
        return np.full(
            np.broadcast_shapes(np.shape(y), np.shape(f)),
            (self.degrees + 1.0) / ((self.degrees + 3.0) * self.variance),
        )

    def information_slopes(self, y: Host, f: Host) -> Host:
        """Return derivatives of the information in the log variance, `(1, n)`."""
        return -self.information(y, f)[None]

    def weights(self, y: Host, f: Host) -> Host:
        """Return `(degrees + 1) / (degrees variance + (y - f)^2)`.

        They are the expected precisions of the noise as a scale mixture of Gaussians, and the
        slope of `log p(y | f)` is `(y - f)` times them.
        """
        found: Host = (self.degrees + 1.0) / (self._core + (y - f) ** 2)
        return found

    def parameter_derivatives(self, y: Host, f: Host) -> ParameterDerivatives:
        """Return derivatives in the logarithm of the variance, `(1, n)` each."""
        e = y - f
        weight = self.weights(y, f)
        share = self._core / (self._core + e**2)
        value = 0.5 * (weight * e**2 - 1.0)
        second = weight * share * (4.0 * share - 3.0)
        return ParameterDerivatives(value[None], (-weight * share * e)[None], second[None])

    def tilted(self, y: Host, mean: Host, variance: Host) -> Tilted:
        """Return the moments of `N(f | mean, variance) p(y | f)`, elementwise."""
        log_normaliser, away, spread = super().tilted(np.zeros(1), mean - y, variance)
        return Tilted(log_normaliser, y + away, spread)

    def tilted_slopes(self, y: Host, mean: Host, variance: Host) -> Host:
        """Return derivatives of the log normaliser in the log variance, `(1, n)`."""
        return super().tilted_slopes(np.zeros(1), mean - y, variance)

    def cumulative(self, y: Host, mean: Host, variance: Host) -> Host:
        """Return the probability of a target below y for latent values `N(mean, variance)`.

        The integral over the latent values is by the trapezoidal rule, `(n,)` at a time.
        """
        nodes = np.linspace(-6.0, 6.0, 241)
        weights = np.exp(-0.5 * nodes**2)
        away = (y - mean)[:, None] - np.sqrt(variance)[:, None] * nodes
        below = stdtr(self.degrees, away / math.sqrt(self.variance))
        found: Host = np.einsum("ij,j->i", below, weights / weights.sum())
        return found

    def response(self, mean: Host, variance: Host) -> tuple[Host, Host]:
        """Return mean and variance of y for latent values `N(mean, variance)`."""
        return mean, variance + self.variance * self.degrees / (self.degrees - 2.0)

    def draw(self, f: Host, rng: np.random.Generator) -> Host:
        """Draw a target for each latent value."""
        found: Host = f + math.sqrt(self.variance) * rng.standard_t(self.degrees, f.shape)
        return found

    @property
    def _core(self) -> float:
        """Squared distance from y within which `log p(y | f)` is concave."""
        return self.degrees * self.variance

    def _corner(self, y: Host) -> Host:
        return y

    def _layout(self, y: Host, mean: Host, sd: Host) -> Layout:
        """Find where to integrate; `y` is 0.

        Maxima are roots of a cubic. Where the latent distribution is narrow the product is
        log-concave all the same.
        """
        variance = sd**2
        roots = _cubic_roots(mean, self._core + (self.degrees + 1.0) * variance, self._core)
        heights = self._relative_height(roots - mean[:, None], roots, variance[:, None])
        place = np.take_along_axis(roots, np.argmax(heights, axis=1)[:, None], axis=1)[:, 0]
        least = 1.0 - (self.degrees + 1.0) * variance / (8.0 * self._core)  # curvature anywhere
        easy = least > 0.1
        edges = np.zeros((sd.size, 7))
        if easy.any():
            place[easy] = self._polished(place[easy], mean[easy], sd[easy])
            width = self._widths(place[easy], sd[easy])
            integrand = self._log_integrand(y[easy], mean[easy], sd[easy], place[easy])
            edges[easy] = concave_edges(integrand, width, LIMIT / np.sqrt(least[easy]))
        if not easy.all():
            hard = ~easy
            graded = self._graded_edges(mean[hard], sd[hard], roots[hard], heights[hard])
            wide = np.repeat(edges[:, -1:], graded.shape[1], axis=1)
            wide[:, :7] = edges
            wide[hard] = (graded - place[hard, None]) / sd[hard, None]
            edges = wide
        return Layout(place, edges)

    def _polished(self, f: Host, mean: Host, sd: Host) -> Host:
        """Return roots after a Newton step: to be near them means near in units of sd."""
        first, second, _ = self.derivatives(np.zeros_like(f), f)
        u = (f - mean) / sd
        u = u + (sd * first - u) / (1.0 - sd * second * sd)
        return mean + sd * u

    def _relative_height(self, from_mean: Host, from_y: Host, variance: Host) -> Host:
        far = 0.5 * (self.degrees + 1.0) * np.log1p(from_y**2 / self._core)
        return -0.5 * from_mean**2 / variance - far

    def _widths(self, f: Host, sd: Host) -> Host:
        """Return the widths that curvatures stand for, in units of sd; 0 where there is none."""
        curvature = 1.0 - sd**2 * self.derivatives(np.zeros_like(f), f).second
        return np.where(curvature > 0, 1.0 / np.sqrt(np.maximum(curvature, 1e-6)), 0.0)

    def _graded_edges(self, mean: Host, sd: Host, roots: Host, heights: Host) -> Host:
        """Return latent values around the maxima, around y = 0 on all scales, and between."""
        core = math.sqrt(self._core)
        mean, sd = mean[:, None], sd[:, None]
        drop = 0.5 * (self.degrees + 1.0) * np.log1p(mean**2 / self._core)
        # Low tails count as far as they are long, and for the variance as far as they are wide.
        negligible = NEGLIGIBLE + 3.0 * np.log1p(sd / core)
        ends = mean + sd * np.sqrt(2.0 * (drop + negligible)) * np.array([-1.0, 1.0])
        rungs = math.ceil(math.log(max(np.abs(ends).max() / core, 1.0), LADDER))
        ladder = core * LADDER ** np.arange(rungs + 1)
        widths = sd * self._widths(roots, sd)
        peaks = roots[:, :, None] + widths[:, :, None] * np.array([-9.0, -3.0, 0.0, 3.0, 9.0])
        between = mean * np.linspace(0.0, 1.0, 9)
        around = np.broadcast_to([*-ladder, *ladder], (mean.size, 2 * ladder.size))
        edges = np.concatenate(
            [ends, peaks.reshape(mean.size, -1), between, around, mean + sd * [-4.0, 4.0]], axis=1
        )
        edges = np.sort(np.clip(edges, ends[:, :1], ends[:, 1:]), axis=1)
        # A panel is bounded by what either factor is nowhere above; outer ones are left out.
        left, right = edges[:, :-1], edges[:, 1:]
        nearest = np.clip(mean, left, right), np.clip(0.0, left, right)
        bound = self._relative_height(nearest[0] - mean, nearest[1], sd**2)
        counts = bound > heights.max(axis=1, keepdims=True) - negligible
        low: Host = np.min(np.where(counts, left, np.inf), axis=1, keepdims=True)
        high = np.max(np.where(counts, right, -np.inf), axis=1, keepdims=True)
        found: Host = np.clip(edges, low, high)
        return found


def _cubic_roots(mean: Host, slope: Host, core: float) -> Host:
    """Return the real roots of `f^3 - mean f^2 + slope f - core mean`, `(n, 3)`, one repeated."""
    p = slope - mean**2 / 3.0
    half = mean * (slope / 6.0 - mean**2 / 27.0 - 0.5 * core)
    discriminant = half**2 + (p / 3.0) ** 3
    # One real root, of the two forms the one that does not cancel.
    outer = -np.cbrt(half + np.copysign(np.sqrt(np.maximum(discriminant, 0.0)), half))
    inner = p / (3.0 * np.where(outer == 0.0, 1.0, outer))
    one = np.where(outer == 0.0, 0.0, outer - inner)
    # Three: p < 0.
    radius = np.sqrt(np.maximum(-p / 3.0, 0.0))
    cosine = -half / np.where(radius > 0, radius, 1.0) ** 3
    angle = np.arccos(np.clip(cosine, -1.0, 1.0)) / 3.0
    turns = 2.0 * math.pi / 3.0 * np.arange(3)
    three = 2.0 * radius[:, None] * np.cos(angle[:, None] - turns)
    roots: Host = np.where(discriminant[:, None] < 0, three, one[:, None]) + mean[:, None] / 3.0
    return np.clip(roots, np.minimum(mean, 0.0)[:, None], np.maximum(mean, 0.0)[:, None])
