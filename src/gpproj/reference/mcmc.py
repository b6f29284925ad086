"""The door to the libraries of the extra `mcmc`, which may be missing."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any


def need_mcmc(what: str, *libraries: str) -> None:
    """Say how to install the libraries where they are missing."""
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"{what} needs {' and '.join(missing)}; install with: pip install 'gpproj[mcmc]'"
        )


def arviz() -> Any:
    """Return the module, without the notices about its own future."""
    need_mcmc("this", "arviz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        import arviz as module
    return module
