"""Rival measures of relevance: length-scales, sensitivity of the predictions, permutation.

None of them projects anything: they look at the reference as it is, one input at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import reach_of
from gpproj.likelihoods import Likelihood
from gpproj.linalg import Array, Host, like, namespace, one_blas_thread, to_host
from gpproj.prediction import Gradients, LatentPredictor, Mixture, Prediction
from gpproj.reference import GaussianProcessReference, Reference
from gpproj.reference.sampling import check_count

if TYPE_CHECKING:
    import pandas as pd

METHODS = ("ard", "kl", "variance", "permutation")

NODES = 11
"""Number of nodes of the Gauss-Hermite quadrature: exact for a function of the input that is a
polynomial of degree ten."""

SMALLEST = 1e-12
"""Latent variance of classes and counts below which differences would be of rounding errors."""

HARDLY = 1e-4
"""Change of a kernel's exponent that is next to none."""

COLLINEAR = 1e-8
"""An input that the others explain but for this fraction of its standard deviation follows from
them; what is left is rounding."""


def relevance(
    reference: Reference,
    method: str = "ard",
    *,
    repeats: int = 5,
    random_state: int | np.random.Generator | None = None,
) -> pd.Series[float]:
    """Return how relevant each input is by one of the usual measures, the largest scaled to one.

    They are rivals of the projection, which they do not use. None accounts for inputs that can
    stand in for one another; `gpproj.forward_search` does.

    Parameters
    ----------
    reference : Reference
    method : {"ard", "kl", "variance", "permutation"}
        "ard": inverse length-scales, as `reference.ard_relevance()`.

        "kl": how fast the predictive distribution of `y` changes as the input moves by a small
        part of its standard deviation, by the square root of twice the divergence; the mean over
        the training rows. Classes count by their probability, counts by their expectation. For
        posterior draws, the normal distribution with the two moments of the mixture takes its
        place.

        "variance": variance of the predictive mean as the input varies given the others, under the
        normal distribution with the moments of the training inputs; the mean over the training
        rows. Zero for an input that is a linear function of others.

        "permutation": by how much the mean squared error on the training rows rises when the
        input's values are shuffled, or for classes and counts the mean of minus the log likelihood
        at the predictive mean; zero where it falls.
    repeats : int
        Shuffles of "permutation"; its answer is their mean. All inputs have the same shuffles.
    random_state : int, Generator or None
        Seed or source of the shuffles.

    Returns
    -------
    Series
        One value for each input, labelled by its name; the series has the name of the method.
        Inputs that are constant have zero, and so has every input where the predictions depend on
        none.

    Notes
    -----
    With m and v the predictive mean and variance of `y` at a row, and derivatives per standard
    deviation of the j-th input,

        kl_j = mean over rows of sqrt( (dm/dx_j)^2 / v + (dv/dx_j)^2 / (2 v^2) ).

    "kl" and "variance" are the sensitivities of Paananen, Piironen, Andersen and Vehtari (2019).

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=100, random_state=0)
    >>> ref = gpproj.fit(X, y)
    >>> gpproj.relevance(ref, "kl").idxmax()
    'x7'
    """
    import pandas as pd

    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    check_count("repeats", repeats, 1)
    if method not in reference.measures:
        offered = f"one of {', '.join(reference.measures)}" if reference.measures else "none"
        raise ValueError(
            f"method must be {offered} for a {type(reference).__name__}, which tells no other; got "
            f"{method!r}. See also gpproj.leave_input_out"
        )
    if method == "ard":
        own: pd.Series[float] = cast(GaussianProcessReference, reference).ard_relevance()
        return own.rename(method)
    with one_blas_thread():
        if method == "kl":
            found = _kl(reference)
        elif method == "variance":
            found = _variance(reference)
        else:
            found = _permutation(reference, repeats, np.random.default_rng(random_state))
    # Constant inputs are masked out of the kernel: they have zero already.
    found = found / max(found.max(), np.finfo(float).tiny)
    return pd.Series(found, index=list(reference.feature_names), name=method)


