"""What projections minimise and are compared by, batched over candidate submodels.

A lane is one candidate: a mask of the inputs that are in, the log parameters of the kernel and the
log extra variance. Targets with inducing points are handled by `sparse`, the others by `dense`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from gpproj.kernels import Kernel, Mask
from gpproj.linalg import Host
from gpproj.projection import dense, sparse
from gpproj.projection.values import Value
from gpproj.reference import AnyTarget, Target, Targets

Learn: TypeAlias = Literal["loo", "projection", "marginal_likelihood"]
CriterionName: TypeAlias = Literal["loo_divergence", "projection_error"]


def _compared_with(target: Target | Targets, rows: bool) -> AnyTarget:
    """Return the reference's predictions of single rows, or the target as it is."""
    if not rows:
        return target
    assert target.left_out is not None  # every reference predicts its own rows
    return target.left_out


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
        From parameters to the slopes in the relevance of every input, in or out, for the same two.
    rows : bool
        Whether predictions of single rows are compared, rather than posteriors.
    criterion : str
        The criterion that submodels learned in this way are compared by, unless another is chosen.
    measures : str or None
        The criterion that the objective is itself, if any.
    prior : str or None
        The default prior of submodels learned in this way.
    bounded : bool
        Whether it is a divergence, and so never negative.
    """

    name: str
    # Not compared: pickles make new partial functions.
    functions: tuple[Callable[..., Value], Callable[..., Value]] = field(compare=False)
    slopes: tuple[Callable[..., Host], Callable[..., Host]] = field(compare=False)
    rows: bool = False
    criterion: CriterionName = "projection_error"
    measures: CriterionName | None = None
    prior: str | None = "weak"
    bounded: bool = True

    def compared_with(self, target: Target | Targets) -> AnyTarget:
        """Return the part of a target that the objective looks at."""
        return _compared_with(target, self.rows)

    def function(self, target: AnyTarget) -> Callable[..., Value]:
        """Return the function that evaluates the objective for a kind of target."""
        return self.functions[target.inducing is not None]

    def value(self, target: AnyTarget, kernel: Kernel, parameters: Host, mask: Mask) -> Value:
        """Return the objective and its gradient, without any prior.

        Parameters
        ----------
        target : Target, LeaveOneOut or Targets
            What `compared_with` returns.
        kernel : Kernel
            Structure of the submodel's covariance.
        parameters : array `(b, p)`
            Log parameters of the kernel, then the log extra variance.
        mask : bool array `(b, d)`
            Inputs that are in.
        """
        return self.function(target)(target, kernel, parameters, mask)

    def relevance_slopes(
        self, target: Target, kernel: Kernel, parameters: Host, mask: Mask
    ) -> Host:
        """Return the slope in the relevance of every input, in or out, `(b, d)`.

        One evaluation shows for all inputs that are still out how the objective starts to fall as
        they enter: a hint that sees linear effects best.
        """
        part = self.compared_with(target)
        return self.slopes[part.inducing is not None](part, kernel, parameters, mask)


OBJECTIVES: dict[str, Objective] = {
    "loo": Objective(
        "loo",
        (dense.left_out_divergence, sparse.left_out_divergence),
        (dense.left_out_slopes, sparse.left_out_slopes),
        rows=True,
        criterion="loo_divergence",
        measures="loo_divergence",
        prior="reference",
    ),
    "projection": Objective(
        "projection",
        (dense.posterior_divergence, sparse.posterior_divergence),
        (dense.posterior_slopes, sparse.posterior_slopes),
    ),
    "marginal_likelihood": Objective(
        "marginal_likelihood",
        (dense.negative_evidence, sparse.negative_evidence),
        (dense.evidence_slopes, sparse.evidence_slopes),
        bounded=False,
    ),
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
        Its name in tables and plots.
    functions : (callable, callable)
        From parameters to figures, for whole matrices and for inducing points.
    rows : bool
        Whether predictions of single rows are compared.
    """

    name: CriterionName
    title: str
    functions: tuple[Callable[..., Host], Callable[..., Host]] = field(compare=False)
    rows: bool

    def __call__(
        self, target: Target | Targets, kernel: Kernel, parameters: Host, mask: Mask
    ) -> Host:
        """Return the figure of each lane, `(b,)`."""
        part = _compared_with(target, self.rows)
        return self.functions[part.inducing is not None](part, kernel, parameters, mask)


CRITERIA: dict[str, Criterion] = {
    "loo_divergence": Criterion(
        "loo_divergence",
        "divergence of leave-one-out predictions",
        (dense.loo_divergence, sparse.loo_divergence),
        rows=True,
    ),
    "projection_error": Criterion(
        "projection_error",
        "projection error",
        (dense.projection_error, sparse.projection_error),
        rows=False,
    ),
}


def left_out_means(target: Target, kernel: Kernel, parameters: Host, mask: Mask) -> Host:
    """Return the means that submodels predict every distinct row with from the others, `(b, u)`."""
    part = target.left_out
    assert part is not None  # every reference predicts its own rows
    functions = dense.left_out_means, sparse.left_out_means
    return functions[part.inducing is not None](part, kernel, parameters, mask)


def check_learn(learn: Any) -> Objective:
    """Return the objective with a name, or refuse a name that no objective has."""
    if learn not in OBJECTIVES:
        raise ValueError(f"learn must be one of {', '.join(OBJECTIVES)}; got {learn!r}")
    return OBJECTIVES[learn]


def check_criterion(criterion: Any, learn: Objective) -> Criterion:
    """Return the criterion with a name, that of the objective when left out, or refuse the name."""
    name = learn.criterion if criterion is None else criterion
    if name not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}; got {criterion!r}")
    return CRITERIA[name]
