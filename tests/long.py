"""Renew long.txt: `pytest -m "" --durations=0 | python tests/long.py > tests/long.txt`."""

from __future__ import annotations

import re
import sys
from collections import Counter

LIMIT = 0.4  # seconds
HEAD = f"""\
# Tests and examples that took {LIMIT} s or more, over all their cases and with what they set up.
# `make quick` leaves them out. A test that is not here is run by it, so a list that is old costs
# time and hides nothing. To renew, on an idle machine: the first line of long.py.
"""


def main() -> None:
    """Read the durations that pytest prints, and print the names of what took long."""
    spent: Counter[str] = Counter()
    for line in sys.stdin:
        if found := re.match(r"([\d.]+)s (?:setup|call)\s+([^\[\n]+)", line):
            spent[found[2].strip()] += float(found[1])
    print(HEAD + "\n".join(sorted(name for name, time in spent.items() if time >= LIMIT)))


if __name__ == "__main__":
    main()
