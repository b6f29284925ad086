"""Numbers as people read them: no exponents, no minus in front of zero."""

from __future__ import annotations

import math


def number(value: float, decimals: int = 1) -> str:
    """Return a number as it is printed: with a minus sign, and no minus in front of zero.

    Examples
    --------
    >>> number(3.14159, 2), number(-0.01), number(-2.0).isascii()
    ('3.14', '0.0', False)
    """
    if math.isnan(value):
        return "\N{EN DASH}"
    if math.isinf(value):
        text = "-∞" if value < 0 else "∞"
    elif abs(value) >= 1e7:
        text = f"{value:.3g}"
    else:
        text = f"{value:.{decimals}f}"
        if not text.strip("-0."):
            text = text.removeprefix("-")
    return text.replace("-", "\N{MINUS SIGN}")


def significant(value: float, digits: int = 3) -> str:
    """Return a number with some significant digits.

    Examples
    --------
    >>> significant(54.321), significant(0.0123456), significant(123456.0)
    ('54.3', '0.0123', '123456')
    """
    if value == 0.0 or not math.isfinite(value):
        return number(value, 0)
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    if decimals > 7:
        return f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}")
    return number(value, max(decimals, 0))


def percent(share: float) -> str:
    """Return a share as a whole percentage.

    Examples
    --------
    >>> percent(0.876), percent(-1e-9)
    ('88 %', '0 %')
    """
    return number(share) if math.isnan(share) else f"{number(100.0 * share, 0)} %"
