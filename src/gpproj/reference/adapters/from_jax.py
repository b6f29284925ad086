"""Double precision for the libraries built on JAX, whatever they were set up with."""

from __future__ import annotations

from typing import Any

import numpy as np


def in_double(tree: Any) -> Any:
    """Return an object of JAX arrays with all its real numbers in double precision.

    For use inside `jax.enable_x64(True)`.
    """
    import jax
    import jax.numpy as jnp

    def widen(leaf: Any) -> Any:
        real = hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)
        return jnp.asarray(leaf, dtype=jnp.float64) if real else leaf

    return jax.tree.map(widen, tree)


def on_host(tree: Any) -> Any:
    """Return an object of JAX arrays with NumPy arrays: they stay double in pickles too."""
    import jax

    return jax.tree.map(lambda leaf: np.asarray(leaf) if hasattr(leaf, "dtype") else leaf, tree)
