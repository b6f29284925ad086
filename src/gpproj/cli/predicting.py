"""`gpproj predict`: what the submodel of a run predicts for new rows, however many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from gpproj.cli.checking import RunError
from gpproj.cli.display import errors, one_line_errors
from gpproj.cli.outputs import validation_of
from gpproj.cli.run import Run, encoding_of
from gpproj.cli.settings import Settings
from gpproj.cli.streams import READ, STANDARD, WRITTEN, kind_of, parts_of, written
from gpproj.data.encoding import Encoding, TableError
from gpproj.data.frames import listed
from gpproj.io.targets import exposure_of
from gpproj.linalg import Host, to_host
from gpproj.prediction import Responses

if TYPE_CHECKING:
    import pandas as pd

    import gpproj

FAR = 0.9
"""Share of the prior variance that the data leave, from which on a row is said to be far."""

LARGE = 2**24
"""Bytes of a file from which on it is read part by part."""


def predict(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    data: Annotated[
        str, typer.Argument(help="Table with new rows: CSV, TSV, Parquet, JSON lines, or -.")
    ] = STANDARD,
    out: Annotated[
        str, typer.Option(help="File of the predictions: CSV, TSV, JSON lines, or -.")
    ] = STANDARD,
    size: Annotated[int | None, typer.Option(help="Inputs; the suggested size otherwise.")] = None,
    level: Annotated[float, typer.Option(help="Probability of the interval.")] = 0.95,
    name: Annotated[
        list[str] | None,
        typer.Option("--id", help="Column to pass through; may be given twice."),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Pass all columns through.")] = False,
    read_as: Annotated[
        str | None, typer.Option("--from", help="Kind of the table, where no ending says it.")
    ] = None,
    write_as: Annotated[
        str | None, typer.Option("--to", help="Kind of the predictions, likewise.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
) -> None:
    """Predict new rows with the submodel that a run has found.

    Numbers and counts: mean and interval. Classes: the more probable one, and a probability. Every
    row is predicted from itself alone, and has a line of its own. Standard input and output are -.
    """
    with one_line_errors():
        out_kind = kind_of(out, write_as, WRITTEN, "--to")
        predictor = predictor_of(run, size, level)
        ids = tuple(name or ())
        left = 0
        with written(out, out_kind, overwrite) as writer:
            for part in predictor.parts(data, read_as):
                kept = passed(part, ids, keep, predictor.names)
                found = predictor.predicted(part)
                left += int(found["mean" if "mean" in found else found.columns[1]].isna().sum())
                writer.write(kept.join(found))
    if left:
        lines = "line has" if left == 1 else "lines have"
        errors.print(f"{left} {lines} missing cells and no prediction", highlight=False)


def passed(
    part: pd.DataFrame, ids: Sequence[str], keep: bool, names: Sequence[str]
) -> pd.DataFrame:
    """Return the columns that are passed through."""
    absent = [one for one in ids if one not in part]
    if absent:
        raise TableError(f"id: the table has no column {listed(absent)}")
    kept = part if keep else part[list(dict.fromkeys(ids))]
    both = [one for one in kept.columns if one in names]
    if both:
        raise TableError(
            f"column {both[0]!r} has the name of a prediction, and cannot be passed through: "
            "rename it"
        )
    return kept


@dataclass(frozen=True)
class RunPredictor:
    """The submodel of a run, and how it reads tables."""

    submodel: Any
    encoding: Encoding
    settings: Settings
    """Those of the run: new rows are read as its table was."""
    level: float

    @property
    def exposure(self) -> str | None:
        """Column of exposures."""
        return self.settings.exposure

    @property
    def drops(self) -> bool:
        """Whether lines with missing cells have no prediction; else they are refused or filled."""
        return self.settings.missing == "drop"

    def parts(self, data: str, read_as: str | None) -> Iterator[pd.DataFrame]:
        """Yield the rows of a table: all at once as the run reads tables, or part by part.

        Files that are large, standard input, and what `--from` tells the kind of are read part by
        part; the first rows say what the settings of the run leave open.
        """
        file = Path(data)
        whole = read_as is None and data != STANDARD
        if whole and not (file.is_file() and file.stat().st_size > LARGE):
            yield self.settings.table(file).frame
        else:
            kind = kind_of(data, read_as, READ, "--from")
            reading = replace(self.settings.reading_of(kind), texts=self.texts)
            yield from parts_of(data, kind, reading)

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns that the submodel is made of."""
        return self.encoding.needed(self.submodel.inputs)

    @property
    def texts(self) -> tuple[str, ...]:
        """Columns of texts."""
        return tuple(one.name for one in self.encoding.columns if one.levels is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that are predicted."""
        classes = self.submodel.classes
        own = ("mean", "lower", "upper") if classes is None else ("class", _named(classes[1]))
        return (*own, "prior_share", "far")

    def predicted(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return predictions, one line for each row of the table."""
        import pandas as pd

        special = () if self.exposure is None else (self.exposure,)
        wanted = [one for one in (*self.needed, *special) if one in table]
        whole = table
        if self.drops:
            whole = table[table[wanted].notna().all(axis=1)]
        if not len(whole):
            return pd.DataFrame(index=table.index, columns=list(self.names))
        X = self.encoding.inputs(whole, self.needed)
        if not self.submodel.inputs:
            X = pd.DataFrame(index=whole.index)
        exposure = None if self.exposure is None else exposure_of(whole, self.exposure)
        found = self._columns(X.reset_index(drop=True), exposure)
        return pd.DataFrame(found, index=whole.index).reindex(table.index)

    def _columns(self, X: pd.DataFrame, exposure: Host | None) -> dict[str, Any]:
        sub = self.submodel
        responses: Responses = sub.respond(X, exposure)
        mean = to_host(responses.moments().mean)
        if sub.classes is None:
            lower, upper = responses.quantiles((0.5 - 0.5 * self.level, 0.5 + 0.5 * self.level))
            found: dict[str, Any] = {"mean": mean, "lower": lower, "upper": upper}
        else:
            first, second = sub.classes
            likely = [second if one else first for one in mean >= 0.5]
            found = {"class": np.array(likely, dtype=object), _named(second): mean}
        share = to_host(sub.prior_share(X))
        far = np.where(share >= FAR, "yes", "no").astype(object)
        return {**found, "prior_share": share, "far": far}


def _named(second: Any) -> str:
    return f"probability of {second}"


def predictor_of(folder: Path, size: int | None, level: float) -> RunPredictor:
    """Return what predicts new rows as a run has it.

    Parameters
    ----------
    folder : Path
        Folder of the run.
    size : int or None
        Size of the submodel; the suggested one when left out.
    level : float
        Probability of the interval; classes have none.
    """
    if not 0.0 < level < 1.0:
        raise RunError(f"level must be between 0 and 1, got {level}")
    cv: gpproj.Validation = validation_of(folder)
    settings = Run.old(folder, 1, False).settings
    rule: Any = settings.rule
    chosen = cv.smallest_enough(rule) if size is None else size
    if chosen is None:
        raise RunError(f"the run in {folder} suggests no size; give one with --size")
    if not 0 <= chosen < len(cv.path):
        raise RunError(f"size must be from 0 to {len(cv.path) - 1}, got {chosen}")
    return RunPredictor(cv.submodel(chosen), encoding_of(folder), settings, level)