def relevance_table(
    reference: Reference,
    methods: str | Sequence[str] = METHODS,
    *,
    repeats: int = 5,
    random_state: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Return several of the measures side by side; see `gpproj.relevance` for what they are.

    Parameters
    ----------
    reference : Reference
    methods : sequence of {"ard", "kl", "variance", "permutation"}
    repeats : int
        Shuffles of "permutation".
    random_state : int, Generator or None
        Seed or source of the shuffles.

    Returns
    -------
    DataFrame
        Inputs by methods, each column scaled to a largest value of one.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=100, random_state=0)
    >>> ref = gpproj.fit(X, y)
    >>> gpproj.relevance_table(ref, ["ard", "kl"]).idxmax().tolist()
    ['x7', 'x7']
    """
    import pandas as pd

    names = (methods,) if isinstance(methods, str) else tuple(methods)
    if not names:
        raise ValueError("methods must name at least one measure, got none")
    found = {
        name: relevance(reference, name, repeats=repeats, random_state=random_state)
        for name in names
    }
    return pd.DataFrame(found)


def _kl(reference: Reference) -> Host:
    """Return the mean over rows of the rate of sqrt(2 KL) in each input, `(d,)`.

    For N(m, v) the divergence of a small step h is h^2 (m'^2 / (2 v) + v'^2 / (4 v^2)). With d_c
    the difference of the c-th mean of a mixture to the first one:
    v' = sum_c w_c (v_c' + 2 d_c m_c') - 2 (sum_c w_c d_c) m'.
    """
    X = reference.training.X
    xp = namespace(X)
    first: Array = None
    shift = square = variance = xp.zeros_like(X[:, 0])
    mean_slope = variance_slope = xp.zeros_like(X)
    for weight, predictor, likelihood in cast(Mixture, reference)._components():
        mean, own, slopes = _seen(reference, likelihood, predictor(X), predictor.gradients(X))
        first = mean if first is None else first
        away = mean - first
        shift = shift + weight * away
        square = square + weight * away**2
        variance = variance + weight * own
        mean_slope = mean_slope + weight * slopes.mean
        moved = slopes.variance + 2.0 * away[:, None] * slopes.mean
        variance_slope = variance_slope + weight * moved
    variance = (variance + square - shift**2)[:, None]
    variance_slope = variance_slope - 2.0 * shift[:, None] * mean_slope
    if not reference.training.kind.is_scaled:  # whose mean tells all
        variance_slope = xp.zeros_like(X)
    rates = xp.sqrt(mean_slope**2 / variance + 0.5 * (variance_slope / variance) ** 2)
    return to_host(xp.mean(rates, axis=0) * xp.std(X, axis=0))


def _seen(
    reference: Reference, likelihood: Likelihood, latent: Prediction, slopes: Gradients
) -> tuple[Array, Array, Gradients]:
    """Return the moments of y at the training rows, and their slopes in the inputs.

    A class is known by its probability p alone, whose rate is p' / sqrt(p (1 - p)); for counts,
    too, the variance follows the mean, and its own slope does not count.
    """
    if likelihood.kind.is_scaled:
        return *likelihood.response(*latent), slopes
    mean, variance = to_host(latent.mean), np.maximum(to_host(latent.variance), SMALLEST)
    offset = to_host(reference.training.offset)

    def response(m: Host, v: Host) -> Host:
        return likelihood.response(m + offset, v)[0]

    step = 1e-4 * np.sqrt(variance)
    by_mean = (response(mean + step, variance) - response(mean - step, variance)) / (2.0 * step)
    wide, narrow = variance * 1.001, variance * 0.999
    by_variance = (response(mean, wide) - response(mean, narrow)) / (wide - narrow)
    slope = by_mean[:, None] * to_host(slopes.mean) + by_variance[:, None] * to_host(
        slopes.variance
    )
    seen = likelihood.response(mean + offset, variance)
    X = reference.training.X
    moved = Gradients(like(slope, X), like(np.zeros_like(slope), X))
    return like(seen[0], X), like(seen[1], X), moved


def _variance(reference: Reference) -> Host:
    """Return the mean over rows of the variance of the predictive mean in each input, `(d,)`."""
    varying = np.flatnonzero(reference.training.varying)
    centre, spread = conditional_normal(to_host(reference.training.X)[:, varying])
    if not spread.any():
        warnings.warn(
            "every input is a linear function of the others in X, as where there are no more rows "
            "than inputs: no input varies given the others, and all variances are zero",
            UserWarning,
            stacklevel=3,
        )
        return np.zeros(reference.training.d)
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    changes = [
        Change(int(varying[k]), centre[:, k] + spread[k] * node)
        for k in np.flatnonzero(spread)
        for node in nodes
    ]
    means = predictive_means(reference, changes).reshape(-1, NODES, reference.training.n)
    # From one of the nodes first: what does not change at all has the variance zero, exactly.
    away = means - means[:, :1, :]
    away -= np.tensordot(weights, away, axes=(0, 1))[:, None, :]
    found = np.zeros(reference.training.d)
    found[varying[spread > 0]] = np.tensordot(weights, away**2, axes=(0, 1)).mean(axis=1)
    return found


def _permutation(reference: Reference, repeats: int, random: np.random.Generator) -> Host:
    """Return the mean rise of the mean squared error as each input is shuffled, `(d,)`."""
    training = reference.training
    X, y = to_host(training.X), to_host(training.y)
    orders = [random.permutation(training.n) for _ in range(repeats)]
    changes = [Change(j, X[order, j]) for j in range(training.d) for order in orders]
    unchanged = Change(0, X[:, 0])
    means = predictive_means(reference, [unchanged, *changes])
    if training.kind.is_scaled:
        errors = np.mean((y - means) ** 2, axis=1)
    else:
        likelihood, offset = reference.latent.likelihood, to_host(training.offset)
        errors = np.array([-np.mean(likelihood.log_likelihood(y, row + offset)) for row in means])
    rises = (errors[1:] - errors[0]).reshape(training.d, repeats)
    found: Host = np.maximum(rises.mean(axis=1), 0.0)
    return found


class Change(NamedTuple):
    """Other values of one input at the training rows, on the model's scale."""

    position: int
    values: Host
    """`(n,)`."""


