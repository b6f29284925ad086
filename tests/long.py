"""Renew long.txt and slow.txt: `pytest -m "" --durations=0 | python tests/long.py`."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parent
FILES = {
    "long.txt": (
        0.4,
        """\
# Tests and examples that took 0.4 s or more, over all their cases and with what they set up.
# `make quick` leaves them out. A test that is not here is run by it, so a list that is old costs
# time and hides nothing. To renew, on an idle machine: the first line of long.py.
""",
    ),
    "slow.txt": (
        1.2,
        """\
# Tests that took 1.2 s or more, over all their cases and with what they set up. They count as slow:
# the default run leaves them out, and CI runs them. To renew: the first line of long.py.
""",
    ),
}
"""Seconds from which on a test is in a file, and how that begins."""


def main() -> None:
    """Read the durations that pytest prints, and write the names of what took long."""
    spent: Counter[str] = Counter()
    for line in sys.stdin:
        if found := re.match(r"([\d.]+)s (?:setup|call)\s+([^\[\n]+)", line):
            spent[found[2].strip()] += float(found[1])
    for name, (limit, head) in FILES.items():
        names = sorted(test for test, time in spent.items() if time >= limit)
        if name == "slow.txt":  # examples of the documentation have marks of their own
            names = [test for test in names if not test.startswith(("src/", "tests/test_docs"))]
        (FOLDER / name).write_text(head + "\n".join(names) + "\n")


if __name__ == "__main__":
    main()
