"""Submodels as one file of Python that predicts with NumPy alone."""

from __future__ import annotations

import base64
import sys
from collections.abc import Sequence
from functools import singledispatch
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from gpproj.data.transformations import Transformation
from gpproj.kernels import (
    Constant,
    Kernel,
    Linear,
    Matern32,
    Matern52,
    Product,
    SquaredExponential,
    Sum,
    Zero,
)
from gpproj.likelihoods import (
    Bernoulli,
    Gaussian,
    Likelihood,
    NegativeBinomial,
    Poisson,
    StudentT,
)
from gpproj.linalg import Host, to_host
from gpproj.prediction import LatentPredictor
from gpproj.projection import GaussianProcessSubmodel, LinearSubmodel, Submodel
from gpproj.store import write_text

WIDTH = 88
"""Characters of text in a line of an exported file."""

HEAD = '''"""Predicts {target} from {inputs}, with NumPy alone (Python 3.10 or later).

    import {module}

    mean, variance = {module}.predict_response(X)
    lower, upper = {module}.predict_interval(X, level=0.95)

X is a frame, or a mapping of the inputs' names to columns, or an array of the columns {inputs} in
this order. `predict` is about the latent function.

Exported by gpproj {version}: {summary}.
"""
'''


def to_python(submodel: Submodel, file: str | Path, *, overwrite: bool = False) -> None:
    """Write a submodel as a file of Python that predicts with NumPy alone; see `Submodel`."""
    path = Path(file)
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise ValueError(
            f"file must be a name that Python can import, ending in .py; got {path.name!r}"
        )
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; overwrite=True replaces it")
    own = files("gpproj.io").joinpath("standalone.py").read_text()
    code = own[own.index("from __future__") :]
    head = HEAD.format(
        target=_said(submodel),
        inputs=", ".join(submodel.inputs) or "no inputs",
        module=path.stem,
        version=sys.modules["gpproj"].__version__,  # the door is below this room
        summary=repr(submodel),
    )
    named = ("predict", "predict_response", "predict_interval", "inputs", "classes")
    last = "".join(f"{name} = model.{name}\n" for name in named)
    content = f"model = Model({_literal(content_of(submodel), 0)})\n"
    write_text(path, f"{head}\n{code}\n\n{content}{last}")


def _said(submodel: Submodel) -> str:
    if submodel.classes is not None:
        return f"the probability of {submodel.classes[1]!r}"
    return "a count" if submodel.columns.kind.takes_exposure else "a number"


def content_of(submodel: Submodel) -> dict[str, Any]:
    """Return what a standalone model is made of; arrays are text."""
    columns = submodel.columns
    positions = list(columns.positions(submodel.inputs))
    scaling = columns.scaling
    shift, scale = (to_host(one)[positions] for one in (scaling.input_mean, scaling.input_scale))
    found: dict[str, Any] = {
        "inputs": list(submodel.inputs),
        "classes": None if submodel.classes is None else list(submodel.classes),
        "scaling": [_packed(shift), _packed(scale)],
        "target": [float(scaling.target_mean), float(scaling.target_scale)],
        "transformation": _transformation(scaling.transformation),
        "points": [],
        "processes": [],
        "linear": None,
    }
    if isinstance(submodel, LinearSubmodel):
        linear = submodel.linear
        every = [linear.likelihood_of(draw) for draw in range(linear.count)]
        slopes, intercept = _packed(linear.slopes), _packed(linear.intercept)
        weights, found["linear"] = linear.weights, {"slopes": slopes, "intercept": intercept}
    elif isinstance(submodel, GaussianProcessSubmodel):
        parts = submodel.parts
        every, weights = [one.likelihood for one in parts], np.array([one.weight for one in parts])
        points: list[Host] = []
        for one in parts:
            found["processes"].append(_process(one.predictor, points))
        found["points"] = [_packed(own) for own in points]
    else:
        raise TypeError(f"only submodels of gpproj can be exported, got {submodel!r}")
    return {**found, "weights": _packed(weights), "likelihood": _likelihood(every)}


