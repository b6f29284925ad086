"""Gaussian processes of PyMC as references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gpproj.inference import NUGGET
from gpproj.kernels import Kernel
from gpproj.likelihoods import Gaussian, Likelihood
from gpproj.linalg import Host
from gpproj.reference.adapters.common import (
    common_noise,
    latent_moments,
    libraries,
    one_output,
    white_noise,
    with_names,
)
from gpproj.reference.base import Refit
from gpproj.reference.foreign import from_draws
from gpproj.reference.moment_making import moment_reference
from gpproj.reference.moments import MomentReference


def from_pymc(
    gp: Any,
    trace: Any,
    *,
    y: Any = None,
    noise_variance: Any = None,
    likelihood: Likelihood | str | None = None,
    kernel: Kernel | None = None,
    exposure: Any = None,
    feature_names: Sequence[str] | None = None,
    standardize: bool = True,
    nugget: float = NUGGET,
    refit: Refit | None = None,
) -> MomentReference:
    """Make a reference of a `gp.Marginal` or a `gp.Latent` of PyMC and its posterior.

    A `gp.Marginal` is conditioned on its data at every draw of the hyperparameters, with PyMC's own
    jitter, and the reference has the moments of the mixture. A `gp.Latent` has draws of the latent
    function itself, and the reference has their moments, as with `gpproj.from_draws`.

    Parameters
    ----------
    gp : pymc.gp.Marginal or pymc.gp.Latent
        After `gp.marginal_likelihood` or `gp.prior`. `WhiteNoise` in a covariance counts as noise.
    trace : InferenceData or mapping
        Posterior draws, as `pymc.sample` returns them, or for a `gp.Marginal` one point, as
        `pymc.find_MAP` does.
    y : array `(n,)`
        The observations of a `gp.Latent`, which does not hold them.
    noise_variance : float or array, optional
        Noise variance of a `gp.Latent` with Gaussian noise; draws of it are averaged.
    likelihood : str or gpproj.likelihoods object, optional
        Likelihood of a `gp.Latent`; "gaussian" when left out.
    exposure : array `(n,)`, optional
        What the rate of each count is multiplied by, for a `gp.Latent`.
    feature_names : sequence of str, optional
        Names of the inputs.
    kernel, standardize, nugget, refit
        Described at `gpproj.from_moments`.

    Returns
    -------
    MomentReference

    Warns
    -----
    UserWarning
        If a `gp.Latent` has few draws, so that their covariance was shrunk.
    """
    (pm,) = libraries("from_pymc", "pymc")
    if type(gp) not in (pm.gp.Marginal, pm.gp.Latent):
        raise TypeError(
            f"gp must be a pymc.gp.Marginal or a pymc.gp.Latent; got {type(gp).__name__}: "
            "gpproj.from_draws takes draws of any latent function"
        )
    if getattr(gp, "X", None) is None:
        raise ValueError("gp has no data: call gp.marginal_likelihood or gp.prior first")
    if type(gp) is pm.gp.Latent:
        if y is None:
            raise ValueError("y is missing: a gp.Latent does not hold the observations")
        own = _latent(gp, trace)
        found = from_draws(
            with_names(own.X, feature_names),
            y,
            np.stack([draw.target for draw in own.draws]),
            noise_variance,
            likelihood=likelihood or "gaussian",
            kernel=kernel,
            exposure=exposure,
            standardize=standardize,
            nugget=nugget,
            predict=own.predict,
            refit=refit,
        )
        return replace(found, source="from_pymc")
    for name, value in (("y", y), ("noise_variance", noise_variance), ("likelihood", likelihood)):
        if value is not None:
            raise ValueError(f"{name} is for a gp.Latent; a gp.Marginal has its own")
    if not isinstance(gp.sigma, pm.gp.cov.WhiteNoise):
        raise ValueError(
            f"gp has the noise {type(gp.sigma).__name__}, which cannot be converted; "
            "gpproj.from_moments takes any latent posterior"
        )
    own = _marginal(gp, trace)
    mean, cov, noise = own.moments()
    return moment_reference(
        with_names(own.X, feature_names),
        own.draws[0].target,
        Gaussian(noise),
        mean,
        cov,
        kernel=kernel,
        standardize=standardize,
        nugget=nugget,
        predict=own.predict,
        refit=refit,
        source="from_pymc",
    )


class _Draw(NamedTuple):
    """One draw of everything that is random."""

    point: dict[str, Host]
    """Values by name."""
    target: Host
    """What the process is conditioned on, `(n,)`."""


class _Prior(NamedTuple):
    """The process at one draw, without white noise."""

    mean: Host
    K: Host
    """`(n, n)`."""
    noise: Host
    """White noise and that of the likelihood, `(n,)`."""
    new_mean: Host
    cross: Host
    """`(n, m)`."""
    new_variance: Host


@dataclass(frozen=True)
class _Process:
    """A process of PyMC at posterior draws."""

    gp: Any
    X: Host
    draws: list[_Draw]

    @property
    def jitter(self) -> float:
        """What PyMC adds to the diagonal of covariances."""
        from pymc.gp.util import JITTER_DEFAULT

        return float(JITTER_DEFAULT)

    def moments(self) -> tuple[Host, Host, float]:
        """Return mean and covariance at the training inputs, and the noise variance."""
        n, count = len(self.X), len(self.draws)
        means, within, noise = np.empty((count, n)), np.zeros((n, n)), np.zeros(count)
        for s, (draw, prior) in enumerate(self._priors(self.X[:0])):
            away, cov = latent_moments(prior.K, prior.noise + self.jitter, draw.target - prior.mean)
            means[s] = prior.mean + away
            within += (cov + self.jitter * np.eye(n)) / count
            noise[s] = common_noise(prior.noise, "gp")
        between = means - means.mean(axis=0)
        return means.mean(axis=0), within + between.T @ between / count, float(noise.mean())

    def predict(self, new: Any) -> tuple[Host, Host]:
        """Predict the latent function: mean and variance of the mixture."""
        rows = np.asarray(new, dtype=np.float64)
        means, variances = [], []
        for draw, prior in self._priors(rows):
            A = prior.K + np.diag(prior.noise + self.jitter)
            gain = np.linalg.solve(A, prior.cross)
            means.append(prior.new_mean + gain.T @ (draw.target - prior.mean))
            variances.append(prior.new_variance - np.sum(prior.cross * gain, axis=0))
        variance = np.mean(variances, axis=0) + np.var(means, axis=0)
        return np.mean(means, axis=0), np.maximum(variance, 0.0)

    def _priors(self, new: Host) -> Iterator[tuple[_Draw, _Prior]]:
        """Give the prior at every draw; PyTensor evaluates it without compiling."""
        import pytensor
        import pytensor.tensor as pt

        gp, rows = self.gp, pt.dmatrix()
        noise = gp.sigma(self.X, diag=True) if hasattr(gp, "y") else pt.zeros(len(self.X))
        outputs = [
            gp.mean_func(self.X),
            gp.cov_func(self.X, self.X),  # of two sets of points: white noise has no part in it
            gp.cov_func(self.X, diag=True),
            noise,
            gp.mean_func(rows),
            gp.cov_func(self.X, rows),
            gp.cov_func(rows, diag=True),
        ]
        inputs = _inputs(outputs, self.draws[0].point)
        evaluate = pytensor.function(
            [rows, *inputs.values()],
            [pt.as_tensor(output) for output in outputs],
            mode="FAST_COMPILE",
            on_unused_input="ignore",
            allow_input_downcast=True,
        )
        for draw in self.draws:
            mean, K, variance, noise, *at_new = evaluate(
                new, *(draw.point[name] for name in inputs)
            )
            white = white_noise(variance, K)
            new_mean, cross, new_variance = at_new
            less = new_variance - float(white.mean())
            yield draw, _Prior(mean, K, noise + white, new_mean, cross, less)


def _marginal(gp: Any, trace: Any) -> _Process:
    X, y = _values(gp.X), one_output(_values(gp.y), "gp")
    return _Process(gp, X, [_Draw(point, y) for point in _points(trace)])


def _latent(gp: Any, trace: Any) -> _Process:
    X, name = _values(gp.X), gp.f.name
    points = _points(trace)
    if name not in points[0]:
        raise ValueError(f"trace has no draws of {name}, the latent function of gp")
    if points[0][name].shape != (len(X),):
        raise ValueError(
            f"gp must have one output: {name} must have {len(X)} values; saw the shape "
            f"{points[0][name].shape}"
        )
    return _Process(gp, X, [_Draw(point, point[name]) for point in points])


def _points(trace: Any) -> list[dict[str, Host]]:
    """Return the values of every draw, by name."""
    posterior = getattr(trace, "posterior", trace)  # an InferenceData is a mapping too
    if not hasattr(posterior, "data_vars"):
        if isinstance(trace, Mapping):
            return [{name: np.asarray(value, dtype=np.float64) for name, value in trace.items()}]
        raise TypeError(
            "trace must be posterior draws, as pymc.sample returns them, or one point, as "
            f"pymc.find_MAP does; got {type(trace).__name__}"
        )
    flat = {
        str(name): np.asarray(values, dtype=np.float64).reshape(-1, *values.shape[2:])
        for name, values in posterior.data_vars.items()
    }
    count = len(next(iter(flat.values())))
    return [{name: values[s] for name, values in flat.items()} for s in range(count)]


def _inputs(outputs: Sequence[Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables that values are known of, or say of which random one they are not."""
    from pymc.distributions.distribution import SymbolicRandomVariable
    from pytensor.tensor.random.op import RandomVariable

    found, seen, todo = {}, set(), list(outputs)
    while todo:
        variable = todo.pop()
        if variable in seen:
            continue
        seen.add(variable)
        name, owner = getattr(variable, "name", None), getattr(variable, "owner", None)
        if name in known:
            found[str(name)] = variable
        elif owner is not None:
            if isinstance(owner.op, RandomVariable | SymbolicRandomVariable):
                raise ValueError(f"trace has no values of {name}, which gp depends on")
            todo.extend(owner.inputs)
    return found


def _values(given: Any) -> Host:
    """Return the numbers behind an array, a constant or a `pymc.Data`."""
    if hasattr(given, "get_value"):
        given = given.get_value()
    return np.asarray(
        getattr(given, "data", given) if hasattr(given, "owner") else given, dtype=np.float64
    )
