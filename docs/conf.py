"""Sphinx settings: MyST pages, and an API page from the docstrings."""

from __future__ import annotations

import gpproj

project = "gpproj"
author = "The gpproj developers"
copyright = "The gpproj developers"
version = release = gpproj.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
# Headings can be linked to from other pages, under the names that GitHub gives them.
myst_heading_anchors = 3
html_theme = "furo"
html_title = "gpproj"

# The numpydoc sections give types with shapes, which annotations cannot.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
