"""Sphinx reads this for `make docs`: the pages of docs/ and the docstrings become build/site, which opens from disk."""

import os
import sys
from pathlib import Path
from urllib.request import urlopen

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "site"), str(HERE.parent / "src")]

from bestchannel import __version__  # noqa: E402  from this tree, whatever else is installed

project = "bestchannel"
author = "the authors of bestchannel"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",  # the pages
    "sphinx.ext.autodoc",  # the reference
    "sphinx.ext.napoleon",  # Parameters, Returns, Raises, Examples of docstrings
    "mathml",
    "names",
]
exclude_patterns = ["site"]
language = "en"

myst_enable_extensions = ["dollarmath", "html_image"]
myst_heading_anchors = 4
default_role = "literal"  # docstrings mark code as the pages do, by single backticks

autodoc_default_options = {"members": True, "undoc-members": True, "member-order": "bysource"}
autodoc_class_signature = "mixed"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
add_module_names = False
napoleon_google_docstring = False
napoleon_use_ivar = True  # the fields of a dataclass are documented once


def reachable(address: str) -> bool:
    """Whether the list of another documentation's names can be fetched."""
    try:
        with urlopen(f"{address}/objects.inv", timeout=10):
            return True
    except OSError:
        return False


OTHERS = {
    "python": "https://docs.python.org/3",
    "numpy": "https://numpy.org/doc/stable",
    "scipy": "https://docs.scipy.org/doc/scipy",
}
if os.environ.get("INTERSPHINX"):  # only if asked for: the site is the same, and built, without a network
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {name: (address, None) for name, address in OTHERS.items() if reachable(address)}

html_theme = "furo"
html_title = "bestchannel"
html_static_path = ["site/site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_search_summary = False  # a summary is fetched from the page, which browsers refuse to pages on disk
html_use_index = True