def predictive_means(reference: Reference, changes: Sequence[Change]) -> Host:
    """Return the predictive mean at the training rows with each of the changes, `(len, n)`.

    Inputs that hardly act in a draw change nothing there.
    """
    X = reference.training.X
    xp = namespace(X)
    columns = xp.arange(X.shape[1], device=X.device)[None, :]
    means = np.zeros((len(changes), X.shape[0]))
    # Draws are conditioned one after the other, and each of them only once.
    for weight, predictor, _ in cast(Mixture, reference)._components():
        unchanged = to_host(predictor.mean(X))
        acting = _acting(predictor, X)
        for row, (position, values) in enumerate(changes):
            if not acting[position]:
                means[row] += weight * unchanged
                continue
            changed = xp.where(columns == position, like(values, X)[:, None], X)
            means[row] += weight * to_host(predictor.mean(changed))
    return means


def _acting(predictor: LatentPredictor, X: Array) -> NDArray[np.bool_]:
    """Return which inputs change the covariances of a process by more than next to nothing."""
    kernel, d = predictor.kernel, int(X.shape[1])
    reach = reach_of(kernel, predictor.log_parameters, X)
    found = np.zeros(d, dtype=bool)
    for one, own in zip(kernel.parameters(d), reach, strict=True):
        if one.input is not None:
            found[one.input] |= bool(own > HARDLY)
    return found & predictor.mask


def conditional_normal(X: Host) -> tuple[Host, Host]:
    """Return mean and standard deviation of each input given the others, at every row.

    The distribution is normal, with the mean and the covariance (with 1/n) of the rows of `X`. The
    two are the fit of the linear regression on the other inputs, and the root mean square of its
    residuals. Other inputs that are collinear get the coefficients of least norm.

    Parameters
    ----------
    X : array `(n, d)`
        Inputs, none of which is constant.

    Returns
    -------
    centre : array `(n, d)`
    spread : array `(d,)`
        Zero for inputs that follow from others.
    """
    mean, scale = X.mean(axis=0), X.std(axis=0)
    Z = (X - mean) / scale
    # Z = Q R has the same regressions as R, which is no larger than d x d.
    R: Host = np.asarray(np.linalg.qr(Z, mode="r"))
    coefficients = np.zeros((Z.shape[1], Z.shape[1]))
    for j in range(Z.shape[1]):
        others = np.arange(Z.shape[1]) != j
        fitted = np.linalg.lstsq(R[:, others], R[:, j], rcond=COLLINEAR)
        coefficients[others, j] = fitted[0]
    centre = Z @ coefficients
    spread = np.sqrt(np.mean((Z - centre) ** 2, axis=0))
    spread = np.where(spread > COLLINEAR, spread, 0.0)
    return mean + scale * centre, scale * spread
