"""How the site is built from these pages: `scripts/docs`. What is special about it is in `_site/`."""

import sys
from pathlib import Path

from regraft import __version__

sys.path.insert(0, str(Path(__file__).parent / "_site"))

project = "Regraft"
author = "The Regraft authors"
project_copyright = "The Regraft authors, Apache-2.0"
version = release = __version__
extensions = ["myst_parser", "regraft_pages"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_site"]
html_theme = "furo"
html_title = f"Regraft {release}"
html_static_path = ["_site/static"]
html_css_files = ["regraft.css"]
html_show_sphinx = False
html_copy_source = False

# Anchors as a forge makes them, so that a link works in both places.
myst_heading_anchors = 4
# Diagrams in the pages are Mermaid, which a forge draws itself; here they are pictures drawn before.
myst_fence_as_directive = ["mermaid"]
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["misc.highlighting_failure"]  # commands and their output are not a language
highlight_language = "none"
