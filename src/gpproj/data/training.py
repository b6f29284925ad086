"""The training set that every model starts from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import device as device_of
from numpy.typing import NDArray

from gpproj.data import checks, frames
from gpproj.data.columns import Columns
from gpproj.data.encoded import WAYS, encoded
from gpproj.data.encoding import Missing
from gpproj.data.frames import listed
from gpproj.data.scaling import Scaling, moments, taken
from gpproj.data.target_kinds import TargetKind
from gpproj.data.targets import known_kind, read_exposure, read_target
from gpproj.linalg import Array, Host, like, namespace, on_device, to_host

Centre: TypeAlias = Callable[[Host, Host], float]
"""From targets and log exposures, `(n,)` each, to the constant that fits them best."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingSet(Columns):
    """Training data on the model's scale, with the names and the scaling they came with."""

    X: Array
    """(n, d), on the model's scale."""
    y: Array
    """(n,), on the model's scale: 0 and 1 for classes, counts as they are."""
    offset: Array | None = None
    """(n,): what is added to the latent function, log exposure plus centre; None for real y."""
    row_groups: NDArray[np.intp] | None = None
    """(n,): numbers of the groups of rows that leave together; None if every row is its own."""
    kept: NDArray[np.bool_] | None = None
    """(rows given,): which rows were not left out for missing cells; None if none was."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def take(self, rows: NDArray[np.intp]) -> TrainingSet:
        """Return some of the rows; names and scaling stay as they are."""
        return replace(
            self,
            X=taken(self.X, rows),
            y=taken(self.y, rows),
            offset=taken(self.offset, rows),
            row_groups=None if self.row_groups is None else self.row_groups[rows],
            kept=None,
        )

    def to(self, device: str) -> TrainingSet:
        """Return the same on a device of torch."""
        scaling = self.scaling
        return replace(
            self,
            X=on_device(self.X, device),
            y=on_device(self.y, device),
            offset=None if self.offset is None else on_device(self.offset, device),
            scaling=replace(
                scaling,
                input_mean=on_device(scaling.input_mean, device),
                input_scale=on_device(scaling.input_scale, device),
            ),
        )

    @property
    def columns(self) -> Columns:
        """All but the data."""
        return Columns(**{field.name: getattr(self, field.name) for field in fields(Columns)})


def training_set(
    X: Any,
    y: Any,
    *,
    standardize: bool,
    feature_names: Sequence[str] | None = None,
    kind: TargetKind | str = TargetKind.REAL,
    exposure: Any = None,
    centre: Centre | None = None,
    device: str | None = None,
    missing: Missing | None = None,
) -> TrainingSet:
    """Check, name and, if wanted, standardise training data.

    Parameters
    ----------
    X : frame, array or nested lists (n, d)
        Real numbers, integers or booleans. Arrays of array-API libraries other than NumPy stay
        in their library; everything else becomes NumPy.
    y : series, array or list (n,)
        A single column is accepted too. Rows are matched to `X` by position. Real numbers, labels
        of two classes (strings, booleans or numbers) or counts, as `kind` says.
    standardize : bool
        Scale inputs, and targets that are real, to mean zero and (population) variance one.
    feature_names : sequence of str, optional
        Names of the columns of an array.
    kind : {"real", "binary", "count"}
        Classes become 0 and 1 in the sorted order of their labels; counts stay as they are.
    exposure : series, array or list (n,), optional
        For counts: the time, the area or the people that each of them comes from; all one when
        not given.
    centre : callable, optional
        For targets that are not real, if `standardize`: from targets and log exposures (both
        NumPy) to a constant. It takes the place of the target's mean in the scaling, and offsets
        contain it; zero when not given.
    device : str, optional
        Device of torch, to which the data are moved; they stay where they are when not given.
    missing : {"error", "drop", "impute", "indicate"}, optional
        What to do about missing cells. Columns of text become inputs then; both are refused when
        it is not given.

    Returns
    -------
    TrainingSet

    Examples
    --------
    >>> training = training_set([[0.0, 1.0], [2.0, 5.0]], [1.0, 3.0], standardize=True)
    >>> training.feature_names
    ('x0', 'x1')
    >>> training.X
    array([[-1., -1.],
           [ 1.,  1.]])
    >>> training = training_set([[0], [2]], ["yes", "no"], standardize=True, kind="binary")
    >>> training.y, training.classes
    (array([1., 0.]), ('no', 'yes'))
    """
    kind = known_kind(kind)
    if not isinstance(standardize, bool | np.bool_):
        raise TypeError(f"standardize must be True or False, got {standardize!r}")
    own, given_y, given_exposure = None, y, exposure
    if missing is not None:
        own = encoded(X, y, exposure, missing)
    if own is not None:
        values, names, named = own.X, own.names, frames.is_frame(X)
        y, exposure = own.y, own.exposure
    else:
        values = frames.read(X, "X")
        checks.table(values, "X")
        names, named = _names(X, values.shape[1], feature_names)
    checks.training_size(values)
    checks.finite(values, "X", names, "" if missing is None else f"; {WAYS}")
    if device is not None:
        values = on_device(values, device)
    rows = int(values.shape[0])
    read = read_target(y, kind, rows)
    target = frames.move(read.values, beside=values, argument="y", home="X")
    checks.same_order(X, given_y, "y")
    checks.same_order(X, given_exposure, "exposure")
    log_exposure = _log_exposure(values, exposure, kind)
    seen_inputs, seen_target = moments(values), moments(target)
    if kind.is_scaled:
        checks.varying_target(seen_target)
    if kind.takes_exposure:
        checks.some_event(target)
    checks.distinct_rows(seen_inputs)
    checks.representable(seen_inputs, "X", names)
    checks.representable(seen_target, "y")
    varying = tuple(bool(varies) for varies in to_host(seen_inputs.varying))
    _warn_constant(names, varying)
    if standardize:
        scaling = Scaling.standard(seen_inputs, seen_target if kind.is_scaled else None)
    else:
        scaling = Scaling.identity(len(names), namespace(values), device_of(values))
    if not kind.is_scaled and standardize and centre is not None:
        scaling = replace(scaling, target_mean=float(centre(to_host(target), log_exposure)))
    return TrainingSet(
        X=scaling.inputs(values),
        y=scaling.target(target) if kind.is_scaled else target,
        offset=None if kind.is_scaled else like(log_exposure + scaling.target_mean, values),
        feature_names=names,
        named=named,
        varying=varying,
        scaling=scaling,
        kind=kind,
        classes=read.classes,
        encoding=None if own is None else own.encoding,
        kept=None if own is None else own.kept,
    )


def _log_exposure(values: Array, exposure: Any, kind: TargetKind) -> Host:
    rows = int(values.shape[0])
    read = read_exposure(exposure, kind, rows)
    if read is None:
        return np.zeros(rows)
    return np.log(to_host(frames.move(read, beside=values, argument="exposure", home="X")))


def _names(X: Any, d: int, feature_names: Sequence[str] | None) -> tuple[tuple[str, ...], bool]:
    own = frames.column_names(X) if frames.is_frame(X) else None
    if feature_names is None:
        return (tuple(f"x{j}" for j in range(d)), False) if own is None else (own, True)
    if isinstance(feature_names, str | bytes):
        raise TypeError(f"feature_names must be a list of names; saw {feature_names!r}")
    names = tuple(str(name) for name in feature_names)
    if own is not None and names != own:
        raise ValueError(
            "feature_names are for arrays; X is a frame that names its columns itself: "
            f"{listed(own)}"
        )
    if len(names) != d:
        raise ValueError(f"feature_names must be {d}, one a column of X; saw {len(names)}")
    if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise ValueError(f"feature_names must not repeat; saw {listed(repeated)} more than once")
    return names, True


def _warn_constant(names: tuple[str, ...], varying: tuple[bool, ...]) -> None:
    constant = [name for name, varies in zip(names, varying, strict=True) if not varies]
    if constant:
        warnings.warn(
            f"inputs {listed(constant)} are constant in X: their relevance is zero",
            UserWarning,
            stacklevel=4,
        )
