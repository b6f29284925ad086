"""Tables of users as frames: text, workbooks, JSON and Parquet, each as it comes."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpproj.data.encoding import TableError
from gpproj.data.frames import listed
from gpproj.data.naming import unknown_column
from gpproj.io.cells import as_numbers, values_of
from gpproj.io.delimited import USUAL, Grid, TableForm, grid_of, grid_of_text, text_of

if TYPE_CHECKING:
    import pandas as pd

LINES = (".jsonl", ".ndjson")
WORKBOOKS = (".xlsx", ".xlsm")
ENDINGS = (*USUAL, *WORKBOOKS, ".json", *LINES, ".parquet")
"""Of files that can be read; `.gz` may come after each."""


@dataclass(frozen=True)
class Reading:
    """How a table is read: the form of its file, and what some cells mean."""

    form: TableForm = field(default_factory=TableForm)
    as_number: tuple[str, ...] = ()
    """Columns of numbers that are written as texts."""
    placeholders: tuple[str, ...] = ()
    """Further texts that stand for missing cells."""
    ignore: tuple[str, ...] = ()
    """Columns that nobody is told of, since nothing is done with them."""
    partial: bool = False
    """Whether columns may be absent, as from new rows that a submodel of a few predicts."""
    texts: tuple[str, ...] = ()
    """Columns that are text whatever their cells look like."""


@dataclass(frozen=True)
class Table:
    """A table of a user."""

    frame: pd.DataFrame
    decimal: str
    notes: tuple[str, ...]
    """Sentences about how it was read."""


def read_table(file: str | Path, reading: Reading | None = None) -> pd.DataFrame:
    """Read a table of any kind; see `table_of`.

    Parameters
    ----------
    file : path
    reading : Reading, optional
        How; found out when left out.
    """
    return table_of(file, reading).frame


def table_of(file: str | Path, reading: Reading | None = None) -> Table:
    """Read a table, with what was found out about it.

    Parameters
    ----------
    file : path
        The ending says what it is: text (`.csv`, `.tsv`, `.txt`, `.dat`), a workbook (`.xlsx`),
        JSON (`.json`, `.jsonl`) or Parquet, and `.gz` after it that it is compressed.
    reading : Reading, optional
        How; found out when left out.
    """
    path, reading = Path(file), reading or Reading()
    if not path.exists():
        raise TableError(f"there is no file {path}")
    if path.is_dir():
        raise TableError(f"{path} is a folder, not a table")
    ending = ending_of(path)
    if ending not in ENDINGS:
        raise TableError(f"{path} must end in {', '.join(ENDINGS)}, or one of these and .gz")
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix.lower() == ".gz" else content
        table = _table(content, ending, reading)
    except PermissionError:
        raise TableError(f"{path} cannot be read: permission denied") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise TableError(f"{path} is not compressed by gzip, or not whole") from None
    except Exception as error:  # every reader has errors of its own
        said = " ".join(str(error).split())
        raise TableError(f"{path} cannot be read as a table: {said}") from None
    if not len(table.frame):
        raise TableError(f"{path} has no rows")
    return table


def ending_of(file: str | Path) -> str:
    """Return the ending of a file that says what it is.

    Examples
    --------
    >>> ending_of("houses.2020.CSV.gz")
    '.csv'
    """
    path = Path(file)
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def _table(content: bytes, ending: str, reading: Reading) -> Table:
    """Return the table in the content of a file."""
    form = reading.form
    if ending == ".parquet":
        return with_numbers(_parquet(content), ".", [], reading)
    if ending in USUAL:
        text, notes = text_of(content, form.encoding)
        grid = grid_of_text(text, ending, form)
        grid.notes[:0] = notes
    elif ending in WORKBOOKS:
        grid = _workbook(content, form)
    else:
        grid = _json(text_of(content, form.encoding)[0], ending in LINES)
    return table_of_grid(grid, reading)


def table_of_grid(grid: Grid, reading: Reading) -> Table:
    """Return the cells of a table, or of some rows of one, as values."""
    return with_numbers(*_frame(grid, reading), reading)


def _frame(grid: Grid, reading: Reading) -> tuple[pd.DataFrame, str, list[str]]:
    """Return the columns of a grid as values, and what they have for missing cells."""
    import pandas as pd

    taken: Counter[str] = Counter()
    where: dict[str, list[str]] = {}
    columns: dict[str, pd.Series[Any]] = {}
    for name, cells in zip(grid.names, zip(*grid.rows, strict=True), strict=False):
        values = values_of(cells, grid.decimal, reading.placeholders, name in reading.texts)
        columns[name] = values.cells
        if name in reading.ignore:
            continue
        taken.update(values.placeholders)
        for text in values.placeholders:
            where.setdefault(text, []).append(name)
    notes = [
        f"{text!r} is taken for a missing cell, {_times(count)} in "
        f"{'column' if len(where[text]) == 1 else 'columns'} {listed(where[text])}"
        for text, count in taken.items()
    ]
    return pd.DataFrame(columns), grid.decimal, [*grid.notes, *notes]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def with_numbers(frame: pd.DataFrame, decimal: str, notes: list[str], reading: Reading) -> Table:
    """Make numbers of the columns that were asked for."""
    for name in reading.as_number:
        if reading.partial and name not in frame:
            continue
        if name not in frame:
            raise TableError(unknown_column("as-number", name, frame.columns))
        before = int(frame[name].isna().sum())
        numbers, odd = as_numbers(frame[name], decimal)
        if len(numbers.dropna()) == 0 and (odd or not reading.partial):
            raise TableError(f"as-number: column {name!r} has no numbers: {listed(list(odd), 3)}")
        frame = frame.assign(**{name: numbers.to_numpy()})
        if odd:
            count = int(numbers.isna().sum()) - before
            cells, hold = ("1 cell", "holds") if count == 1 else (f"{count} cells", "hold")
            said = f"{cells} of column {name!r} {hold} no number: {listed(list(odd), 3)}"
            notes = [*notes, f"{said}; they are missing cells now"]
    return Table(frame, decimal, tuple(notes))


def _parquet(content: bytes) -> pd.DataFrame:
    import pandas as pd

    try:
        frame = pd.read_parquet(io.BytesIO(content))
    except ImportError:
        raise TableError("Parquet needs `pip install pyarrow`") from None
    named = any(name is not None for name in frame.index.names)  # a column that was made the index
    return frame.reset_index(drop=not named).rename(columns=str)


def _workbook(content: bytes, form: TableForm) -> Grid:
    """Return a sheet of a workbook: the first one, unless another is named."""
    try:
        openpyxl: Any = import_module("openpyxl")
    except ImportError:
        raise TableError(
            "workbooks need `pip install openpyxl`; or save the sheet as CSV"
        ) from None
    book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    names = book.sheetnames
    if form.sheet is not None and form.sheet not in names:
        raise TableError(unknown_column("sheet", form.sheet, names, "the workbook has no sheet"))
    sheet = names[0] if form.sheet is None else form.sheet
    rows = [list(row) for row in book[sheet].iter_rows(values_only=True)]
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows:
        raise TableError(f"sheet {sheet!r} is empty")
    width = max(max(at for at, cell in enumerate(row, 1) if cell is not None) for row in rows)
    rows = [(row + [None] * width)[:width] for row in rows]  # formats reach further than cells
    notes = []
    if len(names) > 1 and form.sheet is None:
        notes.append(f"sheet {sheet!r} is read; --sheet names another one of {listed(names)}")
    return grid_of(rows, form, form.decimal or ".", notes)


def _json(text: str, lines: bool) -> Grid:
    """Return the rows of JSON: objects, one a line or in a list, or an object of columns."""
    found: Any
    if lines:
        found = [_parsed(line, number) for number, line in enumerate(text.splitlines(), 1) if line]
    else:
        found = _parsed(text, None)
    if isinstance(found, dict) and all(isinstance(cells, list) for cells in found.values()):
        lengths = {len(cells) for cells in found.values()}
        if len(lengths) > 1:
            raise TableError("it must have columns of the same length")
        found = [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise TableError("it must hold objects, one a row, or one object with a list a column")
    names = list(dict.fromkeys(name for row in found for name in row))
    for number, row in enumerate(found, 1):
        nested = [name for name, cell in row.items() if isinstance(cell, (list, dict))]
        if nested:
            raise TableError(f"row {number} has more than one value in {nested[0]!r}")
    return Grid(names, [[row.get(name) for name in names] for row in found], ".", [])


def _parsed(text: str, line: int | None) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        where = "" if line is None else f"line {line}: "
        raise TableError(f"{where}it is not JSON: {error}") from None
