"""Results as notebooks show them: a short table in HTML, with names escaped and without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

MOST_ROWS = 30
"""Of a table: the others are counted."""

MOST_TEXT = 120
"""Characters of a cell."""


def card(
    title: str,
    facts: Mapping[str, Any],
    columns: Sequence[str] = (),
    rows: Iterable[Sequence[Any]] = (),
    notes: Iterable[str] = (),
) -> str:
    """Return facts about a result, a table and some notes as HTML.

    Parameters
    ----------
    title : str
    facts : mapping of str to object
        Shown in a line each; those that are None are left out.
    columns, rows
        Of the table, if there is one.
    notes : iterable of str
        Sentences below it.

    Examples
    --------
    >>> card("Path", {"rows": 3}, ["input"], [["<a>"]])  # doctest: +ELLIPSIS
    '<div><b>Path</b><table>...<td>&lt;a&gt;</td>...</div>'
    """
    parts = [f"<div><b>{escape(title)}</b>"]
    told = [(name, value) for name, value in facts.items() if value is not None]
    if told:
        lines = (f"<tr><th>{escape(name)}</th><td>{_cell(value)}</td></tr>" for name, value in told)
        parts.append(f"<table><tbody>{''.join(lines)}</tbody></table>")
    if columns:
        parts.append(_table(columns, list(rows)))
    parts += [f"<p>{escape(note)}</p>" for note in notes]
    return "".join([*parts, "</div>"])


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>"
        for row in rows[:MOST_ROWS]
    )
    if len(rows) > MOST_ROWS:
        body += f'<tr><td colspan="{len(columns)}">and {len(rows) - MOST_ROWS} more</td></tr>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    """Return a figure with a few digits, or text that is cut and escaped."""
    if isinstance(value, float):
        return "" if value != value else f"{value:.4g}"  # NaN alone differs from itself
    text = str(value)
    return escape(text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 3]}...")
