"""Ablation: what submodels become if they are learned by the error that they are compared by.

The paper learns a submodel by the divergence of its posterior, compares submodels by the divergence
of their predictions at the training inputs, and warns that learning by the latter interpolates the
targets where the noise is small (its section 3.2.1). It shows no figures of that. Here are some:
along one order for each random split, submodels by the paper's projection, with gpproj's weak
prior, and by minimising the predictive divergence, on data with little noise (Boston) and with
much (diabetes, which comes with scikit-learn).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

import gpproj
from gpproj.kernels import Evaluation, Kernel
from gpproj.likelihoods import Gaussian
from gpproj.plots import BLUE, GREEN, ORANGE
from gpproj.priors import PriorLike, Scales, bounds, parameter_units
from gpproj.reproduce.figures import save
from gpproj.reproduce.stages import repeated

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Host = NDArray[np.float64]

ROWS = {"boston": 300, "diabetes": 200}
"""Training rows of the data sets."""
SIZES = (1, 2, 3, 5, 8)

NUGGET = 1e-4
"""The common nugget, as a fraction of the noise variance."""
EXTRA_LIMITS = (1e-8, 1e2)
"""For the minimiser: the smallest extra variance as a fraction of the noise variance, and the
largest as one of the target's. Kernels have the bounds that they have everywhere in gpproj."""

STARTS = {"smooth": (1.0, 1.0, 0.1), "short": (10.0, 0.1, 1e-5)}
"""Starts of the minimiser beside the ends of the projections: signal variance, length-scale (that
of the smooth one grows with the root of the size) and extra variance, on the standardised scale."""

PROJECTIONS: dict[str, PriorLike] = {"projection": None, "projection, weak prior": "weak"}
"""Priors of the submodels that are projected."""
PREDICTIVE = "predictive divergence"
COLOURS = dict(zip((*PROJECTIONS, PREDICTIVE), (BLUE, GREEN, ORANGE), strict=True))
"""Of the ways to learn submodels."""


