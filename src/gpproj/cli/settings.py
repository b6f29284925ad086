"""Settings of a run of `gpproj select`: from the command line or a file, checked."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

from gpproj.cli.checking import (
    RunError,
    columns_by_name,
    count,
    flag,
    names,
    numbers_by_name,
    one_of,
    positive_number,
    text,
)
from gpproj.data import TargetKind
from gpproj.data.encoding import Missing, TableError
from gpproj.data.naming import close_matches, unknown_column
from gpproj.data.transformations import TRANSFORMATIONS
from gpproj.io.delimited import TableForm
from gpproj.io.reading import Reading, Table, ending_of, table_of
from gpproj.io.tables import Prepared, prepare
from gpproj.io.targets import likelihood_of
from gpproj.kernels.names import named_kernel
from gpproj.likelihoods.names import NAMES
from gpproj.priors.joint import NAMED
from gpproj.projection import CRITERIA, OBJECTIVES
from gpproj.validation.fitted import PLAIN
from gpproj.validation.sizes import GAIN, USUAL_MARGIN, Margin

AUTO = "auto"
"""The likelihood that suits the target."""


@dataclass(frozen=True)
class Settings:
    """All that decides the answer of a run."""

    data: str
    target: str
    likelihood: str = AUTO
    exposure: str | None = None
    row_groups: str | None = None
    """Name of the column of groups of rows that stay together."""
    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    """Whether the first row has the names of the columns."""
    sheet: str | None = None
    ignore: tuple[str, ...] = ()
    as_number: tuple[str, ...] = ()
    """Columns of numbers that are written as texts."""
    placeholder: tuple[str, ...] = ()
    """Further texts that stand for missing cells."""
    missing: str = "error"
    group: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns that enter together, by the name of their group."""
    cost: Mapping[str, float] = field(default_factory=dict)
    always: tuple[str, ...] = ()
    transform: str | None = None
    """What a target of real numbers is transformed by."""
    kernel: str | None = None
    prior: str | None = None
    sample: bool = False
    draws: int = 100
    inducing: int = 0
    """Inducing points; 0 leaves it to `gpproj.fit` or `gpproj.sample`, by the number of rows."""
    device: str | None = None
    """Name of the device to compute on."""
    validate: str | None = None
    folds: int = 5
    repeats: int = 1
    time: str | None = None
    """Name of the column that orders the rows, of which the later are predicted."""
    compare: tuple[str, ...] = ()
    """Plain models that are fitted to the same inputs as the submodels."""
    max_inputs: int | None = None
    learn: str = "loo"
    """How submodels are learned."""
    criterion: str | None = None
    """What submodels are compared by; by default what suits the way of learning."""
    rule: str = "margin"
    """What is enough."""
    tolerance: float | None = None
    """The largest loss that would not matter; 5 % of the gain by default."""
    tolerance_unit: str = GAIN
    seed: int = 0

    @staticmethod
    def of(values: Mapping[str, Any], source: str) -> Settings:
        """Return the settings of a mapping, or say what is wrong with it, and where it comes from.

        Parameters
        ----------
        values : mapping
        source : str
            Begins errors; empty for the command line.
        """
        source = source and f"{source}: "
        odd = [name for name in values if name not in SETTINGS]
        if odd:
            close = close_matches(odd[0], SETTINGS)
            meant = f"did you mean {' or '.join(close)}?" if close else f"there are {_ALL}"
            raise RunError(f"{source}there is no setting {odd[0]!r}; {meant}")
        for name in ("data", "target"):
            if not values.get(name):
                raise RunError(f"{source}the setting {name!r} is missing")
        try:
            found = {
                name: CHECKS[name](name, value)
                for name, value in values.items()
                if value is not None
            }
            settings = Settings(**found)
            settings.check()
        except (RunError, TableError) as error:
            raise RunError(f"{source}{error}") from None
        return settings

    @property
    def kind(self) -> TargetKind:
        """The kind of the target."""
        return NAMES[self.likelihood]().kind

    @property
    def margin(self) -> Margin:
        """The largest loss that would not matter."""
        if self.tolerance is None:
            return USUAL_MARGIN
        return Margin(self.tolerance, self.tolerance_unit)

    @property
    def reading(self) -> Reading:
        """How tables are read."""
        form = TableForm(self.sep, self.decimal, self.encoding, self.header, self.sheet)
        return Reading(form, self.as_number, self.placeholder, self.ignore)

    def table(self, file: str | Path | None = None) -> Table:
        """Read the table of the run, or another one with rows of the same kind.

        Parameters
        ----------
        file : path, optional
            Another table. Where its ending is another one, its form is found out; what cells mean
            is as in the run's own.
        """
        if file is None:
            return table_of(self.data, self.reading)
        return table_of(file, self.reading_of(ending_of(file)))

    def reading_of(self, ending: str) -> Reading:
        """Return how tables of new rows are read whose files have an ending."""
        reading = replace(self.reading, partial=True)
        if ending != ending_of(self.data):
            reading = replace(reading, form=TableForm(header=self.header))
        return reading

    def read(self) -> SettledRun:
        """Read the table, and settle what depends on it."""
        table, settled, notes = self.table(), self, []
        if self.likelihood == AUTO:
            if self.target not in table.frame:
                raise TableError(unknown_column("target", self.target, table.frame.columns))
            likelihood, said = likelihood_of(table.frame[self.target])
            settled = replace(self, likelihood=likelihood)
            notes = [said] if said is not None and self.target not in self.ignore else []
        settled.check()
        missing: Any = self.missing
        prepared = prepare(
            table.frame,
            self.target,
            self.ignore,
            missing,
            settled.kind,
            exposure=self.exposure,
            row_groups=self.row_groups,
            time=self.time,
            decimal=table.decimal,
        )
        return SettledRun(settled, prepared, (*table.notes, *notes, *prepared.remarks))

    def command(self, folder: Path) -> str:
        """Return the command line that makes such a run."""
        words = ["gpproj", "select", self.data, "--target", self.target]
        for one in fields(self)[2:]:
            value, option = getattr(self, one.name), f"--{one.name.replace('_', '-')}"
            if isinstance(value, Mapping):
                value = [f"{key}={_written(part)}" for key, part in value.items()]
            if isinstance(value, list | tuple):
                words += [word for part in value for word in (option, part)]
            elif value is True:
                words.append(option)
            elif value is False and one.default is None:
                words.append(f"--no-{one.name}")
            elif value != one.default:
                words += [option, _written(value)]
        return shlex.join([*words, "--out", str(folder)])

    def check(self) -> None:
        """Raise an error for settings that do not go together."""
        self.reading  # noqa: B018 (a form that no table has is refused)
        if self.compare and self.validate == "loo":
            raise RunError("compare fits models in folds, which loo has none of")
        if self.exposure is not None and not (self.likelihood != AUTO and self.kind.takes_exposure):
            what = "" if self.likelihood == AUTO else f", not for {self.likelihood}"
            raise RunError(
                f"exposure is for counts{what}; name a likelihood of counts, poisson or "
                "negative-binomial"
            )
        if self.transform is not None and self.likelihood not in (AUTO, "gaussian"):
            raise RunError(f"transform is for real numbers, not for {self.likelihood}")
        for name in ("row_groups", "time"):
            if getattr(self, name) is not None and self.validate == "loo":
                raise RunError(f"loo leaves out single rows, which {name} forbids; use kfold")
        if self.repeats > 1 and self.validate == "loo":
            raise RunError("repeats is for kfold: loo leaves out each row once")
        if self.time is not None and self.repeats > 1:
            raise RunError("repeats is for random folds: those in order of time are always alike")
        if self.time is not None and self.row_groups is not None:
            raise RunError("time and row_groups cannot both say which rows go together")
        if self.rule != "margin" and self.tolerance is not None:
            raise RunError("tolerance is for the rule margin; the others have their own")
        if self.likelihood != AUTO:
            self._check_margin()
        if self.kernel is not None:
            try:
                named_kernel(self.kernel)
            except ValueError as error:
                raise RunError(str(error)) from None

    def _check_margin(self) -> None:
        try:
            self.margin.check(self.kind)
        except ValueError as error:
            said = str(error).replace("unit", "tolerance-unit").replace("margin", "tolerance")
            raise RunError(said) from None


