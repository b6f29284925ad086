"""``python -m gpproj``: the command line without its script."""

from __future__ import annotations

from gpproj.cli import main

if __name__ == "__main__":
    main()
