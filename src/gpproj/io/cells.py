"""Cells of a table as values: what is missing, what is a number, and numbers inside texts."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

_SPELLINGS = "NA N/A n/a NaN nan -NaN -nan NULL null None <NA> #N/A #NA"
_SPREADSHEET = "#VALUE! #DIV/0! #REF! #NAME? #NULL! #NUM!"
PLACEHOLDERS = frozenset(["?", *_SPELLINGS.split(), *_SPREADSHEET.split()])
"""Texts that stand for a missing cell in every column; "?" is that of the UCI repository."""

_DASHES = ("-", "--", "\u2013", "\u2014")
_WORDS = ("na", "N.A.", "n.a.", "missing", "unknown", "none")
AMONG_NUMBERS = frozenset([*_DASHES, ".", "..", "...", "*", *_WORDS])
"""Texts that stand for one where all others are numbers; among texts they may be a level."""

_THOUSANDS = {
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?"),
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?"),
}
"""Numbers whose thousands are set apart, by their decimal sign."""

_COMMA = re.compile(r"[+-]?(?:\d+(?:,\d*)?|,\d+)(?:[eE][+-]?\d+)?")
_NUMBER_WITH_UNIT = re.compile(
    r"[$\u20ac\u00a3\u00a5<>~\u2248\u2264\u2265]*\s*"  # a currency, or that it is about so much
    r"([+\-\u2212]?(?:\d[\d.,'\u2019\s]*|[.,]\d+)(?:[eE][+-]?\d+)?)\s*"
    r"(?:[%\u2030\u00b0$\u20ac\u00a3\u00a5\"']\S*|[^\W\d_]\S*(?:\s[^\W\d_]\S*)?)?"
)
_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "ISO8601")
_LIKE_A_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ].*)?")


class Values(NamedTuple):
    """The cells of a column as values."""

    cells: pd.Series[Any]
    """Numbers, truth values, dates or texts."""
    placeholders: Counter[str]
    """Texts that were taken for missing cells."""


def values_of(
    cells: Sequence[Any], decimal: str, placeholders: Iterable[str] = (), text: bool = False
) -> Values:
    """Return what the cells of a column are.

    Parameters
    ----------
    cells : sequence
        Texts, or what a workbook or JSON holds; None where a cell is empty.
    decimal : {".", ","}
        What numbers have before their fraction.
    placeholders : iterable of str
        Further texts that stand for a missing cell.
    text : bool
        The cells are texts, whatever they look like.
    """
    import pandas as pd

    texts = [cell.strip() if isinstance(cell, str) else cell for cell in cells]
    own = PLACEHOLDERS.union(placeholders)
    found = Counter(text for text in texts if isinstance(text, str) and text in own)
    present = [text for text in texts if text is not None and text != "" and text not in own]
    plain = None if text else _plain(present, decimal)
    if plain is None and not text:
        soft = Counter(text for text in present if text in AMONG_NUMBERS)
        numbers = [text for text in present if text not in AMONG_NUMBERS]
        plain = _plain(numbers, decimal) if soft and numbers else None
        if plain is not None:
            found, present, own = found + soft, numbers, own | AMONG_NUMBERS
    if plain is None:
        plain = [_unescaped(str(text)) for text in present]
    if len(plain) == len(texts):
        return Values(_series(plain), found)
    missing: Any = None if isinstance(plain[0] if plain else None, bool | str) else np.nan
    left = iter(plain)
    every = [missing if t is None or t == "" or t in own else next(left) for t in texts]
    return Values(_series(every) if plain else pd.Series(every, dtype=float), found)


def _series(values: list[Any]) -> pd.Series[Any]:
    import pandas as pd

    first = next((one for one in values if one is not None and one == one), None)
    if isinstance(first, datetime.date):
        return pd.to_datetime(pd.Series(values))
    if isinstance(first, str) or (isinstance(first, bool) and None in values):
        return pd.Series(values, dtype=object)
    return pd.Series(values)


def _plain(cells: list[Any], decimal: str) -> list[Any] | None:
    """Return numbers, truth values or dates; None if the cells are something else."""
    kinds = {type(cell) for cell in cells}
    if kinds == {str}:
        return _truth(cells) or _numbers(cells, decimal)
    if all(issubclass(kind, datetime.date) for kind in kinds):
        return list(cells)
    if all(issubclass(kind, Real) for kind in kinds):  # truth values and numbers are mixed texts
        return list(cells) if (bool in kinds) <= (len(kinds) == 1) else None
    return None


def _truth(texts: list[str]) -> list[bool] | None:
    if {text.lower() for text in texts[:3]} - {"true", "false"}:
        return None
    lower = [text.lower() for text in texts]
    return None if set(lower) - {"true", "false"} else [text == "true" for text in lower]


def _numbers(texts: list[str], decimal: str) -> list[Any] | None:
    """Return texts as whole numbers or fractions; None if one is no number."""
    if any("_" in text for text in texts):  # Python takes 1_000 for a number
        return None
    commas = decimal == "," and any("," in text for text in texts)
    if commas or (decimal == "," and all(_grouped(text, decimal) for text in texts)):
        texts = [_with_point(text) for text in texts]
    for number in (int, float):
        try:
            found: list[Any] = [number(text) for text in texts]
        except ValueError:
            continue
        if number is float or all(abs(one) < 2**63 for one in found):
            return found
    return None


def _grouped(text: str, decimal: str) -> bool:
    return _THOUSANDS[decimal].fullmatch(text) is not None


def _with_point(text: str) -> str:
    """Return a number with a decimal comma as Python reads it; any other text is no number."""
    if _grouped(text, ","):
        text = text.replace(".", "")
    return text.replace(",", ".") if _COMMA.fullmatch(text) else "no number"


def decimal_of(texts: Iterable[str], separator: str) -> str:
    """Return the decimal sign that numbers of a table have.

    A comma before three digits may set thousands apart: between semicolons, which are there to
    leave the comma to numbers, it does not.
    """
    commas = points = unclear = 0
    for text in texts:
        cell = text.strip()
        if "," in cell and "." not in cell and _COMMA.fullmatch(cell):
            grouped = _grouped(cell, ".")
            commas, unclear = commas + (not grouped), unclear + grouped
        elif _grouped(cell, ",") and "," in cell:
            commas += 1
        elif "." in cell and is_number(cell):
            points += not _grouped(cell, ",")
    if commas > points or (separator == ";" and unclear and not points):
        return ","
    return "."


def is_number(cell: Any) -> bool:
    """Say whether a cell is a number, with a point or a comma."""
    if not isinstance(cell, str):
        return isinstance(cell, Real) and not isinstance(cell, bool)
    text = cell.strip()
    return _COMMA.fullmatch(text) is not None or _numbers([text], ".") is not None


def is_placeholder(cell: Any) -> bool:
    """Say whether a cell is empty or stands for one that is."""
    if cell is None:
        return True
    return isinstance(cell, str) and (
        not cell.strip() or cell.strip() in PLACEHOLDERS | AMONG_NUMBERS
    )


def number_in(text: str, decimal: str = ".") -> float | None:
    """Return the number in a text, without its unit, percent sign and thousands separators.

    Examples
    --------
    >>> [number_in(text) for text in ("514.5 m2", "1,234", "12%", "$ 3.50", "10-20", "large")]
    [514.5, 1234.0, 12.0, 3.5, None, None]
    """
    match = _NUMBER_WITH_UNIT.fullmatch(text.strip())
    if match is None:
        return None
    number = re.sub(r"['\u2019\s]", "", match[1]).replace("\u2212", "-")
    other = "," if decimal == "." else "."
    if _grouped(number, decimal):
        number = number.replace(other, "")
    elif other in number and decimal not in number:
        decimal = other  # "1,5" among points can be nothing else
    try:
        return float(number.replace(decimal, "."))
    except ValueError:
        return None


def dates_in(cells: pd.Series[Any]) -> pd.Series[Any] | None:
    """Return a column of dates as such; None if it holds none, or none whose order is clear."""
    import pandas as pd

    if cells.dtype.kind == "M":
        return _without_zone(cells)
    texts = cells.dropna()
    if not len(texts) or not all(
        isinstance(text, datetime.date) or _LIKE_A_DATE.fullmatch(str(text)) for text in texts
    ):
        return None
    found = []
    for pattern in _DATES:
        try:
            found.append(pd.to_datetime(cells, format=pattern))
        except (ValueError, TypeError):
            continue
    same = all(one.equals(found[0]) for one in found)
    return _without_zone(found[0]) if found and same else None


def _without_zone(dates: pd.Series[Any]) -> pd.Series[Any]:
    return dates if dates.dt.tz is None else dates.dt.tz_convert(None)


def as_numbers(cells: pd.Series[Any], decimal: str) -> tuple[pd.Series[Any], Counter[str]]:
    """Return the numbers in the texts of a column, NaN where there is none, and those texts.

    Dates become days since the beginning of 1970.
    """
    import pandas as pd

    dates = None if cells.dtype.kind in "biuf" else dates_in(cells)
    if dates is not None:
        days = (dates - pd.Timestamp(0)) / pd.Timedelta(days=1)
        return days.astype(float), Counter()
    numbers = [
        np.nan if cell is None or cell != cell else _one_number(cell, decimal) for cell in cells
    ]
    odd = Counter(str(cell) for cell, one in zip(cells, numbers, strict=True) if one is None)
    found = [np.nan if one is None else one for one in numbers]
    return pd.Series(found, dtype=float, name=cells.name), odd


def _one_number(cell: Any, decimal: str) -> float | None:
    if isinstance(cell, Real):
        return float(cell)
    return number_in(str(cell), decimal)


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How texts begin that a spreadsheet takes for a formula."""


def escaped(text: str) -> str:
    """Return a text with an apostrophe before it, if a spreadsheet would take it for a formula.

    Examples
    --------
    >>> escaped("=HYPERLINK(1)"), escaped("-5"), escaped("age")
    ("'=HYPERLINK(1)", '-5', 'age')
    """
    quoted = text.startswith("'") and text.lstrip("'").startswith(FORMULA)
    if quoted or (text.startswith(FORMULA) and not is_number(text)):
        return f"'{text}"
    return text


def for_spreadsheets(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts, names of columns included, no spreadsheet takes for formulas."""

    def safe(value: Any) -> Any:
        return escaped(value) if isinstance(value, str) else value

    found = frame.rename(columns=safe, index=safe)
    for place, (_, cells) in enumerate(frame.items()):
        if cells.dtype.kind not in "biufcmM":
            found.isetitem(place, cells.map(safe).to_numpy())
    return found


def _unescaped(text: str) -> str:
    return text[1:] if text.startswith("'") and text[1:].lstrip("'").startswith(FORMULA) else text


def unescaped_name(text: str) -> str:
    """Return the name of a column as it was before it was escaped, in one line."""
    return _unescaped(" ".join(text.split()))
