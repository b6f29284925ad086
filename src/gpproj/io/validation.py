"""Validations: the predictions that every figure is computed from."""

from __future__ import annotations

from gpproj.io.latent import prefixed, with_prefix
from gpproj.io.plain import plain, restored
from gpproj.search import SearchPath
from gpproj.store import Stored
from gpproj.validation import Validation
from gpproj.validation.scores import Scores


def stored_validation(validation: Validation) -> Stored:
    """Return a validation as plain values and arrays; its path is stored by itself."""
    content = {
        "method": validation.method,
        "search": validation.search,
        "orders": plain(validation.orders),
        "refitted": plain(validation.refitted),
        "chosen": plain(validation.chosen),
    }
    arrays = validation.scores._asdict()
    if validation.along is not None:
        arrays |= prefixed("along", validation.along._asdict())
    if validation.k_hat is not None:
        arrays["k_hat"] = validation.k_hat
    return Stored(content, arrays)


def validation_from(found: Stored, path: SearchPath) -> Validation:
    """Return the validation that was stored, of a path that was stored beside it."""
    content, arrays = found
    along = with_prefix("along", arrays)
    return Validation(
        reference=path.reference,
        path=path,
        method=content["method"],
        search=content["search"],
        scores=Scores(**{name: arrays[name] for name in Scores._fields}),
        orders=restored(content["orders"]),
        k_hat=arrays.get("k_hat"),
        refitted=restored(content["refitted"]),
        chosen=restored(content["chosen"]),
        along=Scores(**along) if along else None,
    )
