"""A run of `gpproj select`: its settings, its folder, and its stages, each kept as it finishes."""

from __future__ import annotations

import json
import shlex
import time
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import gpproj
from gpproj import store
from gpproj.data import TargetKind
from gpproj.execute import Progress
from gpproj.inference import plan_of
from gpproj.io.tables import Encoding, Prepared, prepare, read_table
from gpproj.likelihoods.names import NAMES
from gpproj.linalg import on_device
from gpproj.projection import CRITERIA, OBJECTIVES

CONFIG = "config.json"
FORMAT = 4
"""Goes up when an older gpproj could no longer read the settings, or one would be continued in
another way than it was begun; the same format is read and no other."""


class RunError(ValueError):
    """A run that cannot be made or continued, said in one line."""


@dataclass(frozen=True)
class Settings:
    """What decides the answer of a run."""

    data: str
    target: str
    likelihood: str = "gaussian"
    exposure: str | None = None
    row_groups: str | None = None
    """Column of groups of rows that stay together."""
    ignore: tuple[str, ...] = ()
    missing: str = "error"
    sample: bool = False
    draws: int = 100
    inducing: int = 0
    """Inducing points; 0 leaves it to `gpproj.fit` or `gpproj.sample`, by the number of rows."""
    device: str | None = None
    """Where to compute."""
    validate: str | None = None
    folds: int = 5
    max_inputs: int | None = None
    learn: str = "loo"
    """How submodels are learned."""
    criterion: str | None = None
    """What they are compared by; what suits the way of learning when left out."""
    seed: int = 0

    @staticmethod
    def of(values: Mapping[str, Any], source: str) -> Settings:
        """Return the settings of a mapping, or say what is wrong with it."""
        known = {field.name for field in fields(Settings)}
        odd = [name for name in values if name not in known]
        if odd:
            raise RunError(f"{source}: there is no setting {odd[0]!r}; there are {_listed(known)}")
        for name in ("data", "target"):
            if not values.get(name):
                raise RunError(f"{source}: the setting {name!r} is missing")
        plain = dict(values)
        ignore = plain.get("ignore") or ()
        plain["ignore"] = (ignore,) if isinstance(ignore, str) else tuple(ignore)
        settings = Settings(**plain)
        settings.check(source)
        return settings

    @property
    def kind(self) -> TargetKind:
        """Of the target."""
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
            if field.name == "ignore":
                words += [word for name in value for word in (option, name)]
            elif value is True:
                words.append(option)
            elif value != field.default:
                words += [option, str(value)]
        return shlex.join([*words, "--out", str(folder)])

    def check(self, source: str) -> None:
        """Refuse values that mean nothing."""
        choices = {
            "likelihood": tuple(NAMES),
            "missing": ("error", "drop", "impute"),
            "validate": (None, "kfold", "loo"),
            "learn": tuple(OBJECTIVES),
            "criterion": (None, *CRITERIA),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                words = _listed(one for one in allowed if one)
                raise RunError(f"{source}: {name} must be one of {words}")
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
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise RunError(f"{source}: {name} must be a whole number of at least {least}")


@dataclass(frozen=True)
class Run:
    """A folder that holds a run."""

    folder: Path
    settings: Settings
    n_jobs: int
    progress: bool
    said: list[str]
    """Warnings so far, in plain words."""

    @staticmethod
    def new(folder: Path, settings: Settings, n_jobs: int, progress: bool) -> Run:
        """Make the folder of a new run."""
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise RunError(
                f"{folder} is there already; go on with --resume {folder}, or name another folder"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            content = {"format": FORMAT, "gpproj": gpproj.__version__} | asdict(settings)
            store.write_text(folder / CONFIG, json.dumps(content, indent=2) + "\n")
        except OSError as error:
            raise RunError(f"{folder} cannot be written: {error.strerror}") from None
        return Run(folder, settings, n_jobs, progress, [])

    @staticmethod
    def old(folder: Path, n_jobs: int, progress: bool) -> Run:
        """Open the folder of a run that was begun."""
        file = folder / CONFIG
        if not file.is_file():
            raise RunError(f"{folder} is not a run of gpproj select: it has no {CONFIG}")
        try:
            content = json.loads(file.read_text())
            number, made_by = content.pop("format"), content.pop("gpproj")
            if number > FORMAT:
                raise RunError(f"{folder} was made by a newer gpproj, {made_by}")
            if number < FORMAT:
                raise RunError(
                    f"{folder} was made by an older gpproj, {made_by}, which searched in another "
                    "way: make a new run"
                )
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            if isinstance(error, RunError):
                raise
            raise RunError(f"{file} is damaged") from None
        run = Run(folder, Settings.of(content, str(file)), n_jobs, progress, [])
        if run._warnings.is_file():
            run.said.extend(run._warnings.read_text().splitlines())
        return run

    def complete(self) -> gpproj.Validation:
        """Do what is left to do: learn the reference, search, validate."""
        prepared = self._prepared()
        reference = self._reference(prepared)
        learn: Any = self.settings.learn
        criterion: Any = self.settings.criterion
        with self._stage("search"):
            path = gpproj.forward_search(
                reference,
                self.settings.max_inputs,
                learn=learn,
                criterion=criterion,
                n_jobs=self.n_jobs,
                progress=self.progress,
                groups=prepared.encoding.groups or None,
                checkpoint=self._state / "search.npz",
            )
        method: Any = self.settings.validate
        with self._stage("validation"):
            return gpproj.validate(
                reference,
                path,
                method,
                folds=self.settings.folds,
                random_state=self.settings.seed,
                n_jobs=self.n_jobs,
                progress=self.progress,
                checkpoint=self._state / "folds",
            )

    def _prepared(self) -> Prepared:
        """Read the data, and see to it that they are those the run was begun with."""
        prepared = self.settings.prepared()
        if prepared.dropped:
            rows = prepared.dropped + len(prepared.y)
            self.say(f"{prepared.dropped} of {rows} rows have missing cells and are left out")
        others = [one for one in (prepared.exposure, prepared.row_groups) if one is not None]
        key = store.digest(
            prepared.X.to_numpy(),
            list(prepared.X.columns),
            prepared.y,
            prepared.encoding.plain(),
            *others,
        )
        self._state.mkdir(exist_ok=True)
        file = self._state / "data.json"
        if file.exists() and json.loads(file.read_text())["digest"] != key:
            data = self.settings.data
            raise RunError(f"{data} has changed since the run in {self.folder} was begun")
        content = {"digest": key, "encoding": prepared.encoding.plain()}
        store.write_text(file, json.dumps(content))
        return prepared

    def _reference(self, prepared: Prepared) -> gpproj.GaussianProcessReference:
        saved = self._state / "reference"
        if not saved.exists():
            with self._stage("reference"):
                self._learned(prepared).save(saved)
        # Loaded in any case: a run goes on in the same way whether it was interrupted or not.
        reference: gpproj.GaussianProcessReference = gpproj.load(saved)
        if prepared.row_groups is not None:
            reference = reference.with_row_groups(prepared.row_groups)
        return reference if self.settings.device is None else reference.to(self.settings.device)

    def _learned(self, prepared: Prepared) -> gpproj.GaussianProcessReference:
        likelihood, exposure = self.settings.likelihood, prepared.exposure
        inference = self._inference(len(prepared.y))
        if not self.settings.sample:
            return gpproj.fit(
                prepared.X,
                prepared.y,
                likelihood,
                exposure=exposure,
                inference=inference,
                device=self.settings.device,
            )
        return gpproj.sample(
            prepared.X,
            prepared.y,
            likelihood=likelihood,
            exposure=exposure,
            inference=inference,
            device=self.settings.device,
            draws=self.settings.draws,
            random_state=self.settings.seed,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )

    def _inference(self, rows: int) -> str | gpproj.Sparse:
        """Return how the reference is computed; say so if it has inducing points."""
        asked, likelihood = self.settings.inducing, NAMES[self.settings.likelihood]()
        inference = gpproj.Sparse(asked) if asked else "auto"
        _, sparse = plan_of(inference, likelihood, rows)
        if sparse is not None:
            told = f"{min(sparse.inducing, rows)} inducing points stand for {rows} rows"
            self.log(told)
            with Progress("reference", 1, enabled=self.progress) as display:
                display.announce(told)
        return inference

    @property
    def _state(self) -> Path:
        return self.folder / "state"

    @property
    def _warnings(self) -> Path:
        return self._state / "warnings.txt"

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Log a stage, and gather what it warns of."""
        self.log(f"{name} begins")
        started = time.monotonic()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            yield
        for warning in caught:
            if issubclass(warning.category, UserWarning):
                self.say(str(warning.message))
        self.log(f"{name} took {time.monotonic() - started:.1f} s")

    def say(self, text: str) -> None:
        """Keep a warning, once; a run that goes on later, and its report, still know it."""
        line = " ".join(text.split())
        if line not in self.said:
            self.said.append(line)
            self.log(f"warning: {line}")
            self._state.mkdir(exist_ok=True)
            store.write_text(self._warnings, "\n".join(self.said) + "\n")

    def log(self, text: str) -> None:
        """Add a line to the log."""
        with (self.folder / "log.txt").open("a") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")


def opened(
    given: Mapping[str, Any],
    config: Path | None,
    out: Path | None,
    resume: Path | None,
    n_jobs: int,
    progress: bool,
) -> Run:
    """Return a new run, or one that was begun, from what the command line was given."""
    if resume is not None:
        if given or config is not None or out is not None:
            raise RunError("--resume takes a folder and --n-jobs alone: the run has its settings")
        return Run.old(resume, n_jobs, progress)
    values: dict[str, Any] = {}
    if config is not None:
        values, out = _read_config(config, out)
    settings = Settings.of(values | dict(given), str(config or "gpproj select"))
    if out is None:
        raise RunError("--out is missing: the folder of the run")
    # A device or a table that cannot be used leaves no folder behind.
    if settings.device is not None:
        on_device([0.0], settings.device)
    steps = len(settings.prepared().encoding.columns)
    if settings.max_inputs is not None and settings.max_inputs > steps:
        raise RunError(f"max_inputs must be at most the number of columns, {steps}")
    return Run.new(out, settings, n_jobs, progress)


def _read_config(config: Path, out: Path | None) -> tuple[dict[str, Any], Path | None]:
    try:
        values = tomllib.loads(config.read_text())
    except OSError as error:
        raise RunError(f"{config} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise RunError(f"{config} is not TOML: {error}") from None
    values = {name.replace("-", "_"): value for name, value in values.items()}
    folder = values.pop("out", None)
    return values, Path(folder) if out is None and folder is not None else out


def encoding_of(folder: Path) -> Encoding:
    """Return how a run made inputs of its table."""
    file = folder / "state" / "data.json"
    try:
        return Encoding.of_plain(json.loads(file.read_text())["encoding"])
    except OSError:
        raise RunError(f"{folder} is not a run of gpproj select: it has no {file.name}") from None
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{file} is damaged") from None


def _listed(words: Any) -> str:
    return ", ".join(sorted(words))