def _process(predictor: LatentPredictor, points: list[Host]) -> dict[str, Any]:
    """Return one process; its points join the list unless they are there."""
    X = to_host(predictor.X)
    place = next((k for k, own in enumerate(points) if np.array_equal(own, X)), len(points))
    if place == len(points):
        points.append(X)
    d = X.shape[1]
    kernel = predictor.kernel.with_log_parameters(predictor.log_parameters, d)
    root, precision = predictor.root, predictor.precision
    return {
        "kernel": kernel_of(kernel, np.asarray(predictor.mask), d),
        "points": place,
        "coefficients": _packed(to_host(predictor.coefficients)),
        "root": None if root is None else _packed(to_host(root)),
        "precision": None if precision is None else _packed(to_host(precision)),
        "extra": float(predictor.extra),
    }


@singledispatch
def kernel_of(kernel: Kernel, mask: Any, d: int) -> list[Any]:
    """Return the name of a kernel and its values; those of inputs that are out are zero."""
    raise TypeError(f"the kernel {kernel!r} cannot be exported: only gpproj's own kernels can")


@kernel_of.register
def _(kernel: Constant, mask: Any, d: int) -> list[Any]:
    return ["Constant", kernel.variance]


@kernel_of.register
def _(kernel: Zero, mask: Any, d: int) -> list[Any]:
    return ["Constant", 0.0]


@kernel_of.register
def _(kernel: Linear, mask: Any, d: int) -> list[Any]:
    return ["Linear", np.where(mask, kernel.variances, 0.0).tolist()]


@kernel_of.register(SquaredExponential)
@kernel_of.register(Matern32)
@kernel_of.register(Matern52)
def _(kernel: Any, mask: Any, d: int) -> list[Any]:
    rates = np.where(mask, 1.0 / np.broadcast_to(kernel.lengthscales, (d,)), 0.0)
    return [type(kernel).__name__, kernel.variance, rates.tolist()]


@kernel_of.register(Sum)
@kernel_of.register(Product)
def _(kernel: Any, mask: Any, d: int) -> list[Any]:
    both = (kernel_of(one, mask, d) for one in (kernel.left, kernel.right))
    return [type(kernel).__name__, *both]


def _likelihood(every: Sequence[Likelihood]) -> list[Any]:
    """Return the name and the values of the components' likelihoods."""
    match first := every[0]:
        case Gaussian() | StudentT():
            noise = _packed(np.array([one.unit(np.zeros(1)) for one in every]))
            more = [first.degrees] if isinstance(first, StudentT) else []
            return [type(first).__name__, [noise, *more]]
        case Bernoulli():
            return ["Bernoulli", [first.link]]
        case Poisson() | NegativeBinomial():
            own = [getattr(one, "dispersion", 0.0) for one in every]
            return ["Counts", [_packed(np.array(own))]]
    raise TypeError(f"the likelihood {first!r} cannot be exported: only gpproj's own can")


def _transformation(transformation: Transformation | None) -> list[Any] | None:
    if transformation is None:
        return None
    return [type(transformation).__name__, *vars(transformation).values()]


def _packed(values: Host) -> dict[str, Any]:
    doubles = np.ascontiguousarray(values, dtype="<f8")
    return {"shape": list(doubles.shape), "base64": base64.b64encode(doubles.tobytes()).decode()}


def _literal(value: Any, depth: int) -> str:
    """Return a value as Python, long text in several lines."""
    inside, outside = "    " * (depth + 1), "    " * depth
    if isinstance(value, dict):
        lines = [f"{inside}{key!r}: {_literal(one, depth + 1)},\n" for key, one in value.items()]
        return "{\n" + "".join(lines) + outside + "}"
    if isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        lines = [f"{inside}{_literal(one, depth + 1)},\n" for one in value]
        return "[\n" + "".join(lines) + outside + "]"
    if isinstance(value, str) and len(value) > WIDTH:
        pieces = [value[start : start + WIDTH] for start in range(0, len(value), WIDTH)]
        lines = [f"{inside}{piece!r}\n" for piece in pieces]
        return "(\n" + "".join(lines) + outside + ")"
    return repr(value)
