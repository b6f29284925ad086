"""Settings of a run of `gpproj select`: from the command line or a file, checked."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from gpproj.data import TargetKind
from gpproj.io.tables import Prepared, prepare, read_table
from gpproj.likelihoods.names import NAMES
from gpproj.projection import CRITERIA, OBJECTIVES
from gpproj.reference.sampling import check_count
from gpproj.validation.fitted import PLAIN


class RunError(ValueError):
    """An error of a run that cannot be made or continued, with a message of one line."""


@dataclass(frozen=True)
class Settings:
    """All that decides the answer of a run."""

    data: str
    target: str
    likelihood: str = "gaussian"
    exposure: str | None = None
    row_groups: str | None = None
    """Name of the column of groups of rows that stay together."""
    ignore: tuple[str, ...] = ()
    missing: str = "error"
    sample: bool = False
    draws: int = 100
    inducing: int = 0
    """Inducing points; 0 leaves it to `gpproj.fit` or `gpproj.sample`, by the number of rows."""
    device: str | None = None
    """Name of the device to compute on."""
    validate: str | None = None
    folds: int = 5
    compare: tuple[str, ...] = ()
    """Plain models that are fitted to the same inputs as the submodels."""
    max_inputs: int | None = None
    learn: str = "loo"
    """How submodels are learned."""
    criterion: str | None = None
    """What submodels are compared by; by default what suits the way of learning."""
    seed: int = 0

    @staticmethod
    def of(values: Mapping[str, Any], source: str) -> Settings:
        """Return the settings of a mapping, or say what is wrong with it."""
        odd = [name for name in values if name not in SETTINGS]
        if odd:
            raise RunError(
                f"{source}: there is no setting {odd[0]!r}; there are {', '.join(sorted(SETTINGS))}"
            )
        for name in ("data", "target"):
            if not values.get(name):
                raise RunError(f"{source}: the setting {name!r} is missing")
        plain = dict(values)
        for name in LISTS:
            given = plain.get(name) or ()
            if not isinstance(given, str | list | tuple):
                raise RunError(f"{source}: {name} must be a name or a list of names")
            plain[name] = (given,) if isinstance(given, str) else tuple(given)
        settings = Settings(**plain)
        settings.check(source)
        return settings

    @property
    def kind(self) -> TargetKind:
        """The kind of the target."""
        return NAMES[self.likelihood]().kind

    def prepared(self) -> Prepared:
        """Read the table."""
        missing: Any = self.missing
        table = read_table(self.data)
        columns = {"exposure": self.exposure, "row_groups": self.row_groups}
        return prepare(table, self.target, self.ignore, missing, self.kind, **columns)

    def command(self, folder: Path) -> str:
        """Return the command line that makes such a run."""
        words = ["gpproj", "select", self.data, "--target", self.target]
        for field in fields(self)[2:]:
            value = getattr(self, field.name)
            option = f"--{field.name.replace('_', '-')}"
            if field.name in LISTS:
                words += [word for name in value for word in (option, name)]
            elif value is True:
                words.append(option)
            elif value != field.default:
                words += [option, str(value)]
        return shlex.join([*words, "--out", str(folder)])

    def check(self, source: str) -> None:
        """Raise an error for values that are not allowed."""
        choices = {
            "likelihood": tuple(NAMES),
            "missing": ("error", "drop", "impute"),
            "validate": (None, "kfold", "loo"),
            "learn": tuple(OBJECTIVES),
            "criterion": (None, *CRITERIA),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                words = ", ".join(sorted(one for one in allowed if one))
                raise RunError(f"{source}: {name} must be one of {words}")
        for name in self.compare:
            if name not in PLAIN:
                raise RunError(f"{source}: compare must be among {', '.join(sorted(PLAIN))}")
        if self.compare and self.validate == "loo":
            raise RunError(f"{source}: compare fits models in folds, which loo has none of")
        if self.exposure is not None and not self.kind.takes_exposure:
            raise RunError(f"{source}: exposure is for counts, not for {self.likelihood}")
        if self.row_groups is not None and self.validate == "loo":
            raise RunError(f"{source}: loo leaves out single rows, which row_groups forbid")
        if not isinstance(self.device, str | None):
            raise RunError(f"{source}: device must be a name, such as cuda")
        if not isinstance(self.sample, bool):
            raise RunError(f"{source}: sample must be true or false")
        leasts = {"draws": 8, "inducing": 0, "folds": 2, "max_inputs": 1, "seed": 0}
        for name, least in leasts.items():
            value = getattr(self, name)
            if name == "max_inputs" and value is None:
                continue
            try:
                check_count(name, value, least)
            except ValueError as error:
                raise RunError(f"{source}: {error}") from None


SETTINGS = tuple(field.name for field in fields(Settings))
"""Names of the settings."""

LISTS = ("ignore", "compare")
"""Those that may be given several times."""


def read_config(config: Path, out: Path | None) -> tuple[dict[str, Any], Path | None]:
    """Return the settings of a TOML file, and the folder of the run: `out`, or else the file's."""
    try:
        values = tomllib.loads(config.read_text())
    except OSError as error:
        raise RunError(f"{config} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise RunError(f"{config} is not TOML: {error}") from None
    values = {name.replace("-", "_"): value for name, value in values.items()}
    folder = values.pop("out", None)
    return values, Path(folder) if out is None and folder is not None else out
