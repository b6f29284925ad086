"""What projections minimise and are compared by, batched over candidate submodels.

A lane is one candidate: a mask of the inputs that are in, the log parameters of the kernel and the
log extra variance. Targets with inducing points are handled by `sparse`, the others by `dense`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from gpproj.kernels import Kernel, Mask
from gpproj.linalg import Host
from gpproj.projection import dense, sparse
from gpproj.projection.values import Value
from gpproj.reference import Held, LeftOut, Target, Targets

Learn: TypeAlias = Literal["loo", "projection", "marginal_likelihood"]
CriterionName: TypeAlias = Literal["loo_divergence", "projection_error"]


Function = TypeVar("Function")


def _one_of(functions: tuple[Function, Function], held: Held) -> Function:
    """Return the function for whole matrices, or the one for inducing points."""
    return functions[held.inducing is not None]


def _left_out(target: Target | Targets) -> LeftOut | Targets:
    found = target.left_out
    assert found is not None  # every reference predicts its own rows
    return found


@dataclass(frozen=True)
class Objective:
    """A way to learn the parameters of a submodel: what is minimised.

    Parameters
    ----------
    name : str
        The value of `learn=`.
    functions : (callable, callable)
        From parameters to value and gradient, for whole matrices and for inducing points.
    slopes : (callable, callable)
        Likewise, to the slopes in the relevance of every input, in or out.
    rows : bool
        Whether predictions of single rows are compared, rather than posteriors.
    criterion : str
        The figure that submodels learned in this way are compared by, unless another is asked for.
    measures : str or None
        The figure that the objective is itself, if any.
    prior : str or None
        The default prior of submodels learned in this way.
    bounded : bool
        Whether it is a divergence, and so never negative.
    """

    name: str
    functions: tuple[Callable[..., Value], Callable[..., Value]]
    slopes: tuple[Callable[..., Host], Callable[..., Host]]
    rows: bool
    criterion: CriterionName
    measures: CriterionName | None
    prior: str | None
    bounded: bool

    def compared_with(self, target: Target | Targets) -> Held:
        """Return what of a target the objective looks at."""
        return _left_out(target) if self.rows else target

    def value(self, held: Held, kernel: Kernel, parameters: Host, mask: Mask) -> Value:
        """Return the objective and its gradient, without any prior.

        Parameters
        ----------
        held : Target, LeftOut or Targets
            What `compared_with` gives.
        kernel : Kernel
            Structure of the submodel's covariance.
        parameters : array `(b, p)`
            Log parameters of the kernel, then the log extra variance.
        mask : bool array `(b, d)`
            Inputs that are in.
        """
        return _one_of(self.functions, held)(held, kernel, parameters, mask)

    def relevance_slopes(
        self, target: Target, kernel: Kernel, parameters: Host, mask: Mask
    ) -> Host:
        """Return the slope in the relevance of every input, in or out, `(b, d)`.

        One evaluation tells for all inputs that are still out how the objective starts to fall as
        they enter: a hint that sees linear effects best.
        """
        held = self.compared_with(target)
        return _one_of(self.slopes, held)(held, kernel, parameters, mask)


OBJECTIVES: dict[str, Objective] = {
    one.name: one
    for one in (
        Objective(
            "loo",
            (dense.left_out_divergence, sparse.left_out_divergence),
            (dense.left_out_slopes, sparse.left_out_slopes),
            rows=True,
            criterion="loo_divergence",
            measures="loo_divergence",
            prior="reference",
            bounded=True,
        ),
        Objective(
            "projection",
            (dense.posterior_divergence, sparse.posterior_divergence),
            (dense.posterior_slopes, sparse.posterior_slopes),
            rows=False,
            criterion="projection_error",
            measures=None,
            prior="weak",
            bounded=True,
        ),
        Objective(
            "marginal_likelihood",
            (dense.negative_evidence, sparse.negative_evidence),
            (dense.evidence_slopes, sparse.evidence_slopes),
            rows=False,
            criterion="projection_error",
            measures=None,
            prior="weak",
            bounded=False,
        ),
    )
}
"""The divergence between leave-one-out predictions; E, twice the divergence between posteriors, as
in the paper; and -2 log evidence with the reference's noise, up to a constant."""


@dataclass(frozen=True)
class Criterion:
    """A figure that submodels are compared by.

    Parameters
    ----------
    name : str
        The value of `criterion=`, and the field of submodels that holds it.
    title : str
        In words, for tables and plots.
    functions : (callable, callable)
        From parameters to figures, for whole matrices and for inducing points.
    rows : bool
        Whether predictions of single rows are compared.
    """

    name: CriterionName
    title: str
    functions: tuple[Callable[..., Host], Callable[..., Host]]
    rows: bool

    def __call__(
        self, target: Target | Targets, kernel: Kernel, parameters: Host, mask: Mask
    ) -> Host:
        """Return the figure of each lane, `(b,)`."""
        held = _left_out(target) if self.rows else target
        return _one_of(self.functions, held)(held, kernel, parameters, mask)


CRITERIA: dict[str, Criterion] = {
    one.name: one
    for one in (
        Criterion(
            "loo_divergence",
            "divergence of leave-one-out predictions",
            (dense.loo_divergence, sparse.loo_divergence),
            rows=True,
        ),
        Criterion(
            "projection_error",
            "projection error",
            (dense.projection_error, sparse.projection_error),
            rows=False,
        ),
    )
}


def left_out_means(target: Target, kernel: Kernel, parameters: Host, mask: Mask) -> Host:
    """Return the means that submodels predict every distinct row with from the others, `(b, u)`."""
    held = target.left_out
    assert held is not None  # every reference predicts its own rows
    functions = dense.left_out_means, sparse.left_out_means
    return _one_of(functions, held)(held, kernel, parameters, mask)


def posterior_divergence(target: Held, kernel: Kernel, parameters: Host, mask: Mask) -> Value:
    """Return E and its gradient: twice the divergence that the paper's projection minimises."""
    return OBJECTIVES["projection"].value(target, kernel, parameters, mask)


def check_learn(learn: Any) -> Objective:
    """Return a way of learning by its name, or say which ones there are."""
    if learn not in OBJECTIVES:
        raise ValueError(f"learn must be one of {', '.join(OBJECTIVES)}; got {learn!r}")
    return OBJECTIVES[learn]


def check_criterion(criterion: Any, learn: Objective) -> Criterion:
    """Return a criterion by its name, that of a way of learning when left out."""
    name = learn.criterion if criterion is None else criterion
    if name not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}; got {criterion!r}")
    return CRITERIA[name]
