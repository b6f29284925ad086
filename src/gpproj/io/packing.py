"""Records on their way out: models and their parts as JSON and arrays, as `io.records` says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj
from numpy.typing import NDArray

from gpproj.inference import Inducing, Latent
from gpproj.io.plain import MAPPING, plain
from gpproj.io.recipes import RECIPE, plain_recipe
from gpproj.io.records import ARRAY, HALF, NUMBER, RECORDS, Chains
from gpproj.kernels import Kernel
from gpproj.linalg import DeferredCovariance, DenseCovariance, LowRankCovariance, to_host
from gpproj.projection import Divergences
from gpproj.reference import Computed, GaussianProcessReference
from gpproj.store import Stored, digest

HALVED = 32
"""Rows of square matrices from which halves are saved."""

COMPUTED = 1000
"""Rows up to which matrices that could be computed again are saved."""


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
        self._met: dict[str, dict[str, Any]] = {}

    def packed(self, value: Any, name: str) -> Any:
        kind = type(value).__name__
        if RECORDS.get(kind) == type(value).__module__:
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

    def _array(self, value: Any, name: str) -> dict[str, Any]:
        array = to_host(value) if not isinstance(value, np.ndarray) else value
        columns_first = array.flags.f_contiguous and not array.flags.c_contiguous
        key = f"{digest(array)} {columns_first}"
        if key not in self._met:
            kind = _half_of(array)
            self._met[key] = {ARRAY: name}
            if kind is not None:
                order = "F" if columns_first else "C"
                self._met[key] = {HALF: {"of": name, "kind": kind, "order": order}}
                array = array[np.tri(len(array), dtype=bool)]
            self.arrays[name] = array
        return self._met[key]


def _half_of(array: NDArray[Any]) -> str | None:
    """Say what half of a matrix tells all of it, to the bit; None if no half does."""
    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) < HALVED:
        return None
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        return None
    above = ~np.tri(len(array), dtype=bool)
    upper = array[above].tobytes()  # bytes tell zeros of either sign apart
    if not any(upper):
        return "lower"
    return "symmetric" if upper == array.T[above].tobytes() else None