class SettledRun(NamedTuple):
    """What a run is made of: all settings, the data, and what was found out about them."""

    settings: Settings
    prepared: Prepared
    notes: tuple[str, ...]


def _written(value: Any) -> str:
    """Return a value as it is written on a command line."""
    if isinstance(value, tuple):
        return ",".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("data", "target", "exposure", "row_groups", "time", "device"), text),
    **dict.fromkeys(("sep", "decimal", "encoding", "sheet", "kernel"), text),
    **dict.fromkeys(("ignore", "as_number", "placeholder", "always"), names),
    **dict.fromkeys(("header", "sample"), flag),
    "likelihood": one_of(AUTO, *NAMES),
    "missing": one_of(*get_args(Missing)),
    "group": columns_by_name,
    "cost": numbers_by_name,
    "prior": one_of(*NAMED),
    "transform": one_of(*TRANSFORMATIONS),
    "draws": count(8),
    "inducing": count(0),
    "validate": one_of("kfold", "loo"),
    "folds": count(2),
    "repeats": count(1),
    "compare": lambda name, value: tuple(one_of(*PLAIN)(name, one) for one in names(name, value)),
    "max_inputs": count(1),
    "learn": one_of(*OBJECTIVES),
    "criterion": one_of(*CRITERIA),
    "rule": one_of("margin", "se", "elpd"),
    "tolerance": positive_number,
    "tolerance_unit": text,
    "seed": count(0),
}
"""What each setting must be."""

SETTINGS = tuple(field.name for field in fields(Settings))
"""Names of the settings."""

_ALL = ", ".join(sorted(SETTINGS))


def read_config(config: Path, out: Path | None) -> tuple[dict[str, Any], Path | None]:
    """Return the settings of a TOML file, and the folder of the run: `out`, or else the file's."""
    try:
        values = tomllib.loads(config.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise RunError(f"{config} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise RunError(f"{config} is not TOML: {error}") from None
    values = {name.replace("-", "_"): value for name, value in values.items()}
    folder = values.pop("out", None)
    if folder is not None and not isinstance(folder, str):
        raise RunError(f"{config}: out must be text, got {folder!r}")
    return values, Path(folder) if out is None and folder is not None else out
