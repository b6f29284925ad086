"""Models and their parts as JSON and arrays, and back: one way for everything that is saved.

A record is an object with fields, a dataclass or a named tuple of the table `RECORDS`. It is saved
as an object with one key, the name of its class, that holds its fields by name:

    {"GaussianProcessSubmodel": {"inputs": ["age", "bmi"], "parts": [...], "problems": []}}

An array is a file entry of its own, named after the fields that lead to it; equal ones are saved
once. Numbers that JSON does not know are text, and functions are recipes, or null
where they are not gpproj's. All other values are saved by `io.plain`.

    {"array": "training_X"}    {"number": "nan"}    {"recipe": {"name": "fit", ...}}

Of large square matrices that are symmetric, or zero above the diagonal, the lower half is saved:

    {"half": {"of": "_computed_central_root", "kind": "lower", "order": "F"}}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.io.plain import MAPPING, restored
from gpproj.io.recipes import RECIPE, recipe_of
from gpproj.store import Stored

if TYPE_CHECKING:
    from gpproj.data import TrainingSet
    from gpproj.inference import Problem
    from gpproj.reference import Draws

ARRAY, HALF, NUMBER = "array", "half", "number"


class Chains(NamedTuple):
    """What ArviZ data have beside the draws themselves."""

    chains: int
    """How many chains there are."""
    statistics: dict[str, NDArray[Any]]
    """What the sampler reports of each draw, `(chains, draws)` each."""


_MODULES = {
    "gpproj.data.columns": ("Columns",),
    "gpproj.data.encoding": ("Column", "Encoding"),
    "gpproj.data.scaling": ("Scaling",),
    "gpproj.data.training": ("TrainingSet",),
    "gpproj.data.transformations": ("BoxCox", "Log", "Logit", "YeoJohnson"),
    "gpproj.inference.inducing": ("Inducing",),
    "gpproj.inference.problem": ("Conditioned", "Latent", "Marginals", "Problem", "Sites"),
    "gpproj.io.records": ("Chains",),
    "gpproj.linalg.covariance": ("DenseCovariance", "LowRankCovariance"),
    "gpproj.optimise.state": ("Outcome",),
    "gpproj.prediction.latent": ("LatentPredictor",),
    "gpproj.projection.linear": ("LinearSubmodel",),
    "gpproj.projection.projections": ("Divergences", "Figures"),
    "gpproj.projection.submodel": ("GaussianProcessSubmodel", "Part"),
    "gpproj.reference.draws": ("Draws",),
    "gpproj.reference.linear": ("LinearReference",),
    "gpproj.reference.linear_draws": ("LinearDraws",),
    "gpproj.reference.moments": ("MomentReference", "Shrinkage"),
    "gpproj.reference.process": ("Computed", "GaussianProcessReference"),
    "gpproj.validation.scores": ("Scores",),
    "gpproj.validation.sizes": ("Margin",),
}

RECORDS = {name: module for module, names in _MODULES.items() for name in names}
"""Records that can be saved, and the modules that define them: no other class is looked up,
whatever a file says. A module is imported when a file has one of its records, so that a submodel
loads without searches and validations."""


def record_class(name: str) -> Any:
    """Return the class of a record."""
    return getattr(import_module(RECORDS[name]), name)


def _whole(half: NDArray[Any], kind: str, order: Literal["C", "F"]) -> NDArray[Any]:
    """Return the matrix that a half was saved of."""
    n = math.isqrt(2 * half.size)
    inside = np.tri(n, dtype=bool)
    if kind not in ("lower", "symmetric"):
        raise ValueError(f"there are no halves that are {kind!r}")
    found = np.zeros((n, n), dtype=half.dtype, order=order)
    found[inside] = half
    if kind == "symmetric":
        found.T[inside] = half
    return found


def record_from(found: Stored) -> Any:
    """Return what was stored."""
    return _unpacked(found.content, found.arrays)


def _unpacked(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if isinstance(value, list):
        return tuple(_unpacked(one, arrays) for one in value)
    if not isinstance(value, dict):
        return value
    ((name, content),) = value.items()
    if name == ARRAY:
        return arrays[content]
    if name == HALF:
        return _whole(arrays[content["of"]], content["kind"], content["order"])
    if name == NUMBER:
        return float(content)
    if name == RECIPE:
        return recipe_of(content)
    if name != MAPPING and name not in RECORDS:
        return restored(value)
    values = {key: _unpacked(one, arrays) for key, one in content.items()}
    if name == MAPPING:
        return values
    if name == "GaussianProcessReference":
        values["posterior"] = _posterior(**values)
    return record_class(name)(**values)


def _posterior(
    training: TrainingSet, problem: Problem, draws: Draws, posterior: Chains | None, **_: Any
) -> Any:
    """Return the draws as ArviZ data; None where there are none, or no ArviZ."""
    if posterior is None:
        return None
    from gpproj.reference.diagnostics import describe

    parameters = draws.parameters.reshape(posterior.chains, -1, draws.parameters.shape[1])
    try:
        return describe(training, problem, parameters, posterior.statistics or None)
    except ImportError:
        return None