def reproduce_ablation(
    folder: Path,
    splits: int = 10,
    n_jobs: int | None = 1,
    data: Sequence[str] = tuple(ROWS),
) -> pd.DataFrame:
    """Run the study and write `ablation.csv` and `ablation.png`.

    Parameters
    ----------
    folder : Path
        Made if it is not there; finished splits are kept in `folder/finished`.
    splits : int
        Random splits of each data set; their seeds are 0, 1, ...
    n_jobs : int or None
        Splits that run at the same time.
    data : sequence of {"boston", "diabetes"}

    Returns
    -------
    DataFrame
        Mean test log density over the splits: one row for each size, one column for each data set
        and way of learning.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for name in data:
        settings = [name, ROWS[name], list(SIZES), NUGGET, EXTRA_LIMITS, STARTS]
        work = partial(rows_of, name)
        rows += repeated(work, splits, folder, settings, n_jobs, f"{name} ablation")
    raw = pd.DataFrame(rows)
    raw.to_csv(folder / "ablation.csv", index=False, float_format="%.5g")
    save(_draw(raw), folder / "ablation.png")
    return summarise(raw)


class Split(NamedTuple):
    """Training and test rows, standardised by the training rows."""

    X: Host
    y: Host
    X_test: Host
    y_test: Host
    unit: float
    """Standard deviation of the target, in its own units."""


def split_of(name: str, seed: int) -> Split:
    """Return a random split of a data set: for Boston, that of the other experiments."""
    X, y = (np.asarray(part, dtype=float) for part in getattr(gpproj.datasets, name)())
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: ROWS[name]], order[ROWS[name] :]
    spread = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    unit = float(y[train].std())
    y = (y - y[train].mean()) / unit
    return Split(X[train], y[train], X[test], y[test], unit)


def rows_of(name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the reference, and each way of learning at each size, of one split.

    `log_density` and `rmse` are of the test rows, in the target's units. The others are of the
    training rows on the standardised scale, on which all is done: see `at_training_rows`. `start`
    is where the lowest end of the minimiser came from.
    """
    split = split_of(name, seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*constant in X.*", UserWarning)
        ref = gpproj.fit(split.X, split.y, standardize=False, nugget=NUGGET)
        path = gpproj.forward_search(
            ref, max(SIZES), learn="projection", exchange=False, progress=False
        )

    def row(way: str, size: int, model: Any, X: Host, told: dict[str, Any]) -> dict[str, Any]:
        density = np.mean(model.log_density(X, split.y_test)) - np.log(split.unit)
        errors = split.unit * (split.y_test - model.predict_response(X).mean)
        found = {"data": name, "split": seed, "way": way, "size": size}
        scores = {"log_density": float(density), "rmse": float(np.sqrt(np.mean(errors**2)))}
        return {**found, **scores, **told}

    residual = float(np.mean((ref.latent_mean - split.y) ** 2) / ref.noise_variance)
    own = {"residual": residual, "noise_variance": float(ref.noise_variance)}
    yield row("reference", split.X.shape[1], ref, split.X_test, own)
    for size in SIZES:
        inputs = list(path.positions[:size])
        family = family_of(ref, split, inputs)
        ends: dict[str, Host] = {}
        for way in COLOURS:
            began, start = time.perf_counter(), ""
            if way == PREDICTIVE:
                ends[way], start = minimise(family, ends)
            else:
                sub = gpproj.project(ref, inputs, "projection", prior=PROJECTIONS[way])
                ends[way] = parameters_of(sub)
            seconds = round(time.perf_counter() - began, 2)
            told = {**at_training_rows(family, ends[way]), "start": start, "seconds": seconds}
            model = conditioned(family, ends[way])
            yield row(way, size, model, split.X_test[:, inputs], told)


class Family(NamedTuple):
    """Submodels on some inputs, and what they are held to."""

    kernel: Kernel
    """Structure of their covariance."""
    X: Host
    """`(n, k)`."""
    y: Host
    latent_mean: Host
    """mu, `(n,)`."""
    latent_cov: Host
    """Sigma, `(n, n)`."""
    log_det: float
    """`log|Sigma|`."""
    noise: float
    """sigma^2, the reference's."""


def family_of(ref: gpproj.Reference, split: Split, inputs: Sequence[int]) -> Family:
    """Return the submodels of a reference on some of its inputs.

    Parameters
    ----------
    ref : Reference
        Of data that were not standardised inside.
    split : Split
    inputs : sequence of int
        Positions.
    """
    return Family(
        kernel=ref.kernel.restricted(inputs, split.X.shape[1]),
        X=np.ascontiguousarray(split.X[:, list(inputs)]),
        y=split.y,
        latent_mean=np.asarray(ref.latent_mean),
        latent_cov=np.asarray(ref.latent_cov),
        log_det=ref.latent_cov.log_determinant(),
        noise=float(ref.noise_variance),
    )


def parameters_of(sub: gpproj.Submodel) -> Host:
    """Return the log parameters of a submodel's kernel, then its log extra variance."""
    kernel: Host = sub.kernel.log_parameters(len(sub.inputs))
    return np.append(kernel, np.log(sub.extra_variance))


def conditioned(family: Family, parameters: Host) -> gpproj.Reference:
    """Return the Gaussian process that predicts as the submodel with these parameters does.

    What the extra variance is to a submodel's prediction of new targets, more noise is to that of
    an ordinary process.
    """
    noise = family.noise + float(np.exp(parameters[-1]))
    kernel = family.kernel.with_log_parameters(parameters[:-1], family.X.shape[1])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*constant in X.*", UserWarning)
        nugget = NUGGET * family.noise / noise
        return gpproj.condition(family.X, family.y, kernel, Gaussian(noise), nugget=nugget)


class Rotated(NamedTuple):
    """A submodel and what it is held to in the eigenvectors of K_smooth: all is diagonal there."""

    smooth: Evaluation
    vectors: Host
    """Q, `(n, n)`."""
    values: Host
    """p: eigenvalues of K_smooth, `(n,)`."""
    extra: float
    diagonal: float
    """e: extra variance and nugget."""
    y: Host
    """`Q'y`; likewise the others."""
    latent_mean: Host
    latent_cov: Host


def rotated(family: Family, parameters: Host) -> Rotated:
    """Diagonalise the covariance at given parameters."""
    mask = np.ones((1, family.X.shape[1]), dtype=bool)
    smooth = family.kernel.evaluate(parameters[None, :-1], family.X, mask)
    values, Q = linalg.eigh(smooth.value[0], driver="evd")
    extra = float(np.exp(parameters[-1]))
    return Rotated(
        smooth=smooth,
        vectors=Q,
        values=np.maximum(values, 0.0),
        extra=extra,
        diagonal=extra + NUGGET * family.noise,
        y=Q.T @ family.y,
        latent_mean=Q.T @ family.latent_mean,
        latent_cov=Q.T @ family.latent_cov @ Q,
    )


def predictive_divergence(parameters: Host, family: Family) -> tuple[float, Host]:
    """Return delta, by which submodels are compared, and its gradient.

        delta = KL( N(mu, Sigma) || N(mu', Sigma') )
        mu' = K_smooth W y,   Sigma' = K_smooth + e I - K_smooth W K_smooth,
        W = (K_smooth + c I)^-1,   c = e + sigma^2

    With r = mu - mu', q = Sigma'^-1 r, a = W y and H = Sigma'^-1 (Sigma' - Sigma - r r') Sigma'^-1:

        2 d delta / d K_smooth = G = c^2 W H W - c (W q a' + a q' W)
        2 d delta / d e = tr(G) + 2 tr(H (I - c W)) + 2 q'a

    because mu' = y - c W y and Sigma' = (e + c) I - c^2 W.

    Parameters
    ----------
    parameters : array `(p,)`
        Log parameters of the kernel, then the log extra variance.
    family : Family
    """
    at = rotated(family, parameters)
    c = at.diagonal + family.noise
    W = 1.0 / (at.values + c)
    fitted = at.values * W  # eigenvalues of I - c W
    variance = at.diagonal + c * fitted
    r = at.latent_mean - fitted * at.y
    S = at.latent_cov + np.outer(r, r)
    q, a = r / variance, W * at.y
    H = np.diag(1.0 / variance) - S / np.outer(variance, variance)
    half = np.outer(W * q, a)
    G = c**2 * np.outer(W, W) * H - c * (half + half.T)
    slope = np.trace(G) + 2.0 * np.diag(H) @ fitted + 2.0 * q @ a
    pulled = at.smooth.pull_back((at.vectors @ G @ at.vectors.T)[None])[0]
    gradient = 0.5 * np.append(pulled, at.extra * slope)
    return _divergence(family, np.diag(S), variance), gradient


def _divergence(family: Family, squares: Host, variance: Host) -> float:
    """Return a divergence from the reference, given the diagonal of Sigma + r r'."""
    terms = squares / variance + np.log(variance) - 1.0
    return 0.5 * float(terms.sum() - family.log_det)


def at_training_rows(family: Family, parameters: Host) -> dict[str, float]:
    """Return what a submodel is at the training rows.

    Parameters
    ----------
    family : Family
    parameters : array `(p,)`

    Returns
    -------
    dict
        `projection_error` (delta) and `posterior_kl`, the divergences; `misfit`, the root mean
        square of mu' - mu; `residual`, the mean square of mu' - y in units of the noise variance,
        which is near zero where the targets are interpolated; `extra_variance`, and the `shortest`
        length-scale.
    """
    at = rotated(family, parameters)
    prior = at.values + at.diagonal
    shrunk = prior / (prior + family.noise)
    r = at.latent_mean - shrunk * at.y
    posterior = _divergence(family, np.diag(at.latent_cov) + r**2, family.noise * shrunk)
    mean = at.values / (prior + family.noise) * at.y
    kinds = [one.kind for one in family.kernel.parameters(family.X.shape[1])]
    lengths = parameters[:-1][np.array(kinds) == "lengthscale"]
    return {
        "projection_error": predictive_divergence(parameters, family)[0],
        "posterior_kl": posterior,
        "misfit": float(np.sqrt(np.mean((mean - at.latent_mean) ** 2))),
        "residual": float(np.mean((mean - at.y) ** 2) / family.noise),
        "extra_variance": at.extra,
        "shortest": float(np.exp(lengths.min())),
    }


def minimise(family: Family, ends: Mapping[str, Host]) -> tuple[Host, str]:
    """Return the parameters with the smallest predictive divergence, and where they were reached.

    Parameters
    ----------
    family : Family
    ends : mapping of arrays `(p,)`
        Parameters to start from by name; there are two more starts, `STARTS`.
    """
    size = family.X.shape[1]
    units = Scales(np.ones(size), 1.0, 1.0)
    box = bounds(family.kernel, units)
    lower = np.append(box.lower, np.log(EXTRA_LIMITS[0] * family.noise))
    upper = np.append(box.upper, np.log(EXTRA_LIMITS[1]))
    starts = dict(ends)
    for name, (signal, length, extra) in STARTS.items():
        length *= np.sqrt(size) if name == "smooth" else 1.0
        values = parameter_units(family.kernel, units).typical(0.1, signal, signal, length)
        starts[name] = np.append(values, np.log(extra))
    found = {
        name: optimize.minimize(
            predictive_divergence,
            np.clip(start, lower, upper),
            args=(family,),
            method="L-BFGS-B",
            jac=True,
            bounds=optimize.Bounds(lower, upper),
            options={"maxiter": 500, "maxcor": 20},
        )
        for name, start in starts.items()
    }
    best = min(found, key=lambda name: float(found[name].fun))
    return found[best].x, best


def summarise(raw: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over splits of every way of learning at every size."""
    learned = raw[raw["way"] != "reference"]
    table = learned.pivot_table(
        index="size", columns=["data", "way"], values="log_density", sort=False
    ).sort_index()
    table.columns = [f"{name}, {way}" for name, way in table.columns]
    return table


def _draw(raw: pd.DataFrame) -> Axes:
    """Draw test log densities above errors at the training rows, with 95 % intervals."""
    import matplotlib.pyplot as plt

    names = list(raw["data"].unique())
    _, axes = plt.subplots(
        2, len(names), figsize=(4.5 * len(names), 6.0), layout="constrained", squeeze=False
    )
    panels = {
        "log_density": "mean test log density",
        "projection_error": "predictive divergence, training rows",
    }
    splits = raw["split"].nunique()
    for column, name in enumerate(names):
        own = raw[raw["data"] == name]
        for line, (score, label) in enumerate(panels.items()):
            ax = axes[line, column]
            for place, (way, colour) in enumerate(COLOURS.items()):
                grouped = own[own["way"] == way].groupby("size")[score]
                mean = grouped.mean()
                half = 1.96 * grouped.std() / np.sqrt(splits) if splits > 1 else None
                at = mean.index + 0.12 * (place - 1)  # apart, where they agree
                ax.errorbar(at, mean, half, label=way, color=colour, marker="o", ms=3, capsize=2)
            ax.set_xticks(SIZES)
            ax.set_xlabel("inputs")
            ax.set_ylabel(label)
        full = own.loc[own["way"] == "reference", "log_density"].mean()
        axes[0, column].axhline(full, color="black", linestyle=":", label="all inputs")
        axes[0, column].set_title(name.capitalize())
    axes[0, 0].legend(fontsize=8)
    first: Axes = axes[0, 0]
    return first
