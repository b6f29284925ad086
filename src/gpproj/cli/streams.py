"""Tables of any length, a part of their rows at a time: from files or standard input, and back."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gpproj import store
from gpproj.data.encoding import TableError
from gpproj.io.cells import for_spreadsheets
from gpproj.io.delimited import MARKS, grids_of
from gpproj.io.reading import Reading, table_of_grid, with_numbers

if TYPE_CHECKING:
    import pandas as pd

ROWS = 20_000
"""Rows of a part."""

STANDARD = "-"
"""Stands for standard input or output."""

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
LINES = (".jsonl", ".ndjson")
PARQUET = ".parquet"
READ = (*SEPARATORS, *LINES, PARQUET)
WRITTEN = (*SEPARATORS, *LINES)


def kind_of(file: str, told: str | None, known: tuple[str, ...], option: str) -> str:
    """Return the ending that says what a table is; told, or that of the file's name."""
    ending = told if told is None or told.startswith(".") else f".{told}"
    if ending is None:
        ending = ".csv" if file == STANDARD else Path(file).suffix.lower()
    if ending not in known:
        names = ", ".join(one[1:] for one in known)
        raise TableError(f"{file} must be of one of the kinds {names}; {option} says of which")
    return ending


def parts_of(file: str, kind: str, reading: Reading) -> Iterator[pd.DataFrame]:
    """Yield the rows of a table, part by part; their index goes on.

    Parameters
    ----------
    file : str
        A path, or "-" for standard input.
    kind : str
        An ending of `READ`.
    reading : Reading
        How. What its form leaves open is found out from the first rows, the encoding from a mark:
        without one it is UTF-8.
    """
    if kind == PARQUET and file == STANDARD:
        raise TableError("a Parquet table is read from its end: give a file, not standard input")
    count = 0
    try:
        with _opened(file) as stream:
            for part in _parts(stream, kind, reading):
                yield part.rename(columns=str)
                count += len(part)
    except TableError:
        raise
    except FileNotFoundError:
        raise TableError(f"there is no file {file}") from None
    except IsADirectoryError:
        raise TableError(f"{file} is a folder, not a table") from None
    except PermissionError:
        raise TableError(f"{file} cannot be read: permission denied") from None
    except ImportError:
        raise TableError(f"{file}: Parquet needs `pip install pyarrow`") from None
    except UnicodeDecodeError:
        encoding = reading.form.encoding or "UTF-8"
        raise TableError(f"{file} is not text in {encoding}") from None
    except (ValueError, OSError, csv.Error) as error:  # every reader has errors of its own
        said = " ".join(str(error).split())
        raise TableError(f"{file} cannot be read as a table: {said}") from None
    if not count:
        raise TableError(f"{file} has no rows")


def _opened(file: str) -> AbstractContextManager[IO[bytes]]:
    return nullcontext(sys.stdin.buffer) if file == STANDARD else open(file, "rb")


def _parts(stream: IO[bytes], kind: str, reading: Reading) -> Iterator[pd.DataFrame]:
    import pandas as pd

    if kind == PARQUET:
        parquet = import_module("pyarrow.parquet")
        start = 0
        for batch in parquet.ParquetFile(stream).iter_batches(batch_size=ROWS):
            part = batch.to_pandas()
            part.index = pd.RangeIndex(start, start + len(part))
            start += len(part)
            yield with_numbers(part.rename(columns=str), ".", [], reading).frame
        return
    buffered = io.BufferedReader(stream)  # type: ignore[type-var]  # bytes, however they come
    beginning = buffered.peek(4)
    mark = next((mark for mark in MARKS if beginning.startswith(mark)), b"")
    encoding = reading.form.encoding or MARKS.get(mark, "utf-8")
    encoding = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
    text = io.TextIOWrapper(buffered, encoding=encoding, newline="")
    try:
        if kind in LINES:
            start = 0
            while records := [_record(line) for line in islice(text, ROWS) if line.strip()]:
                part = pd.DataFrame(records, index=range(start, start + len(records)))
                yield with_numbers(part, ".", [], reading).frame
                start += len(records)
            return
        start = 0
        for grid in grids_of(text, kind, reading.form, ROWS):
            part = table_of_grid(grid, reading).frame
            part.index = pd.RangeIndex(start, start + len(part))
            start += len(part)
            yield part
    finally:
        text.detach().detach()  # standard input is not ours to close


def _record(line: str) -> dict[str, Any]:
    found = json.loads(line)
    if not isinstance(found, dict):
        raise TableError(f"a line of JSON must be an object with names; saw {line.strip()[:40]}")
    return found


class Writer:
    """Writes parts of a table one after the other."""

    def __init__(self, stream: IO[str], kind: str) -> None:
        self._stream, self._kind, self._begun = stream, kind, False

    def write(self, part: pd.DataFrame) -> None:
        """Write some rows, the first ones after their names."""
        if self._kind in LINES:
            # Not by pandas, which keeps fifteen digits: numbers come back as they were.
            cells = part.astype(object).where(part.notna(), None)
            for record in cells.to_dict("records"):
                self._stream.write(json.dumps(record, default=str) + "\n")
        else:
            # Texts that are passed through are somebody else's: none may become a formula.
            for_spreadsheets(part).to_csv(
                self._stream, sep=SEPARATORS[self._kind], header=not self._begun, index=False
            )
        self._begun = True


@contextmanager
def written(file: str, kind: str, overwrite: bool) -> Iterator[Writer]:
    """Open a table that takes its name only when all of it is written; "-" is standard output."""
    if file == STANDARD:
        yield Writer(sys.stdout, kind)
        sys.stdout.flush()
        return
    path = Path(file)
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; --overwrite replaces it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
    with store.whole(path) as stream:
        text: Any = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        yield Writer(text, kind)
        text.flush()
        text.detach()
