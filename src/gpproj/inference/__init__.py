"""Posterior and log evidence at given hyperparameters, one algorithm a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from gpproj.inference import approximation, ep, exact, laplace, sites, sparse
from gpproj.inference.approximation import Approximate, ConvergenceWarning, Memory
from gpproj.inference.inducing import Inducing, Sparse
from gpproj.inference.left_out import (
    groups_left_out_of_moments,
    left_out,
    left_out_density,
    left_out_of_moments,
    merged_sites,
    single_densities,
)
from gpproj.inference.problem import (
    NUGGET,
    Conditioned,
    Evidence,
    Latent,
    LeaveOneOut,
    Marginals,
    Method,
    Observed,
    Problem,
    Sites,
)
from gpproj.inference.selection import greedy
from gpproj.likelihoods import Gaussian, Likelihood
from gpproj.linalg import Host, like

__all__ = [
    "NUGGET",
    "Conditioned",
    "ConvergenceWarning",
    "Evidence",
    "Inducing",
    "Latent",
    "LeaveOneOut",
    "Marginals",
    "Method",
    "Observed",
    "Problem",
    "Sites",
    "Sparse",
    "approximate_with",
    "conditioned",
    "greedy",
    "groups_left_out_of_moments",
    "leave_one_out",
    "left_out",
    "left_out_density",
    "left_out_of_moments",
    "log_evidence",
    "merged_sites",
    "method_of",
    "plan_of",
    "posterior",
    "reference_leave_one_out",
    "single_densities",
]

APPROXIMATIONS: dict[Method, Approximate] = {
    "laplace": laplace.approximate,
    "ep": ep.approximate,
}


SPARSE_ABOVE = 5000
"""Rows above which "auto" goes through inducing points."""


def plan_of(
    inference: str | Sparse, likelihood: Likelihood, n: int
) -> tuple[Method, Sparse | None]:
    """Return the algorithm for a likelihood, and the choice of inducing points, if any.

    Parameters
    ----------
    inference : {"auto", "exact", "ep", "laplace"} or Sparse
        "auto" has inducing points above `SPARSE_ABOVE` rows.
    likelihood : Likelihood
    n : int
        Rows.
    """
    if isinstance(inference, Sparse):
        return method_of("auto", likelihood), inference
    many = inference == "auto" and n > SPARSE_ABOVE
    return method_of(inference, likelihood), Sparse() if many else None


def method_of(inference: str, likelihood: Likelihood) -> Method:
    """Return the algorithm for a likelihood: "auto" chooses, and what does not suit is refused.

    Examples
    --------
    >>> from gpproj.likelihoods import Bernoulli, Poisson
    >>> method_of("auto", Bernoulli()), method_of("auto", Poisson())
    ('ep', 'laplace')
    """
    gaussian = isinstance(likelihood, Gaussian)
    if inference == "auto":
        if gaussian:
            return "exact"
        return "ep" if likelihood.kind.has_classes else "laplace"
    if inference not in get_args(Method):
        raise ValueError(
            'inference must be "auto", "exact", "laplace", "ep" or a gpproj.Sparse, '
            f"got {inference!r}"
        )
    if (inference == "exact") != gaussian:
        raise ValueError(
            f'inference="{inference}" does not suit {likelihood!r}: Gaussian noise is exact, '
            "everything else is approximated"
        )
    if inference == "ep" and not likelihood.log_concave:
        raise ValueError(
            f'inference="ep" is not reliable for {likelihood!r}, whose log density is not '
            'concave; use "laplace"'
        )
    method: Method = inference  # type: ignore[assignment]  # one of them, as was just seen
    return method


def approximate_with(method: Method) -> Approximate:
    """Return the function that approximates a posterior."""
    return APPROXIMATIONS[method]


def log_evidence(
    problem: Problem,
    parameters: Host,
    memory: Memory | None = None,
    lanes: Sequence[int] | None = None,
) -> Evidence:
    """Return the log evidence and its gradient for a batch of parameter vectors.

    Parameters
    ----------
    problem : Problem
    parameters : array `(b, p)`
    memory : dict, optional
        Where approximations store the sites of each lane, to start the next call from them; the
        same dict in every call of one optimisation.
    lanes : sequence of int, optional
        Names of the lanes in the memory.
    """
    if problem.is_exact:
        if problem.inducing is not None:
            return sparse.log_evidence(problem, parameters)
        return exact.log_marginal_likelihood(problem, parameters)
    approximate = APPROXIMATIONS[problem.method]
    return approximation.log_evidence(problem, parameters, approximate, memory, lanes)


def conditioned(problem: Problem, parameters: Host) -> Conditioned:
    """Condition on the targets at one parameter vector, `(p,)`."""
    if problem.is_exact:
        if problem.inducing is not None:
            return sparse.conditioned(problem, parameters)
        return exact.conditioned(problem, parameters)
    return approximation.conditioned(problem, parameters, APPROXIMATIONS[problem.method])


def posterior(problem: Problem, parameters: Host, given: Conditioned) -> Latent:
    """Return the latent posterior at the training inputs for one parameter vector, `(p,)`."""
    at = exact.posterior if given.marginals is None else approximation.posterior
    found = at(problem, parameters, given)
    return found._replace(left_out=left_out(problem, parameters, given))


def reference_leave_one_out(problem: Problem, parameters: Host, given: Conditioned) -> LeaveOneOut:
    """Predict every target from all the others as the reference would at one parameter vector.

    Inducing points have a method of their own for it; submodels, and what they are compared with,
    go by the latent posterior at the training inputs.
    """
    if problem.is_exact and problem.inducing is not None:
        return sparse.leave_one_out(problem, parameters)
    return leave_one_out(problem, problem.likelihood_at(parameters), given)


def leave_one_out(problem: Problem, likelihood: Likelihood, given: Conditioned) -> LeaveOneOut:
    """Predict every target from all the others, hyperparameters and sites held."""
    if given.marginals is None:
        return exact.leave_one_out(problem.y, given.coefficients, given.root)
    found = sites.leave_one_out(problem.observed(likelihood), given.marginals, given.sites)
    return LeaveOneOut(*(like(part, problem.y) for part in found))
