"""`sample`: posterior draws of the hyperparameters, by the no-U-turn sampler of nutpie."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from gpproj.data import Missing
from gpproj.execute import Progress, check_jobs
from gpproj.inference import NUGGET, Sparse, plan_of
from gpproj.kernels import Kernel
from gpproj.likelihoods import Likelihood, named_likelihood
from gpproj.linalg import Host, JitterWarning, one_blas_thread
from gpproj.priors import PriorLike, scales
from gpproj.recipes import Result, remembered
from gpproj.reference.conditioning import check_nugget, problem_of, structure_of, training_for
from gpproj.reference.diagnostics import describe, warn_of_trouble
from gpproj.reference.draws import Draws
from gpproj.reference.fit_starts import default_starts
from gpproj.reference.fit_through_points import optimised
from gpproj.reference.log_posterior import LogPosterior
from gpproj.reference.mcmc import need_mcmc
from gpproj.reference.process import GaussianProcessReference
from gpproj.reference.space import Space

JITTER = 0.1
"""Standard deviation of the chains' first points around the mode, on the log scale."""


@remembered("X", "y", "exposure")
def sample(
    X: Any,
    y: Any,
    draws: int = 100,
    likelihood: Likelihood | str = "gaussian",
    kernel: Kernel | None = None,
    *,
    tune: int = 300,
    chains: int = 2,
    exposure: Any = None,
    missing: Missing = "error",
    prior: PriorLike = "saas",
    inference: str | Sparse = "auto",
    standardize: bool = True,
    nugget: float = NUGGET,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = 1,
    progress: bool = True,
    device: str | None = None,
) -> Result[GaussianProcessReference]:
    """Sample the posterior of the hyperparameters of a Gaussian process.

    The reference is the mixture of the processes at all draws. Projections are compared with its
    first two moments, as in the paper, or with those of clusters of draws. Needs `pip install
    "gpproj[mcmc]"`.

    Parameters
    ----------
    X : frame or array `(n, d)`
    y : array `(n,)`
    draws : int
        Number of draws in all, at least four from each chain; rounded up to a multiple of the
        chains.
    likelihood, kernel, exposure, missing, inference, standardize, nugget, device
        Described at `gpproj.fit`.
    tune : int
        Steps of each chain before its first draw.
    chains : int
        Independent chains; with two or more they can be compared.
    prior : {"saas", "weak", "botorch", "inverse-gamma", "log-uniform"} or mapping
        Prior of the hyperparameters, see `gpproj.priors`. "log-uniform" is the paper's, between
        wide bounds.
    random_state : int, Generator or None
        Seed of the random numbers, or a generator that one is drawn from; None takes a new one.
    n_jobs : int or None
        Chains that run at the same time; the draws are the same whatever their number.
    progress : bool
        Show how far the chains are, on standard error.

    Returns
    -------
    GaussianProcessReference
        `ref.posterior` holds the draws as ArviZ data, in the user's units.

    Warns
    -----
    UserWarning
        When draws diverged, chains disagree (R-hat above 1.01) or the effective size is low.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=40, random_state=0)
    >>> ref = gpproj.sample(X[:, 6:], y, draws=50, random_state=0)  # doctest: +SKIP
    >>> ref.posterior.posterior["lengthscale"].mean(("chain", "draw"))  # doctest: +SKIP
    """
    need_mcmc("gpproj.sample", "nutpie", "arviz")
    check_count("chains", chains, 1)
    check_count("draws", draws, 4 * chains)
    check_count("tune", tune, 10)
    observation = named_likelihood(likelihood)
    structure = structure_of(kernel)
    if prior is None:
        raise ValueError("prior must be a name or a mapping; sampling needs one")
    check_nugget(nugget)
    check_jobs(n_jobs)
    training = training_for(X, y, observation, standardize, exposure, device, missing)
    method, sparse = plan_of(inference, observation, training.n)
    problem = problem_of(training, structure, observation, method, nugget)
    posterior = LogPosterior(problem, scales(training), prior).without_copies()
    seed = seed_of(random_state)
    with one_blas_thread():
        posterior, optimum = optimised(posterior, training, default_starts(posterior), sparse)
        space = space_of(posterior)
        mode = space.free(optimum.x[int(np.argmin(optimum.value))])
        trace = run_chains(
            lambda: space.pulled_back(partial(posterior.density(), lanes=(0,))),
            mode,
            draws=-(-draws // chains),
            tune=tune,
            chains=chains,
            seed=seed,
            progress=progress,
            n_jobs=n_jobs,
        )
    parameters = space.fixed(np.asarray(trace.posterior["free"]))
    described = describe(training, posterior.problem, parameters, trace.sample_stats)
    warn_of_trouble(described)
    changed = {
        "random_state": seed,
        "inference": sparse or inference,  # folds have fewer rows, and keep to the plan
    }
    made = GaussianProcessReference(
        training=training,
        problem=posterior.problem.with_rows_of(problem),
        draws=Draws.equal(parameters.reshape(-1, parameters.shape[-1])),
        optimum=optimum,
        prior=prior,
        posterior=described,
    )
    return Result(made, changed)


def space_of(posterior: LogPosterior) -> Space:
    """Return the space to sample in: what belongs to constant inputs stays where it is."""
    prior = posterior.log_prior
    assert prior is not None  # only None has no prior
    varying = np.append(posterior.problem.mask, True)  # the last for parameters of no input
    return Space(prior.bounds, prior.log_units, varying[prior.owners])


def run_chains(
    make_density: Callable[[], Any],
    mode: Host,
    *,
    draws: int,
    tune: int,
    chains: int,
    seed: int,
    progress: bool,
    n_jobs: int | None,
) -> Any:
    """Return the draws of all chains as ArviZ data with one variable, `free`.

    Every chain has a density of its own, which may remember where it was.
    """
    import nutpie
    from joblib import effective_n_jobs
    from nutpie.compiled_pyfunc import from_pyfunc

    steps = chains * (draws + tune)
    number = count(1)
    with Progress("sampling", steps, enabled=progress) as display:

        def expand(x: Host, **_: Any) -> dict[str, Host]:  # called once for every step
            display.step(min(next(number), steps))
            return {"free": x}

        def first_point(chain_seed: int) -> Host:
            rng = np.random.default_rng([seed, chain_seed])
            return mode + JITTER * rng.standard_normal(mode.size)

        model = from_pyfunc(
            ndim=mode.size,
            make_logp_fn=make_density,
            make_expand_fn=lambda *_: expand,
            expanded_dtypes=[np.dtype("float64")],
            expanded_shapes=[(mode.size,)],
            expanded_names=["free"],
            make_initial_point_fn=first_point,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of libraries about themselves
            warnings.simplefilter("ignore", JitterWarning)  # where the chains only pass by
            return nutpie.sample(
                model,
                draws=draws,
                tune=tune,
                chains=chains,
                cores=min(chains, effective_n_jobs(n_jobs)),
                seed=seed,
                save_warmup=False,
                progress_bar=False,
            )


def seed_of(random_state: int | np.random.Generator | None) -> int:
    """Return a whole number as it is, and one drawn from anything else."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(np.random.default_rng(random_state).integers(2**31))


def check_count(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least so many."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
