"""A run of `gpproj select`: its folder, and its stages, each saved as it finishes."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gpproj
from gpproj import store
from gpproj.cli.settings import RunError, Settings, read_config
from gpproj.data.encoding import Encoding
from gpproj.execute import Progress
from gpproj.inference import plan_of
from gpproj.io.tables import Prepared
from gpproj.likelihoods.names import NAMES
from gpproj.linalg import on_device

CONFIG = "config.json"
FORMAT = 6
"""Goes up when an older gpproj could no longer read the settings, or one would be continued in
another way than it was begun; the same format is read and no other."""


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
            newer, older = number > FORMAT, number < FORMAT
        except (ValueError, KeyError, AttributeError, TypeError):
            raise RunError(f"{file} is damaged") from None
        if newer:
            raise RunError(f"{folder} was made by a newer gpproj, {made_by}")
        if older:
            raise RunError(
                f"{folder} was made by an older gpproj, {made_by}, which searched in another way: "
                "make a new run"
            )
        run = Run(folder, Settings.of(content, str(file)), n_jobs, progress, [])
        if run._warnings.is_file():
            run.said.extend(run._warnings.read_text().splitlines())
        return run

    def complete(self) -> gpproj.Validation:
        """Do what is left to do: learn the reference, search, validate."""
        prepared = self._prepared()
        reference = self._reference(prepared)
        settings: Any = self.settings
        how: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.progress}
        with self._stage("search"):
            path = gpproj.forward_search(
                reference,
                settings.max_inputs,
                learn=settings.learn,
                criterion=settings.criterion,
                groups=prepared.encoding.groups or None,
                checkpoint=self._state / "search.npz",
                **how,
            )
        with self._stage("validation"):
            return gpproj.validate(
                reference,
                path,
                settings.validate,
                folds=settings.folds,
                compare=settings.compare,
                random_state=settings.seed,
                checkpoint=self._state / "folds",
                **how,
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
        settings = self.settings
        model: dict[str, Any] = {
            "likelihood": settings.likelihood,
            "exposure": prepared.exposure,
            "inference": self._inference(len(prepared.y)),
            "device": settings.device,
        }
        if not settings.sample:
            return gpproj.fit(prepared.X, prepared.y, **model)
        return gpproj.sample(
            prepared.X,
            prepared.y,
            **model,
            draws=settings.draws,
            random_state=settings.seed,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )

    def _inference(self, rows: int) -> str | gpproj.Sparse:
        """Return how the reference is computed; say so if it has inducing points."""
        count, likelihood = self.settings.inducing, NAMES[self.settings.likelihood]()
        inference = gpproj.Sparse(count) if count else "auto"
        _, sparse = plan_of(inference, likelihood, rows)
        if sparse is not None:
            text = f"{min(sparse.inducing, rows)} inducing points stand for {rows} rows"
            self.log(text)
            with Progress("reference", 1, enabled=self.progress) as display:
                display.announce(text)
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
        values, out = read_config(config, out)
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


def encoding_of(folder: Path) -> Encoding:
    """Return how a run made inputs of its table."""
    file = folder / "state" / "data.json"
    try:
        return Encoding.of_plain(json.loads(file.read_text())["encoding"])
    except OSError:
        raise RunError(f"{folder} is not a run of gpproj select: it has no {file.name}") from None
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{file} is damaged") from None
