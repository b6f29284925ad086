"""Models and their parts as JSON and arrays, and back: one way for everything that is saved.

A record is an object with fields, a dataclass or a named tuple of the table `RECORDS`. It is saved
as an object with one key, the name of its class, that holds its fields by name:

    {"GaussianProcessSubmodel": {"inputs": ["age", "bmi"], "parts": [...], "problems": []}}

An array is a file entry of its own, named after the fields that lead to it; one that several fields
share is saved once. Numbers that JSON does not know are text, and functions are recipes, or null
where they are not gpproj's. All other values are saved by `io.plain`.

    {"array": "parts_0_predictor_root"}    {"number": "nan"}    {"recipe": {"name": "fit", ...}}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import is_array_api_obj
from numpy.typing import NDArray

from gpproj.data import Columns, Encoding, Scaling, TrainingSet
from gpproj.data.encoding import Column
from gpproj.inference import Conditioned, Inducing, Latent, Marginals, Problem, Sites
from gpproj.io.plain import MAPPING, plain, restored
from gpproj.io.recipes import RECIPE, plain_recipe, recipe_of
from gpproj.kernels import Kernel
from gpproj.linalg import DeferredCovariance, DenseCovariance, LowRankCovariance, to_host
from gpproj.optimise import Outcome
from gpproj.prediction import LatentPredictor
from gpproj.projection import Divergences, Figures, GaussianProcessSubmodel, LinearSubmodel
from gpproj.projection.submodel import Part
from gpproj.reference import (
    Computed,
    Draws,
    GaussianProcessReference,
    LinearDraws,
    LinearReference,
    MomentReference,
    Shrinkage,
)
from gpproj.reference.diagnostics import describe
from gpproj.store import Stored
from gpproj.validation.scores import Scores
from gpproj.validation.sizes import Margin

ARRAY, NUMBER = "array", "number"

COMPUTED = 1000
"""Rows up to which matrices that could be computed again are saved."""


class Chains(NamedTuple):
    """What ArviZ data have beside the draws themselves."""

    chains: int
    """How many chains there are."""
    statistics: dict[str, NDArray[Any]]
    """What the sampler reports of each draw, `(chains, draws)` each."""


RECORDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Chains,
        Column,
        Columns,
        Computed,
        Conditioned,
        DenseCovariance,
        Divergences,
        Draws,
        Encoding,
        Figures,
        GaussianProcessReference,
        GaussianProcessSubmodel,
        Inducing,
        Latent,
        LatentPredictor,
        LinearDraws,
        LinearReference,
        LinearSubmodel,
        LowRankCovariance,
        Margin,
        Marginals,
        MomentReference,
        Outcome,
        Part,
        Problem,
        Scaling,
        Scores,
        Shrinkage,
        Sites,
        TrainingSet,
    )
}
"""Records that can be saved, by name: no other class is looked up, whatever a file says."""


@singledispatch
def fields_of(record: Any) -> dict[str, Any]:
    """Return the fields that a record is saved by."""
    if is_dataclass(record):
        return {field.name: getattr(record, field.name) for field in fields(record)}
    return dict(record._asdict())


@fields_of.register
def _(record: DenseCovariance) -> dict[str, Any]:
    return {"matrix": record.dense()}


@fields_of.register
def _(record: Latent) -> dict[str, Any]:
    cov = record.latent_cov
    whole = cov.whole if isinstance(cov, DeferredCovariance) else cov
    return record._replace(latent_cov=whole)._asdict()


@fields_of.register
def _(record: LowRankCovariance) -> dict[str, Any]:
    return {"noise": record.noise, "factor": record.factor}


@fields_of.register
def _(record: Divergences) -> dict[str, Any]:
    return {"figures": record.figures}


@fields_of.register
def _(record: Inducing) -> dict[str, Any]:
    # Points of submodels are saved with the path that they belong to.
    return {field.name: getattr(record, field.name) for field in fields(record)[:-1]}


@fields_of.register
def _(record: GaussianProcessReference) -> dict[str, Any]:
    posterior, chains = record.posterior, None
    if posterior is not None:
        stats = getattr(posterior, "sample_stats", {})
        statistics = {str(name): np.asarray(stats[name]) for name in stats}
        chains = Chains(int(posterior.posterior.sizes["chain"]), statistics)
    # The moments of few rows are saved although they follow from the rest: other numbers of
    # threads, and other machines, would compute other last digits.
    small = record.training.n <= COMPUTED or record.problem.inducing is not None
    computed = Computed(record.latent, record._central) if small else None
    found = {field.name: getattr(record, field.name) for field in fields(record)}
    return {**found, "posterior": chains, "_computed": computed}


def stored(value: Any) -> Stored:
    """Return a record, or a mapping of values, as JSON and arrays."""
    packing = _Packing()
    return Stored(packing.packed(value, ""), packing.arrays)


class _Packing:
    """Arrays that were met on the way down a record."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._met: dict[int, tuple[str, Any]] = {}  # holds them: ids of the living are unique

    def packed(self, value: Any, name: str) -> Any:
        kind = type(value).__name__
        if RECORDS.get(kind) is type(value):
            return {kind: self._each(fields_of(value), name)}
        if is_array_api_obj(value) and not isinstance(value, np.generic):
            return self._array(value, name) if value.ndim else float(value)
        match value:
            case float() if not math.isfinite(value):
                return {NUMBER: str(float(value))}
            case Mapping():
                return {MAPPING: self._each(value, name)}
            case tuple():
                return [self.packed(one, f"{name}_{place}") for place, one in enumerate(value)]
        if callable(value) and not isinstance(value, Kernel):
            recipe = plain_recipe(value)
            return recipe and {RECIPE: recipe}
        return plain(value)

    def _each(self, values: Mapping[str, Any], name: str) -> dict[str, Any]:
        return {
            key: self.packed(value, f"{name}_{key}".strip("_")) for key, value in values.items()
        }

    def _array(self, value: Any, name: str) -> dict[str, str]:
        if id(value) not in self._met:
            self._met[id(value)] = name, value
            self.arrays[name] = to_host(value) if not isinstance(value, np.ndarray) else value
        return {ARRAY: self._met[id(value)][0]}


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
    if name == NUMBER:
        return float(content)
    if name == RECIPE:
        return recipe_of(content)
    if name != MAPPING and name not in RECORDS:
        return restored(value)
    values = {key: _unpacked(one, arrays) for key, one in content.items()}
    if name == MAPPING:
        return values
    if name == GaussianProcessReference.__name__:
        values["posterior"] = _posterior(**values)
    return RECORDS[name](**values)


def _posterior(
    training: TrainingSet, problem: Problem, draws: Draws, posterior: Chains | None, **_: Any
) -> Any:
    """Return the draws as ArviZ data; None where there are none, or no ArviZ."""
    if posterior is None:
        return None
    parameters = draws.parameters.reshape(posterior.chains, -1, draws.parameters.shape[1])
    try:
        return describe(training, problem, parameters, posterior.statistics or None)
    except ImportError:
        return None
