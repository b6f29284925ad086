"""A run of `gpproj select`: its folder, and its stages, each saved as it finishes."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import gpproj
from gpproj import store
from gpproj.cli.checking import RunError
from gpproj.cli.display import errors, note
from gpproj.cli.expected import expected_seconds, sentence
from gpproj.cli.folding import check_folds, folds_of_run, method_of
from gpproj.cli.settings import Settings, read_config
from gpproj.cli.units import SearchedUnits, units_of_columns
from gpproj.data.encoding import Encoding
from gpproj.execute import WholeProgress
from gpproj.inference import plan_of
from gpproj.io.tables import Prepared
from gpproj.kernels.names import named_kernel
from gpproj.likelihoods.names import NAMES
from gpproj.linalg import on_device

CONFIG, LOG = "config.json", "log.txt"
REFERENCE = "reference"
DATA, WARNINGS = NOTED = "data.json", "warnings.txt"
"""What is noted in the folder `state` before anything is learned."""

FORMAT = 7
"""Goes up when an older gpproj could no longer read the settings, or one would be continued in
another way than it was begun; the same format is read and no other."""

CONSTANT = "constant in X"
"""Ends a warning about columns that a remark has named already."""


@dataclass(frozen=True)
class Run:
    """A folder that holds a run."""

    folder: Path
    settings: Settings
    n_jobs: int
    progress: bool
    said: list[str]
    """Warnings so far, in plain words."""
    shown: list[str] = field(default_factory=list)
    """Those of them that were printed before the work began."""
    notes: list[str] = field(default_factory=list)
    """What was found out about the data."""

    @staticmethod
    def new(folder: Path, settings: Settings, n_jobs: int, progress: bool) -> Run:
        """Make the folder of a new run.

        One in which a run stopped before it had learned anything is taken once more.
        """
        if folder.exists() and not (folder.is_dir() and _holds_nothing(folder)):
            raise RunError(
                f"{folder} is there already; go on with --resume {folder}, or name another folder"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for file in (folder / "state" / name for name in NOTED):
                file.unlink(missing_ok=True)
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
        prepared, units = self._prepared()
        expected = expected_seconds(self.settings, prepared, units.steps, self.n_jobs)
        if not (self.settings.device or sparse_plan(self.settings, len(prepared.y))):
            self._announce(sentence(expected, self.settings, units.steps, self.n_jobs))
        with WholeProgress("gpproj select", expected, enabled=self.progress) as display:
            return self._stages(prepared, units, display)

    def _announce(self, text: str) -> None:
        """Say how long the work will take, unless a part of it is done."""
        if (self._state / REFERENCE).exists():
            return
        self.log(text)
        if self.progress and errors.file.isatty():
            note(text)

    def _stages(
        self, prepared: Prepared, units: SearchedUnits, display: WholeProgress
    ) -> gpproj.Validation:
        reference = self._reference(prepared, display)
        settings: Any = self.settings
        how: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.progress}
        with self._stage("search", display):
            path = gpproj.forward_search(
                reference,
                settings.max_inputs,
                learn=settings.learn,
                criterion=settings.criterion,
                checkpoint=self._state / "search.npz",
                **units.keywords,
                **how,
            )
        with self._stage("validation", display):
            cv = gpproj.validate(
                reference,
                path,
                method_of(settings),
                folds=folds_of_run(settings, reference, prepared.times),
                compare=settings.compare,
                random_state=settings.seed,
                checkpoint=self._state / "folds",
                **how,
            )
        return cv if settings.tolerance is None else cv.with_margin(*settings.margin)

    def _prepared(self) -> tuple[Prepared, SearchedUnits]:
        """Read the data, and see to it that they are those the run was begun with."""
        _, prepared, notes = self.settings.read()
        if not self.notes:  # the run goes on
            self.notes.extend(notes)
        for text in self.notes:
            if text not in prepared.remarks:
                self.log(text)
            if self.progress:
                note(text)
        for text in prepared.remarks:
            self.say(text)
        self.shown.extend(prepared.remarks)
        others = [
            one
            for one in (prepared.exposure, prepared.row_groups, prepared.times)
            if one is not None
        ]
        key = store.digest(
            prepared.X.to_numpy(),
            list(prepared.X.columns),
            prepared.y,
            prepared.encoding.plain(),
            *others,
        )
        self._state.mkdir(exist_ok=True)
        file = self._state / DATA
        if file.exists() and _content_of(file)["digest"] != key:
            data = self.settings.data
            raise RunError(f"{data} has changed since the run in {self.folder} was begun")
        content = {"digest": key, "encoding": prepared.encoding.plain()}
        store.write_text(file, json.dumps(content))
        return prepared, units_of_columns(self.settings, prepared.encoding)

    def _reference(
        self, prepared: Prepared, display: WholeProgress
    ) -> gpproj.GaussianProcessReference:
        saved = self._state / REFERENCE
        if saved.exists():
            display.skip("reference")
        else:
            with self._stage("reference", display):
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
            # Rows that are to be left out are gone.
            "missing": "error" if settings.missing == "drop" else settings.missing,
        }
        if settings.kernel is not None:
            model["kernel"] = named_kernel(settings.kernel)
        if settings.prior is not None:
            model["prior"] = settings.prior
        if settings.transform is not None:
            model["transform"] = settings.transform
        if not settings.sample:
            return gpproj.fit(prepared.frame, prepared.y, **model)
        return gpproj.sample(
            prepared.frame,
            prepared.y,
            **model,
            draws=settings.draws,
            random_state=settings.seed,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )

    def _inference(self, rows: int) -> str | gpproj.Sparse:
        """Return how the reference is computed; say so if it has inducing points."""
        sparse = sparse_plan(self.settings, rows)
        if sparse is not None:
            text = f"{min(sparse.inducing, rows)} inducing points stand for {rows} rows"
            self.log(text)
            if self.progress:
                note(text)
        return gpproj.Sparse(self.settings.inducing) if self.settings.inducing else "auto"

    @property
    def _state(self) -> Path:
        return self.folder / "state"

    @property
    def _warnings(self) -> Path:
        return self._state / WARNINGS

    @contextmanager
    def _stage(self, name: str, display: WholeProgress) -> Iterator[None]:
        """Log a stage, show it, and gather what it warns of."""
        self.log(f"{name} begins")
        started = time.monotonic()
        with display.stage(name), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            yield
        for warning in caught:
            constant = CONSTANT in str(warning.message)
            if issubclass(warning.category, UserWarning) and not constant:
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
        with (self.folder / LOG).open("a") as file:
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
    settings = Settings.of(values | dict(given), str(config or ""))
    if out is None:
        raise RunError("--out is missing: the folder of the run")
    # A device or a table that cannot be used leaves no folder behind.
    if settings.device is not None:
        on_device([0.0], settings.device)
    settled, prepared, notes = settings.read()
    units_of_columns(settled, prepared.encoding)
    check_folds(settled, prepared)
    run = Run.new(out, settled, n_jobs, progress)
    run.notes.extend(notes)
    return run


def sparse_plan(settings: Settings, rows: int) -> gpproj.Sparse | None:
    """Return the inducing points that stand for all rows, if any do."""
    inference = gpproj.Sparse(settings.inducing) if settings.inducing else "auto"
    return plan_of(inference, NAMES[settings.likelihood](), rows)[1]


def _holds_nothing(folder: Path) -> bool:
    """Say whether a folder is empty, or has what a run writes before it has learned anything."""
    held = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    begun = {CONFIG, LOG, "state", *(f"state/{name}" for name in NOTED)}
    return not held or (CONFIG in held and held <= begun)


def encoding_of(folder: Path) -> Encoding:
    """Return how a run made inputs of its table."""
    return Encoding.of_plain(_content_of(folder / "state" / DATA)["encoding"])


def _content_of(file: Path) -> dict[str, Any]:
    """Return what is known of the data that a run was begun with."""
    try:
        content = json.loads(file.read_text())
        Encoding.of_plain(content["encoding"])
        return {"digest": str(content["digest"]), "encoding": content["encoding"]}
    except OSError:
        folder = file.parent.parent
        raise RunError(f"{folder} is not a run of gpproj select: it has no {file.name}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RunError(f"{file} is damaged; make a new run") from None
