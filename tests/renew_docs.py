"""Write what the examples of pages print into the pages: `python -m tests.renew_docs docs/faq.md`.

Only what differs by more than rounding is written. The prose around it is not followed: read the
difference that git shows. Without a page it goes through all of them. `--pictures` also puts what
the pages save as pictures in the place of those of the same names that the documentation shows.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path

import matplotlib as mpl

import gpproj
from tests.test_docs import DOCS, PAGES, ROOT, Example, alike, blocks_of, examples_of

PICTURES = "--pictures"


def renewed(page: str, ran: list[Example]) -> str:
    """Return a page with what its examples print, where that is not what it says."""
    for example in ran:
        said = example.block.printed
        if said is None or alike(example.printed, said):
            continue
        before, after = page.split(example.block.code, 1)
        indent = "" if after.startswith("```\n\n```text\n") else " " * 4
        lines = [(indent + line).rstrip() for line in example.printed.splitlines()]
        page = before + example.block.code + after.replace(said, "\n".join(lines) + "\n", 1)
    return page


def renew_pictures(folder: Path) -> None:
    """Show the pictures of a folder in place of those of the same names."""
    for picture in folder.glob("*.png"):
        shown = DOCS / "images" / picture.name
        if shown.exists():
            shown.write_bytes(picture.read_bytes())
            print(f"{shown.relative_to(ROOT)} is renewed: look at it")


def main() -> None:
    """Renew the pages that are named."""
    mpl.use("agg")
    warnings.simplefilter("ignore", gpproj.ReferenceWarning)
    asked = [one for one in sys.argv[1:] if one != PICTURES]
    for name in asked or [name for name, page in PAGES.items() if blocks_of(page)]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            new = renewed(PAGES[name], list(examples_of(PAGES[name], name)))
            os.chdir(ROOT)
            if PICTURES in sys.argv:
                renew_pictures(Path(folder))
        if new != PAGES[name]:
            (ROOT / name).write_text(new)
            print(f"{name} is renewed: see what git shows, and follow it in the prose")


if __name__ == "__main__":
    main()
