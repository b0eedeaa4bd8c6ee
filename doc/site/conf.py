# SPDX-License-Identifier: BSD-2-Clause
"""Sphinx's settings for the pages of `make site` (doc/site/README.md)."""

import os
import re

project = "ferry"
author = "The ferry authors"
copyright = author  # pylint: disable=redefined-builtin
version = release = os.environ["FERRY_SITE_VERSION"]
extensions = ["breathe", "myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
nitpicky = False
highlight_language = "none"
# Excerpts that cannot be parsed as programs, such as one with "…" in it, are shown without colours.
suppress_warnings = ["misc.highlighting_failure"]
myst_heading_anchors = 4

breathe_projects = {"ferry": os.environ["FERRY_SITE_XML"]}
breathe_default_project = "ferry"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
breathe_domain_by_file_pattern = {"*/compat/*.h": "cpp"}

# Modules of other packages, which the package imports only if they are installed.
autodoc_mock_imports = ["mlserver", "pandas", "pydotplus", "skimage"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"

html_theme = "alabaster"
html_theme_options = {"description": "Caffe models on any device", "page_width": "1180px", "sidebar_width": "230px",
                      "body_max_width": "none", "code_font_size": "0.8em", "fixed_sidebar": False}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None


def as_rst(_app, _what, _name, _obj, _options, lines):
    """Docstrings are prose with indented examples: converts each paragraph to reStructuredText."""
    out = []
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        rows = paragraph.split("\n")
        if all(row.startswith("    ") for row in rows):
            out += [".. code-block:: none", ""] + rows
        else:
            text = re.sub(r"`+([^`]+)`+", r"\1", " ".join(row.strip() for row in rows))
            out.append(re.sub(r"([*|_`\\])", r"\\\1", text))
        out.append("")
    lines[:] = out


def setup(app):
    app.connect("autodoc-process-docstring", as_rst)
