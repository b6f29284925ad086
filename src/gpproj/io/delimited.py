"""Text files of cells: their encoding, what separates the cells, and whether names come first."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, NamedTuple

from gpproj.data.encoding import TableError
from gpproj.io.cells import decimal_of, is_number, is_placeholder, unescaped_name

SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas", " ": "blanks"}
"""What may stand between cells, in words; of two that would do as well, the first is taken."""

USUAL = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".dat": " "}
"""What stands there by the ending of a file: anything else is said aloud."""

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # begins with the mark of UTF-16
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks."""

SAMPLE = 200
"""Rows that say how cells are separated and whether names come first."""


@dataclass(frozen=True)
class TableForm:
    """How a file holds a table; what is None is found out."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    """Whether the first row has the names of the columns."""
    sheet: str | None = None
    """Of a workbook with several."""

    def __post_init__(self) -> None:
        """Refuse what no table has."""
        if len(self.separator or " ") != 1:
            raise TableError(f"sep must be one character, tab or blank; got {self.sep!r}")
        if self.decimal not in (None, ".", ","):
            raise TableError(f"decimal must be a point or a comma, got {self.decimal!r}")
        if self.decimal is not None and self.decimal == self.separator:
            raise TableError(f"sep and decimal cannot both be {self.decimal!r}")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise TableError(
                    f"encoding must be one that Python knows, such as utf-8, cp1252 or utf-16; "
                    f"got {self.encoding!r}"
                ) from None

    @property
    def separator(self) -> str | None:
        """The separator itself; a shell has no easy way to write a tab."""
        words = {"tab": "\t", "\\t": "\t", "blank": " ", "space": " ", "whitespace": " "}
        return None if self.sep is None else words.get(self.sep, self.sep)


class Grid(NamedTuple):
    """Names and cells of a table, as they stand in a file."""

    names: list[str]
    rows: list[Sequence[Any]]
    decimal: str
    notes: list[str]
    """Sentences about what was found out."""


def text_of(content: bytes, encoding: str | None) -> tuple[str, list[str]]:
    """Return the text of a file, and what is to be said of its encoding."""
    if encoding is not None:
        try:
            return content.decode(encoding).lstrip("\ufeff"), []
        except (UnicodeDecodeError, UnicodeError):
            raise TableError(f"it is not text in {encoding}, which --encoding names") from None
    mark = next((mark for mark in MARKS if content.startswith(mark)), None)
    found = MARKS.get(mark or b"") or _without_mark(content)
    try:
        text = content.decode(found)
    except UnicodeError:
        raise TableError(f"it is not text in {found}; --encoding names another") from None
    if "\x00" in text:
        raise TableError("it is not text: it holds null characters")
    if found in ("utf-8", "utf-8-sig"):
        return text, []
    return text, [f"the text is read as {found}; --encoding names another"]


def _without_mark(content: bytes) -> str:
    """Return the encoding of a text that has no mark."""
    start = content[:4000]
    if start.count(0) > len(start) // 4:  # every other byte of Western text in UTF-16
        return "utf-16-be" if start[0] == 0 else "utf-16-le"
    for name in ("utf-8", "cp1252"):
        try:
            content.decode(name)
        except UnicodeDecodeError:
            continue
        return name
    return "latin-1"  # which knows every byte


def grid_of_text(text: str, ending: str, form: TableForm) -> Grid:
    """Return the cells of a text.

    Parameters
    ----------
    text : str
    ending : str
        The file's, which says what usually separates cells.
    form : TableForm
    """
    notes = []
    separator = form.separator or _separator(text, ending)
    usual = USUAL[ending]
    if form.sep is None and separator != usual:
        words = SEPARATORS[separator]
        notes.append(f"cells are separated by {words}; --sep names another separator")
    try:
        numbered = list(_records(io.StringIO(text, newline=""), separator))
    except csv.Error as error:
        raise TableError(f"its cells cannot be told apart: {error}") from None
    rows = [row for _, row in numbered]
    if not rows:
        raise TableError("it has no rows")
    _same_lengths(numbered, separator)
    while len(rows) > 1 and not any(cell.strip() for cell in rows[-1]):
        rows.pop()
    decimal = form.decimal or decimal_of(chain.from_iterable(rows[: 10 * SAMPLE]), separator)
    if decimal == "," and form.decimal is None:
        notes.append("numbers have decimal commas; --decimal . says otherwise")
    return grid_of(rows, form, decimal, notes)


def grids_of(lines: Iterator[str], ending: str, form: TableForm, rows: int) -> Iterator[Grid]:
    """Yield the cells of a text some rows at a time; the first of them say what its form is.

    Parameters
    ----------
    lines : iterator of str
    ending, form
        As for `grid_of_text`.
    rows : int
        Rows of a part.
    """
    head = list(islice(lines, SAMPLE))
    separator = form.separator or _separator("".join(head), ending)
    records = _records(chain(head, lines), separator)
    names: list[str] = []
    first: list[tuple[int, list[str]]] = []
    before = 0
    try:
        while part := list(islice(records, rows)):
            first = first or part[:1]
            _same_lengths([*first, *part] if names else part, separator, before)
            before += len(part)
            cells: list[Sequence[Any]] = [row for _, row in part]
            if names:
                yield Grid(names, cells, form.decimal or ".", [])
                continue
            sample = chain.from_iterable(cells[: 10 * SAMPLE])
            decimal = form.decimal or decimal_of(sample, separator)
            form = replace(form, sep=separator, decimal=decimal)
            grid = grid_of(cells, form, decimal, [])
            names = grid.names
            yield grid
    except csv.Error as error:
        raise TableError(f"its cells cannot be told apart: {error}") from None


def grid_of(rows: Sequence[Sequence[Any]], form: TableForm, decimal: str, notes: list[str]) -> Grid:
    """Tell the names of columns from the rows under them."""
    header, said = (form.header, []) if form.header is not None else _has_names(rows)
    if header:
        names = [_name(cell, place) for place, cell in enumerate(rows[0])]
        rows = rows[1:]
    else:
        names = [f"column{place}" for place in range(1, len(rows[0]) + 1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"it has more than one column {twice[0]!r}; if there are no names, say --no-header"
        )
    return Grid(names, list(rows), decimal, [*notes, *said])


def _name(cell: Any, place: int) -> str:
    name = "" if cell is None else unescaped_name(str(cell))
    return name or f"Unnamed: {place}"


def _separator(text: str, ending: str) -> str:
    """Return what separates the cells: what gives the most rows as many as the first one."""
    best, most = USUAL[ending], 0.0
    candidates = [one for one in SEPARATORS if one != " "]
    if ending in (".dat", ".txt"):
        candidates.append(" ")
    # What the ending says comes first, except commas, which are in numbers between semicolons too.
    candidates.sort(key=lambda one: one != USUAL[ending] or one == ",")
    for candidate in candidates:
        try:
            records = _records(io.StringIO(text, newline=""), candidate, strict=False)
            lengths = [len(row) for _, row in islice(records, SAMPLE)]
        except csv.Error:
            continue
        if not lengths or lengths[0] < 2:
            continue
        share = lengths.count(lengths[0]) / len(lengths)
        if share > most:
            best, most = candidate, share
    return best


def _records(
    source: Iterable[str], separator: str, strict: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """Return the rows of a text that are not blank, and the lines that they end in."""
    lines = iter(source)
    if separator == " ":
        lines = (line.replace("\t", " ").strip() + "\n" for line in source)
    reader = csv.reader(lines, delimiter=separator, strict=strict, skipinitialspace=True)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            said = "a quotation mark is not closed" if "end of data" in str(error) else error
            raise csv.Error(f"{said} (line {reader.line_num})") from None
        if row:
            yield reader.line_num, row


def _same_lengths(
    numbered: Sequence[tuple[int, list[str]]], separator: str, before: int = 0
) -> None:
    """Refuse rows with a cell too many or too few; `before` rows came before these."""
    width = len(numbered[0][1])
    odd = [place for place, (_, row) in enumerate(numbered) if len(row) != width]
    if not odd:
        return
    line, row = numbered[odd[0]]
    place = odd[0] + max(before - 1, 0)
    where = f"row {place} (line {line}) has {len(row)} cells and the first line has {width}"
    if len(odd) == len(numbered) - 1 > 1 and {len(numbered[one][1]) for one in odd} == {width + 1}:
        raise TableError(
            f"{where}, as all rows do: the first line lacks a name, or every row ends in a "
            "separator"
        )
    others = len(odd) - 1
    more = f" ({others} more {'row differs' if others == 1 else 'rows differ'})" if others else ""
    words = SEPARATORS.get(separator, repr(separator))
    raise TableError(f"{where}{more}; cells are separated by {words}, --sep names another one")


def _has_names(rows: Sequence[Sequence[Any]]) -> tuple[bool, list[str]]:
    """Say whether the first row has names, and what is to be told of it."""
    first, rest = rows[0], rows[1 : SAMPLE + 1]
    numbers = [is_number(cell) for cell in first]
    if not rest or not any(numbers):
        return True, []
    shown = ", ".join(str(cell) for cell in first[:4]) + (", ..." if len(first) > 4 else "")
    counted = [cell for cell, one in zip(first, numbers, strict=True) if one]
    if _counts_up(counted):
        return True, [f"the first row ({shown}) is taken for names; --no-header takes it for data"]
    for place, cell in enumerate(first):
        below = [row[place] for row in rest if not is_placeholder(row[place])]
        named = not numbers[place] and not is_placeholder(cell)
        if named and below and all(is_number(one) for one in below):  # a name above numbers
            return True, []
    above = [place for place, one in enumerate(numbers) if one]
    if not all(numbers) and not any(
        all(is_number(row[place]) or is_placeholder(row[place]) for row in rest) for place in above
    ):
        return True, []
    names = f"columns are named column1 to column{len(first)}"
    return False, [f"the first row ({shown}) holds no names: {names}; --header says that it does"]


def _counts_up(cells: Sequence[Any]) -> bool:
    """Say whether cells are whole numbers one after the other, as names that were counted are.

    Of two nothing is clear, unless they are years.
    """
    try:
        found = [int(str(cell)) for cell in cells]
    except ValueError:
        return False
    years = len(found) == 2 and 1000 <= found[0] < 3000
    return found == list(range(found[0], found[0] + len(found))) and (len(found) > 2 or years)
